//! Several databases of one script, what each of them lacks, and how what they hold is read.

use std::path::Path;
use std::sync::Arc;

use engine::{Library, Source};
use lab::tier::Loss;
use pragmark_crash::{
    CrashSettings, JournalMode, Matrix, Model, Plan, Script, Synchronous, measure,
};

/// What crashes do to a script with these settings; attached databases have the defaults, DELETE and FULL, which can lose
/// the last transaction.
fn crashed(text: &str, journal_mode: JournalMode, synchronous: Synchronous) -> Matrix {
    let library = Arc::new(Library::load(&Source::Embedded).unwrap());
    let plan = Plan {
        script: Some(Script::parse(&library, Path::new("mine.sql"), text).unwrap()),
        threads: 2,
        ..Plan::new(
            vec![CrashSettings::new(journal_mode, synchronous)],
            vec![Model::Kill, Model::Reorder],
            1_000,
        )
    };
    measure(&plan).unwrap()
}

fn worst(matrix: &Matrix) -> Option<Loss> {
    let cells = matrix.cells.iter();
    cells.filter_map(|cell| cell.safety.worst()).max()
}

#[test]
fn a_database_that_loses_transactions_is_not_hidden_by_one_that_loses_none() {
    let initial = "CREATE TABLE t(x); ATTACH 'b.db' AS b; PRAGMA b.journal_mode = wal;
        PRAGMA b.synchronous = normal; CREATE TABLE b.u(x);";
    let both = (1..6).map(|number| {
        format!(
            "BEGIN; INSERT INTO t VALUES ({number}); INSERT INTO b.u VALUES ({number}); COMMIT;"
        )
    });
    let text = format!("{initial}{}", both.collect::<String>());
    let matrix = crashed(&text, JournalMode::Wal, Synchronous::Full);
    assert_eq!(worst(&matrix), Some(Loss::RecentTransactions));
}

#[test]
fn transactions_of_single_databases_have_no_order_between_them() {
    let initial = "CREATE TABLE t(x); ATTACH 'b.db' AS b; CREATE TABLE b.u(x);";
    let each = (1..5).map(|number| {
        format!("INSERT INTO t VALUES ({number}); INSERT INTO b.u VALUES ({number});")
    });
    let text = format!("{initial}{}", each.collect::<String>());
    for (mode, synchronous, loss) in [
        (JournalMode::Delete, Synchronous::Extra, Loss::LastTransaction),
        (JournalMode::Wal, Synchronous::Normal, Loss::RecentTransactions),
    ] {
        assert_eq!(worst(&crashed(&text, mode, synchronous)), Some(loss), "{mode}");
    }
}

#[test]
fn more_databases_than_one_connection_attaches_are_judged() {
    let attached = (1..=10)
        .map(|number| format!("ATTACH 'd{number}.db' AS a{number}; CREATE TABLE a{number}.t(x);"));
    let text = format!("CREATE TABLE t(x); {}", attached.collect::<String>());
    let matrix = crashed(&text, JournalMode::Delete, Synchronous::Extra);
    assert_eq!(worst(&matrix), Some(Loss::LastTransaction));
}

#[test]
fn rows_that_a_script_reads_backwards_are_the_same_rows() {
    let text = "PRAGMA reverse_unordered_selects = ON; CREATE TABLE t(x);
        INSERT INTO t VALUES (1), (2), (3); INSERT INTO t VALUES (4);";
    let matrix = crashed(text, JournalMode::Delete, Synchronous::Extra);
    assert_eq!(worst(&matrix), Some(Loss::Nothing));
}

#[test]
fn a_version_that_the_application_sets_is_content() {
    let text = "CREATE TABLE t(x); PRAGMA user_version = 7; PRAGMA application_id = 11;";
    let matrix = crashed(text, JournalMode::Wal, Synchronous::Normal);
    assert_eq!(worst(&matrix), Some(Loss::RecentTransactions));
}
