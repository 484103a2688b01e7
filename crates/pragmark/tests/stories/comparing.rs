//! A user compares two sides of the same work by what is counted.

use std::process::Command;
use std::sync::Arc;

use engine::{Connection, Library, OpenFlags, Source};
use serde_json::Value;

use crate::laboratory::Laboratory;

/// A laboratory with a database of users, the same without an index, and a file of queries.
fn shop() -> Laboratory {
    let laboratory = Laboratory::new();
    let library = Arc::new(Library::load(&Source::Embedded).unwrap());
    for (name, index) in [
        ("app.db", "CREATE INDEX by_age ON users(age)"),
        ("migrated.db", ""),
    ] {
        let path = laboratory.path().join(name);
        let connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
        connection
            .execute(&format!("CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT, age INTEGER); INSERT INTO users SELECT value, 'user ' || value, value % 90 FROM (WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 2000) SELECT value FROM n); {index}"))
            .unwrap();
        connection.close().unwrap();
    }
    laboratory.write(
        "queries.sql",
        "-- name: find_user\nSELECT * FROM users WHERE id = :id;\n-- name: same_age\nSELECT name FROM users WHERE age = :age ORDER BY name;\n-- name: touch\nUPDATE users SET age = age + 1 WHERE id = :id;\n",
    );
    laboratory
}

fn compare<'a>(more: &[&'a str]) -> Vec<&'a str> {
    ["compare"].iter().chain(more).copied().collect()
}

/// The statement of this name in the comparison as JSON.
fn statement(json: &Value, name: &str) -> Value {
    let all = json[0]["statements"].as_array().unwrap();
    all.iter().find(|it| it["name"] == name).unwrap().clone()
}

#[test]
fn a_dropped_index_is_named_with_its_statement_and_both_plans_and_nothing_is_left_behind() {
    let laboratory = shop();
    let sides = ["queries.sql", "--db", "app.db", "--db", "migrated.db"];
    let before = std::fs::read(laboratory.path().join("app.db")).unwrap();
    laboratory.pragmark(&compare(&sides)).exits(0).says(&[
        "same_age",
        "now SCAN users",
        "SEARCH users USING INDEX by_age (age=?)",
        "need less work: touch",
    ]);
    let json = laboratory.pragmark(&compare(&[&sides[..], &["--format", "json"]].concat()));
    let json = json.exits(0).json();
    let same_age = statement(&json, "same_age");
    assert_eq!(same_age["plan"]["scans"][0], "users");
    assert_eq!(same_age["answer"], "same");
    let scan_steps = same_age["figures"].as_array().unwrap();
    let scan_steps = scan_steps.iter().find(|it| it["metric"] == "scan_steps");
    assert_eq!(scan_steps.unwrap()["new"]["exact"], 1_999.0);
    assert!(statement(&json, "find_user")["plan"].is_null());
    let after = std::fs::read(laboratory.path().join("app.db")).unwrap();
    assert_eq!(before, after);
    assert!(laboratory.left_over().is_empty());
}

#[test]
fn settings_are_compared_by_syncs_and_bytes() {
    let laboratory = shop();
    let vary = [
        "queries.sql",
        "--db",
        "app.db",
        "--vary",
        "journal_mode=delete,wal",
    ];
    let answer = laboratory.pragmark(&compare(&[&vary[..], &["--format", "markdown"]].concat()));
    answer.exits(0).says(&[
        "3 of 3 statements have the same plan",
        "| Syncs | 40 | 12 | ▲ ×0.3 |",
    ]);
}

#[test]
fn two_libraries_are_compared_on_recorded_traffic() {
    let laboratory = Laboratory::new();
    if !Command::new("python3")
        .args(["-c", "import sqlite3"])
        .output()
        .is_ok_and(|it| it.status.success())
    {
        return testing::skip("there is no Python with sqlite3 here");
    }
    laboratory.write(
        "app.py",
        "import sqlite3\nc = sqlite3.connect('a.db', isolation_level=None)\nc.execute('CREATE TABLE t(a, b)')\nfor i in range(50): c.execute('INSERT INTO t VALUES (?, ?)', (i, i % 7))\nfor i in range(9): c.execute('SELECT a FROM t WHERE b = ? ORDER BY a', (i,)).fetchall()\n",
    );
    laboratory
        .pragmark(&["record", "--out", "app.trace", "--", "python3", "app.py"])
        .exits(0);
    let engines = ["app.trace", "--engine", "system", "--engine", "default"];
    let json = laboratory.pragmark(&compare(&[&engines[..], &["--format", "json"]].concat()));
    let json = json.exits(0).json();
    assert_eq!(json[0]["only_base"].as_array().unwrap().len(), 0);
    let select = statement(&json, "select_t");
    assert!(select["plan"].is_null(), "{select}");
    assert_eq!(select["answer"], "same");
    let executions = &select["figures"][0];
    assert_eq!(
        (&executions["metric"], &executions["new"]["exact"]),
        (&"executions".into(), &9.0.into())
    );
}

