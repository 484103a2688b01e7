//! A lane of the replay: it opens recorded connections one after the other, executes their statements, and compares
//! what they do with the recording.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use engine::{Connection, EngineError, Statement, StatementCounter, Step as Stepped};
use lab::trial::ReadBack;
use script::effect::depends_on_chance;
use trace::{Call, Values};

use super::memory;
use super::message::Summary;
use super::outcome::{Difference, Done, has_parameters};
use super::plan::{Plan, Step, Steps};
use super::source::{Fate, Recording};
use super::tape::Take;
use super::times::{Sheet, Timed, Times};
use super::turns::Turns;
use crate::error::TrialError;
use crate::locks::locked;
use crate::target::sqlite::{self, Counts, Opening};
use crate::workload::contention::message::Counters;
use crate::workload::sql::answers::Tally;
use crate::workload::team::Gate;

/// What all lanes share.
pub(super) struct Shared<'a> {
    pub(super) recording: &'a Recording,
    pub(super) take: &'a Take,
    pub(super) plan: &'a Plan,
    pub(super) opening: &'a Opening,
    /// None where connections are not held to the recorded order.
    pub(super) turns: Option<Arc<Turns>>,
    /// Whether a turn may end with the commit in a log, before the automatic checkpoint: not where the application
    /// decides when checkpoints are made.
    pub(super) ends_early: bool,
    /// What pauses are divided by; none where there are none.
    pub(super) speed: Option<f64>,
    /// What is counted in a counting trial.
    pub(super) counts: Mutex<Option<Counts>>,
    pub(super) times: Mutex<Times>,
}

/// What a lane has done.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// What it executed, compared and counted. Answers are noted in a counting trial only, as that takes time.
    pub(super) done: Summary,
    pub(super) read_back: Option<ReadBack>,
}

/// Executes a lane.
///
/// # Errors
/// A connection cannot be opened, or a tape cannot be read; everything else is a difference.
pub(super) fn execute(
    number: usize,
    shared: &Shared<'_>,
    gate: &Gate,
) -> Result<Report, TrialError> {
    let mut work = Work {
        number,
        shared,
        gate,
        steps: shared.plan.steps(number, shared.take),
        pauses: Pauses::default(),
        sheet: Sheet::of(&shared.times),
        report: Report::default(),
    };
    let mut last = None;
    let mut next = work.steps.step()?;
    if gate.pass().is_some() {
        while let Some(first) = next {
            close(last.take(), shared)?;
            let Some(connection) = work.connection(first)? else {
                break;
            };
            last = Some(connection);
            next = work.steps.step()?;
        }
    }
    work.sheet.hand_over();
    let mut report = work.report;
    gate.wait_to_leave();
    if let Some(opened) = &last
        && opened.has_settings
    {
        let name = format!("connection {}", number + 1);
        if let Some(pages) = opened.pages {
            let restore = format!("PRAGMA wal_autocheckpoint = {pages}");
            opened.connection.execute(&restore)?;
        }
        report.read_back = Some(sqlite::read_back(&name, &opened.connection)?);
    }
    close(last, shared)?;
    Ok(report)
}

/// An open connection.
struct Opened {
    connection: Connection,
    /// The turn that ends with the commit of the statement that is executed; 0 for none.
    ending: Arc<AtomicU64>,
    /// Pages from which on checkpoints are made, where the replay makes them itself.
    pages: Option<i64>,
    /// Whether the settings of the variant are its own: those of a database in memory are the application's.
    has_settings: bool,
}

fn open(call: &Call, shared: &Shared<'_>) -> Result<Opened, TrialError> {
    let recording = shared.recording;
    let Some(database) = recording.database_of(call.connection) else {
        return Ok(Opened {
            connection: memory::open(shared.opening, recording, call.connection)?,
            ending: Arc::default(),
            pages: None,
            has_settings: false,
        });
    };
    let mut connection = shared.opening.open_unproved(&database.path)?;
    if recording.connections[&call.connection].readonly {
        // Writes fail as they did.
        connection.execute("PRAGMA query_only = ON")?;
    }
    let ending = Arc::default();
    Ok(Opened {
        pages: end_early(&mut connection, &ending, shared)?,
        connection,
        ending,
        has_settings: true,
    })
}

