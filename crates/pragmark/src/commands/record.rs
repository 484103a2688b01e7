//! `pragmark record`: a program's work with SQLite, recorded into a trace.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use app::record::{RecordRequest, seal_again};
use app::words::plural;
use app::{Error, Result};
use indicatif::HumanBytes;
use recorder::{Door, Obstacle};
use runner::machine::find_executable;
use trace::seal::Sealed;

use crate::exit::Exit;

/// Seals an interrupted recording, by default into the trace that it was for.
pub fn seal(folder: &Path, out: Option<PathBuf>) -> Result<Exit> {
    let given = out.or_else(|| {
        folder.to_str()?.trim_end_matches('/').strip_suffix(".recording").map(PathBuf::from)
    });
    let out = given.ok_or_else(|| Error::mistake("the trace to write is not clear; use --out"))?;
    let sealed = seal_again(folder, &out)?;
    Ok(exit(None, say(&sealed, &out, None)))
}

/// Records a program.
pub fn record(request: &RecordRequest) -> Result<Exit> {
    let waits = request.command.is_empty();
    let recorded = app::record::record(request, |extension| {
        tell!("{}", extension_words(extension, &request.out, waits));
    })?;
    let program = request.command.first().map(Path::new);
    let is_recorded = say(&recorded.sealed, &request.out, program);
    if !is_recorded && recorded.sealed.preloaded > 0 && request.options.door == Door::Any {
        tell!("hint: for databases in memory of a program that contains SQLite: --door table");
    }
    let has_door = !matches!(request.options.door, Door::Any | Door::Extension);
    if !is_recorded && has_door {
        tell!("hint: without --door, pragmark looks for tables and exported functions of SQLite");
    }
    Ok(exit(recorded.status, is_recorded))
}

/// Returns the program's exit code, unless it succeeded without a trace.
pub(super) fn exit(status: Option<ExitStatus>, is_recorded: bool) -> Exit {
    // As shells do: 128 and the signal.
    let code = status
        .map_or(0, |status| status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)));
    match (code as u8, is_recorded) {
        (0, true) => Exit::Success,
        (0, false) => Exit::Unusable,
        (code, _) => Exit::Program(code),
    }
}

/// Says what is in the trace, and returns whether there is one.
fn say(sealed: &Sealed, out: &Path, program: Option<&Path>) -> bool {
    if sealed.connections == 0 {
        tell!("nothing was recorded: {}", why_nothing(sealed, program));
        return false;
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
    warnings(sealed).iter().for_each(|warning| tell!("warning: {warning}"));
    true
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

/// Returns why no connection was recorded.
pub(super) fn why_nothing(sealed: &Sealed, program: Option<&Path>) -> String {
    if sealed.lost.space {
        return "the disk was full, or the file may not grow (ulimit -f)".to_owned();
    }
    let program = program.and_then(find_executable);
    let obstacle = program.and_then(|program| recorder::obstacle(&program));
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
            "{} loaded the recorder, and none opened a database file with an SQLite library that can be recorded",
            plural(sealed.preloaded.into(), "process", "processes")
        ),
    }
}

/// Returns what the trace lacks.
pub(super) fn warnings(sealed: &Sealed) -> Vec<String> {
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
    warn(lost.unread, "statements came faster than they were read, so later ones are missing");
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
