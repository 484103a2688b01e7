//! Recorded traffic of an application, replayed on copies of its databases.
//!
//! Before the clock starts, the calls of the trace are written to a tape, and a plan is made of them. Then threads read
//! the tape and execute the statements with
//! their recorded values, as far as the application stepped, on connections that are opened and closed as they were.
//! Each statement is compared with the recording by its rows and errors, and each database by its content at the end:
//! where statements are replayed in order, one that ends in another state has failed, however fast it was.

mod coverage;
mod ends;
mod figures;
mod lane;
mod memory;
mod message;
mod outcome;
mod parameters;
mod plan;
mod processes;
pub(super) mod source;
mod survey;
mod tape;
mod times;
mod turns;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use engine::{Library, Source};
use lab::level::Settings;
use lab::measures::{Measures, REPLAY};
use lab::needs::Needs;
use lab::trial::Measured;
use trace::{Call, Trace};

use self::coverage::Coverage;
use self::ends::Ends;
use self::figures::Sum;
use self::lane::Shared;
use self::message::{Part, Summary};
use self::parameters::{Mode, Parameters};
use self::plan::{Commits, Plan};
use self::source::Recording;
use self::survey::Survey;
use self::tape::{Recorded, Take};
use self::times::Times;
use self::turns::Turns;
use super::common::{Elapsed, add, refuse_single_threaded, set, set_peak_memory};
use super::contention::crew::engine_name;
use super::contention::parameters::Workers;
use super::shaping;
use super::{Declared, Trial};
use crate::descriptors::allow_open_files;
use crate::error::TrialError;
use crate::locks::{locked, unlocked};
use crate::measure::peak_memory_bytes;
use crate::target::sqlite::{self, Counts, Opening};

pub use self::processes::work;

/// The workload `replay`.
pub(super) struct Replay;

/// File handles of a connection at most, and of the process besides.
const FILES_PER_CONNECTION: u64 = 6;
const OTHER_FILES: u64 = 64;

impl Declared for Replay {
    const NAME: &'static str = REPLAY;
    const MEASURES: Measures = Measures::Replay;
    const ABOUT: &'static str = "Recorded traffic of an application, replayed on copies of its databases: a trace of `pragmark record`. Statements have their recorded values and are compared with the recording.";
    const CHECKED_FIRST: bool = true;
    type Parameters = Parameters;

    fn check(parameters: &Parameters, settings: &Settings) -> Result<(), TrialError> {
        parameters.check(settings)
    }

