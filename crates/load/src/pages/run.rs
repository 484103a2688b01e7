//! Sorted runs: entries of one index in its order, one cell after the other, in memory or in a temporary
//! file.
//!
//! At intervals a run keeps a sample: a cell and its place. A reader can begin near any entry.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::order::{self, Key};
use super::varint;
use crate::error::{LoadError, Result};

/// Bytes of a run from one sample to the next, at least and at most: few enough that the cells between are
/// passed quickly, and enough that the samples of long runs take next to no memory.
const LEAST_BETWEEN: u64 = 1 << 10;
const MOST_BETWEEN: u64 = 1 << 20;
/// Samples of a run that is not long.
const USUAL_SAMPLES: u64 = 64;
/// Longer cells are not taken as samples, because samples stay in memory.
const LONGEST_SAMPLE: usize = 4 << 10;
/// Bytes of a run that are written at a time.
const WRITE: usize = 1 << 20;

/// Returns the record of a cell, behind its length.
#[inline]
pub(super) fn record(cell: &[u8]) -> &[u8] {
    let (_, length) = varint::take(cell);
    &cell[length..]
}

/// An entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<'c> {
    pub(super) key: Key,
    /// The length of the record and the record: what a leaf has of it if it is not too long.
    pub(super) cell: &'c [u8],
}

impl<'c> Entry<'c> {
    /// Returns the entry of a cell; `descending` says which columns of the index descend.
    #[inline]
    pub(super) fn new(cell: &'c [u8], descending: &[bool]) -> Entry<'c> {
        Entry { key: Key::of(record(cell), descending), cell }
    }

    #[inline]
    pub(super) fn record(self) -> &'c [u8] {
        record(self.cell)
    }

    #[inline]
    pub(super) fn compare(self, other: Entry<'_>, descending: &[bool]) -> std::cmp::Ordering {
        let by_key = self.key.compare(other.key);
        by_key.then_with(|| order::compare(self.record(), other.record(), descending))
    }
}

/// A cell and where in its run it begins.
#[derive(Debug)]
pub(super) struct Sample {
    at: u64,
    pub(super) cell: Box<[u8]>,
}

/// The samples of a run that is being made.
pub(super) struct Samples {
    samples: Vec<Sample>,
    between: u64,
    /// The place from which on the next one may be taken.
    next: u64,
}

impl Samples {
    /// Begins the samples of a run of about this number of bytes.
    pub(super) fn of(bytes: u64) -> Samples {
        let between = (bytes / USUAL_SAMPLES).clamp(LEAST_BETWEEN, MOST_BETWEEN);
        Samples { samples: Vec::new(), between, next: between }
    }

    /// Takes a cell if it is time.
    #[inline]
    pub(super) fn offer(&mut self, at: u64, cell: &[u8]) {
        if at >= self.next && cell.len() <= LONGEST_SAMPLE {
            self.next = at + self.between;
            self.samples.push(Sample { at, cell: cell.into() });
        }
    }
}

/// Where the cells of a run are.
#[derive(Debug)]
enum RunData {
    Memory(Vec<u8>),
    /// The bytes from the first place to the second.
    File(Arc<SpillFile>, u64, u64),
}

/// A sorted run.
#[derive(Debug)]
pub(super) struct Run {
    cells: RunData,
    pub(super) samples: Vec<Sample>,
}

impl Run {
    pub(super) fn in_memory(cells: Vec<u8>, samples: Samples) -> Run {
        Run { cells: RunData::Memory(cells), samples: samples.samples }
    }

    /// A run in memory of cells in order.
    #[cfg(test)]
    pub(super) fn of_cells(cells: impl Iterator<Item = Vec<u8>>) -> Run {
        let (mut bytes, mut samples) = (Vec::new(), Samples::of(0));
        for cell in cells {
            samples.offer(bytes.len() as u64, &cell);
            bytes.extend(cell);
        }
        Run::in_memory(bytes, samples)
    }

