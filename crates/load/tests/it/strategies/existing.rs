//! Databases that existed before: appended to, given further tables, left as they were when something fails.

use super::*;

#[test]
fn a_refused_row_leaves_an_existing_database_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    let connection = open(&database);
    connection
        .execute(
            "CREATE TABLE t(c1 TEXT CHECK (c1 <> '0004'), c0 INTEGER, more DEFAULT 'x', sum AS (c0 + 1));
             CREATE TABLE log(c0);
             CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.c0); END;
             INSERT INTO t(c0) VALUES (-1)",
        )
        .unwrap();
    drop(connection);
    let before = std::fs::read(&database).unwrap();
    let mut request = Request::new(&database, two_columns(false));
    request.mode = Mode::Append;
    let error = run(vec![many(0..3, 4), many(3..9, 4)], &request).unwrap_err().to_string();
    assert_eq!(error, "test, row 5: CHECK constraint failed: c1 <> '0004'");
    assert_eq!(std::fs::read(&database).unwrap(), before);

    request.on_error = OnError::Skip;
    let summary = run(vec![many(0..3, 4), many(3..9, 4)], &request).unwrap();
    assert_eq!((summary.rows, summary.rejected), (8, 1));
    let connection = open(&database);
    assert_eq!(connection.query_i64("SELECT count(*) FROM log").unwrap(), 9);
    assert_eq!(
        connection.query_i64("SELECT sum(sum) FROM t WHERE more = 'x'").unwrap(),
        36 - 4 + 8
    );
}

#[test]
fn a_table_grows_at_its_right_edge_through_many_levels() {
    for (page_size, workers) in [(512, 1), (512, 3), (4096, 2)] {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("db");
        let mut request = Request::new(&database, two_columns(true));
        request.page_size = Some(page_size);
        request.strategy = Some(LoadStrategy::Pages);
        request.workers = Some(workers);
        request.check = true;
        let mut rows = 0;
        for more in [1, 1, 5, 40, 3, 300, 2_000, 1, 9_000, 30_000] {
            let summary = run(vec![many(rows..rows + more, 30)], &request).unwrap();
            assert_eq!(summary.rows_by_pages, more as u64);
            request.mode = Mode::Append;
            rows += more;
            // SQLite goes on with the tree between the loads.
            let connection = open(&database);
            connection.execute(&format!("INSERT INTO t VALUES ({rows}, 'more')")).unwrap();
            rows += 1;
            assert_eq!(connection.query_i64("SELECT count(*) FROM t").unwrap(), rows);
        }
        let connection = open(&database);
        for key in [0, 2, 8, 350, 4_000, rows - 2] {
            let text =
                connection.query_text(&format!("SELECT c1 FROM t WHERE c0 = {key}")).unwrap();
            assert_eq!(text, format!("{key:030}"));
        }
    }
}

#[test]
fn what_pages_cannot_add_goes_on_through_sql_in_one_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    let mut request = Request::new(&database, two_columns(true));
    run(vec![many(0..3_000, 5)], &request).unwrap();
    request.mode = Mode::Append;
    request.check = true;
    let batches = vec![many(4_000..9_000, 5), many(3_000..3_010, 5), many(9_000..9_010, 5)];
    let summary = run(batches.clone(), &request).unwrap();
    assert_eq!((summary.rows, summary.rows_by_pages), (5_020, 5_000));

    // A row that SQL refuses takes back what was written as pages, too.
    let before = contents(&database, 2);
    let bytes = std::fs::read(&database).unwrap();
    let batches = vec![many(10_000..15_000, 5), many(8_999..9_000, 5)];
    let error = run(batches, &request).unwrap_err().to_string();
    assert!(error.contains("UNIQUE constraint failed: t.c0"), "{error}");
    assert_eq!(contents(&database, 2), before);
    assert_eq!(std::fs::read(&database).unwrap().len(), bytes.len());
}

