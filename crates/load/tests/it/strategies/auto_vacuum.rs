//! Databases with auto_vacuum, which have a map of their pages: it is right if SQLite says so, and if it can move
//! the pages.

use pragmark_load::outline;

use super::*;

const MODES: [&str; 2] = ["FULL", "INCREMENTAL"];

/// A database with a table that SQLite has made, and some of its rows.
fn made(database: &Path, mode: &str, page_size: u32, rows: i64, indexes: bool) {
    let connection = open(database);
    let pragmas = format!("PRAGMA page_size = {page_size}; PRAGMA auto_vacuum = {mode}");
    connection.execute(&pragmas).unwrap();
    connection
        .execute("CREATE TABLE other(a, b); CREATE TABLE t(c0 INTEGER PRIMARY KEY, c1 TEXT)")
        .unwrap();
    if indexes {
        connection.execute("CREATE INDEX i ON t(c1)").unwrap();
    }
    let insert = format!(
        "WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT {rows})
         INSERT INTO t SELECT i, printf('%0300d', i) FROM n"
    );
    if rows > 0 {
        connection.execute(&insert).unwrap();
    }
}

fn append(database: &Path, batches: Vec<RecordBatch>, workers: usize) -> Summary {
    let mut request = Request::new(database, two_columns(true));
    request.mode = Mode::Append;
    request.strategy = Some(LoadStrategy::Pages);
    request.workers = Some(workers);
    request.check = true;
    run(batches, &request).unwrap()
}

/// Lets SQLite move every page that it can.
fn move_pages(database: &Path) {
    let connection = open(database);
    connection
        .execute("DELETE FROM t WHERE c0 % 5 < 3; DROP TABLE other; PRAGMA incremental_vacuum")
        .unwrap();
    let ok = |sql| connection.query_text(sql).unwrap();
    assert_eq!(ok("PRAGMA integrity_check"), "ok");
    assert_eq!(connection.query_i64("PRAGMA freelist_count").unwrap(), 0);
    let wrong = "SELECT count(*) FROM t WHERE CAST(c1 AS INTEGER) <> c0";
    assert_eq!(connection.query_i64(wrong).unwrap(), 0);
}

#[test]
fn tables_of_every_size_are_filled_and_extended_as_pages() {
    for (number, page_size) in [512, 1_024, 4_096, 65_536].into_iter().enumerate() {
        for mode in MODES {
            for before in [0, 1, 20, 700] {
                let folder = tempfile::tempdir().unwrap();
                let database = folder.path().join("db");
                made(&database, mode, page_size, before, false);
                // Texts that fit pages, and some that need pages of their own.
                let mut rows = before;
                for (more, length) in [(1, 9_000), (3_000, 30), (20, 65_535), (500, 700)] {
                    let summary =
                        append(&database, vec![many(rows..rows + more, length)], 1 + number % 3);
                    assert_eq!(summary.rows_by_pages, more as u64);
                    rows += more;
                }
                let connection = open(&database);
                assert_eq!(connection.query_i64("SELECT count(*) FROM t").unwrap(), rows);
                drop(connection);
                move_pages(&database);
            }
        }
    }
}

#[test]
fn indexes_of_an_empty_table_are_filled_too() {
    for page_size in [512, 4_096] {
        for mode in MODES {
            let folder = tempfile::tempdir().unwrap();
            let database = folder.path().join("db");
            made(&database, mode, page_size, 0, true);
            let batches =
                vec![many(0..4_000, 20), many(4_000..4_300, 3_000), many(4_300..9_000, 8)];
            let summary = append(&database, batches, 2);
            assert_eq!(summary.rows_by_pages, 9_000);
            move_pages(&database);
        }
    }
}

#[test]
fn a_new_table_in_such_a_database_is_written_as_pages() {
    for mode in MODES {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("db");
        made(&database, mode, 1_024, 700, true);
        let mut table = two_columns(true);
        table.name = "new".to_owned();
        table.indexes = vec![index(&[1])];
        let mut request = Request::new(&database, table);
        request.check = true;
        let summary = run(vec![many(0..5_000, 40)], &request).unwrap();
        assert_eq!((summary.rows, summary.why_arrays), (5_000, None));
        move_pages(&database);
    }
}

#[test]
fn where_a_replaced_table_leaves_pages_that_the_commit_fills_rows_go_through_sql() {
    for (mode, by_pages) in [("FULL", 0), ("INCREMENTAL", 5_000)] {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("db");
        made(&database, mode, 1_024, 700, true);
        let mut request = Request::new(&database, two_columns(true));
        request.mode = Mode::Replace;
        request.check = true;
        let mut source = BatchSource::new("test", &many(0..1, 4).schema(), std::iter::empty());
        let outline = outline(&library(), &mut source, &request, 0).unwrap();
        assert_eq!(outline.why_arrays.is_none(), by_pages > 0, "{mode}");
        let summary = run(vec![many(0..5_000, 40)], &request).unwrap();
        assert_eq!((summary.rows, summary.rows_by_pages), (5_000, by_pages), "{mode}");
        let connection = open(&database);
        assert_eq!(connection.query_text("PRAGMA integrity_check").unwrap(), "ok");
        drop(connection);
        move_pages(&database);
    }
}

#[test]
#[ignore = "it writes 1.1 GiB"]
fn a_database_with_a_map_past_the_lock_byte_page_is_sound() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    made(&database, "INCREMENTAL", 65_536, 20, false);
    let batches = (0..18).map(|batch| many(20 + batch * 1_000..20 + (batch + 1) * 1_000, 64_000));
    append(&database, batches.collect(), 2);
    assert!(database.metadata().unwrap().len() > 1 << 30);
}
