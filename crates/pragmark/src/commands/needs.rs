//! Ahead of a run: whether the operating system allows what its trials need at a time. A trial would
//! otherwise fail in its middle, and leave it to the user to find the limit.

use lab::needs::{Needs, Shortfall, shortfalls};
use lab::record::{PlannedExperiment, RunPlan};

use crate::failure::Failure;

/// Refuses a run of which some trial needs more than the system allows, and names every limit that is
/// too low, with the command that raises it.
pub fn check(plan: &RunPlan) -> Result<(), Failure> {
    for planned in &plan.experiments {
        let needs = needs(planned);
        if needs == Needs::default() {
            continue;
        }
        let limits = runner::machine::bounds(&planned.directory)?;
        let short = shortfalls(&needs, &limits);
        if !short.is_empty() {
            return Err(refusal(planned, &short));
        }
    }
    Ok(())
}

/// The most that any trial of the experiment needs.
fn needs(planned: &PlannedExperiment) -> Needs {
    let workload = &planned.experiment.workload;
    planned
        .variants
        .iter()
        .map(|variant| bench::needs(workload, &variant.settings))
        .fold(Needs::default(), Needs::max)
}

fn refusal(planned: &PlannedExperiment, short: &[Shortfall]) -> Failure {
    let lines = |line: &dyn Fn(&Shortfall) -> String| {
        short.iter().map(line).collect::<Vec<_>>().join("\n  ")
    };
    Failure::unusable(format!(
        "{} cannot run in {}:\n  {}",
        planned.key,
        planned.directory.display(),
        lines(&|short| short.to_string())
    ))
    .hint(format!(
        "raise the limits in the shell that starts pragmark, or choose a smaller --scale:\n  {}",
        lines(&Shortfall::remedy)
    ))
}
