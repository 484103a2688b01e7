//! The folder of a recording: the recorder, the file that it fills, and the snapshots that it takes.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

use crate::layout::{self, at};

/// The recorder, compiled with this crate; empty where it does not exist.
const OBJECT: &[u8] = include_bytes!(env!("PRAGMARK_RECORDER"));

/// The same with functions that take the place of SQLite's.
const INTERPOSING: &[u8] = include_bytes!(env!("PRAGMARK_INTERPOSING_RECORDER"));

/// How the recorder gets into a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Door {
    /// The first that opens: by table, otherwise by symbol.
    #[default]
    Any,
    /// Through the table of functions that a library has for its extensions.
    Table,
    /// Through the library's exported functions.
    Symbol,
    /// By functions in place of those that open connections in a shared library.
    Interpose,
    /// As an extension that the program loads.
    Extension,
}

impl Door {
    /// Its number in recordings.
    pub(crate) fn code(self) -> u32 {
        match self {
            Door::Any => 0,
            Door::Table => 1,
            Door::Symbol => 2,
            Door::Interpose => 3,
            Door::Extension => 4,
        }
    }

    /// Returns the door with this number.
    pub(crate) fn of_code(code: u64) -> Door {
        match code {
            1 => Door::Table,
            2 => Door::Symbol,
            3 => Door::Interpose,
            4 => Door::Extension,
            _ => Door::Any,
        }
    }
}

/// How to record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The only door to try, or any.
    pub door: Door,
    /// The part of values that is written.
    pub values: Values,
}

/// The part of statements' values that is written. Snapshots are taken only with all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Values {
    /// All of them.
    #[default]
    Kept,
    /// Texts and blobs as hashes.
    Hashed,
    /// None; literals in statements are left out too.
    LeftOut,
}

/// Why the folder to record into cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The recorder does not exist for this system.
    #[error("programs can be recorded on Linux only")]
    System,
    /// A file could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The path cannot be a part of `LD_PRELOAD`.
    #[error("{} contains a space or a colon, which LD_PRELOAD cannot have", .0.display())]
    Separator(PathBuf),
}

/// A recording that this process uses.
pub struct Held(#[expect(dead_code, reason = "the lock ends with the file")] File);

/// A folder into which programs record.
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes a new folder with the recorder and an empty recording.
    ///
    /// # Errors
    /// When the folder exists or cannot be written, when the dynamic loader could not be given its name, and
    /// on systems other than Linux.
    pub fn create(path: &Path, options: &Options) -> Result<Folder, FolderError> {
        if OBJECT.is_empty() {
            return Err(FolderError::System);
        }
        let write = |path: &Path| {
            let path = path.to_owned();
            move |source| FolderError::Write { path, source }
        };
        fs::create_dir(path).map_err(write(path))?;
        let path = path.canonicalize().map_err(write(path))?;
        let folder = Folder { path };
        if has_separator(folder.path.as_os_str()) {
            folder.remove();
            return Err(FolderError::Separator(folder.path));
        }
        let made = folder.fill(options);
        made.map_err(|source| {
            folder.remove();
            FolderError::Write { path: folder.path.clone(), source }
        })?;
        Ok(folder)
    }

    /// Returns a folder that an earlier process has made.
    pub fn existing(path: &Path) -> Folder {
        Folder { path: path.to_owned() }
    }

    fn fill(&self, options: &Options) -> io::Result<()> {
        let object = match options.door {
            Door::Interpose => INTERPOSING,
            _ => OBJECT,
        };
        fs::write(self.object(), object)?;
        let mut raw = OpenOptions::new().write(true).create_new(true).open(self.raw())?;
        raw.write_all(&header(options)?)
    }

    /// Returns the folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the recorder, to be preloaded or loaded as an extension.
    pub fn object(&self) -> PathBuf {
        self.path.join("recorder.so")
    }

    /// Returns the recording.
    pub fn raw(&self) -> PathBuf {
        self.path.join("raw")
    }

    /// Returns a snapshot by its number.
    pub fn snapshot(&self, number: u64) -> PathBuf {
        self.path.join(format!("snapshot-{number}"))
    }

    /// Returns the value of `LD_PRELOAD` for a program, after what the variable has now.
    pub fn preload(&self, present: Option<&OsStr>) -> OsString {
        let mut value = self.object().into_os_string();
        if let Some(present) = present.filter(|present| !present.is_empty()) {
            value.push(":");
            value.push(present);
        }
        value
    }

    /// Marks the recording as in use until the value is dropped or the process ends; nothing where another process
    /// uses it.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn hold(&self) -> io::Result<Option<Held>> {
        let mut file =
            OpenOptions::new().create(true).truncate(false).write(true).open(self.mark())?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        file.set_len(0)?;
        write!(file, "{}", std::process::id())?;
        Ok(Some(Held(file)))
    }

    /// Returns the process that uses the recording.
    pub fn holder(&self) -> Option<u32> {
        let file = File::open(self.mark()).ok()?;
        // A process writes its number just after it has the lock.
        for _ in 0..100 {
            if !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
                return None;
            }
            match fs::read_to_string(self.mark()).ok()?.parse() {
                Ok(process) => return Some(process),
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
        None
    }

    fn mark(&self) -> PathBuf {
        self.path.join("in-use")
    }

    /// Has every process stop recording at its next chunk.
    ///
    /// # Errors
    /// When the recording cannot be written.
    pub fn seal(&self) -> io::Result<()> {
        let raw = OpenOptions::new().write(true).open(self.raw())?;
        raw.write_all_at(&1u32.to_ne_bytes(), at::SEALED as u64)
    }

    /// Removes the folder with all that is in it; processes that still have the recording mapped go on.
    pub fn remove(&self) {
        // What cannot be removed stays where the user finds it.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn has_separator(path: &OsStr) -> bool {
    path.as_encoded_bytes().iter().any(|byte| b": \t\n".contains(byte))
}

/// Nanoseconds of the clock by which processes record.
fn monotonic() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns the header of a new recording.
fn header(options: &Options) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; layout::CHUNK];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    let wall =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let mut key = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut key)?;
    put(0, layout::MAGIC);
    put(at::VERSION, &layout::VERSION.to_ne_bytes());
    put(at::BYTE_ORDER, &layout::BYTE_ORDER_MARK.to_ne_bytes());
    put(at::DOOR, &options.door.code().to_ne_bytes());
    put(at::REDACT, &(options.values as u32).to_ne_bytes());
    put(at::KEY, &key);
    put(at::STARTED_MONOTONIC, &monotonic().to_ne_bytes());
    put(at::STARTED_WALL, &wall.to_ne_bytes());
    put(at::NEXT_CHUNK, &1u64.to_ne_bytes());
    Ok(bytes)
}
