//! A user records an unmodified program and reads what it does.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::laboratory::{Laboratory, wait_until};

/// A laboratory with a program; nothing where no Python with `sqlite3` can run it.
pub fn with_program(script: &str) -> Option<Laboratory> {
    if !testing::has_python() {
        return None;
    }
    let laboratory = Laboratory::new();
    laboratory.write("app.py", script);
    Some(laboratory)
}

pub const RECORD: [&str; 6] = ["record", "--out", "app.trace", "--", "python3", "app.py"];

const SHOP: &str = r#"
import sqlite3, sys
c = sqlite3.connect("shop.db", isolation_level=None)
c.execute("CREATE TABLE item(id INTEGER PRIMARY KEY, name)")
for i in range(50): c.execute("INSERT INTO item(name) VALUES (?)", (f"item {i}",))
for i in range(50): c.execute("SELECT name FROM item WHERE id = ?", (i,)).fetchall()
try: c.execute("INSERT INTO item(id) VALUES (1)")
except sqlite3.IntegrityError: pass
c.close()
if len(sys.argv) > 1: sys.exit(int(sys.argv[1]))
"#;

#[test]
fn a_python_program_is_recorded_and_its_work_shown() {
    let Some(laboratory) = with_program(SHOP) else {
        return;
    };
    laboratory
        .pragmark(&RECORD)
        .exits(0)
        .complains(&["app.trace: 102 statements, 1 connection, 1 process"]);
    laboratory.pragmark(&["trace", "app.trace"]).exits(0).says(&[
        "102 statements",
        "50 of 51 commits were writes in autocommit, each soon after another one",
        "SELECT name FROM item WHERE id = ? ran 50 times",
        "SQLITE_CONSTRAINT",
        "shop.db",
        "journal_mode",
    ]);
    let page = ["trace", "app.trace", "--format", "html", "--out", "app.html"];
    laboratory.pragmark(&page).exits(0);
    assert!(laboratory.read("app.html").contains("INSERT INTO item(name) VALUES (?)"));
    assert!(!laboratory.path().join("app.trace.recording").exists());
}

/// On a kernel older than the call that says when a file was made, or where a container forbids it.
#[test]
fn a_database_is_copied_where_the_kernel_has_no_statx() {
    let Some(laboratory) = with_program(SHOP) else {
        return;
    };
    let without = "strace -f -o /dev/null -e trace=statx -e inject=statx:error=ENOSYS";
    let can = Command::new("sh").args(["-c", &format!("{without} true")]).output();
    if !can.is_ok_and(|output| output.status.success()) {
        return testing::skip("this test needs strace(1) and the right to trace a child");
    }
    let script = format!("{without} python3 app.py");
    let command = ["record", "--out", "app.trace", "--", "sh", "-c", &script];
    laboratory.pragmark(&command).exits(0);
    laboratory
        .pragmark(&["measure", "--trace", "app.trace", "--rounds", "2", "--no-tiers"])
        .exits(0);
}

#[test]
fn the_exit_code_is_that_of_the_program() {
    let Some(laboratory) = with_program(SHOP) else {
        return;
    };
    let fails: Vec<_> = RECORD.iter().copied().chain(["7"]).collect();
    laboratory.pragmark(&fails).exits(7);
    laboratory.pragmark(&["trace", "app.trace"]).exits(0);
    laboratory.pragmark(&RECORD).exits(3).complains(&["app.trace exists", "--out"]);
    let missing = ["record", "--", "no-such-program"];
    laboratory.pragmark(&missing).exits(3).complains(&["no-such-program"]);
    assert!(!laboratory.path().join("no-such-program.trace.recording").exists());
}

#[test]
fn the_shell_of_sqlite_is_recorded() {
    if Command::new("sqlite3").arg("-version").output().is_err() {
        return testing::skip("there is no sqlite3 here");
    }
    let laboratory = Laboratory::new();
    let sql = "CREATE TABLE t(a); INSERT INTO t VALUES (1), (2); SELECT sum(a) FROM t";
    let answer = laboratory.pragmark(&["record", "--", "sqlite3", "a.db", sql]);
    answer.exits(0).says(&["3"]).complains(&["sqlite3.trace: "]);
    laboratory
        .pragmark(&["trace", "sqlite3.trace"])
        .exits(0)
        .says(&["SELECT sum(a) FROM t", "INSERT INTO t VALUES (?)"]);
}

#[test]
fn a_program_without_sqlite_leaves_no_trace() {
    let laboratory = Laboratory::new();
    laboratory.pragmark(&["record", "--", "true"]).exits(3).complains(&["nothing was recorded"]);
    let fails = ["record", "--", "false"];
    laboratory.pragmark(&fails).exits(1).complains(&["nothing was recorded"]);
    for left in ["true.trace", "true.trace.recording", "false.trace"] {
        assert!(!laboratory.path().join(left).exists(), "{left}");
    }
}

