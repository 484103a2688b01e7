//! Contents of the tables of a database: rows and a checksum of each, by which two databases are compared.

use engine::{Connection, EngineError, Statement, ValueRef};
use twox_hash::XxHash3_128;

/// A table and its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its content, or why it cannot be read.
    pub content: Result<Content, String>,
}

/// The rows of a table, in any order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// How many there are.
    pub rows: u64,
    /// The sum of the hashes (XXH3, 128 bits) of all rows, in hexadecimal.
    pub checksum: String,
}

/// The table that holds the definitions of all others.
pub const SCHEMA: &str = "sqlite_schema";

/// The table that holds the greatest numbers of AUTOINCREMENT.
pub const SEQUENCE: &str = "sqlite_sequence";

/// The beginning of the names of tables of statistics.
const STATISTICS: &str = "sqlite_stat";

/// Returns whether a table holds the statistics of ANALYZE, which versions and builds of SQLite write differently.
pub fn is_statistics(table: &str) -> bool {
    table.starts_with(STATISTICS)
}

/// Returns the content of the schema and of each table that has rows of its own, including the tables behind virtual
/// tables. The application's schema, without tables of statistics.
///
/// # Errors
/// The schema cannot be read. A table that cannot be read says so itself.
pub fn tables(connection: &Connection) -> Result<Vec<Table>, EngineError> {
    let schema = format!(
        "SELECT type, name, tbl_name, sql FROM {SCHEMA} WHERE tbl_name NOT GLOB '{STATISTICS}*'"
    );
    let mut tables =
        vec![Table { name: SCHEMA.to_owned(), content: Ok(content(connection, &schema)?) }];
    let named =
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY name";
    for row in connection.query_all(named)? {
        let name = row.first().map(ToString::to_string).unwrap_or_default();
        let sql = match name.as_str() {
            // A row of 0, or of a table that is gone, means the same as none.
            SEQUENCE => format!(
                "SELECT * FROM {SEQUENCE} WHERE seq <> 0 AND name IN (SELECT name FROM {SCHEMA})"
            ),
            name => format!("SELECT * FROM \"{}\"", name.replace('"', "\"\"")),
        };
        let content = content(connection, &sql).map_err(|error| error.to_string());
        tables.push(Table { name, content });
    }
    Ok(tables)
}

fn content(connection: &Connection, sql: &str) -> Result<Content, EngineError> {
    let (mut sum, mut bytes) = (0_u128, Vec::new());
    let rows = connection.for_each_row(sql, |row| {
        bytes.clear();
        write_row(row, &mut bytes)?;
        sum = sum.wrapping_add(XxHash3_128::oneshot(&bytes));
        Ok(())
    })?;
    Ok(Content { rows, checksum: format!("{sum:032x}") })
}

/// Writes the values of a row so that different rows give different bytes.
fn write_row(row: &Statement<'_, '_>, out: &mut Vec<u8>) -> Result<(), EngineError> {
    for column in 0..row.column_count() {
        let (kind, bytes): (u8, &[u8]) = match row.column_value_ref(column) {
            Ok(ValueRef::Null) => (0, &[]),
            Ok(ValueRef::Integer(value)) => {
                write_value(1, &value.to_le_bytes(), out);
                continue;
            }
            Ok(ValueRef::Real(value)) => {
                write_value(2, &value.to_bits().to_le_bytes(), out);
                continue;
            }
            Ok(ValueRef::Text(text)) => (3, text.as_bytes()),
            Ok(ValueRef::Blob(bytes)) => (4, bytes),
            Err(EngineError::NotUtf8(_)) => (3, row.column_text_bytes(column)?),
            Err(error) => return Err(error),
        };
        write_value(kind, bytes, out);
    }
    Ok(())
}

fn write_value(kind: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    out.extend((bytes.len() as u64).to_le_bytes());
    out.extend(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Library, OpenFlags, Source};
    use std::path::Path;
    use std::sync::Arc;

    fn of(sql: &str) -> Vec<Table> {
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        let memory = Path::new(":memory:");
        let connection = Connection::open(&library, memory, OpenFlags::default(), None).unwrap();
        connection.execute(sql).unwrap();
        tables(&connection).unwrap()
    }

    #[test]
    fn the_order_of_rows_is_the_same_content_and_anything_else_is_another() {
        let table = "CREATE TABLE t(a, b);";
        let one = of(&format!("{table} INSERT INTO t VALUES (1, 'x'), (2, NULL)"));
        let two = of(&format!("{table} INSERT INTO t VALUES (2, NULL), (1, 'x')"));
        assert_eq!(one, two);
        assert_eq!(one[1].content.as_ref().unwrap().rows, 2);
        for other in [
            "(1, 'x'), (2, '')",
            "(1, 'x'), (2, NULL), (2, NULL)",
            "(1.0, 'x'), (2, NULL)",
            "(1, x'78'), (2, NULL)",
            "(1, CAST(x'ff' AS TEXT)), (2, NULL)",
        ] {
            let other = of(&format!("{table} INSERT INTO t VALUES {other}"));
            assert_ne!(one[1], other[1]);
            assert_eq!(one[0], other[0], "the schema");
        }
    }

    #[test]
    fn what_sqlite_keeps_for_itself_is_not_the_applications_content() {
        let table = "CREATE TABLE t(a INTEGER PRIMARY KEY AUTOINCREMENT); CREATE INDEX i ON t(a);";
        let (plain, analyzed) =
            (of(table), of(&format!("{table} INSERT INTO t VALUES (1); ANALYZE; DELETE FROM t")));
        assert_eq!(plain[0], analyzed[0], "the schema");
        let sequence = |tables: &[Table]| {
            let table = tables.iter().find(|table| table.name == SEQUENCE);
            table.unwrap().content.as_ref().unwrap().rows
        };
        assert_eq!(sequence(&analyzed), 1);
        for harmless in ["('t', 0)", "('gone', 7)", "('t', NULL)"] {
            assert_eq!(
                sequence(&of(&format!("{table} INSERT INTO {SEQUENCE} VALUES {harmless}"))),
                0
            );
        }
    }

    #[test]
    fn tables_of_virtual_tables_and_quoted_names_are_read() {
        let tables = of(
            "CREATE VIRTUAL TABLE f USING fts5(x); CREATE TABLE \"a \"\"b\"(c); INSERT INTO f VALUES ('word')",
        );
        let names: Vec<&str> = tables.iter().map(|it| it.name.as_str()).collect();
        assert!(names.contains(&"f_content") && names.contains(&"a \"b"));
        assert!(!names.contains(&"f"));
        assert!(tables.iter().all(|it| it.content.is_ok()));
    }
}
