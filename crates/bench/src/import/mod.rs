//! Documents of the user's own: text columns of a file, row by row in constant memory, read by the readers
//! of `load`.
//!
//! It stands apart from the generators because what it reads can be wrong: every error names the
//! file and, where it lies in one, the row. A file is read whole before it is used, so that a
//! mistake in its last row is found before anything is made of the first.
//!
//! Errors of files of documents.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use load::{Encoding, Format, LoadError, Opening, RowReader, Selection};

use crate::generate::Documents;

/// Names that FTS5 gives to columns of its own, in any case; the last one is the name of the table of the documents.
pub(crate) const RESERVED: [&str; 3] = ["rank", "rowid", "docs"];

/// The parts of a file that are used, and its encoding.
#[derive(Clone, Debug, Default)]
pub struct TextOptions {
    /// The columns, by name; all that hold text where none is named.
    pub columns: Vec<String>,
    /// The table of a database; its only one where none is named.
    pub table: Option<String>,
    /// The encoding; by default, the one of the byte order mark, or UTF-8.
    pub encoding: Option<Encoding>,
}

/// A file of documents.
#[derive(Clone, Debug)]
pub struct TextFile {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// How it is opened; with the columns named.
    opening: Opening,
}

/// Contents of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextSummary {
    /// Its rows.
    pub rows: u64,
    /// The columns that are used.
    pub columns: Vec<String>,
    /// Bytes of their texts.
    pub bytes: u64,
}

impl TextFile {
    /// Returns the file at `path`, which is not opened yet.
    ///
    /// # Errors
    /// The engine that reads databases, which is the built-in one whichever is measured, cannot be loaded.
    pub fn new(path: &Path, options: TextOptions) -> Result<TextFile, ImportError> {
        let embedded = engine::Library::load(&engine::Source::Embedded);
        let mut opening = Opening::new(&Arc::new(embedded.map_err(LoadError::from)?));
        opening.encoding = options.encoding;
        opening.columns = options.columns;
        if let Some(table) = options.table {
            opening.format = Some(Format::Database);
            opening.selection = Selection::Table(table);
        }
        Ok(TextFile { path: path.to_owned(), opening })
    }

    /// Reads the whole file and says what it holds; at most `rows` rows are wanted.
    ///
    /// # Errors
    /// Whatever is wrong with the file or one of the rows wanted.
    pub fn check(&self, rows: u64) -> Result<TextSummary, ImportError> {
        let columns = self.resolve()?;
        let mut reading = self.open(&columns)?;
        let mut documents = Documents::new(columns.len());
        let mut filled = vec![false; columns.len()];
        let mut summary = TextSummary { rows: 0, columns, bytes: 0 };
        while summary.rows < rows && reading.next_into(&mut documents)? {
            summary.rows += 1;
            summary.bytes += documents.bytes() as u64;
            for (column, filled) in filled.iter_mut().enumerate() {
                *filled |= documents.field(0, column).is_some();
            }
            documents.clear();
        }
        if summary.rows == 0 {
            return Err(ImportError::Empty(self.path.clone()));
        }
        if let Some(empty) = filled.iter().position(|filled| !filled) {
            self.check_exists(&summary.columns[empty], summary.rows < rows)?;
        }
        Ok(summary)
    }

    /// Lines of JSON need not have every name, but a name that none has is a mistake. The rows wanted
    /// alone cannot tell: the name may come after them.
    fn check_exists(&self, column: &str, all_was_read: bool) -> Result<(), ImportError> {
        let reader = self.reader(&[])?;
        let mut known = reader.columns().iter().map(|column| &column.name);
        if !all_was_read || known.clone().any(|known| known == column) {
            return Ok(());
        }
        let input = self.path.display().to_string();
        Err(ImportError::Load(LoadError::no_input_column(&input, column, known.by_ref())))
    }

    /// Returns the columns to use, as the file names them. Any column may be named; by default, only text columns are
    /// used.
    fn resolve(&self) -> Result<Vec<String>, ImportError> {
        let named = &self.opening.columns;
        let columns =
            if named.is_empty() { self.reader(&[])?.text_columns() } else { named.clone() };
        if columns.is_empty() {
            return Err(self.unusable("it has no column of text; name the columns".to_owned()));
        }
        for (at, column) in columns.iter().enumerate() {
            if let Some(why) = why_impossible(column, &columns[..at]) {
                return Err(self.unusable(format!(
                    "its column `{column}` cannot be used, because {why}: choose others with --columns, or with `text_columns` in an experiment file"
                )));
            }
        }
        Ok(columns)
    }

    fn unusable(&self, what: String) -> ImportError {
        ImportError::Unusable(self.path.clone(), what)
    }

    fn reader(&self, columns: &[String]) -> Result<RowReader, LoadError> {
        let mut opening = self.opening.clone();
        opening.columns = columns.to_vec();
        RowReader::open(&self.path, &opening)
    }

    /// Begins a pass over these columns, which [`TextFile::check`] has found.
    pub(crate) fn open(&self, columns: &[String]) -> Result<TextRows, ImportError> {
        let reader = self.reader(columns)?;
        Ok(TextRows { columns: columns.len(), reader })
    }
}

/// A pass over the rows of a file.
pub(crate) struct TextRows {
    reader: RowReader,
    columns: usize,
}

impl TextRows {
    /// Appends the next row to `documents`; false where there is none.
    pub(crate) fn next_into(&mut self, documents: &mut Documents) -> Result<bool, ImportError> {
        let Some(row) = self.reader.next_row()? else { return Ok(false) };
        for column in 0..self.columns {
            documents.push_field(row.text(column)?.as_deref().unwrap_or_default());
        }
        Ok(true)
    }
}

/// Returns names separated by commas.
pub(crate) fn split_columns(list: &str) -> Vec<String> {
    let names = list.split(',').map(|name| name.trim().to_owned());
    names.filter(|name| !name.is_empty()).collect()
}

/// Returns why a table of documents cannot have a column of this name after those before it.
fn why_impossible(name: &str, before: &[String]) -> Option<&'static str> {
    let is_name = |other: &str| other.eq_ignore_ascii_case(name);
    if name.is_empty() {
        Some("it has no name")
    } else if name.trim() != name {
        Some("spaces around a name are ignored where columns are chosen")
    } else if name.contains(',') {
        Some("commas separate names where columns are chosen")
    } else if RESERVED.iter().any(|reserved| is_name(reserved)) {
        Some("FTS5 reserves this name")
    } else if before.iter().any(|other| is_name(other)) {
        Some("another column has the same name (ignoring case)")
    } else {
        None
    }
}

/// Problem of a file of documents.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It cannot be read, or a row of it.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// It has no rows.
    #[error("{} has no rows", .0.display())]
    Empty(PathBuf),
    /// The file as a whole cannot be used.
    #[error("{}: {}", .0.display(), .1)]
    Unusable(PathBuf, String),
}
