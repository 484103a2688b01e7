//! Names in SQL.

/// A name as an SQL identifier.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Lists names as SQL identifiers.
pub(crate) fn list(names: &[String]) -> String {
    names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
}

/// Returns whether two names mean the same column: SQLite ignores the case of ASCII letters.
pub(crate) fn same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

/// Returns a name that no other one has: the one that is wanted, or that one with a number.
pub(crate) fn unique(names: &[String], wanted: String) -> String {
    let taken = |name: &str| names.iter().any(|known| same(known, name));
    if !taken(&wanted) {
        return wanted;
    }
    (2..).map(|number| format!("{wanted}_{number}")).find(|name| !taken(name)).unwrap_or(wanted)
}
