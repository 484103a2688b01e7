//! Functions that only some operating systems have.
//!
//! File descriptors of this process: how many it has open, and how many it may have.

use std::fs::File;
use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::error::{Result, TrialError};

/// Flags for opening a file to read it that keep the time of its last access.
#[cfg(target_os = "linux")]
pub(crate) const QUIET: i32 = rustix::fs::OFlags::NOATIME.bits() as i32;
#[cfg(not(target_os = "linux"))]
pub(crate) const QUIET: i32 = 0;

/// Makes a new file share the blocks of another one. Returns whether this file system can.
#[cfg(target_os = "linux")]
pub(crate) fn shares_blocks(target: &File, source: &File) -> bool {
    rustix::fs::ioctl_ficlone(target, source).is_ok()
}
#[cfg(not(target_os = "linux"))]
pub(crate) fn shares_blocks(_: &File, _: &File) -> bool {
    false
}

/// Makes the system forget the pages of a file, which are written back first.
///
/// # Errors
/// The file cannot be synced, or the system cannot drop a file from its cache.
pub(crate) fn forget(file: &File) -> io::Result<()> {
    // Only pages that are on the disk can leave the cache.
    file.sync_all()?;
    #[cfg(target_os = "linux")]
    return Ok(rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed)?);
    #[cfg(not(target_os = "linux"))]
    Err(io::Error::new(io::ErrorKind::Unsupported, "only Linux can drop a file from its cache"))
}

/// Asks the kernel to end this process when its parent dies, so that a killed pragmark leaves no trial behind. Elsewhere than
/// on Linux the trial ends when its work is done.
pub fn die_with_the_parent() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
}

/// Where the descriptors of a process are listed.
#[cfg(target_os = "linux")]
const LIST: &str = "/proc/self/fd";
#[cfg(not(target_os = "linux"))]
const LIST: &str = "/dev/fd";

/// Returns the number of files that this process has open, or `None` if the system does not list them.
pub(crate) fn open_files() -> Option<u64> {
    let entries = std::fs::read_dir(LIST).ok()?.count() as u64;
    // The list itself is open while it is read.
    Some(entries.saturating_sub(1))
}

/// Raises the soft limit of open files, as far as the hard limit allows, so that `needed` can be
/// open.
///
/// # Errors
/// [`TrialError::CannotRun`] where the hard limit is below `needed` or the system refuses.
pub(crate) fn allow_open_files(needed: u64) -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    if allows(limit.current, needed) {
        return Ok(());
    }
    if !allows(limit.maximum, needed) {
        return Err(TrialError::CannotRun(format!(
            "{needed} open files are needed, but the hard limit of this process (RLIMIT_NOFILE) is {}; raise it with: sudo prlimit --nofile={needed}:{needed} --pid $$",
            limit.maximum.unwrap_or(u64::MAX)
        )));
    }
    let raised = Rlimit { current: Some(needed), ..limit };
    setrlimit(Resource::Nofile, raised).map_err(|error| {
        TrialError::CannotRun(format!(
            "the soft limit of open files cannot be raised to {needed}: {error}"
        ))
    })
}

/// Returns whether a limit allows this number; `None` is no limit.
fn allows(limit: Option<u64>, needed: u64) -> bool {
    limit.is_none_or(|limit| limit >= needed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opened_file_is_counted() {
        let Some(before) = open_files() else { return };
        let files: Vec<_> = (0..50).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
        // Other tests of this process open and close files of their own meanwhile.
        assert!(open_files().unwrap() + 40 > before + files.len() as u64);
    }

    #[test]
    fn more_than_the_hard_limit_is_refused_with_the_limit_and_the_command() {
        if getrlimit(Resource::Nofile).maximum.is_none() {
            return;
        }
        let why = allow_open_files(u64::MAX - 1).unwrap_err().to_string();
        assert!(why.contains("RLIMIT_NOFILE") && why.contains("prlimit"), "{why}");
        assert!(allow_open_files(10).is_ok());
    }
}
