//! Traces of applications: what they show, and other traces and files made from them.

mod document;
mod findings;
mod indexes;

pub(crate) use self::document::{failures, statements, transactions};
pub(crate) use self::findings::time;

use std::path::{Path, PathBuf};

use report::document::Document;
use trace::analysis::Analysis;
use trace::edit::{self, Part};
use trace::export::{Form, export};
use trace::plans::Plans;
use trace::{Connection, Fitted, Meta, Note, Process, Setting, Snapshot, Trace, TraceError};

use crate::error::{Error, Result};
use crate::files::{built_in_library, refuse_existing, write_text};
use crate::record::unsealed;

/// A trace that was read and analysed.
struct Traffic {
    meta: Meta,
    processes: Vec<Process>,
    connections: Vec<Connection>,
    settings: Vec<Setting>,
    snapshots: Vec<Snapshot>,
    notes: Vec<Note>,
    analysis: Analysis,
    plans: Plans,
    indexes: Vec<indexes::Tried>,
}

impl Traffic {
    fn of(trace: &Trace) -> Result<Traffic> {
        let analysis = trace.analysed()?;
        Ok(Traffic {
            meta: trace.meta()?,
            processes: trace.processes()?,
            connections: trace.connections()?,
            settings: trace.settings()?,
            snapshots: trace.snapshots()?,
            notes: trace.notes()?,
            plans: Plans::of(trace, &analysis)?,
            indexes: indexes::tried(trace, &analysis)?,
            analysis,
        })
    }
}

/// A trace or a file to make from traces.
#[derive(Clone, Debug)]
pub enum Edit {
    /// A part of a trace.
    Cut {
        /// The trace.
        trace: PathBuf,
        /// The part.
        part: Part,
    },
    /// Several traces as one.
    Merge(Vec<PathBuf>),
    /// A trace with hashed texts and blobs.
    Redact(PathBuf),
    /// All executions of statements, for other tools.
    Export {
        /// The trace.
        trace: PathBuf,
        /// The form of the file.
        form: Form,
    },
}

/// A script to fit to a trace.
#[derive(Clone, Debug)]
pub struct ScriptRequest {
    /// The trace.
    pub trace: PathBuf,
    /// The script to write.
    pub out: PathBuf,
    /// The database to write.
    pub snapshot: PathBuf,
    /// The recorded database whose work the script does.
    pub database: Option<String>,
}

/// Returns what a recorded application does.
///
/// # Errors
/// The trace cannot be read.
pub fn describe(path: &Path) -> Result<Document> {
    let traffic = Traffic::of(&Trace::open(&built_in_library()?, path)?)?;
    Ok(document::document(path, &traffic))
}

/// Makes a trace or a file from traces, and returns the number of its statements.
///
/// # Errors
/// A trace cannot be read, or the file cannot be written.
pub fn make(edit: &Edit, out: &Path) -> Result<u64> {
    let library = built_in_library()?;
    let made = match edit {
        Edit::Cut { trace, part } => edit::cut(&library, trace, part, out),
        Edit::Merge(traces) => edit::merge(&library, traces, out),
        Edit::Redact(trace) => edit::redact(&library, trace, out),
        Edit::Export { trace, form } => {
            Trace::open(&library, trace).and_then(|trace| export(&trace, *form, out))
        }
    };
    Ok(made?)
}

/// Writes a script that does the work of a recorded application, and the database for it.
///
/// # Errors
/// The trace cannot be read, or a file exists or cannot be written.
pub fn to_script(request: &ScriptRequest) -> Result<Fitted> {
    let ScriptRequest { trace, out, snapshot, database } = request;
    refuse_existing(out)?;
    if snapshot.exists() {
        let message =
            format!("the snapshot would be written as {}, which exists", snapshot.display());
        return Err(
            Error::unusable(message).hint("give the script another name; the database has it, too")
        );
    }
    let fitted = Trace::open(&built_in_library()?, trace)
        .and_then(|trace| trace::to_script(&trace, database.as_deref(), snapshot))?;
    write_text(out, &fitted.text)?;
    Ok(fitted)
}

impl From<TraceError> for Error {
    fn from(error: TraceError) -> Error {
        let hint = hint(&error);
        Error::unusable(error).hint_if(hint)
    }
}

fn hint(error: &TraceError) -> Option<String> {
    if let TraceError::File { path, .. } = error
        && let Some(words) = unsealed(path)
    {
        return Some(words);
    }
    let words = match error {
        TraceError::NotATrace(_) => Some("`pragmark record` writes traces"),
        TraceError::Format { .. } => {
            Some("record it again, or use the version of pragmark that recorded it")
        }
        TraceError::Incomplete(_) => {
            Some("if its folder `….recording` exists, seal it with `pragmark record --seal`")
        }
        TraceError::NoDatabase(_) => Some("`pragmark trace FILE` lists its databases"),
        TraceError::Exists(_) => Some("choose another file with --out"),
        TraceError::Redacted(_) => Some("merge traces before you redact them"),
        _ => None,
    };
    words.map(str::to_owned)
}
