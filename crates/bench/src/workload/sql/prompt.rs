//! A prepared statement with the variables of its parameters: binding, stepping, resetting, and what is counted.

use engine::{Connection, EngineError, Statement, StatementCounter, Step};
use script::{Slot, Value, Variables};

use super::answers::Tally;
use crate::error::TrialError;
use crate::measure::LatencyHistogram;
use crate::workload::contention::message::{Counters, PartReport};

/// A statement with all that its execution needs.
pub(super) struct Prompt<'c> {
    sql: String,
    /// The variable of each parameter, by the parameter as SQLite names it.
    parameters: Vec<(String, Slot)>,
    /// None where it is prepared each time, and until its tables exist.
    statement: Option<Statement<'c, 'static>>,
    /// The variable of each parameter, by its number.
    bindings: Option<Vec<(i32, Slot)>>,
    /// The variable of each column.
    gset: Vec<(i32, Slot)>,
    pub(super) latency: LatencyHistogram,
    counters: Counters,
    pub(super) tally: Tally,
}

/// The result codes of mistakes in a statement: `SQLITE_ERROR` and `SQLITE_RANGE` (<https://sqlite.org/rescode.html>).
const OF_MISTAKES: [i32; 2] = [1, 25];

/// What is wrong with a statement.
pub(super) enum Wrong {
    /// SQLite refuses it, or it failed.
    Engine(EngineError),
    /// A `\\gset` got another number of rows than one.
    Rows(u64),
    /// A parameter of the statement is none of the script.
    Parameter(String),
}

impl Wrong {
    /// As the error of a file and line.
    pub(super) fn at(self, file: &str, line: usize) -> TrialError {
        let file = file.to_owned();
        let why = match self {
            Wrong::Engine(error) if !is_mistake(&error) => {
                let why = said(&error);
                return TrialError::Prevented { file, line, why };
            }
            Wrong::Engine(error) => said(&error),
            Wrong::Rows(rows) => format!("\\gset needs one row, but the query returned {rows}"),
            Wrong::Parameter(name) => format!("the parameter {name} has no value"),
        };
        TrialError::Script { file, line, why }
    }
}

/// Whether the statement is wrong: by SQLite's result code, or because it did not reach SQLite.
fn is_mistake(error: &EngineError) -> bool {
    let code = error.as_sqlite().map(engine::SqliteError::primary);
    code.is_none_or(|code| OF_MISTAKES.contains(&code))
}

/// SQLite's own message, without the text of the statement.
fn said(error: &EngineError) -> String {
    match error.as_sqlite() {
        Some(error) => error.message().to_owned(),
        None => error.to_string(),
    }
}

