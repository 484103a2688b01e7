//! Results of two connections that meet at the wrong moment: damage that needs no crash and
//! belongs to no storage model.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Results of two connections that met at chosen moments: damage that needs no crash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Schedules {
    /// Schedules were played.
    Played {
        /// How many, each once.
        played: u64,
        /// How many of them went wrong.
        wrong: u64,
        /// The first that went wrong.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        first: Option<WrongSchedule>,
    },
    /// Not needed: one connection damaged a database by itself.
    Alone {
        /// The damage.
        what: String,
        /// The command that shows it again.
        again: String,
    },
    /// Nothing can be said.
    NotMeasured {
        /// Why they are not combined.
        why: String,
    },
}

/// A schedule that went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WrongSchedule {
    /// The schedule, as `pragmark crash --schedule` takes it.
    pub schedule: String,
    /// The damage.
    pub what: String,
    /// The command that plays it again.
    pub again: String,
}

impl Schedules {
    /// Both in one: counts are not added, because both may have played the same schedules.
    pub fn merged(self, other: Schedules) -> Schedules {
        let weight = |schedules: &Schedules| match schedules {
            Schedules::NotMeasured { .. } => (false, 0, 0),
            Schedules::Played { played, wrong, .. } => (true, *wrong, *played),
            Schedules::Alone { .. } => (true, u64::MAX, 0),
        };
        if weight(&other) > weight(&self) { other } else { self }
    }
}

impl fmt::Display for Schedules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schedules::Played { played, wrong, .. } => {
                write!(f, "{wrong} of {played} schedules corrupted the database")
            }
            Schedules::Alone { what, .. } => {
                write!(f, "one connection by itself damaged a database: {what}")
            }
            Schedules::NotMeasured { why } => write!(f, "not measured ({why})"),
        }
    }
}
