//! The workload as a whole, and what it must refuse.

use std::collections::BTreeMap;

use lab::level::Level;
use lab::needs::Needs;

use super::super::common::tests::{memory_database, problem, run, run_counting};
use super::session::sums;
use super::*;
use crate::catalogue;

fn securities(over: &[(&str, Level)]) -> Measured {
    let mut settings: BTreeMap<&str, Level> = [
        ("databases", 30.into()),
        ("writers", 4.into()),
        ("history", 50.into()),
        ("chart_rows", 20.into()),
        ("stop_after_ms", 40.into()),
        ("synchronous", "off".into()),
        ("busy_timeout", 5_000.into()),
    ]
    .into();
    settings.extend(over.iter().map(|(name, level)| (*name, level.clone())));
    let settings: Vec<(&str, Level)> = settings.into_iter().collect();
    run("many-databases", &settings).unwrap_or_else(|error| panic!("{over:?}: {error}"))
}

#[test]
fn every_way_of_sharing_databases_keeps_every_quote() {
    for journal_mode in ["wal", "delete"] {
        for connections in ["kept", "each-time"] {
            for (writers, readers) in [(0, 0), (8, 0), (3, 2), (100, 1)] {
                let measured = securities(&[
                    ("journal_mode", journal_mode.into()),
                    ("connections", connections.into()),
                    ("writers", writers.into()),
                    ("chart_readers", readers.into()),
                ]);
                let metrics = &measured.metrics;
                assert!(metrics["txns_per_s"] > 0.0);
                let rows_per_txn = metrics["rows_per_s"] / metrics["txns_per_s"];
                assert!((rows_per_txn - 10.0).abs() < 1e-9, "{rows_per_txn}");
                assert_eq!(metrics.contains_key("queries_per_s"), readers > 0);
                assert!(metrics["open_us"] > 0.0 && metrics["close_us"] > 0.0);
                assert_eq!(
                    metrics["busy_errors"], 0.0,
                    "{journal_mode} {connections} {writers} {readers}"
                );
                let connections = 1 + usize::from(readers > 0);
                assert_eq!(measured.connections.len(), connections);
                let found = &measured.connections[0].pragmas;
                assert_eq!(found["journal_mode"], journal_mode);
            }
        }
    }
}

#[test]
fn a_warm_up_writes_to_every_database_ahead_and_is_not_counted() {
    for warm_up in ["yes", "no"] {
        let measured = securities(&[
            ("warm_up", warm_up.into()),
            ("databases", 60.into()),
            ("rows_per_txn", 300.into()),
            ("stop_after_ms", 30.into()),
        ]);
        let metrics = &measured.metrics;
        let timed = metrics["txns_per_s"] * metrics["seconds"];
        let reported = measured.latency.as_ref().map_or(0, |latency| latency.count);
        assert_eq!(timed.round(), reported as f64, "{warm_up}");
        // Header and schema, and 350 rows of more than 30 bytes.
        if warm_up == "yes" {
            assert!(metrics["db_bytes"] >= 60.0 * 4.0 * 4_096.0);
        }
    }
}

#[test]
fn databases_can_be_opened_and_closed_without_work() {
    let measured = securities(&[("stop_after_ms", 0.into()), ("databases", 100.into())]);
    let metrics = &measured.metrics;
    assert!(metrics["seconds.open"] > 0.0 && metrics["p50_us.open"] > 0.0);
    assert_eq!(measured.latency.as_ref().unwrap().count, 100);
    assert!(!metrics.contains_key("txns_per_s"));
    assert!(metrics["db_bytes"] >= 100.0 * 8_192.0);
}

