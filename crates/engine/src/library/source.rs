//! Naming an engine.

use crate::error::EngineError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Which SQLite library to load.
///
/// Its textual form, also in JSON and TOML, is `default`, `system` or a path; a file of one of those
/// two names is written `./default` or `./system`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Source {
    /// The engine compiled with pragmark and embedded in it.
    #[default]
    Embedded,
    /// The library that programs of this system get when they link SQLite.
    System,
    /// A shared library by its path.
    Path(PathBuf),
}

impl FromStr for Source {
    type Err = EngineError;

    fn from_str(text: &str) -> Result<Source, EngineError> {
        match text {
            "" => Err(EngineError::EmptySource),
            "default" => Ok(Source::Embedded),
            "system" => Ok(Source::System),
            path => Ok(Source::Path(path.into())),
        }
    }
}

impl TryFrom<String> for Source {
    type Error = EngineError;

    fn try_from(text: String) -> Result<Source, EngineError> {
        text.parse()
    }
}

impl From<Source> for String {
    fn from(source: Source) -> String {
        source.to_string()
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Embedded => f.write_str("default"),
            Source::System => f.write_str("system"),
            Source::Path(path) => write!(f, "{}", path.display()),
        }
    }
}
