//! Bytes from a file or standard input, decompressed where they are compressed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::LoadError;

/// A stream of bytes with a name, that knows how much of it has been read.
pub struct Input {
    name: String,
    reader: Box<dyn Read + Send>,
    read: Arc<AtomicU64>,
    total: Option<u64>,
}

/// The first bytes of gzip (RFC 1952, section 2.3.1).
const GZIP: &[u8] = &[0x1f, 0x8b];
/// The first bytes of a Zstandard frame (RFC 8878, section 3.1.1).
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// How much is read from the file at a time.
const BUFFER: usize = 256 << 10;

impl Input {
    /// Opens a file, or standard input for the path `-`. Whether it is compressed is told by its first
    /// bytes, not by its name.
    ///
    /// # Errors
    /// The file cannot be opened or read.
    pub fn open(path: &Path) -> Result<Input, LoadError> {
        if path == Path::new("-") {
            return Input::new("standard input".to_owned(), io::stdin(), None);
        }
        let unusable = |source| LoadError::Open {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(unusable)?;
        let metadata = file.metadata().map_err(unusable)?;
        if metadata.is_dir() {
            return Err(unusable(io::ErrorKind::IsADirectory.into()));
        }
        // A pipe has no length to tell.
        let total = metadata.is_file().then_some(metadata.len());
        Input::new(path.display().to_string(), file, total)
    }

    /// Bytes in memory, under a name for messages.
    ///
    /// # Errors
    /// None that is known; decompression is set up as for a file.
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Input, LoadError> {
        let total = Some(bytes.len() as u64);
        Input::new(name.to_owned(), io::Cursor::new(bytes), total)
    }

    fn new(
        name: String,
        raw: impl Read + Send + 'static,
        total: Option<u64>,
    ) -> Result<Input, LoadError> {
        let read = Arc::new(AtomicU64::new(0));
        let counted = Counted {
            raw,
            read: Arc::clone(&read),
        };
        let reader = decompressed(BufReader::with_capacity(BUFFER, counted)).map_err(|source| {
            LoadError::Read {
                input: name.clone(),
                source,
            }
        })?;
        Ok(Input {
            name,
            reader,
            read,
            total,
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn total(&self) -> Option<u64> {
        self.total
    }

    /// Bytes read so far, before decompression.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Fills the buffer as far as there is input; less than asked for only at the end.
    pub(crate) fn fill(&mut self, mut buffer: &mut [u8]) -> Result<usize, LoadError> {
        let wanted = buffer.len();
        while !buffer.is_empty() {
            match self.reader.read(buffer) {
                Ok(0) => break,
                Ok(count) => buffer = &mut buffer[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(LoadError::Read {
                        input: self.name.clone(),
                        source,
                    });
                }
            }
        }
        Ok(wanted - buffer.len())
    }
}

fn decompressed(mut raw: impl BufRead + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let beginning = raw.fill_buf()?;
    Ok(if beginning.starts_with(GZIP) {
        Box::new(flate2::bufread::MultiGzDecoder::new(raw))
    } else if beginning.starts_with(ZSTD) {
        Box::new(zstd::Decoder::with_buffer(raw)?)
    } else {
        Box::new(raw)
    })
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
