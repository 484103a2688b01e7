//! Indexes and keys made with a table.

use super::*;

#[test]
fn indexes_are_made_after_the_rows_and_unique_ones_hold() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    let mut table = two_columns(false);
    table.indexes = vec![
        Index { columns: vec!["c1".to_owned(), "c0".to_owned()], unique: false },
        Index { columns: vec!["c0".to_owned()], unique: true },
    ];
    let mut request = Request::new(&database, table);
    request.check = true;
    let summary = run(vec![many(0..3_000, 9)], &request).unwrap();
    assert_eq!(summary.rows_by_pages, 3_000);
    let plan =
        open(&database).query_all("EXPLAIN QUERY PLAN SELECT * FROM t WHERE c1 = 'x'").unwrap();
    assert!(plan[0][3].to_string().contains("t_c1_c0_index"), "{plan:?}");

    request.database = folder.path().join("twice");
    request.workers = Some(2);
    let error = run(vec![many(0..10, 9), many(9..12, 9)], &request).unwrap_err().to_string();
    assert_eq!(error, "test, row 11: UNIQUE constraint failed: t.c0: 9 is already in test, row 10");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);

    request.on_error = OnError::Skip;
    request.rejects = Some(folder.path().join("rejected.csv"));
    let summary = run(vec![many(0..10, 9), many(9..12, 9)], &request).unwrap();
    assert_eq!((summary.rows, summary.rejected, summary.rows_by_pages), (12, 1, 0));
    let rejected = std::fs::read_to_string(folder.path().join("rejected.csv")).unwrap();
    assert_eq!(
        rejected,
        "input,row,column,reason,fields\ntest,11,,UNIQUE constraint failed: t.c0: 9,9,000000009\n"
    );
}

#[test]
fn a_primary_key_of_any_columns_is_unique_but_for_null() {
    let folder = tempfile::tempdir().unwrap();
    let mut table = two_columns(false);
    table.primary_key = vec!["c1".to_owned(), "c0".to_owned()];
    let mut request = Request::new(folder.path().join("db"), table);
    request.check = true;
    request.strategy = Some(LoadStrategy::Pages);
    let text = |text: &str| Value::Text(text.to_owned());
    let rows = |keys: &[Option<i64>]| {
        let texts = keys.iter().map(|_| text("a")).collect();
        let keys = keys.iter().map(|key| key.map_or(Value::Null, Value::Integer));
        vec![batch(&[keys.collect(), texts])]
    };
    assert_eq!(run(rows(&[Some(1), None, Some(2), None]), &request).unwrap().rows, 4);
    request.database = folder.path().join("twice");
    let error = run(rows(&[Some(1), None, Some(1), None]), &request).unwrap_err().to_string();
    assert!(
        error.contains("row 3: UNIQUE constraint failed: t.c1, t.c0: 'a', 1 is already"),
        "{error}"
    );
}

#[test]
fn indexes_of_many_levels_are_sound_and_searched() {
    for (page_size, length) in [(512, 8), (512, 300), (4096, 40)] {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("db");
        let mut table = two_columns(false);
        table.indexes = vec![index(&[1]), Index { unique: true, ..index(&[0]) }];
        let mut request = Request::new(&database, table);
        request.page_size = Some(page_size);
        request.check = true;
        request.workers = Some(2);
        // Shuffled: 7,919 is prime and no divisor of the number of rows.
        let keys: Vec<i64> = (0..30_000).map(|row| row * 7_919 % 30_000).collect();
        let batches = keys.chunks(4_000).map(|keys| {
            let texts = keys.iter().map(|key| Value::Text(format!("{key:0length$}")));
            batch(&[keys.iter().copied().map(Value::Integer).collect(), texts.collect()])
        });
        let summary = run(batches.collect(), &request).unwrap();
        assert_eq!(summary.rows_by_pages, 30_000);
        let connection = open(&database);
        for key in [0, 1, 17_000, 29_999] {
            let sql = format!("SELECT c0 FROM t INDEXED BY t_c1_index WHERE c1 = '{key:0length$}'");
            assert_eq!(connection.query_i64(&sql).unwrap(), key);
        }
        connection.execute("DELETE FROM t WHERE c0 % 3 = 0; REINDEX").unwrap();
        assert_eq!(connection.query_text("PRAGMA integrity_check").unwrap(), "ok");
    }
}
