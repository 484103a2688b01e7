//! Recordings of real programs, sealed: the trace can be queried, and says the same as the program did.

use std::path::Path;

use crate::workspace::{Workspace, copy};
use engine::{Connection, OpenFlags, Value};
use pragmark_trace::plans::Plans;
use pragmark_trace::seal::seal;
use pragmark_trace::{FORMAT, Trace, TraceError, Values, content};
use recorder::{Folder, Options};

const APPLICATION: &str = r#"
import sqlite3
c = sqlite3.connect("a.db", isolation_level=None)
c.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b)")
c.execute("BEGIN")
for i in range(20): c.execute("INSERT INTO t(a, b) VALUES (?, ?)", (i, "x" * 100))
c.execute("COMMIT")
for i in range(30): c.execute("SELECT a FROM t WHERE id = ?", (i,)).fetchall()
c.execute("SELECT a, 'it''s' FROM t WHERE a = 7").fetchall()
c.execute("SELECT a, 'other' FROM t WHERE a = 8").fetchall()
c.execute("INSERT INTO t(a, b) VALUES (?, ?)", (1.5, b"\x00\xff"))
try: c.execute("INSERT INTO t(id) VALUES (1)")
except sqlite3.IntegrityError: pass
c.close()
"#;

#[test]
fn a_trace_can_be_queried() {
    let workspace = Workspace::new();
    let Some(sealed) = workspace.sealed(APPLICATION, &Options::default()) else {
        return;
    };
    assert_eq!((sealed.connections, sealed.processes, sealed.unreadable), (1, 1, 0));
    let insert = "FROM event JOIN statement ON statement.id = event.statement WHERE sql LIKE 'INSERT INTO t(a%'";
    assert_eq!(workspace.text(&format!("SELECT count(*), sum(changes) {insert}")), "21 21");
    assert_eq!(
        workspace.text(&format!("SELECT \"values\" {insert} ORDER BY event.id DESC LIMIT 1")),
        r#"[1.5,{"hex":"00ff"}]"#
    );
    // Long values are stored once.
    assert_eq!(
        workspace.text("SELECT count(*), length(content), typeof(content) FROM blob"),
        "1 100 text"
    );
    assert_eq!(
        workspace.text(
            "SELECT group_concat(ticket) FROM (SELECT ticket FROM event WHERE ticket ORDER BY id)"
        ),
        "1,2,3"
    );
    assert_eq!(workspace.text("SELECT result FROM event WHERE result <> 0"), "1555");
    assert_eq!(workspace.text("SELECT state FROM snapshot"), "empty");
    assert_eq!(workspace.text("PRAGMA integrity_check"), "ok");
}

#[test]
fn the_analysis_says_what_the_application_did() {
    let workspace = Workspace::new();
    let Some(_) = workspace.sealed(APPLICATION, &Options::default()) else {
        return;
    };
    let analysis = workspace.analysis();
    let of = |sql: &str| analysis.statements.iter().find(|it| it.sql == sql).unwrap().clone();
    let reads = of("SELECT a FROM t WHERE id = ?");
    assert_eq!(
        (reads.count, reads.runs.count, reads.runs.times, reads.rows, reads.scan_steps),
        (30, 1, 30, 20, 0)
    );
    let scans = of("SELECT a, ? FROM t WHERE a = ?");
    assert_eq!((scans.count, scans.rows, scans.scan_steps), (2, 2, 38));
    assert_eq!((analysis.commits, analysis.autocommit_writes, analysis.transactions), (3, 2, 1));
    let [failure] = &analysis.failures[..] else { panic!("{:?}", analysis.failures) };
    assert_eq!((failure.code, failure.count), (1555, 1));
    assert_eq!(failure.sql, "INSERT INTO t(id) VALUES (?)");
    assert_eq!(analysis.read_before_write, Some(0));
    assert_eq!(analysis.unfinished, 0);
}

