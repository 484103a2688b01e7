//! Ruby: Rails, whose `database.yml` has the key `pragmas` from 7.2 on.
//!
//! Rails sets a PRAGMA through the method of its name in the gem sqlite3, and only warns where there
//! is none; some methods know fewer values than SQLite does. What they cannot set goes into an
//! initializer.

use super::chosen::{Begin, Chosen, Pragma};

/// Setters of the gem sqlite3 2.x (`lib/sqlite3/pragmas.rb`) for settings of connections.
const SETTERS: &[&str] = &[
    "automatic_index",
    "cache_size",
    "cache_spill",
    "case_sensitive_like",
    "cell_size_check",
    "checkpoint_fullfsync",
    "defer_foreign_keys",
    "foreign_keys",
    "fullfsync",
    "ignore_check_constraints",
    "journal_mode",
    "journal_size_limit",
    "locking_mode",
    "max_page_count",
    "mmap_size",
    "query_only",
    "read_uncommitted",
    "recursive_triggers",
    "reverse_unordered_selects",
    "secure_delete",
    "soft_heap_limit",
    "synchronous",
    "temp_store",
    "threads",
    "wal_autocheckpoint",
];

/// An entry of `config/database.yml`, and an initializer where it is needed.
pub(super) fn rails(chosen: &Chosen) -> Vec<String> {
    let (by_key, others): (Vec<&Pragma>, Vec<&Pragma>) = chosen
        .connection
        .iter()
        .partition(|pragma| has_setter(pragma));
    let mut lines = vec![
        "# config/database.yml, for Rails 7.2 or newer".to_owned(),
        "production:".to_owned(),
        "  adapter: sqlite3".to_owned(),
        "  database: storage/production.sqlite3".to_owned(),
    ];
    if let Some(ms) = chosen.busy_timeout_ms {
        lines.push(format!("  timeout: {ms}"));
    }
    if !by_key.is_empty() {
        lines.push("  pragmas:".to_owned());
        lines.extend(by_key.into_iter().map(entry));
    }
    match chosen.begin {
        Some(Begin::Immediate) => {
            lines.push("# Rails 8 begins transactions with BEGIN IMMEDIATE by itself.".to_owned());
        }
        Some(other) => lines.push(format!(
            "# Rails 8 begins transactions with BEGIN IMMEDIATE and has no key for BEGIN {}.",
            other.upper()
        )),
        None => {}
    }
    if !others.is_empty() {
        lines.extend(initializer(&others));
    }
    lines
}

/// A word that YAML would take for a truth value is quoted: `journal_mode: off` would be `false`.
fn entry(pragma: &Pragma) -> String {
    let value = match &pragma.value[..] {
        "on" | "off" => format!("\"{}\"", pragma.value),
        value => value.to_owned(),
    };
    format!("    {}: {value}", pragma.name)
}

fn has_setter(pragma: &Pragma) -> bool {
    let unknown_to_setter = pragma.is("synchronous", "extra")
        || pragma.is("secure_delete", "fast")
        || (pragma.name == "cache_spill" && pragma.is_number());
    SETTERS.contains(&&pragma.name[..]) && !unknown_to_setter
}

fn initializer(pragmas: &[&Pragma]) -> Vec<String> {
    let mut lines: Vec<String> = [
        "",
        "# What that file cannot set, in config/initializers/sqlite.rb:",
        "#",
        "# ActiveSupport.on_load(:active_record_sqlite3adapter) do",
        "#   prepend(Module.new do",
        "#     def configure_connection",
        "#       super",
    ]
    .map(str::to_owned)
    .into();
    let statements = pragmas.iter();
    lines.extend(statements.map(|pragma| {
        let sql = pragma.sql();
        format!("#       @raw_connection.execute(\"{sql}\")")
    }));
    lines.extend(["#     end", "#   end)", "# end"].map(str::to_owned));
    lines
}
