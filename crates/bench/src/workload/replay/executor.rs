//! A thread of the replay: it opens recorded connections one after the other, executes their statements, and compares them with
//! the recording.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use engine::{Connection, EngineError, Library, OpenFlags, Statement, Step as Stepped, locked};
use script::effect::depends_on_chance;
use trace::{Call, Values};

use super::figures::{Times, Timing, TimingBuffer};
use super::outcome::{CallOutcome, Difference, Summary, has_parameters};
use super::plan::{Plan, Step, Steps};
use super::progress::Progress;
use super::source::{Fate, Recording};
use crate::drive::answers::AnswerDigest;
use crate::drive::messages::StatementCounters;
use crate::target::sqlite::{self, Counts, Opening};
use crate::workload::prelude::*;

/// The options of a replay that the threads of all processes share.
#[derive(Clone)]
pub(super) struct Options {
    /// The common progress; `None` if connections are not held to the recorded order.
    pub(super) progress: Option<Arc<Progress>>,
    /// The divisor of pauses; `None` without pauses.
    pub(super) speed: Option<f64>,
    /// The normalised statements whose times are kept apart.
    pub(super) timed: Vec<i64>,
}

/// Everything that the threads of a process share.
pub(super) struct Shared<'a> {
    recording: &'a Recording,
    plan: &'a Plan,
    opening: Opening,
    pub(super) options: Options,
    /// Whether a turn may end with the commit in a log, before the automatic checkpoint: not if the application decides
    /// when checkpoints are made.
    ends_early: bool,
    /// Whether numbers of changed rows are compared: versions of SQLite write the internal tables of a virtual one in other rows.
    compares_changes: bool,
    /// The counts of a counting trial.
    pub(super) counts: Mutex<Option<Counts>>,
    pub(super) times: Mutex<Times>,
}

impl<'a> Shared<'a> {
    /// # Errors
    /// A setting has a value that its PRAGMA does not take.
    pub(super) fn new(
        trial: &Trial<'_>,
        recording: &'a Recording,
        plan: &'a Plan,
        options: Options,
    ) -> Result<Shared<'a>> {
        Ok(Shared {
            recording,
            plan,
            opening: Opening::of(trial)?,
            ends_early: !recording.sets("wal_autocheckpoint"),
            compares_changes: recording.is_of_version(&trial.library.identity().version)
                || !recording.has_virtual_tables(&trial.library)?,
            counts: Mutex::new(Counts::of(trial.counter.as_ref(), &[])?),
            times: Mutex::new(Times::new(&options.timed)),
            options,
        })
    }
}

/// Executes the parts of some threads of the plan in threads of this process. Returns their summary, and the result of
/// `coordinate`, which lets them begin.
///
/// # Errors
/// The error of a thread or of `coordinate`.
pub(super) fn execute_threads<S>(
    shared: &Shared<'_>,
    threads: Vec<usize>,
    coordinate: impl FnOnce(&Gate) -> Result<S>,
) -> Result<(Summary, S)> {
    let _held = hold_memory(&shared.opening, shared.recording)?;
    let (summaries, coordinated) =
        run_threads(threads, coordinate, |thread, gate| execute(thread, shared, gate))?;
    let mut all = Summary::default();
    summaries.into_iter().for_each(|summary| all.add(summary));
    Ok((all, coordinated))
}

/// Executes the part of a thread. Fails if a connection cannot be opened or a spool cannot be read; everything else is a
/// difference.
fn execute(number: usize, shared: &Shared<'_>, gate: &Gate) -> Result<Summary> {
    let mut work = ThreadExecutor {
        number,
        shared,
        gate,
        steps: shared.plan.steps(number),
        pauses: Pauses::default(),
        timings: TimingBuffer::new(&shared.times),
        summary: Summary::default(),
    };
    let mut last = None;
    let mut file = None;
    let mut next = work.steps.step()?;
    if gate.pass().is_some() {
        while let Some(first) = next {
            close(last.take(), shared)?;
            file = shared.recording.database_of(first.1.connection).or(file);
            let Some(connection) = work.connection(first)? else { break };
            last = Some(connection);
            next = work.steps.step()?;
        }
    }
    work.timings.flush();
    let mut summary = work.summary;
    gate.wait_for_dismissal();
    let name = format!("connection {}", number + 1);
    if let Some(opened) = last.as_ref().filter(|opened| opened.has_settings) {
        if let Some(pages) = opened.pages {
            let restore = format!("PRAGMA wal_autocheckpoint = {pages}");
            opened.connection.execute(&restore)?;
        }
        summary.connections.push(sqlite::read_back(&name, &opened.connection)?);
    } else if let Some(database) = file {
        // The last connection was to a database in memory; one opened as those to files were has the same settings.
        let like_earlier = shared.opening.open_unproved(&database.path)?;
        summary.connections.push(sqlite::read_back(&name, &like_earlier)?);
        like_earlier.close()?;
    }
    close(last, shared)?;
    Ok(summary)
}

