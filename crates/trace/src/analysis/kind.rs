//! The kind of a statement, by its first word.

/// The kind of a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Reads rows.
    Read,
    /// Inserts rows.
    Insert,
    /// Changes the schema.
    Schema,
    /// Begins or ends a transaction.
    Transaction,
    /// Anything else: an update, a PRAGMA.
    #[default]
    Other,
}

impl Kind {
    /// The kind of a normalised text.
    pub fn of(text: &str, readonly: bool) -> Kind {
        let word = text.split(|c: char| !c.is_ascii_alphabetic()).next();
        let word = word.unwrap_or_default().to_ascii_uppercase();
        match word.as_str() {
            "SELECT" | "WITH" | "VALUES" if readonly => Kind::Read,
            "INSERT" | "REPLACE" => Kind::Insert,
            "CREATE" | "ALTER" | "DROP" => Kind::Schema,
            "BEGIN" | "COMMIT" | "END" | "ROLLBACK" | "SAVEPOINT" | "RELEASE" => Kind::Transaction,
            _ => Kind::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_says_what_a_statement_does() {
        for (text, readonly, kind) in [
            ("select ?", true, Kind::Read),
            ("WITH a AS (SELECT ?) SELECT * FROM a", true, Kind::Read),
            ("WITH a AS (SELECT ?) DELETE FROM t", false, Kind::Other),
            ("REPLACE INTO t VALUES (?)", false, Kind::Insert),
            ("CREATE INDEX i ON t(a)", false, Kind::Schema),
            ("begin immediate", true, Kind::Transaction),
            ("UPDATE t SET a = ?", false, Kind::Other),
            ("", false, Kind::Other),
        ] {
            assert_eq!(Kind::of(text, readonly), kind, "{text}");
        }
    }
}
