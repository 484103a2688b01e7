//! What is reported to the observer of a shim, and when.

use crate::support::{Scratch, engine};
use pragmark_engine::vfs::{Event, ObservedVfs, Observer, Operation, Query};
use pragmark_engine::{Connection, OpenFlags};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Writes down locks and queries in the order in which they are reported.
#[derive(Default)]
struct Diary(Mutex<Vec<String>>);

impl Diary {
    fn note(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }
}

impl Observer for Diary {
    fn observe(&self, event: &Event<'_>) {
        match event.operation {
            Operation::Lock { level } => self.note(format!("locked {level}")),
            Operation::SharedMemoryLock { .. } => self.note("locked shared memory".to_owned()),
            Operation::Query(query) => self.note(format!("queried {query:?}")),
            _ => {}
        }
    }

    fn about_to_lock(&self) {
        self.note("about to lock".to_owned());
    }
}

#[test]
fn every_lock_is_announced_and_queries_are_reported() {
    let (library, scratch, diary) = (engine(), Scratch::new(), Arc::new(Diary::default()));
    let vfs =
        ObservedVfs::register(&library, None, "diary", Arc::clone(&diary)).expect("registers");
    let path = scratch.file("db");
    let connection =
        Connection::open(&library, &path, OpenFlags::default(), Some(vfs.name())).expect("opens");
    connection.execute("CREATE TABLE t(x)").expect("creates");
    connection.execute("PRAGMA journal_mode = wal; INSERT INTO t VALUES (1)").expect("writes");
    let lines = diary.0.lock().unwrap().clone();
    for (number, line) in lines.iter().enumerate() {
        if line.starts_with("locked ") && *line != "locked shared memory" {
            assert_eq!(lines[number - 1], "about to lock", "{lines:?}");
        }
    }
    for expected in [
        "locked 1".to_owned(),
        "locked 2".to_owned(),
        "locked 4".to_owned(),
        "locked shared memory".to_owned(),
        format!("queried {:?}", Query::Size),
        format!("queried {:?}", Query::Access),
    ] {
        assert!(lines.contains(&expected), "{expected} is not in {lines:?}");
    }
}

/// Refuses to sleep and counts nothing.
struct Impatient;

impl Observer for Impatient {
    fn observe(&self, _: &Event<'_>) {}

    fn sleeps(&self) -> bool {
        false
    }
}

#[test]
fn where_the_observer_does_not_sleep_waiting_for_a_lock_of_the_same_thread_ends() {
    let (library, scratch) = (engine(), Scratch::new());
    let vfs =
        ObservedVfs::register(&library, None, "impatient", Arc::new(Impatient)).expect("registers");
    let path = scratch.file("db");
    let open = || {
        Connection::open(&library, &path, OpenFlags::default(), Some(vfs.name())).expect("opens")
    };
    let (holder, waiter) = (open(), open());
    holder.execute("CREATE TABLE t(x); BEGIN IMMEDIATE").expect("takes the lock");
    // Ten minutes: with sleeping, this test would be noticed.
    waiter.busy_timeout(Duration::from_secs(600)).expect("sets");
    let error = waiter.execute("BEGIN IMMEDIATE").expect_err("busy");
    assert!(error.is_busy(), "{error}");
}
