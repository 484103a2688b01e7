//! Rust: rusqlite and sqlx.

use super::FILE;
use super::chosen::{Begin, Chosen, Mutex, Pragma};

/// Opening, PRAGMAs and the behaviour of transactions.
pub(super) fn rusqlite(chosen: &Chosen) -> Vec<String> {
    let mutable = if chosen.begin.is_some() { "mut " } else { "" };
    let mut lines = match chosen.mutex {
        None => vec![format!(
            "let {mutable}connection = rusqlite::Connection::open(\"{FILE}\")?;"
        )],
        Some(mutex) => vec![
            "use rusqlite::OpenFlags;".to_owned(),
            String::new(),
            format!("let {mutable}connection = rusqlite::Connection::open_with_flags("),
            format!("    \"{FILE}\","),
            format!(
                "    OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::{},",
                rusqlite_flag(mutex)
            ),
            ")?;".to_owned(),
        ],
    };
    if let Some(ms) = chosen.busy_timeout_ms {
        lines.push(format!(
            "connection.busy_timeout(std::time::Duration::from_millis({ms}))?;"
        ));
    }
    let pragmas = chosen.connection.iter();
    lines.extend(pragmas.map(|pragma| {
        format!(
            "connection.pragma_update(None, \"{}\", {})?;",
            pragma.name,
            literal(pragma)
        )
    }));
    if let Some(begin) = chosen.begin {
        lines.push(format!(
            "connection.set_transaction_behavior(rusqlite::TransactionBehavior::{});",
            begin.title()
        ));
    }
    lines
}

fn rusqlite_flag(mutex: Mutex) -> &'static str {
    match mutex {
        Mutex::No => "SQLITE_OPEN_NO_MUTEX",
        Mutex::Full => "SQLITE_OPEN_FULL_MUTEX",
    }
}

/// A number as it is, a word as text.
fn literal(pragma: &Pragma) -> String {
    match pragma.is_number() {
        true => pragma.value.clone(),
        false => format!("\"{}\"", pragma.value),
    }
}

/// Options of a pool. What is set with `pragma` is applied in an order of sqlx's own for the names
/// that it knows, which puts the locking mode before the journal mode as well.
pub(super) fn sqlx(chosen: &Chosen) -> Vec<String> {
    let mut lines = vec![
        "use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};".to_owned(),
        String::new(),
        "let options = SqliteConnectOptions::new()".to_owned(),
        format!("    .filename(\"{FILE}\")"),
        "    .create_if_missing(true)".to_owned(),
    ];
    if let Some(ms) = chosen.busy_timeout_ms {
        lines.push(format!(
            "    .busy_timeout(std::time::Duration::from_millis({ms}))"
        ));
    }
    if let Some(mutex) = chosen.mutex {
        lines.push(format!("    .serialized({})", mutex == Mutex::Full));
    }
    let pragmas = chosen.connection.iter();
    lines.extend(
        pragmas.map(|pragma| format!("    .pragma(\"{}\", \"{}\")", pragma.name, pragma.value)),
    );
    if let Some(last) = lines.last_mut() {
        last.push(';');
    }
    lines.push("let pool = SqlitePoolOptions::new().connect_with(options).await?;".to_owned());
    match chosen.begin {
        Some(begin) if begin != Begin::Deferred => lines.push(format!(
            "// and begin transactions with: pool.begin_with(\"BEGIN {}\").await?",
            begin.upper()
        )),
        _ => {}
    }
    lines
}
