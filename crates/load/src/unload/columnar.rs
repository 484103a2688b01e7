//! Rows as columns: Parquet and Arrow, in which each column has one type.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, RecordBatch, TimestampSecondArray, new_null_array,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use engine::{Value, ValueRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use values::calendar::day;

use super::OutputFormat;
use super::output::Output;
use crate::affinity::Affinity;
use crate::as_text::Classes;
use crate::source::ColumnBuilder;
use crate::table::Column;

/// Rows of a batch, unless its texts and blobs are long.
const BATCH_ROWS: usize = 16_384;
const BATCH_BYTES: usize = 4 << 20;
/// The most bytes of a row group.
pub(super) const GROUP_BYTES: usize = 64 << 20;
/// SQLite's storage classes, in the order of [`Classes`].
const CLASSES: [&str; 4] = ["integer", "real", "text", "blob"];

/// The kind of all values of a column.
#[derive(Clone, Copy)]
struct Seen {
    classes: Classes,
    /// Whether all texts so far are dates, and whether all are times of a day, as the loader writes them.
    are_dates: bool,
    are_times: bool,
}

impl Seen {
    fn add(&mut self, value: &ValueRef<'_>) {
        self.classes.add(value);
        if let ValueRef::Text(text) = value {
            self.are_dates = self.are_dates && has_form(text, "0000-00-00") && days(text).is_some();
            self.are_times = self.are_times
                && has_form(text, "0000-00-00T00:00:00")
                && days(text).is_some()
                && text[11..13] < *"24"
                && text[14..16] < *"60"
                && text[17..] < *"60";
        }
    }

    fn data_type(self, column: &Column) -> Result<DataType, String> {
        let classes = self.classes.0;
        Ok(match data_type(column, classes)? {
            DataType::Utf8 if classes[2] && self.are_dates => DataType::Date32,
            DataType::Utf8 if classes[2] && self.are_times => {
                DataType::Timestamp(TimeUnit::Second, None)
            }
            other => other,
        })
    }
}

/// Returns whether a text has digits where the form has zeros, and the form's characters elsewhere.
fn has_form(text: &str, form: &str) -> bool {
    let fits = |(byte, wanted): (u8, u8)| {
        if wanted == b'0' { byte.is_ascii_digit() } else { byte == wanted }
    };
    text.len() == form.len() && text.bytes().zip(form.bytes()).all(fits)
}

/// The types of columns as far as rows have been seen.
#[derive(Clone)]
pub(super) struct Types(Vec<Seen>);

impl Types {
    /// Returns the types before the first row. Texts are looked at if they may become dates and times.
    pub(super) fn of(columns: &[Column], has_dates: bool) -> Types {
        let none = Seen { classes: Classes::default(), are_dates: has_dates, are_times: has_dates };
        Types(vec![none; columns.len()])
    }

    /// Returns the storage classes of each column.
    pub(super) fn classes(&self) -> Vec<Classes> {
        self.0.iter().map(|seen| seen.classes).collect()
    }

