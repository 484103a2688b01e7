//! The table of documents: an FTS5 table with its options, or a plain one as the baseline.

use engine::{Connection, EngineError, Value};
use lab::catalogue::{Accepts, Parameter, Scope};
use lab::level::{Level, Settings};

use crate::error::TrialError;
use crate::settings::Reader;
use crate::workload::common::{by_name, names, parameter};

/// The name of the table that is filled and queried.
pub(super) const TABLE: &str = "docs";

/// The name of the table that holds the rows of an external-content FTS5 table.
pub(super) const CONTENT_TABLE: &str = "rows";

/// What kind of table holds the documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A virtual table of FTS5.
    Fts5,
    /// A plain table, which queries scan.
    Plain,
    /// A plain table with an index on each column, which queries for a beginning can use.
    Indexed,
}

const KINDS: &[(&str, Kind)] = &[
    ("fts5", Kind::Fts5),
    ("plain", Kind::Plain),
    ("plain-indexed", Kind::Indexed),
];

/// Where an FTS5 table keeps the texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// In a table of its own.
    Ordinary,
    /// Nowhere.
    Contentless,
    /// Nowhere, but rows can be deleted.
    ContentlessDelete,
    /// In an ordinary table, whose triggers keep the index up to date.
    External,
}

const CONTENTS: &[(&str, Content)] = &[
    ("ordinary", Content::Ordinary),
    ("contentless", Content::Contentless),
    ("contentless-delete", Content::ContentlessDelete),
    ("external", Content::External),
];

const DETAILS: &[(&str, &str)] = &[("full", "full"), ("column", "column"), ("none", "none")];

/// The tokenizer of SQLite's own choice.
const DEFAULT_TOKENIZER: &str = "unicode61";

/// Settings of an FTS5 table at run time (<https://sqlite.org/fts5.html>, section 6): the name in
/// experiment files, SQLite's name, bounds, and what it does.
const CONFIGURATION: &[(&str, &str, i64, i64, &str)] = &[
    (
        "pgsz",
        "pgsz",
        32,
        65_536,
        "bytes of a page of the full-text index, which is one blob (SQLite's default: 4050)",
    ),
    (
        "automerge",
        "automerge",
        0,
        64,
        "segments on a level from which on they are merged step by step; 0: never; 1 is refused, because FTS5 takes it for its default (SQLite's default: 4)",
    ),
    (
        "crisismerge",
        "crisismerge",
        2,
        1_999,
        "segments on a level from which on they are merged at once (SQLite's default: 16)",
    ),
    (
        "usermerge",
        "usermerge",
        2,
        16,
        "segments on a level from which on `finish = \"merge-levels\"` merges them; `merge` takes up all segments whatever it is (SQLite's default: 4)",
    ),
    (
        "deletemerge",
        "deletemerge",
        0,
        100,
        "percentage of deleted rows from which on a segment is merged; contentless-delete tables only (SQLite's default: 10)",
    ),
    (
        "hashsize",
        "hashsize",
        64,
        // FTS5 reads no more than 32 bits of it, though it stores them all.
        i32::MAX as i64,
        "bytes of memory in which terms are gathered before they are written as a segment (SQLite's default: 1 MiB)",
    ),
    (
        "fts_secure_delete",
        "secure-delete",
        0,
        1,
        "1: deleting removes the terms of a row from the index at once",
    ),
];

/// How the table is made.
#[derive(Clone, Debug)]
pub(super) struct TableOptions {
    pub(super) kind: Kind,
    pub(super) tokenizer: String,
    pub(super) content: Content,
    pub(super) columnsize: bool,
    prefix: String,
    detail: &'static str,
    configuration: Vec<(&'static str, i64)>,
    extension: Option<String>,
}

/// The parameters that describe the table.
pub(super) fn parameters() -> Vec<Parameter> {
    let mut parameters = vec![
        parameter(
            "table",
            names(KINDS),
            "fts5".into(),
            "table of the documents: full-text, plain, or plain with an index on each column; options of FTS5 do nothing to plain ones",
        ),
        parameter(
            "tokenizer",
            Accepts::Text,
            DEFAULT_TOKENIZER.into(),
            "tokenizer and its arguments, as FTS5's option `tokenize` takes them: `unicode61 remove_diacritics 2`, `porter ascii`, `trigram case_sensitive 1`, or one from an extension",
        ),
        parameter(
            "prefix",
            Accepts::Text,
            "".into(),
            "lengths, in characters, of the prefixes with an index of their own, such as `2 3`; empty: none",
        ),
        parameter(
            "detail",
            names(DETAILS),
            "full".into(),
            "what the index keeps of a term: column and position, column, or the row alone",
        ),
        parameter(
            "columnsize",
            Accepts::Bool,
            true.into(),
            "whether the size of each column of each row is stored, which ranking reads",
        ),
        parameter(
            "content",
            names(CONTENTS),
            "ordinary".into(),
            "where the texts are kept: in the full-text table, nowhere, nowhere but deletable, or in an ordinary table with triggers",
        ),
    ];
    for (name, _, min, max, about) in CONFIGURATION {
        parameters.push(optional(
            name,
            Accepts::Int {
                min: *min,
                max: *max,
            },
            about,
        ));
    }
    parameters.push(optional(
        "extension",
        Accepts::Text,
        "path of a loadable extension, such as one with a tokenizer",
    ));
    parameters
}

/// A parameter without a level of its own: left as SQLite has it unless given.
pub(super) fn optional(name: &str, accepts: Accepts, about: &str) -> Parameter {
    Parameter {
        name: name.to_owned(),
        accepts,
        default: None,
        about: about.to_owned(),
        scope: Scope::Workload,
        crash_relevant: false,
    }
}

impl TableOptions {
    pub(super) fn read(settings: &Settings) -> Result<TableOptions, TrialError> {
        let reader = Reader(settings);
        let options = TableOptions {
            kind: reader.name("table", |name| by_name(KINDS, name))?,
            tokenizer: reader.name("tokenizer", |name| Some(name.to_owned()))?,
            prefix: reader.name("prefix", |name| Some(name.to_owned()))?,
            detail: reader.name("detail", |name| by_name(DETAILS, name))?,
            columnsize: reader.flag("columnsize")?,
            content: reader.name("content", |name| by_name(CONTENTS, name))?,
            configuration: configuration(settings),
            extension: extension(settings),
        };
        options.check()?;
        Ok(options)
    }

