//! Preparation of a database before the work: another page size or auto-vacuum mode, VACUUM, ANALYZE, and schema changes.
//!
//! SQLite changes the page size of an existing file only when all of it is rewritten, and not in WAL mode
//! (<https://sqlite.org/pragma.html#pragma_page_size>).

use std::path::Path;
use std::sync::Arc;

use engine::{Connection, Library, OpenFlags, pragma};

use crate::parameters::SqlText;
use crate::workload::prelude::*;

/// The settings that change only when an existing file is rewritten.
const OF_FILE: [&str; 2] = ["page_size", "auto_vacuum"];

parameters! {
    /// Changes to a database that a variant makes once.
    #[derive(Clone, Debug)]
    struct Preparation {
        /// Whether VACUUM rewrites the file before the work, which removes free pages and sorts the others.
        vacuum: bool = false;
        /// Whether statistics for the planner are collected before the work (ANALYZE).
        analyze: bool = false;
        /// SQL that is executed once before the work and changes the schema, such as CREATE INDEX.
        schema_change: Option<SqlText> = None;
    }
}

impl Preparation {
    /// Returns whether the schema changes.
    pub(super) fn changes_schema(&self) -> bool {
        self.analyze || self.schema_change.is_some()
    }

    /// Changes a database that nobody uses.
    ///
    /// # Errors
    /// SQLite refuses a change, or the disk is full.
    pub(super) fn apply(&self, library: &Arc<Library>, path: &Path) -> Result<()> {
        if !self.vacuum && !self.changes_schema() {
            return Ok(());
        }
        let connection = Connection::open(library, path, OpenFlags::default(), None)?;
        if let Some(change) = &self.schema_change {
            let refused = |error| TrialError::cannot_run(format!("schema_change: {error}"));
            // Where a table is rebuilt, other rows that refer to it stay.
            connection.execute("PRAGMA foreign_keys = OFF")?;
            connection.execute(change).map_err(refused)?;
        }
        if self.vacuum {
            connection.execute("VACUUM")?;
        }
        if self.analyze {
            connection.execute("ANALYZE")?;
        }
        Ok(connection.close()?)
    }
}

/// Gives an existing database that nobody uses the page size and the auto-vacuum mode of the settings. It keeps its journal
/// mode, and is rewritten only if it differs.
///
/// # Errors
/// The file is not a database, or the disk is full.
pub(super) fn apply_file_settings(
    library: &Arc<Library>,
    settings: &Settings,
    path: &Path,
) -> Result<()> {
    if !OF_FILE.iter().any(|name| settings.contains_key(*name)) {
        return Ok(());
    }
    let connection = Connection::open(library, path, OpenFlags::default(), None)?;
    let changed = changed_settings(&connection, settings)?;
    if !changed.is_empty() {
        rewrite(&connection, &changed)?;
    }
    Ok(connection.close()?)
}

/// Returns the settings of the file that have to change, as statements.
fn changed_settings(connection: &Connection, settings: &Settings) -> Result<Vec<String>> {
    let mut statements = Vec::new();
    for name in OF_FILE {
        let Some((entry, level)) = pragma::find(name).zip(settings.get(name)) else { continue };
        let wanted = entry.normalise(&level.to_string()).map_err(engine::EngineError::from)?;
        if pragma::read(connection, name)? != wanted {
            statements.push(format!("PRAGMA {name} = '{wanted}'"));
        }
    }
    Ok(statements)
}

fn rewrite(connection: &Connection, settings: &[String]) -> Result<()> {
    let journal_mode = pragma::read(connection, "journal_mode")?;
    if journal_mode == "wal" {
        pragma::apply(connection, "journal_mode", "delete")?;
    }
    for statement in settings {
        connection.execute(statement)?;
    }
    connection.execute("VACUUM")?;
    if journal_mode == "wal" {
        pragma::apply(connection, "journal_mode", "wal")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use engine::Source;
    use lab::level::Level;
    use lab::trial::Measured;

    use super::*;
    use crate::workload::common::tests::{problem, run};

    /// A database in WAL mode with free pages, and the settings of a short trial on a copy of it.
    fn database(path: &Path) -> Vec<(&'static str, Level)> {
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        let connection = Connection::open(&library, path, OpenFlags::default(), None).unwrap();
        connection
            .execute(
                "PRAGMA journal_mode = wal; CREATE TABLE orders(id INTEGER PRIMARY KEY, total INTEGER); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO orders SELECT i, i * 3 FROM n; CREATE TABLE gone(x); INSERT INTO gone SELECT zeroblob(5000) FROM orders; DROP TABLE gone",
            )
            .unwrap();
        connection.close().unwrap();
        vec![
            ("database", Level::Text(path.display().to_string())),
            ("transactions", 20.into()),
            ("answers", 20.into()),
            ("sql", "SELECT count(*) FROM orders WHERE total = :total".into()),
        ]
    }

    #[test]
    fn an_existing_database_gets_what_a_variant_does_once() {
        let folder = tempfile::tempdir().unwrap();
        let common = database(&folder.path().join("shop.db"));
        let with =
            |over: &[(&'static str, Level)]| run("sql", &[&common[..], over].concat()).unwrap();
        let plan = |measured: &Measured| measured.statements[0].plan.join(" ");
        let before = with(&[]);
        assert!(plan(&before).contains("SCAN orders"), "{}", plan(&before));
        let index = "CREATE INDEX by_total ON orders(total)";
        let indexed = with(&[("schema_change", index.into())]);
        assert!(plan(&indexed).contains("by_total"), "{}", plan(&indexed));
        let (small, large) = (Level::Int(1024), Level::Int(16384));
        for (over, mode) in [
            (vec![("page_size", small), ("journal_mode", "wal".into())], "none"),
            (vec![("page_size", large), ("auto_vacuum", "full".into())], "full"),
        ] {
            let measured = with(&over);
            let found = &measured.connections[0].pragmas;
            assert_eq!(found["page_size"], over[0].1.to_string());
            assert_eq!(found["auto_vacuum"], mode);
            assert_eq!(found["journal_mode"], "wal");
            assert_eq!(measured.statements[0].answer, before.statements[0].answer);
        }
        let packed = with(&[("vacuum", true.into()), ("analyze", true.into())]);
        assert!(packed.metrics["db_bytes"] < before.metrics["db_bytes"] / 2.0);
        let wrong = [&common[..], &[("schema_change", "CREATE x".into())]].concat();
        let why = problem("sql", &wrong);
        assert!(why.contains("schema_change"), "{why}");
    }
}
