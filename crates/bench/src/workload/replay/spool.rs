//! A spool: records in a file, which are read again in the order in which they were written, by stream. Each connection or
//! thread has a stream of its own. So a replay needs no more memory for a long recording than for a short one.
//!
//! Records of a stream are collected until they fill a segment, which is then written behind the segments of other streams.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Result, TrialError};

/// Bytes of records that are collected for a segment.
const SEGMENT: usize = 64 << 10;

/// Bytes of the length before each record.
const LENGTH: usize = size_of::<u32>();

/// Bytes of all streams that are collected at most.
const COLLECTED: usize = 16 << 20;

/// The place of a segment in the file.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Segment {
    offset: u64,
    length: usize,
}

/// A spool that is written.
pub(super) struct SpoolWriter {
    file: File,
    path: PathBuf,
    length: u64,
    streams: HashMap<i64, (Vec<Segment>, Vec<u8>)>,
    collected: usize,
}

impl SpoolWriter {
    /// Creates a spool in a file of this path.
    ///
    /// # Errors
    /// The file exists or cannot be created.
    pub(super) fn create(path: &Path) -> Result<SpoolWriter> {
        let mut options = File::options();
        let file = options.read(true).write(true).create_new(true).open(path);
        Ok(SpoolWriter {
            file: file.map_err(TrialError::io("make", path))?,
            path: path.to_owned(),
            length: 0,
            streams: HashMap::new(),
            collected: 0,
        })
    }

    /// Appends a record to a stream.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn append(&mut self, stream: i64, record: &impl Serialize) -> Result<()> {
        let record = postcard::to_stdvec(record).map_err(TrialError::because)?;
        let (_, collected) = self.streams.entry(stream).or_default();
        collected.extend_from_slice(&(record.len() as u32).to_le_bytes());
        collected.extend_from_slice(&record);
        self.collected += LENGTH + record.len();
        if collected.len() >= SEGMENT {
            self.flush(stream)?;
        }
        if self.collected >= COLLECTED { self.flush_all() } else { Ok(()) }
    }

    /// Writes bytes that belong to no stream. Returns their place.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn store(&mut self, bytes: &[u8]) -> Result<u64> {
        let offset = self.length;
        self.file.write_all(bytes).map_err(TrialError::io("write", &self.path))?;
        self.length += bytes.len() as u64;
        Ok(offset)
    }

    fn flush(&mut self, stream: i64) -> Result<()> {
        let collected = match self.streams.get_mut(&stream) {
            Some((_, collected)) if !collected.is_empty() => std::mem::take(collected),
            _ => return Ok(()),
        };
        let offset = self.store(&collected)?;
        self.collected -= collected.len();
        let length = collected.len();
        let (segments, _) = self.streams.entry(stream).or_default();
        segments.push(Segment { offset, length });
        Ok(())
    }

    fn flush_all(&mut self) -> Result<()> {
        let streams: Vec<i64> = self.streams.keys().copied().collect();
        streams.into_iter().try_for_each(|stream| self.flush(stream))
    }

    /// Ends the spool and syncs it, so that it is not written during a measurement.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn finish(mut self) -> Result<Spool> {
        self.flush_all()?;
        self.file.sync_data().map_err(TrialError::io("write", &self.path))?;
        let streams = self.streams.into_iter();
        Ok(Spool {
            tape: Tape { file: self.file, path: self.path, is_owned: true },
            streams: streams.map(|(stream, (segments, _))| (stream, segments)).collect(),
        })
    }
}

/// A spool that is read. Its file is removed with it, by the process that has written it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Spool {
    tape: Tape,
    streams: HashMap<i64, Vec<Segment>>,
}

/// The file of a spool, removed by the process that wrote it; to other processes it is sent as its path.
#[derive(Debug, Deserialize)]
#[serde(try_from = "PathBuf")]
struct Tape {
    file: File,
    path: PathBuf,
    is_owned: bool,
}

impl TryFrom<PathBuf> for Tape {
    type Error = TrialError;

