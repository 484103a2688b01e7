//! The workload with threads. With processes it needs the program; see the whole-binary stories.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use engine::{Library, OpenFlags, Source};
use lab::level::Level;
use lab::trial::Measured;

use super::super::common::tests::{problem, run, run_counting};
use super::*;
use crate::target::sqlite;

fn contend(over: &[(&str, Level)]) -> Measured {
    let mut settings: BTreeMap<&str, Level> = [
        ("writers", 4.into()),
        ("stop_after_ms", 60.into()),
        ("capacity_ms", 40.into()),
        ("busy_timeout", 5_000.into()),
        ("journal_mode", "wal".into()),
        ("synchronous", "off".into()),
    ]
    .into();
    settings.extend(over.iter().map(|(name, level)| (*name, level.clone())));
    let settings: Vec<(&str, Level)> = settings.into_iter().collect();
    run("contention", &settings).unwrap_or_else(|error| panic!("{over:?}: {error}"))
}

#[test]
fn eight_writers_lose_no_operation_and_double_none_in_any_mode() {
    for journal_mode in ["wal", "delete"] {
        for transaction in ["deferred", "immediate", "exclusive"] {
            for work in ["write", "read-then-write"] {
                let measured = contend(&[
                    ("writers", 8.into()),
                    ("readers", 2.into()),
                    ("journal_mode", journal_mode.into()),
                    ("transaction", transaction.into()),
                    ("work", work.into()),
                ]);
                assert!(measured.metrics["txns_per_s"] > 0.0);
                assert_eq!(measured.metrics["given_up"], 0.0);
                assert_eq!(measured.connections.len(), 10);
            }
        }
    }
}

#[test]
fn what_all_connections_do_to_files_is_counted_together() {
    let measured = run_counting(
        "contention",
        &[
            ("writers", 3.into()),
            ("stop_after_ms", 60.into()),
            ("busy_timeout", 5_000.into()),
            ("journal_mode", "delete".into()),
            ("synchronous", "full".into()),
            ("transaction", "immediate".into()),
        ],
    )
    .unwrap();
    let metrics = &measured.metrics;
    let txns = metrics["txns_per_s"] * metrics["seconds"];
    // A commit with a rollback journal syncs at least three times, whoever does it.
    assert!(metrics["syncs"] >= 3.0 * txns.floor(), "{metrics:?}");
    assert!(metrics["syncs.journal"] > 0.0 && metrics["pages_written"] >= txns.floor());
}

#[test]
fn without_a_timeout_and_retries_operations_are_given_up_and_the_rest_is_right() {
    let measured = contend(&[
        ("busy_timeout", 0.into()),
        ("max_retries", 0.into()),
        ("writers", 8.into()),
        ("hold_us", 200.into()),
        ("transaction", "immediate".into()),
    ]);
    assert!(measured.metrics["given_up"] > 0.0);
    assert_eq!(measured.metrics["given_up"], measured.metrics["busy_errors"]);
    assert_eq!(measured.metrics["retries"], 0.0);
    assert!(!measured.metrics.contains_key("busy_at_once"));
}

#[test]
fn a_deferred_transaction_that_upgrades_is_refused_at_once_and_an_immediate_one_never() {
    for journal_mode in ["wal", "delete"] {
        let refused = |transaction: &str| {
            let measured = contend(&[
                ("work", "read-then-write".into()),
                ("transaction", transaction.into()),
                ("journal_mode", journal_mode.into()),
                ("hold_us", 500.into()),
            ]);
            let metrics = measured.metrics;
            (metrics["busy_at_once"], metrics["busy_snapshots"])
        };
        let (at_once, snapshots) = refused("deferred");
        assert!(at_once >= 1.0, "{journal_mode}");
        assert_eq!(snapshots > 0.0, journal_mode == "wal");
        assert_eq!(refused("immediate"), (0.0, 0.0), "{journal_mode}");
        assert_eq!(refused("exclusive"), (0.0, 0.0), "{journal_mode}");
    }
}

