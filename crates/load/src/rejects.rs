//! Rows that were not loaded, or mended: each is an error, or a line in a file.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::batch::Malformed;
use crate::cells::{Rows, display_text};
use crate::error::{Fault, LoadError, Result};
use crate::request::{OnError, Request};
use crate::source::Locations;
use crate::staging::Unfinished;
use engine::Columns;

/// Takes rows that were refused.
pub(crate) struct Rejects {
    locations: Locations,
    on_error: OnError,
    path: Option<PathBuf>,
    writer: Option<(csv::Writer<File>, Unfinished)>,
    pub(crate) count: u64,
    /// Rows that were mended and loaded.
    pub(crate) mended: u64,
    /// How many rows may be skipped, where that is limited.
    most: Option<u64>,
    /// The fault of the first row skipped.
    first: Option<String>,
}

impl Rejects {
    /// Handles rows as the request says. The file for skipped rows is created with the first of them.
    pub(crate) fn new(locations: Locations, request: &Request) -> Rejects {
        Rejects {
            locations,
            on_error: request.on_error,
            path: request.rejects.clone(),
            writer: None,
            count: 0,
            mended: 0,
            most: request.max_errors,
            first: None,
        }
    }

    /// Takes a row.
    ///
    /// # Errors
    /// The row itself, unless it is skipped or was mended; or the file cannot be written.
    pub(crate) fn reject(&mut self, row: Malformed) -> Result<()> {
        if row.is_kept {
            self.mended += 1;
            return self.list(&row);
        }
        if self.on_error == OnError::Fail || row.fault.is_of_type() {
            return Err(row.error(&self.locations));
        }
        self.count += 1;
        self.first.get_or_insert_with(|| summary(&self.locations, &row));
        self.list(&row)?;
        match self.most {
            Some(most) if self.count > most => {
                Err(LoadError::TooManyErrors(Box::new(row.error(&self.locations)), most))
            }
            _ => Ok(()),
        }
    }

    /// Checks that rows were not only skipped.
    ///
    /// # Errors
    /// No row is loaded, and there are some.
    pub(crate) fn check(&self, input: &str, loaded: u64) -> Result<()> {
        match &self.first {
            Some(first) if loaded == 0 => Err(LoadError::NothingLoaded {
                input: input.to_owned(),
                rows: self.count,
                first: first.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// Writes a row into the file, if there is one.
    fn list(&mut self, row: &Malformed) -> Result<()> {
        match self.path.clone() {
            Some(path) => self.write(&path, row).map_err(LoadError::write(&path)),
            None => Ok(()),
        }
    }

    fn write(&mut self, path: &Path, row: &Malformed) -> std::io::Result<()> {
        let writer = match &mut self.writer {
            Some((writer, _)) => writer,
            None => {
                let file = Unfinished::next_to(path)?;
                let mut writer =
                    csv::WriterBuilder::new().flexible(true).from_writer(file.writer()?);
                writer.write_record(["input", "row", "column", "reason", "fields"])?;
                &mut self.writer.insert((writer, file)).0
            }
        };
        let location = self.locations.find(row.row);
        let number = location.number.to_string();
        let column = row.column.as_deref().unwrap_or("");
        let reason = row.fault.to_string();
        let fixed = [&*location.input, &number, column, &reason];
        let fields = row.fields.iter().map(String::as_str);
        writer.write_record(fixed.into_iter().chain(fields))?;
        Ok(())
    }

    /// Flushes and syncs the file, so that a full disk is reported before the rows count as loaded.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn sync(&mut self) -> Result<()> {
        let (Some((writer, file)), Some(path)) = (&mut self.writer, &self.path) else {
            return Ok(());
        };
        writer.flush().and_then(|()| file.sync()).map_err(LoadError::write(path))
    }

    /// Moves the file to its place, over an older one. Without this call it is removed.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn keep(&mut self) -> Result<()> {
        let (Some((mut writer, file)), Some(path)) = (self.writer.take(), &self.path) else {
            return Ok(());
        };
        let moved = || file.closed().persist(path).map_err(|error| error.error);
        writer.flush().and_then(|()| moved()).map_err(LoadError::write(path))
    }
}

/// Returns a row with its fault as text.
fn summary(locations: &Locations, row: &Malformed) -> String {
    let location = locations.find(row.row);
    format!("{} {}: {}", location.unit, location.number, row.fault)
}

/// Returns the report of a row that was refused by the table.
pub(crate) fn refused(
    number: u64,
    column: Option<String>,
    reason: String,
    rows: &Rows,
) -> Malformed {
    let fields = (0..rows.cells.len()).map(|column| display_text(rows.value(0, column)));
    let fault = Fault::Refused(reason);
    Malformed::new(number, column, fault, fields.collect())
}
