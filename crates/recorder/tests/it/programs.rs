//! Real programs, recorded: what is in the recording is what they did.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::workspace::Workspace;
use pragmark_recorder::{Door, Options};

const WRITES: &str = r#"
import sqlite3
c = sqlite3.connect("a.db")
c.execute("CREATE TABLE t(a, b)")
c.executemany("INSERT INTO t VALUES (?, ?)", [(1, "x\0y"), (-7000000000, None), (1.2345678901234567e89, b"a\0b")])
c.commit()
for row in c.execute("SELECT * FROM t ORDER BY rowid LIMIT 2"): pass
try: c.execute("INSERT INTO t(rowid) VALUES (1)")
except sqlite3.IntegrityError: pass
c.rollback()
c.close()
"#;

#[test]
fn python_with_exact_values() {
    let workspace = Workspace::new(&Options::default());
    let Some(it) = workspace.python(WRITES) else {
        return;
    };
    assert_eq!(it.libraries, [(true, true, true)], "values, results, chains");
    assert_eq!(
        it.values_of("INSERT INTO t VALUES (?, ?)"),
        [
            r#"Integer(1), Text("x\0y")"#,
            "Integer(-7000000000), Null",
            "Real(1.2345678901234567e89), Blob([97, 0, 98])",
        ]
    );
    assert_eq!(it.result_of("INSERT INTO t(rowid) VALUES (1)"), Some(2579));
    assert_eq!(it.rows_of("SELECT * FROM t ORDER BY rowid LIMIT 2"), 2);
    assert_eq!(it.tickets, [1, 2], "the table and the rows");
    assert_eq!(it.files, [workspace.database("a.db").display().to_string()]);
    assert_eq!(it.snapshots, [(2, 0)], "the database was new");
    assert!(it.settings.contains(&("journal_mode".into(), "delete".into())));
    assert_eq!((it.processes, it.exits, it.unreadable), (1, 1, 0));
}

#[test]
fn the_snapshot_is_the_database_before_the_first_statement() {
    let workspace = Workspace::new(&Options::default());
    let script = "import sqlite3\nc = sqlite3.connect('a.db')\nc.execute('CREATE TABLE before(a)')\nc.close()\n";
    let made =
        Command::new("python3").args(["-c", script]).current_dir(workspace.temp.path()).status();
    if !made.is_ok_and(|status| status.success()) {
        return testing::skip("there is no Python with sqlite3 here");
    }
    let script = "import sqlite3\nc = sqlite3.connect('a.db')\nc.execute('CREATE TABLE after(a)')\n\
                  sqlite3.connect('a.db').execute('SELECT 1')\n";
    let it = workspace.python(script).unwrap();
    assert_eq!(it.snapshots, [(1, 1)], "one snapshot for two connections");
    let copy = std::fs::read(workspace.folder.snapshot(1)).unwrap();
    let has = |word: &str| copy.windows(word.len()).any(|window| window == word.as_bytes());
    assert!(has("CREATE TABLE before") && !has("CREATE TABLE after"));
}

#[test]
fn forks_threads_and_kills_lose_nothing_but_their_last_statement() {
    let workspace = Workspace::new(&Options::default());
    let script = r#"
import os, signal, sqlite3, threading
def work(name):
    c = sqlite3.connect("a.db", timeout=60, isolation_level=None)
    c.execute("PRAGMA synchronous = off")
    for i in range(50): c.execute("INSERT INTO t VALUES (?)", (f"{name} {i}",))
c = sqlite3.connect("a.db"); c.execute("CREATE TABLE t(a)"); c.close()
children = []
for n in range(3):
    pid = os.fork()
    if pid == 0:
        work(f"child {n}")
        os.kill(os.getpid(), signal.SIGKILL)
    children.append(pid)
threads = [threading.Thread(target=work, args=(f"thread {n}",)) for n in range(3)]
for t in threads: t.start()
for t in threads: t.join()
for pid in children: os.waitpid(pid, 0)
"#;
    let Some(it) = workspace.python(script) else {
        return;
    };
    assert_eq!(it.values_of("INSERT INTO t VALUES (?)").len(), 300);
    assert_eq!((it.processes, it.exits), (4, 1), "three of four were killed");
    let mut tickets = it.tickets.clone();
    tickets.sort_unstable();
    assert_eq!(tickets, (1..=301).collect::<Vec<u64>>());
    assert_eq!(it.unreadable, 0);
}

