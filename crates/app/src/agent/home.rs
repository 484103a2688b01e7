//! The directory of an agent in the cache: one process at a time has it.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use fleet::Signer;

use crate::error::{Error, Result};

/// The file that is locked.
const LOCK: &str = "lock";

/// The file with the instance that was here last.
const INSTANCE: &str = "instance";

/// The directory, for as long as this is kept.
pub(super) struct Home {
    pub(super) path: PathBuf,
    /// The key of this process, whose public half is its instance: it is written nowhere.
    pub(super) signer: Signer,
    /// The instance that was here before, which has ended.
    pub(super) before: String,
    _lock: File,
}

impl Home {
    /// Enters the directory.
    ///
    /// # Errors
    /// Another process is there, or it cannot be written.
    pub(super) fn enter(path: PathBuf, name: &str) -> Result<Home> {
        let failed = |path: &Path, error: std::io::Error| Error::writing(path, error);
        fs::create_dir_all(&path).map_err(|error| failed(&path, error))?;
        let lock = File::create(path.join(LOCK)).map_err(|error| failed(&path, error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(taken(name)),
            Err(TryLockError::Error(error)) => return Err(failed(&path, error)),
        }
        let file = path.join(INSTANCE);
        // There is none the first time.
        let before = fs::read_to_string(&file).unwrap_or_default();
        let signer = Signer::default();
        fs::write(&file, signer.key()).map_err(|error| failed(&file, error))?;
        Ok(Home { path, signer, before, _lock: lock })
    }
}

fn taken(name: &str) -> Error {
    Error::unusable(format!("another agent with the name {name} runs on this machine"))
        .hint("give each agent a name of its own with --name")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_is_there_at_a_time_and_the_next_knows_the_one_before() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        let enter = || Home::enter(path.clone(), "a");
        let first = enter().unwrap();
        let failure = enter().err().unwrap().words();
        assert!(failure.contains("runs on this machine"), "{failure}");
        let one = first.signer.key();
        drop(first);
        let second = enter().unwrap();
        assert_eq!(second.before, one);
        assert_ne!(second.signer.key(), one);
    }
}
