//! Entries that come in order already, as runs.

use std::path::Path;

use super::run::{Run, Samples, Spill};
use crate::error::LoadError;

/// Bytes of a run, and of one where memory is short.
const RUN: usize = 16 << 20;
const SHORT_RUN: usize = 256 << 10;

/// Runs of entries that come in order: in memory as long as they fit, the others in a temporary file.
pub(in crate::pages) struct Ordered {
    /// Bytes that may still be taken.
    memory: usize,
    cells: Vec<u8>,
    samples: Samples,
    runs: Vec<Run>,
    spill: Spill,
}

impl Ordered {
    /// `memory` are the bytes that the entries may take; the temporary file is made in `directory`.
    pub(in crate::pages) fn new(memory: usize, directory: &Path) -> Ordered {
        Ordered {
            memory,
            cells: Vec::new(),
            samples: Samples::of(RUN as u64),
            runs: Vec::new(),
            spill: Spill::new(directory),
        }
    }

    /// Adds the next entry, as the length of its record and the record.
    ///
    /// # Errors
    /// The temporary file cannot be made or written.
    pub(in crate::pages) fn push(&mut self, cell: &[u8]) -> Result<(), LoadError> {
        self.samples.see(self.cells.len() as u64, cell);
        self.cells.extend_from_slice(cell);
        if self.cells.len() >= self.memory.clamp(SHORT_RUN, RUN) {
            self.end_run()?;
        }
        Ok(())
    }

    fn end_run(&mut self) -> Result<(), LoadError> {
        let samples = std::mem::replace(&mut self.samples, Samples::of(RUN as u64));
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

    /// Every run.
    pub(in crate::pages) fn finish(mut self) -> Result<Vec<Run>, LoadError> {
        if !self.cells.is_empty() {
            self.end_run()?;
        }
        Ok(self.runs)
    }
}
