//! `pragmark measure`: an experiment on the user's own SQL, made from the command line.

use std::path::{Path, PathBuf};

use lab::analysis::VariantAnalysis;
use lab::catalogue::Catalogue;
use lab::experiment::{DesignKind, Experiment, VariantName, level_of, parse};
use lab::level::{Level, Settings};
use lab::plan::{ad_hoc, settings_that_decide};
use lab::tier::BESIDES;
use tuning::Analysis;

use super::output;
use super::run::{self, Made};
use super::traffic::plural;
use super::work_folder::work_folder;
use crate::cli::{FleetRunArgs, MeasureArgs, ModeArg, RunArgs, ScaleArg};
use crate::failure::{Exit, Failure};
use crate::shell;

/// Seconds for all trials together where none are given, so that an answer comes within ten.
const TRIALS_S: f64 = 6.0;

/// The shortest and the longest trial where no time is given, in seconds.
const TRIAL_S: std::ops::RangeInclusive<f64> = 0.05..=1.0;

/// Measures, or writes the experiment.
pub fn execute(args: &MeasureArgs) -> Result<Exit, Failure> {
    let catalogue = drivers::catalogue(None)?;
    let text = experiment(args, &catalogue)?.to_toml().map_err(Failure::usage)?;
    let experiment = checked(&text, &catalogue)?;
    if let Some(path) = &args.write {
        return write_experiment(path, &text);
    }
    run::execute_with(run_args(args), Some(Made::of(experiment)), check_measured)
}

/// Writes the experiment to standard output, or to a file that does not exist yet: it is there to be edited.
fn write_experiment(path: &Path, text: &str) -> Result<Exit, Failure> {
    if path == Path::new("-") {
        return output::write_text(None, text);
    }
    let name = path.display();
    if path.exists() {
        return Err(Failure::unusable(format!("{name} exists"))
            .hint("name another file with --write, or remove this one"));
    }
    output::write_text(Some(path), text)?;
    let word = shell::path(path);
    tell!("{name}: an experiment; `pragmark run {word}` measures it");
    Ok(Exit::Success)
}

/// The experiment, checked as one from a file: a mistake in it is one on the command line or in a script.
pub(super) fn checked(text: &str, catalogue: &Catalogue) -> Result<Experiment, Failure> {
    parse("measure", text, catalogue).map_err(|problems| {
        let is_misspelt =
            problems.0.iter().any(|problem| problem.what.contains(" is neither a parameter"));
        let words = problems.0.iter().map(|problem| match &problem.nearest {
            Some(name) => format!("{}; did you mean `{name}`?", problem.what),
            None => problem.what.clone(),
        });
        let failure = Failure::usage(words.collect::<Vec<_>>().join("\n"));
        match is_misspelt {
            true => failure.hint(
                "`pragmark list --pragmas` and `pragmark list --workloads` show all settings",
            ),
            false => failure,
        }
    })
}

/// Refuses a run in which the baseline could not be measured: there is nothing to report.
pub(super) fn check_measured(analysis: &Analysis) -> Result<(), Failure> {
    let variants = analysis.experiments.iter().flat_map(|experiment| experiment.variants.first());
    let mut unmeasured = variants.filter(|variant| variant.unmeasured());
    let problem = unmeasured.find_map(|it| Some((it, it.problem.as_ref()?)));
    problem.map_or(Ok(()), |(variant, problem)| {
        // How the trial ended is known; what remains is why.
        let mut ends = ["failed: ", "skipped: "].iter();
        let why = ends.find_map(|end| problem.strip_prefix(end));
        let problem = why.unwrap_or(problem);
        let failure = match is_mistake(problem) {
            true => Failure::usage(problem),
            false => Failure::unusable(problem),
        };
        Err(failure.hint_if(hint(variant, problem)))
    })
}

/// Whether a problem is a mistake in the user's SQL: that one alone begins with its file and line.
fn is_mistake(problem: &str) -> bool {
    let mut starts = problem.match_indices(": ");
    starts.any(|(end, _)| {
        let line = problem[..end].rsplit_once(':').map(|(_, line)| line);
        line.is_some_and(|line| line.parse::<u64>().is_ok())
    })
}

/// Where a table is missing from a database that was not named, or a statement cannot be executed twice.
fn hint(variant: &VariantAnalysis, problem: &str) -> Option<&'static str> {
    if problem.contains("UNIQUE constraint failed") {
        return Some(
            "each statement is executed many times: let SQLite give the key, or draw it, such as \\set id random(1, 1000000000)",
        );
    }
    let named = variant.settings.get("database").and_then(Level::as_text);
    let is_empty = named.is_none_or(str::is_empty) && !variant.settings.contains_key("trace");
    (is_empty && ["no such table", "has no value"].iter().any(|it| problem.contains(it))).then_some(
        "without --db FILE the database is empty; --setup FILE names SQL that makes its tables",
    )
}

