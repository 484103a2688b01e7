//! Sorting the entries of indexes, however many there are.
//!
//! Each worker collects the entries of its rows. A buffer that has reached its size is sorted, while it still
//! fits the processor's cache, into a run: the bare cells in order. Runs stay in memory as long as the
//! worker's share suffices; beyond that they are merged into one, in a temporary file next to the
//! database, so that the runs in files are few and long. In the end all runs of all workers are merged
//! while the tree is packed.

use std::path::Path;

use super::encoder::Encoder;
use super::entries::EntryBuffer;
use super::layout::IndexPlan;
use super::merge::Merged;
use super::run::{Run, Spill};
use crate::error::Result;

/// Bytes of a buffer at first, which fit the processor's cache and whose memory is used again for the next.
const SMALLEST_BUFFER: usize = 1 << 20;
/// The most bytes of a buffer.
const LARGEST_BUFFER: usize = 16 << 20;
/// Runs grow to this share of all entries, so that there are not too many to merge.
const SHARE_OF_ALL: usize = 16;

/// The entries that one worker collects.
pub(super) struct Sorter<'p> {
    plans: Vec<&'p IndexPlan>,
    /// For each index.
    lists: Vec<List>,
    /// The most bytes after which a buffer becomes a run.
    most_bytes: usize,
    /// The bytes after which it does so now.
    buffer_bytes: usize,
    /// Bytes of all runs.
    sorted: usize,
    /// Bytes that runs may take in memory.
    memory: usize,
    /// Bytes that they take.
    taken: usize,
    spill: Spill,
}

#[derive(Default)]
struct List {
    entries: EntryBuffer,
    /// Those in memory.
    new: Vec<Run>,
    spilled: Vec<Run>,
}

impl<'p> Sorter<'p> {
    /// `memory` are the bytes that all entries may take; what is more goes into a temporary file in
    /// `directory`.
    pub(super) fn new(plans: Vec<&'p IndexPlan>, memory: usize, directory: &Path) -> Sorter<'p> {
        // The buffers take a quarter of the memory at most.
        let most_bytes = LARGEST_BUFFER.min(memory / 4 / plans.len().max(1));
        Sorter {
            lists: plans.iter().map(|_| List::default()).collect(),
            most_bytes,
            buffer_bytes: SMALLEST_BUFFER.min(most_bytes),
            sorted: 0,
            memory: memory - most_bytes * plans.len(),
            plans,
            taken: 0,
            spill: Spill::new(directory),
        }
    }

    /// Adds the entries of a block, which has the columns of the index with this number. Rowids may ascend from
    /// row to row.
    ///
    /// # Errors
    /// The temporary file cannot be made or written.
    pub(super) fn add(
        &mut self,
        index: usize,
        block: &Encoder<'_>,
        rowids_ascend: bool,
    ) -> Result<()> {
        let list = &mut self.lists[index];
        list.entries.add(self.plans[index], block, rowids_ascend);
        if list.entries.memory() >= self.buffer_bytes {
            self.sort(index);
        }
        if self.taken > self.memory {
            self.spill()?;
        }
        Ok(())
    }

    /// Makes the buffer of an index a run in memory.
    fn sort(&mut self, index: usize) {
        let list = &mut self.lists[index];
        if !list.entries.is_empty() {
            let run = list.entries.sorted(self.plans[index]);
            self.taken += run.memory();
            self.sorted += run.memory();
            list.new.push(run);
            let share = self.sorted / self.lists.len() / SHARE_OF_ALL;
            self.buffer_bytes = self.buffer_bytes.max(share).min(self.most_bytes);
        }
    }

    /// Moves the runs in memory into the file, as one run for each index.
    fn spill(&mut self) -> Result<()> {
        for (plan, list) in self.plans.iter().zip(&mut self.lists) {
            if list.new.is_empty() {
                continue;
            }
            let mut merged = Merged::new(plan, &list.new, None, 0)?;
            let mut run = self.spill.begin(list.new.iter().map(Run::bytes).sum())?;
            while let Some(entry) = merged.entry() {
                run.push(entry.cell)?;
                merged.advance()?;
            }
            list.spilled.push(run.finish()?);
            drop(merged);
            list.new.clear();
        }
        self.taken = 0;
        Ok(())
    }

    /// Returns the runs of each index.
    pub(super) fn finish(mut self) -> Vec<Vec<Run>> {
        for index in 0..self.plans.len() {
            self.sort(index);
        }
        let runs = self.lists.into_iter().map(|mut list| {
            list.spilled.append(&mut list.new);
            list.spilled
        });
        runs.collect()
    }
}
