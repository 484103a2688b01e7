//! `pragmark trace cut`, `merge` and `redact`: new traces of others.

use std::path::Path;
use std::sync::Arc;

use engine::Library;
use trace::edit::{self, Part};

use super::failed;
use super::words::plural;
use crate::cli::{CutArgs, TraceCommand};
use crate::failure::{Exit, Failure};

/// Carries out a command that writes a trace.
pub fn execute(library: &Arc<Library>, command: &TraceCommand) -> Result<Exit, Failure> {
    let (written, out) = match command {
        TraceCommand::Cut(args) => {
            check(args)?;
            (
                edit::cut(library, &args.trace, &part(args), &args.out),
                &args.out,
            )
        }
        TraceCommand::Merge(args) => (edit::merge(library, &args.traces, &args.out), &args.out),
        TraceCommand::Redact(args) => (edit::redact(library, &args.trace, &args.out), &args.out),
    };
    say(out, written.map_err(failed)?);
    Ok(Exit::Success)
}

fn say(out: &Path, events: u64) {
    tell!(
        "{}: {}",
        out.display(),
        plural(events, "statement", "statements")
    );
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
