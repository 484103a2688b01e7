//! The definition of a table to be made, and its SQL.

use std::collections::HashSet;

use crate::affinity::Affinity;
use crate::error::{LoadError, Result};
use crate::sql::{list, quoted, same};

/// A table to load into.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Declared types of columns, by name; the source's own suggestion holds for the others. SQLite's
    /// rules for types apply: `INTEGER`, `TEXT`, `DECIMAL(10,2)`.
    pub types: Vec<Column>,
    /// Columns in which NULL is refused, in addition to such columns among `types`.
    pub not_null: Vec<String>,
    /// The columns of the primary key; none for a table with a plain rowid. A single column of the
    /// declared type `INTEGER` becomes the rowid.
    pub primary_key: Vec<String>,
    /// Whether the types are enforced (`STRICT`, SQLite 3.37).
    pub strict: bool,
    /// Whether the rows are kept in the order of the primary key (`WITHOUT ROWID`).
    pub without_rowid: bool,
    /// Indexes, made after the rows are in.
    pub indexes: Vec<Index>,
    /// A full-text index, made after the rows are in.
    pub full_text: Option<FullText>,
    /// The statements that make the table and its indexes, instead of all of this but the name.
    pub sql: Option<String>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its declared type, empty for none.
    pub declared: String,
    /// Whether NULL is refused.
    pub not_null: bool,
}

impl Column {
    /// A column that takes NULL.
    pub fn new(name: impl Into<String>, declared: impl Into<String>) -> Column {
        Column { name: name.into(), declared: declared.into(), not_null: false }
    }
}

/// An index over columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// Its columns in order.
    pub columns: Vec<String>,
    /// Whether it is unique.
    pub unique: bool,
}

impl Index {
    /// Returns its name unless that is taken: `TABLE_COLUMN_…_index`.
    pub fn name(&self, table: &str) -> String {
        format!("{table}_{}_index", self.columns.join("_"))
    }
}

/// A full-text index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FullText {
    /// The columns that can be searched.
    pub columns: Vec<String>,
    /// Its name; by default `TABLE_fts`.
    pub name: Option<String>,
}

impl FullText {
    /// Returns its name for a table.
    pub fn name(&self, table: &str) -> String {
        self.name.clone().unwrap_or_else(|| format!("{table}_fts"))
    }
}

impl Table {
    /// A table with the types that the source suggests, without key or index.
    pub fn new(name: impl Into<String>) -> Table {
        Table { name: name.into(), ..Table::default() }
    }

    /// Returns the columns of the table for a source of these columns: its suggestions, overridden by the
    /// declared types.
    pub(crate) fn columns(&self, suggested: &[Column]) -> Result<Vec<Column>> {
        if suggested.len() > MOST_COLUMNS {
            return Err(LoadError::TooManyColumns(suggested.len()));
        }
        let mut names = HashSet::new();
        let mut is_new = |column: &&Column| names.insert(column.name.to_ascii_lowercase());
        if let Some(twice) = suggested.iter().find(|column| !is_new(column)) {
            let name = &twice.name;
            let reason = format!("the input has two columns {name}, whatever the case; rename one");
            return Err(LoadError::Definition(reason));
        }
        if suggested.is_empty() {
            return Err(LoadError::Definition("the input has no columns".to_owned()));
        }
        let named = self.types.iter().map(|column| &column.name);
        let keys = self.not_null.iter().chain(&self.primary_key);
        let indexed = self.indexes.iter().flat_map(|index| &index.columns);
        let searched = self.full_text.iter().flat_map(|text| &text.columns);
        for name in named.chain(keys).chain(indexed).chain(searched) {
            if !suggested.iter().any(|column| same(&column.name, name)) {
                return Err(unknown(name, suggested));
            }
        }
        if self.without_rowid && self.full_text.is_some() {
            return Err(LoadError::Definition(
                "a full-text index needs rowids; the table is WITHOUT ROWID".to_owned(),
            ));
        }
        suggested.iter().map(|column| self.column(column)).collect()
    }

