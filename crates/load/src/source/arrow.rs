//! Rows that are in memory already, as Arrow's record batches.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, Schema};

use super::divide::Parts;
use super::{Source, SourceColumn, SourceInfo};
use crate::affinity::Affinity;
use crate::batch::Batch;
use crate::cells::{Decimals, scale};
use crate::error::LoadError;
use crate::table::Column;

/// Record batches as a source: the interface for programs that have or make their data in memory.
pub struct BatchSource<'b> {
    info: SourceInfo,
    batches: Batches<'b>,
    parts: Parts,
}

type Batches<'b> = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'b>;

impl<'b> BatchSource<'b> {
    /// A source of these batches, all of which must have the schema's columns.
    pub fn new(
        name: impl Into<String>,
        schema: &Schema,
        batches: impl Iterator<Item = RecordBatch> + Send + 'b,
    ) -> BatchSource<'b> {
        BatchSource::reading(name, schema, Decimals::Text, batches.map(Ok))
    }

    /// A source of batches that come from elsewhere, which may fail, with what decimals are stored as.
    pub fn reading(
        name: impl Into<String>,
        schema: &Schema,
        decimals: Decimals,
        batches: impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'b,
    ) -> BatchSource<'b> {
        let mut info = SourceInfo::of_schema(name, schema, decimals);
        // Its name is not that of a file.
        info.files.clear();
        BatchSource { info, batches: Box::new(batches), parts: Parts::default() }
    }
}

/// The columns of an Arrow schema with the declared types that keep their values as they are.
pub(super) fn columns_of(schema: &Schema, decimals: Decimals) -> Vec<SourceColumn> {
    schema
        .fields()
        .iter()
        .map(|field| Column {
            name: field.name().clone(),
            declared: declared(field.data_type(), decimals).to_owned(),
            not_null: !field.is_nullable(),
        })
        .collect()
}

fn declared(data_type: &DataType, decimals: Decimals) -> &'static str {
    match data_type {
        _ if scale(data_type).is_some() => decimals.declared(),
        DataType::Dictionary(_, values) => declared(values, decimals),
        DataType::Boolean => "INTEGER",
        integer if integer.is_integer() => "INTEGER",
        real if real.is_floating() => "REAL",
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => "BLOB",
        _ => "TEXT",
    }
}

impl Source for BatchSource<'_> {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn begin(&mut self, _affinities: &[Affinity], _stop: &Arc<AtomicBool>) {}

    fn next(&mut self) -> Result<Option<Batch>, LoadError> {
        let name = &self.info.name;
        let more = |_| {
            let batch = self.batches.next().transpose();
            batch.map_err(|error| LoadError::form(name, error))
        };
        let Some(batch) = self.parts.next(more)? else {
            return Ok(None);
        };
        let (found, expected) = (batch.rows.num_columns(), self.info.columns.len());
        if found != expected {
            let reason = format!("a batch has {found} columns, the schema {expected}");
            return Err(LoadError::form(self.name(), reason));
        }
        Ok(Some(batch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, StringArray};

    #[test]
    fn long_batches_come_in_parts_that_are_numbered_through() {
        let long = "x".repeat(5 << 20);
        let texts: ArrayRef = Arc::new(StringArray::from(vec![&*long; 3]));
        let batch = RecordBatch::try_from_iter([("text", texts)]).unwrap();
        let schema = batch.schema();
        let mut source = BatchSource::new("test", &schema, [batch.clone(), batch].into_iter());
        let mut firsts = Vec::new();
        while let Some(batch) = source.next().unwrap() {
            assert_eq!(batch.rows.num_rows(), 1);
            firsts.push(batch.numbers.first);
        }
        assert_eq!(firsts, [1, 2, 3, 4, 5, 6]);
    }
}
