//! A client: it executes scripts on its connection, transaction after transaction, and times their statements.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use lab::trial::{Answer, AnswerRows};
use script::{Deck, Op, Prng, Script, Slot, Value, Variables};

use super::draw::Pools;
use super::facets::Kept;
use super::parameters::{Extent, Parameters, Preparing};
use super::statement::{PreparedStatement, StatementError};
use super::suite::Suite;
use crate::drive::messages::{BusyCounts, PartReport};
use crate::drive::pacing::Ended;
use crate::drive::pacing::{Clock, Monotonic, Nanos};
use crate::drive::retry::{AttemptError, Retries};
use crate::parameters::Parameters as _;
use crate::workload::prelude::*;

/// The scripts of a client and their values.
pub(super) struct Workload {
    pub(super) suite: Suite,
    pools: Pools,
    parameters: Parameters,
    /// The statement that begins transactions.
    begin: &'static str,
    seed: Seed,
    /// The number of the client, from 0.
    number: u32,
}

impl Workload {
    /// Reads the scripts of the settings, and the values that the trial drew for them.
    pub(super) fn read(
        connection: &Connection,
        settings: &Settings,
        directory: &Path,
        seed: Seed,
        number: u32,
    ) -> Result<Workload> {
        let parameters = Parameters::read(&overlaid(&Parameters::defaults(), settings))?;
        let mut suite = Suite::read(&parameters)?;
        suite.resolve(connection)?;
        let begin = sqlite::begin_statement(settings);
        suite.begin_with(begin);
        Ok(Workload { suite, pools: Pools::read(directory)?, parameters, begin, seed, number })
    }
}

/// One execution of a statement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Executed {
    pub(crate) sql: String,
    /// The values of its parameters, in order.
    pub(crate) values: Vec<engine::Value>,
    /// The file and the line of the script.
    pub(crate) location: String,
    /// The number of rows that it changed.
    pub(crate) changes: i64,
}

/// Digests of answers.
pub(super) struct Answered {
    /// Those of each statement, by its name, each over more executions than the one before.
    pub(super) answers: BTreeMap<String, Vec<Answer>>,
    /// Executions of each script, or of the one that was executed most often.
    pub(super) executions: usize,
    /// The error that ended them, as of the work itself.
    pub(super) outcome: Result<()>,
}

/// Executes scripts on a connection.
pub(super) struct ScriptClient<'c> {
    connection: &'c Connection,
    workload: Workload,
    scripts: Vec<PreparedScript<'c>>,
    variables: Variables,
    /// The variables at the start of a transaction, for another attempt.
    saved: Variables,
    prng: Prng,
    /// The seed of each script, which does not depend on the others.
    seeds: Vec<Seed>,
    /// How often each script was executed, if `executions` is set.
    executed: Vec<usize>,
    retries: Retries,
    /// The end of the last statement, if the next one begins at once.
    last: Option<Nanos>,
    /// The scripts of the transaction. The scripts of a group are chosen in advance.
    chosen: Vec<usize>,
    /// The scripts, by their weights.
    deck: Deck,
    /// The scripts in turn.
    turns: std::iter::Cycle<std::vec::IntoIter<usize>>,
    /// The next transactions that take scripts in turn.
    in_turn: usize,
    group: Option<[Statement<'c, 'static>; 2]>,
    /// Whether answers are digested.
    digests: bool,
    /// The executed statements, if they are kept. Pauses are left out then.
    pub(super) journal: Option<Vec<Executed>>,
}

struct PreparedScript<'c> {
    statements: Vec<PreparedStatement<'c>>,
    latency: LatencyHistogram,
}

