//! A user measures SQL of their own on a database of their own.

use std::sync::Arc;

use engine::{Connection, Library, OpenFlags, Source};

use crate::laboratory::Laboratory;

/// A laboratory with a database of users and a file of queries.
fn shop() -> Laboratory {
    let laboratory = Laboratory::new();
    let library = Arc::new(Library::load(&Source::Embedded).unwrap());
    let path = laboratory.path().join("app.db");
    let connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
    connection
        .execute("CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT, age INTEGER); INSERT INTO users SELECT value, 'user ' || value, value % 90 FROM (WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 200) SELECT value FROM n)")
        .unwrap();
    connection.close().unwrap();
    laboratory.write(
        "queries.sql",
        "-- name: find_user\nSELECT * FROM users WHERE id = :id;\n-- name: same_age\nSELECT name FROM users WHERE age = :age;\n",
    );
    laboratory
}

const SHORT: [&str; 6] = ["--rounds", "2", "--set", "transactions=200", "--out", "run"];

fn measure<'a>(more: &[&'a str]) -> Vec<&'a str> {
    ["measure"].iter().chain(more).chain(&SHORT).copied().collect()
}

#[test]
fn a_run_that_measures_nothing_leaves_no_folder_and_says_what_is_missing() {
    let laboratory = shop();
    let answer = laboratory.pragmark(&measure(&["-c", "SELECT * FROM users"]));
    answer.exits(2).complains(&["no such table: users", "without --db FILE the database is empty"]);
    assert!(!laboratory.path().join("run").exists());
}

#[test]
fn a_run_goes_on_from_another_directory_with_the_paths_that_it_began_with() {
    let laboratory = shop();
    laboratory.write(
        "mine.toml",
        r#"id = "mine"
question = "Which journal mode?"
workload = "sql"
metric = "txns_per_s"
base = { database = "app.db", scripts = "queries.sql", transactions = 50 }
[factors]
journal_mode = ["delete", "wal"]
[design]
kind = "one-at-a-time"
baseline = { journal_mode = "delete" }
stopping = { rounds = 2, max_rounds = 2 }
"#,
    );
    let run = ["run", "mine.toml", "--out", "run"];
    laboratory.pragmark(&run).exits(0);
    let before = laboratory.trials("run").len();
    let outcomes = laboratory.read("run/outcomes.jsonl");
    let lines: Vec<&str> = outcomes.lines().collect();
    let cut = lines[..lines.len() - 2].join("\n") + "\n";
    laboratory.write("run/outcomes.jsonl", &cut);
    std::fs::create_dir(laboratory.path().join("elsewhere")).unwrap();
    laboratory.pragmark_in("elsewhere", &["run", "--resume", "../run"]).exits(0);
    let trials = laboratory.trials("run");
    let measured = trials.iter().filter(|it| !it["outcome"]["measured"].is_null());
    assert_eq!((measured.count(), trials.len()), (before, before));
}

#[test]
fn statements_are_measured_with_several_settings_and_the_database_stays_as_it_is() {
    let laboratory = shop();
    let before = std::fs::read(laboratory.path().join("app.db")).unwrap();
    let vary = ["--db", "app.db", "queries.sql", "--vary", "cache_size=-2000,-64000"];
    let answer = laboratory.pragmark(&measure(&vary)).exits(0);
    answer.says(&["find_user", "same_age", "cache_size", "SCAN users", "They are equal"]);
    for trial in laboratory.trials("run") {
        let measured = &trial["outcome"]["measured"];
        assert_eq!(measured["metrics"]["rows_per_call.find_user"], 1.0, "{trial}");
        let is_timed = trial["role"] != "counting";
        assert_eq!(measured["asked"].is_string(), is_timed, "{trial}");
    }
    assert_eq!(std::fs::read(laboratory.path().join("app.db")).unwrap(), before);
    assert!(laboratory.left_over().is_empty());
}

