//! The temporary file that probes write to.
//!
//! Apart from the probes because both need the same care: the space is allocated beforehand, so that
//! a sync pays for the data and not for growing the file; every page differs, so that a file system
//! that compresses or merges equal pages gains nothing; and the file is gone afterwards, whatever
//! happened. It has a name, since some file systems skip the sync of a file without one.

use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use lab::seed::Seed;
use tempfile::NamedTempFile;

use super::error::MachineError;

/// Size of one write, in bytes: SQLite's default page.
const PAGE_BYTES: usize = 4096;

/// Pages in the file; later writes start over.
const PAGES: u64 = 300;

/// A file of allocated, synced pages; removed when dropped.
pub(super) struct ProbeFile {
    file: NamedTempFile,
    page: Box<[u8; PAGE_BYTES]>,
    written: u64,
}

impl ProbeFile {
    /// Creates the file in `dir` and lends it to `measure`; the file is removed in any case.
    pub(super) fn with<T>(
        dir: &Path,
        measure: impl FnOnce(&mut Self) -> io::Result<T>,
    ) -> Result<T, MachineError> {
        let failed = |source| MachineError::in_directory(dir, "write and sync a file", source);
        let mut probe = Self::create(dir).map_err(failed)?;
        let figures = measure(&mut probe).map_err(failed)?;
        probe
            .file
            .close()
            .map_err(|source| MachineError::in_directory(dir, "remove a file", source))?;
        Ok(figures)
    }

    fn create(dir: &Path) -> io::Result<Self> {
        let file = tempfile::Builder::new().prefix(".pragmark-probe-").tempfile_in(dir)?;
        let mut probe = Self { file, page: Box::new([0; PAGE_BYTES]), written: 0 };
        for _ in 0..PAGES {
            probe.write_page()?;
        }
        probe.file.as_file().sync_all()?;
        Ok(probe)
    }

    /// Writes the next page and waits until the device has it (fdatasync; `F_FULLFSYNC` on macOS).
    pub(super) fn write_and_sync(&mut self) -> io::Result<()> {
        self.write_page()?;
        self.file.as_file().sync_data()
    }

    fn write_page(&mut self) -> io::Result<()> {
        fill(&mut self.page, self.written);
        let offset = (self.written % PAGES) * PAGE_BYTES as u64;
        self.file.as_file().write_all_at(self.page.as_slice(), offset)?;
        self.written += 1;
        Ok(())
    }
}

/// Fills a page with numbers that depend on the count of pages written (splitmix64, Steele, Lea and
/// Flood, OOPSLA 2014): about a microsecond, and nothing to compress.
fn fill(page: &mut [u8; PAGE_BYTES], count: u64) {
    let mut random = Seed(count << 32).generator();
    for word in page.as_chunks_mut::<8>().0 {
        *word = random.next_u64().to_le_bytes();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn entries(dir: &Path) -> usize {
        fs::read_dir(dir).unwrap().count()
    }

    #[test]
    fn the_file_keeps_its_size_and_is_removed_afterwards() {
        let dir = tempfile::tempdir().unwrap();
        let size = ProbeFile::with(dir.path(), |probe| {
            assert_eq!(entries(dir.path()), 1);
            probe.write_and_sync()?;
            Ok(probe.file.as_file().metadata()?.len())
        });
        assert_eq!(size.unwrap(), PAGES * PAGE_BYTES as u64);
        assert_eq!(entries(dir.path()), 0);
    }

    #[test]
    fn the_file_is_removed_after_an_error_too() {
        let dir = tempfile::tempdir().unwrap();
        let result: Result<(), _> = ProbeFile::with(dir.path(), |_| {
            assert_eq!(entries(dir.path()), 1);
            Err(io::ErrorKind::StorageFull.into())
        });
        assert!(matches!(result, Err(MachineError::Full { .. })));
        assert_eq!(entries(dir.path()), 0);
    }

    #[test]
    fn successive_pages_differ() {
        let (mut first, mut second) = ([0; PAGE_BYTES], [0; PAGE_BYTES]);
        fill(&mut first, 7);
        fill(&mut second, 8);
        assert_ne!(first, second);
        assert_ne!(first[..8], first[8..16]);
    }
}
