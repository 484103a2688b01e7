//! Rows that were not loaded: an error, or a line in a file for each.

use std::path::{Path, PathBuf};

use crate::batch::{Fault, Malformed};
use crate::cells::Rows;
use crate::error::LoadError;
use crate::request::OnError;
use crate::source::Locations;
use crate::staging::Unfinished;
use engine::{Columns, ValueRef};

/// Takes rows that were refused.
pub(crate) struct Rejects {
    locations: Locations,
    on_error: OnError,
    path: Option<PathBuf>,
    writer: Option<csv::Writer<Unfinished>>,
    count: u64,
}

impl Rejects {
    /// `path` is the file for skipped rows, which is made when there is one to write.
    pub(crate) fn new(locations: Locations, on_error: OnError, path: Option<&Path>) -> Rejects {
        Rejects {
            locations,
            on_error,
            path: path.map(Path::to_owned),
            writer: None,
            count: 0,
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Takes a row.
    ///
    /// # Errors
    /// The row itself, unless it is skipped; or the file cannot be written.
    pub(crate) fn reject(&mut self, row: Malformed) -> Result<(), LoadError> {
        if self.on_error == OnError::Fail || row.fault.is_of_type() {
            return Err(LoadError::Row {
                location: self.locations.find(row.row),
                column: row.column,
                fault: row.fault,
            });
        }
        self.count += 1;
        let Some(path) = self.path.clone() else {
            return Ok(());
        };
        self.write(&path, &row).map_err(LoadError::write(&path))
    }

    fn write(&mut self, path: &Path, row: &Malformed) -> std::io::Result<()> {
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => {
                let file = Unfinished::next_to(path)?;
                let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(file);
                writer.write_record(["input", "row", "column", "reason", "fields"])?;
                self.writer.insert(writer)
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

    /// Writes what is not yet in the file, so that a full disk is reported before the rows count as loaded.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn sync(&mut self) -> Result<(), LoadError> {
        let (Some(writer), Some(path)) = (&mut self.writer, &self.path) else {
            return Ok(());
        };
        let written = writer.flush().and_then(|()| writer.get_ref().sync());
        written.map_err(LoadError::write(path))
    }

    /// Puts the file in its place, over an older one. Without this call it is gone.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn keep(&mut self) -> Result<(), LoadError> {
        let (Some(writer), Some(path)) = (self.writer.take(), &self.path) else {
            return Ok(());
        };
        let file = writer.into_inner().map_err(|error| {
            let source = std::io::Error::new(error.error().kind(), error.to_string());
            LoadError::write(path)(source)
        })?;
        file.replace(path).map_err(LoadError::write(path))
    }
}

/// A row that was read well but refused by the table, as it is reported.
pub(crate) fn refused(
    number: u64,
    column: Option<String>,
    reason: String,
    rows: &Rows,
) -> Malformed {
    let fields = (0..rows.cells().len()).map(|column| field_text(rows.value(0, column)));
    Malformed {
        row: number,
        column,
        fault: Fault::Refused(reason),
        fields: fields.collect(),
    }
}

fn field_text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => String::new(),
        value => value.to_value().to_string(),
    }
}
