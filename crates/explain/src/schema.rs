//! Tables and indexes of a database.

use engine::{Connection, EngineError, Value};
use script::effect::quoted;

/// Tables and indexes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    /// Its tables, without virtual ones and SQLite's own.
    pub tables: Vec<Table>,
    /// The statements that make views and triggers.
    pub others: Vec<String>,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its indexes, also those of constraints.
    pub indexes: Vec<Index>,
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
    pub fn read(connection: &Connection) -> Result<Schema, EngineError> {
        let mut schema = Schema::default();
        let rows = connection.query_all(
            "SELECT type, name, sql FROM sqlite_schema WHERE type <> 'index' AND sql IS NOT NULL
             AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid",
        )?;
        for row in &rows {
            let [kind, name, sql] = [0, 1, 2].map(|column| text(&row[column]));
            match kind.as_str() {
                "table" if is_virtual(&sql) => {}
                "table" => schema.tables.push(Table::read(connection, name)?),
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
    fn read(connection: &Connection, name: String) -> Result<Table, EngineError> {
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
        let indexes: Result<Vec<Index>, EngineError> =
            indexes.iter().map(|row| Index::read(connection, row)).collect();
        Ok(Table { name, columns, indexes: indexes? })
    }

    /// Returns the number of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))
    }

    /// Returns a term of an index as `CREATE INDEX` has it.
    pub fn sql_of(&self, part: &Part) -> String {
        let (mut sql, collation) = match &part.of {
            PartOf::Column(number) => {
                let column = &self.columns[*number];
                (name(&column.name), column.collation.as_str())
            }
            PartOf::Expression(text) => (text.clone(), BINARY),
        };
        if !part.collation.eq_ignore_ascii_case(collation) {
            sql = format!("{sql} COLLATE {}", part.collation);
        }
        if part.is_descending { format!("{sql} DESC") } else { sql }
    }
}

impl Index {
    fn read(connection: &Connection, row: &[Value]) -> Result<Index, EngineError> {
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
            is_partial: row[3] != Value::Integer(0),
            name,
        })
    }
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

/// Returns a name as it is usually written: in quotes only if it needs them.
pub fn name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let plain = name.chars().all(|c| is_plain(c.to_ascii_lowercase()));
    let is_keyword = KEYWORDS.split(' ').any(|word| word.eq_ignore_ascii_case(name));
    if begins && plain && !is_keyword { name.to_owned() } else { quoted(name) }
}

/// Words of SQL that are not names without quotes (<https://sqlite.org/lang_keywords.html>), as far as columns and tables are
/// called so.
const KEYWORDS: &str = "add all alter and as autoincrement between case check collate column commit constraint create \
    cross current_date current_time current_timestamp default deferrable delete desc asc distinct drop else end escape \
    except exists foreign from full group having if in index inner insert intersect into is isnull join key left like \
    limit match natural not notnull null of offset on or order outer plan primary query references replace right row \
    rows rollback select set table then to transaction trigger union unique update using values view when where with";