/// An open connection.
struct OpenConnection {
    connection: Connection,
    /// The turn that ends with the commit of the current statement; 0 for none.
    ending: Arc<AtomicU64>,
    /// Number of pages from which checkpoints are made, if the replay makes them itself.
    pages: Option<i64>,
    /// Whether the settings of the variant apply to it: a database in memory keeps the application's settings unless there
    /// are no others.
    has_settings: bool,
}

fn open(call: &Call, shared: &Shared<'_>) -> Result<OpenConnection> {
    let recording = shared.recording;
    let Some(database) = recording.database_of(call.connection) else {
        let has_settings = recording.databases.is_empty() && recording.shared_memories().is_empty();
        return Ok(OpenConnection {
            connection: if has_settings {
                shared.opening.open_unproved(Path::new(":memory:"))?
            } else {
                open_memory(&shared.opening, recording, call.connection)?
            },
            ending: Arc::default(),
            pages: None,
            has_settings,
        });
    };
    let mut connection = shared.opening.open_unproved(&database.path)?;
    if recording.connections[&call.connection].readonly {
        // Writes fail as they did.
        connection.execute("PRAGMA query_only = ON")?;
    }
    let ending = Arc::default();
    Ok(OpenConnection {
        pages: end_early(&mut connection, &ending, shared)?,
        connection,
        ending,
        has_settings: true,
    })
}

/// Has turns end with the commit itself, because an automatic checkpoint, which SQLite makes in the same call, delays no other
/// connection in the recording. Returns the number of pages from which checkpoints are made, if the engine has logs.
fn end_early(
    connection: &mut Connection,
    ending: &Arc<AtomicU64>,
    shared: &Shared<'_>,
) -> Result<Option<i64>> {
    let Some(progress) = shared.options.progress.as_ref().filter(|_| shared.ends_early) else {
        return Ok(None);
    };
    let pages = connection.query_i64("PRAGMA wal_autocheckpoint")?;
    let (progress, ending) = (Arc::clone(progress), Arc::clone(ending));
    let end = move || progress.end(ending.swap(0, Ordering::Relaxed));
    let installed = connection.after_wal_commits(u32::try_from(pages).unwrap_or(0), end);
    // An engine without write-ahead logs has no such checkpoints.
    Ok(installed.is_ok().then_some(pages))
}

fn close(opened: Option<OpenConnection>, shared: &Shared<'_>) -> Result<()> {
    let Some(opened) = opened else { return Ok(()) };
    if let Some(counts) = &mut *locked(&shared.counts) {
        counts.note(&opened.connection)?;
    }
    Ok(opened.connection.close()?)
}

/// The state of a thread.
struct ThreadExecutor<'l> {
    number: usize,
    shared: &'l Shared<'l>,
    gate: &'l Gate,
    steps: Steps<'l>,
    pauses: Pauses,
    timings: TimingBuffer<'l>,
    summary: Summary,
}

impl ThreadExecutor<'_> {
    /// Executes the steps of a connection, which stays open. Returns `None` if another thread has failed.
    fn connection(&mut self, first: (Step, Call)) -> Result<Option<OpenConnection>> {
        let (shared, number) = (self.shared, self.number);
        if !wait(number, &first.0, shared, (self.gate, &mut self.pauses)) {
            return Ok(None);
        }
        let opened = open(&first.1, shared)?;
        let is_counting = locked(&shared.counts).is_some();
        let mut executor = ConnectionExecutor {
            is_counting,
            connection: &opened.connection,
            ending: &opened.ending,
            shared,
            statements: HashMap::new(),
            timings: &mut self.timings,
            summary: &mut self.summary,
        };
        let mut execute = |(step, call): &(Step, Call)| {
            executor.step(step, call)?;
            if let Some(progress) = &shared.options.progress {
                progress.pass(number, step.ends);
            }
            Ok::<bool, TrialError>(step.closes)
        };
        let mut closes = execute(&first)?;
        while !closes {
            let Some(next) = self.steps.step()? else { break };
            if !wait(number, &next.0, shared, (self.gate, &mut self.pauses)) {
                return Ok(None);
            }
            closes = execute(&next)?;
        }
        drop(executor);
        Ok(Some(opened))
    }
}

