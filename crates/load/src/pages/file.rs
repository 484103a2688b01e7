//! The database file under the page writer: page numbers are reserved, pages written wherever they
//! belong, past the page cache where the file system allows.
//!
//! Direct I/O (`O_DIRECT`) matters because fresh pages of the page cache are expensive, above all on
//! virtual machines. Where it is refused (tmpfs, disks with larger sectors), or pages are smaller than
//! the alignment it needs, writing goes through the page cache as usual. Room is allocated ahead of
//! direct writes, because those that make a file longer exclude one another.
//!
//! Pages that SQLite has made already belong to it: in a database of the load's own they are overwritten,
//! in one that others use they are kept back for SQLite to replace.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::buffer::{ALIGNMENT, Buffer};
use super::map::{Map, MapEntry, Numbering, Range};
use crate::disk::open_direct;
use crate::error::{LoadError, Result};
use crate::staging::directory;

/// The largest page number (<https://sqlite.org/limits.html>).
const LAST_PAGE: u64 = 4_294_967_294;

/// The form of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileFormat {
    /// Bytes.
    pub(super) page_size: u32,
    /// Bytes at the end of each page that extensions use.
    pub(super) reserved: u8,
    /// Pages that SQLite has made, up to its end.
    pub(super) pages: u32,
    /// Whether it has a [map](Map) of pages.
    pub(super) auto_vacuum: bool,
}

/// How new contents of pages that SQLite has made are handled.
enum ExistingPages {
    /// They are written: no other connection has the database open.
    Written,
    /// They are kept back, to be replaced within SQLite's transaction.
    Kept(Mutex<Vec<NewPage>>),
}

/// A page of SQLite's with its new contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NewPage {
    pub(super) number: u32,
    pub(super) bytes: Vec<u8>,
}

/// The file.
pub(crate) struct PageFile {
    path: PathBuf,
    file: File,
    direct: Option<File>,
    /// Whether direct I/O has been refused.
    refused: AtomicBool,
    pub(super) page_size: usize,
    /// Bytes of a page that are not reserved for extensions.
    pub(super) usable: usize,
    made: ExistingPages,
    numbering: Numbering,
    map: Option<Map>,
    /// Pages of the database before any was added.
    pub(super) pages_before: u32,
    /// The length of the file before the first page was added, in bytes.
    length: u64,
    /// The next page number that is free.
    next: AtomicU64,
    /// Bytes up to which room is allocated; all of them where allocating is not possible.
    allocated: AtomicU64,
    allocating: Mutex<()>,
}

/// Bytes at the beginning that go through the page cache: a few of them are on the disk sooner with the sync at the
/// end than by writing each time, and without room to give back.
const FEW_BYTES: u64 = 1 << 20;
/// The most bytes that are allocated ahead.
const MOST_AHEAD: u64 = 256 << 20;

impl PageFile {
    /// Opens a database that no connection has open.
    pub(super) fn open(path: &Path, form: &FileFormat) -> Result<PageFile> {
        PageFile::new(path, form, ExistingPages::Written)
    }

    /// Opens a database that a connection of this process has open, with the lock of a writer: pages are
    /// added behind its end, where no reader looks.
    ///
    /// The file must not be dropped before that connection is closed: closing any descriptor of a file
    /// gives up the process's locks on it (`fcntl`, POSIX).
    pub(super) fn beyond(path: &Path, form: &FileFormat) -> Result<PageFile> {
        PageFile::new(path, form, ExistingPages::Kept(Mutex::default()))
    }

    fn new(path: &Path, form: &FileFormat, made: ExistingPages) -> Result<PageFile> {
        let page_size = form.page_size as usize;
        let unopened = LoadError::open(path);
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let file = options.open(path).map_err(&unopened)?;
        let length = file.metadata().map_err(&unopened)?.len();
        let direct = if page_size.is_multiple_of(ALIGNMENT) { open_direct(path) } else { None };
        let allocated = if direct.is_some() { length } else { u64::MAX };
        let usable = page_size - usize::from(form.reserved);
        let numbering = Numbering::new(page_size, usable, form.auto_vacuum);
        Ok(PageFile {
            path: path.to_owned(),
            file,
            direct,
            refused: AtomicBool::new(false),
            page_size,
            usable,
            made,
            numbering,
            map: (form.auto_vacuum).then(|| Map::new(numbering, page_size, usable)),
            pages_before: form.pages,
            length,
            next: AtomicU64::new(u64::from(form.pages) + 1),
            allocated: AtomicU64::new(allocated),
            allocating: Mutex::new(()),
        })
    }

