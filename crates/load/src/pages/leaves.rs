//! The leaves of an index, filled with entries in order, and the overflow pages of entries that a page does not keep
//! whole
//! (<https://sqlite.org/fileformat2.html#cell_payload_overflow_pages>).

use super::buffer::Buffer;
use super::file::PageFile;
use super::level::{CellList, FLUSH, Level};
use super::map::{self, Kind, Range};
use super::page::{INDEX_LEAF, LEAF_HEADER, PayloadLimits, write_header};
use super::run::Entry;
use super::varint;
use crate::error::Result;

/// The fewest bytes of a cell in a leaf: a free block needs as many when the cell is deleted.
const LEAST_CELL: usize = 4;

/// The leaf that is being filled.
#[derive(Debug, Clone, Copy)]
struct Open {
    index: usize,
    /// Where the cells begin, which are filled from the end.
    content: usize,
    /// The length of the last cell.
    last: usize,
}

/// The leaves, and the cells between them.
pub(super) struct Leaves<'f> {
    file: &'f PageFile,
    /// The leaves that were written.
    level: Level,
    buffer: Buffer,
    open: Option<Open>,
    /// The pointers to the open leaf's cells, which go into the page when it is full.
    pointers: Vec<u8>,
    /// The cell behind the last leaf, which is full: it comes between this leaf and the next, if a leaf
    /// follows.
    between: Option<Vec<u8>>,
    /// The longest cell that certainly fits a page as a whole.
    whole: usize,
    /// Waiting entries, from the first that does not fit a page, until there are enough to write.
    waiting: CellList,
    /// Memory for the overflow pages of waiting entries.
    chains: Option<Buffer>,
}

