//! Recorded traffic of an application, replayed on copies of its databases.
//!
//! Before the clock starts, the calls of the trace are written to a spool, and a plan is made of them. Then threads read the
//! spool and execute the statements with their recorded values, as far as the application stepped, on connections that are
//! opened and closed as they were. Each statement is compared with the recording by its rows and errors, and each database by
//! its content at the end: if statements are replayed in order, a replay that ends in another state has failed, however fast
//! it was.
//!
//! The parameters of `replay`.

mod calls;
mod coverage;
mod end_state;
mod executor;
mod figures;
mod outcome;
mod plan;
mod processes;
mod progress;
pub(super) mod source;
mod spool;

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use engine::{EngineError, Library, Source, StandIn, locked, unlocked};
use lab::measures::{Measures, REPLAY};
use trace::{Call, Trace};

use self::calls::CallWriter;
use self::coverage::Coverage;
use self::end_state::EndState;
use self::executor::{Options, Shared, execute_threads};
use self::figures::Totals;
use self::outcome::DifferenceGroup;
use self::plan::{Commits, Plan};
use self::processes::ProcessSpec;
use self::progress::Progress;
use self::source::Recording;
use super::preparation::apply_file_settings;
use crate::drive::parameters::{FILES_OF_OWN_SQL, Workers, open_files};
use crate::measure::peak_memory_bytes;
use crate::parameters::{FilePath, Percent, SqlText};
use crate::platform::allow_open_files;
use crate::workload::prelude::*;
use crate::workload::preparation::Preparation;

pub use self::coverage::{causes_first, missing_object, options_for};
pub use self::processes::work;

/// The workload `replay`.
pub(super) struct Replay;

impl Declared for Replay {
    const NAME: &'static str = REPLAY;
    const METRIC: &'static str = "txns_per_s";
    const MEASURES: Measures = Measures::Replay;
    const ABOUT: &'static str = "Recorded traffic of an application, replayed on copies of its databases: a trace of `pragmark record`. Statements have their recorded values and are compared with the recording.";
    const CHECKED_FIRST: bool = true;
    type Parameters = Parameters;

    fn check(parameters: &Parameters, settings: &Settings) -> Result<()> {
        if settings.get("locking_mode").and_then(Level::as_text) == Some("exclusive") {
            return Err(TrialError::cannot_run(
                "locking_mode = exclusive keeps other recorded connections out",
            ));
        }
        Recording::check(parameters.trace()?)
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured> {
        let settings = with_busy_timeout(trial.settings);
        stand_in(&trial.library, &parameters.stand_in)?;
        let replayed = Trial {
            seed: trial.seed,
            counter: trial.counter.clone(),
            ..Trial::detached(&settings, &trial.library, trial.directory)
        };
        (trial.phase)("load");
        let replay = PreparedReplay::new(&replayed, parameters)?;

        (trial.phase)("work");
        let mut measured = Measured::default();
        let totals = replay.execute(&mut measured)?;
        let after = replay.recording.database_bytes()?;
        set(&mut measured, "db_bytes", after);
        set(&mut measured, "growth_bytes", after - replay.bytes);

        (trial.phase)("verify");
        let end = replay.compare_end()?;
        let mut accepted = None;
        if parameters.mode != Mode::Free {
            match replay.verify(&totals, &end) {
                Err(why) if parameters.accept_divergence => accepted = Some(why),
                verified => verified?,
            }
        }
        figures::note_times(&totals, &mut measured)?;
        replay.note_agreement(&totals, &end, &mut measured);
        measured.tables.extend(figures::accepted_table(accepted));
        replay.note_statements(&totals, &mut measured)?;
        measured.sets_itself = replay.recording.set_by_statements();
        Ok(measured)
    }
}

/// Everything that has to be known before the clock starts.
struct PreparedReplay<'t> {
    trial: &'t Trial<'t>,
    parameters: &'t Parameters,
    recording: Recording,
    coverage: Coverage,
    plan: Plan,
    /// The statements that are reported apart, with one of the texts of each.
    slowest: Vec<(i64, String)>,
    /// The size of the databases.
    bytes: f64,
}

