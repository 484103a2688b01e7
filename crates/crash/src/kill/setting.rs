//! The settings under which processes are killed.

use crate::AccidentError;
use engine::{Connection, pragma};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The settings that decide what survives.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// `PRAGMA journal_mode`.
    pub journal_mode: String,
    /// `PRAGMA synchronous`.
    pub synchronous: String,
    /// `PRAGMA locking_mode`.
    pub locking_mode: String,
}

impl Setting {
    /// Applies the settings and proves each by reading it back.
    pub(super) fn apply(&self, connection: &Connection) -> Result<(), AccidentError> {
        // Exclusive locking comes first: in WAL mode it then needs no shared memory
        // (https://sqlite.org/wal.html#noshm).
        for (name, value) in [
            ("locking_mode", &self.locking_mode),
            ("journal_mode", &self.journal_mode),
            ("synchronous", &self.synchronous),
        ] {
            pragma::apply(connection, name, value)
                .map_err(AccidentError::engine(format!("setting {self}")))?;
        }
        Ok(())
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "journal_mode={} synchronous={} locking_mode={}",
            self.journal_mode, self.synchronous, self.locking_mode
        )
    }
}
