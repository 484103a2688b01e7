//! Texts into one table: how their length and the number of columns govern the rate.
//!
//! The clock runs from the BEGIN to the end of the COMMIT. Connecting, creating the table, preparing statements,
//! generating the texts, verifying the result and closing are not timed.

use std::ops::Range;

use super::writer::{Inserts, Transaction, Writer};
use crate::generate::Texts;
use crate::workload::common::{MAX_HOST_PARAMETERS, MIB, check_host_parameters};
use crate::workload::prelude::*;

/// The workload `text-insert`.
pub(in crate::workload) struct TextInsert;

/// Columns that a table may have unless SQLite was compiled otherwise
/// (<https://sqlite.org/limits.html>, section 2).
const MAX_COLUMNS: i64 = 2_000;

/// Bytes that a text may have unless SQLite was compiled otherwise
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

    fn check(parameters: &Parameters, _: &Settings) -> Result<()> {
        let Parameters { characters, columns, rows_per_statement: rows, .. } = *parameters;
        if !characters.is_multiple_of(columns) {
            return Err(TrialError::cannot_run(format!(
                "{characters} characters cannot be divided equally among {columns} columns"
            )));
        }
        let values = rows.saturating_mul(columns);
        check_host_parameters(values, &format!("{rows} rows of {columns} columns"))
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured> {
        let Parameters { rows, characters, columns, rows_per_statement } = *parameters;
        (trial.phase)("generate");
        let texts = Texts::generate(characters / columns, trial.seed);

        (trial.phase)("load");
        let writer = Writer::open(trial, Some("test.db"), &create_table(columns))?;
        let begin = sqlite::begin_statement(trial.settings);
        let mut transaction = Transaction::prepare(&writer.connection, begin)?;
        let row = row_sql(columns);
        let mut inserts = Inserts::prepare(&writer.connection, "texts", &row, rows_per_statement)?;
        let mut windows = Windows::new(rows, rows_per_statement, None);
        let mut measured = writer.time(trial, rows, |started| {
            windows.start(started);
            transaction.insert(rows, &mut windows, |range| {
                insert_rows(&mut inserts, &texts, range, columns)
            })
        })?;
        drop((transaction, inserts));
        let bytes = rows as f64 * characters as f64;
        let rate = bytes / MIB / measured.metrics["seconds"];
        set(&mut measured, "mib_per_s", rate);
        measured.windows = windows.rates;

        (trial.phase)("verify");
        verify(&writer.connection, &texts, rows, columns)?;
        writer.close(rows, &mut measured)?;
        Ok(measured)
    }
}

fn create_table(columns: usize) -> String {
    let columns: Vec<String> = (1..=columns).map(|column| format!("c{column} TEXT")).collect();
    format!("CREATE TABLE texts({})", columns.join(", "))
}

fn row_sql(columns: usize) -> String {
    format!("({})", vec!["?"; columns].join(","))
}

#[inline]
fn insert_rows<'d>(
    inserts: &mut Inserts<'_, 'd>,
    texts: &'d Texts,
    rows: Range<usize>,
    columns: usize,
) -> Result<()> {
    let whole = rows.end - rows.len() % inserts.rows;
    let places = inserts.rows * columns;
    for row in (rows.start..whole).step_by(inserts.rows) {
        insert(&mut inserts.many, texts, row * columns, places)?;
    }
    for row in whole..rows.end {
        insert(&mut inserts.one, texts, row * columns, columns)?;
    }
    Ok(())
}

/// Binds the texts where they lie and runs the statement.
#[inline]
fn insert<'d>(
    statement: &mut Statement<'_, 'd>,
    texts: &'d Texts,
    from: usize,
    count: usize,
) -> Result<()> {
    for place in 0..count {
        statement.bind_text_borrowed(place as i32 + 1, texts.text(from + place))?;
    }
    statement.run()?;
    Ok(())
}

/// Reads and compares every text of the table.
fn verify(connection: &Connection, texts: &Texts, rows: usize, columns: usize) -> Result<()> {
    let mut select = connection.prepare("SELECT * FROM texts ORDER BY rowid")?;
    let (mut found, mut wrong) = (0, 0);
    while select.step()? == Step::Row {
        for column in 0..columns {
            let wanted = texts.text(found * columns + column);
            wrong += usize::from(select.column_text(column as i32)? != wanted);
        }
        found += 1;
    }
    expect("the count of rows", found, rows)?;
    expect("the count of wrong texts", wrong, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::common::tests::{memory_database, problem, run};
    use lab::seed::Seed;

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

    #[test]
    fn a_row_has_a_place_for_every_text() {
        assert_eq!(row_sql(3), "(?,?,?)");
        assert_eq!(create_table(2), "CREATE TABLE texts(c1 TEXT, c2 TEXT)");
    }

    #[test]
    fn a_missing_row_or_a_changed_text_is_a_wrong_result() {
        let texts = Texts::generate(8, Seed(1));
        let values: Vec<String> = (0..3).map(|n| format!("('{}')", texts.text(n))).collect();
        let connection = memory_database(&format!(
            "CREATE TABLE texts(c1 TEXT); INSERT INTO texts VALUES {}",
            values.join(",")
        ));
        assert!(verify(&connection, &texts, 3, 1).is_ok());
        assert!(verify(&connection, &texts, 4, 1).is_err());
        connection.execute("UPDATE texts SET c1 = upper(c1) || '!' WHERE rowid = 2").unwrap();
        let error = verify(&connection, &texts, 3, 1).unwrap_err().to_string();
        assert!(error.contains("wrong texts is 1"), "{error}");
    }
}
