//! `pragmark record`: a program's work with SQLite, recorded into a trace.

mod signals;

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Arc;

use engine::{Library, Source};
use indicatif::HumanBytes;
use recorder::read::ReadError;
use recorder::{Door, Folder, Held, Obstacle, Options};
use trace::TraceError;
use trace::seal::{Sealed, seal};

use self::signals::Signals;
pub use self::signals::listen;
use super::traffic::plural;
use crate::cli::{DoorArg, RecordArgs};
use crate::failure::{Exit, Failure};

/// Runs and records the program, then seals the trace.
pub fn execute(args: &RecordArgs) -> Result<Exit, Failure> {
    if let Some(folder) = &args.seal {
        return seal_again(args, folder);
    }
    let out = trace_file(args);
    if out.exists() {
        return Err(Failure::unusable(format!("{} exists", out.display()))
            .hint("choose another file with --out"));
    }
    let folder = Folder::create(&recording_of(&out), &options(args))
        .map_err(|error| Failure::unusable(error).hint_if(hint_for_folder(&out)))?;
    let _held = hold(&folder)?;
    let status = run(args, &folder, &out).inspect_err(|_| folder.remove())?;
    let recorded = finish(&folder, &out, args.command.first().map(Path::new))?;
    if !recorded && args.door.is_some() {
        tell!("hint: without --door, pragmark looks for tables and exported functions of SQLite");
    }
    Ok(exit(status, recorded))
}

/// The exit code: that of the program, unless there is no trace although the program succeeded.
fn exit(status: Option<ExitStatus>, recorded: bool) -> Exit {
    // As shells do: 128 and the signal.
    let code = status
        .map_or(0, |status| status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)));
    match (code as u8, recorded) {
        (0, true) => Exit::Success,
        (0, false) => Exit::Unusable,
        (code, _) => Exit::Program(code),
    }
}

fn options(args: &RecordArgs) -> Options {
    let door = match args.door {
        _ if args.extension => Door::Extension,
        Some(DoorArg::Table) => Door::Table,
        Some(DoorArg::Symbol) => Door::Symbol,
        Some(DoorArg::Interpose) => Door::Interpose,
        None => Door::Any,
    };
    Options { door, redact: args.redact }
}

