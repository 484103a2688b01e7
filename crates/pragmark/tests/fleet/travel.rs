//! Traces and documents travel to agents that do not have them.

use std::fs;

use crate::objects::{experiment, foreign_agent, kept, run};
use crate::world::{World, world};

/// The folder of the only group.
const FOLDER: &str = "fleet/groups/all-machines";

/// An application that writes and reads in transactions.
const APPLICATION: &str = r#"
import sqlite3
c = sqlite3.connect("app.db", isolation_level=None)
c.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
for i in range(200):
    c.execute("BEGIN")
    c.execute("INSERT INTO t(x) VALUES (?)", (i,))
    c.execute("SELECT count(*) FROM t").fetchall()
    c.execute("COMMIT")
c.close()
"#;

/// Every trial is measured by an agent elsewhere, which got this file.
fn is_measured_elsewhere(world: &World, file: &str) {
    let _agent = foreign_agent(world, &[]);
    let (code, said) = run(world, &[]);
    assert_eq!(code, Some(0), "{said}");
    let trials = world.trials(FOLDER);
    assert!(trials.len() >= 9, "{said}");
    for trial in trials {
        assert!(trial["outcome"]["measured"].is_object(), "{trial}");
        assert_eq!(trial["agent"], "far");
    }
    assert!(kept(world).iter().any(|it| it.ends_with(file)), "{file}");
}

#[test]
fn a_trace_is_replayed_on_an_agent_that_does_not_have_it() {
    let Some(mut world) = world() else { return };
    if !testing::has_python() {
        return;
    }
    fs::write(world.path().join("app.py"), APPLICATION).unwrap();
    let record = ["record", "--out", "app.trace", "--", "python3", "app.py"];
    let recorded = world.pragmark(&record);
    assert_eq!(recorded.status.code(), Some(0), "{}", crate::world::words(&recorded));
    experiment(&world, ("replay", "txns_per_s"), r#"trace = "app.trace""#);
    world.start_server();
    is_measured_elsewhere(&world, "app.trace");
}

#[test]
fn documents_are_indexed_on_an_agent_that_does_not_have_them() {
    let Some(mut world) = world() else { return };
    let path = world.path().join("own.csv");
    let lines = (0..500).map(|it| format!("title {it},the text of document {it}\n"));
    let text: String = ["title,body\n".to_owned()].into_iter().chain(lines).collect();
    fs::write(&path, text).unwrap();
    let base = format!("rows = 500, text_file = \"{}\"", path.display());
    experiment(&world, ("fts-insert", "rows_per_s"), &base);
    world.start_server();
    is_measured_elsewhere(&world, "own.csv");
}