    pub(super) fn add(&mut self, values: &[ValueRef<'_>]) {
        self.0.iter_mut().zip(values).for_each(|(seen, value)| seen.add(value));
    }

    /// Adds what was seen of other rows.
    pub(super) fn merge(&mut self, other: &Types) {
        for (seen, other) in self.0.iter_mut().zip(&other.0) {
            seen.classes.merge(other.classes);
            seen.are_dates &= other.are_dates;
            seen.are_times &= other.are_times;
        }
    }

    /// Returns the types, by the storage classes of all values; texts that are all dates or times become such.
    ///
    /// # Errors
    /// A column has values of several types.
    pub(super) fn schema(&self, columns: &[Column]) -> Result<SchemaRef, String> {
        let field = |(column, seen): (&Column, &Seen)| -> Result<Field, String> {
            Ok(Field::new(&column.name, seen.data_type(column)?, true))
        };
        let fields =
            columns.iter().zip(&self.0).map(field).collect::<Result<Vec<Field>, String>>()?;
        Ok(Arc::new(Schema::new(fields)))
    }
}

/// Returns the type of a column with values of these classes.
fn data_type(column: &Column, has: [bool; 4]) -> Result<DataType, String> {
    Ok(match has {
        [true, false, false, false] => DataType::Int64,
        [_, true, false, false] => DataType::Float64,
        [false, false, true, false] => DataType::Utf8,
        [false, false, false, true] => DataType::Binary,
        [false, false, false, false] => match Affinity::of(&column.declared) {
            Affinity::Integer | Affinity::Numeric => DataType::Int64,
            Affinity::Real => DataType::Float64,
            Affinity::Text => DataType::Utf8,
            Affinity::Blob => DataType::Null,
        },
        _ => {
            let classes = CLASSES.iter().zip(has).filter(|(_, has)| *has);
            let classes: Vec<&str> = classes.map(|(class, _)| *class).collect();
            return Err(format!(
                "column {} has values of several types ({}), which Parquet and Arrow do not mix; choose a query with CAST, or JSON Lines",
                column.name,
                classes.join(", ")
            ));
        }
    })
}

/// Returns the day of a date, counted from 1970.
fn days(text: &str) -> Option<i64> {
    let part = |range: std::ops::Range<usize>| text.get(range)?.parse::<i64>().ok();
    day(part(0..4)?, part(5..7)?, part(8..10)?)
}

/// Returns the second of a date with a time, counted from 1970.
fn seconds(text: &str) -> Option<i64> {
    let part = |range: std::ops::Range<usize>| text.get(range)?.parse::<i64>().ok();
    let time = (part(11..13)? * 60 + part(14..16)?) * 60 + part(17..19)?;
    Some(days(text)? * 86_400 + time)
}

/// Returns the values of a column in its type.
fn finished(column: ColumnBuilder, data_type: &DataType) -> ArrayRef {
    let array = column.finish();
    let texts = || array.as_string::<i32>().iter();
    match (array.data_type(), data_type) {
        (DataType::Null, other) => new_null_array(other, array.len()),
        (DataType::Utf8, DataType::Date32) => {
            let days = texts().map(|text| text.and_then(days).and_then(|day| day.try_into().ok()));
            Arc::new(days.collect::<Date32Array>())
        }
        (DataType::Int64, DataType::Boolean) => {
            let numbers = array.as_primitive::<Int64Type>().iter();
            Arc::new(numbers.map(|number| Some(number? != 0)).collect::<BooleanArray>())
        }
        (DataType::Utf8, DataType::Timestamp(..)) => {
            let seconds = texts().map(|text| text.and_then(seconds));
            Arc::new(seconds.collect::<TimestampSecondArray>())
        }
        _ => array,
    }
}

/// An error of the library.
pub(super) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The library's writers.
enum Encoder {
    Parquet(Box<ArrowWriter<Output>>),
    File(FileWriter<Output>),
    Stream(StreamWriter<Output>),
}

/// Gathers rows as columns.
pub(super) struct ColumnRows {
    schema: SchemaRef,
    columns: Vec<ColumnBuilder>,
    rows: usize,
    bytes: usize,
}

impl ColumnRows {
    pub(super) fn new(schema: &SchemaRef) -> ColumnRows {
        let columns = new_columns(schema);
        ColumnRows { schema: Arc::clone(schema), columns, rows: 0, bytes: 0 }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// A value does not fit the type of its column.
    pub(super) fn push(&mut self, values: &[ValueRef<'_>]) -> io::Result<()> {
        for ((column, value), field) in
            self.columns.iter_mut().zip(values).zip(self.schema.fields())
        {
            let is_real = *field.data_type() == DataType::Float64;
            let affinity = if is_real { Affinity::Real } else { Affinity::Blob };
            if !column.fits(value, affinity) {
                let name = field.name();
                let reason = format!("the value {value:?} does not fit the type of column {name}");
                return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
            }
            column.push(*value, affinity);
            self.bytes += match value {
                ValueRef::Text(text) => text.len(),
                ValueRef::Blob(bytes) => bytes.len(),
                _ => size_of::<i64>(),
            };
        }
        self.rows += 1;
        Ok(())
    }

    pub(super) fn is_full(&self) -> bool {
        self.rows == BATCH_ROWS || self.bytes >= BATCH_BYTES
    }

    /// Returns the rows since the last call.
    ///
    /// # Errors
    /// The library's.
    pub(super) fn take(&mut self) -> Result<RecordBatch, ArrowError> {
        let columns = std::mem::replace(&mut self.columns, new_columns(&self.schema));
        let columns = columns.into_iter().zip(self.schema.fields());
        let columns = columns.map(|(column, field)| finished(column, field.data_type())).collect();
        (self.rows, self.bytes) = (0, 0);
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
    }
}

fn new_columns(schema: &SchemaRef) -> Vec<ColumnBuilder> {
    schema.fields().iter().map(|_| ColumnBuilder::Nulls(0)).collect()
}

/// Writes rows as columns.
pub(super) struct ColumnarWriter {
    encoder: Encoder,
    /// Bytes of a row group, which is in memory until it is written.
    group: usize,
}

impl ColumnarWriter {
    pub(super) fn new(
        output: Output,
        format: OutputFormat,
        schema: &SchemaRef,
        group: usize,
    ) -> Result<ColumnarWriter, Failure> {
        let options =
            IpcWriteOptions::default().try_with_compression(Some(CompressionType::ZSTD))?;
        let encoder = match format {
            OutputFormat::Arrow => {
                Encoder::File(FileWriter::try_new_with_options(output, schema, options)?)
            }
            OutputFormat::ArrowStream => {
                Encoder::Stream(StreamWriter::try_new_with_options(output, schema, options)?)
            }
            _ => {
                let compression = Compression::ZSTD(ZstdLevel::default());
                let properties = WriterProperties::builder().set_compression(compression).build();
                let writer = ArrowWriter::try_new(output, Arc::clone(schema), Some(properties))?;
                Encoder::Parquet(Box::new(writer))
            }
        };
        Ok(ColumnarWriter { encoder, group })
    }

    /// Writes rows.
    pub(super) fn write(&mut self, rows: &RecordBatch) -> Result<(), Failure> {
        match &mut self.encoder {
            Encoder::Parquet(writer) => {
                writer.write(rows)?;
                if writer.in_progress_size() >= self.group {
                    writer.flush()?;
                }
            }
            Encoder::File(writer) => writer.write(rows)?,
            Encoder::Stream(writer) => writer.write(rows)?,
        }
        Ok(())
    }

    pub(super) fn finish(self) -> io::Result<()> {
        let output = match self.encoder {
            Encoder::Parquet(writer) => writer.into_inner().map_err(io::Error::other),
            Encoder::File(writer) => writer.into_inner().map_err(io::Error::other),
            Encoder::Stream(writer) => writer.into_inner().map_err(io::Error::other),
        };
        output?.finish()
    }
}

/// A Parquet file of rows that are given one by one. Its columns are of the types `Int64`, `Float64`, `Boolean` and `Utf8`.
pub struct ParquetFile {
    rows: ColumnRows,
    writer: Box<ColumnarWriter>,
}

impl ParquetFile {
    /// Begins a new file with these columns.
    ///
    /// # Errors
    /// The file exists or cannot be written.
    pub fn create(path: &Path, columns: &[(&str, DataType)]) -> io::Result<ParquetFile> {
        let fields = columns.iter().map(|(name, kind)| Field::new(*name, kind.clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let file = Box::new(File::create_new(path)?);
        let output =
            Output::new(file, &Arc::default(), super::Compression::None, super::output::BLOCK)?;
        let writer = ColumnarWriter::new(output, OutputFormat::Parquet, &schema, GROUP_BYTES);
        let writer = Box::new(writer.map_err(io::Error::other)?);
        Ok(ParquetFile { rows: ColumnRows::new(&schema), writer })
    }

    /// Adds a row. A value of another type than its column is NULL.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, row: &[Value]) -> io::Result<()> {
        let fields = self.rows.schema.fields().iter();
        let values =
            row.iter().zip(fields).map(|(value, field)| match (value, field.data_type()) {
                (Value::Integer(value), DataType::Int64 | DataType::Boolean) => {
                    ValueRef::Integer(*value)
                }
                (Value::Real(value), DataType::Float64) => ValueRef::Real(*value),
                (Value::Text(text), DataType::Utf8) => ValueRef::Text(text),
                _ => ValueRef::Null,
            });
        let values: Vec<ValueRef<'_>> = values.collect();
        self.rows.push(&values)?;
        if self.rows.is_full() { self.write() } else { Ok(()) }
    }

    /// Writes the end.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.write()?;
        self.writer.finish()
    }

    fn write(&mut self) -> io::Result<()> {
        let rows = self.rows.take().map_err(io::Error::other)?;
        self.writer.write(&rows).map_err(io::Error::other)
    }
}
