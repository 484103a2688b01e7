//! The files: names, contents, and who has them open.

use super::locks::{FileLocks, Owner, SharedMemoryLocks};
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int};
use std::ptr::NonNull;

/// The size of a region of shared memory (`WALINDEX_PGSZ` in `wal.c`).
const REGION: usize = 32 * 1024;

/// A place in the list of files.
pub(super) type Place = usize;

/// SQLite's function that reads a boolean parameter of a URI.
pub(super) type UriBoolean = unsafe extern "C" fn(*const c_char, *const c_char, c_int) -> c_int;

/// One file, with or without a name.
#[derive(Default)]
pub(super) struct File {
    pub(super) bytes: Vec<u8>,
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

/// Memory that SQLite writes through pointers, hence never borrowed here.
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
    names: BTreeMap<String, Place>,
    places: Vec<Option<File>>,
    /// The last owner number given out.
    owners: Owner,
    pub(super) uri_boolean: Option<UriBoolean>,
}

impl Files {
    fn add(&mut self, file: File) -> Place {
        match self.places.iter().position(Option::is_none) {
            Some(place) => {
                self.places[place] = Some(file);
                place
            }
            None => {
                self.places.push(Some(file));
                self.places.len() - 1
            }
        }
    }

    /// The file at the place of an open file.
    ///
    /// # Panics
    /// If there is none, which would be a defect of this module.
    pub(super) fn at(&mut self, place: Place) -> &mut File {
        self.places[place]
            .as_mut()
            .expect("an open file has a place")
    }

    /// Opens the file of that name, made if `create`; without a name, always a new one. `None` where
    /// there is none.
    pub(super) fn open(&mut self, name: Option<&str>, create: bool) -> Option<(Place, Owner)> {
        let found = name.and_then(|name| self.names.get(name).copied());
        let place = match (found, name) {
            (Some(place), _) => place,
            (None, Some(name)) if create => {
                let file = File {
                    has_name: true,
                    ..File::default()
                };
                let place = self.add(file);
                self.names.insert(name.to_owned(), place);
                place
            }
            (None, Some(_)) => return None,
            (None, None) => self.add(File::default()),
        };
        self.at(place).opens += 1;
        self.owners += 1;
        Some((place, self.owners))
    }

    pub(super) fn exists(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    pub(super) fn close(&mut self, place: Place, owner: Owner) {
        self.unmap(place, owner);
        let file = self.at(place);
        file.locks.unlock(owner, 0);
        file.opens -= 1;
        self.drop_if_unused(place);
    }

    /// Whether there was such a name.
    pub(super) fn delete(&mut self, name: &str) -> bool {
        let Some(place) = self.names.remove(name) else {
            return false;
        };
        self.at(place).has_name = false;
        self.drop_if_unused(place);
        true
    }

    fn drop_if_unused(&mut self, place: Place) {
        let file = self.at(place);
        if file.opens == 0 && !file.has_name {
            self.places[place] = None;
        }
    }

    /// The region of that number; `None` where it is not there and not to be made.
    pub(super) fn map(
        &mut self,
        place: Place,
        owner: Owner,
        region: usize,
        extend: bool,
    ) -> Option<*mut u8> {
        let memory = self.at(place).shared_memory.get_or_insert_default();
        if !memory.users.contains(&owner) {
            memory.users.push(owner);
        }
        while extend && memory.regions.len() <= region {
            memory.regions.push(Region::new());
        }
        let found = memory.regions.get(region);
        found.map(|region| region.0.as_ptr().cast())
    }

    /// The locks of the shared memory.
    pub(super) fn shared_memory_locks(&mut self, place: Place) -> &mut SharedMemoryLocks {
        &mut self.at(place).shared_memory.get_or_insert_default().locks
    }

    /// Unmaps the shared memory, which goes with its last user as it does on a disk: its content never
    /// outlives a crash.
    pub(super) fn unmap(&mut self, place: Place, owner: Owner) {
        let file = self.at(place);
        if let Some(memory) = &mut file.shared_memory {
            memory.locks.forget(owner);
            memory.users.retain(|user| *user != owner);
            if memory.users.is_empty() {
                file.shared_memory = None;
            }
        }
    }

    pub(super) fn open_files(&self) -> usize {
        self.places.iter().flatten().map(|file| file.opens).sum()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }

    pub(super) fn bytes(&self, name: &str) -> Option<&[u8]> {
        let place = *self.names.get(name)?;
        self.places[place]
            .as_ref()
            .map(|file| file.bytes.as_slice())
    }

    pub(super) fn copies(&self) -> Vec<(String, Vec<u8>)> {
        let names = self.names();
        names
            .map(|name| {
                (
                    name.to_owned(),
                    self.bytes(name).unwrap_or_default().to_owned(),
                )
            })
            .collect()
    }

    pub(super) fn replace(
        &mut self,
        files: impl IntoIterator<Item = (String, Vec<u8>)>,
    ) -> Vec<(String, Vec<u8>)> {
        let mut places = std::mem::take(&mut self.places);
        let before = std::mem::take(&mut self.names)
            .into_iter()
            .filter_map(|(name, place)| Some((name, places[place].take()?.bytes)))
            .collect();
        for (name, bytes) in files {
            let place = self.add(File {
                bytes,
                has_name: true,
                ..File::default()
            });
            self.names.insert(name, place);
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
        let (place, owner) = files.open(Some("a"), true).expect("made");
        files.at(place).bytes.extend(b"old");
        assert!(files.delete("a") && !files.delete("a"));
        let (other, second) = files.open(Some("a"), true).expect("made anew");
        assert_eq!(files.bytes("a"), Some(&b""[..]));
        assert_eq!(files.at(place).bytes, b"old");
        files.close(place, owner);
        files.close(other, second);
        assert_eq!((files.open_files(), files.names().count()), (0, 1));
    }

    #[test]
    fn replacing_gives_the_old_files_back() {
        let mut files = Files::default();
        files.replace([("a".to_owned(), vec![1]), ("b".to_owned(), vec![2])]);
        let before = files.replace([("c".to_owned(), vec![3])]);
        assert_eq!(
            before,
            [("a".to_owned(), vec![1]), ("b".to_owned(), vec![2])]
        );
        assert_eq!(files.copies(), [("c".to_owned(), vec![3])]);
    }

    #[test]
    fn shared_memory_is_shared_and_goes_with_its_last_user() {
        let mut files = Files::default();
        let (place, one) = files.open(Some("a"), true).expect("made");
        let (_, two) = files.open(Some("a"), false).expect("there");
        assert_eq!(files.map(place, one, 0, false), None);
        let region = files.map(place, one, 0, true).expect("made");
        assert_eq!(files.map(place, two, 0, false), Some(region));
        files.unmap(place, one);
        assert_eq!(files.map(place, two, 0, false), Some(region));
        files.close(place, two);
        assert_eq!(files.map(place, one, 0, false), None);
    }
}
