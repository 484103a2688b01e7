//! Judging the database of a killed writer: opens and recovers it, and compares it with the expected content.

use super::content::Expected;
use super::writer::{last_transaction, make_tables};
use crate::error::is_of_harness;
use crate::error::{CrashError, Result};
use engine::{Connection, EngineError, Library, OpenFlags};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// Damage to a database after a process was killed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // Variants describe their fields.
pub enum Damage {
    /// SQLite cannot open or read it.
    #[error("SQLite cannot read it: {0}")]
    Unreadable(String),
    /// `PRAGMA integrity_check` complains.
    #[error("integrity_check: {0}")]
    Integrity(String),
    /// Transactions up to the last one acknowledged are missing; `found` is the last one there, if any.
    #[error("transaction {acknowledged} was acknowledged, but {}", last_there(*found))]
    Lost { acknowledged: u64, found: Option<u64> },
    /// It holds a transaction that was not begun, after the last one that was acknowledged.
    #[error("it holds transaction {found}, which was not begun")]
    NeverBegun { acknowledged: Option<u64>, found: u64 },
    /// The rows do not match the transaction that the database claims to be at; this is the first difference.
    #[error("it is not what transaction {transaction} left: {difference}")]
    Content { transaction: u64, difference: String },
}

impl Damage {
    /// How many acknowledged transactions are missing, where nothing else is wrong; the first has the number 0.
    pub fn lost(&self) -> Option<u64> {
        match self {
            Damage::Lost { acknowledged, found } => {
                Some(acknowledged + 1 - found.map_or(0, |found| found + 1))
            }
            _ => None,
        }
    }

    /// Returns whether only transactions are missing, and the rest is a state that once was committed.
    pub fn is_loss(&self) -> bool {
        matches!(self, Damage::Lost { .. })
    }
}

fn last_there(found: Option<u64>) -> String {
    match found {
        Some(found) => format!("the last one there is {found}"),
        None => "there are no tables".to_owned(),
    }
}

/// Checks the last transaction against the acknowledged one: no acknowledged transaction is missing, and at
/// most one more was under way.
pub(super) fn check_last(acknowledged: Option<u64>, found: Option<u64>) -> Result<(), Damage> {
    match (acknowledged, found) {
        (Some(acknowledged), found) if found.is_none_or(|found| found < acknowledged) => {
            Err(Damage::Lost { acknowledged, found })
        }
        (acknowledged, Some(found)) if found > acknowledged.map_or(0, |last| last + 1) => {
            Err(Damage::NeverBegun { acknowledged, found })
        }
        _ => Ok(()),
    }
}

/// Why nothing is there as it should be: the database is damaged, or the engine could not look at it.
pub(super) enum CheckError {
    Damage(Damage),
    Engine(EngineError),
}

impl From<Damage> for CheckError {
    fn from(damage: Damage) -> CheckError {
        CheckError::Damage(damage)
    }
}

impl From<EngineError> for CheckError {
    fn from(error: EngineError) -> CheckError {
        if is_of_harness(&error) {
            CheckError::Engine(error)
        } else {
            CheckError::Damage(Damage::Unreadable(error.to_string()))
        }
    }
}

/// Opens the database, which recovers it, and checks it. Returns its last transaction. The outer error is
/// unrelated to the database.
pub(super) fn judge(
    library: &Arc<Library>,
    database: &Path,
    acknowledged: Option<u64>,
    expected: &mut Expected,
) -> Result<Result<Option<u64>, Damage>> {
    let mut look = || {
        let connection = Connection::open(library, database, OpenFlags::default(), None)?;
        let verdict = connection.query_text("PRAGMA integrity_check")?;
        if verdict != "ok" {
            return Err(Damage::Integrity(verdict).into());
        }
        let found = last_transaction(&connection)?;
        check_last(acknowledged, found)?;
        if let Some(found) = found {
            expected.advance(found);
            check_rows(&connection, expected)?;
        }
        connection.close()?;
        Ok(found)
    };
    match look() {
        Ok(found) => Ok(Ok(found)),
        Err(CheckError::Damage(damage)) => Ok(Err(damage)),
        Err(CheckError::Engine(error)) => Err(CrashError::engine("reading what was left")(error)),
    }
}

/// Checks that the engine writes and reads what nothing has happened to.
pub(super) fn check_engine(library: &Arc<Library>, folder: &Path) -> Result<()> {
    let database = folder.join("undisturbed.db");
    let during = || CrashError::engine("writing a database that is not killed");
    let connection =
        Connection::open(library, &database, OpenFlags::default(), None).map_err(during())?;
    make_tables(&connection).map_err(during())?;
    connection.close().map_err(during())?;
    let mut expected = Expected::new(lab::seed::Seed(0));
    let judged = judge(library, &database, Some(0), &mut expected)?;
    std::fs::remove_file(&database).map_err(CrashError::io("remove", &database))?;
    judged.map(drop).map_err(CrashError::control)
}

