//! Crash tests: crash images, killed processes and schedules of two connections. Each is a run like any other, of an experiment that the
//! request describes.

mod current;
mod known;
mod own;
mod plan;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::engine::Library;
use crash::schedule::{Schedule, ScheduleRunner};
use crash::{CrashError, JournalMode, LockingMode, Model, Synchronous};
use lab::analysis::TrialCounts;
use runner::RunFolder;
use tuning::Analysis;

use self::current::put_current_first;
pub use self::known::write_known;
use self::own::OwnScript;
use crate::driver::Running;
use crate::engine;
use crate::error::{Error, Result};
use crate::files::work_folder;
use crate::interface::Interface;
use crate::measure::check_replayable;
use crate::run::plan::folder_of;
use crate::run::{Concluded, carry_out, conclude, trust};

/// A crash test.
#[derive(Clone, Debug)]
pub struct CrashRequest {
    /// The kind of crash.
    pub kind: CrashKind,
    /// Journal modes; all if there are none.
    pub journal_modes: Vec<JournalMode>,
    /// Values of synchronous; all if there are none.
    pub synchronous: Vec<Synchronous>,
    /// Locking modes; the usual ones if there are none.
    pub locking_modes: Vec<LockingMode>,
    /// Page sizes in bytes.
    pub page_sizes: Vec<u32>,
    /// Whether overwriting is powersafe.
    pub psow: Vec<bool>,
    /// The engines.
    pub engines: Vec<String>,
    /// Whether every version of SQLite that can be built is tested instead.
    pub every_version: bool,
    /// Whether a first look is enough.
    pub quick: bool,
    /// The seed of all random choices.
    pub seed: u64,
    /// The directory for databases.
    pub directory: Option<PathBuf>,
    /// The folder for the record.
    pub out: Option<PathBuf>,
}

/// The kind of crash.
#[derive(Clone, Debug)]
pub enum CrashKind {
    /// Crashes that are derived from a recording.
    Images(Images),
    /// Processes are killed while they write, as many as this.
    Kills(u64),
    /// Two connections meet at every instant, in at most as many schedules of each scenario as this.
    Schedules(u64),
}

/// Crashes that are derived from a recording.
#[derive(Clone, Debug, Default)]
pub struct Images {
    /// The work that is recorded.
    pub work: CrashWork,
    /// An experiment whose variants have the settings, instead of the request.
    pub experiment: Option<String>,
    /// Storage models; all if there are none.
    pub models: Vec<Model>,
    /// Crash images of each combination of settings and model.
    pub images: Option<u32>,
    /// The transactions that are crashed on a database that was there before.
    pub transactions: Option<u32>,
}

/// The work that is recorded and crashed.
#[derive(Clone, Debug, Default)]
pub enum CrashWork {
    /// The built-in workload.
    #[default]
    BuiltIn,
    /// A script, on a copy of a database or on an empty one.
    Script {
        /// The script, or several with their weights.
        files: PathBuf,
        /// The database.
        database: Option<PathBuf>,
    },
    /// The recorded transactions of an application.
    Trace {
        /// The trace.
        trace: PathBuf,
        /// The name of its database, if it has several.
        database: Option<PathBuf>,
        /// Stand-ins for collations and functions of the application, a line each.
        stand_ins: String,
    },
}

/// Carries out a crash test.
///
/// # Errors
/// The request or the script is invalid, something cannot be used, or the engine accepts none of the settings.
pub fn crash(request: &CrashRequest, ui: &dyn Interface) -> Result<Concluded> {
    let running = Running::native(ui)?;
    // Whatever can be wrong is found before anything is written.
    let mut plan = plan::plan_of(request)?;
    let path = folder_of(request.out.as_deref(), &plan);
    RunFolder::check_free(&path)?;
    let engines = engine::of_plan(&plan, &running)?;
    if let CrashKind::Images(images) = &request.kind {
        put_current_first(&images.work, &mut plan, &engines)?;
        match &images.work {
            CrashWork::BuiltIn => {}
            CrashWork::Script { files, database } => {
                let directory = plan::directory(request);
                let script = OwnScript {
                    files,
                    database: database.as_deref(),
                    transactions: images.transactions() as usize,
                    directory: &directory,
                };
                script.check(&plan, &engines, ui)?;
            }
            CrashWork::Trace { trace, stand_ins, .. } => check_replayable(trace, stand_ins, ui)?,
        }
    }
    let environment = runner::survey(&plan, engines, 0.0, &running.interrupted, || {})?;
    trust::note(&plan, &environment, ui);
    let folder = RunFolder::create(&path, &plan, &environment)?;
    tell!(ui, "record: {}", path.display());
    let end = carry_out(&folder, &running)?;
    let concluded = conclude(&path, end)?;
    check_any_measured(&concluded.analysis)?;
    Ok(concluded)
}

/// Refuses a test whose engine accepted none of the settings.
fn check_any_measured(analysis: &Analysis) -> Result<()> {
    let TrialCounts { measured, skipped, .. } = analysis.trials;
    if measured > 0 || skipped == 0 || skipped < analysis.trials.total() {
        return Ok(());
    }
    let variants = analysis.experiments.iter().flat_map(|experiment| &experiment.variants);
    let reasons = variants.filter_map(|variant| {
        let problem = variant.problem.as_ref()?;
        Some(format!("\n  {}: {problem}", variant.label))
    });
    Err(Error::unusable(format!(
        "nothing was measured with the engine {}:{}",
        analysis.plan.engine,
        reasons.collect::<String>()
    ))
    .hint("`pragmark doctor` shows the compile options of engines"))
}

/// A schedule of two connections that was played again.
pub struct Played {
    /// Every call, a line each.
    pub calls: Vec<String>,
    /// How many things went wrong.
    pub wrong: usize,
}

/// Plays a schedule of two connections again.
///
/// # Errors
/// Several engines are named, or the schedule cannot be played.
pub fn play(
    schedule: &Schedule,
    engines: &[String],
    directory: Option<&Path>,
    ui: &dyn Interface,
) -> Result<Played> {
    let [engine] = engines else {
        return Err(Error::mistake("a schedule is played with one engine at a time")
            .hint("name one --engine"));
    };
    let library = Library::load(&engine::source(engine, ui)?).map_err(Error::unusable)?;
    let work = work_folder(&plan::memory(directory))?;
    let played = ScheduleRunner::new(&Arc::new(library), &work.path)
        .and_then(|mut runner| runner.run(schedule, true))
        .map_err(of_accident)?;
    Ok(Played { calls: played.trace, wrong: played.wrong.len() })
}

fn of_accident(error: CrashError) -> Error {
    let hint = match &error {
        CrashError::File(_) => Some("name another directory with --dir"),
        CrashError::Writer(_) => Some("no file can be written with these settings or this engine"),
        _ => None,
    };
    Error::unusable(error).hint_if(hint)
}