/// Has turns end with the commit itself: an automatic checkpoint, which SQLite makes in the same call, holds up nobody
/// in the recording. Returns the pages from which on checkpoints are made, if so.
fn end_early(
    connection: &mut Connection,
    ending: &Arc<AtomicU64>,
    shared: &Shared<'_>,
) -> Result<Option<i64>, TrialError> {
    let Some(turns) = shared.turns.as_ref().filter(|_| shared.ends_early) else {
        return Ok(None);
    };
    let pages = connection.query_i64("PRAGMA wal_autocheckpoint")?;
    let (turns, ending) = (Arc::clone(turns), Arc::clone(ending));
    let end = move || turns.end(ending.swap(0, Ordering::Relaxed));
    let installed = connection.after_wal_commits(u32::try_from(pages).unwrap_or(0), end);
    // An engine without write-ahead logs has no such checkpoints.
    Ok(installed.is_ok().then_some(pages))
}

fn close(opened: Option<Opened>, shared: &Shared<'_>) -> Result<(), TrialError> {
    let Some(opened) = opened else {
        return Ok(());
    };
    if let Some(counts) = &mut *locked(&shared.counts) {
        counts.note(&opened.connection)?;
    }
    Ok(opened.connection.close()?)
}

/// A lane at work.
struct Work<'l> {
    number: usize,
    shared: &'l Shared<'l>,
    gate: &'l Gate,
    steps: Steps<'l>,
    pauses: Pauses,
    sheet: Sheet<'l>,
    report: Report,
}

impl Work<'_> {
    /// Executes the steps of a connection, which stays open; none where another lane has failed.
    fn connection(&mut self, first: (Step, Call)) -> Result<Option<Opened>, TrialError> {
        let (shared, number) = (self.shared, self.number);
        if !wait(number, &first.0, shared, (self.gate, &mut self.pauses)) {
            return Ok(None);
        }
        let opened = open(&first.1, shared)?;
        let is_counting = locked(&shared.counts).is_some();
        let mut session = Session {
            is_counting,
            connection: &opened.connection,
            ending: &opened.ending,
            recording: shared.recording,
            statements: HashMap::new(),
            sheet: &mut self.sheet,
            report: &mut self.report,
        };
        let mut execute = |(step, call): &(Step, Call)| {
            session.step(step, call)?;
            if let Some(turns) = &shared.turns {
                turns.pass(number, step.ends);
            }
            Ok::<bool, TrialError>(step.closes)
        };
        let mut closes = execute(&first)?;
        while !closes {
            let Some(next) = self.steps.step()? else {
                break;
            };
            if !wait(number, &next.0, shared, (self.gate, &mut self.pauses)) {
                return Ok(None);
            }
            closes = execute(&next)?;
        }
        drop(session);
        Ok(Some(opened))
    }
}

/// Waits for the recorded pause and for the turn of a step; `false` where another lane has failed.
fn wait(
    lane: usize,
    step: &Step,
    shared: &Shared<'_>,
    (gate, pauses): (&Gate, &mut Pauses),
) -> bool {
    if let Some(speed) = shared.speed {
        pauses.pass(step.pause_ns as f64 / speed);
    }
    match &shared.turns {
        Some(turns) => turns.wait(lane, step, || gate.is_cancelled()),
        None => !gate.is_cancelled(),
    }
}

/// Recorded pauses. Systems sleep some 50 µs longer than they are bidden, so short pauses are added up, and what a
/// sleep took too long is taken off the next ones.
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
struct Session<'c, 'r, 't> {
    is_counting: bool,
    connection: &'c Connection,
    ending: &'c AtomicU64,
    recording: &'r Recording,
    statements: HashMap<i64, Statement<'c, 'static>>,
    sheet: &'r mut Sheet<'t>,
    report: &'r mut Report,
}

impl<'c> Session<'c, '_, '_> {
    /// Executes a call unless it is left out, times it and compares it.
    fn step(&mut self, step: &Step, call: &Call) -> Result<(), TrialError> {
        if self.recording.fate(call) == Fate::Replayed {
            self.ending.store(step.ends, Ordering::Relaxed);
            let start = Instant::now();
            let done = self.execute(call, step.keeps);
            let time = start.elapsed();
            self.ending.store(0, Ordering::Relaxed);
            self.sheet.note(Timed {
                form: self.normalised(call.statement),
                time,
                ends: call.autocommit,
            });
            self.note(call, &done);
        }
        match step.closes {
            true => self.finish(),
            false => Ok(()),
        }
    }

