//! `pragmark trace cut`, `merge`, `redact` and `export`: new traces of others, and files for other tools.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use engine::Library;
use trace::Trace;
use trace::edit::{self, Part};
use trace::export::{Form, export};

use super::words::plural;
use super::{failed, script};
use crate::cli::{CutArgs, ExportTraceArgs, TraceCommand, TraceForm};
use crate::failure::{Exit, Failure};

/// Carries out a command that writes a trace.
pub fn execute(library: &Arc<Library>, command: &TraceCommand) -> Result<Exit, Failure> {
    let (written, out) = match command {
        TraceCommand::Cut(args) => {
            check(args)?;
            (edit::cut(library, &args.trace, &part(args), &args.out), &args.out)
        }
        TraceCommand::Merge(args) => (edit::merge(library, &args.traces, &args.out), &args.out),
        TraceCommand::Redact(args) => (edit::redact(library, &args.trace, &args.out), &args.out),
        TraceCommand::Export(args) => {
            let form = form(args)?;
            let trace = Trace::open(library, &args.trace).map_err(failed)?;
            (export(&trace, form, &args.out), &args.out)
        }
        TraceCommand::ToScript(args) => return script::execute(library, args),
    };
    say(out, written.map_err(failed)?);
    Ok(Exit::Success)
}

/// The form of an exported file, by its name unless it is given.
fn form(args: &ExportTraceArgs) -> Result<Form, Failure> {
    let name = args.out.extension().and_then(OsStr::to_str);
    match (args.format, name) {
        (Some(TraceForm::Jsonl), _) | (None, Some("jsonl" | "ndjson")) => Ok(Form::JsonLines),
        (Some(TraceForm::Parquet), _) | (None, Some("parquet")) => Ok(Form::Parquet),
        (Some(TraceForm::Sqlite), _) | (None, Some("db" | "sqlite" | "sqlite3")) => {
            Ok(Form::Sqlite)
        }
        (None, _) => Err(Failure::usage(format!(
            "the name of {} does not say its form; use --format",
            args.out.display()
        ))),
    }
}

fn say(out: &Path, events: u64) {
    tell!("{}: {}", out.display(), plural(events, "statement", "statements"));
}

fn check(args: &CutArgs) -> Result<(), Failure> {
    match (args.from, args.to) {
        (None, None) if args.connection.is_empty() => {
            Err(Failure::usage("name a part: --from, --to or --connection"))
        }
        (Some(from), Some(to)) if from >= to => {
            Err(Failure::usage("--from must be earlier than --to"))
        }
        _ => Ok(()),
    }
}

fn part(args: &CutArgs) -> Part {
    let micros = |seconds: f64| (seconds * 1e6) as i64;
    Part {
        from_us: args.from.map_or(0, micros),
        to_us: args.to.map(micros),
        connections: args.connection.clone(),
    }
}
