//! `pragmark crash --schedule`: one schedule of two connections, call by call.

use std::sync::Arc;

use ::engine::Library;
use crash::AccidentError;
use crash::schedule::{Schedule, ScheduleRunner};

use super::plan::memory;
use crate::cli::CrashArgs;
use crate::commands::work_folder::work_folder;
use crate::commands::{engine, output};
use crate::failure::{Exit, Failure};

/// Plays the schedule again and prints every call.
pub(super) fn execute(schedule: &Schedule, args: &CrashArgs) -> Result<Exit, Failure> {
    let [engine] = args.engine.as_slice() else {
        return Err(Failure::usage("a schedule is played with one engine at a time")
            .hint("name one --engine"));
    };
    let library = Library::load(&engine::source(engine)?).map_err(Failure::unusable)?;
    let folder = memory(args.accidents.dir.as_deref());
    let work = work_folder(&folder)?;
    let played = ScheduleRunner::new(&Arc::new(library), work.path())?.run(schedule, true)?;
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
