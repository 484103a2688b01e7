//! All findings of a database: missing indexes and statistics first, then needless indexes, then space.

use std::collections::BTreeMap;

use engine::schema::{Schema, Table};
use engine::{Connection, EngineError};

use super::{Examination, Finding, Space, indexes};

/// A part of the file that is free, from which on a smaller file is worth a VACUUM.
const MUCH_FREE: f64 = 0.10;

/// A part of a table's bytes that holds nothing, from which on it is worth a VACUUM; half-full pages are what random
/// inserts leave.
const MUCH_UNUSED: f64 = 0.35;

/// A part of a table's pages out of order, from which on a scan jumps through the file.
const MUCH_DISORDER: f64 = 0.5;

/// Pages from which on such a scan takes long: disks that read one at a time need 50 ms for them.
const LONG_SCAN: i64 = 500;

/// Smaller tables and indexes, in pages, are ignored.
const LARGE: i64 = 100;

/// SQLite's default, which fits the pages of file systems and of most disks.
const USUAL_PAGE: i64 = 4_096;

/// The remedy of missing statistics.
pub const ANALYZE: &str = "ANALYZE;";

/// Statistics that are off by this factor are called stale.
const STALE: f64 = 2.0;

/// # Errors
/// A table cannot be read.
pub(super) fn of(
    connection: &Connection,
    schema: &Schema,
    examination: &Examination,
) -> Result<Vec<Finding>, EngineError> {
    let space = examination.space.as_deref().unwrap_or_default();
    let mut findings = indexes::foreign_keys_without(schema);
    findings.extend(statistics(connection, schema, space)?);
    findings.extend(indexes::redundant(schema));
    findings.extend(indexes::of(connection, schema, space, examination.page_bytes)?);
    findings.extend(file(examination));
    findings.extend(fragmented(space));
    Ok(findings)
}

fn file(examination: &Examination) -> Vec<Finding> {
    let Examination { page_bytes, pages, free_pages, .. } = examination;
    let small = (*page_bytes < USUAL_PAGE).then(|| Finding {
        subject: "page size".to_owned(),
        what: format!("pages have {page_bytes} bytes; SQLite's default is {USUAL_PAGE}"),
        remedy: format!("PRAGMA page_size = {USUAL_PAGE}; VACUUM; (not in WAL mode)"),
        experiment: Some("settings-page-size"),
        ..Finding::default()
    });
    let share = *free_pages as f64 / (*pages).max(1) as f64;
    let free = (share >= MUCH_FREE && *free_pages >= LARGE).then(|| Finding {
        subject: "free pages".to_owned(),
        what: format!("{free_pages} of {pages} pages hold nothing; new rows will use them"),
        remedy: "VACUUM; (if the file should be smaller)".to_owned(),
        ..Finding::default()
    });
    small.into_iter().chain(free).collect()
}

/// Returns one finding for all tables and indexes, because one VACUUM orders them all.
fn fragmented(space: &[Space]) -> Option<Finding> {
    let large = space.iter().filter(|object| object.pages >= LARGE);
    let each: Vec<String> = large.filter_map(fragmentation).collect();
    (!each.is_empty()).then(|| Finding {
        subject: "fragmentation".to_owned(),
        what: each.join("; "),
        remedy: "VACUUM; (fills pages and puts them in order, which matters for scans that read from the disk)".to_owned(),
        ..Finding::default()
    })
}

fn fragmentation(space: &Space) -> Option<String> {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let unused =
        (space.unused() >= MUCH_UNUSED).then(|| format!("{} unused", percent(space.unused())));
    let disorder = (space.pages >= LONG_SCAN && space.disorder() >= MUCH_DISORDER)
        .then(|| format!("{} of pages out of order", percent(space.disorder())));
    let what: Vec<String> = unused.into_iter().chain(disorder).collect();
    (!what.is_empty()).then(|| format!("{}: {}", space.name, what.join(", ")))
}

/// The number of rows that sqlite_stat1 has, by table, and the indexes that it knows.
#[derive(Default)]
struct Statistics {
    rows: BTreeMap<String, i64>,
    indexes: Vec<String>,
}

fn statistics(
    connection: &Connection,
    schema: &Schema,
    space: &[Space],
) -> Result<Vec<Finding>, EngineError> {
    let indexed = || schema.tables.iter().filter(|table| !table.indexes.is_empty());
    if indexed().next().is_none() {
        return Ok(Vec::new());
    }
    let optimize = |subject: &str, what: String| Finding {
        subject: subject.to_owned(),
        what,
        remedy: format!("{ANALYZE} (it can make a plan worse, too: --queries FILE tries it)"),
        ..Finding::default()
    };
    let Some(known) = read_statistics(connection)? else {
        let what =
            "ANALYZE has never run, so the query planner guesses how many rows an index finds";
        return Ok(vec![optimize("statistics", what.to_owned())]);
    };
    let stale: Vec<String> = indexed()
        .filter_map(|table| {
            let what = stale(table, &known, rows_of(table, space)?)?;
            Some(format!("{}: {what}", table.name))
        })
        .collect();
    Ok((!stale.is_empty()).then(|| optimize("statistics", stale.join("; "))).into_iter().collect())
}

/// None where there are none.
fn read_statistics(connection: &Connection) -> Result<Option<Statistics>, EngineError> {
    let is_there = "SELECT count(*) FROM sqlite_master WHERE name = 'sqlite_stat1'";
    if connection.query_i64(is_there)? == 0 {
        return Ok(None);
    }
    let sql = "SELECT idx, tbl, CAST(stat AS INTEGER) FROM sqlite_stat1 WHERE tbl IS NOT NULL";
    let mut known = Statistics::default();
    connection.for_each_row(sql, |row| {
        if !row.column_is_null(0) {
            known.indexes.push(row.column_text(0)?.to_owned());
        }
        let most = known.rows.entry(row.column_text(1)?.to_owned()).or_default();
        *most = row.column_i64(2).max(*most);
        Ok(())
    })?;
    Ok((!known.rows.is_empty()).then_some(known))
}

fn stale(table: &Table, known: &Statistics, rows: i64) -> Option<String> {
    const FEW: i64 = 100;
    let Some(&then) = known.rows.get(&table.name) else {
        return (rows >= FEW)
            .then(|| format!("ANALYZE knows nothing of this table of {rows} rows"));
    };
    let (fewer, more) = (then.min(rows).max(1), then.max(rows));
    if more >= FEW && more as f64 >= STALE * fewer as f64 {
        return Some(format!("ANALYZE counted {then} rows, and there are {rows}"));
    }
    let is_new = |name: &String| !known.indexes.contains(name);
    let mut names = table.indexes.iter().map(|index| &index.name);
    let new = names.find(|name| is_new(name)).filter(|_| rows >= FEW)?;
    // The index of a WITHOUT ROWID table's own key is under the name of the table.
    (!table.is_without_rowid).then(|| format!("ANALYZE knows nothing of the index {new}"))
}

/// Returns the rows of a table, from its pages.
fn rows_of(table: &Table, space: &[Space]) -> Option<i64> {
    let space = space.iter().find(|object| object.name == table.name)?;
    Some(if table.is_without_rowid { space.cells } else { space.leaf_cells })
}
