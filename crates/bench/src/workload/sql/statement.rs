//! A prepared statement with the variables of its parameters: binding, stepping, resetting, and counting.

use std::collections::BTreeMap;

use lab::trial::AnswerRows;
use script::{Slot, Value, Variables};

use super::facets::{Facets, as_literal};
use crate::drive::messages::{PartReport, StatementCounters};
use crate::error::{breaks_constraint, is_invalid};
use crate::workload::prelude::*;

/// The purposes of the columns of a statement.
#[derive(Clone, Default)]
pub(super) struct Columns {
    /// The variable of each column that `\gset` stores.
    pub(super) gset: Vec<(i32, Slot)>,
    /// The number of columns of the user's, if those behind them are the keys of the order.
    pub(super) shown: Option<usize>,
    /// The statement without its limit, if that is executed too.
    pub(super) unlimited: Option<String>,
    /// Whether the statement is not executed, because SQLite refuses it.
    pub(super) is_left_out: bool,
}

/// A statement with everything that its execution needs.
pub(super) struct PreparedStatement<'c> {
    sql: String,
    /// The variable of each parameter, by the parameter as SQLite names it.
    parameters: Vec<(String, Slot)>,
    /// `None` before each execution if it is prepared each time, and until its tables exist.
    statement: Option<Statement<'c, 'static>>,
    /// The variable of each parameter, by its number.
    bindings: Option<Vec<(i32, Slot)>>,
    /// The variable of each column.
    gset: Vec<(i32, Slot)>,
    pub(super) latency: LatencyHistogram,
    counters: StatementCounters,
    pub(super) answers: Facets,
    unlimited: Option<Box<PreparedStatement<'c>>>,
    /// Whether it is not executed any more, because it takes too long or SQLite refuses it.
    pub(super) is_left_out: bool,
}

/// An error of a statement.
pub(super) enum StatementError {
    /// SQLite refuses it, or it failed.
    Engine(EngineError),
    /// A `\\gset` did not get one row.
    Rows(u64),
    /// The script has no variable for a parameter.
    Parameter(String),
}

impl StatementError {
    /// Returns the error at a file and line.
    pub(super) fn at(self, file: &str, line: usize) -> TrialError {
        let file = file.to_owned();
        let why = match self {
            StatementError::Engine(error) if !is_invalid(&error) => {
                let (why, breaks_constraint) = (error.message(), breaks_constraint(&error));
                return TrialError::Prevented { file, line, why, breaks_constraint };
            }
            StatementError::Engine(error) => error.message(),
            StatementError::Rows(rows) => {
                format!("\\gset needs one row, but the query returned {rows}")
            }
            StatementError::Parameter(name) => format!("the parameter {name} has no value"),
        };
        TrialError::Script { file, line, why }
    }
}

