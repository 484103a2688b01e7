//! `pragmark tune`: a search for the fastest settings for a workload, made from the command line.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::engine::{Library, Source};
use lab::analysis::{Analysis, MayLose};
use lab::catalogue::Catalogue;
use lab::design::Stopping;
use lab::experiment::{DesignKind, Experiment, level_of};
use lab::level::{Level, Settings, overlaid};
use lab::plan::ad_hoc;
use lab::tuning::{Lever, TuningPlan, tuning_of};

use super::measure::{checked, look_at, run_args_of, whole_path};
use super::run::{self, Made};
use crate::cli::{AcceptedLoss, GoalArg, TuneArgs};
use crate::failure::{Exit, Failure};
use crate::library;

/// pgbench's scripts.
const BUILT_IN: [&str; 3] = ["tpcb-like", "simple-update", "select-only"];

/// Trials of the current settings for which a script has time, if none is given.
const TRIALS: f64 = 500.0;

/// The shortest and the longest trial of a script where no time is given, in seconds.
const TRIAL_S: std::ops::RangeInclusive<f64> = 0.2..=10.0;

/// The file in the folder of a run that holds the experiment on what is recommended.
pub(super) const EXPERIMENT: &str = "tuned.toml";

/// Searches, and reports what is recommended.
pub fn execute(args: &TuneArgs) -> Result<Exit, Failure> {
    let catalogue = drivers::catalogue(None)?;
    let (mut experiment, found) = subject(args, &catalogue)?;
    let given = pairs(&args.set, "--set")?;
    experiment.base.extend(given);
    let current = overlaid(&found, &pairs(&args.current, "--current")?);
    let tuning = tuning(args, &experiment, &current)?;
    let experiment = checked(&text_of(experiment, &tuning)?, &catalogue)?;
    let run = run_args_of(
        &args.dirs,
        &args.engine,
        args.out.as_deref(),
        args.seed,
        args.plain,
        Some(args.time_limit),
    );
    let made = Made {
        experiment,
        tuning: Some(tuning),
    };
    run::execute_with(run, Some(made), check_measured)
}

/// Refuses a search in which the current settings could not be measured.
fn check_measured(analysis: &Analysis) -> Result<(), Failure> {
    super::measure::check_measured(analysis)
}

/// The search that the options describe.
fn tuning(
    args: &TuneArgs,
    experiment: &Experiment,
    current: &Settings,
) -> Result<TuningPlan, Failure> {
    let is_free = |lever: &Lever| !experiment.base.contains_key(&lever.name);
    let levers: Vec<Lever> = bench::levers().into_iter().filter(is_free).collect();
    let unknown = |name: &&String| !levers.iter().any(|lever| lever.name == **name);
    if let Some(name) = current.keys().find(unknown) {
        let names: Vec<&str> = levers.iter().map(|lever| lever.name.as_str()).collect();
        return Err(
            Failure::usage(format!("--current {name}: this setting is not varied")).hint(format!(
                "varied are {}; --set gives all trials another setting",
                names.join(", ")
            )),
        );
    }
    let may_lose = match args.may_lose {
        AcceptedLoss::Nothing => MayLose::Nothing,
        AcceptedLoss::Recent => MayLose::Recent,
    };
    Ok(tuning_of(
        levers,
        current,
        &bench::good_settings(),
        may_lose,
    ))
}

/// The experiment as a file that can be checked: the current settings, and those known to be good elsewhere.
fn text_of(mut experiment: Experiment, tuning: &TuningPlan) -> Result<String, Failure> {
    let settings = |configuration: &Vec<usize>| tuning.space.settings(configuration);
    experiment.design.kind = DesignKind::List;
    experiment.design.stopping = Stopping::default();
    experiment.design.baseline = settings(&tuning.current);
    experiment.design.variants = tuning.good.iter().map(settings).collect();
    experiment.to_toml().map_err(Failure::usage)
}

/// What is tuned, and the settings that it is known to have now.
fn subject(args: &TuneArgs, catalogue: &Catalogue) -> Result<(Experiment, Settings), Failure> {
    let name = args.workload.as_str();
    let path = Path::new(name);
    let is_script = path.extension().is_some_and(|it| it == "sql");
    if is_script || BUILT_IN.contains(&name) {
        return script(args, is_script.then_some(path));
    }
    if args.db.is_some() {
        return Err(Failure::usage("--db applies to scripts (.sql)"));
    }
    if path.is_file() && path.extension().is_none_or(|it| it != "toml") {
        return trace(args, path);
    }
    let experiment = match catalogue.workload(name) {
        Some(workload) => ad_hoc("tune", QUESTION, &workload.name, "rows_per_s"),
        None => of_experiment(name, catalogue)?,
    };
    Ok((with_goal(args, experiment, None), Settings::new()))
}

const QUESTION: &str = "Which settings of SQLite are the fastest for this workload?";

