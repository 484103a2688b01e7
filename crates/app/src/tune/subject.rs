//! The subject of tuning: a workload, its settings now, and what is known of its statements.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lab::catalogue::Catalogue;
use lab::experiment::Experiment;
use lab::level::{Level, Settings, overlaid, picked};
use lab::plan::ad_hoc;
use lab::tuning_plan::Advice;
use trace::{Snapshot, Trace};

use super::{Goal, TuneRequest, check_goal, indexes};
use crate::error::Error;
use crate::explain::Statement;
use crate::explain::recorded::{by_database, statement};
use crate::files::{DatabaseKind, absolute_level, built_in_library, work_folder};
use crate::interface::Interface;
use crate::library;
use crate::measure::{check_replayable, refuse_other_than_sql, stand_in_setting};

/// pgbench's scripts.
const BUILT_IN: [&str; 3] = ["tpcb-like", "simple-update", "select-only"];

/// Trials of the current settings for which a script has time, if none is given.
const TRIALS: f64 = 500.0;

/// Executions of each of several statements in a trial, at least.
const ROUNDS: u32 = 3;

/// The shortest and the longest trial of a script where no time is given, in seconds.
const TRIAL_S: std::ops::RangeInclusive<f64> = 0.2..=10.0;

/// The subject of tuning.
pub(super) struct Subject {
    pub(super) experiment: Experiment,
    /// The settings that it is known to have now.
    pub(super) found: Settings,
    /// Size of the existing databases in bytes; `None` if every trial makes its own.
    pub(super) database_bytes: Option<u64>,
    /// Changes of the indexes of its database.
    pub(super) indexes: Vec<Advice>,
    /// The time in which each of its statements is executed once; zero if it is not known.
    round: Duration,
    /// Settings that mean nothing for its statements.
    pub(super) idle: Vec<&'static str>,
}

impl Subject {
    /// Finds out what is tuned.
    pub(super) fn of(
        request: &TuneRequest,
        catalogue: &Catalogue,
        ui: &dyn Interface,
    ) -> Result<Subject, Error> {
        let name = request.workload.as_str();
        let path = Path::new(name);
        let is_script = path.extension().is_some_and(|extension| extension == "sql");
        let is_file =
            path.is_file() && path.extension().is_none_or(|extension| extension != "toml");
        if !request.stand_ins.is_empty() && (is_script || !is_file) {
            return Err(Error::mistake("--stand-in applies to traces"));
        }
        if is_script || BUILT_IN.contains(&name) {
            return of_script(request, is_script.then_some(path));
        }
        if is_file && !matches!(DatabaseKind::of(path), Some(DatabaseKind::Trace)) {
            refuse_other_than_sql(path)?;
        }
        if request.database.is_some() {
            return Err(Error::mistake("--db applies to scripts (.sql)"));
        }
        if request.trial_s.is_some() {
            return Err(Error::mistake("--seconds applies to scripts (.sql, or pgbench's)").hint(
                "a trial of a trace replays all of it: `pragmark trace cut` makes a shorter one; of other workloads, --set gives the amount of work",
            ));
        }
        if is_file {
            return of_trace(request, path, ui);
        }
        let experiment = match catalogue.workload(name) {
            Some(_) => ad_hoc("tune", "", name, &catalogue.metric_of(name)),
            None => of_experiment(name, catalogue)?,
        };
        Ok(Subject::new(with_goal(request, experiment, None)?))
    }

    /// Makes a subject whose trials make their own databases.
    fn new(experiment: Experiment) -> Subject {
        Subject {
            experiment,
            found: Settings::new(),
            database_bytes: None,
            indexes: Vec::new(),
            round: Duration::ZERO,
            idle: Vec::new(),
        }
    }