    /// Compares what a call did with the recording.
    fn note(&mut self, call: &Call, done: &Done) {
        self.report.done.busy += u64::from(done.is_busy());
        if call.duration_ns.is_some() {
            self.report.done.compared += 1;
            if let Some(difference) = Difference::between(call, done) {
                self.report.done.differences.note(difference);
            }
        }
    }

    /// Ends the statements; what the application has left open is rolled back.
    fn finish(&mut self) -> Result<(), TrialError> {
        for (id, statement) in std::mem::take(&mut self.statements) {
            self.count(id, &statement);
        }
        match self.connection.in_transaction() {
            true => Ok(self.connection.execute("ROLLBACK")?),
            false => Ok(()),
        }
    }

    fn execute(&mut self, call: &Call, keeps: bool) -> Done {
        let before = self.connection.total_changes();
        let mut tally = self.is_counting.then(|| Tally::new(false));
        let (rows, result) = match self.prepared(call) {
            Ok(mut statement) => {
                let executed = run(&mut statement, call, tally.as_mut());
                if keeps && has_parameters(call) {
                    self.statements.insert(call.statement, statement);
                } else {
                    self.count(call.statement, &statement);
                }
                executed
            }
            Err(error) => (0, Err(error)),
        };
        self.answer(call.statement, tally);
        let counters = self.counters(call.statement);
        (counters.executions, counters.rows) = (counters.executions + 1, counters.rows + rows);
        Done { rows, changes: self.connection.total_changes() - before, error: result.err() }
    }

    /// The statement of a call: the one that was prepared before, where the application executed it once more.
    fn prepared(&mut self, call: &Call) -> Result<Statement<'c, 'static>, EngineError> {
        let kept = self.statements.remove(&call.statement);
        match (&call.values, kept) {
            (Values::Expanded(sql), _) => self.connection.prepare(sql),
            (_, Some(statement)) if !call.prepared => Ok(statement),
            (_, former) => {
                if let Some(former) = former {
                    self.count(call.statement, &former);
                }
                let text = self.recording.texts.get(&call.statement);
                let sql = text.map_or("", |text| text.sql.as_str());
                self.connection.prepare(sql)
            }
        }
    }

    fn counters(&mut self, statement: i64) -> &mut Counters {
        let normalised = self.normalised(statement);
        self.report.done.counters.entry(normalised).or_default()
    }

    fn normalised(&self, statement: i64) -> i64 {
        let text = self.recording.texts.get(&statement);
        text.map_or(0, |text| text.normalised)
    }

    /// Adds what one execution of a statement has answered.
    fn answer(&mut self, statement: i64, tally: Option<Tally>) {
        let Some(mut tally) = tally else { return };
        tally.executions = 1;
        let normalised = self.normalised(statement);
        let text = self.recording.texts.get(&statement);
        let sum =
            self.report.done.answers.entry(normalised).or_insert_with(|| {
                Tally::new(text.is_some_and(|text| depends_on_chance(&text.sql)))
            });
        sum.add(tally);
    }

    /// Adds what SQLite has counted of a statement that is not executed any more.
    fn count(&mut self, id: i64, statement: &Statement<'_, '_>) {
        let counted = Counters {
            vm_steps: statement.counter(StatementCounter::VmSteps),
            scan_steps: statement.counter(StatementCounter::FullScanSteps),
            sorts: statement.counter(StatementCounter::Sorts),
            auto_index_rows: statement.counter(StatementCounter::AutoIndexRows),
            ..Counters::default()
        };
        self.counters(id).add(counted);
    }
}

/// Binds the values, steps as far as the application did, and resets; the rows that it stepped to.
fn run(
    statement: &mut Statement<'_, 'static>,
    call: &Call,
    mut tally: Option<&mut Tally>,
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
                if let Some(tally) = &mut tally {
                    tally.row(statement);
                }
            }
            Ok(Stepped::Done) => break Ok(()),
            Err(error) => break Err(error),
        }
        if call.early && rows >= call.rows {
            break Ok(());
        }
    };
    let reset = statement.reset();
    (rows, stepped.and(reset))
}
