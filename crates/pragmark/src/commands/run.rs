//! `pragmark run`: plan or resume, carry out, report.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lab::catalogue::Catalogue;
use lab::environment::NoiseProbe;
use lab::experiment::{Experiment, Scale};
use lab::plan::{Request, plan};
use lab::record::{EngineRecord, EnvironmentFile, RunPlan};
use lab::seed::Seed;
use lab::stats::detectable_difference;
use lab::trial::{DRIVER, NATIVE};
use lab::tuning_plan::TuningPlan;
use runner::{Driver, End, Local, RunError, RunFolder, Servers};
use tuning::Analysis;

use super::conclusion::{conclude, resume_hint, summary};
use super::own_data::{Watched, warn_of_newer};
use super::{driver, engine, fleet, needs, own_text, paper, repeat, shared_memory, tiers, trust};
use crate::cli::RunArgs;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::library::{self, RUNS, TOUR};
use crate::progress::{Progress, humanly, is_bar_wanted};

/// Seconds for the trials of the tour, so that with probes, counting and report it stays below five minutes.
const TOUR_S: f64 = 255.0;

pub(super) const THIS_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Runs, or resumes a run.
pub fn execute(args: RunArgs) -> Result<Exit, Failure> {
    execute_with(args, None, |_| Ok(()))
}

/// An experiment that another command has made.
pub(super) struct Made {
    /// The experiment.
    pub(super) experiment: Experiment,
    /// What is searched, where it is tuned.
    pub(super) tuning: Option<TuningPlan>,
}

impl Made {
    /// One that is carried out as it is.
    pub(super) fn of(experiment: Experiment) -> Made {
        Made { experiment, tuning: None }
    }
}

/// As [`execute`], with an experiment that another command has made, if one has; `check` looks at the analysis before
/// the report is printed.
pub(super) fn execute_with(
    mut args: RunArgs,
    made: Option<Made>,
    check: impl FnOnce(&Analysis) -> Result<(), Failure>,
) -> Result<Exit, Failure> {
    let interrupted = interrupt::flag()?;
    // Going on with a run may change the current directory.
    let drivers = args.drivers.as_deref().map(std::path::absolute);
    args.drivers = drivers.transpose().map_err(Failure::unusable)?;
    if made.is_none() && args.repeat.is_none() && fleet::is_meant(&args) {
        return fleet::run(&args, &interrupted);
    }
    let driver = driver_of_run(args.drivers.as_deref())?;
    let folder = match (&args.resume, &args.repeat) {
        (Some(path), _) => Some(resumed(&args, path, &driver, &interrupted)?),
        (None, Some(path)) => repeat::begin(&args, path, &driver, &interrupted)?,
        (None, None) => begin(&args, made, &driver, &interrupted)?,
    };
    let folder = match folder {
        Some(folder) => folder,
        None if interrupted.load(Ordering::Relaxed) => return Ok(Exit::Interrupted),
        None => return Ok(Exit::Success),
    };
    let plan = folder.plan()?;
    let end = carry_out(&folder, &driver, servers(&args), &interrupted, args.plain);
    tidy_server(&args, &plan);
    let end = end?;
    let is_of_no_use = args.resume.is_none() && end == End::Finished;
    conclude(folder.path(), end, |analysis| {
        // What was stopped may not have come to what is checked.
        if end == End::Finished {
            check(analysis).inspect_err(|_| match is_of_no_use && analysis.measured() == 0 {
                true => remove_unmeasured(folder.path()),
                false => tell!("what was measured is kept: {}", folder.path().display()),
            })?;
        }
        Ok(summary(analysis, folder.path()))
    })
}

/// Removes the record of a run that has measured nothing.
fn remove_unmeasured(folder: &Path) {
    match std::fs::remove_dir_all(folder) {
        Ok(()) => tell!("nothing was measured: {} is removed", folder.display()),
        Err(error) => tell!("warning: cannot remove {}: {error}", folder.display()),
    }
}