/// A script of the user's own on a copy of the database, or one of pgbench's.
fn script(args: &TuneArgs, path: Option<&Path>) -> Result<(Experiment, Settings), Failure> {
    let mut experiment = ad_hoc("tune", QUESTION, "sql", "txns_per_s");
    let base = &mut experiment.base;
    match path {
        Some(path) => base.insert("scripts".to_owned(), whole_path(path, "WORKLOAD")?),
        None => base.insert("builtin".to_owned(), args.workload.as_str().into()),
    };
    let trial_s = args
        .seconds
        .unwrap_or_else(|| (args.time_limit / TRIALS).clamp(*TRIAL_S.start(), *TRIAL_S.end()));
    let milliseconds = Level::Int((trial_s * 1e3).ceil() as i64);
    base.insert("stop_after_ms".to_owned(), milliseconds);
    let mut found = Settings::new();
    if let Some(db) = &args.db {
        base.insert("database".to_owned(), whole_path(db, "--db")?);
        found = of_file(db)?;
    }
    Ok((with_goal(args, experiment, Some("p50_us")), found))
}

/// The recorded traffic of an application, with the settings of most of its connections.
fn trace(args: &TuneArgs, path: &Path) -> Result<(Experiment, Settings), Failure> {
    look_at(path)?;
    let mut experiment = ad_hoc("tune", QUESTION, "replay", "txns_per_s");
    experiment
        .base
        .insert("trace".to_owned(), whole_path(path, "WORKLOAD")?);
    let library = Library::load(&Source::Embedded).map_err(Failure::unusable)?;
    let library = Arc::new(library);
    let trace = ::trace::Trace::open(&library, path).map_err(Failure::unusable)?;
    let settings = trace.settings().map_err(Failure::unusable)?;
    let mut found = Settings::new();
    // The most frequent value of each comes first.
    for setting in settings {
        if bench::levers()
            .iter()
            .any(|lever| lever.name == setting.name)
        {
            let level = bench::level_of_pragma(&setting.name, &setting.value);
            found.entry(setting.name).or_insert(level);
        }
    }
    Ok((with_goal(args, experiment, Some("seconds")), found))
}

/// The workload, base and metric of an experiment.
fn of_experiment(name: &str, catalogue: &Catalogue) -> Result<Experiment, Failure> {
    let mut named = library::named(&[name.to_owned()], catalogue)?;
    let found = named
        .pop()
        .ok_or_else(|| Failure::usage("no experiment is named"))?;
    let mut experiment = ad_hoc("tune", QUESTION, &found.workload, &found.metric);
    let scaled = found.scale.get(&lab::experiment::Scale::Default);
    // Settings of SQLite are what is searched; those of the baseline are not the user's.
    experiment.base = overlaid(&found.base, scaled.unwrap_or(&Settings::new()));
    let of_workload = |name: &String| {
        let workload = catalogue.workload(&found.workload);
        workload.is_some_and(|it| {
            it.parameters
                .iter()
                .any(|parameter| parameter.name == *name)
        })
    };
    let baseline = lab::level::picked(&found.design.baseline, of_workload);
    experiment.base.extend(baseline);
    Ok(experiment)
}

/// The metric of the goal, and another one for the reader.
fn with_goal(args: &TuneArgs, mut experiment: Experiment, other: Option<&str>) -> Experiment {
    let metric = match args.goal {
        GoalArg::Throughput => experiment.metric.clone(),
        GoalArg::P99 => "p99_us".to_owned(),
        GoalArg::Size => "db_bytes".to_owned(),
        GoalArg::Cpu => "cpu_user_s".to_owned(),
    };
    let also = [
        Some(experiment.metric.as_str()),
        other,
        Some("p99_us"),
        Some("db_bytes"),
    ];
    let also = also.into_iter().flatten().filter(|name| *name != metric);
    experiment.secondary_metrics = lab::level::distinct(also.map(str::to_owned));
    experiment.metric = metric;
    experiment
}

/// The settings that a database file keeps: whether it is in WAL mode, by its header
/// (<https://sqlite.org/fileformat2.html>, section 1.3.3).
fn of_file(path: &Path) -> Result<Settings, Failure> {
    const WRITE_VERSION: usize = 18;
    let mut header = [0; WRITE_VERSION + 1];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut header));
    read.map_err(|error| Failure::unusable(format!("cannot read {}: {error}", path.display())))?;
    let is_wal = header[WRITE_VERSION] == 2;
    Ok(is_wal
        .then(|| ("journal_mode".to_owned(), "wal".into()))
        .into_iter()
        .collect())
}

/// Settings given as NAME=VALUE.
fn pairs(given: &[String], option: &str) -> Result<Settings, Failure> {
    let pair = |text: &String| {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            Failure::usage(format!(
                "{option} {text} lacks a value: {option} NAME=VALUE"
            ))
        })?;
        let (name, value) = (name.trim(), value.trim());
        let is_pragma = bench::levers().iter().any(|lever| lever.name == name);
        let level = match is_pragma {
            true => bench::level_of_pragma(name, value),
            false => level_of(value),
        };
        Ok((name.to_owned(), level))
    };
    given.iter().map(pair).collect()
}

/// Writes the experiment on what is recommended into the folder of the run, so that it can be repeated.
pub(super) fn write_experiment(
    analysis: &Analysis,
    folder: &Path,
) -> Result<Option<PathBuf>, Failure> {
    if analysis.tuning.is_none() {
        return Ok(None);
    }
    let path = folder.join(EXPERIMENT);
    let planned = analysis.plan.experiments.first();
    let Some(planned) = planned else {
        return Ok(None);
    };
    let text = planned.experiment.to_toml().map_err(Failure::unusable)?;
    super::output::write_in_run(&path, &text)?;
    Ok(Some(path))
}
