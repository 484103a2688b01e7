//! The workload with every target but a server, which the whole program starts.

use std::collections::BTreeMap;

use lab::durability::Durability;
use lab::level::Level;
use lab::trial::Measured;

use super::super::common::tests::{problem, run};
use super::*;
use crate::catalogue;

/// Tasks of each worker: some of the targets wait for the disk thirteen times for each.
const TASKS: i64 = 4;

fn queue(over: &[(&str, Level)]) -> Measured {
    let mut settings: Vec<(&str, Level)> = vec![("tasks", TASKS.into())];
    settings.extend(over.iter().cloned());
    run("queue", &settings).unwrap_or_else(|error| panic!("{over:?}: {error}"))
}

/// Every target that needs nothing but a directory, with the settings that make it.
fn targets() -> Vec<Vec<(&'static str, Level)>> {
    let wal = |synchronous: &str| {
        vec![
            ("target", "sqlite".into()),
            ("journal_mode", "wal".into()),
            ("synchronous", synchronous.into()),
            ("busy_timeout", 60_000.into()),
        ]
    };
    let with = |mut settings: Vec<(&'static str, Level)>, more: &[(&'static str, Level)]| {
        settings.extend(more.iter().cloned());
        settings
    };
    let each_time = ("statements", Level::from("each-time"));
    let files = |writing: &str| vec![("target", "files".into()), ("writing", writing.into())];
    vec![
        wal("off"),
        wal("full"),
        with(wal("off"), std::slice::from_ref(&each_time)),
        with(wal("off"), &[each_time.clone(), ("connections", "shared".into())]),
        with(wal("off"), &[each_time, ("connections", "pool".into())]),
        files("truncate"),
        files("rename"),
        files("sync"),
        files("sync-directory"),
        vec![("target", "memory".into())],
    ]
}

#[test]
fn no_work_loses_a_task_on_any_target_by_one_worker_or_by_eight() {
    for target in targets() {
        for (work, stored) in
            [("insert", 3), ("life-cycle", 3), ("schedule", 0), ("get", 30), ("list", 30)]
        {
            for workers in [1, 8] {
                let settings = [
                    target.as_slice(),
                    &[
                        ("work", work.into()),
                        ("stored", stored.into()),
                        ("workers", workers.into()),
                    ],
                ]
                .concat();
                let measured = queue(&settings);
                let metrics = &measured.metrics;
                let operations = metrics["ops_per_s"] * metrics["seconds"];
                let each = match work {
                    "life-cycle" => 13,
                    "schedule" => 2,
                    _ => 1,
                };
                assert_eq!(operations.round() as i64, workers * TASKS * each, "{settings:?}");
                assert_left_over(metrics, &settings);
                assert_eq!(metrics["busy_errors"], 0.0, "{settings:?}");
                assert!(measured.durability.is_some());
                assert_eq!(measured.windows.len(), 100);
            }
        }
    }
}

/// Nothing is left, and memory has nothing that could be.
fn assert_left_over(metrics: &BTreeMap<String, f64>, settings: &[(&str, Level)]) {
    let in_memory = settings.contains(&("target", "memory".into()));
    let nothing = (!in_memory).then_some(&0.0);
    assert_eq!(metrics.get("left_over"), nothing, "{settings:?}");
}

#[test]
fn a_hundred_workers_come_to_their_end() {
    for target in [
        vec![("target", Level::from("files"))],
        vec![
            ("target", "sqlite".into()),
            ("journal_mode", "wal".into()),
            ("synchronous", "off".into()),
            ("busy_timeout", 60_000.into()),
        ],
    ] {
        let settings =
            [target.as_slice(), &[("workers", 100.into()), ("tasks", 2.into())]].concat();
        assert_eq!(queue(&settings).metrics["busy_errors"], 0.0);
    }
}

#[test]
fn statements_are_grouped_in_transactions_and_the_rest_makes_the_last() {
    for grouped in [2_u64, 13] {
        let measured = queue(&[
            ("statements_per_txn", (grouped as i64).into()),
            ("synchronous", "off".into()),
            ("journal_mode", "wal".into()),
        ]);
        let metrics = &measured.metrics;
        let latency = measured.latency.as_ref().unwrap();
        let transactions = TASKS as u64 * 13_u64.div_ceil(grouped);
        assert_eq!(latency.count, transactions);
        assert!(metrics.contains_key("p50_us.transaction"));
        assert_eq!((metrics["ops_per_s"] * metrics["seconds"]).round(), (TASKS * 13) as f64);
    }
}

#[test]
fn a_payload_is_kept_and_outputs_can_be_added_up() {
    for target in ["files", "sqlite", "memory"] {
        let large = queue(&[
            ("target", target.into()),
            ("payload_bytes", 100_000.into()),
            ("work", "insert".into()),
            ("tasks", 3.into()),
            ("synchronous", "off".into()),
        ]);
        assert_left_over(&large.metrics, &[("target", target.into())]);
        queue(&[
            ("target", target.into()),
            ("output", "append".into()),
            ("synchronous", "off".into()),
        ]);
    }
}

#[test]
fn repetitions_tell_whether_the_work_settles() {
    let measured =
        queue(&[("target", "memory".into()), ("repeats", 6.into()), ("work", "insert".into())]);
    assert!(measured.metrics["settled_percent"] > 0.0);
    assert_eq!(measured.latency.unwrap().count, 6 * TASKS as u64);
    let once = queue(&[("target", "memory".into())]);
    assert!(!once.metrics.contains_key("settled_percent"));
}

