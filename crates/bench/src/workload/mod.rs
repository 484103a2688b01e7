//! Workloads: what is done to a target, as a pure function of settings and seed.
//!
//! A new workload is a module here that implements [`Declared`], and a line in [`ALL`].

mod binding_basics;
mod bulk_insert;
mod common;
pub(crate) mod contention;
pub(crate) mod crash;
mod durability;
mod explain;
pub(crate) mod fts;
mod keyed_rows;
mod load_file;
mod many_databases;
mod orm;
mod queue;
mod quotes;
pub(crate) mod replay;
mod set_query;
mod shaping;
pub(crate) mod sql;
mod sums;
mod team;
mod text_insert;
mod upper_bounds;
mod user_insert;

use std::path::Path;
use std::sync::Arc;

use engine::Library;
use engine::vfs::CountingVfs;
use lab::catalogue::WorkloadInfo;
use lab::level::{Settings, overlaid};
use lab::needs::Needs;
use lab::seed::Seed;
use lab::trial::Measured;

use self::common::refuse_counting;
use crate::descriptors::allow_open_files;
use crate::error::TrialError;
use crate::parameters::Parameters;

/// Every workload.
pub const ALL: &[&dyn Workload] = &[
    &bulk_insert::BulkInsert,
    &text_insert::TextInsert,
    &user_insert::UserInsert,
    &quotes::Quotes,
    &keyed_rows::KeyedRows,
    &set_query::SetQuery,
    &explain::Explain,
    &contention::Contention,
    &many_databases::ManyDatabases,
    &queue::Queue,
    &fts::FtsInsert,
    &fts::FtsQuery,
    &fts::FtsOverlap,
    &fts::FtsUpdate,
    &binding_basics::BindingBasics,
    &orm::Orm,
    &load_file::LoadFile,
    &upper_bounds::UpperBounds,
    &crash::Crash,
    &crash::Kill,
    &crash::Meetings,
    &sql::Sql,
    &replay::Replay,
    &Empty,
];

/// Something that can be done to a target and measured.
pub trait Workload: Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Its name, parameters and phases.
    fn info(&self) -> WorkloadInfo;

    /// What a trial with these settings needs of the operating system; nothing worth naming unless
    /// a workload says so.
    fn needs(&self, _settings: &Settings) -> Needs {
        Needs::default()
    }

    /// Whether its parameters go together, as far as that can be told without doing the work.
    ///
    /// # Errors
    /// Why the variant can never run.
    fn check(&self, _settings: &Settings) -> Result<(), TrialError> {
        Ok(())
    }

    /// Does it once, verifies the result and says what was measured.
    ///
    /// # Errors
    /// When the variant cannot run here, something failed, or the result is wrong.
    fn run(&self, trial: &mut Trial<'_>) -> Result<Measured, TrialError>;
}

/// A workload with declared parameters: from this come its catalogue entry, the reading and checking of
/// its settings, and what a trial needs.
pub(crate) trait Declared: Sync {
    /// Its name in experiment files.
    const NAME: &'static str;
    /// What it does.
    const ABOUT: &'static str;
    /// The phases that it times separately.
    const PHASES: &'static [&'static str] = &[];
    /// Whether it can count what it does to files.
    const COUNTS: bool = true;
    /// Whether an experiment with parameters that contradict one another is refused before it starts;
    /// elsewhere such variants are skipped, so that factors can be crossed.
    const CHECKED_FIRST: bool = false;
    /// Its parameters.
    type Parameters: Parameters;

    /// Its phases, where they are not constants.
    fn phases() -> Vec<String> {
        Self::PHASES.iter().copied().map(str::to_owned).collect()
    }

    /// The rules between parameters.
    ///
    /// # Errors
    /// Why the variant can never run.
    fn check(_: &Self::Parameters, _: &Settings) -> Result<(), TrialError> {
        Ok(())
    }

    /// What a trial needs of the operating system.
    fn needs(_: &Self::Parameters, _: &Settings) -> Needs {
        Needs::default()
    }

    /// Does the work once, verifies the result and returns what was measured.
    ///
    /// # Errors
    /// When the variant cannot run here, something failed, or the result is wrong.
    fn run(trial: &mut Trial<'_>, parameters: &Self::Parameters) -> Result<Measured, TrialError>;
}

/// The parameters of a workload, read and checked; those that a trial leaves out have their defaults.
fn read<W: Declared>(settings: &Settings) -> Result<W::Parameters, TrialError> {
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
            about: W::ABOUT.to_owned(),
            parameters: W::Parameters::declared(),
            phases: W::phases(),
            counts: W::COUNTS,
            ..WorkloadInfo::default()
        }
    }

    fn needs(&self, settings: &Settings) -> Needs {
        // Settings that cannot be read are reported by the trial.
        read::<W>(settings).map_or_else(|_| Needs::default(), |read| W::needs(&read, settings))
    }

    fn check(&self, settings: &Settings) -> Result<(), TrialError> {
        match W::CHECKED_FIRST {
            true => read::<W>(settings).map(drop),
            false => Ok(()),
        }
    }

    fn run(&self, trial: &mut Trial<'_>) -> Result<Measured, TrialError> {
        if !W::COUNTS {
            refuse_counting(trial, &format!("{} cannot count file operations", W::NAME))?;
        }
        let parameters = read::<W>(trial.settings)?;
        allow_open_files(W::needs(&parameters, trial.settings).open_files)?;
        W::run(trial, &parameters)
    }
}

/// What a workload works with.
pub struct Trial<'a> {
    /// Every setting of the variant.
    pub settings: &'a Settings,
    /// The library to be measured.
    pub library: Arc<Library>,
    /// An empty directory of the trial's own.
    pub directory: &'a Path,
    /// From which all data derives.
    pub seed: Seed,
    /// The file system seen through counters, in a counting trial.
    pub counter: Option<Arc<CountingVfs>>,
    /// Where a PostgreSQL server listens, for trials that drive one.
    pub postgres: Option<&'a str>,
    /// Where files that are a result are kept, if anywhere.
    pub artifacts: Option<&'a Path>,
    /// Tells the parent which phase begins.
    pub phase: &'a mut dyn FnMut(&str),
}

/// The workload of this name.
pub fn find(name: &str) -> Option<&'static dyn Workload> {
    ALL.iter().copied().find(|workload| workload.name() == name)
}

/// A trial without work: the overhead of the laboratory itself.
struct Empty;

impl Declared for Empty {
    const NAME: &'static str = "empty";
    const ABOUT: &'static str = "Does nothing: measures the overhead of the laboratory itself.";
    const COUNTS: bool = false;
    type Parameters = ();

    fn run(_: &mut Trial<'_>, (): &()) -> Result<Measured, TrialError> {
        let metrics = [("seconds".to_owned(), 0.0)].into();
        Ok(Measured { metrics, ..Measured::default() })
    }
}
