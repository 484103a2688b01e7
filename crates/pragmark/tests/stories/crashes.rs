//! Measuring crashes.

use std::path::PathBuf;
use std::process::Command;

use crate::laboratory::Laboratory;

/// An engine with one safeguard removed, or the same without that, as a file of the laboratory.
fn engine(laboratory: &Laboratory, mutation: Option<&str>) -> PathBuf {
    let mutants = proofs::Mutants::new().unwrap();
    mutants.write(mutation, laboratory.path()).unwrap()
}

#[test]
fn crashes_are_measured_and_witnesses_written() {
    let laboratory = Laboratory::new();
    laboratory
        .pragmark(&[
            "crash",
            "--journal-mode",
            "delete,wal",
            "--synchronous",
            "off",
            "--locking-mode",
            "normal",
            "--model",
            "reorder,lying-reorder",
            "--images",
            "200",
            "--out",
            "crashes",
        ])
        .exits(0)
        .says(&["delete/off", "wal/off", "BAD", "no violation in the images"]);
    let markdown = laboratory.read("crashes/crash.md");
    assert!(markdown.contains("**can corrupt**") && markdown.contains("may corrupt"));
    let json: serde_json::Value =
        serde_json::from_str(&laboratory.read("crashes/crash.json")).expect("JSON");
    assert_eq!(json["matrix"]["cells"].as_array().map(Vec::len), Some(4));
    let show = laboratory.read("crashes/witnesses/delete-off-normal-reorder/show.sh");
    assert!(show.starts_with("#!/bin/sh"));
}

#[test]
fn a_bad_build_is_caught_beside_a_sound_one() {
    let laboratory = Laboratory::new();
    engine(&laboratory, None);
    engine(&laboratory, Some("wal-sync-before-checkpoint"));
    laboratory
        .pragmark(&[
            "crash",
            "--engine",
            "./sound.so",
            "--engine",
            "./wal-sync-before-checkpoint.so",
            "--journal-mode",
            "wal",
            "--synchronous",
            "normal",
            "--locking-mode",
            "normal",
            "--model",
            "kill,reorder",
            "--images",
            "300",
            "--format",
            "markdown",
            "--out",
            "crashes",
        ])
        .exits(0)
        .says(&[
            "## Differences between engines",
            "- wal/normal/normal under reorder: ./sound.so (SQLite ",
            "): loses recent commits",
            "./wal-sync-before-checkpoint.so (SQLite ",
            "): can corrupt",
        ]);
    let json: serde_json::Value =
        serde_json::from_str(&laboratory.read("crashes/crash.json")).expect("JSON");
    let differences = json["differences"].as_array().unwrap();
    assert_eq!(differences.len(), 1, "the kill model shows no difference");
    assert_eq!(differences[0]["model"], "reorder");
    let witnesses = laboratory.path().join("crashes/witnesses-of-engine-2");
    assert!(witnesses.join("wal-normal-normal-reorder/show.sh").exists());
}

/// What an application never does is not held against its settings: it is told where the harm is done.
#[test]
fn harm_that_is_done_on_an_occasion_only_is_told_with_the_occasion_and_its_cause() {
    let laboratory = Laboratory::new();
    let crash = |script: &[&str]| {
        let settings = [
            "crash",
            "--journal-mode",
            "delete",
            "--synchronous",
            "full",
            "--locking-mode",
            "normal",
            "--model",
            "reorder",
            "--images",
            "600",
        ];
        laboratory.pragmark(&[&settings, script].concat()).exits(0)
    };
    let built_in = crash(&[]).stdout();
    let told = built_in.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "(BAD)!",
        "only where the database file shrinks (VACUUM); otherwise loses recent commits",
        "Cause: a commit that shrinks the database truncates the file after the journal was deleted",
    ] {
        assert!(told.contains(part), "`{part}` is not in:\n{built_in}");
    }
    let rows = "CREATE TABLE t(x);\n\
        INSERT INTO t SELECT randomblob(3000) FROM (VALUES (1), (2), (3), (4), (5), (6));\n\
        DELETE FROM t WHERE rowid > 1;\nINSERT INTO t VALUES (1);\n";
    laboratory.write("daily.sql", rows);
    laboratory.write(
        "vacuum.sql",
        &format!("{rows}VACUUM;\nINSERT INTO t VALUES (2);\n"),
    );
    let daily = crash(&["--script", "daily.sql"]).stdout();
    assert!(
        !daily.contains("BAD!") && !daily.contains("(BAD)!"),
        "{daily}"
    );
    crash(&["--script", "vacuum.sql"]).says(&["(BAD)!"]);
}

