//! New databases, whole and of any size.

use super::*;

#[test]
fn bytes_that_are_reserved_in_every_page_stay_free() {
    for page_size in [512, 4096] {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("db");
        open(&database)
            .execute(&format!("PRAGMA page_size = {page_size}; PRAGMA user_version = 1"))
            .unwrap();
        reserve(&database, page_size, 32);
        let mut table = two_columns(true);
        table.indexes = vec![index(&[1])];
        let mut request = Request::new(&database, table);
        request.strategy = Some(LoadStrategy::Pages);
        request.check = true;
        run(vec![many(0..3_000, 20), many(3_000..3_100, 2_000)], &request).unwrap();
        let bytes = std::fs::read(&database).unwrap();
        let size = usize::from(page_size);
        assert!(bytes.chunks(size).all(|page| page[size - 32..].iter().all(|byte| *byte == 0)));
        let connection = open(&database);
        let sum = connection.query_i64("SELECT sum(length(c1)) FROM t").unwrap();
        assert_eq!(sum, 3_000 * 20 + 100 * 2_000);
        connection.execute("DELETE FROM t WHERE c0 % 2; PRAGMA integrity_check").unwrap();
    }
}

#[test]
fn trees_of_many_levels_are_sound_and_searched() {
    for (page_size, workers) in [(512, 1), (512, 3), (4096, 2)] {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("db");
        let mut request = Request::new(&database, two_columns(true));
        request.page_size = Some(page_size);
        request.workers = Some(workers);
        request.check = true;
        let batches = (0..12).map(|part| many(part * 5_000..(part + 1) * 5_000, 30)).collect();
        let summary = run(batches, &request).unwrap();
        assert_eq!((summary.rows, summary.rows_by_pages), (60_000, 60_000));
        let connection = open(&database);
        for key in [0, 1, 4_999, 5_000, 31_234, 59_999] {
            let text =
                connection.query_text(&format!("SELECT c1 FROM t WHERE c0 = {key}")).unwrap();
            assert_eq!(text, format!("{key:030}"));
        }
        connection
            .execute("INSERT INTO t(c1) VALUES ('more'); DELETE FROM t WHERE c0 % 3 = 0; VACUUM")
            .unwrap();
        let count = connection.query_i64("SELECT count(*) FROM t").unwrap();
        assert_eq!(count, 40_000);
    }
}

#[test]
fn a_value_of_many_megabytes_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    let huge = "é".repeat(5 << 20);
    let texts = ["a", &huge, "b", &huge[..4], &huge].map(|text| Value::Text(text.to_owned()));
    let keys = (1..=5).map(Value::Integer).collect();
    let mut request = Request::new(&database, two_columns(false));
    request.check = true;
    let summary = run(vec![batch(&[keys, texts.to_vec()])], &request).unwrap();
    assert_eq!(summary.rows_by_pages, 5);
    let rows = open(&database).query_all("SELECT c1 FROM t ORDER BY rowid").unwrap();
    assert!(rows.iter().map(|row| &row[0]).eq(&texts));
}

#[test]
fn what_pages_cannot_do_goes_on_through_sql() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    let batches = vec![many(10..5_000, 5), many(0..10, 5), many(5_000..5_010, 5)];
    let mut request = Request::new(&database, two_columns(true));
    request.check = true;
    let summary = run(batches.clone(), &request).unwrap();
    assert_eq!((summary.rows, summary.rows_by_pages), (5_010, 4_990));
    let why = summary.why_arrays.unwrap();
    assert!(why.contains("not in ascending order: 0 after 4999"), "{why}");

    request.strategy = Some(LoadStrategy::Pages);
    request.database = folder.path().join("other");
    let error = run(batches, &request).unwrap_err().to_string();
    assert!(error.contains("not in ascending order"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left");
}

#[test]
fn tables_are_made_replaced_and_appended_to_as_asked() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    let mut request = Request::new(&database, two_columns(false));
    run(vec![many(0..3, 4)], &request).unwrap();
    assert!(matches!(run(vec![many(0..3, 4)], &request), Err(LoadError::TableExists(_))));
    request.mode = Mode::Replace;
    assert_eq!(run(vec![many(0..5, 4)], &request).unwrap().rows, 5);
    request.mode = Mode::Append;
    assert_eq!(run(vec![many(0..5, 4)], &request).unwrap().rows, 5);
    assert_eq!(open(&database).query_i64("SELECT count(*) FROM t").unwrap(), 10);
    request.table.name = "other".to_owned();
    assert!(matches!(run(vec![many(0..3, 4)], &request), Err(LoadError::NoTable(_))));
    request.table.name = "t".to_owned();
    request.table.types[1].name = "missing".to_owned();
    let error = run(vec![many(0..3, 4)], &request).unwrap_err().to_string();
    assert_eq!(error, "table t has no column missing; it has c0, c1");
}