    /// Returns the directory of the database.
    pub(super) fn directory(&self) -> &Path {
        directory(&self.path)
    }

    /// Reserves page numbers.
    pub(super) fn reserve(&self, pages: usize) -> Result<Range> {
        // `next` stays within 32 bits.
        let range = |first: u64| Range::new(first as u32, self.numbering);
        let reserved = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |first| {
            Some(range(first).behind(pages)).filter(|next| *next <= LAST_PAGE + 1)
        });
        let first = reserved.map_err(|_| {
            self.unwritable(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "a database has at most 4294967294 pages; a larger page size makes room",
            ))
        })?;
        Ok(range(first))
    }

    /// Writes pages into the range reserved for them.
    pub(super) fn write(&self, range: Range, bytes: &[u8]) -> Result<()> {
        let (mut index, pages) = (0, bytes.len() / self.page_size);
        while index < pages {
            // The pages before one that is left out.
            let first = range.page(index);
            let run =
                (index..pages).zip(first..).take_while(|(index, page)| range.page(*index) == *page);
            let behind = index + run.count();
            self.write_run(first, &bytes[index * self.page_size..behind * self.page_size])?;
            index = behind;
        }
        Ok(())
    }

    /// The same of pages of trees, to whose children the map then refers.
    pub(super) fn write_tree(&self, range: Range, bytes: &[u8]) -> Result<()> {
        if let Some(map) = &self.map {
            for (index, page) in bytes.chunks(self.page_size).enumerate() {
                map.note_page(range.page(index), page);
            }
        }
        self.write(range, bytes)
    }

    /// Notes pages in the map, if there is one.
    pub(super) fn note(&self, entries: impl IntoIterator<Item = MapEntry>) {
        if let Some(map) = &self.map {
            map.note(entries);
        }
    }

    /// Gives a page of a tree that SQLite has made new contents.
    pub(super) fn write_page(&self, page: u32, bytes: &[u8]) -> Result<()> {
        if let Some(map) = &self.map {
            map.note_page(page, bytes);
        }
        let ExistingPages::Kept(kept) = &self.made else { return self.write_run(page, bytes) };
        kept.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(NewPage { number: page, bytes: bytes.to_vec() });
        Ok(())
    }

    /// Writes pages that follow one another.
    fn write_run(&self, first: u32, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let offset = (u64::from(first) - 1) * self.page_size as u64;
        let end = offset + bytes.len() as u64;
        if let Some(direct) = &self.direct
            && end > self.length + FEW_BYTES
            && !self.refused.load(Ordering::Relaxed)
        {
            self.allocate(end);
            match direct.write_all_at(bytes, offset) {
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                    self.refused.store(true, Ordering::Relaxed);
                }
                written => return written.map_err(|source| self.unwritable(source)),
            }
        }
        self.file.write_all_at(bytes, offset).map_err(|source| self.unwritable(source))
    }

    /// Sees to it that room is allocated up to this byte, and for as much again as is there. Where that
    /// fails, writing will find out whether the disk is full.
    fn allocate(&self, end: u64) {
        if end <= self.allocated.load(Ordering::Acquire) {
            return;
        }
        let _guard = self.allocating.lock().unwrap_or_else(PoisonError::into_inner);
        let allocated = self.allocated.load(Ordering::Acquire);
        if end <= allocated {
            return;
        }
        let wanted = end.max(allocated + allocated.clamp(1 << 20, MOST_AHEAD));
        let now = if grow(&self.file, allocated, wanted - allocated) { wanted } else { u64::MAX };
        self.allocated.store(now, Ordering::Release);
    }

    /// Pages of the database, those added included.
    pub(super) fn pages(&self) -> u32 {
        // `reserve` keeps the number within 32 bits.
        (self.next.load(Ordering::Relaxed) - 1) as u32
    }

    /// Ends a database of the load's own: gives back unused room, enters the size into
    /// the header, and counts the change as SQLite would.
    pub(super) fn finish(&self) -> Result<()> {
        let written = || -> io::Result<()> {
            self.cut()?;
            let mut counter = [0; 4];
            self.file.read_exact_at(&mut counter, CHANGE_COUNTER)?;
            let counter = u32::from_be_bytes(counter).wrapping_add(1).to_be_bytes();
            self.file.write_all_at(&counter, CHANGE_COUNTER)?;
            self.file.write_all_at(&counter, VERSION_VALID_FOR)?;
            self.file.write_all_at(&self.pages().to_be_bytes(), SIZE_IN_PAGES)
        };
        written().map_err(|source| self.unwritable(source))
    }

    /// A page as it lies in the file.
    pub(super) fn read(&self, number: u32) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.page_size];
        let offset = (u64::from(number) - 1) * self.page_size as u64;
        self.file.read_exact_at(&mut bytes, offset).map_err(LoadError::open(&self.path))?;
        Ok(bytes)
    }

    /// Syncs the pages added and returns the new contents of pages that SQLite has made.
    pub(super) fn finish_beyond(&self) -> Result<Vec<NewPage>> {
        let ExistingPages::Kept(kept) = &self.made else { return Ok(Vec::new()) };
        let kept = std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner));
        for (number, bytes) in (self.map.iter()).flat_map(|map| map.of(self.pages_before + 1..)) {
            self.write_run(number, Buffer::of_page(&bytes).bytes())?;
        }
        let synced = || -> io::Result<()> {
            self.cut()?;
            self.file.sync_data()
        };
        synced().map_err(|source| self.unwritable(source))?;
        Ok(kept)
    }

    /// Returns the new entries in pages of the map that SQLite has made, by page number.
    pub(super) fn new_in_map(&self) -> Vec<(u32, Vec<u8>)> {
        let map = self.map.iter();
        map.flat_map(|map| map.of(..=self.pages_before)).collect()
    }

    /// Gives back the room that was allocated and not used.
    fn cut(&self) -> io::Result<()> {
        let length = u64::from(self.pages()) * self.page_size as u64;
        if self.file.metadata()?.len() > length.max(self.length) {
            self.file.set_len(length.max(self.length))?;
        }
        Ok(())
    }

    /// Takes the pages added away again, unless that fails: then the file is longer than its header
    /// tells, which does no harm.
    pub(crate) fn abandon(&self) {
        let _ = self.file.set_len(self.length);
    }

    fn unwritable(&self, source: io::Error) -> LoadError {
        LoadError::write(&self.path)(source)
    }
}

