//! Where the answer of a command goes: a file, or standard output.

use std::fs::File;
use std::io::{self, BufWriter, Write};
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
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::unusable(
                format!("cannot write to standard output: {error}"),
            )),
            _ => Ok(Exit::Success),
        };
    };
    let unfinished = path.with_extension("unfinished");
    let written = File::create(&unfinished).and_then(|file| {
        let mut writer = BufWriter::new(file);
        fill(&mut writer)?;
        writer.flush()
    });
    written
        .and_then(|()| std::fs::rename(&unfinished, path))
        .map_err(|error| {
            // The unfinished file may never have been made.
            let _ = std::fs::remove_file(&unfinished);
            Failure::unusable(format!("cannot write {}: {error}", path.display()))
        })?;
    Ok(Exit::Success)
}

/// Writes a text.
pub fn write_text(out: Option<&Path>, text: &str) -> Result<Exit, Failure> {
    write(out, |writer| {
        writer.write_all(text.as_bytes())?;
        writer.flush()
    })
}
