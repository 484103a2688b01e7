//! SQLite in a headless Chromium, through the drivers of `drivers/browser`.

use std::process::Command;

use crate::laboratory::Laboratory;

/// One store that survives a kill of the browser, one in memory, and SQLite without a browser.
const SMALL: &str = r#"
id = "small-browser"
question = "Which store?"
workload = "binding-basics"
metric = "ns_per_row.task-statement"
base = { rows = 1000, reads = 50, scans = 5, tasks = 2 }
factors = { driver = ["native", "browser-opfs-pool", "browser-memory"] }
[design]
kind = "one-at-a-time"
baseline = { driver = "native" }
stopping = { rounds = 2, max_rounds = 2 }
"#;

/// Whether this machine has what the drivers need.
fn has_browser() -> bool {
    let answers = |program: &str| Command::new(program).arg("--version").output();
    let found = ["node", "npm", "chromium"].map(|program| answers(program).is_ok());
    found == [true; 3]
}

#[test]
fn a_store_in_the_browser_does_the_same_work_and_one_in_memory_says_that_nothing_outlives_it() {
    if !has_browser() {
        testing::skip("this machine has no Chromium, Node.js or npm");
        return;
    }
    let laboratory = Laboratory::new();
    laboratory.write("small.toml", SMALL);
    let drivers = ["browser-opfs-pool", "browser-memory"];
    laboratory.pragmark(&[&["driver", "install"][..], &drivers].concat()).exits(0);
    laboratory.pragmark(&["run", "small.toml", "--out", "run"]).exits(0);

    let trials = laboratory.trials("run");
    let measured = |driver: &str| {
        let variant = format!("driver={driver}");
        let own = trials.iter().filter(|trial| trial["variant"] == variant.as_str());
        let measured: Vec<_> =
            own.map(|trial| &trial["outcome"]["measured"]).filter(|all| !all.is_null()).collect();
        assert!(!measured.is_empty(), "{driver} was not measured: {trials:?}");
        measured
    };
    let [native, pool, memory] =
        ["native", "browser-opfs-pool", "browser-memory"].map(|driver| measured(driver)[0]);
    assert_eq!(native["checksum"], pool["checksum"]);
    assert_eq!(native["checksum"], memory["checksum"]);
    assert_eq!(memory["durability"], "nothing");
    assert_eq!(pool["durability"], "process");
    assert!(pool["metrics"]["start_us"].as_f64().unwrap() > 0.0);
    assert_eq!(pool["connections"][0]["pragmas"]["page_size"], "8192");
    assert!(laboratory.left_over().is_empty());
}

#[test]
fn a_kill_that_takes_acknowledged_commits_decides_the_class_of_a_store() {
    let driver = concat!(env!("CARGO_MANIFEST_DIR"), "/../../drivers/browser/durability.js");
    let classes = |found: &str| {
        let script = format!(
            "const {{ durability }} = require({driver:?}); console.log(durability({found}))"
        );
        Command::new("node").args(["-e", &script]).output()
    };
    for (found, class) in [
        ("{ isWhole: true, entries: 5, integrity: 'ok' }, 5, 'delete'", "process\n"),
        ("{ isWhole: true, entries: 6, integrity: 'ok' }, 5, 'wal'", "process\n"),
        ("{ isWhole: true, entries: 4, integrity: 'ok' }, 5, 'delete'", "buffered\n"),
        ("{ isWhole: false, entries: 5, integrity: 'ok' }, 5, 'delete'", "buffered\n"),
        ("{ isWhole: true, entries: 5, integrity: 'ok' }, 5, 'memory'", "torn\n"),
    ] {
        let Ok(output) = classes(found) else {
            return testing::skip("this machine has no Node.js");
        };
        assert_eq!(String::from_utf8_lossy(&output.stdout), class, "{found}");
    }
    let damaged = classes("{ isWhole: true, entries: 5, integrity: 'row 3 missing' }, 5, 'wal'");
    assert!(!damaged.unwrap().status.success());
}
