//! The `sqlite3` shell and the C API.

use super::FILE;
use super::chosen::{Begin, Chosen, Pragma};

/// Statements for the shell, or for its start-up file `~/.sqliterc`.
pub(super) fn connection(chosen: &Chosen) -> Vec<String> {
    let mut lines = vec![format!("-- on every connection: sqlite3 {FILE}")];
    lines.extend(statements(chosen));
    match chosen.begin {
        Some(begin) if begin != Begin::Deferred => {
            lines.push(format!(
                "-- and begin transactions with: BEGIN {};",
                begin.upper()
            ));
        }
        _ => {}
    }
    lines
}

/// The script that shapes the file. A database in WAL mode keeps its page size even through VACUUM,
/// so it leaves that mode first (<https://sqlite.org/pragma.html#pragma_page_size>). The encoding is
/// set ahead of everything, and VACUUM does not write it as long as there has been no table.
pub(super) fn once(chosen: &Chosen) -> Option<Vec<String>> {
    if chosen.file.is_empty() {
        return None;
    }
    let (encoding, shape): (Vec<&Pragma>, Vec<&Pragma>) = chosen
        .file
        .iter()
        .partition(|pragma| pragma.name == "encoding");
    let mut lines: Vec<String> = encoding.iter().copied().map(statement).collect();
    lines.push("PRAGMA journal_mode = delete;".to_owned());
    lines.extend(shape.into_iter().map(statement));
    if !encoding.is_empty() {
        lines.push("CREATE TABLE sets_the_encoding(x);".to_owned());
        lines.push("DROP TABLE sets_the_encoding;".to_owned());
    }
    lines.push("VACUUM;".to_owned());
    if chosen.is_wal() {
        lines.push("PRAGMA journal_mode = wal;".to_owned());
    }
    Some(lines)
}

/// One call of `sqlite3_open_v2` and one of `sqlite3_exec`.
pub(super) fn c(chosen: &Chosen) -> Vec<String> {
    let mut flags = vec!["SQLITE_OPEN_READWRITE", "SQLITE_OPEN_CREATE"];
    flags.extend(chosen.mutex.map(|mutex| mutex.flag()));
    let mut lines = vec![
        "sqlite3 *db;".to_owned(),
        format!(
            "int rc = sqlite3_open_v2(\"{FILE}\", &db, {}, NULL);",
            flags.join(" | ")
        ),
    ];
    if let Some(ms) = chosen.busy_timeout_ms {
        lines.push(format!(
            "if (rc == SQLITE_OK) rc = sqlite3_busy_timeout(db, {ms});"
        ));
    }
    let pragmas: Vec<String> = chosen.connection.iter().map(statement).collect();
    if let [first @ .., last] = &pragmas[..] {
        lines.push("if (rc == SQLITE_OK) rc = sqlite3_exec(db,".to_owned());
        lines.extend(first.iter().map(|pragma| format!("  \"{pragma}\"")));
        lines.push(format!("  \"{last}\", NULL, NULL, NULL);"));
    }
    if let Some(begin) = chosen.begin {
        lines.push(format!(
            "/* and begin transactions with BEGIN {} */",
            begin.upper()
        ));
    }
    lines
}

/// Statements that set everything on a connection.
fn statements(chosen: &Chosen) -> Vec<String> {
    let timeout = chosen.busy_timeout_ms;
    let timeout = timeout.map(|ms| format!("PRAGMA busy_timeout = {ms};"));
    let pragmas = chosen.connection.iter().map(statement);
    timeout.into_iter().chain(pragmas).collect()
}

fn statement(pragma: &Pragma) -> String {
    format!("{};", pragma.sql())
}
