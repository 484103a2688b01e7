//! The provenance of a library that pragmark keeps: where it came from and how it was made.
//!
//! It stands apart from the cache because the loader reads it, too: a library with a provenance is
//! loaded only if its bytes are the ones recorded.

use super::error::{BuildError, Context};
use crate::error::{EngineError, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Version of the file.
pub(super) const FORMAT: u32 = 1;

/// Where a library came from, how it was made, and the hash by which it is recognised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Version of the file.
    pub format: u32,
    /// The engine's name.
    pub name: String,
    /// `sqlite3_libversion()`.
    pub version: String,
    /// `sqlite3_sourceid()`.
    pub source_id: String,
    /// Where it came from: a release of the crate, or the file that was added.
    pub source: String,
    /// How it was compiled; absent for an engine that was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compiled: Option<Compiled>,
    /// SHA-256 of the library.
    pub sha256: String,
    /// Size of the library in bytes.
    pub bytes: u64,
    /// When it was made or added: RFC 3339, UTC.
    pub created: String,
}

/// How a library was compiled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compiled {
    /// SHA-256 of `sqlite3.c`.
    pub source_sha256: String,
    /// The command of the compiler.
    pub compiler: String,
    /// The first line of the compiler's version message.
    pub compiler_version: String,
    /// Flags and options as the compiler got them.
    pub arguments: Vec<String>,
    /// Whether it was compiled with the profile of a training run.
    pub profile_guided: bool,
    /// Seconds from the start of the build to its end, waiting for another process left out.
    pub seconds: f64,
    /// Of these, the seconds in which the compiler ran.
    pub compiler_seconds: f64,
}

/// Returns the SHA-256 of some bytes, in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the file of a library.
fn file_of(library: &Path) -> PathBuf {
    let mut name = library.as_os_str().to_owned();
    name.push(".provenance.json");
    name.into()
}

impl Provenance {
    /// Returns the provenance of a library, if it has one.
    ///
    /// # Errors
    /// The file cannot be read or understood.
    pub fn read(library: &Path) -> Result<Option<Provenance>, BuildError> {
        let path = file_of(library);
        let text = match std::fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other.context("read", &path)?,
        };
        let provenance = serde_json::from_slice(&text).map_err(|error| bad(&path, &error))?;
        Ok(Some(provenance))
    }

    /// Writes it to the file that belongs to a library.
    pub(super) fn write(&self, library: &Path) -> Result<(), BuildError> {
        let path = file_of(library);
        let text = serde_json::to_string_pretty(self).map_err(|error| bad(&path, &error))?;
        std::fs::write(&path, text + "\n").context("write", &path)
    }
}

fn bad(path: &Path, error: &serde_json::Error) -> BuildError {
    BuildError::BadProvenance(path.to_owned(), error.to_string())
}

/// Refuses the bytes of a library that are not those its provenance was written for; a library without
/// one may be anything.
pub(crate) fn check(library: &Path, bytes: &[u8]) -> Result<()> {
    let damaged = |why: String| EngineError::library(library, format!("is damaged: {why}"));
    let Some(provenance) = Provenance::read(library).map_err(|error| damaged(error.to_string()))?
    else {
        return Ok(());
    };
    let found = sha256(bytes);
    if found == provenance.sha256 {
        return Ok(());
    }
    Err(damaged(format!("its SHA-256 is {found}, but {} was recorded", provenance.sha256)))
}
