//! SQLite in a headless Chromium, through the drivers of `drivers/browser`.

use std::process::Command;

use crate::laboratory::Laboratory;

/// One store that survives a kill of the browser, one that does not, and SQLite without a browser.
const SMALL: &str = r#"
id = "small-browser"
question = "Which store?"
workload = "binding-basics"
metric = "ns_per_row.task-statement"
base = { rows = 1000, reads = 50, scans = 5, tasks = 2 }
factors = { driver = ["native", "browser-opfs-pool", "browser-local-storage"] }
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
fn a_store_in_the_browser_does_the_same_work_and_one_that_a_kill_empties_says_so() {
    if !has_browser() {
        testing::skip("this machine has no Chromium, Node.js or npm");
        return;
    }
    let laboratory = Laboratory::new();
    laboratory.write("small.toml", SMALL);
    let drivers = ["browser-opfs-pool", "browser-local-storage"];
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
    let (native, pool) = (measured("native")[0], measured("browser-opfs-pool")[0]);
    assert_eq!(native["checksum"], pool["checksum"]);
    assert_eq!(pool["durability"], "process");
    assert!(pool["metrics"]["start_us"].as_f64().unwrap() > 0.0);
    assert_eq!(pool["connections"][0]["pragmas"]["page_size"], "8192");
    for storage in measured("browser-local-storage") {
        assert_eq!(storage["durability"], "buffered");
    }
    assert!(laboratory.left_over().is_empty());
}