    /// Returns the bytes of its cells.
    pub(super) fn bytes(&self) -> u64 {
        match &self.cells {
            RunData::Memory(cells) => cells.len() as u64,
            RunData::File(_, from, to) => to - from,
        }
    }

    /// Returns the bytes of its cells that are in memory.
    pub(super) fn memory(&self) -> usize {
        match &self.cells {
            RunData::Memory(cells) => cells.len(),
            RunData::File(..) => 0,
        }
    }

    pub(super) fn is_in_file(&self) -> bool {
        matches!(self.cells, RunData::File(..))
    }

    /// Begins to read, not behind the first entry that is not before `from`; without `from`, at the
    /// beginning. Of a run in a file, about `buffer` bytes are read at a time.
    pub(super) fn read(
        &self,
        from: Option<Entry<'_>>,
        descending: &[bool],
        buffer: usize,
    ) -> Bytes<'_> {
        let before = from.map_or(0, |from| {
            self.samples.partition_point(|sample| {
                let sample = Entry::new(&sample.cell, descending);
                sample.compare(from, descending).is_lt()
            })
        });
        let at = match before {
            0 => 0,
            before => self.samples[before - 1].at,
        };
        match &self.cells {
            RunData::Memory(cells) => Bytes::Memory(&cells[at as usize..]),
            RunData::File(file, first, end) => Bytes::File(Window {
                file,
                next: first + at,
                end: *end,
                buffer: vec![0; buffer],
                filled: 0,
            }),
        }
    }
}

/// A temporary file for runs, next to the database: it has no name, so that the system removes it however
/// the load ends.
#[derive(Debug)]
pub(super) struct SpillFile {
    directory: PathBuf,
    file: File,
}

impl SpillFile {
    fn unwritable(&self, source: io::Error) -> LoadError {
        unwritable(&self.directory, source)
    }

    fn unreadable(&self, source: io::Error) -> LoadError {
        LoadError::Read(
            format!("sorted entries from a temporary file in {}", self.directory.display()),
            source,
        )
    }
}

fn unwritable(directory: &Path, source: io::Error) -> LoadError {
    LoadError::Spill(directory.to_owned(), source)
}

/// Writes runs one after the other into a temporary file, which is made when it is needed.
pub(super) struct Spill {
    directory: PathBuf,
    file: Option<Arc<SpillFile>>,
    end: u64,
}

impl Spill {
    pub(super) fn new(directory: &Path) -> Spill {
        Spill { directory: directory.to_owned(), file: None, end: 0 }
    }

    fn file(&mut self) -> Result<Arc<SpillFile>> {
        if let Some(file) = &self.file {
            return Ok(Arc::clone(file));
        }
        let made = tempfile::tempfile_in(&self.directory)
            .map_err(|source| unwritable(&self.directory, source))?;
        let file =
            self.file.insert(Arc::new(SpillFile { directory: self.directory.clone(), file: made }));
        Ok(Arc::clone(file))
    }

    /// Moves a run that is in memory into the file.
    pub(super) fn keep(&mut self, run: Run) -> Result<Run> {
        let RunData::Memory(cells) = &run.cells else { return Ok(run) };
        let (file, first) = (self.file()?, self.end);
        (file.file).write_all_at(cells, first).map_err(|source| file.unwritable(source))?;
        self.end += cells.len() as u64;
        Ok(Run { cells: RunData::File(file, first, self.end), samples: run.samples })
    }

    /// Begins a run of about this number of bytes.
    pub(super) fn begin(&mut self, bytes: u64) -> Result<SpilledRun<'_>> {
        Ok(SpilledRun {
            file: self.file()?,
            first: self.end,
            end: &mut self.end,
            cells: Vec::with_capacity(WRITE),
            samples: Samples::of(bytes),
        })
    }
}

/// A run that is being written.
pub(super) struct SpilledRun<'s> {
    file: Arc<SpillFile>,
    first: u64,
    end: &'s mut u64,
    /// Those that are not yet written.
    cells: Vec<u8>,
    samples: Samples,
}

