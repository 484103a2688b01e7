//! The user's own database and SQL: crashed on top of a file that is only read, and judged by pages.

mod in_force;
mod scripts;

use engine::{Connection, Library, OpenFlags, Source, Value};
use lab::tier::Loss;
use pragmark_crash::{
    Action, Cell, CrashError, CrashSettings, Execution, FEWEST, InitialDatabases, JournalMode,
    Matrix, Model, Plan, Script, Synchronous, measure, write_witnesses,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MODELS: [Model; 5] =
    [Model::Kill, Model::Ordered, Model::Ext4Ordered, Model::Reorder, Model::Torn];

fn settings(journal_mode: JournalMode, synchronous: Synchronous) -> CrashSettings {
    CrashSettings::new(journal_mode, synchronous)
}

fn library() -> Arc<Library> {
    Arc::new(Library::load(&Source::Embedded).expect("loads"))
}

/// A database of so many rows of 1,000 bytes, with free pages, in the given journal mode.
fn database(folder: &Path, rows: usize, mode: JournalMode) -> PathBuf {
    let path = folder.join("app.db");
    let connection = Connection::open(&library(), &path, OpenFlags::default(), None).unwrap();
    connection
        .execute(&format!(
            "PRAGMA journal_mode = {mode};
             CREATE TABLE item(id INTEGER PRIMARY KEY, k INTEGER, v TEXT);
             CREATE INDEX item_k ON item(k);
             CREATE TABLE spare(v TEXT);
             WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
                 INSERT INTO item SELECT i, i * 7919 % 1000, printf('%01000d', i) FROM n;
             INSERT INTO spare SELECT v FROM item WHERE id <= 200;
             DELETE FROM spare;"
        ))
        .unwrap();
    connection.close().unwrap();
    path
}

const SCRIPT: &str = "
    UPDATE item SET k = k + 1 WHERE id % 97 = 0;
    BEGIN; INSERT INTO item(k, v) VALUES (1, 'one'); DELETE FROM item WHERE id = 50; COMMIT;
    INSERT INTO spare SELECT v FROM item WHERE id BETWEEN 60 AND 90;
    BEGIN; UPDATE item SET v = 'never'; ROLLBACK;
    UPDATE item SET v = printf('%0900d', k) WHERE id BETWEEN 100 AND 140;
    DELETE FROM spare;
    PRAGMA wal_checkpoint;
    CREATE TABLE late(a, b); INSERT INTO late SELECT id, v FROM item WHERE id < 30;
    UPDATE item SET k = -k WHERE id < 400;
    INSERT INTO spare SELECT v FROM item WHERE id BETWEEN 300 AND 330;
    DROP TABLE late;
";

fn script(text: &str) -> Script {
    Script::parse(&library(), Path::new("mine.sql"), text).unwrap()
}

fn plan(script: Option<Script>, initial: Option<InitialDatabases>, variant: CrashSettings) -> Plan {
    Plan { script, initial, threads: 2, ..Plan::new(vec![variant], MODELS.to_vec(), 400) }
}

fn measured(plan: &Plan) -> Result<Matrix, CrashError> {
    measure(plan)
}

fn crashed(folder: &Path, variant: CrashSettings, transactions: usize) -> Matrix {
    let path = folder.join("app.db");
    let initial = InitialDatabases::of(&[&path], transactions).unwrap();
    measured(&plan(Some(script(SCRIPT)), Some(initial), variant)).unwrap()
}

fn worst(matrix: &Matrix) -> Vec<Option<Loss>> {
    let cells = matrix.cells.iter();
    cells.map(|cell| cell.safety.ordinary.loss()).collect()
}

#[test]
fn where_images_are_large_fewer_are_sampled() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path(), 1_500, JournalMode::Wal);
    let images = |image_bytes| {
        let initial = InitialDatabases::of(&[&path], 100).unwrap();
        let variant = settings(JournalMode::Wal, Synchronous::Full);
        let plan = Plan {
            models: vec![Model::Reorder],
            images: 1_000,
            image_bytes,
            ..plan(Some(script(SCRIPT)), Some(initial), variant)
        };
        let matrix = measured(&plan).unwrap();
        let counts = matrix.cells[0].safety.whole().counts();
        counts.unwrap().images as usize
    };
    let (all, fewest) = (images(None), images(Some(1)));
    assert!(all > FEWEST, "{all}");
    assert!((1..=FEWEST).contains(&fewest), "{fewest}");
}

