//! The content of a database as one number: equal for equal rows, however they are stored.

use engine::{Connection, EngineError, Statement, Value};
use std::hash::Hasher;
use twox_hash::XxHash3_64;

/// The content of one database: its schema, every row of its tables, and the two numbers of the header that are the
/// application's: `user_version` and `application_id`.
///
/// Root pages and row numbers do not count, because VACUUM changes them; virtual tables count through
/// the ordinary tables they are kept in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Content(pub u64);

impl Content {
    /// Returns the content of a database without tables, or of none at all.
    pub fn empty() -> Content {
        Content(XxHash3_64::new().finish())
    }

    /// Reads the content of the attached database called `schema`.
    ///
    /// # Errors
    /// SQLite's: the database is damaged.
    pub fn read(connection: &Connection, schema: &str) -> Result<Content, EngineError> {
        let (mut hash, mut bytes, mut tables) = (XxHash3_64::new(), Vec::new(), Vec::new());
        let mut add = |row: &Statement<'_, '_>, end: &[u8]| {
            bytes.clear();
            row.write_row(&mut bytes)?;
            bytes.extend(end);
            hash.write(&bytes);
            Ok(())
        };
        // The name `sqlite_schema` is as young as SQLite 3.33.
        let objects = format!(
            "SELECT type, name, tbl_name, sql FROM {schema}.sqlite_master ORDER BY type, name"
        );
        connection.for_each_row(&objects, |row| {
            add(row, &[])?;
            if let (Value::Text(kind), Value::Text(name), Value::Text(sql)) =
                (row.column_value(0), row.column_value(1), row.column_value(3))
                && kind == "table"
                && !is_virtual(&sql)
            {
                tables.push(name);
            }
            Ok(())
        })?;
        for name in ["user_version", "application_id"] {
            connection.for_each_row(&format!("PRAGMA {schema}.{name}"), |row| {
                if row.column_i64(0) == 0 { Ok(()) } else { add(row, &[]) }
            })?;
        }
        for table in tables {
            let rows = format!("SELECT * FROM {schema}.\"{}\"", table.replace('"', "\"\""));
            connection.for_each_row(&rows, |row| add(row, b"row"))?;
        }
        Ok(Content(hash.finish()))
    }
}

fn is_virtual(sql: &str) -> bool {
    let mut words = sql.split_ascii_whitespace();
    words.next();
    words.next().is_some_and(|word| word.eq_ignore_ascii_case("virtual"))
}