    fn try_from(path: PathBuf) -> Result<Tape> {
        let file = File::open(&path).map_err(TrialError::io("read", &path))?;
        Ok(Tape { file, path, is_owned: false })
    }
}

impl Serialize for Tape {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.path.serialize(serializer)
    }
}

impl Spool {
    /// Returns some streams of the spool, for another process.
    ///
    /// # Errors
    /// The file cannot be opened once more.
    pub(super) fn part(&self, streams: impl Iterator<Item = i64>) -> Result<Spool> {
        let streams =
            streams.filter_map(|stream| Some((stream, self.streams.get(&stream)?.clone())));
        Ok(Spool { tape: Tape::try_from(self.tape.path.clone())?, streams: streams.collect() })
    }

    /// Returns the records of a stream, which may be empty.
    pub(super) fn stream(&self, stream: i64) -> Stream<'_> {
        Stream {
            spool: self,
            segments: self.streams.get(&stream).map_or(&[], Vec::as_slice),
            records: Vec::new(),
            position: 0,
        }
    }

    /// Reads bytes that were stored apart.
    pub(super) fn stored(&self, offset: u64, length: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        let read = self.tape.file.read_exact_at(&mut bytes, offset);
        read.map_err(TrialError::io("read", &self.tape.path))?;
        Ok(bytes)
    }

    pub(super) fn torn(&self) -> TrialError {
        TrialError::Measuring(format!("{} ends within a record", self.tape.path.display()))
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        if self.is_owned {
            // The directory of the trial is removed in any case.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The records of a stream, one after the other.
pub(super) struct Stream<'t> {
    pub(super) spool: &'t Spool,
    segments: &'t [Segment],
    records: Vec<u8>,
    position: usize,
}

impl Stream<'_> {
    /// Reads the next record; `None` after the last one.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn record(&mut self) -> Result<Option<&[u8]>> {
        if self.position == self.records.len() && !self.next_segment()? {
            return Ok(None);
        }
        let (length, rest) =
            self.records[self.position..].split_first_chunk().ok_or_else(|| self.spool.torn())?;
        let record =
            rest.get(..u32::from_le_bytes(*length) as usize).ok_or_else(|| self.spool.torn())?;
        self.position += LENGTH + record.len();
        Ok(Some(record))
    }

    /// Reads the next record as a value; `None` after the last one.
    ///
    /// # Errors
    /// As [`Stream::record`].
    pub(super) fn read<T: DeserializeOwned>(&mut self) -> Result<Option<T>> {
        let spool = self.spool;
        let Some(record) = self.record()? else { return Ok(None) };
        postcard::from_bytes(record).map(Some).map_err(|_| spool.torn())
    }

    fn next_segment(&mut self) -> Result<bool> {
        let Some((next, others)) = self.segments.split_first() else { return Ok(false) };
        self.segments = others;
        self.records.resize(next.length, 0);
        self.position = 0;
        let tape = &self.spool.tape;
        let read = tape.file.read_exact_at(&mut self.records, next.offset);
        read.map_err(TrialError::io("read", &tape.path))?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reels_have_their_records_in_order_however_many_segments_there_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tape");
        let mut writer = SpoolWriter::create(&path).unwrap();
        let record =
            |stream: i64, number: usize| vec![(stream as usize + number) as u8; number % 300];
        for number in 0..2_000 {
            for stream in 0..3 {
                writer.append(stream, &record(stream, number)).unwrap();
            }
        }
        let spool = writer.finish().unwrap();
        assert!(spool.streams[&0].len() > 1);
        for stream in 0..3 {
            let mut records = spool.stream(stream);
            for number in 0..2_000 {
                assert_eq!(records.read::<Vec<u8>>().unwrap().unwrap(), record(stream, number));
            }
            assert_eq!(records.record().unwrap(), None);
        }
        assert_eq!(spool.stream(9).record().unwrap(), None);
        drop(spool);
        assert!(!path.exists());
    }
}
