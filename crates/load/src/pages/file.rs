//! The database file under the page writer: page numbers are reserved, pages written wherever they
//! belong, past the page cache where the file system allows.
//!
//! Direct I/O (`O_DIRECT`) matters because fresh pages of the page cache are expensive, above all on
//! virtual machines. Where it is refused (tmpfs, disks with larger sectors), or pages are smaller than
//! the alignment it needs, writing goes through the page cache as usual.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::buffer::ALIGNMENT;
use crate::error::LoadError;

/// The byte at which SQLite takes locks; the page that holds it is never used
/// (<https://sqlite.org/fileformat2.html#the_lock_byte_page>).
const LOCK_BYTE: u64 = 1 << 30;
/// The largest page number (<https://sqlite.org/limits.html>).
const LAST_PAGE: u64 = 4_294_967_294;

/// Consecutive page numbers, without the lock-byte page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    first: u32,
    /// The page that is left out if it lies within.
    lock_page: u32,
}

impl Range {
    /// The number of the page at this index.
    #[inline]
    pub(super) fn page(self, index: usize) -> u32 {
        let page = self.first + index as u32;
        page + u32::from(self.first <= self.lock_page && page >= self.lock_page)
    }
}

/// The file.
#[derive(Debug)]
pub(super) struct PageFile {
    path: PathBuf,
    file: File,
    direct: Option<File>,
    /// Whether direct I/O has been refused.
    refused: AtomicBool,
    page_size: usize,
    /// The next page number that is free.
    next: AtomicU64,
}

impl PageFile {
    /// Opens a database of so many pages.
    pub(super) fn open(path: &Path, page_size: u32, pages: u32) -> Result<PageFile, LoadError> {
        let page_size = page_size as usize;
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let file = options.open(path).map_err(|source| LoadError::Open {
            path: path.to_owned(),
            source,
        })?;
        let direct = if page_size.is_multiple_of(ALIGNMENT) {
            direct(path)
        } else {
            None
        };
        Ok(PageFile {
            path: path.to_owned(),
            file,
            direct,
            refused: AtomicBool::new(false),
            page_size,
            next: AtomicU64::new(u64::from(pages) + 1),
        })
    }

    pub(super) fn page_size(&self) -> usize {
        self.page_size
    }

    fn lock_page(&self) -> u32 {
        (LOCK_BYTE / self.page_size as u64) as u32 + 1
    }

    /// Reserves page numbers.
    pub(super) fn reserve(&self, pages: usize) -> Result<Range, LoadError> {
        let (count, lock_page) = (pages as u64, u64::from(self.lock_page()));
        let taken = |first: u64| count + u64::from(first <= lock_page && lock_page < first + count);
        let reserved = self
            .next
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |first| {
                Some(first + taken(first)).filter(|next| *next <= LAST_PAGE + 1)
            });
        let first = reserved.map_err(|_| {
            self.unwritable(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "a database has at most 4294967294 pages; a larger page size makes room",
            ))
        })?;
        Ok(Range {
            first: first as u32,
            lock_page: lock_page as u32,
        })
    }

    /// Writes pages into the range reserved for them.
    pub(super) fn write(&self, range: Range, bytes: &[u8]) -> Result<(), LoadError> {
        let pages = bytes.len() / self.page_size;
        // The pages before the lock-byte page, and those behind it.
        let before = (0..pages)
            .take_while(|index| range.page(*index) == range.first + *index as u32)
            .count();
        let (left, right) = bytes.split_at(before * self.page_size);
        self.write_run(range.page(0), left)?;
        self.write_run(range.page(before), right)
    }

    /// Writes one page.
    pub(super) fn write_page(&self, page: u32, bytes: &[u8]) -> Result<(), LoadError> {
        self.write_run(page, bytes)
    }

    /// Writes pages that follow one another.
    fn write_run(&self, first: u32, bytes: &[u8]) -> Result<(), LoadError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let offset = (u64::from(first) - 1) * self.page_size as u64;
        if let Some(direct) = &self.direct
            && !self.refused.load(Ordering::Relaxed)
        {
            match direct.write_all_at(bytes, offset) {
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                    self.refused.store(true, Ordering::Relaxed);
                }
                written => return written.map_err(|source| self.unwritable(source)),
            }
        }
        self.file
            .write_all_at(bytes, offset)
            .map_err(|source| self.unwritable(source))
    }

    /// Enters the size into the header, and counts the change as SQLite would.
    pub(super) fn finish(&self) -> Result<(), LoadError> {
        let pages = self.next.load(Ordering::Relaxed) - 1;
        let written = || -> io::Result<()> {
            let mut counter = [0; 4];
            self.file.read_exact_at(&mut counter, CHANGE_COUNTER)?;
            let counter = u32::from_be_bytes(counter).wrapping_add(1).to_be_bytes();
            self.file.write_all_at(&counter, CHANGE_COUNTER)?;
            self.file.write_all_at(&counter, VERSION_VALID_FOR)?;
            self.file
                .write_all_at(&(pages as u32).to_be_bytes(), SIZE_IN_PAGES)
        };
        written().map_err(|source| self.unwritable(source))
    }

    fn unwritable(&self, source: io::Error) -> LoadError {
        LoadError::Write {
            path: self.path.clone(),
            source,
        }
    }
}

