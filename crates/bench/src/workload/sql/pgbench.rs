//! The workload of pgbench: its tables, its rows and its three scripts
//! (<https://www.postgresql.org/docs/current/pgbench.html>).

use engine::{Connection, EngineError};

use super::parameters::Builtin;

/// Rows for each unit of the scale factor.
const TELLERS: usize = 10;
const ACCOUNTS: usize = 100_000;

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
    fill_table(
        connection,
        "INSERT INTO pgbench_branches(bid, bbalance) VALUES (?1, 0)",
        scale,
        scale,
    )?;
    fill_table(
        connection,
        "INSERT INTO pgbench_tellers(tid, bid, tbalance) VALUES (?1, (?1 - 1) / ?2 + 1, 0)",
        TELLERS * scale,
        TELLERS,
    )?;
    // The filler is blank, as pgbench's is: 84 characters.
    fill_table(
        connection,
        "INSERT INTO pgbench_accounts VALUES (?1, (?1 - 1) / ?2 + 1, 0, printf('%84s', ''))",
        ACCOUNTS * scale,
        ACCOUNTS,
    )?;
    connection.execute("COMMIT")
}

/// Executes an insert for the numbers from 1; its second parameter is how many belong together.
fn fill_table(
    connection: &Connection,
    insert: &str,
    rows: usize,
    together: usize,
) -> Result<(), EngineError> {
    let mut insert = connection.prepare(insert)?;
    let has_second = insert.parameter_count() > 1;
    for number in 1..=rows {
        insert.bind_i64(1, number as i64)?;
        if has_second {
            insert.bind_i64(2, together as i64)?;
        }
        insert.run()?;
    }
    Ok(())
}