    fn column(&self, suggested: &Column) -> Result<Column> {
        let declared = self.types.iter().find(|column| same(&column.name, &suggested.name));
        let mut column = match declared {
            None => usable(suggested),
            Some(declared) => Column { name: suggested.name.clone(), ..declared.clone() },
        };
        column.not_null |= self.not_null.iter().any(|name| same(name, &column.name));
        check_type(&column)?;
        if self.strict {
            column.declared = strict_type(&column)?;
        }
        Ok(column)
    }

    /// Returns the statement that makes the table.
    pub(crate) fn create(&self, columns: &[Column]) -> String {
        let mut parts: Vec<String> = columns.iter().map(|column| self.part(column)).collect();
        if !self.primary_key.is_empty() && self.rowid_alias(columns).is_none() {
            parts.push(format!("PRIMARY KEY ({})", list(&self.primary_key)));
        }
        let mut options = Vec::new();
        if self.strict {
            options.push("STRICT");
        }
        if self.without_rowid {
            options.push("WITHOUT ROWID");
        }
        let sql = format!("CREATE TABLE {} ({})", quoted(&self.name), parts.join(", "));
        [sql, options.join(", ")].join(" ").trim_end().to_owned()
    }

    fn part(&self, column: &Column) -> String {
        let mut part = format!("{} {}", quoted(&column.name), column.declared);
        if column.not_null {
            part += " NOT NULL";
        }
        if self.rowid_alias(std::slice::from_ref(column)).is_some() {
            part += " PRIMARY KEY";
        }
        part.trim_end().to_owned()
    }

    /// Returns the column that is the rowid by another name, if one is.
    fn rowid_alias<'c>(&self, columns: &'c [Column]) -> Option<&'c Column> {
        let [key] = &self.primary_key[..] else { return None };
        columns.iter().find(|column| {
            same(&column.name, key) && column.declared.eq_ignore_ascii_case("INTEGER")
        })
    }
}

/// The most columns of a table, as SQLite is built by default.
const MOST_COLUMNS: usize = 2_000;

fn unknown(name: &str, suggested: &[Column]) -> LoadError {
    let known: Vec<&str> = suggested.iter().map(|column| &*column.name).collect();
    let known = known.join(", ");
    LoadError::Definition(format!("the input has no column {name}; it has {known}"))
}

/// The words that begin a constraint.
const CONSTRAINTS: &str =
    "PRIMARY NOT NULL UNIQUE CHECK DEFAULT COLLATE REFERENCES GENERATED AS CONSTRAINT";

