//! Tapes: records in a file, which are read again in the order in which they were written, for each connection or lane
//! by itself. So a replay needs no more memory for a long recording than for a short one.
//!
//! Records of one **reel** are collected until they fill a segment, which is then written behind those of other reels.

mod call;
mod number;

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::TrialError;

pub(super) use call::{Calls, Mark, Recorded, Span, Take, TakeIndex};
pub(super) use number::{Input, put, put_signed};

/// Bytes of records that are collected for a segment.
const SEGMENT: usize = 64 << 10;

/// Bytes of all reels that are collected at most.
const COLLECTED: usize = 16 << 20;

/// Where a segment is in the file.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Segment {
    offset: u64,
    length: usize,
}

/// A tape that is written.
#[derive(Debug)]
pub(super) struct Writer {
    file: File,
    path: PathBuf,
    length: u64,
    reels: HashMap<i64, (Vec<Segment>, Vec<u8>)>,
    collected: usize,
}

impl Writer {
    /// A new tape in a file of this path.
    ///
    /// # Errors
    /// The file exists or cannot be made.
    pub(super) fn create(path: &Path) -> Result<Writer, TrialError> {
        let mut options = File::options();
        let file = options.read(true).write(true).create_new(true).open(path);
        Ok(Writer {
            file: file.map_err(TrialError::io("make", path))?,
            path: path.to_owned(),
            length: 0,
            reels: HashMap::new(),
            collected: 0,
        })
    }

    /// Appends a record to a reel.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn append(&mut self, reel: i64, record: &[u8]) -> Result<(), TrialError> {
        let (_, collected) = self.reels.entry(reel).or_default();
        let before = collected.len();
        put(collected, record.len() as u64);
        collected.extend_from_slice(record);
        self.collected += collected.len() - before;
        if collected.len() >= SEGMENT {
            self.flush(reel)?;
        }
        match self.collected >= COLLECTED {
            true => self.flush_all(),
            false => Ok(()),
        }
    }

    /// Writes bytes that belong to no reel; where they are.
    ///
    /// # Errors
    /// The file cannot be written.
    fn store(&mut self, bytes: &[u8]) -> Result<u64, TrialError> {
        let offset = self.length;
        let written = self.file.write_all(bytes);
        written.map_err(TrialError::io("write", &self.path))?;
        self.length += bytes.len() as u64;
        Ok(offset)
    }

    fn flush(&mut self, reel: i64) -> Result<(), TrialError> {
        let collected = match self.reels.get_mut(&reel) {
            Some((_, collected)) if !collected.is_empty() => std::mem::take(collected),
            _ => return Ok(()),
        };
        let offset = self.store(&collected)?;
        self.collected -= collected.len();
        let length = collected.len();
        let (segments, _) = self.reels.entry(reel).or_default();
        segments.push(Segment { offset, length });
        Ok(())
    }

    fn flush_all(&mut self) -> Result<(), TrialError> {
        let reels: Vec<i64> = self.reels.keys().copied().collect();
        reels.into_iter().try_for_each(|reel| self.flush(reel))
    }

    /// Ends the tape. What it contains is on the disk, so that it is not written while something is measured.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn finish(mut self) -> Result<Tape, TrialError> {
        self.flush_all()?;
        let synced = self.file.sync_data();
        synced.map_err(TrialError::io("write", &self.path))?;
        let reels = self.reels.into_iter();
        Ok(Tape {
            file: self.file,
            path: self.path,
            reels: reels.map(|(reel, (segments, _))| (reel, segments)).collect(),
            is_owned: true,
        })
    }
}

/// A tape that is read. Its file is removed with it, by the process that has written it.
#[derive(Debug)]
pub(super) struct Tape {
    file: File,
    path: PathBuf,
    reels: HashMap<i64, Vec<Segment>>,
    is_owned: bool,
}

/// What another process needs to read a tape.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct TapeIndex {
    path: PathBuf,
    reels: HashMap<i64, Vec<Segment>>,
}

impl Tape {
    /// Some reels of the tape, for another process.
    pub(super) fn index(&self, reels: impl Iterator<Item = i64>) -> TapeIndex {
        let reels = reels.filter_map(|reel| Some((reel, self.reels.get(&reel)?.clone())));
        TapeIndex { path: self.path.clone(), reels: reels.collect() }
    }

    /// The tape of another process.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn open(index: TapeIndex) -> Result<Tape, TrialError> {
        let file = File::open(&index.path);
        Ok(Tape {
            file: file.map_err(TrialError::io("read", &index.path))?,
            path: index.path,
            reels: index.reels,
            is_owned: false,
        })
    }

    /// The records of a reel; none if there is no such reel.
    pub(super) fn reel(&self, reel: i64) -> Reel<'_> {
        Reel {
            tape: self,
            segments: self.reels.get(&reel).map_or(&[], Vec::as_slice),
            records: Vec::new(),
            position: 0,
        }
    }

    /// Bytes that were stored apart.
    fn stored(&self, offset: u64, length: usize) -> Result<Vec<u8>, TrialError> {
        let mut bytes = vec![0; length];
        let read = self.file.read_exact_at(&mut bytes, offset);
        read.map_err(TrialError::io("read", &self.path))?;
        Ok(bytes)
    }

    fn torn(&self) -> TrialError {
        TrialError::Measuring(format!("{} ends within a record", self.path.display()))
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

/// The records of a reel, one after the other.
#[derive(Debug)]
pub(super) struct Reel<'t> {
    tape: &'t Tape,
    segments: &'t [Segment],
    records: Vec<u8>,
    position: usize,
}

impl Reel<'_> {
    /// What is wrong if a record cannot be read.
    pub(super) fn torn(&self) -> TrialError {
        self.tape.torn()
    }

    /// The next record; none after the last one.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn record(&mut self) -> Result<Option<&[u8]>, TrialError> {
        if self.position == self.records.len() && !self.next_segment()? {
            return Ok(None);
        }
        let mut input = Input::new(&self.records[self.position..]);
        let length = input.number().map(|length| length as usize);
        let record = length.and_then(|length| input.bytes(length));
        let left = input.rest().len();
        self.position = self.records.len() - left;
        match record {
            Some(record) => Ok(Some(record)),
            None => Err(self.tape.torn()),
        }
    }

    fn next_segment(&mut self) -> Result<bool, TrialError> {
        let Some((next, others)) = self.segments.split_first() else {
            return Ok(false);
        };
        self.segments = others;
        self.records.resize(next.length, 0);
        self.position = 0;
        let file = &self.tape.file;
        let read = file.read_exact_at(&mut self.records, next.offset);
        read.map_err(TrialError::io("read", &self.tape.path))?;
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
        let mut writer = Writer::create(&path).unwrap();
        let record = |reel: i64, number: usize| vec![(reel as usize + number) as u8; number % 300];
        for number in 0..2_000 {
            for reel in 0..3 {
                writer.append(reel, &record(reel, number)).unwrap();
            }
        }
        let tape = writer.finish().unwrap();
        assert!(tape.reels[&0].len() > 1);
        for reel in 0..3 {
            let mut records = tape.reel(reel);
            for number in 0..2_000 {
                assert_eq!(records.record().unwrap().unwrap(), record(reel, number));
            }
            assert_eq!(records.record().unwrap(), None);
        }
        assert_eq!(tape.reel(9).record().unwrap(), None);
        drop(tape);
        assert!(!path.exists());
    }
}