/// The experiment that the options describe.
pub(super) fn experiment(args: &MeasureArgs, catalogue: &Catalogue) -> Result<Experiment, Failure> {
    let mut experiment = match &args.trace {
        Some(trace) => replay(args, trace)?,
        None => sql(args)?,
    };
    experiment.design.kind = match args.combine {
        true => DesignKind::Factorial,
        false => DesignKind::OneAtATime,
    };
    set_given(args, &mut experiment)?;
    add_factors(args, &mut experiment)?;
    take_truths(&mut experiment, catalogue);
    name_journal_mode(args, &mut experiment, catalogue)?;
    if experiment.factors.is_empty() {
        experiment.variants.push(VariantName {
            levels: Settings::new(),
            label: Some("as it is".to_owned()),
            answer: None,
        });
    }
    let stopping = &mut experiment.design.stopping;
    (stopping.rounds, stopping.max_rounds) = (args.rounds, args.rounds);
    if args.trace.is_none() {
        limit_time(args, &mut experiment);
    }
    Ok(experiment)
}

/// Turns `on` and `off` into truths where a setting takes them.
fn take_truths(experiment: &mut Experiment, catalogue: &Catalogue) {
    let Some(workload) = catalogue.workload(&experiment.workload) else {
        return;
    };
    let take = |name: &str, level: &mut Level| {
        if let Some(setting) = catalogue.setting(workload, name) {
            *level = setting.accepts.taken(level.clone());
        }
    };
    for (name, level) in experiment.base.iter_mut().chain(&mut experiment.design.baseline) {
        take(name, level);
    }
    for (name, levels) in &mut experiment.factors {
        levels.iter_mut().for_each(|level| take(name, level));
    }
}

/// Names the journal mode of a database in WAL mode where another setting decides what a crash can destroy: a tier is one
/// of all these settings.
fn name_journal_mode(
    args: &MeasureArgs,
    experiment: &mut Experiment,
    catalogue: &Catalogue,
) -> Result<(), Failure> {
    const NAME: &str = "journal_mode";
    let [database] = args.dbs.as_slice() else {
        return Ok(());
    };
    let is_in_wal_mode = bench::is_in_wal_mode(database).map_err(Failure::unusable)?;
    let named =
        |name: &str| experiment.base.contains_key(name) || experiment.factors.contains_key(name);
    let mut deciding = settings_that_decide(catalogue).into_iter();
    let decides = deciding.any(|name| !BESIDES.contains(&name.as_str()) && named(&name));
    if decides && !named(NAME) && is_in_wal_mode {
        experiment.base.insert(NAME.to_owned(), "wal".into());
    }
    Ok(())
}

/// Seconds in whole microseconds, at least one.
fn microseconds(seconds: f64) -> i64 {
    (seconds * 1e6).round().max(1.0) as i64
}

/// Statements of the user's own.
fn sql(args: &MeasureArgs) -> Result<Experiment, Failure> {
    let question = "How fast are these statements?";
    let mut experiment = ad_hoc("measure", question, "sql", "txns_per_s");
    experiment.secondary_metrics = ["p50_us", "p99_us"].map(str::to_owned).into();
    if args.latency_limit.is_some() {
        let over = "over_limit_percent".to_owned();
        experiment.secondary_metrics.push(over);
    }
    add_settings(args, &mut experiment)?;
    Ok(experiment)
}

/// The recorded traffic of an application.
fn replay(args: &MeasureArgs, trace: &Path) -> Result<Experiment, Failure> {
    let level = whole_path(trace, "--trace")?;
    look_at(trace)?;
    let question = "How fast is the recorded application?";
    let mode = args.mode.or(args.speed.map(|_| ModeArg::Paced));
    // With the recorded pauses the rate is that of the recording.
    let (metric, others) = match mode {
        Some(ModeArg::Paced) => ("p50_us", ["seconds", "txns_per_s", "p99_us"]),
        _ => ("txns_per_s", ["seconds", "p50_us", "p99_us"]),
    };
    let mut experiment = ad_hoc("measure", question, "replay", metric);
    experiment.secondary_metrics = others.map(str::to_owned).into();
    if args.speed.is_some() && mode != Some(ModeArg::Paced) {
        return Err(Failure::usage("--speed applies to --mode paced"));
    }
    let base = &mut experiment.base;
    base.insert("trace".to_owned(), level);
    mode.map(|mode| base.insert("mode".to_owned(), mode.level().into()));
    let percent = args.speed.map(|speed| (speed * 100.0).round() as i64);
    percent.map(|percent| base.insert("speed_percent".to_owned(), percent.into()));
    Ok(experiment)
}

