//! Measurements of the user's own SQL, or of recorded traffic: an experiment made from a request.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::slice;

use ::engine::EngineError;
use lab::catalogue::Catalogue;
use lab::experiment::{DesignKind, Experiment, VariantName, parse};
use lab::level::{Level, Settings, level_of};
use lab::plan::{ad_hoc, settings_that_decide};
use lab::tier::BESIDES;

use crate::engine;
use crate::error::{Error, Result};
use crate::files::{DatabaseKind, absolute_level, open_unlocked, work_folder};
use crate::interface::Interface;
use crate::run::{self, Ended, RunRequest};
use crate::words::{plural, shell_path};

/// Seconds for all trials together by default, so that an answer comes within ten.
const TRIALS_S: f64 = 6.0;

/// The shortest and the longest trial by default, in seconds.
const TRIAL_S: std::ops::RangeInclusive<f64> = 0.05..=1.0;

/// A measurement.
#[derive(Clone, Debug)]
pub struct MeasureRequest {
    /// The work, and the settings to compare.
    pub subject: Subject,
    /// Whether all combinations of settings are measured, instead of one change at a time.
    pub combine: bool,
    /// The trials of each variant.
    pub rounds: u32,
    /// The time of a trial, in seconds.
    pub trial_s: Option<f64>,
    /// The directories to measure in.
    pub directories: Vec<PathBuf>,
    /// The folder for the record.
    pub out: Option<PathBuf>,
    /// The seed of all random choices.
    pub seed: Option<u64>,
    /// Whether safety tiers are measured.
    pub tiers: bool,
}

/// Work, and the settings to compare with it.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The work.
    pub work: Work,
    /// Databases; each trial works on a copy.
    pub databases: Vec<PathBuf>,
    /// SQL to execute on the copy before the work.
    pub setup: Option<PathBuf>,
    /// Settings to vary, each with the first value as its baseline.
    pub vary: Vec<Vary>,
    /// Indexes to try, each as a table with its columns in brackets.
    pub indexes: Vec<String>,
    /// Settings of all variants.
    pub set: Vec<(String, String)>,
    /// The engines.
    pub engines: Vec<String>,
}

/// A setting with the values to compare.
#[derive(Clone, Debug)]
pub struct Vary {
    /// The setting.
    pub name: String,
    /// Its values, at least two.
    pub values: Vec<String>,
}

/// The work of trials.
#[derive(Clone, Debug)]
pub enum Work {
    /// They execute SQL.
    Sql(Sql),
    /// They replay a trace.
    Replay(Replay),
}

/// SQL, and how it is executed.
#[derive(Clone, Debug, Default)]
pub struct Sql {
    /// Files of SQL. Several are compared with one another, unless other things are compared.
    pub files: Vec<PathBuf>,
    /// Statements instead of files, with the same rules.
    pub statements: Vec<String>,
    /// One of pgbench's scripts instead.
    pub builtin: Option<String>,
    /// Clients that execute at the same time.
    pub clients: Option<i64>,
}

/// A trace to replay.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The trace.
    pub trace: PathBuf,
    /// The order of its transactions.
    pub mode: Option<ReplayMode>,
    /// Stand-ins for collations and functions of the application, a line each.
    pub stand_ins: String,
}

/// Orders of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayMode {
    /// Writing transactions in the recorded order, without pauses.
    Ordered,
    /// The same with the recorded pauses.
    Paced,
    /// The order of each connection alone.
    Free,
}

impl ReplayMode {
    /// Returns the level of the setting `mode`.
    fn level(self) -> &'static str {
        match self {
            ReplayMode::Ordered => "ordered",
            ReplayMode::Paced => "paced",
            ReplayMode::Free => "free",
        }
    }
}

