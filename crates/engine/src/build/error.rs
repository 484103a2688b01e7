//! Why an engine cannot be had.

use super::release::RELEASES;
use super::sets::{BINDING, DEFAULT, OPTION_SETS};
use crate::error::EngineError;
use process::{End, Finished, Group, Limits, ProcessError};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use thiserror::Error;

/// The result of building a library.
pub type Result<T, E = BuildError> = std::result::Result<T, E>;

/// Why an engine cannot be named, fetched, compiled, kept or used.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // Variants describe their fields.
pub enum BuildError {
    /// The name of an engine is empty.
    #[error("the name of an engine is empty; `default` is the one built in")]
    EmptyName,
    /// No release of the crate carries this version (the version requested).
    #[error("SQLite {} cannot be built; available versions: {versions}", .0, versions = versions())]
    UnknownVersion(String),
    /// No option set has this name (the set requested).
    #[error("there is no option set `{}`; available sets: {sets}", .0, sets = set_names())]
    UnknownSet(String),
    /// The name of an engine joins options to one that is compiled already.
    #[error("{0}")]
    CompiledAlready(String),
    /// Neither an added engine nor a file has this name (the name requested).
    #[error("there is no engine `{0}`: it is not a version, an added engine or a file")]
    Unknown(String),
    /// A name that cannot be given to an added engine (the name requested).
    #[error(
        "an engine cannot be added as `{0}`: names consist of lower-case letters, digits and hyphens, begin with a letter, and cannot be `default` or `system`"
    )]
    NotAName(String),
    /// An engine of this name was added before (the name requested).
    #[error("an engine named `{0}` has already been added")]
    NameTaken(String),
    /// The user has no cache (the missing part).
    #[error("there is no cache directory for engines: {0}")]
    NoCache(String),
    /// A file or directory could not be used for this operation.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: std::io::Error },
    /// A program that building needs could not be run.
    #[error("{0} cannot be used: {1}")]
    Program(&'static str, ProcessError),
    /// The source cannot be had.
    #[error("{0}")]
    Fetch(String),
    /// An engine cannot be built.
    #[error("{0}")]
    Failed(String),
    /// The C compiler ended with an error.
    #[error("{0}")]
    Compiler(String),
    /// A profile-guided build with a compiler that keeps profiles another way (the compiler found).
    #[error("the option set `pgo` requires gcc; {0} stores its profiles differently")]
    ProfileNeedsGcc(String),
    /// The provenance of an engine in the cache cannot be read.
    #[error("{} cannot be parsed: {}", .0.display(), .1)]
    BadProvenance(PathBuf, String),
    /// The compiled library cannot be loaded, or is something else.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Building was stopped.
    #[error("stopped")]
    Cancelled,
}

fn versions() -> String {
    RELEASES.iter().map(|release| release.version).collect::<Vec<_>>().join(", ")
}

fn set_names() -> String {
    let mut all = vec![DEFAULT];
    all.extend(OPTION_SETS.iter().map(|set| set.name));
    all.push(BINDING);
    all.join(", ")
}

/// Runs a program that building needs, which `what` names in errors.
///
/// # Errors
/// It cannot be run, or was stopped because `cancelled` became true.
pub(super) fn run(
    command: &mut Command,
    what: &'static str,
    cancelled: &AtomicBool,
) -> Result<Finished> {
    match process::run(command, Group::Own, &Limits::cancelled(cancelled)) {
        Ok(finished) if finished.end == End::Cancelled => Err(BuildError::Cancelled),
        Ok(finished) => Ok(finished),
        Err(source) => Err(BuildError::Program(what, source)),
    }
}

/// Adds the operation and its path to an error of the system.
pub(super) trait Context<T> {
    fn context(self, doing: &'static str, path: &std::path::Path) -> Result<T>;
}

impl<T> Context<T> for std::io::Result<T> {
    fn context(self, doing: &'static str, path: &std::path::Path) -> Result<T> {
        self.map_err(|source| BuildError::Io { doing, path: path.to_owned(), source })
    }
}
