//! Readers, which turn files into batches.
//!
//! A reader knows nothing of tables or strategies. It learns how columns will be stored, so that it does not
//! parse columns that stay text.

mod arrow;
mod batch_builder;
mod columnar;
mod csv;
mod database;
mod dates;
mod encoding;
mod format;
pub(crate) mod infer;
mod info;
mod input;
mod json_lines;
mod locations;
mod long;
mod notes;
pub(crate) mod number;
mod number_form;
mod paths;
mod several;
mod text;
mod truth;
mod view;

pub use arrow::BatchSource;
pub(crate) use batch_builder::ColumnBuilder;
pub use columnar::ColumnarSource;
pub use csv::{CsvOptions, CsvSource};
pub use database::{DatabaseSource, Selection, table_of_sql};
pub(crate) use database::{columns, only_table, query};
pub use dates::{DateOrder, Dates};
pub use encoding::Encoding;
pub use format::Format;
pub use info::{
    DateColumn, Deciding, DecimalColumn, ReadOptions, Seen, SourceInfo, Storing, Typing,
};
pub use input::Input;
pub use json_lines::{JsonLinesSource, JsonOptions};
pub use locations::{Locations, RowLocation, Unit};
pub use notes::{Note, Notes};
pub use number_form::NumberForm;
pub use paths::expand;
pub use truth::is_truth_value;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::Library;

use crate::batch::Batch;
use crate::batch_conversion::convert_batch;
use crate::convert::Decimals;
use crate::error::{LoadError, Result};
use crate::table::Column;
use dates::Dated;
use format::{ARROW_STREAM, beginning, begins_as_json, has_name, unreadable_text};
use long::Long;
use several::SeveralSource;
use view::View;

/// A source of rows, which is read batch by batch on a thread of its own.
pub trait Source: Send {
    /// Returns its description.
    fn info(&self) -> &SourceInfo;

    /// Returns its name in messages: a path.
    fn name(&self) -> &str {
        &self.info().name
    }

    /// Its columns.
    fn columns(&self) -> &[Column] {
        &self.info().columns
    }

    /// Returns how to read the same rows again; `None` if they can be read only once, or if types do not depend on
    /// the first rows.
    fn reopen(&self) -> Option<Reopen> {
        None
    }

    /// Begins to read, before the first batch. Without this call the options are the default ones.
    fn begin(&mut self, _options: ReadOptions) {}

    /// Returns the next rows; `None` at the end.
    ///
    /// # Errors
    /// Reading fails. Rows that cannot be parsed are part of the batch, not an error.
    fn next(&mut self) -> Result<Option<Batch>>;

    /// Returns the next rows in SQLite's own types.
    ///
    /// # Errors
    /// Reading fails, or SQLite has nothing like the type of a column.
    fn next_converted(&mut self) -> Result<Option<Batch>> {
        let Some(batch) = self.next()? else { return Ok(None) };
        convert_batch(self.name(), self.info().decimals_as, batch).map(Some)
    }
}

/// The rows from which the types of columns are chosen.
#[derive(Debug, Clone)]
pub enum Sample {
    /// The first ten thousand rows, if they lie in the first MiB.
    First,
    /// All rows, which are read twice. The flag stops that, which is an error. Inputs that can be read only
    /// once are sampled as by `First`.
    All(Arc<AtomicBool>),
}

/// How to open inputs.
#[derive(Debug, Clone)]
pub struct Opening {
    /// Their format; detected from first bytes and names by default.
    pub format: Option<Format>,
    /// The encoding of texts; by default the byte order mark decides, and it is UTF-8 without one.
    pub encoding: Option<Encoding>,
    /// How CSV is written.
    pub csv: CsvOptions,
    /// The rows from which types are chosen.
    pub sample: Sample,
    /// Keys that JSON has in addition to the keys of the first objects.
    pub more_keys: Vec<String>,
    /// Whether the table's columns are known without the input, so that a text without rows may name none.
    pub has_table: bool,
    /// The columns to read, in this order; empty for all. Keys of JSON may appear in any object.
    pub columns: Vec<String>,
    /// New names of columns, each behind the name that the input has for it.
    pub names: Vec<(String, String)>,
    /// The name of an additional column for the file that each row comes from.
    pub file_column: Option<String>,
    /// Whether an input may have further columns, and lack some: the rows of the others have NULL there.
    pub adds_columns: bool,
    /// The columns that stay if each value of the others is to be a row; empty if rows stay as they are.
    pub long: Vec<String>,
    /// Which texts are read as dates and get the form of SQLite's date functions; none by default.
    pub dates: Option<Dates>,
    /// How decimals of Parquet and Arrow are stored.
    pub decimals: Decimals,
    /// The rows to read from a database or a JSON document.
    pub selection: Selection,
    /// The engine that reads databases.
    pub library: Arc<Library>,
}