fn check_rows(connection: &Connection, expected: &Expected) -> Result<(), CheckError> {
    let different = |difference: String| Damage::Content { transaction: expected.last, difference };
    let mut wanted = expected.rows();
    let mut difference = None;
    connection.for_each_row("SELECT slot, body FROM item ORDER BY slot", |row| {
        let (slot, body) = (row.column_i64(0), row.column_blob(1)?);
        match wanted.next() {
            _ if difference.is_some() => {}
            Some((wanted_slot, wanted_body)) => {
                if (wanted_slot as i64, wanted_body) != (slot, body) {
                    difference = Some(format!("slot {slot} differs"));
                }
            }
            None => difference = Some(format!("slot {slot} should not be there")),
        }
        Ok(())
    })?;
    if let (None, Some((slot, _))) = (&difference, wanted.next()) {
        difference = Some(format!("slot {slot} is missing"));
    }
    difference.map_or(Ok(()), |difference| Err(different(difference).into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kill::{WriterSpec, write_until_killed};
    use crate::settings::{CrashSettings, JournalMode, Synchronous};
    use engine::Source;
    use lab::seed::Seed;
    use std::io::Write;

    #[test]
    fn at_most_one_transaction_may_be_there_without_having_been_acknowledged() {
        assert_eq!(check_last(None, None), Ok(()));
        assert_eq!(check_last(None, Some(0)), Ok(()));
        assert_eq!(check_last(Some(4), Some(4)), Ok(()));
        assert_eq!(check_last(Some(4), Some(5)), Ok(()));
        let lost = |acknowledged, found| check_last(Some(acknowledged), found).unwrap_err().lost();
        assert_eq!(lost(4, Some(3)), Some(1));
        assert_eq!(lost(4, Some(0)), Some(4));
        assert_eq!(lost(0, None), Some(1));
        assert_eq!(lost(1, None), Some(2));
        assert!(matches!(check_last(Some(4), Some(6)), Err(Damage::NeverBegun { found: 6, .. })));
        assert!(matches!(check_last(None, Some(1)), Err(Damage::NeverBegun { .. })));
    }

    /// An output that accepts this number of lines, and then is closed.
    struct Closing(usize);

    impl Write for Closing {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(1).ok_or(std::io::ErrorKind::BrokenPipe)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    const SEED: u64 = 11;

    /// Returns a database that a writer left after this number of lines. The first two are not transactions.
    fn written(folder: &Path, lines: usize) -> std::path::PathBuf {
        let spec = WriterSpec {
            engine: Source::Embedded,
            database: folder.join("db"),
            settings: CrashSettings::new(JournalMode::Wal, Synchronous::Off),
            seed: SEED,
        };
        let text = serde_json::to_string(&spec).unwrap();
        write_until_killed(text.as_bytes(), Closing(lines)).unwrap();
        spec.database
    }

    fn looked_at(database: &Path, acknowledged: u64) -> Result<Option<u64>, Damage> {
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        let mut expected = Expected::new(Seed(SEED));
        judge(&library, database, Some(acknowledged), &mut expected).unwrap()
    }

    #[test]
    fn what_a_writer_left_is_what_is_expected_of_it() {
        let folder = tempfile::tempdir().unwrap();
        // Lines: ready, at none, 0, ..., 112; the transaction whose line could not be written is there too.
        let database = written(folder.path(), 115);
        assert_eq!(looked_at(&database, 112), Ok(Some(113)));
        // A second writer continues where the first ended.
        written(folder.path(), 10);
        assert_eq!(looked_at(&database, 121), Ok(Some(122)));
    }

    #[test]
    fn a_missing_transaction_is_a_loss_and_changed_rows_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let database = written(folder.path(), 20);
        assert_eq!(
            looked_at(&database, 30),
            Err(Damage::Lost { acknowledged: 30, found: Some(18) })
        );
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        let change = |sql: &str| {
            Connection::open(&library, &database, OpenFlags::default(), None)
                .unwrap()
                .execute(sql)
                .unwrap();
        };
        change("UPDATE item SET body = x'00' WHERE slot = (SELECT max(slot) FROM item)");
        assert!(matches!(looked_at(&database, 18), Err(Damage::Content { .. })));
        change("DELETE FROM item WHERE slot = (SELECT max(slot) FROM item)");
        let damage = looked_at(&database, 18).unwrap_err();
        assert!(damage.to_string().contains("is missing"), "{damage}");
        change("DROP TABLE state");
        assert!(looked_at(&database, 18).unwrap_err().is_loss());
    }

    #[test]
    fn a_damaged_file_is_no_loss() {
        let folder = tempfile::tempdir().unwrap();
        let database = written(folder.path(), 20);
        let whole = std::fs::read(&database).unwrap();
        let mut torn = whole.clone();
        let half = torn.len() / 2;
        torn[half..half + 4096].fill(0xff);
        std::fs::write(&database, &torn).unwrap();
        let damage = looked_at(&database, 18).unwrap_err();
        assert!(matches!(damage, Damage::Integrity(_) | Damage::Unreadable(_)), "{damage}");
        std::fs::write(&database, &whole[..5000]).unwrap();
        assert!(!looked_at(&database, 18).unwrap_err().is_loss());
    }

    #[test]
    fn an_error_that_says_nothing_of_the_database_is_no_damage() {
        let folder = tempfile::tempdir().unwrap();
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        check_engine(&library, folder.path()).unwrap();
        let mut expected = Expected::new(Seed(SEED));
        let trouble = |error: EngineError| matches!(CheckError::from(error), CheckError::Engine(_));
        let full = Connection::open(&library, Path::new(":memory:"), OpenFlags::default(), None)
            .and_then(|connection| {
                connection
                    .execute("PRAGMA max_page_count = 1; CREATE TABLE t(x); CREATE TABLE u(x)")
            });
        assert!(trouble(full.unwrap_err()));
        let text = folder.path().join("text.db");
        std::fs::write(&text, "no database ".repeat(99)).unwrap();
        let judged = judge(&library, &text, Some(1), &mut expected).unwrap();
        assert!(matches!(judged, Err(Damage::Unreadable(_))), "{judged:?}");
    }
}
