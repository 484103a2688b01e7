//! What mutants and the sound engine are crashed with, besides the built-in workload.

use crash::{Action, Script};

/// What is crashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Workload {
    /// The built-in workload.
    BuiltIn,
    /// The same pages several times in a transaction, with a cache of far fewer.
    Passes,
    /// Transactions that spill, are rolled back and overwritten.
    Turns,
    /// Savepoints within savepoints that spill, and pages that auto-vacuum moves.
    Nested,
    /// Pages that a transaction frees and uses again.
    Reuse,
    /// A file that grows and shrinks over the same pages, is copied by VACUUM INTO, and whose values are written by handles.
    Sizes,
    /// Pages that were changed before a savepoint and spill after it, a file that grows by free pages, limits of journals, pages that are
    /// overwritten when they are freed, and those that an incremental vacuum moves.
    Corners,
    /// Transactions between changes of the journal mode.
    Modes,
}

impl Workload {
    /// All of them.
    pub const ALL: [Workload; 8] = [
        Workload::BuiltIn,
        Workload::Passes,
        Workload::Turns,
        Workload::Nested,
        Workload::Reuse,
        Workload::Sizes,
        Workload::Corners,
        Workload::Modes,
    ];

    /// What is done; none for the built-in one, which depends on the settings.
    pub fn script(self) -> Option<Script> {
        match self {
            Workload::BuiltIn => None,
            Workload::Passes => Some(passes()),
            Workload::Turns => Some(turns()),
            Workload::Nested => Some(nested()),
            Workload::Reuse => Some(reuse()),
            Workload::Sizes => Some(sizes()),
            Workload::Corners => Some(corners()),
            Workload::Modes => Some(modes()),
        }
    }
}

fn action(sql: impl Into<String>) -> Action {
    let sql = sql.into();
    Action::Sql { sql, line: 0 }
}

/// Rows of a table with an index, in so many pages that a cache of two of them spills.
fn filled(rows: usize) -> [Action; 2] {
    [
        action(
            "BEGIN; CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); CREATE INDEX t_v ON t(v); COMMIT",
        ),
        action(format!(
            "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
             INSERT INTO t SELECT i, printf('%0250d', i) FROM n"
        )),
    ]
}

/// A workload of savepoints within savepoints, each of which changes the same pages again before the outer one is rolled
/// back, in a database that gives back its free pages at once where its journal mode allows to ask for that.
fn nested() -> Script {
    let mut actions = vec![action("PRAGMA auto_vacuum = FULL")];
    actions.extend(filled(80));
    actions.push(action("PRAGMA cache_size = 2"));
    for turn in 1..4 {
        actions.push(action(format!(
            "BEGIN; UPDATE t SET v = v || 'a{turn}' WHERE id % 3 = 0; SAVEPOINT outside; UPDATE t SET v = v || 'b'; \
             SAVEPOINT inside; UPDATE t SET v = 'c' || v; INSERT INTO t SELECT id + 500, v FROM t; RELEASE inside; \
             DELETE FROM t WHERE id % 2 = 0; ROLLBACK TO outside; UPDATE t SET v = v || 'd{turn}' WHERE id % 5 = 0; COMMIT"
        )));
        actions.push(action(format!(
            "INSERT INTO t VALUES (2000 + {turn}, hex(zeroblob(5000 + {turn})))"
        )));
        actions.push(action(format!(
            "BEGIN; DELETE FROM t WHERE id BETWEEN {0} AND {0} + 8; UPDATE t SET v = v || 'e' WHERE id = {turn}; COMMIT",
            12 * turn
        )));
    }
    actions.push(Action::Reopen);
    actions.push(action(
        "BEGIN; DELETE FROM t WHERE id > 1000; UPDATE t SET v = v || 'end' WHERE id < 30; COMMIT",
    ));
    Script { path: None, actions }
}

/// A workload of transactions that free pages and use them again for something else, and are committed or rolled back.
fn reuse() -> Script {
    let mut actions = Vec::from(filled(100));
    actions.push(action("PRAGMA cache_size = 2"));
    for turn in 1..5 {
        let first = 20 * turn;
        actions.push(action(format!(
            "BEGIN; DELETE FROM t WHERE id BETWEEN {first} AND {first} + 12; CREATE TABLE u{turn}(v TEXT); \
             INSERT INTO u{turn} SELECT printf('%0900d', id) FROM t WHERE id < 20; COMMIT"
        )));
        actions.push(action(format!(
            "BEGIN; DROP TABLE u{turn}; INSERT INTO t SELECT id + 500000, v FROM t WHERE id < 40; ROLLBACK"
        )));
        actions.push(action(format!(
            "BEGIN; DROP TABLE u{turn}; INSERT INTO t SELECT id + {turn} * 1000, 'again' || v FROM t WHERE id < 18; COMMIT"
        )));
    }
    actions.push(Action::Reopen);
    actions.push(action("BEGIN; DELETE FROM t WHERE id > 2000; COMMIT"));
    Script { path: None, actions }
}

