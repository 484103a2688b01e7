//! The parts of the work through pragmark's own binding.

use std::hint::black_box;

use engine::{Connection, Statement, Step};

use super::BATCH;
use super::data::{Data, Row, SUMS, Sums};
use crate::error::TrialError;
use crate::workload::common::expect;
use crate::workload::sums::check_sums;

/// Statements in the life of a task.
const STATEMENTS: usize = 13;

const ITEMS: [&str; 3] = ["single", "reused", "batch"];

pub(super) fn create_tables(connection: &Connection) -> Result<(), TrialError> {
    for table in ITEMS {
        connection.execute(&format!(
            "CREATE TABLE {table}(id INTEGER PRIMARY KEY, number INTEGER NOT NULL, name TEXT NOT NULL, price REAL NOT NULL)"
        ))?;
    }
    connection.execute(
        "CREATE TABLE tasks(id VARCHAR(16) NOT NULL PRIMARY KEY, status VARCHAR(16) NOT NULL, cmd VARCHAR(16) NOT NULL, args TEXT NOT NULL, output TEXT);
         CREATE INDEX tasks_status ON tasks(status)",
    )?;
    Ok(())
}

/// Result of a part.
pub(super) struct Done {
    /// The rows, or statements, by which its time is divided.
    pub(super) rows: usize,
    /// Sums of the rows that it read; zero if it read none.
    pub(super) found: Sums,
}

/// Does one part.
pub(super) fn carry_out(
    part: &str,
    connection: &Connection,
    data: &Data,
) -> Result<Done, TrialError> {
    let mut found = Sums::default();
    let rows = match part {
        "insert-single" => in_transaction(connection, || insert_single(connection, data))?,
        "insert-reused" => in_transaction(connection, || insert_reused(connection, data))?,
        "insert-batch" => in_transaction(connection, || insert_batch(connection, data))?,
        "point-read" => point_read(connection, data, &mut found)?,
        "range-scan" => range_scan(connection, data, &mut found)?,
        _ => live(connection, data)?,
    };
    Ok(Done { rows, found })
}

/// Checks what a part has read.
pub(super) fn verify_read(part: &str, done: &Done, data: &Data) -> Result<(), TrialError> {
    match part {
        "point-read" => check("point reads", done.found, data.read()),
        "range-scan" => check("range scans", done.found, data.scanned()),
        _ => Ok(()),
    }
}

fn in_transaction(
    connection: &Connection,
    work: impl FnOnce() -> Result<usize, TrialError>,
) -> Result<usize, TrialError> {
    connection.execute("BEGIN")?;
    let rows = work()?;
    connection.execute("COMMIT")?;
    Ok(rows)
}

fn bind<'d>(
    statement: &mut Statement<'_, 'd>,
    first: i32,
    key: usize,
    row: &'d Row,
) -> Result<(), TrialError> {
    statement.bind_i64(first, key as i64)?;
    statement.bind_i64(first + 1, row.number)?;
    statement.bind_text_borrowed(first + 2, &row.name)?;
    statement.bind_f64(first + 3, row.price)?;
    Ok(())
}

fn insert_single(connection: &Connection, data: &Data) -> Result<usize, TrialError> {
    for (place, row) in data.rows.iter().enumerate() {
        let mut insert = connection.prepare("INSERT INTO single VALUES (?, ?, ?, ?)")?;
        bind(&mut insert, 1, place + 1, row)?;
        insert.run()?;
    }
    Ok(data.rows.len())
}

fn insert_reused(connection: &Connection, data: &Data) -> Result<usize, TrialError> {
    let mut insert = connection.prepare("INSERT INTO reused VALUES (?, ?, ?, ?)")?;
    for (place, row) in data.rows.iter().enumerate() {
        bind(&mut insert, 1, place + 1, row)?;
        insert.run()?;
    }
    Ok(data.rows.len())
}