/// Carries out what remains of a run, and shows its progress.
pub(super) fn carry_out(
    folder: &RunFolder,
    driver: &Driver,
    servers: Servers,
    interrupted: &AtomicBool,
    plain: bool,
) -> Result<End, Failure> {
    let plan = folder.plan()?;
    let engines = folder.environment()?.engines;
    let mut executor = Local::new(driver, &plan.id, &engines, interrupted)
        .with_servers(servers)
        .keeping_artifacts_in(folder.path());
    let watched = Watched::of(&plan);
    let mut progress = Progress::new(is_bar_wanted(plain));
    let end = runner::run(folder, &mut executor, &mut progress);
    drop(progress);
    watched.warn();
    tiers::keep_measured(folder);
    end.map_err(|error| {
        // Resuming helps where the machine was the trouble, not where the record is.
        let can_resume = matches!(error, RunError::Io { .. } | RunError::Driver(_));
        let hint = resume_hint(folder.path(), plan.postgres_given);
        let failure = Failure::from(error);
        match can_resume {
            true => failure.hint(hint),
            false => failure,
        }
    })
}

/// The run in this folder. It may be another's, the limits of the machine may be others than when it began,
/// and engines may have been replaced.
fn resumed(
    args: &RunArgs,
    path: &Path,
    driver: &Driver,
    interrupted: &AtomicBool,
) -> Result<RunFolder, Failure> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = RunFolder::open(&path)?;
    let plan = folder.plan()?;
    check_version(&plan)?;
    check_drivers(&plan, args.drivers.as_deref())?;
    folder.each_trial(|_| {})?;
    trust::check(&folder, &plan, args.trust, interrupted)?;
    check_server(&plan, args.postgres.is_some())?;
    engine::check_unchanged(&folder.environment()?.engines, driver)?;
    go_back(&plan);
    warn_of_newer(&plan);
    needs::check(&plan)?;
    Ok(folder)
}

/// Goes to the directory in which a run began, to which paths of its settings may be relative.
fn go_back(plan: &RunPlan) {
    let Some(directory) = &plan.began_in else {
        return;
    };
    if let Err(error) = std::env::set_current_dir(directory) {
        let directory = directory.display();
        tell!(
            "warning: the run began in {directory}, which cannot be used ({error}): relative paths are those of this directory"
        );
    }
}

/// Refuses to go on with another version of pragmark: it may measure in another way.
pub(super) fn check_version(plan: &RunPlan) -> Result<(), Failure> {
    if plan.pragmark == THIS_VERSION {
        return Ok(());
    }
    let began = &plan.pragmark;
    Err(Failure::unusable(format!(
        "the run was begun by pragmark {began}, and this is {THIS_VERSION}: trials of both cannot be compared"
    ))
    .hint(format!("resume it with pragmark {began}, or start a new run")))
}

/// Refuses to go on without the drivers that the run began with: their variants would be skipped.
pub(super) fn check_drivers(plan: &RunPlan, directory: Option<&Path>) -> Result<(), Failure> {
    let catalogue = drivers::catalogue(directory)?;
    let is_known =
        |name: &str| name == NATIVE || catalogue.drivers.iter().any(|it| it.name == name);
    let mut named = plan.settings().filter_map(|it| it.get(DRIVER)?.as_text());
    match named.find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => {
            Err(Failure::usage(format!("the run uses the driver `{name}`, which is not here"))
                .hint("give its directory again with --drivers DIR"))
        }
    }
}

/// Refuses to go on with another kind of server than the run began with: the figures of both would be
/// taken for those of one.
pub(super) fn check_server(plan: &RunPlan, given: bool) -> Result<(), Failure> {
    if given == plan.postgres_given || !plan.drives_postgres() {
        return Ok(());
    }
    Err(match given {
        false => Failure::usage("the run began with a PostgreSQL server given by --postgres")
            .hint("give the same one again: --postgres URI"),
        true => Failure::usage("the run began with PostgreSQL servers of its own")
            .hint("leave --postgres out, or begin another run"),
    })
}

/// Where trials that drive PostgreSQL find a server.
fn servers(args: &RunArgs) -> Servers {
    match &args.postgres {
        Some(uri) => Servers::given(uri.clone()),
        None => Servers::installed(),
    }
}

