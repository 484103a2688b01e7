//! Rows of a database as a file: CSV, TSV, JSON, JSON Lines, Parquet, Arrow. One read transaction gives all of them, so that
//! the file is a snapshot, whatever other connections write meanwhile.

mod columnar;
mod files;
mod output;
mod ranges;
mod rows;
mod text;

use std::io;
use std::num::NonZero;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use arrow_schema::SchemaRef;
use engine::{Connection, Library, Statement, ValueRef};

use crate::blobs::Blobs;
use crate::error::{LoadError, Result};
use crate::schema::{object, statements, texts};
use crate::source::{Selection, columns, only_table, query};
use crate::sql::{quoted, same};
use crate::table::Column;
pub use columnar::ParquetFile;
use columnar::Types;
use files::{Files, NewFolders};
use output::BLOCK;
use ranges::{Rows, Snapshot, Which};
use rows::{Block, Gatherer, each_row};

/// Rows to be written to a file.
#[derive(Debug, Clone)]
pub struct Unload {
    /// The database.
    pub database: PathBuf,
    /// The rows.
    pub selection: Selection,
    /// The file; standard output if there is none. It must not exist, unless it is replaced.
    pub output: Option<PathBuf>,
    /// The file for the statements that make the table and its indexes.
    pub schema: Option<PathBuf>,
    /// Whether existing files are replaced.
    pub replace: bool,
    /// How the rows are written.
    pub form: OutputForm,
    /// Where a file ends and the next one begins.
    pub split: Option<Split>,
    /// Encoding of blobs in text formats.
    pub blobs: Blobs,
}

impl Unload {
    /// Returns the bytes that are written at a time: a small part of a file that is split.
    fn block(&self) -> usize {
        match self.split {
            Some(Split::Bytes(most)) => {
                usize::try_from(most / 16).map_or(BLOCK, |part| part.clamp(1, BLOCK))
            }
            _ => BLOCK,
        }
    }
}

/// The form of a file of rows: its format and compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputForm {
    /// The format.
    pub format: OutputFormat,
    /// The compression around it.
    pub compression: Compression,
}

/// Formats of files of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// Fields between commas.
    Csv,
    /// Fields between tabs.
    Tsv,
    /// An array of objects.
    Json,
    /// An object on each line.
    JsonLines,
    /// Parquet.
    Parquet,
    /// An Arrow IPC file.
    Arrow,
    /// An Arrow IPC stream.
    ArrowStream,
}

/// Compressions of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// None.
    None,
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstd,
}

/// Where a file ends and another one begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Split {
    /// At about this number of bytes.
    Bytes(u64),
    /// At this number of rows.
    Rows(u64),
    /// Where these columns have another value: each file has the rows of one, in a folder such as `country=DE`.
    Columns(Vec<String>),
}

/// The result.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Unloaded {
    /// Rows written.
    pub rows: u64,
    /// Bytes written.
    pub bytes: u64,
    /// The files.
    pub files: Vec<PathBuf>,
    /// Columns of several storage classes, which texts do not tell apart; known if statements were written.
    pub mixed: Vec<String>,
    /// From the beginning to the end.
    pub time: Duration,
}

impl FromStr for Split {
    type Err = String;

    /// Reads `1GB`, `100000` or `country,year`: bytes have a unit, rows have none, and all else is columns.
    fn from_str(text: &str) -> Result<Split, String> {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = text[digits.len()..].to_ascii_uppercase();
        let shift = match unit.trim_end_matches('B').trim_end_matches('I') {
            "" => 0,
            "K" => 10,
            "M" => 20,
            "G" => 30,
            "T" => 40,
            _ => u32::MAX,
        };
        let number = digits.parse::<u64>().ok();
        let split = match number.and_then(|number| number.checked_mul(1_u64.checked_shl(shift)?)) {
            Some(0) => return Err("must be at least one row or byte".to_owned()),
            Some(rows) if unit.is_empty() => Split::Rows(rows),
            Some(bytes) => Split::Bytes(bytes),
            None => Split::Columns(text.split(',').map(str::to_owned).collect()),
        };
        Ok(split)
    }
}