    fn needs(_: &Parameters, _: &Settings) -> Needs {
        Needs::default()
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured, TrialError> {
        let settings = parameters::with_patience(trial.settings);
        let trial = Trial {
            settings: &settings,
            library: trial.library.clone(),
            directory: trial.directory,
            seed: trial.seed,
            counter: trial.counter.clone(),
            postgres: None,
            artifacts: None,
            phase: &mut *trial.phase,
        };
        (trial.phase)("load");
        let script = Script::prepare(&trial, parameters)?;

        (trial.phase)("work");
        let mut measured = Measured::default();
        let (elapsed, sum) = carry_out(&trial, parameters, &script, &mut measured)?;
        let Script { recording, survey, coverage, .. } = &script;
        note_sizes(recording, script.bytes, &mut measured)?;

        (trial.phase)("verify");
        let version = &trial.library.identity().version;
        let changed = parameters.shaping().changes_schema();
        let ends = ends::compare(recording, survey, script.plan.cut, version, changed)?;
        if parameters.mode != Mode::Free {
            let other = other_version(recording, version);
            verify(&sum, &ends, (recording, &other), parameters)?;
        }
        figures::note_times(&sum, elapsed.seconds, &mut measured)?;
        figures::note_agreement(&sum, coverage, &ends, (recording, survey), &mut measured);
        note_statements(&trial, &sum, &script, &mut measured)?;
        measured.sets_itself = recording.set_by_statements();
        Ok(measured)
    }
}

/// Everything that has to be known before the clock starts.
struct Script {
    recording: Recording,
    survey: Survey,
    coverage: Coverage,
    take: Take,
    plan: Plan,
    /// The statements that are reported apart, with one of the texts of each.
    slowest: Vec<(i64, String)>,
    /// The size of the databases.
    bytes: f64,
}

impl Script {
    fn prepare(trial: &Trial<'_>, parameters: &Parameters) -> Result<Script, TrialError> {
        let path = parameters.trace()?;
        let trace = source::open(path)?;
        let mut recording = Recording::read(&trace, path, trial.directory)?;
        recording.confine(trial.settings);
        let bytes = prepare(trial, parameters, &recording)?;
        let mut tape = Recorded::create(&trial.directory.join("replay-calls.tape"))?;
        let survey = survey(&trace, &mut recording, |call| tape.add(call))?;
        let take = tape.finish()?;
        let coverage = coverage::examine(trial, &mut recording, &survey)?;
        coverage.check(parameters.coverage)?;
        Ok(Script {
            plan: plan::plan(
                &take,
                &commits(&recording),
                &processes_of(&recording, parameters.workers),
                trial.directory,
            )?,
            slowest: figures::slowest(&recording, &survey, parameters.statements),
            recording,
            survey,
            coverage,
            take,
            bytes,
        })
    }
}

/// Passes all calls of a trace once, each with the file of the trial if it attaches one.
fn survey(
    trace: &Trace,
    recording: &mut Recording,
    mut visit: impl FnMut(&Call) -> Result<(), TrialError>,
) -> Result<Survey, TrialError> {
    let mut survey = Survey::default();
    trace.for_each_call(|mut call| {
        recording.bind_attached(&mut call);
        survey.note(recording, &call);
        visit(&call)
    })?;
    Ok(survey)
}

/// Whether a trace can be replayed at all: an error for a file that is none, is of another version, is redacted, or
/// lacks the snapshot of a database.
///
/// # Errors
/// Why it cannot be replayed.
pub fn check_trace(path: &Path) -> Result<(), TrialError> {
    Recording::check(path)
}

/// What the statements of a trace need that the built-in SQLite does not have, such as functions of the application, and
/// how many statements need it. The databases are restored into an empty directory.
///
/// # Errors
/// As [`check_trace`]; a database cannot be restored.
pub fn missing_in_trace(path: &Path, directory: &Path) -> Result<Vec<(String, u64)>, TrialError> {
    let settings = Settings::new();
    let library = Arc::new(Library::load(&Source::Embedded)?);
    let trial = Trial::detached(&settings, &library, directory);
    let trace = source::open(path)?;
    let mut recording = Recording::read(&trace, path, directory)?;
    recording.confine(trial.settings);
    let survey = survey(&trace, &mut recording, |_| Ok(()))?;
    let coverage = coverage::examine(&trial, &mut recording, &survey)?;
    Ok(coverage.missing.into_iter().collect())
}

/// By connection: its process, where each has one of its own.
fn processes_of(recording: &Recording, workers: Workers) -> HashMap<i64, i64> {
    let connections = recording.connections.values();
    let connections = connections.filter(|_| workers == Workers::Processes);
    connections.map(|it| (it.id, it.process)).collect()
}

fn commits(recording: &Recording) -> Commits {
    Commits {
        begun: recording.meta.tickets.max(0) as u64,
        further: recording.further_commits.clone(),
        waiting: recording.waiting(),
    }
}

/// Applies the settings of the variant to the databases; how large they are then. What is done once is done to those
/// that the recording did not begin without.
fn prepare(
    trial: &Trial<'_>,
    parameters: &Parameters,
    recording: &Recording,
) -> Result<f64, TrialError> {
    let mut size = 0.0;
    for database in &recording.databases {
        if database.path.exists() {
            shaping::fit(&trial.library, trial.settings, &database.path)?;
            let shaping = parameters.shaping();
            shaping.apply(&trial.library, &database.path)?;
        }
        let connection = sqlite::open(trial, &database.path)?;
        connection.query_i64("SELECT count(*) FROM sqlite_master")?;
        connection.close()?;
        size += sqlite::size(&database.path)?;
    }
    Ok(size)
}

/// Executes all lanes and notes what they used.
fn carry_out(
    trial: &Trial<'_>,
    parameters: &Parameters,
    script: &Script,
    measured: &mut Measured,
) -> Result<(Elapsed, Sum), TrialError> {
    let lanes = script.plan.lanes.len();
    allow_open_files(FILES_PER_CONNECTION * lanes as u64 + OTHER_FILES)?;
    let turns = (parameters.mode != Mode::Free).then(|| Turns::of(lanes));
    let turns = turns.transpose().map_err(TrialError::because)?;
    // A counting trial has no latencies, and so may have very many statements.
    let timed = script.slowest.iter().map(|(form, _)| *form);
    let timed = timed.filter(|_| trial.counter.is_none());
    let cast = Cast {
        turns: turns.map(Arc::new),
        speed: (parameters.mode == Mode::Paced).then_some(parameters.speed as f64 / 100.0),
        timed: timed.collect(),
    };
    let executed = match parameters.workers {
        Workers::Threads => by_threads(trial, script, cast, measured),
        Workers::Processes => by_processes(trial, parameters, script, cast, measured),
    };
    let (done, times, elapsed) = executed?;
    Ok((elapsed, Sum { times, done }))
}

/// What the lanes of all processes have in common.
struct Cast {
    /// None where connections are not held to the recorded order.
    turns: Option<Arc<Turns>>,
    /// What pauses are divided by; none where there are none.
    speed: Option<f64>,
    /// The normalised statements whose times are kept apart.
    timed: Vec<i64>,
}

fn by_threads(
    trial: &Trial<'_>,
    script: &Script,
    cast: Cast,
    measured: &mut Measured,
) -> Result<(Summary, Times, Elapsed), TrialError> {
    let lanes = script.plan.lanes.len();
    if lanes > 1 {
        refuse_single_threaded(trial)?;
    }
    let opening = Opening::of(trial)?;
    let _held = memory::hold(&opening, &script.recording)?;
    let shared = Shared {
        recording: &script.recording,
        take: &script.take,
        plan: &script.plan,
        opening: &opening,
        turns: cast.turns,
        ends_early: !script.recording.sets("wal_autocheckpoint"),
        speed: cast.speed,
        counts: Mutex::new(Counts::of(trial.counter.as_ref(), &[])?),
        times: Mutex::new(Times::of(cast.timed.into_iter())),
    };
    let (reports, elapsed) = processes::perform(&shared, (0..lanes).collect(), |gate| {
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
        measured.metrics.extend(counts.finish());
    }
    set_peak_memory(measured);
    let read_back = reports.iter().filter_map(|report| report.read_back.clone());
    measured.connections = read_back.collect();
    Ok((Summary::of(reports), unlocked(shared.times), elapsed))
}

fn by_processes(
    trial: &Trial<'_>,
    parameters: &Parameters,
    script: &Script,
    cast: Cast,
    measured: &mut Measured,
) -> Result<(Summary, Times, Elapsed), TrialError> {
    let lanes = &script.plan.lanes;
    let last = lanes.iter().map(|lane| lane.process).max().unwrap_or(0);
    let trace = parameters.trace()?;
    let part = |process: usize| {
        let own = lanes.iter().enumerate();
        let own = own.filter(|(_, lane)| lane.process == process);
        let own: Vec<usize> = own.map(|(number, _)| number).collect();
        let (plan, connections) = script.plan.index(&own);
        Part {
            settings: trial.settings.clone(),
            engine: engine_name(&trial.library),
            trace: trace.to_owned(),
            directory: trial.directory.to_owned(),
            parent: std::process::id(),
            left_out: script.recording.left_out.clone(),
            take: script.take.index(connections.into_iter()),
            plan,
            lanes: own,
            turns: cast.turns.as_ref().map(|turns| turns.path().to_owned()),
            speed: cast.speed,
            timed: cast.timed.clone(),
            counting: trial.counter.is_some(),
        }
    };
    let executed = processes::execute((0..=last).map(part).collect(), measured);
    set_own_peak_memory(measured);
    executed
}

/// Adds the memory of this process, which has planned the replay, to that of the others.
fn set_own_peak_memory(measured: &mut Measured) {
    if let Some(bytes) = peak_memory_bytes() {
        add(measured, "peak_memory_bytes", bytes);
    }
}

fn note_sizes(
    recording: &Recording,
    before: f64,
    measured: &mut Measured,
) -> Result<(), TrialError> {
    let mut size = 0.0;
    for database in &recording.databases {
        size += sqlite::size(&database.path)?;
    }
    set(measured, "db_bytes", size);
    set(measured, "growth_bytes", size - before);
    Ok(())
}

/// That the application used another version than the replay, which may explain other values; otherwise nothing.
fn other_version(recording: &Recording, version: &str) -> String {
    match recording.versions.iter().find(|it| *it != version) {
        Some(recorded) => format!(
            "; the application used SQLite {recorded}, this is {version}, and versions may compute other values, such as the \
             last digits of sums: --engine chooses one"
        ),
        None => String::new(),
    }
}

/// Refuses a replay in order that did something else than the recording.
fn verify(
    sum: &Sum,
    ends: &Ends,
    (recording, other_version): (&Recording, &str),
    parameters: &Parameters,
) -> Result<(), TrialError> {
    let first = sum.done.differences.first.iter().take(3).map(|difference| {
        let text = recording.texts.get(&difference.statement);
        let sql = text.map_or("", |text| &text.sql);
        format!("event {} {}: {sql}", difference.event, difference.what)
    });
    let first: Vec<String> = first.collect();
    let divergences = match first.is_empty() {
        true => String::new(),
        false => format!("; first divergences: {}", first.join("; ")),
    };
    if !ends.differing.is_empty() {
        return Err(TrialError::wrong(
            "the end state of the replay",
            format!("another ({}{divergences}{other_version})", ends.words()),
            "that of the recording",
        ));
    }
    match sum.done.agreement() < parameters.coverage as f64 {
        true => Err(TrialError::wrong(
            "the share of statements that do the same as in the recording",
            format!("{:.1} %{divergences}", sum.done.agreement()),
            format!("{} % or more", parameters.coverage),
        )),
        false => Ok(()),
    }
}

/// Notes figures and plans of single statements, once the tables of the recording exist.
fn note_statements(
    trial: &Trial<'_>,
    sum: &Sum,
    script: &Script,
    measured: &mut Measured,
) -> Result<(), TrialError> {
    let first = script.recording.databases.first();
    let connection = first.map(|it| sqlite::open(trial, &it.path)).transpose()?;
    figures::note_statements(sum, script.slowest.clone(), connection.as_ref(), measured);
    match connection {
        Some(connection) => Ok(connection.close()?),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
