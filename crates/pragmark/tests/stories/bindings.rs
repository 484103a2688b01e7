//! Work done through bindings of other languages.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::laboratory::Laboratory;

/// Two bindings beside the native one, a few milliseconds each.
const SMALL: &str = r#"
id = "small-bindings"
question = "What does a call cost?"
workload = "binding-basics"
metric = "seconds"
base = { rows = 100, reads = 100, scans = 2, tasks = 3, journal_mode = "wal", synchronous = "normal" }
factors = { driver = ["native", "python-sqlite3", "go-modernc"] }
[design]
kind = "one-at-a-time"
baseline = { driver = "native" }
stopping = { rounds = 3, max_rounds = 3 }
"#;

/// A folder of drivers in which both are shell scripts.
fn scripts(laboratory: &Laboratory, script: &str) {
    let folder = laboratory.path().join("drivers/shell");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("driver.toml"),
        r#"
needs = "install a shell"

[[driver]]
name      = "python-sqlite3"
about     = "a script in its place"
library   = "carried"
workloads = ["binding-basics"]
run       = ["sh", "{home}/driver.sh"]

[[driver]]
name      = "go-modernc"
about     = "a driver whose language is missing"
library   = "carried"
workloads = ["binding-basics"]
run       = ["no-such-language"]
"#,
    )
    .unwrap();
    std::fs::write(folder.join("driver.sh"), script).unwrap();
}

const ARGUMENTS: [&str; 6] = ["run", "small.toml", "--out", "run", "--drivers", "drivers"];

fn outcomes(laboratory: &Laboratory, driver: &str) -> Vec<serde_json::Value> {
    let variant = format!("driver={driver}");
    laboratory
        .trials("run")
        .iter()
        .filter(|trial| trial["variant"] == variant.as_str())
        .map(|trial| trial["outcome"].clone())
        .collect()
}

#[test]
fn a_missing_driver_is_skipped_with_what_to_install_and_one_that_prints_junk_fails_with_its_words()
{
    let laboratory = Laboratory::new();
    laboratory.write("small.toml", SMALL);
    scripts(&laboratory, "echo 'Traceback of a script'; echo 'no module' >&2");
    laboratory.pragmark(&ARGUMENTS).exits(1);
    for outcome in outcomes(&laboratory, "go-modernc") {
        let why = outcome["skipped"]["why"].as_str().unwrap();
        if !why.contains("count") {
            assert!(why.contains("no-such-language") && why.contains("install a shell"), "{why}");
        }
    }
    let failed: Vec<_> = outcomes(&laboratory, "python-sqlite3")
        .into_iter()
        .filter(|outcome| !outcome["failed"].is_null())
        .collect();
    assert!(!failed.is_empty());
    for outcome in failed {
        let why = outcome["failed"]["why"].as_str().unwrap();
        assert!(why.contains("Traceback of a script"), "{why}");
    }
    assert!(laboratory.left_over().is_empty());
}

#[test]
fn a_run_of_which_every_trial_is_skipped_says_why_and_is_no_success() {
    let laboratory = Laboratory::new();
    let other = SMALL
        .replace("[\"native\", \"python-sqlite3\", \"go-modernc\"]", "[\"go-modernc\"]")
        .replace("{ driver = \"native\" }", "{ driver = \"go-modernc\" }");
    laboratory.write("small.toml", &other);
    scripts(&laboratory, "");
    laboratory
        .pragmark(&ARGUMENTS)
        .exits(3)
        .complains(&["nothing was measured", "install a shell"]);
}

#[test]
fn a_driver_that_dies_without_a_word_on_standard_output_fails_with_its_last_words() {
    let laboratory = Laboratory::new();
    laboratory.write("small.toml", SMALL);
    scripts(&laboratory, "echo 'no module named apsw' >&2; exit 3");
    laboratory.pragmark(&ARGUMENTS).exits(1);
    let told = outcomes(&laboratory, "python-sqlite3").iter().any(|outcome| {
        let why = outcome["failed"]["why"].as_str().unwrap_or_default();
        why.contains("no module named apsw") && why.contains("exit code 3")
    });
    assert!(told);
}

#[test]
fn a_driver_that_did_not_apply_a_setting_fails() {
    let laboratory = Laboratory::new();
    laboratory.write("small.toml", SMALL);
    scripts(
        &laboratory,
        r#"cat >/dev/null; echo '{"outcome":{"measured":{"metrics":{"seconds":1.0},"engine":{"version":"3","source_id":"x"},"connections":[{"connection":"main","pragmas":{"journal_mode":"delete","synchronous":"1"}}]}}}'"#,
    );
    laboratory.pragmark(&ARGUMENTS).exits(1);
    let told = outcomes(&laboratory, "python-sqlite3").iter().any(|outcome| {
        let why = outcome["failed"]["why"].as_str().unwrap_or_default();
        why.contains("journal_mode is delete")
    });
    assert!(told);
}

/// The manifest of a driver that no file of pragmark knows.
const OWN: &str = r#"
needs = "a shell, which every system has"

