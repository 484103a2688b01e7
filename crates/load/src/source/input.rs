//! Bytes from a file or standard input, decompressed where they are compressed, and text in UTF-8 whatever
//! encoding it was in.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::encoding::{Decoded, Encoding, Wide};
use super::format::{BYTE_ORDER_MARK, MAGIC_BYTES, unreadable_bytes};
use crate::error::{LoadError, Result};

/// A stream of bytes with a name, that knows how much of it has been read.
pub struct Input {
    pub(crate) name: String,
    reader: Box<dyn Read + Send>,
    read: Arc<AtomicU64>,
    pub(crate) total: Option<u64>,
    encoding: Encoding,
}

/// The first bytes of gzip (RFC 1952, section 2.3.1).
const GZIP: &[u8] = &[0x1f, 0x8b];
/// The first bytes of a Zstandard frame (RFC 8878, section 3.1.1).
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Bytes from which the format of a text is detected.
const BEGINNING: u64 = 512;
/// How much is read from the file at a time.
const BUFFER: usize = 64 << 10;

impl Input {
    /// Opens a file, or standard input for the path `-`. Compression is detected from the first
    /// bytes, not from the name; its encoding, where none is named, by the byte order mark, and it is UTF-8
    /// without one.
    ///
    /// # Errors
    /// The file cannot be opened or read, or its format is not a text format.
    pub fn open(path: &Path, encoding: Option<Encoding>) -> Result<Input> {
        if path == Path::new("-") {
            return Input::new("standard input".to_owned(), io::stdin(), None, encoding);
        }
        let unusable = LoadError::open(path);
        let file = File::open(path).map_err(&unusable)?;
        let metadata = file.metadata().map_err(&unusable)?;
        if metadata.is_dir() {
            return Err(unusable(io::ErrorKind::IsADirectory.into()));
        }
        // A pipe has no known length.
        let total = metadata.is_file().then_some(metadata.len());
        Input::new(path.display().to_string(), file, total, encoding)
    }

    /// Bytes in memory, under a name for messages; otherwise as a file.
    ///
    /// # Errors
    /// Their format is not a text format, or they cannot be decompressed.
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Input> {
        let total = Some(bytes.len() as u64);
        Input::new(name.to_owned(), io::Cursor::new(bytes), total, None)
    }

    fn new(
        name: String,
        raw: impl Read + Send + 'static,
        total: Option<u64>,
        encoding: Option<Encoding>,
    ) -> Result<Input> {
        let read = Arc::new(AtomicU64::new(0));
        let counted = Counted { raw, read: Arc::clone(&read) };
        let failed = |source| LoadError::Read(name.clone(), source);
        let raw = BufReader::with_capacity(BUFFER, counted);
        let (bytes, was_compressed) = decompressed(raw).map_err(failed)?;
        let (beginning, bytes) = peeked(bytes, MAGIC_BYTES).map_err(failed)?;
        if let Some(reason) = unreadable_bytes(&beginning, was_compressed) {
            return Err(LoadError::form(name, reason));
        }
        if encoding.is_none()
            && let Some(looks) = Wide::of(&beginning)
        {
            return Err(LoadError::WideEncoding(name, looks.into()));
        }
        let (reader, encoding) = in_utf_8(bytes, &beginning, encoding).map_err(failed)?;
        Ok(Input { name, reader, read, total, encoding })
    }

    /// Returns the first bytes of the text, from which its format is detected; they are read nevertheless.
    pub(crate) fn beginning(&mut self) -> Result<Vec<u8>> {
        self.first(BEGINNING)
    }

    /// Returns whether the text holds nothing but blanks, or an empty array.
    pub(crate) fn is_without_rows(&mut self) -> Result<bool> {
        let beginning = self.beginning()?;
        let is_all = (beginning.len() as u64) < BEGINNING;
        let text = beginning.trim_ascii();
        let inner = text.strip_prefix(b"[").and_then(|text| text.strip_suffix(b"]"));
        Ok(is_all && inner.unwrap_or(text).trim_ascii().is_empty())
    }

    /// Returns this number of first bytes of the text, which are read nevertheless.
    pub(crate) fn first(&mut self, count: u64) -> Result<Vec<u8>> {
        let reader = std::mem::replace(&mut self.reader, Box::new(io::empty()));
        let (beginning, reader) =
            peeked(reader, count).map_err(|source| LoadError::Read(self.name.clone(), source))?;
        self.reader = reader;
        Ok(beginning)
    }