/// The program's own hooks run, also when it sets them after the recorder's.
const HOOKS: &str = r#"
import sqlite3
seen = []
c = sqlite3.connect("a.db", isolation_level=None)
c.execute("CREATE TABLE t(a)")
c.set_trace_callback(seen.append)
c.execute("INSERT INTO t VALUES (1)")
c.execute("INSERT INTO t VALUES (2)")
c.execute("INSERT INTO t VALUES (3)")
assert seen == [f"INSERT INTO t VALUES ({i})" for i in (1, 2, 3)], seen
c.set_trace_callback(None)
"#;

#[test]
fn a_callback_that_the_program_sets_later_runs_and_nothing_is_lost() {
    let workspace = Workspace::new(&Options::default());
    let Some(status) = workspace.run("python3", &["-c", HOOKS]) else { return };
    assert!(status.success());
    let it = workspace.recorded();
    let texts: Vec<&str> = it.statements.iter().map(|statement| statement.sql.as_str()).collect();
    let inserts = [1, 2, 3].map(|n| format!("INSERT INTO t VALUES ({n})"));
    assert_eq!(texts[1..], inserts);
    assert_eq!(it.notes, []);
}

/// The legacy callbacks, as the modules of Perl and Ruby set them; each switches the other one off.
const LEGACY: &str = r#"
import ctypes, sqlite3, sys
c = sqlite3.connect("other.db")
path = next((line.split()[-1] for line in open("/proc/self/maps") if "libsqlite3" in line), None)
if not path: sys.exit(77)
lib = ctypes.CDLL(path)
types = [None, ctypes.c_void_p, ctypes.c_char_p]
trace = ctypes.CFUNCTYPE(*types)(lambda _, sql: seen.append(sql))
profile = ctypes.CFUNCTYPE(*types, ctypes.c_uint64)(lambda _, sql, ns: seen.append(sql))
for name, set, callback in (b"a.db", lib.sqlite3_trace, trace), (b"b.db", lib.sqlite3_profile, profile):
    db, seen = ctypes.c_void_p(), []
    lib.sqlite3_open(name, ctypes.byref(db))
    set(db, callback, None)
    all = [b"CREATE TABLE t(a)", b"CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; END"]
    all += [b"INSERT INTO t VALUES (%d)" % i for i in range(3)]
    for sql in all: assert lib.sqlite3_exec(db, sql, None, None, None) == 0
    assert [sql for sql in seen if not sql.startswith(b"--")] == all, seen
    assert (len(seen) > len(all)) == (callback == trace), seen
    lib.sqlite3_close(db)
"#;

#[test]
fn legacy_callbacks_run_and_are_chained() {
    let workspace = Workspace::new(&Options::default());
    let Some(status) = workspace.run("python3", &["-c", LEGACY]) else { return };
    if status.code() == Some(77) {
        return testing::skip("Python's SQLite is no library of its own here");
    }
    assert!(status.success());
    let it = workspace.recorded();
    let last = it.statements.iter().filter(|statement| statement.sql == "INSERT INTO t VALUES (2)");
    assert_eq!(last.count(), 2);
}

#[test]
fn the_shell_by_each_door_that_needs_no_help() {
    for door in [Door::Any, Door::Table, Door::Symbol, Door::Interpose] {
        let workspace = Workspace::new(&Options { door, ..Options::default() });
        let Some(_) =
            workspace.run("sqlite3", &["b.db", "CREATE TABLE t(a); SELECT count(*) FROM t"])
        else {
            return;
        };
        let it = workspace.recorded();
        assert_eq!(
            it.rows_of(" SELECT count(*) FROM t") + it.rows_of("SELECT count(*) FROM t"),
            1,
            "{door:?}"
        );
    }
}

#[test]
fn the_shell_can_still_configure_its_library() {
    let workspace = Workspace::new(&Options::default());
    let mut shell = Command::new("sqlite3");
    shell
        .args(["b.db", "SELECT 1 AS it"])
        .env("LD_PRELOAD", workspace.folder.preload(None))
        .current_dir(workspace.temp.path());
    let Ok(output) = shell.output() else {
        return testing::skip("there is no sqlite3 here");
    };
    // It warns on standard output, which scripts read.
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1\n");
    assert_eq!(workspace.recorded().rows_of("SELECT 1 AS it"), 1);
}

/// Compiles `configures.c` together with SQLite; nothing where there is no C compiler.
fn configuring(folder: &Path, options: &[&str]) -> Option<PathBuf> {
    let source = Path::new(env!("PRAGMARK_SQLITE_SOURCE"));
    let program = folder.join("configures");
    let compiled = Command::new("cc")
        .args(["-O0", "-rdynamic", "-DSQLITE_OMIT_DEPRECATED", "-I"])
        .arg(source)
        .args(options)
        .arg("tests/it/configures.c")
        .arg(source.join("sqlite3.c"))
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&program)
        .status();
    match compiled {
        Ok(status) => assert!(status.success()),
        Err(_) => return None,
    }
    Some(program)
}

