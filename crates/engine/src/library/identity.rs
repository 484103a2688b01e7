//! What a loaded library says of itself.

use crate::ffi::Api;
use crate::text::copied;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

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

    /// The value of a compile option, by its name without `SQLITE_`: the text after `=`, or an empty one
    /// where it has none.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.compile_options.iter().find_map(|option| match option.split_once('=') {
            Some((found, value)) => (found == name).then_some(value),
            None => (option == name).then_some(""),
        })
    }
}

fn compile_options(api: &Api) -> Vec<String> {
    let Some(get) = api.compileoption_get else {
        return Vec::new();
    };
    (0..)
        // SAFETY: any index is allowed; past the last option the result is null, before it a static
        // string that ends in NUL.
        .map_while(|index| unsafe { copied(get(index)) })
        .collect()
}
