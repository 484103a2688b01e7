//! What every store must do, whichever it is. Servers are tested with the whole program, which starts
//! them.

use std::path::Path;
use std::sync::Arc;

use engine::{Library, Source};
use lab::level::Settings;
use lab::seed::Seed;
use proptest::prelude::*;

use super::*;
use crate::parameters::Choice;
use crate::trial::Trial;

fn task(id: u128) -> Task {
    Task {
        id: TaskId(id),
        status: Status::Pending,
        cmd: "example".to_owned(),
        args: "[\"a\"]".to_owned(),
        scheduled_at: 100 - id as i64,
        output: String::new(),
    }
}

fn sqlite(directory: &Path, connections: Connections, statements: Statements) -> Box<dyn Store> {
    sqlite_that_begins("deferred", directory, connections, statements)
}

fn sqlite_that_begins(
    transaction: &str,
    directory: &Path,
    connections: Connections,
    statements: Statements,
) -> Box<dyn Store> {
    let settings = [("journal_mode", "wal"), ("synchronous", "off"), ("transaction", transaction)];
    let settings = settings.map(|(name, level)| (name.to_owned(), level.into()));
    let settings = Settings::from(settings);
    let trial = Trial {
        seed: Seed(1),
        ..Trial::detached(
            &settings,
            &Arc::new(Library::load(&Source::Embedded).unwrap()),
            directory,
        )
    };
    Box::new(Sqlite::create(&trial, connections, statements, true).unwrap())
}

/// Has `check` look at a store of every kind.
fn each(check: impl Fn(&str, Box<dyn Store>)) {
    for writing in [Writing::Truncate, Writing::Rename, Writing::Sync, Writing::SyncDirectory] {
        let directory = tempfile::tempdir().unwrap();
        let files = Files::open(directory.path().to_owned(), writing).unwrap();
        check(&format!("{writing:?}"), Box::new(files));
    }
    let empty = tempfile::tempdir().unwrap();
    check("memory", Box::new(Memory::rebuild(empty.path()).unwrap()));
    for (connections, statements) in [
        (Connections::PerThread, Statements::Reused),
        (Connections::PerThread, Statements::EachTime),
        (Connections::Shared, Statements::EachTime),
        (Connections::Pool, Statements::EachTime),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let store = sqlite(directory.path(), connections, statements);
        check(&format!("{connections:?} {statements:?}"), store);
    }
}

#[test]
fn a_task_is_kept_as_it_was_left_until_it_is_deleted() {
    each(|name, store| {
        let mut kept = task(1);
        store
            .session(&mut |session| {
                session.insert(&kept)?;
                kept.status = Status::Processing;
                session.update(&kept, Change::Status)?;
                kept.output = "one".to_owned();
                session.update(&kept, Change::Output)?;
                kept.output.push_str(" two");
                session.update(&kept, Change::Appended(" two"))?;
                assert_eq!(session.get(kept.id)?.as_ref(), Some(&kept), "{name}");
                assert_eq!(session.list(Status::Processing, 9)?, [kept.id], "{name}");
                assert!(session.list(Status::Pending, 9)?.is_empty(), "{name}");
                Ok(())
            })
            .unwrap();
        assert_eq!(store.tasks().unwrap(), [kept.clone()], "{name}");
        store.session(&mut |session| session.delete(&kept)).unwrap();
        assert!(store.tasks().unwrap().is_empty(), "{name}");
        store.close().unwrap();
    });
}

#[test]
fn tasks_are_claimed_once_each_in_the_order_in_which_they_are_due() {
    each(|name, store| {
        store
            .session(&mut |session| {
                for id in 1..=3 {
                    session.insert(&task(id))?;
                }
                let mut claimed = Vec::new();
                while let Some(task) = session.claim(98)? {
                    assert_eq!(task.status, Status::Processing, "{name}");
                    claimed.push(task.id);
                }
                assert_eq!(claimed, [TaskId(3), TaskId(2)], "{name}");
                Ok(())
            })
            .unwrap();
        let pending = store.tasks().unwrap();
        let pending = pending.iter().filter(|task| task.status == Status::Pending);
        assert_eq!(pending.count(), 1, "{name}");
    });
}

#[test]
fn a_change_of_a_task_that_is_not_there_is_no_success() {
    each(|name, store| {
        let deleted = store.session(&mut |session| session.delete(&task(9)));
        assert!(deleted.is_err(), "{name}");
        let found = store.session(&mut |session| {
            assert_eq!(session.get(TaskId(9))?, None, "{name}");
            Ok(())
        });
        found.unwrap();
    });
}

#[test]
fn a_transaction_is_one_commit_and_only_databases_have_them() {
    each(|name, store| {
        let grouped = store.session(&mut |session| {
            session.begin()?;
            session.insert(&task(1))?;
            session.insert(&task(2))?;
            session.commit()
        });
        let has_transactions =
            name.contains("Thread") || name.contains("Shared") || name.contains("Pool");
        assert_eq!(grouped.is_ok(), has_transactions, "{name}");
        let found = store.tasks().unwrap().len();
        assert_eq!(found, if has_transactions { 2 } else { 0 }, "{name}");
    });
}