/// Waits for the recorded pause and for the turn of a step. Returns `false` if another thread has failed.
fn wait(
    thread: usize,
    step: &Step,
    shared: &Shared<'_>,
    (gate, pauses): (&Gate, &mut Pauses),
) -> bool {
    if let Some(speed) = shared.options.speed {
        pauses.pass(step.pause_ns as f64 / speed);
    }
    match &shared.options.progress {
        Some(progress) => progress.wait(thread, step, || gate.is_cancelled()),
        None => !gate.is_cancelled(),
    }
}

/// Recorded pauses. Systems sleep some 50 µs too long, so short pauses are added up, and the excess of a sleep is subtracted
/// from the next ones.
#[derive(Debug, Default)]
struct Pauses {
    /// Nanoseconds that remain to be slept.
    due: f64,
}

impl Pauses {
    /// The shortest sleep, in nanoseconds.
    const SHORTEST: f64 = 200e3;

    fn pass(&mut self, nanoseconds: f64) {
        self.due += nanoseconds;
        if self.due >= Pauses::SHORTEST {
            let start = Instant::now();
            std::thread::sleep(Duration::from_nanos(self.due as u64));
            self.due -= start.elapsed().as_nanos() as f64;
        }
    }
}

/// A connection with its prepared statements.
struct ConnectionExecutor<'c, 'r, 't> {
    is_counting: bool,
    connection: &'c Connection,
    ending: &'c AtomicU64,
    shared: &'r Shared<'r>,
    statements: HashMap<i64, Statement<'c, 'static>>,
    timings: &'r mut TimingBuffer<'t>,
    summary: &'r mut Summary,
}

impl<'c> ConnectionExecutor<'c, '_, '_> {
    /// Executes and times a call unless it is left out, and compares it.
    fn step(&mut self, step: &Step, call: &Call) -> Result<()> {
        if self.shared.recording.fate(call) == Fate::Replayed {
            self.ending.store(step.ends, Ordering::Relaxed);
            let start = Instant::now();
            let done = self.execute(call, step.keeps);
            let time = start.elapsed();
            self.ending.store(0, Ordering::Relaxed);
            self.timings.note(Timing {
                form: self.normalised(call.statement),
                time,
                ends: call.autocommit,
            });
            self.note(call, &done);
        } else if call.autocommit && call.result.unwrap_or(0) != 0 {
            // The failure, such as an interrupted write, ended the transaction.
            self.roll_back()?;
        }
        if step.closes { self.finish() } else { Ok(()) }
    }

    fn roll_back(&self) -> Result<()> {
        if self.connection.in_transaction() {
            self.connection.execute("ROLLBACK")?;
        }
        Ok(())
    }

    /// Compares the outcome of a call with the recording.
    fn note(&mut self, call: &Call, done: &CallOutcome) {
        self.summary.busy += u64::from(done.is_busy());
        if call.duration_ns.is_some() {
            self.summary.compared += 1;
            let difference = Difference::between(call, done, self.shared.compares_changes);
            if let Some(difference) = difference {
                self.summary.differences.note(self.normalised(call.statement), difference);
            }
        }
    }

    /// Ends the statements, and rolls back a transaction that the application has left open.
    fn finish(&mut self) -> Result<()> {
        for (id, statement) in std::mem::take(&mut self.statements) {
            self.count(id, &statement);
        }
        self.roll_back()
    }

    fn execute(&mut self, call: &Call, keeps: bool) -> CallOutcome {
        let before = self.connection.total_changes();
        let mut digest = self.is_counting.then(|| AnswerDigest::new(false));
        let (rows, result) = match self.prepared(call) {
            Ok(mut statement) => {
                let executed = run(&mut statement, call, digest.as_mut());
                if keeps && has_parameters(call) {
                    self.statements.insert(call.statement, statement);
                } else {
                    self.count(call.statement, &statement);
                }
                executed
            }
            Err(error) => (0, Err(error)),
        };
        self.answer(call.statement, digest);
        let counters = self.counters(call.statement);
        (counters.executions, counters.rows) = (counters.executions + 1, counters.rows + rows);
        CallOutcome { rows, changes: self.connection.total_changes() - before, error: result.err() }
    }

