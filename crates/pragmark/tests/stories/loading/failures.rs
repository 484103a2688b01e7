//! What a load leaves behind when it is killed, interrupted, locked out or out of space.

use std::process::Command;

use super::{connection, dump, files, load_towns, towns, towns_loaded};
use crate::laboratory::{Laboratory, wait_until};

#[test]
fn a_locked_database_stays_as_it_was() {
    let laboratory = towns_loaded();
    let holder = connection(&laboratory, "towns.db");
    holder.execute("BEGIN IMMEDIATE").unwrap();
    load_towns(&laboratory, "towns.csv", &["--append"])
        .exits(3)
        .complains(&["towns.db: database is locked", "another program is using the database"]);
    holder.execute("ROLLBACK").unwrap();
    assert_eq!(dump(&laboratory, "towns.db", "SELECT count(*) FROM towns"), "3");
}

#[test]
fn a_load_that_is_killed_leaves_the_old_database_and_no_new_one() {
    use std::io::Write;
    let laboratory = towns_loaded();
    for (database, more) in [("towns.db", &["--append"][..]), ("new.db", &[])] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_pragmark"))
            .args(["load", "-", database, "--table", "towns"])
            .args(more)
            .current_dir(laboratory.path())
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(b"id,name\n").unwrap();
        // More than reader and pipe hold, so that rows are being written when it is killed.
        for row in 0..600_000 {
            writeln!(pipe, "{row},name of the town number {row}").unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(!laboratory.path().join("new.db").exists());
    assert_eq!(dump(&laboratory, "towns.db", "SELECT count(*) FROM towns"), "3");
    assert_eq!(dump(&laboratory, "towns.db", "PRAGMA integrity_check"), "ok");
}

#[test]
fn what_a_killed_load_left_goes_with_the_next_one() {
    use std::io::Write;
    let laboratory = towns();
    let mut child = start_from_pipe(&laboratory, "towns.db");
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(b"id,name\n1,a\n").unwrap();
    // More than is read before anything is made.
    pipe.write_all(&b"2,b\n".repeat(1_000_000)).unwrap();
    let unfinished = |laboratory: &Laboratory| {
        let names = files(laboratory).into_iter();
        names.filter(|name| name.starts_with("towns.db.unfinished-")).count()
    };
    wait_until(|| unfinished(&laboratory) == 1);
    // Another load to the same place, while the first one goes on, leaves its file alone.
    laboratory.write("bad.csv", "a\n1,2\n");
    load_towns(&laboratory, "bad.csv", &[]).exits(3);
    assert_eq!(unfinished(&laboratory), 1);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(unfinished(&laboratory), 1);
    load_towns(&laboratory, "towns.csv", &[]).exits(0);
    assert_eq!(files(&laboratory), ["bad.csv", "small.toml", "towns.csv", "towns.db"]);
}

fn start_from_pipe(laboratory: &Laboratory, database: &str) -> std::process::Child {
    Command::new(env!("CARGO_BIN_EXE_pragmark"))
        .args(["load", "-", database, "--table", "t"])
        .current_dir(laboratory.path())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn a_load_that_waits_for_its_input_can_be_interrupted() {
    use std::io::Write;
    let laboratory = Laboratory::new();
    let mut child = start_from_pipe(&laboratory, "new.db");
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(&b"2,b\n".repeat(500_000)).unwrap();
    wait_until(|| files(&laboratory).len() > 1);
    // The pipe stays open, and nothing comes.
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    let status = child.wait().unwrap();
    drop(pipe);
    assert_eq!(status.code(), Some(130));
    assert_eq!(files(&laboratory), ["small.toml"]);
}

#[test]
fn a_full_disk_leaves_the_old_database() {
    let laboratory = towns_loaded();
    let rows: String = (0..200_000).map(|n| format!("{n},{n}\n")).collect();
    laboratory.write("many.csv", &format!("id,people\n{rows}"));
    let before = std::fs::read(laboratory.path().join("towns.db")).unwrap();
    for (database, mode) in
        [("new.db", "--analyze"), ("towns.db", "--append"), ("towns.db", "--replace")]
    {
        // Files of at most 2.4 MiB, which the library fits into and the rows do not; a program that does not expect the
        // signal is killed by it.
        let script = "trap '' XFSZ; ulimit -f 5000; exec \"$0\" \"$@\"";
        let output = Command::new("/bin/sh")
            .args(["-c", script, env!("CARGO_BIN_EXE_pragmark")])
            .args(["load", "many.csv", database, "--table", "towns", mode])
            .current_dir(laboratory.path())
            .output()
            .unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{database} {mode}: {complaint}");
        assert!(complaint.contains("error: ") && complaint.contains(database), "{complaint}");
        assert_eq!(files(&laboratory), ["many.csv", "small.toml", "towns.csv", "towns.db"]);
        let now = std::fs::read(laboratory.path().join("towns.db")).unwrap();
        assert!(now == before, "{database} {mode}");
    }
}

#[test]
fn a_load_that_is_interrupted_cleans_up() {
    use std::io::Write;
    let laboratory = Laboratory::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_pragmark"))
        .args(["load", "-", "new.db", "--table", "t"])
        .current_dir(laboratory.path())
        .stdin(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(b"id,name\n").unwrap();
    for row in 0..300_000 {
        writeln!(pipe, "{row},name of the town number {row}").unwrap();
    }
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    // The next batch is the last; the pipe may be closed before all of this is taken.
    for row in 0..300_000 {
        if writeln!(pipe, "{row},name of the town number {row}").is_err() {
            break;
        }
    }
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(files(&laboratory), ["small.toml"]);
}
