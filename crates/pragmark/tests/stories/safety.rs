//! Safety tiers of runs.

use serde_json::Value;

use crate::laboratory::Laboratory;

/// Two settings, as far apart in safety as settings are.
const SAFETY: &str = r#"
id = "safety"
question = "What do a journal and syncs cost?"
workload = "bulk-insert"
metric = "txns_per_s"
base = { rows = 300, rows_per_txn = 10 }
factors = { journal_mode = ["delete", "off"], synchronous = ["full", "off"] }
[design]
kind = "list"
baseline = { journal_mode = "delete", synchronous = "full" }
variants = [{ journal_mode = "off", synchronous = "off" }]
stopping = { rounds = 3, max_rounds = 3 }
"#;

/// One set of durability settings, with an engine that is not the built-in one.
const OTHER_ENGINE: &str = r#"
id = "other"
question = "How many rows should a transaction have?"
workload = "bulk-insert"
base = { rows = 300, journal_mode = "off", synchronous = "off" }
factors = { rows_per_txn = [10, 100] }
design = { kind = "one-at-a-time", baseline = { rows_per_txn = 10 }, stopping = { rounds = 3, max_rounds = 3 } }
"#;

/// What the progress says where tiers are measured.
const MEASURED: &str = "Safety tiers: what can crashes destroy";

fn export(laboratory: &Laboratory, run: &str) -> Value {
    let export = laboratory.pragmark(&["report", run, "--format", "json"]);
    serde_json::from_str(&export.exits(0).stdout()).unwrap()
}

fn variants(analysis: &Value) -> &Vec<Value> {
    let variants = &analysis["experiments"][0]["variants"];
    variants.as_array().unwrap()
}

#[test]
fn variants_have_their_tiers_and_those_of_the_built_in_engine_are_known() {
    let laboratory = Laboratory::with_tiers();
    laboratory.write("safety.toml", SAFETY);
    let answer = laboratory.pragmark(&["run", "safety.toml", "--out", "run"]);
    let answer = answer.exits(0).says(&["can corrupt"]);
    assert!(!answer.stderr().contains(MEASURED));
    assert!(laboratory.trials_for("tier", "run").is_empty());
    let analysis = export(&laboratory, "run");
    let known = analysis["plan"]["tiers"]["known"].as_array().unwrap();
    assert!(known.iter().all(|tier| tier["origin"] == "program") && known.len() == 2);
    let models = &variants(&analysis)[0]["safety"]["models"];
    assert!(models.as_array().unwrap().len() > 5, "{models}");
    let page = laboratory.read("run/report.html");
    assert!(page.contains("Safety by storage model") && page.contains("can corrupt"));
    assert!(page.contains("2 safety tiers supplied with pragmark"));
    assert!(laboratory.left_over().is_empty());
}

#[test]
fn tiers_of_another_engine_are_measured_once_in_full_or_not_at_all() {
    let laboratory = Laboratory::with_tiers();
    let mutants = proofs::Mutants::new().unwrap();
    let engine = mutants.write(None, laboratory.path()).unwrap();
    laboratory.write("other.toml", OTHER_ENGINE);
    let run = |out: &str, more: &[&str]| {
        let engine = engine.to_str().unwrap();
        let named = ["run", "other.toml", "--engine", engine, "--out", out];
        laboratory.pragmark(&[&named[..], more].concat()).exits(0)
    };
    let measured = |run: &str| laboratory.trials_for("tier", run).len();
    let safety = |run: &str| variants(&export(&laboratory, run))[0]["safety"].clone();

    let page = |run: &str| laboratory.read(&format!("{run}/report.html"));
    run("hurried", &["--time-limit", "2s"]);
    assert!(page("hurried").contains("no time left: it takes about"));
    assert!(!laboratory.path().join("cache/tiers").exists());

    run("first", &["--seed", "1"]);
    assert_eq!(measured("first"), 1);
    let again = run("second", &["--seed", "2"]);
    assert!(!again.stderr().contains(MEASURED));
    assert_eq!(measured("second"), 0);
    assert!(page("second").contains("1 safety tier from earlier runs"));
    assert_eq!(safety("second"), safety("first"));

    // As a kill in the middle of the last line would leave it.
    let found = safety("first");
    let record = laboratory.read("first/outcomes.jsonl");
    let (kept, _) = record.trim_end().rsplit_once('\n').unwrap();
    laboratory.write("first/outcomes.jsonl", &format!("{kept}\n{{\"purpose\":"));
    let resumed = laboratory.pragmark(&["run", "--resume", "first"]);
    resumed.exits(0);
    assert_eq!(measured("first"), 1);
    assert_eq!(safety("first"), found, "measured again, with the same result");
}

#[test]
fn tiers_that_are_left_out_are_said_to_be_not_measured() {
    let laboratory = Laboratory::new();
    laboratory.write("safety.toml", SAFETY);
    laboratory
        .pragmark(&["run", "safety.toml", "--out", "run"])
        .exits(0)
        .says(&["No safety tier was measured"]);
    assert!(laboratory.trials_for("tier", "run").is_empty());
}

#[test]
fn an_experiment_that_tries_crashes_shows_what_was_found_under_each_model() {
    let laboratory = Laboratory::new();
    laboratory.write(
        "crashes.toml",
        r#"
id = "crashes"
question = "What can a crash destroy?"
workload = "crash"
metric = "images_per_s"
base = { images = 40, journal_mode = "delete" }
factors = { synchronous = ["full", "off"], locking_mode = ["normal", "exclusive"] }
[design]
kind = "factorial"
baseline = { synchronous = "full", locking_mode = "normal" }
stopping = { rounds = 2, max_rounds = 2 }
"#,
    );
    let terminal =
        laboratory.pragmark(&["run", "crashes.toml", "--out", "run", "--seed", "1"]).exits(0);
    // How quickly crashes are tried compares nothing.
    assert!(!terminal.stdout().contains("to the baseline"));
    terminal.says(&["if the hardware does what SQLite assumes: nothing", "storage model"]);
    assert!(laboratory.trials_for("tier", "run").is_empty());
    let markdown = laboratory.pragmark(&["report", "run", "--format", "markdown"]).exits(0);
    // And it recommends nothing.
    for praise in ["to the baseline", "times** as", "Settings to use", "What each setting does"] {
        assert!(!markdown.stdout().contains(praise), "{praise}");
    }
    markdown.says(&[
        "can corrupt (2 of 4 variants)",
        "<summary>Safety by storage model</summary>",
        "| kill |",
        "pragmark crash --set journal_mode=delete --set synchronous=off",
    ]);
}