    /// Reads the text through another reader.
    pub(super) fn map(
        self,
        through: impl FnOnce(Box<dyn Read + Send>) -> Box<dyn Read + Send>,
    ) -> Input {
        Input { reader: through(self.reader), ..self }
    }

    /// Closes the file, of which nothing more is read.
    pub(super) fn close(&mut self) {
        self.reader = Box::new(io::empty());
    }

    /// Returns the name of the encoding that the text is in.
    pub(crate) fn encoding(&self) -> &'static str {
        self.encoding.name()
    }

    /// Bytes read so far, before decompression.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Fills the buffer as far as there is input; less than its length only at the end.
    pub(crate) fn fill(&mut self, mut buffer: &mut [u8]) -> Result<usize> {
        let wanted = buffer.len();
        while !buffer.is_empty() {
            match self.reader.read(buffer) {
                Ok(0) => break,
                Ok(count) => buffer = &mut buffer[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(LoadError::Read(self.name.clone(), source));
                }
            }
        }
        Ok(wanted - buffer.len())
    }
}

/// Returns the bytes, and whether they were compressed.
fn decompressed(
    mut raw: impl BufRead + Send + 'static,
) -> io::Result<(Box<dyn Read + Send>, bool)> {
    let beginning = raw.fill_buf()?;
    Ok(if beginning.starts_with(GZIP) {
        (Box::new(flate2::bufread::MultiGzDecoder::new(raw)), true)
    } else if beginning.starts_with(ZSTD) {
        (Box::new(zstd::Decoder::with_buffer(raw)?), true)
    } else {
        (Box::new(raw), false)
    })
}

/// Reads this number of first bytes, and returns them with a reader of all bytes.
fn peeked(
    mut reader: Box<dyn Read + Send>,
    count: u64,
) -> io::Result<(Vec<u8>, Box<dyn Read + Send>)> {
    let mut beginning = Vec::new();
    (&mut reader).take(count).read_to_end(&mut beginning)?;
    let all = io::Cursor::new(beginning.clone()).chain(reader);
    Ok((beginning, Box::new(all)))
}

/// Decodes text that is in another encoding than UTF-8, and passes over the mark that may stand before UTF-8.
fn in_utf_8(
    mut bytes: Box<dyn Read + Send>,
    beginning: &[u8],
    named: Option<Encoding>,
) -> io::Result<(Box<dyn Read + Send>, Encoding)> {
    let marked = Encoding::of_mark(beginning);
    let encoding = match named {
        None => marked.unwrap_or(Encoding::UTF_8),
        // For UTF-16 the mark gives the byte order, which the name may leave open.
        Some(named) if named.is_utf_16() => {
            marked.filter(|marked| marked.is_utf_16()).unwrap_or(named)
        }
        Some(named) => named,
    };
    if encoding == Encoding::UTF_8 {
        if beginning.starts_with(BYTE_ORDER_MARK) {
            bytes.read_exact(&mut [0; BYTE_ORDER_MARK.len()])?;
        }
        return Ok((bytes, encoding));
    }
    let decoded = Decoded::new(BufReader::new(bytes), encoding);
    Ok((Box::new(decoded), encoding))
}

/// Counts what is read from the file.
struct Counted<R> {
    raw: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.raw.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text as it is read, and the encoding it is said to be in.
    fn read(bytes: Vec<u8>, named: Option<&str>) -> (String, &'static str) {
        let named = named.map(|label| label.parse().unwrap());
        let mut input = Input::new("test".to_owned(), io::Cursor::new(bytes), None, named).unwrap();
        let mut text = vec![0; 100];
        let length = input.fill(&mut text).unwrap();
        text.truncate(length);
        (String::from_utf8(text).unwrap(), input.encoding())
    }

    #[test]
    fn the_order_of_bytes_of_utf_16_is_the_one_that_its_mark_tells() {
        let big = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let little = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let expected = |encoding| ("a,é\n".to_owned(), encoding);
        for named in [None, Some("utf-16"), Some("utf-16le"), Some("utf-16be")] {
            let found = read(big("\u{feff}a,é\n"), named);
            assert_eq!(found, expected("UTF-16BE"), "{named:?}");
            let found = read(little("\u{feff}a,é\n"), named);
            assert_eq!(found, expected("UTF-16LE"), "{named:?}");
        }
        // Without one it is as it is named.
        assert_eq!(read(big("a,é\n"), Some("utf-16be")), expected("UTF-16BE"));
        assert_eq!(read(little("a,é\n"), Some("utf-16")), expected("UTF-16LE"));
        let latin = b"a,\xe9\n".to_vec();
        assert_eq!(read(latin, Some("latin1")), expected("windows-1252"));
    }
}
