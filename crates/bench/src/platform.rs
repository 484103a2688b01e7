//! Functions that only some operating systems have.

use std::fs::File;
use std::io;

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
