//! A user has pragmark find the fastest settings for a script of their own.

use std::sync::Arc;

use engine::{Connection, Library, OpenFlags, Source};
use serde_json::Value;

use crate::laboratory::{Answer, Laboratory, wait_until};

/// A laboratory with a database of accounts and a script that changes one of them.
fn bank() -> Laboratory {
    let laboratory = Laboratory::new();
    let library = Arc::new(Library::load(&Source::Embedded).unwrap());
    let path = laboratory.path().join("app.db");
    let connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
    connection
        .execute("CREATE TABLE account(id INTEGER PRIMARY KEY, balance INTEGER); INSERT INTO account SELECT value, 0 FROM (WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 500) SELECT value FROM n)")
        .unwrap();
    connection.close().unwrap();
    laboratory.write(
        "work.sql",
        "\\set id random(1, 500)\nUPDATE account SET balance = balance + 1 WHERE id = :id;\n",
    );
    laboratory
}

/// Tunes the script for so long, with these options.
fn tune(laboratory: &Laboratory, out: &str, time_limit: &str, more: &[&str]) -> Answer {
    let options = ["--may-lose", "recent", "--seconds", "50ms"];
    let command = ["tune", "work.sql", "--db", "app.db", "--out", out];
    let limit = ["--time-limit", time_limit];
    laboratory.pragmark(&[&command[..], &options, &limit, more].concat()).exits(0)
}

/// That no trial used settings that a crash of the machine could corrupt the database with.
fn assert_only_safe_settings(laboratory: &Laboratory, run: &str) {
    for purpose in ["search", "ablation", "rounds"] {
        for trial in laboratory.trials_for(purpose, run) {
            let variant = trial["variant"].as_str().unwrap();
            for word in ["synchronous=off", "journal_mode=off", "journal_mode=memory"] {
                assert!(!variant.contains(word), "{variant}");
            }
        }
    }
}

#[test]
fn the_fastest_settings_are_searched_among_the_safe_ones_and_a_later_search_goes_on_from_them() {
    let laboratory = bank();
    let before = std::fs::read(laboratory.path().join("app.db")).unwrap();
    let answer = tune(&laboratory, "run", "30s", &["--limit", "size <= 50"]).says(&[
        "The search", "combinations of levels", "current settings", "Constraints",
        "db_bytes <= 50", "kept",
    ]);
    // Tiers of what is recommended and of what is set now, whose page size no setting names, are known ahead.
    assert!(!answer.stdout().contains("What a crash"));
    let plan: Value = serde_json::from_str(&laboratory.read("run/run.json")).unwrap();
    let search = &plan["experiments"][0]["tuning"];
    assert!(!search["space"]["excluded"].as_array().unwrap().is_empty());
    let idle = search["idle"].as_array().unwrap();
    assert_eq!(*idle, ["threads", "automatic_index"]);
    assert_only_safe_settings(&laboratory, "run");
    assert!(laboratory.trials_for("search", "run").len() >= 21);
    assert!(laboratory.trials_for("rounds", "run").len() >= 4);
    let after = std::fs::read(laboratory.path().join("app.db")).unwrap();
    assert_eq!(after, before);
    laboratory.pragmark(&["show", "run/tuned.toml"]).exits(0);
    let next = ["--continue", "run", "--goal", "p99"];
    tune(&laboratory, "next", "6s", &next)
        .says(&["The earlier search recommended"])
        .complains(&["improved another metric than p99_us, so its trials do not count"]);
    let plan: Value = serde_json::from_str(&laboratory.read("next/run.json")).unwrap();
    assert_eq!(plan["experiments"][0]["tuning"]["earlier_trials"], Value::Null);
}

#[test]
fn what_a_search_has_measured_is_kept_though_its_rounds_fail() {
    let laboratory = bank();
    let run = laboratory.start(&[
        "tune", "work.sql", "--db", "app.db", "--out", "run", "--time-limit", "6s", "--seconds",
        "20ms",
    ]);
    // The first trial measures the current settings. Without the database, all others fail at once, so that rounds are tried
    // however slow the machine is.
    wait_until(|| !laboratory.trials_for("search", "run").is_empty());
    std::fs::remove_file(laboratory.path().join("app.db")).unwrap();
    let answer = Answer(run.wait_with_output().unwrap());
    let answer = answer.complains(&["what was measured is kept: run"]);
    assert!(!answer.stderr().contains("nothing was measured"));
    assert!(!laboratory.trials_for("search", "run").is_empty());
    assert!(!laboratory.trials("run").is_empty(), "rounds were tried");
}

#[test]
fn mistakes_are_named_before_anything_is_measured() {
    let laboratory = bank();
    laboratory.write("empty.db", "");
    for (arguments, why) in [
        (&["--current", "secure_delete=on"][..], "this setting is not varied"),
        (&["--current", "synchronous"], "lacks a value"),
        (&["--limit", "speed <= 1.05"], "no metric"),
        (&["--goal", "cpu"], "the same work in every trial"),
        (&["--limit", "p99 >= 1.05"], "smaller is better"),
        (&["--continue", "missing"], "missing"),
        (&["--db", "missing.db"], "cannot read missing.db"),
        (&["--db", "empty.db"], "the file is empty"),
        (&["--engine", "system"], "no safety tier of it is known"),
    ] {
        let command = [&["tune", "work.sql", "--out", "run"], arguments].concat();
        let answer = laboratory.pragmark(&command);
        answer.complains(&[why]);
        assert!(!laboratory.path().join("run").exists());
    }
    laboratory.write("poor.sql", "SELECT id FROM account WHERE balance = 7;\n");
    let poor = ["tune", "poor.sql", "--db", "app.db", "--goal", "size", "--out", "run"];
    let answer = laboratory.pragmark(&poor).exits(2).complains(&["the same work in every trial"]);
    assert!(!answer.stderr().contains("would help"), "indexes are tried later");
    let replay = ["tune", "app.trace", "--seconds", "1s", "--out", "run"];
    let answer = laboratory.pragmark(&replay).exits(2);
    answer.complains(&["--seconds applies to scripts", "trace cut"]);
    laboratory.write("data.csv", "a,b\n1,2\n");
    for (file, why) in
        [("data.csv", "pragmark load data.csv"), ("app.db", "name it with --db app.db")]
    {
        laboratory.pragmark(&["tune", file, "--out", "run"]).exits(2).complains(&[why]);
    }
}
