//! The interface of a workload.

use lab::catalogue::{USUAL_METRIC, WorkloadInfo};
use lab::level::{Settings, overlaid};
use lab::measures::Measures;
use lab::needs::Needs;
use lab::trial::Measured;

use super::common::refuse_counting;
use crate::error::Result;
use crate::parameters::Parameters;
use crate::platform::allow_open_files;
use crate::trial::Trial;

/// Something that can be done to a target and measured.
pub trait Workload: Sync {
    /// Returns its name.
    fn name(&self) -> &'static str;

    /// Returns its name, parameters and phases.
    fn info(&self) -> WorkloadInfo;

    /// Returns the needs of a trial with these settings from the operating system.
    fn needs(&self, _settings: &Settings) -> Needs {
        Needs::default()
    }

    /// Checks whether its parameters go together, as far as this is known without doing the work.
    ///
    /// # Errors
    /// Why the variant can never run.
    fn check(&self, _settings: &Settings) -> Result<()> {
        Ok(())
    }

    /// Does the work once, verifies the result and returns what was measured.
    ///
    /// # Errors
    /// When the variant cannot run here, something failed, or the result is wrong.
    fn run(&self, trial: &mut Trial<'_>) -> Result<Measured>;
}

/// A workload with declared parameters. Its catalogue entry, the reading and checking of its settings, and the needs
/// of a trial are derived from it.
pub(crate) trait Declared: Sync {
    /// Its name in experiment files.
    const NAME: &'static str;
    /// The metric by which variants are compared, unless an experiment names another.
    const METRIC: &'static str = USUAL_METRIC;
    /// Description of the work.
    const ABOUT: &'static str;
    /// The phases that it times separately.
    const PHASES: &'static [&'static str] = &[];
    /// The subject that it measures.
    const MEASURES: Measures = Measures::Speed;
    /// Whether it can count what it does to files.
    const COUNTS: bool = true;
    /// Whether an experiment with parameters that contradict one another is refused before it starts;
    /// elsewhere such variants are skipped, so that factors can be crossed.
    const CHECKED_FIRST: bool = false;
    /// Its parameters.
    type Parameters: Parameters;

    /// Returns its phases, where they are not constants.
    fn phases() -> Vec<String> {
        Self::PHASES.iter().copied().map(str::to_owned).collect()
    }

    /// Checks the rules between parameters.
    ///
    /// # Errors
    /// Why the variant can never run.
    fn check(_: &Self::Parameters, _: &Settings) -> Result<()> {
        Ok(())
    }

    /// Returns the needs of a trial from the operating system.
    fn needs(_: &Self::Parameters, _: &Settings) -> Needs {
        Needs::default()
    }

    /// Does the work once, verifies the result and returns what was measured.
    ///
    /// # Errors
    /// When the variant cannot run here, something failed, or the result is wrong.
    fn run(trial: &mut Trial<'_>, parameters: &Self::Parameters) -> Result<Measured>;
}

/// Reads and checks the parameters of a workload. Parameters that a trial leaves out have their defaults.
fn read<W: Declared>(settings: &Settings) -> Result<W::Parameters> {
    let parameters = W::Parameters::read(&overlaid(&W::Parameters::defaults(), settings))?;
    W::check(&parameters, settings)?;
    Ok(parameters)
}

impl<W: Declared> Workload for W {
    fn name(&self) -> &'static str {
        W::NAME
    }

    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            name: W::NAME.to_owned(),
            metric: W::METRIC.to_owned(),
            about: W::ABOUT.to_owned(),
            parameters: W::Parameters::declared(),
            phases: W::phases(),
            counts: W::COUNTS,
            measures: W::MEASURES,
            ..WorkloadInfo::default()
        }
    }

    fn needs(&self, settings: &Settings) -> Needs {
        // Settings that cannot be read are reported by the trial.
        read::<W>(settings).map_or_else(|_| Needs::default(), |read| W::needs(&read, settings))
    }

    fn check(&self, settings: &Settings) -> Result<()> {
        if W::CHECKED_FIRST { read::<W>(settings).map(drop) } else { Ok(()) }
    }

    fn run(&self, trial: &mut Trial<'_>) -> Result<Measured> {
        if !W::COUNTS {
            refuse_counting(trial, &format!("{} cannot count file operations", W::NAME))?;
        }
        let parameters = read::<W>(trial.settings)?;
        allow_open_files(W::needs(&parameters, trial.settings).open_files)?;
        W::run(trial, &parameters)
    }
}
