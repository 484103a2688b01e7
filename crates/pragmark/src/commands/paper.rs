//! Ahead of a run at the published sizes: how long and how large it will be, and whether that is
//! wanted.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lab::pilot::{Forecast, forecast};
use lab::record::{EnvironmentFile, PlannedExperiment, RunPlan};
use runner::{Executor, run_pilots};

use super::ask;
use crate::failure::Failure;
use crate::progress::humanly;

/// Judges the planned run by pilots at the quick scale, refuses it where a disk is too small or a
/// trial would be stopped before its end, and asks whether to begin unless `yes` has been said
/// already. `Ok(false)` means that it was declined or interrupted.
pub fn is_wanted(
    plan: &RunPlan,
    quick: &RunPlan,
    environment: &EnvironmentFile,
    executor: &mut dyn Executor,
    interrupted: &AtomicBool,
    yes: bool,
) -> Result<bool, Failure> {
    tell!("judging time and size: each variant once at the quick scale");
    let mut seconds = 0.0;
    for (planned, piloted) in plan.experiments.iter().zip(&quick.experiments) {
        let Some(pilots) = run_pilots(quick, piloted, executor)? else {
            return Ok(false);
        };
        let forecast = forecast(planned, piloted, &pilots);
        tell!("  {}: {}", planned.key, describe(&forecast));
        check_space(planned, &forecast, environment)?;
        check_limit(&planned.key, forecast.longest_s, plan.trial_limit_s)?;
        seconds += forecast.seconds;
    }
    tell!("in all {} at least", humanly(seconds));
    if !yes && !ask::can_ask() {
        return Err(Failure::usage("a run at the published sizes must be confirmed")
            .hint("say --yes where nobody can be asked"));
    }
    Ok(yes || ask::confirmed("begin?", interrupted)?)
}

fn describe(forecast: &Forecast) -> String {
    let unknown = match forecast.unknown {
        0 => String::new(),
        some => format!(", without {some} that could not be tried"),
    };
    format!("{}, {:.1} GB of disk{unknown}", humanly(forecast.seconds), forecast.bytes / 1e9)
}

fn check_space(
    planned: &PlannedExperiment,
    forecast: &Forecast,
    environment: &EnvironmentFile,
) -> Result<(), Failure> {
    let volume = environment.machine.volume(&planned.directory);
    match volume.and_then(|volume| volume.free_bytes) {
        Some(free) if (free as f64) < forecast.bytes => Err(Failure::unusable(format!(
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

/// Trials that are all stopped at their limit would be hours for nothing.
fn check_limit(key: &str, longest_s: f64, limit_s: f64) -> Result<(), Failure> {
    if longest_s <= limit_s {
        return Ok(());
    }
    // A pilot is a rough judge, so the limit that is proposed leaves as much again.
    let minutes = (2.0 * longest_s / 60.0).ceil();
    let limit = humantime::format_duration(Duration::from_secs_f64(limit_s));
    Err(Failure::usage(format!(
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
}
