//! Copies of the user's database, which does not change by one byte.
//!
//! Opening a database, even only to read, can create files next to it, bring a journal back, or touch its log. So it is
//! copied as files, with its journal or write-ahead log:
//! - in WAL mode first the database, then the log. Whatever a checkpoint writes into the database meanwhile is in the log
//!   too, unless the log began again, which its header shows: then all is copied once more;
//! - otherwise under a shared lock, which keeps writers away.
//!
//! Where a writer is in the way, the copy is one through the backup interface, by a connection that only reads.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use engine::vfs::Overlay;
use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::process::{Flock, FlockType, Pid, fcntl_getlk};

use crate::platform::{QUIET, shares_blocks};
use crate::workload::prelude::*;

/// The first bytes of a database (<https://sqlite.org/fileformat2.html>, section 1.3.1).
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Time to wait for the lock of a writer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Bytes of two files that are compared at once: both parts stay in the processor's cache.
const PART: u64 = 128 << 10;

/// Files that belong to a database, by what follows its name: itself, its write-ahead log and its journal.
const PARTS: [&str; 3] = ["", "-wal", "-journal"];

/// Sizes and modification times of the files of a database, which reveal a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State([Option<(u64, i64, i64)>; PARTS.len()]);

impl State {
    /// Returns the present state.
    ///
    /// # Errors
    /// The metadata of a file cannot be read.
    pub fn of(database: &Path) -> Result<State> {
        let mut state = [None; PARTS.len()];
        for (state, part) in state.iter_mut().zip(PARTS) {
            let path = part_of(database, part);
            let of = |metadata: Metadata| (metadata.len(), metadata.mtime(), metadata.mtime_nsec());
            *state = match path.metadata() {
                Ok(metadata) => Some(of(metadata)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
                Err(error) => return Err(cannot("read", &path, error)),
            };
        }
        Ok(State(state))
    }

    /// Returns the state as text, for checksums.
    pub(super) fn text(&self) -> String {
        format!("{:?}", self.0)
    }
}

fn part_of(database: &Path, part: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(part);
    name.into()
}

/// Removes a database, if it exists.
pub(super) fn remove(database: &Path) {
    for part in PARTS {
        let _ = std::fs::remove_file(part_of(database, part));
    }
}

/// Returns whether the user's database is in WAL mode.
///
/// # Errors
/// The file is not a database, or cannot be read.
pub fn is_in_wal_mode(database: &Path) -> Result<bool> {
    has_log(&mut open(database)?, database)
}

/// Copies the user's database to `copy`, without changing it by one byte.
///
/// # Errors
/// The file is not a database, cannot be read, or stays locked; or the disk is full.
pub fn copy_database(library: &Arc<Library>, database: &Path, copy: &Path) -> Result<()> {
    take(library, database, copy).map(drop)
}

/// As [`copy_database`]. Returns the state that was copied.
pub(crate) fn take(library: &Arc<Library>, database: &Path, copy: &Path) -> Result<State> {
    copy_or_cover(library, database, copy, u64::MAX)?;
    State::of(database)
}

/// As [`copy_database`], but leaves a database of more than `most` bytes where it is. The copy then has holes in place of
/// all its pages, and is to be opened with the overlay that is returned.
///
/// # Errors
/// As for [`copy_database`].
pub fn copy_or_cover(
    library: &Arc<Library>,
    database: &Path,
    copy: &Path,
    most: u64,
) -> Result<Option<Overlay>> {
    let mut file = open(database)?;
    let has_log = has_log(&mut file, database)?;
    let mut copying = Copying { file, database, copy, most, original: None };
    let copied = if has_log {
        copying.with_log()?
    } else {
        let before = State::of(database)?;
        let free = holder(&copying.file, database)?.is_none();
        free && copying.under_lock()? && State::of(database)? == before
    };
    if copied {
        return Ok(copying.original);
    }
    copying.back_up(library)?;
    Ok(None)
}

fn cannot(doing: &str, path: &Path, why: impl std::fmt::Display) -> TrialError {
    TrialError::cannot_run(format!("cannot {doing} {}: {why}", path.display()))
}

/// Opens a file to read it, and keeps the time of its last access if the system allows this.
fn open(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    let opened = options.read(true).custom_flags(QUIET).open(path);
    let opened = opened.or_else(|error| match error.kind() {
        std::io::ErrorKind::PermissionDenied => File::open(path),
        _ => Err(error),
    });
    opened.map_err(|error| cannot("read the database", path, error))
}

/// Returns whether a database has a write-ahead log and not a rollback journal, by its header.
fn has_log(file: &mut File, path: &Path) -> Result<bool> {
    const WRITE_VERSION: usize = 18;
    const LOG: u8 = 2;
    let mut header = Vec::new();
    let read = file.take(WRITE_VERSION as u64 + 1).read_to_end(&mut header);
    read.map_err(|error| cannot("read the database", path, error))?;
    if header.is_empty() {
        return Err(cannot("use the database", path, "the file is empty"));
    }
    match (header.starts_with(MAGIC), header.get(WRITE_VERSION)) {
        (true, Some(version)) => Ok(*version == LOG),
        _ => Err(cannot(
            "use the database",
            path,
            "the file is not an SQLite database, or it is encrypted",
        )),
    }
}

/// Returns the generation of the log: its header, which has new salts each time, or the state of a database without a log.
fn generation(database: &Path) -> Result<(Vec<u8>, Option<State>)> {
    const HEADER: u64 = 32;
    let path = part_of(database, "-wal");
    let mut header = Vec::new();
    if path.exists() {
        let read = open(&path)?.take(HEADER).read_to_end(&mut header);
        read.map_err(|error| cannot("read", &path, error))?;
    }
    let state = header.is_empty().then(|| State::of(database)).transpose()?;
    Ok((header, state))
}

/// Returns a lock that another process holds on the file. A database in WAL mode is locked as long as a process has it open.
fn holder(file: &File, path: &Path) -> Result<Option<Flock>> {
    let lock = Flock::from(FlockType::WriteLock);
    fcntl_getlk(file, &lock).map_err(|error| cannot("look at the locks of", path, error))
}

/// Returns who keeps a database locked, and what to do.
fn locked(file: &File, path: &Path) -> String {
    let pid = holder(file, path).ok().flatten().and_then(|lock| lock.pid).map(Pid::as_raw_nonzero);
    let process = pid.map(|pid| {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let name = Some(name.trim()).filter(|name| !name.is_empty());
        let name = name.map_or(String::new(), |name| format!(" ({name})"));
        format!(" by process {pid}{name}")
    });
    format!(
        "database is locked{}: wait for the end of its transaction and repeat",
        process.unwrap_or_default()
    )
}

/// A copy of the files of a database.
struct Copying<'a> {
    file: File,
    database: &'a Path,
    copy: &'a Path,
    /// The most bytes of a database whose pages are copied.
    most: u64,
    /// The database, if its pages were not copied.
    original: Option<Overlay>,
}