[[tool]]
name    = "Shell"
command = "sh"

[[driver]]
name      = "shell-made-up"
about     = "a driver of the user's own"
library   = "carried"
workloads = ["binding-basics"]
run       = ["sh", "{home}/driver.sh"]
"#;

/// Its program: it answers as the protocol requires and does nothing.
const OWN_PROGRAM: &str = r#"
case "$1" in
describe)
  echo '{"name":"Shell 1.0","version":"3.40.1","source_id":"x","compile_options":[],"defaults":{}}' ;;
*)
  cat >/dev/null
  echo '{"phase":"insert-single"}'
  echo '{"outcome":{"measured":{"metrics":{"seconds":0.5},"engine":{"version":"3.40.1","source_id":"x"},"connections":[{"connection":"main","pragmas":{"journal_mode":"wal","synchronous":"1"}}]}}}' ;;
esac
"#;

#[test]
fn a_driver_of_one_s_own_is_listed_as_ready_and_measured_by_its_manifest_alone() {
    let laboratory = Laboratory::new();
    let folder = laboratory.path().join("mine/shell");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("driver.toml"), OWN).unwrap();
    std::fs::write(folder.join("driver.sh"), OWN_PROGRAM).unwrap();
    let own = SMALL.replace(r#""python-sqlite3", "go-modernc""#, r#""shell-made-up""#);
    laboratory.write("small.toml", &own);
    let mine = [("PRAGMARK_DRIVERS", "mine")];
    let with_mine = |arguments: &[&str]| laboratory.pragmark_with_variables(&mine, arguments);
    let run = ["run", "small.toml", "--out", "run"];

    laboratory.pragmark(&run).exits(2).complains(&["one of native", "shell-made-up"]);
    with_mine(&["driver", "list"])
        .exits(0)
        .says(&["shell-made-up: Shell 1.0, includes SQLite 3.40.1", "python-apsw: not ready"]);
    with_mine(&["list", "pragmas"]).exits(0).says(&["shell-made-up"]);
    with_mine(&run).exits(0).says(&["shell-made-up"]);
    let measured = outcomes(&laboratory, "shell-made-up")
        .iter()
        .filter(|outcome| outcome["measured"]["metrics"]["seconds"] == 0.5)
        .count();
    // A block that other work disturbed is measured again.
    assert!(measured >= 3, "{measured}");

    // A directory for one run only does the same.
    std::fs::remove_dir_all(laboratory.path().join("run")).unwrap();
    laboratory.pragmark(&[&run[..], &["--drivers", "mine"]].concat()).exits(0);
    assert!(!outcomes(&laboratory, "shell-made-up").is_empty());
}

/// Whether this machine has a Python whose sqlite3 loads the library that is put in front of it.
fn has_python() -> bool {
    let found = std::process::Command::new("python3").args(["-c", "import sqlite3"]).output();
    cfg!(target_os = "linux") && found.is_ok_and(|output| output.status.success())
}

#[test]
fn python_does_the_same_work_with_the_engine_under_test_and_its_cost_is_told() {
    if !has_python() {
        testing::skip("this machine has no Python with sqlite3");
        return;
    }
    let laboratory = Laboratory::new();
    let python = SMALL.replace(", \"go-modernc\"", "");
    laboratory.write("small.toml", &python);
    laboratory.pragmark(&["run", "small.toml", "--out", "run"]).exits(0).says(&[
        "What a call through each binding costs",
        "sqlite3",
        "point-read",
    ]);
    let measured = |driver: &str| {
        let outcomes = outcomes(&laboratory, driver);
        let first = outcomes.iter().find(|outcome| !outcome["measured"].is_null());
        first.unwrap()["measured"].clone()
    };
    let (native, python) = (measured("native"), measured("python-sqlite3"));
    assert_eq!(native["checksum"].as_str().unwrap().split(' ').count(), 3);
    assert_eq!(native["engine"], python["engine"]);
    assert_eq!(python["connections"][0]["pragmas"]["journal_mode"], "wal");
    assert_eq!(python["connections"][0]["pragmas"]["synchronous"], "normal");
    assert_eq!(python["binding"]["defaults"]["busy_timeout"], "5000");
    assert_eq!(native["binding"]["defaults"]["busy_timeout"], "0");
    // Rounds differ in their data; within a round every binding must have made and found the same.
    let trials = laboratory.trials("run");
    for trial in trials.iter().filter(|trial| !trial["outcome"]["measured"].is_null()) {
        let same_round = trials.iter().filter(|other| {
            other["round"] == trial["round"] && !other["outcome"]["measured"].is_null()
        });
        for other in same_round {
            assert_eq!(
                trial["outcome"]["measured"]["checksum"],
                other["outcome"]["measured"]["checksum"]
            );
        }
    }
    let markdown = laboratory.pragmark(&["report", "run", "--format", "markdown"]).exits(0);
    markdown.says(&["| binding | SQLite |", "`busy_timeout`"]);
    assert!(laboratory.read("run/report.html").contains("What a call through each binding costs"));
}

