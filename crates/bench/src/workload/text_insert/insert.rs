//! The inserting of texts, bound where they lie: nothing but what an application would do.

use std::ops::Range;

use engine::{Connection, Statement};

use super::Parameters;
use crate::error::TrialError;
use crate::generate::Texts;
use crate::measure::Windows;
use crate::workload::common::in_windows;

/// Everything prepared for inserting.
pub(super) struct Inserter<'c, 'd> {
    begin: Statement<'c, 'static>,
    commit: Statement<'c, 'static>,
    many: Statement<'c, 'd>,
    one: Statement<'c, 'd>,
    rows_per_statement: usize,
    columns: usize,
}

impl<'c, 'd> Inserter<'c, 'd> {
    pub(super) fn prepare(
        connection: &'c Connection,
        parameters: &Parameters,
        begin: &str,
    ) -> Result<Inserter<'c, 'd>, TrialError> {
        let (rows_per_statement, columns) = (parameters.rows_per_statement, parameters.columns);
        Ok(Inserter {
            begin: connection.prepare(begin)?,
            commit: connection.prepare("COMMIT")?,
            many: connection.prepare(&insert_sql(rows_per_statement, columns))?,
            one: connection.prepare(&insert_sql(1, columns))?,
            rows_per_statement,
            columns,
        })
    }

    /// Inserts all rows in one transaction.
    pub(super) fn insert_all(
        &mut self,
        texts: &'d Texts,
        rows: usize,
        windows: &mut Windows,
    ) -> Result<(), TrialError> {
        self.begin.run()?;
        in_windows(rows, windows, |rows, last| {
            self.insert_rows(texts, rows)?;
            if last {
                self.commit.run()?;
            }
            Ok(())
        })
    }

    #[inline]
    fn insert_rows(&mut self, texts: &'d Texts, rows: Range<usize>) -> Result<(), TrialError> {
        let whole = rows.end - rows.len() % self.rows_per_statement;
        let places = self.rows_per_statement * self.columns;
        for row in (rows.start..whole).step_by(self.rows_per_statement) {
            insert(&mut self.many, texts, row * self.columns, places)?;
        }
        for row in whole..rows.end {
            insert(&mut self.one, texts, row * self.columns, self.columns)?;
        }
        Ok(())
    }
}

#[inline]
fn insert<'d>(
    statement: &mut Statement<'_, 'd>,
    texts: &'d Texts,
    from: usize,
    count: usize,
) -> Result<(), TrialError> {
    for place in 0..count {
        statement.bind_text_borrowed(place as i32 + 1, texts.text(from + place))?;
    }
    statement.run()?;
    Ok(())
}

pub(super) fn create_table(columns: usize) -> String {
    let columns: Vec<String> = (1..=columns).map(|column| format!("c{column} TEXT")).collect();
    format!("CREATE TABLE texts({})", columns.join(", "))
}

fn insert_sql(rows: usize, columns: usize) -> String {
    let row = format!("({})", vec!["?"; columns].join(","));
    format!("INSERT INTO texts VALUES {}", vec![row; rows].join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_has_a_place_for_every_text() {
        assert_eq!(insert_sql(2, 3), "INSERT INTO texts VALUES (?,?,?),(?,?,?)");
        assert_eq!(create_table(2), "CREATE TABLE texts(c1 TEXT, c2 TEXT)");
    }
}
