//! Whether this process has a database open already.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// How this process has a file open, if it has: its descriptor. Where the system does not list them, nobody
/// knows.
pub(crate) fn open_here(path: &Path) -> Option<String> {
    let wanted = std::fs::metadata(path).ok()?;
    let descriptors = std::fs::read_dir("/proc/self/fd").ok()?;
    let same = descriptors.flatten().find(|descriptor| {
        let found = std::fs::metadata(descriptor.path());
        found.is_ok_and(|found| (found.dev(), found.ino()) == (wanted.dev(), wanted.ino()))
    })?;
    Some(format!("descriptor {}", same.file_name().to_string_lossy()))
}
