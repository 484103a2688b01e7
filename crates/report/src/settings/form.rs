//! The form of settings for one binding: a template with what the binding has keys for.

use askama::Template;

use super::Binding;
use super::chosen::{Chosen, Mutex, Pragma};

/// The PRAGMAs for which mattn/go-sqlite3 has keys, `_` before the name (`Open` in `sqlite3.go`,
/// version 1.14), and that are settings of connections. Unknown keys are ignored without a word.
const MATTN_KEYS: &str = "cache_size case_sensitive_like defer_foreign_keys foreign_keys
    ignore_check_constraints journal_mode locking_mode query_only recursive_triggers secure_delete
    synchronous";

/// The PRAGMAs that sqlite-jdbc knows (`SQLiteConfig.Pragma`, version 3.54) and that are settings of
/// connections. An unknown parameter stays in the name of the file.
const JDBC_PARAMETERS: &str = "automatic_index cache_size cache_spill case_sensitive_like
    defer_foreign_keys foreign_keys journal_mode journal_size_limit legacy_alter_table locking_mode
    max_page_count mmap_size read_uncommitted recursive_triggers reverse_unordered_selects secure_delete
    synchronous temp_store wal_autocheckpoint";

/// Those of them that sqlite-jdbc takes for truth values.
const JDBC_TRUTH: &str = "automatic_index case_sensitive_like defer_foreign_keys foreign_keys
    legacy_alter_table read_uncommitted recursive_triggers reverse_unordered_selects";

/// Setters of the gem sqlite3 2.x (`lib/sqlite3/pragmas.rb`) for settings of connections. Rails sets a
/// PRAGMA through the method of its name, and only warns where there is none.
const RAILS_SETTERS: &str = "automatic_index cache_size cache_spill case_sensitive_like
    cell_size_check checkpoint_fullfsync defer_foreign_keys foreign_keys fullfsync
    ignore_check_constraints journal_mode journal_size_limit locking_mode max_page_count mmap_size
    query_only read_uncommitted recursive_triggers reverse_unordered_selects secure_delete
    soft_heap_limit synchronous temp_store threads wal_autocheckpoint";

/// The flags of `sqlite3_open_v2` for reading, writing and creating.
const READ_WRITE_CREATE: u32 = 0x2 | 0x4;

/// Settings in the form of a binding.
#[derive(Template)]
#[template(path = "settings.txt")]
struct Form<'a> {
    binding: Binding,
    chosen: &'a Chosen,
    /// The PRAGMAs of connections that the binding has keys for.
    by_key: Vec<&'a Pragma>,
    /// Those that it has none for.
    others: Vec<&'a Pragma>,
    /// The parameters of a data source name or URL.
    parameters: String,
}

/// What to paste for every connection.
pub(super) fn text(binding: Binding, chosen: &Chosen) -> String {
    let pragmas = chosen.connection.iter();
    let (by_key, others): (Vec<&Pragma>, Vec<&Pragma>) =
        pragmas.partition(|pragma| has_key(binding, pragma));
    let form =
        Form { binding, chosen, parameters: parameters(binding, chosen, &by_key), by_key, others };
    form.render().expect("a string takes any text")
}

fn has_key(binding: Binding, pragma: &Pragma) -> bool {
    match binding {
        Binding::Mattn => is_among(MATTN_KEYS, pragma),
        Binding::Jdbc => is_among(JDBC_PARAMETERS, pragma),
        Binding::Rails => {
            // Some setters know fewer values than SQLite does.
            let unknown_to_setter = pragma.is("synchronous", "extra")
                || pragma.is("secure_delete", "fast")
                || (pragma.name == "cache_spill" && pragma.is_number());
            is_among(RAILS_SETTERS, pragma) && !unknown_to_setter
        }
        _ => true,
    }
}

fn is_among(names: &str, pragma: &Pragma) -> bool {
    names.split_whitespace().any(|name| name == pragma.name)
}

/// What a data source name or URL ends in. modernc.org/sqlite sorts PRAGMAs by name, `busy_timeout` first,
/// so the order there is for the reader only.
fn parameters(binding: Binding, chosen: &Chosen, by_key: &[&Pragma]) -> String {
    let parameter = |name: &str, value: &str| match binding {
        Binding::Mattn => format!("_{name}={value}"),
        Binding::Modernc => format!("_pragma={name}({value})"),
        _ => format!("{name}={value}"),
    };
    let timeout = chosen.busy_timeout_ms;
    let timeout = timeout.map(|ms| parameter("busy_timeout", &ms.to_string()));
    let pragmas = by_key.iter().map(|pragma| match binding {
        Binding::Jdbc => parameter(&pragma.name, &jdbc_value(pragma)),
        _ => parameter(&pragma.name, &pragma.value),
    });
    let begin = chosen.begin.map(|begin| match binding {
        Binding::Jdbc => format!("transaction_mode={}", begin.name().to_uppercase()),
        _ => format!("_txlock={}", begin.name()),
    });
    let mutex = chosen.mutex.and_then(|mutex| match binding {
        Binding::Mattn => Some(format!("_mutex={}", mutex.name())),
        Binding::Jdbc => Some(format!("open_mode={}", open_mode(mutex))),
        _ => None,
    });
    let all = timeout.into_iter().chain(pragmas).chain(begin).chain(mutex);
    let all: Vec<String> = all.collect();
    if all.is_empty() { String::new() } else { format!("?{}", all.join("&")) }
}

/// sqlite-jdbc compares truth values with `true` and `false`, and other words in capitals.
fn jdbc_value(pragma: &Pragma) -> String {
    match (is_among(JDBC_TRUTH, pragma), &pragma.value[..]) {
        (true, "on") => "true".to_owned(),
        (true, "off") => "false".to_owned(),
        (_, value) => value.to_uppercase(),
    }
}

/// The flags of `sqlite3_open_v2` as a number.
fn open_mode(mutex: Mutex) -> u32 {
    let flag = match mutex {
        Mutex::No => 0x8000,
        Mutex::Full => 0x1_0000,
    };
    READ_WRITE_CREATE | flag
}