/// A declared type becomes part of SQL as it stands, so only words with numbers in parentheses pass,
/// and no word that would begin a constraint.
fn check_type(column: &Column) -> Result<()> {
    let (words, arguments) = match column.declared.split_once('(') {
        None => (&*column.declared, None),
        Some((words, rest)) => (words, Some(rest)),
    };
    let good_words = words.split_ascii_whitespace().all(|word| {
        word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            && word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && !CONSTRAINTS.split(' ').any(|known| same(known, word))
    });
    let good_arguments = arguments.is_none_or(|rest| {
        rest.strip_suffix(')').is_some_and(|inside| {
            let numbers: Vec<&str> = inside.split(',').map(str::trim).collect();
            numbers.len() <= 2
                && numbers
                    .iter()
                    .all(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
        })
    });
    if good_words && good_arguments && (arguments.is_none() || !words.trim().is_empty()) {
        return Ok(());
    }
    Err(LoadError::Definition(format!(
        "invalid type `{}` for column {}: use words such as INTEGER or VARCHAR(20)",
        column.declared, column.name
    )))
}

/// Returns a column as its source declares it. A type that cannot be repeated in SQL, such as `[int]`, is replaced
/// by a type with the same affinity.
fn usable(suggested: &Column) -> Column {
    let mut column = suggested.clone();
    if check_type(&column).is_err() {
        column.declared = Affinity::of(&column.declared).to_string();
    }
    column
}

/// Returns the type in a STRICT table, which knows six types only; a column without a type, which converts nothing, is
/// `ANY` there.
fn strict_type(column: &Column) -> Result<String> {
    if column.declared.is_empty() {
        return Ok("ANY".to_owned());
    }
    if Affinity::is_of_truth_values(&column.declared) {
        return Ok("INTEGER".to_owned());
    }
    let known = ["INT", "INTEGER", "REAL", "TEXT", "BLOB", "ANY"];
    known
        .iter()
        .find(|known| same(known, &column.declared))
        .map(|known| (*known).to_owned())
        .ok_or_else(|| {
            LoadError::Definition(format!(
                "column {} has the type `{}`; a STRICT table takes {}",
                column.name,
                column.declared,
                known.join(", ")
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<Column> {
        vec![Column::new("id", "INTEGER"), Column::new("a \"b\"", "TEXT")]
    }

    #[test]
    fn a_table_is_written_as_sql_with_quoted_names() {
        let mut table = Table::new("my table");
        assert_eq!(
            table.create(&columns()),
            r#"CREATE TABLE "my table" ("id" INTEGER, "a ""b""" TEXT)"#
        );
        table.primary_key = vec!["ID".to_owned()];
        table.strict = true;
        assert_eq!(
            table.create(&columns()),
            r#"CREATE TABLE "my table" ("id" INTEGER PRIMARY KEY, "a ""b""" TEXT) STRICT"#
        );
        table.primary_key = vec!["a \"b\"".to_owned(), "id".to_owned()];
        table.without_rowid = true;
        assert_eq!(
            table.create(&columns()),
            r#"CREATE TABLE "my table" ("id" INTEGER, "a ""b""" TEXT, PRIMARY KEY ("a ""b""", "id")) STRICT, WITHOUT ROWID"#
        );
    }

    #[test]
    fn declared_types_override_the_suggested_ones() {
        let mut table = Table::new("t");
        table.types = vec![Column::new("ID", "DECIMAL(10, 2)")];
        let made = table.columns(&columns()).unwrap();
        assert_eq!(made[0], Column::new("id", "DECIMAL(10, 2)"));
        assert_eq!(made[1], columns()[1]);
        table.strict = true;
        assert!(table.columns(&columns()).unwrap_err().to_string().contains("STRICT"));
    }

    #[test]
    fn a_column_without_a_type_keeps_everything_in_a_strict_table_too() {
        let mut table = Table::new("t");
        let suggested = [Column::new("a", "")];
        assert_eq!(table.columns(&suggested).unwrap(), suggested);
        table.strict = true;
        let made = table.columns(&suggested).unwrap();
        assert_eq!(made, [Column::new("a", "ANY")]);
    }

    #[test]
    fn a_type_that_is_more_than_a_type_is_refused() {
        for bad in [
            "TEXT PRIMARY KEY", "INT)", "X); DROP TABLE t --", "INT(a)", "(1)", "INT DEFAULT", "1X",
        ] {
            let mut table = Table::new("t");
            table.types = vec![Column::new("id", bad)];
            assert!(table.columns(&columns()).is_err(), "{bad}");
        }
    }

    #[test]
    fn types_of_the_source_that_cannot_be_repeated_become_those_of_their_affinity() {
        let suggested = [
            Column::new("a", "[int]"),
            Column::new("b", "[nvarchar](50)"),
            Column::new("c", "DECIMAL(10, -2)"),
            Column::new("d", "VARCHAR(20)"),
        ];
        let made = Table::new("t").columns(&suggested).unwrap();
        let types: Vec<&str> = made.iter().map(|column| &*column.declared).collect();
        assert_eq!(types, ["INTEGER", "TEXT", "NUMERIC", "VARCHAR(20)"]);
    }

    #[test]
    fn keys_types_and_indexes_must_name_columns_of_the_input() {
        let mut table = Table::new("t");
        table.indexes = vec![Index { columns: vec!["nothing".to_owned()], unique: false }];
        let error = table.columns(&columns()).unwrap_err().to_string();
        assert!(error.contains("no column nothing"), "{error}");
    }
}
