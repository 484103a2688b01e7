//! Checks that the database holds every acknowledged operation once, and nothing else.

use engine::Connection;

use crate::error::{Result, TrialError};
use crate::workload::common::expect;
use crate::workload::sums::{Sum, check_sums};

/// Sums that must equal the number of acknowledged operations.
const SUMS: [Sum; 2] = [("the sum of `first`", "sum(first)"), ("the sum of `last`", "sum(last)")];

/// The operations that a writer was told are committed: all operations up to `attempted`, except those given up.
#[derive(Clone, Default)]
pub(super) struct Acknowledged {
    /// Operations begun, numbered from 0.
    pub(super) attempted: u64,
    /// The numbers of the operations that were given up, ascending.
    pub(super) given_up: Vec<u64>,
}

impl Acknowledged {
    fn numbers(&self) -> impl Iterator<Item = u64> {
        let mut given_up = self.given_up.iter().copied().peekable();
        (0..self.attempted).filter(move |number| given_up.next_if_eq(number).is_none())
    }

    /// Returns the number of operations.
    pub(super) fn count(&self) -> u64 {
        self.attempted - self.given_up.len() as u64
    }
}

/// Checks the log against what each writer was told, both columns of the items against the log, and
/// the database as a whole.
pub(super) fn check(connection: &Connection, writers: &[Acknowledged]) -> Result<()> {
    check_log(connection, writers)?;
    let all: u64 = writers.iter().map(Acknowledged::count).sum();
    check_sums(connection, &SUMS, ("item", ""), &[all as i64; 2])?;
    let integrity = connection.query_text("PRAGMA integrity_check")?;
    expect("the integrity check", integrity.as_str(), "ok")
}

fn check_log(connection: &Connection, writers: &[Acknowledged]) -> Result<()> {
    let mut wanted = writers.iter().enumerate().flat_map(|(writer, acknowledged)| {
        acknowledged.numbers().map(move |number| (writer as i64, number as i64))
    });
    let mut wrong = Ok(());
    connection.for_each_row("SELECT writer, op FROM log ORDER BY writer, op", |row| {
        let found = (row.column_i64(0), row.column_i64(1));
        if wrong.is_ok() {
            wrong = compare(wanted.next(), found);
        }
        Ok(())
    })?;
    wrong?;
    match wanted.next() {
        Some(lost) => Err(differs(lost, "missing", "in it once")),
        None => Ok(()),
    }
}

/// Both sides ascend, so the smaller of two that differ is missing on the other side.
fn compare(wanted: Option<(i64, i64)>, found: (i64, i64)) -> Result<()> {
    match wanted {
        Some(wanted) if wanted == found => Ok(()),
        Some(wanted) if wanted < found => Err(differs(wanted, "missing", "in it once")),
        _ => Err(differs(found, "in it though it was not acknowledged, or twice", "not in it")),
    }
}

fn differs((writer, op): (i64, i64), found: &str, wanted: &str) -> TrialError {
    let what = format!("operation {op} of writer {} in the log", writer + 1);
    TrialError::wrong(what, found, wanted)
}

#[cfg(test)]
mod tests {
    use super::super::{CREATE_TABLES, fill};
    use super::*;
    use engine::{Library, OpenFlags, Source};
    use std::path::Path;
    use std::sync::Arc;

    #[test]
    fn an_operation_lost_doubled_or_never_acknowledged_is_a_wrong_result() {
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        let memory = Path::new(":memory:");
        let connection = Connection::open(&library, memory, OpenFlags::default(), None).unwrap();
        connection.execute(CREATE_TABLES).unwrap();
        fill(&connection, 10).unwrap();
        // Writer 1 did 0, 1 and 3 of four; writer 2 did nothing; writer 3 did 0.
        connection
            .execute("INSERT INTO log VALUES (2, 0), (0, 3), (0, 0), (0, 1); UPDATE item SET first = first + 2, last = last + 2 WHERE id IN (1, 7)")
            .unwrap();
        let acknowledged =
            |attempted, given_up: &[u64]| Acknowledged { attempted, given_up: given_up.to_vec() };
        let writers = [acknowledged(4, &[2]), acknowledged(0, &[]), acknowledged(1, &[])];
        check(&connection, &writers).unwrap();
        for (change, word) in [
            ("DELETE FROM log WHERE op = 1", "operation 1 of writer 1"),
            ("DELETE FROM log WHERE writer = 2", "operation 0 of writer 3"),
            ("INSERT INTO log VALUES (0, 1)", "operation 1 of writer 1"),
            ("INSERT INTO log VALUES (0, 2)", "operation 2 of writer 1"),
            ("INSERT INTO log VALUES (2, 1)", "operation 1 of writer 3"),
            ("UPDATE log SET op = 7 WHERE op = 3", "operation 3 of writer 1"),
            ("UPDATE item SET first = first + 1 WHERE id = 1", "`first`"),
            ("UPDATE item SET last = last - 1 WHERE id = 1", "`last`"),
        ] {
            connection.execute("BEGIN").unwrap();
            connection.execute(change).unwrap();
            let problem = check(&connection, &writers).unwrap_err().to_string();
            assert!(problem.contains(word), "{change}: {problem}");
            connection.execute("ROLLBACK").unwrap();
        }
    }
}
