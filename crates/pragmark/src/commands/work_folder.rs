//! Folders in which commands keep copies of the user's databases while they look at them.
//!
//! They stand with the folders of trials, since a copy may be as large as the database: what a killed command
//! leaves is removed by the next one that works in the same directory.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use runner::workdir::WorkDir;

use crate::failure::Failure;

/// An empty folder below `parent` that goes when it is dropped, or else with the next command after a SIGKILL.
///
/// # Errors
/// `parent` is missing or cannot be written.
pub(super) fn work_folder(parent: &Path) -> Result<WorkDir, Failure> {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let made = MADE.fetch_add(1, Ordering::Relaxed);
    let name = format!("{}-{made}", std::process::id());
    WorkDir::create(parent, &name).map_err(|error| {
        Failure::unusable(error).hint(
            "copies of databases need a directory that can be written: --dir, or that of --out",
        )
    })
}
