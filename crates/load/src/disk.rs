//! The speed of the disk, as a measure for a load: the same number of bytes, written directly.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::{LoadError, Result};
use crate::staging::Unfinished;

/// A raw write that was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawWrite {
    /// Bytes written.
    pub bytes: u64,
    /// From the opening of the new file to its closing, synced.
    pub time: Duration,
    /// Whether the page cache was passed by; the file system may refuse that.
    pub direct: bool,
}

impl RawWrite {
    /// Bytes per second.
    pub fn rate(&self) -> f64 {
        self.bytes as f64 / self.time.as_secs_f64()
    }
}

/// Bytes written at a time.
const CHUNK: usize = 4 << 20;
/// Alignment of memory, offsets and lengths that every disk and file system takes for direct I/O.
const ALIGNMENT: usize = 4_096;

/// Writes as many bytes as a database has into a new file next to it, directly where the file system
/// allows, and syncs them. They are the database's own first bytes again and again, for disks that
/// compress. The file is removed.
///
/// # Errors
/// The database cannot be read, or the file cannot be written.
pub fn raw_write(database: &Path) -> Result<RawWrite> {
    measure(database).map_err(LoadError::write(database))
}

fn measure(database: &Path) -> io::Result<RawWrite> {
    let original = File::open(database)?;
    let bytes = original.metadata()?.len();
    let mut memory = vec![0; CHUNK + ALIGNMENT];
    let start = (memory.as_ptr() as usize).next_multiple_of(ALIGNMENT) - memory.as_ptr() as usize;
    let chunk = &mut memory[start..start + CHUNK];
    let held = CHUNK.min(bytes as usize);
    original.read_exact_at(&mut chunk[..held], 0)?;
    let file = Unfinished::next_to(database)?;
    let begin = Instant::now();
    let measured = |begin: Instant, direct| RawWrite { bytes, time: begin.elapsed(), direct };
    match open_direct(file.path()).map(|file| write(&file, chunk, bytes)) {
        Some(Ok(())) => return Ok(measured(begin, true)),
        // Refused only when it is tried.
        Some(Err(error)) if error.kind() != io::ErrorKind::InvalidInput => return Err(error),
        _ => {}
    }
    let begin = Instant::now();
    let cached = OpenOptions::new().write(true).open(file.path())?;
    write(&cached, chunk, bytes)?;
    Ok(measured(begin, false))
}

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

/// Writes this number of bytes, rounded up to whole aligned blocks, and syncs them.
fn write(file: &File, chunk: &[u8], bytes: u64) -> io::Result<()> {
    let mut offset = 0;
    while offset < bytes {
        let rest = (bytes - offset).next_multiple_of(ALIGNMENT as u64);
        let part = &chunk[..chunk.len().min(usize::try_from(rest).unwrap_or(usize::MAX))];
        file.write_all_at(part, offset)?;
        offset += part.len() as u64;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_bytes_are_written_and_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("a.db");
        std::fs::write(&database, vec![7; CHUNK + 100]).unwrap();
        let raw = raw_write(&database).unwrap();
        assert_eq!(raw.bytes, CHUNK as u64 + 100);
        assert!(raw.time > Duration::ZERO);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(raw_write(&folder.path().join("none.db")).is_err());
    }
}
