//! The agents that are present: each says from time to time who it is and what it does.

use std::time::{Duration, SystemTime};

use lab::environment::Environment;
use lab::fleet::{Candidate, Labels};
use serde::{Deserialize, Serialize};

use crate::error::{FleetError, Result};
use crate::server::{Server, Stored};
use crate::subjects::{AGENT, AGENTS, agent};
use crate::wire::{decode, encode};

/// How often an agent says that it is there.
pub(crate) const BEAT: Duration = Duration::from_secs(5);

/// An agent and its machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// Its name, unique in the fleet.
    pub agent: String,
    /// The public key by which this process signs what it says, made when it started: it distinguishes the process from earlier
    /// ones of this agent, and from another agent of its name.
    #[serde(default)]
    pub instance: String,
    /// Its version of pragmark.
    pub version: String,
    /// Its labels.
    pub labels: Labels,
    /// The machine, with the directory that is measured.
    pub machine: Environment,
    /// The engines that are there without building any.
    pub engines: Vec<String>,
    /// Whether it can build other engines.
    #[serde(default)]
    pub can_build: bool,
    /// For which kind of machine its engines are, such as `x86_64-linux-gnu`.
    #[serde(default)]
    pub target: String,
    /// The drivers that are installed.
    pub drivers: Vec<String>,
    /// Its activity.
    pub doing: Activity,
    /// Seconds since 1970 by its own clock.
    pub clock_s: i64,
}

/// The activity of an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Activity {
    /// Seconds since 1970 at which the agent began, by its own clock.
    pub began_s: i64,
    /// The block that it executes, and its run; `None` while it waits.
    pub block: Option<(String, String)>,
    /// Seconds since 1970 at which it began this block, by its own clock.
    pub since_s: i64,
    /// Blocks that it has carried out since it began.
    pub done: u64,
    /// Seconds that the last of them took.
    pub last_s: Option<f64>,
    /// The problem that keeps it from working, such as a full disk.
    pub trouble: Option<String>,
    /// Whether it ends after its block.
    pub draining: bool,
}

/// An agent that is present.
#[derive(Clone, Debug, PartialEq)]
pub struct PresentAgent {
    /// Its card.
    pub card: Card,
    /// How far its clock is ahead of the server's, in seconds.
    pub clock_ahead_s: i64,
    /// Why its card cannot be read; it holds nothing but name and version then.
    pub unreadable: Option<String>,
}

/// The fields of a card in every version.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Header {
    version: String,
    instance: String,
    clock_s: i64,
}

impl PresentAgent {
    /// Its name and labels.
    pub fn candidate(&self) -> Candidate {
        Candidate { agent: self.card.agent.clone(), labels: self.card.labels.clone() }
    }
}

/// Returns the agents that are present, by name. One whose card cannot be read does not hide the others.
///
/// # Errors
/// When the server refuses.
pub fn present(server: &Server) -> Result<Vec<PresentAgent>> {
    Ok(server.entries(AGENT)?.iter().map(of).collect())
}

fn of(stored: &Stored) -> PresentAgent {
    let what = format!("what the agent {} says", stored.name());
    let (card, why) = match decode::<Card>(&stored.payload, &what) {
        Ok(card) if card.agent == stored.name() => (Some(card), None),
        Ok(card) => (None, Some(format!("it calls itself {}", card.agent))),
        Err(error) => (None, Some(error.to_string())),
    };
    let (card, unreadable) = (card.unwrap_or_else(|| little(stored)), why);
    PresentAgent { clock_ahead_s: card.clock_s - stored.stored_s, card, unreadable }
}

/// Returns the known fields of a card that cannot be read.
fn little(stored: &Stored) -> Card {
    let header: Header = decode(&stored.payload, "a card").unwrap_or_default();
    Card {
        agent: stored.name().to_owned(),
        instance: header.instance,
        version: header.version,
        clock_s: header.clock_s,
        ..Card::default()
    }
}

/// Checks that no agent of this name is present except the `own` instances: the outcomes of two agents would count as
/// one machine's. A killed agent is noticed by its silence, which takes some seconds.
///
/// # Errors
/// [`FleetError::NameTaken`]; when the server refuses, or it was cancelled.
pub fn check_name(server: &Server, name: &str, own: &[&str]) -> Result<()> {
    if server.is_renewed(BEAT * 2 + BEAT / 2, || other(server, name, own))? {
        return Err(FleetError::NameTaken(name.to_owned()));
    }
    Ok(())
}

/// Returns the sequence number of the last card of this name that is of no `own` agent, if the last one is not.
pub(crate) fn other(server: &Server, name: &str, own: &[&str]) -> Result<Option<u64>> {
    let stored = server.entry(&agent(name))?;
    let other = stored.filter(|stored| !own.contains(&of(stored).card.instance.as_str()));
    Ok(other.map(|stored| stored.sequence))
}

/// Seconds since 1970.
pub(crate) fn clock_s() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs() as i64)
}

/// Says once that the agent is there; the number of what it said. A server that has no fleet yet is not an error, and neither is
/// one that does not answer just now: the next beat comes.
pub(crate) async fn beat(jetstream: &async_nats::jetstream::Context, card: &Card) -> Option<u64> {
    let card = Card { clock_s: clock_s(), ..card.clone() };
    let payload = encode(&card).ok()?;
    jetstream.get_key_value(AGENTS).await.ok()?.put(agent(&card.agent), payload.into()).await.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(card: &Value) -> PresentAgent {
        of(&Stored {
            subject: agent("a"),
            sequence: 1,
            payload: encode(card).unwrap().into(),
            stored_s: 100,
        })
    }

    fn card(agent: &str, done: u64) -> Value {
        json!({
            "agent": agent, "version": "1.0.0", "labels": {}, "machine": Environment::default(),
            "engines": [], "drivers": [], "doing": { "done": done }, "clock_s": 160
        })
    }

    #[test]
    fn what_an_older_agent_does_not_say_has_its_usual_value() {
        let present = read(&card("a", 3));
        assert_eq!((present.unreadable, present.clock_ahead_s), (None, 60));
        assert_eq!((present.card.doing.done, present.card.doing.began_s), (3, 0));
    }

    #[test]
    fn a_card_that_cannot_be_read_is_there_with_its_version() {
        let mut other = card("a", 0);
        other["version"] = json!("9.9.9");
        other["labels"] = json!("none");
        let present = read(&other);
        assert!(present.unreadable.is_some());
        let card = present.card;
        assert_eq!((card.agent.as_str(), card.version.as_str()), ("a", "9.9.9"));
        let false_name = read(&self::card("b", 0));
        let why = false_name.unreadable.unwrap();
        assert!(why.contains("calls itself b"), "{why}");
        assert_eq!(false_name.card.agent, "a");
    }
}