/// Tables, and why their rows go through SQL.
const THROUGH_SQL: &[(&str, &str)] = &[
    ("CREATE TABLE t(c0, c1 CHECK (c1 <> ''))", "CHECK"),
    ("CREATE TABLE t(c0, c1, c2 AS (c0))", "generated"),
    ("CREATE TABLE t(c0, c1, c2 DEFAULT 5)", "no column c2"),
    ("CREATE TABLE t(c0 UNIQUE ON CONFLICT IGNORE, c1)", "conflicts"),
    ("CREATE TABLE t(c0 INTEGER PRIMARY KEY AUTOINCREMENT, c1)", "AUTOINCREMENT"),
    ("CREATE TABLE t(c0 PRIMARY KEY, c1) WITHOUT ROWID", "WITHOUT ROWID"),
    ("CREATE TABLE t(c0, c1 COLLATE NOCASE UNIQUE)", "has expressions, a condition or a collation"),
    (
        "CREATE TABLE t(c0, c1); CREATE INDEX i ON t(c0) WHERE c1 > ''",
        "has expressions, a condition or a collation",
    ),
    (
        "CREATE TABLE t(c0, c1); CREATE INDEX i ON t(c0 + 1)",
        "has expressions, a condition or a collation",
    ),
    ("CREATE TABLE t(c0, c1); CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; END", "a trigger"),
    (
        "CREATE VIEW t AS SELECT 1 AS c0, 2 AS c1;
          CREATE TRIGGER r INSTEAD OF INSERT ON t BEGIN SELECT 1; END",
        "view",
    ),
    ("CREATE VIRTUAL TABLE t USING fts5(c0, c1)", "virtual"),
    (
        "PRAGMA auto_vacuum = FULL; CREATE TABLE t(c0, c1); CREATE INDEX i ON t(c0);
          INSERT INTO t VALUES (-1, '')",
        "auto_vacuum",
    ),
    ("PRAGMA encoding = 'UTF-16'; CREATE TABLE t(c0, c1)", "UTF-8"),
];

#[test]
fn tables_that_ask_for_more_than_storing_go_through_sql() {
    for (sql, reason) in THROUGH_SQL {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("db");
        open(&database).execute(sql).unwrap();
        let mut request = Request::new(&database, two_columns(false));
        request.mode = Mode::Append;
        request.check = true;
        let summary = run(vec![many(0..2_000, 4)], &request).unwrap();
        assert_eq!((summary.rows, summary.rows_by_pages), (2_000, 0), "{sql}");
        let why = summary.why_arrays.unwrap();
        assert!(why.contains(reason), "{sql}: {why}");
        request.strategy = Some(LoadStrategy::Pages);
        assert!(run(vec![many(2_000..4_000, 4)], &request).is_err(), "{sql}");
    }
}

#[test]
fn an_empty_file_and_a_few_rows_more_are_left_to_sql() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    std::fs::write(&database, "").unwrap();
    let mut request = Request::new(&database, two_columns(false));
    for (mode, rows, reason) in
        [(Mode::Create, 2_000, "the database is empty"), (Mode::Append, 999, "too few")]
    {
        request.mode = mode;
        let summary = run(vec![many(0..rows, 4)], &request).unwrap();
        assert_eq!(summary.rows_by_pages, 0);
        let why = summary.why_arrays.unwrap();
        assert!(why.contains(reason), "{why}");
    }
}

#[test]
fn columns_find_their_places_in_a_table_that_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    open(&database)
        .execute("CREATE TABLE other(x); CREATE TABLE t(C1 TEXT, c0 INTEGER); CREATE INDEX i ON t(c0 DESC, c1)")
        .unwrap();
    let mut request = Request::new(&database, two_columns(false));
    request.mode = Mode::Append;
    request.strategy = Some(LoadStrategy::Pages);
    request.check = true;
    run(vec![many(0..5_000, 6)], &request).unwrap();
    let connection = open(&database);
    let row =
        connection.query_all("SELECT c1, c0, rowid FROM t INDEXED BY i WHERE c0 = 4321").unwrap();
    let expected = [Value::Text("004321".to_owned()), Value::Integer(4_321), Value::Integer(4_322)];
    assert_eq!(row, [expected]);
    connection.execute("INSERT INTO other VALUES (1); DELETE FROM t WHERE c0 % 2").unwrap();
    let check = connection.query_text("PRAGMA integrity_check").unwrap();
    assert_eq!(check, "ok");
}