/// Refuses what cannot be replayed, and lists what is missing.
pub(super) fn look_at(trace: &Path) -> Result<(), Failure> {
    let unusable =
        |error: bench::TrialError| Failure::unusable(error).hint("`pragmark record` writes traces");
    bench::check_trace(trace).map_err(unusable)?;
    let directory = work_folder(&std::env::temp_dir())?;
    let missing = bench::missing_in_trace(trace, directory.path()).map_err(unusable)?;
    for (what, statements) in missing {
        let statements = plural(statements, "statement", "statements");
        tell!("warning: cannot be replayed: {what}, {statements}");
    }
    Ok(())
}

/// Gives trials a time, unless they have one.
fn limit_time(args: &MeasureArgs, experiment: &mut Experiment) {
    let trial_s = args.seconds.unwrap_or_else(|| {
        let trials = f64::from(args.rounds) * (variants(experiment) + 1.0);
        (TRIALS_S / trials).clamp(*TRIAL_S.start(), *TRIAL_S.end())
    });
    let milliseconds = Level::Int((trial_s * 1e3).ceil().max(1.0) as i64);
    experiment.base.entry("stop_after_ms".to_owned()).or_insert(milliseconds);
}

/// How many variants an experiment has.
fn variants(experiment: &Experiment) -> f64 {
    let levels = experiment.factors.values().map(|levels| levels.len() as f64);
    match experiment.design.kind {
        DesignKind::Factorial => levels.product(),
        _ => 1.0 + levels.map(|levels| levels - 1.0).sum::<f64>(),
    }
}

/// Statements as one text. Each may end with a comment, which a semicolon behind it would be a part of.
fn joined(statements: &[String]) -> String {
    let statements = statements.iter().map(|sql| sql.trim().trim_end_matches(';'));
    statements.collect::<Vec<&str>>().join("\n;\n")
}

/// What all variants have.
fn add_settings(args: &MeasureArgs, experiment: &mut Experiment) -> Result<(), Failure> {
    let base = &mut experiment.base;
    let mut set = |name: &str, level: Level| base.insert(name.to_owned(), level);
    set("unit", "statement".into());
    if !args.commands.is_empty() {
        set("sql", Level::Text(joined(&args.commands)));
    } else if args.files.is_empty() && args.builtin.is_none() {
        return Err(Failure::usage("nothing to measure")
            .hint("name a file of SQL, give a statement with -c, or use --builtin tpcb-like"));
    }
    if let Some(builtin) = args.builtin {
        set("builtin", builtin.level().into());
    }
    if let Some(setup) = &args.setup {
        set("setup", whole_path(setup, "--setup")?);
    }
    for (name, number) in [
        ("scale_factor", args.scale_factor),
        ("clients", args.clients),
        ("max_retries", args.max_tries.map(|tries| tries - 1)),
        ("latency_limit_us", args.latency_limit.map(microseconds)),
    ] {
        number.map(|number| set(name, number.into()));
    }
    if args.cold {
        set("page_cache", "cold".into());
    }
    Ok(())
}

/// What `--set` gives all variants.
fn set_given(args: &MeasureArgs, experiment: &mut Experiment) -> Result<(), Failure> {
    for setting in &args.set {
        let (name, level) = setting.split_once('=').ok_or_else(|| {
            Failure::usage(format!("--set {setting} lacks a value: --set NAME=VALUE"))
        })?;
        let base = &mut experiment.base;
        base.insert(name.trim().to_owned(), level_of(level.trim()));
    }
    Ok(())
}

