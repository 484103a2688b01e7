//! The connection to the server, for code that waits for its answers.
//!
//! The client works on threads of its own, so that it answers the server while trials keep this process waiting. A
//! server that does not answer is waited for: what was stored before comes back with it.

mod stored;
mod streams;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_nats::jetstream::Context;
use async_nats::jetstream::context::{AccountErrorKind, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::Stream;
use async_nats::{Client, ConnectErrorKind, Event};
use bytes::Bytes;
use futures_util::FutureExt;
use tokio::runtime::Runtime;

use crate::address::{Access, Address};
use crate::error::{FleetError, Result};
use crate::subjects::drain;

pub(crate) use stored::Stored;

/// How long the server may take to let a program in.
const CONNECT: Duration = Duration::from_secs(10);

/// How long one answer may take before it is asked for again.
const ANSWER: Duration = Duration::from_secs(5);

/// The pause before a server that did not answer is asked again.
const PAUSE: Duration = Duration::from_millis(300);

/// How long a stream may be missing while the server starts.
const GONE: Duration = Duration::from_secs(15);

/// A connection to the server.
pub struct Server {
    pub(crate) runtime: Runtime,
    pub(crate) client: Client,
    pub(crate) jetstream: Context,
    /// The address, without credentials.
    pub address: Address,
    cancelled: Arc<AtomicBool>,
}

/// Why a request has no answer yet, or never will.
pub(crate) enum Unanswered {
    /// The server refused it, for good.
    Refused(String),
    /// The server did not answer.
    Silent,
    /// No stream took it: the server is just starting, or the stream is gone.
    Missing,
}

impl Unanswered {
    /// JetStream says why it refuses; no answer at all, or one of a server that is just starting, is asked for again.
    pub(crate) fn of(words: &str) -> Unanswered {
        let silent =
            ["timed out", "no responders", "broken pipe", "didn't receive ack", "10008", "10039"];
        if silent.iter().any(|phrase| words.contains(phrase)) {
            Unanswered::Silent
        } else {
            Unanswered::Refused(words.to_owned())
        }
    }
}

impl<E: std::error::Error> From<E> for Unanswered {
    fn from(error: E) -> Unanswered {
        Unanswered::of(&words_of(&error))
    }
}

/// Returns an answer, unless the thing that was asked about does not exist.
pub(crate) fn unless_missing<T, E: std::error::Error>(
    answer: Result<T, E>,
) -> Result<Option<T>, Unanswered> {
    match answer {
        Err(error) if words_of(&error).contains("not found") => Ok(None),
        answer => Ok(Some(answer?)),
    }
}

impl Server {
    /// Connects as `name`; `waiting` is called when the connection is lost, when it is there again, and when this user may
    /// not do something. Requests that wait for the server end once `cancelled`.
    ///
    /// # Errors
    /// When no server answers, it rejects the credentials, or has no JetStream.
    pub fn connect(
        address: &Address,
        access: &Access,
        name: &str,
        waiting: ConnectionObserver,
        cancelled: Arc<AtomicBool>,
    ) -> Result<Server> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| {
                let what = "cannot start the threads that talk to the server";
                FleetError::Failed(format!("{what}: {error}"))
            })?;
        let links = ConnectionEvents::new(waiting);
        let options = access
            .options(address)?
            .name(format!("pragmark {name}"))
            .custom_inbox_prefix(format!("_INBOX_{}", crate::subjects::token(name)))
            .connection_timeout(CONNECT)
            .request_timeout(Some(ANSWER))
            .max_reconnects(None)
            .reconnect_delay_callback(|_| PAUSE)
            .event_callback(move |event| {
                links.event(&event);
                std::future::ready(())
            });
        let connected = runtime.block_on(options.connect(address.to_string()));
        let client = connected.map_err(|error| no_connection(address, &error))?;
        // It starts a task, which needs the runtime.
        let jetstream = runtime.block_on(async { async_nats::jetstream::new(client.clone()) });
        let server = Server { runtime, client, jetstream, address: address.clone(), cancelled };
        server.check_jetstream()?;
        Ok(server)
    }

    /// Returns whether it was stopped.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    fn check_jetstream(&self) -> Result<()> {
        match self.runtime.block_on(self.jetstream.query_account()) {
            Ok(_) => Ok(()),
            // A server without JetStream says so. To who may not ask, it says nothing.
            Err(error) => Err(match error.kind() {
                AccountErrorKind::JetStreamUnavailable | AccountErrorKind::JetStream(_) => {
                    FleetError::NoJetStream(self.address.to_string())
                }
                AccountErrorKind::TimedOut | AccountErrorKind::Other => {
                    FleetError::NotPermitted(self.address.to_string(), error.to_string())
                }
            }),
        }
    }

    /// Waits.
    ///
    /// # Errors
    /// When it was cancelled.
    pub(crate) fn pause(&self, pause: Duration) -> Result<()> {
        std::thread::sleep(pause);
        if self.is_cancelled() { Err(FleetError::Cancelled) } else { Ok(()) }
    }

    /// Returns whether somebody renews an entry, whose number `look` returns, within this time; not if there is none.
    ///
    /// # Errors
    /// When the server refuses, or it was cancelled.
    pub(crate) fn is_renewed(
        &self,
        within: Duration,
        look: impl Fn() -> Result<Option<u64>>,
    ) -> Result<bool> {
        let Some(first) = look()? else { return Ok(false) };
        let began = Instant::now();
        while began.elapsed() < within {
            self.pause(Duration::from_millis(200))?;
            match look()? {
                None => return Ok(false),
                Some(now) if now != first => return Ok(true),
                Some(_) => {}
            }
        }
        Ok(false)
    }

    /// Returns a stream by its name, without asking for it.
    pub(crate) async fn stream(&self, name: &str) -> Result<Stream<()>, Unanswered> {
        self.jetstream.get_stream_no_info(name).await.map_err(|_| Unanswered::Silent)
    }

    /// Asks until there is an answer.
    ///
    /// # Errors
    /// When the server refuses, or it was cancelled.
    pub(crate) fn patiently<T>(
        &self,
        doing: &'static str,
        ask: impl AsyncFn() -> Result<T, Unanswered>,
    ) -> Result<T> {
        let mut missing_since: Option<Instant> = None;
        loop {
            match self.runtime.block_on(ask()) {
                Ok(value) => return Ok(value),
                Err(Unanswered::Refused(why)) => return Err(FleetError::Refused(doing, why)),
                Err(_) if self.is_cancelled() => return Err(FleetError::Cancelled),
                Err(Unanswered::Silent) => missing_since = None,
                Err(Unanswered::Missing) => {
                    if missing_since.get_or_insert_with(Instant::now).elapsed() > GONE {
                        return Err(FleetError::NoStream(doing));
                    }
                }
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Stores a message; false where there is one under its subject already.
    ///
    /// # Errors
    /// As for [`Server::patiently`].
    pub(crate) fn store(
        &self,
        doing: &'static str,
        subject: &str,
        id: Option<&str>,
        payload: &[u8],
    ) -> Result<bool> {
        let payload = Bytes::copy_from_slice(payload);
        self.patiently(doing, async || {
            let mut message = PublishMessage::build().payload(payload.clone());
            if let Some(id) = id {
                message = message.message_id(id);
            }
            let acknowledged = match self.jetstream.send_publish(subject.to_owned(), message).await
            {
                Ok(sent) => sent.await,
                Err(error) => Err(error),
            };
            let Err(error) = acknowledged else { return Ok(true) };
            let words = error.to_string();
            if words.contains("10077") || words.contains("maximum messages per subject exceeded") {
                return Ok(false);
            }
            Err(match error.kind() {
                PublishErrorKind::MaxPayloadExceeded => Unanswered::Refused(words),
                PublishErrorKind::StreamNotFound => Unanswered::Missing,
                PublishErrorKind::Other => Unanswered::from(error),
                _ => Unanswered::Silent,
            })
        })
    }

    /// Takes part in what is published under a subject, as long as the server allows it.
    pub(crate) fn listen(&self, subject: String) -> Option<async_nats::Subscriber> {
        self.runtime.block_on(self.client.subscribe(subject)).ok()
    }

    /// Asks an agent to end after the block that it carries out.
    ///
    /// # Errors
    /// When the connection is closed.
    pub fn ask_to_end(&self, agent: &str) -> Result<()> {
        let refused = |why: String| FleetError::Refused("pass a message on", why);
        self.runtime.block_on(async {
            let sent = self.client.publish(drain(agent), Bytes::new()).await;
            sent.map_err(|error| refused(error.to_string()))?;
            let flushed = self.client.flush().await;
            flushed.map_err(|error| refused(error.to_string()))
        })
    }

    /// Does something in the background, until it ends or the connection is dropped.
    pub(crate) fn spawn(
        &self,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> tokio::task::JoinHandle<()> {
        self.runtime.spawn(task.map(|_| ()))
    }
}

fn no_connection(address: &Address, error: &async_nats::ConnectError) -> FleetError {
    let (address, why) = (address.to_string(), words_of(error));
    match error.kind() {
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
            FleetError::Rejected(address, why)
        }
        _ => FleetError::NoServer(address, why),
    }
}

/// Returns the messages of an error and its causes, each once.
pub(crate) fn words_of(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let more = cause.to_string();
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        source = cause.source();
    }
    words
}

/// Refusals of the server that are passed on.
const MOST_REFUSALS: usize = 20;

/// An event of the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// The server does not answer any more; it is waited for.
    Lost,
    /// The server answers again.
    Back,
    /// The server refuses what this user may not do, in its words; each is said once.
    Refused(String),
}

