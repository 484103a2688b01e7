//! What a loaded library says of itself.

use crate::ffi::Api;
use serde::{Deserialize, Serialize};
use std::ffi::{CStr, c_char};
use std::path::PathBuf;

/// Where a library came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "path")]
pub enum Origin {
    /// Embedded in pragmark.
    Embedded,
    /// The system's library, at this path.
    System(PathBuf),
    /// The file that was asked for.
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
            version: unsafe { owned((api.libversion)()) },
            // SAFETY: as above.
            source_id: unsafe { owned((api.sourceid)()) },
            compile_options: compile_options(api),
            // SAFETY: takes nothing, has no preconditions.
            threadsafe: unsafe { (api.threadsafe)() },
            origin,
        }
    }

    /// Whether the option is compiled in: its name without `SQLITE_`, and without `=` for those
    /// options which have a value (`THREADSAFE`).
    pub fn has_option(&self, name: &str) -> bool {
        self.option(name).is_some()
    }

    /// The value of a compile option: the text after `=`, or an empty one where it has none.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.compile_options
            .iter()
            .find_map(|option| match option.split_once('=') {
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
        // SAFETY: any index is allowed; past the last option the result is null.
        .map(|index| unsafe { get(index) })
        .take_while(|option| !option.is_null())
        // SAFETY: not null, hence a static string that ends in NUL.
        .map(|option| unsafe { owned(option) })
        .collect()
}

/// # Safety
/// `text` must be a valid C string.
unsafe fn owned(text: *const c_char) -> String {
    // SAFETY: what the caller vouches for.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}