/// Measures, and reports.
///
/// # Errors
/// The request or the SQL is invalid, something cannot be used, or the record cannot be written.
pub fn measure(request: &MeasureRequest, ui: &dyn Interface) -> Result<Ended> {
    let catalogue = drivers::catalogue(None)?;
    let mut experiment = checked(&text_of(request, &catalogue, ui)?, &catalogue)?;
    if experiment.factors.is_empty() && experiment.workload == "sql" {
        // There is nothing to compare answers with.
        experiment.base.entry("answers".to_owned()).or_insert(0.into());
    }
    let engine = match request.subject.engines.as_slice() {
        [only] => only.clone(),
        _ => engine::BUILT_IN.to_owned(),
    };
    let run = RunRequest {
        directories: request.directories.clone(),
        engine,
        out: request.out.clone(),
        seed: request.seed,
        tiers: request.tiers,
        ..RunRequest::of_made(experiment, None)
    };
    run::start(&run, ui)
}

/// Returns the experiment that would be measured, as a file.
///
/// # Errors
/// The request or the SQL is invalid.
pub fn experiment_file(request: &MeasureRequest, ui: &dyn Interface) -> Result<String> {
    let catalogue = drivers::catalogue(None)?;
    let text = text_of(request, &catalogue, ui)?;
    checked(&text, &catalogue)?;
    Ok(text)
}

fn text_of(request: &MeasureRequest, catalogue: &Catalogue, ui: &dyn Interface) -> Result<String> {
    let mut experiment = experiment(&request.subject, request.combine, catalogue, ui)?;
    let stopping = &mut experiment.design.stopping;
    (stopping.rounds, stopping.max_rounds) = (request.rounds, request.rounds);
    if let Work::Sql(_) = request.subject.work {
        limit_time(request, &mut experiment);
    }
    experiment.to_toml().map_err(Error::mistake)
}

/// Checks an experiment as one from a file: a mistake in it is one on the command line or in a script.
pub(crate) fn checked(text: &str, catalogue: &Catalogue) -> Result<Experiment> {
    parse("measure", text, catalogue).map_err(|problems| {
        let is_misspelt =
            problems.0.iter().any(|problem| problem.what.contains(" is neither a parameter"));
        let words = problems.0.iter().map(|problem| match &problem.nearest {
            Some(name) => format!("{}; did you mean `{name}`?", problem.what),
            None => problem.what.clone(),
        });
        let hint = is_misspelt.then(|| {
            "`pragmark list pragmas` and `pragmark list workloads` show all settings".to_owned()
        });
        let mut sizes = problems.0.iter().filter_map(|problem| hint_for_size(&problem.what));
        Error::mistake(words.collect::<Vec<_>>().join("\n")).hint_if(hint.or_else(|| sizes.next()))
    })
}

/// Returns how to write a size that has a unit, which no PRAGMA takes.
fn hint_for_size(problem: &str) -> Option<String> {
    const IN_BYTES: [&str; 3] = ["mmap_size", "journal_size_limit", "page_size"];
    let (name, rest) = problem.strip_prefix('`')?.split_once("` cannot be \"")?;
    let (value, _) = rest.split_once('"')?;
    let digits = value.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let kib = match value[digits.len()..].to_ascii_uppercase().trim_end_matches(['B', 'I']) {
        "K" => 1,
        "M" => 1 << 10,
        "G" => 1 << 20,
        _ => return None,
    };
    let kib = digits.parse::<i64>().ok()?.checked_mul(kib)?;
    // SQLite takes a positive size of the cache for pages, and a negative one for KiB.
    if name == "cache_size" {
        return Some(format!("a negative number is a size in KiB: {name}={}", -kib));
    }
    let bytes = IN_BYTES.contains(&name).then(|| kib.checked_mul(1024))??;
    Some(format!("write it in bytes: {name}={bytes}"))
}

