//! What is loaded of inputs, under which names, and what becomes of rows whose keys are known.

use super::{dump, files, load_towns, towns, towns_loaded};
use crate::laboratory::Laboratory;

#[test]
fn a_dry_run_says_what_a_load_would_do_and_writes_nothing() {
    let laboratory = towns();
    let options = ["--dry-run", "--primary-key", "id", "--index", "name", "--fts", "name"];
    load_towns(&laboratory, "towns.csv", &options).exits(0).says(&[
        "nothing is written",
        "CREATE TABLE \"towns\" (\"id\" INTEGER PRIMARY KEY, \"name\" TEXT",
        "CREATE INDEX \"towns_name_index\"",
        "CREATE VIRTUAL TABLE \"towns_fts\"",
        "area      REAL     141.06 (towns.csv, row 1)",
        "postcode  TEXT     04020 (towns.csv, row 2)",
        "strategy: pages",
        "2   Linz, Donau",
    ]);
    assert_eq!(files(&laboratory), ["small.toml", "towns.csv"]);
    let laboratory = towns_loaded();
    let before = std::fs::read(laboratory.path().join("towns.db")).unwrap();
    load_towns(&laboratory, "towns.csv", &["--dry-run"]).exits(3).complains(&["--append"]);
    for mode in ["--append", "--replace"] {
        load_towns(&laboratory, "towns.csv", &[mode, "--dry-run"])
            .exits(0)
            .says(&["CREATE TABLE \"towns\"", "Bonn"]);
    }
    load_towns(&laboratory, "towns.csv", &["--append", "--upsert", "id", "--dry-run"])
        .exits(0)
        .says(&["strategy: arrays"]);
    let options = ["--append", "--page-size", "512", "--dry-run"];
    load_towns(&laboratory, "towns.csv", &options)
        .exits(2)
        .complains(&["the database has pages of"]);
    let after = std::fs::read(laboratory.path().join("towns.db")).unwrap();
    assert!(before == after);
}

#[test]
fn rows_with_known_keys_are_ignored_or_update_others() {
    let laboratory = towns();
    load_towns(&laboratory, "towns.csv", &["--primary-key", "id"]).exits(0);
    laboratory.write("more.csv", "people,id\n1,2\n2,7\n3,7\n");
    let all = "SELECT id, name, people FROM towns WHERE id <> 3";
    load_towns(&laboratory, "more.csv", &["--append", "--ignore"])
        .exits(0)
        .says(&["1 row into towns", "2 rows ignored"]);
    assert_eq!(dump(&laboratory, "towns.db", all), "1|Bonn|335789\n2|Linz, Donau|212538\n7|NULL|2");
    load_towns(&laboratory, "more.csv", &["--append", "--upsert", "id", "--check"])
        .exits(0)
        .says(&["3 rows inserted or updated"]);
    assert_eq!(dump(&laboratory, "towns.db", all), "1|Bonn|335789\n2|Linz, Donau|1\n7|NULL|3");
    load_towns(&laboratory, "more.csv", &["--append", "--upsert", "people"])
        .exits(2)
        .complains(&["towns has none of exactly people"]);
    load_towns(&laboratory, "more.csv", &["--append", "--upsert", "name"])
        .exits(2)
        .complains(&["no column name"]);
    let new = ["load", "more.csv", "new.db", "--table", "t", "--unique", "id", "--upsert", "id"];
    laboratory.pragmark(&[&new[..], &["--check", "--analyze"]].concat()).exits(0);
    assert_eq!(dump(&laboratory, "new.db", "SELECT id, people FROM t"), "2|1\n7|3");
    let analyzed = "SELECT count(*) FROM sqlite_stat1 WHERE tbl = 't'";
    assert_eq!(dump(&laboratory, "new.db", analyzed), "1");
}

/// Two files whose columns are in another order, with lines that are no data.
fn logs() -> Laboratory {
    let laboratory = Laboratory::new();
    std::fs::create_dir(laboratory.path().join("logs")).unwrap();
    laboratory.write(
        "logs/1.csv",
        "made by a tool\n# seconds\nTime Spent,user,x\n# none yet\n1.5,ann,1\n",
    );
    laboratory.write("logs/2.csv", "made by a tool\nuser,x,Time Spent\nbob,2,7\n");
    laboratory
}

#[test]
fn a_folder_is_loaded_with_names_of_files_and_columns_that_were_chosen() {
    let laboratory = logs();
    let options = [
        "--table", "log", "--select", "user,Time Spent", "--rename", "Time Spent=seconds",
        "--filename-column", "file", "--skip-lines", "1", "--comment", "#", "--index", "seconds",
    ];
    let all = "SELECT * FROM log ORDER BY file";
    for input in ["logs", "logs/?.csv"] {
        laboratory
            .pragmark(&[&["load", input, "log.db", "--replace"], &options[..]].concat())
            .exits(0)
            .says(&["2 rows into log", "strategy: pages"]);
        assert_eq!(dump(&laboratory, "log.db", all), "ann|1.5|logs/1.csv\nbob|7.0|logs/2.csv");
    }
}

#[test]
fn choices_that_fit_no_file_or_column_of_a_folder_are_refused() {
    let laboratory = logs();
    for (options, complaint) in [
        (["logs/*.json", "--table", "u", "--strict"], "no file matches"),
        (["logs", "--table", "u", "--rename=user=x"], "would have the name x"),
        (["logs", "--table", "u", "--rename=who=x"], "no column `who`"),
        (["logs", "--table", "u", "--select=who"], "no column `who`"),
    ] {
        let options =
            [&["load", options[0], "log.db", "--skip-lines", "1", "--comment", "#"], &options[1..]];
        let answer = laboratory.pragmark(&options.concat());
        answer.complains(&[complaint]);
    }
}
