//! Several factors at once: the effect of each, and recommended settings.

use crate::laboratory::Laboratory;

/// Two PRAGMAs and the rows crossed; sizes differ by the page size alone, and exactly.
const CROSSED: &str = r#"
id = "crossed"
question = "What do page size and journal mode do to the size of the file?"
workload = "bulk-insert"
metric = "db_bytes"
base = { synchronous = "full", busy_timeout = 250 }
conditions = ["rows"]
factors = { page_size = [4096, 65536], journal_mode = ["delete", "wal"], rows = [200, 400] }
[design]
kind = "factorial"
baseline = { page_size = 65536, journal_mode = "delete", rows = 400 }
stopping = { rounds = 3, max_rounds = 3 }
"#;

fn measured() -> Laboratory {
    let laboratory = Laboratory::new();
    laboratory.write("crossed.toml", CROSSED);
    let answer = laboratory.pragmark(&["run", "crossed.toml", "--out", "run"]);
    answer.exits(0).says(&[
        "What each setting does",
        "page_size=4096",
        "Settings to use",
        "PRAGMA page_size = 4096;",
    ]);
    laboratory
}

#[test]
fn the_report_shows_effects_and_prints_settings_to_paste() {
    let laboratory = measured();
    let page = laboratory.read("run/report.html");
    for part in [
        "What each setting does",
        "data-row=\"page_size=4096\"",
        "a condition, no choice",
        "Settings to use",
        "sqlite3.connect(",
    ] {
        assert!(page.contains(part), "{part}");
    }

    laboratory.pragmark(&["settings", "run", "--for", "python"]).exits(0).says(&[
        "# crossed: What do page size",
        "#   PRAGMA page_size = 4096;",
        "connection = sqlite3.connect(\"app.db\", timeout=0.25)",
        "connection.execute(\"PRAGMA synchronous = full\")",
    ]);
    let all = laboratory.pragmark(&["settings", "run"]).exits(0);
    all.says(&["## sqlite3 shell", "## Ruby, Rails", "## Rust, sqlx"]);
}

#[test]
fn the_rows_of_the_baseline_are_no_recommendation() {
    let laboratory = measured();
    let text = laboratory.pragmark(&["settings", "run"]).exits(0).stdout();
    assert!(text.contains("rows=400") && !text.contains("rows=200"), "{text}");
    assert!(!text.contains("PRAGMA rows"), "{text}");
}

#[test]
fn a_misspelt_binding_or_experiment_is_named_with_the_nearest() {
    let laboratory = measured();
    laboratory
        .pragmark(&["settings", "run", "--for", "djnago"])
        .exits(2)
        .complains(&["djnago", "django"]);
    laboratory
        .pragmark(&["settings", "run", "crosed"])
        .exits(2)
        .complains(&["`crosed`", "did you mean `crossed`?"]);
    laboratory.pragmark(&["settings", "nowhere"]).exits(3);
}

#[test]
fn a_run_without_settings_of_sqlite_has_none_to_print() {
    let laboratory = Laboratory::new();
    laboratory.pragmark(&["run", "small.toml", "--out", "run"]).exits(0);
    laboratory
        .pragmark(&["settings", "run"])
        .exits(3)
        .complains(&["no experiment", "pragma-journal-sync"]);
}

#[test]
fn a_condition_that_is_no_factor_is_named_with_the_nearest() {
    let laboratory = Laboratory::new();
    laboratory.write("crossed.toml", &CROSSED.replace("[\"rows\"]", "[\"row\"]"));
    laboratory
        .pragmark(&["run", "crossed.toml"])
        .exits(2)
        .complains(&["crossed.toml:7:", "`row` is not a factor", "`rows`"]);
}