#[test]
fn a_program_that_contains_sqlite_can_still_configure_it() {
    for options in [&["-s"][..], &["-DSQLITE_OMIT_LOAD_EXTENSION"]] {
        let workspace = Workspace::new(&Options::default());
        let Some(program) = configuring(workspace.temp.path(), options) else {
            return testing::skip("there is no C compiler here");
        };
        // A database in memory opens no file, and connections are recorded from the first file on.
        let names = [":memory:", "a.db", ":memory:", "b.db"];
        let status = workspace.run(program.to_str().unwrap(), &names).unwrap();
        assert_eq!(status.code(), Some(0), "{options:?}");
        let it = workspace.recorded();
        assert_eq!(it.statements.len(), 6, "{options:?}");
        let file = |name: &str| workspace.database(name).display().to_string();
        assert_eq!(it.files, [file("a.db"), String::new(), file("b.db")], "{options:?}");
        assert_eq!(it.tickets, [1, 2, 3, 4, 5, 6], "{options:?}");
    }
}

#[test]
fn python_through_functions_in_place_of_those_of_its_library() {
    let workspace = Workspace::new(&Options { door: Door::Interpose, ..Options::default() });
    let Some(it) = workspace.python(WRITES) else {
        return;
    };
    assert_eq!(it.libraries, [(true, true, true)]);
    assert_eq!(it.values_of("INSERT INTO t VALUES (?, ?)").len(), 3);
    assert_eq!(it.tickets, [1, 2]);
    assert_eq!(it.snapshots, [(2, 0)]);
}

/// Two connections share a database in memory, twice one after the other; a third one has its own.
const SHARED: &str = r#"
import sqlite3
def both():
    name = "file:x?mode=memory&cache=shared"
    a, b = sqlite3.connect(name, uri=True), sqlite3.connect(name, uri=True)
    own = sqlite3.connect(":memory:")
    for c in (own, b, a): c.close()
both(); both()
"#;

#[test]
fn connections_that_share_a_database_in_memory_are_known() {
    let workspace = Workspace::new(&Options::default());
    let Some(it) = workspace.python(SHARED) else {
        return;
    };
    let mut shares = it.shares;
    shares.sort_unstable();
    assert_eq!(shares, [(2, 1), (5, 4)]);
    assert!(it.files.iter().all(String::is_empty));
}

/// Of the VFS "memdb", connections share the databases whose names begin like a path.
const NAMED: &str = r#"
import sqlite3
open = [sqlite3.connect(f"file:{name}?vfs=memdb", uri=True) for name in ("own", "own", "/both", "/both")]
"#;

#[test]
fn only_named_databases_in_memory_are_shared() {
    let workspace = Workspace::new(&Options::default());
    let Some(it) = workspace.python(NAMED) else {
        return;
    };
    assert_eq!(it.files, ["own", "own", "/both", "/both"]);
    assert_eq!(it.shares, [(4, 3)]);
}

const FULL_TEXT: &str = r#"
import sqlite3
c = sqlite3.connect("a.db", isolation_level=None)
c.execute("CREATE VIRTUAL TABLE note USING fts5(body)")
c.execute("INSERT INTO note VALUES ('red')")
c.close()
c = sqlite3.connect("a.db", isolation_level=None)
c.execute("SELECT count(*) FROM note WHERE note MATCH 'red'").fetchall()
c.close()
"#;

#[test]
fn what_a_virtual_table_reads_for_itself_is_not_recorded() {
    let workspace = Workspace::new(&Options::default());
    let Some(it) = workspace.python(FULL_TEXT) else {
        return;
    };
    let texts: Vec<&str> = it.statements.iter().map(|it| it.sql.as_str()).collect();
    assert_eq!(
        texts,
        [
            "CREATE VIRTUAL TABLE note USING fts5(body)",
            "INSERT INTO note VALUES ('red')",
            "SELECT count(*) FROM note WHERE note MATCH 'red'",
        ]
    );
}

#[test]
fn an_extension_records_the_connection_that_loads_it_and_later_ones() {
    let Some(python) = testing::python_with_extensions() else {
        return testing::skip("no Python here can load extensions");
    };
    let workspace = Workspace::new(&Options { door: Door::Extension, ..Options::default() });
    let script = format!(
        "import sqlite3\nc = sqlite3.connect('a.db')\nc.enable_load_extension(True)\n\
         c.load_extension({:?})\nc.execute('SELECT 1')\nsqlite3.connect('b.db').execute('SELECT 2')\n",
        workspace.folder.object()
    );
    let output =
        Command::new(python).args(["-c", &script]).current_dir(workspace.temp.path()).output();
    let output = output.expect("it was started before");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    let it = workspace.recorded();
    assert_eq!((it.rows_of("SELECT 1"), it.rows_of("SELECT 2")), (1, 1));
    assert_eq!(it.files.len(), 2);
}

