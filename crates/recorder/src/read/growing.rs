//! Reads a recording while processes write it, and gives back the disk space of what was read.
//!
//! Only bytes before a chunk's `used` are given back while its writer may still exist: the writer never touches them
//! again. What follows them stays allocated, because a writer that meets a hole on a full disk would be ended by SIGBUS.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, fallocate};

use super::{Chunk, ChunkHeader, ReadError, Record, Recording, Records, Where};
use crate::layout::{self, at};

/// How many chunks processes may fill before they are read: 256 MiB.
const AHEAD: u64 = 4096;
/// How long a record that the reader cannot use yet, or a chunk that is allotted and not written, is waited for, and how long
/// a process has to be missing before it counts as gone.
const PATIENCE: Duration = Duration::from_secs(2);
/// The unit in which disk space is given back, in bytes.
const PAGE: u64 = 4096;

/// A recording that is read as it grows.
pub struct Growing {
    file: File,
    path: PathBuf,
    /// Where the first chunk begins that was not found yet.
    next: u64,
    /// Since when nothing is found there although it is allotted.
    waiting: Option<Instant>,
    chunks: Vec<OpenChunk>,
    processes: HashMap<u32, Watched>,
    /// Whether the file system gives back parts of files.
    releases: bool,
    /// The bytes read last, whose memory is used again.
    buffer: Vec<u8>,
}

/// A chunk that may still grow.
struct OpenChunk {
    begin: u64,
    length: u64,
    /// Bytes of records that were read.
    read: usize,
    /// The end of what was given back.
    released: u64,
    at: Where,
    /// Since when a record is waited for.
    waiting: Option<Instant>,
}

/// A process that records.
struct Watched {
    pid: u64,
    /// Whether it has this number here too; in a container it has another one.
    is_here: bool,
    /// Since when it is missing.
    missing: Option<Instant>,
}

/// A part of a growing recording.
pub enum Seen<'a> {
    /// A record.
    Record(Where, Record<'a>),
    /// A process has ended, with or without saying so, and all its records were passed.
    Gone(u32),
}

impl Growing {
    /// Opens a recording, and has processes stop recording when they are too far ahead of the reader.
    ///
    /// # Errors
    /// When the file cannot be read and written, or is not a recording of this version and architecture.
    pub fn open(path: &Path) -> Result<Growing, ReadError> {
        Recording::open(path)?;
        let named = |source| ReadError::Read { path: path.to_owned(), source };
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(named)?;
        let growing = Growing {
            file,
            path: path.to_owned(),
            next: layout::CHUNK as u64,
            waiting: None,
            chunks: Vec::new(),
            processes: HashMap::new(),
            releases: true,
            buffer: Vec::new(),
        };
        growing.move_limit()?;
        Ok(growing)
    }