#[test]
fn verdicts_on_the_users_database_are_those_of_its_settings_and_it_is_not_changed() {
    for (mode, synchronous, in_power_cut) in [
        (JournalMode::Wal, Synchronous::Full, Loss::Nothing),
        (JournalMode::Delete, Synchronous::Extra, Loss::Nothing),
        (JournalMode::Persist, Synchronous::Full, Loss::Nothing),
        (JournalMode::Wal, Synchronous::Normal, Loss::RecentTransactions),
        (JournalMode::Wal, Synchronous::Off, Loss::Corruption),
        (JournalMode::Delete, Synchronous::Off, Loss::Corruption),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = database(folder.path(), 1_500, mode);
        let before = std::fs::read(&path).unwrap();
        let variant = settings(mode, synchronous);
        let matrix = crashed(folder.path(), variant, 100);
        assert_eq!(worst(&matrix)[0], Some(Loss::Nothing), "{variant}: kill");
        let power = worst(&matrix)[1..].iter().copied().max().unwrap();
        assert_eq!(power, Some(in_power_cut), "{variant}");
        assert!(matrix.cells.iter().all(|cell| {
            let counts = cell.safety.whole();
            counts.counts().is_some_and(|counts| counts.images > 50)
        }));
        assert!(before == std::fs::read(&path).unwrap(), "{variant}");
        let performed = matrix.own.as_ref().unwrap().performed;
        assert_eq!((performed.transactions, performed.of), (10, 17), "{variant}");
    }
}

/// With pages of 1,024 bytes, the first block has free ones, which SQLite uses again without a copy in the journal.
#[test]
fn free_pages_in_the_first_block_are_no_content() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let connection = Connection::open(&library(), &path, OpenFlags::default(), None).unwrap();
    connection
        .execute(
            "PRAGMA page_size = 1024;
             CREATE TABLE item(v TEXT);
             INSERT INTO item VALUES (printf('%02500d', 1));
             DELETE FROM item;",
        )
        .unwrap();
    connection.close().unwrap();
    let text = "INSERT INTO item VALUES (printf('%02500d', 2));
        UPDATE item SET v = printf('%02400d', 3);
        DELETE FROM item;
        INSERT INTO item VALUES (printf('%02500d', 4));";
    let initial = InitialDatabases::of(&[&path], 100).unwrap();
    let variant = settings(JournalMode::Delete, Synchronous::Extra);
    let matrix = measured(&plan(Some(script(text)), Some(initial), variant)).unwrap();
    assert_eq!(worst(&matrix), [Some(Loss::Nothing); MODELS.len()]);
}

#[test]
fn what_is_too_large_to_be_read_in_each_image_is_no_damage() {
    let text = "CREATE TABLE t(a); CREATE INDEX i ON t(a);
        WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 600000)
            INSERT INTO t SELECT i FROM n;";
    let variant = settings(JournalMode::Wal, Synchronous::Full);
    let error = measured(&plan(Some(script(text)), None, variant)).unwrap_err();
    assert!(error.to_string().contains("too large to be read again"), "{error}");
}

/// Rows and pages are two ways to tell what a database holds. Where both can be used, they tell the same.
#[test]
fn judged_by_pages_the_built_in_workload_comes_to_the_verdicts_by_rows() {
    for journal_mode in [JournalMode::Delete, JournalMode::Truncate, JournalMode::Wal] {
        for synchronous in [Synchronous::Full, Synchronous::Normal, Synchronous::Off] {
            // A journal whose records and count are synced together is damaged by few images, and which bytes they take
            // depends on what was read before.
            if journal_mode != JournalMode::Wal && synchronous == Synchronous::Normal {
                continue;
            }
            let variant = settings(journal_mode, synchronous);
            let work = Script::built_in(&variant);
            let by_rows = measured(&plan(Some(work), None, variant)).unwrap();
            let nothing = InitialDatabases::of(&[], usize::MAX).unwrap();
            let by_pages = measured(&plan(None, Some(nothing), variant)).unwrap();
            for (rows, pages) in by_rows.cells.iter().zip(&by_pages.cells) {
                let of = |cell: &Cell| {
                    let counts = cell.counts.as_ref().unwrap();
                    (counts.images, counts.losing, counts.most_lost, counts.violations())
                };
                let (rows_counts, pages_counts) = (of(rows), of(pages));
                assert_eq!(
                    rows.safety.ordinary.loss(),
                    pages.safety.ordinary.loss(),
                    "{variant} {}: {rows_counts:?} {pages_counts:?}",
                    rows.model
                );
            }
        }
    }
}

#[test]
fn the_first_transactions_are_crashed_and_it_is_said_how_many() {
    let folder = tempfile::tempdir().unwrap();
    database(folder.path(), 1_500, JournalMode::Wal);
    let variant = settings(JournalMode::Wal, Synchronous::Normal);
    let few = crashed(folder.path(), variant, 3).own.unwrap().performed;
    assert_eq!((few.transactions, few.statements, few.of), (3, 6, 17));
}