impl SpilledRun<'_> {
    /// Adds the next cell.
    pub(super) fn push(&mut self, cell: &[u8]) -> Result<()> {
        let at = *self.end - self.first + self.cells.len() as u64;
        self.samples.offer(at, cell);
        self.cells.extend_from_slice(cell);
        if self.cells.len() >= WRITE {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        (self.file.file)
            .write_all_at(&self.cells, *self.end)
            .map_err(|source| self.file.unwritable(source))?;
        *self.end += self.cells.len() as u64;
        self.cells.clear();
        Ok(())
    }

    /// Writes what is left.
    pub(super) fn finish(mut self) -> Result<Run> {
        self.flush()?;
        Ok(Run {
            cells: RunData::File(self.file, self.first, *self.end),
            samples: self.samples.samples,
        })
    }
}

/// The cells of a run from some place on.
pub(super) enum Bytes<'r> {
    Memory(&'r [u8]),
    File(Window<'r>),
}

/// The part of a run in a file that has been read.
pub(super) struct Window<'r> {
    file: &'r SpillFile,
    /// Where reading continues in the file.
    next: u64,
    end: u64,
    buffer: Vec<u8>,
    filled: usize,
}

impl Bytes<'_> {
    /// Returns the bytes that are in memory.
    #[inline]
    pub(super) fn get(&self) -> &[u8] {
        match self {
            Bytes::Memory(cells) => cells,
            Bytes::File(window) => &window.buffer[..window.filled],
        }
    }

    /// Returns the length of the cell at a place, and its new place: more may have to be read, and what lies
    /// before the cell is then forgotten. `None` at the end.
    #[inline]
    pub(super) fn find(&mut self, at: usize) -> Result<Option<(usize, usize)>> {
        match cell_length(&self.get()[at..]) {
            Some(length) => Ok(Some((length, at))),
            None => self.read_on(at),
        }
    }

    #[cold]
    fn read_on(&mut self, at: usize) -> Result<Option<(usize, usize)>> {
        let Bytes::File(window) = self else { return Ok(None) };
        window.buffer.copy_within(at..window.filled, 0);
        window.filled -= at;
        loop {
            if let Some(length) = cell_length(&window.buffer[..window.filled]) {
                return Ok(Some((length, 0)));
            }
            if !window.read()? {
                return window.at_end();
            }
        }
    }
}

impl Window<'_> {
    /// At the end of the run nothing may be left of it.
    fn at_end<T>(&self) -> Result<Option<T>> {
        if self.filled == 0 {
            return Ok(None);
        }
        let broken = io::Error::new(io::ErrorKind::InvalidData, "a run ends within an entry");
        Err(self.file.unreadable(broken))
    }

    /// Reads as much as there is room for; makes room if there is none. `false` at the end.
    fn read(&mut self) -> Result<bool> {
        if self.filled == self.buffer.len() {
            self.buffer.resize((2 * self.filled).max(varint::LONGEST), 0);
        }
        let left = usize::try_from(self.end - self.next).unwrap_or(usize::MAX);
        let place = &mut self.buffer[self.filled..];
        let count = place.len().min(left);
        (self.file.file)
            .read_exact_at(&mut place[..count], self.next)
            .map_err(|source| self.file.unreadable(source))?;
        self.filled += count;
        self.next += count as u64;
        Ok(count > 0)
    }
}

/// Returns the length of the cell at the beginning of `bytes`; `None` if it is not there as a whole.
#[inline]
fn cell_length(bytes: &[u8]) -> Option<usize> {
    let (record, length) = varint::get(bytes)?;
    let cell = length + record as usize;
    (cell <= bytes.len()).then_some(cell)
}

/// Bytes of a run, and of a run when memory is short.
const RUN_BYTES: usize = 16 << 20;
const LEAST_RUN_BYTES: usize = 256 << 10;

/// Runs of entries that come in order: in memory as long as they fit, the others in a temporary file.
pub(super) struct Ordered {
    /// Bytes that may still be taken.
    memory: usize,
    cells: Vec<u8>,
    samples: Samples,
    runs: Vec<Run>,
    spill: Spill,
}