impl Opening {
    /// Returns options that detect everything from the inputs themselves.
    pub fn new(library: &Arc<Library>) -> Opening {
        Opening {
            format: None,
            encoding: None,
            csv: CsvOptions::default(),
            sample: Sample::First,
            more_keys: Vec::new(),
            has_table: false,
            columns: Vec::new(),
            names: Vec::new(),
            file_column: None,
            adds_columns: false,
            long: Vec::new(),
            dates: None,
            decimals: Decimals::default(),
            selection: Selection::default(),
            library: Arc::clone(library),
        }
    }
}

/// Opens inputs, each of its [`Format`]. Standard input (`-`) is CSV or JSON Lines, because the others are
/// not read from beginning to end. Several inputs are read one after another; they must have the same
/// columns, in any order.
///
/// # Errors
/// An input cannot be opened, is damaged at its beginning or end, or has other columns than the first.
pub fn open(paths: &[PathBuf], opening: &Opening) -> Result<Box<dyn Source>> {
    let source = match paths {
        [path] => open_one(path, opening)?,
        paths => Box::new(SeveralSource::open(paths, opening)?),
    };
    let mut view = View::renamed(source, &opening.names, opening.file_column.as_ref())?;
    if matches!(opening.sample, Sample::First) && paths.iter().all(|path| is_reopenable(path)) {
        view.reopen = Some(Reopen { paths: paths.to_vec(), opening: opening.clone() });
    }
    let source: Box<dyn Source> = match &opening.dates {
        Some(dates) => Box::new(Dated::new(Box::new(view), dates.clone())),
        None => Box::new(view),
    };
    let file = opening.file_column.iter();
    let ids: Vec<String> = opening.long.iter().chain(file).cloned().collect();
    Ok(if opening.long.is_empty() { source } else { Box::new(Long::new(source, &ids)?) })
}

/// Returns a name for a table of these rows: the name that they were selected by, the only table of a database, or the
/// file's name without its endings. Queries, several files, folders, patterns and pipes have none.
///
/// # Errors
/// The file cannot be read, or is a database that does not have exactly one table.
pub fn table_name(inputs: &[PathBuf], opening: &Opening) -> Result<Option<String>> {
    if let Selection::Table(name) = &opening.selection {
        let format = || inputs.first().and_then(|path| Format::of(path).ok());
        let is_database = opening.format.or_else(format) == Some(Format::Database);
        // In a document it is the last of the keys that lead to the rows.
        let last = name.rsplit('.').next().filter(|_| !is_database);
        return Ok(Some(last.unwrap_or(name).to_owned()));
    }
    let ([path], Selection::OnlyTable) = (inputs, &opening.selection) else { return Ok(None) };
    let is_missing = || !path.exists() && path != Path::new("-");
    let is_file = path.is_file() || is_missing() && expand(inputs)? == *inputs;
    if !is_file {
        return Ok(None);
    }
    if opening.format.map_or_else(|| Format::of(path), Ok)? == Format::Database {
        return database::only_table_of(&opening.library, path).map(Some);
    }
    let is_compressed = path.extension().is_some_and(|ending| ending == "gz" || ending == "zst");
    let path = if is_compressed { path.with_extension("") } else { path.clone() };
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    // SQLite keeps such names for itself.
    Ok(name.filter(|name| !name.to_ascii_lowercase().starts_with("sqlite_")))
}

fn open_one(path: &Path, opening: &Opening) -> Result<Box<dyn Source>> {
    let columns = &opening.columns;
    let format = match opening.format {
        Some(format) => format,
        None => Format::of(path)?,
    };
    let source: Box<dyn Source> = match format {
        Format::Csv | Format::JsonLines => return text_source(path, format, opening),
        Format::Columnar if opening.selection != Selection::OnlyTable => {
            return Err(nothing_to_select("one table of columns"));
        }
        Format::Columnar => columnar_source(path, opening)?,
        Format::Database => {
            let (library, selection) = (&opening.library, &opening.selection);
            let source = DatabaseSource::open(library, path, selection, columns)?;
            return Ok(Box::new(source));
        }
    };
    Ok(Box::new(View::selected(source, columns)?))
}