#[test]
fn what_the_files_see_is_counted_during_the_work_or_else_the_opening_and_closing() {
    let counted = |over: &[(&str, Level)]| {
        let mut settings = vec![
            ("databases", 20.into()),
            ("journal_mode", "delete".into()),
            ("synchronous", "full".into()),
        ];
        settings.extend_from_slice(over);
        run_counting("many-databases", &settings).unwrap().metrics
    };
    let work = counted(&[("stop_after_ms", 60.into()), ("warm_up", "yes".into())]);
    let txns = (work["txns_per_s"] * work["seconds"]).round();
    // A rollback journal takes at least three syncs a commit; that of a warm-up, which begins before
    // the clock, is not among them.
    let each = work["syncs"] / txns;
    assert!((3.0..6.0).contains(&each), "{each} syncs a transaction");
    let opened = counted(&[("stop_after_ms", 0.into())]);
    assert_eq!(opened["syncs"], 0.0);
    assert!(opened["bytes_read"] > 0.0);
}

#[test]
fn what_does_not_go_together_is_said() {
    let said = |over: &[(&str, Level)], word: &str| {
        let problem = problem("many-databases", over);
        assert!(problem.contains(word), "{problem}");
    };
    said(&[("chart_rows", 1_000.into())], "history");
    said(
        &[("stop_after_ms", 0.into()), ("connections", "each-time".into())],
        "stop_after_ms cannot be 0",
    );
    said(&[("locking_mode", "exclusive".into()), ("chart_readers", 1.into())], "locking_mode");
}

#[test]
fn more_files_than_the_system_allows_cannot_run_and_the_limit_is_named() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    if limit.maximum.is_none_or(|maximum| maximum > 1_000_000) {
        return;
    }
    let why = problem("many-databases", &[("databases", 1_000_000.into())]);
    assert!(why.contains("RLIMIT_NOFILE") && why.contains("prlimit"), "{why}");
}

#[test]
fn a_lost_or_changed_quote_is_noticed() {
    let connection = memory_database(CREATE_TABLE);
    connection
        .execute("INSERT INTO quotes(ts, volume) VALUES (1, 100), (5, 200), (9, 300)")
        .unwrap();
    let whole = sums(&connection).unwrap();
    for change in [
        "DELETE FROM quotes WHERE ts = 5",
        "UPDATE quotes SET volume = 201 WHERE ts = 5",
        "UPDATE quotes SET ts = 10 WHERE ts = 9",
    ] {
        connection.execute("BEGIN").unwrap();
        connection.execute(change).unwrap();
        assert_ne!(sums(&connection).unwrap(), whole, "{change}");
        connection.execute("ROLLBACK").unwrap();
    }
}

fn needed(over: &[(&str, Level)]) -> Needs {
    let catalogue = catalogue();
    let mut settings = catalogue.defaults(catalogue.workload("many-databases").unwrap());
    for (name, level) in over {
        settings.insert((*name).to_owned(), level.clone());
    }
    crate::needs("many-databases", &settings)
}

#[test]
fn a_database_in_wal_mode_needs_three_files_and_one_mapping() {
    let wal = ("journal_mode", Level::from("wal"));
    let few = needed(&[("databases", 100.into()), wal.clone()]);
    let many = needed(&[("databases", 55_000.into()), wal.clone()]);
    assert_eq!(many.open_files - few.open_files, 3 * 54_900);
    assert_eq!(many.mappings - few.mappings, 54_900);
    assert!(many.disk_bytes > 55_000 * 32_768);
    let charts = needed(&[("databases", 100.into()), wal, ("chart_readers", 2.into())]);
    assert_eq!(charts.open_files - few.open_files, 200);
    assert_eq!(charts.mappings - few.mappings, 2 * 2);
}

#[test]
fn connections_that_are_not_kept_need_files_for_the_threads_alone() {
    let each_time = ("connections", Level::from("each-time"));
    let few = needed(&[("databases", 100.into()), each_time.clone()]);
    let many = needed(&[("databases", 55_000.into()), each_time]);
    assert_eq!(few.open_files, many.open_files);
}

#[test]
fn a_thread_for_each_database_is_counted() {
    let needs = needed(&[("databases", 3_000.into()), ("writers", 0.into())]);
    assert_eq!(needs.threads, 3_001);
}
