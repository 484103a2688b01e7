//! Connections and statements on the default engine.

use crate::support::{Scratch, device_characteristics, engine, memory, open};
use pragmark_engine::{
    BlobAt, CheckpointMode, Connection, DbStatus, During, EngineError, OpenFlags, StatementCounter,
    Step, Value, ffi,
};
use std::time::{Duration, Instant};

fn assert_send<T: Send>() {}

#[test]
fn connections_and_libraries_may_move_between_threads() {
    assert_send::<Connection>();
    assert_send::<pragmark_engine::Library>();
    let (library, connection) = (engine(), memory(&engine()));
    let thread = std::thread::spawn(move || connection.query_i64("SELECT 6*7").expect("a number"));
    assert_eq!(thread.join().expect("no panic"), 42);
    assert_eq!(memory(&library).query_i64("SELECT 1").expect("a number"), 1);
}

#[test]
fn every_type_of_value_comes_back_as_it_went_in() {
    let connection = memory(&engine());
    connection.execute("CREATE TABLE t(i, r, x, b, e, n)").expect("creates");
    let values = [
        Value::Integer(i64::MIN),
        Value::Real(-0.5),
        Value::Text("größer\0als".to_owned()),
        Value::Blob(vec![0, 1, 255]),
        Value::Blob(Vec::new()),
        Value::Null,
    ];
    let mut insert = connection.prepare("INSERT INTO t VALUES (?,?,?,?,?,?)").expect("prepares");
    assert_eq!(insert.parameter_count(), 6);
    for (index, value) in (1..).zip(&values) {
        insert.bind_value(index, value).expect("binds");
    }
    insert.run().expect("inserts");
    assert_eq!((connection.changes(), connection.last_insert_rowid()), (1, 1));
    assert_eq!(connection.query_all("SELECT * FROM t").expect("rows"), [values]);
}

#[test]
fn columns_are_read_by_type_and_refused_by_type() {
    let connection = memory(&engine());
    let mut row = connection
        .prepare("SELECT 7 AS n, 'text' AS t, x'C328' AS b, CAST(x'C328' AS TEXT)")
        .expect("prepares");
    assert_eq!(row.step().expect("a row"), Step::Row);
    assert_eq!((row.column_count(), row.column_name(1).as_deref()), (4, Some("t")));
    assert_eq!(row.column_name(4), None);
    assert_eq!(row.column_i64(0), 7);
    assert_eq!(row.column_text(1).expect("a text"), "text");
    assert_eq!(row.column_blob(2).expect("a blob"), [0xc3, 0x28]);
    let wrong = |error: EngineError| error.to_string();
    assert_eq!(row.column_text(0).map_err(wrong), Err("column 0 holds integer, not text".into()));
    assert_eq!(row.column_blob(1).map_err(wrong), Err("column 1 holds text, not blob".into()));
    assert!(matches!(row.column_text(3), Err(EngineError::NotUtf8(3))));
    assert_eq!(row.column_text_bytes(3).expect("bytes"), [0xc3, 0x28]);
    assert!(row.column_is_null(9));
    assert_eq!(row.step().expect("the end"), Step::Done);
}

#[test]
fn borrowed_texts_and_blobs_are_bound_without_a_copy() {
    let connection = memory(&engine());
    let text = "borrowed, and long enough to see".to_owned();
    let blob = vec![7_u8; 1000];
    let mut select = connection.prepare("SELECT ?1, ?2").expect("prepares");
    select.bind_text_borrowed(1, &text).expect("binds");
    select.bind_blob_borrowed(2, &blob).expect("binds");
    assert_eq!(select.step().expect("a row"), Step::Row);
    // A blob needs no terminator, so what is read is the very memory that was bound.
    assert_eq!(select.column_blob(1).expect("a blob").as_ptr(), blob.as_ptr());
    assert_eq!(select.column_text(0).expect("a text"), text);
}

#[test]
fn bindings_of_a_shorter_life_are_gone_afterwards() {
    let connection = memory(&engine());
    let mut select = connection.prepare("SELECT ?1, ?2").expect("prepares");
    select.bind_i64(2, 5).expect("binds");
    let length = {
        let short = "x".repeat(100);
        select
            .with_borrowed(|statement| {
                statement.bind_text_borrowed(1, &short)?;
                statement.step()?;
                Ok(statement.column_text(0)?.len())
            })
            .expect("reads")
    };
    assert_eq!(length, 100);
    assert_eq!(select.step().expect("a row"), Step::Row);
    assert!(select.column_is_null(0) && select.column_is_null(1));
}

