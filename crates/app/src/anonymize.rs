//! Copies of databases that can be shared.

use std::path::Path;

use bench::anonymize::{Anonymized, anonymize as copy};

use crate::error::{Error, Result};
use crate::files::{parent_of, work_folder};

/// Writes a copy of a database with other texts and blobs, except in the columns to keep.
///
/// # Errors
/// The copy exists or cannot be written, or the database cannot be read.
pub fn anonymize(database: &Path, keep: &[String], out: &Path) -> Result<Anonymized> {
    if out.exists() {
        return Err(Error::writing(out, "the file exists"));
    }
    let parent = parent_of(out);
    if !parent.is_dir() {
        return Err(Error::writing(out, "there is no such directory"));
    }
    // A killed command leaves the original there; the next one removes it.
    let folder = work_folder(parent)?;
    let unfinished = folder.path.join("new.db");
    let done = copy(database, keep, &folder.path, &unfinished).map_err(Error::unusable)?;
    std::fs::rename(&unfinished, out).map_err(|error| Error::writing(out, error))?;
    Ok(done)
}