// Places in the header (https://sqlite.org/fileformat2.html#the_database_header). The size counts only
// where the other two are equal.
const CHANGE_COUNTER: u64 = 24;
const SIZE_IN_PAGES: u64 = 28;
const VERSION_VALID_FOR: u64 = 92;

/// The file once more, for direct I/O; none where that is refused.
#[cfg(target_os = "linux")]
fn direct(path: &Path) -> Option<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flag = rustix::fs::OFlags::DIRECT.bits() as i32;
    OpenOptions::new()
        .write(true)
        .custom_flags(flag)
        .open(path)
        .ok()
}

#[cfg(not(target_os = "linux"))]
fn direct(_path: &Path) -> Option<File> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_leave_the_lock_byte_page_out() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lock_page = (1 << 30) / 4_096 + 1;
        let pages = PageFile::open(file.path(), 4_096, lock_page - 3).unwrap();
        let first = pages.reserve(4).unwrap();
        let numbers: Vec<u32> = (0..4).map(|index| first.page(index)).collect();
        assert_eq!(
            numbers,
            [lock_page - 2, lock_page - 1, lock_page + 1, lock_page + 2]
        );
        assert_eq!(pages.reserve(1).unwrap().page(0), lock_page + 3);

        let pages = PageFile::open(file.path(), 4_096, lock_page - 3).unwrap();
        assert_eq!(pages.reserve(2).unwrap().page(1), lock_page - 1);
        let behind = pages.reserve(2).unwrap();
        assert_eq!(
            [behind.page(0), behind.page(1)],
            [lock_page + 1, lock_page + 2]
        );
    }

    #[test]
    fn pages_around_the_lock_byte_page_are_written_where_they_belong() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lock_page = (1 << 30) / 65_536 + 1;
        let pages = PageFile::open(file.path(), 65_536, lock_page - 2).unwrap();
        let range = pages.reserve(2).unwrap();
        let mut bytes = vec![1; 65_536];
        bytes.extend(vec![2; 65_536]);
        pages.write(range, &bytes).unwrap();
        let mut byte = [0];
        let at = |page: u32| (u64::from(page) - 1) * 65_536;
        for (page, value) in [(lock_page - 1, 1), (lock_page, 0), (lock_page + 1, 2)] {
            file.as_file().read_exact_at(&mut byte, at(page)).unwrap();
            assert_eq!(byte[0], value, "{page}");
        }
    }

    #[test]
    fn more_pages_than_a_database_may_have_are_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let pages = PageFile::open(file.path(), 512, 4_294_967_290).unwrap();
        assert!(pages.reserve(4).is_ok());
        let error = pages.reserve(1).unwrap_err().to_string();
        assert!(error.contains("page size"), "{error}");
    }
}
