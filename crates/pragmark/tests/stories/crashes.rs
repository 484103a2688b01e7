//! Measuring crashes.

use std::path::PathBuf;
use std::process::Command;

use crate::bad_builds::engine;
use crate::laboratory::Laboratory;

#[test]
fn crashes_are_measured_and_witnesses_written() {
    let laboratory = Laboratory::new();
    laboratory
        .pragmark(&[
            "crash",
            "--set",
            "journal_mode=delete,wal",
            "--set",
            "synchronous=off",
            "--set",
            "locking_mode=normal",
            "--model",
            "reorder,lying-reorder",
            "--images",
            "200",
            "--out",
            "crashes",
        ])
        .exits(0)
        .says(&["journal_mode=delete", "journal_mode=wal", "✘", "reorder"]);
    laboratory.pragmark(&["report", "crashes", "--format", "markdown"]).exits(0).says(&[
        "| ✘ ",
        "may corrupt",
        "delete-off-normal-reorder",
    ]);
    let models = models_of(&laboratory, "crashes");
    assert_eq!(models.len(), 4, "two settings under two models");
    let witness = "crashes/artifacts/crash/0-0-0/delete-off-normal-reorder";
    let show = laboratory.read(&format!("{witness}/show.sh"));
    assert!(show.starts_with("#!/bin/sh"));
}

/// What was found under each model, variant by variant.
fn models_of(laboratory: &Laboratory, run: &str) -> Vec<serde_json::Value> {
    let trials = laboratory.trials(run).into_iter();
    let safety = trials.map(|trial| trial["outcome"]["measured"]["safety"].clone());
    safety.flat_map(|models| models.as_array().unwrap().clone()).collect()
}

#[test]
fn crashes_that_were_stopped_go_on_and_the_same_seed_gives_the_same_counts() {
    let laboratory = Laboratory::new();
    let crash = |out: &str| {
        let quick = ["crash", "--quick", "--set", "journal_mode=wal", "--images", "100"];
        let more = ["--seed", "7", "--out", out];
        laboratory.pragmark(&[&quick[..], &more].concat()).exits(0);
    };
    crash("whole");
    crash("cut");
    let record = laboratory.read("cut/outcomes.jsonl");
    let two: Vec<&str> = record.lines().take(3).collect();
    laboratory.write("cut/outcomes.jsonl", &(two.join("\n") + "\n{\"purp"));
    laboratory.pragmark(&["run", "--resume", "cut"]).exits(0).says(&["What can a crash destroy?"]);
    assert_eq!(laboratory.trials("cut").len(), 4);
    assert_eq!(models_of(&laboratory, "cut"), models_of(&laboratory, "whole"));
}

