//! Apache Parquet.

use std::fs::File;
use std::io;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use engine::Value;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::columns::{COLUMNS, Type};
use super::{for_each_row, other};
use crate::{Trace, TraceError};

/// How many rows are in memory at a time.
pub(super) const BATCH: usize = 4096;

pub fn write(
    trace: &Trace,
    file: File,
    failed: impl Fn(io::Error) -> TraceError,
) -> Result<u64, TraceError> {
    let schema = Arc::new(schema(&COLUMNS));
    let writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties()));
    let mut writer = writer.map_err(|error| failed(other(error)))?;
    let mut rows: Vec<Vec<Value>> = Vec::with_capacity(BATCH);
    let count = for_each_row(trace, |row| {
        rows.push(row.to_vec());
        if rows.len() < BATCH {
            return Ok(());
        }
        let batch = batch(&schema, &COLUMNS, &rows);
        rows.clear();
        batch.and_then(|batch| writer.write(&batch).map_err(other)).map_err(&failed)
    })?;
    let last =
        batch(&schema, &COLUMNS, &rows).and_then(|batch| writer.write(&batch).map_err(other));
    last.map_err(&failed)?;
    writer.close().map_err(|error| failed(other(error)))?;
    Ok(count)
}

/// How files are compressed.
pub(super) fn properties() -> WriterProperties {
    let compression = Compression::ZSTD(ZstdLevel::default());
    let properties = WriterProperties::builder();
    properties.set_compression(compression).build()
}

pub(super) fn schema(columns: &[(&str, Type)]) -> Schema {
    let field = |(name, kind): &(&str, Type)| {
        let kind = match kind {
            Type::Integer => DataType::Int64,
            Type::Real => DataType::Float64,
            Type::Boolean => DataType::Boolean,
            Type::Text | Type::Json => DataType::Utf8,
        };
        Field::new(*name, kind, true)
    };
    Schema::new(columns.iter().map(field).collect::<Vec<_>>())
}

pub(super) fn batch(
    schema: &Arc<Schema>,
    columns: &[(&str, Type)],
    rows: &[Vec<Value>],
) -> io::Result<RecordBatch> {
    let columns = columns.iter().enumerate();
    let arrays = columns.map(|(number, (_, kind))| array(*kind, rows, number));
    RecordBatch::try_new(Arc::clone(schema), arrays.collect()).map_err(other)
}

fn array(kind: Type, rows: &[Vec<Value>], column: usize) -> ArrayRef {
    let values = rows.iter().map(|row| &row[column]);
    let integer = |value: &Value| match value {
        Value::Integer(number) => Some(*number),
        _ => None,
    };
    let real = |value: &Value| match value {
        Value::Real(number) => Some(*number),
        _ => None,
    };
    match kind {
        Type::Integer => Arc::new(values.map(integer).collect::<Int64Array>()),
        Type::Real => Arc::new(values.map(real).collect::<Float64Array>()),
        Type::Boolean => Arc::new(
            values.map(|value| integer(value).map(|number| number != 0)).collect::<BooleanArray>(),
        ),
        Type::Text | Type::Json => Arc::new(
            values
                .map(|value| match value {
                    Value::Text(text) => Some(text.as_str()),
                    _ => None,
                })
                .collect::<StringArray>(),
        ),
    }
}