#[test]
fn a_side_that_cannot_be_measured_says_why() {
    let laboratory = shop();
    let sql = "SELECT count(*) FROM users";
    let dbs = ["-c", sql, "--db", "app.db", "--db", "queries.sql"];
    laboratory
        .pragmark(&compare(&dbs))
        .exits(1)
        .says(&["cannot use the database", "A side could not be measured"]);
}

#[test]
fn one_side_or_two_traces_are_refused_with_what_to_do() {
    let laboratory = shop();
    let one = laboratory
        .pragmark(&compare(&["queries.sql", "--db", "app.db"]))
        .exits(2);
    one.complains(&["nothing to compare", "--engine system"]);
    let unknown = laboratory.pragmark(&compare(&[
        "queries.sql",
        "--engine",
        "9.9.9",
        "--engine",
        "default",
    ]));
    unknown.exits(2).complains(&["9.9.9"]);
    laboratory
        .pragmark(&compare(&["app.db", "migrated.db"]))
        .exits(2)
        .complains(&["two traces"]);
}

#[test]
fn two_runs_differ_in_ratios_and_counters_and_never_in_absolute_times() {
    let laboratory = shop();
    for (database, out) in [("app.db", "before"), ("migrated.db", "after")] {
        let vary = [
            "--vary",
            "cache_size=-2000,-64000",
            "--rounds",
            "3",
            "--set",
            "transactions=60",
        ];
        let work = [
            "measure",
            "--db",
            database,
            "queries.sql",
            "--no-tiers",
            "--out",
            out,
        ];
        laboratory.pragmark(&[&work[..], &vary].concat()).exits(0);
    }
    let runs = ["before", "after"];
    let answer = laboratory.pragmark(&compare(&runs)).exits(0);
    answer.says(&[
        "same_age now reads users whole",
        "Settings of the baseline that differ",
        "absolute times of two runs are facts and no verdict",
        "preliminary",
    ]);
    let json = laboratory.pragmark(&compare(&[&runs[..], &["--format", "json"]].concat()));
    let json = json.exits(0).json();
    let variants = &json[0]["experiments"][0]["variants"];
    assert!(variants[0]["change"].is_null(), "the baseline has no ratio");
    assert!(variants[1]["change"]["interval"]["low"].as_f64().unwrap() > 0.0);
    for run in runs {
        let export = ["export", run, "--format", "json", "--out"];
        let file = format!("{run}.json");
        laboratory
            .pragmark(&[&export[..], &[&file]].concat())
            .exits(0);
    }
    let of_exports = ["before.json", "after.json", "--format", "json"];
    let of_exports = laboratory.pragmark(&compare(&of_exports)).exits(0).json();
    assert_eq!(of_exports, json, "exports say the same as their runs");
    laboratory.write("broken.json", "{}");
    let several = ["before", "broken.json", "after.json"];
    laboratory.pragmark(&compare(&several)).exits(1).says(&[
        "same_age now reads users whole",
        "What could not be read",
        "broken.json is no JSON export of a run",
    ]);
    laboratory
        .pragmark(&compare(&["before", "broken.json"]))
        .exits(3)
        .complains(&["--format json"]);
    laboratory
        .pragmark(&compare(&["before"]))
        .exits(2)
        .complains(&["BASE NEW"]);
    laboratory
        .pragmark(&compare(&["before", "queries.sql"]))
        .exits(2);
}