impl<'c> Prompt<'c> {
    /// Prepares a statement; where `later`, one that SQLite refuses is prepared when it is executed.
    pub(super) fn prepare(
        connection: &'c Connection,
        statement: &script::Statement,
        gset: &[(i32, Slot)],
        later: bool,
    ) -> Result<Prompt<'c>, Wrong> {
        let mut prompt = Prompt {
            sql: statement.sql.clone(),
            parameters: statement.parameters.clone(),
            statement: None,
            bindings: None,
            gset: gset.to_vec(),
            latency: LatencyHistogram::new(),
            counters: Counters::default(),
            tally: Tally::of(statement),
        };
        match prompt.make(connection) {
            Err(Wrong::Engine(_)) if later => Ok(prompt),
            made => made.map(|()| prompt),
        }
    }

    /// Prepares the statement and looks its parameters up.
    fn make(&mut self, connection: &'c Connection) -> Result<(), Wrong> {
        let statement = connection.prepare(&self.sql).map_err(Wrong::Engine)?;
        if self.bindings.is_none() {
            let bindings = (1..=statement.parameter_count()).map(|index| {
                let name = statement.parameter_name(index).unwrap_or(format!("?{index}"));
                let known = self.parameters.iter().find(|(known, _)| *known == name);
                known.map(|(_, slot)| (index, *slot)).ok_or(Wrong::Parameter(name))
            });
            self.bindings = Some(bindings.collect::<Result<_, _>>()?);
        }
        self.statement = Some(statement);
        Ok(())
    }

    /// Binds the variables, steps to the end and resets; with `tally`, looks at every row.
    #[inline]
    pub(super) fn execute(
        &mut self,
        connection: &'c Connection,
        variables: &mut Variables,
        tally: bool,
    ) -> Result<(), Wrong> {
        if self.statement.is_none() {
            self.make(connection)?;
        }
        let (Some(statement), Some(bindings)) = (&mut self.statement, &self.bindings) else {
            return Ok(());
        };
        for (index, slot) in bindings {
            bind(statement, *index, variables, *slot).map_err(Wrong::Engine)?;
        }
        let mut rows = 0;
        let stepped = loop {
            match statement.step() {
                Ok(Step::Row) => rows += 1,
                Ok(Step::Done) => break Ok(()),
                Err(error) => break Err(error),
            }
            for (column, slot) in &self.gset {
                store(statement, *column, variables, *slot);
            }
            if tally {
                self.tally.row(statement);
            }
        };
        let reset = statement.reset();
        stepped.and(reset).map_err(Wrong::Engine)?;
        self.counters.executions += 1;
        self.counters.rows += rows;
        self.tally.executions += u64::from(tally);
        match !self.gset.is_empty() && rows != 1 {
            true => Err(Wrong::Rows(rows)),
            false => Ok(()),
        }
    }

    /// The values of its parameters, in order; none before it is prepared for the first time.
    pub(super) fn values(&self, variables: &Variables) -> Vec<engine::Value> {
        let bindings = self.bindings.iter().flatten();
        bindings.map(|(_, slot)| value(variables, *slot)).collect()
    }

    /// Ends the prepared statement, after noting what SQLite counted of it.
    pub(super) fn finalize(&mut self) {
        if let Some(statement) = self.statement.take() {
            self.counters.add(counted(&statement));
        }
    }

    /// What became of it since this was asked last.
    pub(super) fn report(&mut self, name: &str) -> Result<PartReport, TrialError> {
        self.finalize();
        let latency = std::mem::replace(&mut self.latency, LatencyHistogram::new());
        Ok(PartReport {
            name: name.to_owned(),
            latency: latency.latency()?,
            counters: Some(std::mem::take(&mut self.counters)),
        })
    }
}

fn counted(statement: &Statement<'_, '_>) -> Counters {
    Counters {
        vm_steps: statement.counter(StatementCounter::VmSteps),
        scan_steps: statement.counter(StatementCounter::FullScanSteps),
        sorts: statement.counter(StatementCounter::Sorts),
        auto_index_rows: statement.counter(StatementCounter::AutoIndexRows),
        ..Counters::default()
    }
}

#[inline]
fn bind(
    statement: &mut Statement<'_, 'static>,
    index: i32,
    variables: &Variables,
    slot: Slot,
) -> Result<(), EngineError> {
    match variables.get(slot) {
        Value::Int(value) => statement.bind_i64(index, value),
        Value::Bool(value) => statement.bind_i64(index, i64::from(value)),
        Value::Double(value) => statement.bind_f64(index, value),
        Value::Text => match variables.text(slot) {
            Some(text) => statement.bind_text(index, text),
            None => statement.bind_null(index),
        },
        Value::Blob => statement.bind_blob(index, variables.bytes(slot)),
        Value::Null | Value::Unset => statement.bind_null(index),
    }
}

/// The value of a variable.
fn value(variables: &Variables, slot: Slot) -> engine::Value {
    match variables.get(slot) {
        Value::Int(value) => engine::Value::Integer(value),
        Value::Bool(value) => engine::Value::Integer(i64::from(value)),
        Value::Double(value) => engine::Value::Real(value),
        Value::Text => match variables.text(slot) {
            Some(text) => engine::Value::Text(text.to_owned()),
            None => engine::Value::Null,
        },
        Value::Blob => engine::Value::Blob(variables.bytes(slot).to_vec()),
        Value::Null | Value::Unset => engine::Value::Null,
    }
}

/// Puts a column into a variable.
fn store(statement: &Statement<'_, '_>, column: i32, variables: &mut Variables, slot: Slot) {
    match statement.column_value(column) {
        engine::Value::Null => variables.set(slot, Value::Null),
        engine::Value::Integer(value) => variables.set(slot, Value::Int(value)),
        engine::Value::Real(value) => variables.set(slot, Value::Double(value)),
        engine::Value::Text(text) => variables.set_text(slot, &text),
        engine::Value::Blob(bytes) => variables.set_blob(slot, &bytes),
    }
}
