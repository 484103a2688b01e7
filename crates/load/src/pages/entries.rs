//! Entries of one index, collected while rows are packed, and sorted.
//!
//! An entry is its record, ready to be written, and sixteen bytes that decide about its place: the prefix
//! of its first value, and where the record lies, which tells the order in which rows came. Records lie in
//! chunks of memory that are filled from their ends, as the [`Encoder`] writes.

use std::cmp::Ordering;

use super::encoder::{Encoder, SLACK};
use super::index::IndexPlan;
use super::order::{self, Prefix};

/// Bytes of a chunk; a record that is not shorter has one of its own.
const CHUNK: usize = 1 << 20;
/// Bits of a place in a chunk, and of a length below that of a chunk.
const BITS: u32 = 20;
/// The length that means: as long as the chunk.
const WHOLE: u64 = (1 << BITS) - 1;

/// Where a record lies. Numbers order as rows came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place(u64);

impl Place {
    /// `back` is the distance from the chunk's end to the record's beginning, at least 1.
    fn new(chunk: usize, back: usize, length: usize, is_exact: bool) -> Place {
        let (back, length) = if has_own_chunk(length) {
            (0, WHOLE)
        } else {
            (back as u64 - 1, length as u64)
        };
        let place = (chunk as u64) << BITS | back;
        Place((place << BITS | length) << 1 | u64::from(is_exact))
    }

    fn chunk(self) -> usize {
        (self.0 >> (2 * BITS + 1)) as usize
    }

    fn back(self) -> usize {
        (self.0 >> (BITS + 1) & WHOLE) as usize + 1
    }

    fn length(self) -> u64 {
        self.0 >> 1 & WHOLE
    }

    fn is_exact(self) -> bool {
        self.0 & 1 == 1
    }
}

fn has_own_chunk(length: usize) -> bool {
    length as u64 >= WHOLE
}

/// An entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    prefix: u64,
    place: Place,
}

/// Memory that is filled from its end.
#[derive(Debug)]
struct Chunk {
    bytes: Vec<u8>,
    /// Where the records begin.
    start: usize,
}

impl Chunk {
    fn new(records: usize) -> Chunk {
        let bytes = vec![0; SLACK + records];
        Chunk {
            start: bytes.len(),
            bytes,
        }
    }
}

/// The entries of one index that one worker has collected.
#[derive(Debug, Default)]
pub(super) struct Entries {
    chunks: Vec<Chunk>,
    entries: Vec<Entry>,
}

impl Entries {
    /// Adds the entries of a block, which has the columns of the index.
    pub(super) fn add(&mut self, plan: &IndexPlan, block: &Encoder<'_>) {
        let decides = plan.first_column_decides();
        for row in 0..block.rows() {
            let mut prefix = Prefix::of(&block.value(row, 0));
            if plan.descending[0] {
                prefix = prefix.reversed();
            }
            let length = block.length(row);
            let chunk = self.chunk(length);
            let start = block.put(row, &mut chunk.bytes, chunk.start);
            chunk.start = start;
            let back = chunk.bytes.len() - start;
            let is_exact = prefix.is_exact && decides;
            self.entries.push(Entry {
                prefix: prefix.bits,
                place: Place::new(self.chunks.len() - 1, back, length, is_exact),
            });
        }
    }

    /// A chunk that has room for a record.
    fn chunk(&mut self, length: usize) -> &mut Chunk {
        let has_room = |chunk: &Chunk| chunk.start >= SLACK + length;
        if has_own_chunk(length) {
            self.chunks.push(Chunk::new(length));
        } else if !self.chunks.last().is_some_and(has_room) {
            self.chunks.push(Chunk::new(CHUNK));
        }
        let last = self.chunks.len() - 1;
        &mut self.chunks[last]
    }

    /// The memory taken, in bytes.
    pub(super) fn memory(&self) -> usize {
        let chunks: usize = self.chunks.iter().map(|chunk| chunk.bytes.len()).sum();
        chunks + self.entries.len() * size_of::<Entry>()
    }