/// Opens a text in this format; unless CSV was named, it is JSON if it begins as such.
fn text_source(path: &Path, format: Format, opening: &Opening) -> Result<Box<dyn Source>> {
    let mut input = Input::open(path, opening.encoding)?;
    if opening.has_table && input.is_without_rows()? {
        let none = std::iter::empty();
        return Ok(Box::new(BatchSource::new(&input.name, &arrow_schema::Schema::empty(), none)));
    }
    let mut is_json = format == Format::JsonLines;
    if opening.format.is_none() && !is_json {
        let beginning = input.beginning()?;
        is_json = begins_as_json(&beginning) || has_name(path, &[".json", ".geojson"]);
        if let Some(reason) = unreadable_text(&beginning) {
            return Err(LoadError::form(&input.name, reason));
        }
    }
    let all = match &opening.sample {
        Sample::All(stop) if is_reopenable(path) => Some(stop),
        _ => None,
    };
    if is_json {
        let options = json_options(opening, format)?;
        let reopen = || Input::open(path, opening.encoding);
        let source = match all {
            Some(stop) => JsonLinesSource::open_all(reopen, &options, stop)?,
            None => JsonLinesSource::open(Ok(input), &options)?,
        };
        return Ok(Box::new(source));
    }
    if opening.selection != Selection::OnlyTable {
        return Err(nothing_to_select("CSV"));
    }
    let mut options = opening.csv.clone();
    options.prefers_tab |= has_name(path, &[".tsv", ".tab"]);
    let mut source = CsvSource::open(Ok(input), options.clone())?;
    if let Some(stop) = all {
        let input = Input::open(path, opening.encoding)?;
        source.set_kinds(CsvSource::kinds_of_all(input, options, stop)?.into_iter());
    }
    Ok(Box::new(View::selected(Box::new(source), &opening.columns)?))
}

/// Returns how JSON is read: as lines in a file of lines, unless a list is named.
fn json_options(opening: &Opening, format: Format) -> Result<JsonOptions> {
    let rows = match &opening.selection {
        Selection::OnlyTable => None,
        Selection::Table(list) => Some(list.split('.').map(str::to_owned).collect()),
        Selection::Query(_) => return Err(nothing_to_select("JSON, on which no query can be run")),
    };
    Ok(JsonOptions {
        rows,
        is_of_lines: format == Format::JsonLines,
        more_keys: opening.more_keys.clone(),
        has_no_header: opening.csv.header == 0,
        only: opening.columns.clone(),
    })
}

fn nothing_to_select(what: &str) -> LoadError {
    LoadError::Definition(format!(
        "--rows names rows of a database or a JSON document; the input is {what}"
    ))
}

fn columnar_source(path: &Path, opening: &Opening) -> Result<Box<dyn Source>> {
    if beginning(path)?.starts_with(ARROW_STREAM) {
        let source = BatchSource::of_stream(path, opening.decimals)?;
        return Ok(Box::new(source));
    }
    match ColumnarSource::open(path, &opening.columns, opening.decimals)? {
        Some(source) => Ok(Box::new(source)),
        None => Err(LoadError::form(
            path.display().to_string(),
            "it is neither a Parquet nor an Arrow IPC file",
        )),
    }
}

/// How to read the same rows again.
#[derive(Debug, Clone)]
pub struct Reopen {
    paths: Vec<PathBuf>,
    opening: Opening,
}

impl Reopen {
    /// Opens the inputs again, with types from the same rows as before.
    ///
    /// # Errors
    /// See [`open`].
    pub(crate) fn with_same_types(self) -> Result<Box<dyn Source>> {
        open(&self.paths, &self.opening)
    }

    /// Opens the inputs again and chooses types from all rows, which reads all of them, until `stop`.
    ///
    /// # Errors
    /// See [`open`]; or `stop` has become true.
    pub(crate) fn with_types_of_all_rows(
        mut self,
        stop: &Arc<AtomicBool>,
    ) -> Result<Box<dyn Source>> {
        self.opening.sample = Sample::All(Arc::clone(stop));
        open(&self.paths, &self.opening)
    }
}

/// Returns whether an input can be opened again: neither standard input nor a pipe.
fn is_reopenable(path: &Path) -> bool {
    path != Path::new("-") && path.is_file()
}