    /// An index of this tokenizer without texts, for settings that name no other option.
    pub(super) fn index_only(settings: &Settings) -> Result<TableOptions, TrialError> {
        let reader = Reader(settings);
        Ok(TableOptions {
            kind: Kind::Fts5,
            tokenizer: reader.name("tokenizer", |name| Some(name.to_owned()))?,
            content: Content::Contentless,
            columnsize: true,
            prefix: String::new(),
            detail: "full",
            configuration: Vec::new(),
            extension: extension(settings),
        })
    }

    /// The same with another tokenizer.
    pub(super) fn with_tokenizer(&self, tokenizer: &str) -> TableOptions {
        TableOptions {
            tokenizer: tokenizer.to_owned(),
            ..self.clone()
        }
    }

    fn check(&self) -> Result<(), TrialError> {
        let why = if self.kind != Kind::Fts5 {
            return Ok(());
        } else if !self.columnsize && !self.keeps_texts() {
            "without texts and without the sizes of columns, FTS5 does not know which rows there are: give `columnsize = true` or a `content` that is kept"
        } else if self.configuration.contains(&("automerge", 1)) {
            // It stores the 1, so that reading it back would prove nothing.
            "FTS5 takes `automerge = 1` for its default, 4: give 4 if that is meant, 0 or a number from 2 on"
        } else {
            return Ok(());
        };
        Err(TrialError::CannotRun(why.to_owned()))
    }

    /// Makes the table, with these columns.
    pub(super) fn create(
        &self,
        connection: &Connection,
        columns: &[String],
    ) -> Result<(), TrialError> {
        self.load_extension(connection)?;
        for sql in self.statements(columns) {
            connection.execute(&sql).map_err(refused)?;
        }
        if self.kind == Kind::Fts5 {
            for (option, value) in &self.configuration {
                configure(connection, option, *value)?;
            }
        }
        Ok(())
    }

    /// Loads the extension that was asked for, if any: once for each connection.
    pub(super) fn load_extension(&self, connection: &Connection) -> Result<(), TrialError> {
        match &self.extension {
            None => Ok(()),
            Some(path) => connection
                .load_extension(std::path::Path::new(path))
                .map_err(|error| TrialError::CannotRun(error.to_string())),
        }
    }

    fn statements(&self, columns: &[String]) -> Vec<String> {
        let quoted: Vec<String> = columns.iter().map(|column| identifier(column)).collect();
        let list = quoted.join(", ");
        match (self.kind, self.content) {
            (Kind::Plain, _) => vec![format!("CREATE TABLE {TABLE}({list})")],
            (Kind::Indexed, _) => {
                let table = format!("CREATE TABLE {TABLE}({list})");
                let indexes = quoted.iter().enumerate().map(|(number, column)| {
                    // LIKE can use an index only where it ignores case as LIKE does.
                    format!("CREATE INDEX {TABLE}_{number} ON {TABLE}({column} COLLATE NOCASE)")
                });
                std::iter::once(table).chain(indexes).collect()
            }
            (Kind::Fts5, Content::External) => {
                let mut all = vec![
                    // Rows go by their rowid: a key with a name could have that of a column.
                    format!("CREATE TABLE {CONTENT_TABLE}({list})"),
                    self.virtual_table(&quoted),
                ];
                all.extend(triggers(&quoted));
                all
            }
            (Kind::Fts5, _) => vec![self.virtual_table(&quoted)],
        }
    }

