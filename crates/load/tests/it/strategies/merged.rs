//! Rows for tables that have rows and indexes: merged into the indexes, or left to SQL.

use super::*;

/// A table with indexes of several kinds, and rows of which some need pages of their own.
const INDEXED: &str = "CREATE TABLE t(c0 INTEGER, c1 TEXT);
    CREATE INDEX descending ON t(c1 DESC); CREATE UNIQUE INDEX both ON t(c1, c0);
    CREATE TABLE other(x);
    WITH n(i) AS (SELECT -1 UNION ALL SELECT i - 1 FROM n LIMIT 2500)
    INSERT INTO t SELECT i, printf('%0*d', iif(i % 50, 9, 7000), -i) FROM n;
    DELETE FROM t WHERE c0 % 7 = 0";

#[test]
fn rows_are_merged_into_the_indexes_of_a_table_and_what_these_leave_is_used_again() {
    for (page_size, index_memory) in [(512, 512 << 20), (1_024, 0), (65_536, 512 << 20)] {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("db");
        let connection = open(&database);
        connection.execute(&format!("PRAGMA page_size = {page_size}; {INDEXED}")).unwrap();
        let mut request = Request::new(&database, two_columns(false));
        request.mode = Mode::Append;
        request.strategy = Some(LoadStrategy::Pages);
        request.index_memory = index_memory;
        request.check = true;
        for rows in [0..1, 1..4_000, 4_000..30_000] {
            let count = rows.end - rows.start;
            let summary = run(vec![many(rows, 9)], &request).unwrap();
            assert_eq!(summary.rows_by_pages, count as u64);
        }
        let free = || connection.query_i64("PRAGMA freelist_count").unwrap();
        let left = free();
        assert!(left > 0);
        connection.execute("INSERT INTO other SELECT randomblob(2000) FROM t LIMIT 300").unwrap();
        assert!(free() < left);
        let sum = "SELECT sum(c0) FROM t INDEXED BY both WHERE c1 >= '000000000'";
        assert_eq!(
            connection.query_i64(sum).unwrap(),
            connection.query_i64("SELECT sum(c0) FROM t").unwrap()
        );
        assert_eq!(connection.query_text("PRAGMA integrity_check").unwrap(), "ok");
    }
}

#[test]
fn a_row_that_an_index_has_already_leaves_table_and_indexes_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    let connection = open(&database);
    connection.execute(INDEXED).unwrap();
    connection.execute("INSERT INTO t VALUES (2345, '000002345')").unwrap();
    drop(connection);
    let before = std::fs::read(&database).unwrap();
    let mut request = Request::new(&database, two_columns(false));
    request.mode = Mode::Append;
    request.strategy = Some(LoadStrategy::Pages);
    let error = run(vec![many(0..5_000, 9)], &request).unwrap_err();
    assert!(
        error.to_string().contains("t.c1, t.c0: rowids 2501 and 4847 both have '000002345', 2345"),
        "{error}"
    );
    assert!(std::fs::read(&database).unwrap() == before);
}

#[test]
fn a_few_rows_for_a_large_table_with_indexes_are_left_to_sql() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    let mut table = two_columns(false);
    table.indexes = vec![index(&[1])];
    let mut request = Request::new(&database, table);
    run(vec![many(0..40_000, 9)], &request).unwrap();
    request.mode = Mode::Append;
    request.check = true;
    let few = run(vec![many(40_000..42_000, 9)], &request).unwrap();
    assert_eq!((few.rows, few.rows_by_pages), (2_000, 0));
    let why = few.why_arrays.unwrap();
    assert!(why.contains("indexes of the table anew"), "{why}");
    let many = run(vec![many(42_000..50_000, 9)], &request).unwrap();
    assert_eq!(many.rows_by_pages, 8_000);
}

#[test]
fn a_damaged_index_is_an_error_and_the_database_stays_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    let connection = open(&database);
    connection.execute(INDEXED).unwrap();
    let root = "SELECT rootpage FROM sqlite_master WHERE name = 'both'";
    let root = connection.query_i64(root).unwrap() as usize;
    drop(connection);
    let sound = std::fs::read(&database).unwrap();
    let mut request = Request::new(&database, two_columns(false));
    request.mode = Mode::Append;
    request.strategy = Some(LoadStrategy::Pages);
    // The kind of the page, the rightmost child, the first cell.
    for (at, bytes) in [(0, &[5][..]), (8, &[0, 0, 0, 2]), (8, &[9; 4]), (12, &[255; 2])] {
        let mut damaged = sound.clone();
        let at = (root - 1) * 4_096 + at;
        damaged[at..at + bytes.len()].copy_from_slice(bytes);
        std::fs::write(&database, &damaged).unwrap();
        assert!(run(vec![many(0..5_000, 9)], &request).is_err());
        assert!(std::fs::read(&database).unwrap() == damaged);
    }
}