/// Runs the driver for ActiveRecord by itself, with the gems of a directory where one is given; none
/// where this machine has no Ruby.
fn active_record(arguments: &[&str], gems: Option<&Path>, input: &str) -> Option<Output> {
    let driver = concat!(env!("CARGO_MANIFEST_DIR"), "/../../drivers/ruby/driver.rb");
    let mut command = Command::new("ruby");
    command
        .args([driver, "activerecord"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(gems) = gems {
        command.env("GEM_HOME", gems).env("GEM_PATH", gems);
    }
    let mut child = command.spawn().ok()?;
    // A driver that cannot run does not read what it is told.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    Some(child.wait_with_output().unwrap())
}

/// The outcome, which is the last line of a driver.
fn outcome(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stdout);
    let words = String::from_utf8_lossy(&output.stderr);
    let last: Option<Value> =
        said.lines().next_back().and_then(|line| serde_json::from_str(line).ok());
    last.unwrap_or_else(|| panic!("no outcome: {said}{words}"))["outcome"].clone()
}

/// The gemspec of an ActiveRecord that is newer than the driver's.
const NEWER: &str = "# -*- encoding: utf-8 -*-
# stub: activerecord 7.1.0 ruby lib

Gem::Specification.new do |s|
  s.name = 'activerecord'
  s.version = '7.1.0'
end
";

#[test]
fn an_active_record_that_tunes_sqlite_by_itself_is_not_measured() {
    let laboratory = Laboratory::new();
    let gems = laboratory.path().join("gems");
    let (specifications, library) =
        (gems.join("specifications"), gems.join("gems/activerecord-7.1.0/lib"));
    std::fs::create_dir_all(&specifications).unwrap();
    std::fs::create_dir_all(&library).unwrap();
    std::fs::write(specifications.join("activerecord-7.1.0.gemspec"), NEWER).unwrap();
    std::fs::write(library.join("active_record.rb"), "abort 'loaded'\n").unwrap();
    let Some(output) = active_record(&[], Some(&gems), "{}") else {
        testing::skip("this machine has no Ruby");
        return;
    };
    let outcome = outcome(&output);
    let why = outcome["skipped"]["why"].as_str().unwrap_or_default();
    assert!(why.contains("needs ActiveRecord 6.1"), "{outcome}");
}

#[test]
fn connections_of_active_record_s_threads_are_as_the_variant_says_in_both_modes() {
    let ready = active_record(&["describe"], None, "");
    if !ready.is_some_and(|output| output.status.success()) {
        testing::skip("this machine has no ActiveRecord 6.1");
        return;
    }
    for mode in ["faithful", "corrected"] {
        let laboratory = Laboratory::new();
        let spec = json!({
            "protocol": 1,
            "workload": "orm",
            "settings": { "n": 3, "mode": mode, "transaction": "immediate" },
            "directory": laboratory.path(),
            "seed": 1,
            "binding": {
                "pragmas": ["PRAGMA busy_timeout = '5000'", "PRAGMA journal_mode = 'wal'", "PRAGMA synchronous = 'off'"],
                "read_back": ["busy_timeout", "foreign_keys", "journal_mode", "synchronous"],
            },
        });
        let outcome = outcome(&active_record(&[], None, &spec.to_string()).unwrap());
        let in_force = json!({ "busy_timeout": "5000", "foreign_keys": "1", "journal_mode": "wal", "synchronous": "0" });
        let connections = json!([
            { "connection": "main", "pragmas": in_force },
            { "connection": "thread", "pragmas": in_force },
        ]);
        assert_eq!(outcome["measured"]["connections"], connections, "{outcome}");
    }
}

#[test]
fn a_workload_that_a_driver_lacks_is_refused_before_anything_is_measured() {
    let laboratory = Laboratory::new();
    laboratory.write(
        "small.toml",
        &SMALL
            .replace("binding-basics", "orm")
            .replace("rows = 100, reads = 100, scans = 2, tasks = 3", "n = 2"),
    );
    laboratory
        .pragmark(&["run", "small.toml", "--out", "run"])
        .exits(2)
        .complains(&["has no workload `orm`", "ruby-activerecord"]);
}

#[test]
fn drivers_are_listed_with_what_is_missing_and_unknown_names_are_refused() {
    let laboratory = Laboratory::new();
    scripts(&laboratory, "");
    laboratory
        .pragmark_with_variables(&[("PRAGMARK_DRIVERS", "drivers")], &["driver", "list"])
        .exits(0)
        .says(&["go-modernc: not ready", "no-such-language", "install a shell"]);
    laboratory
        .pragmark_with_variables(&[("PRAGMARK_DRIVERS", "nowhere")], &["list"])
        .exits(3)
        .complains(&["nowhere"]);
    laboratory
        .pragmark(&["driver", "install", "perl"])
        .exits(2)
        .complains(&["no driver `perl`", "python-apsw"]);
    laboratory
        .pragmark_with_variables(&[("PRAGMARK_DRIVERS", "nowhere")], &["driver", "list"])
        .exits(3)
        .complains(&["nowhere"]);
}