#[test]
fn a_new_table_in_a_database_that_exists_is_written_as_pages() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    open(&database)
        .execute(
            "CREATE TABLE old(a, b); CREATE INDEX old_a ON old(a);
             WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 9000)
             INSERT INTO old SELECT i, 'text ' || i FROM n;
             DELETE FROM old WHERE a % 3 = 0",
        )
        .unwrap();
    let mut table = two_columns(false);
    table.indexes = vec![index(&[1]), Index { unique: true, ..index(&[0]) }];
    let mut request = Request::new(&database, table);
    request.strategy = Some(LoadStrategy::Pages);
    request.check = true;
    for mode in [Mode::Create, Mode::Replace] {
        request.mode = mode;
        let summary = run(vec![many(0..20_000, 9), many(20_000..30_000, 9)], &request).unwrap();
        assert_eq!(summary.rows_by_pages, 30_000);
        let connection = open(&database);
        let found = connection
            .query_i64("SELECT c0 FROM t INDEXED BY t_c1_index WHERE c1 = '000012345'")
            .unwrap();
        assert_eq!(found, 12_345);
        assert_eq!(connection.query_i64("SELECT count(*) FROM old").unwrap(), 6_000);
    }
    let before = contents(&database, 2);
    let error = run(vec![many(0..5_000, 9), many(4_000..4_001, 9)], &request).unwrap_err();
    assert!(matches!(error, LoadError::Duplicate { rowids: Some(_), .. }), "{error}");
    assert_eq!(contents(&database, 2), before);
}

#[test]
fn readers_see_the_old_database_until_the_load_is_committed() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    let mut request = Request::new(&database, two_columns(false));
    run(vec![many(0..5_000, 6)], &request).unwrap();
    request.mode = Mode::Append;
    request.strategy = Some(LoadStrategy::Pages);
    let reader = open(&database);
    let fields = ["c0", "c1"].map(|name| Field::new(name, DataType::Null, true));
    let batches = (1..5).map(|part| many(part * 5_000..(part + 1) * 5_000, 6));
    let mut source = BatchSource::new("test", &Schema::new(fields.to_vec()), batches);
    let mut seen = Vec::new();
    load(&library(), &mut source, &request, &mut |_| {
        seen.push(reader.query_i64("SELECT count(*) FROM t").unwrap());
        true
    })
    .unwrap();
    assert!(seen.len() >= 4 && seen.iter().all(|count| *count == 5_000), "{seen:?}");
    assert_eq!(reader.query_i64("SELECT count(*) FROM t").unwrap(), 25_000);
}

#[test]
fn readers_of_a_write_ahead_log_see_the_old_database_as_long_as_they_read() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    let writer = open(&database);
    writer
        .execute("PRAGMA journal_mode = WAL; CREATE TABLE t(c0, c1); CREATE INDEX i ON t(c1)")
        .unwrap();
    let mut request = Request::new(&database, two_columns(false));
    request.mode = Mode::Append;
    request.strategy = Some(LoadStrategy::Pages);
    let reader = open(&database);
    let count = "SELECT count(*) FROM t";
    for part in 0..4 {
        writer.execute("CREATE TABLE IF NOT EXISTS o(a); INSERT INTO o VALUES (1)").unwrap();
        let rows = part * 5_000..(part + 1) * 5_000;
        let (first, last) = (rows.start, rows.end);
        let batches = [first..first + 2_500, first + 2_500..last].map(|rows| many(rows, 900));
        let fields = ["c0", "c1"].map(|name| Field::new(name, DataType::Null, true));
        let schema = Schema::new(fields.to_vec());
        let mut source = BatchSource::new("test", &schema, batches.into_iter());
        let summary = load(&library(), &mut source, &request, &mut |_| {
            if !reader.in_transaction() {
                reader.execute("BEGIN").unwrap();
            }
            // What others move from the log must not cut off the pages that are being added.
            writer.query_all("PRAGMA wal_checkpoint(PASSIVE)").unwrap();
            assert_eq!(reader.query_i64(count).unwrap(), first);
            true
        });
        assert_eq!(summary.unwrap().rows_by_pages, 5_000);
        assert_eq!(reader.query_i64(count).unwrap(), first);
        assert_eq!(reader.query_text("PRAGMA integrity_check").unwrap(), "ok");
        reader.execute("COMMIT").unwrap();
        assert_eq!(reader.query_i64(count).unwrap(), last);
        writer.query_all("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        assert_eq!(writer.query_text("PRAGMA integrity_check").unwrap(), "ok");
    }
    drop((reader, writer));
    let connection = open(&database);
    assert_eq!(connection.query_i64(count).unwrap(), 20_000);
    assert_eq!(connection.query_text("PRAGMA journal_mode").unwrap(), "wal");
}

#[test]
fn rows_go_through_sql_while_a_reader_keeps_a_log_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    let reader = open(&database);
    reader
        .execute("PRAGMA journal_mode = WAL; CREATE TABLE t(c0, c1); BEGIN; SELECT * FROM t")
        .unwrap();
    assert_eq!(reader.query_i64("SELECT count(*) FROM t").unwrap(), 0);
    let mut request = Request::new(&database, two_columns(false));
    request.mode = Mode::Append;
    request.check = true;
    let summary = run(vec![many(0..2_000, 4)], &request).unwrap();
    assert_eq!((summary.rows, summary.rows_by_pages), (2_000, 0));
    let why = summary.why_arrays.unwrap();
    assert!(why.contains("write-ahead log"), "{why}");
    assert_eq!(reader.query_i64("SELECT count(*) FROM t").unwrap(), 0);
}

