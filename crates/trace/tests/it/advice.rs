//! What plans say of recorded programs: advice is true for every recorded value, and for the schema of its time.

use crate::workspace::Workspace;
use pragmark_trace::Trace;
use pragmark_trace::plans::Plans;
use recorder::Options;

/// The plans of a recorded script; nothing where there is no Python with `sqlite3`.
fn plans(script: &str) -> Option<Plans> {
    let workspace = Workspace::new();
    let script = format!(
        "import sqlite3\ndef open(name): return sqlite3.connect(name, isolation_level=None)\n{script}"
    );
    workspace.sealed(&script, &Options::default())?;
    let trace = Trace::open(&workspace.library, &workspace.trace()).unwrap();
    Some(Plans::of(&trace, &workspace.analysis()).unwrap())
}

const INDEXES: &str = r#"
c = open("a.db")
c.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, status, name TEXT COLLATE NOCASE, other)")
c.execute("CREATE INDEX partial ON t(id) WHERE status = 'open'")
c.execute("CREATE INDEX pattern ON t(name)")
c.execute("CREATE INDEX unused ON t(other)")
c.execute("CREATE TABLE away(a)")
c.execute("CREATE INDEX of_away ON away(a)")
c.execute("SELECT id FROM t WHERE status = ?", ("open",)).fetchall()
c.execute("SELECT id FROM t WHERE name LIKE ?", ("x%",)).fetchall()
"#;

#[test]
fn an_index_whose_use_depends_on_values_is_not_called_unused() {
    let Some(plans) = plans(INDEXES) else { return };
    let names: Vec<&str> = plans.unused.iter().map(|it| it.index.as_str()).collect();
    assert_eq!(names, ["unused"]);
}

const MIGRATION: &str = r#"
a = open("a.db")
a.execute("SELECT 1").fetchall()
b = open("a.db")
b.execute("CREATE TABLE new(x)")
a.execute("SELECT x FROM new").fetchall()
b.execute("ALTER TABLE new RENAME COLUMN x TO y")
a.execute("SELECT y FROM new").fetchall()
"#;

#[test]
fn statements_are_planned_with_the_schema_of_their_time_whichever_connection_changed_it() {
    let Some(plans) = plans(MIGRATION) else {
        return;
    };
    assert!(plans.unknown.is_empty(), "{:?}", plans.unknown);
    assert!(plans.plans.contains_key("SELECT x FROM new"));
    assert!(plans.plans.contains_key("SELECT y FROM new"));
}

#[test]
fn current_settings_are_those_of_most_connections_to_files() {
    let workspace = Workspace::new();
    let script = "import sqlite3\nname = 'file:x?mode=memory&cache=shared'\n\
                  open = [sqlite3.connect(name, uri=True) for _ in range(3)] + [sqlite3.connect(':memory:')]\n\
                  for c in open: c.execute('PRAGMA cache_size = -77')\n\
                  for size in (-9, -88): c = sqlite3.connect('a.db'); c.execute(f'PRAGMA cache_size = {size}'); c.close()\n\
                  for c in open: c.close()\n";
    if workspace.sealed(script, &Options::default()).is_none() {
        return;
    }
    let trace = Trace::open(&workspace.library, &workspace.trace()).unwrap();
    let current = trace.most_common_settings_of_files().unwrap();
    let sizes = current.iter().filter(|it| it.name == "cache_size");
    let sizes: Vec<(&str, i64)> = sizes.map(|it| (it.value.as_str(), it.connections)).collect();
    assert_eq!(sizes, [("-88", 1)]);
}

const WRITES: &str = r#"
c = open("a.db")
c.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
c.execute("BEGIN")
c.executemany("INSERT INTO t(x) VALUES (?)", [(n,) for n in range(10)])
c.execute("COMMIT")
c.execute("BEGIN")
c.execute("DELETE FROM t")
c.execute("ROLLBACK")
c.execute("UPDATE t SET x = 'y' WHERE id = ?", (3,))
c.create_function("own", 1, lambda x: x)
c.execute("INSERT INTO t(x) SELECT own(1)")
try: c.execute("INSERT INTO t(id) VALUES (1)")
except sqlite3.IntegrityError: pass
c.execute("CREATE TABLE u(x UNIQUE)")
c.execute("BEGIN")
c.execute("DELETE FROM t")
c.execute("INSERT INTO u VALUES (1)")
try: c.execute("INSERT OR ROLLBACK INTO u VALUES (1)")
except sqlite3.IntegrityError: pass
c.execute("UPDATE t SET x = 'z' WHERE id = ?", (4,))
c.executescript("BEGIN; INSERT INTO u VALUES (2);\n  COMMIT;")
c.execute("BEGIN")
c.execute("SAVEPOINT s")
c.execute("INSERT INTO u VALUES (3)")
c.execute("ROLLBACK TO s")
c.execute("COMMIT")
"#;

#[test]
fn a_database_that_was_empty_grows_by_what_was_committed() {
    let workspace = Workspace::new();
    let script = format!(
        "import sqlite3\ndef open(name): return sqlite3.connect(name, isolation_level=None)\n{WRITES}"
    );
    if workspace.sealed(&script, &Options::default()).is_none() {
        return;
    }
    let trace = Trace::open(&workspace.library, &workspace.trace()).unwrap();
    let name = trace.connections().unwrap()[0].database.clone();
    let grow = |file: &str, seconds: u64| {
        let copy = workspace.trace().with_file_name(file);
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(seconds);
        let grown = trace.grow(&name, &copy, deadline).unwrap();
        let flags = engine::OpenFlags::default();
        let copy = engine::Connection::open(&workspace.library, &copy, flags, None).unwrap();
        (grown, copy)
    };
    let (grown, copy) = grow("grown", 60);
    // Neither what was rolled back on request nor what SQLite itself rolled back after a failure.
    assert_eq!((grown.repeated, grown.left_out, grown.is_partial), (15, 2, false));
    let count = |sql: &str| copy.query_i64(sql).unwrap();
    assert_eq!(count("SELECT count(*) FROM t"), 10);
    assert_eq!(count("SELECT id FROM t WHERE x = 'y'"), 3);
    assert_eq!(count("SELECT x FROM u"), 2);
    let late = grow("late", 0).0;
    assert!(late.is_partial && late.until == 0 && grown.until > 0);
}

/// The last write takes more instructions than a statement of a program that is not trusted may.
const ENDLESS: &str = r#"
c = open("a.db")
c.execute("CREATE TABLE t(x)")
c.execute("INSERT INTO t VALUES (1)")
c.execute("BEGIN")
c.execute("INSERT INTO t VALUES (2)")
c.execute("INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000000) SELECT count(*) FROM n")
c.execute("COMMIT")
"#;

#[test]
fn a_write_that_is_stopped_takes_no_other_with_it() {
    let workspace = Workspace::new();
    let script = format!(
        "import sqlite3\ndef open(name): return sqlite3.connect(name, isolation_level=None)\n{ENDLESS}"
    );
    if workspace.sealed(&script, &Options::default()).is_none() {
        return;
    }
    let trace = Trace::open(&workspace.library, &workspace.trace()).unwrap();
    let name = trace.connections().unwrap()[0].database.clone();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let grown = trace.grow(&name, &workspace.trace().with_file_name("grown"), deadline).unwrap();
    assert_eq!((grown.repeated, grown.left_out), (3, 1));
}
