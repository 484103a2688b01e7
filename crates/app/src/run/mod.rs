//! Runs of experiments: planned, resumed or repeated, carried out, and concluded.

mod conclusion;
pub(crate) mod plan;
pub(crate) mod preflight;
mod text;
pub(crate) mod tiers;
pub(crate) mod trust;
mod watched;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use lab::environment::NoiseProbe;
use lab::experiment::{Experiment, Scale};
use lab::plan::Request;
use lab::record::{EngineRecord, EnvironmentFile, RunPlan};
use lab::seed::Seed;
use lab::stats::detectable_difference;
use lab::tuning_plan::TuningPlan;
use runner::{End, RunError, RunFolder};

pub(crate) use self::conclusion::TUNED_EXPERIMENT;
use self::conclusion::check_measured;
pub use self::conclusion::{Concluded, Conclusion, conclude, recommends_settings, resume_hint};
pub use self::text::TextRequest;
use self::watched::{Watched, warn_of_newer};
use crate::driver::Running;
use crate::error::{Error, Result};
use crate::interface::Interface;
use crate::words::humanly;
use crate::{VERSION, driver, engine};

/// A new run.
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// The experiments.
    pub experiments: Experiments,
    /// The data size. By default it is quick for the tour and for preliminary answers.
    pub scale: Option<Scale>,
    /// Whether a preliminary answer is enough.
    pub quick: bool,
    /// The directories to measure in; the current one if there are none.
    pub directories: Vec<PathBuf>,
    /// The engine of variants that name none.
    pub engine: String,
    /// The address of a PostgreSQL server to measure, instead of a private one.
    pub postgres: Option<String>,
    /// A directory of drivers.
    pub drivers: Option<PathBuf>,
    /// The user's own documents for experiments on full-text search.
    pub text: Option<TextRequest>,
    /// The folder for the record.
    pub out: Option<PathBuf>,
    /// The seed of all random choices; a random one if there is none.
    pub seed: Option<u64>,
    /// The time limit of the run, in seconds.
    pub time_limit_s: Option<f64>,
    /// The time limit of a trial, in seconds.
    pub trial_limit_s: f64,
    /// How long to measure the noise of the machine, in seconds.
    pub probe_s: f64,
    /// Whether safety tiers are measured.
    pub tiers: bool,
    /// Whether the user has confirmed a run at the published sizes.
    pub confirmed: bool,
}

impl RunRequest {
    /// Makes the request of a command that has made an experiment, at the default scale.
    pub(crate) fn of_made(experiment: Experiment, tuning: Option<TuningPlan>) -> RunRequest {
        RunRequest {
            experiments: Experiments::Made(Box::new(Made { experiment, tuning })),
            scale: Some(Scale::Default),
            quick: false,
            directories: Vec::new(),
            engine: engine::BUILT_IN.to_owned(),
            postgres: None,
            drivers: None,
            text: None,
            out: None,
            seed: None,
            time_limit_s: None,
            trial_limit_s: 600.0,
            probe_s: 0.0,
            tiers: true,
            confirmed: true,
        }
    }

    /// Returns whether it is a measurement that was made from the command line.
    fn is_brief(&self) -> bool {
        matches!(&self.experiments, Experiments::Made(made) if made.tuning.is_none())
    }

    fn is_tour(&self) -> bool {
        matches!(self.experiments, Experiments::Tour)
    }
}

/// The experiments of a run.
#[derive(Clone, Debug)]
pub enum Experiments {
    /// The most informative ones, within five minutes.
    Tour,
    /// By name, and all of a source.
    Named {
        /// Names of included experiments, or paths of files.
        names: Vec<String>,
        /// The source.
        source: Option<String>,
    },
    /// One that another command has made.
    Made(Box<Made>),
}

/// An experiment that another command has made.
#[derive(Clone, Debug)]
pub struct Made {
    experiment: Experiment,
    /// The search, if settings are tuned.
    tuning: Option<TuningPlan>,
}

/// An interrupted run to go on with.
#[derive(Clone, Debug)]
pub struct ResumeRequest {
    /// The folder of the run.
    pub folder: PathBuf,
    /// Whether the user trusts a run that somebody else began.
    pub trusted: bool,
    /// The PostgreSQL server that was given when the run began.
    pub postgres: Option<String>,
    /// The directory of drivers that was given when the run began.
    pub drivers: Option<PathBuf>,
}