impl<'c> PreparedStatement<'c> {
    /// Prepares a statement. With `later`, a statement that SQLite refuses is prepared when it is executed.
    pub(super) fn prepare(
        connection: &'c Connection,
        statement: &script::Statement,
        columns: Columns,
        later: bool,
    ) -> Result<PreparedStatement<'c>, StatementError> {
        let mut prepared = PreparedStatement {
            sql: statement.sql.clone(),
            parameters: statement.parameters.clone(),
            statement: None,
            bindings: None,
            gset: columns.gset,
            latency: LatencyHistogram::default(),
            counters: StatementCounters::default(),
            answers: Facets::of(&statement.sql, statement.volatile, columns.shown),
            unlimited: None,
            is_left_out: columns.is_left_out,
        };
        if let Some(sql) = columns.unlimited {
            let unlimited = script::Statement { sql, ..statement.clone() };
            let of = PreparedStatement::prepare(connection, &unlimited, Columns::default(), later);
            prepared.unlimited = of.ok().map(Box::new);
        }
        if prepared.is_left_out {
            return Ok(prepared);
        }
        match prepared.make(connection) {
            Err(StatementError::Engine(_)) if later => Ok(prepared),
            made => made.map(|()| prepared),
        }
    }

    /// Prepares the statement and looks its parameters up.
    fn make(&mut self, connection: &'c Connection) -> Result<(), StatementError> {
        let statement = connection.prepare(&self.sql).map_err(StatementError::Engine)?;
        if self.bindings.is_none() {
            let known: BTreeMap<_, _> =
                self.parameters.iter().map(|(name, slot)| (name, *slot)).collect();
            let bindings = (1..=statement.parameter_count()).map(|index| {
                let name = statement.parameter_name(index).unwrap_or(format!("?{index}"));
                let slot = known.get(&name).map(|slot| (index, *slot));
                slot.ok_or(StatementError::Parameter(name))
            });
            self.bindings = Some(bindings.collect::<Result<_, _>>()?);
        }
        self.statement = Some(statement);
        Ok(())
    }

    /// Binds the variables, steps to the end and resets. With `digests`, digests every row.
    #[inline]
    pub(super) fn execute(
        &mut self,
        connection: &'c Connection,
        variables: &mut Variables,
        digests: bool,
    ) -> Result<(), StatementError> {
        if self.is_left_out && self.gset.is_empty() {
            return Ok(());
        }
        if let Some(unlimited) = self.unlimited.as_mut().filter(|_| digests) {
            unlimited.execute(connection, variables, true)?;
            self.answers.unlimited = (!unlimited.is_left_out).then_some(unlimited.answers.sum);
        }
        if self.statement.is_none() {
            self.make(connection)?;
        }
        let (Some(statement), Some(bindings)) = (&mut self.statement, &self.bindings) else {
            return Ok(());
        };
        for (index, slot) in bindings {
            bind(statement, *index, variables, *slot).map_err(StatementError::Engine)?;
        }
        if let Some(kept) = self.answers.kept.as_mut().filter(|_| digests) {
            let values = bindings.iter().map(|(index, slot)| {
                let name = statement.parameter_name(*index).unwrap_or(format!("?{index}"));
                (name, as_literal(&value(variables, *slot)))
            });
            kept.current = AnswerRows { values: values.collect(), ..AnswerRows::default() };
        }
        let mut rows = 0;
        let stepped = loop {
            match statement.step() {
                Ok(Step::Row) => rows += 1,
                Ok(Step::Done) => break Ok(()),
                Err(error) => break Err(error),
            }
            for (column, slot) in &self.gset {
                store(&statement.column_value(*column), *slot, variables);
            }
            if digests {
                self.answers.add_row(statement);
            }
        };
        let stepped = stepped.and(statement.reset());
        // Others go on: a query leaves nothing behind.
        let is_given_up = |error: &EngineError| error.is_interrupted() && statement.is_read_only();
        self.is_left_out = digests && stepped.as_ref().is_err_and(is_given_up);
        if self.is_left_out && self.gset.is_empty() {
            return Ok(());
        }
        stepped.map_err(StatementError::Engine)?;
        self.counters.executions += 1;
        self.counters.rows += rows;
        if digests {
            self.answers.end(connection, statement);
        }
        if !self.gset.is_empty() && rows != 1 {
            return Err(StatementError::Rows(rows));
        }
        Ok(())
    }

    /// Returns its plan with these values; nothing if SQLite has none for it, as before its tables exist.
    pub(super) fn plan(&self, connection: &Connection, variables: &Variables) -> Vec<String> {
        connection.query_plan_with(&self.sql, &self.values(variables)).unwrap_or_default()
    }

    /// Returns the values of its parameters, in order; none before it is prepared for the first time.
    pub(super) fn values(&self, variables: &Variables) -> Vec<engine::Value> {
        self.bindings.iter().flatten().map(|(_, slot)| value(variables, *slot)).collect()
    }

    /// Ends the prepared statement, after adding its counters.
    pub(super) fn finalize(&mut self) {
        if let Some(statement) = self.statement.take() {
            self.counters.add(StatementCounters::of(&statement));
        }
    }

    /// Returns the report on its executions since the last call.
    pub(super) fn report(&mut self, name: &str) -> PartReport {
        self.finalize();
        PartReport {
            name: name.to_owned(),
            latency: std::mem::take(&mut self.latency),
            counters: Some(std::mem::take(&mut self.counters)),
        }
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

/// Returns the value of a variable.
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

/// Puts a value into a variable.
#[inline]
pub(super) fn store(value: &engine::Value, slot: Slot, variables: &mut Variables) {
    match value {
        engine::Value::Null => variables.set(slot, Value::Null),
        engine::Value::Integer(value) => variables.set(slot, Value::Int(*value)),
        engine::Value::Real(value) => variables.set(slot, Value::Double(*value)),
        engine::Value::Text(text) => variables.set_text(slot, text),
        engine::Value::Blob(bytes) => variables.set_blob(slot, bytes),
    }
}
