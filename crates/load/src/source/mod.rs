//! Readers: what turns files into batches.
//!
//! A reader knows nothing of tables or strategies. It learns how columns will be stored, so that it does not
//! parse what stays text.

mod again;
mod arrow;
mod blocks;
mod columnar;
mod csv;
mod database;
mod dates;
pub(crate) mod decimal;
mod divide;
mod elements;
mod encoding;
mod foreign;
pub(crate) mod infer;
mod info;
mod input;
mod json_lines;
mod locations;
mod paths;
mod renamed;
mod selected;
mod several;
mod text;
mod typed;

pub use again::Again;
pub use arrow::BatchSource;
pub use columnar::ColumnarSource;
pub use csv::{CsvOptions, CsvSource};
pub use database::{DatabaseSource, Selection};
pub use dates::{DateOrder, Dates};
pub use encoding::Encoding;
pub use info::{Deciding, SourceInfo, Typing};
pub use input::Input;
pub use json_lines::JsonLinesSource;
pub use locations::{Locations, RowLocation, Unit};
pub use paths::expand;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::Library;

use crate::affinity::Affinity;
use crate::batch::Batch;
use crate::cells::Decimals;
use crate::error::LoadError;
use crate::table::Column;
use again::{Reopenable, is_reopenable};
use dates::Dated;
use renamed::Renamed;
use selected::Selected;
use several::SeveralSource;

/// A column of a source: its name and the declared type that it suggests.
pub type SourceColumn = Column;

/// Something that gives rows, batch by batch, on a thread of its own.
pub trait Source: Send {
    /// What is known of it.
    fn info(&self) -> &SourceInfo;

    /// What it is called in messages: a path.
    fn name(&self) -> &str {
        &self.info().name
    }

    /// Its columns.
    fn columns(&self) -> &[SourceColumn] {
        &self.info().columns
    }

    /// How to read the same rows again; `None` where they can be read only once, or types do not depend on
    /// the first rows.
    fn again(&self) -> Option<Again> {
        None
    }

    /// Sets where the types of the columns in the table come from, one for each, before
    /// [`Source::begin`]. Without this call they are declared.
    fn set_typing(&mut self, _typing: &[Typing]) {}

    /// Reads nothing ahead: rows are read and parsed only while [`Source::next`] waits for them, so that a
    /// caller can measure other work between its calls.
    fn read_on_demand(&mut self) {}

    /// Sets the affinities of the columns in the table, one for each, before the first batch. Once
    /// `stop` is true nobody wants rows any more: a source that may have to wait, such as for standard
    /// input, checks it regularly and ends.
    fn begin(&mut self, affinities: &[Affinity], stop: &Arc<AtomicBool>);

    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// Reading fails. Rows that cannot be understood are no error but part of the batch.
    fn next(&mut self) -> Result<Option<Batch>, LoadError>;
}

/// The formats of inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Fields between delimiters.
    Csv,
    /// An object of JSON on each line, or an array of objects.
    JsonLines,
    /// Parquet or Arrow IPC.
    Columnar,
    /// A SQLite database.
    Database,
}

impl Format {
    /// The format of a file: databases, Parquet and Arrow IPC are known by their first bytes, JSON Lines by
    /// their names (`.jsonl`, `.ndjson`, before `.gz` or `.zst`), and everything else is text, of which
    /// [`open`] reads as CSV what does not begin as JSON does.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn of(path: &Path) -> Result<Format, LoadError> {
        let beginning = beginning(path)?;
        let begins_with = |mark: &[u8]| beginning.starts_with(mark);
        Ok(if begins_with(database::MAGIC) {
            Format::Database
        } else if begins_with(columnar::PARQUET) || begins_with(columnar::ARROW) {
            Format::Columnar
        } else if has_name(path, &[".jsonl", ".ndjson"]) {
            Format::JsonLines
        } else {
            Format::Csv
        })
    }
}

/// The first bytes of a file; none of what can be read only once, such as a pipe.
fn beginning(path: &Path) -> Result<Vec<u8>, LoadError> {
    let mut beginning = Vec::new();
    if std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        File::open(path)
            .and_then(|file| file.take(16).read_to_end(&mut beginning))
            .map_err(LoadError::open(path))?;
    }
    Ok(beginning)
}

/// The rows from which the types of columns are chosen.
#[derive(Debug, Clone)]
pub enum Sample {
    /// The first ten thousand rows, if they lie in the first MiB.
    First,
    /// All rows, which are read twice; until this becomes true, which is an error. What can be read only
    /// once is sampled as by `First`.
    All(Arc<AtomicBool>),
}

/// How to open inputs.
#[derive(Debug, Clone)]
pub struct Opening {
    /// Their format; detected from first bytes and names by default.
    pub format: Option<Format>,
    /// The encoding of texts; by default that of the byte order mark, or UTF-8.
    pub encoding: Option<Encoding>,
    /// How CSV is written.
    pub csv: CsvOptions,
    /// The rows from which types are chosen.
    pub sample: Sample,
    /// Keys that JSON Lines have in addition to those of the first lines.
    pub more_keys: Vec<String>,
    /// The only columns to read, in this order; all of them where none is named. Of JSON Lines they may
    /// appear on any line.
    pub columns: Vec<String>,
    /// New names of columns, each behind the name that the input has for it.
    pub names: Vec<(String, String)>,
    /// The name of a column for the file that each row comes from; no such column where there is none.
    pub file_column: Option<String>,
    /// Which dates among the texts get the form of SQLite's date functions; none by default.
    pub dates: Option<Dates>,
    /// What decimals of Parquet and Arrow are stored as.
    pub decimals: Decimals,
    /// What of a database is read.
    pub selection: Selection,
    /// The engine that reads databases.
    pub library: Arc<Library>,
}

