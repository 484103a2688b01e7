//! Events of the connection to the server, each reported once.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_nats::Event;

/// Refusals of the server that are passed on.
const MOST_REFUSALS: usize = 20;

/// An event of the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// The server does not answer any more; it is waited for.
    Lost,
    /// The server answers again.
    Back,
    /// The server refuses what this user may not do, in its words; each is said once.
    Refused(String),
}

/// Takes notice of what happens to the connection.
pub type Waiting = Arc<dyn Fn(Link) + Send + Sync>;

/// Passes on what happens to the connection, each thing once.
pub(crate) struct Links {
    waiting: Waiting,
    lost: AtomicBool,
    refused: Mutex<HashSet<String>>,
}

impl Links {
    pub(crate) fn new(waiting: Waiting) -> Links {
        Links { waiting, lost: AtomicBool::new(false), refused: Mutex::default() }
    }

    pub(crate) fn event(&self, event: &Event) {
        let link = match event {
            Event::Connected if self.lost.swap(false, Ordering::Relaxed) => Link::Back,
            Event::Disconnected if !self.lost.swap(true, Ordering::Relaxed) => Link::Lost,
            Event::ServerError(error) if self.is_new(&error.to_string()) => {
                Link::Refused(error.to_string())
            }
            _ => return,
        };
        (self.waiting)(link);
    }

    fn is_new(&self, words: &str) -> bool {
        let refused = self.refused.lock();
        let mut refused = refused.unwrap_or_else(PoisonError::into_inner);
        // A subject may have a part that changes each time.
        refused.len() < MOST_REFUSALS && refused.insert(words.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_nats::ServerError;

    #[test]
    fn what_happens_is_said_once() {
        let said = Arc::new(Mutex::new(Vec::new()));
        let own = Arc::clone(&said);
        let links = Links::new(Arc::new(move |link| own.lock().unwrap().push(link)));
        let refused = || Event::ServerError(ServerError::Other("no".to_owned()));
        let events = [
            Event::Connected,
            Event::Disconnected,
            Event::Disconnected,
            Event::Connected,
            refused(),
            refused(),
        ];
        events.iter().for_each(|event| links.event(event));
        let said = said.lock().unwrap();
        assert_eq!(said[..2], [Link::Lost, Link::Back]);
        assert!(matches!(&said[2..], [Link::Refused(words)] if words.contains("no")));
    }
}
