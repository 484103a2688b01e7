//! Programs with several connections, databases, libraries, threads and processes at the same time.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::workspace::Workspace;
use pragmark_recorder::Options;

/// A statement with rows commits at its last step; other connections and threads work before it.
const RETURNING: &str = r#"
import sqlite3, threading
def open(name): return sqlite3.connect(name, isolation_level=None, check_same_thread=False)
a, b = open("a.db"), open("b.db")
a.execute("CREATE TABLE t(a)")
for row in a.execute("INSERT INTO t VALUES (1), (2), (3) RETURNING a"): b.execute("SELECT 1").fetchall()
rows = a.execute("INSERT INTO t VALUES (4), (5), (6) RETURNING a")
rows.fetchone()
rest = threading.Thread(target=rows.fetchall); rest.start(); rest.join()
"#;

#[test]
fn a_commit_belongs_to_its_connection_whatever_ran_on_the_thread_before() {
    let workspace = Workspace::new(&Options::default());
    let Some(it) = workspace.python(RETURNING) else {
        return;
    };
    assert_eq!((it.tickets, it.committed), (vec![1, 2, 3], vec![1, 1, 1]));
    assert_eq!(it.unreadable, 0);
}

const REFUSED: &str = r#"
import ctypes, sqlite3
sqlite3.connect(":memory:")
path = next(line.split()[-1] for line in open("/proc/self/maps") if "libsqlite3" in line)
lib = ctypes.CDLL(path)
db, statement = ctypes.c_void_p(), ctypes.c_void_p()
lib.sqlite3_open(b"a.db", ctypes.byref(db))
lib.sqlite3_exec(db, b"CREATE TABLE t(a)", None, None, None)
lib.sqlite3_prepare_v2(db, b"SELECT 1", -1, ctypes.byref(statement), None)
assert lib.sqlite3_close(db) == 5, "busy"
other = sqlite3.connect("b.db", isolation_level=None)
other.execute("CREATE TABLE t(a)")
lib.sqlite3_exec(db, b"INSERT INTO t VALUES (1)", None, None, None)
lib.sqlite3_finalize(statement)
assert lib.sqlite3_close(db) == 0
"#;

/// SQLite announces no end of a statement that a callback stops; the next one is likely to have its address.
const STOPPED: &str = r#"
import ctypes, sqlite3
sqlite3.connect(":memory:")
path = next(line.split()[-1] for line in open("/proc/self/maps") if "libsqlite3" in line)
lib = ctypes.CDLL(path)
db = ctypes.c_void_p()
lib.sqlite3_open(b"a.db", ctypes.byref(db))
def run(sql, callback=None): return lib.sqlite3_exec(db, sql, callback, None, None)
run(b"CREATE TABLE t(a UNIQUE)"); run(b"INSERT INTO t VALUES (1), (2), (3)")
stop = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)(lambda *_: 1)
for sql in (b"SELECT a FROM t", b"SELECT a FROM t"):
    assert run(sql, ctypes.cast(stop, ctypes.c_void_p)) == 4, "aborted"
assert run(b"INSERT INTO t VALUES (3)") == 19, "not unique"
lib.sqlite3_close(db)
"#;

#[test]
fn a_statement_at_the_address_of_one_that_a_callback_stopped_is_another() {
    let workspace = Workspace::new(&Options::default());
    let Some(it) = workspace.python(STOPPED) else {
        return;
    };
    if it.statements.len() > 1 {
        assert_eq!(
            (it.statements.len(), it.result_of("INSERT INTO t VALUES (3)")),
            (5, Some(2067))
        );
        assert_ne!(it.result_of("SELECT a FROM t"), Some(2067));
    } else {
        testing::skip("Python's SQLite is no library of its own here");
    }
}

