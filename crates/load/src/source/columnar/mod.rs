//! Files that are columnar already: Parquet and Arrow IPC (Feather).

mod int96;
mod ipc;
mod pages;

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};

use super::arrow::{BATCH_BYTES, BATCH_ROWS, Parts, columns_of, info_of_schema};
use super::dates::has_texts;
use super::format::{ARROW, PARQUET, beginning};
use super::view::positions;
use super::{Seen, Source, SourceInfo};
use crate::batch::Batch;
use crate::convert::Decimals;
use crate::error::{LoadError, Result};

/// A reader of Parquet or Arrow IPC.
pub struct ColumnarSource {
    info: SourceInfo,
    batches: Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>,
    parts: Parts,
    /// Batches of the file that have been read.
    read: u64,
    extent: Extent,
    total_bytes: u64,
}

/// How much there is, according to the file.
#[derive(Debug, Clone, Copy)]
enum Extent {
    Rows(u64),
    Batches(u64),
}

impl ColumnarSource {
    /// Opens a file if it is one of these; `None` if it is not, by its first bytes. Of Parquet only the
    /// columns named are read, unless none is, in the order of the file.
    ///
    /// # Errors
    /// It cannot be opened, or begins as one and is none.
    pub fn open(
        path: &Path,
        only: &[String],
        decimals: Decimals,
    ) -> Result<Option<ColumnarSource>> {
        let beginning = beginning(path)?;
        let open = if beginning.starts_with(PARQUET) {
            parquet
        } else if beginning.starts_with(ARROW) {
            arrow_ipc
        } else {
            return Ok(None);
        };
        let unusable = LoadError::open(path);
        let file = File::open(path).map_err(unusable)?;
        let name = path.display().to_string();
        guarded(&name.clone(), || open(name, file, decimals, only)).map(Some)
    }
}

/// Does what the libraries of these formats do with a file. They check much of it, but not all: damage
/// makes them panic in places; a panic becomes an error of the file.
fn guarded<T>(input: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(LoadError::form(input, "it is damaged")))
}

/// Returns the bytes of an open file.
fn length(name: &str, file: &File) -> Result<u64> {
    let metadata = file.metadata().map_err(LoadError::open(Path::new(name)))?;
    Ok(metadata.len())
}

fn parquet(
    name: String,
    file: File,
    decimals: Decimals,
    only: &[String],
) -> Result<ColumnarSource> {
    let total_bytes = length(&name, &file)?;
    let unusable = |error| LoadError::form(&name, error);
    let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).map_err(unusable)?;
    let roots = roots(&name, metadata.schema(), decimals, only)?;
    let metadata = with_all_years(&name, &file, metadata, &roots)?;
    let of_file = metadata.metadata();
    // A negative number is damage, which reading will find.
    let rows = u64::try_from(of_file.file_metadata().num_rows()).unwrap_or(0);
    let (mut columns, mut schema) = (ProjectionMask::all(), Arc::clone(metadata.schema()));
    if !only.is_empty() {
        // Not by names, in which the library takes a dot for the way into a nested column.
        columns = ProjectionMask::roots(metadata.parquet_schema(), roots.iter().copied());
        schema = Arc::new(schema.project(&roots).map_err(|error| LoadError::form(&name, error))?);
    }
    let bytes: i64 = of_file.row_groups().iter().map(|group| group.total_byte_size()).sum();
    // According to the file, which is too few where values are repeated.
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    let rows_of_file = usize::try_from(rows).unwrap_or(usize::MAX);
    let at_a_time = rows_at_a_time(rows_of_file, bytes);
    let reader = pages::batches(file, &metadata, columns, at_a_time).map_err(unusable)?;
    let (batches, extent) = (Box::new(reader), Extent::Rows(rows));
    Ok(ColumnarSource::new(name, &schema, batches, extent, (total_bytes, decimals)))
}

/// Returns the numbers of the columns to read, in the order of the file.
fn roots(name: &str, schema: &Schema, decimals: Decimals, only: &[String]) -> Result<Vec<usize>> {
    if only.is_empty() {
        return Ok((0..schema.fields().len()).collect());
    }
    let mut roots = positions(name, &columns_of(schema, decimals), only)?;
    roots.sort_unstable();
    roots.dedup();
    Ok(roots)
}

/// Returns the metadata with which the library reads the timestamps of these columns whatever their years.
fn with_all_years(
    name: &str,
    file: &File,
    metadata: ArrowReaderMetadata,
    roots: &[usize],
) -> Result<ArrowReaderMetadata> {
    let Some(schema) = int96::schema(name, file, &metadata, roots)? else { return Ok(metadata) };
    let options = ArrowReaderOptions::new().with_schema(schema);
    ArrowReaderMetadata::try_new(Arc::clone(metadata.metadata()), options)
        .map_err(|error| LoadError::form(name, error))
}

fn arrow_ipc(
    name: String,
    file: File,
    decimals: Decimals,
    _only: &[String],
) -> Result<ColumnarSource> {
    let total_bytes = length(&name, &file)?;
    let (batches, schema) =
        ipc::Batches::open(file, total_bytes).map_err(|error| LoadError::form(&name, error))?;
    let (extent, batches) = (Extent::Batches(batches.left()), Box::new(batches));
    Ok(ColumnarSource::new(name, &schema, batches, extent, (total_bytes, decimals)))
}

/// Returns the rows of a batch, if `rows` have this number of bytes.
fn rows_at_a_time(rows: usize, bytes: usize) -> usize {
    let of_row = (bytes / rows.max(1)).max(1);
    (BATCH_BYTES / of_row).clamp(1, BATCH_ROWS)
}

