//! Several connections at one database, and one connection at each of many databases.

use rustix::process::{Pid, Signal, kill_process};

use crate::laboratory::{Answer, Laboratory, wait_until};

/// Eight writers and two readers, as threads and as processes.
const CREW: &str = r#"
id = "crew"
question = "Do processes contend as threads do?"
workload = "contention"
metric = "txns_per_s"
base = { journal_mode = "wal", synchronous = "off", busy_timeout = 5_000, transaction = "immediate", writers = 8, readers = 2, stop_after_ms = 100 }
factors = { workers = ["threads", "processes"] }
[design]
kind = "one-at-a-time"
baseline = { workers = "processes" }
stopping = { rounds = 2, max_rounds = 2 }
"#;

/// A crew that works for longer than any test waits, of processes in every variant.
fn endless() -> String {
    CREW.replace("stop_after_ms = 100", "stop_after_ms = 100_000, workers = \"processes\"")
        .replace("workers = [\"threads\", \"processes\"]", "read_rows = [10, 100]")
        .replace("baseline = { workers = \"processes\" }", "baseline = { read_rows = 10 }")
}

#[test]
fn workers_can_be_processes_and_every_operation_is_there_once() {
    let laboratory = Laboratory::new();
    laboratory.write("crew.toml", CREW);
    laboratory.pragmark(&["run", "crew.toml", "--out", "run"]).exits(0);
    let trials = laboratory.trials("run");
    assert!(trials.len() >= 6);
    for trial in &trials {
        // A trial is measured only where its log holds what was acknowledged, once.
        let measured = &trial["outcome"]["measured"];
        assert!(measured["metrics"]["txns_per_s"].as_f64().unwrap() > 0.0, "{trial}");
        let names: Vec<&str> = measured["connections"]
            .as_array()
            .unwrap()
            .iter()
            .map(|connection| connection["connection"].as_str().unwrap())
            .collect();
        assert_eq!(names.len(), 10);
        assert_eq!((names[0], names[9]), ("writer 1", "reader 2"));
    }
    assert!(laboratory.left_over().is_empty());
    wait_until(|| laboratory.processes().is_empty());
}

/// Transactions that read before they write, with a busy timeout that would be long enough.
const TRAP: &str = r#"
id = "trap"
question = "How should a transaction begin that reads before it writes?"
workload = "contention"
metric = "txns_per_s"
base = { journal_mode = "wal", synchronous = "off", busy_timeout = 60_000, work = "read-then-write", hold_us = 500, stop_after_ms = 150 }
factors = { transaction = ["immediate", "deferred", "concurrent"] }
[design]
kind = "one-at-a-time"
baseline = { transaction = "immediate" }
stopping = { rounds = 2, max_rounds = 2 }
[[claims]]
id = "trap-deferred"
says = "deferred transactions are refused at once"
value = { of = { transaction = "deferred" }, metric = "busy_at_once" }
at_least = 1
exact = true
[[claims]]
id = "trap-immediate"
says = "immediate ones are not"
value = { of = { transaction = "immediate" }, metric = "busy_at_once" }
at_most = 0
exact = true
"#;

#[test]
fn the_trap_of_the_deferred_upgrade_is_a_measured_result() {
    let laboratory = Laboratory::new();
    laboratory.write("trap.toml", TRAP);
    laboratory
        .pragmark(&["run", "trap.toml", "--out", "run"])
        .exits(0)
        .says(&["2 confirmed", "transaction=concurrent", "skipped", "lacks BEGIN CONCURRENT"]);
}

#[test]
fn worker_processes_end_with_a_run_that_is_killed() {
    let laboratory = Laboratory::new();
    laboratory.write("crew.toml", &endless());
    let mut child = laboratory.start(&["run", "crew.toml", "--out", "run"]);
    // The trial and at least eight of its ten workers.
    wait_until(|| laboratory.processes().len() > 8);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until(|| laboratory.processes().is_empty());
}

#[test]
fn worker_processes_end_at_ctrl_c_and_nothing_is_left() {
    let laboratory = Laboratory::new();
    laboratory.write("crew.toml", &endless());
    let child = laboratory.start(&["run", "crew.toml", "--out", "run"]);
    wait_until(|| laboratory.processes().len() > 8);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    Answer(child.wait_with_output().unwrap()).exits(130);
    wait_until(|| laboratory.processes().is_empty());
    assert!(laboratory.left_over().is_empty());
}

#[test]
fn worker_processes_end_with_a_trial_that_is_stopped_at_its_limit() {
    let laboratory = Laboratory::new();
    laboratory.write("crew.toml", &endless());
    laboratory
        .pragmark(&["run", "crew.toml", "--out", "run", "--trial-limit", "1"])
        .exits(1)
        .says(&["time limit"]);
    wait_until(|| laboratory.processes().is_empty());
    assert!(laboratory.left_over().is_empty());
}

/// A hundred databases in WAL mode, three file handles each.
const SECURITIES: &str = r#"
id = "securities"
question = "What does it cost to keep a hundred databases open?"
workload = "many-databases"
metric = "open_us"
base = { databases = 100, journal_mode = "wal", synchronous = "off", stop_after_ms = 30 }
factors = { writers = [1, 4] }
[design]
kind = "one-at-a-time"
baseline = { writers = 1 }
stopping = { rounds = 2, max_rounds = 2 }
"#;

#[test]
fn a_soft_limit_of_open_files_is_raised_to_what_is_needed() {
    let laboratory = Laboratory::new();
    laboratory.write("securities.toml", SECURITIES);
    laboratory.pragmark_with_limit("-Sn 100", &["run", "securities.toml", "--out", "run"]).exits(0);
    for trial in laboratory.trials("run") {
        let metrics = &trial["outcome"]["measured"]["metrics"];
        assert_eq!(metrics["files_per_database"], 3.0, "{trial}");
        assert!(metrics["open_files"].as_f64().unwrap() > 300.0);
    }
}

#[test]
fn too_few_open_files_are_told_with_limit_need_and_command_before_anything_is_measured() {
    let laboratory = Laboratory::new();
    laboratory.write("securities.toml", SECURITIES);
    laboratory
        .pragmark_with_limit("-n 200", &["run", "securities.toml", "--out", "run"])
        .exits(3)
        .complains(&[
            "securities cannot run",
            "364 open files are needed",
            "RLIMIT_NOFILE",
            "is 200",
            "sudo prlimit --nofile=364:364 --pid $$",
        ]);
    assert!(!laboratory.path().join("run").exists());
    assert!(laboratory.left_over().is_empty());
}

#[test]
fn a_disk_too_small_for_the_databases_is_told_before_anything_is_measured() {
    let laboratory = Laboratory::new();
    let many = SECURITIES
        .replace("databases = 100", "databases = 1_000_000, history = 1_000_000")
        .replace("stop_after_ms = 30", "connections = \"each-time\"");
    laboratory.write("securities.toml", &many);
    laboratory
        .pragmark(&["run", "securities.toml", "--out", "run"])
        .exits(3)
        .complains(&["the disk is too small", "--dir"]);
    assert!(!laboratory.path().join("run").exists());
}