#[test]
fn a_connection_that_could_not_be_closed_is_recorded_further() {
    let workspace = Workspace::new(&Options::default());
    let Some(it) = workspace.python(REFUSED) else {
        return;
    };
    if it.files.iter().any(|file| file.ends_with("a.db")) {
        assert_eq!((it.tickets, it.committed), (vec![1, 2, 3], vec![2, 3, 2]));
    } else {
        testing::skip("Python's SQLite is no library of its own here");
    }
}

#[test]
fn a_database_behind_a_comment_is_attached_with_its_snapshot() {
    let workspace = Workspace::new(&Options::default());
    let script =
        "import sqlite3\nsqlite3.connect('a.db').execute(\"/* app:web */ ATTACH 'b.db' AS b\")\n";
    let Some(it) = workspace.python(script) else {
        return;
    };
    let files = ["a.db", "b.db"].map(|name| workspace.database(name).display().to_string());
    assert_eq!(it.snapshot_files, files);
}

/// File systems give the number of a removed file to the next one.
const FOLLOWING: &str = r#"
import os, sqlite3
for n in range(8):
    c = sqlite3.connect(f"{n}.db"); c.execute("CREATE TABLE t(a)"); c.close()
    c = sqlite3.connect(f"{n}.db"); c.close()
    os.remove(f"{n}.db")
"#;

#[test]
fn each_new_database_has_its_snapshot_though_files_follow_one_another() {
    let workspace = Workspace::new(&Options::default());
    let Some(it) = workspace.python(FOLLOWING) else {
        return;
    };
    let files: Vec<String> =
        (0..8).map(|n| workspace.database(&format!("{n}.db")).display().to_string()).collect();
    assert_eq!(it.snapshot_files, files);
    assert_eq!(it.snapshots, [(2, 0); 8]);
}

/// Starts a Python script.
fn started(workspace: &Workspace, script: &str, is_recorded: bool) -> Child {
    let mut python = Command::new("python3");
    python.args(["-c", script]).current_dir(workspace.temp.path());
    python.stdin(Stdio::piped()).stdout(Stdio::piped());
    if is_recorded {
        python.env("LD_PRELOAD", workspace.folder.preload(None));
    }
    python.spawn().unwrap()
}

/// Whether a process is taking a snapshot now, by the table in the header.
fn is_taking(workspace: &Workspace) -> bool {
    let raw = std::fs::read(workspace.folder.raw()).unwrap();
    raw[4096..36_864].chunks_exact(8).any(|entry| entry[0] & 3 == 1)
}

#[test]
fn a_snapshot_whose_process_was_killed_is_taken_by_the_next() {
    let workspace = Workspace::new(&Options::default());
    if !testing::has_python() {
        return;
    }
    let mut lock = started(
        &workspace,
        "import sqlite3\nc = sqlite3.connect('a.db', isolation_level=None)\nc.execute('CREATE TABLE t(a)')\n\
         c.execute('BEGIN EXCLUSIVE')\nprint('locked', flush=True)\nimport sys; sys.stdin.read()\n",
        false,
    );
    let mut line = String::new();
    let out = lock.stdout.as_mut().unwrap();
    BufReader::new(out).read_line(&mut line).unwrap();
    let script = "import sqlite3\nsqlite3.connect('a.db').execute('SELECT 1')\n";
    let mut killed = started(&workspace, script, true);
    let begin = Instant::now();
    while !is_taking(&workspace) {
        assert!(begin.elapsed() < Duration::from_secs(30), "no snapshot began");
        std::thread::sleep(Duration::from_millis(5));
    }
    killed.kill().unwrap();
    drop(lock.stdin.take());
    lock.wait().unwrap();
    // The killed process has not been waited for, so its id is still in use.
    let it = workspace.python(script).unwrap();
    assert_eq!(it.snapshots, [(1, 2)]);
    killed.wait().unwrap();
}

