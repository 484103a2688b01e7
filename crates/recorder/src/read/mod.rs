//! Reads a raw recording, however it ended: a process that was killed leaves at most one record unfinished,
//! and whatever else a file contains, reading it ends with an error or with a count of what was unreadable.

mod growing;
mod records;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::layout::{self, at, lost};

pub use growing::{Growing, Seen};
pub use records::{
    ConnectionRecord, Ended, FileIdentity, FileRecord, Hashed, LibraryRecord, ProcessRecord,
    Record, Records, Text, Transaction, Value, Values, Where,
};

/// Why a recording cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system could not read the file.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// It is another file.
    #[error("{} is not a recording", .0.display())]
    NotARecording(PathBuf),
    /// It was recorded by another version.
    #[error("{} has format {found}; this version of pragmark reads format {}", path.display(), layout::VERSION)]
    Version {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// It was recorded on a machine of the other byte order.
    #[error("{} was recorded on a machine of another architecture", .0.display())]
    Architecture(PathBuf),
}

/// A recording.
pub struct Recording {
    file: File,
    path: PathBuf,
    length: u64,
    header: Vec<u8>,
}

/// Why processes stopped recording before they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// There was no more disk space.
    pub space: bool,
    /// The file could not be opened any more, for example because of other permissions.
    pub file: bool,
    /// There was no more memory.
    pub memory: bool,
    /// A connection had more open statements than are recorded; only statements were left out.
    pub statements: bool,
    /// A process had more open connections than have commits recorded; only their commits were left out.
    pub commits: bool,
    /// Whoever reads the recording while it grows was too far behind.
    pub unread: bool,
}

impl Recording {
    /// Opens a recording.
    ///
    /// # Errors
    /// When the file cannot be read, or is not a recording of this version and architecture.
    pub fn open(path: &Path) -> Result<Recording, ReadError> {
        let path = path.to_owned();
        let read = |source| ReadError::Read { path: path.clone(), source };
        let file = File::open(&path).map_err(read)?;
        let length = file.metadata().map_err(read)?.len();
        let mut header = vec![0; layout::SNAPSHOT_TABLE];
        if length < layout::CHUNK as u64 {
            return Err(ReadError::NotARecording(path));
        }
        file.read_exact_at(&mut header, 0).map_err(read)?;
        let recording = Recording { file, path, length, header };
        recording.check()?;
        Ok(recording)
    }

    fn check(&self) -> Result<(), ReadError> {
        if !self.header.starts_with(layout::MAGIC) {
            return Err(ReadError::NotARecording(self.path.clone()));
        }
        if self.u32(at::BYTE_ORDER) != layout::BYTE_ORDER_MARK {
            return Err(ReadError::Architecture(self.path.clone()));
        }
        match self.u32(at::VERSION) {
            layout::VERSION => Ok(()),
            found => Err(ReadError::Version { path: self.path.clone(), found }),
        }
    }

    fn u32(&self, at: usize) -> u32 {
        number(&self.header, at)
    }

    fn u64(&self, at: usize) -> u64 {
        wide_number(&self.header, at)
    }

    /// When recording began, in nanoseconds since 1970.
    pub fn started_wall(&self) -> u64 {
        self.u64(at::STARTED_WALL)
    }

    /// When recording began, in nanoseconds of the clock of all times in it.
    pub fn started(&self) -> u64 {
        self.u64(at::STARTED_MONOTONIC)
    }

    /// Returns whether texts and blobs were hashed.
    pub fn is_redacted(&self) -> bool {
        self.u32(at::REDACT) != 0
    }

    /// Returns how many tickets were given to commits.
    pub fn tickets(&self) -> u64 {
        self.u64(at::NEXT_TICKET)
    }

    /// In how many processes the recorder was loaded, whether or not they used SQLite.
    pub fn preloaded(&self) -> u32 {
        self.u32(at::PRELOADED)
    }