impl<'t> PreparedReplay<'t> {
    fn new(trial: &'t Trial<'t>, parameters: &'t Parameters) -> Result<PreparedReplay<'t>> {
        let path = parameters.trace()?;
        let trace = source::open(path)?;
        let mut recording = Recording::read(&trace, path, trial.directory)?;
        recording.confine(trial.settings);
        let bytes = parameters.prepare_databases(trial, &recording)?;
        let mut writer = CallWriter::create(&trial.directory.join("replay-calls.tape"))?;
        survey(&trace, &mut recording, |call| writer.add(call))?;
        let calls = writer.finish()?;
        let coverage = coverage::examine(trial, &mut recording)?;
        coverage.check(parameters.coverage)?;
        let commits = Commits {
            begun: recording.meta.tickets.max(0) as u64,
            further: recording.further_commits.clone(),
            waiting: recording.waiting(),
        };
        for database in recording.databases.iter().filter(|database| database.path.exists()) {
            // The first commit of the work does not wait for the snapshot to be written.
            let synced = File::open(&database.path).and_then(|file| file.sync_all());
            synced.map_err(TrialError::io("sync", &database.path))?;
        }
        let processes = processes_of(&recording, parameters.workers);
        Ok(PreparedReplay {
            trial,
            parameters,
            plan: plan::plan(calls, &commits, &processes, trial.directory)?,
            slowest: figures::slowest(&recording, parameters.statements),
            recording,
            coverage,
            bytes,
        })
    }

    /// Executes all threads of the plan and notes the resources that they used.
    fn execute(&self, measured: &mut Measured) -> Result<Totals> {
        let PreparedReplay { trial, parameters, .. } = self;
        let threads = self.plan.threads.len();
        allow_open_files(open_files(threads as u64, FILES_OF_OWN_SQL))?;
        let progress = (parameters.mode != Mode::Free).then(|| Progress::new(threads));
        let progress = progress.transpose().map_err(TrialError::because)?;
        // A counting trial has no latencies, and so may have very many statements.
        let timed = self.slowest.iter().filter(|_| trial.counter.is_none());
        let options = Options {
            progress: progress.map(Arc::new),
            speed: (parameters.mode == Mode::Paced).then_some(parameters.speed as f64 / 100.0),
            timed: timed.map(|(form, _)| *form).collect(),
        };
        let totals = match parameters.workers {
            Workers::Threads => self.execute_by_threads(options, measured)?,
            Workers::Processes => {
                let specs = self.process_specs(parameters.trace()?, &options)?;
                let executed = processes::execute(&specs, measured);
                // This process has planned the replay.
                if let Some(bytes) = peak_memory_bytes() {
                    add(measured, "peak_memory_bytes", bytes);
                }
                executed?
            }
        };
        measured.connections.clone_from(&totals.summary.connections);
        Ok(totals)
    }

    fn execute_by_threads(&self, options: Options, measured: &mut Measured) -> Result<Totals> {
        let threads = self.plan.threads.len();
        if threads > 1 {
            refuse_single_threaded(self.trial)?;
        }
        let shared = Shared::new(self.trial, &self.recording, &self.plan, options)?;
        let (summary, elapsed) = execute_threads(&shared, (0..threads).collect(), |gate| {
            let watch = gate.start_clock()?;
            gate.wait_until_done();
            let elapsed = watch.stop()?;
            if let Some(counts) = &mut *locked(&shared.counts) {
                counts.pause(&[])?;
            }
            gate.dismiss();
            Ok(elapsed)
        })?;
        *measured = elapsed.times();
        if let Some(counts) = unlocked(shared.counts) {
            measured.metrics.extend(counts.metrics);
        }
        set_peak_memory(measured);
        Ok(Totals { times: unlocked(shared.times), summary, seconds: elapsed.seconds })
    }

    fn process_specs(&self, trace: &Path, options: &Options) -> Result<Vec<ProcessSpec>> {
        let trial = self.trial;
        let threads = &self.plan.threads;
        let last = threads.iter().map(|thread| thread.process).max().unwrap_or(0);
        let spec = |process: usize| {
            let own = threads.iter().enumerate().filter(|(_, thread)| thread.process == process);
            let threads: Vec<usize> = own.map(|(number, _)| number).collect();
            Ok(ProcessSpec {
                settings: trial.settings.clone(),
                engine: trial.engine_name(),
                trace: trace.to_owned(),
                directory: trial.directory.to_owned(),
                parent: std::process::id(),
                left_out: self.recording.left_out.clone(),
                plan: self.plan.part(&threads)?,
                threads,
                progress: options.progress.as_ref().map(|progress| progress.path().to_owned()),
                speed: options.speed,
                timed: options.timed.clone(),
                counting: trial.counter.is_some(),
            })
        };
        (0..=last).map(spec).collect()
    }

    /// Compares the databases with the end of the recording.
    fn compare_end(&self) -> Result<EndState> {
        let version = &self.trial.library.identity().version;
        let changed = self.parameters.preparation.changes_schema();
        end_state::compare(&self.recording, self.plan.cut, version, changed)
    }

    /// Refuses a replay in order that did something else than the recording.
    fn verify(&self, totals: &Totals, end: &EndState) -> Result<()> {
        let groups = totals.summary.differences.groups();
        let first = groups.iter().take(3).map(|DifferenceGroup { count, first }| {
            let text = self.recording.texts.get(&first.statement);
            let sql = text.map_or("", |text| &text.sql);
            let more = if *count > 1 { format!(" ({count} such)") } else { String::new() };
            format!("event {} {}{more}: {sql}", first.event, first.what)
        });
        let first: Vec<String> = first.collect();
        let divergences = if first.is_empty() {
            "; every replayed statement did the same as in the recording".to_owned()
        } else {
            format!("; first divergences: {}", first.join("; "))
        };
        const ACCEPT: &str = "to measure it anyway: --set accept_divergence=true";
        let cause = self.cause(&groups, end);
        if !end.differing.is_empty() {
            return Err(TrialError::Failed(format!(
                "the replay ends with another content than the recording: {}{cause}{divergences}; {ACCEPT}",
                end.words()
            )));
        }
        let agreement = totals.summary.agreement();
        let least = self.parameters.coverage;
        if agreement < least as f64 {
            return Err(TrialError::Failed(format!(
                "{agreement:.1} % of the statements do the same as in the recording, less than {least} %{cause}{divergences}; {ACCEPT}"
            )));
        }
        Ok(())
    }

    /// Names the likely cause of differences from the recording.
    fn cause(&self, groups: &[&DifferenceGroup], end: &EndState) -> String {
        let by_chance = end.left_out.iter().filter(|(_, why)| why == end_state::BY_CHANCE);
        let by_chance: Vec<&str> = by_chance.map(|(table, _)| table.as_str()).collect();
        if self.recording.is_incomplete() {
            "; statements are missing in the recording, as `pragmark trace` says".to_owned()
        } else if !self.trial.library.stand_ins().is_empty() {
            "; stand-ins may compute other values than the application did".to_owned()
        } else if end.differing.is_empty() && !by_chance.is_empty() {
            format!("; chance or the present time wrote {}", by_chance.join(", "))
        } else if groups.is_empty() || groups.iter().any(|group| group.first.lacks_a_table()) {
            "; something else wrote, too: a backup, SQLite's interface for blobs, or a program that was not recorded".to_owned()
        } else {
            other_version(&self.recording, &self.trial.library.identity().version)
        }
    }

    /// Notes how much was replayed, and how much of it did the same as in the recording.
    fn note_agreement(&self, totals: &Totals, end: &EndState, measured: &mut Measured) {
        set(measured, "coverage_percent", self.coverage.percent());
        set(measured, "coverage_time_percent", self.coverage.time_percent());
        set(measured, "agreement_percent", totals.summary.agreement());
        set(measured, "divergences", totals.summary.differences.count as f64);
        if end.unknown.is_empty() {
            set(measured, "differing_tables", end.differing.len() as f64);
        }
        set(measured, "recorded_s", self.recording.survey.seconds());
        let tables = [
            figures::stand_in_table(self.trial.library.stand_ins()),
            figures::end_table(end),
            figures::missing_table(&self.coverage),
            figures::divergence_table(totals, &self.recording),
        ];
        measured.tables = tables.into_iter().filter(|table| !table.rows.is_empty()).collect();
    }

    /// Notes figures and plans of single statements, once the tables of the recording exist.
    fn note_statements(&self, totals: &Totals, measured: &mut Measured) -> Result<()> {
        let first = self.recording.databases.first();
        let connection = first.map(|database| sqlite::open(self.trial, &database.path));
        let connection = connection.transpose()?;
        figures::note_statements(totals, &self.slowest, connection.as_ref(), measured);
        connection.map_or(Ok(()), |connection| Ok(connection.close()?))
    }
}

/// Visits all calls of a trace once, each with the file of the trial if it attaches one. Notes them in its survey.
fn survey(
    trace: &Trace,
    recording: &mut Recording,
    mut visit: impl FnMut(&Call) -> Result<()>,
) -> Result<()> {
    trace.for_each_call(|mut call| {
        recording.bind_attached(&mut call);
        recording.survey.note(recording.fate_by_itself(&call), &call);
        visit(&call)
    })
}

/// Checks whether a trace can be replayed. Fails for a file that is not a trace, has another version, is redacted, or lacks the
/// snapshot of a database.
///
/// # Errors
/// Why it cannot be replayed.
pub fn check_trace(path: &Path) -> Result<()> {
    Recording::check(path)
}

/// Returns the functions and other objects of the application that the statements of a trace need and that the built-in SQLite
/// lacks even with these stand-ins, with the number of statements that need each. The databases are restored into an empty
/// directory.
///
/// # Errors
/// As [`check_trace`]; a database cannot be restored; a stand-in is invalid or not needed.
pub fn missing_in_trace(
    path: &Path,
    directory: &Path,
    stand_ins: &str,
) -> Result<BTreeMap<String, u64>> {
    let settings = Settings::new();
    let trace = source::open(path)?;
    let mut recording = Recording::read(&trace, path, directory)?;
    recording.confine(&settings);
    survey(&trace, &mut recording, |_| Ok(()))?;
    let confined = recording.left_out.clone();
    let mut examined = |used: &str| {
        let library = Arc::new(Library::load(&Source::Embedded)?);
        stand_in(&library, used)?;
        recording.left_out.clone_from(&confined);
        let trial = Trial::detached(&settings, &library, directory);
        Ok::<_, TrialError>(coverage::examine(&trial, &mut recording)?.missing)
    };
    // A statement may need several objects, and SQLite names one of them: more come to light with stand-ins for these.
    let mut examined_whole = |mut used: String| {
        let mut found = examined(&used)?;
        let mut missing = found.clone();
        loop {
            let more = coverage::suggested(missing.keys());
            let more = more.iter().map(|stand_in| format!("{stand_in}\n"));
            let is_new = |line: &String| !used.lines().any(|known| known == line.trim_end());
            let more: String = more.filter(is_new).collect();
            if more.is_empty() {
                return Ok::<_, TrialError>(found);
            }
            used.push_str(&more);
            missing = examined(&used)?;
            for (what, calls) in missing.iter().filter(|(what, _)| coverage::can_be_stood_in(what))
            {
                found.entry(what.clone()).or_insert(*calls);
            }
        }
    };
    let own = StandIn::parse(stand_ins).map_err(mistaken)?;
    let all = examined_whole(String::new())?;
    let needed = coverage::needed(&own, &all)?;
    if own.is_empty() {
        return Ok(all);
    } else if let Some(StandIn { name, .. }) = own.iter().find(|one| !needed.contains(one)) {
        return Err(TrialError::Mistake(not_needed(path, name, &all)));
    }
    examined_whole(own.iter().map(|one| format!("{one}\n")).collect())
}

fn not_needed(path: &Path, name: &str, missing: &BTreeMap<String, u64>) -> String {
    let needed = missing.keys().filter(|what| coverage::can_be_stood_in(what));
    let needed: Vec<&str> = needed.map(String::as_str).collect();
    let needed = if needed.is_empty() { "none".to_owned() } else { needed.join(", ") };
    format!("{} needs no stand-in for {name}; it needs {needed}", path.display())
}

/// Gives a library the stand-ins of a setting.
///
/// # Errors
/// They are invalid.
pub(super) fn stand_in(library: &Arc<Library>, stand_ins: &str) -> Result<()> {
    library.stand_in(stand_ins).map_err(mistaken)
}

fn mistaken(error: EngineError) -> TrialError {
    TrialError::Mistake(error.to_string())
}

/// Returns the process of each connection, if each process has threads of its own.
fn processes_of(recording: &Recording, workers: Workers) -> HashMap<i64, i64> {
    let connections = recording.connections.values().filter(|_| workers == Workers::Processes);
    connections.map(|connection| (connection.id, connection.process)).collect()
}

/// Says that the application used another version than the replay, which may explain other values.
fn other_version(recording: &Recording, version: &str) -> String {
    match recording.versions.iter().find(|recorded| *recorded != version) {
        Some(recorded) => format!(
            "; the application used SQLite {recorded}, this is {version}, and versions may compute other values, such as the \
             last digits of sums: --engine chooses one"
        ),
        None => String::new(),
    }
}

choice! {
    /// In which order statements are replayed.
    enum Mode {
        /// Transactions that write one after the other in the recorded order, everything else as soon as what had
        /// ended before it in the recording has ended; the database ends as in the recording.
        Ordered = "ordered",
        /// As ordered, with the recorded pauses between statements.
        Paced = "paced",
        /// In the order of each connection alone: connections meet as chance has it.
        Free = "free",
    }
}

/// Busy timeout of a replay in milliseconds, unless a variant sets another.
const BUSY_TIMEOUT_MS: i64 = 60_000;

parameters! {
    /// The parameters of one trial.
    #[derive(Clone, Debug)]
    struct Parameters {
        /// Trace of an application, as `pragmark record` writes it.
        trace: Option<FilePath> = None;
        preparation: Preparation;
        /// Stand-ins for collations and functions that only the application has, a line each: NAME=COLLATION (binary, nocase or
        /// rtrim) or NAME=EXPRESSION, in which ?1, ?2 and so on are the arguments.
        stand_in: SqlText = "";
        /// In which order statements are replayed.
        mode: Mode = Mode::Ordered;
        /// Whether connections are threads of one process, or belong to as many processes as in the recording.
        workers: Workers = Workers::Threads;
        /// Speed of the pauses of mode = paced, in percent of the recording's.
        speed as "speed_percent": Percent = 100, 1..=1_000;
        /// Statements that must be replayable for a measurement, in percent of their number and of their time; when
        /// they are replayed in order, as many must do the same as in the recording.
        coverage as "min_coverage": Percent = 95, 0..=100;
        /// Whether to measure a replay in order even if it diverges from the recording. The report marks its figures.
        accept_divergence: bool = false;
        /// Statements whose figures are reported apart: those that took the most time in the recording.
        statements: usize = 20, 0..=100_000;
    }
}

impl Parameters {
    /// Applies the settings of the variant to the databases. Changes that a variant makes once are made to databases that existed
    /// when recording began. Returns the size of all databases.
    fn prepare_databases(&self, trial: &Trial<'_>, recording: &Recording) -> Result<f64> {
        let had_tables = recording.databases.iter().any(|database| database.path.exists());
        let change = self.preparation.schema_change.as_deref().unwrap_or_default();
        if !change.is_empty() && !had_tables {
            return Err(TrialError::cannot_run(
                "schema_change comes too early: the recording begins before the application makes its tables",
            ));
        }
        for database in &recording.databases {
            if database.path.exists() {
                apply_file_settings(&trial.library, trial.settings, &database.path)?;
                self.preparation.apply(&trial.library, &database.path)?;
            }
            let connection = sqlite::open(trial, &database.path)?;
            connection.query_i64("SELECT count(*) FROM sqlite_master")?;
            connection.close()?;
        }
        recording.database_bytes()
    }

    /// Returns the path of the trace.
    ///
    /// # Errors
    /// No trace is named.
    pub(super) fn trace(&self) -> Result<&Path> {
        let trace = self.trace.as_deref().map(Path::new);
        trace.ok_or_else(|| TrialError::cannot_run("trace names no trace of an application"))
    }
}

/// Returns the settings of a trial with the busy timeout of a replay, because the application's belongs to its own waits.
pub(super) fn with_busy_timeout(settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    settings.entry("busy_timeout".to_owned()).or_insert(BUSY_TIMEOUT_MS.into());
    settings
}

#[cfg(test)]
mod tests;
