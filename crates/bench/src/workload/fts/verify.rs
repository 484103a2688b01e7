//! Whether the table holds the documents and its index agrees with them.

use engine::{Connection, Statement, Step};

use super::source::Source;
use super::table::{Content, Kind, TABLE, TableOptions, listed};
use crate::error::{Result, TrialError};
use crate::generate::Documents;
use crate::workload::common::expect;

/// Documents compared at a time.
const BATCH: usize = 1_000;

/// Counts the rows, has FTS5 check its index, and compares every text that is kept.
pub(super) fn check(
    connection: &Connection,
    options: &TableOptions,
    source: &Source,
) -> Result<()> {
    if options.keeps_texts() {
        compare(connection, options, source)?;
    } else {
        let count = connection.query_i64(&format!("SELECT count(*) FROM {TABLE}"))?;
        expect("the count of rows", count, source.rows as i64)?;
    }
    check_index(connection, options)
}

/// FTS5's own check of the index, with external content against the rows of the other table.
pub(super) fn check_index(connection: &Connection, options: &TableOptions) -> Result<()> {
    if options.kind != Kind::Fts5 {
        return Ok(());
    }
    let sql = match options.content {
        Content::External => {
            format!("INSERT INTO {TABLE}({TABLE}, rank) VALUES ('integrity-check', 1)")
        }
        _ => format!("INSERT INTO {TABLE}({TABLE}) VALUES ('integrity-check')"),
    };
    let checked = connection.execute(&sql);
    checked.map_err(|error| TrialError::wrong("the full-text index", error.to_string(), "sound"))
}

/// Returns how many fields of a row, from the column `first` of a query on, differ from a document's.
pub(super) fn differing(
    select: &Statement<'_, '_>,
    first: i32,
    documents: &Documents,
    row: usize,
) -> Result<usize> {
    let mut wrong = 0;
    for (place, column) in (first..).zip(0..documents.columns) {
        let same = match documents.field(row, column) {
            Some(text) => !select.column_is_null(place) && select.column_text(place)? == text,
            None => select.column_is_null(place),
        };
        wrong += usize::from(!same);
    }
    Ok(wrong)
}

fn compare(connection: &Connection, options: &TableOptions, source: &Source) -> Result<()> {
    let columns = &source.columns;
    let sql = format!("SELECT {} FROM {} ORDER BY rowid", listed(columns), options.written());
    let mut select = connection.prepare(&sql)?;
    let mut reading = source.open()?;
    let mut documents = Documents::new(columns.len());
    let (mut found, mut wrong) = (0, 0);
    loop {
        reading.fill(BATCH, &mut documents)?;
        for row in 0..documents.rows() {
            if select.step()? == Step::Done {
                return expect("the count of rows", found, source.rows);
            }
            found += 1;
            wrong += differing(&select, 0, &documents, row)?;
        }
        if documents.rows() == 0 {
            break;
        }
    }
    while select.step()? == Step::Row {
        found += 1;
    }
    expect("the count of rows", found, source.rows)?;
    expect("the count of wrong texts", wrong, 0)
}