/// The marks of a quick look are read as proof if nothing beside them says how rare a loss they miss.
#[test]
fn a_quick_look_says_beside_its_marks_what_it_leaves_out() {
    let laboratory = Laboratory::new();
    let told = |options: &[&str]| {
        let settings = ["crash", "--set", "journal_mode=wal", "--set", "synchronous=full"];
        let model = ["--model", "reorder"];
        let printed =
            laboratory.pragmark(&[&settings[..], &model, options].concat()).exits(0).stdout();
        printed.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let quick = told(&["--quick"]);
    let marks = quick.find("● 0 of ").expect("a clean sample");
    let images = quick[marks..].split(' ').nth(3).expect("the images of the sample");
    let said = format!(
        "--quick leaves out exclusive locking, schedules of two connections, most images: the smallest clean sample, {images} images, misses a loss in up to "
    );
    assert!(quick.contains(&said), "`{said}` is not in:\n{quick}");
    let exclusive = told(&["--quick", "--set", "locking_mode=exclusive"]);
    assert!(
        exclusive.contains("--quick leaves out schedules of two connections, most"),
        "{exclusive}"
    );
    assert!(!told(&["--images", "600"]).contains("leaves out"));
}

/// What an application never does is not held against its settings: it is told where the harm is done.
#[test]
fn harm_that_is_done_on_an_occasion_only_is_told_with_the_occasion_and_its_cause() {
    let laboratory = Laboratory::new();
    let crash = |script: &[&str]| {
        let settings = [
            "crash", "--set", "journal_mode=delete", "--set", "synchronous=full", "--set",
            "locking_mode=normal", "--model", "reorder", "--images", "600",
        ];
        laboratory.pragmark(&[&settings, script].concat()).exits(0)
    };
    let built_in = crash(&[]).stdout();
    let told = built_in.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "◕ ! ",
        "seen only on shrinking the database file (VACUUM): can corrupt (",
        "a commit that shrinks the database truncates the file after deleting the journal",
    ] {
        assert!(told.contains(part), "`{part}` is not in:\n{built_in}");
    }
    let rows = "CREATE TABLE t(x);\n\
        INSERT INTO t SELECT randomblob(3000) FROM (VALUES (1), (2), (3), (4), (5), (6));\n\
        DELETE FROM t WHERE rowid > 1;\nINSERT INTO t VALUES (1);\n";
    laboratory.write("daily.sql", rows);
    laboratory.write("vacuum.sql", &format!("{rows}VACUUM;\nINSERT INTO t VALUES (2);\n"));
    let daily = crash(&["--script", "daily.sql"]).stdout();
    assert!(!daily.contains("less safe than documented: "), "{daily}");
    crash(&["--script", "vacuum.sql"]).says(&["less safe than documented: "]);
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
    let quickly = ["--model", "kill", "--images", "50", "--out", "mine"];
    laboratory.pragmark(&[&["crash", "mine.toml"], &quickly[..]].concat()).exits(0);
    let trials = laboratory.trials("mine");
    let variants: Vec<&str> =
        trials.iter().map(|trial| trial["variant"].as_str().unwrap()).collect();
    for (variant, levels) in variants
        .iter()
        .zip(["journal_mode=delete synchronous=full", "journal_mode=wal synchronous=off"])
    {
        assert!(variant.ends_with(levels), "{variants:?}");
    }
    assert_eq!(variants.len(), 2);
    laboratory
        .pragmark(&["crash", "mine.toml", "--set", "journal_mode=wal"])
        .exits(2)
        .complains(&["--set", "cannot be used with"]);
    laboratory.pragmark(&["crash", "mein.toml"]).exits(3).complains(&["mein.toml"]);
}

#[test]
fn without_powersafe_overwrite_sqlite_protects_what_lies_beside_a_write() {
    let laboratory = Laboratory::new();
    laboratory
        .pragmark(&[
            "crash",
            "--set",
            "journal_mode=wal",
            "--set",
            "synchronous=full",
            "--set",
            "locking_mode=normal",
            "--set",
            "psow=1,0",
            "--model",
            "non-powersafe-overwrite",
            "--images",
            "2000",
            "--format",
            "markdown",
        ])
        .exits(0)
        .says(&[
            "| `psow=true` | – not measured | – not measured | ◐ ",
            "| `psow=false` | – not measured | ● nothing<br>",
        ]);
    laboratory.pragmark(&["crash", "--set", "psow=2"]).exits(2).complains(&["must be 0 or 1"]);
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
    laboratory.pragmark(&["run", "crashes.toml", "--out", "run", "--seed", "1"]).exits(0);
    let analysis = laboratory.pragmark(&["report", "run", "--format", "json"]).exits(0).stdout();
    let analysis: serde_json::Value = serde_json::from_str(&analysis).unwrap();
    let models = analysis["experiments"][0]["variants"].as_array().unwrap().iter();
    let models = models.flat_map(|variant| variant["safety"]["models"].as_array().unwrap());
    let with_witness: Vec<_> = models.filter(|model| model["again"].is_string()).collect();
    let names: Vec<_> = with_witness.iter().map(|model| &model["model"]).collect();
    assert!(names.len() >= 4, "{names:?}");
    for (number, model) in with_witness.into_iter().enumerate() {
        let out = format!("witness-{number}");
        let again = model["again"].as_str().unwrap().replace("--out witness", "");
        let words: Vec<&str> = again.split_whitespace().skip(1).collect();
        laboratory.pragmark(&[&words[..], &["--out", &out]].concat()).exits(0);
        let again_found = &models_of(&laboratory, &out)[0];
        assert_eq!(again_found["ordinary"], model["ordinary"], "{again}");
        let witnesses = laboratory.path().join(&out).join("artifacts/crash/0-0-0");
        convinces_a_stock_shell(&witnesses);
    }
}

