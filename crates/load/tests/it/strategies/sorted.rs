//! Entries in the order of a key: tables WITHOUT ROWID, and runs in files where memory does not hold them.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;

#[test]
fn keys_of_a_table_without_rowid_are_unique_and_not_null() {
    let folder = tempfile::tempdir().unwrap();
    let mut table = two_columns(false);
    table.primary_key = vec!["c1".to_owned(), "c0".to_owned()];
    table.without_rowid = true;
    let mut request = Request::new(folder.path().join("db"), table);
    request.strategy = Some(LoadStrategy::Pages);
    request.workers = Some(2);
    let error =
        run(vec![many(0..200_000, 6), many(70_000..70_001, 6)], &request).unwrap_err().to_string();
    assert_eq!(error, "test: UNIQUE constraint failed: t.c1, t.c0: two rows have '070000', 70000");
    let null = batch(&[vec![Value::Null], vec![Value::Text("a".to_owned())]]);
    let error = run(vec![null.clone()], &request).unwrap_err().to_string();
    assert!(error.contains("NULL in column c0"), "{error}");
    request.strategy = None;
    let error = run(vec![null], &request).unwrap_err().to_string();
    assert!(error.contains("NOT NULL constraint failed: t.c0"), "{error}");
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
    let batches: Vec<RecordBatch> =
        (0..20).rev().map(|part| many(part * 10_000..(part + 1) * 10_000, 8)).collect();
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
    table.indexes = vec![Index { columns: vec!["c1".to_owned()], unique: true }];
    let mut request = Request::new(folder.path().join("db"), table);
    request.index_memory = 1 << 20;
    let batches = || (0..20).map(|part| many(part * 10_000..(part + 1) * 10_000, 12));
    let twice = batches().chain([many(150_000..150_001, 12)]).collect();
    let error = run(twice, &request).unwrap_err().to_string();
    assert!(error.contains("row 200001") && error.ends_with("row 150001"), "{error}");
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
        request.strategy = Some(LoadStrategy::Pages);
        request.page_size = Some(512);
        request.check = true;
        let keys = (first..first + 1_000).map(Value::Integer).collect();
        assert_eq!(run(vec![batch(&[keys])], &request).unwrap().rows, 1_000);
        let connection = open(&database);
        connection.execute("DELETE FROM t WHERE c0 IN (0, 1)").unwrap();
        let check = connection.query_text("PRAGMA integrity_check").unwrap();
        assert_eq!(check, "ok");
    }
}

/// A table whose keys are the rowids and come in no order.
fn shuffled_cases() -> impl Strategy<Value = Case> {
    let keys = prop::collection::btree_set(prop_oneof![any::<i64>(), -300_i64..300], 2..300);
    let keys = keys.prop_map(|keys| keys.into_iter().collect::<Vec<i64>>());
    let page_sizes = select(vec![512_u32, 1024, 4096, 65_536]);
    let indexes = prop::collection::btree_set(select(vec![vec![1], vec![2, 1], vec![0]]), 0..3);
    let texts = prop::collection::vec("[a-c]{0,3}(x{100,900})?", 300);
    let means = (1_usize..4, any::<bool>(), any::<bool>());
    (keys.prop_shuffle(), page_sizes, indexes, texts, means).prop_map(
        |(mut keys, page_size, indexes, texts, (workers, sorted, alias_is_last))| {
            // The first batch decides that rows are sorted.
            let first = keys.len().div_ceil(3).max(2);
            keys[..first].sort_unstable_by(|one, other| other.cmp(one));
            let batches = keys.chunks(first).enumerate().map(|(number, keys)| {
                let texts = texts.iter().skip(number * first).take(keys.len());
                let integers = keys.iter().map(|key| Value::Integer(*key)).collect();
                let small = keys.iter().map(|key| Value::Integer(key % 5)).collect();
                vec![integers, texts.cloned().map(Value::Text).collect(), small]
            });
            Case {
                declared: vec!["INTEGER", "TEXT", if alias_is_last { "" } else { "REAL" }],
                strict: false,
                rowid_alias: true,
                page_size,
                workers,
                indexes: indexes.into_iter().collect(),
                key: Vec::new(),
                sorted,
                batches: batches.collect(),
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows_with_keys_in_no_order_are_sorted_into_what_insert_gives(case in shuffled_cases()) {
        properties::check_new(&case);
    }
}

#[test]
fn many_rows_with_keys_in_no_order_are_sorted_by_several_threads() {
    let folder = tempfile::tempdir().unwrap();
    let mut request = Request::new(folder.path().join("db"), two_columns(true));
    request.table.indexes = vec![index(&[1])];
    request.check = true;
    request.workers = Some(3);
    let batches = || {
        let parts = (0..20).rev();
        parts.map(|part| {
            // Each batch descends, too.
            let rows = part * 10_000..(part + 1) * 10_000;
            let keys = rows.clone().rev().map(Value::Integer).collect();
            let texts = rows.rev().map(|row| Value::Text(format!("{row:040}")));
            batch(&[keys, texts.collect()])
        })
    };
    for index_memory in [512 << 20, 1 << 20] {
        request.index_memory = index_memory;
        let summary = run(batches().collect(), &request).unwrap();
        assert_eq!((summary.rows, summary.rows_by_pages), (200_000, 200_000));
        let connection = open(&request.database);
        let same = "SELECT count(*) FROM t WHERE c1 = printf('%040d', c0)";
        assert_eq!(connection.query_i64(same).unwrap(), 200_000);
        drop(connection);
        std::fs::remove_file(&request.database).unwrap();
    }
    let twice: Vec<RecordBatch> = batches().chain([many(77..78, 40)]).collect();
    let error = run(twice.clone(), &request).unwrap_err().to_string();
    assert_eq!(error, "test: UNIQUE constraint failed: t.c0: two rows have 77");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    request.table.indexes.clear();
    request.on_error = OnError::Skip;
    let summary = run(twice, &request).unwrap();
    assert_eq!((summary.rows, summary.rejected), (200_000, 1));
}