impl<'c> ScriptClient<'c> {
    /// Prepares the statements of all scripts.
    ///
    /// # Errors
    /// SQLite refuses a statement, with its file and line.
    pub(super) fn prepare(
        connection: &'c Connection,
        workload: Workload,
    ) -> Result<ScriptClient<'c>> {
        let scripts = (0..workload.suite.scripts.len())
            .map(|number| PreparedScript::prepare(connection, &workload.suite, number))
            .collect::<Result<_, _>>()?;
        let parameters = &workload.parameters;
        let group = match parameters.group {
            0 => None,
            _ => Some([connection.prepare(workload.begin)?, connection.prepare("COMMIT")?]),
        };
        let mut variables = Variables::new(&workload.suite.names);
        predefine(&mut variables, &workload);
        let choices = workload.seed.child("choices");
        // The only script has no name in its seed: the other form of a statement may be named differently.
        let name = |script: &Script| {
            if workload.suite.scripts.len() > 1 { script.name.clone() } else { String::new() }
        };
        let seeds = workload.suite.scripts.iter().map(|script| choices.child(&name(script)));
        Ok(ScriptClient {
            seeds: seeds.collect(),
            executed: vec![0; workload.suite.scripts.len()],
            saved: variables.clone(),
            variables,
            prng: Prng::new(choices.0),
            retries: Retries::new(&parameters.retrying, workload.seed),
            last: None,
            chosen: Vec::new(),
            deck: Deck::of(&workload.suite.weights),
            turns: workload.suite.in_use().collect::<Vec<_>>().into_iter().cycle(),
            in_turn: match parameters.executions {
                0 => workload.suite.first_turns(parameters.group),
                _ => usize::MAX,
            },
            digests: false,
            journal: None,
            connection,
            scripts,
            group,
            workload,
        })
    }

    /// Executes scripts a number of times, in turns, and digests the answers.
    ///
    /// The values depend on the script and on how often it was executed before. So the answers of trials that executed it a
    /// different number of times can be compared as far as both went: they are noted after 1, 2, 4, … executions. Scripts that
    /// write are executed equally often, because one may read what another wrote.
    pub(super) fn answers(&mut self, extent: Extent, scripts: &[usize], writes: bool) -> Answered {
        self.digests = true;
        let all = self.scripts.len();
        let mut variables = vec![self.variables.clone(); all];
        let mut spent = vec![Duration::ZERO; all];
        let mut open = scripts.to_vec();
        let mut noted = BTreeMap::new();
        let (mut executions, mut outcome) = (0, Ok(()));
        for execution in 1..=extent.executions {
            if open.is_empty() {
                break;
            }
            executions = execution;
            open.retain(|&script| {
                let start = Instant::now();
                std::mem::swap(&mut self.variables, &mut variables[script]);
                self.choose_values(script, execution);
                self.chosen = vec![script];
                let executed = self.execute_chosen();
                std::mem::swap(&mut self.variables, &mut variables[script]);
                spent[script] += start.elapsed();
                let goes_on = executed.is_ok();
                if let Err(error) = executed {
                    outcome = Err(error);
                }
                goes_on
            });
            if writes && outcome.is_err() {
                break;
            }
            if execution.is_power_of_two() || execution == extent.executions {
                open.iter().for_each(|&script| self.note_answers(script, &mut noted));
                let next = execution.saturating_mul(2).min(extent.executions);
                let by_then = |spent: Duration| spent.mul_f64(next as f64 / execution as f64);
                if writes && !extent.allows(by_then(spent.iter().sum()), all, all) {
                    break;
                }
                open.retain(|&script| writes || extent.allows(by_then(spent[script]), 1, all));
            }
        }
        Answered { answers: noted, executions, outcome }
    }

    /// Lets the values of an execution of a script, counted from 1, depend on nothing else.
    fn choose_values(&mut self, script: usize, execution: usize) {
        self.prng = Prng::new(self.seeds[script].nth(execution as u64).0);
    }

    /// Keeps this many rows of the answers of each statement.
    pub(super) fn keep_rows(&mut self, room: usize) {
        for statement in self.scripts.iter_mut().flat_map(|script| &mut script.statements) {
            statement.answers.kept = Kept::at_most(room);
        }
    }

    /// Returns the rows that were kept, by the name of the statement.
    pub(super) fn take_rows(&mut self) -> BTreeMap<String, Vec<AnswerRows>> {
        let scripts = self.workload.suite.scripts.iter().zip(&mut self.scripts);
        let statements = scripts
            .flat_map(|(script, prepared)| script.statements.iter().zip(&mut prepared.statements));
        let kept = statements.filter_map(|(statement, prepared)| {
            Some((statement.name.clone(), prepared.answers.kept.take()?.executions))
        });
        kept.collect()
    }

    /// Returns the statements that took too long.
    pub(super) fn given_up(&self) -> BTreeSet<String> {
        let suite = &self.workload.suite;
        let mut given_up = BTreeSet::new();
        for (number, (script, prepared)) in suite.scripts.iter().zip(&self.scripts).enumerate() {
            for (index, prepared) in prepared.statements.iter().enumerate() {
                if prepared.is_left_out && !suite.columns_of(number, index).is_left_out {
                    given_up.insert(script.statements[index].name.clone());
                }
            }
        }
        given_up
    }

    /// Notes the answers of the statements of a script so far.
    fn note_answers(&self, script: usize, noted: &mut BTreeMap<String, Vec<Answer>>) {
        let text = &self.workload.suite.scripts[script];
        for (statement, prepared) in text.statements.iter().zip(&self.scripts[script].statements) {
            if prepared.is_left_out {
                continue;
            }
            let known = noted.entry(statement.name.clone()).or_default();
            let answer = prepared.answers.answer();
            if known.last() != Some(&answer) {
                known.push(answer);
            }
        }
    }

    /// Returns the plan of each statement of all scripts, with values as the first transaction may have them. Nothing is
    /// executed, so what a `\\gset` would read is NULL.
    pub(super) fn plans(&mut self) -> Vec<Vec<String>> {
        let (variables, prng) = (self.variables.clone(), self.prng.clone());
        let mut plans = Vec::new();
        for (number, script) in self.workload.suite.scripts.iter().enumerate() {
            self.prng = Prng::new(self.seeds[number].nth(1).0);
            self.workload.pools.draw(number, &mut self.variables, &mut self.prng);
            for operation in &script.operations {
                match operation {
                    Op::Set(slot, value) => {
                        // An execution reports what cannot be evaluated.
                        if let Ok(value) = value.evaluate(&self.variables, &mut self.prng) {
                            self.variables.set(*slot, value);
                        }
                    }
                    Op::Run(statement) => {
                        let statement = &self.scripts[number].statements[*statement];
                        plans.push(statement.plan(self.connection, &self.variables));
                    }
                    _ => {}
                }
            }
        }
        (self.variables, self.prng) = (variables, prng);
        plans
    }

    /// Executes the chosen scripts, and retries while another connection is in the way. Returns `false` if they were given up.
    /// The first attempt begins at the moment `last`, if there is one.
    fn execute_chosen(&mut self) -> Result<bool> {
        let prng = self.prng.clone();
        self.saved.clone_from(&self.variables);
        let mut failures = 0;
        loop {
            let Err(error) = self.attempt() else { return Ok(true) };
            failures += 1;
            let retries = self.retries.pause_after(error, failures, &Monotonic)?;
            self.prng = prng.clone();
            self.variables.clone_from(&self.saved);
            self.last = None;
            if !retries {
                return Ok(false);
            }
        }
    }

    /// Carries out one transaction. If it fails, no transaction is open afterwards.
    fn attempt(&mut self) -> Result<(), AttemptError> {
        let outcome = self.transaction();
        if outcome.is_err() && self.connection.in_transaction() {
            let rolled_back = self.connection.execute("ROLLBACK");
            rolled_back.map_err(|error| AttemptError::Failed(error.into()))?;
        }
        outcome
    }

    fn transaction(&mut self) -> Result<(), AttemptError> {
        if let Some([begin, _]) = &mut self.group {
            let asked = self.last.take().unwrap_or_else(|| Monotonic.now());
            begin.run().map_err(AttemptError::of(asked))?;
        }
        for index in 0..self.chosen.len() {
            self.script(self.chosen[index])?;
        }
        if let Some([_, commit]) = &mut self.group {
            let asked = self.last.take().unwrap_or_else(|| Monotonic.now());
            commit.run().map_err(AttemptError::of(asked))?;
        }
        Ok(())
    }

    /// Executes the operations of a script.
    fn script(&mut self, number: usize) -> Result<(), AttemptError> {
        let start = self.last.unwrap_or_else(|| Monotonic.now());
        self.workload.pools.draw(number, &mut self.variables, &mut self.prng);
        let mut at = 0;
        while at < self.workload.suite.scripts[number].operations.len() {
            at = self.operation(number, at)?.unwrap_or(at + 1);
        }
        // The only script has the latency of the transactions.
        if self.scripts.len() > 1 {
            let end = *self.last.get_or_insert_with(|| Monotonic.now());
            self.scripts[number].latency.record(Duration::from_nanos(end.saturating_sub(start)));
        }
        Ok(())
    }

    /// Carries out one operation. Returns the next one, if it is not the following one.
    #[inline]
    fn operation(&mut self, number: usize, at: usize) -> Result<Option<usize>, AttemptError> {
        let script = &self.workload.suite.scripts[number];
        let (variables, prng) = (&mut self.variables, &mut self.prng);
        let failed = |error: script::EvaluationError| {
            AttemptError::Failed(TrialError::Script {
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
                // The time counts to the next statement, because reading the clock would take longer.
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
    fn run_noted(&mut self, script: usize, number: usize) -> Result<(), AttemptError> {
        let text = &self.workload.suite.scripts[script];
        let statement = &text.statements[number];
        let noted = Executed {
            sql: statement.sql.clone(),
            values: self.scripts[script].statements[number].values(&self.variables),
            location: format!("{}:{}", text.file, statement.line),
            changes: -self.connection.total_changes(),
        };
        let outcome = self.run(script, number);
        let changes = noted.changes + self.connection.total_changes();
        self.journal.get_or_insert_default().push(Executed { changes, ..noted });
        outcome
    }

    /// Executes a statement.
    #[inline]
    fn run(&mut self, script: usize, number: usize) -> Result<(), AttemptError> {
        let statement = &mut self.scripts[script].statements[number];
        let start = self.last.unwrap_or_else(|| Monotonic.now());
        let executed = statement.execute(self.connection, &mut self.variables, self.digests);
        if self.workload.parameters.prepare == Preparing::Each {
            statement.finalize();
        }
        let end = Monotonic.now();
        if let Err(error) = executed {
            return Err(match error {
                StatementError::Engine(error) if error.is_busy() => {
                    AttemptError::Busy { since: start, snapshot: error.is_busy_snapshot() }
                }
                other => {
                    let script = &self.workload.suite.scripts[script];
                    AttemptError::Failed(other.at(&script.file, script.statements[number].line))
                }
            });
        }
        statement.latency.record(Duration::from_nanos(end.saturating_sub(start)));
        self.last = Some(end);
        Ok(())
    }
}

impl Client for ScriptClient<'_> {
    fn operate(&mut self, _: u64, now: Nanos) -> Result<Ended> {
        self.last = Some(now);
        self.chosen.clear();
        for _ in 0..self.workload.parameters.group.max(1) {
            let script = match self.in_turn {
                0 => Some(self.deck.deal(&mut self.prng)),
                _ => self.turns.next(),
            };
            self.in_turn = self.in_turn.saturating_sub(1);
            self.chosen.extend(script);
        }
        if self.workload.parameters.executions > 0 {
            let script = self.chosen[0];
            self.executed[script] += 1;
            self.choose_values(script, self.executed[script]);
        }
        let done = self.execute_chosen()?;
        Ok(Ended { done, at: self.last.take() })
    }

    fn take_busy(&mut self) -> BusyCounts {
        self.retries.take_busy()
    }

    fn take_parts(&mut self) -> Vec<PartReport> {
        let mut parts = Vec::new();
        for (script, prepared) in self.workload.suite.scripts.iter().zip(&mut self.scripts) {
            parts.push(PartReport {
                name: script.name.clone(),
                latency: std::mem::take(&mut prepared.latency),
                counters: None,
            });
            let statements = script.statements.iter().zip(&mut prepared.statements);
            parts.extend(statements.map(|(statement, prepared)| prepared.report(&statement.name)));
        }
        parts
    }
}

impl<'c> PreparedScript<'c> {
    /// Prepares the script of this number.
    fn prepare(
        connection: &'c Connection,
        suite: &Suite,
        number: usize,
    ) -> Result<PreparedScript<'c>> {
        let script = &suite.scripts[number];
        let mut changes_schema = false;
        let mut statements = Vec::new();
        for (index, statement) in script.statements.iter().enumerate() {
            let columns = suite.columns_of(number, index);
            let prepared =
                PreparedStatement::prepare(connection, statement, columns, changes_schema);
            statements.push(prepared.map_err(|error| error.at(&script.file, statement.line))?);
            changes_schema |= may_change_tables(&statement.sql);
        }
        Ok(PreparedScript { statements, latency: LatencyHistogram::default() })
    }
}

/// Returns whether a statement may add, change or remove tables.
pub(super) fn may_change_tables(sql: &str) -> bool {
    let first = sql.split_whitespace().next().unwrap_or_default();
    ["create", "alter", "drop", "attach"].iter().any(|word| first.eq_ignore_ascii_case(word))
}

/// Sets the variables that pgbench defines.
fn predefine(variables: &mut Variables, workload: &Workload) {
    let values = [
        workload.parameters.scale_factor as i64,
        i64::from(workload.number),
        workload.seed.child("default_seed").0 as i64,
        workload.seed.0 as i64,
    ];
    for (slot, value) in values.into_iter().enumerate() {
        variables.set(Slot(slot), Value::Int(value));
    }
}