/// A reader keeps the log from being reset while others commit; a table without foreign keys, and one with them.
const PINNED: &str = r#"
import sqlite3, sys, time
a, b = [sqlite3.connect("a.db", isolation_level=None) for i in range(2)]
a.execute("PRAGMA journal_mode = WAL").fetchall()
a.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, b {REFERENCES})")
b.execute("PRAGMA foreign_keys = ON")
b.execute("BEGIN"); b.execute("SELECT count(*) FROM t").fetchall()
for i in range(30): a.execute("INSERT INTO t(b) VALUES (NULL)")
time.sleep(1.05)
b.execute("COMMIT"); b.close(); a.close()
"#;

#[test]
fn a_reader_that_pins_the_log_is_named_and_foreign_keys_are_known() {
    for (references, has_keys) in [("REFERENCES t", true), ("", false)] {
        let workspace = Workspace::new();
        let program = PINNED.replace("{REFERENCES}", references);
        let Some(_) = workspace.sealed(&program, &Options::default()) else { return };
        let analysis = workspace.analysis();
        let [pin] = &analysis.pins[..] else { panic!("{:?}", analysis.pins) };
        assert_eq!((pin.sql.as_str(), pin.commits), ("SELECT count(*) FROM t", 30));
        assert!(pin.held_us > 1_000_000 && pin.log_bytes > Some(30 * 4096), "{pin:?}");
        assert_eq!(analysis.unprotected.len(), 1);
        let trace = Trace::open(&workspace.library, &workspace.trace()).unwrap();
        let plans = Plans::of(&trace, &analysis).unwrap();
        assert_eq!(plans.without_foreign_keys.is_empty(), has_keys);
    }
}

/// A connection that changes the schema before each statement of another one: reads, writes, a write in a transaction,
/// one that fails for a constraint, and one whose table is gone.
const CHANGES_SCHEMA: &str = r#"
import sqlite3
a, b = [sqlite3.connect("a.db", isolation_level=None) for i in range(2)]
a.execute("CREATE TABLE t(id INTEGER PRIMARY KEY)")
a.execute("CREATE TABLE gone(id)")
a.execute("INSERT INTO t VALUES (1), (2), (3)")
n = 0
def change():
    global n; n += 1
    a.execute(f"CREATE TABLE x{n}(a)")
def run(*arguments):
    change()
    return b.execute(*arguments).fetchall()
for i in range(5): assert len(run("SELECT * FROM t")) == 3
for i in range(4): run("INSERT INTO t VALUES (?)", (10 + i,))
b.execute("SELECT id FROM gone").fetchall()
for i in range(70):
    change()
    b.execute("BEGIN"); b.execute("INSERT INTO t VALUES (?)", (100 + i,)); b.execute("COMMIT")
change()
try: b.execute("INSERT INTO t VALUES (?)", (1,))
except sqlite3.IntegrityError: pass
a.execute("DROP TABLE gone")
try: b.execute("SELECT id FROM gone").fetchall()
except sqlite3.OperationalError: pass
assert len(run("SELECT * FROM t")) == 77
"#;

#[test]
fn a_statement_that_sqlite_prepares_again_is_one_execution() {
    let workspace = Workspace::new();
    let Some(_) = workspace.sealed(CHANGES_SCHEMA, &Options::default()) else {
        return;
    };
    let of = |sql: &str| {
        let results = format!(
            "SELECT group_concat(what, ' ') FROM (SELECT count(*) || '×' || result || ':' || rows || ':' || changes AS what \
             FROM event JOIN statement ON statement.id = event.statement WHERE sql = '{sql}' \
             GROUP BY result, rows, changes ORDER BY min(event.id))"
        );
        workspace.text(&results)
    };
    assert_eq!(of("SELECT * FROM t"), "5×0:3:0 1×0:77:0");
    assert_eq!(of("INSERT INTO t VALUES (?)"), "74×0:0:1 1×1555:0:0");
    assert_eq!(of("SELECT id FROM gone"), "1×0:0:0 1×17:0:0", "it could not be prepared again");
    let tickets =
        "SELECT count(*), count(DISTINCT ticket), max(ticket) FROM event WHERE ticket > 0";
    assert_eq!(workspace.text(tickets), "159 159 159");
}

/// Inserts of which the application reads the first of two rows only, outside of and within a transaction.
const STOPS_EARLY: &str = r#"
import sqlite3
c = sqlite3.connect("a.db", isolation_level=None)
c.execute("CREATE TABLE t(id INTEGER PRIMARY KEY)")
def insert():
    cursor = c.execute("INSERT INTO t VALUES (NULL), (NULL) RETURNING id")
    cursor.fetchone()
    cursor.close()
