//! Ahead of a run at the published sizes: how long and how large it will be, and whether that is
//! wanted.

use std::io::{IsTerminal, Write, stderr, stdin};
use std::sync::atomic::AtomicBool;

use lab::pilot::{Forecast, forecast};
use lab::record::{EnvironmentFile, PlannedExperiment, RunPlan};
use runner::{Driver, Servers, run_pilots};

use crate::failure::Failure;
use crate::progress::humanly;

/// Judges the planned run by pilots at the quick scale, refuses it where a disk is too small, and
/// asks whether to begin unless `yes` has been said already. `Ok(false)` means that it was declined
/// or interrupted.
pub fn is_wanted(
    plan: &RunPlan,
    quick: &RunPlan,
    environment: &EnvironmentFile,
    driver: &Driver,
    servers: &mut Servers,
    interrupted: &AtomicBool,
    yes: bool,
) -> Result<bool, Failure> {
    eprintln!("judging time and size: each arm once at the quick scale");
    let mut seconds = 0.0;
    for (planned, piloted) in plan.experiments.iter().zip(&quick.experiments) {
        let engines = &environment.engines;
        let Some(pilots) = run_pilots(quick, engines, piloted, driver, servers, interrupted)?
        else {
            return Ok(false);
        };
        let forecast = forecast(planned, piloted, &pilots);
        eprintln!("  {}: {}", planned.key, describe(&forecast));
        check_space(planned, &forecast, environment)?;
        seconds += forecast.seconds;
    }
    eprintln!("in all {} at least", humanly(seconds));
    Ok(yes || asked("begin?")?)
}

fn describe(forecast: &Forecast) -> String {
    let unknown = match forecast.unknown {
        0 => String::new(),
        some => format!(", without {some} that could not be tried"),
    };
    format!(
        "{}, {:.1} GB of disk{unknown}",
        humanly(forecast.seconds),
        forecast.bytes / 1e9
    )
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

fn asked(question: &str) -> Result<bool, Failure> {
    if !stdin().is_terminal() {
        return Err(
            Failure::usage("a run at the published sizes must be confirmed")
                .hint("say --yes where nobody can be asked"),
        );
    }
    eprint!("{question} [y/N] ");
    let unheard =
        |error: std::io::Error| Failure::unusable(format!("cannot ask on the terminal: {error}"));
    stderr().flush().map_err(unheard)?;
    let mut answer = String::new();
    stdin().read_line(&mut answer).map_err(unheard)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
