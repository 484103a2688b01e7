//! Arrow IPC files, block by block.
//!
//! The library's own reader of whole files allocates whatever a length in the file says, and an
//! allocation that fails ends the program, which no damaged file may do. So the blocks are found and
//! read here, each length checked against what is there, and only their content is left to the library.
//! The format: <https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format>.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::{Block, Footer, MessageHeader, root_as_footer, root_as_message};
use arrow_schema::{ArrowError, SchemaRef};

/// Length of the footer and the closing mark.
const TAIL: usize = 10;
/// The first bytes of a message since version 0.15 of the format, before its length.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// The uncompressed length that stands before each compressed buffer.
const PREFIX: usize = 8;
/// How many bytes one byte can become: with ZSTD, a block of 4 bytes repeats one byte 128 KiB long. LZ4 stays below 256.
const MOST_FROM_ONE_BYTE: usize = 128 * 1024 / 4;

/// The batches of a file.
pub(super) struct Batches {
    file: File,
    length: u64,
    decoder: FileDecoder,
    blocks: std::vec::IntoIter<Block>,
}

impl Batches {
    /// Reads the footer and the dictionaries: the batches and what columns they have.
    pub(super) fn open(mut file: File, length: u64) -> Result<(Batches, SchemaRef), ArrowError> {
        let bytes = footer(&mut file, length)?;
        let footer = root_as_footer(&bytes)
            .map_err(|error| ArrowError::ParseError(format!("its footer is damaged: {error}")))?;
        let schema = schema_of(&footer)?;
        let blocks: Vec<Block> = footer.recordBatches().into_iter().flatten().copied().collect();
        let dictionaries: Vec<Block> =
            footer.dictionaries().into_iter().flatten().copied().collect();
        let mut batches = Batches {
            file,
            length,
            decoder: FileDecoder::new(Arc::clone(&schema), footer.version()),
            blocks: blocks.into_iter(),
        };
        for block in dictionaries {
            let bytes = batches.block(&block)?;
            batches.decoder.read_dictionary(&block, &bytes)?;
        }
        Ok((batches, schema))
    }

    /// Returns the number of batches to read.
    pub(super) fn left(&self) -> u64 {
        self.blocks.len() as u64
    }

    /// Returns the bytes of a block, whose lengths are plausible.
    fn block(&mut self, block: &Block) -> Result<Buffer, ArrowError> {
        let metadata = usize::try_from(block.metaDataLength());
        let body = usize::try_from(block.bodyLength());
        let (Ok(begin), Ok(metadata), Ok(body)) = (u64::try_from(block.offset()), metadata, body)
        else {
            return Err(damaged("a block has a negative length"));
        };
        let inside = metadata.checked_add(body).filter(|length| {
            begin.checked_add(*length as u64).is_some_and(|end| end <= self.length)
        });
        let Some(length) = inside else { return Err(damaged("a block is longer than the file")) };
        let mut bytes = vec![0; length];
        self.file.seek(SeekFrom::Start(begin))?;
        self.file.read_exact(&mut bytes)?;
        check_compressed_lengths(&bytes, metadata)?;
        Ok(Buffer::from_vec(bytes))
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let block = self.blocks.next()?;
        let bytes = self.block(&block);
        bytes.and_then(|bytes| self.decoder.read_record_batch(&block, &bytes)).transpose()
    }
}

fn damaged(what: &str) -> ArrowError {
    ArrowError::IpcError(what.to_owned())
}

/// Returns the bytes of the footer, whose length is at the end of the file.
fn footer(file: &mut File, length: u64) -> Result<Vec<u8>, ArrowError> {
    let mut tail = [0; TAIL];
    file.seek(SeekFrom::End(-(TAIL as i64)))?;
    file.read_exact(&mut tail)?;
    let footer = read_footer_length(tail)?;
    let end = length - TAIL as u64;
    let Some(begin) = end.checked_sub(footer as u64) else {
        return Err(damaged("its footer is longer than the file"));
    };
    let mut bytes = vec![0; footer];
    file.seek(SeekFrom::Start(begin))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn schema_of(footer: &Footer<'_>) -> Result<SchemaRef, ArrowError> {
    let Some(schema) = footer.schema() else { return Err(damaged("its footer has no schema")) };
    if !schema.endianness().equals_to_target_endianness() {
        return Err(damaged("it has the byte order of another architecture"));
    }
    Ok(Arc::new(fb_to_schema(schema)))
}

/// Refuses a block with a compressed buffer that says it becomes more than it can, or than memory can hold: the library
/// would ask for as much.
fn check_compressed_lengths(block: &[u8], metadata: usize) -> Result<(), ArrowError> {
    let begin = if block.starts_with(&CONTINUATION) { 8 } else { 4 };
    let Some(message) = block.get(begin..metadata) else {
        return Err(damaged("a block is shorter than its header"));
    };
    let message = root_as_message(message).map_err(|error| {
        ArrowError::ParseError(format!("the header of a block is damaged: {error}"))
    })?;
    let batch = match message.header_type() {
        MessageHeader::DictionaryBatch => {
            message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data())
        }
        _ => message.header_as_record_batch(),
    };
    let Some(batch) = batch.filter(|batch| batch.compression().is_some()) else { return Ok(()) };
    let body = &block[metadata..];
    for buffer in batch.buffers().into_iter().flatten() {
        let begin = usize::try_from(buffer.offset()).unwrap_or(usize::MAX);
        let bytes = body.get(begin..).unwrap_or_default();
        let Some(&prefix) = bytes.first_chunk::<PREFIX>() else {
            // Empty buffers have no prefix; others are the library's to refuse.
            continue;
        };
        let compressed = usize::try_from(buffer.length()).unwrap_or(0);
        // Negative means not compressed.
        if let Ok(length) = usize::try_from(i64::from_le_bytes(prefix))
            && compressed > 0
        {
            check_length(length, compressed.min(bytes.len()))?;
        }
    }
    Ok(())
}

