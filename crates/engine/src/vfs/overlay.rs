//! A database that is read where it lies, and written elsewhere.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Mutex;

use super::event::Operation;
use crate::locks::locked;

/// The parts that are told apart, in bytes: the smallest page of SQLite.
const UNIT: u64 = 512;

/// The original of a copy that only holds what was written to it: a file of the same length with holes.
///
/// An [`Observer`](super::Observer) notes here what happens to the copy, and reads from here what was not written. The
/// original is never written.
#[derive(Debug)]
pub struct Overlay {
    original: File,
    found: State,
    /// A bit for each unit of the original that is no longer valid: it was written to the copy, or cut off from it.
    replaced: Mutex<Vec<u64>>,
}

/// Length and time of the last change of a file.
#[derive(Debug, PartialEq, Eq)]
struct State(u64, i64, i64);

impl State {
    fn of(file: &File) -> io::Result<State> {
        let metadata = file.metadata()?;
        Ok(State(metadata.len(), metadata.mtime(), metadata.mtime_nsec()))
    }
}

impl Overlay {
    /// Returns an overlay without changes.
    ///
    /// # Errors
    /// The metadata of the file cannot be read.
    pub fn over(original: File) -> io::Result<Overlay> {
        let found = State::of(&original)?;
        let words = found.0.div_ceil(UNIT).div_ceil(u64::BITS.into());
        let replaced = Mutex::new(vec![0; usize::try_from(words).map_err(io::Error::other)?]);
        Ok(Overlay { original, found, replaced })
    }

    /// Returns whether the original was written by others since then, so that what was read may not fit together.
    ///
    /// # Errors
    /// The metadata of the file cannot be read.
    pub fn has_changed(&self) -> io::Result<bool> {
        Ok(State::of(&self.original)? != self.found)
    }

    /// Notes a change of the copy.
    pub fn note(&self, operation: &Operation<'_>) {
        let range = match *operation {
            Operation::Write { offset, bytes } => {
                offset.cast_unsigned()..offset.cast_unsigned() + bytes.len() as u64
            }
            Operation::Truncate { size } => size.cast_unsigned()..self.found.0,
            _ => return,
        };
        let mut replaced = locked(&self.replaced);
        for unit in range.start / UNIT..range.end.min(self.found.0).div_ceil(UNIT) {
            replaced[(unit / 64) as usize] |= 1 << (unit % 64);
        }
    }

    /// Reads from the original. Returns `false` without reading where the copy was written.
    ///
    /// # Errors
    /// The original cannot be read, or the copy was written in part of the range, which no page is.
    pub fn read(&self, offset: i64, bytes: &mut [u8]) -> io::Result<bool> {
        let (start, length) = (offset.cast_unsigned(), bytes.len() as u64);
        let units = start / UNIT..(start + length).div_ceil(UNIT);
        let end = self.found.0.div_ceil(UNIT);
        let replaced = locked(&self.replaced);
        let is_old =
            |unit: &u64| *unit < end && replaced[(unit / 64) as usize] & (1 << (unit % 64)) == 0;
        match units.clone().filter(is_old).count() as u64 {
            0 => Ok(false),
            old if old == units.end - units.start => {
                self.original.read_exact_at(bytes, start).map(|()| true)
            }
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_was_not_written_or_cut_off_comes_from_the_original() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[1; 2048]).unwrap();
        let overlay = Overlay::over(file.try_clone().unwrap()).unwrap();
        let read = |offset: i64, length: usize| {
            let mut bytes = vec![7; length];
            overlay.read(offset, &mut bytes).map(|is_read| is_read.then_some(bytes))
        };
        assert_eq!(read(512, 1024).unwrap().unwrap(), [1; 1024]);
        overlay.note(&Operation::Write { offset: 1024, bytes: &[2; 512] });
        assert_eq!(read(16, 100).unwrap().unwrap(), [1; 100]);
        assert_eq!(read(1024, 512).unwrap(), None);
        assert!(read(512, 1024).is_err());
        // A copy that grew again has zeros there.
        overlay.note(&Operation::Truncate { size: 512 });
        overlay.note(&Operation::Write { offset: 2048, bytes: &[2; 512] });
        assert_eq!([read(512, 1536).unwrap(), read(2048, 512).unwrap()], [None, None]);
        assert!(!overlay.has_changed().unwrap());
        file.write_all(&[1]).unwrap();
        assert!(overlay.has_changed().unwrap());
    }
}