/// A workload of what the others leave out, found by mutants that they did not run through or did not notice.
fn corners() -> Script {
    let mut actions = vec![action("PRAGMA auto_vacuum = INCREMENTAL")];
    actions.extend(filled(70));
    actions.push(action("CREATE TABLE x(v)"));
    actions.push(action("PRAGMA journal_size_limit = 3000"));
    // Free pages are not written, so the file has to be extended for the last of them.
    actions.push(action("BEGIN; INSERT INTO x VALUES (zeroblob(12000)); DELETE FROM x; UPDATE t SET v = 'e' WHERE id = 1; COMMIT"));
    actions.push(action("PRAGMA cache_size = 6"));
    for turn in 1..4 {
        actions.push(action(format!(
            "BEGIN; UPDATE t SET v = 'a{turn}' || v WHERE id = {turn}; SAVEPOINT s; UPDATE t SET v = v || 'back' WHERE id > 30; \
             ROLLBACK TO s; UPDATE t SET v = 'b{turn}' || v WHERE id = 60 + {turn}; COMMIT"
        )));
        actions.push(action(format!(
            "BEGIN EXCLUSIVE; CREATE TABLE w(v); INSERT INTO w VALUES (zeroblob(30000)); DROP TABLE w; \
             UPDATE t SET v = 'c' || v WHERE id = {turn}; COMMIT"
        )));
        actions.push(action("PRAGMA secure_delete = ON"));
        actions.push(action(format!(
            "DELETE FROM t WHERE id BETWEEN 15 * {turn} AND 15 * {turn} + 11"
        )));
        actions.push(action("PRAGMA secure_delete = OFF"));
        actions.push(action(format!("INSERT INTO t VALUES (1000 + {turn}, hex(zeroblob(6000)))")));
        actions.push(action(format!("CREATE TABLE u{turn}(v TEXT)")));
        actions.push(action(format!(
            "BEGIN; UPDATE t SET v = 'f{turn}' || v WHERE id > 40; PRAGMA incremental_vacuum(2); COMMIT"
        )));
        actions.push(action("PRAGMA incremental_vacuum(1)"));
        actions.push(action("PRAGMA wal_checkpoint(PASSIVE)"));
        actions.push(action(format!("UPDATE t SET v = 'd{turn}' WHERE id = 2")));
    }
    actions.push(Action::Reopen);
    actions.push(action("UPDATE t SET v = v || 'end' WHERE id % 2 = 0"));
    Script { path: None, actions }
}

/// A workload of changes of the journal mode between transactions, all of them with the only sync level at which each of the modes
/// loses nothing.
fn modes() -> Script {
    let mut actions = vec![action("PRAGMA synchronous = EXTRA")];
    actions.extend(filled(24));
    for (number, mode) in
        ["persist", "delete", "truncate", "delete", "wal", "delete", "persist", "wal"]
            .iter()
            .enumerate()
    {
        actions.push(action(format!("PRAGMA journal_mode = {mode}")));
        actions.push(action(format!("UPDATE t SET v = '{number}' || v WHERE id % 3 = 0")));
        actions.push(action(format!("UPDATE t SET v = 'alone {number}' WHERE id = {number}")));
    }
    Script { path: None, actions }
}

/// Overwrites bytes of a long value through a handle.
fn blob(row: i64, offset: usize, byte: u8) -> Action {
    Action::Blob { table: "b", column: "v", row, offset, bytes: vec![byte; 300] }
}

/// A workload of a file that grows, is rebuilt and shrinks over the same pages, of copies by VACUUM INTO between its transactions, and of
/// values that handles write: alone, in a transaction, and in one that is rolled back.
fn sizes() -> Script {
    let mut actions = vec![action("PRAGMA auto_vacuum = FULL")];
    actions.extend(filled(30));
    actions.push(action("CREATE TABLE b(id INTEGER PRIMARY KEY, v BLOB)"));
    for turn in 1..4_u8 {
        let row = i64::from(turn);
        actions.push(action(format!(
            "BEGIN; INSERT INTO t SELECT id + 100, v FROM t; INSERT INTO t SELECT id + 200, v FROM t; \
             INSERT INTO b VALUES ({turn}, zeroblob(9000)); COMMIT"
        )));
        actions.push(action("VACUUM"));
        actions.push(action(format!("VACUUM INTO 'copy-{turn}.db'")));
        actions.push(blob(row, 100, turn));
        actions.push(action("BEGIN"));
        actions.push(blob(row, 3_900, turn));
        actions.push(blob(row, 8_700, turn));
        actions.push(action("COMMIT"));
        actions.push(action("BEGIN"));
        actions.push(blob(row, 4_000, 99));
        actions.push(action("ROLLBACK"));
        actions.push(action(format!(
            "BEGIN; DELETE FROM t WHERE id > 30 - 9 * {turn}; DELETE FROM b; COMMIT"
        )));
    }
    actions.push(Action::Reopen);
    actions.push(action("UPDATE t SET v = v || 'end'"));
    Script { path: None, actions }
}

