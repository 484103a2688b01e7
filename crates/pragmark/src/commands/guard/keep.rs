//! The record of a guarded comparison: the folder of a run, written when all is measured. It cannot be resumed, because
//! the revisions that were checked out are gone.

use std::path::Path;

use lab::record::{RunPlan, TrialRecord};
use report::render;
use runner::RunFolder;

use super::Guarded;
use super::measure::Bench;
use crate::commands::{output, report as of_run};
use crate::failure::Failure;

/// The gate with every figure, as JSON in the folder of the run.
const GATE: &str = "guard.json";

/// Writes the folder of the run, with the gate as its page.
pub fn keep(
    folder: &Path,
    bench: &Bench<'_>,
    plan: &RunPlan,
    trials: &[TrialRecord],
    guarded: &Guarded,
) -> Result<(), Failure> {
    let environment = bench.environment()?;
    let run = RunFolder::create(folder, plan, &environment)?;
    let mut appender = run.appender()?;
    for trial in trials {
        appender.append(trial)?;
    }
    let page = render::html(&super::document(guarded))
        .map_err(|error| Failure::unusable(format!("cannot make the page: {error}")))?;
    output::write_in_run(&folder.join(of_run::PAGE), &page)?;
    let json = serde_json::to_string_pretty(guarded).map_err(Failure::unusable)?;
    output::write_in_run(&folder.join(GATE), &format!("{json}\n"))?;
    tell!("record: {}", folder.display());
    Ok(())
}
