//! The levels of a tree above its leaves, up to the root.

use std::ops::Range;

use super::buffer::Buffer;
use super::file::PageFile;
use super::page;
use crate::error::Result;

/// Bytes after which a buffer of pages is written.
pub(super) const FLUSH: usize = 1 << 20;

/// Cells in one piece of memory.
#[derive(Debug, Default, Clone)]
pub(super) struct CellList {
    pub(super) bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl CellList {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, number: usize) -> &[u8] {
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.bytes[start..self.ends[number]]
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    pub(super) fn push(&mut self, cell: &[u8]) {
        self.bytes.extend_from_slice(cell);
        self.ends.push(self.bytes.len());
    }
}

/// The pages of one level, and what comes between each of them and the next: in an interior page, the bytes behind the
/// number of a child.
#[derive(Debug, Default)]
pub(super) struct Level {
    pub(super) children: Vec<u32>,
    pub(super) dividers: CellList,
}

impl Level {
    /// Adds the pages of a range behind these, with the cell that comes between.
    pub(super) fn append(&mut self, range: &Level, between: Option<&[u8]>) {
        if let Some(between) = between {
            self.dividers.push(between);
        }
        self.children.extend_from_slice(&range.children);
        for number in 0..range.dividers.len() {
            self.dividers.push(range.dividers.get(number));
        }
    }

    /// Divides the pages among interior pages.
    pub(super) fn groups(&self, usable: usize) -> Vec<Range<usize>> {
        page::groups(self.children.len(), usable, |at| self.dividers.get(at).len())
    }

    /// An interior page of these children.
    pub(super) fn page(&self, file: &PageFile, kind: u8, group: Range<usize>) -> Buffer {
        let mut buffer = Buffer::new(file.page_size, 1);
        let index = buffer.add();
        self.fill(buffer.page(index), file.usable, kind, group);
        buffer
    }

    /// Fills an interior page with these children.
    pub(super) fn fill(&self, page: &mut [u8], usable: usize, kind: u8, group: Range<usize>) {
        let last = group.end - 1;
        let cells = (group.start..last).map(|at| (self.children[at], self.dividers.get(at)));
        page::fill_interior(page, kind, usable, cells, self.children[last]);
    }

    /// Writes interior pages of these groups of children, and returns them as the next level.
    pub(super) fn write(
        &self,
        file: &PageFile,
        kind: u8,
        groups: &[Range<usize>],
    ) -> Result<Level> {
        let at_once = FLUSH / file.page_size;
        let (mut level, mut buffer) = (Level::default(), Buffer::new(file.page_size, at_once));
        for part in groups.chunks(at_once) {
            let range = file.reserve(part.len())?;
            for group in part {
                let index = buffer.add();
                self.fill(buffer.page(index), file.usable, kind, group.clone());
                level.children.push(range.page(index));
                if group.end < self.children.len() {
                    level.dividers.push(self.dividers.get(group.end - 1));
                }
            }
            file.write_tree(range, buffer.bytes())?;
            buffer.clear(at_once);
        }
        Ok(level)
    }
}

/// Writes level upon level until one page holds all, which is the root. The first level is not empty.
pub(super) fn write_levels(file: &PageFile, kind: u8, root: u32, mut level: Level) -> Result<()> {
    loop {
        let groups = level.groups(file.usable);
        if let [all] = &groups[..] {
            return file.write_page(root, level.page(file, kind, all.clone()).bytes());
        }
        level = level.write(file, kind, &groups)?;
    }
}
