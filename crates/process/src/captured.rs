//! A command run to its end, with its output.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::tail::end_of;
use crate::{End, Group, Limits, Process, ProcessError};

/// The result of a command.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub end: End,
    /// All of its standard output.
    pub output: Vec<u8>,
    /// The end of its error output.
    pub errors: String,
    /// How long it ran.
    pub took: Duration,
}

impl Finished {
    /// Its standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.output).into_owned()
    }

    /// The ends of its standard output and of its error output: some programs complain on the one, some
    /// on the other.
    pub fn messages(&self) -> String {
        let output = end_of(io::Cursor::new(&self.output)).unwrap_or_default();
        format!("{output}\n{}", self.errors).trim().to_owned()
    }
}

/// Runs a command to its end without input, or kills it when a limit is exceeded.
///
/// # Errors
/// When it cannot be started, or its output cannot be kept.
pub fn run(
    command: &mut Command,
    group: Group,
    limits: &Limits<'_>,
) -> Result<Finished, ProcessError> {
    let program = PathBuf::from(command.get_program());
    let output = |source| ProcessError::Output { program: program.clone(), source };
    // Files rather than pipes: a program that writes much, or leaves a process behind, blocks nothing.
    let (standard, to_standard) = file().map_err(output)?;
    let (errors, to_errors) = file().map_err(output)?;
    command.stdin(Stdio::null()).stdout(to_standard).stderr(to_errors);
    let mut process = Process::start(command, group)?;
    let end = process.finish(limits)?;
    let took = process.start.elapsed();
    Ok(Finished {
        end,
        output: content(standard).map_err(output)?,
        errors: end_of(errors).map_err(output)?,
        took,
    })
}

/// A file without a name, to be read here and written by another process.
fn file() -> io::Result<(File, File)> {
    let file = tempfile::tempfile()?;
    let other = file.try_clone()?;
    Ok((file, other))
}

fn content(mut file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}