/// A run whose plan is carried out again, in a run of its own.
#[derive(Clone, Debug)]
pub struct RepeatRequest {
    /// The earlier run, and what it needs.
    pub earlier: ResumeRequest,
    /// The folder for the record.
    pub out: Option<PathBuf>,
    /// Another seed.
    pub seed: Option<u64>,
    /// Another time limit, in seconds.
    pub time_limit_s: Option<f64>,
    /// How long to measure the noise of the machine, in seconds.
    pub probe_s: f64,
    /// Whether safety tiers are measured.
    pub tiers: bool,
}

/// How a run came out.
pub enum Ended {
    /// It was carried out, or stopped.
    Concluded(Box<Concluded>),
    /// A signal stopped it before its record was begun.
    Interrupted,
    /// The user did not want it.
    Declined,
}

/// Plans a run and carries it out.
///
/// # Errors
/// The request is invalid, something that the run needs cannot be used, or the record cannot be written.
pub fn start(request: &RunRequest, ui: &dyn Interface) -> Result<Ended> {
    let running = running(request.drivers.as_deref(), request.postgres.as_deref(), ui)?;
    let Some(folder) = begin(request, &running)? else {
        return Ok(not_begun(&running.interrupted));
    };
    let concluded = finish(&folder, &running)?;
    if let Experiments::Made(_) = request.experiments
        && concluded.end == End::Finished
    {
        // What was stopped may not have come to what is checked.
        check_measured(&folder.path, &concluded.analysis).inspect_err(|_| {
            if concluded.analysis.measured() == 0 {
                remove_unmeasured(&folder.path, request.is_brief(), ui);
            } else {
                tell!(ui, "what was measured is kept: {}", folder.path.display());
            }
        })?;
    }
    Ok(Ended::Concluded(Box::new(concluded)))
}

/// Goes on with an interrupted run.
///
/// # Errors
/// The run is not trusted, its engines, drivers or server changed, or the record cannot be read or written.
pub fn resume(request: &ResumeRequest, ui: &dyn Interface) -> Result<Ended> {
    let running = running(request.drivers.as_deref(), request.postgres.as_deref(), ui)?;
    let path = request.folder.canonicalize().unwrap_or_else(|_| request.folder.clone());
    let folder = RunFolder::open(&path)?;
    let plan = folder.plan()?;
    check_version(&plan)?;
    driver::check_present(&plan, request.drivers.as_deref())?;
    folder.each_trial(|_| {})?;
    trust::check(&folder, &plan, request.trusted, ui)?;
    check_server(&plan, request.postgres.is_some())?;
    engine::check_unchanged(&folder.environment()?.engines, &running.driver)?;
    go_back(&plan, ui);
    warn_of_newer(&plan, ui);
    preflight::check_needs(&plan)?;
    let concluded = finish(&folder, &running)?;
    Ok(Ended::Concluded(Box::new(concluded)))
}

/// Carries out the plan of an earlier run in a run of its own.
///
/// # Errors
/// As [`resume`].
pub fn repeat(request: &RepeatRequest, ui: &dyn Interface) -> Result<Ended> {
    let earlier = &request.earlier;
    let running = running(earlier.drivers.as_deref(), earlier.postgres.as_deref(), ui)?;
    let stored_run = RunFolder::open(&earlier.folder)?;
    let stored = stored_run.plan()?;
    driver::check_present(&stored, earlier.drivers.as_deref())?;
    check_server(&stored, earlier.postgres.is_some())?;
    trust::check(&stored_run, &stored, earlier.trusted, ui)?;
    // The seed stays, so that data and order are the same, unless another is given.
    let mut plan = RunPlan {
        id: runner::run_id(),
        created: runner::now(),
        pragmark: VERSION.to_owned(),
        seed: request.seed.map_or(stored.seed, Seed),
        budget_s: request.time_limit_s.or(stored.budget_s),
        tiers: stored.tiers.clone().filter(|_| request.tiers),
        ..stored
    };
    let path = plan::folder_of(request.out.as_deref(), &plan);
    RunFolder::check_free(&path)?;
    preflight::check_needs(&plan)?;
    let engines = engine::of_plan(&plan, &running)?;
    tiers::add_known(&mut plan, &engines);
    exclude_unsafe(&mut plan)?;
    let Some(environment) = survey(&plan, engines, request.probe_s, &running)? else {
        return Ok(Ended::Interrupted);
    };
    let folder = create_record(&path, &plan, &environment, ui)?;
    announce(&path, &plan, &environment, ui);
    let concluded = finish(&folder, &running)?;
    Ok(Ended::Concluded(Box::new(concluded)))
}

