//! The database after the work: the contents of the tables that it wrote, and the entries of the schema that it changed.

use std::collections::{BTreeMap, BTreeSet};

use lab::trial::{Answer, AnswerRows};
use script::effect::{literal, quoted};
use script::significant;
use twox_hash::XxHash3_64;

use super::super::facets::{Facets, Kept};
use super::{Answers, STEPS};
use crate::workload::prelude::*;

/// The name under which changes of the schema are compared.
const SCHEMA: &str = "sqlite_schema";

/// Entries of the schema: kind, name and text.
pub(super) type Entries = BTreeSet<[String; 3]>;

/// Returns the entries of the schema: tables, views, triggers, what keeps values unique, and the application's numbers.
pub(super) fn entries(connection: &Connection) -> Result<Entries> {
    let sql = "SELECT type, name, sql FROM main.sqlite_master WHERE name NOT LIKE 'sqlite_%' AND (type <> 'index' OR sql LIKE 'CREATE UNIQUE%')";
    let read = connection.query_rows(sql, |row| {
        let [kind, name, sql] = [0, 1, 2].map(|column| row.column_value(column).to_string());
        Ok([kind, name, normalized(&sql)])
    })?;
    let mut entries = Entries::from_iter(read);
    for pragma in ["user_version", "application_id"] {
        let value = connection.query_i64(&format!("PRAGMA main.{pragma}"))?;
        entries.insert(["PRAGMA".to_owned(), pragma.to_owned(), value.to_string()]);
    }
    Ok(entries)
}

/// Returns a definition without comments and with single spaces: ALTER TABLE lays it out in its own way.
fn normalized(sql: &str) -> String {
    significant(sql).iter().map(|token| token.text).collect::<Vec<_>>().join(" ")
}

/// Returns the entries that the work added and removed as an answer with its rows, if there are any.
pub(super) fn changes(before: &Entries, after: &Entries) -> Option<(String, Answer, AnswerRows)> {
    let row =
        |[kind, name, sql]: &[String; 3], how: &str| [how, kind, name, sql].map(literal).to_vec();
    let removed = before.difference(after).map(|entry| row(entry, "removed"));
    let rows: Vec<Vec<String>> =
        removed.chain(after.difference(before).map(|entry| row(entry, "added"))).collect();
    let sum = XxHash3_64::oneshot(format!("{rows:?}").as_bytes());
    let answer = Answer {
        rows: rows.len() as u64,
        checksum: Some(format!("{sum:016x}")),
        ..Answer::default()
    };
    let columns = ["change", "type", "name", "sql"].map(str::to_owned).to_vec();
    (!rows.is_empty())
        .then(|| (SCHEMA.to_owned(), answer, AnswerRows { columns, rows, ..AnswerRows::default() }))
}

/// Returns the rowid, or the columns of the primary key of a table without one.
pub(super) fn key_of(connection: &Connection, table: &str) -> Vec<String> {
    if connection.prepare(&format!("SELECT rowid FROM main.{}", quoted(table))).is_ok() {
        return vec!["rowid".to_owned()];
    }
    let info = format!("PRAGMA main.table_info({})", quoted(table));
    let columns = connection.query_rows(&info, |row| {
        Ok((row.column_i64(5) > 0).then_some(quoted(row.column_text(1)?)))
    });
    columns.unwrap_or_default().into_iter().flatten().collect()
}

/// Digests the rows of tables with their rowids. A table that is too large to be read has no answer.
pub(super) fn contents(
    connection: &Connection,
    tables: &BTreeMap<String, bool>,
    room: usize,
) -> Result<(Answers, BTreeMap<String, Vec<AnswerRows>>)> {
    connection.limit_steps(STEPS)?;
    let (mut contents, mut rows) = (Answers::new(), BTreeMap::new());
    for (table, is_by_chance) in tables {
        let info = format!("PRAGMA main.table_info({})", quoted(table));
        let columns = connection.query_rows(&info, |row| Ok(quoted(row.column_text(1)?)))?;
        let (key, name) = (key_of(connection, table), quoted(table));
        if columns.is_empty() || key.is_empty() {
            continue;
        }
        let rowid = if key == ["rowid"] { "rowid, " } else { "" };
        let sql = format!(
            "SELECT {rowid}{} FROM main.{name} ORDER BY {}",
            columns.join(", "),
            key.join(", ")
        );
        let mut statement = connection.prepare(&sql)?;
        let mut facets = Facets::of(&sql, *is_by_chance, None);
        facets.kept = Kept::at_most(room);
        facets.schema = definition(connection, table)?;
        let ended = loop {
            match statement.step() {
                Ok(Step::Row) => facets.add_row(&statement),
                Ok(Step::Done) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        match ended {
            Ok(()) => facets.end(connection, &statement),
            Err(error) if error.is_interrupted() => {
                contents.insert(table.clone(), Vec::new());
                continue;
            }
            Err(error) => return Err(error.into()),
        }
        contents.insert(table.clone(), vec![facets.answer()]);
        rows.extend(facets.kept.map(|kept| (table.clone(), kept.executions)));
    }
    Ok((contents, rows))
}

/// Returns the digest of the definition of a table, without its name, which a renaming sets in quotes.
fn definition(connection: &Connection, table: &str) -> Result<Option<u64>> {
    let sql = format!(
        "SELECT substr(sql, instr(sql, '(')) FROM main.sqlite_master WHERE type = 'table' AND lower(name) = {}",
        literal(table)
    );
    let found = connection.query_rows(&sql, |row| Ok(normalized(row.column_text(0)?)))?;
    Ok(found.first().map(|sql| XxHash3_64::oneshot(sql.as_bytes())))
}