impl FromStr for OutputForm {
    type Err = String;

    fn from_str(ending: &str) -> Result<OutputForm, String> {
        OutputForm::of_name(ending).ok_or_else(|| {
            "must be csv, tsv, json, jsonl, each also with .gz or .zst; parquet, arrow, or arrows for a stream"
                .to_owned()
        })
    }
}

impl OutputForm {
    /// Returns the form that the ending of a name stands for, such as `csv` or `people.jsonl.gz`.
    pub fn of_name(name: &str) -> Option<OutputForm> {
        let mut parts = name.rsplit('.').map(str::to_ascii_lowercase);
        let last = parts.next()?;
        let (compression, ending) = match &*last {
            "gz" => (Compression::Gzip, parts.next()?),
            "zst" => (Compression::Zstd, parts.next()?),
            _ => (Compression::None, last),
        };
        let format = match &*ending {
            "csv" => OutputFormat::Csv,
            "tsv" | "tab" => OutputFormat::Tsv,
            "json" => OutputFormat::Json,
            "jsonl" | "ndjson" => OutputFormat::JsonLines,
            "parquet" => OutputFormat::Parquet,
            "arrow" | "feather" => OutputFormat::Arrow,
            "arrows" => OutputFormat::ArrowStream,
            _ => return None,
        };
        let form = OutputForm { format, compression };
        // These compress their columns themselves.
        (!form.is_columnar() || compression == Compression::None).then_some(form)
    }

    fn is_columnar(self) -> bool {
        matches!(
            self.format,
            OutputFormat::Parquet | OutputFormat::Arrow | OutputFormat::ArrowStream
        )
    }
}

/// How rows are written.
#[derive(Clone)]
struct Shape<'u> {
    request: &'u Unload,
    columns: Vec<Column>,
    /// Of a format whose columns have types.
    schema: Option<SchemaRef>,
    /// Whether a delimiter ends each row.
    ends_with_delimiter: bool,
}

/// Rows between two looks at the observer.
const ROWS_AT_A_TIME: u64 = 4_096;
/// Threads that read, at most. One thread writes what they read.
const MOST_THREADS: usize = 8;

/// Writes the rows. The observer gets the number of rows so far; `false` ends the work. Files are complete or not there.
///
/// # Errors
/// The database or the files cannot be used, or the rows do not fit the format.
pub fn unload(
    library: &Arc<Library>,
    request: &Unload,
    observer: &mut dyn FnMut(u64) -> bool,
) -> Result<Unloaded> {
    let begin = Instant::now();
    let written = write(library, request, observer);
    let unloaded = written.map_err(|error| error.in_database(&request.database))?;
    Ok(Unloaded { time: begin.elapsed(), ..unloaded })
}

fn write(
    library: &Arc<Library>,
    request: &Unload,
    observer: &mut dyn FnMut(u64) -> bool,
) -> Result<Unloaded> {
    files::check(request)?;
    let threads = available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS);
    let threads = if request.split.is_some() { 1 } else { threads };
    let mut snapshot = Snapshot::open(library, &request.database, threads)?;
    let connection = &snapshot.first;
    let input = request.database.display().to_string();
    let table = match &request.selection {
        Selection::Query(_) => None,
        Selection::Table(table) => Some(table.clone()),
        Selection::OnlyTable => Some(only_table(connection, &input)?),
    };
    let (sql, stored) = match &request.schema {
        Some(_) => schema(connection, table.as_deref())?,
        None => Default::default(),
    };
    let query = query(connection, &input, &request.selection, &stored)?;
    let columns = columns(connection, &input, &query)?;
    let folders = folders(request, &columns)?;
    let ends_with_delimiter = ends_with_delimiter(connection, request, &query, &columns)?;
    let mut rows = snapshot.rows(&input, &query, table.as_deref())?;
    // Before the files, so that they are gone by the time when it goes.
    let _folders = NewFolders::of(request)?;
    let begin = |schema| {
        Files::new(Shape { request, columns: columns.clone(), schema, ends_with_delimiter })
    };
    let is_columnar = request.form.is_columnar();
    if is_columnar
        && request.output.is_some()
        && rows.are_divided()
        && let Ok(few) = types(&mut rows, Which::Few, &columns, observer)
    {
        // Mostly, a few rows have the types of all. If not, the file is written again.
        let mut files = begin(Some(Arc::clone(&few)));
        match write_whole(&mut rows, &mut files, observer) {
            Err(error) if !is_of_other_type(&error) => return Err(error),
            Ok(()) if files.types.schema(&columns).is_ok_and(|all| all == few) => {
                return files.finish(&sql);
            }
            _ => {}
        }
    }
    let types = is_columnar.then(|| types(&mut rows, Which::All, &columns, observer));
    let mut files = begin(types.transpose()?);
    if request.split.is_some() {
        write_divided(rows.first(), &input, &query, &folders, &mut files, observer)?;
    } else {
        write_whole(&mut rows, &mut files, observer)?;
    }
    files.finish(&sql)
}

