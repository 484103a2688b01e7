//! Settings that a script changes, and those of databases that it attaches.

use super::{measured, plan, script, settings, worst};
use engine::Source;
use lab::seed::Seed;
use lab::tier::{Loss, Promise};
use pragmark_crash::{CrashSettings, JournalMode, Model, Synchronous, Witness};

fn recorded(text: &str, variant: &CrashSettings) -> pragmark_crash::Recording {
    let mut harness = pragmark_crash::Harness::new(&Source::Embedded).unwrap();
    let made = pragmark_crash::Recording::make(&mut harness, variant, &script(text), None, Seed(1));
    made.unwrap()
}

#[test]
fn settings_that_a_script_changes_or_that_an_attached_database_has_are_read_at_each_commit() {
    let variant = settings(JournalMode::Wal, Synchronous::Normal);
    let unlike = |text: &str| -> Vec<String> {
        let in_force = recorded(text, &variant).in_force;
        in_force.iter().filter_map(|it| it.unlike(&variant)).collect()
    };
    let table = "CREATE TABLE t(x);\n";
    assert_eq!(unlike(&format!("{table}INSERT INTO t VALUES (1);")), [""; 0]);
    assert_eq!(
        unlike(&format!("{table}PRAGMA synchronous = OFF;\nINSERT INTO t VALUES (1);")),
        ["wal/off/normal instead of wal/normal/normal for main.db from line 3 on"]
    );
    let attached = "ATTACH 'a.db' AS a;\nINSERT INTO t VALUES (1);\nCREATE TABLE a.u(x);";
    assert_eq!(
        unlike(&format!("{table}{attached}")),
        ["delete/full/normal instead of wal/normal/normal for a.db from line 4 on"]
    );
}

#[test]
fn what_is_lost_is_compared_with_the_documentation_of_the_settings_in_force() {
    let full = settings(JournalMode::Wal, Synchronous::Full);
    let attached = "CREATE TABLE t(x); ATTACH 'a.db' AS a; CREATE TABLE a.u(x); INSERT INTO a.u VALUES (1); INSERT INTO t VALUES (2); INSERT INTO a.u VALUES (3);";
    let off = "CREATE TABLE t(x); PRAGMA synchronous = OFF; INSERT INTO t VALUES (1); INSERT INTO t VALUES (2);";
    for (text, loss) in [(attached, Loss::LastTransaction), (off, Loss::Corruption)] {
        let matrix = measured(&plan(Some(script(text)), None, full)).unwrap();
        assert_eq!(worst(&matrix).into_iter().max().unwrap(), Some(loss), "{text}");
        let broken = matrix.cells.iter().filter(|cell| {
            let safety = &cell.safety;
            safety.breaks_a_promise(safety.ordinary.loss())
        });
        assert_eq!(broken.count(), 0, "{text}");
    }
}

/// What is promised of a commit holds for it, whatever is in force at others.
#[test]
fn each_crash_is_judged_by_the_settings_in_force_between_its_first_loss_and_itself() {
    let full = settings(JournalMode::Wal, Synchronous::Full);
    let turns: String = ["OFF", "FULL", "OFF", "FULL"]
        .iter()
        .enumerate()
        .map(|(number, synchronous)| {
            format!(
                "PRAGMA synchronous = {synchronous}; INSERT INTO t VALUES ({number}); UPDATE t SET x = x + 10; PRAGMA wal_checkpoint;"
            )
        })
        .collect();
    let plan = plan(Some(script(&format!("CREATE TABLE t(x); {turns}"))), None, full);
    let matrix = measured(&plan).unwrap();
    let cell = |model| matrix.cells.iter().find(|it| it.model == model).unwrap();
    let safety = &cell(Model::Reorder).safety;
    let losses: Vec<_> = safety.in_force.iter().collect();
    assert_eq!(losses.len(), 2, "{losses:?}");
    assert_eq!(losses[0].settings, "wal/full/normal");
    assert_eq!(losses[0].counts.loss(), Loss::Nothing);
    assert!(losses[0].counts.images > 10, "{losses:?}");
    assert_eq!(losses[1].settings, "wal/off/normal");
    assert_eq!(losses[1].counts.loss(), Loss::Corruption);
    assert_eq!(safety.broken_in_force().count(), 0);
}

/// A promise that is broken while it holds is seen, although other commits of the same script had no promise.
#[test]
fn a_broken_promise_of_some_commits_is_not_excused_by_the_settings_of_others() {
    let full = settings(JournalMode::Delete, Synchronous::Full);
    let text = "CREATE TABLE t(x); PRAGMA synchronous = OFF; INSERT INTO t VALUES (1); PRAGMA synchronous = FULL; INSERT INTO t VALUES (2);
        INSERT INTO t SELECT randomblob(900) FROM t, t, t, t, t; DELETE FROM t WHERE typeof(x) = 'blob'; VACUUM; INSERT INTO t VALUES (3);";
    let matrix = measured(&plan(Some(script(text)), None, full)).unwrap();
    let cell = matrix.cells.iter().find(|it| it.model == Model::Reorder);
    let cell = cell.unwrap();
    let broken: Vec<_> = cell.safety.broken_in_force().collect();
    assert_eq!(broken.len(), 1, "{:?}", cell.safety);
    assert_eq!(broken[0].settings, "delete/full/normal");
    assert!(broken[0].counts.corrupt > 0);
    assert!(broken[0].witness.is_some(), "{:?}", broken[0]);
    let mut witnesses = cell.witnesses.values();
    let shows = |it: &Witness| it.violation.is_some() && it.promise == Promise::MayLose;
    assert!(witnesses.any(shows));
}

#[test]
fn a_transaction_that_is_never_ended_is_named_by_its_beginning() {
    let variant = settings(JournalMode::Wal, Synchronous::Normal);
    let open = "CREATE TABLE t(x);\nBEGIN;\nINSERT INTO t VALUES (1);\n";
    assert_eq!(recorded(open, &variant).left_open.unwrap(), "line 2");
    assert_eq!(recorded(&format!("{open}COMMIT;"), &variant).left_open, None);
}
