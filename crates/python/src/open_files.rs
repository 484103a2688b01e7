//! Databases that are open in this process already. SQLite's locks belong to the process: whoever closes a file gives
//! up the locks of all others that have it open, be it another library of SQLite or another load.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A file, by whatever path: its device and number.
type FileId = (u64, u64);

/// The databases into which this process loads.
static LOADING: Mutex<Vec<FileId>> = Mutex::new(Vec::new());

fn loading() -> MutexGuard<'static, Vec<FileId>> {
    // Nothing in between leaves the list wrong.
    LOADING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A database that belongs to this load as long as the claim lives. A new database is created under another name, and
/// needs no claim.
pub(crate) struct Claim(Option<FileId>);

/// Why this process cannot load into a database.
pub(crate) enum Refusal {
    /// Another thread does so.
    Loading,
    /// It is open as this descriptor.
    Open(String),
}

impl Claim {
    pub(crate) fn of(path: &Path) -> Result<Claim, Refusal> {
        let Some(wanted) = identity(path) else { return Ok(Claim(None)) };
        // Until this load is in the list, no other one may look at it.
        let mut loading = loading();
        if loading.contains(&wanted) {
            return Err(Refusal::Loading);
        }
        if let Some(descriptor) = open_here(wanted) {
            return Err(Refusal::Open(descriptor));
        }
        loading.push(wanted);
        Ok(Claim(Some(wanted)))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(own) = self.0 {
            loading().retain(|other| *other != own);
        }
    }
}

fn identity(path: &Path) -> Option<FileId> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// Returns the descriptor with which this process has a file open, if it has. `None` if the system does not list
/// descriptors.
fn open_here(wanted: FileId) -> Option<String> {
    let descriptors = std::fs::read_dir("/proc/self/fd").ok()?;
    let same =
        descriptors.flatten().find(|descriptor| identity(&descriptor.path()) == Some(wanted))?;
    Some(format!("descriptor {}", same.file_name().to_string_lossy()))
}
