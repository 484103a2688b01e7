//! Tables and other objects of the original.

use engine::{Connection, EngineError, Value};

use script::effect::{literal, quoted};

/// The original database, read.
pub(super) struct Original<'c> {
    pub(super) connection: &'c Connection,
    /// PRAGMAs that a file needs before its first table.
    pub(super) file_settings: String,
    /// PRAGMAs with numbers of the application.
    pub(super) numbers: String,
    /// The PRAGMA of the journal mode.
    pub(super) journal: String,
    /// Tables in the order of the schema; tables that other ones refer to come first.
    pub(super) tables: Vec<Table>,
    /// Indexes, views and triggers, each with its definition.
    pub(super) others: Vec<(String, String)>,
    /// SQLite's own tables that are copied as they are.
    pub(super) own_tables: Vec<OwnTable>,
}

/// A table of SQLite's own with its rows.
pub(super) struct OwnTable {
    pub(super) name: &'static str,
    pub(super) rows: Vec<Vec<Value>>,
}

/// A table with its definition.
pub(super) struct Table {
    pub(super) name: String,
    pub(super) sql: String,
    pub(super) form: Form,
}

/// Part of a table that is copied.
pub(super) enum Form {
    /// Its rows, with a name of the rowid that is not also a column of the table, and the columns without generated ones.
    Rows { rowid: Option<&'static str>, columns: Vec<String> },
    /// A full-text index over another table.
    Rebuilt,
    /// A full-text index that does not store its text.
    Contentless,
    /// A virtual table that cannot be copied.
    Unknown(String),
}

impl Table {
    pub(super) fn quoted(&self) -> String {
        quoted(&self.name)
    }

    /// Returns the columns to read and to write.
    pub(super) fn stored(&self) -> Vec<&str> {
        match &self.form {
            Form::Rows { rowid, columns } => {
                let columns = columns.iter().map(String::as_str);
                rowid.iter().copied().chain(columns).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl<'c> Original<'c> {
    pub(super) fn read(connection: &'c Connection) -> Result<Original<'c>, EngineError> {
        let number = |name: &str| connection.query_i64(&format!("PRAGMA {name}"));
        let word = |name: &str| connection.query_text(&format!("PRAGMA {name}"));
        let wal = word("journal_mode")? == "wal";
        Ok(Original {
            connection,
            file_settings: format!(
                "PRAGMA page_size = {}; PRAGMA auto_vacuum = {}; PRAGMA encoding = {};
                 PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON",
                number("page_size")?,
                number("auto_vacuum")?,
                literal(&word("encoding")?),
            ),
            numbers: format!(
                "PRAGMA user_version = {}; PRAGMA application_id = {}",
                number("user_version")?,
                number("application_id")?,
            ),
            journal: format!(
                "PRAGMA journal_mode = {}",
                if wal { "wal" } else { "delete" }
            ),
            tables: tables(connection)?,
            others: others(connection)?,
            own_tables: own_tables(connection)?,
        })
    }

    /// Returns every column that can be kept, with its table.
    pub(super) fn columns(&self) -> impl Iterator<Item = (String, String)> {
        self.tables.iter().flat_map(|table| {
            table.stored().into_iter().map(|column| (table.name.clone(), column.to_owned()))
        })
    }

    /// Returns the statements of the schema with the names of what they create.
    pub(super) fn definitions(&self) -> impl Iterator<Item = (&str, &str)> {
        let tables = self.tables.iter().map(|table| (table.name.as_str(), table.sql.as_str()));
        let others = self.others.iter().map(|(name, sql)| (name.as_str(), sql.as_str()));
        tables.chain(others)
    }

    /// Full-text indexes over other tables.
    pub(super) fn rebuilt(&self) -> impl Iterator<Item = &Table> {
        self.tables.iter().filter(|table| matches!(table.form, Form::Rebuilt))
    }
}

fn tables(connection: &Connection) -> Result<Vec<Table>, EngineError> {
    connection.query_rows(
        "SELECT m.name, m.sql, l.type, l.wr FROM sqlite_master AS m
         JOIN pragma_table_list AS l ON l.name = m.name AND l.schema = 'main'
         WHERE m.type = 'table' AND l.type IN ('table', 'virtual') AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
         ORDER BY l.type, m.rowid",
        |row| {
            let (name, sql) = (row.column_text(0)?.to_owned(), row.column_text(1)?.to_owned());
            let form = if row.column_text(2)? == "virtual" {
                virtual_form(connection, &name, &sql)?
            } else {
                let columns = columns(connection, &name)?;
                let is_free =
                    |alias: &&str| !columns.iter().any(|column| column.eq_ignore_ascii_case(alias));
                let alias = ["rowid", "_rowid_", "oid"].into_iter().find(is_free);
                Form::Rows { rowid: alias.filter(|_| row.column_i64(3) == 0), columns }
            };
            Ok(Table { name, sql, form })
        },
    )
}

/// Returns the names of a table's columns, without generated and hidden ones.
fn columns(connection: &Connection, table: &str) -> Result<Vec<String>, EngineError> {
    let sql = format!("SELECT name FROM pragma_table_info({}) ORDER BY cid", literal(table));
    connection.query_rows(&sql, |row| Ok(row.column_text(0)?.to_owned()))
}

/// Returns the part of a virtual table that is copied: full-text indexes and R*Trees, whose modules are part of SQLite.
fn virtual_form(connection: &Connection, name: &str, sql: &str) -> Result<Form, EngineError> {
    let plain: String = sql.to_lowercase().split_whitespace().collect();
    let module = plain.split_once("using").map_or("", |(_, rest)| rest);
    let is_text = ["fts3", "fts4", "fts5"].iter().any(|name| module.starts_with(name));
    let content = plain.split([',', '(']).find_map(|option| option.strip_prefix("content="));
    let content = content.map(|name| name.trim_matches(['\'', '"', ')', '`', '[', ']']));
    Ok(match content {
        Some("") if is_text => Form::Contentless,
        Some(_) if is_text => Form::Rebuilt,
        _ if is_text => Form::Rows { rowid: Some("rowid"), columns: columns(connection, name)? },
        _ if module.starts_with("rtree") || module.starts_with("geopoly") => {
            Form::Rows { rowid: None, columns: columns(connection, name)? }
        }
        _ => Form::Unknown("its module is not part of SQLite".to_owned()),
    })
}

fn others(connection: &Connection) -> Result<Vec<(String, String)>, EngineError> {
    connection.query_rows(
        "SELECT name, sql FROM sqlite_master WHERE type <> 'table' AND sql IS NOT NULL
         ORDER BY type = 'trigger', type = 'view', rowid",
        |row| Ok((row.column_text(0)?.to_owned(), row.column_text(1)?.to_owned())),
    )
}

fn own_tables(connection: &Connection) -> Result<Vec<OwnTable>, EngineError> {
    let mut tables = Vec::new();
    for name in ["sqlite_sequence", "sqlite_stat1"] {
        let exists = format!("SELECT count(*) FROM sqlite_master WHERE name = '{name}'");
        if connection.query_i64(&exists)? > 0 {
            let rows = connection.query_all(&format!("SELECT * FROM {name}"))?;
            tables.push(OwnTable { name, rows });
        }
    }
    Ok(tables)
}
