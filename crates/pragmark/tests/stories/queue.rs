//! Queues of tasks in SQLite, in files, on a PostgreSQL server and in memory.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::laboratory::{Answer, Laboratory, wait_until};

/// A few tasks on every target.
pub const QUEUE: &str = r#"
id = "targets"
question = "Where should tasks be kept?"
workload = "queue"
metric = "ops_per_s"
base = { workers = 4, tasks = 5, journal_mode = "wal", synchronous = "off", busy_timeout = 60_000 }
factors = { target = ["sqlite", "files", "memory", "postgres"], work = ["life-cycle", "schedule"] }
[design]
kind = "factorial"
baseline = { target = "sqlite", work = "life-cycle" }
stopping = { rounds = 2, max_rounds = 2 }
[[claims]]
id = "nothing-left"
says = "nothing is left"
value = { of = { target = "sqlite", work = "life-cycle" }, metric = "left_over" }
at_most = 0
exact = true
[[claims]]
id = "elsewhere"
says = "something about a file system that is not here"
value = { of = { target = "sqlite", work = "life-cycle" }, metric = "left_over" }
at_most = 0
exact = true
file_systems = ["apfs"]
"#;

/// A server in every variant, and more work than any test waits for.
fn endless() -> String {
    QUEUE
        .split("[[claims]]")
        .next()
        .unwrap()
        .replace("tasks = 5", "tasks = 1_000_000")
        .replace(
            "target = [\"sqlite\", \"files\", \"memory\", \"postgres\"], work = [\"life-cycle\", \"schedule\"]",
            "target = [\"postgres\"], workers = [1, 2]",
        )
        .replace(
            "target = \"sqlite\", work = \"life-cycle\"",
            "target = \"postgres\", workers = 1",
        )
}

/// A laboratory that the user may enter as whom a server runs.
fn open_laboratory() -> Laboratory {
    let laboratory = Laboratory::new();
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(laboratory.path(), open).unwrap();
    laboratory
}

fn metrics(trial: &Value) -> &Value {
    &trial["outcome"]["measured"]["metrics"]
}

/// Whether this machine has no server that could be started, which is then said.
fn no_server(laboratory: &Laboratory) -> bool {
    laboratory.write("probe.toml", &endless().replace("1_000_000", "1"));
    let answer = laboratory.pragmark(&["run", "probe.toml", "--out", "probe"]);
    let trials = laboratory.trials("probe");
    let why = trials.iter().find_map(|trial| trial["outcome"]["skipped"]["why"].as_str());
    if let Some(why) = why {
        eprintln!("not tested: {why}");
        assert!(why.contains("install") || why.contains("root"), "{why}");
        return true;
    }
    answer.exits(0);
    false
}

/// Processes whose command line names the laboratory: the server and its watch.
fn servers(laboratory: &Laboratory) -> Vec<PathBuf> {
    let works = laboratory.path().join("pragmark-work");
    running(&works.to_string_lossy())
}

/// Processes in whose command line this stands.
pub fn running(words: &str) -> Vec<PathBuf> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .map(|entry| entry.path())
        .filter(|process| {
            let line = std::fs::read(process.join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(words)
        })
        .collect()
}

/// The lock file of the server that runs for the laboratory.
fn lock_file(laboratory: &Laboratory) -> Option<PathBuf> {
    let works = laboratory.left_over();
    let files = works.iter().map(|work| work.join("cluster/postmaster.pid"));
    files.into_iter().find(|file| file.exists())
}

fn sessions(lock_file: &Path) -> usize {
    let text = std::fs::read_to_string(lock_file).unwrap_or_default();
    let Some(server) = text.lines().next() else {
        return 0;
    };
    let children = format!("/proc/{server}/task/{server}/children");
    let children = std::fs::read_to_string(children).unwrap_or_default();
    let works = |pid: &&str| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains("[local]") && line.contains("pragmark")
    };
    children.split_whitespace().filter(works).count()
}

/// Starts the endless run, and waits until its trial is at work on the server.
fn at_work(laboratory: &Laboratory) -> Child {
    laboratory.write("endless.toml", &endless());
    let child = laboratory.start(&["run", "endless.toml", "--out", "run"]);
    wait_until(|| lock_file(laboratory).is_some_and(|file| sessions(&file) >= 2));
    child
}