impl ColumnarSource {
    fn new(
        name: String,
        schema: &Schema,
        batches: Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>,
        extent: Extent,
        (total_bytes, decimals): (u64, Decimals),
    ) -> ColumnarSource {
        let types = || schema.fields().iter().map(|field| field.data_type());
        let mut info = info_of_schema(name, schema, decimals);
        let seen = types().map(|kind| Seen {
            is_typed: *kind != DataType::Null,
            is_text: has_texts(kind),
            ..Seen::default()
        });
        info.seen = seen.collect();
        info.total_bytes = Some(total_bytes);
        ColumnarSource { info, batches, parts: Parts::default(), read: 0, extent, total_bytes }
    }

    /// Returns the share of the file that has been read.
    fn bytes_read(&self) -> u64 {
        let (read, all) = match self.extent {
            Extent::Rows(all) => (self.parts.rows, all),
            Extent::Batches(all) => (self.read, all),
        };
        let bytes = u128::from(self.total_bytes) * u128::from(read);
        bytes.checked_div(u128::from(all)).unwrap_or(0) as u64
    }
}

impl Source for ColumnarSource {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn next(&mut self) -> Result<Option<Batch>> {
        let name = &*self.info.name;
        let batch = self.parts.next(|rows| {
            let Some(batch) = guarded(name, || Ok(self.batches.next()))? else { return Ok(None) };
            self.read += 1;
            // A batch fails as a whole, and the library does not say at which of its rows.
            batch.map(Some).map_err(|error| {
                let what = format!("in row {} or later: {error}", rows + 1);
                LoadError::form(name, what)
            })
        })?;
        Ok(batch.map(|batch| Batch { bytes_read: self.bytes_read(), ..batch }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{ArrayRef, Int64Array, NullArray, StringArray};

    const ROWS: i64 = 150_000;

    fn batch() -> RecordBatch {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS));
        let texts: ArrayRef = Arc::new(StringArray::from_iter(
            (0..ROWS).map(|n| (n % 2 == 0).then(|| n.to_string())),
        ));
        RecordBatch::try_from_iter([("number", numbers), ("text", texts)]).unwrap()
    }

    fn read(path: &Path) -> Vec<i64> {
        let mut source =
            ColumnarSource::open(path, &[], Decimals::Text).unwrap().expect("is recognised");
        let declared: Vec<&str> = source.columns().iter().map(|column| &*column.declared).collect();
        assert_eq!(declared, ["INTEGER", "TEXT"]);
        let (mut numbers, mut bytes_read) = (Vec::new(), 0);
        while let Some(batch) = source.next().unwrap() {
            assert!(batch.rows.num_rows() <= BATCH_ROWS);
            assert_eq!(batch.numbers.number(0), numbers.len() as u64 + 1);
            assert!(batch.bytes_read >= bytes_read);
            bytes_read = batch.bytes_read;
            numbers.extend(batch.rows.column(0).as_primitive::<Int64Type>().values());
        }
        assert_eq!(bytes_read, std::fs::metadata(path).unwrap().len());
        numbers
    }

    fn write_arrow(path: &Path, batch: &RecordBatch) {
        let file = File::create(path).unwrap();
        let mut writer = arrow_ipc::writer::FileWriter::try_new(file, &batch.schema()).unwrap();
        writer.write(batch).unwrap();
        writer.finish().unwrap();
    }

    #[test]
    fn wide_rows_come_in_batches_of_fewer() {
        const WIDE: usize = 20_000;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wide");
        let texts: ArrayRef =
            Arc::new(StringArray::from_iter_values((0..2_000).map(|n| format!("{n:0>WIDE$}"))));
        write_arrow(&path, &RecordBatch::try_from_iter([("text", texts)]).unwrap());
        let mut source = ColumnarSource::open(&path, &[], Decimals::Text).unwrap().unwrap();
        let mut rows = 0;
        while let Some(batch) = source.next().unwrap() {
            assert!(batch.rows.num_rows() <= BATCH_BYTES / WIDE);
            rows += batch.rows.num_rows();
        }
        assert_eq!(rows, 2_000);
        assert_eq!(rows_at_a_time(0, 0), BATCH_ROWS);
        assert_eq!(rows_at_a_time(10, usize::MAX), 1);
    }

    #[test]
    fn a_column_of_nothing_but_nulls_has_no_type() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let nulls: ArrayRef = Arc::new(NullArray::new(2));
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
        let batch = RecordBatch::try_from_iter([("nulls", nulls), ("texts", texts)]).unwrap();
        write_arrow(&path, &batch);
        let source = ColumnarSource::open(&path, &[], Decimals::Text).unwrap().unwrap();
        let typed: Vec<bool> = source.info().seen.iter().map(|seen| seen.is_typed).collect();
        assert_eq!(typed, [false, true]);
    }

    #[test]
    fn parquet_and_arrow_files_are_known_by_their_bytes_and_read_in_batches() {
        let folder = tempfile::tempdir().unwrap();
        let batch = batch();
        let parquet = folder.path().join("a");
        let mut writer = parquet::arrow::ArrowWriter::try_new(
            File::create(&parquet).unwrap(),
            batch.schema(),
            None,
        )
        .unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let ipc = folder.path().join("b");
        write_arrow(&ipc, &batch);
        for path in [&parquet, &ipc] {
            assert!(read(path).into_iter().eq(0..ROWS), "{}", path.display());
        }
        // Cut off, they are refused.
        for path in [&parquet, &ipc] {
            let bytes = std::fs::read(path).unwrap();
            std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
            assert!(matches!(
                ColumnarSource::open(path, &[], Decimals::Text),
                Err(LoadError::Form(..))
            ));
        }
        std::fs::write(&parquet, "a,b\n").unwrap();
        assert!(ColumnarSource::open(&parquet, &[], Decimals::Text).unwrap().is_none());
    }
}
