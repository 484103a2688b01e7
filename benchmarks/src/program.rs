//! Running trials with the program to measure.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lab::level::{Settings, overlaid};
use lab::trial::{Measured, Outcome, PROTOCOL, TrialSpec};
use runner::Driver;
use runner::process::TrialRun;

use crate::Failure;

/// A copy of the program in its own directory, so that its position in memory is noise between repetitions,
/// not a bias of the whole benchmark.
pub fn fresh_copy(program: &Path, directory: &Path, name: &str) -> Result<PathBuf, Failure> {
    let copy = directory.join(name);
    std::fs::copy(program, &copy)
        .map_err(|error| format!("cannot copy {}: {error}", program.display()))?;
    Ok(copy)
}

/// A specification with these settings in addition to the workload's defaults.
pub fn specification(workload: &str, settings: Settings, directory: &Path, seed: u64) -> TrialSpec {
    let catalogue = bench::catalogue();
    let defaults = catalogue.workload(workload).map(|info| catalogue.defaults(info));
    let settings = overlaid(&defaults.unwrap_or_default(), &settings);
    TrialSpec {
        artifacts: None,
        protocol: PROTOCOL,
        workload: workload.to_owned(),
        settings,
        engine: "default".to_owned(),
        directory: directory.to_owned(),
        seed,
        counting: false,
        postgres: None,
        confined: false,
        tests_open: false,
        binding: None,
    }
}

/// Runs one trial that must be measured.
pub fn measure(program: &Path, spec: &TrialSpec) -> Result<Measured, Failure> {
    let driver =
        Driver { program: program.to_owned(), arguments: vec!["trial".into()], bindings: None };
    let never = AtomicBool::new(false);
    let limit = Duration::from_secs(600);
    let on_phase = &mut |_: &str| {};
    match (TrialRun { driver: &driver, limit, cancelled: &never, on_phase }).run(spec)? {
        Some(Outcome::Measured(measured)) => Ok(*measured),
        other => Err(format!("the trial was not measured: {other:?}").into()),
    }
}
