//! Files that use cases read and write.

use std::fmt::Display;
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use engine::{Connection, Library, OpenFlags, Source};
use lab::level::Level;
use runner::workdir::WorkDir;

use crate::error::{Error, Result};

/// The first bytes of every SQLite database, and so of every trace.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Returns the text of a file of at most `most` bytes. The error begins with `what` the file is to the user.
///
/// # Errors
/// For devices, pipes and folders, for larger files, for what is not UTF-8, and if reading fails.
pub(crate) fn read_text(what: &str, path: &Path, most: u64) -> Result<String> {
    let words = |why: &dyn Display| format!("cannot read {what} {}: {why}", path.display());
    let refused = |why: &dyn Display| Error::mistake(words(why));
    let unusable = |error: io::Error| Error::unusable(words(&error));
    let metadata = std::fs::metadata(path).map_err(unusable)?;
    if !metadata.is_file() {
        return Err(refused(&"it is not a regular file"));
    }
    let mut text = Vec::new();
    let file = File::open(path).map_err(unusable)?;
    file.take(most + 1).read_to_end(&mut text).map_err(unusable)?;
    if text.len() as u64 > most {
        return Err(refused(&format!("it is larger than {} KiB", most / 1024)));
    }
    String::from_utf8(text).map_err(|_| refused(&"it is not UTF-8 text"))
}

/// Returns whether a file begins as a database does.
///
/// # Errors
/// It cannot be read.
pub(crate) fn begins_as_database(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    File::open(path)?.take(MAGIC.len() as u64).read_to_end(&mut start)?;
    Ok(start == MAGIC)
}

/// Returns whether a file is a database, which no answer of a command replaces.
pub fn is_database(path: &Path) -> bool {
    let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file());
    is_file && begins_as_database(path).unwrap_or(false)
}

/// A file that begins as a database does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DatabaseKind {
    /// A database of an application.
    Database,
    /// A trace.
    Trace,
}

impl DatabaseKind {
    /// Returns the kind of a file; `None` if it does not begin as a database.
    pub(crate) fn of(path: &Path) -> Option<DatabaseKind> {
        /// Where the header of a database has its application id, a number of four bytes.
        const ID: usize = 68;
        if !is_database(path) {
            return None;
        }
        let mut header = [0; ID + 4];
        let is_whole = File::open(path).is_ok_and(|mut file| file.read_exact(&mut header).is_ok());
        let is_trace = is_whole && header[ID..] == (trace::APPLICATION_ID as u32).to_be_bytes();
        Some(if is_trace { DatabaseKind::Trace } else { DatabaseKind::Database })
    }

    /// Returns its name in a sentence.
    pub(crate) fn name(self) -> &'static str {
        match self {
            DatabaseKind::Database => "a SQLite database",
            DatabaseKind::Trace => "a trace",
        }
    }

    /// Returns the option that takes such a file.
    pub(crate) fn option(self) -> &'static str {
        match self {
            DatabaseKind::Database => "--db",
            DatabaseKind::Trace => "--trace",
        }
    }
}

