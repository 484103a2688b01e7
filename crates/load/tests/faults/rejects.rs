//! How many rows may be skipped.

use pragmark_load::{LoadStrategy, Mode, OnError, Request, StrategyChoice};

use crate::{Desk, refused, run};

fn skipping(desk: &Desk, strategy: LoadStrategy) -> Request {
    let mut request = desk.request();
    request.strategy = StrategyChoice::Only(strategy);
    request.on_error = OnError::Skip;
    request.rejects = Some(desk.path("rejects"));
    request
}

const STRATEGIES: [LoadStrategy; 2] = [LoadStrategy::Pages, LoadStrategy::Arrays];

#[test]
fn a_load_of_nothing_but_rejected_rows_fails_and_keeps_them() {
    for strategy in STRATEGIES {
        let desk = Desk::new();
        let mut request = skipping(&desk, strategy);
        let input = desk.write("a.csv", "a,b\n1\n2\n");
        let message = refused(&input, &request);
        assert_eq!(
            message,
            format!(
                "{}: none of its 2 rows can be loaded; the first: row 1: it has 1 field instead of 2",
                input.display()
            )
        );
        assert!(!desk.database().exists());
        let rejects = std::fs::read_to_string(desk.path("rejects")).unwrap();
        assert_eq!(rejects.lines().count(), 3);
        // The old table stays.
        run(&desk.write("good.csv", "a,b\n1,2\n"), &desk.request()).unwrap();
        for mode in [Mode::Replace, Mode::Append] {
            request.mode = mode;
            request.strategy = StrategyChoice::Auto;
            refused(&input, &request);
            assert_eq!(desk.rows("SELECT a FROM t"), ["1"]);
        }
    }
}

#[test]
fn no_rows_at_all_are_no_error() {
    let desk = Desk::new();
    let summary = run(
        &desk.write("a.csv", "a,b\n"),
        &skipping(&desk, LoadStrategy::Pages),
    )
    .unwrap();
    assert_eq!(summary.rows, 0);
}

#[test]
fn only_so_many_rows_are_skipped() {
    for strategy in STRATEGIES {
        let desk = Desk::new();
        let input = desk.write("a.csv", "a,b\n1,2\n3\n4\n5,6\n7\n8,9\n");
        let mut request = skipping(&desk, strategy);
        request.max_errors = Some(2);
        let message = refused(&input, &request);
        let expected = "row 5: it has 1 field instead of 2; more than 2 rows cannot be loaded";
        assert!(message.ends_with(expected), "{message}");
        assert!(!desk.database().exists());
        let rejects = std::fs::read_to_string(desk.path("rejects")).unwrap();
        assert_eq!(rejects.lines().count(), 4);
        request.max_errors = Some(3);
        assert_eq!(run(&input, &request).unwrap().rejected, 3);
    }
}

#[test]
fn rows_that_the_table_refuses_count_too() {
    let desk = Desk::new();
    let mut request = skipping(&desk, LoadStrategy::Arrays);
    request.table.not_null = vec!["a".to_owned()];
    request.max_errors = Some(1);
    let message = refused(&desk.write("a.csv", "a,b\n1,2\n,3\n,4\n"), &request);
    assert!(
        message.contains("row 3") && message.contains("NOT NULL constraint failed: t.a"),
        "{message}"
    );
}
