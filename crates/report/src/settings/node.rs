//! Node: better-sqlite3.

use super::FILE;
use super::chosen::{Begin, Chosen};

/// The constructor and a PRAGMA a line.
pub(super) fn better_sqlite3(chosen: &Chosen) -> Vec<String> {
    let options = chosen
        .busy_timeout_ms
        .map_or_else(String::new, |ms| format!(", {{ timeout: {ms} }}"));
    let mut lines = vec![
        "const Database = require('better-sqlite3');".to_owned(),
        format!("const db = new Database('{FILE}'{options});"),
    ];
    let pragmas = chosen.connection.iter();
    lines.extend(pragmas.map(|pragma| format!("db.pragma('{} = {}');", pragma.name, pragma.value)));
    match chosen.begin {
        Some(begin) if begin != Begin::Deferred => lines.push(format!(
            "// and run transactions with: db.transaction(work).{}()",
            begin.name()
        )),
        _ => {}
    }
    lines
}
