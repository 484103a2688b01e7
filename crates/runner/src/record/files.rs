//! The files of a record: regular ones, opened where they are. A folder may come from somebody else, so a
//! link in it is not followed to a file of the user, and a pipe is not waited for.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use lab::record::FORMAT;
use rustix::fs::{Access, OFlags, access};
use serde::de::DeserializeOwned;

use crate::error::{Context, Result, RunError};

/// Opens a file for reading.
pub(super) fn open(path: &Path) -> Result<File> {
    opened(OpenOptions::new().read(true), path)
}

/// Opens a file for reading and writing.
pub(super) fn open_to_write(path: &Path) -> Result<File> {
    opened(OpenOptions::new().read(true).write(true), path)
}

fn opened(options: &mut OpenOptions, path: &Path) -> Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let not_a_file = || RunError::NotAFile(path.to_owned());
    let file = match options.custom_flags(flags.bits() as i32).open(path) {
        Err(_) if path.is_symlink() => return Err(not_a_file()),
        opened => opened.context("open", path)?,
    };
    file.metadata().context("read", path)?.is_file().then_some(file).ok_or_else(not_a_file)
}

/// Returns the bytes of a file.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut file = open(path)?;
    file.read_to_end(&mut bytes).context("read", path)?;
    Ok(bytes)
}

/// Returns the value in a file of JSON with a format.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let damaged = |error: serde_json::Error| RunError::damaged(path, error);
    let value: serde_json::Value = serde_json::from_slice(&read(path)?).map_err(damaged)?;
    let format =
        value["format"].as_u64().and_then(|format| u32::try_from(format).ok()).unwrap_or_default();
    check_format(path, format)?;
    serde_json::from_value(value).map_err(damaged)
}

/// Refuses a file of another format.
pub(super) fn check_format(path: &Path, found: u32) -> Result<()> {
    match found {
        0 => Err(RunError::damaged(path, "it names no format")),
        FORMAT => Ok(()),
        _ => Err(RunError::OtherFormat { path: path.to_owned(), found, known: FORMAT }),
    }
}

/// Refuses a path below `folder` with a link in it.
pub(crate) fn check_no_link(folder: &Path, place: &Path) -> Result<()> {
    let mut path = folder.to_owned();
    for part in place.components() {
        path.push(part);
        if path.is_symlink() {
            return Err(RunError::NotAFile(path));
        }
    }
    Ok(())
}

/// Whether a directory can be made at this path and filled, as far as permissions tell.
pub(super) fn check_creatable(path: &Path) -> Result<()> {
    let path = std::path::absolute(path).context("find", path)?;
    let existing = path.ancestors().find(|ancestor| ancestor.exists());
    let existing = existing.map_or_else(|| PathBuf::from("/"), Path::to_owned);
    if !existing.is_dir() {
        return Err(io::Error::from(io::ErrorKind::NotADirectory)).context("use", &existing);
    }
    access(&existing, Access::WRITE_OK | Access::EXEC_OK).context("write to", &existing)
}