fn insert_batch(connection: &Connection, data: &Data) -> Result<usize, TrialError> {
    let values = vec!["(?, ?, ?, ?)"; BATCH].join(", ");
    let mut insert = connection.prepare(&format!("INSERT INTO batch VALUES {values}"))?;
    for (batch, rows) in data.rows.chunks_exact(BATCH).enumerate() {
        for (place, row) in rows.iter().enumerate() {
            bind(&mut insert, 4 * place as i32 + 1, batch * BATCH + place + 1, row)?;
        }
        insert.run()?;
    }
    Ok(data.rows.len())
}

/// A row as it is read: every column is looked at, as any program would that asked for it.
fn add(sums: &mut Sums, row: &Statement<'_, '_>, first: i32) -> Result<(), TrialError> {
    let [rows, numbers, characters, quarters] = sums;
    *rows += 1;
    *numbers += row.column_i64(first);
    *characters += row.column_text(first + 1)?.len() as i64;
    *quarters += (row.column_f64(first + 2) * 4.0) as i64;
    Ok(())
}

fn point_read(connection: &Connection, data: &Data, sums: &mut Sums) -> Result<usize, TrialError> {
    let mut select = connection.prepare("SELECT number, name, price FROM reused WHERE id = ?")?;
    for key in &data.keys {
        select.bind_i64(1, *key)?;
        if select.step()? == Step::Row {
            add(sums, &select, 0)?;
        }
        select.reset()?;
    }
    Ok(data.keys.len())
}

fn range_scan(connection: &Connection, data: &Data, sums: &mut Sums) -> Result<usize, TrialError> {
    let mut select = connection
        .prepare("SELECT id, number, name, price FROM reused WHERE id >= ? AND id < ?")?;
    for start in &data.starts {
        select.bind_i64(1, *start)?;
        select.bind_i64(2, start + data.width)?;
        while select.step()? == Step::Row {
            // Every driver reads the key as well, which is not summed up.
            black_box(select.column_i64(0));
            add(sums, &select, 1)?;
        }
        select.reset()?;
    }
    Ok(data.starts.len() * data.width as usize)
}

/// Runs the life cycle of each task: inserted, taken up, written to ten times, deleted.
fn live(connection: &Connection, data: &Data) -> Result<usize, TrialError> {
    let mut insert = connection
        .prepare("INSERT INTO tasks(id, status, cmd, args) VALUES (?, 'pending', 'example', ?)")?;
    let mut take = connection.prepare("UPDATE tasks SET status = 'processing' WHERE id = ?")?;
    let mut write = connection.prepare("UPDATE tasks SET output = ? WHERE id = ?")?;
    let mut delete = connection.prepare("DELETE FROM tasks WHERE id = ?")?;
    let before = connection.total_changes();
    for task in &data.tasks {
        insert.bind_text(1, task)?;
        insert.bind_text(2, r#"["a","b","c"]"#)?;
        insert.run()?;
        take.bind_text(1, task)?;
        take.run()?;
        for line in 0..10 {
            write.bind_text(1, &format!("line {line} of some kind of output"))?;
            write.bind_text(2, task)?;
            write.run()?;
        }
        delete.bind_text(1, task)?;
        delete.run()?;
    }
    let statements = data.tasks.len() * STATEMENTS;
    let changed = connection.total_changes() - before;
    expect("the rows changed by tasks", changed, statements as i64)?;
    Ok(statements)
}

/// Checks what the tables hold.
pub(super) fn verify(connection: &Connection, data: &Data) -> Result<(), TrialError> {
    for table in ITEMS {
        let ending = format!(" of the table {table}");
        check_sums(connection, &SUMS, (table, &ending), &data.sums())?;
    }
    let left = connection.query_i64("SELECT count(*) FROM tasks")?;
    expect("the tasks left", left, 0)
}

fn check(what: &str, found: Sums, wanted: Sums) -> Result<(), TrialError> {
    for (((sum, _), found), wanted) in SUMS.iter().zip(found).zip(wanted) {
        expect(&format!("{sum} of {what}"), found, wanted)?;
    }
    Ok(())
}
