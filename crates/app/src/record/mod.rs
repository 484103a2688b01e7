//! Recordings of a program's work with SQLite.

mod signals;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use recorder::read::ReadError;
use recorder::{Door, Folder, Held, Options};
use trace::TraceError;
use trace::seal::{Sealed, seal};

use self::signals::Signals;
pub use self::signals::listen;
use crate::error::{Error, Result};
use crate::files::{built_in_library, refuse_existing};

/// A recording.
pub struct RecordRequest {
    /// The trace to write.
    pub out: PathBuf,
    /// The way into the program, and whether values are hashed.
    pub options: Options,
    /// The program and its arguments. Without one, programs are recorded until a signal.
    pub command: Vec<OsString>,
}

/// A recording that has ended.
pub struct Recorded {
    /// How the program ended.
    pub status: Option<ExitStatus>,
    /// The recording. Without a connection there is no trace.
    pub sealed: Sealed,
}

/// Runs and records the program, then seals the trace. `ready` learns the path of the extension to load, if the program has to.
///
/// # Errors
/// The trace exists, the program cannot be started, or the trace cannot be written.
pub fn record(request: &RecordRequest, ready: impl FnOnce(&Path)) -> Result<Recorded> {
    let out = &request.out;
    refuse_existing(out)?;
    let folder = Folder::create(&recording_of(out), &request.options)
        .map_err(|error| Error::unusable(error).hint_if(hint_for_folder(out)))?;
    let _held = hold(&folder)?;
    let status = run(request, &folder, ready).inspect_err(|_| folder.remove())?;
    Ok(Recorded { status, sealed: finish(&folder, out)? })
}

/// Seals an interrupted recording.
///
/// # Errors
/// The folder holds no recording, a process still records there, or the trace cannot be written.
pub fn seal_again(folder: &Path, out: &Path) -> Result<Sealed> {
    let folder = Folder::existing(folder);
    if !folder.raw().exists() {
        let message = format!("{} holds no recording", folder.path().display());
        return Err(Error::unusable(message).hint(
            "a recording is a folder that `pragmark record` made, such as app.trace.recording",
        ));
    }
    let _held = hold(&folder)?;
    finish(&folder, out)
}

fn recording_of(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".recording");
    name.into()
}

fn hint_for_folder(out: &Path) -> Option<String> {
    recording_of(out).exists().then(|| match holder(out) {
        Some(process) => format!(
            "process {process} is recording there: wait until it has ended, or choose another name with --out"
        ),
        None => format!(
            "it has an interrupted recording: seal it with `pragmark record --seal {}`",
            recording_of(out).display()
        ),
    })
}

/// Returns what to do about a trace that does not exist because its recording is not sealed.
pub(crate) fn unsealed(trace: &Path) -> Option<String> {
    let folder = recording_of(trace);
    let is_unsealed = !trace.exists() && Folder::existing(&folder).raw().exists();
    is_unsealed.then(|| match holder(trace) {
        Some(process) => format!("process {process} is still recording it"),
        None => format!(
            "its recording was interrupted: `pragmark record --seal {}` makes the trace",
            folder.display()
        ),
    })
}

/// Returns the process that records the trace of this name now.
fn holder(out: &Path) -> Option<u32> {
    Folder::existing(&recording_of(out)).holder()
}

/// Keeps others from sealing the recording until the value is dropped.
fn hold(folder: &Folder) -> Result<Held> {
    let held = folder.hold().map_err(|error| {
        let path = folder.path().display();
        Error::unusable(format!("cannot use {path}: {error}"))
    })?;
    held.ok_or_else(|| {
        let path = folder.path().display();
        let by = folder
            .holder()
            .map_or_else(|| "another process".to_owned(), |process| format!("process {process}"));
        Error::unusable(format!("{path} is being recorded by {by}"))
            .hint("the trace is written when that process has ended")
    })
}

/// Runs the program. Without one, waits for a signal.
fn run(
    request: &RecordRequest,
    folder: &Folder,
    ready: impl FnOnce(&Path),
) -> Result<Option<ExitStatus>> {
    let mut signals = Signals::watch()?;
    let is_extension = request.options.door == Door::Extension;
    if is_extension {
        ready(&folder.object());
    }
    let Some((program, arguments)) = request.command.split_first() else {
        signals.wait();
        return Ok(None);
    };
    let mut command = Command::new(program);
    command.args(arguments);
    if !is_extension {
        command.env("LD_PRELOAD", folder.preload(std::env::var_os("LD_PRELOAD").as_deref()));
    }
    signals::run(&mut command, &mut signals).map(Some)
}

/// Runs a program to its end, and passes signals on to it.
///
/// # Errors
/// It cannot be started.
pub(crate) fn run_with(command: &mut Command) -> Result<ExitStatus> {
    signals::run(command, &mut Signals::watch()?)
}

/// Seals the recording. An empty trace is removed: it would look like an application without statements.
fn finish(folder: &Folder, out: &Path) -> Result<Sealed> {
    let library = built_in_library().map_err(|error| error.hint(kept(folder)))?;
    let copy = |from: &Path, to: &Path| {
        bench::copy_database(&library, from, to).map_err(|error| error.to_string())
    };
    let sealed = seal(&library, folder, out, &copy).map_err(|error| failed(error, folder))?;
    folder.remove();
    if sealed.connections == 0 {
        let _ = std::fs::remove_file(out);
    }
    Ok(sealed)
}

fn failed(error: TraceError, folder: &Folder) -> Error {
    let hint = match &error {
        TraceError::Recording(ReadError::Version { .. }) => {
            Some("seal it with the version of pragmark that recorded it".to_owned())
        }
        TraceError::Recording(_) => None,
        _ => Some(kept(folder)),
    };
    Error::unusable(error).hint_if(hint)
}

fn kept(folder: &Folder) -> String {
    format!(
        "the recording is kept: `pragmark record --seal {} --out FILE` seals it",
        folder.path().display()
    )
}
