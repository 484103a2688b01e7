//! The workload of pgbench: its tables, its rows and its three scripts
//! (<https://www.postgresql.org/docs/current/pgbench.html>).

use engine::{Connection, EngineError};

use super::parameters::Builtin;

/// Rows for each unit of the scale factor.
const TELLERS: i64 = 10;
const ACCOUNTS: i64 = 100_000;

/// The tables, without their rows.
pub(crate) const TABLES: &str = "CREATE TABLE pgbench_branches(bid INTEGER NOT NULL PRIMARY KEY, bbalance INTEGER, filler CHAR(88));
CREATE TABLE pgbench_tellers(tid INTEGER NOT NULL PRIMARY KEY, bid INTEGER, tbalance INTEGER, filler CHAR(84));
CREATE TABLE pgbench_accounts(aid INTEGER NOT NULL PRIMARY KEY, bid INTEGER, abalance INTEGER, filler CHAR(84));
CREATE TABLE pgbench_history(tid INTEGER, bid INTEGER, aid INTEGER, delta INTEGER, mtime TIMESTAMP, filler CHAR(22));";

/// The part of both writing scripts up to the query.
macro_rules! account {
    () => {
        "\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
"
    };
}

/// Their end.
macro_rules! history {
    () => {
        "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
"
    };
}

const TPCB_LIKE: &str = concat!(
    account!(),
    "UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
",
    history!()
);

const SIMPLE_UPDATE: &str = concat!(account!(), history!());

const SELECT_ONLY: &str = "\\set aid random(1, 100000 * :scale)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
";

/// Returns the text of a script.
pub(super) fn text(builtin: Builtin) -> &'static str {
    match builtin {
        Builtin::TpcbLike => TPCB_LIKE,
        Builtin::SimpleUpdate => SIMPLE_UPDATE,
        Builtin::SelectOnly => SELECT_ONLY,
    }
}

/// Creates the tables and their rows; all balances are 0.
pub(super) fn fill(connection: &Connection, scale: usize) -> Result<(), EngineError> {
    connection.execute(TABLES)?;
    connection.execute("BEGIN")?;
    // Each insert with its rows, and how many of them belong together. The filler is blank, as pgbench's is: 84 characters.
    for (insert, rows, together) in [
        ("INSERT INTO pgbench_branches(bid, bbalance) VALUES (?1, 0)", 1, 1),
        (
            "INSERT INTO pgbench_tellers(tid, bid, tbalance) VALUES (?1, (?1 - 1) / ?2 + 1, 0)",
            TELLERS,
            TELLERS,
        ),
        (
            "INSERT INTO pgbench_accounts VALUES (?1, (?1 - 1) / ?2 + 1, 0, printf('%84s', ''))",
            ACCOUNTS,
            ACCOUNTS,
        ),
    ] {
        let mut insert = connection.prepare(insert)?;
        if insert.parameter_count() > 1 {
            insert.bind_i64(2, together)?;
        }
        for number in 1..=rows * scale as i64 {
            insert.bind_i64(1, number)?;
            insert.run()?;
        }
    }
    connection.execute("COMMIT")
}