/// A workload for safeguards of which the built-in one has no need: transactions that change the same
/// pages several times with a cache of far fewer, so that what was spilled into the log is overwritten
/// there; and a log that starts over on top of shorter transactions.
fn passes() -> Script {
    let sql = |sql: &str| Action::Sql { sql: sql.to_owned(), line: 0 };
    let mut actions = vec![
        sql("CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT)"),
        sql("WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 120)
             INSERT INTO t SELECT i, printf('%0300d', i) FROM n"),
        sql("PRAGMA cache_size = 2"),
    ];
    for pass in 1..4 {
        actions.push(sql(&format!(
            "BEGIN; UPDATE t SET v = v || 'a'; UPDATE t SET v = v || 'b{pass}'; \
             UPDATE t SET v = v || 'c' WHERE id % 3 = 0; COMMIT"
        )));
        actions.push(sql(&format!("UPDATE t SET v = 'alone' WHERE id = {pass}")));
    }
    // A log of short transactions, and one of a long transaction that starts over on top of it.
    actions.push(sql("PRAGMA wal_checkpoint(PASSIVE)"));
    for (number, id) in [5, 60, 5, 110].iter().enumerate() {
        actions.push(sql(&format!("UPDATE t SET v = 'short {number}' WHERE id = {id}")));
    }
    actions.push(sql("PRAGMA wal_checkpoint(PASSIVE)"));
    actions.push(sql("PRAGMA cache_size = 100"));
    actions.push(sql("UPDATE t SET v = v || 'long'"));
    Script { path: None, actions }
}

/// A workload of transactions that spill, are rolled back and then overwritten by shorter ones, of savepoints that spill,
/// and of pages that are freed and used again, with a cache of two pages.
fn turns() -> Script {
    let mut actions = Vec::new();
    let mut sql = |sql: String| actions.push(Action::Sql { sql, line: 0 });
    sql("BEGIN; CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); CREATE INDEX t_v ON t(v); COMMIT"
        .to_owned());
    sql("WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 90)
         INSERT INTO t SELECT i, printf('%0250d', i) FROM n"
        .to_owned());
    sql("PRAGMA cache_size = 2".to_owned());
    for turn in 1..5 {
        sql("BEGIN; UPDATE t SET v = v || 'never'; INSERT INTO t SELECT id + 500, v FROM t; ROLLBACK".to_owned());
        sql(format!("UPDATE t SET v = 'alone {turn}' WHERE id = {turn}"));
        sql(format!(
            "BEGIN; UPDATE t SET v = v || 'a{turn}' WHERE id % 5 = 0; SAVEPOINT s; UPDATE t SET v = v || 'back'; \
             INSERT INTO t SELECT id + 500, v FROM t; ROLLBACK TO s; UPDATE t SET v = v || 'kept{turn}' WHERE id % 7 = 0; COMMIT"
        ));
        sql(format!("DELETE FROM t WHERE id BETWEEN {0} AND {0} + 9", 10 * turn + 30));
        sql(format!("INSERT INTO t VALUES (1000 + {turn}, hex(zeroblob(6000 + {turn})))"));
    }
    actions.push(Action::Reopen);
    actions.push(Action::Sql { sql: "UPDATE t SET v = v || 'end'".to_owned(), line: 0 });
    Script { path: None, actions }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crashes::{MODELS, settings};
    use crash::{Plan, measure};
    use lab::seed::Seed;
    use lab::tier::Loss;

    /// A workload that corrupts with the sound engine could not show that a mutant does; one whose act is two transactions
    /// would.
    #[test]
    fn no_workload_is_damaged_with_a_sound_engine() {
        for workload in Workload::ALL {
            let safe = ["delete/extra", "wal/full"];
            let plan = Plan {
                interruptions: 2,
                seed: Seed(3),
                script: workload.script(),
                threads: 2,
                ..Plan::new(safe.into_iter().filter_map(settings).collect(), MODELS.to_vec(), 150)
            };
            for cell in measure(&plan).unwrap().cells {
                let losses = cell.safety.whole();
                let what = format!("{workload:?}, {}, {}", cell.variant, cell.model);
                assert_eq!(losses.loss(), Some(Loss::Nothing), "{what}: {losses}");
            }
        }
    }
}