#[test]
fn a_panic_while_memory_is_lent_clears_the_bindings() {
    let connection = memory(&engine());
    let mut select = connection.prepare("SELECT ?1").expect("prepares");
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let short = "gone".repeat(100);
        select.with_borrowed(|statement| -> Result<(), EngineError> {
            statement.bind_text_borrowed(1, &short)?;
            panic!("on purpose");
        })
    }));
    assert!(result.is_err());
    assert_eq!(select.step().expect("a row"), Step::Row);
    assert!(select.column_is_null(0));
}

#[test]
fn a_statement_swapped_away_while_memory_is_lent_stays_bound_to_living_memory() {
    let connection = memory(&engine());
    let short = "lives longer than the other statement".to_owned();
    let mut other = connection.prepare("SELECT ?1 || '!'").expect("prepares");
    let mut lent = connection.prepare("SELECT ?1").expect("prepares");
    lent.with_borrowed(|statement| {
        statement.bind_text_borrowed(1, &short)?;
        std::mem::swap(statement, &mut other);
        Ok(())
    })
    .expect("swaps");
    assert_eq!(other.step().expect("a row"), Step::Row);
    assert_eq!(other.column_text(0).expect("a text"), short);
    assert_eq!(lent.step().expect("a row"), Step::Row);
    assert!(lent.column_is_null(0));
}

#[test]
fn errors_name_the_statement_and_the_codes() {
    let connection = memory(&engine());
    let error = connection.execute("CREATE TABLE t(x UNIQUE); SELECT missing").expect_err("wrong");
    assert!(error.to_string().contains("no such column: missing"), "{error}");
    assert!(error.to_string().contains("SELECT missing"), "{error}");

    let mut insert = connection.prepare("INSERT INTO t VALUES (1)").expect("prepares");
    insert.run().expect("inserts");
    let error = insert.run().expect_err("a duplicate");
    let sqlite = error.as_sqlite().expect("SQLite's");
    assert_eq!((sqlite.primary(), sqlite.extended()), (19, 2067));
    assert_eq!(sqlite.during(), &During::Sql("INSERT INTO t VALUES (1)".to_owned()));
    assert!(insert.bind_i64(1, 1).is_err(), "there is no parameter");
}

#[test]
fn exactly_one_statement_is_prepared() {
    let connection = memory(&engine());
    for (sql, wanted) in [
        ("SELECT 1", None),
        ("SELECT 1; -- done", None),
        ("SELECT 1;;  /* done */", None),
        ("SELECT 1; SELECT 2", Some("several")),
        ("SELECT 1; not SQL", Some("several")),
        ("-- nothing", Some("none")),
    ] {
        let found = connection.prepare(sql).err().map(|error| error.to_string());
        let wanted =
            wanted.map(|found| format!("expected exactly one SQL statement, found {found}: {sql}"));
        assert_eq!(found, wanted, "{sql}");
    }
    assert!(matches!(connection.execute("SELECT 1\0"), Err(EngineError::Usage(_))));
    assert!(matches!(connection.query_i64("SELECT 1 WHERE false"), Err(EngineError::NoRow(_))));
}

#[test]
fn a_lock_is_busy_and_the_statement_can_be_stepped_again() {
    let (library, scratch) = (engine(), Scratch::new());
    let path = scratch.file("db");
    let (holder, waiter) = (open(&library, &path), open(&library, &path));
    holder.execute("CREATE TABLE t(x); BEGIN IMMEDIATE").expect("locks");
    let mut insert = waiter.prepare("INSERT INTO t VALUES (1)").expect("prepares");
    let error = insert.step().expect_err("locked");
    assert!(error.is_busy());
    assert_eq!(error.as_sqlite().expect("SQLite's").primary(), 5);
    insert.reset().expect("the step has reported the error");

    waiter.busy_timeout(Duration::from_millis(50)).expect("sets");
    let started = Instant::now();
    assert!(insert.step().expect_err("locked").is_busy());
    assert!(started.elapsed() >= Duration::from_millis(40), "it waited");
    insert.reset().expect("reported");

    assert!(holder.in_transaction());
    holder.execute("COMMIT").expect("releases");
    assert_eq!(insert.step().expect("free now"), Step::Done);
}

