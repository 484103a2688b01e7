//! A disk in user space: files behind loop devices, of which each write and each flush is noted.
//!
//! The kernel's loop device passes what a file system does on to a file. Here that file is one of a file system in user
//! space (FUSE), so it is known in which order blocks were written, and when the device was told to flush its cache.

use fuser::{
    BackgroundSession, FileAttr, FileType, Filesystem, MountOption, ReplyAttr, ReplyData,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request,
};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

/// The unit in which content is kept.
const PAGE: usize = 4096;
/// The number of the only directory.
const ROOT: u64 = 1;
/// "No such file" (`errno.h`).
const NO_ENTRY: i32 = 2;
/// How long the kernel may remember names: they are never given to another file.
const REMEMBERED: Duration = Duration::from_secs(3600);

/// What was done to a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Bytes were written, into the cache of the disk.
    Write {
        /// From which byte on.
        offset: u64,
        /// What.
        bytes: Box<[u8]>,
    },
    /// All that was written until then is on the medium.
    Flush,
}

/// The content of a disk; what was never written is zero. Copies share what is equal.
#[derive(Debug, Clone, Default)]
pub struct Content {
    pages: HashMap<u64, Arc<[u8]>>,
}

impl Content {
    /// Writes bytes.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) {
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done as u64;
            let (number, within) = (at / PAGE as u64, (at % PAGE as u64) as usize);
            let length = (PAGE - within).min(bytes.len() - done);
            let known = self.pages.get(&number);
            let mut page = known.map_or_else(|| vec![0; PAGE], |page| page.to_vec());
            page[within..within + length].copy_from_slice(&bytes[done..done + length]);
            self.pages.insert(number, page.into());
            done += length;
        }
    }

    /// The byte at a place.
    #[cfg(test)]
    pub fn byte(&self, offset: u64) -> u8 {
        self.read(offset, 1)[0]
    }

    fn read(&self, offset: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let mut done = 0;
        while done < length {
            let at = offset + done as u64;
            let (number, within) = (at / PAGE as u64, (at % PAGE as u64) as usize);
            let part = (PAGE - within).min(length - done);
            if let Some(page) = self.pages.get(&number) {
                bytes[done..done + part].copy_from_slice(&page[within..within + part]);
            }
            done += part;
        }
        bytes
    }
}

/// One disk.
struct Disk {
    size: u64,
    content: Content,
    /// What was done to it, where that is noted.
    log: Option<Vec<Operation>>,
}

#[derive(Default)]
struct Disks {
    numbers: HashMap<String, u64>,
    disks: HashMap<u64, Disk>,
}

/// Disks as files below a directory, as long as it lives.
pub struct Device {
    directory: PathBuf,
    disks: Arc<Mutex<Disks>>,
    _session: BackgroundSession,
}

impl Device {
    /// Shows disks below an empty directory.
    ///
    /// # Errors
    /// The kernel has no FUSE, or does not permit it.
    pub fn below(directory: &Path) -> io::Result<Device> {
        let disks = Arc::new(Mutex::new(Disks::default()));
        let files = Files(Arc::clone(&disks));
        let options = [MountOption::FSName("pragmark-disks".to_owned())];
        let session = fuser::spawn_mount2(files, directory, &options)?;
        Ok(Device { directory: directory.to_owned(), disks, _session: session })
    }

    fn disks(&self) -> MutexGuard<'_, Disks> {
        self.disks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a disk and returns its path. The name must be a new one.
    pub fn add(&self, name: &str, size: u64, content: Content) -> PathBuf {
        let mut disks = self.disks();
        let number = ROOT + 1 + disks.numbers.len() as u64;
        disks.numbers.insert(name.to_owned(), number);
        let log = None;
        disks.disks.insert(number, Disk { size, content, log });
        self.directory.join(name)
    }

    fn with<R>(&self, name: &str, work: impl FnOnce(&mut Disk) -> R) -> Option<R> {
        let mut disks = self.disks();
        let number = *disks.numbers.get(name)?;
        disks.disks.get_mut(&number).map(work)
    }

    /// Begins to note what is done to a disk, and returns what it holds now.
    pub fn begin_log(&self, name: &str) -> Content {
        let begun = self.with(name, |disk| {
            disk.log = Some(Vec::new());
            disk.content.clone()
        });
        begun.unwrap_or_default()
    }