insert()
c.execute("BEGIN"); insert(); c.execute("COMMIT")
insert()
c.close()
"#;

#[test]
fn what_a_statement_changed_and_committed_when_it_was_reset_is_its_own() {
    let workspace = Workspace::new();
    let Some(_) = workspace.sealed(STOPS_EARLY, &Options::default()) else {
        return;
    };
    let all = "SELECT substr(sql, 1, 6) || ':' || changes || ':' || ifnull(ticket, '–') \
               FROM event JOIN statement ON statement.id = event.statement ORDER BY event.id";
    assert_eq!(
        workspace.text(all),
        "CREATE:0:1 INSERT:2:2 BEGIN:0:– INSERT:2:– COMMIT:0:3 INSERT:2:4"
    );
}

/// Inserts of which the application reads the first of two rows only, while it reads another table; then one during which the
/// application sets a callback, so that its end is not seen, and that runs again.
const STOPS_WITHIN: &str = r#"
import sqlite3
c = sqlite3.connect("a.db", isolation_level=None)
c.execute("CREATE TABLE s(id INTEGER PRIMARY KEY)")
c.execute("CREATE TABLE t(id INTEGER PRIMARY KEY)")
c.execute("INSERT INTO s VALUES (1), (2)")
def insert(within=None):
    cursor = c.execute("INSERT INTO t VALUES (NULL), (NULL) RETURNING id")
    cursor.fetchone()
    if within: c.set_trace_callback(within)
    cursor.close()
for row in c.execute("SELECT id FROM s"): insert()
insert(lambda sql: None)
insert()
c.close()
"#;

#[test]
fn what_a_statement_changed_and_committed_is_its_own_if_others_are_open_or_its_end_is_not_seen() {
    let workspace = Workspace::new();
    let Some(_) = workspace.sealed(STOPS_WITHIN, &Options::default()) else {
        return;
    };
    let all = "SELECT substr(sql, 1, 6) || ':' || changes || ':' || ifnull(ticket, '–') \
               FROM event JOIN statement ON statement.id = event.statement \
               WHERE sql NOT LIKE 'CREATE%' ORDER BY event.id";
    assert_eq!(
        workspace.text(all),
        "INSERT:2:3 SELECT:0:– INSERT:2:4 INSERT:2:5 INSERT:2:6 INSERT:2:7"
    );
}

/// A path with four databases one after the other: two new ones, one that another program made, and one that was written
/// under another name; then a file that is deleted.
const RECREATES: &str = r#"
import os, sqlite3, subprocess
def write(name, rows):
    c = sqlite3.connect(name, isolation_level=None)
    c.execute("CREATE TABLE t(a)")
    for row in range(rows): c.execute("INSERT INTO t VALUES (?)", (row,))
    return c
for rows in (1, 2):
    write("a.db", rows).close()
    os.remove("a.db")
subprocess.run(["env", "-u", "LD_PRELOAD", "python3", "-c", """
import sqlite3
c = sqlite3.connect("made.db")
c.execute("CREATE TABLE t(a)")
c.execute("INSERT INTO t VALUES (1), (2), (3)")
c.commit()
"""], check=True)
os.rename("made.db", "a.db")
old = sqlite3.connect("a.db")
assert old.execute("SELECT count(*) FROM t").fetchone() == (3,)
write("new.db", 4).close()
os.rename("new.db", "a.db")
assert sqlite3.connect("a.db").execute("SELECT count(*) FROM t").fetchone() == (4,)
assert old.execute("SELECT count(*) FROM t").fetchone() == (3,)
memory = sqlite3.connect(":memory:")
memory.execute("ATTACH 'gone.db' AS g")
memory.execute("CREATE TABLE g.t(a)")
memory.close()
os.remove("gone.db")
"#;