#[test]
fn a_run_that_was_made_on_the_command_line_is_repeated_from_its_folder() {
    let laboratory = shop();
    let measured = measure(&["--db", "app.db", "queries.sql"]);
    laboratory.pragmark(&measured).exits(0);
    for trial in laboratory.trials("run") {
        let asked = &trial["outcome"]["measured"]["asked"];
        assert!(asked.is_null(), "nothing to compare answers with: {trial}");
    }
    laboratory
        .pragmark(&["run", "--repeat", "run", "--out", "again"])
        .exits(0)
        .says(&["find_user", "same_age"]);
    let plan = |run: &str| -> serde_json::Value {
        serde_json::from_str(&laboratory.read(&format!("{run}/run.json"))).unwrap()
    };
    let [first, again] = ["run", "again"].map(plan);
    assert_eq!(first["seed"], again["seed"]);
    assert_eq!(first["experiments"], again["experiments"]);
    assert_ne!(first["id"], again["id"]);
    assert_eq!(laboratory.trials("run").len(), laboratory.trials("again").len());
}

#[test]
fn other_statements_name_the_command_that_compares_their_answers() {
    let laboratory = shop();
    laboratory.write("old.sql", "SELECT count(*) FROM users");
    laboratory.write("new.sql", "SELECT count(*) + 1 FROM users");
    let answer = laboratory.pragmark(&measure(&["--db", "app.db", "old.sql", "new.sql"])).exits(0);
    answer.says(&["answers were not compared", "pragmark compare --db"]);
    let compared = ["compare", "--db", "app.db", "old.sql", "new.sql", "--out", "c.md"];
    laboratory.pragmark(&compared).exits(0);
    let words = "with other content";
    assert!(laboratory.read("c.md").contains(words), "{}", laboratory.read("c.md"));
}

#[test]
fn a_setting_that_changes_an_answer_fails_unless_sql_leaves_it_open() {
    let laboratory = shop();
    let sql = "SELECT 'user' LIKE 'USER', name FROM users ORDER BY id LIMIT 1";
    let vary = ["--db", "app.db", "-c", sql, "--vary", "case_sensitive_like=false,true"];
    let answer = laboratory.pragmark(&measure(&vary)).exits(1);
    answer.says(&[
        "because the other variant answers differently",
        "differs from the baseline's",
        "with case_sensitive_like=true: 1 row changed.",
    ]);
    let laboratory = shop();
    let sql = "SELECT name FROM users LIMIT 1";
    let vary = ["--db", "app.db", "-c", sql, "--vary", "reverse_unordered_selects=false,true"];
    let answer = laboratory.pragmark(&measure(&vary)).exits(0);
    answer.says(&["open in SQL: name"]);
}

#[test]
fn an_index_is_tried_by_one_option_and_sql_with_commas_is_one_value() {
    let laboratory = shop();
    let query = ["--db", "app.db", "-c", "SELECT name FROM users WHERE age = :age ORDER BY name"];
    let index = [&query[..], &["--index", "users(age, name)"]].concat();
    laboratory.pragmark(&measure(&index)).exits(0).says(&[
        "without a new index",
        "index users(age, name)",
        "SEARCH users USING COVERING INDEX new_users_age_name",
    ]);
    let vary = ["--vary", "schema_change=,CREATE INDEX u ON users(age, name)", "--out", "again"];
    let vary = [&["measure"], &query[..], &SHORT[..4], &vary].concat();
    laboratory.pragmark(&vary).exits(0).says(&["USING COVERING INDEX u"]);
    for (index, why) in [("users", "names no columns"), ("users(agee)", "no such column: agee")] {
        let wrong = [&query[..], &["--index", index]].concat();
        laboratory.pragmark(&measure(&wrong)).exits(2).complains(&[why]);
    }
}

#[test]
fn statements_are_compared_with_one_another_unless_something_else_is() {
    let laboratory = shop();
    let both =
        ["--db", "app.db", "-c", "SELECT count(*) FROM users WHERE age = 7", "-c", "SELECT 7"];
    let json = |out: &str| -> Vec<String> {
        let plan: serde_json::Value =
            serde_json::from_str(&laboratory.read(&format!("{out}/run.json"))).unwrap();
        let variants = plan["experiments"][0]["variants"].as_array().unwrap().iter();
        variants.map(|variant| variant["name"].as_str().unwrap().to_owned()).collect()
    };
    laboratory.pragmark(&measure(&both)).exits(0).says(&["SELECT 7", "select_users"]);
    assert_eq!(json("run"), ["SELECT count(*) FROM users WHERE age = 7", "SELECT 7"]);
    let index =
        [&["measure"], &both[..], &SHORT[..4], &["--index", "users(age)", "--out", "again"]];
    laboratory.pragmark(&index.concat()).exits(0).says(&["select_users", "select "]);
    assert_eq!(json("again"), ["without a new index", "index users(age)"]);
}