fn trace_file(args: &RecordArgs) -> PathBuf {
    let program = args.command.first().map(Path::new).and_then(Path::file_name);
    args.out.clone().unwrap_or_else(|| {
        let mut name = program.unwrap_or("sqlite".as_ref()).to_owned();
        name.push(".trace");
        name.into()
    })
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

/// What to do about a trace that does not exist because its recording is not sealed; nothing where there is none.
pub fn unsealed(trace: &Path) -> Option<String> {
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

/// The process that records the trace of this name now.
fn holder(out: &Path) -> Option<u32> {
    Folder::existing(&recording_of(out)).holder()
}

/// Keeps others from sealing the recording until the value is dropped.
fn hold(folder: &Folder) -> Result<Held, Failure> {
    let held = folder.hold().map_err(|error| {
        let path = folder.path().display();
        Failure::unusable(format!("cannot use {path}: {error}"))
    })?;
    held.ok_or_else(|| {
        let path = folder.path().display();
        let by = folder
            .holder()
            .map_or_else(|| "another process".to_owned(), |process| format!("process {process}"));
        Failure::unusable(format!("{path} is being recorded by {by}"))
            .hint("the trace is written when that process has ended")
    })
}

/// Runs the program; without one, waits for a signal.
fn run(args: &RecordArgs, folder: &Folder, out: &Path) -> Result<Option<ExitStatus>, Failure> {
    let mut signals = Signals::watch()?;
    if args.extension {
        tell!("{}", extension_words(&folder.object(), out, args.command.is_empty()));
    }
    let Some((program, arguments)) = args.command.split_first() else {
        signals.wait();
        return Ok(None);
    };
    let mut command = Command::new(program);
    command.args(arguments);
    if !args.extension {
        command.env("LD_PRELOAD", folder.preload(std::env::var_os("LD_PRELOAD").as_deref()));
    }
    signals::run(&mut command, &mut signals).map(Some)
}

fn extension_words(object: &Path, out: &Path, waits: bool) -> String {
    let path = object.display();
    let mut words = format!(
        "Load this extension on the program's first connection; later ones are recorded too:
  {path}
Examples:
  sqlite3     .load {path}
  Python      connection.enable_load_extension(True); connection.load_extension(\"{path}\")
  Rails 8.1   extensions: [\"{path}\"] in config/database.yml
  datasette   datasette --load-extension={path} app.db
  JDBC        enable_load_extension=true in the URL, then SELECT load_extension('{path}')"
    );
    if waits {
        words += &format!("\nCtrl-C ends the recording and writes {}.", out.display());
    }
    words
}

fn seal_again(args: &RecordArgs, folder: &Path) -> Result<Exit, Failure> {
    let given = args.out.clone().or_else(|| {
        let name = folder.to_str()?.trim_end_matches('/');
        name.strip_suffix(".recording").map(PathBuf::from)
    });
    let out = given.ok_or_else(|| Failure::usage("the trace to write is not clear; use --out"))?;
    let folder = Folder::existing(folder);
    if !folder.raw().exists() {
        let message = format!("{} holds no recording", folder.path().display());
        return Err(Failure::unusable(message).hint(
            "a recording is a folder that `pragmark record` made, such as app.trace.recording",
        ));
    }
    let _held = hold(&folder)?;
    let recorded = finish(&folder, &out, None)?;
    Ok(exit(None, recorded))
}

/// Seals the recording and says what is in it; whether there is a trace.
fn finish(folder: &Folder, out: &Path, program: Option<&Path>) -> Result<bool, Failure> {
    let library = Library::load(&Source::Embedded);
    let library = library.map_err(|error| Failure::unusable(error).hint(kept(folder)))?;
    let library = Arc::new(library);
    let copy = |from: &Path, to: &Path| {
        bench::copy_database(&library, from, to).map_err(|error| error.to_string())
    };
    let sealed = seal(&library, folder, out, &copy).map_err(|error| failed(error, folder))?;
    folder.remove();
    if sealed.connections == 0 {
        // An empty trace would look like an application without statements.
        let _ = std::fs::remove_file(out);
        tell!("nothing was recorded: {}", why_nothing(&sealed, program));
        return Ok(false);
    }
    let size = std::fs::metadata(out).map_or(0, |metadata| metadata.len());
    tell!(
        "{}: {}, {}, {}, {}",
        out.display(),
        plural(sealed.events, "statement", "statements"),
        plural(sealed.connections, "connection", "connections"),
        plural(sealed.processes, "process", "processes"),
        HumanBytes(size),
    );
    warnings(&sealed).iter().for_each(|warning| tell!("warning: {warning}"));
    Ok(true)
}

fn failed(error: TraceError, folder: &Folder) -> Failure {
    let hint = match &error {
        TraceError::Recording(ReadError::Version { .. }) => {
            Some("seal it with the version of pragmark that recorded it".to_owned())
        }
        TraceError::Recording(_) => None,
        _ => Some(kept(folder)),
    };
    Failure::unusable(error).hint_if(hint)
}

fn kept(folder: &Folder) -> String {
    format!(
        "the recording is kept: `pragmark record --seal {} --out FILE` seals it",
        folder.path().display()
    )
}

/// Why no connection was recorded.
fn why_nothing(sealed: &Sealed, program: Option<&Path>) -> String {
    if sealed.lost.space {
        return "the disk was full, or the file may not grow (ulimit -f)".to_owned();
    }
    let obstacle = program.and_then(in_path).and_then(|program| recorder::obstacle(&program));
    if obstacle == Some(Obstacle::Modernc) {
        return "the program uses modernc.org/sqlite, which is SQLite translated to Go and cannot be recorded".to_owned();
    }
    if let Some(stub) = sealed.stubs.first() {
        return format!(
            "{stub} contains an SQLite library that cannot be called from outside, such as that of apsw or modernc"
        );
    }
    if let Some(old) = sealed.old.first() {
        return format!("{old} has a version of SQLite below 3.14, which cannot be recorded");
    }
    match obstacle {
        Some(_) => {
            "the program is linked statically, so the recorder cannot be loaded with it".to_owned()
        }
        None if sealed.preloaded == 0 => "no program loaded the recorder".to_owned(),
        None => format!(
            "{} loaded the recorder, and none opened a database with an SQLite library that can be recorded",
            plural(sealed.preloaded.into(), "process", "processes")
        ),
    }
}

/// The file of a program, which may be found through `PATH`.
fn in_path(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return Some(program.to_owned());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// What the trace lacks.
fn warnings(sealed: &Sealed) -> Vec<String> {
    let lost = sealed.lost;
    let mut all = Vec::new();
    let mut warn = |is_so: bool, words: &str| {
        if is_so {
            all.push(words.to_owned());
        }
    };
    warn(lost.space, "the disk was full, so the end of the recording is missing");
    warn(
        lost.file,
        "a process could not open the recording any more, so its later statements are missing",
    );
    warn(lost.memory, "a process had no memory left, so some of its connections are missing");
    warn(lost.statements, "a connection had more than 64 open statements; others are missing");
    warn(
        lost.commits,
        "a process had more than 512 open connections; commits of the others are missing",
    );
    if sealed.unreadable > 0 {
        all.push(format!("{} of the recording could not be read", HumanBytes(sealed.unreadable)));
    }
    for (database, result) in &sealed.without_snapshot {
        all.push(format!("there is no snapshot of {database} (SQLite's result code {result})"));
    }
    for stub in &sealed.stubs {
        all.push(format!("the SQLite library in {stub} could not be recorded"));
    }
    all
}
