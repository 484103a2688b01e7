//! The objects that an agent keeps, up to a limit.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{Object, hash_of};
use crate::error::{FleetError, Result};

/// A directory with a folder for each object, named by its hash.
#[derive(Clone, Debug)]
pub struct ObjectCache {
    root: PathBuf,
    limit: u64,
}

/// An object that is kept.
struct CachedObject {
    folder: PathBuf,
    sha256: String,
    bytes: u64,
    used: SystemTime,
}

impl ObjectCache {
    /// Returns the cache in this directory, which need not exist, with at most `limit` bytes.
    pub fn at(root: PathBuf, limit: u64) -> ObjectCache {
        ObjectCache { root, limit }
    }

    /// Returns the file of an object, which `fetch` writes if it is missing or damaged. The least recently used files
    /// give way to it, except those in `needed`.
    ///
    /// # Errors
    /// When it cannot be fetched or written, or does not fit.
    pub fn file(
        &self,
        object: &Object,
        needed: &HashSet<String>,
        fetch: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<PathBuf> {
        object.check()?;
        let name = object.path()?;
        let name = Path::new(name.file_name().unwrap_or_default());
        let folder = self.root.join(&object.sha256);
        let path = folder.join(name);
        if path.is_file() {
            if hash_of(&path)?.0 == object.sha256 {
                touch(&path)?;
                return Ok(path);
            }
            fs::remove_file(&path).map_err(FleetError::io("remove", &path))?;
        }
        self.make_room(object, needed)?;
        fs::create_dir_all(&folder).map_err(FleetError::io("create", &folder))?;
        let part = folder.join(".part");
        fetch(&part)?;
        fs::rename(&part, &path).map_err(FleetError::io("rename", &part))?;
        Ok(path)
    }

    /// Removes what was not used for longest, until there is room for an object.
    fn make_room(&self, object: &Object, needed: &HashSet<String>) -> Result<()> {
        let mut kept = self.kept();
        kept.sort_by_key(|object| object.used);
        let mut bytes: u64 = kept.iter().map(|object| object.bytes).sum();
        for old in kept.iter().filter(|object| !needed.contains(&object.sha256)) {
            if bytes.saturating_add(object.bytes) <= self.limit {
                break;
            }
            fs::remove_dir_all(&old.folder).map_err(FleetError::io("remove", &old.folder))?;
            bytes -= old.bytes;
        }
        let bytes = bytes.saturating_add(object.bytes);
        if bytes <= self.limit {
            Ok(())
        } else {
            Err(FleetError::CacheTooSmall { name: object.name.clone(), bytes, limit: self.limit })
        }
    }

    fn kept(&self) -> Vec<CachedObject> {
        let folders = fs::read_dir(&self.root).into_iter().flatten().flatten();
        let kept = |folder: PathBuf| {
            let files = fs::read_dir(&folder).ok()?.flatten();
            let files: Vec<fs::Metadata> =
                files.filter_map(|entry| entry.metadata().ok()).collect();
            let used = files.iter().filter_map(|metadata| metadata.modified().ok()).max();
            Some(CachedObject {
                sha256: folder.file_name()?.to_str()?.to_owned(),
                bytes: files.iter().map(fs::Metadata::len).sum(),
                used: used.unwrap_or(SystemTime::UNIX_EPOCH),
                folder,
            })
        };
        folders.filter_map(|entry| kept(entry.path())).collect()
    }
}

/// Notes that a file was used.
fn touch(path: &Path) -> Result<()> {
    let file = fs::File::options().append(true).open(path);
    file.and_then(|file| file.set_modified(SystemTime::now()))
        .map_err(FleetError::io("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::Content;
    use std::time::Duration;

    /// Returns an object of ten bytes.
    fn object(directory: &Path, letter: &str) -> (Object, String) {
        let text = letter.repeat(10);
        let path = directory.join(letter);
        fs::write(&path, &text).unwrap();
        let object = Object::of_file(letter, &path, letter, Content::Data, None);
        (object.unwrap(), text)
    }

    #[test]
    fn what_was_not_used_for_longest_gives_way_and_what_is_needed_stays() {
        let directory = tempfile::tempdir().unwrap();
        let cache = ObjectCache::at(directory.path().join("cache"), 25);
        let objects = ["a", "b", "c", "d"].map(|letter| object(directory.path(), letter));
        let mut needed = HashSet::new();
        let keep = |number: usize, needed: &HashSet<String>| {
            let (object, text) = &objects[number];
            std::thread::sleep(Duration::from_millis(20));
            cache.file(object, needed, |path| {
                fs::write(path, text).unwrap();
                Ok(())
            })
        };
        let is_kept =
            |number: usize| directory.path().join("cache").join(&objects[number].0.sha256).is_dir();
        keep(0, &needed).unwrap();
        keep(1, &needed).unwrap();
        keep(0, &needed).unwrap();
        keep(2, &needed).unwrap();
        assert_eq!([0, 1, 2].map(is_kept), [true, false, true], "b was used longest ago");
        needed.extend([0, 2].map(|it: usize| objects[it].0.sha256.clone()));
        let error = keep(3, &needed).unwrap_err().to_string();
        assert!(error.contains("30 bytes") && error.contains("25"), "{error}");
        assert_eq!([0, 2].map(is_kept), [true, true]);
    }

    #[test]
    fn an_object_that_names_another_directory_touches_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let own = directory.path().join("ssh");
        fs::create_dir(&own).unwrap();
        fs::write(own.join("keys"), "secret").unwrap();
        let cache = ObjectCache::at(directory.path().join("cache"), 1_000);
        let (object, _) = object(directory.path(), "a");
        let object =
            Object { sha256: own.display().to_string(), file: "keys".to_owned(), ..object };
        let never = |_: &Path| -> Result<()> { panic!("nothing is fetched") };
        let error = cache.file(&object, &HashSet::new(), never).unwrap_err();
        assert!(error.to_string().contains("no SHA-256"), "{error}");
        assert_eq!(fs::read_to_string(own.join("keys")).unwrap(), "secret");
    }

    #[test]
    fn an_object_of_any_size_is_too_large_for_a_small_cache() {
        let directory = tempfile::tempdir().unwrap();
        let cache = ObjectCache::at(directory.path().join("cache"), 15);
        let fetch = |path: &Path| {
            fs::write(path, "aaaaaaaaaa").unwrap();
            Ok(())
        };
        let (first, _) = object(directory.path(), "a");
        cache.file(&first, &HashSet::new(), fetch).unwrap();
        let (second, _) = object(directory.path(), "b");
        let endless = Object { bytes: u64::MAX - 5, ..second };
        let needed = HashSet::from([first.sha256]);
        let error = cache.file(&endless, &needed, fetch).unwrap_err();
        assert!(matches!(error, FleetError::CacheTooSmall { .. }), "{error}");
    }

    #[test]
    fn a_damaged_file_is_fetched_again() {
        let directory = tempfile::tempdir().unwrap();
        let cache = ObjectCache::at(directory.path().join("cache"), 1_000);
        let (object, text) = object(directory.path(), "a");
        let fetch = |path: &Path| {
            fs::write(path, &text).unwrap();
            Ok(())
        };
        let path = cache.file(&object, &HashSet::new(), fetch).unwrap();
        fs::write(&path, "bbbbbbbbbb").unwrap();
        let path = cache.file(&object, &HashSet::new(), fetch).unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), text);
        let never = |_: &Path| -> Result<()> { panic!("it is there") };
        cache.file(&object, &HashSet::new(), never).unwrap();
    }
}
