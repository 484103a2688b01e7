//! What users do every day.

use crate::laboratory::{Laboratory, SMALL_TRIALS};

#[test]
fn an_experiment_is_run_and_reported() {
    let laboratory = Laboratory::new();
    let answer = laboratory.pragmark(&["run", "small.toml", "--out", "run"]).exits(0);
    let answer = answer.says(&[
        "How many rows should one INSERT carry?",
        "small-1",
        "confirmed",
        "run/report.html",
    ]);
    let trials = format!("{SMALL_TRIALS} trials or more");
    answer.complains(&["record: run", &trials, "(3 in the counting pass)", "[1/1] small:"]);

    assert!(laboratory.trials("run").len() >= SMALL_TRIALS);
    let page = laboratory.read("run/report.html");
    assert!(page.contains("small-1") && page.contains("rows_per_statement=10"));
    assert!(laboratory.left_over().is_empty());
}

#[test]
fn a_run_in_the_background_of_a_script_is_stopped_by_the_signal_of_ctrl_c() {
    let laboratory = Laboratory::new();
    // A shell without job control has SIGINT ignored in what it puts into the background.
    let script = "\"$0\" run txn-basics --quick --probe 0 --no-tiers --out run & \
                  while [ ! -s run/outcomes.jsonl ]; do sleep 0.05; done; kill -INT $!; wait $!";
    let ended = std::process::Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_pragmark")])
        .current_dir(laboratory.path())
        .output()
        .unwrap();
    assert_eq!(ended.status.code(), Some(130), "{ended:?}");
    assert!(laboratory.left_over().is_empty());
}

