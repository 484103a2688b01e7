//! The table of documents: an FTS5 table with its options, or a plain one as the baseline.
//!
//! Whether the table holds the documents and its index agrees with them.

use std::time::Instant;

use script::effect::{literal, quoted};

use super::source::Source;
use crate::generate::Documents;
use crate::parameters::{Bytes, ExtensionPath, Parameters, Percent};
use crate::workload::prelude::*;

/// The name of the table that is filled and queried.
pub(super) const TABLE: &str = "docs";

/// The name of the table that holds the rows of an external-content FTS5 table.
pub(super) const CONTENT_TABLE: &str = "rows";

choice! {
    /// Kind of the table that holds the documents.
    enum Kind {
        /// A full-text table of FTS5.
        Fts5 = "fts5",
        /// A plain table, which queries scan.
        Plain = "plain",
        /// A plain table with an index on each column, which prefix queries can use.
        Indexed = "plain-indexed",
    }

    /// Where an FTS5 table keeps the texts.
    enum Content {
        /// In the full-text table.
        Ordinary = "ordinary",
        /// Nowhere.
        Contentless = "contentless",
        /// Nowhere, but rows can be deleted.
        ContentlessDelete = "contentless-delete",
        /// In an ordinary table, whose triggers maintain the index.
        External = "external",
    }

    /// Detail that the index keeps of a term.
    enum Detail {
        /// Row, column and position.
        Full = "full",
        /// Row and column.
        Column = "column",
        /// The row.
        None = "none",
    }
}

parameters! {
    /// The tokenizer, and where it comes from.
    #[derive(Clone, Debug)]
    struct TokenizerOptions {
        /// Tokenizer and its arguments, as in FTS5's option `tokenize`: `unicode61 remove_diacritics 2`,
        /// `porter ascii`, `trigram case_sensitive 1`, or one from an extension.
        name as "tokenizer": String = "unicode61";
        /// Path of a loadable extension, such as one with a tokenizer.
        extension: Option<ExtensionPath> = None;
    }
}

parameters! {
    /// How the table is made and finished. Settings at run time:
    /// <https://sqlite.org/fts5.html>, section 6.
    #[derive(Clone, Debug)]
    struct TableOptions {
        /// Table of the documents; options of FTS5 have no effect on plain ones.
        kind as "table": Kind = Kind::Fts5;
        tokenizer: TokenizerOptions;
        /// Lengths of the prefixes that are indexed, in characters, such as `2 3`; empty: none.
        prefix: String = "";
        /// What the index keeps of a term.
        detail: Detail = Detail::Full;
        /// Whether the size of each column of each row is stored, which ranking reads.
        columnsize: bool = true;
        /// Where the texts are kept.
        content: Content = Content::Ordinary;
        /// Page size of the full-text index, whose pages are blobs (SQLite's default: 4050).
        pgsz: Option<Bytes> = None, 32..=65_536;
        /// Segments on a level from which on they are merged in steps; 0: never. 1 is refused, because FTS5
        /// takes it for its default (SQLite's default: 4).
        automerge: Option<usize> = None, 0..=64;
        /// Segments on a level from which on they are merged at once (SQLite's default: 16).
        crisismerge: Option<usize> = None, 2..=1_999;
        /// Segments on a level from which on `finish = "merge-levels"` merges them; `merge` merges all
        /// segments whatever it is (SQLite's default: 4).
        usermerge: Option<usize> = None, 2..=16;
        /// Percentage of deleted rows from which on a segment is merged; contentless-delete tables only
        /// (SQLite's default: 10).
        deletemerge: Option<Percent> = None, 0..=100;
        /// Memory in which terms are gathered before they are written as a segment (SQLite's default:
        /// 1 MiB). FTS5 reads 32 bits of it.
        hashsize: Option<Bytes> = None, 64..=i32::MAX as i64;
        /// 1: deleting removes the terms of a row from the index at once.
        secure_delete as "fts_secure_delete": Option<usize> = None, 0..=1;
        /// What is done with the index after it is filled, timed separately.
        finish: Finish = Finish::Nothing;
    }
}

