//! Entries in the order of a key: tables WITHOUT ROWID, and runs in files where memory does not hold them.

use super::*;

#[test]
fn keys_of_a_table_without_rowid_are_unique_and_not_null() {
    let folder = tempfile::tempdir().unwrap();
    let mut table = two_columns(false);
    table.primary_key = vec!["c1".to_owned(), "c0".to_owned()];
    table.without_rowid = true;
    let mut request = Request::new(folder.path().join("db"), table);
    request.strategy = StrategyChoice::Only(LoadStrategy::Pages);
    request.workers = Some(2);
    let error = run(vec![many(0..200_000, 6), many(70_000..70_001, 6)], &request)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "test: UNIQUE constraint failed: t.c1, t.c0: two rows have '070000', 70000"
    );
    let null = batch(&[vec![Value::Null], vec![Value::Text("a".to_owned())]]);
    let error = run(vec![null.clone()], &request).unwrap_err().to_string();
    assert!(error.contains("NULL in column c0"), "{error}");
    request.strategy = StrategyChoice::Auto;
    let error = run(vec![null], &request).unwrap_err().to_string();
    assert!(
        error.contains("NOT NULL constraint failed: t.c0"),
        "{error}"
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn rows_without_rowid_that_memory_does_not_hold_are_sorted_by_way_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut table = two_columns(false);
    table.primary_key = vec!["c0".to_owned()];
    table.types[0].declared = "INT".to_owned();
    table.without_rowid = true;
    table.indexes = vec![index(&[1])];
    let mut request = Request::new(folder.path().join("db"), table);
    request.index_memory = 1 << 20;
    request.check = true;
    let batches: Vec<RecordBatch> = (0..20)
        .rev()
        .map(|part| many(part * 10_000..(part + 1) * 10_000, 8))
        .collect();
    let summary = run(batches, &request).unwrap();
    assert_eq!((summary.rows, summary.rows_by_pages), (200_000, 200_000));
    let connection = open(&request.database);
    let sql = "SELECT count(*) FROM t WHERE c1 IN (SELECT format('%08d', c0) FROM t)";
    assert_eq!(connection.query_i64(sql).unwrap(), 200_000);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn duplicates_are_found_between_runs_in_files() {
    let folder = tempfile::tempdir().unwrap();
    let mut table = two_columns(false);
    table.indexes = vec![Index {
        columns: vec!["c1".to_owned()],
        unique: true,
    }];
    let mut request = Request::new(folder.path().join("db"), table);
    request.index_memory = 1 << 20;
    let batches = || (0..20).map(|part| many(part * 10_000..(part + 1) * 10_000, 12));
    let twice = batches().chain([many(150_000..150_001, 12)]).collect();
    let error = run(twice, &request).unwrap_err().to_string();
    assert!(
        error.contains("row 200001") && error.ends_with("row 150001"),
        "{error}"
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    assert_eq!(run(batches().collect(), &request).unwrap().rows, 200_000);
}

#[test]
fn the_shortest_entries_leave_room_for_what_sqlite_puts_in_their_places() {
    let folder = tempfile::tempdir().unwrap();
    let mut table = Table::new("t");
    table.types = vec![Column::new("c0", "INT")];
    table.primary_key = vec!["c0".to_owned()];
    table.without_rowid = true;
    for first in [0, -500] {
        let database = folder.path().join(format!("{first}.db"));
        let mut request = Request::new(&database, table.clone());
        request.strategy = StrategyChoice::Only(LoadStrategy::Pages);
        request.page_size = Some(512);
        request.check = true;
        let keys = (first..first + 1_000).map(Value::Integer).collect();
        assert_eq!(run(vec![batch(&[keys])], &request).unwrap().rows, 1_000);
        let connection = open(&database);
        connection
            .execute("DELETE FROM t WHERE c0 IN (0, 1)")
            .unwrap();
        let check = connection.query_text("PRAGMA integrity_check").unwrap();
        assert_eq!(check, "ok");
    }
}