/// Runs the scripts of all witnesses, where there is a shell.
fn convinces_a_stock_shell(witnesses: &std::path::Path) {
    let places: Vec<_> = std::fs::read_dir(witnesses).unwrap().flatten().collect();
    assert!(!places.is_empty(), "one of ordinary commits or of each occasion");
    if !testing::has_sqlite_shell() {
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
    let text =
        CRASHES.replace("schedules = 1", "schedules = 100").replace("images = 300", "images = 20");
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
    let markdown =
        laboratory.pragmark(&["report", "run", "--format", "markdown"]).exits(0).stdout();
    let again = markdown
        .split("pragmark crash --schedule ")
        .nth(1)
        .and_then(|rest| rest.split(" --engine").next())
        .unwrap_or_else(|| panic!("no schedule in:\n{markdown}"));
    let replay = |engine: &str| {
        laboratory.pragmark(&["crash", "--schedule", again, "--engine", engine]).exits(0)
    };
    replay("./checkpoint-log-restarted.so").says(&["WRONG", "things went wrong"]);
    replay("default").says(&["nothing went wrong"]);
}

/// An engine that does not know one of the journal modes.
fn without_persist(laboratory: &Laboratory) -> PathBuf {
    let path = engine(laboratory, None);
    let mut bytes = std::fs::read(&path).unwrap();
    let name = b"\0persist\0";
    let places: Vec<usize> =
        (0..bytes.len() - name.len()).filter(|place| bytes[*place..].starts_with(name)).collect();
    assert!(!places.is_empty(), "the names of the journal modes are not found");
    for place in places {
        bytes[place + 1] = b'?';
    }
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn settings_that_the_engine_refuses_are_named() {
    let laboratory = Laboratory::new();
    without_persist(&laboratory);
    let refused = "PRAGMA journal_mode = persist did not take effect (it is delete)";
    let crash = |modes: &str, out: &str| {
        laboratory.pragmark(&[
            "crash",
            "--engine",
            "./sound.so",
            "--set",
            &format!("journal_mode={modes}"),
            "--model",
            "kill",
            "--images",
            "50",
            "--out",
            out,
        ])
    };
    crash("persist", "none").exits(3).complains(&[
        "nothing was measured with the engine",
        "journal_mode=persist locking_mode=normal synchronous=off",
        refused,
    ]);
    // Among others it is reported beside the table.
    crash("truncate,persist", "some").exits(0);
    laboratory.pragmark(&["report", "some", "--format", "markdown"]).exits(0).says(&[
        "8 measured, 8 skipped",
        "not measured (8 of 16 variants)",
        "did not take effect",
    ]);
}

#[test]
fn a_matrix_fits_into_the_columns_of_a_pipe_with_every_model() {
    let laboratory = Laboratory::new();
    let answer = laboratory
        .pragmark(&[
            "crash", "--set", "journal_mode=delete", "--set", "synchronous=full", "--images", "50",
        ])
        .exits(0);
    for line in answer.stdout().lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    let text = answer.stdout();
    let matrix = text.split("Tiers:").next().unwrap_or_default();
    for model in ["kill", "torn", "non-powersafe-overwrite", "lying-reorder"] {
        assert!(matrix.contains(model), "{model} is not in:\n{matrix}");
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
        .pragmark(&["crash", "--set", "journal_mode=wall"])
        .exits(2)
        .complains(&["wall", "wal"]);
    laboratory
        .pragmark(&["crash", "--model", "gentle"])
        .exits(2)
        .complains(&["gentle", "ext4-ordered"]);
    laboratory.write("unfinished.sql", "CREATE TABLE t(x);\nINSERT INTO t VALUES ('a);\n");
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
        .exits(3)
        .complains(&["absent.sql"]);
    laboratory
        .pragmark(&["crash", "--script", "/dev/zero", "--out", "crashes"])
        .exits(2)
        .complains(&["/dev/zero", "not a regular file"]);
    laboratory
        .pragmark(&["crash", "--set", "page_size=1000"])
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
    assert_eq!(left, ["bad.sql", "nothing.sql", "small.toml", "unfinished.sql"]);
}
