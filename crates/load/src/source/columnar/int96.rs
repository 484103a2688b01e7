//! Timestamps of 96 bits, which some programs write to Parquet: a day and the nanoseconds within it.
//!
//! 64 bits hold nanoseconds from 1677 to 2262, and the library wraps other times to dates in these years.
//! So the values are read once before, and a column with such times is read in microseconds.

use std::fs::File;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::basic::Type;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{Int96, Int96Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;

use super::pages;
use crate::error::{LoadError, Result};

/// The Julian day of 1970-01-01.
const EPOCH: i128 = 2_440_588;
/// Nanoseconds in a day.
const DAY: i128 = 86_400_000_000_000;
/// Values read at a time.
const VALUES: usize = 8_192;

/// Returns the schema with which the library reads all timestamps of these root columns as they are; `None` where it
/// does by itself.
///
/// # Errors
/// The file cannot be read, or has timestamps that 64 bits cannot hold in either unit.
pub(super) fn schema(
    name: &str,
    file: &File,
    metadata: &ArrowReaderMetadata,
    roots: &[usize],
) -> Result<Option<SchemaRef>> {
    let columns = metadata.parquet_schema();
    let mut fields: Vec<Arc<Field>> = metadata.schema().fields().to_vec();
    let mut is_changed = false;
    for (leaf, column) in columns.columns().iter().enumerate() {
        let root = columns.get_column_root_idx(leaf);
        let field = &fields[root];
        if column.physical_type() != Type::INT96
            || !roots.contains(&root)
            || matches!(field.data_type(), DataType::Timestamp(unit, _) if *unit != TimeUnit::Nanosecond)
        {
            continue;
        }
        let needs = Needs::of(file, metadata.metadata(), leaf)
            .map_err(|error| LoadError::form(name, error))?;
        if !needs.years {
            continue;
        }
        // Within a list or struct the library offers no choice.
        let DataType::Timestamp(_, zone) = field.data_type() else {
            return Err(beyond(name, &column.path().string()));
        };
        if needs.nanoseconds || needs.more_years {
            return Err(beyond(name, &column.path().string()));
        }
        let kind = DataType::Timestamp(TimeUnit::Microsecond, zone.clone());
        fields[root] = Arc::new(Field::clone(field).with_data_type(kind));
        is_changed = true;
    }
    let schema = Schema::new_with_metadata(fields, metadata.schema().metadata().clone());
    Ok(is_changed.then(|| Arc::new(schema)))
}

fn beyond(name: &str, column: &str) -> LoadError {
    let reason = format!(
        "its column {column} has INT96 timestamps outside of the years 1678 to 2261 that cannot be read without loss; \
         write it in microseconds, or leave it out with --select"
    );
    LoadError::form(name, reason)
}

/// The demands of a column's values on its type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Needs {
    /// Times that nanoseconds in 64 bits do not reach.
    years: bool,
    /// Times that microseconds in 64 bits do not reach.
    more_years: bool,
    /// Parts of a microsecond.
    nanoseconds: bool,
}

impl Needs {
    /// Returns the demands of all values of a column of the file.
    fn of(file: &File, metadata: &ParquetMetaData, leaf: usize) -> Result<Needs, ParquetError> {
        let (file, mut needs) = (Arc::new(file.try_clone()?), Needs::default());
        for group in metadata.row_groups() {
            let column = group.column(leaf).column_descr_ptr();
            let pages = pages::pages(&file, group, leaf)?;
            if let ColumnReader::Int96ColumnReader(column) = get_column_reader(column, pages) {
                needs.see_all(column)?;
            }
        }
        Ok(needs)
    }

    fn see_all(&mut self, mut column: ColumnReaderImpl<Int96Type>) -> Result<(), ParquetError> {
        let (mut levels, mut repeats, mut values) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            levels.clear();
            repeats.clear();
            values.clear();
            let (levels, repeats) = (Some(&mut levels), Some(&mut repeats));
            let (records, ..) = column.read_records(VALUES, levels, repeats, &mut values)?;
            if records == 0 {
                return Ok(());
            }
            values.iter().for_each(|value| self.see(value));
        }
    }

    fn see(&mut self, value: &Int96) {
        let [low, high, day] = *value.data() else { return };
        let of_day = i64::from(high) << 32 | i64::from(low);
        // The library takes the day for a signed number.
        let nanoseconds = (i128::from(day.cast_signed()) - EPOCH) * DAY + i128::from(of_day);
        self.years |= i64::try_from(nanoseconds).is_err();
        self.more_years |= i64::try_from(nanoseconds / 1_000).is_err();
        self.nanoseconds |= nanoseconds % 1_000 != 0;
    }
}