/// A database in WAL mode in a directory where the program may not write: if it is root, it becomes somebody else first.
const UNWRITABLE: &str = r#"
import os, sqlite3, subprocess
make = "import sqlite3; c = sqlite3.connect('a.db'); c.execute('PRAGMA journal_mode = WAL'); c.execute('CREATE TABLE t(a)'); c.close()"
subprocess.run(["env", "-u", "LD_PRELOAD", "python3", "-c", make], check=True)
os.chmod(".", 0o555)
if os.getuid() == 0:
    os.setuid(65534)
c = sqlite3.connect("file:a.db?immutable=1", uri=True)
assert c.execute("SELECT count(*) FROM t").fetchone() == (0,)
"#;

#[test]
fn a_database_with_a_log_that_may_only_be_read_has_a_snapshot() {
    let workspace = Workspace::new(&Options::default());
    let allow = |path: &Path, mode: u32| {
        std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    };
    let raw = workspace.folder.raw();
    let recording = raw.parent().unwrap();
    for entry in std::fs::read_dir(recording).unwrap() {
        allow(&entry.unwrap().path(), 0o777);
    }
    allow(recording, 0o777);
    allow(workspace.temp.path(), 0o777);
    let database = workspace.temp.path().join("database");
    std::fs::create_dir(&database).unwrap();
    let program = format!("import os; os.chdir('database')\n{UNWRITABLE}");
    let Some(it) = workspace.python(&program) else { return };
    allow(&database, 0o755);
    assert_eq!(it.snapshots, [(1, 1)]);
    let copy = std::fs::read(workspace.folder.snapshot(1)).unwrap();
    assert!(copy.windows(12).any(|window| window == b"CREATE TABLE"));
}

#[test]
fn a_program_without_sqlite_leaves_an_empty_recording() {
    let workspace = Workspace::new(&Options::default());
    assert!(workspace.run("true", &[]).unwrap().success());
    let it = workspace.recorded();
    assert_eq!((it.processes, it.statements.len()), (0, 0));
}

/// Callbacks that see statements: Python frees what they need before it closes the connection.
const GUARDS: &str = r#"
import sqlite3
c = sqlite3.connect("a.db")
c.execute("PRAGMA busy_timeout = 1234")
c.set_authorizer(lambda *a: sqlite3.SQLITE_OK)
c.set_progress_handler(lambda: 0, 1)
c.execute("CREATE TABLE t(a)")
c.close()
"#;

#[test]
fn settings_are_read_without_the_programs_authorizer_and_progress_handler() {
    let workspace = Workspace::new(&Options::default());
    let Some(it) = workspace.python(GUARDS) else {
        return;
    };
    let timeout = ("busy_timeout".to_owned(), "1234".to_owned());
    assert!(it.settings.contains(&timeout), "{:?}", it.settings);
}

/// SQLite refuses to close a connection with a statement in use; a program then goes on with it.
const STAYS: &str = r#"
import ctypes, sqlite3
sqlite3.connect(":memory:")
path = next(line.split()[-1] for line in open("/proc/self/maps") if "libsqlite3" in line)
lib = ctypes.CDLL(path)
db, statement = ctypes.c_void_p(), ctypes.c_void_p()
lib.sqlite3_open(b"a.db", ctypes.byref(db))
lib.sqlite3_prepare_v2(db, b"SELECT 1", -1, ctypes.byref(statement), None)
lib.sqlite3_step(statement)
kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, *[ctypes.c_char_p] * 4)
denies = kind(lambda *a: 1)
lib.sqlite3_set_authorizer(db, denies, None)
refused = lib.sqlite3_close(db)
denied = lib.sqlite3_exec(db, b"SELECT 2", None, None, None)
c = sqlite3.connect(":memory:")
c.execute("SELECT ? AS refused, ? AS denied", (refused, denied))
"#;

#[test]
fn a_connection_that_cannot_be_closed_keeps_its_authorizer() {
    let workspace = Workspace::new(&Options::default());
    let Some(it) = workspace.python(STAYS) else {
        return;
    };
    assert_eq!(it.values_of("SELECT ? AS refused, ? AS denied"), ["Integer(5), Integer(23)"]);
    assert!(!it.settings.is_empty());
}