fn running<'a>(
    drivers: Option<&Path>,
    postgres: Option<&'a str>,
    ui: &'a dyn Interface,
) -> Result<Running<'a>> {
    let interrupted = ui.interrupted()?;
    Ok(Running { driver: driver::with_bindings(drivers)?, postgres, interrupted, ui })
}

fn not_begun(interrupted: &AtomicBool) -> Ended {
    if interrupted.load(Ordering::Relaxed) { Ended::Interrupted } else { Ended::Declined }
}

/// Carries out what remains of a run, tidies up and writes the page.
fn finish(folder: &RunFolder, running: &Running<'_>) -> Result<Concluded> {
    let plan = folder.plan()?;
    let end = carry_out(folder, running);
    tidy_server(running.postgres, &plan, running.ui);
    conclude(&folder.path, end?)
}

/// Removes the record of a run that has measured nothing.
fn remove_unmeasured(folder: &Path, is_brief: bool, ui: &dyn Interface) {
    match std::fs::remove_dir_all(folder) {
        Ok(()) if is_brief => {}
        Ok(()) => tell!(ui, "nothing was measured: {} is removed", folder.display()),
        Err(error) => tell!(ui, "warning: cannot remove {}: {error}", folder.display()),
    }
}

/// Carries out what remains of a run, and shows its progress.
pub(crate) fn carry_out(folder: &RunFolder, running: &Running<'_>) -> Result<End> {
    let (plan, ui) = (folder.plan()?, running.ui);
    let executor = running.local(&plan.id, &folder.environment()?.engines);
    let mut executor = executor.keeping_artifacts_in(&folder.path);
    let watched = Watched::of(&plan);
    let mut display = ui.show_run();
    let end = runner::run(folder, &mut executor, &mut *display);
    drop(display);
    watched.warn(ui);
    tiers::keep_measured(folder, ui);
    end.map_err(|error| {
        // Resuming helps if the machine was the trouble, not if the record is.
        let can_resume = matches!(error, RunError::Io { .. } | RunError::Driver(_));
        let hint = resume_hint(&folder.path, plan.postgres_given);
        let failure = Error::from(error);
        if can_resume { failure.hint(hint) } else { failure }
    })
}

/// Goes to the directory in which a run began, to which paths of its settings may be relative.
fn go_back(plan: &RunPlan, ui: &dyn Interface) {
    let Some(directory) = &plan.began_in else { return };
    if let Err(error) = std::env::set_current_dir(directory) {
        let directory = directory.display();
        tell!(
            ui,
            "warning: the run began in {directory}, which cannot be used ({error}): relative paths now begin in this directory"
        );
    }
}

/// Refuses to go on with another version of pragmark: it may measure in another way.
pub(crate) fn check_version(plan: &RunPlan) -> Result<()> {
    if plan.pragmark == VERSION {
        return Ok(());
    }
    let began = &plan.pragmark;
    Err(Error::unusable(format!(
        "the run was begun by pragmark {began}, and this is {VERSION}: trials of both cannot be compared"
    ))
    .hint(format!("resume it with pragmark {began}, or start a new run")))
}

/// Refuses to go on with another kind of server than the run began with: the figures of both would be compared.
fn check_server(plan: &RunPlan, given: bool) -> Result<()> {
    if given == plan.postgres_given || !plan.drives_postgres() {
        return Ok(());
    }
    Err(if given {
        Error::mistake("the run began with PostgreSQL servers of its own")
            .hint("leave --postgres out, or begin another run")
    } else {
        Error::mistake("the run began with a PostgreSQL server given by --postgres")
            .hint("give the same one again: --postgres URI")
    })
}

/// Removes what trials left on the user's server: those that were killed, at Ctrl-C or at their limit, could not do it.
fn tidy_server(postgres: Option<&str>, plan: &RunPlan, ui: &dyn Interface) {
    let Some(address) = postgres.filter(|_| plan.drives_postgres()) else { return };
    // The address is not repeated: it may hold a password.
    if let Err(error) = bench::remove_trial_schema(address) {
        tell!(
            ui,
            "warning: trials may have left the schema {} on the server of --postgres: {error}",
            bench::TRIAL_SCHEMA
        );
    }
}

