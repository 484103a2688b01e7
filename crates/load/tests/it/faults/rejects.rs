//! How many rows may be skipped.

use pragmark_load::{Index, LoadStrategy, Mode, OnError, Request};

use crate::faults::{Workspace, refused, run};

fn skipping(workspace: &Workspace, strategy: LoadStrategy) -> Request {
    let mut request = workspace.request();
    request.strategy = Some(strategy);
    request.on_error = OnError::Skip;
    request.rejects = Some(workspace.path("rejects"));
    request
}

const STRATEGIES: [LoadStrategy; 2] = [LoadStrategy::Pages, LoadStrategy::Arrays];

#[test]
fn a_load_of_nothing_but_rejected_rows_fails_and_keeps_them() {
    for strategy in STRATEGIES {
        let workspace = Workspace::new();
        let mut request = skipping(&workspace, strategy);
        let input = workspace.write("a.csv", "a,b\n1\n2\n");
        let message = refused(&input, &request);
        assert_eq!(
            message,
            format!(
                "{}: none of its 2 rows can be loaded; the first: row 1: it has 1 field instead of 2",
                input.display()
            )
        );
        assert!(!workspace.database().exists());
        let rejects = std::fs::read_to_string(workspace.path("rejects")).unwrap();
        assert_eq!(rejects.lines().count(), 3);
        // The old table stays.
        run(&workspace.write("good.csv", "a,b\n1,2\n"), &workspace.request()).unwrap();
        for mode in [Mode::Replace, Mode::Append] {
            request.mode = mode;
            request.strategy = None;
            refused(&input, &request);
            assert_eq!(workspace.rows("SELECT a FROM t"), ["1"]);
        }
    }
}

#[test]
fn a_line_that_only_opens_an_object_is_skipped_alone() {
    for (strategy, name) in
        STRATEGIES.into_iter().flat_map(|strategy| [(strategy, "a.jsonl"), (strategy, "a.json")])
    {
        let workspace = Workspace::new();
        let input = workspace.write(name, "{\"a\": 1}\n{\n{\"a\": 3}\n{\"a\": 4}\n");
        let summary = run(&input, &skipping(&workspace, strategy)).unwrap();
        assert_eq!((summary.rows, summary.rejected), (3, 1), "{name}");
        assert_eq!(workspace.rows("SELECT a FROM t"), ["1", "3", "4"], "{name}");
    }
}

#[test]
fn no_rows_at_all_are_no_error() {
    let workspace = Workspace::new();
    let summary =
        run(&workspace.write("a.csv", "a,b\n"), &skipping(&workspace, LoadStrategy::Pages))
            .unwrap();
    assert_eq!(summary.rows, 0);
}

#[test]
fn only_so_many_rows_are_skipped() {
    for strategy in STRATEGIES {
        let workspace = Workspace::new();
        let input = workspace.write("a.csv", "a,b\n1,2\n3\n4\n5,6\n7\n8,9\n");
        let mut request = skipping(&workspace, strategy);
        request.max_errors = Some(2);
        let message = refused(&input, &request);
        let expected = "row 5: it has 1 field instead of 2; more than 2 rows cannot be loaded";
        assert!(message.ends_with(expected), "{message}");
        assert!(!workspace.database().exists());
        let rejects = std::fs::read_to_string(workspace.path("rejects")).unwrap();
        assert_eq!(rejects.lines().count(), 4);
        request.max_errors = Some(3);
        assert_eq!(run(&input, &request).unwrap().rejected, 3);
    }
}

#[test]
fn rows_that_the_table_refuses_count_too() {
    let workspace = Workspace::new();
    let mut request = skipping(&workspace, LoadStrategy::Arrays);
    request.table.not_null = vec!["a".to_owned()];
    request.max_errors = Some(1);
    let message = refused(&workspace.write("a.csv", "a,b\n1,2\n,3\n,4\n"), &request);
    assert!(
        message.contains("row 3") && message.contains("NOT NULL constraint failed: t.a"),
        "{message}"
    );
}

/// Rows with these keys, many of them, in a table where keys are unique.
fn with_keys(workspace: &Workspace, keys: impl Iterator<Item = u64>) -> std::path::PathBuf {
    let rows: String = keys.map(|key| format!("{key},k{key}\n")).collect();
    workspace.write("a.csv", format!("a,b\n{rows}"))
}

/// Tables whose keys are unique: by an index, a text, and an integer that may come in any order.
fn unique(workspace: &Workspace) -> [Request; 3] {
    let mut request = workspace.request();
    request.on_error = OnError::Skip;
    request.rejects = Some(workspace.path("bad.csv"));
    request.check = true;
    let mut requests = [request.clone(), request.clone(), request];
    requests[0].table.indexes = vec![Index { columns: vec!["a".to_owned()], unique: true }];
    requests[1].table.primary_key = vec!["b".to_owned()];
    requests[2].table.primary_key = vec!["a".to_owned()];
    requests
}

#[test]
fn rows_are_written_as_pages_unless_one_is_skipped_because_of_its_key() {
    for number in 0..3 {
        let workspace = Workspace::new();
        let request = unique(&workspace)[number].clone();
        let shuffled = (0..5_000).map(|row| row * 7_919 % 5_003);
        let summary = run(&with_keys(&workspace, shuffled), &request).unwrap();
        assert_eq!((summary.rows, summary.why_arrays), (5_000, None), "{number}");
        assert!(!workspace.path("bad.csv").exists());
    }
}

#[test]
fn rows_with_the_key_of_an_earlier_one_are_skipped() {
    for number in 0..3 {
        let workspace = Workspace::new();
        let request = unique(&workspace)[number].clone();
        let shuffled = (0..5_000).map(|row| row * 7_919 % 4_999);
        let summary = run(&with_keys(&workspace, shuffled), &request).unwrap();
        assert_eq!((summary.rows, summary.rejected), (4_999, 1), "{number}");
        assert_eq!(workspace.rows("SELECT count(DISTINCT a), count(*) FROM t"), ["4999|4999"]);
        let bad = std::fs::read_to_string(workspace.path("bad.csv")).unwrap();
        assert_eq!(bad.lines().count(), 2, "{bad}");
        assert!(bad.contains(",5000,") && bad.contains("UNIQUE"), "{bad}");

        let mut more = request.clone();
        more.mode = Mode::Append;
        more.table.indexes.clear();
        more.table.primary_key.clear();
        let summary = run(&with_keys(&workspace, 4_998..9_000), &more).unwrap();
        assert_eq!(summary.rows, 4_001, "{number}");
        assert_eq!(workspace.rows("SELECT count(DISTINCT a), count(*) FROM t"), ["9000|9000"]);
    }
}