/// What is compared.
fn add_factors(args: &MeasureArgs, experiment: &mut Experiment) -> Result<(), Failure> {
    let paths = |paths: &[PathBuf], option: &str| -> Result<Vec<Level>, Failure> {
        paths.iter().map(|path| whole_path(path, option)).collect()
    };
    args.files.iter().try_for_each(|file| refuse_database(file))?;
    add_factor(experiment, "database", paths(&args.dbs, "--db")?);
    add_factor(experiment, "scripts", paths(&args.files, "FILE")?);
    if args.engine.len() > 1 {
        let engines = args.engine.iter().map(|engine| Level::Text(engine.clone()));
        add_factor(experiment, "engine", engines.collect());
    }
    for vary in &args.vary {
        let form =
            || Failure::usage(format!("--vary {vary} lacks values: --vary NAME=VALUE,VALUE"));
        let (name, levels) = vary.split_once('=').ok_or_else(form)?;
        let (name, values) = (name.trim(), levels.split(','));
        let levels: Vec<Level> = values.map(|level| level_of(level.trim())).collect();
        if levels.len() < 2 {
            let one =
                format!("--vary {vary} names one value, which there is nothing to compare with");
            let hint = format!("name two or more, or set one for all variants with --set {vary}");
            return Err(Failure::usage(one).hint(hint));
        }
        add_factor(experiment, name, levels);
    }
    Ok(())
}

/// Refuses a database where a file of SQL is expected.
pub(super) fn refuse_database(file: &Path) -> Result<(), Failure> {
    if !super::output::is_database(file) {
        // What cannot be read is reported where it is needed.
        return Ok(());
    }
    let (word, file) = (shell::path(file), file.display());
    Err(Failure::usage(format!("{file} is a SQLite database, not a file of SQL"))
        .hint(format!("name it with --db {word}")))
}

/// A factor, or a setting of all variants where it has one level.
fn add_factor(experiment: &mut Experiment, name: &str, levels: Vec<Level>) {
    match levels.as_slice() {
        [] => {}
        [only] => {
            experiment.base.insert(name.to_owned(), only.clone());
        }
        [first, ..] => {
            let baseline: &mut Settings = &mut experiment.design.baseline;
            baseline.insert(name.to_owned(), first.clone());
            experiment.factors.insert(name.to_owned(), levels);
        }
    }
}

/// A path as a level, from the root, so that the run can go on from any directory.
pub(super) fn whole_path(path: &Path, option: &str) -> Result<Level, Failure> {
    let whole = path.canonicalize().map_err(|error| {
        Failure::unusable(format!("cannot read {}: {error}", path.display()))
            .hint(format!("check the path that {option} names"))
    })?;
    let text = whole
        .to_str()
        .ok_or_else(|| Failure::unusable(format!("the path {} is not UTF-8", whole.display())))?;
    Ok(Level::Text(text.to_owned()))
}

/// The run of the experiment.
fn run_args(args: &MeasureArgs) -> RunArgs {
    let engine = match args.engine.as_slice() {
        [only] => only.clone(),
        _ => "default".to_owned(),
    };
    RunArgs {
        no_tiers: args.no_tiers,
        ..run_args_of(&args.dirs, &engine, args.out.as_deref(), args.seed, args.plain, None)
    }
}

/// A run at the default scale with what the commands that make experiments have in common.
pub(super) fn run_args_of(
    dirs: &[PathBuf],
    engine: &str,
    out: Option<&Path>,
    seed: Option<u64>,
    plain: bool,
    time_limit: Option<f64>,
) -> RunArgs {
    RunArgs {
        experiments: Vec::new(),
        source: None,
        quick: false,
        scale: Some(ScaleArg::Default),
        dirs: dirs.to_vec(),
        engine: engine.to_owned(),
        postgres: None,
        drivers: None,
        text: None,
        queries: None,
        columns: Vec::new(),
        table: None,
        encoding: None,
        out: out.map(Path::to_owned),
        seed,
        resume: None,
        repeat: None,
        trust: false,
        time_limit,
        trial_limit: 600.0,
        probe: 0.0,
        no_tiers: false,
        yes: true,
        plain,
        fleet: FleetRunArgs::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::{is_mistake, joined};

    #[test]
    fn a_problem_that_begins_with_a_line_is_a_mistake_in_it() {
        for (problem, mistake) in [
            ("sql:1: no such table: users", true),
            ("/a b/c:d/q.sql:12: near \"SELEC\": syntax error", true),
            ("client 2: q.sql:12: no such column: a", true),
            ("database disk image is malformed (q.sql:1)", false),
            ("client 2: UNIQUE constraint failed: t.a (q.sql:3)", false),
            ("cannot copy app.db: File too large", false),
            ("app.db: the file is empty", false),
        ] {
            assert_eq!(is_mistake(problem), mistake, "{problem}");
        }
    }

    #[test]
    fn statements_that_end_with_a_comment_stay_apart() {
        let statements = ["SELECT 1 -- note", "SELECT 2;"].map(str::to_owned);
        let text = joined(&statements);
        assert_eq!(text, "SELECT 1 -- note\n;\nSELECT 2");
    }
}
