//! The engines that pragmark keeps: built ones by name and key, added ones by name.
//!
//! ```text
//! engines/3.46.0+lto/9f0c…/libsqlite3.so.0                    a build, complete or not there
//! engines/3.46.0+lto/9f0c…/libsqlite3.so.0.provenance.json    how it was made, and its hash
//! added/my-engine/libsqlite3.so.0                             a library that was added
//! building/3.46.0+lto-9f0c….lock                              held by the process that builds it
//! building/3.46.0+lto-9f0c…-XXXXXX/                           its work, moved to engines/ when done
//! ```
//!
//! The key is a hash of everything that decides what comes out: source, compiler, flags, options. A
//! build is never replaced by another, so that an engine stays the same as long as a run uses it.

use super::error::{BuildError, Context, Result};
use super::name::{EngineName, is_for_adding};
use super::provenance::{self, Provenance};
use super::recipe::LIBRARY_FILE;
use crate::library::Source;
use etcetera::BaseStrategy;
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tempfile::TempDir;

/// How often a process that waits for another's build looks again.
const LOCK_POLL: Duration = Duration::from_millis(50);

/// The beginning of the name of a directory in which a library is copied that is added.
const ADDING: &str = "added";

/// Age from which on the directory of a library that is added belongs to a process that was killed: it
/// has no lock, and copying takes a moment.
const ABANDONED: Duration = Duration::from_secs(3_600);

/// The directory in which engines are kept.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

/// An engine that is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// The library.
    pub library: PathBuf,
    /// Its origin.
    pub provenance: Provenance,
}

impl Cache {
    /// Returns the user's cache: `PRAGMARK_CACHE`, or else `pragmark` below `XDG_CACHE_HOME`, or else below
    /// `HOME/.cache` (<https://specifications.freedesktop.org/basedir-spec/latest/>).
    ///
    /// # Errors
    /// The user has no such directory.
    pub fn of_user() -> Result<Cache> {
        if let Some(own) = std::env::var_os("PRAGMARK_CACHE").filter(|path| !path.is_empty()) {
            // Trials run in directories of their own, so paths must not depend on the current one.
            let own = PathBuf::from(own);
            return std::path::absolute(&own).context("find", &own).map(Cache::at);
        }
        match etcetera::choose_base_strategy() {
            Ok(strategy) => Ok(Cache::at(strategy.cache_dir().join("pragmark"))),
            Err(error) => Err(BuildError::NoCache(error.to_string())),
        }
    }

    /// Returns the one in this directory, which need not exist yet.
    pub fn at(root: PathBuf) -> Cache {
        Cache { root }
    }

    /// Its path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the builds of this name, the newest first; those whose provenance is missing or unreadable are
    /// left out.
    pub fn builds(&self, name: &str) -> Vec<Kept> {
        let mut builds: Vec<Kept> = directories(&self.of_build(name))
            .iter()
            .filter_map(|directory| kept(directory).ok().flatten())
            .collect();
        builds.sort_by(|a, b| b.provenance.created.cmp(&a.provenance.created));
        builds
    }

    /// Returns the build of this name and key, if there is one.
    ///
    /// # Errors
    /// Its provenance cannot be read.
    pub(super) fn build(&self, name: &str, key: &str) -> Result<Option<Kept>> {
        kept(&self.of_build(name).join(key))
    }

    /// Returns the engine added under this name, where there is one.
    ///
    /// # Errors
    /// Its provenance cannot be read.
    pub fn added(&self, name: &str) -> Result<Option<Kept>> {
        kept(&self.of_added(name))
    }

    /// Returns every engine that is kept, builds first, by name; those whose provenance cannot be read as
    /// errors.
    pub fn all(&self) -> Vec<Result<Kept>> {
        let builds =
            directories(&self.root.join("engines")).into_iter().flat_map(|name| directories(&name));
        let added = directories(&self.root.join("added"));
        builds.chain(added).filter_map(|directory| kept(&directory).transpose()).collect()
    }

