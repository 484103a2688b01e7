//! The pages of Parquet files, as the library reads them, except that a dictionary may not claim more values than its bytes
//! can hold: the library would make memory for as many before it looks for them.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReader, RowGroups};
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};
use parquet::basic::Type;
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;

/// Returns the batches of a file, each with this number of rows.
pub(super) fn batches(
    file: File,
    metadata: &ArrowReaderMetadata,
    columns: ProjectionMask,
    rows: usize,
) -> Result<ParquetRecordBatchReader, ParquetError> {
    let fields = metadata.schema().fields();
    let levels = parquet_to_arrow_field_levels(metadata.parquet_schema(), columns, Some(fields))?;
    let groups = Groups { file: Arc::new(file), metadata: Arc::clone(metadata.metadata()) };
    // A reader makes room for as many rows at once.
    let rows = rows.min(groups.num_rows());
    ParquetRecordBatchReader::try_new_with_row_groups(&levels, &groups, rows, None)
}

/// All groups of rows of a file.
struct Groups {
    file: Arc<File>,
    metadata: Arc<ParquetMetaData>,
}

impl RowGroups for Groups {
    fn num_rows(&self) -> usize {
        let rows = self.row_groups().map(RowGroupMetaData::num_rows);
        // A negative number is damage, which reading will find.
        rows.map(|rows| usize::try_from(rows).unwrap_or(0)).fold(0, usize::saturating_add)
    }

    fn column_chunks(&self, column: usize) -> Result<Box<dyn PageIterator>, ParquetError> {
        Ok(Box::new(Chunks {
            file: Arc::clone(&self.file),
            metadata: Arc::clone(&self.metadata),
            column,
            groups: 0..self.metadata.num_row_groups(),
        }))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(self.metadata.row_groups().iter())
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// The pages of a column, group by group.
struct Chunks {
    file: Arc<File>,
    metadata: Arc<ParquetMetaData>,
    column: usize,
    groups: Range<usize>,
}

impl Iterator for Chunks {
    type Item = Result<Box<dyn PageReader>, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        let group = self.metadata.row_group(self.groups.next()?);
        Some(pages(&self.file, group, self.column))
    }
}

impl PageIterator for Chunks {}

/// Returns the pages of a column of a group.
pub(super) fn pages(
    file: &Arc<File>,
    group: &RowGroupMetaData,
    column: usize,
) -> Result<Box<dyn PageReader>, ParquetError> {
    let chunk = group.column(column);
    let rows = usize::try_from(group.num_rows()).unwrap_or(0);
    Ok(Box::new(Pages {
        pages: SerializedPageReader::new(Arc::clone(file), chunk, rows, None)?,
        least_bits: least_bits(chunk),
    }))
}

/// Returns the fewest bits of a value in a dictionary.
fn least_bits(chunk: &ColumnChunkMetaData) -> usize {
    match chunk.column_type() {
        Type::BOOLEAN => 1,
        // A text has its length before it.
        Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 32,
        Type::INT64 | Type::DOUBLE => 64,
        Type::INT96 => 96,
        Type::FIXED_LEN_BYTE_ARRAY => {
            8 * usize::try_from(chunk.column_descr().type_length()).unwrap_or(0)
        }
    }
}

struct Pages {
    pages: SerializedPageReader<File>,
    least_bits: usize,
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        let page = self.pages.get_next_page()?;
        if let Some(Page::DictionaryPage { buf, num_values, .. }) = &page {
            let needed = self.least_bits.saturating_mul(*num_values as usize);
            if needed > buf.len().saturating_mul(8) {
                let what = "a dictionary claims more values than its bytes can hold";
                return Err(ParquetError::General(what.to_owned()));
            }
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool, ParquetError> {
        self.pages.at_record_boundary()
    }
}

impl Iterator for Pages {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    use parquet::arrow::ArrowWriter;
    use std::io::Write;

    /// A file with 5,000 rows of 1,000 different numbers, in two groups.
    fn written() -> Vec<u8> {
        let numbers: ArrayRef =
            Arc::new(Int64Array::from_iter_values((0..5_000).map(|n| n % 1_000)));
        let batch = RecordBatch::try_from_iter([("number", numbers)]).unwrap();
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
        writer.write(&batch.slice(0, 3_000)).unwrap();
        writer.flush().unwrap();
        writer.write(&batch.slice(3_000, 2_000)).unwrap();
        writer.close().unwrap();
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Vec<RecordBatch>, String> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let metadata = ArrowReaderMetadata::load(&file, Default::default()).unwrap();
        let batches = batches(file, &metadata, ProjectionMask::all(), 512).unwrap();
        batches.map(|batch| batch.map_err(|error| error.to_string())).collect()
    }

    /// What stands before the number of values of a dictionary: its header as the field 7 of that of the page, and the
    /// number as its field 1. The number follows, doubled and with 7 bits in a byte.
    const BEFORE_NUMBER: [u8; 2] = [0x4c, 0x15];

    #[test]
    fn dictionaries_hold_what_they_claim() {
        let mut bytes = written();
        let batches = read(&bytes).unwrap();
        let rows = batches.iter().map(RecordBatch::num_rows);
        assert_eq!(rows.sum::<usize>(), 5_000);
        let at = bytes.windows(2).position(|it| it == BEFORE_NUMBER).unwrap() + 2;
        assert_eq!(bytes[at..at + 2], [0xd0, 0x0f]);
        // 8,191 values, where there are bytes of 1,000.
        bytes[at..at + 2].copy_from_slice(&[0xfe, 0x7f]);
        let error = read(&bytes).unwrap_err();
        assert!(error.contains("more values than its bytes"), "{error}");
    }
}
