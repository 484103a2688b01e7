//! The agents that are present: each says from time to time who it is and what it does.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use lab::environment::Environment;
use lab::fleet::{Candidate, Labels};
use serde::{Deserialize, Serialize};

use crate::error::FleetError;
use crate::server::{Server, Stored};
use crate::subjects::{AGENTS, agent};
use crate::wire::{decode, encode};

/// How often an agent says that it is there.
pub(crate) const BEAT: Duration = Duration::from_secs(5);

/// An agent and its machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// Its name, unique in the fleet.
    pub agent: String,
    /// Its version of pragmark.
    pub version: String,
    /// Its labels.
    pub labels: Labels,
    /// The machine, with the directory that is measured.
    pub machine: Environment,
    /// The engines that are there without building any.
    pub engines: Vec<String>,
    /// The drivers that are installed.
    pub drivers: Vec<String>,
    /// What it does.
    pub doing: Doing,
    /// Seconds since 1970 by its own clock.
    pub clock_s: i64,
}

/// What an agent does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Doing {
    /// Seconds since 1970 at which the agent began, by its own clock.
    pub began_s: i64,
    /// The block that it carries out, and its run; none while it waits.
    pub block: Option<(String, String)>,
    /// Seconds since 1970 at which it began this block, by its own clock.
    pub since_s: i64,
    /// Blocks that it has carried out since it began.
    pub done: u64,
    /// Seconds that the last of them took.
    pub last_s: Option<f64>,
    /// What keeps it from working, such as a full disk.
    pub trouble: Option<String>,
    /// Whether it ends after its block.
    pub draining: bool,
}

/// An agent that is present.
#[derive(Clone, Debug, PartialEq)]
pub struct Present {
    /// What it says.
    pub card: Card,
    /// How far its clock is ahead of the server's, in seconds.
    pub clock_ahead_s: i64,
}

impl Present {
    /// Its name and labels.
    pub fn candidate(&self) -> Candidate {
        Candidate {
            agent: self.card.agent.clone(),
            labels: self.card.labels.clone(),
        }
    }
}

/// The agents that are present, by name.
///
/// # Errors
/// When the server refuses, or a card is damaged.
pub fn present(server: &Server) -> Result<Vec<Present>, FleetError> {
    let stored = server.all(AGENTS, "pragmark.agents.>")?;
    let agents = stored.iter().map(of).collect::<Result<Vec<_>, _>>()?;
    Ok(latest(agents))
}

/// Each agent once, by name, as it was last: an agent that renews its card while all are read is among them twice.
fn latest(agents: Vec<Present>) -> Vec<Present> {
    let named = agents.into_iter().map(|it| (it.card.agent.clone(), it));
    named.collect::<BTreeMap<_, _>>().into_values().collect()
}

fn of(stored: &Stored) -> Result<Present, FleetError> {
    let card: Card = decode(
        &stored.payload,
        &format!("what the agent {} says", stored.name()),
    )?;
    if card.agent != stored.name() {
        let why = format!("it calls itself {}", card.agent);
        return Err(FleetError::damaged(
            &format!("the card of the agent {}", stored.name()),
            why,
        ));
    }
    let clock_ahead_s = card.clock_s - stored.stored_s;
    Ok(Present {
        card,
        clock_ahead_s,
    })
}

/// Seconds since 1970.
pub(crate) fn clock_s() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs() as i64)
}

/// Says once that the agent is there; a server that has no fleet yet is not an error, and neither is one that does not
/// answer just now: the next beat comes.
pub(crate) async fn beat(jetstream: &async_nats::jetstream::Context, card: &Card) -> bool {
    let card = Card {
        clock_s: clock_s(),
        ..card.clone()
    };
    let Ok(payload) = encode(&card) else {
        return false;
    };
    match jetstream.publish(agent(&card.agent), payload.into()).await {
        Ok(sent) => sent.await.is_ok(),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_renews_its_card_meanwhile_is_present_once() {
        let present = |agent: &str, done: u64| Present {
            card: Card {
                agent: agent.to_owned(),
                version: "1.0.0".to_owned(),
                labels: Labels::default(),
                machine: Environment::default(),
                engines: Vec::new(),
                drivers: Vec::new(),
                doing: Doing {
                    done,
                    ..Doing::default()
                },
                clock_s: 0,
            },
            clock_ahead_s: 0,
        };
        let read = vec![present("b", 0), present("a", 1), present("b", 2)];
        assert_eq!(latest(read), [present("a", 1), present("b", 2)]);
    }
}
