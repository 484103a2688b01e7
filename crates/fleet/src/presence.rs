//! The agents that are present: each says from time to time who it is and what it does.

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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doing {
    /// The block that it carries out, and its run; none while it waits.
    pub block: Option<(String, String)>,
    /// Seconds since 1970 at which it began this block, by its own clock.
    pub since_s: i64,
    /// Blocks that it has carried out since it began.
    pub done: u64,
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
    let mut agents = stored.iter().map(of).collect::<Result<Vec<_>, _>>()?;
    agents.sort_by(|one, other| one.card.agent.cmp(&other.card.agent));
    Ok(agents)
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