/// Removes what trials have left on the user's server: those that were killed, at Ctrl-C or at their
/// limit, could not do it.
fn tidy_server(args: &RunArgs, plan: &RunPlan) {
    let given = args.postgres.as_ref().filter(|_| plan.drives_postgres());
    let Some(address) = given else {
        return;
    };
    // The address is not repeated: it may hold a password.
    if let Err(error) = bench::remove_trial_schema(address) {
        tell!(
            "warning: trials may have left the schema {} on the server of --postgres: {error}",
            bench::TRIAL_SCHEMA
        );
    }
}

/// Plans a new run, looks at the machine, and makes the folder; none where a large run is not wanted.
fn begin(
    args: &RunArgs,
    made: Option<Made>,
    driver: &Driver,
    interrupted: &AtomicBool,
) -> Result<Option<RunFolder>, Failure> {
    let catalogue = drivers::catalogue(args.drivers.as_deref())?;
    let is_tour = made.is_none() && args.experiments.is_empty() && args.source.is_none();
    let (made, tuning) = match made {
        Some(Made { experiment, tuning }) => (Some(experiment), tuning),
        None => (None, None),
    };
    let mut experiments = chosen(args, made, is_tour, &catalogue)?;
    let scale = scale(args, is_tour);
    own_text::apply(args, &mut experiments, scale, &catalogue)?;
    let request = request(args, is_tour, experiments, scale)?;
    let quick = Request { scale: Scale::Quick, ..request.clone() };
    let mut plan = plan(request.clone(), &catalogue);
    if let Some(tuning) = tuning {
        tuning::attach(&mut plan, tuning, &catalogue);
    }
    plan.began_in = std::env::current_dir().ok();
    let path = folder_of(args.out.as_deref(), &plan);
    RunFolder::check_free(&path)?;
    needs::check(&plan)?;
    let bar = is_bar_wanted(args.plain);
    let engines = engine::of_plan(&plan, driver, interrupted, bar)?;
    tiers::add_known(&mut plan, &engines);
    exclude_unsafe(&mut plan)?;
    let mut executor =
        Local::new(driver, &plan.id, &engines, interrupted).with_servers(servers(args));
    if !shared_memory::is_there(&request, &plan, &mut executor, &catalogue)? {
        return Ok(None);
    }
    let Some(environment) = survey(&plan, engines, args.probe, interrupted)? else {
        return Ok(None);
    };
    if plan.scale == Scale::Paper {
        let quick = lab::plan::plan(quick, &catalogue);
        let yes = args.yes;
        let wanted = paper::is_wanted(&plan, &quick, &environment, &mut executor, interrupted, yes);
        // Pilots are killed as trials are.
        tidy_server(args, &plan);
        if !wanted? {
            return Ok(None);
        }
    }
    trust::note(&plan, &environment);
    let folder = RunFolder::create(&path, &plan, &environment)?;
    announce(&plan, &environment, &path);
    Ok(Some(folder))
}

/// What the user asks for.
pub(super) fn request(
    args: &RunArgs,
    is_tour: bool,
    experiments: Vec<Experiment>,
    scale: Scale,
) -> Result<Request, Failure> {
    Ok(Request {
        id: runner::run_id(),
        created: runner::now(),
        pragmark: THIS_VERSION.to_owned(),
        seed: Seed(args.seed.unwrap_or_else(random_seed)),
        scale,
        engine: engine::name_in_plan(&args.engine)?,
        quick: args.quick,
        trial_limit_s: args.trial_limit,
        budget_s: args.time_limit.or(is_tour.then_some(TOUR_S)),
        tiers: !args.no_tiers,
        postgres_given: args.postgres.is_some(),
        experiments,
        directories: directories(&args.dirs)?,
    })
}

/// Leaves out of a search what may lose more than is accepted.
pub(super) fn exclude_unsafe(plan: &mut RunPlan) -> Result<(), Failure> {
    tuning::exclude_unsafe(plan).map_err(|reasons| {
        Failure::unusable(format!("no settings are known to lose so little:\n{reasons}")).hint(
            "--may-lose recent accepts more; `pragmark run pragma-journal-sync --engine ENGINE` measures what can be lost with an engine, once",
        )
    })
}