#[test]
fn a_transaction_begins_as_the_settings_ask_and_waits_for_another_in_its_first_statement() {
    for statements in [Statements::Reused, Statements::EachTime] {
        for (transaction, begins) in [("deferred", true), ("immediate", false)] {
            let directory = tempfile::tempdir().unwrap();
            let own = Connections::PerThread;
            let store = sqlite_that_begins(transaction, directory.path(), own, statements);
            let mut begun = false;
            let second = store.session(&mut |first| {
                store.session(&mut |second| {
                    first.begin()?;
                    first.insert(&task(1))?;
                    second.begin()?;
                    begun = true;
                    second.insert(&task(2))
                })
            });
            assert!(second.is_err(), "{transaction}");
            assert_eq!(begun, begins, "{transaction}");
            // It was tried again and again.
            assert!(store.stats().busy > 1, "{transaction}");
        }
    }
}

#[test]
fn parts_of_the_work_add_up_and_what_one_cannot_tell_is_not_known() {
    let part = |syncs: Option<u64>| StoreStats {
        busy: 2,
        syncs,
        counts: [("writes".to_owned(), 3.0)].into(),
        ..StoreStats::default()
    };
    let both = part(Some(4)).plus(part(Some(5)));
    assert_eq!((both.busy, both.syncs), (4, Some(9)));
    assert_eq!(both.counts["writes"], 6.0);
    assert_eq!(part(Some(4)).plus(part(None)).syncs, None);
}

#[test]
fn the_syncs_of_files_are_counted_and_a_renamed_one_is_never_synced() {
    let syncs = |writing| {
        let directory = tempfile::tempdir().unwrap();
        let files = Files::open(directory.path().to_owned(), writing).unwrap();
        let before = files.stats();
        let work = |session: &mut dyn Session| {
            session.insert(&task(1))?;
            session.update(&task(1), Change::Output)?;
            session.delete(&task(1))
        };
        files.session(&mut |session| work(session)).unwrap();
        let stats = files.stats().since(&before);
        assert_eq!(stats.counts["writes"], 2.0);
        assert_eq!(stats.counts["deletes"], 1.0);
        stats.syncs.unwrap()
    };
    assert_eq!(syncs(Writing::Truncate), 0);
    assert_eq!(syncs(Writing::Rename), 0);
    assert_eq!(syncs(Writing::Sync), 2);
    assert_eq!(syncs(Writing::SyncDirectory), 2 + 3);
}

#[test]
fn memory_begins_with_the_tasks_whose_files_are_there() {
    let directory = tempfile::tempdir().unwrap();
    let files = Files::open(directory.path().to_owned(), Writing::Rename).unwrap();
    files
        .session(&mut |session| {
            session.insert(&task(1))?;
            session.insert(&task(2))
        })
        .unwrap();
    let memory = Memory::rebuild(directory.path()).unwrap();
    assert_eq!(memory.tasks().unwrap(), [task(1), task(2)]);
    memory
        .session(&mut |session| {
            assert_eq!(session.claim(1_000)?.map(|task| task.id), Some(TaskId(2)));
            Ok(())
        })
        .unwrap();
    let again = Files::open(directory.path().to_owned(), Writing::Rename).unwrap();
    again
        .session(&mut |session| {
            assert_eq!(session.claim(1_000)?.map(|task| task.id), Some(TaskId(2)));
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_pool_keeps_two_connections_and_opens_what_it_lacks() {
    let directory = tempfile::tempdir().unwrap();
    let store = sqlite(directory.path(), Connections::Pool, Statements::EachTime);
    let together = |store: &dyn Store, sessions: usize| {
        let before = store.stats().opened;
        let barrier = std::sync::Barrier::new(sessions);
        std::thread::scope(|scope| {
            for number in 0..sessions {
                let barrier = &barrier;
                scope.spawn(move || {
                    let mut work = |session: &mut dyn Session| {
                        // A transaction holds its connection, so that all are wanted at a time.
                        if number == 0 {
                            session.begin()?;
                        }
                        session.get(TaskId(1))?;
                        barrier.wait();
                        if number == 0 {
                            session.commit()?;
                        }
                        Ok(())
                    };
                    store.session(&mut work).unwrap();
                });
            }
        });
        store.stats().opened - before
    };
    assert!(together(&*store, 1) >= 1);
    assert_eq!(together(&*store, 1), 0, "the idle one is used again");
}

#[test]
fn what_the_connections_of_a_pool_have_become_is_read_back_when_it_is_closed() {
    let directory = tempfile::tempdir().unwrap();
    let store = sqlite(directory.path(), Connections::Pool, Statements::EachTime);
    let read = |session: &mut dyn Session| session.get(TaskId(1)).map(drop);
    store.session(&mut |session| read(session)).unwrap();
    let closing = store.close().unwrap();
    let names = closing.connections.iter().map(|read| &read.connection[..]);
    assert_eq!(names.collect::<Vec<_>>(), ["first", "pool 1"]);
    for read_back in &closing.connections {
        assert_eq!(read_back.pragmas["synchronous"], "off");
        assert_eq!(read_back.pragmas["journal_mode"], "wal");
    }
}

proptest! {
    #[test]
    fn an_id_reads_back_from_its_digits(id: u128) {
        prop_assert_eq!(TaskId::parse(&TaskId(id).to_string()), Some(TaskId(id)));
    }
}

#[test]
fn what_is_no_id_or_status_is_refused() {
    let long = "0".repeat(33);
    let signed = format!("+{}", "0".repeat(31));
    for text in ["", "12", long.as_str(), signed.as_str(), &"g".repeat(32)] {
        assert_eq!(TaskId::parse(text), None, "{text}");
    }
    assert_eq!(Status::named("processing"), Some(Status::Processing));
    assert_eq!(Status::named("Pending"), None);
}