#[test]
fn an_index_may_name_a_column_that_is_in_the_write_ahead_log_only() {
    let laboratory = shop();
    let library = Arc::new(Library::load(&Source::Embedded).unwrap());
    let path = laboratory.path().join("app.db");
    let open = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
    open.execute("PRAGMA journal_mode = wal; ALTER TABLE users ADD COLUMN later").unwrap();
    let query = ["--db", "app.db", "-c", "SELECT name FROM users WHERE later = 1"];
    let index = [&query[..], &["--index", "users(later)"]].concat();
    laboratory.pragmark(&measure(&index)).exits(0).says(&["index users(later)"]);
    drop(open);
}

#[test]
fn the_same_is_written_as_an_experiment_that_runs() {
    let laboratory = shop();
    let write = [
        "measure", "--db", "app.db", "queries.sql", "--rounds", "2", "--seconds", "10ms",
        "--write", "my.toml",
    ];
    laboratory.pragmark(&write).exits(0).complains(&["`pragmark run my.toml` measures it"]);
    laboratory.pragmark(&write).exits(3).complains(&["my.toml exists"]);
    laboratory
        .pragmark(&["run", "my.toml", "--probe", "0", "--out", "run"])
        .exits(0)
        .says(&["same_age"]);
}

#[test]
fn mistakes_are_named_before_anything_is_measured() {
    let laboratory = shop();
    laboratory.write("bad.sql", "SELECT 1;\n\\sett x 1\n");
    laboratory.write("empty.db", "");
    for (arguments, code, words) in [
        (&["--db", "app.db", "bad.sql"][..], 2, "bad.sql:2: unknown meta command \\sett"),
        (&["--db", "app.db", "-c", "SELECT 1", "--vary", "jurnal_mode=wal,off"], 2, "journal_mode"),
        (&["--db", "app.db", "-c", "SELECT 1", "--vary", "cache_size"], 2, "lacks values"),
        (&["--db", "app.db"], 2, "nothing to measure"),
        (&["--db", "no.db", "-c", "SELECT 1"], 3, "cannot read no.db"),
        (&["--db", "empty.db", "-c", "SELECT 1"], 3, "the file is empty"),
        (&["--db", "app.db", "-c", "SELEC 1"], 2, "sql:1: near \"SELEC\": syntax error"),
        (&["--db", "app.db", "-c", "SELECT :nothing"], 2, "the parameter :nothing has no value"),
        (&["--db", "app.db", "-c", "SELECT", "*", "FROM", "users"], 2, "whole statement in quotes"),
        (&["--db", "app.db", "users.csv"], 2, "pragmark load users.csv"),
        (&["--db", "app.db", "-c", "SELECT 1", "--set", "cache_size=64MB"], 2, "cache_size=-65536"),
    ] {
        laboratory.pragmark(&measure(arguments)).exits(code).complains(&[words]);
        let _ = std::fs::remove_dir_all(laboratory.path().join("run"));
    }
}

/// Tiers of a run, by variant: what is lost in a power cut.
fn tiers(laboratory: &Laboratory, more: &[&str]) -> String {
    let options = [&["--db", "app.db", "--out", "run"], more].concat();
    let short = ["--rounds", "2", "--set", "transactions=20"];
    let _ = std::fs::remove_dir_all(laboratory.path().join("run"));
    let options = [&["measure"], &options[..], &short].concat();
    laboratory.pragmark(&options).exits(0);
    let report = ["report", "run", "--format", "json"];
    let json = laboratory.pragmark(&report).exits(0).stdout();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let variants = &json["experiments"][0]["variants"];
    let power = |it: &serde_json::Value| it["safety"]["tier"]["power"].to_string();
    variants.as_array().unwrap().iter().map(power).collect()
}

