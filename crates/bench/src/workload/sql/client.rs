//! A client: it executes scripts on its connection, transaction after transaction, and times their statements.

use std::time::Duration;

use engine::{Connection, EngineError, Statement};
use lab::seed::{Seed, SplitMix64};
use script::{Op, Prng, Slot, Value, Variables};

use super::answers::Tally;
use super::draw::Pools;
use super::parameters::{Parameters, Preparing};
use super::prompt::{Prompt, Wrong};
use super::suite::Suite;
use super::unroll::Executed;
use crate::error::TrialError;
use crate::measure::LatencyHistogram;
use crate::workload::contention::clock::{Clock, Monotonic, Nanos};
use crate::workload::contention::message::{BusyCounts, PartReport};
use crate::workload::contention::pace::Ended;
use crate::workload::contention::worker::Operator;

/// What a client needs besides its connection.
pub(super) struct Job {
    pub(super) suite: Suite,
    pub(super) pools: Pools,
    pub(super) parameters: Parameters,
    /// The statement with which transactions begin.
    pub(super) begin: &'static str,
    pub(super) seed: Seed,
    /// The number of the client, from 0.
    pub(super) number: u32,
}

/// Executes scripts on a connection.
pub(in crate::workload) struct Client<'c> {
    connection: &'c Connection,
    job: Job,
    scripts: Vec<Prepared<'c>>,
    variables: Variables,
    /// The variables at the start of a transaction, for another attempt.
    saved: Variables,
    prng: Prng,
    pauses: SplitMix64,
    busy: BusyCounts,
    /// The end of the last statement, where the next begins at once.
    last: Option<Nanos>,
    /// Scripts of the transaction: those of a group are chosen ahead.
    chosen: Vec<usize>,
    /// The scripts one after the other, where each is executed as often as the others.
    turns: std::iter::Cycle<std::vec::IntoIter<usize>>,
    group: Option<[Statement<'c, 'static>; 2]>,
    /// Whether answers are looked at.
    tallies: bool,
    /// What was executed, where that is kept; pauses are left out then.
    journal: Option<Vec<Executed>>,
}

struct Prepared<'c> {
    statements: Vec<Prompt<'c>>,
    latency: LatencyHistogram,
}

/// Why an attempt did not succeed.
enum Hindered {
    /// Another connection was in the way, since this moment.
    Busy { asked: Nanos, snapshot: bool },
    /// Something is wrong.
    Failed(TrialError),
}