    /// Keeps a copy of a library under a name. `describe` returns the version and source id of the
    /// library, which is not loaded here; `created` is now: RFC 3339, UTC.
    ///
    /// # Errors
    /// The name is not one, or is taken; the library cannot be read; `describe` refuses it.
    pub fn add<E: From<BuildError>>(
        &self,
        name: &str,
        library: &Path,
        created: String,
        describe: impl FnOnce(&Path) -> Result<(String, String), E>,
    ) -> Result<Kept, E> {
        let own_name = || name.to_owned();
        if !is_for_adding(name) {
            return Err(BuildError::NotAName(own_name()).into());
        }
        if self.added(name)?.is_some() {
            return Err(BuildError::NameTaken(own_name()).into());
        }
        let bytes = fs::read(library).context("read", library)?;
        let (version, source_id) = describe(library)?;
        let work = self.work(ADDING)?;
        let copy = work.path().join(LIBRARY_FILE);
        fs::write(&copy, &bytes).context("write", &copy)?;
        let provenance = Provenance {
            format: provenance::FORMAT,
            name: own_name(),
            version,
            source_id,
            source: library.display().to_string(),
            compiled: None,
            sha256: provenance::sha256(&bytes),
            bytes: bytes.len() as u64,
            created,
        };
        provenance.write(&copy)?;
        Ok(finish(work, &self.of_added(name), provenance)?)
    }

    /// Removes every build of this name, or the engine added under it; returns the number of libraries.
    /// Engines that are not kept here are left alone.
    ///
    /// # Errors
    /// Something cannot be removed.
    pub fn remove(&self, name: &EngineName) -> Result<usize> {
        let directory = match name {
            EngineName::Build(name) => self.of_build(&name.to_string()),
            EngineName::Added(name) => self.of_added(name),
            EngineName::Embedded | EngineName::System | EngineName::File(_) => return Ok(0),
        };
        let libraries = match name {
            EngineName::Build(_) => directories(&directory).len(),
            _ => usize::from(directory.is_dir()),
        };
        remove_directory(&directory)?;
        Ok(libraries)
    }

    /// Removes every engine that is kept, also those with a damaged provenance, and what killed
    /// processes left; returns the number of engines.
    ///
    /// # Errors
    /// Something cannot be removed.
    pub fn remove_all(&self) -> Result<usize> {
        let libraries = self.all().len();
        remove_directory(&self.root.join("engines"))?;
        remove_directory(&self.root.join("added"))?;
        for left in directories(&self.root.join("building")) {
            remove_left(&left)?;
        }
        Ok(libraries)
    }

    fn of_build(&self, name: &str) -> PathBuf {
        self.root.join("engines").join(name)
    }

    fn of_added(&self, name: &str) -> PathBuf {
        self.root.join("added").join(name)
    }

    fn building(&self) -> Result<PathBuf> {
        let building = self.root.join("building");
        fs::create_dir_all(&building).context("create", &building)?;
        Ok(building)
    }

    /// Returns a directory to work in, removed when dropped.
    fn work(&self, what: &str) -> Result<TempDir> {
        let building = self.building()?;
        tempfile::Builder::new()
            .prefix(&format!("{what}-"))
            .tempdir_in(&building)
            .context("create a directory in", &building)
    }

    /// Takes the right to build this, waiting while another process has it.
    ///
    /// # Errors
    /// The lock file cannot be made; waiting was cancelled.
    pub(super) fn lock(&self, name: &str, key: &str, cancelled: &AtomicBool) -> Result<Workspace> {
        let building = self.building()?;
        let what = format!("{name}-{key}");
        let path = building.join(format!("{what}.lock"));
        let lock = loop {
            let file = File::create(&path).context("create", &path)?;
            if let Some(lock) = Lock::try_on(file).context("lock", &path)? {
                break lock;
            }
            if cancelled.load(Ordering::Relaxed) {
                return Err(BuildError::Cancelled);
            }
            std::thread::sleep(LOCK_POLL);
        };
        // A process that was killed leaves its work behind; whoever has the lock may remove it.
        for left in directories(&building) {
            let own = left.file_name().unwrap_or_default().to_string_lossy();
            if own.starts_with(&format!("{what}-")) {
                remove_directory(&left)?;
            }
        }
        Ok(Workspace {
            work: self.work(&what)?,
            target: self.of_build(name).join(key),
            _lock: lock,
        })
    }
}