// Locations in the header (https://sqlite.org/fileformat2.html#the_database_header). The size counts only
// where the other two are equal.
const CHANGE_COUNTER: u64 = 24;
const SIZE_IN_PAGES: u64 = 28;
const VERSION_VALID_FOR: u64 = 92;

/// Allocates room at the end of a file, which becomes longer; whether that was possible.
#[cfg(target_os = "linux")]
fn grow(file: &File, from: u64, length: u64) -> bool {
    rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), from, length).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn grow(_file: &File, _from: u64, _length: u64) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(file: &tempfile::NamedTempFile, page_size: u32, pages: u32) -> PageFile {
        let form = FileFormat { page_size, reserved: 0, pages, auto_vacuum: false };
        PageFile::open(file.path(), &form).unwrap()
    }

    #[test]
    fn ranges_follow_one_another() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lock_page = (1 << 30) / 4_096 + 1;
        let pages = open(&file, 4_096, lock_page - 3);
        let first = pages.reserve(4).unwrap();
        assert_eq!([first.page(0), first.page(3)], [lock_page - 2, lock_page + 2]);
        assert_eq!(pages.reserve(1).unwrap().page(0), lock_page + 3);
    }

    #[test]
    fn pages_around_the_lock_byte_page_are_written_where_they_belong() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lock_page = (1 << 30) / 65_536 + 1;
        let pages = open(&file, 65_536, lock_page - 2);
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
        let pages = open(&file, 512, 4_294_967_290);
        assert!(pages.reserve(4).is_ok());
        let error = pages.reserve(1).unwrap_err().to_string();
        assert!(error.contains("page size"), "{error}");
    }
}