#[test]
fn a_path_has_several_databases_one_after_the_other_and_a_file_several_paths() {
    let workspace = Workspace::new();
    let Some(_) = workspace.sealed(RECREATES, &Options::default()) else {
        return;
    };
    let folder = workspace.temp.path().canonicalize().unwrap();
    let text = |sql: &str| workspace.text(sql).replace(&format!("{}/", folder.display()), "");
    assert_eq!(
        text("SELECT quote(database) FROM connection ORDER BY id"),
        "'a.db' 'a.db (2)' 'a.db (3)' 'new.db' 'new.db' ''"
    );
    assert_eq!(
        text("SELECT database, state FROM snapshot ORDER BY 1"),
        "a.db empty a.db (2) empty a.db (3) taken gone.db empty new.db empty"
    );
    assert_eq!(text("SELECT database, rows FROM end_state WHERE name = 't'"), "new.db 4");
    let gone = "its file was deleted or replaced before recording ended";
    let unknown = "SELECT group_concat(database) FROM end_state WHERE problem = ";
    assert_eq!(text(&format!("{unknown}'{gone}'")), "a.db,a.db (2),a.db (3),gone.db");
}

#[test]
fn a_redacted_trace_contains_no_text() {
    let workspace = Workspace::new();
    let options = Options { values: recorder::Values::Hashed, ..Options::default() };
    let script = "import sqlite3\nc = sqlite3.connect('a.db')\nc.execute('SELECT ?', ('secret',))\n\
                  c.execute(\"SELECT 'ab''c', x'00'\")\nc.execute('SELECT ?, ?', (\"ab'c\", b'z'))\nc.close()\n";
    let Some(_) = workspace.sealed(script, &options) else {
        return;
    };
    let bytes = std::fs::read(workspace.trace()).unwrap();
    assert!(!bytes.windows(6).any(|window| window == b"secret"));
    assert_eq!(workspace.text("SELECT arguments FROM process"), "[]");
    assert!(workspace.text("SELECT \"values\" FROM event").contains("text_hash"));
    let orders = "SELECT group_concat(\"values\" ->> '$[0].order') FROM event";
    assert_eq!(workspace.text(orders), "2,1", "secret and ab'c");
    let of_blob = "SELECT \"values\" ->> '$[1].order' FROM event WHERE id = 3";
    assert_eq!(workspace.text(of_blob), "4", "after another blob and all texts");
    let hash = workspace.text("SELECT \"values\" ->> '$[0].text_hash' FROM event WHERE id = 3");
    let sql = workspace.text("SELECT sql FROM statement WHERE id = 2");
    assert!(sql.starts_with(&format!("SELECT '#{hash}:4:1', '#")), "{sql}");
    assert!(sql.ends_with(":1:3'"), "{sql}");
    assert_eq!(workspace.text("SELECT value FROM meta WHERE name = 'redacted'"), "1");
}

#[test]
fn a_key_in_the_arguments_of_a_program_is_not_in_the_trace() {
    let workspace = Workspace::new();
    let script =
        "import sqlite3\nc = sqlite3.connect('a.db')\nc.execute(\"PRAGMA key = 'hunter2'\")\n";
    let Some(_) = workspace.sealed(script, &Options::default()) else {
        return;
    };
    let bytes = std::fs::read(workspace.trace()).unwrap();
    assert!(!bytes.windows(6).any(|window| window == b"hunter"));
    assert_eq!(workspace.text("SELECT arguments FROM process"), "[]");
}

#[test]
fn a_database_in_memory_that_connections_share_has_a_name() {
    let workspace = Workspace::new();
    let script = "import sqlite3\nname = 'file:x?mode=memory&cache=shared'\n\
                  own = sqlite3.connect(':memory:')\n\
                  a, b = sqlite3.connect(name, uri=True), sqlite3.connect(name, uri=True)\n\
                  a.execute('CREATE TABLE t(a)')\nb.execute('SELECT * FROM t').fetchall()\n";
    let Some(_) = workspace.sealed(script, &Options::default()) else {
        return;
    };
    let names = "SELECT group_concat(quote(database)) FROM connection";
    assert_eq!(workspace.text(names), "'',':memory:2',':memory:2'");
}

