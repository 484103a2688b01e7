//! Engines that do not keep SQLite's promises.

use std::path::PathBuf;

use crate::laboratory::Laboratory;

/// An engine with one safeguard removed, or the same without that, as a file of the laboratory.
pub fn engine(laboratory: &Laboratory, mutation: Option<&str>) -> PathBuf {
    let mutants = proofs::Mutants::new().unwrap();
    mutants.write(mutation, laboratory.path()).unwrap()
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
            "--set",
            "journal_mode=wal",
            "--set",
            "synchronous=normal",
            "--set",
            "locking_mode=normal",
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
            "- Engines differ with `journal_mode=wal locking_mode=normal synchronous=normal` under reorder: ",
            "sound.so: can lose recent transactions",
            "wal-sync-before-checkpoint.so: can corrupt",
            "What each version of SQLite could lose",
            "Two connections at the same moment were not tried",
            "wal/normal/normal",
        ]);
    let json = laboratory.pragmark(&["report", "crashes", "--format", "json"]).exits(0).stdout();
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let differences = &json["experiments"][0]["engine_differences"];
    let differences = differences.as_array().unwrap();
    assert_eq!(differences.len(), 1, "the kill model shows no difference");
    assert_eq!(differences[0]["model"], "reorder");
    let witnesses = laboratory.path().join("crashes/artifacts/crash/0-0-1");
    assert!(witnesses.join("wal-normal-normal-reorder/show.sh").exists());
}

#[test]
fn an_engine_whose_syncs_do_not_reach_the_system_is_never_safe_in_a_power_cut() {
    let laboratory = Laboratory::new();
    engine(&laboratory, None);
    engine(&laboratory, Some("os-sync"));
    laboratory.pragmark(&["engine", "show", "./sound.so"]).exits(0).says(&["syncs of its own VFS"]);
    let crash = ["crash", "--engine", "./os-sync.so", "--engine", "./sound.so"];
    let settings = ["--set", "journal_mode=wal", "--set", "synchronous=full"];
    let small = ["--model", "kill,reorder", "--images", "100", "--out", "crashes"];
    laboratory
        .pragmark(&[&crash[..], &settings, &small].concat())
        .exits(0)
        .says(&["os-sync.so: its own VFS passes on 0 of", "can corrupt"]);
    let json = laboratory.pragmark(&["report", "crashes", "--format", "json"]).exits(0).stdout();
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    for variant in json["experiments"][0]["variants"].as_array().unwrap() {
        let label = variant["label"].as_str().unwrap();
        let power = &variant["safety"]["tier"]["power"];
        let is_unsynced = power.get("unsynced").is_some();
        assert_eq!(is_unsynced, label.contains("os-sync"), "{label}: {power}");
    }
}

/// What an engine does to the process that recovers an image is an outcome, and the other models go on.
#[test]
fn an_engine_that_ends_the_process_leaves_the_image_that_made_it() {
    let laboratory = Laboratory::new();
    engine(&laboratory, Some("hot-journal-abort"));
    let crash = ["crash", "--engine", "./hot-journal-abort.so"];
    let settings = ["--set", "journal_mode=delete,wal", "--set", "synchronous=full"];
    let small = ["--set", "locking_mode=normal", "--model", "kill,reorder"];
    let small = [&small[..], &["--images", "100", "--out", "crashes"]].concat();
    laboratory.pragmark(&[&crash[..], &settings, &small].concat()).exits(0).says(&["can corrupt"]);
    let trials = laboratory.trials("crashes");
    assert_eq!(trials.len(), 2);
    for trial in &trials {
        let models = trial["outcome"]["measured"]["safety"].as_array().unwrap();
        assert_eq!(models.len(), 2, "the second one goes on");
        for model in models {
            // WAL mode meets a hot journal, too: that of the transaction that begins it, which may count as a rare occasion.
            let occasions = model["occasions"].as_array().into_iter().flatten();
            let corrupt: Vec<_> = [(&model["ordinary"]["measured"], &model["witness"])]
                .into_iter()
                .chain(occasions.map(|occasion| (&occasion["counts"], &occasion["witness"])))
                .filter(|(counts, _)| counts["corrupt"] == 1)
                .collect();
            assert_eq!(corrupt.len(), 1, "{model}");
            let witness = corrupt[0].1.as_str().unwrap();
            assert!(witness.contains("the engine ended its process"), "{witness}");
            assert!(witness.contains("signal 6"), "{witness}");
        }
    }
    let witness = laboratory.path().join("crashes/artifacts/crash/0-0-0/delete-full-normal-kill");
    assert!(witness.join("image/main.db-journal").exists());
}

#[test]
fn an_engine_that_damages_a_database_before_any_crash_is_reported_as_that() {
    let laboratory = Laboratory::new();
    engine(&laboratory, Some("page-write"));
    let crash = ["crash", "--engine", "./page-write.so", "--quick"];
    let settings = ["--set", "journal_mode=delete", "--set", "synchronous=full"];
    let markdown = ["--format", "markdown", "--out", "crashes"];
    laboratory.pragmark(&[&crash[..], &settings, &markdown].concat()).exits(1).says(&[
        "corrupts without a crash",
        "one connection alone",
        "after: ",
        "pragmark crash --set journal_mode=delete",
    ]);
    let trials = laboratory.trials("crashes");
    let what = &trials[0]["outcome"]["measured"]["schedules"]["alone"]["what"];
    assert!(what.as_str().is_some_and(|what| !what.is_empty()), "{trials:?}");
}