/// A lock on a file, released when dropped.
///
/// Closing the file is not enough: a process that another thread is starting holds copies of this process's
/// handles until its own program begins, and a lock lasts while any copy is open.
struct Lock(File);

impl Lock {
    /// Takes the lock, or returns `None` if another process has it.
    fn try_on(file: File) -> std::io::Result<Option<Lock>> {
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Where that fails, closing the file gives it back.
        let _ = self.0.unlock();
    }
}

/// The right to build one engine, and a directory to do it in. Unfinished work is removed.
pub(super) struct Workspace {
    work: TempDir,
    target: PathBuf,
    _lock: Lock,
}

impl Workspace {
    /// Returns the directory to work in.
    pub(super) fn path(&self) -> &Path {
        self.work.path()
    }

    /// Keeps the library [`LIBRARY_FILE`] of the directory, and nothing else of it.
    ///
    /// # Errors
    /// It cannot be written or moved.
    pub(super) fn keep(self, provenance: Provenance) -> Result<Kept> {
        let library = self.path().join(LIBRARY_FILE);
        provenance.write(&library)?;
        for entry in fs::read_dir(self.path()).context("read", self.path())? {
            let entry = entry.context("read", self.path())?;
            if !entry.file_name().to_string_lossy().starts_with(LIBRARY_FILE) {
                fs::remove_file(entry.path()).context("remove", &entry.path())?;
            }
        }
        // An existing library there is damaged.
        remove_directory(&self.target)?;
        finish(self.work, &self.target, provenance)
    }
}

/// Removes the work of a process, unless that may still be at it.
///
/// Lock files stay: they are empty, and where one was removed while a process waits for it, two would
/// build the same engine at once.
fn remove_left(work: &Path) -> Result<()> {
    let name = work.file_name().unwrap_or_default().to_string_lossy();
    let Some((what, _random)) = name.rsplit_once('-') else { return Ok(()) };
    if what == ADDING {
        return if is_abandoned(work) { remove_directory(work) } else { Ok(()) };
    }
    let path = work.with_file_name(format!("{what}.lock"));
    match File::open(&path) {
        Ok(file) => match Lock::try_on(file).context("lock", &path)? {
            Some(_lock) => remove_directory(work),
            // Its process is at it.
            None => Ok(()),
        },
        // A process makes the lock before it begins to work.
        Err(error) if error.kind() == ErrorKind::NotFound => remove_directory(work),
        Err(error) => Err(error).context("open", &path),
    }
}

fn is_abandoned(directory: &Path) -> bool {
    let changed = directory.metadata().and_then(|metadata| metadata.modified());
    changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age > ABANDONED))
}

/// Moves the work to where it is kept: there is all of it or nothing.
fn finish(work: TempDir, target: &Path, provenance: Provenance) -> Result<Kept> {
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent).context("create", parent)?;
    }
    fs::rename(work.path(), target).context("move an engine to", target)?;
    // The directory was moved away, so it must not be removed.
    let _ = work.keep();
    Ok(Kept { library: target.join(LIBRARY_FILE), provenance })
}

/// Returns the engine in a directory, if there is one.
fn kept(directory: &Path) -> Result<Option<Kept>> {
    let library = directory.join(LIBRARY_FILE);
    Ok(Provenance::read(&library)?.map(|provenance| Kept { library, provenance }))
}

/// Returns the directories in a directory, by name; empty if it does not exist.
fn directories(path: &Path) -> Vec<PathBuf> {
    let mut directories: Vec<PathBuf> = fs::read_dir(path)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    directories.sort();
    directories
}

