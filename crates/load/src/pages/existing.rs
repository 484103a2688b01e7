//! The entries of an index that has rows: read from its pages, in order, to be merged with new ones into a
//! new tree.
//!
//! The pages are read as they lie in the file, while a connection of this process has the lock of a writer and
//! has not changed them. A database may have been damaged by others, so nothing in a page is trusted.

use super::file::PageFile;
use super::layout::IndexPlan;
use super::order;
use super::page::{
    DEEPEST, INDEX_INTERIOR, INDEX_LEAF, INTERIOR_HEADER, LEAF_HEADER, PayloadLimits, u16_at,
    u32_at,
};
use super::run::{Ordered, Run};
use super::varint;
use crate::error::{LoadError, Result};

/// An index that has rows.
pub(super) struct Existing {
    /// Its entries.
    pub(super) runs: Vec<Run>,
    /// Its pages but the root, which stays.
    pub(super) pages: Vec<u32>,
}

impl Existing {
    /// Reads an index. What does not fit `memory`, in bytes, goes into a temporary file.
    ///
    /// # Errors
    /// The file cannot be read, or the index is malformed.
    pub(super) fn read(file: &PageFile, plan: &IndexPlan, memory: usize) -> Result<Existing> {
        let mut walk = Walk {
            file,
            plan,
            entries: Ordered::new(memory, file.directory()),
            pages: Vec::new(),
            cell: Vec::new(),
        };
        walk.subtree(plan.root, 0)?;
        Ok(Existing { runs: walk.entries.finish()?, pages: walk.pages.split_off(1) })
    }
}

/// A walk through a tree.
struct Walk<'f> {
    file: &'f PageFile,
    plan: &'f IndexPlan,
    entries: Ordered,
    /// The pages that were visited, the root first.
    pages: Vec<u32>,
    /// The current entry: its length and its record.
    cell: Vec<u8>,
}

impl Walk<'_> {
    fn subtree(&mut self, number: u32, depth: usize) -> Result<()> {
        let page = self.page(number)?;
        let is_interior = page[0] == INDEX_INTERIOR;
        if !is_interior && page[0] != INDEX_LEAF || depth == DEEPEST {
            return Err(self.malformed());
        }
        let header = if is_interior { INTERIOR_HEADER } else { LEAF_HEADER };
        for cell in 0..self.u16_at(&page, 3)? {
            let mut at = self.u16_at(&page, header + 2 * cell)?;
            if is_interior {
                self.subtree(self.u32_at(&page, at)?, depth + 1)?;
                at += 4;
            }
            self.entry(&page, at)?;
        }
        if is_interior {
            self.subtree(self.u32_at(&page, 8)?, depth + 1)?;
        }
        Ok(())
    }

    /// Takes the entry whose cell begins here, without what comes before it in an interior page.
    fn entry(&mut self, page: &[u8], at: usize) -> Result<()> {
        let usable = &page[..self.file.usable];
        let bytes = usable.get(at..).ok_or_else(|| self.malformed())?;
        let (length, of_length) = varint::get(bytes).ok_or_else(|| self.malformed())?;
        let length = usize::try_from(length).map_err(|_| self.malformed())?;
        let local = PayloadLimits::of_index(self.file.usable).local(length);
        let whole = bytes.get(..of_length + local).ok_or_else(|| self.malformed())?;
        self.cell.clear();
        self.cell.extend_from_slice(whole);
        if local < length {
            let first = self.u32_at(usable, at + of_length + local)?;
            self.overflow(first, of_length + length)?;
        }
        if !order::is_record(&self.cell[of_length..], self.plan.columns.len()) {
            return Err(self.malformed());
        }
        self.entries.push(&self.cell)
    }

    /// Adds what overflow pages hold, until the cell is as long as it should be.
    fn overflow(&mut self, first: u32, length: usize) -> Result<()> {
        let mut next = first;
        while self.cell.len() < length {
            let page = self.page(next)?;
            next = self.u32_at(&page, 0)?;
            let missing = length - self.cell.len();
            let content = &page[4..self.file.usable];
            self.cell.extend_from_slice(&content[..missing.min(content.len())]);
        }
        Ok(())
    }

    /// A page of the tree, which no other page of it may name.
    fn page(&mut self, number: u32) -> Result<Vec<u8>> {
        let pages = self.file.pages_before;
        // As many as there are at most: then it cannot go round in a circle.
        if !(2..=pages).contains(&number) || self.pages.len() >= pages as usize {
            return Err(self.malformed());
        }
        self.pages.push(number);
        self.file.read(number)
    }

    fn u16_at(&self, page: &[u8], at: usize) -> Result<usize> {
        u16_at(page, at).ok_or_else(|| self.malformed())
    }

    fn u32_at(&self, page: &[u8], at: usize) -> Result<u32> {
        u32_at(page, at).ok_or_else(|| self.malformed())
    }

    fn malformed(&self) -> LoadError {
        let label = &self.plan.label;
        LoadError::Unusable(format!(
            "the index on {label} is malformed: see PRAGMA integrity_check; REINDEX may repair it"
        ))
    }
}