impl<'f> Leaves<'f> {
    pub(super) fn new(file: &'f PageFile) -> Leaves<'f> {
        Leaves {
            file,
            level: Level::default(),
            buffer: Buffer::new(file.page_size, FLUSH / file.page_size + 1),
            open: None,
            pointers: Vec::new(),
            between: None,
            whole: PayloadLimits::of_index(file.usable).whole,
            waiting: CellList::default(),
            chains: None,
        }
    }

    pub(super) fn push(&mut self, entry: Entry<'_>) -> Result<()> {
        if self.waiting.len() == 0 && entry.cell.len() <= self.whole {
            return self.push_cell(entry.cell);
        }
        self.waiting.push(entry.cell);
        if self.waiting.bytes.len() < FLUSH { Ok(()) } else { self.push_waiting() }
    }

    /// Takes the waiting entries, after writing their overflow pages.
    fn push_waiting(&mut self) -> Result<()> {
        let cells = stored_cells(self.file, &self.waiting, &mut self.chains)?;
        self.waiting.clear();
        cells.iter().try_for_each(|cell| self.push_cell(cell))
    }

    #[inline]
    fn push_cell(&mut self, cell: &[u8]) -> Result<()> {
        let mut open = match self.open {
            Some(open) if self.between.is_none() => open,
            _ => self.open_leaf()?,
        };
        let room = cell.len().max(LEAST_CELL);
        if LEAF_HEADER + self.pointers.len() + 2 + room > open.content {
            self.between = Some(cell.to_vec());
            return Ok(());
        }
        open.content -= room;
        open.last = cell.len();
        let place = &mut self.buffer.page(open.index)[open.content..open.content + room];
        place[..cell.len()].copy_from_slice(cell);
        place[cell.len()..].fill(0);
        let pointer = (open.content as u16).to_be_bytes();
        self.pointers.extend_from_slice(&pointer);
        self.open = Some(open);
        Ok(())
    }

    /// Closes the leaf that is full, and opens the next one.
    fn open_leaf(&mut self) -> Result<Open> {
        self.close();
        if let Some(between) = self.between.take() {
            self.level.dividers.push(&between);
        }
        if self.buffer.bytes().len() >= FLUSH {
            self.flush()?;
        }
        let open = Open { index: self.buffer.add(), content: self.file.usable, last: 0 };
        self.open = Some(open);
        Ok(open)
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let page = self.buffer.page(open.index);
        write_header(page, INDEX_LEAF, self.pointers.len() / 2, open.content);
        let behind = LEAF_HEADER + self.pointers.len();
        page[LEAF_HEADER..behind].copy_from_slice(&self.pointers);
        page[behind..open.content].fill(0);
        page[self.file.usable..].fill(0);
        self.pointers.clear();
    }

    /// Ensures that a leaf follows the cell between leaves: the cell moves into that leaf, and the
    /// last cell of the full leaf takes its place.
    fn complete(&mut self) -> Result<()> {
        if let (Some(cell), Some(mut open)) = (self.between.take(), self.open) {
            let page = self.buffer.page(open.index);
            self.between = Some(page[open.content..open.content + open.last].to_vec());
            open.content += open.last.max(LEAST_CELL);
            self.open = Some(open);
            self.pointers.truncate(self.pointers.len() - 2);
            self.open_leaf()?;
            self.push_cell(&cell)?;
        }
        self.close();
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let pages = self.buffer.pages;
        if pages > 0 {
            let range = self.file.reserve(pages)?;
            self.file.write_tree(range, self.buffer.bytes())?;
            self.level.children.extend((0..pages).map(|index| range.page(index)));
            self.buffer.clear(FLUSH / self.file.page_size + 1);
        }
        Ok(())
    }

    /// Writes the last leaves.
    pub(super) fn finish(mut self) -> Result<Level> {
        self.push_waiting()?;
        self.complete()?;
        self.flush()?;
        Ok(self.level)
    }

    /// Writes the last leaves; a single leaf becomes the root, without a level above it.
    pub(super) fn finish_alone(mut self, root: u32) -> Result<Option<Level>> {
        self.push_waiting()?;
        self.complete()?;
        if self.level.children.is_empty() && self.buffer.pages == 1 {
            self.file.write_page(root, self.buffer.bytes())?;
            return Ok(None);
        }
        self.flush()?;
        Ok(Some(self.level))
    }
}

/// Returns the cells of entries as pages have them: a length, the local part, and the page of the rest. Writes the
/// overflow pages, with memory that is reused.
pub(super) fn stored_cells(
    file: &PageFile,
    entries: &CellList,
    memory: &mut Option<Buffer>,
) -> Result<Vec<Vec<u8>>> {
    let all = || (0..entries.len()).map(|number| entries.get(number));
    let pages: usize = all().map(|entry| chain_length(file, entry)).sum();
    if pages == 0 {
        return Ok(all().map(<[u8]>::to_vec).collect());
    }
    let range = file.reserve(pages)?;
    let chains = memory.get_or_insert_with(|| Buffer::new(file.page_size, pages));
    chains.clear(pages);
    let cells = all().map(|entry| cell(file, entry, range, chains)).collect();
    file.write(range, chains.bytes())?;
    Ok(cells)
}

/// Returns the record of an entry, and the number of bytes before it, which encode its length.
fn record(entry: &[u8]) -> (&[u8], usize) {
    let (_, length) = varint::take(entry);
    (&entry[length..], length)
}

/// Returns the number of overflow pages of an entry.
fn chain_length(file: &PageFile, entry: &[u8]) -> usize {
    let (record, _) = record(entry);
    let limits = PayloadLimits::of_index(file.usable);
    (record.len() - limits.local(record.len())).div_ceil(limits.overflow)
}

/// Returns the cell of an entry, and adds its overflow pages to the buffer of a range.
fn cell(file: &PageFile, entry: &[u8], range: Range, chains: &mut Buffer) -> Vec<u8> {
    let (record, before) = record(entry);
    let limits = PayloadLimits::of_index(file.usable);
    let local = limits.local(record.len());
    let mut cell = entry[..before + local].to_vec();
    let mut chunks = record[local..].chunks(limits.overflow).peekable();
    if chunks.peek().is_some() {
        cell.extend_from_slice(&range.page(chains.pages).to_be_bytes());
    }
    while let Some(chunk) = chunks.next() {
        let index = chains.add();
        let next = chunks.peek().map_or(0, |_| range.page(index + 1));
        if next != 0 {
            file.note([map::MapEntry {
                page: next,
                kind: Kind::Overflow,
                parent: range.page(index),
            }]);
        }
        let page = chains.page(index);
        page[..4].copy_from_slice(&next.to_be_bytes());
        page[4..4 + chunk.len()].copy_from_slice(chunk);
        page[4 + chunk.len()..].fill(0);
    }
    cell
}