/// Returns the folder that holds a file.
pub(crate) fn parent_of(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Returns a path as a level, from the root, so that the run can go on from any directory.
///
/// # Errors
/// The file does not exist, or its path is not UTF-8. The hint names the `option`.
pub(crate) fn absolute_level(path: &Path, option: &str) -> Result<Level> {
    let whole = path.canonicalize().map_err(|error| {
        Error::reading(path, error).hint(format!("check the path that {option} names"))
    })?;
    level_of_path(&whole)
}

/// Returns a path as a level.
///
/// # Errors
/// It is not UTF-8.
pub(crate) fn level_of_path(path: &Path) -> Result<Level> {
    let text = path.to_str();
    let text =
        text.ok_or_else(|| Error::unusable(format!("the path {} is not UTF-8", path.display())))?;
    Ok(Level::Text(text.to_owned()))
}

/// Writes a file. A pipe or device stays what it is; behind a link, the file that is meant is replaced once the new one is
/// complete.
///
/// # Errors
/// The file is a database, or cannot be written whole.
pub fn write(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    if is_database(path) {
        return Err(Error::unusable(format!(
            "{} is a SQLite database, and stays as it is",
            path.display()
        ))
        .hint("choose another file with --out"));
    }
    let is_device = path.metadata().is_ok_and(|metadata| !metadata.is_file());
    let written = if is_device {
        File::options().write(true).open(path).and_then(|file| {
            let mut writer = BufWriter::new(file);
            fill(&mut writer)?;
            writer.flush()
        })
    } else {
        replace(&path.canonicalize().unwrap_or_else(|_| path.to_owned()), fill)
    };
    written.map_err(|error| Error::writing(path, error))
}

/// Writes a text to a file.
///
/// # Errors
/// As [`write()`].
pub fn write_text(path: &Path, text: &str) -> Result<()> {
    write(path, |writer| writer.write_all(text.as_bytes()))
}

/// Writes a text to a file in the folder of a run, which may be another's: a link there is replaced and not followed.
///
/// # Errors
/// The file cannot be written.
pub fn write_in_run(path: &Path, text: &str) -> Result<()> {
    replace(path, |writer| writer.write_all(text.as_bytes()))
        .map_err(|error| Error::writing(path, error))
}

/// Writes a temporary file in the same folder and renames it when it is complete.
fn replace(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut unfinished = tempfile::Builder::new()
        .prefix(".unfinished-")
        // The process's mask is taken off.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(parent_of(path))
        .map_err(without_name)?;
    let mut writer = BufWriter::new(unfinished.as_file_mut());
    fill(&mut writer)?;
    writer.flush()?;
    drop(writer);
    unfinished.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Returns the system's own words, without the name of a temporary file that means nothing to the user.
fn without_name(error: io::Error) -> io::Error {
    let inner = error.get_ref().and_then(std::error::Error::source);
    let code = inner.and_then(|error| error.downcast_ref::<io::Error>()?.raw_os_error());
    code.map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}

/// Refuses to write to a path that exists.
pub(crate) fn refuse_existing(path: &Path) -> Result<()> {
    if path.exists() {
        return Err(Error::unusable(format!("{} exists", path.display()))
            .hint("choose another file with --out"));
    }
    Ok(())
}

/// Makes an empty folder below `parent`, for copies of the user's databases, which may be as large as these. It is removed
/// when dropped; what a killed command leaves is removed by the next one that works in the same directory.
///
/// # Errors
/// `parent` is missing or cannot be written.
pub(crate) fn work_folder(parent: &Path) -> Result<WorkDir> {
    let name = {
        let mut made = WORK_FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
        let name = format!("{}-{}", std::process::id(), made.len());
        made.push(WorkDir::path_of(parent, &name));
        name
    };
    WorkDir::create(parent, &name).map_err(|error| {
        Error::unusable(error).hint(
            "choose a writable directory: --dir, the directory of --out, or TMPDIR for temporary files",
        )
    })
}

/// The work folders that this process has made.
static WORK_FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes the copies that this process has made, before it is ended by a signal.
pub fn remove_work_folders() {
    let folders = WORK_FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    folders.iter().for_each(|folder| WorkDir::remove_in_use(folder));
}

/// Loads the SQLite that is built into pragmark.
///
/// # Errors
/// It cannot be loaded.
pub(crate) fn built_in_library() -> Result<Arc<Library>> {
    Ok(Arc::new(Library::load(&Source::Embedded).map_err(Error::unusable)?))
}

/// Opens the file of a database without locks or its write-ahead log, so that nobody who uses it notices.
///
/// # Errors
/// It cannot be read.
pub(crate) fn open_unlocked(database: &Path) -> Result<Connection> {
    let path = database.display().to_string();
    let path = path.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let uri = format!("file:{path}?immutable=1");
    let flags = OpenFlags::READ_ONLY | OpenFlags::URI;
    let library = built_in_library()?;
    Connection::open(&library, Path::new(&uri), flags, None).map_err(Error::unusable)
}

/// Returns paths, or the current directory if there are none.
pub(crate) fn or_here(paths: &[PathBuf]) -> Vec<PathBuf> {
    if paths.is_empty() { vec![PathBuf::from(".")] } else { paths.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_when_the_new_one_is_whole_and_links_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["r.csv", "link"].map(|name| folder.path().join(name));
        std::fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let broken = write(&link, |writer| {
            writer.write_all(b"half")?;
            Err(io::ErrorKind::Other.into())
        });
        assert!(broken.is_err());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "old");
        write_text(&link, "new").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
        assert!(link.is_symlink());
        assert_eq!(folder.path().read_dir().unwrap().count(), 2);
        let lost = write_text(&folder.path().join("no/such"), "").unwrap_err();
        assert!(lost.words().contains("no/such"), "{}", lost.words());
    }

    #[test]
    fn a_trace_is_told_from_other_databases_by_its_application_id() {
        let folder = tempfile::tempdir().unwrap();
        let kind = |content: &[u8]| {
            let path = folder.path().join("file");
            std::fs::write(&path, content).unwrap();
            DatabaseKind::of(&path)
        };
        let header = |id: &[u8; 4]| [MAGIC, &[0; 52], id].concat();
        assert_eq!(kind(&header(b"prgt")), Some(DatabaseKind::Trace));
        assert_eq!(kind(&header(b"1234")), Some(DatabaseKind::Database));
        assert_eq!(kind(MAGIC), Some(DatabaseKind::Database), "a damaged one");
        assert_eq!(kind(b"SELECT 1"), None);
    }

    #[test]
    fn a_link_in_the_folder_of_a_run_is_replaced_and_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["precious", "report.html"].map(|name| folder.path().join(name));
        std::fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write_in_run(&link, "new").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "old");
        assert_eq!(std::fs::read_to_string(&link).unwrap(), "new");
        assert!(!link.is_symlink());
    }

    #[test]
    fn a_device_stays_a_device() {
        use std::os::unix::fs::FileTypeExt;

        write_text(Path::new("/dev/null"), "gone").unwrap();
        let kind = Path::new("/dev/null").metadata().unwrap().file_type();
        assert!(kind.is_char_device());
    }
}
