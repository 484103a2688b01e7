//! Checks of a database while a workload is recorded, and their errors. An engine that does not execute a
//! statement differs from an engine that damages a database without any crash.

use crate::content::Content;
use crate::error::{CrashError, Result};
use crate::harness::{Harness, Problem, STEPS, quoted};
use crate::in_force::databases;
use crate::script::{Action, Execution, Script};
use engine::{Connection, EngineError, SqliteError, ffi};
use std::path::Path;

/// Returns a file whose name has a path.
pub(crate) fn not_plain(script: &Script, name: &str) -> CrashError {
    match &script.path {
        Some(path) => CrashError::Failed(format!(
            "{}: the database name {name} contains a path; use a plain name such as 'other.db', because all databases are kept in memory",
            path.display()
        )),
        None => CrashError::defect(format_args!("the built-in workload has a file {name}")),
    }
}

/// Returns the error of a statement.
pub(crate) fn failed(script: &Script, line: usize, sql: &str, error: EngineError) -> CrashError {
    let Some(path) = &script.path else { return of_workload(sql, error) };
    let reason = error.message();
    let what = format!("{}:{line}: {reason}", path.display());
    if is_damage(&error) { CrashError::DamagedDatabase(what) } else { CrashError::Script(what) }
}

/// Returns the error of a part of the built-in workload.
pub(crate) fn of_workload(what: &str, error: EngineError) -> CrashError {
    let said = format!("{} in: {what}", error.message());
    if is_damage(&error) {
        CrashError::Damaged(said)
    } else {
        CrashError::Workload(format!("the engine does not carry out the workload: {said}"))
    }
}

/// Returns an error of SQLite in the built-in workload that reports damage as what it is.
pub(crate) fn as_damage(error: CrashError) -> CrashError {
    match error {
        CrashError::Engine(error) if is_damage(&error) => CrashError::Damaged(error.message()),
        other => other,
    }
}

/// Returns whether SQLite reports that the database is damaged (<https://sqlite.org/rescode.html>).
fn is_damage(error: &EngineError) -> bool {
    let code = error.as_sqlite().map(SqliteError::primary);
    matches!(code, Some(ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB))
}

/// Checks the effect of an action of the built-in workload: each transaction leaves a new content; rolling
/// back and reopening leave the old one.
pub(crate) fn check_kept(action: &Action, is_new: bool) -> Result<()> {
    match action {
        Action::Blob { .. } if !is_new => Err(damaged(
            "the content is as it was before".to_owned(),
            &format!("after a value was overwritten by a handle: {}", action.location()),
        )),
        Action::Reopen | Action::Kill if is_new => Err(damaged(
            "the content is another one".to_owned(),
            &format!("after {}", action.location()),
        )),
        Action::Sql { sql, line: 0 } if sql.trim_end().ends_with("COMMIT") && !is_new => {
            Err(damaged("the content is as it was before".to_owned(), &format!("after: {sql}")))
        }
        Action::Sql { sql, line: 0 } if sql.trim_end().ends_with("ROLLBACK") && is_new => {
            Err(damaged("what was rolled back is there".to_owned(), &format!("after: {sql}")))
        }
        _ => Ok(()),
    }
}

/// Checks databases that were never crashed, as the engine that wrote them sees them.
pub(crate) fn check_undamaged(connection: &Connection) -> Result<()> {
    for (schema, file) in &databases(connection)? {
        let check = format!("PRAGMA {}.integrity_check(1)", quoted(schema));
        let reason = connection.query_text(&check)?;
        if reason != "ok" {
            return Err(CrashError::Damaged(format!("{reason}, in {file} after the workload")));
        }
    }
    Ok(())
}

/// Checks that the databases of a script are small enough to be read in each crash image.
pub(crate) fn check_readable(connection: &Connection, script: &Path) -> Result<()> {
    connection.limit_steps(STEPS)?;
    match connection.query_text("PRAGMA integrity_check(1)") {
        Err(error) if error.is_interrupted() => Err(CrashError::Failed(format!(
            "what {} makes is too large to be read again in each crash image; make most of it beforehand and name that database with --db",
            script.display()
        ))),
        _ => Ok(()),
    }
}

/// Checks that a script has left its databases in order: damage without a crash would be taken for damage by
/// a crash. Opens them once more, because a connection keeps the schema that it has read.
pub(crate) fn check_sound(harness: &mut Harness, databases: &[String], path: &Path) -> Result<()> {
    for database in databases {
        let reason = match harness.examine(database)? {
            Ok(_) => continue,
            Err(Problem::Unopenable(reason) | Problem::Corrupt(reason)) => reason,
            Err(Problem::Ended(how)) => how,
        };
        return Err(CrashError::Unsound(format!(
            "{}: when the script has ended, without any crash, {database} is not in order: {reason}",
            path.display()
        )));
    }
    Ok(())
}

/// Returns a recorded statement that fails now.
pub(crate) fn unlike_recorded(
    script: &Script,
    execution: &Execution,
    error: &EngineError,
) -> CrashError {
    let path = script.path.as_deref().unwrap_or(Path::new("")).display();
    let (location, reason) = (&execution.location, error.message());
    CrashError::Failed(format!("{path}: {location}: {reason}, which it did not before"))
}

/// Adds the situation of the built-in workload to an error.
pub(crate) fn in_situation(name: &str, error: CrashError) -> CrashError {
    match as_damage(error) {
        CrashError::Damaged(reason) => damaged(reason, &format!("in the situation {name}")),
        CrashError::Workload(reason) => {
            CrashError::Workload(format!("{reason}, in the situation {name}"))
        }
        CrashError::NotMeasured(why) => CrashError::NotMeasured(format!("situation {name}: {why}")),
        other => other,
    }
}

/// Adds the action after which damage showed.
pub(crate) fn damaged_after(action: &Action, error: CrashError) -> CrashError {
    let after = match action {
        Action::Sql { sql, line: 0 } => sql.clone(),
        other => other.location(),
    };
    match error {
        CrashError::Damaged(reason) => damaged(reason, &format!("after: {after}")),
        other => other,
    }
}

fn damaged(reason: String, place: &str) -> CrashError {
    CrashError::Damaged(format!("{reason}, {place}"))
}

/// Reads the content of an attached database that was never crashed.
pub(crate) fn read_content(connection: &Connection, schema: &str) -> Result<Content> {
    const REVERSE: &str = "PRAGMA reverse_unordered_selects";
    // The connection that reads recovered databases does not have the settings of the script.
    let reverses = connection.query_i64(REVERSE)? != 0;
    if reverses {
        connection.execute(&format!("{REVERSE} = OFF"))?;
    }
    let content = Content::read(connection, &quoted(schema));
    if reverses {
        connection.execute(&format!("{REVERSE} = ON"))?;
    }
    content.map_err(|error| {
        if is_damage(&error) {
            damaged(error.message(), &format!("on reading `{schema}`"))
        } else {
            CrashError::Engine(error)
        }
    })
}