/// Takes notice of what happens to the connection.
pub type ConnectionObserver = Arc<dyn Fn(ConnectionEvent) + Send + Sync>;

/// Passes on what happens to the connection, each thing once.
pub(crate) struct ConnectionEvents {
    waiting: ConnectionObserver,
    lost: AtomicBool,
    refused: Mutex<HashSet<String>>,
}

impl ConnectionEvents {
    pub(crate) fn new(waiting: ConnectionObserver) -> ConnectionEvents {
        ConnectionEvents { waiting, lost: AtomicBool::new(false), refused: Mutex::default() }
    }

    pub(crate) fn event(&self, event: &Event) {
        let link = match event {
            Event::Connected if self.lost.swap(false, Ordering::Relaxed) => ConnectionEvent::Back,
            Event::Disconnected if !self.lost.swap(true, Ordering::Relaxed) => {
                ConnectionEvent::Lost
            }
            Event::ServerError(error) if self.is_new(&error.to_string()) => {
                ConnectionEvent::Refused(error.to_string())
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
        let links = ConnectionEvents::new(Arc::new(move |link| own.lock().unwrap().push(link)));
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
        assert_eq!(said[..2], [ConnectionEvent::Lost, ConnectionEvent::Back]);
        assert!(matches!(&said[2..], [ConnectionEvent::Refused(words)] if words.contains("no")));
    }
}