#[test]
fn the_history_of_many_runs_names_the_runs_around_a_change_in_seconds() {
    let laboratory = shop();
    let work = [
        "measure",
        "--db",
        "app.db",
        "queries.sql",
        "--no-tiers",
        "--rounds",
        "2",
    ];
    let short = ["--set", "transactions=20", "--out", "history/run-000"];
    laboratory.pragmark(&[&work[..], &short].concat()).exits(0);
    let folder = laboratory.path().join("history");
    let read = |name: &str| std::fs::read_to_string(folder.join("run-000").join(name)).unwrap();
    let [plan, outcomes, environment] =
        ["run.json", "outcomes.jsonl", "environment.json"].map(read);
    let id: Value = serde_json::from_str(&plan).unwrap();
    let (id, created) = (id["id"].as_str().unwrap(), id["created"].as_str().unwrap());
    let rate = |trial: &str| {
        serde_json::from_str::<Value>(trial).unwrap()["outcome"]["measured"]["metrics"]["txns_per_s"].clone()
    };
    for number in 1..60_u32 {
        let own = folder.join(format!("run-{number:03}"));
        std::fs::create_dir(&own).unwrap();
        // Made-up rates with a little noise, and half of them from the fortieth run on.
        let level = if number < 40 { 1_000.0 } else { 500.0 };
        let made_up = level + f64::from(number * 37 % 11);
        let trials = outcomes.lines().map(|line| match rate(line) {
            Value::Number(was) => line.replace(
                &format!("\"txns_per_s\":{was}"),
                &format!("\"txns_per_s\":{made_up}"),
            ),
            _ => line.to_owned(),
        });
        let trials: Vec<String> = trials
            .map(|line| line.replace(id, &format!("run-{number:03}")))
            .collect();
        std::fs::write(own.join("outcomes.jsonl"), trials.join("\n") + "\n").unwrap();
        let later = format!("2099-01-01T00:{number:02}:00.000Z");
        let text = plan
            .replace(id, &format!("run-{number:03}"))
            .replace(created, &later);
        std::fs::write(own.join("run.json"), text).unwrap();
        std::fs::write(own.join("environment.json"), &environment).unwrap();
    }
    std::fs::create_dir(folder.join("broken")).unwrap();
    std::fs::write(folder.join("broken/run.json"), "{").unwrap();
    let answer = laboratory.pragmark(&["history", "history"]).exits(0);
    answer.says(&[
        "History of 60 runs",
        "between run-039 and run-040",
        "What could not be read",
    ]);
    let page = [
        "history",
        "history",
        "--format",
        "html",
        "--out",
        "history.html",
    ];
    laboratory.pragmark(&page).exits(0);
    let page = laboratory.read("history.html");
    assert!(page.contains("<a href=\"#run-run-040\">run-040</a>"));
    assert!(page.contains("id=\"run-run-040\""));
    // One chart for each series, of one path for all dots.
    assert_eq!(page.matches("class=\"curve course\"").count(), 1);
    assert_eq!(page.matches("class=\"dots\"").count(), 1);
    assert_eq!(page.matches("class=\"change\"").count(), 1);
    std::fs::create_dir(laboratory.path().join("exports")).unwrap();
    let runs = ["export", "history/run-000", "history/run-007", "--format"];
    let database = [&runs[..], &["sqlite", "--out", "runs.db"]].concat();
    laboratory.pragmark(&database).exits(0);
    laboratory
        .pragmark(&database)
        .exits(3)
        .complains(&["exists"]);
    let library = Arc::new(Library::load(&Source::Embedded).unwrap());
    let path = laboratory.path().join("runs.db");
    let connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
    let count = |sql: &str| connection.query_i64(sql).unwrap();
    assert_eq!(count("SELECT count(*) FROM run"), 2);
    let trials = outcomes.lines().count() as i64 - 1;
    assert_eq!(count("SELECT count(*) FROM trial"), 2 * trials);
    let made_up = "SELECT CAST(max(value) AS INTEGER) FROM figure JOIN trial USING (run, trial) WHERE run = 'run-007' AND metric = 'txns_per_s' AND role = 'baseline'";
    assert_eq!(count(made_up), 1_000 + 7 * 37 % 11);
    assert_eq!(
        count(
            "SELECT count(*) FROM environment WHERE name = 'engine of the run' AND value = 'default'"
        ),
        2
    );
    let median = "SELECT CAST(median AS INTEGER) FROM estimate WHERE run = 'run-007' AND metric = 'txns_per_s'";
    assert_eq!(count(median), count(made_up));
    laboratory
        .pragmark(&[&runs[..], &["parquet", "--out", "tables"]].concat())
        .exits(0);
    let tables = std::fs::read_dir(laboratory.path().join("tables")).unwrap();
    assert_eq!(tables.count(), 7);
    let rows = [
        "load",
        "tables/trial.parquet",
        "loaded.db",
        "--table",
        "trial",
    ];
    laboratory.pragmark(&rows).exits(0);
    laboratory
        .pragmark(&["export", "history/run-000", "--format", "parquet"])
        .exits(2)
        .complains(&["--out"]);
    let export = ["export", "history/run-007", "--format", "json", "--out"];
    laboratory
        .pragmark(&[&export[..], &["exports/a.json"]].concat())
        .exits(0);
    laboratory
        .pragmark(&["history", "exports"])
        .exits(0)
        .says(&["History of 1 runs", "run-007"]);
    std::fs::create_dir(laboratory.path().join("empty")).unwrap();
    laboratory
        .pragmark(&["history", "empty"])
        .exits(3)
        .complains(&["no run below"]);
}
