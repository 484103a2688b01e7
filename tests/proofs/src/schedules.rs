//! Whether schedules notice a mutation.

use crate::patch::Mutation;
use crash::CrashError;
use crash::schedule::{Extent, ScenarioResult, ScheduleRunner, all, explore};
use engine::Library;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Explores the scenarios in the journal modes that a mutation concerns, until one notices.
///
/// # Errors
/// The stage cannot be set.
pub fn noticed_by(
    mutation: &Mutation,
    library: &Arc<Library>,
    folder: &Path,
    extent: Extent,
    stop: &AtomicBool,
) -> Result<Option<ScenarioResult>, CrashError> {
    let mut runner = ScheduleRunner::new(library, folder)?;
    for (scenario, journal_mode) in all() {
        if !mutation.settings.iter().any(|setting| setting == journal_mode) {
            continue;
        }
        let explored = explore(&mut runner, scenario, journal_mode, extent, stop)?;
        if explored.wrong > 0 {
            return Ok(Some(explored));
        }
    }
    Ok(None)
}
