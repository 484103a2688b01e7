//! Wrong input: named, with the nearest right one, before anything is begun.

use crate::laboratory::{Laboratory, SMALL};

#[test]
fn an_unknown_experiment_is_named_with_the_nearest() {
    let laboratory = Laboratory::new();
    laboratory
        .pragmark(&["run", "index-timming"])
        .exits(2)
        .complains(&["`index-timming`", "`index-timing`"]);
    laboratory
        .pragmark(&["show", "nothing-like-it"])
        .exits(2)
        .complains(&["`nothing-like-it`", "pragmark list"]);
    laboratory.pragmark(&["run", "missing.toml"]).exits(3).complains(&["missing.toml"]);
    laboratory
        .pragmark(&["run", "queries.sql"])
        .exits(2)
        .complains(&["queries.sql is SQL", "pragmark measure queries.sql"]);
    laboratory.pragmark(&["run", "099"]).exits(2).complains(&["`099`", "001"]);
    assert!(!laboratory.path().join("pragmark-runs").exists());
}

#[test]
fn an_unknown_flag_or_command_is_named_with_the_nearest() {
    let laboratory = Laboratory::new();
    laboratory.pragmark(&["run", "--quik"]).exits(2).complains(&["--quik", "--quick"]);
    laboratory.pragmark(&["reprot"]).exits(2).complains(&["reprot", "report"]);
    laboratory
        .pragmark(&["run", "--scale", "tiny"])
        .exits(2)
        .complains(&["tiny", "quick", "paper"]);
    laboratory.pragmark(&["run", "--time-limit", "-3"]).exits(2);
}

#[test]
fn a_misspelt_factor_level_or_pragma_is_named_with_file_and_line() {
    let laboratory = Laboratory::new();
    laboratory
        .write("pragma.toml", &SMALL.replace("synchronous = \"off\"", "synchronos = \"off\""));
    laboratory
        .pragmark(&["run", "pragma.toml", "--out", "run"])
        .exits(2)
        .complains(&["pragma.toml:5:", "`synchronos`", "`synchronous`"]);
    laboratory
        .write("level.toml", &SMALL.replace("synchronous = \"off\"", "journal_mode = \"wall\""));
    laboratory
        .pragmark(&["run", "level.toml", "--out", "run"])
        .exits(2)
        .complains(&["level.toml:5:", "\"wall\"", "`wal`"]);
    laboratory.write(
        "factor.toml",
        &SMALL.replace("of = { rows_per_statement", "of = { row_per_statement"),
    );
    laboratory
        .pragmark(&["run", "factor.toml", "--out", "run"])
        .exits(2)
        .complains(&["factor.toml:14:", "`row_per_statement`", "`rows_per_statement`"]);
    assert!(!laboratory.path().join("run").exists());
}

#[test]
fn a_combination_that_can_never_be_run_is_refused_with_the_reason() {
    let laboratory = Laboratory::new();
    let refused = |settings: &str, parts: &[&str]| {
        let text = format!(
            r#"id = "never"
question = "?"
workload = "user-insert"
base = {{ rows = 10 }}
[factors]
{settings}
[design]
kind = "factorial"
baseline = {{ where = "file", journal_mode = "memory" }}
"#
        );
        laboratory.write("never.toml", &text);
        laboratory.pragmark(&["run", "never.toml", "--out", "run"]).exits(2).complains(parts);
        assert!(!laboratory.path().join("run").exists());
    };
    refused(
        "where = [\"file\", \"memory\"]\njournal_mode = [\"memory\", \"wal\", \"truncate\"]",
        &["never.toml:8:", "`journal_mode=wal where=memory`", "in memory", "`exclude`"],
    );
    refused(
        "where = [\"file\"]\njournal_mode = [\"memory\", \"wal\"]\npage_size = [5_000]",
        &["never.toml:8:", "`page_size` cannot be 5000", "power of two"],
    );
}

#[test]
fn a_directory_that_cannot_be_used_is_named() {
    let laboratory = Laboratory::new();
    laboratory
        .pragmark(&["run", "small.toml", "--dir", "nowhere", "--out", "run"])
        .exits(3)
        .complains(&["nowhere"]);
    laboratory
        .pragmark(&["run", "small.toml", "--dir", "small.toml", "--out", "run"])
        .exits(3)
        .complains(&["small.toml"]);
    laboratory
        .pragmark(&["run", "small.toml", "--dir", "/proc", "--out", "run"])
        .exits(3)
        .complains(&["/proc"]);
    assert!(!laboratory.path().join("run").exists());
}

#[test]
fn an_engine_that_is_not_sqlite_is_refused_before_anything_is_begun() {
    let laboratory = Laboratory::new();
    let refused = |engine: &str, parts: &[&str]| {
        laboratory
            .pragmark(&["run", "small.toml", "--engine", engine, "--out", "run"])
            .exits(3)
            .complains(parts);
        assert!(!laboratory.path().join("run").exists());
    };
    refused("small.toml", &["small.toml"]);
    refused("nowhere.so", &["nowhere.so"]);
    if let Some(libc) = c_library() {
        refused(&libc, &["SQLite"]);
    }
}

/// A shared library that is certainly not SQLite: the C library this test itself has loaded.
fn c_library() -> Option<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines()
        .filter_map(|line| line.split_whitespace().last())
        .find(|path| path.contains("libc.so") || path.contains("libc-"))
        .map(str::to_owned)
}

#[test]
fn a_folder_that_is_no_run_or_is_taken_is_refused() {
    let laboratory = Laboratory::new();
    laboratory.pragmark(&["report", "."]).exits(3).complains(&["run.json"]);
    laboratory.pragmark(&["run", "--resume", "nowhere"]).exits(3).complains(&["nowhere"]);
    laboratory
        .pragmark(&["run", "small.toml", "--out", "."])
        .exits(3)
        .complains(&["not empty", "--out"]);
    assert_eq!(laboratory.read("small.toml"), SMALL);
}

#[test]
fn a_run_at_the_published_sizes_is_judged_and_must_be_confirmed() {
    let laboratory = Laboratory::new();
    let sizes = "scale = { quick = { rows = 1_000 }, paper = { rows = 50_000 } }\nbase = { synchronous = \"off\" }";
    let text = SMALL.replace("base = { rows = 2_000, synchronous = \"off\" }", sizes);
    laboratory.write("sized.toml", &text);
    let run = |more: &[&str]| {
        let arguments = [&["run", "sized.toml", "--scale", "paper", "--out", "run"], more].concat();
        laboratory.pragmark(&arguments)
    };
    run(&[]).exits(2).complains(&["GB of disk", "must be confirmed", "--yes"]);
    assert!(!laboratory.path().join("run").exists());
    assert!(laboratory.left_over().is_empty());
    run(&["--yes"]).exits(0);

    let huge = text.replace("paper = { rows = 50_000 }", "paper = { rows = 900_000_000_000 }");
    laboratory.write("sized.toml", &huge);
    laboratory
        .pragmark(&["run", "sized.toml", "--scale", "paper", "--yes", "--out", "huge"])
        .exits(3)
        .complains(&["too small", "--dir"]);
    assert!(!laboratory.path().join("huge").exists());
}