#[test]
fn arrivals_are_offered_at_the_rate_and_served() {
    let measured = contend(&[
        ("arrival", "rate".into()),
        ("writes_per_s", 500.into()),
        ("reads_per_s", 1_000.into()),
        ("readers", 2.into()),
        ("stop_after_ms", 400.into()),
    ]);
    let metrics = &measured.metrics;
    // 600 arrivals vary by 4 %.
    assert!((metrics["offered_per_s"] / 1_500.0 - 1.0).abs() < 0.2);
    let done = (metrics["txns_per_s"] + metrics["queries_per_s"]) * metrics["seconds"];
    assert_eq!(done.round(), (metrics["offered_per_s"] * 0.4).round());
    let latency = measured.latency.as_ref().unwrap();
    assert_eq!(
        latency.count as f64,
        (metrics["txns_per_s"] * metrics["seconds"]).round(),
        "the distribution that is kept is that of writes"
    );
    assert!(metrics["served_percent"] <= 100.0 + 1e-9);
    assert!(metrics.contains_key("p50_us.write") && metrics.contains_key("p50_us.read"));
    assert_eq!(measured.windows.len(), 100);
}

#[test]
fn a_share_of_the_capacity_is_offered() {
    let measured = contend(&[
        ("arrival", "share".into()),
        ("capacity_percent", 50.into()),
        ("readers", 1.into()),
    ]);
    let metrics = &measured.metrics;
    assert!(metrics["txns_per_s.capacity"] > 0.0 && metrics["queries_per_s.capacity"] > 0.0);
    assert!(metrics["offered_per_s"] > 0.0);
}

#[test]
fn an_even_handler_waits_as_the_timeout_does() {
    let measured = contend(&[
        ("waiting", "even-handler".into()),
        ("transaction", "immediate".into()),
        ("hold_us", 300.into()),
    ]);
    assert_eq!(measured.metrics["busy_errors"], 0.0);
    // What is in force is the handler's limit, though the PRAGMA answers 0; else no such variant could be proved.
    let settings = [("busy_timeout".to_owned(), 5_000.into())].into();
    assert!(sqlite::prove(&settings, &measured.connections).is_ok());
}

#[test]
fn what_cannot_be_done_is_said() {
    let said = |over: &[(&str, Level)], words: &[&str]| {
        let problem = problem("contention", over);
        for word in words {
            assert!(problem.contains(word), "{problem}");
        }
    };
    said(&[("transaction", "concurrent".into())], &["BEGIN CONCURRENT"]);
    said(&[("writers", 0.into())], &["nothing to do"]);
    said(&[("arrival", "rate".into())], &["writes_per_s"]);
    said(&[("read_rows", 2_000.into())], &["cannot exceed items"]);
    said(&[("locking_mode", "exclusive".into())], &["locking_mode = exclusive", "one connection"]);
}

#[test]
fn an_operation_lost_doubled_or_never_acknowledged_is_a_wrong_result() {
    let library = Arc::new(Library::load(&Source::Embedded).unwrap());
    let memory = Path::new(":memory:");
    let connection = Connection::open(&library, memory, OpenFlags::default(), None).unwrap();
    connection.execute(CREATE_TABLES).unwrap();
    fill(&connection, 10).unwrap();
    // Writer 1 did 0, 1 and 3 of four; writer 2 did nothing; writer 3 did 0.
    connection
        .execute("INSERT INTO log VALUES (2, 0), (0, 3), (0, 0), (0, 1); UPDATE item SET first = first + 2, last = last + 2 WHERE id IN (1, 7)")
        .unwrap();
    let acknowledged =
        |attempted, given_up: &[u64]| Acknowledged { attempted, given_up: given_up.to_vec() };
    let writers = [acknowledged(4, &[2]), acknowledged(0, &[]), acknowledged(1, &[])];
    check(&connection, &writers).unwrap();
    for (change, word) in [
        ("DELETE FROM log WHERE op = 1", "operation 1 of writer 1"),
        ("DELETE FROM log WHERE writer = 2", "operation 0 of writer 3"),
        ("INSERT INTO log VALUES (0, 1)", "operation 1 of writer 1"),
        ("INSERT INTO log VALUES (0, 2)", "operation 2 of writer 1"),
        ("INSERT INTO log VALUES (2, 1)", "operation 1 of writer 3"),
        ("UPDATE log SET op = 7 WHERE op = 3", "operation 3 of writer 1"),
        ("UPDATE item SET first = first + 1 WHERE id = 1", "`first`"),
        ("UPDATE item SET last = last - 1 WHERE id = 1", "`last`"),
    ] {
        connection.execute("BEGIN").unwrap();
        connection.execute(change).unwrap();
        let problem = check(&connection, &writers).unwrap_err().to_string();
        assert!(problem.contains(word), "{change}: {problem}");
        connection.execute("ROLLBACK").unwrap();
    }
}
