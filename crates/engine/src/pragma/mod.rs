//! The PRAGMA catalogue: what settings SQLite has, applying them, and verifying that they took effect.
//!
//! SQLite silently ignores unknown, late and impossible settings
//! (<https://sqlite.org/pragma.html>). Here each of these is an error: [`apply`] reads every setting
//! back, and [`read_back`] gives all of them for the record of a trial.

mod catalogue;

pub use crate::error::PragmaError;
pub use catalogue::{Access, CATALOGUE, Pragma, Scope, Timing, Values, find};

use crate::connection::Connection;
use crate::error::{EngineError, Result};
use crate::statement::Step;
use std::collections::BTreeMap;

/// Applies a setting to the main database of the connection and verifies it by reading it back; the
/// result is the value in its normal spelling.
///
/// For `page_size` the file itself is verified: the header is read first, because SQLite would
/// otherwise repeat the value requested by a connection that has not read its file.
///
/// # Errors
/// Any [`PragmaError`]; [`EngineError::is_busy`] is true if another connection held a lock.
pub fn apply(connection: &Connection, name: &str, value: &str) -> Result<String> {
    let pragma = known(name)?;
    settable(pragma)?;
    let wanted = pragma.normalise(value)?;
    let refused = |error| match error {
        EngineError::Sqlite(source) => {
            PragmaError::Refused { pragma: pragma.name, value: wanted.to_owned(), source }.into()
        }
        other => other,
    };

    read_header(connection).map_err(refused)?;
    // In quotes, so that names, numbers and negative numbers are all one token; normal spellings hold
    // no quote.
    connection.execute(&format!("PRAGMA {} = '{wanted}'", pragma.name)).map_err(refused)?;
    let got = effective(connection, pragma).map_err(refused)?;
    if !in_force(pragma, &wanted, &got) {
        let why = why_not(connection, pragma, &wanted, &got)?;
        let name = pragma.name;
        return Err(PragmaError::Setting(format!(
            "PRAGMA {name} = {wanted} did not take effect (it is {got}): {why}"
        ))
        .into());
    }
    Ok(wanted)
}

/// Returns the value of one PRAGMA of the main database, in its normal spelling.
///
/// # Errors
/// [`PragmaError::Setting`]; [`PragmaError::NotReadable`]; [`PragmaError::NotInEngine`], also for a
/// setting which the kind of database lacks (`mmap_size` in memory); SQLite's.
pub fn read(connection: &Connection, name: &str) -> Result<String> {
    let pragma = known(name)?;
    if matches!(pragma.access, Access::WriteOnly | Access::Work) {
        let pragma = pragma.name;
        return Err(PragmaError::NotReadable(pragma).into());
    }
    read_header(connection)?;
    current(connection, pragma)?.ok_or_else(|| absent(connection, pragma))
}

/// Returns every configuration PRAGMA that can be read, by name, in its normal spelling. Those which the
/// engine or the kind of database does not have are left out.
///
/// # Errors
/// SQLite's, such as busy.
pub fn read_back(connection: &Connection) -> Result<BTreeMap<String, String>> {
    read_header(connection)?;
    let readable = |pragma: &&Pragma| matches!(pragma.access, Access::ReadWrite | Access::ReadOnly);
    let mut values = BTreeMap::new();
    for pragma in CATALOGUE.iter().filter(readable) {
        if let Some(value) = current(connection, pragma)? {
            values.insert(pragma.name.to_owned(), value);
        }
    }
    Ok(values)
}

fn known(name: &str) -> Result<&'static Pragma, PragmaError> {
    find(name).ok_or_else(|| {
        PragmaError::Setting(format!("there is no configuration PRAGMA called {name}"))
    })
}

fn settable(pragma: &Pragma) -> Result<(), PragmaError> {
    let does = match pragma.access {
        Access::ReadWrite | Access::WriteOnly => return Ok(()),
        Access::ReadOnly => "reports",
        Access::Work => "checks",
    };
    let name = pragma.name;
    Err(PragmaError::Setting(format!("PRAGMA {name} cannot be set: it only {does}")))
}

/// Makes the connection read the header of its file, without parsing the schema.
fn read_header(connection: &Connection) -> Result<()> {
    connection.execute("PRAGMA schema_version")
}

