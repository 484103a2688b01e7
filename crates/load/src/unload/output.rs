//! Where the rows of a file go: through a compression to the file, or to standard output.

use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::write::GzEncoder;

use super::Compression;

/// Bytes that are written at a time, or fewer.
pub(super) const BLOCK: usize = 256 << 10;

/// Counts what is written.
pub(super) struct Counted {
    to: Box<dyn Write + Send>,
    bytes: Arc<AtomicU64>,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.to.write(bytes)?;
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// A file with its compression.
pub(super) enum Output {
    Plain(BufWriter<Counted>),
    Gzip(GzEncoder<BufWriter<Counted>>),
    Zstd(zstd::Encoder<'static, BufWriter<Counted>>),
}

impl Output {
    pub(super) fn new(
        to: Box<dyn Write + Send>,
        bytes: &Arc<AtomicU64>,
        compression: Compression,
        block: usize,
    ) -> io::Result<Output> {
        let counted = BufWriter::with_capacity(block, Counted { to, bytes: Arc::clone(bytes) });
        Ok(match compression {
            Compression::None => Output::Plain(counted),
            Compression::Gzip => Output::Gzip(GzEncoder::new(counted, Default::default())),
            Compression::Zstd => Output::Zstd(zstd::Encoder::new(counted, 0)?),
        })
    }

    /// Writes the end.
    pub(super) fn finish(self) -> io::Result<()> {
        let mut buffered = match self {
            Output::Plain(buffered) => buffered,
            Output::Gzip(encoder) => encoder.finish()?,
            Output::Zstd(encoder) => encoder.finish()?,
        };
        buffered.flush()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::Plain(output) => output.write(bytes),
            Output::Gzip(output) => output.write(bytes),
            Output::Zstd(output) => output.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Plain(output) => output.flush(),
            Output::Gzip(output) => output.flush(),
            Output::Zstd(output) => output.flush(),
        }
    }
}