#[test]
fn the_settings_of_an_experiments_variants_are_tried() {
    let laboratory = Laboratory::new();
    laboratory.write(
        "mine.toml",
        r#"
id = "mine"
question = "What do a journal and syncs cost?"
workload = "bulk-insert"
base = { rows = 300, cache_size = 100 }
factors = { journal_mode = ["delete", "wal"], synchronous = ["full", "off"] }
[design]
kind = "list"
baseline = { journal_mode = "delete", synchronous = "full" }
variants = [{ journal_mode = "wal", synchronous = "off" }]
"#,
    );
    let answer = laboratory
        .pragmark(&["crash", "mine.toml", "--model", "kill", "--images", "50"])
        .exits(0)
        .says(&["delete/full", "wal/off"]);
    assert!(!answer.stdout().contains("wal/full"), "{}", answer.stdout());
    laboratory
        .pragmark(&["crash", "mine.toml", "--journal-mode", "wal"])
        .exits(2)
        .complains(&["--journal-mode", "cannot be used with"]);
    laboratory
        .pragmark(&["crash", "mein.toml"])
        .exits(2)
        .complains(&["mein.toml"]);
}

#[test]
fn without_powersafe_overwrite_sqlite_protects_what_lies_beside_a_write() {
    let laboratory = Laboratory::new();
    laboratory
        .pragmark(&[
            "crash",
            "--journal-mode",
            "wal",
            "--synchronous",
            "full",
            "--locking-mode",
            "normal",
            "--psow",
            "1,0",
            "--model",
            "non-powersafe-overwrite",
            "--images",
            "2000",
            "--format",
            "markdown",
        ])
        .exits(0)
        .says(&[
            "| wal/full/normal | loses commits (",
            "| wal/full/normal/psow=0 | none in",
        ]);
    laboratory
        .pragmark(&["crash", "--psow", "2"])
        .exits(2)
        .complains(&["must be 0 or 1"]);
}

/// An experiment whose trials are crashes, with a witness.
const CRASHES: &str = r#"
id = "crashes"
question = "What can a crash destroy?"
workload = "crash"
metric = "images_per_s"
base = { images = 300, schedules = 1 }
factors = { journal_mode = ["delete", "wal"], synchronous = ["full", "off"] }
[design]
kind = "list"
baseline = { journal_mode = "delete", synchronous = "full" }
variants = [{ journal_mode = "wal", synchronous = "off" }]
stopping = { rounds = 2, max_rounds = 2 }
"#;

#[test]
fn the_command_beside_a_tier_makes_its_witness_again() {
    let laboratory = Laboratory::new();
    laboratory.write("crashes.toml", CRASHES);
    laboratory
        .pragmark(&["run", "crashes.toml", "--out", "run", "--seed", "1"])
        .exits(0);
    let analysis = laboratory
        .pragmark(&["export", "run", "--format", "json"])
        .exits(0)
        .stdout();
    let analysis: serde_json::Value = serde_json::from_str(&analysis).unwrap();
    let models = analysis["experiments"][0]["variants"]
        .as_array()
        .unwrap()
        .iter();
    let models = models.flat_map(|variant| variant["safety"]["models"].as_array().unwrap());
    let with_witness: Vec<_> = models.filter(|model| model["again"].is_string()).collect();
    let names: Vec<_> = with_witness.iter().map(|model| &model["model"]).collect();
    assert!(names.len() >= 4, "{names:?}");
    for (number, model) in with_witness.into_iter().enumerate() {
        let out = format!("witness-{number}");
        let again = model["again"]
            .as_str()
            .unwrap()
            .replace("--out witness", "");
        let words: Vec<&str> = again.split_whitespace().skip(1).collect();
        laboratory
            .pragmark(&[&words[..], &["--out", &out]].concat())
            .exits(0);
        let json: serde_json::Value =
            serde_json::from_str(&laboratory.read(&format!("{out}/crash.json"))).unwrap();
        let cell = &json["matrix"]["cells"][0];
        assert_eq!(cell["tier"], model["tier"], "{again}");
        convinces_a_stock_shell(&laboratory.path().join(&out).join("witnesses"));
    }
}

/// Runs the scripts of all witnesses, where there is a shell.
fn convinces_a_stock_shell(witnesses: &std::path::Path) {
    let places: Vec<_> = std::fs::read_dir(witnesses).unwrap().flatten().collect();
    assert_eq!(places.len(), 1);
    if Command::new("sqlite3").arg("--version").output().is_err() {
        eprintln!("skipped: there is no sqlite3 shell here");
        return;
    }
    for place in places {
        let script = place.path().join("show.sh");
        let output = Command::new(&script).output().unwrap();
        let answer = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{}:\n{answer}", script.display());
    }
}