#[test]
fn every_trial_records_engine_and_pragmas_read_back() {
    let laboratory = Laboratory::new();
    laboratory.pragmark(&["run", "small.toml", "--out", "run"]).exits(0);
    for trial in laboratory.trials("run") {
        let measured = &trial["outcome"]["measured"];
        assert!(measured["engine"]["source_id"].as_str().unwrap().len() > 20, "{trial}");
        assert_eq!(measured["connections"][0]["pragmas"]["synchronous"], "off");
        assert!(measured["metrics"]["rows_per_s"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn the_noise_of_the_machine_is_told_and_kept_ahead_of_a_run() {
    let laboratory = Laboratory::new();
    laboratory
        .pragmark(&["run", "small.toml", "--out", "run", "--probe", "0.2"])
        .exits(0)
        .complains(&["noise: 3 rounds will find differences of"]);
    let environment: serde_json::Value =
        serde_json::from_str(&laboratory.read("run/environment.json")).unwrap();
    assert!(environment["noise"]["pairs"].as_u64().unwrap() >= 2);
}

#[test]
fn the_systems_library_is_measured_in_place_of_the_built_in_one() {
    let laboratory = Laboratory::new();
    let answer = laboratory.pragmark(&["run", "small.toml", "--out", "run", "--engine", "system"]);
    if answer.code() == 3 {
        testing::skip(format_args!("this machine has no SQLite library: {}", answer.stderr()));
        return;
    }
    let answer = answer.exits(0);
    let environment: serde_json::Value =
        serde_json::from_str(&laboratory.read("run/environment.json")).unwrap();
    let engine = &environment["engines"][0];
    assert!(engine["path"].as_str().unwrap().contains("sqlite3"), "{engine}");
    assert!(answer.stdout().contains(engine["version"].as_str().unwrap()));
    for trial in laboratory.trials("run") {
        assert_eq!(trial["outcome"]["measured"]["engine"]["source_id"], engine["source_id"]);
    }
}

#[test]
fn the_same_seed_gives_the_same_order() {
    let laboratory = Laboratory::new();
    let order = |out: &str| -> Vec<String> {
        laboratory.pragmark(&["run", "small.toml", "--out", out, "--seed", "7"]).exits(0);
        laboratory
            .trials(out)
            .iter()
            // The three rounds that there are in any case.
            .take(12)
            .map(|trial| format!("{} {}", trial["variant"], trial["role"]))
            .collect()
    };
    assert_eq!(order("a"), order("b"));
}

#[test]
fn reports_and_exports_are_made_again_from_the_record() {
    let laboratory = Laboratory::new();
    laboratory.pragmark(&["run", "small.toml", "--out", "run"]).exits(0);
    laboratory.pragmark(&["report", "run"]).exits(0).says(&["small-1"]);
    laboratory
        .pragmark(&["report", "run", "--format", "markdown"])
        .exits(0)
        .says(&["| ", "small-1"]);
    laboratory.pragmark(&["report", "run", "--format", "html", "--out", "page.html"]).exits(0);
    assert!(laboratory.read("page.html").contains("</html>"));

    let rows = laboratory.pragmark(&["report", "run", "--format", "csv"]).exits(0).stdout();
    assert_eq!(rows.lines().count(), 1 + laboratory.trials("run").len());
    laboratory
        .pragmark(&["report", "run", "--format", "variants-csv"])
        .exits(0)
        .says(&["rows_per_statement=5"]);
    laboratory.pragmark(&["report", "run", "--format", "claims-csv"]).exits(0).says(&["small-1"]);
    let json = laboratory.pragmark(&["report", "run", "--format", "json"]).exits(0).stdout();
    let analysis: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(analysis["experiments"][0]["claims"][0]["verdict"], "confirmed");
}

/// Twenty variants beside the baseline; what is compared is a size, so that the choice is no matter of speed.
const MANY: &str = r#"
id = "many"
question = "Which pages make the smallest database?"
workload = "bulk-insert"
metric = "db_bytes"
base = { rows = 200, synchronous = "off" }
[factors]
page_size = [65536, 512, 1024, 2048, 4096, 8192, 16384, 32768]
rows_per_statement = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]
[design]
kind = "one-at-a-time"
baseline = { page_size = 65536, rows_per_statement = 1 }
stopping = { rounds = 7, max_rounds = 7 }
"#;

#[test]
fn what_is_chosen_from_many_variants_is_measured_again_and_resumed() {
    let laboratory = Laboratory::new();
    laboratory.write("many.toml", MANY);
    laboratory
        .pragmark(&["run", "many.toml", "--out", "run", "--probe", "0"])
        .exits(0)
        .says(&["21 trials in confirmation runs"]);
    laboratory.pragmark(&["report", "run", "--format", "markdown"]).exits(0).says(&[
        "chosen out of 20 variants",
        "(7 rounds), because the rounds that choose the best of many overrate it",
    ]);
    let confirmed = || laboratory.trials_for("confirmation", "run").len();
    // Baseline, A/A check and the best variant in each of seven rounds.
    assert_eq!(confirmed(), 7 * 3);

    let record = laboratory.read("run/outcomes.jsonl");
    let lines: Vec<&str> = record.lines().collect();
    let kept = lines[..lines.len() - 10].join("\n") + "\n";
    laboratory.write("run/outcomes.jsonl", &kept);
    laboratory
        .pragmark(&["run", "--resume", "run"])
        .exits(0)
        .complains(&["the best variants, measured again"]);
    assert!(laboratory.read("run/outcomes.jsonl").starts_with(&kept));
    assert_eq!(confirmed(), 7 * 3);
    assert!(laboratory.left_over().is_empty());
}

#[test]
fn two_directories_are_measured_apart() {
    let laboratory = Laboratory::new();
    std::fs::create_dir(laboratory.path().join("ssd")).unwrap();
    std::fs::create_dir(laboratory.path().join("hdd")).unwrap();
    laboratory
        .pragmark(&["run", "small.toml", "--out", "run", "--dir", "ssd", "--dir", "hdd"])
        .exits(0);
    let trials = laboratory.trials("run");
    let of = |key: &str| trials.iter().filter(|trial| trial["experiment"] == key).count();
    assert!(of("small@1") >= SMALL_TRIALS && of("small@2") >= SMALL_TRIALS);
}

#[test]
fn what_comes_with_pragmark_is_listed_and_shown() {
    let laboratory = Laboratory::new();
    laboratory
        .pragmark(&["list"])
        .exits(0)
        .says(&["txn-basics", "insert-unroll", "index-timing", "pragma-journal-sync"]);
    laboratory
        .pragmark(&["list", "workloads"])
        .exits(0)
        .says(&["bulk-insert", "rows_per_statement"]);
    laboratory
        .pragmark(&["list", "pragmas"])
        .exits(0)
        .says(&["journal_mode", "delete", "wal", "mmap_size"]);
    laboratory.pragmark(&["list", "metrics"]).exits(0).says(&["rows_per_s"]);
    laboratory
        .pragmark(&["show", "index-timing"])
        .exits(0)
        .says(&["ins-31", "index=before", "(baseline)", "at least 2"]);
    laboratory.pragmark(&["--generate", "schema"]).exits(0).says(&["\"$schema\""]);
}

#[test]
fn completions_and_the_manual_page_come_from_the_same_definitions() {
    let laboratory = Laboratory::new();
    for shell in ["bash", "zsh", "fish"] {
        laboratory.pragmark(&["--generate", shell]).exits(0).says(&["pragmark", "COMPLETE"]);
    }
    laboratory
        .pragmark(&["--generate", "man"])
        .exits(0)
        .says(&[".TH", "PRAGMARK RUN", "resume", "Exit codes"]);
}

#[test]
fn a_reader_that_stops_reading_is_no_failure() {
    use std::io::Read;
    let laboratory = Laboratory::new();
    let mut child = laboratory.start(&["list", "pragmas"]);
    let mut first = [0; 10];
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut first).unwrap();
    drop(stdout);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn no_sqlite_is_linked_into_the_program() {
    let symbols =
        match std::process::Command::new("nm").arg(env!("CARGO_BIN_EXE_pragmark")).output() {
            Ok(output) if output.status.success() => {
                String::from_utf8_lossy(&output.stdout).into_owned()
            }
            _ => {
                testing::skip("this test needs nm");
                return;
            }
        };
    assert!(symbols.contains("main"), "the program has symbols to look at");
    let linked: Vec<&str> = symbols.lines().filter(|line| line.contains(" sqlite3_")).collect();
    assert!(linked.is_empty(), "{linked:?}");
}

/// A small permutation study with copies, for two directories.
const PERMUTATION: &str = r#"
id = "permutation"
question = "Which settings record quotes fastest?"
workload = "quotes"
metric = "seconds"
base = { rows = 300, copies = 2, page_size = 8192, synchronous = "normal" }
factors = { journal_mode = ["wal", "truncate"], locking_mode = ["normal", "exclusive"], open_mutex = ["no", "full"] }
[design]
kind = "factorial"
baseline = { journal_mode = "wal", locking_mode = "normal", open_mutex = "no" }
stopping = { rounds = 3, max_rounds = 3 }
[[claims]]
id = "across"
says = "a write-ahead log takes at most a thousand times as long"
ratio = { of = { journal_mode = "wal" }, to = { journal_mode = "truncate" }, across = true }
at_most = 1000
[[claims]]
id = "spread"
says = "the mutex makes no thousandfold difference"
spread = { over = "open_mutex", across = true }
at_most = 1000
[[claims]]
id = "devices"
says = "a hard disk takes at least twice as long as an SSD"
devices = { of = "rotating", to = "solid" }
at_least = 2
"#;

#[test]
fn permutations_are_measured_in_every_directory_and_their_settings_proved_on_every_connection() {
    let laboratory = Laboratory::new();
    laboratory.write("permutation.toml", PERMUTATION);
    for directory in ["one", "two"] {
        std::fs::create_dir(laboratory.path().join(directory)).unwrap();
    }
    laboratory
        .pragmark(&[
            "run", "permutation.toml", "--dir", "one", "--dir", "two", "--probe", "0", "--out",
            "run",
        ])
        .exits(0);
    let outcomes = laboratory.read("run/outcomes.jsonl");
    let mut proved = 0;
    for line in outcomes.lines().skip(1) {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        let variant = record["variant"].as_str().unwrap();
        let connections = record["outcome"]["measured"]["connections"].as_array();
        let connections = connections.unwrap_or_else(|| panic!("measured: {line}"));
        let names: Vec<&str> = connections
            .iter()
            .map(|connection| connection["connection"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["writer", "copy 1", "copy 2"]);
        for connection in connections {
            for setting in variant.split(' ') {
                let (name, level) = setting.split_once('=').unwrap();
                assert_eq!(connection["pragmas"][name], level, "{variant}");
                proved += 1;
            }
            assert_eq!(connection["pragmas"]["page_size"], "8192");
        }
    }
    assert!(proved > 2 * 3 * 8 * 3 * 3, "{proved}");
    let claims =
        laboratory.pragmark(&["report", "run", "--format", "claims-csv", "--wide"]).exits(0);
    claims.says(&[
        "permutation@1",
        "permutation@2",
        "mean over 4 pairs of variants",
        "give `--dir` once for each",
    ]);
}