impl TableOptions {
    /// Returns an index of this tokenizer without texts.
    pub(super) fn index_only(tokenizer: &TokenizerOptions) -> Result<TableOptions> {
        Ok(TableOptions {
            tokenizer: tokenizer.clone(),
            content: Content::Contentless,
            ..TableOptions::read(&TableOptions::defaults())?
        })
    }

    /// Returns the settings at run time that are given, by SQLite's names.
    fn configuration(&self) -> impl Iterator<Item = (&'static str, usize)> {
        let all = [
            ("pgsz", self.pgsz),
            ("automerge", self.automerge),
            ("crisismerge", self.crisismerge),
            ("usermerge", self.usermerge),
            ("deletemerge", self.deletemerge),
            ("hashsize", self.hashsize),
            ("secure-delete", self.secure_delete),
        ];
        all.into_iter().filter_map(|(option, value)| Some((option, value?)))
    }

    /// The rules between options.
    pub(super) fn check(&self) -> Result<()> {
        let why = if let Some(why) = self.finish.why_not(self) {
            why
        } else if self.kind == Kind::Fts5 && !self.columnsize && !self.keeps_texts() {
            "columnsize = false requires a `content` that keeps the texts: without both, FTS5 does not know which rows exist"
        } else if self.kind == Kind::Fts5 && self.automerge == Some(1) {
            // It stores the 1, so that reading it back would prove nothing.
            "FTS5 takes `automerge = 1` for its default, 4: use 4, 0 or a number from 2 on"
        } else {
            return Ok(());
        };
        Err(TrialError::cannot_run(why))
    }

    /// Makes the table, with these columns.
    pub(super) fn create(&self, connection: &Connection, columns: &[String]) -> Result<()> {
        self.load_extension(connection)?;
        for sql in self.statements(columns) {
            connection.execute(&sql).map_err(refused)?;
        }
        if self.kind == Kind::Fts5 {
            for (option, value) in self.configuration() {
                configure(connection, option, value as i64)?;
            }
        }
        Ok(())
    }

    /// Loads the extension that was asked for, if any: once for each connection.
    pub(super) fn load_extension(&self, connection: &Connection) -> Result<()> {
        match &self.tokenizer.extension {
            None => Ok(()),
            Some(path) => {
                connection.load_extension(std::path::Path::new(path)).map_err(TrialError::because)
            }
        }
    }

    fn statements(&self, columns: &[String]) -> Vec<String> {
        let names: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
        let list = names.join(", ");
        match (self.kind, self.content) {
            (Kind::Plain, _) => vec![format!("CREATE TABLE {TABLE}({list})")],
            (Kind::Indexed, _) => {
                let table = format!("CREATE TABLE {TABLE}({list})");
                let indexes = names.iter().enumerate().map(|(number, column)| {
                    // LIKE can use an index only where it ignores case as LIKE does.
                    format!("CREATE INDEX {TABLE}_{number} ON {TABLE}({column} COLLATE NOCASE)")
                });
                std::iter::once(table).chain(indexes).collect()
            }
            (Kind::Fts5, Content::External) => {
                let mut all = vec![
                    // Rows are found by their rowid: the name of a key could be the name of a column.
                    format!("CREATE TABLE {CONTENT_TABLE}({list})"),
                    self.virtual_table(&names),
                ];
                all.extend(triggers(&names));
                all
            }
            (Kind::Fts5, _) => vec![self.virtual_table(&names)],
        }
    }

    fn virtual_table(&self, columns: &[String]) -> String {
        let mut arguments = columns.to_vec();
        arguments.push(format!("tokenize={}", literal(&self.tokenizer.name)));
        if !self.prefix.is_empty() {
            arguments.push(format!("prefix={}", literal(&self.prefix)));
        }
        if self.detail != Detail::Full {
            arguments.push(format!("detail={}", self.detail.name()));
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
        format!("CREATE VIRTUAL TABLE {TABLE} USING fts5({})", arguments.join(", "))
    }

    /// Returns the table into which an application writes: with external content, the ordinary one.
    pub(super) fn written(&self) -> &'static str {
        match (self.kind, self.content) {
            (Kind::Fts5, Content::External) => CONTENT_TABLE,
            _ => TABLE,
        }
    }

