//! What a program does while somebody has a lock, or had one when it was killed.

use std::os::unix::fs::FileExt;
use std::process::Command;

use crate::workspace::Workspace;
use pragmark_recorder::Options;

/// Compiles one of the C files here; false where that cannot be done.
fn compile(workspace: &Workspace, output: &str, source: &str, options: &[&str]) -> bool {
    let file = workspace.temp.path().join("source.c");
    std::fs::write(&file, source).unwrap();
    let compiled = Command::new("cc")
        .args(["-o", output, "source.c"])
        .args(options)
        .current_dir(workspace.temp.path())
        .status();
    let is_there = compiled.is_ok_and(|status| status.success());
    if !is_there {
        testing::skip("there is no C compiler here");
    }
    is_there
}

#[test]
fn constructors_that_load_modules_open_connections_and_fork_do_not_stop_each_other() {
    let workspace = Workspace::new(&Options::default());
    let module = ["-shared", "-fPIC", "-ldl"];
    let compiled = compile(&workspace, "loads", include_str!("loads.c"), &["-pthread", "-ldl"])
        && compile(&workspace, "first.so", include_str!("module.c"), &module)
        && compile(&workspace, "plain.so", "int nothing;\n", &module);
    if !compiled {
        return;
    }
    let folder = workspace.temp.path();
    std::fs::copy(folder.join("first.so"), folder.join("second.so")).unwrap();
    let names = ["./first.so", "./second.so", "./plain.so"];
    let program = folder.join("loads");
    let arguments = [&["60", program.to_str().unwrap()], &names[..]].concat();
    let status = workspace.run("timeout", &arguments);
    assert!(status.is_none_or(|status| status.success()), "{status:?}");
}

/// The bytes of the header that say whose snapshots are taken, and by whom: eight and four for each of 4,096 databases.
const SNAPSHOTS: u64 = 4_096;
const TAKERS: u64 = 36_864;

const OPENS: &str = "import sqlite3\nsqlite3.connect('a.db').execute('SELECT * FROM t')";

#[test]
fn a_snapshot_is_taken_over_from_a_process_that_was_killed_before_it_said_who_it_is() {
    let workspace = Workspace::new(&Options::default());
    if !testing::has_python() {
        return;
    }
    let made = Command::new("python3")
        .args(["-c", "import sqlite3\nsqlite3.connect('a.db').execute('CREATE TABLE t(a)')"])
        .current_dir(workspace.temp.path())
        .status();
    assert!(made.unwrap().success());
    assert_eq!(workspace.python(OPENS).unwrap().snapshots, [(1, 1)]);

    // As the process would have left it: the lowest bits of an entry say 1 while its snapshot is taken.
    let raw =
        std::fs::OpenOptions::new().read(true).write(true).open(workspace.folder.raw()).unwrap();
    for number in 0..4_096 {
        let (mut entry, at) = ([0; 8], SNAPSHOTS + 8 * number);
        raw.read_exact_at(&mut entry, at).unwrap();
        if entry != [0; 8] {
            let taking = u64::from_ne_bytes(entry) & !3 | 1;
            raw.write_all_at(&taking.to_ne_bytes(), at).unwrap();
            raw.write_all_at(&[0; 4], TAKERS + 4 * number).unwrap();
        }
    }
    let it = workspace.python(OPENS).unwrap();
    assert_eq!(it.snapshots, [(1, 1), (1, 2)]);
}

/// A writer in the way of statements that begin a transaction, write in autocommit, and read, and a reader in that of a commit;
/// each thread sleeps while it holds a lock.
const WAITS: &str = r#"
import sqlite3, threading, time
def connect(): return sqlite3.connect("a.db", timeout=60, isolation_level=None, check_same_thread=False)
holder, waiter = connect(), connect()
holder.execute("CREATE TABLE t(a)")
def held(begin, *statements):
    for sql in begin: holder.execute(sql).fetchall()
    def end():
        time.sleep(0.3)
        holder.execute("ROLLBACK")
    thread = threading.Thread(target=end)
    thread.start()
    for sql in statements: waiter.execute(sql).fetchall()
    thread.join()
held(["BEGIN IMMEDIATE"], "BEGIN IMMEDIATE", "COMMIT")
held(["BEGIN IMMEDIATE"], "INSERT INTO t VALUES (1)")
held(["BEGIN EXCLUSIVE"], "SELECT a FROM t")
held(["BEGIN", "SELECT 1 FROM t"], "BEGIN", "INSERT INTO t VALUES (2)", "COMMIT -- waits")
waiter.execute("SELECT a + 1 FROM t").fetchall()
cursor = waiter.execute("SELECT a - 1 FROM t")
held(["BEGIN", "SELECT 1 FROM t"], "INSERT INTO t VALUES (3)")
cursor.fetchall()
waiter.execute("PRAGMA busy_timeout").fetchall()
"#;

#[test]
fn the_time_of_waiting_for_a_lock_is_known_for_every_statement_that_can_wait() {
    let workspace = Workspace::new(&Options::default());
    let Some(it) = workspace.python(WAITS) else { return };
    let waits = [
        "INSERT INTO t VALUES (1)",
        "SELECT a FROM t",
        "COMMIT -- waits",
        "INSERT INTO t VALUES (3)",
    ];
    for sql in waits {
        let waited = it.waited_by(sql);
        assert!((200_000_000..1_000_000_000).contains(&waited), "{sql}: {waited}");
    }
    // The holder's begin three times, the waiter's once.
    assert!(it.waited_by("BEGIN IMMEDIATE") > 200_000_000);
    // One of them is open while another one of its connection waits.
    for sql in [
        "COMMIT",
        "INSERT INTO t VALUES (2)",
        "SELECT a + 1 FROM t",
        "SELECT a - 1 FROM t",
        "ROLLBACK",
    ] {
        assert_eq!(it.waited_by(sql), 0, "{sql}");
    }
    assert_eq!(it.rows_of("PRAGMA busy_timeout"), 1);
    let timeout = ("busy_timeout".to_owned(), "60000".to_owned());
    assert_eq!(it.settings.iter().filter(|setting| **setting == timeout).count(), 2);
}
