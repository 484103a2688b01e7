//! Comma- or tab-separated values (RFC 4180) with the names of the columns in the first line.

use std::fs::File;
use std::path::{Path, PathBuf};

use csv::{ByteRecord, Reader, ReaderBuilder, Trim};

use super::{ImportError, Rows, bad_row, unreadable, unusable};
use crate::generate::Documents;

/// A pass over such a file.
pub(super) struct Delimited {
    path: PathBuf,
    reader: Reader<File>,
    record: ByteRecord,
    /// The places of the columns wanted, and their names.
    columns: Vec<(usize, String)>,
    row: u64,
}

fn reader(path: &Path, delimiter: u8) -> Result<Reader<File>, ImportError> {
    let file = File::open(path).map_err(|source| unreadable(path, source))?;
    // A blank beside the comma of a heading belongs to no name; in a field it may be of the text.
    Ok(ReaderBuilder::new()
        .delimiter(delimiter)
        .trim(Trim::Headers)
        .from_reader(file))
}

/// The names in the first line.
pub(super) fn names(path: &Path, delimiter: u8) -> Result<Vec<String>, ImportError> {
    let mut reader = reader(path, delimiter)?;
    let headings = reader
        .headers()
        .map_err(|error| unusable(path, format!("the heading cannot be read: {error}")))?;
    if headings.is_empty() {
        return Err(ImportError::Empty(path.to_owned()));
    }
    Ok(headings.iter().map(str::to_owned).collect())
}

impl Delimited {
    pub(super) fn open(
        path: &Path,
        delimiter: u8,
        columns: &[String],
    ) -> Result<Delimited, ImportError> {
        let known = names(path, delimiter)?;
        let places = columns.iter().map(|column| {
            let place = known.iter().position(|name| name == column);
            place
                .map(|place| (place, column.clone()))
                .ok_or_else(|| ImportError::MissingColumn {
                    path: path.to_owned(),
                    column: column.clone(),
                    known: known.join(", "),
                })
        });
        Ok(Delimited {
            path: path.to_owned(),
            columns: places.collect::<Result<_, _>>()?,
            reader: reader(path, delimiter)?,
            record: ByteRecord::new(),
            row: 0,
        })
    }
}

impl Rows for Delimited {
    fn next_into(&mut self, documents: &mut Documents) -> Result<bool, ImportError> {
        let more = self
            .reader
            .read_byte_record(&mut self.record)
            .map_err(|error| problem(&self.path, self.row + 1, &error))?;
        if !more {
            return Ok(false);
        }
        self.row += 1;
        for (place, name) in &self.columns {
            let field = std::str::from_utf8(&self.record[*place]).map_err(|_| {
                bad_row(
                    &self.path,
                    self.row,
                    format!("not UTF-8 in the column `{name}`"),
                )
            })?;
            documents.push_field(field);
        }
        Ok(true)
    }
}

fn problem(path: &Path, row: u64, error: &csv::Error) -> ImportError {
    bad_row(path, row, error.to_string())
}