/// Returns whether a row did not fit the types of the columns.
fn is_of_other_type(error: &LoadError) -> bool {
    matches!(error, LoadError::Write(_, error) if error.kind() == io::ErrorKind::InvalidData)
}

/// Returns the types of the columns.
fn types(
    rows: &mut Rows<'_>,
    which: Which,
    columns: &[Column],
    observer: &mut dyn FnMut(u64) -> bool,
) -> Result<SchemaRef> {
    let read = |statement: &mut Statement<'_, '_>, give: &mut dyn FnMut(Types) -> Result<()>| {
        let (mut types, mut number) = (Types::of(columns, true), 0_u64);
        let read = each_row(statement, columns, |_, values| {
            types.add(values);
            number += 1;
            if number.is_multiple_of(ROWS_AT_A_TIME) { give(types.clone()) } else { Ok(()) }
        })?;
        give(types)?;
        Ok(read)
    };
    let mut all = Types::of(columns, true);
    rows.each(which, read, |types| {
        all.merge(&types);
        unless_stopped(observer(0))
    })?;
    all.schema(columns).map_err(|reason| LoadError::form(rows.input, reason))
}

/// Writes the rows to one file.
fn write_whole(
    rows: &mut Rows<'_>,
    files: &mut Files<'_>,
    observer: &mut dyn FnMut(u64) -> bool,
) -> Result<()> {
    let (shape, path) = (files.shape.clone(), files.path.clone());
    let read = |statement: &mut Statement<'_, '_>, give: &mut dyn FnMut(Block) -> Result<()>| {
        let mut gatherer = Gatherer::new(&shape);
        let read = each_row(statement, &shape.columns, |_, values| {
            gatherer.push(values).map_err(LoadError::write(&path))?;
            if gatherer.is_full() {
                gatherer.take(&path)?.map_or(Ok(()), &mut *give)
            } else {
                Ok(())
            }
        })?;
        gatherer.take(&path)?.map_or(Ok(()), give)?;
        Ok(read)
    };
    rows.each(Which::All, read, |block| {
        files.push_block(&block)?;
        unless_stopped(observer(files.total))
    })
}

/// Writes the rows to several files.
fn write_divided(
    connection: &Connection,
    input: &str,
    sql: &str,
    folders: &[String],
    files: &mut Files<'_>,
    observer: &mut dyn FnMut(u64) -> bool,
) -> Result<()> {
    let columns = files.shape.columns.clone();
    let mut statement = connection.prepare(&divided(sql, folders))?;
    let written = each_row(&mut statement, &columns, |statement, values| {
        files.push(folder(statement, folders, columns.len() as i32)?, values)?;
        let is_observed = files.total.is_multiple_of(ROWS_AT_A_TIME);
        if is_observed { unless_stopped(observer(files.total)) } else { Ok(()) }
    });
    written.map(drop).map_err(|refusal| refusal.error(input, 0))
}