fn remove_directory(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error).context("remove", path),
        _ => Ok(()),
    }
}

/// Returns the library that a name means, by a path that does not depend on the current directory. Returns
/// `None` for a build, which a [`Builder`](super::Builder) finds or makes.
///
/// # Errors
/// Neither an added engine nor a file has the name.
pub fn resolve(name: &EngineName, cache: &Cache) -> Result<Option<Source>> {
    Ok(match name {
        EngineName::Embedded => Some(Source::Embedded),
        EngineName::System => Some(Source::System),
        EngineName::Build(_) => None,
        EngineName::File(path) => Some(Source::Path(file(path)?)),
        EngineName::Added(added) => Some(Source::Path(match cache.added(added)? {
            Some(kept) => kept.library,
            // A bare word that names no file is more likely a misspelt name than a missing file.
            None => file(Path::new(added)).map_err(|error| match error {
                BuildError::Io { source, .. } if source.kind() == ErrorKind::NotFound => {
                    BuildError::Unknown(added.to_owned())
                }
                other => other,
            })?,
        })),
    })
}

fn file(path: &Path) -> Result<PathBuf> {
    path.canonicalize().context("use the engine", path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    const KEY: &str = "0123456789abcdef";

    #[test]
    fn what_killed_processes_left_goes_with_all_engines_and_what_is_being_made_stays() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::at(root.path().to_owned());
        let making = cache.lock("3.46.0", KEY, &AtomicBool::new(false)).unwrap();
        let left = |name: &str| {
            let path = cache.building().unwrap().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("sqlite3.o"), "half").unwrap();
            path
        };
        let killed = left(&format!("3.46.0+lto-{KEY}-AbCdEf"));
        File::create(cache.building().unwrap().join(format!("3.46.0+lto-{KEY}.lock"))).unwrap();
        let without_lock = left(&format!("3.46.0+pgo-{KEY}-AbCdEf"));
        let (old, adding) = (left("added-AbCdEf"), left("added-GhIjKl"));
        let long_ago = SystemTime::now() - 2 * ABANDONED;
        File::open(&old).unwrap().set_modified(long_ago).unwrap();

        assert_eq!(cache.remove_all().unwrap(), 0);
        assert!(!killed.exists() && !without_lock.exists() && !old.exists());
        assert!(making.path().is_dir() && adding.is_dir());

        // As if that process were killed as well, while a process that another thread starts still
        // holds a copy of the handle.
        let work = making.work.keep();
        let _copy = making._lock.0.try_clone().unwrap();
        drop(making._lock);
        cache.remove_all().unwrap();
        assert!(!work.exists());
    }

    #[test]
    fn an_added_engine_comes_before_a_file_and_a_name_without_either_is_unknown() {
        let directory = tempfile::tempdir().expect("a directory");
        let cache = Cache::at(directory.path().join("cache"));
        let own = directory.path().join("own.so");
        std::fs::write(&own, "a library").expect("writes");
        let name = |text: &str| text.parse::<EngineName>().expect("a name");

        let error = resolve(&name("own"), &cache).expect_err("not added");
        assert!(matches!(error, BuildError::Unknown(_)), "{error}");
        cache
            .add("own", &own, "now".to_owned(), |_| {
                Ok::<_, BuildError>(("3.1.4".to_owned(), "id".to_owned()))
            })
            .expect("added");
        let Ok(Some(Source::Path(library))) = resolve(&name("own"), &cache) else {
            panic!("an added engine");
        };
        assert!(library.starts_with(cache.root()), "{}", library.display());
        let missing = directory.path().join("missing.so");
        let error = resolve(&EngineName::File(missing.clone()), &cache).expect_err("missing");
        assert!(error.to_string().contains("missing.so"), "{error}");
        assert_eq!(resolve(&name("3.46.0"), &cache).expect("a build"), None);
    }
}