#[test]
fn a_database_that_exists_is_in_the_trace_as_it_was() {
    let workspace = Workspace::new();
    let file = workspace.temp.path().join("a.db");
    let connection = Connection::open(
        &workspace.library,
        &file,
        OpenFlags::READ_WRITE | OpenFlags::CREATE,
        None,
    )
    .unwrap();
    connection
        .execute("CREATE TABLE before(a); INSERT INTO before VALUES (zeroblob(2000000))")
        .unwrap();
    connection.close().unwrap();
    let script =
        "import sqlite3\nc = sqlite3.connect('a.db')\nc.execute('DROP TABLE before')\nc.close()\n";
    let Some(sealed) = workspace.sealed(script, &Options::default()) else {
        return;
    };
    assert_eq!(sealed.without_snapshot, []);
    let parts = workspace.query("SELECT content FROM snapshot_part ORDER BY snapshot, part");
    assert!(parts.len() >= 2);
    let copy = workspace.temp.path().join("copy.db");
    let bytes: Vec<u8> = parts
        .iter()
        .flat_map(|row| match &row[0] {
            Value::Blob(part) => part.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    std::fs::write(&copy, bytes).unwrap();
    let copy = Connection::open(&workspace.library, &copy, OpenFlags::READ_WRITE, None).unwrap();
    assert_eq!(copy.query_i64("SELECT length(a) FROM before").unwrap(), 2_000_000);
}

#[test]
fn the_end_of_a_database_is_in_the_trace_and_calls_have_their_values() {
    let workspace = Workspace::new();
    let Some(_) = workspace.sealed(APPLICATION, &Options::default()) else {
        return;
    };
    let trace = Trace::open(&workspace.library, &workspace.trace()).unwrap();
    let [end] = &trace.end_states().unwrap()[..] else {
        panic!("one database");
    };
    let file = workspace.temp.path().join("a.db");
    let database = Connection::open(&workspace.library, &file, OpenFlags::READ_ONLY, None).unwrap();
    assert_eq!(end.tables.as_ref().unwrap(), &content::tables(&database).unwrap());
    let mut inserted = Vec::new();
    trace
        .for_each_call(|call| {
            if call.changes > 0 {
                inserted.push(call.values);
            }
            Ok::<(), TraceError>(())
        })
        .unwrap();
    assert_eq!(inserted.len(), 21);
    let Values::Bound(values) = &inserted[0] else {
        panic!("{:?}", inserted[0]);
    };
    assert_eq!(values[0].value(), &Value::Integer(0));
    assert_eq!(values[1].value(), &Value::Text("x".repeat(100)));
}

#[test]
fn a_recording_whose_sealing_was_killed_can_be_sealed_again() {
    let workspace = Workspace::new();
    let Some(_) = workspace.sealed(APPLICATION, &Options::default()) else {
        return;
    };
    let folder = Folder::existing(&workspace.temp.path().join("recording"));
    std::fs::create_dir(folder.path().join("end")).unwrap();
    std::fs::write(folder.path().join("end/copy.db"), "half").unwrap();
    std::fs::remove_file(workspace.trace()).unwrap();
    seal(&workspace.library, &folder, &workspace.trace(), &copy).unwrap();
    assert_eq!(workspace.text("SELECT name, problem FROM end_state"), "sqlite_schema Null t Null");
}

#[test]
fn what_is_no_trace_is_refused() {
    let workspace = Workspace::new();
    let open = |path: &Path| Trace::open(&workspace.library, path).map(|_| ()).unwrap_err();
    assert!(matches!(open(&workspace.trace()), TraceError::File { .. }));
    std::fs::write(workspace.trace(), "text").unwrap();
    assert!(matches!(open(&workspace.trace()), TraceError::NotATrace(_)));
    std::fs::write(workspace.trace(), "").unwrap();
    assert!(matches!(open(&workspace.trace()), TraceError::NotATrace(_)));
    std::fs::remove_file(workspace.trace()).unwrap();
    let Some(_) = workspace.sealed(APPLICATION, &Options::default()) else {
        return;
    };
    let flags = OpenFlags::READ_WRITE;
    let change = |sql: &str| {
        Connection::open(&workspace.library, &workspace.trace(), flags, None)
            .unwrap()
            .execute(sql)
            .unwrap()
    };
    change("PRAGMA user_version = 99");
    assert!(matches!(open(&workspace.trace()), TraceError::Format { found: 99, .. }));
    change(&format!("PRAGMA user_version = {FORMAT}; DELETE FROM meta"));
    assert!(matches!(open(&workspace.trace()), TraceError::Incomplete(_)));
}

#[test]
fn settings_have_no_plans_and_do_not_hide_an_index_that_nothing_uses() {
    let workspace = Workspace::new();
    let script = "import sqlite3\nc = sqlite3.connect('a.db', isolation_level=None)\n\
                  c.execute('CREATE TABLE t(a, b)')\nc.execute('CREATE INDEX unused ON t(b)')\n\
                  c.execute('PRAGMA temp.table_info(t)').fetchall()\nc.execute('ANALYZE')\n\
                  c.execute('SELECT * FROM t WHERE a = 1').fetchall()\nc.close()\n";
    let Some(_) = workspace.sealed(script, &Options::default()) else {
        return;
    };
    let trace = Trace::open(&workspace.library, &workspace.trace()).unwrap();
    let plans = Plans::of(&trace, &workspace.analysis()).unwrap();
    assert!(plans.unknown.is_empty(), "{:?}", plans.unknown);
    assert_eq!(plans.unused.len(), 1, "{:?}", plans.unused);
}

#[test]
fn a_trace_that_lacks_a_part_is_called_damaged() {
    let workspace = Workspace::new();
    let before = "import sqlite3\nc = sqlite3.connect('a.db')\nc.execute('CREATE TABLE former(a)')\nc.close()\n";
    let made = std::process::Command::new("python3")
        .args(["-c", before])
        .current_dir(workspace.temp.path())
        .status();
    if !made.is_ok_and(|status| status.success()) {
        return testing::skip("there is no Python with sqlite3 here");
    }
    let Some(_) = workspace.sealed(APPLICATION, &Options::default()) else {
        return;
    };
    let restored = workspace.temp.path().join("restored.db");
    let whole = std::fs::read(workspace.trace()).unwrap();
    let flags = OpenFlags::READ_WRITE;
    let connection = Connection::open(&workspace.library, &workspace.trace(), flags, None).unwrap();
    connection.execute("DELETE FROM snapshot_part").unwrap();
    connection.close().unwrap();
    let trace = Trace::open(&workspace.library, &workspace.trace()).unwrap();
    let error = trace.restore(1, &restored).unwrap_err();
    assert!(matches!(error, TraceError::TornSnapshot(_)), "{error}");
    std::fs::write(workspace.trace(), &whole[..whole.len() / 2]).unwrap();
    let error = Trace::open(&workspace.library, &workspace.trace()).map(drop).unwrap_err();
    assert!(matches!(error, TraceError::Damaged(_)), "{error}");
}

#[test]
fn a_new_database_does_not_hide_the_snapshot_of_another() {
    let workspace = Workspace::new();
    let old = Connection::open(
        &workspace.library,
        &workspace.temp.path().join("old.db"),
        OpenFlags::default(),
        None,
    );
    old.unwrap().execute("CREATE TABLE t(a)").unwrap();
    let script = "import sqlite3\nfor name in ('new.db', 'old.db', 'newer.db'):\n  \
                  sqlite3.connect(name).execute('CREATE TABLE IF NOT EXISTS n(a)')\n";
    if workspace.sealed(script, &Options::default()).is_none() {
        return;
    }
    let states = "SELECT group_concat(state) FROM (SELECT state FROM snapshot ORDER BY state)";
    assert_eq!(workspace.text(states), "empty,empty,taken");
    let trace = Trace::open(&workspace.library, &workspace.trace()).unwrap();
    let snapshots = trace.snapshots().unwrap();
    let taken = snapshots.iter().find(|it| it.state == "taken").unwrap();
    assert!(taken.database.ends_with("old.db"));
    let restored = workspace.temp.path().join("restored.db");
    trace.restore(taken.id, &restored).unwrap();
    let restored =
        Connection::open(&workspace.library, &restored, OpenFlags::default(), None).unwrap();
    let tables = restored.query_text("SELECT group_concat(name) FROM sqlite_schema");
    assert_eq!(tables.unwrap(), "t");
}