    fn virtual_table(&self, columns: &[String]) -> String {
        let mut arguments = columns.to_vec();
        arguments.push(format!("tokenize={}", text(&self.tokenizer)));
        if !self.prefix.is_empty() {
            arguments.push(format!("prefix={}", text(&self.prefix)));
        }
        if self.detail != "full" {
            arguments.push(format!("detail={}", self.detail));
        }
        if !self.columnsize {
            arguments.push("columnsize=0".to_owned());
        }
        match self.content {
            Content::Ordinary => {}
            Content::Contentless => arguments.push("content=''".to_owned()),
            Content::ContentlessDelete => {
                arguments.push("content=''".to_owned());
                arguments.push("contentless_delete=1".to_owned());
            }
            Content::External => arguments.push(format!("content='{CONTENT_TABLE}'")),
        }
        format!(
            "CREATE VIRTUAL TABLE {TABLE} USING fts5({})",
            arguments.join(", ")
        )
    }

    /// The table into which an application writes: with external content, the ordinary one.
    pub(super) fn written(&self) -> &'static str {
        match (self.kind, self.content) {
            (Kind::Fts5, Content::External) => CONTENT_TABLE,
            _ => TABLE,
        }
    }

    /// Whether the texts can be read back.
    pub(super) fn keeps_texts(&self) -> bool {
        self.kind != Kind::Fts5 || matches!(self.content, Content::Ordinary | Content::External)
    }

    /// Whether rows can be rewritten and deleted.
    pub(super) fn can_rewrite(&self) -> bool {
        self.kind != Kind::Fts5 || self.content != Content::Contentless
    }

    /// The statement that inserts a row; its rowid is the next one.
    pub(super) fn insert_sql(&self, columns: &[String]) -> String {
        format!(
            "INSERT INTO {}({}) VALUES ({})",
            self.written(),
            listed(columns),
            vec!["?"; columns.len()].join(", ")
        )
    }
}

fn extension(settings: &Settings) -> Option<String> {
    settings
        .get("extension")
        .and_then(Level::as_text)
        .map(str::to_owned)
}

fn configuration(settings: &Settings) -> Vec<(&'static str, i64)> {
    CONFIGURATION
        .iter()
        .filter_map(|(name, option, ..)| Some((*option, settings.get(*name)?.as_int()?)))
        .collect()
}

/// The triggers that keep an external-content table's index like its rows
/// (<https://sqlite.org/fts5.html>, section 4.4.4).
fn triggers(columns: &[String]) -> [String; 3] {
    let list = columns.join(", ");
    let of = |row: &str| {
        let values: Vec<String> = columns.iter().map(|name| format!("{row}.{name}")).collect();
        values.join(", ")
    };
    let (new, old) = (of("new"), of("old"));
    let insert = format!("INSERT INTO {TABLE}(rowid, {list}) VALUES (new.rowid, {new});");
    let delete =
        format!("INSERT INTO {TABLE}({TABLE}, rowid, {list}) VALUES ('delete', old.rowid, {old});");
    let trigger = |name: &str, event: &str, work: &str| {
        format!("CREATE TRIGGER {name} AFTER {event} ON {CONTENT_TABLE} BEGIN {work} END")
    };
    [
        trigger("rows_inserted", "INSERT", &insert),
        trigger("rows_deleted", "DELETE", &delete),
        trigger("rows_updated", "UPDATE", &format!("{delete} {insert}")),
    ]
}

/// Sets a run-time option and makes sure that it is set.
fn configure(connection: &Connection, option: &str, value: i64) -> Result<(), TrialError> {
    connection
        .execute(&format!(
            "INSERT INTO {TABLE}({TABLE}, rank) VALUES ('{option}', {value})"
        ))
        .map_err(refused)?;
    let sql = format!("SELECT v FROM {TABLE}_config WHERE k = '{option}'");
    match connection.query_value(&sql) {
        Ok(Value::Integer(found)) if found == value => Ok(()),
        Ok(found) => Err(TrialError::WrongResult {
            what: format!("the FTS5 option `{option}`"),
            found: format!("{found:?}"),
            wanted: value.to_string(),
        }),
        Err(error) => Err(error.into()),
    }
}

/// What SQLite refuses cannot be run with this engine; any other error is a failure.
fn refused(error: EngineError) -> TrialError {
    if is_refusal(&error) {
        TrialError::CannotRun(format!("the table cannot be made as asked: {error}"))
    } else {
        error.into()
    }
}

/// Whether this is SQLite's plain error: it does not know a module, tokenizer or option, or it does
/// not understand a query.
pub(super) fn is_refusal(error: &EngineError) -> bool {
    /// `SQLITE_ERROR`.
    const GENERIC: i32 = 1;
    error
        .as_sqlite()
        .is_some_and(|error| error.primary() == GENERIC)
}

/// A name in SQL.
pub(super) fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The names of columns in SQL, with commas between.
pub(super) fn listed(columns: &[String]) -> String {
    let names: Vec<String> = columns.iter().map(|name| identifier(name)).collect();
    names.join(", ")
}

/// A text in SQL.
pub(super) fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashsize_is_no_larger_than_the_integer_that_fts5_reads() {
        let all = parameters();
        let hashsize = all.iter().find(|known| known.name == "hashsize");
        let accepts = &hashsize.unwrap().accepts;
        let largest = i64::from(i32::MAX);
        assert!(accepts.allows(&Level::Int(largest)));
        assert!(!accepts.allows(&Level::Int(largest + 1)));
    }
}