/// A transaction may write any number of pages, each of which is a step.
#[test]
fn the_steps_of_large_transactions_are_sampled() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path(), 1_500, JournalMode::Wal);
    let plan = Plan {
        models: vec![Model::Kill],
        images: 100,
        ..plan(
            Some(script("UPDATE item SET k = k + 1; UPDATE item SET v = 'short';")),
            Some(InitialDatabases::of(&[&path], 5).unwrap()),
            settings(JournalMode::Wal, Synchronous::Full),
        )
    };
    let matrix = measured(&plan).unwrap();
    let counts = matrix.cells[0].counts.as_ref().unwrap();
    assert_eq!((counts.visited, counts.all_states), (100, false));
    assert_eq!(worst(&matrix), [Some(Loss::Nothing)]);
}

#[test]
fn a_witness_of_a_large_database_holds_the_blocks_that_differ_and_shows_the_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path(), 18_000, JournalMode::Delete);
    assert!(path.metadata().unwrap().len() > 16 << 20);
    let plan = Plan {
        models: vec![Model::Reorder],
        ..plan(
            Some(script(&SCRIPT.replace("BEGIN; UPDATE item SET v = 'never'; ROLLBACK;", ""))),
            Some(InitialDatabases::of(&[&path], 4).unwrap()),
            settings(JournalMode::Delete, Synchronous::Off),
        )
    };
    let matrix = measured(&plan).unwrap();
    let artifacts = tempfile::tempdir().unwrap();
    let written = write_witnesses(&matrix, plan.initial.as_ref(), artifacts.path()).unwrap();
    let place = artifacts.path().join(&written[0].0);
    let blocks = place.join("image/main.db.blocks").metadata().unwrap().len();
    assert!(blocks < 8 << 20, "{blocks} bytes");
    if !testing::has_sqlite_shell() {
        return;
    }
    let shown = std::process::Command::new(place.join("show.sh")).output().unwrap();
    let said = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.status.success(), "{said}{}", String::from_utf8_lossy(&shown.stderr));
    // A shell that is missing, or that says anything else, shows nothing.
    let other = artifacts.path().join("other-shell");
    std::fs::write(&other, "#!/bin/sh\necho 'Error: no such option' >&2\nexit 1\n").unwrap();
    std::fs::set_permissions(&other, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for (shell, words) in [
        (Path::new("no-such-shell"), "there is no no-such-shell"),
        (&other, "another error than the one expected"),
    ] {
        let mut show = std::process::Command::new(place.join("show.sh"));
        let told = show.env("SQLITE3", shell).output().unwrap();
        let said = String::from_utf8_lossy(&told.stderr).into_owned();
        assert_eq!(told.status.code(), Some(2), "{said}");
        assert!(said.contains(words), "{said}");
    }
}

fn execution(sql: &str, values: Vec<Value>, fails: bool) -> Action {
    Action::Execution(Execution {
        sql: sql.to_owned(),
        values,
        location: "event 7".to_owned(),
        fails,
        changes: i64::from(sql.starts_with("INSERT")),
    })
}

#[test]
fn recorded_statements_are_executed_with_their_values() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path(), 1_500, JournalMode::Wal);
    let insert = "INSERT INTO item(id, v) VALUES (?, ?)";
    let values = |id| vec![Value::Integer(id), Value::Text("x".to_owned())];
    let mut actions: Vec<Action> =
        (5_000..5_020).map(|id| execution(insert, values(id), false)).collect();
    actions.push(execution(insert, values(5_000), true));
    actions.push(execution("ATTACH 'attached-1.db' AS log", Vec::new(), false));
    actions.push(execution("CREATE TABLE log.entry(x)", Vec::new(), false));
    let entry = "INSERT INTO log.entry VALUES (?)";
    actions.push(execution(entry, vec![Value::Integer(1)], false));
    let of_trace = |actions| Script { path: Some("app.trace".into()), actions };
    let new = folder.path().join("new.db");
    let initial = InitialDatabases::of(&[&path, &new], 100).unwrap();
    let variant = settings(JournalMode::Wal, Synchronous::Full);
    let matrix = measured(&plan(Some(of_trace(actions)), Some(initial.clone()), variant)).unwrap();
    let performed = matrix.own.as_ref().unwrap().performed;
    assert_eq!((performed.transactions, performed.differing), (22, 0));
    assert_eq!(worst(&matrix)[0], Some(Loss::Nothing));
    let twice = vec![execution(insert, values(1), false)];
    let failed = measured(&plan(Some(of_trace(twice)), Some(initial), variant)).unwrap_err();
    let words = "app.trace: event 7: UNIQUE constraint";
    assert!(failed.to_string().contains(words), "{failed}");
}
