//! Safety tiers beside speeds.

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

fn run() -> Laboratory {
    let laboratory = Laboratory::new();
    laboratory.write("safety.toml", SAFETY);
    laboratory
        .pragmark(&[
            "run",
            "safety.toml",
            "--out",
            "run",
            "--crash-seconds",
            "0.1",
        ])
        .exits(0)
        .says(&["can corrupt"]);
    laboratory
}

#[test]
fn variants_have_their_tiers_and_off_can_corrupt() {
    let laboratory = run();
    assert_eq!(laboratory.trials_for("tier", "run").len(), 2);
    let analysis = laboratory
        .pragmark(&["export", "run", "--format", "json"])
        .exits(0)
        .stdout();
    let analysis: serde_json::Value = serde_json::from_str(&analysis).unwrap();
    let variants = &analysis["experiments"][0]["variants"];
    assert!(
        variants[1]["safety"]["tier"]["can_corrupt"]["bad"].as_u64() > Some(0),
        "{}",
        variants[1]["safety"]["tier"]
    );
    let kill = variants[0]["safety"]["models"][0].clone();
    assert_eq!(kill["model"], "kill");
    assert!(
        kill["tier"]["no_violation"]["images"].as_u64() > Some(0),
        "{kill}"
    );
    let page = laboratory.read("run/report.html");
    assert!(page.contains("Safety by storage model") && page.contains("can corrupt ("));
    assert!(laboratory.left_over().is_empty());
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
fn a_run_resumed_measures_the_tiers_it_lacks_and_no_others() {
    let laboratory = run();
    let sets = || -> Vec<String> {
        let trials = laboratory.trials_for("tier", "run").into_iter();
        trials.map(|trial| trial["variant"].to_string()).collect()
    };
    let both = sets();
    let record = laboratory.read("run/outcomes.jsonl");
    let (kept, _) = record.trim_end().rsplit_once('\n').unwrap();
    // As a kill in the middle of the last line would leave it.
    laboratory.write("run/outcomes.jsonl", &format!("{kept}\n{{\"purpose\":"));
    laboratory
        .pragmark(&["run", "--resume", "run"])
        .exits(0)
        .says(&["can corrupt"]);
    assert!(laboratory.read("run/outcomes.jsonl").starts_with(kept));
    assert_eq!(sets(), both);
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
    let terminal = laboratory
        .pragmark(&["run", "crashes.toml", "--out", "run", "--seed", "1"])
        .exits(0);
    // How quickly crashes are tried compares nothing.
    assert!(!terminal.stdout().contains("to the baseline"));
    terminal.says(&[
        "Of 4 variants, within what SQLite assumes of hardware",
        "storage model",
    ]);
    assert!(laboratory.trials_for("tier", "run").is_empty());
    let markdown = laboratory
        .pragmark(&["report", "run", "--format", "markdown"])
        .exits(0);
    // And it recommends nothing.
    for praise in [
        "to the baseline",
        "times** as",
        "Settings to use",
        "What each setting does",
    ] {
        assert!(!markdown.stdout().contains(praise), "{praise}");
    }
    markdown.says(&[
        "can corrupt: ",
        "<summary>Safety by storage model</summary>",
        "| kill |",
        "pragmark crash --journal-mode delete --synchronous off",
    ]);
}