impl Copying<'_> {
    /// Copies a database and its log. Returns `false` if the log began again each time.
    fn with_log(&mut self) -> Result<bool> {
        const ATTEMPTS: usize = 5;
        for _ in 0..ATTEMPTS {
            let before = generation(self.database)?;
            self.copy_parts()?;
            if generation(self.database)? == before {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Copies the files under a shared lock. Returns `false` if another process got a lock first.
    fn under_lock(&mut self) -> Result<bool> {
        if fcntl_lock(&self.file, FlockOperation::NonBlockingLockShared).is_err() {
            return Ok(false);
        }
        self.copy_parts()?;
        Ok(true)
    }

    /// Copies the database first, then its other files.
    fn copy_parts(&mut self) -> Result<()> {
        self.original = None;
        let failed = |error| cannot("copy", self.database, error);
        let target = open_copy(self.copy).map_err(failed)?;
        let length = self.file.metadata().map_err(failed)?.len();
        if length > self.most && !shares_blocks(&target, &self.file) {
            target.set_len(0).and_then(|()| target.set_len(length)).map_err(failed)?;
            self.original = Some(self.file.try_clone().and_then(Overlay::over).map_err(failed)?);
        } else {
            copy_file(&self.file, self.database, &target)?;
        }
        for part in &PARTS[1..] {
            let (from, to) = (part_of(self.database, part), part_of(self.copy, part));
            // Left by an attempt before, it would belong to another state.
            let _ = std::fs::remove_file(&to);
            if from.exists() {
                let target = open_copy(&to).map_err(|error| cannot("write", &to, error))?;
                copy_file(&open(&from)?, &from, &target)?;
            }
        }
        Ok(())
    }

    /// Copies through the backup interface.
    fn back_up(&self, library: &Arc<Library>) -> Result<()> {
        let (database, copy) = (self.database, self.copy);
        // Left by an attempt to copy files.
        remove(copy);
        let failed = |error: engine::EngineError| cannot("copy the database", database, error);
        let from =
            Connection::open(library, database, OpenFlags::READ_ONLY, None).map_err(failed)?;
        from.busy_timeout(PATIENCE).map_err(failed)?;
        let to = Connection::open(library, copy, OpenFlags::default(), None).map_err(failed)?;
        // The message around it names the operation.
        let said = from.copy_to(&to);
        said.map_err(|error| {
            let why = if error.is_busy() { locked(&self.file, database) } else { error.message() };
            cannot("copy the database", database, why)
        })?;
        to.close().map_err(failed)?;
        from.close().map_err(failed)
    }
}

/// Opens a copy that may exist, and then keeps what it holds.
fn open_copy(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

/// Shares the blocks of a file if the file system can, otherwise copies them, except those that the target holds already.
fn copy_file(file: &File, from: &Path, target: &File) -> Result<()> {
    let failed = |error| cannot("copy", from, error);
    let length = file.metadata().map_err(failed)?.len();
    if !shares_blocks(target, file) {
        write_differences(file, target, length).map_err(failed)?;
    }
    // What another state added.
    target.set_len(length).map_err(failed)
}

/// Writes what differs: reading both takes no longer than writing one, and leaves the disk in peace, on which trials wait.
fn write_differences(mut file: &File, mut target: &File, length: u64) -> io::Result<()> {
    let held = target.metadata()?.len().min(length);
    let threads = std::thread::available_parallelism().map_or(1, |number| number.get() as u64);
    let share = held.div_ceil(threads).next_multiple_of(PART);
    std::thread::scope(|scope| {
        let shares = (0..held).step_by(share.max(PART) as usize);
        let writing = shares.map(|start| {
            let end = held.min(start + share);
            scope.spawn(move || write_differences_in(file, target, start..end))
        });
        let writing: Vec<_> = writing.collect();
        let join = |thread: ScopedJoinHandle<'_, io::Result<()>>| {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic))
        };
        writing.into_iter().try_for_each(join)
    })?;
    file.seek(SeekFrom::Start(held))?;
    target.seek(SeekFrom::Start(held))?;
    io::copy(&mut file, &mut target).map(drop)
}

fn write_differences_in(file: &File, target: &File, range: Range<u64>) -> io::Result<()> {
    let (mut wanted, mut found) = (vec![0; PART as usize], vec![0; PART as usize]);
    for start in range.clone().step_by(PART as usize) {
        let size = PART.min(range.end - start) as usize;
        match file.read_exact_at(&mut wanted[..size], start) {
            // A checkpoint cut the database: what it took away is in the log, too.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            read => read?,
        }
        target.read_exact_at(&mut found[..size], start)?;
        if wanted[..size] != found[..size] {
            target.write_all_at(&wanted[..size], start)?;
        }
    }
    Ok(())
}
