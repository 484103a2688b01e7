//! `pragmark crash --schedule`: one schedule of two connections, call by call.

use std::sync::Arc;

use accidents::AccidentError;
use accidents::schedule::{Schedule, Stage};
use engine::{Library, Source};
use lab::record::engine_to_load;

use super::plan::memory;
use crate::cli::CrashArgs;
use crate::commands::engine::{named, prepare, problem};
use crate::commands::{output, run};
use crate::failure::{Exit, Failure};
use crate::interrupt;

/// Plays the schedule again and prints every call.
pub(super) fn execute(schedule: &Schedule, args: &CrashArgs) -> Result<Exit, Failure> {
    let [engine] = args.engine.as_slice() else {
        return Err(
            Failure::usage("a schedule is played with one engine at a time")
                .hint("name one --engine"),
        );
    };
    let library = Library::load(&source(engine)?).map_err(Failure::unusable)?;
    let folder = memory(args.accidents.dir.as_deref());
    let played = Stage::new(&Arc::new(library), &folder)?.play(schedule, true)?;
    let outcome = match played.wrong.len() {
        0 => "nothing went wrong".to_owned(),
        wrong => format!("{wrong} things went wrong"),
    };
    output::write_text(
        None,
        &format!(
            "{schedule}: calls of the first connection by number, acts of both indented\n\n{}\n\n{outcome}\n",
            played.trace.join("\n")
        ),
    )
}

/// Where the library of this name is loaded from, built where it has to be.
fn source(name: &str) -> Result<Source, Failure> {
    named(name)?;
    let (driver, interrupted) = (run::native_driver()?, interrupt::flag()?);
    let engines = prepare(&[name.to_owned()], &driver, &interrupted, false)?;
    match engines.iter().find_map(problem) {
        Some(failure) => Err(failure),
        None => {
            let to_load = engine_to_load(&engines, name).map_err(Failure::unusable)?;
            to_load.parse().map_err(Failure::usage)
        }
    }
}

impl From<AccidentError> for Failure {
    fn from(error: AccidentError) -> Failure {
        let hint = match &error {
            AccidentError::File { .. } => Some("name another directory with --dir"),
            AccidentError::Writer { .. } => {
                Some("these settings, or this engine, cannot be written with")
            }
            _ => None,
        };
        Failure::unusable(error).hint_if(hint)
    }
}