#[test]
fn what_is_loaded_before_the_clock_starts_is_not_counted() {
    let measured = queue(&[
        ("target", "files".into()),
        ("writing", "sync-directory".into()),
        ("work", "schedule".into()),
        ("workers", 2.into()),
        ("repeats", 3.into()),
    ]);
    let tasks = (2 * TASKS * 3) as f64;
    assert_eq!(measured.metrics["writes"], tasks);
    assert_eq!(measured.metrics["deletes"], tasks);
    // A claim syncs the file and its directory, a deletion the directory.
    assert_eq!(measured.metrics["syncs"], 3.0 * tasks);
}

#[test]
fn no_more_is_needed_of_the_disk_than_the_tasks_that_are_there_at_a_time() {
    let needed = |target: &str, work: &str, stored: i64| {
        let catalogue = catalogue();
        let mut settings = catalogue.defaults(catalogue.workload("queue").unwrap());
        let over: [(&str, Level); 7] = [
            ("target", target.into()),
            ("work", work.into()),
            ("stored", stored.into()),
            ("workers", 10.into()),
            ("tasks", 8.into()),
            ("repeats", 3.into()),
            ("payload_bytes", 100.into()),
        ];
        settings.extend(over.map(|(name, level)| (name.to_owned(), level)));
        let needs = crate::needs("queue", &settings);
        (needs.files, needs.disk_bytes)
    };
    // A temporary file for each of ten workers.
    assert_eq!(needed("files", "get", 50), (50 + 10, 5_000));
    assert_eq!(needed("files", "list", 50), (50 + 10, 5_000));
    assert_eq!(needed("files", "life-cycle", 50), (50 + 10 + 10, 5_000));
    assert_eq!(needed("files", "schedule", 0), (80 + 20 + 10, 10_000));
    assert_eq!(needed("files", "insert", 50), (50 + 240 + 10, 29_000));
    assert_eq!(needed("memory", "insert", 50), (50, 5_000));
    assert_eq!(needed("memory", "schedule", 0), (20, 2_000));
    assert_eq!(needed("sqlite", "schedule", 0), (4, 10_000));
}

#[test]
fn a_pool_says_how_many_connections_it_opened() {
    let pool = queue(&[
        ("connections", "pool".into()),
        ("statements", "each-time".into()),
        ("journal_mode", "wal".into()),
        ("synchronous", "off".into()),
        ("busy_timeout", 60_000.into()),
        ("workers", 8.into()),
    ]);
    assert!(pool.metrics["connections_opened"] >= 1.0);
    assert!(pool.metrics["opening_percent"] > 0.0);
}

#[test]
fn what_survives_follows_what_is_waited_for() {
    let class = |settings: &[(&str, Level)]| queue(settings).durability.unwrap();
    let files = |writing: &str| [("target", Level::from("files")), ("writing", writing.into())];
    assert_eq!(class(&files("truncate")), Durability::Torn);
    assert_eq!(class(&files("rename")), Durability::Process);
    assert_eq!(class(&files("sync")), Durability::Recent);
    assert_eq!(class(&files("sync-directory")), Durability::Every);
    assert_eq!(class(&[("target", "memory".into())]), Durability::Nothing);
    let wal = |synchronous: &str| {
        [("journal_mode", Level::from("wal")), ("synchronous", synchronous.into())]
    };
    assert_eq!(class(&wal("full")), Durability::Every);
    assert_eq!(class(&wal("normal")), Durability::Recent);
}

#[test]
fn what_cannot_be_done_is_said() {
    let said = |over: &[(&str, Level)], words: &str| {
        let problem = problem("queue", over);
        assert!(problem.contains(words), "{problem}");
    };
    said(&[("target", "files".into()), ("statements_per_txn", 13.into())], "no transactions");
    said(&[("connections", "pool".into())], "statements = each-time");
    said(&[("work", "get".into())], "nothing to read");
    said(&[("work", "schedule".into()), ("stored", 5.into())], "stored must be 0");
    said(&[("work", "insert".into()), ("statements_per_txn", 5.into())], "life-cycle");
    said(
        &[
            ("transaction", "concurrent".into()),
            ("statements_per_txn", 4.into()),
            ("workers", 2.into()),
        ],
        "requires one worker",
    );
    said(&[("target", "postgres".into())], "no PostgreSQL server");
}

#[test]
fn what_was_written_with_tasks_is_left_over_and_tasks_that_stay_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let files = directory.path().join("tasks");
    fs::create_dir(&files).unwrap();
    let left_over = |target| {
        let expected =
            Expected { target, stored: Vec::new(), added: Vec::new(), due: BTreeSet::new() };
        expected.left_over(directory.path(), &files).unwrap()
    };
    fs::write(directory.path().join(DATABASE), "").unwrap();
    fs::write(directory.path().join("test.db-journal"), "").unwrap();
    // The directory of files is none of SQLite's.
    assert_eq!(left_over(Target::Sqlite), Some(2));
    assert_eq!(left_over(Target::Files), Some(0));
    fs::write(files.join("1.tmp"), "").unwrap();
    assert_eq!(left_over(Target::Files), Some(1));
    assert_eq!(left_over(Target::Memory), None);
}
