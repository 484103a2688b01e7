//! The tables that rows go into: which key they have, and where it comes from.

/// One table called `integers` with the column `value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    /// Keyed by the hidden rowid, which SQLite counts on.
    Rowid,
    /// The value is the rowid (<https://sqlite.org/lang_createtable.html>, section 5).
    IntegerPrimaryKey,
    /// The value is the key of a table without rowid (<https://sqlite.org/withoutrowid.html>).
    WithoutRowid,
    /// A visible rowid of its own beside the value, which SQLite counts on.
    AutoKey,
    /// As `AutoKey`, and no key is ever given twice: SQLite keeps the largest in a table
    /// (<https://sqlite.org/autoinc.html>).
    Autoincrement,
}

impl Table {
    pub(super) const NAMES: &[(&str, Table)] = &[
        ("rowid", Table::Rowid),
        ("integer-primary-key", Table::IntegerPrimaryKey),
        ("without-rowid", Table::WithoutRowid),
        ("auto-key", Table::AutoKey),
        ("autoincrement", Table::Autoincrement),
    ];

    /// The statement that makes it.
    pub(super) fn create(self) -> &'static str {
        match self {
            Table::Rowid => "CREATE TABLE integers(value INTEGER)",
            Table::IntegerPrimaryKey => "CREATE TABLE integers(value INTEGER PRIMARY KEY)",
            Table::WithoutRowid => "CREATE TABLE integers(value INT PRIMARY KEY) WITHOUT ROWID",
            Table::AutoKey => "CREATE TABLE integers(key INTEGER PRIMARY KEY, value INTEGER)",
            Table::Autoincrement => {
                "CREATE TABLE integers(key INTEGER PRIMARY KEY AUTOINCREMENT, value INTEGER)"
            }
        }
    }

    /// Whether the values are the key, and so must be distinct.
    pub(super) fn is_keyed_by_value(self) -> bool {
        matches!(self, Table::IntegerPrimaryKey | Table::WithoutRowid)
    }

    /// The column of keys that SQLite counts on from 1, where one can be read.
    pub(super) fn counted_key(self) -> Option<&'static str> {
        match self {
            Table::Rowid => Some("rowid"),
            Table::AutoKey | Table::Autoincrement => Some("key"),
            Table::IntegerPrimaryKey | Table::WithoutRowid => None,
        }
    }
}
