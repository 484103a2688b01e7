//! Measuring crashes.

use crate::laboratory::Laboratory;

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
    assert_eq!(left, ["bad.sql", "small.toml"]);
}