/// Plans a new run, examines the machine, and makes the folder. Returns `None` if a large run was declined, or if a signal
/// stopped it.
fn begin(request: &RunRequest, running: &Running<'_>) -> Result<Option<RunFolder>> {
    let ui = running.ui;
    let catalogue = drivers::catalogue(request.drivers.as_deref())?;
    let planned = plan::request(request, &catalogue, ui)?;
    let mut plan = lab::plan::plan(planned.clone(), &catalogue);
    if let Experiments::Made(made) = &request.experiments
        && let Some(tuning) = &made.tuning
    {
        tuning::attach(&mut plan, tuning.clone(), &catalogue);
    }
    plan.began_in = std::env::current_dir().ok();
    let path = plan::folder_of(request.out.as_deref(), &plan);
    RunFolder::check_free(&path)?;
    preflight::check_needs(&plan)?;
    let engines = engine::of_plan(&plan, running)?;
    tiers::add_known(&mut plan, &engines);
    exclude_unsafe(&mut plan)?;
    let mut executor = running.local(&plan.id, &engines);
    if !preflight::check_shared_memory(&planned, &plan, &mut executor, &catalogue)? {
        return Ok(None);
    }
    let Some(environment) = survey(&plan, engines, request.probe_s, running)? else {
        return Ok(None);
    };
    if plan.scale == Scale::Paper {
        let quick = Request { scale: Scale::Quick, ..planned };
        let quick = lab::plan::plan(quick, &catalogue);
        let paper = preflight::Paper { plan: &plan, quick: &quick, environment: &environment };
        let wanted = paper.is_wanted(&mut executor, request.confirmed, ui);
        // Pilots are killed as trials are.
        tidy_server(request.postgres.as_deref(), &plan, ui);
        if !wanted? {
            return Ok(None);
        }
    }
    let folder = create_record(&path, &plan, &environment, ui)?;
    // The report of a measurement follows within seconds and says the same; a mistake comes first.
    if !request.is_brief() {
        announce(&path, &plan, &environment, ui);
    }
    Ok(Some(folder))
}

/// Leaves out of a search the settings that may lose more than is accepted.
fn exclude_unsafe(plan: &mut RunPlan) -> Result<()> {
    tuning::exclude_unsafe(plan).map_err(|reasons| {
        Error::unusable(format!("no settings are known to lose so little:\n{reasons}")).hint(
            "--may-lose recent accepts more; `pragmark run pragma-journal-sync --engine ENGINE` measures the losses with an engine, once",
        )
    })
}

/// Examines the machine and measures its noise for some seconds. Returns `None` if a signal stopped it.
fn survey(
    plan: &RunPlan,
    engines: Vec<EngineRecord>,
    probe_s: f64,
    running: &Running<'_>,
) -> Result<Option<EnvironmentFile>> {
    let Running { interrupted, ui, .. } = running;
    let environment = runner::survey(plan, engines, probe_s, interrupted, || {
        tell!(ui, "looking at the noise of the machine: {}", humanly(probe_s));
    })?;
    Ok((!interrupted.load(Ordering::Relaxed)).then_some(environment))
}

/// Makes the folder of a new run.
fn create_record(
    path: &Path,
    plan: &RunPlan,
    environment: &EnvironmentFile,
    ui: &dyn Interface,
) -> Result<RunFolder> {
    trust::note(plan, environment, ui);
    Ok(RunFolder::create(path, plan, environment)?)
}

/// Says what a run will be, and what is wrong with the machine.
fn announce(path: &Path, plan: &RunPlan, environment: &EnvironmentFile, ui: &dyn Interface) {
    let version = environment.engines.first().map_or("", |engine| engine.version.as_str());
    let counting = match plan.counting_trials() {
        0 => String::new(),
        some => format!(" ({some} in the counting pass)"),
    };
    tell!(
        ui,
        "pragmark {}: SQLite {version}, scale {}, seed {}, {} trials or more{counting} unless variants drop out",
        plan.pragmark,
        plan.scale,
        plan.seed.0,
        plan.fewest_trials(),
    );
    if let Some(noise) = &environment.noise {
        ui.say(&predicted(noise, plan));
    }
    tell!(ui, "record: {}", path.display());
    for warning in environment.machine.warnings() {
        tell!(ui, "warning: {warning}");
    }
}

/// Returns which differences a run of the fewest rounds can find, given the noise.
fn predicted(noise: &NoiseProbe, plan: &RunPlan) -> String {
    let rounds = plan.experiments.iter().map(|planned| planned.stopping.rounds).min().unwrap_or(0);
    let found = |sd: Option<f64>| {
        sd.map(|sd| detectable_difference(sd, rounds as usize).exp_m1())
            .filter(|effect| effect.is_finite())
            .map_or("an unknown difference".to_owned(), |effect| format!("{:.1} %", effect * 100.0))
    };
    format!(
        "noise: {rounds} rounds will find differences of {} in computing and {} in syncing to the disk",
        found(noise.cpu_sd),
        found(noise.fsync_sd)
    )
}
