//! Two runs and their exports.

use super::{compare, shop};
use crate::laboratory::Laboratory;

const RUNS: [&str; 2] = ["before", "after"];

/// A laboratory with a run on the database with an index, and one without.
fn with_runs() -> Laboratory {
    let laboratory = shop();
    for (database, out) in [("app.db", "before"), ("migrated.db", "after")] {
        let work = ["measure", "--db", database, "queries.sql", "--no-tiers", "--out", out];
        let vary = [
            "--vary",
            "cache_size=-2000,-64000",
            "--rounds",
            "5",
            "--set",
            "transactions=60",
            "--set",
            "synchronous=off",
        ];
        laboratory.pragmark(&[&work[..], &vary].concat()).exits(0);
    }
    laboratory
}

/// Exports both runs in a form, each as its name with an ending.
fn export(laboratory: &Laboratory, form: &[&str], ending: &str) {
    for run in RUNS {
        let file = format!("{run}.{ending}");
        let form = if form.contains(&"--format") {
            form.to_vec()
        } else {
            [&["--format", "csv"], form].concat()
        };
        let export = [&["report", run][..], &form, &["--out", &file]].concat();
        laboratory.pragmark(&export).exits(0);
    }
}

/// Whether no block of the runs was dropped because other work disturbed the machine; tables count those, too.
fn counts_all_blocks(laboratory: &Laboratory) -> bool {
    RUNS.iter().all(|run| {
        let export = laboratory.pragmark(&["report", run, "--format", "json"]);
        export.exits(0).json()["experiments"][0]["dropped_blocks"] == 0
    })
}

#[test]
fn two_runs_and_their_exports_differ_in_ratios_and_counters_and_never_in_absolute_times() {
    let laboratory = with_runs();
    laboratory.pragmark(&compare(&RUNS)).exits(0).says(&[
        "same_age now reads users whole",
        "Settings of the baseline that differ",
        "absolute times of two runs are facts and no verdict",
        "preliminary",
    ]);
    let in_json = |sides: &[&str]| {
        let json = [sides, &["--format", "json"]].concat();
        laboratory.pragmark(&compare(&json)).exits(0).json()
    };
    let json = in_json(&RUNS);
    let variants = &json[0]["experiments"][0]["variants"];
    assert!(variants[0]["change"].is_null(), "the baseline has no ratio");
    // A machine that is busy with other work may be too noisy for a ratio.
    let is_compared = variants[1]["change"]["interval"]["low"].as_f64() > Some(0.0);
    assert!(is_compared || variants[1]["incomparable"] == "few_rounds");
    export(&laboratory, &["--format", "json"], "json");
    let of_exports = in_json(&["before.json", "after.json"]);
    assert_eq!(of_exports, json, "exports say the same as their runs");
    export(&laboratory, &["--wide"], "csv");
    let of_tables = in_json(&["before.csv", "after.csv"]);
    let of_tables = &of_tables[0]["experiments"][0]["variants"];
    if counts_all_blocks(&laboratory) {
        assert_eq!(of_tables[1]["change"], variants[1]["change"]);
        assert_eq!(of_tables[1]["base"], variants[1]["base"]);
    }
    laboratory
        .pragmark(&compare(&["before", "after.csv"]))
        .exits(0)
        .says(&["after.csv is a table of trials", "Not known: a table"]);
}

#[test]
fn runs_are_compared_from_the_tables_of_an_export() {
    let laboratory = with_runs();
    let in_json = |sides: &[&str]| {
        let json = [sides, &["--format", "json"]].concat();
        laboratory.pragmark(&compare(&json)).exits(0).json()
    };
    let whole = in_json(&RUNS);
    for (format, out) in [("sqlite", "runs.db"), ("parquet", "tables")] {
        let export = [&["report"], &RUNS[..], &["--format", format, "--out", out]].concat();
        laboratory.pragmark(&export).exits(0);
        let read = in_json(&[out]);
        assert_eq!(read[0]["differences"], whole[0]["differences"], "{format}");
        let [read, whole] = [&read, &whole].map(|it| &it[0]["experiments"][0]["variants"][1]);
        assert_eq!(read["label"], whole["label"], "{format}");
        if counts_all_blocks(&laboratory) {
            assert_eq!(read["change"], whole["change"], "{format}");
            assert_eq!(read["base"], whole["base"], "{format}");
        }
        laboratory.pragmark(&["runs", "history", out]).exits(0).says(&["History of 2 runs"]);
    }
    laboratory
        .pragmark(&compare(&["before", "runs.db"]))
        .exits(0)
        .says(&["is from the tables of an export"]);
}

#[test]
fn what_is_no_run_is_listed_or_refused() {
    let laboratory = with_runs();
    laboratory.write("broken.json", "{}");
    let several = ["before", "broken.json", "after"];
    laboratory.pragmark(&compare(&several)).exits(1).says(&[
        "same_age now reads users whole",
        "What could not be read",
        "broken.json is not a JSON export of a run",
    ]);
    laboratory
        .pragmark(&compare(&["before", "broken.json"]))
        .exits(3)
        .complains(&["--out FILE.json"]);
    export(&laboratory, &["--format", "variants-csv"], "csv");
    laboratory
        .pragmark(&compare(&["before", "after.csv"]))
        .exits(3)
        .complains(&["not a table of trials", "--wide"]);
    laboratory.pragmark(&compare(&["before"])).exits(2).complains(&["BASE NEW"]);
    laboratory.pragmark(&compare(&["before", "queries.sql"])).exits(2);
}
