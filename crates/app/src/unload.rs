//! Unloads of rows into files.

use std::sync::atomic::Ordering;

use load::{LoadError, Unload, Unloaded};

use crate::Result;
use crate::files::built_in_library;
use crate::interface::Interface;

/// Writes the rows, and passes their number so far on. Returns `None` if it was interrupted; then there is no file.
///
/// # Errors
/// The database or the files cannot be used, or the rows do not fit the format.
pub fn unload(
    request: &Unload,
    ui: &dyn Interface,
    on_progress: &mut dyn FnMut(u64),
) -> Result<Option<Unloaded>> {
    let interrupted = ui.interrupted()?;
    let unloaded = load::unload(&built_in_library()?, request, &mut |rows| {
        on_progress(rows);
        !interrupted.load(Ordering::Relaxed)
    });
    match unloaded {
        Err(LoadError::Interrupted) => Ok(None),
        unloaded => Ok(Some(unloaded?)),
    }
}
