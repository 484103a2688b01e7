//! `pragmark trace`: what a recorded application does.

mod completeness;
mod document;
mod edit;
mod plans;
mod script;
mod words;

use std::path::Path;
use std::sync::Arc;

use engine::{Library, Source};
use report::render;
use trace::analysis::{Analyser, Analysis};
use trace::plans::Plans;
use trace::{Connection, Meta, Note, Process, Setting, Snapshot, Trace, TraceError};

pub use words::plural;

use super::output;
use super::report::terminal_style;
use crate::cli::{ReportFormat, TraceArgs};
use crate::failure::{Exit, Failure};

/// What a trace says, read and analysed.
pub struct Traffic {
    meta: Meta,
    processes: Vec<Process>,
    connections: Vec<Connection>,
    settings: Vec<Setting>,
    snapshots: Vec<Snapshot>,
    notes: Vec<Note>,
    analysis: Analysis,
    plans: Plans,
}

/// Says what the application does, or carries out a command on traces.
pub fn execute(args: &TraceArgs) -> Result<Exit, Failure> {
    let library = Arc::new(Library::load(&Source::Embedded).map_err(Failure::unusable)?);
    match (&args.command, &args.trace) {
        (Some(command), _) => edit::execute(&library, command),
        (None, Some(trace)) => show(&library, trace, args),
        (None, None) => Err(Failure::usage("name a trace, such as `pragmark trace app.trace`")),
    }
}

/// Writes what the application does.
fn show(library: &Arc<Library>, path: &Path, args: &TraceArgs) -> Result<Exit, Failure> {
    let traffic = Trace::open(library, path).and_then(|trace| read(&trace));
    let document = document::document(path, &traffic.map_err(failed)?);
    let text = match args.format {
        ReportFormat::Terminal => render::terminal(&document, terminal_style()),
        ReportFormat::Markdown => render::markdown(&document),
        ReportFormat::Html => render::html(&document)
            .map_err(|error| Failure::unusable(format!("cannot make the page: {error}")))?,
    };
    output::write_text(args.out.as_deref(), &text)
}

/// A trace that cannot be used, with a hint.
fn failed(error: TraceError) -> Failure {
    let hint = hint(&error);
    Failure::unusable(error).hint_if(hint)
}

fn read(trace: &Trace) -> Result<Traffic, TraceError> {
    let meta = trace.meta()?;
    let mut analyser = Analyser::new(meta.duration_us, trace.normalised()?);
    trace.for_each_event(|event| analyser.take(event))?;
    let analysis = analyser.finish();
    Ok(Traffic {
        meta,
        processes: trace.processes()?,
        connections: trace.connections()?,
        settings: trace.settings()?,
        snapshots: trace.snapshots()?,
        notes: trace.notes()?,
        plans: Plans::of(trace, &analysis)?,
        analysis,
    })
}

fn hint(error: &TraceError) -> Option<String> {
    if let TraceError::File { path, .. } = error
        && let Some(words) = super::record::unsealed(path)
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