/// Returns the experiment on a subject, without its rounds.
pub(crate) fn experiment(
    subject: &Subject,
    combine: bool,
    catalogue: &Catalogue,
    ui: &dyn Interface,
) -> Result<Experiment> {
    let mut experiment = match &subject.work {
        Work::Replay(replay) => of_replay(replay, ui)?,
        Work::Sql(sql) => of_sql(sql, subject.setup.as_deref())?,
    };
    experiment.design.kind = if combine { DesignKind::Factorial } else { DesignKind::OneAtATime };
    for (name, value) in &subject.set {
        experiment.base.insert(name.clone(), level_of(value));
    }
    if experiment.base.contains_key("latency_limit_us") {
        experiment.secondary_metrics.push("over_limit_percent".to_owned());
    }
    add_factors(subject, combine, &mut experiment)?;
    convert_values(&mut experiment, catalogue);
    name_journal_mode(subject, &mut experiment, catalogue)?;
    if experiment.factors.is_empty() {
        experiment.variants.push(VariantName {
            levels: Settings::new(),
            label: Some("as it is".to_owned()),
            answer: None,
        });
    }
    Ok(experiment)
}

/// Turns values as PRAGMAs take them, such as `on`, or 1 for `synchronous`, into those that settings take.
pub(crate) fn convert_values(experiment: &mut Experiment, catalogue: &Catalogue) {
    let Some(workload) = catalogue.workload(&experiment.workload) else { return };
    let take = |name: &str, level: &mut Level| {
        let pragma = ::engine::pragma::find(name);
        if let Some(Ok(normal)) = pragma.map(|pragma| pragma.normalise(&level.to_string())) {
            *level = level_of(&normal);
        }
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

/// Names the journal mode of a database in WAL mode if another setting decides what a crash can destroy: a tier is one of all
/// these settings.
fn name_journal_mode(
    subject: &Subject,
    experiment: &mut Experiment,
    catalogue: &Catalogue,
) -> Result<()> {
    const NAME: &str = "journal_mode";
    let [database] = subject.databases.as_slice() else { return Ok(()) };
    let is_in_wal_mode = bench::is_in_wal_mode(database)?;
    let named =
        |name: &str| experiment.base.contains_key(name) || experiment.factors.contains_key(name);
    let mut deciding = settings_that_decide(catalogue).into_iter();
    let decides = deciding.any(|name| !BESIDES.contains(&name.as_str()) && named(&name));
    if decides && !named(NAME) && is_in_wal_mode {
        experiment.base.insert(NAME.to_owned(), "wal".into());
    }
    Ok(())
}

/// Returns an experiment on SQL.
fn of_sql(sql: &Sql, setup: Option<&Path>) -> Result<Experiment> {
    let question = "How fast are these statements?";
    let mut experiment = ad_hoc("measure", question, "sql", "txns_per_s");
    experiment.secondary_metrics = ["p50_us", "p99_us"].map(str::to_owned).into();
    let base = &mut experiment.base;
    let mut set = |name: &str, level: Level| base.insert(name.to_owned(), level);
    set("unit", "statement".into());
    if sql.statements.is_empty() && sql.files.is_empty() && sql.builtin.is_none() {
        return Err(Error::mistake("nothing to measure")
            .hint("name a file of SQL, give a statement with -c, or use --builtin tpcb-like"));
    }
    if let Some(builtin) = &sql.builtin {
        set("builtin", builtin.as_str().into());
    }
    if let Some(setup) = setup {
        set("setup", absolute_level(setup, "--setup")?);
    }
    if let Some(clients) = sql.clients {
        set("clients", clients.into());
    }
    Ok(experiment)
}

/// Returns an experiment on the recorded traffic of an application.
fn of_replay(replay: &Replay, ui: &dyn Interface) -> Result<Experiment> {
    let level = absolute_level(&replay.trace, "--trace")?;
    check_replayable(&replay.trace, &replay.stand_ins, ui)?;
    let question = "How fast is the recorded application?";
    // With the recorded pauses the rate is the recording's.
    let (metric, others) = match replay.mode {
        Some(ReplayMode::Paced) => ("p50_us", ["seconds", "txns_per_s", "p99_us"]),
        _ => ("txns_per_s", ["seconds", "p50_us", "p99_us"]),
    };
    let mut experiment = ad_hoc("measure", question, "replay", metric);
    experiment.secondary_metrics = others.map(str::to_owned).into();
    let base = &mut experiment.base;
    base.insert("trace".to_owned(), level);
    base.extend(stand_in_setting(&replay.stand_ins));
    replay.mode.map(|mode| base.insert("mode".to_owned(), mode.level().into()));
    Ok(experiment)
}

/// Returns the setting with the stand-ins, if there are any.
pub(crate) fn stand_in_setting(stand_ins: &str) -> Option<(String, Level)> {
    (!stand_ins.is_empty()).then(|| ("stand_in".to_owned(), stand_ins.into()))
}

/// Refuses a trace that cannot be replayed, or stand-ins that it does not need, and says which statements cannot be replayed as
/// they were.
pub(crate) fn check_replayable(trace: &Path, stand_ins: &str, ui: &dyn Interface) -> Result<()> {
    let unusable =
        |error: bench::TrialError| Error::unusable(error).hint("`pragmark record` writes traces");
    bench::check_trace(trace).map_err(unusable)?;
    let directory = work_folder(&std::env::temp_dir())?;
    let missing = bench::missing_in_trace(trace, &directory.path, stand_ins)?;
    for (what, statements) in bench::causes_first(&missing) {
        let statements = plural(statements, "statement", "statements");
        tell!(ui, "warning: cannot be replayed: {what}, {statements}");
    }
    if let Some(options) = bench::options_for(missing.keys()) {
        tell!(ui, "warning: {options}");
    }
    Ok(())
}

/// Gives trials a time, unless they have one.
fn limit_time(request: &MeasureRequest, experiment: &mut Experiment) {
    let levels = experiment.factors.values().map(|levels| levels.len() as f64);
    let variants = match experiment.design.kind {
        DesignKind::Factorial => levels.product(),
        _ => 1.0 + levels.map(|levels| levels - 1.0).sum::<f64>(),
    };
    let trial_s = request.trial_s.unwrap_or_else(|| {
        let trials = f64::from(request.rounds) * (variants + 1.0);
        (TRIALS_S / trials).clamp(*TRIAL_S.start(), *TRIAL_S.end())
    });
    let milliseconds = Level::Int((trial_s * 1e3).ceil().max(1.0) as i64);
    experiment.base.entry("stop_after_ms".to_owned()).or_insert(milliseconds);
}

/// Joins statements to one text. Each may end with a comment, which a semicolon behind it would be a part of.
fn joined(statements: &[String]) -> String {
    let statements = statements.iter().map(|sql| sql.trim().trim_end_matches(';'));
    statements.collect::<Vec<&str>>().join("\n;\n")
}

/// Adds what is compared: databases, files, engines and settings.
/// Files and statements are compared with one another if nothing else is compared, or all combinations are wanted; otherwise each
/// variant executes all of them.
fn add_factors(subject: &Subject, combine: bool, experiment: &mut Experiment) -> Result<()> {
    let paths = |paths: &[PathBuf], option: &str| -> Result<Vec<Level>> {
        paths.iter().map(|path| absolute_level(path, option)).collect()
    };
    add_factor(experiment, "database", paths(&subject.databases, "--db")?)?;
    if subject.engines.len() > 1 {
        let engines = subject.engines.iter().map(|engine| Level::Text(engine.clone()));
        add_factor(experiment, "engine", engines.collect())?;
    }
    for Vary { name, values } in &subject.vary {
        add_factor(experiment, name, values.iter().map(|value| level_of(value)).collect())?;
    }
    add_indexes(subject, experiment)?;
    if let Work::Sql(sql) = &subject.work {
        sql.files.iter().try_for_each(|file| refuse_other_than_sql(file))?;
        let is_alone = experiment.factors.is_empty() || combine;
        let statements = sql.statements.iter().map(|sql| Level::Text(joined(slice::from_ref(sql))));
        let together = |levels: Vec<Level>, whole: Level| match levels.len() {
            0 | 1 => levels,
            _ if is_alone => levels,
            _ => vec![whole],
        };
        let whole = Level::Text(joined(&sql.statements));
        add_factor(experiment, "sql", together(statements.collect(), whole))?;
        let files = paths(&sql.files, "FILE")?;
        let list: Vec<String> = files.iter().map(Level::to_string).collect();
        add_factor(experiment, "scripts", together(files, Level::Text(list.join(","))))?;
        name_statements(experiment);
    }
    name_paths(experiment);
    Ok(())
}

/// Names the variants of several statements after the beginnings of their texts.
fn name_statements(experiment: &mut Experiment) {
    let levels = experiment.factors.get("sql").into_iter().flatten().map(Level::to_string);
    let levels: Vec<String> = levels.collect();
    let one_line = |sql: &str| sql.split_whitespace().collect::<Vec<_>>().join(" ");
    let short = |sql: &str| report::sql::shortened(&one_line(sql), 60);
    let mut names = BTreeMap::new();
    for sql in levels {
        let name = short(&sql);
        let numbered = format!("{name} (");
        let is_alike = |known: &&String| **known == name || known.starts_with(&numbered);
        let alike = names.values().filter(is_alike).count();
        let name = if alike == 0 { name } else { format!("{name} ({})", alike + 1) };
        names.insert(sql, name);
    }
    if !names.is_empty() {
        experiment.labels.0.insert("sql".to_owned(), names);
    }
}

/// Names the variants of several databases or files after their files.
fn name_paths(experiment: &mut Experiment) {
    for factor in ["database", "scripts", "engine"] {
        let levels = experiment.factors.get(factor).into_iter().flatten();
        let paths: Vec<String> = levels.map(Level::to_string).collect();
        let names = paths.iter().map(|path| (path.clone(), short_name(path, &paths)));
        let names: BTreeMap<String, String> = names.collect();
        if names.keys().any(|name| name.contains('/')) {
            experiment.labels.0.insert(factor.to_owned(), names);
        }
    }
}

/// Returns the shortest end of a path that is the end of none of the others.
pub(crate) fn short_name(path: &str, all: &[String]) -> String {
    let mut starts = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
    let is_own =
        |end: &&str| all.iter().filter(|other| other.ends_with(&format!("/{end}"))).count() == 1;
    starts.rfind(is_own).unwrap_or(path).to_owned()
}

/// Adds a variant for each index.
fn add_indexes(subject: &Subject, experiment: &mut Experiment) -> Result<()> {
    const FACTOR: &str = "schema_change";
    let indexes = &subject.indexes;
    if indexes.is_empty() {
        return Ok(());
    }
    if experiment.factors.contains_key(FACTOR) || experiment.base.contains_key(FACTOR) {
        return Err(Error::mistake("--index and the setting schema_change exclude one another"));
    }
    let mut names = BTreeMap::from([(String::new(), "without a new index".to_owned())]);
    let mut levels = vec![Level::Text(String::new())];
    for index in indexes {
        if !index.contains('(') {
            return Err(Error::mistake(format!("--index {index} names no columns")).hint(
                "name the table and the columns, such as 'orders(customer_id, created_at)'",
            ));
        }
        let words = index.split(|character: char| !character.is_alphanumeric() && character != '_');
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let sql = format!("CREATE INDEX \"new_{}\" ON {index}", words.join("_"));
        for database in &subject.databases {
            if let Some(why) = refusal(database, &sql)? {
                return Err(Error::mistake(format!("--index {index}: {why}")));
            }
        }
        names.insert(sql.clone(), format!("index {index}"));
        levels.push(Level::Text(sql));
    }
    experiment.labels.0.insert(FACTOR.to_owned(), names);
    add_factor(experiment, FACTOR, levels)
}

/// Returns why SQLite refuses a change of the schema, by the words of the statement alone: the database is only read, and nobody who
/// uses it notices. What is in a write-ahead log is not read that way, so a database with one is not asked.
fn refusal(database: &Path, sql: &str) -> Result<Option<String>> {
    let path = database.display().to_string();
    if std::fs::metadata(format!("{path}-wal")).is_ok_and(|log| log.len() > 0) {
        return Ok(None);
    }
    // A database that cannot be read is named where it is copied.
    let Ok(connection) = open_unlocked(database) else { return Ok(None) };
    let refused = connection.prepare(sql).err().filter(EngineError::is_not_understood);
    Ok(refused.map(|error| error.message()))
}

/// Refuses a database, or a file of data, in place of a file of SQL.
pub(crate) fn refuse_other_than_sql(file: &Path) -> Result<()> {
    const DATA: [&str; 5] = ["csv", "tsv", "json", "jsonl", "parquet"];
    let is_data = |end: &std::ffi::OsStr| DATA.iter().any(|known| end.eq_ignore_ascii_case(known));
    let word = shell_path(file);
    if file.extension().is_some_and(is_data) {
        return Err(Error::mistake(format!("{} is a file of data, not of SQL", file.display()))
            .hint(format!(
                "load it with `pragmark load {word} new.db`, and measure queries with --db new.db"
            )));
    }
    // A file that cannot be read is reported where it is needed.
    let Some(kind) = DatabaseKind::of(file) else { return Ok(()) };
    Err(Error::mistake(format!("{} is {}, not a file of SQL", file.display(), kind.name()))
        .hint(format!("name it with {} {word}", kind.option())))
}

/// Adds a factor, or a setting of all variants if it has one level.
fn add_factor(experiment: &mut Experiment, name: &str, levels: Vec<Level>) -> Result<()> {
    let twice = levels.iter().enumerate().find(|(at, level)| levels[..*at].contains(level));
    if let Some((_, level)) = twice {
        return Err(Error::mistake(format!("{level} is given twice")));
    }
    match levels.as_slice() {
        [] => {}
        [only] => {
            experiment.base.insert(name.to_owned(), only.clone());
        }
        [first, ..] => {
            experiment.design.baseline.insert(name.to_owned(), first.clone());
            experiment.factors.insert(name.to_owned(), levels);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_with_a_unit_gets_the_number_that_sqlite_takes() {
        let hint = |name: &str, size: &str| {
            hint_for_size(&format!("`{name}` cannot be \"{size}\"; it takes a whole number"))
        };
        assert!(hint("cache_size", "64MB").unwrap().ends_with("cache_size=-65536"));
        assert!(hint("cache_size", "512kb").unwrap().ends_with("cache_size=-512"));
        assert!(hint("mmap_size", "1GiB").unwrap().ends_with("mmap_size=1073741824"));
        assert_eq!((hint("clients", "4M"), hint("cache_size", "large")), (None, None));
    }

    #[test]
    fn files_are_named_as_shortly_as_tells_them_apart() {
        let name = |paths: [&str; 2]| {
            let paths = paths.map(str::to_owned);
            paths.clone().map(|path| short_name(&path, &paths)).join(" ")
        };
        assert_eq!(name(["/a/one.db", "/a/two.db"]), "one.db two.db");
        assert_eq!(name(["/a/x/q.sql", "/a/y/q.sql"]), "x/q.sql y/q.sql");
        assert_eq!(name(["/a/q.sql", "/q.sql"]), "a/q.sql /q.sql");
        assert_eq!(name(["default", "/usr/lib/libsqlite3.so"]), "default libsqlite3.so");
    }

    #[test]
    fn only_statements_that_look_alike_are_numbered() {
        let long = "SELECT 1".to_owned() + &" + 1".repeat(40);
        let all = ["SELECT 10", "SELECT 1", "SELECT  1", &long, &format!("{long} + 2")];
        let mut experiment = Experiment::default();
        let levels = all.map(|sql| Level::Text(sql.to_owned()));
        experiment.factors.insert("sql".to_owned(), levels.into());
        name_statements(&mut experiment);
        let names = all.map(|sql| experiment.labels.0["sql"][sql].as_str());
        assert_eq!(names[..3], ["SELECT 10", "SELECT 1", "SELECT 1 (2)"]);
        assert_eq!(names[4], format!("{} (2)", names[3]));
    }

    #[test]
    fn statements_that_end_with_a_comment_stay_apart() {
        let statements = ["SELECT 1 -- note", "SELECT 2;"].map(str::to_owned);
        let text = joined(&statements);
        assert_eq!(text, "SELECT 1 -- note\n;\nSELECT 2");
    }
}
