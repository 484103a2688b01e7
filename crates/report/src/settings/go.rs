//! Go: mattn/go-sqlite3, which has keys of its own for some settings, and modernc.org/sqlite, which
//! takes any PRAGMA in its data source name.

use super::FILE;
use super::chosen::{Chosen, Mutex, Pragma};

/// The PRAGMAs for which mattn/go-sqlite3 has keys, `_` before the name (`Open` in `sqlite3.go`,
/// version 1.14), and that are settings of connections. Unknown keys are ignored without a word.
const MATTN_KEYS: &[&str] = &[
    "cache_size",
    "case_sensitive_like",
    "defer_foreign_keys",
    "foreign_keys",
    "ignore_check_constraints",
    "journal_mode",
    "locking_mode",
    "query_only",
    "recursive_triggers",
    "secure_delete",
    "synchronous",
];

/// A data source name, and a hook for what has no key.
pub(super) fn mattn(chosen: &Chosen) -> Vec<String> {
    let (by_key, others): (Vec<&Pragma>, Vec<&Pragma>) = chosen
        .connection
        .iter()
        .partition(|pragma| MATTN_KEYS.contains(&&pragma.name[..]));
    let mut parameters = Vec::new();
    if let Some(ms) = chosen.busy_timeout_ms {
        parameters.push(format!("_busy_timeout={ms}"));
    }
    let keys = by_key.iter();
    parameters.extend(keys.map(|pragma| format!("_{}={}", pragma.name, pragma.value)));
    if let Some(begin) = chosen.begin {
        parameters.push(format!("_txlock={}", begin.name()));
    }
    if let Some(mutex) = chosen.mutex {
        let name = match mutex {
            Mutex::No => "no",
            Mutex::Full => "full",
        };
        parameters.push(format!("_mutex={name}"));
    }
    let mut lines = Vec::new();
    let driver = if others.is_empty() {
        "sqlite3"
    } else {
        "sqlite3_tuned"
    };
    if !others.is_empty() {
        lines.extend(hook(driver, &others));
    }
    lines.push(open(driver, &parameters));
    lines
}

fn hook(driver: &str, pragmas: &[&Pragma]) -> Vec<String> {
    let mut lines = vec![
        "// These have no key in the data source name.".to_owned(),
        format!("sql.Register(\"{driver}\", &sqlite3.SQLiteDriver{{"),
        "\tConnectHook: func(conn *sqlite3.SQLiteConn) error {".to_owned(),
        "\t\t_, err := conn.Exec(`".to_owned(),
    ];
    let statements = pragmas.iter();
    lines.extend(statements.map(|pragma| format!("\t\t\t{};", pragma.sql())));
    lines.extend(["\t\t`, nil)", "\t\treturn err", "\t},", "})"].map(str::to_owned));
    lines
}

/// A data source name alone. The driver sorts PRAGMAs by name, `busy_timeout` first, so the order
/// here is for the reader only.
pub(super) fn modernc(chosen: &Chosen) -> Vec<String> {
    let mut parameters = Vec::new();
    if let Some(ms) = chosen.busy_timeout_ms {
        parameters.push(format!("_pragma=busy_timeout({ms})"));
    }
    let pragmas = chosen.connection.iter();
    parameters.extend(pragmas.map(|pragma| format!("_pragma={}({})", pragma.name, pragma.value)));
    if let Some(begin) = chosen.begin {
        parameters.push(format!("_txlock={}", begin.name()));
    }
    vec![open("sqlite", &parameters)]
}

fn open(driver: &str, parameters: &[String]) -> String {
    let question = if parameters.is_empty() { "" } else { "?" };
    format!(
        "db, err := sql.Open(\"{driver}\", \"file:{FILE}{question}{}\")",
        parameters.join("&")
    )
}
