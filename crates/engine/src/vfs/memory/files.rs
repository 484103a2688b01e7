//! The files: names, contents, and who has them open.

use super::bytes::Bytes;
use super::locks::{FileLocks, Owner, SharedMemoryLocks};
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int};
use std::ptr::NonNull;

/// The size of a region of shared memory (`WALINDEX_PGSZ` in `wal.c`).
const REGION: usize = 32 * 1024;

/// The number of a file: its index in the list.
pub(super) type FileNumber = usize;

/// SQLite's function that reads a boolean parameter of a URI.
pub(super) type UriBoolean = unsafe extern "C" fn(*const c_char, *const c_char, c_int) -> c_int;

/// One file, with or without a name.
#[derive(Default)]
pub(super) struct File {
    pub(super) bytes: Bytes,
    pub(super) locks: FileLocks,
    shared_memory: Option<SharedMemory>,
    /// How often it is open.
    opens: usize,
    has_name: bool,
}

/// The memory that connections to a database in WAL mode share.
#[derive(Default)]
struct SharedMemory {
    regions: Vec<Region>,
    locks: SharedMemoryLocks,
    users: Vec<Owner>,
}

/// Memory that SQLite writes through pointers, so it is never borrowed here.
struct Region(NonNull<[u64; REGION / 8]>);

// SAFETY: the pointer is the only one this side has, and is followed by SQLite only, which orders its
// accesses by the locks above.
unsafe impl Send for Region {}