#[test]
fn every_target_is_measured_verified_and_told_by_what_survives() {
    let laboratory = open_laboratory();
    let skips = no_server(&laboratory);
    laboratory.write("targets.toml", QUEUE);
    let answer = laboratory
        .pragmark(&["run", "targets.toml", "--out", "run"])
        .exits(0)
        .says(&["1 confirmed", "1 not applicable", "outlives the process"]);
    for trial in laboratory.trials("run") {
        let postgres = trial["variant"].as_str().unwrap().contains("postgres");
        if postgres && skips {
            continue;
        }
        let metrics = metrics(&trial);
        assert!(metrics["ops_per_s"].as_f64().unwrap() > 0.0, "{trial}");
        // Memory has nothing that could be left.
        if !trial["variant"].as_str().unwrap().contains("memory") {
            assert_eq!(metrics["left_over"], 0.0, "{trial}");
        }
        let survives = &trial["outcome"]["measured"]["durability"];
        if postgres {
            assert_eq!(survives, "every", "{trial}");
            let tables = trial["outcome"]["measured"]["tables"].to_string();
            assert!(tables.contains("[\"fsync\",\"on\"]"), "{tables}");
        }
    }
    let page = laboratory.read("run/report.html");
    assert!(page.contains("By the durability"), "{}", answer.stdout());
    let other = "postgresql:///x?host=%2Fno%2Fsuch%2Fplace&user=y";
    laboratory
        .pragmark(&["run", "--resume", "run", "--postgres", other])
        .exits(2)
        .complains(&["servers of its own", "leave --postgres out"]);
    laboratory
        .pragmark(&["report", "run", "--format", "markdown"])
        .exits(0)
        .says(&["| what survives | best |", "nothing outlives the process"]);
    assert!(laboratory.left_over().is_empty());
    wait_until(|| servers(&laboratory).is_empty());
}

#[test]
fn a_server_ends_at_ctrl_c_and_nothing_is_left() {
    let laboratory = open_laboratory();
    if no_server(&laboratory) {
        return;
    }
    let child = at_work(&laboratory);
    assert!(!servers(&laboratory).is_empty());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    Answer(child.wait_with_output().unwrap()).exits(130);
    wait_until(|| servers(&laboratory).is_empty());
    assert!(laboratory.left_over().is_empty());
}

#[test]
fn a_server_ends_with_a_run_that_is_killed() {
    let laboratory = open_laboratory();
    if no_server(&laboratory) {
        return;
    }
    let mut child = at_work(&laboratory);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until(|| servers(&laboratory).is_empty());
}

#[test]
fn a_server_that_dies_fails_the_trial_with_its_last_words_and_the_next_gets_another() {
    let laboratory = open_laboratory();
    if no_server(&laboratory) {
        return;
    }
    let child = at_work(&laboratory);
    let text = std::fs::read_to_string(lock_file(&laboratory).unwrap()).unwrap();
    let server: i32 = text.lines().next().unwrap().parse().unwrap();
    kill_process(Pid::from_raw(server).unwrap(), Signal::QUIT).unwrap();
    wait_until(|| !laboratory.trials("run").is_empty());
    let failed = laboratory.trials("run").remove(0);
    let why = failed["outcome"]["failed"]["why"].as_str().unwrap();
    assert!(why.contains("the PostgreSQL server has ended"), "{why}");
    assert!(why.contains("immediate shutdown"), "{why}");
    // The next trial is at work on a new server.
    wait_until(|| lock_file(&laboratory).is_some_and(|file| sessions(&file) >= 2));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    Answer(child.wait_with_output().unwrap()).exits(130);
    assert!(laboratory.left_over().is_empty());
}

#[test]
fn an_address_without_a_server_fails_the_trials_with_the_cause() {
    let laboratory = Laboratory::new();
    laboratory.write("endless.toml", &endless());
    let nowhere = "postgresql:///x?host=%2Fno%2Fsuch%2Fplace&user=y&password=secret";
    let answer = laboratory
        .pragmark(&["run", "endless.toml", "--out", "run", "--postgres", nowhere])
        .exits(1)
        .complains(&["may have left the schema pragmark_trial"]);
    for word in ["secret", "such%2Fplace"] {
        assert!(!answer.stderr().contains(word), "{}", answer.stderr());
        assert!(!laboratory.read("run/run.json").contains(word), "{word}");
    }
    let trial = laboratory.trials("run").remove(0);
    let why = trial["outcome"]["failed"]["why"].as_str().unwrap();
    assert!(why.contains("cannot connect to the server"), "{why}");
    laboratory
        .pragmark(&["run", "--resume", "run"])
        .exits(2)
        .complains(&["given by --postgres", "--postgres URI"]);
    assert!(laboratory.left_over().is_empty());
}
