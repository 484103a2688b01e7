//! The columns of a source under other names, and one more for the file that each row comes from.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};

use super::{Source, SourceColumn, SourceInfo, Typing};
use crate::affinity::Affinity;
use crate::batch::Batch;
use crate::error::LoadError;
use crate::table::{Column, same};

/// A source whose columns have other names.
pub(super) struct Renamed {
    source: Box<dyn Source>,
    info: SourceInfo,
    /// Whether there is a column for the file, which is the last one.
    has_file: bool,
}

impl Renamed {
    /// Renames columns, given by their old and new names, and adds the column for the file.
    ///
    /// # Errors
    /// The source has no such column; two columns would have the same name.
    pub(super) fn new(
        source: Box<dyn Source>,
        names: &[(String, String)],
        file_column: Option<&String>,
    ) -> Result<Renamed, LoadError> {
        let mut info = source.info().clone();
        for (old, _) in names {
            let is_there = source.columns().iter().any(|column| same(&column.name, old));
            if !is_there {
                return Err(unknown(&*source, old));
            }
        }
        for column in &mut info.columns {
            rename(&mut column.name, names);
        }
        for (column, _) in &mut info.decimals {
            rename(column, names);
        }
        if let Some(name) = file_column {
            info.columns.push(Column::new(name, "TEXT"));
            info.typed.push(true);
            info.beyond_real.push(false);
            info.texts.push(true);
            info.decided.push(None);
        }
        check_names(&info.columns)?;
        Ok(Renamed { source, info, has_file: file_column.is_some() })
    }

    /// The rows of a batch under the new names, with the column for the file.
    fn rows(&self, batch: &Batch) -> Result<RecordBatch, LoadError> {
        let rows = &batch.rows;
        let mut arrays = rows.columns().to_vec();
        if self.has_file {
            let file = self.info.locations.find(batch.numbers.first).input;
            let files = std::iter::repeat_n(file, rows.num_rows());
            arrays.push(Arc::new(StringArray::from_iter_values(files)));
        }
        let names = self.info.columns.iter().map(|column| &column.name);
        let field = |(name, array): (&String, &ArrayRef)| -> Field {
            let data_type: DataType = array.data_type().clone();
            Field::new(name, data_type, true)
        };
        let fields: Vec<Field> = names.zip(&arrays).map(field).collect();
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
            .map_err(|error| LoadError::form(self.source.name(), error))
    }
}

/// Gives a column its new name, if it has one.
fn rename(name: &mut String, names: &[(String, String)]) {
    if let Some((_, new)) = names.iter().find(|(old, _)| same(old, name)) {
        name.clone_from(new);
    }
}

fn unknown(source: &dyn Source, name: &str) -> LoadError {
    LoadError::NoInputColumn {
        input: source.name().to_owned(),
        column: name.to_owned(),
        known: (source.columns().iter()).map(|column| column.name.clone()).collect(),
    }
}

fn check_names(columns: &[SourceColumn]) -> Result<(), LoadError> {
    for (number, column) in columns.iter().enumerate() {
        let is_same = |other: &SourceColumn| same(&other.name, &column.name);
        if columns[..number].iter().any(is_same) {
            let name = &column.name;
            let reason = format!("two columns would have the name {name}");
            return Err(LoadError::Definition(reason));
        }
    }
    Ok(())
}

impl Source for Renamed {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn read_on_demand(&mut self) {
        self.source.read_on_demand();
    }

    fn set_typing(&mut self, typing: &[Typing]) {
        self.source.set_typing(&typing[..self.source.columns().len()]);
    }

    fn begin(&mut self, affinities: &[Affinity], stop: &Arc<AtomicBool>) {
        let of_source = self.source.columns().len();
        self.source.begin(&affinities[..of_source], stop);
    }

    fn next(&mut self) -> Result<Option<Batch>, LoadError> {
        let Some(mut batch) = self.source.next()? else {
            return Ok(None);
        };
        batch.rows = self.rows(&batch)?;
        Ok(Some(batch))
    }
}
