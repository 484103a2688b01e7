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
            "- Engines differ with `journal_mode=wal locking_mode=normal synchronous=normal` under reorder: ",
            "sound.so: can lose recent transactions",
            "wal-sync-before-checkpoint.so: can corrupt",
        ]);
    let json = laboratory
        .pragmark(&["export", "crashes", "--format", "json"])
        .exits(0)
        .stdout();
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
    laboratory
        .pragmark(&["engine", "show", "./sound.so"])
        .exits(0)
        .says(&["syncs of its own VFS"]);
    let crash = [
        "crash",
        "--engine",
        "./os-sync.so",
        "--engine",
        "./sound.so",
    ];
    let settings = ["--journal-mode", "wal", "--synchronous", "full"];
    let small = [
        "--model",
        "kill,reorder",
        "--images",
        "100",
        "--out",
        "crashes",
    ];
    laboratory
        .pragmark(&[&crash[..], &settings, &small].concat())
        .exits(0)
        .says(&["os-sync.so: its own VFS passes on 0 of", "can corrupt"]);
    let json = laboratory
        .pragmark(&["export", "crashes", "--format", "json"])
        .exits(0)
        .stdout();
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    for variant in json["experiments"][0]["variants"].as_array().unwrap() {
        let label = variant["label"].as_str().unwrap();
        let power = &variant["safety"]["tier"]["power"];
        let is_unsynced = power.get("unsynced").is_some();
        assert_eq!(is_unsynced, label.contains("os-sync"), "{label}: {power}");
    }
}