    /// How much has been noted so far.
    pub fn position(&self, name: &str) -> usize {
        let noted = self.with(name, |disk| disk.log.as_ref().map_or(0, Vec::len));
        noted.unwrap_or_default()
    }

    /// Takes what was noted.
    pub fn take_log(&self, name: &str) -> Vec<Operation> {
        let log = self.with(name, |disk| disk.log.take());
        log.flatten().unwrap_or_default()
    }

    /// Forgets the content of a disk.
    pub fn remove(&self, name: &str) {
        let mut disks = self.disks();
        if let Some(number) = disks.numbers.get(name).copied() {
            disks.disks.remove(&number);
        }
    }
}

/// The disks as the kernel sees them.
struct Files(Arc<Mutex<Disks>>);

impl Files {
    fn disks(&self) -> MutexGuard<'_, Disks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn attributes(&self, number: u64) -> Option<FileAttr> {
        let is_root = number == ROOT;
        let size = match is_root {
            true => 0,
            false => self.disks().disks.get(&number)?.size,
        };
        Some(FileAttr {
            ino: number,
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: match is_root {
                true => FileType::Directory,
                false => FileType::RegularFile,
            },
            perm: 0o700,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: PAGE as u32,
            flags: 0,
        })
    }
}

impl Filesystem for Files {
    fn lookup(&mut self, _: &Request<'_>, _parent: u64, name: &OsStr, reply: ReplyEntry) {
        let number = name.to_str().and_then(|name| self.disks().numbers.get(name).copied());
        match number.and_then(|number| self.attributes(number)) {
            Some(attributes) => reply.entry(&REMEMBERED, &attributes, 0),
            None => reply.error(NO_ENTRY),
        }
    }

    fn getattr(&mut self, _: &Request<'_>, number: u64, _: Option<u64>, reply: ReplyAttr) {
        match self.attributes(number) {
            Some(attributes) => reply.attr(&REMEMBERED, &attributes),
            None => reply.error(NO_ENTRY),
        }
    }

    fn open(&mut self, _: &Request<'_>, number: u64, _flags: i32, reply: ReplyOpen) {
        reply.opened(number, 0);
    }

    fn read(
        &mut self,
        _: &Request<'_>,
        number: u64,
        _handle: u64,
        offset: i64,
        size: u32,
        _flags: i32,
        _owner: Option<u64>,
        reply: ReplyData,
    ) {
        let offset = offset.unsigned_abs();
        let bytes = self.disks().disks.get(&number).map(|disk| {
            let left = disk.size.saturating_sub(offset);
            disk.content.read(offset, u64::from(size).min(left) as usize)
        });
        match bytes {
            Some(bytes) => reply.data(&bytes),
            None => reply.error(NO_ENTRY),
        }
    }

    fn write(
        &mut self,
        _: &Request<'_>,
        number: u64,
        _handle: u64,
        offset: i64,
        bytes: &[u8],
        _write_flags: u32,
        _flags: i32,
        _owner: Option<u64>,
        reply: ReplyWrite,
    ) {
        let offset = offset.unsigned_abs();
        let mut disks = self.disks();
        let Some(disk) = disks.disks.get_mut(&number) else {
            return reply.error(NO_ENTRY);
        };
        disk.content.write(offset, bytes);
        if let Some(log) = &mut disk.log {
            let bytes = bytes.into();
            log.push(Operation::Write { offset, bytes });
        }
        reply.written(bytes.len() as u32);
    }

    fn fsync(
        &mut self,
        _: &Request<'_>,
        number: u64,
        _handle: u64,
        _data_only: bool,
        reply: ReplyEmpty,
    ) {
        if let Some(disk) = self.disks().disks.get_mut(&number)
            && let Some(log) = &mut disk.log
        {
            log.push(Operation::Flush);
        }
        reply.ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_holds_what_was_written_and_zeros_elsewhere() {
        let mut content = Content::default();
        content.write(PAGE as u64 - 2, &[1, 2, 3]);
        assert_eq!(content.read(PAGE as u64 - 3, 5), [0, 1, 2, 3, 0]);
        let before = content.clone();
        content.write(PAGE as u64, &[9]);
        assert_eq!(before.read(PAGE as u64, 1), [3], "a copy stays as it is");
    }
}