/// Writes, says so with a file, and goes on until it is stopped.
const SERVER: &str = r#"
import sqlite3, time
c = sqlite3.connect("a.db", isolation_level=None)
c.execute("CREATE TABLE t(a)")
for i in range(20): c.execute("INSERT INTO t VALUES (?)", (i,))
open("ready", "w").close()
time.sleep(120)
"#;

/// Starts recording the server, in a process group as a terminal makes one.
fn started(laboratory: &Laboratory) -> (Child, Pid) {
    // Tests in the background of a script would have the program ignore SIGINT.
    let mut command = Command::new("env");
    command
        .args(["--default-signal=INT", env!("CARGO_BIN_EXE_pragmark")])
        .args(RECORD)
        .current_dir(laboratory.path())
        .stderr(Stdio::null());
    let child = command.process_group(0).spawn().unwrap();
    let pid = Pid::from_child(&child);
    wait_until(|| laboratory.path().join("ready").exists());
    (child, pid)
}

fn code_of(mut child: Child) -> ExitStatus {
    child.wait().unwrap()
}

#[test]
fn ctrl_c_ends_the_program_and_its_recording_is_sealed() {
    let Some(laboratory) = with_program(SERVER) else {
        return;
    };
    let (child, group) = started(&laboratory);
    kill_process_group(group, Signal::INT).unwrap();
    assert_eq!(code_of(child).code(), Some(130));
    laboratory.pragmark(&["trace", "app.trace"]).exits(0).says(&["21 statements"]);
}

/// Notes its signals, ends at the second interruption or two seconds after the first, and says how often it got one.
const PATIENT: &str = r#"
import signal, sqlite3, time
c = sqlite3.connect("a.db", isolation_level=None)
c.execute("CREATE TABLE t(a)")
got = []
signal.signal(signal.SIGINT, lambda *_: got.append("int"))
signal.signal(signal.SIGUSR1, lambda *_: got.append("usr1"))
open("ready", "w").close()
until = time.time() + 60
while time.time() < until and got.count("int") < 2:
    time.sleep(0.05)
    if "int" in got: until = min(until, time.time() + 1)
open("got", "w").write(" ".join(sorted(got)))
"#;

#[test]
fn a_signal_reaches_the_program_once_whether_sent_to_one_process_or_to_the_group() {
    type Send = fn(Pid, Signal) -> rustix::io::Result<()>;
    for send in [kill_process as Send, kill_process_group] {
        let Some(laboratory) = with_program(PATIENT) else {
            return;
        };
        let (child, group) = started(&laboratory);
        for signal in [Signal::USR1, Signal::INT] {
            send(group, signal).unwrap();
        }
        assert_eq!(code_of(child).code(), Some(0));
        assert_eq!(laboratory.read("got"), "int usr1");
        laboratory.pragmark(&["trace", "app.trace"]).exits(0);
    }
}

#[test]
fn a_program_in_the_background_of_a_script_ignores_what_it_would_ignore_without_us() {
    let Some(laboratory) = with_program(&SERVER.replace("120", "1")) else {
        return;
    };
    // A shell without job control has SIGINT ignored in what it puts into the background.
    let script = "\"$0\" record --out app.trace -- python3 app.py & \
                  while [ ! -e ready ]; do sleep 0.05; done; kill -INT $!; wait $!";
    let ended = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_pragmark")])
        .current_dir(laboratory.path())
        .output()
        .unwrap();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
}

#[test]
fn a_request_to_terminate_reaches_the_program() {
    let Some(laboratory) = with_program(SERVER) else {
        return;
    };
    let (child, group) = started(&laboratory);
    kill_process(group, Signal::TERM).unwrap();
    assert_eq!(code_of(child).code(), Some(143));
    laboratory
        .pragmark(&["trace", "app.trace"])
        .exits(0)
        .says(&["21 statements", "left no end in the recording"]);
}

#[test]
fn a_recording_that_goes_on_is_neither_sealed_nor_recorded_over() {
    let Some(laboratory) = with_program(SERVER) else {
        return;
    };
    let (child, group) = started(&laboratory);
    let process = group.as_raw_nonzero().to_string();
    let by = |words: &str| format!("{words} {process}");
    laboratory
        .pragmark(&RECORD)
        .exits(3)
        .complains(&[&format!("process {process} is recording there")]);
    laboratory
        .pragmark(&["record", "--seal", "app.trace.recording"])
        .exits(3)
        .complains(&[&by("app.trace.recording is being recorded by process")]);
    laboratory
        .pragmark(&["trace", "app.trace"])
        .exits(3)
        .complains(&[&format!("process {process} is still recording it")]);
    kill_process(group, Signal::TERM).unwrap();
    assert_eq!(code_of(child).code(), Some(143));
    laboratory.pragmark(&["trace", "app.trace"]).exits(0).says(&["21 statements"]);
}