/// A speed next to a tier that it does not have would be worse than none.
#[test]
fn a_tier_is_that_of_the_settings_in_force_or_it_is_said_why_there_is_none() {
    let laboratory = shop();
    laboratory.write("plain.sql", "UPDATE users SET age = 1 WHERE id = :id;\n");
    let vary = ["--vary", "synchronous=normal,full"];
    let delete = tiers(&laboratory, &[&["plain.sql"], &vary[..]].concat());
    assert!(delete.contains("\"corrupt\":") && !delete.contains("why"), "{delete}");
    laboratory
        .write("off.sql", "PRAGMA synchronous = OFF;\nUPDATE users SET age = 1 WHERE id = 5;\n");
    let modes = ["--vary", "journal_mode=delete,wal"];
    let off = tiers(&laboratory, &[&["off.sql"], &modes[..]].concat());
    assert!(off.contains("sets synchronous"), "{off}");
    laboratory.write(
        "attach.sql",
        "\\set id 1\nATTACH ':memory:' AS other;\nUPDATE users SET age = 1;\nDETACH other;\n",
    );
    let attached = tiers(&laboratory, &[&["attach.sql"], &modes[..]].concat());
    assert!(attached.contains("attaches a database"), "{attached}");
    // The journal mode of the database is not named by any option.
    let library = Arc::new(Library::load(&Source::Embedded).unwrap());
    let path = laboratory.path().join("app.db");
    let connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
    connection.execute("PRAGMA journal_mode = wal").unwrap();
    connection.close().unwrap();
    let wal = tiers(&laboratory, &[&["plain.sql"], &vary[..]].concat());
    assert!(!wal.contains("why") && wal != delete, "{wal}");
    laboratory.write(
        "mine.toml",
        "id = \"mine\"\nquestion = \"?\"\nworkload = \"sql\"\nmetric = \"txns_per_s\"\nbase = { database = \"app.db\", scripts = \"plain.sql\", transactions = 20 }\nfactors = { synchronous = [\"normal\", \"full\"] }\ndesign = { kind = \"one-at-a-time\", baseline = { synchronous = \"full\" }, stopping = { rounds = 2, max_rounds = 2 } }\n",
    );
    laboratory
        .and_tiers()
        .pragmark(&["run", "mine.toml", "--out", "tiers"])
        .exits(0)
        .says(&["journal_mode was wal on a connection"]);
}

#[test]
fn transactions_over_a_latency_limit_are_counted_and_tries_limited() {
    let laboratory = shop();
    let options =
        ["--db", "app.db", "queries.sql", "--set", "latency_limit_us=1", "--set", "max_retries=2"];
    let over = "Transactions over the latency limit";
    laboratory.pragmark(&measure(&options)).exits(0).says(&[over]);
    for trial in laboratory.trials("run") {
        let measured = &trial["outcome"]["measured"];
        let percent = measured["metrics"]["over_limit_percent"].as_f64().unwrap();
        assert!((1.0..=100.0).contains(&percent), "{trial}");
    }
    let written = ["measure", "--db", "app.db", "queries.sql", "--set", "max_retries=2", "--write"];
    let toml = laboratory.pragmark(&written).exits(0).stdout();
    assert!(toml.contains("max_retries = 2"), "{toml}");
}

#[test]
fn an_unknown_meta_command_is_named_with_file_and_line() {
    let laboratory = shop();
    laboratory.write("meta.sql", "\\set id 1\n\\frobnicate id\nSELECT :id;\n");
    laboratory
        .pragmark(&measure(&["--db", "app.db", "meta.sql"]))
        .exits(2)
        .complains(&["meta.sql:2", "frobnicate"]);
}

#[test]
fn a_database_where_sql_is_expected_and_a_file_that_is_not_there_are_named_as_such() {
    let laboratory = shop();
    laboratory
        .pragmark(&["measure", "app.db", "queries.sql"])
        .exits(2)
        .complains(&["app.db is a SQLite database", "--db app.db"]);
    laboratory
        .pragmark(&["tune", "absent.trace"])
        .exits(3)
        .complains(&["absent.trace", "No such file"]);
}