impl Region {
    fn new() -> Region {
        Region(NonNull::from(Box::leak(Box::new([0; REGION / 8]))))
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: made from a box in `new` and freed here only, when no connection has it mapped.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// All files of a file system.
#[derive(Default)]
pub(super) struct Files {
    names: BTreeMap<String, FileNumber>,
    files: Vec<Option<File>>,
    /// The last owner number given out.
    owners: Owner,
    pub(super) uri_boolean: Option<UriBoolean>,
}

impl Files {
    fn add(&mut self, file: File) -> FileNumber {
        let number = self.files.iter().position(Option::is_none).unwrap_or_else(|| {
            self.files.push(None);
            self.files.len() - 1
        });
        self.files[number] = Some(file);
        number
    }

    fn add_named(&mut self, name: String, bytes: Bytes) -> FileNumber {
        let number = self.add(File { bytes, has_name: true, ..File::default() });
        self.names.insert(name, number);
        number
    }

    /// Returns the file of that number, which is open.
    ///
    /// # Panics
    /// If there is none, which would be a defect of this module.
    pub(super) fn at(&mut self, number: FileNumber) -> &mut File {
        self.files[number].as_mut().expect("an open file is in the list")
    }

    /// Opens the file of that name, and creates it if `create`; without a name, always a new one. `None` if
    /// there is no such file.
    pub(super) fn open(&mut self, name: Option<&str>, create: bool) -> Option<(FileNumber, Owner)> {
        let number = match name {
            None => self.add(File::default()),
            Some(name) => match self.names.get(name) {
                Some(number) => *number,
                None if create => self.add_named(name.to_owned(), Bytes::default()),
                None => return None,
            },
        };
        self.at(number).opens += 1;
        self.owners += 1;
        Some((number, self.owners))
    }

    pub(super) fn exists(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    pub(super) fn close(&mut self, number: FileNumber, owner: Owner) {
        self.unmap(number, owner);
        let file = self.at(number);
        file.locks.unlock(owner, 0);
        file.opens -= 1;
        self.drop_if_unused(number);
    }

    /// Returns whether there was such a name.
    pub(super) fn delete(&mut self, name: &str) -> bool {
        let Some(number) = self.names.remove(name) else { return false };
        self.at(number).has_name = false;
        self.drop_if_unused(number);
        true
    }

    fn drop_if_unused(&mut self, number: FileNumber) {
        let file = self.at(number);
        if file.opens == 0 && !file.has_name {
            self.files[number] = None;
        }
    }

    /// Returns the region of that number; `None` where it is not there and not to be made.
    pub(super) fn map(
        &mut self,
        number: FileNumber,
        owner: Owner,
        region: usize,
        extend: bool,
    ) -> Option<*mut u8> {
        let memory = self.at(number).shared_memory.get_or_insert_default();
        if !memory.users.contains(&owner) {
            memory.users.push(owner);
        }
        while extend && memory.regions.len() <= region {
            memory.regions.push(Region::new());
        }
        let region = memory.regions.get(region);
        region.map(|region| region.0.as_ptr().cast())
    }

    /// Returns the locks of the shared memory.
    pub(super) fn shared_memory_locks(&mut self, number: FileNumber) -> &mut SharedMemoryLocks {
        &mut self.at(number).shared_memory.get_or_insert_default().locks
    }

    /// Unmaps the shared memory, which goes with its last user as it does on a disk: its content never
    /// outlives a crash.
    pub(super) fn unmap(&mut self, number: FileNumber, owner: Owner) {
        let file = self.at(number);
        if let Some(memory) = &mut file.shared_memory {
            memory.locks.forget(owner);
            memory.users.retain(|user| *user != owner);
            if memory.users.is_empty() {
                file.shared_memory = None;
            }
        }
    }

    pub(super) fn open_files(&self) -> usize {
        self.files.iter().flatten().map(|file| file.opens).sum()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }

    pub(super) fn bytes(&self, name: &str) -> Option<&Bytes> {
        let number = *self.names.get(name)?;
        self.files[number].as_ref().map(|file| &file.bytes)
    }

    pub(super) fn copies(&self) -> Vec<(String, Bytes)> {
        let copy = |name: &str| Some((name.to_owned(), self.bytes(name)?.clone()));
        self.names().filter_map(copy).collect()
    }

    pub(super) fn replace(
        &mut self,
        files: impl IntoIterator<Item = (String, Bytes)>,
    ) -> Vec<(String, Bytes)> {
        let mut old = std::mem::take(&mut self.files);
        let before = std::mem::take(&mut self.names)
            .into_iter()
            .filter_map(|(name, number)| Some((name, old[number].take()?.bytes)))
            .collect();
        for (name, bytes) in files {
            self.add_named(name, bytes);
        }
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_file_outlives_its_name() {
        let mut files = Files::default();
        assert!(files.open(Some("a"), false).is_none());
        let (number, owner) = files.open(Some("a"), true).expect("made");
        files.at(number).bytes.write(0, b"old");
        assert!(files.delete("a") && !files.delete("a"));
        let (other, second) = files.open(Some("a"), true).expect("made anew");
        assert_eq!(files.bytes("a"), Some(&Bytes::default()));
        assert_eq!(files.at(number).bytes.to_vec(), b"old");
        files.close(number, owner);
        files.close(other, second);
        assert_eq!((files.open_files(), files.names().count()), (0, 1));
    }

    #[test]
    fn replacing_gives_the_old_files_back() {
        let mut files = Files::default();
        let named = |name: &str, byte: u8| (name.to_owned(), Bytes::from(vec![byte]));
        files.replace([named("a", 1), named("b", 2)]);
        let before = files.replace([named("c", 3)]);
        assert_eq!(before, [named("a", 1), named("b", 2)]);
        assert_eq!(files.copies(), [named("c", 3)]);
    }

    #[test]
    fn shared_memory_is_shared_and_goes_with_its_last_user() {
        let mut files = Files::default();
        let (number, one) = files.open(Some("a"), true).expect("made");
        let (_, two) = files.open(Some("a"), false).expect("there");
        assert_eq!(files.map(number, one, 0, false), None);
        let region = files.map(number, one, 0, true).expect("made");
        assert_eq!(files.map(number, two, 0, false), Some(region));
        files.unmap(number, one);
        assert_eq!(files.map(number, two, 0, false), Some(region));
        files.close(number, two);
        assert_eq!(files.map(number, one, 0, false), None);
    }
}