impl<'c> Client<'c> {
    /// Prepares the statements of all scripts.
    ///
    /// # Errors
    /// SQLite refuses a statement, with its file and line.
    pub(super) fn prepare(connection: &'c Connection, job: Job) -> Result<Client<'c>, TrialError> {
        let mut scripts = Vec::new();
        for number in 0..job.suite.scripts.len() {
            scripts.push(Prepared::of(connection, &job.suite, number)?);
        }
        let group = match job.parameters.group {
            0 => None,
            _ => Some([connection.prepare(job.begin)?, connection.prepare("COMMIT")?]),
        };
        let mut variables = Variables::new(&job.suite.names);
        predefine(&mut variables, &job);
        Ok(Client {
            saved: variables.clone(),
            variables,
            prng: Prng::new(job.seed.child("choices").0),
            pauses: job.seed.child("pauses").generator(),
            busy: BusyCounts::default(),
            last: None,
            chosen: Vec::new(),
            turns: job.suite.in_use().collect::<Vec<_>>().into_iter().cycle(),
            tallies: false,
            journal: None,
            connection,
            scripts,
            group,
            job,
        })
    }

    /// Executes each script so many times and looks at every answer.
    ///
    /// # Errors
    /// As the work itself; also where another connection stays in the way.
    pub(super) fn answer(&mut self, times: usize) -> Result<(), TrialError> {
        self.tallies = true;
        for script in 0..self.scripts.len() {
            for _ in 0..times {
                self.chosen = vec![script];
                self.persist()?;
            }
        }
        Ok(())
    }

    /// Keeps what is executed from here on.
    pub(super) fn keep_journal(&mut self) {
        self.journal = Some(Vec::new());
    }

    /// What was executed.
    pub(super) fn take_journal(&mut self) -> Vec<Executed> {
        self.journal.take().unwrap_or_default()
    }

    /// What each statement of each script has answered.
    pub(super) fn tallies(&self) -> impl Iterator<Item = (&str, Tally)> {
        let scripts = self.job.suite.scripts.iter().zip(&self.scripts);
        scripts.flat_map(|(script, prepared)| {
            let statements = script.statements.iter().zip(&prepared.statements);
            statements.map(|(statement, prompt)| (statement.name.as_str(), prompt.tally))
        })
    }

    /// The chosen scripts, again while another connection is in the way; `false` where they were given up. The first
    /// attempt begins at the moment `last`, if there is one.
    fn persist(&mut self) -> Result<bool, TrialError> {
        let prng = self.prng.clone();
        self.saved.clone_from(&self.variables);
        for attempt in 0..=self.job.parameters.max_retries {
            match self.attempt() {
                Ok(()) => return Ok(true),
                Err(Hindered::Failed(error)) => return Err(error),
                Err(Hindered::Busy { asked, snapshot }) => self.note(asked, snapshot),
            }
            if attempt < self.job.parameters.max_retries {
                self.busy.retries += 1;
                self.pause();
            }
            self.prng = prng.clone();
            self.variables.clone_from(&self.saved);
            self.last = None;
        }
        Ok(false)
    }

    fn note(&mut self, asked: Nanos, snapshot: bool) {
        let waited = Duration::from_nanos(Monotonic.now().saturating_sub(asked));
        self.busy.errors += 1;
        self.busy.at_once += u64::from(waited < self.job.parameters.busy_timeout.0 / 2);
        self.busy.snapshots += u64::from(snapshot);
    }

    fn pause(&mut self) {
        let mean = self.job.parameters.retry_pause.as_nanos() as u64;
        let pause = mean / 2 + self.pauses.below(mean.max(1));
        Monotonic.wait_until(Monotonic.now() + pause);
    }

    /// One transaction; where it is hindered or fails, none is open afterwards.
    fn attempt(&mut self) -> Result<(), Hindered> {
        let outcome = self.transaction();
        if outcome.is_err() && self.connection.in_transaction() {
            let rolled_back = self.connection.execute("ROLLBACK");
            rolled_back.map_err(|error| Hindered::Failed(error.into()))?;
        }
        outcome
    }

    fn transaction(&mut self) -> Result<(), Hindered> {
        if let Some([begin, _]) = &mut self.group {
            let asked = self.last.take().unwrap_or_else(|| Monotonic.now());
            begin.run().map_err(hindered(asked))?;
        }
        for index in 0..self.chosen.len() {
            self.script(self.chosen[index])?;
        }
        if let Some([_, commit]) = &mut self.group {
            let asked = self.last.take().unwrap_or_else(|| Monotonic.now());
            commit.run().map_err(hindered(asked))?;
        }
        Ok(())
    }

    /// Executes the operations of a script.
    fn script(&mut self, number: usize) -> Result<(), Hindered> {
        let start = self.last.unwrap_or_else(|| Monotonic.now());
        self.job.pools.draw(number, &mut self.variables, &mut self.prng);
        let mut at = 0;
        while at < self.job.suite.scripts[number].operations.len() {
            at = match self.operation(number, at)? {
                Some(jump) => jump,
                None => at + 1,
            };
        }
        // The latency of the only script is that of the transactions.
        if self.scripts.len() > 1 {
            let end = *self.last.get_or_insert_with(|| Monotonic.now());
            let latency = Duration::from_nanos(end.saturating_sub(start));
            self.scripts[number].latency.record(latency);
        }
        Ok(())
    }

    /// One operation; where it goes on, unless at the next.
    #[inline]
    fn operation(&mut self, number: usize, at: usize) -> Result<Option<usize>, Hindered> {
        let script = &self.job.suite.scripts[number];
        let (variables, prng) = (&mut self.variables, &mut self.prng);
        let failed = |error: script::EvaluationError| {
            Hindered::Failed(TrialError::Script {
                file: script.file.clone(),
                line: script.lines[at],
                why: error.to_string(),
            })
        };
        match &script.operations[at] {
            Op::Run(statement) => {
                let statement = *statement;
                return match self.journal {
                    None => self.run(number, statement),
                    Some(_) => self.run_noted(number, statement),
                }
                .map(|()| None);
            }
            Op::Set(slot, value) => {
                let evaluated = value.evaluate(variables, prng).map_err(failed)?;
                variables.set(*slot, evaluated);
                // The time is then a part of the next statement's: reading the clock would take longer.
                if value.is_quick() {
                    return Ok(None);
                }
            }
            Op::Unless(condition, to) => {
                if !condition.is_true(variables, prng).map_err(failed)? {
                    return Ok(Some(*to));
                }
            }
            Op::Go(to) => return Ok(Some(*to)),
            Op::Sleep(time, micros) => {
                let time = time.whole(variables, prng).map_err(failed)?;
                let time = u64::try_from(time).unwrap_or(0);
                let nanos = time.saturating_mul(*micros).saturating_mul(1_000);
                let nanos = if self.journal.is_some() { 0 } else { nanos };
                Monotonic.wait_until(Monotonic.now().saturating_add(nanos));
            }
        }
        self.last = None;
        Ok(None)
    }

    /// Executes a statement and notes it in the journal.
    #[cold]
    fn run_noted(&mut self, script: usize, number: usize) -> Result<(), Hindered> {
        let (text, prompt) =
            (&self.job.suite.scripts[script], &self.scripts[script].statements[number]);
        let statement = &text.statements[number];
        let noted = Executed {
            sql: statement.sql.clone(),
            values: prompt.values(&self.variables),
            location: format!("{}:{}", text.file, statement.line),
            changes: -self.connection.total_changes(),
        };
        let outcome = self.run(script, number);
        let changes = noted.changes + self.connection.total_changes();
        let journal = self.journal.get_or_insert_default();
        journal.push(Executed { changes, ..noted });
        outcome
    }

    /// Executes a statement.
    #[inline]
    fn run(&mut self, script: usize, number: usize) -> Result<(), Hindered> {
        let prompt = &mut self.scripts[script].statements[number];
        let start = self.last.unwrap_or_else(|| Monotonic.now());
        let executed = prompt.execute(self.connection, &mut self.variables, self.tallies);
        if self.job.parameters.prepare == Preparing::Each {
            prompt.finalize();
        }
        let end = Monotonic.now();
        if let Err(error) = executed {
            return Err(match error {
                Wrong::Engine(error) if error.is_busy() => {
                    Hindered::Busy { asked: start, snapshot: error.is_busy_snapshot() }
                }
                other => {
                    let script = &self.job.suite.scripts[script];
                    Hindered::Failed(other.at(&script.file, script.statements[number].line))
                }
            });
        }
        prompt.latency.record(Duration::from_nanos(end.saturating_sub(start)));
        self.last = Some(end);
        Ok(())
    }
}

impl Operator for Client<'_> {
    fn operate(&mut self, _: u64, now: Nanos) -> Result<Ended, TrialError> {
        self.last = Some(now);
        self.chosen.clear();
        for _ in 0..self.job.parameters.group.max(1) {
            let script = match self.job.parameters.executions {
                0 => Some(self.job.suite.choose(&mut self.prng)),
                _ => self.turns.next(),
            };
            self.chosen.extend(script);
        }
        let done = self.persist()?;
        Ok(Ended { done, at: self.last.take() })
    }

