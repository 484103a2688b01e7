//! What can go wrong with a setting.

use crate::error::SqliteError;
use thiserror::Error;

/// A setting that is unknown, refused, or without effect.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PragmaError {
    /// The catalogue has no PRAGMA of that name (the name given).
    #[error("there is no configuration PRAGMA called {0}")]
    Unknown(String),
    /// The PRAGMA exists, but reports or checks something and cannot be set.
    #[error("PRAGMA {pragma} cannot be set: it only {does}")]
    NotSettable {
        /// The PRAGMA.
        pragma: &'static str,
        /// What it does instead.
        does: &'static str,
    },
    /// The PRAGMA can be set but not read (the PRAGMA).
    #[error("PRAGMA {0} cannot be read back")]
    NotReadable(&'static str),
    /// The value is not one that the PRAGMA takes.
    #[error("PRAGMA {pragma} cannot be {value}: it takes {expected}")]
    InvalidValue {
        /// The PRAGMA.
        pragma: &'static str,
        /// The value given.
        value: String,
        /// The values it takes, in words.
        expected: String,
    },
    /// The loaded engine, or this kind of database, does not have the PRAGMA.
    #[error("SQLite {version} returns no value for PRAGMA {pragma} on this database")]
    NotInEngine {
        /// The PRAGMA.
        pragma: &'static str,
        /// The version loaded.
        version: String,
    },
    /// SQLite reported an error while setting or reading.
    #[error("PRAGMA {pragma} = {value} was refused: {source}")]
    Refused {
        /// The PRAGMA.
        pragma: &'static str,
        /// The value wanted.
        value: String,
        /// SQLite's error.
        source: SqliteError,
    },
    /// SQLite reported no error, but the setting is not in force.
    #[error("PRAGMA {pragma} = {wanted} did not take effect (it is {got}): {why}")]
    DidNotTakeEffect {
        /// The PRAGMA.
        pragma: &'static str,
        /// The value wanted, normalised.
        wanted: String,
        /// The value read back, normalised.
        got: String,
        /// Why, as far as known.
        why: String,
    },
}

impl PragmaError {
    /// SQLite's own error, where it reported one.
    pub fn as_sqlite(&self) -> Option<&SqliteError> {
        match self {
            PragmaError::Refused { source, .. } => Some(source),
            _ => None,
        }
    }
}