impl Opening {
    /// Everything is detected from the inputs themselves.
    pub fn new(library: &Arc<Library>) -> Opening {
        Opening {
            format: None,
            encoding: None,
            csv: CsvOptions::default(),
            sample: Sample::First,
            more_keys: Vec::new(),
            columns: Vec::new(),
            names: Vec::new(),
            file_column: None,
            dates: None,
            decimals: Decimals::Text,
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
/// One cannot be opened, is broken at its beginning or end, or has other columns than the first.
pub fn open(paths: &[PathBuf], opening: &Opening) -> Result<Box<dyn Source>, LoadError> {
    let source = match paths {
        [path] => open_one(path, opening)?,
        paths => Box::new(SeveralSource::open(paths, opening)?),
    };
    let mut source = renamed(source, opening)?;
    if let Some(dates) = &opening.dates {
        source = Box::new(Dated::new(source, dates.clone()));
    }
    Ok(match opening.sample {
        Sample::First if paths.iter().all(|path| is_reopenable(path)) => {
            Box::new(Reopenable::new(source, paths, opening))
        }
        _ => source,
    })
}

/// The columns under the names that they are to have, with the one for the file.
fn renamed(source: Box<dyn Source>, opening: &Opening) -> Result<Box<dyn Source>, LoadError> {
    let (names, file_column) = (&opening.names, opening.file_column.as_ref());
    if names.is_empty() && file_column.is_none() {
        return Ok(source);
    }
    Ok(Box::new(Renamed::new(source, names, file_column)?))
}

fn open_one(path: &Path, opening: &Opening) -> Result<Box<dyn Source>, LoadError> {
    let columns = &opening.columns;
    let format = match opening.format {
        Some(format) => format,
        None => Format::of(path)?,
    };
    let source: Box<dyn Source> = match format {
        Format::Csv | Format::JsonLines => return text_source(path, format, opening),
        Format::Columnar => columnar_source(path, opening)?,
        Format::Database => {
            let (library, selection) = (&opening.library, &opening.selection);
            let source = DatabaseSource::open(library, path, selection, columns)?;
            return Ok(Box::new(source));
        }
    };
    selected(source, columns)
}

/// The columns of these names, or all where none is named.
fn selected(source: Box<dyn Source>, names: &[String]) -> Result<Box<dyn Source>, LoadError> {
    match names.is_empty() {
        true => Ok(source),
        false => Ok(Box::new(Selected::named(source, names)?)),
    }
}

/// A text in this format; where CSV was not named, it is JSON if it begins as such.
fn text_source(
    path: &Path,
    format: Format,
    opening: &Opening,
) -> Result<Box<dyn Source>, LoadError> {
    let mut input = Input::open(path, opening.encoding)?;
    let mut is_json = format == Format::JsonLines;
    if opening.format.is_none() && !is_json {
        let beginning = input.beginning()?;
        is_json = elements::is_json(&beginning);
        if let Some(reason) = foreign::of_text(&beginning) {
            return Err(LoadError::form(input.name(), reason));
        }
    }
    let all = match &opening.sample {
        Sample::All(stop) if is_reopenable(path) => Some(stop),
        _ => None,
    };
    if is_json {
        let (more, only) = (&opening.more_keys, &opening.columns);
        let reopen = || Input::open(path, opening.encoding);
        let source = match all {
            Some(stop) => JsonLinesSource::open_all(reopen, more, only, stop)?,
            None => JsonLinesSource::open(Ok(input), more, only)?,
        };
        return Ok(Box::new(source));
    }
    let mut options = opening.csv.clone();
    options.prefers_tab |= has_name(path, &[".tsv", ".tab"]);
    let mut source = CsvSource::open(Ok(input), options.clone())?;
    if let Some(stop) = all {
        let input = Input::open(path, opening.encoding)?;
        source.set_kinds(CsvSource::kinds_of_all(input, options, stop)?.into_iter());
    }
    selected(Box::new(source), &opening.columns)
}

/// Whether the name of a file has one of these endings, before `.gz` or `.zst`.
fn has_name(path: &Path, endings: &[&str]) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.to_ascii_lowercase();
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    endings.iter().any(|ending| name.ends_with(ending))
}

fn columnar_source(path: &Path, opening: &Opening) -> Result<Box<dyn Source>, LoadError> {
    match ColumnarSource::open(path, &opening.columns, opening.decimals)? {
        Some(source) => Ok(Box::new(source)),
        None => Err(LoadError::form(
            path.display().to_string(),
            "it is neither a Parquet nor an Arrow IPC file",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_lines_are_known_by_their_names() {
        for name in ["a.jsonl", "b.NDJSON", "c.jsonl.gz", "d.ndjson.zst"] {
            assert!(has_name(Path::new(name), &[".jsonl", ".ndjson"]), "{name}");
        }
        for name in ["a.csv", "b.json", "jsonl", "c.gz"] {
            assert!(!has_name(Path::new(name), &[".jsonl", ".ndjson"]), "{name}");
        }
    }
}