#[test]
fn a_race_between_connections_is_a_tier_of_its_own_and_its_schedule_plays_again() {
    let laboratory = Laboratory::new();
    engine(&laboratory, Some("checkpoint-log-restarted"));
    let text = CRASHES
        .replace("schedules = 1", "schedules = 100")
        .replace("images = 300", "images = 20");
    laboratory.write("crashes.toml", &text);
    laboratory
        .pragmark(&[
            "run",
            "crashes.toml",
            "--out",
            "run",
            "--seed",
            "1",
            "--engine",
            "./checkpoint-log-restarted.so",
        ])
        .exits(0)
        .says(&["corrupts without a crash"]);
    let markdown = laboratory
        .pragmark(&["report", "run", "--format", "markdown"])
        .exits(0)
        .stdout();
    let again = markdown
        .split("pragmark crash --schedule ")
        .nth(1)
        .and_then(|rest| rest.split(" --engine").next())
        .unwrap_or_else(|| panic!("no schedule in:\n{markdown}"));
    let replay = |engine: &str| {
        laboratory
            .pragmark(&["crash", "--schedule", again, "--engine", engine])
            .exits(0)
    };
    replay("./checkpoint-log-restarted.so").says(&["WRONG", "things went wrong"]);
    replay("default").says(&["nothing went wrong"]);
}

/// An engine that does not know one of the journal modes.
fn without_persist(laboratory: &Laboratory) -> PathBuf {
    let path = engine(laboratory, None);
    let mut bytes = std::fs::read(&path).unwrap();
    let name = b"\0persist\0";
    let places: Vec<usize> = (0..bytes.len() - name.len())
        .filter(|place| bytes[*place..].starts_with(name))
        .collect();
    assert!(
        !places.is_empty(),
        "the names of the journal modes are not found"
    );
    for place in places {
        bytes[place + 1] = b'?';
    }
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn settings_that_the_engine_refuses_are_named_and_nothing_is_written() {
    let laboratory = Laboratory::new();
    without_persist(&laboratory);
    let refused = "the engine answers delete to PRAGMA journal_mode = persist";
    let crash = |modes: &str, out: &str| {
        laboratory.pragmark(&[
            "crash",
            "--engine",
            "./sound.so",
            "--journal-mode",
            modes,
            "--model",
            "kill",
            "--out",
            out,
        ])
    };
    crash("persist", "none").exits(3).complains(&[
        "takes none of these settings",
        "persist/off/normal",
        refused,
        "nothing was written",
    ]);
    assert!(!laboratory.path().join("none").exists());
    // Among others it is told in the table.
    crash("truncate,persist", "some")
        .exits(0)
        .says(&["truncate/full"]);
    assert!(laboratory.read("some/crash.md").contains(refused));
}

#[test]
fn a_matrix_fits_into_eighty_columns() {
    let laboratory = Laboratory::new();
    let answer = laboratory
        .pragmark(&[
            "crash",
            "--journal-mode",
            "delete",
            "--synchronous",
            "full",
            "--images",
            "50",
        ])
        .exits(0);
    for line in answer.stdout().lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn mistakes_are_named_and_nothing_is_written() {
    let laboratory = Laboratory::new();
    laboratory.write("bad.sql", "CREATE TABLE t(x);\nINSRT INTO t VALUES (1);\n");
    laboratory
        .pragmark(&["crash", "--script", "bad.sql", "--out", "crashes"])
        .exits(2)
        .complains(&["bad.sql:2:", "INSRT"]);
    laboratory
        .pragmark(&["crash", "--journal-mode", "wall"])
        .exits(2)
        .complains(&["wall", "wal"]);
    laboratory
        .pragmark(&["crash", "--model", "gentle"])
        .exits(2)
        .complains(&["gentle", "ext4-ordered"]);
    laboratory.write(
        "unfinished.sql",
        "CREATE TABLE t(x);\nINSERT INTO t VALUES ('a);\n",
    );
    laboratory
        .pragmark(&["crash", "--script", "unfinished.sql", "--out", "crashes"])
        .exits(2)
        .complains(&["unfinished.sql:2:"]);
    laboratory.write("nothing.sql", "SELECT 1;\n");
    laboratory
        .pragmark(&["crash", "--script", "nothing.sql", "--out", "crashes"])
        .exits(2)
        .complains(&["nothing.sql commits no change"]);
    laboratory
        .pragmark(&["crash", "--script", "absent.sql", "--out", "crashes"])
        .exits(2)
        .complains(&["absent.sql"]);
    laboratory
        .pragmark(&["crash", "--page-size", "1000"])
        .exits(2)
        .complains(&["power of two"]);
    laboratory
        .pragmark(&["crash", "--engine", "bad.sql", "--out", "crashes"])
        .exits(3)
        .complains(&["bad.sql"]);
    assert!(!laboratory.path().join("crashes").exists());
    let left = std::fs::read_dir(laboratory.path()).unwrap();
    let mut left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(
        left,
        ["bad.sql", "nothing.sql", "small.toml", "unfinished.sql"]
    );
}
