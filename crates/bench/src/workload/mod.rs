//! Workloads: what is done to a target, as a pure function of settings and seed.
//!
//! A new workload is a module here and a line in [`ALL`].

mod binding_basics;
mod bulk_insert;
mod common;
pub(crate) mod contention;
mod crash;
mod explain;
mod fts;
mod load_file;
mod many_databases;
mod orm;
mod queue;
mod quotes;
mod set_query;
mod text_insert;
mod upper_bounds;
mod user_insert;

use std::path::Path;
use std::sync::Arc;

use engine::Library;
use engine::vfs::CountingVfs;
use lab::catalogue::WorkloadInfo;
use lab::level::Settings;
use lab::needs::Needs;
use lab::seed::Seed;
use lab::trial::Measured;

use crate::error::TrialError;

/// Every workload.
pub const ALL: &[&dyn Workload] = &[
    &bulk_insert::BulkInsert,
    &text_insert::TextInsert,
    &user_insert::UserInsert,
    &quotes::Quotes,
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
    &Empty,
];

/// Something that can be done to a target and measured.
pub trait Workload: Sync {
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
    /// Tells the parent which phase begins.
    pub phase: &'a mut dyn FnMut(&str),
}

/// The workload of this name.
pub fn find(name: &str) -> Option<&'static dyn Workload> {
    ALL.iter()
        .copied()
        .find(|workload| workload.info().name == name)
}

/// A trial without work: what the laboratory itself costs.
struct Empty;

impl Workload for Empty {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            name: "empty".to_owned(),
            about: "does nothing: what a trial costs the laboratory itself".to_owned(),
            parameters: Vec::new(),
            phases: Vec::new(),
            counts: false,
        }
    }

    fn run(&self, _trial: &mut Trial<'_>) -> Result<Measured, TrialError> {
        let metrics = [("seconds".to_owned(), 0.0)].into();
        Ok(Measured {
            metrics,
            ..Measured::default()
        })
    }
}