    /// Returns whether the texts can be read back.
    pub(super) fn keeps_texts(&self) -> bool {
        self.kind != Kind::Fts5 || matches!(self.content, Content::Ordinary | Content::External)
    }

    /// Returns whether rows can be rewritten and deleted.
    pub(super) fn can_rewrite(&self) -> bool {
        self.kind != Kind::Fts5 || self.content != Content::Contentless
    }

    /// Returns the statement that inserts a row; its rowid is the next one.
    pub(super) fn insert_sql(&self, columns: &[String]) -> String {
        format!(
            "INSERT INTO {}({}) VALUES ({})",
            self.written(),
            listed(columns),
            vec!["?"; columns.len()].join(", ")
        )
    }
}

/// Returns the triggers that keep an external-content table's index like its rows (<https://sqlite.org/fts5.html>,
/// section 4.4.4).
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
fn configure(connection: &Connection, option: &str, value: i64) -> Result<()> {
    connection
        .execute(&format!("INSERT INTO {TABLE}({TABLE}, rank) VALUES ('{option}', {value})"))
        .map_err(refused)?;
    let sql = format!("SELECT v FROM {TABLE}_config WHERE k = '{option}'");
    match connection.query_value(&sql) {
        Ok(Value::Integer(found)) if found == value => Ok(()),
        Ok(found) => {
            let what = format!("the FTS5 option `{option}`");
            Err(TrialError::wrong(what, format!("{found:?}"), value.to_string()))
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns the error of a statement that this engine cannot run if SQLite refuses it, and a failure for other errors.
fn refused(error: EngineError) -> TrialError {
    if error.is_not_understood() {
        TrialError::CannotRun(format!("the table cannot be created with these options: {error}"))
    } else {
        error.into()
    }
}

/// Returns the names of columns in SQL, with commas between.
pub(super) fn listed(columns: &[String]) -> String {
    let names: Vec<String> = columns.iter().map(|name| quoted(name)).collect();
    names.join(", ")
}

choice! {
    /// Command for the index after the last commit.
    enum Finish {
        /// Nothing.
        Nothing = "nothing",
        /// FTS5's command `optimize`: all segments are merged into one.
        Optimize = "optimize",
        /// FTS5's command `merge` in steps until all segments are merged.
        Merge = "merge",
        /// The same for the segments of levels with at least `usermerge` of them.
        MergeLevels = "merge-levels",
        /// FTS5's command `rebuild`: the index is rebuilt from the texts.
        Rebuild = "rebuild",
    }
}

/// Pages that one step of merging writes, about; SQLite's documentation suggests hundreds
/// (<https://sqlite.org/fts5.html>, section 6.8).
const STEP: i64 = 500;

impl Finish {
    /// Returns why a table with these options cannot do it.
    pub(super) fn why_not(self, options: &TableOptions) -> Option<&'static str> {
        match self {
            Finish::Nothing => None,
            _ if options.kind != Kind::Fts5 => {
                Some("finish requires table = fts5: a plain table has no full-text index")
            }
            Finish::Rebuild if !options.keeps_texts() => {
                Some("rebuild needs the texts, which a contentless table does not keep")
            }
            _ => None,
        }
    }

    /// Does it and returns its time in seconds, or `None` if there was nothing to do.
    pub(super) fn run(self, connection: &Connection) -> Result<Option<f64>> {
        let command = |name| format!("INSERT INTO {TABLE}({TABLE}) VALUES ('{name}')");
        let start = Instant::now();
        match self {
            Finish::Nothing => return Ok(None),
            Finish::Optimize => connection.execute(&command("optimize"))?,
            Finish::Rebuild => connection.execute(&command("rebuild"))?,
            Finish::Merge => merge(connection, -STEP)?,
            Finish::MergeLevels => merge(connection, STEP)?,
        }
        Ok(Some(start.elapsed().as_secs_f64()))
    }
}

/// Merges until a step changes nothing but its own record. A first step with a negative number
/// takes up segments of any level, as the documentation says, and the steps after it go on with
/// these; with positive numbers alone only levels with as many segments as `usermerge` are merged.
fn merge(connection: &Connection, first: i64) -> Result<()> {
    let mut step = first;
    loop {
        let before = connection.total_changes();
        connection
            .execute(&format!("INSERT INTO {TABLE}({TABLE}, rank) VALUES ('merge', {step})"))?;
        if connection.total_changes() - before < 2 {
            return Ok(());
        }
        step = STEP;
    }
}

/// Documents compared at a time.
const BATCH: usize = 1_000;

/// The table of a trial, with the documents that fill it.
#[derive(Clone, Copy)]
pub(super) struct TextTable<'t> {
    pub(super) connection: &'t Connection,
    pub(super) options: &'t TableOptions,
    pub(super) source: &'t Source,
}

impl TextTable<'_> {
    /// Counts the rows, has FTS5 check its index, and compares every text that is kept.
    pub(super) fn check(self) -> Result<()> {
        if self.options.keeps_texts() {
            self.compare()?;
        } else {
            let count = self.connection.query_i64(&format!("SELECT count(*) FROM {TABLE}"))?;
            expect("the count of rows", count, self.source.rows as i64)?;
        }
        self.check_index()
    }

    /// FTS5's own check of the index, with external content against the rows of the other table.
    pub(super) fn check_index(self) -> Result<()> {
        if self.options.kind != Kind::Fts5 {
            return Ok(());
        }
        let sql = match self.options.content {
            Content::External => {
                format!("INSERT INTO {TABLE}({TABLE}, rank) VALUES ('integrity-check', 1)")
            }
            _ => format!("INSERT INTO {TABLE}({TABLE}) VALUES ('integrity-check')"),
        };
        let checked = self.connection.execute(&sql);
        checked
            .map_err(|error| TrialError::wrong("the full-text index", error.to_string(), "sound"))
    }

    fn compare(self) -> Result<()> {
        let TextTable { connection, options, source } = self;
        let columns = &source.columns;
        let sql = format!("SELECT {} FROM {} ORDER BY rowid", listed(columns), options.written());
        let mut select = connection.prepare(&sql)?;
        let mut reading = source.open()?;
        let mut documents = Documents::new(columns.len());
        let (mut found, mut wrong) = (0, 0);
        loop {
            reading.fill(BATCH, &mut documents)?;
            for row in 0..documents.rows() {
                if select.step()? == Step::Done {
                    return expect("the count of rows", found, source.rows);
                }
                found += 1;
                wrong += differing(&select, 0, &documents, row)?;
            }
            if documents.rows() == 0 {
                break;
            }
        }
        while select.step()? == Step::Row {
            found += 1;
        }
        expect("the count of rows", found, source.rows)?;
        expect("the count of wrong texts", wrong, 0)
    }
}

/// Returns how many fields of a row, from the column `first` of a query on, differ from a document's.
pub(super) fn differing(
    select: &Statement<'_, '_>,
    first: i32,
    documents: &Documents,
    row: usize,
) -> Result<usize> {
    let mut wrong = 0;
    for (place, column) in (first..).zip(0..documents.columns) {
        let same = match documents.field(row, column) {
            Some(text) => !select.column_is_null(place) && select.column_text(place)? == text,
            None => select.column_is_null(place),
        };
        wrong += usize::from(!same);
    }
    Ok(wrong)
}

#[cfg(test)]
mod tests {
    use lab::level::Level;

    use super::*;
    use crate::parameters::Parameters;

    #[test]
    fn hashsize_is_no_larger_than_the_integer_that_fts5_reads() {
        let all = TableOptions::declared();
        let hashsize = all.iter().find(|known| known.name == "hashsize");
        let accepts = &hashsize.unwrap().accepts;
        let largest = i64::from(i32::MAX);
        assert!(accepts.allows(&Level::Int(largest)));
        assert!(!accepts.allows(&Level::Int(largest + 1)));
    }
}