    /// Passes all records that are new since the last call, in the order of time within a connection. `take` returns whether
    /// it could use a record; one that refers to a text of another connection can come before the text, and is passed again.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn poll(&mut self, mut take: impl FnMut(Seen<'_>) -> bool) -> Result<(), ReadError> {
        self.find_chunks()?;
        let mut buffer = std::mem::take(&mut self.buffer);
        for index in 0..self.chunks.len() {
            self.read_chunk(index, &mut buffer, &mut take)?;
        }
        self.buffer = buffer;
        self.release();
        for process in self.gone() {
            self.processes.remove(&process);
            take(Seen::Gone(process));
        }
        self.move_limit()
    }

    /// Returns the recording as it is now.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn now(&self) -> Result<Recording, ReadError> {
        Recording::open(&self.path)
    }

    /// Returns whether something that was written waits for something else.
    pub fn is_behind(&self) -> bool {
        self.waiting.is_some() || self.chunks.iter().any(|chunk| chunk.waiting.is_some())
    }

    /// Returns whether disk space of what was read is given back.
    pub fn releases(&self) -> bool {
        self.releases
    }

    fn named(&self, source: std::io::Error) -> ReadError {
        ReadError::Read { path: self.path.clone(), source }
    }

    fn bytes<const N: usize>(&self, offset: u64) -> Result<[u8; N], ReadError> {
        let mut bytes = [0; N];
        self.file.read_exact_at(&mut bytes, offset).map_err(|source| self.named(source))?;
        Ok(bytes)
    }

    /// Lets processes record into the chunks after those that were found.
    fn move_limit(&self) -> Result<(), ReadError> {
        let limit = self.next / layout::CHUNK as u64 + AHEAD;
        let written = self.file.write_all_at(&limit.to_ne_bytes(), at::CHUNK_LIMIT as u64);
        written.map_err(|source| self.named(source))
    }

    fn find_chunks(&mut self) -> Result<(), ReadError> {
        let allotted = u64::from_ne_bytes(self.bytes(at::NEXT_CHUNK as u64)?);
        let length = self.file.metadata().map_err(|source| self.named(source))?.len();
        let end = allotted.saturating_mul(layout::CHUNK as u64).min(length);
        while self.next + layout::CHUNK as u64 <= end {
            let bytes: [u8; layout::CHUNK_HEADER] = self.bytes(self.next)?;
            let header = ChunkHeader::of(&bytes);
            if header.records_within(end - self.next).is_some() {
                self.add(&header);
                (self.next, self.waiting) = (self.next + u64::from(header.length), None);
            } else if is_worth_waiting(&mut self.waiting) {
                return Ok(());
            } else {
                // Its writer was killed before it began, or had no disk space.
                (self.next, self.waiting) = (self.next + layout::CHUNK as u64, None);
            }
        }
        Ok(())
    }

    fn add(&mut self, header: &ChunkHeader) {
        self.chunks.push(OpenChunk {
            begin: self.next,
            length: header.length.into(),
            read: 0,
            released: self.next,
            at: Where { process: header.process, connection: header.connection, time: header.time },
            waiting: None,
        });
    }

    fn read_chunk(
        &mut self,
        index: usize,
        buffer: &mut Vec<u8>,
        take: &mut impl FnMut(Seen<'_>) -> bool,
    ) -> Result<(), ReadError> {
        let chunk = &self.chunks[index];
        let header: [u8; layout::CHUNK_HEADER] = self.bytes(chunk.begin)?;
        let used = ChunkHeader::of(&header).records_within(chunk.length);
        let Some(new) = used.and_then(|used| used.checked_sub(chunk.read)).filter(|new| *new > 0)
        else {
            return Ok(());
        };
        buffer.resize(new, 0);
        let begin = chunk.begin + (layout::CHUNK_HEADER + chunk.read) as u64;
        self.file.read_exact_at(buffer, begin).map_err(|source| self.named(source))?;
        let Where { process, connection, time } = chunk.at;
        let mut records = Records::new(&Chunk { process, connection, time, records: buffer });
        let chunk = &mut self.chunks[index];
        let mut rest = new;
        while let Some((at, record)) = records.next() {
            if let Record::Process(process) = &record {
                let watched = Watched::of(process.pid, process.parent, &self.processes);
                self.processes.insert(at.process, watched);
            }
            if !take(Seen::Record(at, record)) && is_worth_waiting(&mut chunk.waiting) {
                break;
            }
            rest = records.unreadable();
            (chunk.at, chunk.waiting) = (at, None);
        }
        chunk.read += new - rest;
        Ok(())
    }

    /// Gives back the disk space of what was read, and forgets chunks whose writer has gone on to another one.
    fn release(&mut self) {
        // A writer begins its next chunk with the number of the connection whose records the chunk before ended with.
        let mut latest: HashMap<(u32, u32), u64> = HashMap::new();
        for chunk in &self.chunks {
            latest.insert((chunk.at.process, chunk.at.connection), chunk.begin);
        }
        let mut chunks = std::mem::take(&mut self.chunks);
        chunks.retain_mut(|chunk| {
            let is_read = chunk.waiting.is_none();
            let is_done = is_read && latest[&(chunk.at.process, chunk.at.connection)] > chunk.begin;
            let read = chunk.begin + (layout::CHUNK_HEADER + chunk.read) as u64;
            let end = if is_done { chunk.begin + chunk.length } else { read / PAGE * PAGE };
            // The header stays while the chunk can grow.
            let begin = if is_done { chunk.begin } else { chunk.released.max(chunk.begin + PAGE) };
            if end > begin {
                self.give_back(begin, end);
                chunk.released = end;
            }
            !is_done
        });
        self.chunks = chunks;
    }

    fn give_back(&mut self, begin: u64, end: u64) {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        self.releases &= fallocate(&self.file, flags, begin, end - begin).is_ok();
    }

    /// Forgets processes that do not exist any more, and returns them.
    fn gone(&mut self) -> Vec<u32> {
        let mut gone = Vec::new();
        for (number, process) in &mut self.processes {
            if exists(process.pid) {
                process.missing = None;
            } else if process.is_here && !is_worth_waiting(&mut process.missing) {
                gone.push(*number);
            }
        }
        let mut chunks = std::mem::take(&mut self.chunks);
        chunks.retain(|chunk| {
            let stays = !gone.contains(&chunk.at.process);
            if !stays {
                self.give_back(chunk.begin, chunk.begin + chunk.length);
            }
            stays
        });
        self.chunks = chunks;
        gone
    }
}

impl Watched {
    /// Returns a process that has just begun to record. It has this number here only if it exists, or its parent does: a
    /// container has numbers of its own.
    fn of(pid: u64, parent: u64, others: &HashMap<u32, Watched>) -> Watched {
        let is_known = |pid: u64| others.values().any(|other| other.pid == pid);
        let is_here = exists(pid) || parent == u64::from(std::process::id()) || is_known(parent);
        Watched { pid, is_here, missing: None }
    }
}

/// Returns whether something is waited for no longer than it is worth.
fn is_worth_waiting(since: &mut Option<Instant>) -> bool {
    since.get_or_insert_with(Instant::now).elapsed() < PATIENCE
}

fn exists(pid: u64) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}