/// Refuses a length that the compressed bytes cannot expand to, or that memory cannot hold.
fn check_length(length: usize, compressed: usize) -> Result<(), ArrowError> {
    if length > compressed.saturating_mul(MOST_FROM_ONE_BYTE) {
        return Err(damaged("a compressed column claims to be longer than it can be"));
    }
    if Vec::<u8>::new().try_reserve_exact(length).is_err() {
        return Err(damaged("a compressed column is longer than memory"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, DictionaryArray, Int64Array, StringArray, types::Int32Type};
    use arrow_ipc::CompressionType;
    use arrow_ipc::writer::{FileWriter, IpcWriteOptions};

    fn batch() -> RecordBatch {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
        let texts: ArrayRef = Arc::new(StringArray::from_iter(
            (0..1000).map(|n| (n % 3 > 0).then(|| format!("text {}", n % 10))),
        ));
        let words: DictionaryArray<Int32Type> = (0..1000).map(|n| ["one", "two"][n % 2]).collect();
        let words: ArrayRef = Arc::new(words);
        RecordBatch::try_from_iter([("number", numbers), ("text", texts), ("word", words)]).unwrap()
    }

    fn written(compression: Option<CompressionType>) -> Vec<u8> {
        let batch = batch();
        file_of(&[batch.clone(), batch.slice(10, 20)], compression)
    }

    fn file_of(batches: &[RecordBatch], compression: Option<CompressionType>) -> Vec<u8> {
        let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
        let mut bytes = Vec::new();
        let schema = batches[0].schema();
        let mut writer = FileWriter::try_new_with_options(&mut bytes, &schema, options).unwrap();
        for batch in batches {
            writer.write(batch).unwrap();
        }
        writer.finish().unwrap();
        drop(writer);
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Vec<RecordBatch>, ArrowError> {
        use std::io::Write;
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        Batches::open(file, bytes.len() as u64)?.0.collect()
    }

    #[test]
    fn batches_are_read_whatever_their_compression() {
        let batch = batch();
        for compression in [None, Some(CompressionType::ZSTD), Some(CompressionType::LZ4_FRAME)] {
            let read = read(&written(compression)).unwrap();
            assert_eq!(read, [batch.clone(), batch.slice(10, 20)], "{compression:?}");
        }
    }

    /// Returns where the footer tells the lengths of the bodies of blocks: after offset and length of the head.
    fn body_lengths(bytes: &[u8]) -> Vec<usize> {
        let tail = bytes.last_chunk::<TAIL>().unwrap();
        let begin = bytes.len() - TAIL - read_footer_length(*tail).unwrap();
        let footer = root_as_footer(&bytes[begin..bytes.len() - TAIL]).unwrap();
        let batches = footer.recordBatches().unwrap().iter();
        let blocks = batches.chain(footer.dictionaries().unwrap());
        let lengths: Vec<usize> = blocks
            .map(|block| {
                let mut offset = bytes[begin..].windows(8);
                begin + 16 + offset.position(|bytes| bytes == block.offset().to_le_bytes()).unwrap()
            })
            .collect();
        assert_eq!(lengths.len(), 3);
        lengths
    }

    #[test]
    fn lengths_that_no_file_and_no_memory_has_are_errors() {
        let bytes = written(None);
        for at in body_lengths(&bytes) {
            for length in [i64::MAX, -1, 1 << 50] {
                let mut bytes = bytes.clone();
                bytes[at..at + 8].copy_from_slice(&length.to_le_bytes());
                assert!(read(&bytes).is_err());
            }
        }
        // A compressed buffer says how long it becomes.
        let mut bytes = written(Some(CompressionType::ZSTD));
        let length = (1000 * size_of::<i64>() as i64).to_le_bytes();
        let at = bytes.windows(PREFIX).position(|bytes| bytes == length).unwrap();
        for claim in [1 << 30, 0x7f << 48] {
            bytes[at..at + PREFIX].copy_from_slice(&i64::to_le_bytes(claim));
            let error = read(&bytes).unwrap_err().to_string();
            assert!(error.contains("longer than it can be"), "{error}");
        }
    }

    #[test]
    fn a_column_may_be_as_short_compressed_as_its_method_allows() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a".repeat(4 << 20)]));
        let batch = RecordBatch::try_from_iter([("text", texts)]).unwrap();
        for compression in [CompressionType::ZSTD, CompressionType::LZ4_FRAME] {
            let bytes = file_of(std::slice::from_ref(&batch), Some(compression));
            let read = read(&bytes).unwrap();
            assert_eq!(read, std::slice::from_ref(&batch), "{compression:?}");
        }
    }
}