/// The look at the machine, with so many seconds for its noise; none when it was interrupted.
pub(super) fn survey(
    plan: &RunPlan,
    engines: Vec<EngineRecord>,
    probe_s: f64,
    interrupted: &AtomicBool,
) -> Result<Option<EnvironmentFile>, Failure> {
    let environment = runner::survey(plan, engines, probe_s, interrupted, || {
        tell!("looking at the noise of the machine: {}", humanly(probe_s));
    })?;
    let cancelled = interrupted.load(Ordering::Relaxed);
    Ok((!cancelled).then_some(environment))
}

/// The folder of a new run.
pub(super) fn folder_of(given: Option<&Path>, plan: &RunPlan) -> PathBuf {
    given.map_or_else(|| Path::new(RUNS).join(&plan.id), Path::to_owned)
}

/// The experiment that a command has made, the experiments named, those of the source named, or the tour.
pub(super) fn chosen(
    args: &RunArgs,
    made: Option<Experiment>,
    is_tour: bool,
    catalogue: &Catalogue,
) -> Result<Vec<Experiment>, Failure> {
    if let Some(experiment) = made {
        return Ok(vec![experiment]);
    }
    let mut names: Vec<String> = args.experiments.clone();
    if is_tour {
        names.extend(TOUR.iter().map(|name| (*name).to_owned()));
    }
    if let Some(source) = &args.source {
        names.extend(library::of_source(source)?);
    }
    library::named(&names, catalogue)
}

/// The quick scale, unless another is named, for the tour and for preliminary answers.
pub(super) fn scale(args: &RunArgs, is_tour: bool) -> Scale {
    match args.scale {
        Some(scale) => scale.into(),
        None if args.quick || is_tour => Scale::Quick,
        None => Scale::Default,
    }
}

fn random_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(runner::run_id())
}

pub(super) fn directories(given: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let given = if given.is_empty() { vec![PathBuf::from(".")] } else { given.to_vec() };
    let mut directories = Vec::new();
    for path in given {
        let directory = path.canonicalize().map_err(|error| {
            Failure::unusable(format!("cannot use the directory {}: {error}", path.display()))
                .hint("--dir names an existing directory on the disk to be measured")
        })?;
        if directories.contains(&directory) {
            return Err(Failure::usage(format!(
                "the directory {} is named twice",
                directory.display()
            )));
        }
        directories.push(directory);
    }
    Ok(directories)
}

/// pragmark itself, as what runs trials.
pub(super) fn native_driver() -> Result<Driver, Failure> {
    let program = std::env::current_exe().map_err(|error| {
        Failure::unusable(format!("cannot find pragmark's own program: {error}"))
    })?;
    Ok(Driver { program, arguments: vec!["trial".into()], bindings: None })
}

/// The same with the drivers in other languages, for the trials that name one.
pub(super) fn driver_of_run(drivers: Option<&Path>) -> Result<Driver, Failure> {
    Ok(Driver { bindings: Some(Arc::new(driver::registry(drivers)?)), ..native_driver()? })
}

pub(super) fn announce(plan: &RunPlan, environment: &EnvironmentFile, path: &Path) {
    let version = environment.engines.first().map_or("", |engine| engine.version.as_str());
    tell!(
        "pragmark {}: SQLite {version}, scale {}, seed {}, {} trials or more{} unless variants drop out",
        plan.pragmark,
        plan.scale,
        plan.seed.0,
        plan.fewest_trials(),
        counting(plan.counting_trials())
    );
    if let Some(noise) = &environment.noise {
        tell!("{}", predicted(noise, plan));
    }
    tell!("record: {}", path.display());
    for warning in environment.machine.warnings() {
        tell!("warning: {warning}");
    }
}

/// The trials among all that only count.
pub(super) fn counting(trials: usize) -> String {
    match trials {
        0 => String::new(),
        some => format!(" ({some} in the counting pass)"),
    }
}

/// What the noise lets a run of the fewest rounds find.
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
