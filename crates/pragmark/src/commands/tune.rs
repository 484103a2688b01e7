//! `pragmark tune`: a search for the fastest settings for a workload, made from the command line.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::engine::{Library, Source};
use ::trace::{Snapshot, Trace};
use bench::Ground;
use lab::analysis::{Analysis, MayLose};
use lab::catalogue::Catalogue;
use lab::design::Stopping;
use lab::engine_name::ENGINE;
use lab::experiment::{DesignKind, Experiment};
use lab::level::{Level, Settings, overlaid, picked};
use lab::plan::ad_hoc;
use lab::tuning::{Advice, Lever, Tuning, TuningPlan, tuning_of};
use runner::RunFolder;

use super::engine::name_in_plan;
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
    let mut subject = subject(args, &catalogue)?;
    let given = pairs(&args.set, "--set")?;
    subject.experiment.base.extend(given);
    check_goal(args.goal, &subject.experiment)?;
    let tuning = tuning(args, &subject)?;
    let experiment = subject.experiment;
    let experiment = checked(&text_of(experiment, &tuning)?, &catalogue)?;
    let run = run_args_of(
        &args.dirs,
        &args.engine[0],
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

/// What is tuned.
struct Subject {
    experiment: Experiment,
    /// The settings that it is known to have now.
    found: Settings,
    /// Size of the existing databases in bytes; none where every trial makes its own.
    database_bytes: Option<u64>,
    /// Changes of the indexes of its database.
    indexes: Vec<Advice>,
    /// Settings that mean nothing for its statements.
    idle: Vec<&'static str>,
}

impl Subject {
    /// One whose trials make their own databases.
    fn new(experiment: Experiment) -> Subject {
        Subject {
            experiment,
            found: Settings::new(),
            database_bytes: None,
            indexes: Vec::new(),
            idle: Vec::new(),
        }
    }

    /// Takes what the database files keep: settings that connections were seen with count more. Files that differ in a
    /// setting have none in common.
    fn add_files(&mut self, files: &[PathBuf]) -> Result<(), Failure> {
        let mut common: Option<Settings> = None;
        for file in files {
            let of_file = of_file(file)?;
            let length = std::fs::metadata(file).map_err(Failure::unusable)?.len();
            self.database_bytes = Some(self.database_bytes.unwrap_or(0) + length);
            common = Some(match common {
                None => of_file,
                Some(common) => picked(&common, |name| common.get(name) == of_file.get(name)),
            });
        }
        self.found = overlaid(&common.unwrap_or_default(), &self.found);
        Ok(())
    }

    /// Looks for settings that mean nothing for the statements and for indexes that would help them, on a copy of the only
    /// database, which is changed.
    fn look_at_plans(&mut self, copy: &Path, statements: &[String]) -> Result<(), Failure> {
        self.idle = bench::idle_settings(copy, statements).map_err(Failure::unusable)?;
        let found = bench::schema_advice(copy, statements);
        self.indexes = found.map_err(Failure::unusable)?;
        Ok(())
    }

    fn may_be_written_anew(&self) -> bool {
        self.database_bytes.is_some_and(bench::may_be_written_anew)
    }
}

/// The search that the options describe.
fn tuning(args: &TuneArgs, subject: &Subject) -> Result<TuningPlan, Failure> {
    let ground = Ground {
        workload: &subject.experiment.workload,
        base: &subject.experiment.base,
        database_bytes: subject.database_bytes,
        requested: &args.also,
    };
    let mut levers = bench::levers(&ground);
    // No safety tier is known for other page sizes, so that one stays as it is.
    levers.retain(|lever| {
        let now = subject.found.get(&lever.name);
        lever.name != "page_size" || now.is_none_or(|now| lever.levels.contains(now))
    });
    levers.extend(engines(args)?);
    let given = pairs(&args.current, "--current")?;
    let idle =
        |lever: &Lever| subject.idle.contains(&&lever.name[..]) && !given.contains_key(&lever.name);
    let idle: Vec<String> = levers
        .extract_if(.., |it| idle(it))
        .map(|it| it.name)
        .collect();
    let is_varied = |name: &String| levers.iter().any(|lever| lever.name == *name);
    let found = picked(&subject.found, is_varied);
    let unknown = |name: &&String| !is_varied(name);
    if let Some(name) = given.keys().find(unknown) {
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
    let current = overlaid(&found, &given);
    let all = bench::good_settings();
    let tuning = TuningPlan {
        constraints: args.limit.clone(),
        idle,
        advice: [subject.indexes.clone(), bench::advice(&ground)].concat(),
        ..tuning_of(levers, &current, &all, may_lose)
    };
    match &args.earlier {
        Some(folder) => after(folder, tuning, &subject.experiment.base),
        None => Ok(tuning),
    }
}

/// Refuses figures of a whole trial as a goal where trials last a fixed time: the fastest settings do the most work in it.
fn check_goal(goal: GoalArg, experiment: &Experiment) -> Result<(), Failure> {
    let works = |name: &&str| {
        let number = experiment.base.get(*name).and_then(Level::as_int);
        number.is_some_and(|number| number > 0)
    };
    let is_of_trial = matches!(goal, GoalArg::Size | GoalArg::Cpu);
    let is_timed = experiment.base.contains_key("stop_after_ms");
    let has_work = ["transactions", "executions"].iter().any(works);
    match is_of_trial && is_timed && !has_work {
        false => Ok(()),
        true => Err(Failure::usage(
            "--goal size and --goal cpu need the same work in every trial, and these last a fixed time",
        )
        .hint("--set transactions=1000 gives each client so many transactions")),
    }
}

/// The engine as a factor where several are given.
fn engines(args: &TuneArgs) -> Result<Option<Lever>, Failure> {
    let names = args.engine.iter().map(|name| name_in_plan(name));
    let levels = names.map(|name| Ok(Level::Text(name?)));
    let levels: Vec<Level> = levels.collect::<Result<_, Failure>>()?;
    Ok((levels.len() > 1).then(|| Lever {
        name: ENGINE.to_owned(),
        levels,
        always_named: false,
        only_with: None,
    }))
}

/// A search after the one of this folder: with what that one recommends, as far as this one varies it, and with its trials.
fn after(folder: &Path, tuning: TuningPlan, fixed: &Settings) -> Result<TuningPlan, Failure> {
    let unusable = |why: &str| Failure::usage(format!("--continue {}: {why}", folder.display()));
    let run = RunFolder::open(folder).map_err(Failure::unusable)?;
    let plan = run.plan().map_err(Failure::unusable)?;
    let search = Tuning::of(&plan);
    let mut search = search.ok_or_else(|| unusable("this run is no search"))?;
    run.each_trial(|record| search.add(&record))
        .map_err(Failure::unusable)?;
    let recommended = search.recommended();
    let space = search.course().tuning().space.clone();
    let settings = space.settings(&recommended);
    let is_varied = |name: &String| tuning.space.factors.iter().any(|it| it.name == *name);
    let configuration = tuning.space.configuration(&picked(&settings, is_varied));
    let none = || unusable("it recommends a level that this search does not vary");
    let configuration = configuration.ok_or_else(none)?;
    Ok(tuning.after(configuration, (&space, &search.course().tried()), fixed))
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

/// What is tuned.
fn subject(args: &TuneArgs, catalogue: &Catalogue) -> Result<Subject, Failure> {
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
    Ok(Subject::new(with_goal(args, experiment, None)))
}

const QUESTION: &str = "Which settings of SQLite are the fastest for this workload?";

/// A script of the user's own on a copy of the database, or one of pgbench's.
fn script(args: &TuneArgs, path: Option<&Path>) -> Result<Subject, Failure> {
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
    if let Some(db) = &args.db {
        base.insert("database".to_owned(), whole_path(db, "--db")?);
    }
    let mut subject = Subject::new(with_goal(args, experiment, Some("p50_us")));
    subject.add_files(args.db.as_slice())?;
    if path.is_none() && args.db.is_none() {
        let statements = bench::statements(&subject.experiment.base).map_err(Failure::unusable)?;
        let idle = bench::idle_settings_of_pgbench(&statements);
        subject.idle = idle.map_err(Failure::unusable)?;
    }
    if let Some(db) = args.db.as_ref().filter(|_| subject.may_be_written_anew()) {
        let statements = bench::statements(&subject.experiment.base).map_err(Failure::unusable)?;
        let folder = tempfile::tempdir().map_err(Failure::unusable)?;
        let copy = folder.path().join("copy.db");
        let library = Library::load(&Source::Embedded).map_err(Failure::unusable)?;
        let copied = bench::copy_database(&Arc::new(library), db, &copy);
        copied.map_err(Failure::unusable)?;
        subject.look_at_plans(&copy, &statements)?;
    }
    Ok(subject)
}

/// The recorded traffic of an application, with the settings of most of its connections.
fn trace(args: &TuneArgs, path: &Path) -> Result<Subject, Failure> {
    look_at(path)?;
    let mut experiment = ad_hoc("tune", QUESTION, "replay", "txns_per_s");
    experiment
        .base
        .insert("trace".to_owned(), whole_path(path, "WORKLOAD")?);
    let library = Library::load(&Source::Embedded).map_err(Failure::unusable)?;
    let library = Arc::new(library);
    let trace = Trace::open(&library, path).map_err(Failure::unusable)?;
    let mut subject = Subject::new(with_goal(args, experiment, Some("seconds")));
    let current = trace.most_common_settings_of_files();
    for setting in current.map_err(Failure::unusable)? {
        let level = bench::level_of_setting(&setting.name, &setting.value);
        subject.found.insert(setting.name, level);
    }
    let folder = tempfile::tempdir().map_err(Failure::unusable)?;
    let databases = restored(&trace, folder.path())?;
    subject.add_files(&databases)?;
    if let [only] = &databases[..]
        && subject.may_be_written_anew()
    {
        subject.look_at_plans(only, &texts(&trace)?)?;
    }
    Ok(subject)
}

/// One text of each normalised statement.
fn texts(trace: &Trace) -> Result<Vec<String>, Failure> {
    let texts = trace.texts().map_err(Failure::unusable)?;
    let mut seen = HashSet::new();
    let texts = texts
        .into_iter()
        .filter(|text| seen.insert(text.normalised));
    Ok(texts.map(|text| text.sql).collect())
}

/// The databases of a trace as they were when recording began, in a folder.
fn restored(trace: &Trace, folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let snapshots = trace.snapshots().map_err(Failure::unusable)?;
    let taken = snapshots.iter().filter(|it| it.state == "taken");
    let restore = |snapshot: &Snapshot| {
        let path = folder.join(snapshot.id.to_string());
        let restored = trace.restore(snapshot.id, &path);
        restored.map_err(Failure::unusable)?;
        Ok(path)
    };
    taken.map(restore).collect()
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
    let limited = args.limit.iter().map(|it| it.metric.as_str());
    let also = also.into_iter().flatten().chain(limited);
    let also = also.filter(|name| *name != metric);
    experiment.secondary_metrics = lab::level::distinct(also.map(str::to_owned));
    experiment.metric = metric;
    experiment
}

/// The settings that a database file keeps, by its header (<https://sqlite.org/fileformat2.html>, section 1.3).
fn of_file(path: &Path) -> Result<Settings, Failure> {
    bench::is_in_wal_mode(path).map_err(Failure::unusable)?;
    let mut header = [0; 100];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut header));
    read.map_err(|error| Failure::unusable(format!("cannot read {}: {error}", path.display())))?;
    Ok(of_header(&header))
}

fn of_header(header: &[u8; 100]) -> Settings {
    const PAGE_SIZE: usize = 16;
    const WRITE_VERSION: usize = 18;
    const LARGEST_ROOT: usize = 52;
    const INCREMENTAL: usize = 64;
    let is_set = |at: usize| header[at..at + 4] != [0; 4];
    let page_size = match u16::from_be_bytes([header[PAGE_SIZE], header[PAGE_SIZE + 1]]) {
        1 => 65_536,
        size => i64::from(size),
    };
    let auto_vacuum = match (is_set(LARGEST_ROOT), is_set(INCREMENTAL)) {
        (false, _) => "none",
        (true, false) => "full",
        (true, true) => "incremental",
    };
    let mut settings = Settings::from([
        ("page_size".to_owned(), page_size.into()),
        ("auto_vacuum".to_owned(), auto_vacuum.into()),
    ]);
    if header[WRITE_VERSION] == 2 {
        settings.insert("journal_mode".to_owned(), "wal".into());
    }
    settings
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
        Ok((name.to_owned(), bench::level_of_setting(name, value)))
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

#[cfg(test)]
mod tests {
    use ::engine::{Connection, OpenFlags};

    use super::*;

    #[test]
    fn the_header_of_a_file_tells_the_settings_that_it_keeps() {
        let folder = tempfile::tempdir().unwrap();
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        for (number, (page_size, auto_vacuum, journal_mode)) in [
            (4096, "none", "delete"),
            (65_536, "full", "wal"),
            (512, "incremental", "delete"),
        ]
        .into_iter()
        .enumerate()
        {
            let path = folder.path().join(number.to_string());
            let file = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
            let sql = format!(
                "PRAGMA page_size = {page_size}; PRAGMA auto_vacuum = {auto_vacuum}; PRAGMA journal_mode = {journal_mode}; CREATE TABLE t(x)"
            );
            file.execute(&sql).unwrap();
            file.close().unwrap();
            let found = of_file(&path).unwrap();
            assert_eq!(found["page_size"], Level::Int(page_size));
            assert_eq!(found["auto_vacuum"], Level::from(auto_vacuum));
            assert_eq!(found.contains_key("journal_mode"), journal_mode == "wal");
        }
    }
}