    /// Returns the statement of a call: the prepared one, if the application executed it once more.
    fn prepared(&mut self, call: &Call) -> Result<Statement<'c, 'static>, EngineError> {
        let kept = self.statements.remove(&call.statement);
        match (&call.values, kept) {
            (Values::Expanded(sql), _) => self.connection.prepare(sql),
            (_, Some(statement)) if !call.prepared => Ok(statement),
            (_, former) => {
                if let Some(former) = former {
                    self.count(call.statement, &former);
                }
                let text = self.shared.recording.texts.get(&call.statement);
                self.connection.prepare(text.map_or("", |text| text.sql.as_str()))
            }
        }
    }

    fn counters(&mut self, statement: i64) -> &mut StatementCounters {
        self.summary.counters.entry(self.normalised(statement)).or_default()
    }

    fn normalised(&self, statement: i64) -> i64 {
        let text = self.shared.recording.texts.get(&statement);
        text.map_or(0, |text| text.normalised)
    }

    /// Adds the answer of one execution of a statement.
    fn answer(&mut self, statement: i64, digest: Option<AnswerDigest>) {
        let Some(mut digest) = digest else { return };
        digest.executions = 1;
        let normalised = self.normalised(statement);
        let text = self.shared.recording.texts.get(&statement);
        let sum = self.summary.answers.entry(normalised).or_insert_with(|| {
            AnswerDigest::new(text.is_some_and(|text| depends_on_chance(&text.sql)))
        });
        sum.add(digest);
    }

    /// Adds the counters of a statement that is not executed any more.
    fn count(&mut self, id: i64, statement: &Statement<'_, '_>) {
        self.counters(id).add(StatementCounters::of(statement));
    }
}

/// Binds the values, steps as far as the application did, and resets. Returns the number of rows.
fn run(
    statement: &mut Statement<'_, 'static>,
    call: &Call,
    mut digest: Option<&mut AnswerDigest>,
) -> (u64, Result<(), EngineError>) {
    if let Values::Bound(values) = &call.values {
        for (index, bound) in (1..).zip(values) {
            if let Err(error) = statement.bind_value(index, bound.value()) {
                return (0, Err(error));
            }
        }
    }
    let mut rows = 0;
    let stepped = loop {
        match statement.step() {
            Ok(Stepped::Row) => {
                rows += 1;
                if let Some(Err(error)) = digest.as_mut().map(|digest| digest.add_row(statement)) {
                    break Err(error);
                }
            }
            Ok(Stepped::Done) => break Ok(()),
            Err(error) => break Err(error),
        }
        if call.early && rows >= call.rows {
            break Ok(());
        }
    };
    (rows, stepped.and(statement.reset()))
}

/// SQLite's VFS for databases in memory, which shares those whose names begin with a slash within a process.
const MEMORY_VFS: &str = "memdb";

/// The first version whose VFS shares them.
const SHARES_SINCE: (u32, u32) = (3, 36);

/// Opens the database in memory of a recorded connection. Connections wait for one another as those to a file do.
fn open_memory(
    opening: &Opening,
    recording: &Recording,
    connection: i64,
) -> Result<Connection, EngineError> {
    let library = &opening.library;
    match recording.shared_memory(connection) {
        Some(name) if shares_memory(library) => open_shared_memory(opening, &name),
        _ => Connection::in_memory(library),
    }
}

/// Opens a shared database in memory. The connection waits as long as one to a file, because an open read keeps commits waiting that the
/// application's did not.
fn open_shared_memory(opening: &Opening, name: &Path) -> Result<Connection, EngineError> {
    let connection =
        Connection::open(&opening.library, name, OpenFlags::default(), Some(MEMORY_VFS))?;
    if let Some(patience) = opening.setting("busy_timeout") {
        connection.execute(&format!("PRAGMA busy_timeout = {patience}"))?;
    }
    Ok(connection)
}

/// Opens a connection to each shared database in memory, which lasts as long as a connection is open.
fn hold_memory(opening: &Opening, recording: &Recording) -> Result<Vec<Connection>, EngineError> {
    let names = recording.shared_memories();
    let names = names.iter().filter(|_| shares_memory(&opening.library));
    names.map(|name| open_shared_memory(opening, name)).collect()
}

fn shares_memory(library: &Library) -> bool {
    let mut numbers = library.identity().version.split('.').map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= SHARES_SINCE,
        _ => false,
    }
}
