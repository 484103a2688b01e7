//! Contents of the tables of a database: rows and a checksum of each, by which two databases are compared.
//!
//! The order of texts and blobs whose content is hashed.
//!
//! Those with the same first sixteen bytes are one class. Classes are numbered from 1 in the order of these bytes, texts
//! before blobs, as SQLite sorts them without a collation.

use std::collections::BTreeMap;

use engine::{Connection, EngineError};
use recorder::layout::ORDER_CODE;
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
        row.write_row(&mut bytes)?;
        sum = sum.wrapping_add(XxHash3_128::oneshot(&bytes));
        Ok(())
    })?;
    Ok(Content { rows, checksum: format!("{sum:032x}") })
}

/// The code that orders a text or a blob: larger, byte by byte, for a later one.
pub(crate) type Code = [u8; ORDER_CODE];

/// The classes of a trace: known once all texts and blobs were noted and numbered.
#[derive(Debug, Default)]
pub(crate) struct Classes {
    /// By whether it is one of blobs, and by its code.
    numbers: BTreeMap<(bool, Code), u64>,
}

impl Classes {
    /// Notes that a text, or a blob, is in the class with this code.
    pub(crate) fn note(&mut self, is_blob: bool, code: Code) {
        self.numbers.insert((is_blob, code), 0);
    }

    /// Numbers the classes that were noted.
    pub(crate) fn number(&mut self) {
        for (number, class) in (1..).zip(self.numbers.values_mut()) {
            *class = number;
        }
    }

    /// Returns the number of a class; 0 for one that was not noted.
    pub(crate) fn of(&self, is_blob: bool, code: Code) -> u64 {
        self.numbers.get(&(is_blob, code)).copied().unwrap_or(0)
    }
}

/// Returns the code of a text or a blob: two bytes for each of the first ones, 0 behind the end.
pub(crate) fn code(content: &[u8]) -> Code {
    let mut code = Code::default();
    for (two, byte) in code.chunks_exact_mut(2).zip(content) {
        two.copy_from_slice(&(u16::from(*byte) + 1).to_be_bytes());
    }
    code
}

/// Returns a statement of a recording with a class for each hashed text in place of the code that the recorder has
/// written: `'#HASH:LENGTH:tCODE'`, or with a `b` for a blob.
pub(crate) fn with_classes(sql: &str, mut class: impl FnMut(bool, Code) -> u64) -> String {
    let mut out = String::with_capacity(sql.len());
    let mut rest = sql;
    while let Some(at) = rest.find("'#") {
        let (before, after) = rest.split_at(at + 2);
        let (text, after) = after.split_at(after.find('\'').unwrap_or(after.len()));
        out.push_str(before);
        out.push_str(&with_class(text, &mut class).unwrap_or_else(|| text.to_owned()));
        rest = after;
    }
    out + rest
}

fn with_class(text: &str, class: &mut impl FnMut(bool, Code) -> u64) -> Option<String> {
    let (others, code) = text.rsplit_once(':')?;
    let is_blob = match code.as_bytes().first()? {
        b't' => false,
        b'b' => true,
        _ => return None,
    };
    let code = code_of(code.get(1..)?)?;
    Some(format!("{others}:{}", class(is_blob, code)))
}

/// Returns a code that is written in hexadecimal digits.
fn code_of(digits: &str) -> Option<Code> {
    let mut code = Code::default();
    if digits.len() != 2 * code.len() {
        return None;
    }
    for (at, byte) in code.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(code)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use engine::{Library, OpenFlags, Source};

    use super::*;

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

    #[test]
    fn classes_have_the_order_of_the_first_bytes_and_texts_come_before_blobs() {
        let ordered: [(bool, &[u8]); 7] = [
            (false, b""),
            (false, b"0123456789abcdefz"),
            (false, b"a"),
            (false, b"a\0"),
            (false, b"abcdz"),
            (false, b"b"),
            (true, b""),
        ];
        let mut classes = Classes::default();
        for (is_blob, content) in ordered.iter().rev() {
            classes.note(*is_blob, code(content));
        }
        classes.number();
        let numbers = ordered.map(|(is_blob, content)| classes.of(is_blob, code(content)));
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(code(b"0123456789abcdefz"), code(b"0123456789abcdef"));
    }

    #[test]
    fn only_codes_of_the_recorder_are_replaced() {
        let code = format!("1f{}", "00".repeat(ORDER_CODE - 1));
        let sql = format!(
            "SELECT '#00ff:3:t{code}', '#00ff:3:b{code}', '#5', '#a:t1f', a:t1 FROM \"'#x:y'\""
        );
        assert_eq!(
            with_classes(&sql, |is_blob, code| u64::from(code[0]) + u64::from(is_blob)),
            "SELECT '#00ff:3:31', '#00ff:3:32', '#5', '#a:t1f', a:t1 FROM \"'#x:y'\""
        );
    }
}