    /// Returns why processes stopped recording before they ended.
    pub fn lost(&self) -> Lost {
        let bits = self.u32(at::LOST);
        Lost {
            space: bits & lost::SPACE != 0,
            file: bits & lost::FILE != 0,
            memory: bits & lost::MEMORY != 0,
            statements: bits & lost::STATEMENTS != 0,
            commits: bits & lost::COMMITS != 0,
            unread: bits & lost::UNREAD != 0,
        }
    }

    /// Passes the chunks in the order of their allotment, which is the order of time within a connection.
    /// Returns how many bytes of chunks were unreadable.
    ///
    /// # Errors
    /// When the file cannot be read, or `visit` fails.
    pub fn for_each_chunk<E: From<ReadError>>(
        &self,
        mut visit: impl FnMut(Chunk<'_>) -> Result<(), E>,
    ) -> Result<u64, E> {
        let (mut offset, mut unreadable) = (layout::CHUNK as u64, 0);
        let mut buffer = Vec::new();
        while offset + layout::CHUNK as u64 <= self.length {
            match self.read_chunk(offset, &mut buffer)? {
                Content::Chunk(header) => {
                    visit(header.chunk(&buffer))?;
                    offset += u64::from(header.length);
                }
                Content::Unused => offset += layout::CHUNK as u64,
                Content::Unreadable => {
                    unreadable += layout::CHUNK as u64;
                    offset += layout::CHUNK as u64;
                }
            }
        }
        Ok(unreadable)
    }

    /// Reads the chunk at an offset; `buffer` then has its records.
    fn read_chunk(&self, offset: u64, buffer: &mut Vec<u8>) -> Result<Content, ReadError> {
        let read = |source| ReadError::Read { path: self.path.clone(), source };
        let mut bytes = [0; layout::CHUNK_HEADER];
        self.file.read_exact_at(&mut bytes, offset).map_err(read)?;
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(Content::Unused);
        }
        let header = ChunkHeader::of(&bytes);
        let Some(used) = header.records_within(self.length - offset) else {
            return Ok(Content::Unreadable);
        };
        buffer.resize(used, 0);
        let begin = offset + layout::CHUNK_HEADER as u64;
        self.file.read_exact_at(buffer, begin).map_err(read)?;
        Ok(Content::Chunk(header))
    }
}

/// The content at the place of a chunk.
enum Content {
    Chunk(ChunkHeader),
    Unused,
    Unreadable,
}

struct ChunkHeader {
    magic: u32,
    length: u32,
    used: u32,
    process: u32,
    time: u64,
    connection: u32,
}

impl ChunkHeader {
    fn of(bytes: &[u8]) -> ChunkHeader {
        ChunkHeader {
            magic: number(bytes, 0),
            length: number(bytes, 4),
            used: number(bytes, 8),
            process: number(bytes, 12),
            time: wide_number(bytes, 16),
            connection: number(bytes, 24),
        }
    }

    /// Returns how many bytes of records there are, if the chunk is one and fits into what the file has left.
    fn records_within(&self, left: u64) -> Option<usize> {
        let length = self.length as usize;
        let fits = self.magic == layout::CHUNK_MAGIC
            && length >= layout::CHUNK
            && length.is_multiple_of(layout::CHUNK)
            && u64::from(self.length) <= left
            && self.used as usize <= length - layout::CHUNK_HEADER;
        fits.then_some(self.used as usize)
    }

    fn chunk<'a>(&self, records: &'a [u8]) -> Chunk<'a> {
        Chunk { process: self.process, connection: self.connection, time: self.time, records }
    }
}

/// The records of one chunk.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    /// The process that wrote it.
    pub process: u32,
    /// The connection to which its first records belong; 0 for records of the process.
    pub connection: u32,
    /// The time to which the first record is relative, in nanoseconds.
    pub time: u64,
    /// The records.
    pub records: &'a [u8],
}

impl<'a> Chunk<'a> {
    /// Its records, one after the other.
    pub fn records(&self) -> Records<'a> {
        Records::new(self)
    }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    let mut four = [0; 4];
    four.copy_from_slice(&bytes[at..at + 4]);
    u32::from_ne_bytes(four)
}

fn wide_number(bytes: &[u8], at: usize) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[at..at + 8]);
    u64::from_ne_bytes(eight)
}
