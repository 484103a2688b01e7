//! Files that are written past the page cache.

use std::fs::{File, OpenOptions};
use std::path::Path;

/// Opens a file past the page cache; `None` where the file system refuses.
#[cfg(target_os = "linux")]
pub(crate) fn open_direct(path: &Path) -> Option<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::DIRECT.bits() as i32;
    OpenOptions::new().write(true).custom_flags(flags).open(path).ok()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn open_direct(_path: &Path) -> Option<File> {
    None
}