/// Returns the value in force after setting: read, or observed for the write-only setting.
fn effective(connection: &Connection, pragma: &'static Pragma) -> Result<String> {
    if pragma.name == "case_sensitive_like" {
        let ignores_case = connection.query_i64("SELECT 'a' LIKE 'A'")? == 1;
        return Ok(if ignores_case { "off" } else { "on" }.to_owned());
    }
    current(connection, pragma)?.ok_or_else(|| absent(connection, pragma))
}

/// Returns the value SQLite reports, in its normal spelling; `None` where it reports none.
fn current(connection: &Connection, pragma: &Pragma) -> Result<Option<String>> {
    // Without the schema, locking_mode would report the mode meant for databases attached later.
    let mut statement = connection.prepare(&format!("PRAGMA main.{}", pragma.name))?;
    if statement.step()? == Step::Done {
        return Ok(None);
    }
    let raw = statement.column_value(0).to_string();
    if pragma.values == Values::None {
        return Ok(Some(raw));
    }
    // A value that the catalogue does not know is reported unchanged.
    Ok(Some(pragma.normalise(&raw).unwrap_or(raw)))
}

/// Returns whether a value read back means that the wanted one is in force; both in their normal spelling.
pub fn in_force(pragma: &Pragma, wanted: &str, got: &str) -> bool {
    match pragma.values {
        // SQLite reports the pages from which it spills, which is cache_size where that is more.
        Values::BooleanOrInteger { .. } => match (wanted, got.parse::<i64>()) {
            ("on", reported) => got == "on" || reported.is_ok(),
            (number, Ok(reported)) => number.parse().is_ok_and(|least: i64| reported >= least),
            (wanted, Err(_)) => wanted == got,
        },
        _ => wanted == got,
    }
}

fn absent(connection: &Connection, pragma: &Pragma) -> EngineError {
    let version = connection.library().identity().version.clone();
    let pragma = pragma.name;
    PragmaError::NotInEngine(pragma, version).into()
}

/// Returns why a setting did not take effect, as far as the connection knows. The rules are in
/// <https://sqlite.org/pragma.html>, and in SQLite's `pragma.c` where the page is silent.
fn why_not(connection: &Connection, pragma: &Pragma, wanted: &str, got: &str) -> Result<String> {
    let file = "SELECT coalesce(file, '') FROM pragma_database_list WHERE name = 'main'";
    let is_wal = connection.query_text("PRAGMA journal_mode")? == "wal";
    let pages = connection.query_i64("PRAGMA page_count")?;
    let in_memory = connection.query_text(file)?.is_empty();
    let in_transaction = connection.in_transaction();
    let reason = match pragma.name {
        "page_size" if is_wal => "the page size cannot change in WAL mode",
        "page_size" if pages > 0 => &format!(
            "the database already has {pages} pages; the page size must be set before the first write, \
             or VACUUM run after setting it"
        ),
        "auto_vacuum" if pages > 0 => {
            "the database already exists; it must be set before the first write, or VACUUM run after \
             setting it"
        }
        "encoding" if pages > 0 => {
            "the database already exists; it must be set before the first write and never changes \
             afterwards"
        }
        "journal_mode" if in_memory => {
            "a database in memory or in a temporary file has only the modes memory and off, or no WAL"
        }
        "journal_mode" if in_transaction => {
            "the journal mode cannot change while a transaction is open"
        }
        "journal_mode" if wanted == "wal" => {
            "WAL needs shared memory, which the VFS does not have (or locking_mode=EXCLUSIVE before), \
             and a database that can be written"
        }
        "locking_mode" if in_memory => {
            "a database in memory or in a temporary file is always locked exclusively"
        }
        "locking_mode" if is_wal => {
            "exclusive locking was set before WAL mode was entered; leave WAL mode first"
        }
        "mmap_size" if got == "0" => {
            "the engine was compiled without memory mapping (MAX_MMAP_SIZE=0)"
        }
        "mmap_size" => &format!("the engine's limit is {got} bytes (MAX_MMAP_SIZE)"),
        "max_page_count" => &format!("the database already has {pages} pages"),
        "threads" => &format!("the engine allows {got} (MAX_WORKER_THREADS)"),
        "hard_heap_limit" => "a limit can only be lowered while the process runs",
        "soft_heap_limit" => "the soft limit cannot exceed hard_heap_limit",
        _ if in_transaction => "a transaction is open",
        _ => "SQLite ignored it without giving a reason",
    };
    Ok(reason.to_owned())
}