    pub(super) fn all(&self) -> &[Entry] {
        &self.entries
    }

    /// The record of an entry.
    #[inline]
    pub(super) fn record(&self, entry: Entry) -> &[u8] {
        let bytes = &self.chunks[entry.place.chunk()].bytes;
        match entry.place.length() {
            WHOLE => &bytes[SLACK..],
            length => {
                let start = bytes.len() - entry.place.back();
                &bytes[start..start + length as usize]
            }
        }
    }

    /// Brings the entries into the order of the index.
    pub(super) fn sort(&mut self, plan: &IndexPlan) {
        let mut entries = std::mem::take(&mut self.entries);
        entries.sort_unstable_by_key(|entry| (entry.prefix, entry.place));
        // Prefixes that do not tell all leave groups in the order in which rows came.
        for group in entries.chunk_by_mut(|one, other| one.prefix == other.prefix) {
            if group.len() > 1 && !group.iter().all(|entry| entry.place.is_exact()) {
                group.sort_unstable_by(|one, other| {
                    order::compare(self.record(*one), self.record(*other), &plan.descending)
                });
            }
        }
        self.entries = entries;
    }
}

/// An entry with the list that has its record.
pub(super) type Listed<'e> = (&'e Entries, Entry);

/// Compares entries of different lists.
#[inline]
pub(super) fn compare(plan: &IndexPlan, one: Listed<'_>, other: Listed<'_>) -> Ordering {
    one.1.prefix.cmp(&other.1.prefix).then_with(|| {
        let records = (one.0.record(one.1), other.0.record(other.1));
        order::compare(records.0, records.1, &plan.descending)
    })
}

/// Whether the first values of two entries may be the same.
#[inline]
pub(super) fn may_be_same(one: Listed<'_>, other: Listed<'_>) -> bool {
    one.1.prefix == other.1.prefix
}

/// Parts of several sorted lists, in order.
pub(super) struct Merged<'e> {
    plan: &'e IndexPlan,
    lists: Vec<(&'e Entries, std::slice::Iter<'e, Entry>)>,
}

impl<'e> Merged<'e> {
    pub(super) fn new(plan: &'e IndexPlan, parts: Vec<(&'e Entries, &'e [Entry])>) -> Merged<'e> {
        let lists = parts.into_iter().map(|(list, part)| (list, part.iter()));
        Merged {
            plan,
            lists: lists.collect(),
        }
    }
}

impl<'e> Iterator for Merged<'e> {
    type Item = Listed<'e>;

    /// There are a few lists only, so that looking at the first entry of each is cheap.
    #[inline]
    fn next(&mut self) -> Option<Listed<'e>> {
        let mut least: Option<(usize, Listed<'e>)> = None;
        for (number, (list, entries)) in self.lists.iter().enumerate() {
            let Some(entry) = entries.as_slice().first() else {
                continue;
            };
            let first = (*list, *entry);
            if least.is_none_or(|(_, least)| compare(self.plan, first, least).is_lt()) {
                least = Some((number, first));
            }
        }
        let (number, entry) = least?;
        self.lists[number].1.next();
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_keep_what_they_are_made_of_and_order_as_rows_came() {
        let places = [(0, 10, 10), (0, CHUNK, 20), (1, 1, 1), (1, CHUNK - 1, 5)];
        let made = places.map(|(chunk, back, length)| Place::new(chunk, back, length, true));
        for (place, (chunk, back, length)) in made.iter().zip(places) {
            assert_eq!((place.chunk(), place.back()), (chunk, back));
            assert_eq!((place.length(), place.is_exact()), (length as u64, true));
        }
        assert!(made.is_sorted());
        for length in [CHUNK - 1, CHUNK, 5 * CHUNK] {
            assert_eq!(Place::new(7, length, length, false).length(), WHOLE);
        }
    }
}