#[test]
fn a_load_that_is_stopped_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    for strategy in [LoadStrategy::Pages, LoadStrategy::Arrays] {
        let mut request = Request::new(&database, two_columns(false));
        request.strategy = Some(strategy);
        let fields = ["c0", "c1"].map(|name| Field::new(name, DataType::Null, true));
        let endless = (0..).map(|part| many(part * 100..(part + 1) * 100, 4));
        let mut source = BatchSource::new("test", &Schema::new(fields.to_vec()), endless);
        let mut told = 0;
        let stopped = load(&library(), &mut source, &request, &mut |_| {
            told += 1;
            told < 5
        });
        assert!(matches!(stopped, Err(LoadError::Interrupted)));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_journal_without_its_database_is_not_rolled_back_into_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("db-journal"), "x").unwrap();
    let request = Request::new(folder.path().join("db"), two_columns(false));
    assert!(matches!(run(vec![many(0..3, 4)], &request), Err(LoadError::LeftoverJournal(_))));
}

/// 1.2 GB: `cargo test --release -p pragmark-load --test it strategies -- --ignored`.
#[test]
#[ignore = "writes 1.2 GB"]
fn a_database_past_the_lock_byte_page_is_sound() {
    let directory = std::env::var_os("PRAGMARK_TEST_DIR").unwrap_or_else(|| ".".into());
    let folder = tempfile::tempdir_in(directory).unwrap();
    let mut request = Request::new(folder.path().join("db"), two_columns(false));
    request.check = true;
    let batches = (0..1_200).map(|part| many(part * 1_000..(part + 1) * 1_000, 1_000));
    let summary = run(batches.collect(), &request).unwrap();
    assert_eq!(summary.rows_by_pages, 1_200_000);
    assert!(summary.database_bytes > 1 << 30);
}

#[test]
fn keys_that_sqlite_gives_itself_are_the_ones_that_were_given() {
    for (sql, last) in [
        ("CREATE TABLE t(c0 INTEGER PRIMARY KEY, c1)", 0),
        ("CREATE TABLE t(c0 INTEGER PRIMARY KEY, c1); INSERT INTO t VALUES (-8, '')", -8),
        ("CREATE TABLE t(c0 INTEGER PRIMARY KEY, c1); INSERT INTO t VALUES (41, '')", 41),
        // SQLite would not give 6 again.
        (
            "CREATE TABLE t(c0 INTEGER PRIMARY KEY AUTOINCREMENT, c1);
          INSERT INTO t VALUES (5, ''), (6, ''); DELETE FROM t WHERE c0 = 6",
            5,
        ),
        // A trigger before the insert would not see the key.
        (
            "CREATE TABLE t(c0 INTEGER PRIMARY KEY, c1); CREATE TABLE log(c0);
          CREATE TRIGGER r BEFORE INSERT ON t BEGIN INSERT INTO log VALUES (new.c0); END",
            0,
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("db");
        open(&database).execute(sql).unwrap();
        let mut request = Request::new(&database, two_columns(true));
        request.mode = Mode::Append;
        request.strategy = Some(LoadStrategy::Arrays);
        let batches = [1..50, 50..90, 200..210, 210..260, 100..120];
        let keys: Vec<i64> = batches.clone().into_iter().flatten().map(|key| key + last).collect();
        let batches = batches.map(|keys| many(keys.start + last..keys.end + last, 4));
        run(batches.to_vec(), &request).unwrap();
        let connection = open(&database);
        let found = connection
            .query_i64("SELECT count(*) FROM t WHERE CAST(c1 AS INTEGER) = c0 AND c1 <> ''")
            .unwrap();
        assert_eq!(found, keys.len() as i64, "{sql}");
        if sql.contains("log") {
            let logged = connection.query_all("SELECT c0 FROM log ORDER BY rowid").unwrap();
            assert!(logged.into_iter().flatten().eq(keys.into_iter().map(Value::Integer)));
        }
    }
}

#[test]
fn batches_of_single_rows_fill_their_pages() {
    let folder = tempfile::tempdir().unwrap();
    let pages = [LoadStrategy::Pages, LoadStrategy::Arrays].map(|strategy| {
        let database = folder.path().join(format!("{strategy:?}"));
        let values = (0..6_000_i64).map(|n| match n % 2 {
            0 => Value::Integer(n),
            _ => Value::Text(format!("value {n}")),
        });
        let mut table = Table::new("t");
        table.types = vec![Column::new("c0", "BLOB")];
        let mut request = Request::new(&database, table);
        request.strategy = Some(strategy);
        request.workers = Some(4);
        request.check = true;
        run(values.map(|value| batch(&[vec![value]])).collect(), &request).unwrap();
        open(&database).query_i64("PRAGMA page_count").unwrap()
    });
    // SQLite fills pages too when keys ascend; a page may be open where a worker's job ends.
    assert!(pages[0] <= pages[1] + 6, "{pages:?}");
}