#[test]
fn a_commit_that_a_reader_keeps_waiting_leaves_the_database_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    let mut request = Request::new(&database, two_columns(false));
    run(vec![many(0..5_000, 6)], &request).unwrap();
    let before = std::fs::read(&database).unwrap();
    request.mode = Mode::Append;
    request.strategy = Some(LoadStrategy::Pages);
    let reader = open(&database);
    reader.execute("BEGIN").unwrap();
    assert_eq!(reader.query_i64("SELECT count(*) FROM t").unwrap(), 5_000);
    let error = run(vec![many(5_000..50_000, 6)], &request).unwrap_err();
    assert!(error.to_string().contains("locked"), "{error}");
    reader.execute("COMMIT").unwrap();
    assert!(std::fs::read(&database).unwrap() == before);
    request.check = true;
    run(vec![many(5_000..50_000, 6)], &request).unwrap();
    assert_eq!(reader.query_i64("SELECT count(*) FROM t").unwrap(), 50_000);
}

#[test]
fn a_few_wide_rows_are_added_as_pages() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    let mut request = Request::new(&database, two_columns(false));
    run(vec![many(0..10, 6)], &request).unwrap();
    request.mode = Mode::Append;
    request.check = true;
    let few = run(vec![many(10..20, 6)], &request).unwrap();
    assert_eq!(few.rows_by_pages, 0, "{few:?}");
    let wide = run(vec![many(20..420, 2_000), many(420..820, 2_000)], &request).unwrap();
    assert_eq!(wide.rows_by_pages, 800, "{wide:?}");
}

#[test]
fn a_page_size_is_for_new_databases_and_no_option_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    open(&database).execute("CREATE TABLE other(a)").unwrap();
    let mut request = Request::new(&database, two_columns(false));
    request.page_size = Some(1_024);
    let error = run(vec![many(0..3, 4)], &request).unwrap_err().to_string();
    assert!(error.contains("pages of 4096 bytes"), "{error}");
    request.page_size = Some(4_096);
    assert_eq!(run(vec![many(0..3, 4)], &request).unwrap().rows, 3);
    request.page_size = Some(1_000);
    let error = run(vec![many(0..3, 4)], &request).unwrap_err().to_string();
    assert!(error.contains("invalid page size 1000"), "{error}");
}

#[test]
fn where_pages_cannot_be_added_the_indexes_of_a_new_table_are_made_after_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    let connection = open(&database);
    connection.execute("PRAGMA encoding = 'UTF-16'; CREATE TABLE other(a)").unwrap();
    drop(connection);
    let mut table = two_columns(true);
    table.indexes = vec![Index { columns: vec!["c1".to_owned()], unique: true }];
    let mut request = Request::new(&database, table);
    request.check = true;
    let mut phases = Vec::new();
    let mut source =
        BatchSource::new("test", &many(0..3, 4).schema(), vec![many(0..9, 4)].into_iter());
    let summary = load(&library(), &mut source, &request, &mut |progress| {
        phases.push(progress.phase);
        true
    })
    .unwrap();
    assert_eq!((summary.rows, summary.rows_by_pages), (9, 0));
    assert!(phases.contains(&pragmark_load::Phase::Indexes));
    let connection = open(&database);
    let sql = "SELECT group_concat(name) FROM pragma_index_list('t') WHERE origin = 'c'";
    assert_eq!(connection.query_text(sql).unwrap(), "t_c1_index");
}

#[test]
fn a_key_that_is_no_integer_is_told_with_its_column() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    open(&database).execute("CREATE TABLE t(c1 TEXT, c0 INTEGER PRIMARY KEY)").unwrap();
    let mut request = Request::new(&database, two_columns(true));
    request.mode = Mode::Append;
    let column = |name: &str, texts: &[&str]| -> (String, ArrayRef) {
        (name.to_owned(), Arc::new(StringArray::from(texts.to_vec())))
    };
    let batch =
        RecordBatch::try_from_iter([column("c0", &["1", "x"]), column("c1", &["one", "two"])]);
    let error = run(vec![batch.unwrap()], &request).unwrap_err().to_string();
    assert!(error.contains("row 2") && error.contains("column c0"), "{error}");
}
