//! A user watches a program while it runs.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use crate::laboratory::{Laboratory, wait_until};
use crate::recording::with_program;

/// Fills a table, searches it without an index, is refused a lock, and waits for a file if it is told to.
const APP: &str = r#"
import os, sqlite3, sys, time
c = sqlite3.connect("app.db", isolation_level=None, timeout=0)
c.execute("PRAGMA journal_mode = WAL").fetchall()
c.execute("CREATE TABLE IF NOT EXISTS item(id INTEGER PRIMARY KEY, name)")
c.execute("BEGIN")
for i in range(2000): c.execute("INSERT INTO item(name) VALUES (?)", (f"item {i}",))
c.execute("COMMIT")
for i in range(20): c.execute("SELECT id FROM item WHERE name = ?", (f"item {i}",)).fetchall()
d = sqlite3.connect("app.db", isolation_level=None, timeout=0)
c.execute("BEGIN IMMEDIATE")
try: d.execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError: pass
c.execute("COMMIT")
print("hello")
open("ready", "w").close()
while len(sys.argv) > 2 and not os.path.exists(sys.argv[2]): time.sleep(0.01)
if len(sys.argv) > 1: sys.exit(int(sys.argv[1]))
"#;

const WATCH: [&str; 4] = ["watch", "--", "python3", "app.py"];

#[test]
fn a_program_is_watched_and_its_statements_are_summarised() {
    let Some(laboratory) = with_program(APP) else {
        return;
    };
    let answer = laboratory.pragmark(&WATCH).exits(0);
    let text = answer.stdout();
    let answer = answer.says(&["hello", "INSERT INTO", "2,000", "SQLITE_BUSY", "39,980"]);
    answer.says(&["commits, ", " per second", "write-ahead log of ", "waiting for locks: 0"]);
    assert!(!text.contains("open connection"), "it has ended: {text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    let fails: Vec<_> = WATCH.into_iter().chain(["7"]).collect();
    laboratory.pragmark(&fails).exits(7).says(&["INSERT INTO"]);
    assert!(laboratory.left_over().is_empty());
}

#[test]
fn slow_statements_are_logged_with_their_plans_and_without_values() {
    let Some(laboratory) = with_program(APP) else {
        return;
    };
    let log = ["watch", "--log", "slow.jsonl", "--slower", "1us", "--", "python3", "app.py"];
    laboratory.pragmark(&log).exits(0);
    let text = laboratory.read("slow.jsonl");
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let search = lines.iter().find(|line| line["sql"] == "SELECT id FROM item WHERE name = ?");
    let search = search.unwrap();
    assert_eq!(search["plan"], serde_json::json!(["SCAN item"]));
    assert_eq!((&search["rows"], &search["scan_steps"]), (&1.into(), &1999.into()));
    assert!(search["time"].as_str().unwrap().ends_with('Z'));
    assert!(!text.contains("item 1"), "{text}");
}

/// Returns the answer of the server at a port to a request.
fn metrics_at(port: u16) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text)
}

#[test]
fn figures_are_served_while_the_program_runs() {
    let Some(laboratory) = with_program(APP) else {
        return;
    };
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let address = format!("127.0.0.1:{port}");
    let serve = ["watch", "--openmetrics", &address, "--", "python3", "app.py", "0", "end"];
    laboratory.pragmark(&serve).exits(3).complains(&[&address, "choose another port"]);
    assert!(!laboratory.path().join("ready").exists());
    drop(taken);
    let mut watching = laboratory.start(&serve);
    wait_until(|| laboratory.path().join("ready").exists());
    let is_complete = |text: &String| text.contains("sqlite_refused_total 1\n");
    wait_until(|| metrics_at(port).as_ref().is_some_and(is_complete));
    let text = metrics_at(port).unwrap();
    for line in [
        "application/openmetrics-text",
        "sqlite_statement_seconds_count{statement=\"SELECT id FROM item WHERE name = ?\"} 20\n",
        "sqlite_scan_steps_total{statement=\"SELECT id FROM item WHERE name = ?\"} 39980\n",
        "/app.db\"} 2\n",
        "# EOF\n",
    ] {
        assert!(text.contains(line), "{line} is missing in {text}");
    }
    laboratory.write("end", "");
    assert!(watching.wait().unwrap().success());
}

#[test]
fn a_program_without_sqlite_or_none_at_all_is_said_to_be_so() {
    let laboratory = Laboratory::new();
    laboratory.pragmark(&["watch", "--", "true"]).exits(3).complains(&["nothing was seen"]);
    laboratory
        .pragmark(&["watch", "--", "no-such-program"])
        .exits(3)
        .complains(&["no-such-program"]);
    laboratory.pragmark(&["watch"]).exits(2);
    laboratory.pragmark(&["watch", "--logg", "x", "--", "true"]).exits(2).complains(&["'--log'"]);
    let port = ["watch", "--openmetrics", "9464", "--", "true"];
    laboratory.pragmark(&port).exits(2).complains(&["such as 127.0.0.1:9464"]);
    laboratory.pragmark(&["watch", "--log", "no/such/folder", "--", "true"]).exits(3);
}

#[test]
fn the_view_takes_keys_and_leaves_the_terminal_as_it_was() {
    let Some(laboratory) = with_program(APP) else {
        return;
    };
    // As a shell does when the program is stopped and continued.
    let reset =
        "(until [ -e ready ]; do sleep 0.1; done; sleep 1; stty icanon echo < /dev/tty; : > reset)";
    let program = env!("CARGO_BIN_EXE_pragmark");
    let command = format!("{reset} & '{program}' watch -- python3 app.py 3 end; stty -a");
    let started = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .current_dir(laboratory.path())
        .env_remove("CI")
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut terminal) = started else {
        return testing::skip("this test needs script(1)");
    };
    let mut keys = terminal.stdin.take().unwrap();
    wait_until(|| laboratory.path().join("reset").exists());
    keys.write_all(b"sw").unwrap();
    let written = || {
        let files = std::fs::read_dir(laboratory.path()).unwrap().flatten();
        files
            .map(|file| file.file_name().to_string_lossy().into_owned())
            .find(|name| name.ends_with(".md"))
    };
    wait_until(|| written().is_some());
    laboratory.write("end", "");
    let mut text = String::new();
    terminal.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    terminal.wait().unwrap();
    let (view, after) = text.rsplit_once("\u{1b}[?1049l").unwrap();
    assert!(view.contains("\u{1b}[?1049h") && view.contains("q quit"), "{view}");
    assert!(after.contains("hello") && after.contains("What python3 did with SQLite"), "{after}");
    assert!(after.contains(" echo ") && after.contains(" icanon "), "{after}");
    assert!(laboratory.read(&written().unwrap()).contains("SELECT id FROM item"));
}
