//! Analyses that grow while programs run.

use std::process::Command;

use pragmark_trace::Trace;
use pragmark_trace::analysis::StatementUse;
use pragmark_trace::live::Live;
use pragmark_trace::seal::seal;
use recorder::read::{Growing, Recording};
use recorder::{Folder, Options};

use crate::workspace::{Workspace, copy};

/// Two connections of two processes, a statement that another connection has SQLite prepare again, a refused lock.
const PROGRAM: &str = r#"
import os, sqlite3
a = sqlite3.connect("a.db", isolation_level=None, timeout=0)
a.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a)")
b = sqlite3.connect("a.db", isolation_level=None, timeout=0)
for i in range(40): a.execute("INSERT INTO t(a) VALUES (?)", (i,))
a.execute("SELECT * FROM t WHERE a = 7").fetchall()
b.execute("CREATE INDEX i ON t(a)")
a.execute("SELECT * FROM t WHERE a = 7").fetchall()
a.execute("BEGIN IMMEDIATE")
try: b.execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError: pass
a.execute("COMMIT")
b.execute("INSERT INTO t(a) VALUES (1) RETURNING id").fetchone()
if os.fork() == 0:
    c = sqlite3.connect("a.db")
    for i in range(9): c.execute(f"SELECT {i} FROM t WHERE id = {i}").fetchall()
    os._exit(0)
os.wait()
"#;

#[test]
fn an_analysis_that_grew_is_that_of_the_sealed_trace() {
    if !testing::has_python() {
        return;
    }
    let workspace = Workspace::new();
    let folder = Folder::create(&workspace.temp.path().join("recording"), &Options::default());
    let folder = folder.unwrap();
    let mut growing = Growing::open(&folder.raw()).unwrap();
    let mut live = Live::new(Recording::open(&folder.raw()).unwrap().started());
    let mut program = Command::new("python3")
        .args(["-c", PROGRAM])
        .env("LD_PRELOAD", folder.preload(None))
        .current_dir(workspace.temp.path())
        .spawn()
        .unwrap();
    let mut executions = 0;
    loop {
        let has_ended = program.try_wait().unwrap();
        // Reading would give back what is sealed afterwards, so it stops before a chunk is full.
        growing.poll(|seen| live.take(&seen, &mut |_| executions += 1)).unwrap();
        live.settle(&mut |_| executions += 1);
        if let Some(status) = has_ended {
            break assert!(status.success());
        }
    }
    seal(&workspace.library, &folder, &workspace.trace(), &copy).unwrap();
    let sealed = Trace::open(&workspace.library, &workspace.trace()).unwrap().analysed().unwrap();
    let grown = live.analysis();
    assert_eq!((grown.events, grown.commits), (sealed.events, sealed.commits));
    assert_eq!(executions, sealed.events);
    assert_eq!(live.databases().count(), 1);
    let figures = |usage: &StatementUse| {
        let StatementUse { sql, count, rows, changes, vm_steps, scan_steps, failed, .. } =
            usage.clone();
        (sql, count, rows, changes, vm_steps, scan_steps, failed)
    };
    let sorted = |statements: &[StatementUse]| {
        let mut all: Vec<_> = statements.iter().map(figures).collect();
        all.sort();
        all
    };
    assert_eq!(sorted(&grown.statements), sorted(&sealed.statements));
    let codes = |analysis: &pragmark_trace::analysis::Analysis| -> Vec<_> {
        analysis.failures.iter().map(|failure| (failure.code, failure.count)).collect()
    };
    assert_eq!(codes(&grown), codes(&sealed));
}