fn unless_stopped(goes_on: bool) -> Result<()> {
    if goes_on { Ok(()) } else { Err(LoadError::Interrupted) }
}

/// Returns whether a delimiter has to end each row: one with nothing but NULL would be an empty line otherwise.
fn ends_with_delimiter(
    connection: &Connection,
    request: &Unload,
    query: &str,
    columns: &[Column],
) -> Result<bool> {
    let [column] = columns else { return Ok(false) };
    let name = quoted(&column.name);
    let is_delimited = matches!(request.form.format, OutputFormat::Csv | OutputFormat::Tsv);
    let has_null = format!("SELECT EXISTS (SELECT 1 FROM ({query}) WHERE {name} IS NULL)");
    Ok(is_delimited && connection.query_i64(&has_null)? == 1)
}

/// Returns the statements that make a table and its indexes, and the columns that it stores: the statements compute
/// generated ones again.
fn schema(connection: &Connection, table: Option<&str>) -> Result<(String, Vec<String>)> {
    let kind = table.map(|name| object(connection, name)).transpose()?.flatten();
    let Some(table) = table.filter(|_| kind.as_deref() != Some("view")) else {
        let reason = "only a table has CREATE statements, a view or query has none".to_owned();
        return Err(LoadError::Definition(reason));
    };
    let sql = statements(connection, table)?.join(";\n") + ";\n";
    let stored = format!("SELECT name FROM pragma_table_xinfo({}) WHERE hidden = 0", quoted(table));
    Ok((sql, texts(connection, &stored, 0)?))
}

/// Returns the columns by whose values rows are divided, as the table has them.
fn folders(request: &Unload, columns: &[Column]) -> Result<Vec<String>> {
    let Some(Split::Columns(names)) = &request.split else { return Ok(Vec::new()) };
    let find = |name: &String| {
        let mut known = columns.iter().map(|column| &column.name);
        let column = known.clone().find(|column| same(column, name)).cloned();
        let input = || request.database.display().to_string();
        column.ok_or_else(|| LoadError::no_input_column(&input(), name, known.by_ref()))
    };
    names.iter().map(find).collect()
}

/// Returns a query for the rows in the order of folders, with a text of each value behind their columns.
fn divided(query: &str, folders: &[String]) -> String {
    if folders.is_empty() {
        return query.to_owned();
    }
    let text = |name: &String| {
        let name = quoted(name);
        format!("iif(typeof({name}) = 'blob', hex({name}), CAST({name} AS TEXT))")
    };
    let texts: Vec<String> = folders.iter().map(text).collect();
    let order: Vec<String> = texts.iter().map(|text| format!("{text} COLLATE BINARY")).collect();
    format!("SELECT *, {} FROM ({query}) ORDER BY {}", texts.join(", "), order.join(", "))
}

/// The folder of rows with NULL, as Hive names it.
const NULL_FOLDER: &str = "__HIVE_DEFAULT_PARTITION__";

/// Returns the folder of a row, such as `country=DE/year=2024`; NULL is what Hive writes for it.
fn folder(statement: &Statement<'_, '_>, folders: &[String], first: i32) -> Result<PathBuf> {
    let part = |(at, name): (i32, &String)| {
        Ok(match statement.column_value_ref(at)? {
            // The text stays apart from NULL.
            ValueRef::Text(NULL_FOLDER) => format!("{}=%5F{}", escaped(name), &NULL_FOLDER[1..]),
            ValueRef::Text(text) => format!("{}={}", escaped(name), escaped(text)),
            _ => format!("{}={NULL_FOLDER}", escaped(name)),
        })
    };
    (first..).zip(folders).map(part).collect()
}

/// Returns a text as a part of a path, with other characters as in URLs.
fn escaped(text: &str) -> String {
    let part = |c: char| match c {
        _ if c.is_ascii_control() || "/\\%=:*?\"<>|".contains(c) => {
            format!("%{:02X}", u32::from(c))
        }
        c => c.to_string(),
    };
    text.chars().map(part).collect()
}