    /// Takes what the database files keep: settings that connections were seen with count more. Files that differ in a
    /// setting have none in common.
    fn add_files(&mut self, files: &[PathBuf]) -> Result<(), Error> {
        let mut common: Option<Settings> = None;
        for file in files {
            let of_file = of_file(file)?;
            let length = std::fs::metadata(file).map_err(Error::unusable)?.len();
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
    /// database, which is changed. Indexes take at most half of the time limit, and at most 20 s, or a fifth of a limit below five minutes.
    fn look_at_plans(
        &mut self,
        request: &TuneRequest,
        copy: &Path,
        of: Vec<Statement>,
    ) -> Result<(), Error> {
        let statements: Vec<String> = of.iter().map(|statement| statement.sql.clone()).collect();
        self.idle = bench::idle_settings(copy, &statements)?;
        let limit_s = request.time_limit_s;
        let time =
            Duration::from_secs_f64((limit_s / 2.0).min(20.0).max((limit_s / 5.0).min(60.0)));
        let known = indexes::known(copy, &request.stand_ins, of, time)?;
        self.indexes.extend(known.advice);
        self.round = known.round;
        self.indexes.extend(bench::schema_advice(copy, &statements).map_err(Error::unusable)?);
        Ok(())
    }

    /// Makes trials so long that each statement is executed several times.
    fn lengthen_trials(&mut self, request: &TuneRequest) {
        let base = &mut self.experiment.base;
        if let Some(Level::Int(milliseconds)) = base.get_mut("stop_after_ms")
            && request.trial_s.is_none()
        {
            let rounds = (ROUNDS * self.round).min(Duration::from_secs_f64(*TRIAL_S.end()));
            *milliseconds = (*milliseconds).max(rounds.as_millis() as i64);
        }
    }

    fn may_be_written_anew(&self) -> bool {
        self.database_bytes.is_some_and(bench::may_be_written_anew)
    }
}

/// A script of the user's own on a copy of the database, or one of pgbench's.
fn of_script(request: &TuneRequest, path: Option<&Path>) -> Result<Subject, Error> {
    let mut experiment = ad_hoc("tune", "", "sql", "txns_per_s");
    let base = &mut experiment.base;
    base.insert("unit".to_owned(), "statement".into());
    match path {
        Some(path) => base.insert("scripts".to_owned(), absolute_level(path, "WORKLOAD")?),
        None => base.insert("builtin".to_owned(), request.workload.as_str().into()),
    };
    let trial_s = request
        .trial_s
        .unwrap_or_else(|| (request.time_limit_s / TRIALS).clamp(*TRIAL_S.start(), *TRIAL_S.end()));
    base.insert("stop_after_ms".to_owned(), Level::Int((trial_s * 1e3).ceil() as i64));
    if let Some(db) = &request.database {
        base.insert("database".to_owned(), absolute_level(db, "--db")?);
    }
    let mut subject = Subject::new(with_goal(request, experiment, Some("p50_us"))?);
    subject.add_files(request.database.as_slice())?;
    if path.is_none() && request.database.is_none() {
        let statements = bench::statements(&subject.experiment.base)?;
        let statements: Vec<String> =
            statements.into_iter().map(|(statement, _)| statement.sql).collect();
        subject.idle = bench::idle_settings_of_pgbench(&statements).map_err(Error::unusable)?;
    }
    if let Some(db) = request.database.as_ref().filter(|_| subject.may_be_written_anew()) {
        let statements = bench::statements(&subject.experiment.base)?;
        let folder = work_folder(directory(request))?;
        let copy = folder.path.join("copy.db");
        let copied = bench::copy_database(&built_in_library()?, db, &copy);
        copied.map_err(Error::unusable)?;
        let statements = statements.into_iter();
        let statements = statements.map(|(statement, weight)| Statement::of(statement, weight));
        subject.look_at_plans(request, &copy, statements.collect())?;
        subject.lengthen_trials(request);
    }
    Ok(subject)
}

/// The recorded traffic of an application, with the settings of most of its connections.
fn of_trace(request: &TuneRequest, path: &Path, ui: &dyn Interface) -> Result<Subject, Error> {
    check_replayable(path, &request.stand_ins, ui)?;
    let mut experiment = ad_hoc("tune", "", "replay", "txns_per_s");
    experiment.base.insert("trace".to_owned(), absolute_level(path, "WORKLOAD")?);
    experiment.base.extend(stand_in_setting(&request.stand_ins));
    let library = built_in_library()?;
    let trace = Trace::open(&library, path).map_err(Error::unusable)?;
    let mut subject = Subject::new(with_goal(request, experiment, Some("seconds"))?);
    let current = trace.most_common_settings_of_files();
    for setting in current.map_err(Error::unusable)? {
        let level = bench::level_of_setting(&setting.name, &setting.value);
        subject.found.insert(setting.name, level);
    }
    let folder = work_folder(directory(request))?;
    let databases = restored(&trace, &folder.path)?;
    subject.add_files(&databases)?;
    if let [only] = &databases[..]
        && subject.may_be_written_anew()
    {
        subject.look_at_plans(request, only, recorded(&trace)?)?;
    }
    Ok(subject)
}

/// Where trials have their databases, and so room for copies of them.
fn directory(request: &TuneRequest) -> &Path {
    request.directories.first().map_or(Path::new("."), PathBuf::as_path)
}

/// Returns the statements of a trace that have a plan, with their executions and the values of the latest one.
fn recorded(trace: &Trace) -> Result<Vec<Statement>, Error> {
    let analysis = trace.analysed()?;
    let mut all = Vec::new();
    for (number, usage) in by_database(trace, &analysis)?.into_values().flatten() {
        let mut statement = statement(trace, number, usage)?;
        statement.name = script::effect::label(&usage.sql);
        all.push(statement);
    }
    Ok(all)
}

/// The databases of a trace as they were when recording began, in a folder.
fn restored(trace: &Trace, folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let snapshots = trace.snapshots().map_err(Error::unusable)?;
    let taken = snapshots.iter().filter(|snapshot| snapshot.state == "taken");
    let restore = |snapshot: &Snapshot| {
        let path = folder.join(snapshot.id.to_string());
        trace.restore(snapshot.id, &path).map_err(Error::unusable)?;
        Ok(path)
    };
    taken.map(restore).collect()
}

/// The workload, base and metric of an experiment.
fn of_experiment(name: &str, catalogue: &Catalogue) -> Result<Experiment, Error> {
    let mut named = library::named(&[name.to_owned()], catalogue)?;
    let found = named.pop().ok_or_else(|| Error::mistake("no experiment is named"))?;
    let mut experiment = ad_hoc("tune", "", &found.workload, &found.metric);
    let scaled = found.scale.get(&lab::experiment::Scale::Default);
    // Settings of SQLite are what is searched; those of the baseline are not the user's.
    experiment.base = overlaid(&found.base, scaled.unwrap_or(&Settings::new()));
    let of_workload = |name: &String| {
        let workload = catalogue.workload(&found.workload);
        workload.is_some_and(|workload| {
            workload.parameters.iter().any(|parameter| parameter.name == *name)
        })
    };
    experiment.base.extend(lab::level::picked(&found.design.baseline, of_workload));
    Ok(experiment)
}

/// Returns the experiment with the metric of the goal, which the question names, and another one for the reader.
///
/// # Errors
/// The work has no such figure.
fn with_goal(
    request: &TuneRequest,
    mut experiment: Experiment,
    other: Option<&str>,
) -> Result<Experiment, Error> {
    check_goal(request, &experiment)?;
    let has_several = experiment.workload == "sql" && bench::has_several_scripts(&experiment.base);
    let usual = if has_several { Goal::Latency } else { Goal::Throughput };
    let metric = match request.goal.unwrap_or(usual) {
        Goal::Throughput => experiment.metric.clone(),
        Goal::Latency if has_several => "typical_us".to_owned(),
        Goal::Latency => "p50_us".to_owned(),
        Goal::P99 => "p99_us".to_owned(),
        Goal::Size => "db_bytes".to_owned(),
        Goal::Cpu => "cpu_user_s".to_owned(),
    };
    let also = [Some(experiment.metric.as_str()), other, Some("p99_us"), Some("db_bytes")];
    let limited = request.limits.iter().map(|limit| limit.metric.as_str());
    let also = also.into_iter().flatten().chain(limited).filter(|name| *name != metric);
    experiment.secondary_metrics = lab::level::distinct(also.map(str::to_owned));
    experiment.question = question(&metric);
    experiment.metric = metric;
    Ok(experiment)
}

/// Returns the question, which names what is compared.
fn question(metric: &str) -> String {
    let heading = lab::metric::find(metric).map_or(metric, |metric| metric.heading);
    let is_word = heading.chars().skip(1).take(2).all(char::is_lowercase);
    let (first, rest) = heading.split_at(usize::from(is_word));
    let best = if lab::metric::higher_is_better(metric) { "most" } else { "lowest" };
    let first = first.to_lowercase();
    format!("Which settings of SQLite give this workload the {best} {first}{rest}?")
}

/// The settings that a database file keeps, by its header (<https://sqlite.org/fileformat2.html>, section 1.3).
fn of_file(path: &Path) -> Result<Settings, Error> {
    bench::is_in_wal_mode(path)?;
    let mut header = [0; 100];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut header));
    read.map_err(|error| Error::reading(path, error))?;
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

#[cfg(test)]
mod tests {
    use engine::{Connection, OpenFlags};

    use super::*;

    #[test]
    fn the_question_names_what_is_compared() {
        let end =
            |metric: &str| question(metric).split_once("give this workload ").unwrap().1.to_owned();
        assert_eq!(end("txns_per_s"), "the most transactions per second?");
        assert_eq!(end("typical_us"), "the lowest typical latency?");
        assert_eq!(end("cpu_user_s"), "the lowest CPU time, user?");
        assert_eq!(end("mib_per_s"), "the most MiB per second?");
    }

    #[test]
    fn the_header_of_a_file_tells_the_settings_that_it_keeps() {
        let folder = tempfile::tempdir().unwrap();
        let library = built_in_library().unwrap();
        for (number, (page_size, auto_vacuum, journal_mode)) in
            [(4096, "none", "delete"), (65_536, "full", "wal"), (512, "incremental", "delete")]
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
