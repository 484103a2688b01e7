//! Java: sqlite-jdbc, which takes some PRAGMAs as parameters of the URL.

use super::FILE;
use super::chosen::{Begin, Chosen, Mutex, Pragma};

/// The PRAGMAs that sqlite-jdbc knows (`SQLiteConfig.Pragma`, version 3.54) and that are settings of
/// connections. An unknown parameter stays in the name of the file.
const PARAMETERS: &[&str] = &[
    "automatic_index",
    "cache_size",
    "cache_spill",
    "case_sensitive_like",
    "defer_foreign_keys",
    "foreign_keys",
    "journal_mode",
    "journal_size_limit",
    "legacy_alter_table",
    "locking_mode",
    "max_page_count",
    "mmap_size",
    "read_uncommitted",
    "recursive_triggers",
    "reverse_unordered_selects",
    "secure_delete",
    "synchronous",
    "temp_store",
    "wal_autocheckpoint",
];

/// The flags of `sqlite3_open_v2` for reading, writing and creating.
const READ_WRITE_CREATE: u32 = 0x2 | 0x4;

/// A URL, and statements for what it cannot hold.
pub(super) fn jdbc(chosen: &Chosen) -> Vec<String> {
    let (by_name, others): (Vec<&Pragma>, Vec<&Pragma>) = chosen
        .connection
        .iter()
        .partition(|pragma| PARAMETERS.contains(&&pragma.name[..]));
    let mut parameters = Vec::new();
    if let Some(ms) = chosen.busy_timeout_ms {
        parameters.push(format!("busy_timeout={ms}"));
    }
    parameters.extend(by_name.into_iter().map(parameter));
    if let Some(begin) = chosen.begin {
        parameters.push(format!("transaction_mode={}", mode(begin)));
    }
    if let Some(mutex) = chosen.mutex {
        let flag = match mutex {
            Mutex::No => 0x8000,
            Mutex::Full => 0x1_0000,
        };
        parameters.push(format!("open_mode={}", READ_WRITE_CREATE | flag));
    }
    let question = if parameters.is_empty() { "" } else { "?" };
    let url = format!("jdbc:sqlite:{FILE}{question}{}", parameters.join("&"));
    let mut lines = vec![format!(
        "Connection connection = DriverManager.getConnection(\"{url}\");"
    )];
    if !others.is_empty() {
        lines.push("try (Statement statement = connection.createStatement()) {".to_owned());
        let statements = others.into_iter();
        lines.extend(
            statements.map(|pragma| format!("    statement.execute(\"{}\");", pragma.sql())),
        );
        lines.push("}".to_owned());
    }
    lines
}

/// The driver compares truth values with `true` and `false`, and other words in capitals.
fn parameter(pragma: &Pragma) -> String {
    const TRUTH: [&str; 8] = [
        "automatic_index",
        "case_sensitive_like",
        "defer_foreign_keys",
        "foreign_keys",
        "legacy_alter_table",
        "read_uncommitted",
        "recursive_triggers",
        "reverse_unordered_selects",
    ];
    let value = match (TRUTH.contains(&&pragma.name[..]), &pragma.value[..]) {
        (true, "on") => "true".to_owned(),
        (true, "off") => "false".to_owned(),
        (_, value) => value.to_uppercase(),
    };
    format!("{}={value}", pragma.name)
}

fn mode(begin: Begin) -> String {
    begin.upper()
}
