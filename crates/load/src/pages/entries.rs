//! Entries of one index as rows give them, until there are enough of them to be sorted.
//!
//! An entry is its cell, ready to be written, and sixteen bytes that decide about its position: the prefix of
//! its first value, and where the cell lies, which gives the order in which rows came. Cells lie in chunks
//! of memory that are filled from their ends, as the [`Encoder`] writes.

use std::ops::Range;

use super::encoder::Encoder;
use super::layout::IndexPlan;
use super::order::{self, Key, Prefix};
use super::record::SLACK;
use super::run::{self, Run, Samples};
use super::varint;
use crate::bytes::{SHORT, push_short};

/// Bytes of a chunk; a cell that is not shorter has one of its own.
const CHUNK: usize = 1 << 20;
/// Bits of a place in a chunk, and of a length below the length of a chunk.
const BITS: u32 = 20;
/// The length that means: as long as the chunk.
const WHOLE: u64 = (1 << BITS) - 1;

/// Where a cell lies. Numbers order as rows came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct CellAddress(u64);

impl CellAddress {
    /// `back` is the distance from the chunk's end to the cell's beginning, at least 1.
    fn new(chunk: usize, back: usize, length: usize, is_exact: bool) -> CellAddress {
        let (back, length) =
            if has_own_chunk(length) { (0, WHOLE) } else { (back as u64 - 1, length as u64) };
        let place = (chunk as u64) << BITS | back;
        CellAddress((place << BITS | length) << 1 | u64::from(is_exact))
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

/// An entry as it is sorted: its prefix and its address.
#[derive(Debug, Clone, Copy)]
struct Item {
    prefix: u64,
    address: CellAddress,
}

impl Item {
    /// Prefix and address as one number, because comparing that takes no branch.
    #[inline]
    fn order(&self) -> u128 {
        u128::from(self.prefix) << 64 | u128::from(self.address.0)
    }
}

/// Items of a group below which comparing records is as fast as other ways.
const FEW: usize = 32;
/// Bytes of a value behind which records are compared whatever the number of items.
const DEEPEST: usize = 256;

/// Groups of several items that have the same prefix.
fn groups(items: &mut [Item]) -> impl Iterator<Item = &mut [Item]> {
    let groups = items.chunk_by_mut(|one, other| one.prefix == other.prefix);
    groups.filter(|group| group.len() > 1)
}

/// Sorts items of the same prefix, which has done its work, by another one; `false` if one of them has
/// none.
fn rekey(items: &mut [Item], prefix: impl Fn(&Item) -> Option<u64>) -> bool {
    for item in items.iter_mut() {
        match prefix(item) {
            Some(prefix) => item.prefix = prefix,
            None => return false,
        }
    }
    items.sort_unstable_by_key(Item::order);
    true
}

/// Memory that is filled from its end.
#[derive(Debug)]
struct Chunk {
    bytes: Vec<u8>,
    /// Where the cells begin.
    start: usize,
}

impl Chunk {
    fn new(cells: usize) -> Chunk {
        let bytes = vec![0; SLACK + cells];
        Chunk { start: bytes.len(), bytes }
    }
}

/// The entries of one index that one worker has collected.
#[derive(Debug, Default)]
pub(super) struct EntryBuffer {
    chunks: Vec<Chunk>,
    /// Chunks of usual size that are empty, to be used again.
    spare: Vec<Chunk>,
    items: Vec<Item>,
    /// Bytes of all cells.
    bytes: usize,
    /// Bytes at the beginnings of chunks for which cells were too long.
    unused: usize,
}

impl EntryBuffer {
    /// Adds the entries of a block, which has the columns of the index. Rowids may ascend from row to row.
    pub(super) fn add(&mut self, plan: &IndexPlan, block: &Encoder<'_>, rowids_ascend: bool) {
        let decides = plan.first_column_decides(rowids_ascend);
        for row in 0..block.rows() {
            let mut prefix = Prefix::of(block.value(row, 0).field());
            if plan.descending[0] {
                prefix = prefix.reversed();
            }
            let record = block.length(row);
            let length = varint::length(record as u64) + record;
            let chunk = self.chunk(length);
            let start = block.put(row, &mut chunk.bytes, chunk.start);
            chunk.start = varint::put_before(&mut chunk.bytes, start, record as u64);
            let back = chunk.bytes.len() - chunk.start;
            let is_exact = prefix.is_exact && decides;
            self.items.push(Item {
                prefix: prefix.bits,
                address: CellAddress::new(self.chunks.len() - 1, back, length, is_exact),
            });
            self.bytes += length;
        }
    }

    /// A chunk that has room for a cell.
    fn chunk(&mut self, length: usize) -> &mut Chunk {
        let is_long = has_own_chunk(length);
        let has_room = |chunk: &Chunk| !is_long && chunk.start >= SLACK + length;
        if !self.chunks.last().is_some_and(has_room) {
            self.unused += self.chunks.last().map_or(0, |chunk| chunk.start);
            self.chunks.push(if is_long {
                Chunk::new(length)
            } else {
                let spare = self.spare.pop();
                spare.unwrap_or_else(|| Chunk::new(CHUNK))
            });
        }
        let last = self.chunks.len() - 1;
        &mut self.chunks[last]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns the memory that the entries need, in bytes. What is allocated may be a chunk, and half of it, more.
    pub(super) fn memory(&self) -> usize {
        self.bytes + self.unused + self.items.len() * size_of::<Item>()
    }

    /// Returns the bytes of a chunk, and where in it the cell of an entry lies.
    #[inline]
    fn chunk_and_range(&self, item: Item) -> (&[u8], Range<usize>) {
        let bytes = &self.chunks[item.address.chunk()].bytes;
        let range = match item.address.length() {
            WHOLE => SLACK..bytes.len(),
            length => {
                let start = bytes.len() - item.address.back();
                start..start + length as usize
            }
        };
        (bytes, range)
    }

    #[inline]
    fn cell(&self, item: Item) -> &[u8] {
        let (chunk, range) = self.chunk_and_range(item);
        &chunk[range]
    }

    /// Takes the entries out in the order of the index; the memory stays, for the next ones.
    pub(super) fn sorted(&mut self, plan: &IndexPlan) -> Run {
        let mut items = std::mem::take(&mut self.items);
        items.sort_unstable_by_key(Item::order);
        // Prefixes that do not tell all leave groups in the order in which rows came.
        for group in groups(&mut items) {
            if !group.iter().all(|item| item.address.is_exact()) {
                self.sort_group(plan, group);
            }
        }
        self.items = items;
        let mut cells = Vec::with_capacity(self.bytes + SHORT);
        let mut samples = Samples::of(self.bytes as u64);
        for item in &self.items {
            let (chunk, range) = self.chunk_and_range(*item);
            samples.offer(cells.len() as u64, &chunk[range.clone()]);
            push_short(&mut cells, chunk, range.start, range.len());
        }
        self.clear();
        Run::in_memory(cells, samples)
    }

    /// Sorts entries of the same prefix by their second values if their first ones are the same.
    fn sort_group(&self, plan: &IndexPlan, items: &mut [Item]) {
        let second = |item: &Item| Key::of(self.record(item), &plan.descending).second();
        if items.len() < FEW || !rekey(items, second) {
            return self.sort_by_bytes(plan, items, Prefix::BYTES);
        }
        for group in groups(items) {
            self.sort_by_records(plan, group);
        }
    }

    /// Sorts entries whose first values are the same up to this byte, eight bytes further at a time.
    fn sort_by_bytes(&self, plan: &IndexPlan, items: &mut [Item], from: usize) {
        let descends = plan.descending[0];
        let bytes = |item: &Item| {
            let next = order::bytes_from(self.record(item), from)?;
            Some(if descends { !next } else { next })
        };
        if items.len() < FEW || from > DEEPEST || !rekey(items, bytes) {
            return self.sort_by_records(plan, items);
        }
        for group in groups(items) {
            self.sort_by_bytes(plan, group, from + 8);
        }
    }

    fn sort_by_records(&self, plan: &IndexPlan, items: &mut [Item]) {
        items.sort_unstable_by(|one, other| {
            order::compare(self.record(one), self.record(other), &plan.descending)
        });
    }

    #[inline]
    fn record(&self, item: &Item) -> &[u8] {
        run::record(self.cell(*item))
    }

    fn clear(&mut self) {
        self.items.clear();
        (self.bytes, self.unused) = (0, 0);
        for mut chunk in self.chunks.drain(..) {
            chunk.start = chunk.bytes.len();
            if chunk.bytes.len() == SLACK + CHUNK {
                self.spare.push(chunk);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, StringArray};
    use engine::{Library, Source};
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::super::layout::IndexColumn;
    use super::super::stored::Conversion;
    use super::*;
    use crate::affinity::Affinity;
    use crate::convert::cells as converted;

    /// Returns the cells of a run in memory.
    fn cells(run: &Run) -> Vec<Vec<u8>> {
        let mut bytes = run.read(None, &[], 0);
        let (mut cells, mut next) = (Vec::new(), 0);
        while let Some((length, at)) = bytes.find(next).unwrap() {
            next = at + length;
            cells.push(bytes.get()[at..next].to_vec());
        }
        cells
    }

    proptest! {
        #[test]
        fn entries_come_out_in_the_order_of_the_index(
            texts in prop::collection::vec(
                (select(vec!["", "12", "a long text ", "a long text with an even longer beginning "]),
                    "[ab\0]{0,9}"),
                1..256,
            ),
            integers in prop::collection::vec(0_i64..4, 256),
            descending in prop::collection::vec(any::<bool>(), 1..3),
            affinity in select(vec![Affinity::Text, Affinity::Numeric, Affinity::Blob]),
        ) {
            let rows = texts.len();
            let texts = texts.iter().map(|(beginning, end)| format!("{beginning}{end}"));
            let arrays: [ArrayRef; 3] = [
                Arc::new(StringArray::from_iter_values(texts)),
                Arc::new(Int64Array::from(integers[..rows].to_vec())),
                Arc::new(Int64Array::from_iter_values(1..=rows as i64)),
            ];
            let columns = arrays.map(|array| converted(&array, "c").unwrap());
            let two = descending.len() == 2;
            let of = [(0, affinity), (1, Affinity::Integer), (2, Affinity::Integer)];
            let used = of.into_iter().filter(|(column, _)| two || *column != 1);
            let plan = IndexPlan {
                root: 2,
                columns: if two {
                    vec![IndexColumn::Of(0), IndexColumn::Of(1), IndexColumn::Rowid]
                } else {
                    vec![IndexColumn::Of(0), IndexColumn::Rowid]
                },
                key: descending.len(),
                descending,
                unique: false,
                is_table: false,
                label: "t.c".to_owned(),
            };
            let library = Arc::new(Library::load(&Source::Embedded).unwrap());
            let connection = engine::Connection::in_memory(&library).unwrap();
            let mut conversion = Conversion::new(&connection).unwrap();
            let mut block =
                Encoder::new(used.map(|(column, affinity)| Some((&columns[column], affinity))));
            block.take(0, rows, &mut conversion).unwrap();
            let mut buffer = EntryBuffer::default();
            // Twice, so that memory is used again.
            for _ in 0..2 {
                buffer.add(&plan, &block, true);
                let run = buffer.sorted(&plan);
                prop_assert!(buffer.is_empty() && buffer.memory() == 0);
                let found = cells(&run);
                prop_assert_eq!(found.len(), rows);
                let in_order = found.is_sorted_by(|one, other| {
                    let records = [run::record(one), run::record(other)];
                    order::compare(records[0], records[1], &plan.descending).is_lt()
                });
                prop_assert!(in_order);
            }
        }
    }

    #[test]
    fn addresses_keep_what_they_are_made_of_and_order_as_rows_came() {
        let places = [(0, 10, 10), (0, CHUNK, 20), (1, 1, 1), (1, CHUNK - 1, 5)];
        let made = places.map(|(chunk, back, length)| CellAddress::new(chunk, back, length, true));
        for (place, (chunk, back, length)) in made.iter().zip(places) {
            assert_eq!((place.chunk(), place.back()), (chunk, back));
            assert_eq!((place.length(), place.is_exact()), (length as u64, true));
        }
        assert!(made.is_sorted());
        for length in [CHUNK - 1, CHUNK, 5 * CHUNK] {
            assert_eq!(CellAddress::new(7, length, length, false).length(), WHOLE);
        }
    }
}