#[test]
fn what_holds_no_recording_is_not_sealed() {
    let laboratory = Laboratory::new();
    laboratory.write("app.trace", "text");
    for name in ["app.trace", "no.trace.recording"] {
        laboratory
            .pragmark(&["record", "--seal", name, "--out", "other.trace"])
            .exits(3)
            .complains(&[name, "holds no recording"]);
    }
}

#[test]
fn after_a_kill_the_recording_can_be_sealed() {
    let Some(laboratory) = with_program(SERVER) else {
        return;
    };
    let (child, group) = started(&laboratory);
    kill_process_group(group, Signal::KILL).unwrap();
    assert_eq!(code_of(child).signal(), Some(9));
    laboratory.pragmark(&RECORD).exits(3).complains(&["interrupted", "--seal app.trace.recording"]);
    laboratory
        .pragmark(&["trace", "app.trace"])
        .exits(3)
        .complains(&["interrupted", "--seal app.trace.recording"]);
    laboratory
        .pragmark(&["record", "--seal", "app.trace.recording"])
        .exits(0)
        .complains(&["app.trace: 21 statements"]);
    laboratory.pragmark(&["trace", "app.trace"]).exits(0).says(&["left no end in the recording"]);
}

/// As on a full disk: no file may become larger than so many blocks of 512 bytes.
#[test]
fn where_files_cannot_grow_the_program_goes_on_and_what_was_recorded_is_kept() {
    let many = "import sqlite3\nc = sqlite3.connect('shop.db')\nfor i in range(20000): c.execute('SELECT ?', (f'text number {i}',)).fetchall()\nprint('done')\n";
    let Some(laboratory) = with_program(many) else {
        return;
    };
    for (limit, code, words) in [
        ("-f 512", 0, "the disk was full, so the end of the recording is missing"),
        ("-f 128", 3, "nothing was recorded: the disk was full"),
    ] {
        let answer = laboratory.pragmark_with_limit(limit, &RECORD).exits(3);
        answer.says(&["done"]).complains(&["File too large", "the recording is kept"]);
        assert!(!laboratory.path().join("app.trace").exists());
        let seal = ["record", "--seal", "app.trace.recording", "--out", "kept.trace"];
        laboratory.pragmark(&seal).exits(code).complains(&[words]);
        assert!(!laboratory.path().join("app.trace.recording").exists());
        let _ = std::fs::remove_file(laboratory.path().join("kept.trace"));
    }
}

#[test]
fn a_program_can_load_the_recorder_as_an_extension() {
    let script = r#"
import os, sqlite3
c = sqlite3.connect("a.db", isolation_level=None)
c.enable_load_extension(True)
c.load_extension(os.environ["RECORDER"])
c.execute("CREATE TABLE t(a)")
sqlite3.connect("b.db").execute("SELECT 2")
"#;
    let Some(python) = testing::python_with_extensions() else {
        return testing::skip("no Python here can load extensions");
    };
    let Some(laboratory) = with_program(script) else {
        return;
    };
    let object = laboratory.path().join("app.trace.recording/recorder.so");
    let record = ["record", "--door", "extension", "--out", "app.trace", "--", python, "app.py"];
    let variables = [("RECORDER", object.to_str().unwrap())];
    let answer = laboratory.pragmark_with_variables(&variables, &record);
    answer.exits(0).complains(&[
        object.to_str().unwrap(),
        "Load this extension",
        "app.trace: 2 statements, 2 connections",
    ]);
}

#[test]
fn what_is_no_whole_trace_is_named() {
    let Some(laboratory) = with_program(SHOP) else {
        return;
    };
    laboratory.pragmark(&RECORD).exits(0);
    let refused = |name: &str, parts: &[&str]| {
        laboratory.pragmark(&["trace", name]).exits(3).complains(parts);
    };
    refused("missing.trace", &["missing.trace"]);
    laboratory.write("text.trace", "not a database at all");
    refused("text.trace", &["text.trace is not a trace"]);
    laboratory.write("empty.trace", "");
    refused("empty.trace", &["empty.trace is not a trace"]);
    refused("shop.db", &["shop.db is not a trace"]);
    let whole = std::fs::read(laboratory.path().join("app.trace")).unwrap();
    let torn = &whole[..whole.len() / 2];
    std::fs::write(laboratory.path().join("torn.trace"), torn).unwrap();
    refused("torn.trace", &["torn.trace"]);
    // `user_version`, a big-endian number in the header of the database.
    let mut newer = whole.clone();
    newer[60..64].copy_from_slice(&99_u32.to_be_bytes());
    std::fs::write(laboratory.path().join("newer.trace"), newer).unwrap();
    refused("newer.trace", &["trace format 99", "the version of pragmark"]);
}
