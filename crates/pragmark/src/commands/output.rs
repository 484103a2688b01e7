//! Where the answer of a command goes: a file, or standard output.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::failure::{Exit, Failure};

/// Writes to the file, or to standard output where none is given.
///
/// A reader that closes the pipe early (`| head`) is no failure. A file that cannot be written
/// whole is removed.
pub fn write(
    out: Option<&Path>,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<Exit, Failure> {
    let Some(path) = out else {
        return match fill(&mut BufWriter::new(io::stdout().lock())) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure::unusable(format!("cannot write to standard output: {error}")))
            }
            _ => Ok(Exit::Success),
        };
    };
    if is_database(path) {
        return Err(Failure::unusable(format!(
            "{} is a SQLite database, and stays as it is",
            path.display()
        ))
        .hint("choose another file with --out"));
    }
    let is_other = path.metadata().is_ok_and(|metadata| !metadata.is_file());
    let written = match is_other {
        true => through(path, fill),
        false => replaced(path, fill),
    };
    written
        .map(|()| Exit::Success)
        .map_err(|error| Failure::unusable(format!("cannot write {}: {error}", path.display())))
}

/// Whether a file is a database, which no answer of a command replaces.
pub(super) fn is_database(file: &Path) -> bool {
    const MAGIC: &[u8] = b"SQLite format 3\0";
    let mut start = Vec::new();
    let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
    is_file
        && File::open(file)
            .and_then(|it| it.take(MAGIC.len() as u64).read_to_end(&mut start))
            .is_ok()
        && start == MAGIC
}

/// Writes into a pipe or a device, which must stay what it is.
fn through(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut writer = BufWriter::new(File::options().write(true).open(path)?);
    fill(&mut writer)?;
    writer.flush()
}

/// Replaces a file; behind a link is the one that is meant.
fn replaced(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    put(&place, fill)
}

/// Writes a temporary file in the same folder and renames it when it is complete.
fn put(place: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let folder = match place.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut unfinished = tempfile::Builder::new()
        .prefix(".unfinished-")
        // The process's mask is taken off.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)
        .map_err(nameless)?;
    let mut writer = BufWriter::new(unfinished.as_file_mut());
    fill(&mut writer)?;
    writer.flush()?;
    drop(writer);
    unfinished.persist(place).map_err(|error| error.error)?;
    Ok(())
}

/// The system's own words, without the name of a temporary file that nobody has asked for.
fn nameless(error: io::Error) -> io::Error {
    let inner = error.get_ref().and_then(std::error::Error::source);
    let code = inner.and_then(|it| it.downcast_ref::<io::Error>()?.raw_os_error());
    code.map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}

/// Writes a text to a file in the folder of a run, which may be another's: a link there is replaced and not
/// followed.
pub fn write_in_run(path: &Path, text: &str) -> Result<(), Failure> {
    put(path, |writer| writer.write_all(text.as_bytes()))
        .map_err(|error| Failure::unusable(format!("cannot write {}: {error}", path.display())))
}

/// Writes a text with names out of files to standard output, without what a terminal would act on.
pub fn display(text: &str) -> Result<Exit, Failure> {
    write_text(None, &lab::text::lines(text))
}

/// Writes a text as it is.
pub fn write_text(out: Option<&Path>, text: &str) -> Result<Exit, Failure> {
    write(out, |writer| {
        writer.write_all(text.as_bytes())?;
        writer.flush()
    })
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
        let broken = write(Some(&link), |writer| {
            writer.write_all(b"half")?;
            Err(io::ErrorKind::Other.into())
        });
        assert!(broken.is_err());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "old");
        write_text(Some(&link), "new").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
        assert!(link.is_symlink());
        assert_eq!(folder.path().read_dir().unwrap().count(), 2);
        let lost = write_text(Some(&folder.path().join("no/such")), "").unwrap_err();
        assert!(lost.words().contains("no/such"), "{}", lost.words());
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

        write_text(Some(Path::new("/dev/null")), "gone").unwrap();
        let kind = Path::new("/dev/null").metadata().unwrap().file_type();
        assert!(kind.is_char_device());
    }
}
