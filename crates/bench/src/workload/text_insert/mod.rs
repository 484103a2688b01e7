//! Texts into one table: how their length and the number of columns govern the rate.
//!
//! The clock runs from the BEGIN to the end of the COMMIT; connecting, making the table, preparing
//! statements, generating the texts, verifying the result and closing are outside.

mod insert;
mod verify;

use lab::level::Settings;
use lab::trial::Measured;

use super::common::{
    MAX_HOST_PARAMETERS, Stopwatch, check_host_parameters, close, set, set_bytes_per_row,
    set_counts, set_peak_memory,
};
use super::{Declared, Trial};
use crate::error::TrialError;
use crate::generate::Texts;
use crate::measure::Windows;
use crate::parameters::Rows;
use crate::target::sqlite;

/// The workload `text-insert`.
pub(super) struct TextInsert;

/// Columns that a table may have unless SQLite was compiled otherwise
/// (<https://sqlite.org/limits.html>, section 2).
const MAX_COLUMNS: i64 = 2_000;

/// The most bytes that a text may have unless SQLite was compiled otherwise
/// (<https://sqlite.org/limits.html>, section 1).
const MAX_LENGTH: i64 = 1_000_000_000;

parameters! {
    /// The parameters of one trial.
    struct Parameters {
        /// Rows to insert.
        rows: Rows = 100_000, 1..;
        /// Characters in all columns of a row together, one byte each.
        characters: usize = 64, 1..=MAX_LENGTH;
        /// Columns among which the characters are divided equally.
        columns: usize = 1, 1..=MAX_COLUMNS;
        /// Rows in the VALUES list of one INSERT.
        rows_per_statement: Rows = 1, 1..=MAX_HOST_PARAMETERS as i64;
    }
}

impl Declared for TextInsert {
    const NAME: &'static str = "text-insert";
    const ABOUT: &'static str = "Inserts rows of random texts into one table, in one transaction.";
    type Parameters = Parameters;

    fn check(parameters: &Parameters, _: &Settings) -> Result<(), TrialError> {
        let Parameters { characters, columns, rows_per_statement: rows, .. } = *parameters;
        if !characters.is_multiple_of(columns) {
            return Err(TrialError::cannot_run(format!(
                "{characters} characters cannot be divided equally among {columns} columns"
            )));
        }
        let values = rows.saturating_mul(columns);
        check_host_parameters(values, &format!("{rows} rows of {columns} columns"))
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured, TrialError> {
        (trial.phase)("generate");
        let texts = Texts::generate(parameters.characters / parameters.columns, trial.seed);

        (trial.phase)("load");
        let path = trial.directory.join("test.db");
        let connection = sqlite::open(trial, &path)?;
        connection.execute(&insert::create_table(parameters.columns))?;
        let begin = sqlite::begin_statement(trial.settings);
        let mut inserter = insert::Inserter::prepare(&connection, parameters, begin)?;
        let mut windows = Windows::new(parameters.rows, parameters.rows_per_statement, None);
        let counts = sqlite::Counts::begin(trial, &connection)?;
        let watch = Stopwatch::start()?;
        windows.start(watch.started());
        inserter.insert_all(&texts, parameters.rows, &mut windows)?;
        let elapsed = watch.stop()?;
        drop(inserter);

        let mut measured = elapsed.measured(parameters.rows);
        let bytes = parameters.rows as f64 * parameters.characters as f64;
        set(&mut measured, "mib_per_s", elapsed.mib_per_s(bytes));
        set_peak_memory(&mut measured);
        set_counts(&mut measured, counts, &connection)?;
        measured.windows = windows.rates();

        (trial.phase)("verify");
        verify::check(&connection, &texts, parameters.rows, parameters.columns)?;
        close(connection, Some(&path), &mut measured)?;
        set_bytes_per_row(&mut measured, parameters.rows);
        Ok(measured)
    }
}

#[cfg(test)]
mod tests {
    use super::super::common::tests::{problem, run};

    #[test]
    fn every_division_into_columns_and_statements_gives_verified_rows() {
        for columns in [1, 16] {
            for rows_per_statement in [1, 7] {
                let settings = [
                    ("rows", 101.into()),
                    ("characters", 1024.into()),
                    ("columns", columns.into()),
                    ("rows_per_statement", rows_per_statement.into()),
                    ("synchronous", "off".into()),
                ];
                let metrics = run("text-insert", &settings).unwrap().metrics;
                let mib = metrics["mib_per_s"] * metrics["seconds"];
                assert!((mib - 101.0 / 1024.0).abs() < 1e-6, "{mib}");
                assert!(metrics["bytes_per_row"] > 1024.0);
            }
        }
    }

    #[test]
    fn what_does_not_divide_or_fit_cannot_run_and_says_why() {
        let odd = problem("text-insert", &[("characters", 10.into()), ("columns", 3.into())]);
        assert!(odd.contains("10 characters"), "{odd}");
        let wide = [
            ("characters", 1000.into()),
            ("columns", 1000.into()),
            ("rows_per_statement", 33.into()),
        ];
        let wide = problem("text-insert", &wide);
        assert!(wide.contains("33000 parameters"), "{wide}");
    }
}
