//! Which library to load, and the identity of a loaded one.

use crate::error::{EngineError, Result};
use crate::ffi::Api;
use crate::text::copied;
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
    /// The same with [`SCAN_STATUS`](crate::options::SCAN_STATUS), embedded as well.
    Explaining,
    /// The library that programs of this system get when they link SQLite.
    System,
    /// A shared library by its path.
    Path(PathBuf),
}

impl FromStr for Source {
    type Err = EngineError;

    fn from_str(text: &str) -> Result<Source> {
        match text {
            "" => Err(EngineError::Library(
                "an engine is `default`, `system` or the path of a SQLite library; the name is empty".to_owned(),
            )),
            "default" => Ok(Source::Embedded),
            "default+scanstatus" => Ok(Source::Explaining),
            "system" => Ok(Source::System),
            path => Ok(Source::Path(path.into())),
        }
    }
}

impl TryFrom<String> for Source {
    type Error = EngineError;

    fn try_from(text: String) -> Result<Source> {
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
            Source::Explaining => f.write_str("default+scanstatus"),
            Source::System => f.write_str("system"),
            Source::Path(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Where a library came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "path")]
pub enum Origin {
    /// Embedded in pragmark.
    Embedded,
    /// The system's library, at this path.
    System(PathBuf),
    /// The file requested.
    File(PathBuf),
}

/// Version, options and origin of a library: recorded with every trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The version, for example `3.54.1` (`sqlite3_libversion`).
    pub version: String,
    /// Check-in date and hash of the source (`sqlite3_sourceid`).
    pub source_id: String,
    /// The compile options without their prefix `SQLITE_`, in SQLite's order
    /// (`sqlite3_compileoption_get`); empty where the library was built without diagnostics.
    pub compile_options: Vec<String>,
    /// The threading mode compiled in: 0 single-threaded, 1 serialised, 2 multi-threaded
    /// (`sqlite3_threadsafe`).
    pub threadsafe: i32,
    /// Where the library came from.
    pub origin: Origin,
}

impl Identity {
    pub(crate) fn read(api: &Api, origin: Origin) -> Identity {
        Identity {
            // SAFETY: these two return static strings that end in NUL.
            version: unsafe { copied((api.libversion)()) }.unwrap_or_default(),
            // SAFETY: as above.
            source_id: unsafe { copied((api.sourceid)()) }.unwrap_or_default(),
            compile_options: compile_options(api),
            // SAFETY: takes nothing, has no preconditions.
            threadsafe: unsafe { (api.threadsafe)() },
            origin,
        }
    }

    /// Returns the value of a compile option, by its name without `SQLITE_`: the text after `=`, or an empty
    /// one where it has none.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.compile_options.iter().find_map(|option| match option.split_once('=') {
            Some((found, value)) => (found == name).then_some(value),
            None => (option == name).then_some(""),
        })
    }
}

fn compile_options(api: &Api) -> Vec<String> {
    let Some(get) = api.compileoption_get else { return Vec::new() };
    (0..)
        // SAFETY: any index is allowed; past the last option the result is null, before it a static
        // string that ends in NUL.
        .map_while(|index| unsafe { copied(get(index)) })
        .collect()
}