#[test]
fn opening_what_cannot_be_opened_names_the_path() {
    let (library, scratch) = (engine(), Scratch::new());
    let path = scratch.file("absent");
    let error = Connection::open(&library, &path, OpenFlags::READ_ONLY, None).expect_err("absent");
    assert_eq!(error.as_sqlite().expect("SQLite's").primary(), ffi::SQLITE_CANTOPEN);
    assert!(error.to_string().contains("absent"), "{error}");
    let error = Connection::open(&library, &path, OpenFlags::default(), Some("no-such-vfs"))
        .expect_err("no VFS");
    assert!(error.to_string().contains("no such vfs: no-such-vfs"), "{error}");
    assert!(!path.exists(), "nothing was created");
}

#[test]
fn checkpoints_and_counters_report() {
    let (library, scratch) = (engine(), Scratch::new());
    let connection = open(&library, &scratch.file("db"));
    assert_eq!(connection.checkpoint(CheckpointMode::Passive).expect("no WAL"), None);
    connection.execute("PRAGMA journal_mode = wal; CREATE TABLE t(x)").expect("runs");
    let checkpoint = connection.checkpoint(CheckpointMode::Full).expect("runs").expect("WAL");
    assert_eq!(checkpoint.log_frames, checkpoint.checkpointed_frames);
    assert!(checkpoint.log_frames >= 2);
    connection.checkpoint(CheckpointMode::Truncate).expect("runs");
    assert_eq!(std::fs::metadata(scratch.file("db-wal")).expect("the log").len(), 0);

    assert!(connection.db_status(DbStatus::CacheWrite, false).expect("known").current >= 2);
    assert!(connection.db_status(DbStatus::CacheUsed, false).expect("known").current > 4096);
    assert!(connection.memory(false).highwater >= connection.memory(false).current);
    let mut scan =
        connection.prepare("SELECT * FROM sqlite_schema a, sqlite_schema b").expect("valid");
    scan.run().expect("runs");
    assert!(scan.is_read_only());
    drop(scan);
    connection.close().expect("closes");
}

#[test]
fn device_characteristics_follow_the_name_of_the_file() {
    const POWERSAFE_OVERWRITE: i32 = 0x1000;
    let (library, scratch) = (engine(), Scratch::new());
    let powersafe = |parameter: &str| {
        let uri = format!("file:{}?psow={parameter}", scratch.file("db").display());
        let flags = OpenFlags::default() | OpenFlags::URI;
        let connection = Connection::open(&library, uri.as_ref(), flags, None).expect("opens");
        let promised = device_characteristics(&connection);
        promised & POWERSAFE_OVERWRITE != 0
    };
    assert_eq!((powersafe("1"), powersafe("0")), (true, false));
}

/// Two connections to one database in WAL mode, of which the first holds the write lock.
fn one_writes_the_other_wants_to(scratch: &Scratch) -> (Connection, Connection) {
    let library = engine();
    let path = scratch.file("busy.db");
    let (first, second) = (open(&library, &path), open(&library, &path));
    first
        .execute("PRAGMA journal_mode = wal; CREATE TABLE t(x); INSERT INTO t VALUES (1)")
        .expect("creates");
    first.execute("BEGIN IMMEDIATE").expect("begins");
    (first, second)
}

#[test]
fn a_busy_handler_is_asked_until_it_gives_up_and_replaces_the_timeout() {
    let scratch = Scratch::new();
    let (_first, mut second) = one_writes_the_other_wants_to(&scratch);
    second.busy_timeout(Duration::from_secs(100)).expect("is set");
    let (tell, told) = std::sync::mpsc::channel();
    second.busy_handler(move |calls| tell.send(calls).is_ok() && calls < 3).expect("is set");
    let error = second.execute("INSERT INTO t VALUES (2)").expect_err("busy");
    assert!(error.is_busy() && !error.is_busy_snapshot(), "{error}");
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);

    second.busy_handler(|_| false).expect("is replaced");
    assert!(second.execute("INSERT INTO t VALUES (2)").expect_err("busy").is_busy());
    assert_eq!(told.try_iter().count(), 0, "the first handler is gone");
    assert_eq!(second.query_i64("PRAGMA busy_timeout").expect("a number"), 0);
}

