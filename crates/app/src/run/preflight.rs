//! Checks ahead of a run: whether the machine allows what its trials need, and whether a large run is wanted. A trial would
//! otherwise fail in its middle, and leave it to the user to find the cause.

use std::path::Path;
use std::time::Duration;

use lab::catalogue::Catalogue;
use lab::needs::{Needs, Shortfall, shortfalls};
use lab::pilot::{Forecast, forecast};
use lab::plan::{Request, shared_memory_pilots};
use lab::record::{EnvironmentFile, PlannedExperiment, RunPlan};
use runner::{Executor, run_pilots};

use crate::error::{Error, Result};
use crate::interface::Interface;
use crate::words::humanly;

/// Refuses a run if a trial needs more than the system allows, and names every limit that is too low, with the command that
/// raises it.
pub(crate) fn check_needs(plan: &RunPlan) -> Result<()> {
    for planned in &plan.experiments {
        let workload = &planned.experiment.workload;
        let of_variants =
            planned.variants.iter().map(|variant| bench::needs(workload, &variant.settings));
        let needs = of_variants.fold(Needs::default(), Needs::max);
        if needs == Needs::default() {
            continue;
        }
        let limits = runner::machine::bounds(&planned.directory)?;
        let short = shortfalls(&needs, &limits);
        if !short.is_empty() {
            return Err(too_low(planned, &short));
        }
    }
    Ok(())
}

