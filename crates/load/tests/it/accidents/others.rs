//! Other processes that read and write a database while rows are loaded into it.

use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use engine::{Connection, EngineError};

use crate::accidents::{DATABASE, Prepared, child, open, rounds};

/// The file whose existence ends those processes.
const STOP: &str = "stop";

/// The files with which they say that they have begun to read and to write.
const READS: &str = "reads";
const WRITES: &str = "writes";

/// How long they wait between two of their transactions, so that the processors have time for the load, too.
const PAUSE: Duration = Duration::from_millis(2);

/// Not a test of its own: it reads until it is stopped. In a transaction everything stays as it is.
#[test]
fn child_that_reads() {
    let Some(database) = std::env::var_os(DATABASE) else {
        return;
    };
    let database = Path::new(&database);
    let connection = open(database);
    while !database.with_file_name(STOP).exists() {
        match read(&connection) {
            Ok(()) => begun(database, READS),
            Err(_) => drop(connection.execute("ROLLBACK")),
        }
        std::thread::sleep(PAUSE);
    }
    std::process::exit(0);
}

fn read(connection: &Connection) -> Result<(), EngineError> {
    connection.execute("BEGIN")?;
    let rows = connection.query_i64("SELECT count(*) FROM t")?;
    assert_eq!(connection.query_text("PRAGMA integrity_check")?, "ok");
    assert_eq!(connection.query_i64("SELECT count(*) FROM t")?, rows);
    connection.execute("COMMIT")
}

/// Not a test of its own: it writes until it is stopped, and says how many rows.
#[test]
fn child_that_writes() {
    let Some(database) = std::env::var_os(DATABASE) else {
        return;
    };
    let database = Path::new(&database);
    let connection = open(database);
    let mut rows = 0;
    while !database.with_file_name(STOP).exists() {
        let insert = "INSERT INTO written VALUES (zeroblob(3000))";
        if connection.execute(insert).is_ok() {
            rows += 1;
            begun(database, WRITES);
        }
        std::thread::sleep(PAUSE);
    }
    eprintln!("rows {rows}");
    std::process::exit(0);
}

fn begun(database: &Path, what: &str) {
    std::fs::write(database.with_file_name(what), "").unwrap();
}

/// Waits until both have begun; one that ends before that has failed.
fn wait_for(others: &mut [Child], database: &Path) {
    while ![READS, WRITES].iter().all(|what| database.with_file_name(what).exists()) {
        for other in &mut *others {
            assert_eq!(other.try_wait().unwrap(), None);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn loads_go_with_other_processes_that_read_and_write() {
    let mut loads = 0;
    for prepared in Prepared::all().filter(|prepared| prepared.before.is_some()) {
        for _ in 0..rounds(1) {
            next_to_others(&prepared);
            loads += 1;
        }
    }
    println!("{loads} loads next to a process that reads and one that writes");
}

fn next_to_others(prepared: &Prepared) {
    let database = prepared.fresh();
    let connection = open(&database);
    connection.execute("CREATE TABLE written(a)").unwrap();
    drop(connection);
    let mut others = ["others::child_that_reads", "others::child_that_writes"].map(|test| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        child(&mut command, test, prepared.number, &database);
        command.spawn().unwrap()
    });
    wait_for(&mut others, &database);
    let mut command = Command::new(std::env::current_exe().unwrap());
    child(&mut command, "child_that_loads", prepared.number, &database);
    let output = command.output().unwrap();
    std::fs::write(database.with_file_name(STOP), "").unwrap();
    let mut written = None;
    for other in others {
        let ended = other.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{}: {said}", prepared.scene.name);
        written =
            said.lines().find_map(|line| line.strip_prefix("rows ")?.parse().ok()).or(written);
    }
    let connection = open(&database);
    let rows: i64 = written.expect("the number of rows written");
    assert!(rows > 0);
    assert_eq!(connection.query_i64("SELECT count(*) FROM written").unwrap(), rows);
    connection.execute("DROP TABLE written").unwrap();
    drop(connection);
    let complaint = String::from_utf8_lossy(&output.stderr);
    // A reader may keep the lock longer than a load waits for it.
    assert!(output.status.success() || complaint.contains("locked"), "{complaint}");
    assert_eq!(prepared.is_loaded(&database), output.status.success(), "{complaint}");
}
