//! Recorded traffic of an application, replayed on copies of its databases.
//!
//! The trace is read whole, and a plan made of it, before the clock starts. Then threads execute the statements with
//! their recorded values, as far as the application stepped, on connections that are opened and closed as they were.
//! Each statement is compared with the recording by its rows and errors, and each database by its content at the end:
//! where statements are replayed in order, one that ends in another state has failed, however fast it was.

mod coverage;
mod ends;
mod figures;
mod lane;
mod outcome;
mod parameters;
mod plan;
pub(super) mod source;
mod turns;

use std::path::Path;
use std::sync::{Arc, Mutex};

use engine::{Library, Source};
use lab::level::Settings;
use lab::needs::Needs;
use lab::seed::Seed;
use lab::trial::Measured;

use self::ends::Ends;
use self::figures::Sum;
use self::lane::{Report, Shared};
use self::parameters::{Mode, Parameters};
use self::plan::{Commits, Plan};
use self::source::{Fate, Recording};
use self::turns::Turns;
use super::common::{Elapsed, refuse_single_threaded, set, set_peak_memory};
use super::team::together;
use super::{Declared, Trial};
use crate::descriptors::allow_open_files;
use crate::error::TrialError;
use crate::locks::{locked, unlocked};
use crate::target::sqlite::{self, Counts, Opening};

/// The workload `replay`.
pub(super) struct Replay;

/// File handles of a connection at most, and of the process besides.
const FILES_PER_CONNECTION: u64 = 6;
const OTHER_FILES: u64 = 64;

impl Declared for Replay {
    const NAME: &'static str = "replay";
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
        let mut recording = Recording::read(parameters.trace()?, trial.directory)?;
        recording.confine(&settings);
        let before = prepare(&trial, &recording)?;
        let coverage = coverage::examine(&trial, &mut recording)?;
        coverage.check(parameters.coverage)?;
        let plan = plan::plan(&recording.calls, &commits(&recording));

        (trial.phase)("work");
        let mut measured = Measured::default();
        let (elapsed, sum) = carry_out(&trial, parameters, &recording, &plan, &mut measured)?;
        note_sizes(&recording, before, &mut measured)?;

        (trial.phase)("verify");
        let ends = ends::compare(&recording, plan.cut, &trial.library.identity().version)?;
        if parameters.mode != Mode::Free {
            let other = other_version(&recording, &trial.library.identity().version);
            verify(&sum, &ends, (&recording, &other), parameters)?;
        }
        figures::note_times(&sum, &recording, elapsed.seconds, &mut measured)?;
        figures::note_agreement(&sum, &coverage, &ends, &recording, &mut measured);
        note_statements(&trial, &sum, &recording, parameters, &mut measured)?;
        measured.sets_itself = recording.set_by_statements();
        Ok(measured)
    }
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
    let trial = Trial {
        settings: &Settings::new(),
        library: Arc::new(Library::load(&Source::Embedded)?),
        directory,
        seed: Seed(0),
        counter: None,
        postgres: None,
        artifacts: None,
        phase: &mut |_| {},
    };
    let mut recording = Recording::read(path, directory)?;
    recording.confine(trial.settings);
    let coverage = coverage::examine(&trial, &mut recording)?;
    Ok(coverage.missing.into_iter().collect())
}

fn commits(recording: &Recording) -> Commits {
    Commits {
        begun: recording.meta.tickets.max(0) as u64,
        further: recording.further_commits.clone(),
        waiting: recording.waiting(),
    }
}

/// Applies the settings of the variant to the databases; how large they are then.
fn prepare(trial: &Trial<'_>, recording: &Recording) -> Result<f64, TrialError> {
    let mut size = 0.0;
    for database in &recording.databases {
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
    recording: &Recording,
    plan: &Plan,
    measured: &mut Measured,
) -> Result<(Elapsed, Sum), TrialError> {
    if plan.lanes.len() > 1 {
        refuse_single_threaded(trial)?;
    }
    allow_open_files(FILES_PER_CONNECTION * plan.lanes.len() as u64 + OTHER_FILES)?;
    let opening = Opening::of(trial);
    let calls = recording.calls.iter();
    let shared = Shared {
        recording,
        replayed: calls
            .map(|it| recording.fate(it) == Fate::Replayed)
            .collect(),
        opening: &opening,
        turns: (parameters.mode != Mode::Free).then(|| Arc::new(Turns::of(plan))),
        ends_early: !recording.sets("wal_autocheckpoint"),
        speed: (parameters.mode == Mode::Paced).then_some(parameters.speed as f64 / 100.0),
        counts: Mutex::new(Counts::of(trial.counter.as_ref(), &[])?),
    };
    let (reports, elapsed) = execute(plan, &shared)?;
    *measured = elapsed.times();
    if let Some(counts) = unlocked(shared.counts) {
        measured.metrics.extend(counts.finish());
    }
    set_peak_memory(measured);
    let read_back = reports.iter().filter_map(|report| report.read_back.clone());
    measured.connections = read_back.collect();
    Ok((elapsed, Sum::of(reports)))
}

fn execute(plan: &Plan, shared: &Shared<'_>) -> Result<(Vec<Report>, Elapsed), TrialError> {
    let lanes = plan.lanes.iter().enumerate().collect();
    together(
        lanes,
        |gate| {
            let watch = gate.start_clock()?;
            gate.wait_until_done();
            let elapsed = watch.stop()?;
            if let Some(counts) = &mut *locked(&shared.counts) {
                counts.pause(&[])?;
            }
            gate.dismiss();
            Ok(elapsed)
        },
        |(number, lane), gate| lane::execute(number, lane, shared, gate),
    )
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
    let first = sum.differences.iter().take(3).map(|difference| {
        let call = &recording.calls[difference.call];
        let text = recording.texts.get(&call.statement);
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
    match sum.agreement() < parameters.coverage as f64 {
        true => Err(TrialError::wrong(
            "the share of statements that do the same as in the recording",
            format!("{:.1} % ({divergences})", sum.agreement()),
            format!("{} % or more", parameters.coverage),
        )),
        false => Ok(()),
    }
}

/// Notes figures and plans of single statements, once the tables of the recording exist.
fn note_statements(
    trial: &Trial<'_>,
    sum: &Sum,
    recording: &Recording,
    parameters: &Parameters,
    measured: &mut Measured,
) -> Result<(), TrialError> {
    let first = recording.databases.first();
    let connection = first.map(|it| sqlite::open(trial, &it.path)).transpose()?;
    figures::note_statements(
        sum,
        recording,
        connection.as_ref(),
        parameters.statements,
        measured,
    )?;
    match connection {
        Some(connection) => Ok(connection.close()?),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