    fn take_busy(&mut self) -> BusyCounts {
        std::mem::take(&mut self.busy)
    }

    fn take_parts(&mut self) -> Result<Vec<PartReport>, TrialError> {
        let mut parts = Vec::new();
        for (script, prepared) in self.job.suite.scripts.iter().zip(&mut self.scripts) {
            let latency = std::mem::replace(&mut prepared.latency, LatencyHistogram::new());
            parts.push(PartReport {
                name: script.name.clone(),
                latency: latency.latency()?,
                counters: None,
            });
            for (statement, prompt) in script.statements.iter().zip(&mut prepared.statements) {
                parts.push(prompt.report(&statement.name)?);
            }
        }
        Ok(parts)
    }
}

impl<'c> Prepared<'c> {
    /// The script of this number.
    fn of(
        connection: &'c Connection,
        suite: &Suite,
        number: usize,
    ) -> Result<Prepared<'c>, TrialError> {
        let script = &suite.scripts[number];
        let mut changes_schema = false;
        let mut statements = Vec::new();
        for (index, statement) in script.statements.iter().enumerate() {
            let gset = suite.gset_of(number, index);
            let prompt = Prompt::prepare(connection, statement, gset, changes_schema);
            statements.push(prompt.map_err(|wrong| wrong.at(&script.file, statement.line))?);
            changes_schema |= changes(&statement.sql);
        }
        Ok(Prepared { statements, latency: LatencyHistogram::new() })
    }
}

/// Whether a statement changes which tables there are.
fn changes(sql: &str) -> bool {
    let word = sql.split_whitespace().next().unwrap_or_default();
    ["create", "alter", "drop", "attach"].iter().any(|it| word.eq_ignore_ascii_case(it))
}

/// Gives the variables that pgbench defines their values.
fn predefine(variables: &mut Variables, job: &Job) {
    let values = [
        job.parameters.scale_factor as i64,
        i64::from(job.number),
        job.seed.child("default_seed").0 as i64,
        job.seed.0 as i64,
    ];
    for (slot, value) in values.into_iter().enumerate() {
        variables.set(Slot(slot), Value::Int(value));
    }
}

/// Tells a lock in the way from everything else.
fn hindered(asked: Nanos) -> impl FnOnce(EngineError) -> Hindered {
    move |error| match error.is_busy() {
        true => Hindered::Busy { asked, snapshot: error.is_busy_snapshot() },
        false => Hindered::Failed(error.into()),
    }
}