impl Ordered {
    /// `memory` are the bytes that the entries may take; the temporary file is made in `directory`.
    pub(super) fn new(memory: usize, directory: &Path) -> Ordered {
        Ordered {
            memory,
            cells: Vec::new(),
            samples: Samples::of(RUN_BYTES as u64),
            runs: Vec::new(),
            spill: Spill::new(directory),
        }
    }

    /// Adds the next entry, as the length of its record and the record.
    ///
    /// # Errors
    /// The temporary file cannot be made or written.
    pub(super) fn push(&mut self, cell: &[u8]) -> Result<()> {
        self.samples.offer(self.cells.len() as u64, cell);
        self.cells.extend_from_slice(cell);
        if self.cells.len() >= self.memory.clamp(LEAST_RUN_BYTES, RUN_BYTES) {
            self.end_run()?;
        }
        Ok(())
    }

    fn end_run(&mut self) -> Result<()> {
        let samples = std::mem::replace(&mut self.samples, Samples::of(RUN_BYTES as u64));
        let cells = std::mem::take(&mut self.cells);
        let in_memory = Run::in_memory(cells, samples);
        let run = match self.memory.checked_sub(in_memory.memory()) {
            Some(left) => {
                self.memory = left;
                in_memory
            }
            None => self.spill.keep(in_memory)?,
        };
        self.runs.push(run);
        Ok(())
    }

    /// Returns the runs.
    pub(super) fn finish(mut self) -> Result<Vec<Run>> {
        if !self.cells.is_empty() {
            self.end_run()?;
        }
        Ok(self.runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the cell of a record of so many bytes, all of this value.
    fn cell(value: u8, length: usize) -> Vec<u8> {
        let mut cell = Vec::new();
        varint::push(&mut cell, length as u64);
        cell.extend(vec![value; length]);
        cell
    }

    #[test]
    fn runs_in_a_file_are_read_as_they_were_written_however_small_the_buffer() {
        let folder = tempfile::tempdir().unwrap();
        let mut spill = Spill::new(folder.path());
        let written: Vec<Vec<u8>> =
            (0..200).map(|number| cell(number, usize::from(number) * 37 % 300)).collect();
        let mut runs = Vec::new();
        for cells in written.chunks(120) {
            let mut run = spill.begin(0).unwrap();
            cells.iter().for_each(|cell| run.push(cell).unwrap());
            runs.push(run.finish().unwrap());
        }
        for buffer in [0, 1, 10, 4_096] {
            let mut read = Vec::new();
            for run in &runs {
                assert!(run.is_in_file() && run.memory() == 0);
                let mut bytes = run.read(None, &[], buffer);
                let mut next = 0;
                while let Some((length, at)) = bytes.find(next).unwrap() {
                    next = at + length;
                    read.push(bytes.get()[at..next].to_vec());
                }
            }
            assert!(read == written);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_full_disk_and_a_place_that_cannot_be_written_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        let error = Spill::new(&missing).begin(0).err().unwrap().to_string();
        assert!(error.contains("missing"), "{error}");

        let full = File::options().write(true).open("/dev/full");
        let mut spill = Spill {
            directory: folder.path().to_owned(),
            file: Some(Arc::new(SpillFile {
                directory: folder.path().to_owned(),
                file: full.unwrap(),
            })),
            end: 0,
        };
        let mut run = spill.begin(0).unwrap();
        run.push(&cell(1, 10)).unwrap();
        let error = run.finish().unwrap_err();
        assert!(matches!(&error, LoadError::Spill(directory, _) if directory == folder.path()));
        assert!(error.to_string().contains("No space left"), "{error}");
    }

    #[test]
    fn a_file_that_has_become_shorter_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let mut spill = Spill::new(folder.path());
        let mut run = spill.begin(0).unwrap();
        run.push(&cell(1, 10_000)).unwrap();
        let run = run.finish().unwrap();
        spill.file.unwrap().file.set_len(5_000).unwrap();
        let mut bytes = run.read(None, &[], 1_000);
        assert!(matches!(bytes.find(0), Err(LoadError::Read(..))));
    }
}