fn too_low(planned: &PlannedExperiment, short: &[Shortfall]) -> Error {
    let lines = |line: &dyn Fn(&Shortfall) -> String| {
        short.iter().map(line).collect::<Vec<_>>().join("\n  ")
    };
    Error::unusable(format!(
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

/// Refuses a run if a directory cannot hold a database in WAL mode and a variant needs one. Returns `false` if it was
/// interrupted.
pub(crate) fn check_shared_memory(
    request: &Request,
    run: &RunPlan,
    executor: &mut dyn Executor,
    catalogue: &Catalogue,
) -> Result<bool> {
    let pilots = shared_memory_pilots(request, run, catalogue)
        .map_err(|problems| Error::mistake(problems.to_string()))?;
    for planned in &pilots.experiments {
        let Some(outcomes) = run_pilots(&pilots, planned, executor)? else { return Ok(false) };
        let problem_of = |index: usize| outcomes[index].outcome.problem();
        // If a rollback journal fails too, shared memory is not what is missing: the trials say.
        if let (Some(problem), None) = (problem_of(0), problem_of(1)) {
            return Err(no_shared_memory(&planned.directory, &problem));
        }
    }
    Ok(true)
}

fn no_shared_memory(directory: &Path, problem: &str) -> Error {
    Error::unusable(format!(
        "the directory {} cannot hold a database in WAL mode ({problem}), most often because its file system cannot share memory between connections, as across a network",
        directory.display()
    ))
    .hint("choose a directory on a local disk by --dir, or leave journal_mode=wal out, or lock exclusively (locking_mode=exclusive)")
}

/// A run at the published sizes.
pub(crate) struct Paper<'a> {
    /// The run.
    pub(crate) plan: &'a RunPlan,
    /// The same at the quick scale, for pilots.
    pub(crate) quick: &'a RunPlan,
    /// The machine.
    pub(crate) environment: &'a EnvironmentFile,
}

impl Paper<'_> {
    /// Judges the run by pilots, refuses it if a disk is too small or a trial would be stopped before its end, and asks
    /// whether to begin unless the user has `confirmed` it. Returns `false` if it was declined or interrupted.
    pub(crate) fn is_wanted(
        &self,
        executor: &mut dyn Executor,
        confirmed: bool,
        ui: &dyn Interface,
    ) -> Result<bool> {
        tell!(ui, "judging time and size: each variant once at the quick scale");
        let mut seconds = 0.0;
        for (planned, piloted) in self.plan.experiments.iter().zip(&self.quick.experiments) {
            let Some(pilots) = run_pilots(self.quick, piloted, executor)? else { return Ok(false) };
            let forecast = forecast(planned, piloted, &pilots);
            tell!(ui, "  {}: {}", planned.key, describe(&forecast));
            self.check_space(planned, &forecast)?;
            check_limit(&planned.key, forecast.longest_s, self.plan.trial_limit_s)?;
            seconds += forecast.seconds;
        }
        tell!(ui, "in all {} at least", humanly(seconds));
        if !confirmed && !ui.can_ask() {
            return Err(Error::mistake("a run at the published sizes must be confirmed")
                .hint("use --yes where nobody can be asked"));
        }
        Ok(confirmed || ui.confirm("begin?")?)
    }

    fn check_space(&self, planned: &PlannedExperiment, forecast: &Forecast) -> Result<()> {
        let volume = self.environment.machine.volume(&planned.directory);
        match volume.and_then(|volume| volume.free_bytes) {
            Some(free) if (free as f64) < forecast.bytes => Err(Error::unusable(format!(
                "the disk of {} is too small for {}: {:.1} GB are free, {:.1} GB are needed",
                planned.directory.display(),
                planned.key,
                free as f64 / 1e9,
                forecast.bytes / 1e9
            ))
            .hint("name a directory on a larger disk with --dir, or choose --scale default")),
            _ => Ok(()),
        }
    }
}

fn describe(forecast: &Forecast) -> String {
    let unknown = match forecast.unknown {
        0 => String::new(),
        some => format!(", without {some} that could not be tried"),
    };
    format!("{}, {:.1} GB of disk{unknown}", humanly(forecast.seconds), forecast.bytes / 1e9)
}

/// Refuses trials that would all be stopped at their limit: hours for nothing.
fn check_limit(key: &str, longest_s: f64, limit_s: f64) -> Result<()> {
    if longest_s <= limit_s {
        return Ok(());
    }
    // A pilot is a rough judge, so the limit that is proposed leaves as much again.
    let minutes = (2.0 * longest_s / 60.0).ceil();
    let limit = humantime::format_duration(Duration::from_secs_f64(limit_s));
    Err(Error::mistake(format!(
        "the longest trial of {key} will take {}, but a trial is stopped after {limit}",
        humanly(longest_s)
    ))
    .hint(format!(
        "give a longer one, such as --trial-limit {minutes:.0}m, or choose --scale default"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::plan::request_for;
    use lab::experiment::Scale;
    use lab::level::Level;

    #[test]
    fn a_trial_that_would_be_stopped_is_refused_with_both_times() {
        assert!(check_limit("x", 600.0, 600.0).is_ok());
        let why = check_limit("x", 1_200.0, 600.0).unwrap_err().words();
        for part in ["about 20 min", "after 10m", "--trial-limit 40m"] {
            assert!(why.contains(part), "{why}");
        }
        let why = check_limit("x", 91.0, 5.0).unwrap_err().words();
        assert!(why.contains("after 5s") && why.contains("4m"), "{why}");
    }

    #[test]
    fn the_pilots_are_valid_with_the_log_first() {
        let catalogue = drivers::catalogue(None).unwrap();
        let journals = crate::library::named(&["settings-journal-mode".to_owned()], &catalogue);
        let request = Request {
            scale: Scale::Quick,
            experiments: journals.unwrap(),
            directories: vec!["/data".into()],
            ..request_for("embedded".to_owned(), 1, 60.0)
        };
        let run = lab::plan::plan(request.clone(), &catalogue);
        let pilots = shared_memory_pilots(&request, &run, &catalogue).unwrap();
        let modes = pilots.experiments[0].variants.iter();
        let modes: Vec<_> = modes.map(|variant| variant.settings["journal_mode"].clone()).collect();
        assert_eq!(modes, [Level::from("wal"), Level::from("delete")]);
    }
}