#[test]
fn a_transaction_that_has_read_is_busy_at_once_whatever_the_timeout() {
    let scratch = Scratch::new();
    let (first, second) = one_writes_the_other_wants_to(&scratch);
    second.busy_timeout(Duration::from_secs(100)).expect("is set");
    second.execute("BEGIN; SELECT * FROM t").expect("reads");
    first.execute("INSERT INTO t VALUES (2); COMMIT").expect("commits");
    let asked = Instant::now();
    let error = second.execute("INSERT INTO t VALUES (3)").expect_err("busy");
    assert!(error.is_busy_snapshot(), "{error}");
    assert!(asked.elapsed() < Duration::from_secs(50));
    assert!(second.in_transaction(), "it must be rolled back");
}

#[test]
fn parameters_have_the_names_of_the_text() {
    let connection = memory(&engine());
    let statement = connection.prepare("SELECT :a, ?, @b, $c, ?9").expect("prepares");
    let names: Vec<_> = (1..=9).map(|index| statement.parameter_name(index)).collect();
    let wanted = [Some(":a"), None, Some("@b"), Some("$c"), None, None, None, None, Some("?9")];
    assert_eq!(names, wanted.map(|name| name.map(str::to_owned)));
}

#[test]
fn a_statement_counts_its_steps_scans_and_sorts() {
    let connection = memory(&engine());
    connection
        .execute("CREATE TABLE t(a, b); INSERT INTO t VALUES (1, 2), (3, 4), (5, 6)")
        .expect("creates");
    let mut sorted = connection.prepare("SELECT a FROM t ORDER BY b").expect("prepares");
    for executions in 1..=2 {
        sorted.run().expect("runs");
        assert_eq!(sorted.counter(StatementCounter::FullScanSteps), 2 * executions);
        assert_eq!(sorted.counter(StatementCounter::Sorts), executions);
        assert!(sorted.counter(StatementCounter::VmSteps) > 10 * executions);
    }
    assert_eq!(sorted.counter(StatementCounter::AutoIndexRows), 0);
}

#[test]
fn a_value_is_overwritten_by_a_handle_within_its_length() {
    let connection = memory(&engine());
    let make =
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES (7, zeroblob(9000))";
    connection.execute(make).expect("creates");
    let at = |row| BlobAt { table: "t", column: "v", row };
    connection.write_blob(at(7), 8_998, b"ab").expect("writes");
    let end = connection.query_text("SELECT hex(substr(v, 8998)) FROM t");
    assert_eq!(end.expect("a text"), "006162");
    assert!(connection.write_blob(at(7), 8_999, b"ab").is_err(), "beyond its end");
    assert!(connection.write_blob(at(8), 0, b"ab").is_err(), "no such row");
}

#[test]
fn a_database_is_copied_page_by_page() {
    let library = engine();
    let (from, to) = (memory(&library), memory(&library));
    let make = "CREATE TABLE t(v); INSERT INTO t VALUES (zeroblob(50000))";
    from.execute(make).expect("creates");
    from.copy_by_pages(&to).expect("copies");
    assert_eq!(to.query_i64("SELECT length(v) FROM t").expect("a number"), 50_000);
}

#[test]
fn a_database_is_copied_while_another_connection_has_it() {
    let scratch = Scratch::new();
    let library = engine();
    let from = open(&library, &scratch.file("from.db"));
    from.execute("PRAGMA journal_mode = wal; CREATE TABLE t(a); INSERT INTO t VALUES (7)")
        .expect("creates");
    let to = memory(&library);
    from.copy_to(&to).expect("copies");
    assert_eq!(to.query_i64("SELECT a FROM t").expect("a number"), 7);
    from.execute("BEGIN; DELETE FROM t").expect("writes");
    let reader = open(&library, &scratch.file("from.db"));
    reader.copy_to(&to).expect("copies what is committed");
    assert_eq!(to.query_i64("SELECT count(*) FROM t").expect("a number"), 1);
    to.execute("BEGIN").expect("begins");
    assert!(from.copy_to(&to).is_err(), "the target is in a transaction");
}
