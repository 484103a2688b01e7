//! Tables and indexes of a database, as SQLite describes them.

use crate::connection::Connection;
use crate::error::Result;
use crate::value::Value;

/// Tables and indexes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    /// Its tables, without virtual ones and SQLite's own.
    pub tables: Vec<Table>,
    /// The statements that make views and triggers.
    pub others: Vec<String>,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// The statement that makes it.
    pub sql: String,
    /// Whether a virtual table keeps its content in it; not known of engines before 3.37.
    pub is_shadow: bool,
    /// Whether it is `WITHOUT ROWID`; not known of engines before 3.37.
    pub is_without_rowid: bool,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its indexes, including those that constraints need.
    pub indexes: Vec<Index>,
    /// Its foreign keys.
    pub foreign_keys: Vec<ForeignKey>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The declared type.
    pub kind: String,
    /// Its collation.
    pub collation: String,
    /// Whether it is another name of the rowid.
    pub is_rowid: bool,
}

/// An index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Its name.
    pub name: String,
    /// Its terms, in order.
    pub parts: Vec<Part>,
    /// Whether two rows must differ in it.
    pub is_unique: bool,
    /// Whether it has a WHERE clause.
    pub is_partial: bool,
    /// Whether a constraint needs it, so that it cannot be dropped.
    pub is_of_constraint: bool,
    /// Whether that is the primary key.
    pub is_key: bool,
}

/// A foreign key of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// The table that it refers to.
    pub parent: String,
    /// Its columns.
    pub columns: Vec<String>,
    /// Whether a row goes with the one that it refers to.
    pub cascades: bool,
}

/// A term of an index.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// The column by its number, or the text of an expression.
    pub of: PartOf,
    /// Its collation.
    pub collation: String,
    /// Whether it is descending.
    pub is_descending: bool,
}

/// The content of a term of an index.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartOf {
    /// A column by its number.
    Column(usize),
    /// An expression.
    Expression(String),
}

/// The collation of texts byte by byte, the default.
pub const BINARY: &str = "BINARY";

impl Schema {
    /// Reads the schema of a database.
    ///
    /// # Errors
    /// SQLite's.
    pub fn read(connection: &Connection) -> Result<Schema> {
        let mut schema = Schema::default();
        let rows = connection.query_all(
            "SELECT type, name, sql FROM sqlite_schema WHERE type <> 'index' AND sql IS NOT NULL
             AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid",
        )?;
        let kinds = connection.query_all("PRAGMA main.table_list")?;
        for row in &rows {
            let [kind, name, sql] = [0, 1, 2].map(|column| text(&row[column]));
            match kind.as_str() {
                "table" if is_virtual(&sql) => {}
                "table" => {
                    let kind = kinds.iter().find(|kind| kind[1] == row[1]);
                    schema.tables.push(Table::read(connection, name, sql, kind)?);
                }
                _ => schema.others.push(sql),
            }
        }
        Ok(schema)
    }

    /// Returns the table of this name.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name.eq_ignore_ascii_case(name))
    }

    /// Returns the table of the index with this name.
    pub fn table_of_index(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.indexes.iter().any(|index| index.name == name))
    }
}

impl Table {
    /// Reads a table by its name and statement, and its row of `PRAGMA table_list`.
    fn read(
        connection: &Connection,
        name: String,
        sql: String,
        kind: Option<&Vec<Value>>,
    ) -> Result<Table> {
        let literal = name.replace('\'', "''");
        let columns = format!(
            "SELECT name, type, pk, (SELECT count(*) FROM pragma_index_list('{literal}') WHERE origin = 'pk')
             FROM pragma_table_xinfo('{literal}') WHERE hidden <> 1"
        );
        let rows = connection.query_all(&columns)?;
        let keys = rows.iter().filter(|row| row[2] != Value::Integer(0)).count();
        let columns = rows.iter().map(|row| {
            let (column, kind) = (text(&row[0]), text(&row[1]));
            let is_key = row[2] == Value::Integer(1) && keys == 1 && row[3] == Value::Integer(0);
            Column {
                collation: connection
                    .collation(&name, &column)
                    .unwrap_or_else(|| BINARY.to_owned()),
                is_rowid: is_key && kind.eq_ignore_ascii_case("integer"),
                name: column,
                kind,
            }
        });
        let columns = columns.collect();
        let indexes = format!(
            "SELECT name, \"unique\", origin, partial FROM pragma_index_list('{literal}') ORDER BY seq DESC"
        );
        let indexes = connection.query_all(&indexes)?;
        let indexes: Result<Vec<Index>> =
            indexes.iter().map(|row| Index::read(connection, row)).collect();
        let foreign_keys = foreign_keys(connection, &literal)?;
        Ok(Table {
            is_shadow: kind.is_some_and(|kind| text(&kind[2]) == "shadow"),
            is_without_rowid: kind.is_some_and(|kind| kind[4] == Value::Integer(1)),
            name,
            sql,
            columns,
            indexes: indexes?,
            foreign_keys,
        })
    }

    /// Returns the number of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))
    }
}

impl Index {
    fn read(connection: &Connection, row: &[Value]) -> Result<Index> {
        let name = text(&row[0]);
        let literal = name.replace('\'', "''");
        let parts = format!(
            "SELECT cid, coll, \"desc\" FROM pragma_index_xinfo('{literal}') WHERE key = 1 ORDER BY seqno"
        );
        let parts = connection.query_all(&parts)?;
        let part = |row: &Vec<Value>| Part {
            of: match row[0] {
                Value::Integer(number @ 0..) => PartOf::Column(number as usize),
                _ => PartOf::Expression(String::new()),
            },
            collation: text(&row[1]),
            is_descending: row[2] != Value::Integer(0),
        };
        Ok(Index {
            parts: parts.iter().map(part).collect(),
            is_unique: row[1] != Value::Integer(0),
            is_of_constraint: text(&row[2]) != "c",
            is_key: text(&row[2]) == "pk",
            is_partial: row[3] != Value::Integer(0),
            name,
        })
    }
}

fn foreign_keys(connection: &Connection, table: &str) -> Result<Vec<ForeignKey>> {
    let rows = connection.query_all(&format!(
        "SELECT id, \"table\", \"from\", on_delete FROM pragma_foreign_key_list('{table}') ORDER BY id, seq"
    ))?;
    let keys = rows.chunk_by(|one, other| one[0] == other[0]).map(|rows| ForeignKey {
        parent: text(&rows[0][1]),
        columns: rows.iter().map(|row| text(&row[2])).collect(),
        cascades: text(&rows[0][3]) == "CASCADE",
    });
    Ok(keys.collect())
}

fn is_virtual(sql: &str) -> bool {
    sql.split_whitespace().nth(1).is_some_and(|word| word.eq_ignore_ascii_case("virtual"))
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        value => value.to_string(),
    }
}
