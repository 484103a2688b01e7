//! The history of many runs, and their export as tables.

use std::path::PathBuf;
use std::sync::Arc;

use engine::{Connection, Library, OpenFlags, Source};
use serde_json::Value;

use super::shop;
use crate::laboratory::Laboratory;

/// A laboratory with a short run in the folder `history/run-000`.
fn with_a_run() -> Laboratory {
    let laboratory = shop();
    let work = ["measure", "--db", "app.db", "queries.sql", "--no-tiers"];
    let short = ["--rounds", "2", "--set", "transactions=20"];
    let out = ["--out", "history/run-000"];
    let command = [&work[..], &short, &out].concat();
    laboratory.pragmark(&command).exits(0);
    laboratory
}

/// The rate of the run of this number where it is made up: with a little noise, and half as large from the fortieth run on.
fn made_up_rate(number: u32) -> u32 {
    let level = if number < 40 { 1_000 } else { 500 };
    level + number * 37 % 11
}

/// The first run once more under another number, a day later, with made-up rates.
fn add_run(laboratory: &Laboratory, number: u32) {
    let history = laboratory.path().join("history");
    let read = |name: &str| std::fs::read_to_string(history.join("run-000").join(name)).unwrap();
    let [plan, trials, environment] = ["run.json", "outcomes.jsonl", "environment.json"].map(read);
    let planned: Value = serde_json::from_str(&plan).unwrap();
    let was = |name: &str| planned[name].as_str().unwrap();
    let name = format!("run-{number:03}");
    let own: PathBuf = history.join(&name);
    std::fs::create_dir(&own).unwrap();
    let later = format!("2099-01-01T00:{number:02}:00.000Z");
    let plan = plan.replace(was("id"), &name).replace(was("created"), &later);
    let trials = trials.lines().map(|line| with_rate(line, made_up_rate(number)));
    let trials = trials.map(|line| line.replace(was("id"), &name) + "\n");
    std::fs::write(own.join("run.json"), plan).unwrap();
    std::fs::write(own.join("outcomes.jsonl"), trials.collect::<String>()).unwrap();
    std::fs::write(own.join("environment.json"), environment).unwrap();
}

/// The line of a trial with another rate, where it has one.
fn with_rate(line: &str, rate: u32) -> String {
    let mut trial: Value = serde_json::from_str(line).unwrap();
    let metrics = trial.pointer_mut("/outcome/measured/metrics");
    if let Some(known) = metrics.and_then(|it| it.get_mut("txns_per_s")) {
        *known = f64::from(rate).into();
    }
    trial.to_string()
}

#[test]
fn the_history_of_many_runs_names_the_runs_around_a_change() {
    let laboratory = with_a_run();
    (1..60).for_each(|number| add_run(&laboratory, number));
    std::fs::create_dir(laboratory.path().join("history/broken")).unwrap();
    laboratory.write("history/broken/run.json", "{");
    laboratory.pragmark(&["runs", "history", "history"]).exits(0).says(&[
        "History of 60 runs",
        "between run-039 and run-040",
        "What could not be read",
    ]);
    let page = ["--format", "html", "--out", "history.html"];
    laboratory.pragmark(&[&["runs", "history", "history"][..], &page].concat()).exits(0);
    let page = laboratory.read("history.html");
    assert!(page.contains("<a href=\"#run-run-040\">run-040</a>"));
    assert!(page.contains("id=\"run-run-040\""));
    // One chart for each series, of one path for all dots.
    for class in ["curve course", "dots", "change"] {
        let class = format!("class=\"{class}\"");
        assert_eq!(page.matches(&class).count(), 1, "{class}");
    }
}

#[test]
fn a_history_is_read_from_exports_and_an_empty_folder_has_none() {
    let laboratory = with_a_run();
    add_run(&laboratory, 7);
    std::fs::create_dir(laboratory.path().join("exports")).unwrap();
    let export = ["report", "history/run-007", "--format", "json", "--out"];
    laboratory.pragmark(&[&export[..], &["exports/a.json"]].concat()).exits(0);
    laboratory
        .pragmark(&["runs", "history", "exports"])
        .exits(0)
        .says(&["History of 1 runs", "run-007"]);
    // In its folder and in an export, next to the record of a fleet and what is no export.
    laboratory.write("history/fleet.json", "{}");
    std::fs::copy(
        laboratory.path().join("exports/a.json"),
        laboratory.path().join("history/a.json"),
    )
    .unwrap();
    let all = laboratory.pragmark(&["runs", "history", "history"]).exits(0);
    let all = all.says(&["History of 2 runs"]);
    assert!(!all.stdout().contains("could not be read"));
    std::fs::create_dir(laboratory.path().join("empty")).unwrap();
    laboratory.pragmark(&["runs", "history", "empty"]).exits(3).complains(&["no run below"]);
}

const BOTH: [&str; 4] = ["report", "history/run-000", "history/run-007", "--format"];

#[test]
fn runs_are_exported_into_one_database() {
    let laboratory = with_a_run();
    add_run(&laboratory, 7);
    let database = [&BOTH[..], &["sqlite", "--out", "runs.db"]].concat();
    laboratory.pragmark(&database).exits(0);
    laboratory.pragmark(&database).exits(3).complains(&["exists"]);
    let library = Arc::new(Library::load(&Source::Embedded).unwrap());
    let path = laboratory.path().join("runs.db");
    let connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
    let count = |sql: &str| connection.query_i64(sql).unwrap();
    assert_eq!(count("SELECT count(*) FROM run"), 2);
    let trials = laboratory.read("history/run-000/outcomes.jsonl");
    let trials = trials.lines().count() as i64 - 1;
    assert_eq!(count("SELECT count(*) FROM trial"), 2 * trials);
    let rate = i64::from(made_up_rate(7));
    let largest = "SELECT CAST(max(value) AS INTEGER) FROM figure JOIN trial USING (run, trial) WHERE run = 'run-007' AND metric = 'txns_per_s' AND role = 'baseline'";
    assert_eq!(count(largest), rate);
    let median = "SELECT CAST(median AS INTEGER) FROM estimate WHERE run = 'run-007' AND metric = 'txns_per_s'";
    assert_eq!(count(median), rate);
    let engines =
        "SELECT count(*) FROM environment WHERE name = 'engine of the run' AND value = 'default'";
    assert_eq!(count(engines), 2);
}

#[test]
fn runs_are_exported_as_parquet_files_that_load() {
    let laboratory = with_a_run();
    add_run(&laboratory, 7);
    laboratory.pragmark(&[&BOTH[..], &["parquet", "--out", "tables"]].concat()).exits(0);
    let tables = std::fs::read_dir(laboratory.path().join("tables")).unwrap();
    assert_eq!(tables.count(), 7);
    let file = ["load", "tables/trial.parquet", "loaded.db"];
    laboratory.pragmark(&[&file[..], &["--table", "trial"]].concat()).exits(0);
    laboratory
        .pragmark(&["report", "history/run-000", "--format", "parquet"])
        .exits(2)
        .complains(&["--out"]);
}