/// Copies of Python's SQLite, each of which is a library of its own, while other threads open databases in memory.
const LIBRARIES: &str = r#"
import ctypes, os, shutil, sqlite3, threading
sqlite3.connect(":memory:")
path = next((line.split()[-1] for line in open("/proc/self/maps") if "libsqlite3" in line), None)
if not path: raise SystemExit(0)
fds = lambda: sorted(os.listdir("/proc/self/fd"))
before, done = fds(), False
def share():
    while not done:
        for c in [sqlite3.connect("file:x?mode=memory&cache=shared", uri=True) for _ in range(8)]: c.close()
threads = [threading.Thread(target=share) for _ in range(3)]
for t in threads: t.start()
for n in range(24):
    shutil.copy(path, f"copy{n}.so")
    lib, db = ctypes.CDLL(os.path.abspath(f"copy{n}.so")), ctypes.c_void_p()
    lib.sqlite3_open(b":memory:", ctypes.byref(db))
    lib.sqlite3_exec(db, f"SELECT {n} AS copy".encode(), None, None, None)
    lib.sqlite3_close(db)
done = True
for t in threads: t.join()
assert before == fds(), (before, fds())
"#;

#[test]
fn many_libraries_are_recorded_and_leave_no_open_files() {
    let workspace = Workspace::new(&Options::default());
    let Some(it) = workspace.python(LIBRARIES) else {
        return;
    };
    let copies = (0..24).filter(|n| it.rows_of(&format!("SELECT {n} AS copy")) == 1);
    match it.exits {
        1 if it.files.len() == 1 => testing::skip("Python's SQLite is no library of its own here"),
        _ => assert_eq!(copies.count(), 24),
    }
}

/// Processes made while another thread loads modules load some themselves.
const FORKS: &str = r#"
import ctypes, os, sqlite3, threading, time
dlopen = ctypes.CDLL(None).dlopen
done = False
def load():
    while not done: dlopen(b"libm.so.6", 2)
thread = threading.Thread(target=load); thread.start()
def has_ended(pid):
    for _ in range(400):
        if os.waitpid(pid, os.WNOHANG)[0]: return True
        time.sleep(0.01)
    os.kill(pid, 9)
    return False
ended = []
for _ in range(200):
    pid = os.fork()
    if pid == 0:
        dlopen(b"libm.so.6", 2)
        os._exit(0)
    ended.append(has_ended(pid))
    if not ended[-1]: break
done = True
thread.join()
c = sqlite3.connect(":memory:")
c.execute("SELECT ? AS ended", (sum(ended),))
"#;

#[test]
fn a_process_made_while_a_module_is_loaded_can_load_modules() {
    let workspace = Workspace::new(&Options::default());
    let Some(it) = workspace.python(FORKS) else {
        return;
    };
    assert_eq!(it.values_of("SELECT ? AS ended"), ["Integer(200)"]);
}

/// SQLite announces each action of a foreign key with the text of the statement that it belongs to.
const ACTIONS: &str = r#"
import sqlite3
a = sqlite3.connect("a.db", isolation_level=None)
a.executescript("""PRAGMA foreign_keys = ON;
CREATE TABLE p(id INTEGER PRIMARY KEY);
CREATE TABLE c(id INTEGER PRIMARY KEY, p INT REFERENCES p ON DELETE CASCADE ON UPDATE SET NULL);
INSERT INTO p VALUES (1), (2), (3), (4);
INSERT INTO c VALUES (1, 1), (2, 1), (3, 2), (4, 3);""")
a.execute("DELETE FROM p WHERE id < 3")
a.execute("UPDATE p SET id = id + 10")
"#;

#[test]
fn a_statement_with_actions_of_foreign_keys_is_executed_once() {
    let workspace = Workspace::new(&Options::default());
    let Some(it) = workspace.python(ACTIONS) else {
        return;
    };
    let texts: Vec<&str> = it.statements.iter().map(|one| one.sql.as_str()).collect();
    assert_eq!(texts.len(), 7, "{texts:?}");
    let changes =
        |index: usize| it.statements[index].ended.map(|ended| (ended.changes, ended.early));
    assert_eq!([changes(5), changes(6)], [Some((5, false)), Some((3, false))]);
}
