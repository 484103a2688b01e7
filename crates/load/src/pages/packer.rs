//! Table leaves, filled one after the other, with the overflow pages of rows that are too long for one
//! (<https://sqlite.org/fileformat2.html#b_tree_pages>).
//!
//! Pages get their numbers when they are flushed: until then overflow pages are known by their index in
//! the buffer, and the places that name them are remembered.

use super::buffer::Buffer;
use super::encoder::Encoder;
use super::file::PageFile;
use super::map::{Kind, MapEntry};
use super::narrow::Narrow;
use super::page::{LEAF_HEADER, PayloadLimits, TABLE_LEAF, write_header};
use super::record::SLACK;
use super::tree::Child;
use super::varint;
use crate::error::Result;

/// Bytes after which the buffer is written: one write fits the processor's cache.
const FLUSH: usize = 1 << 20;
/// The same for wide rows: encoding them takes so little time that the disk is the limit. It is fastest
/// with many concurrent requests, into which a large write is divided.
const WIDE_FLUSH: usize = 2 << 20;
/// The fewest bytes of a wide row.
const WIDE: usize = 256;
/// Where an overflow page has the number of the next one.
const NEXT: usize = 0;

/// The leaf that is being filled.
#[derive(Debug, Clone, Copy)]
struct Open {
    index: usize,
    /// Where the cells begin, which are filled from the end.
    content: usize,
    last: i64,
}

/// A place that names a page by its index.
#[derive(Debug, Clone, Copy)]
struct Link {
    index: usize,
    at: usize,
    to: usize,
}

/// Packs rows into pages.
pub(super) struct Packer<'f> {
    file: &'f PageFile,
    limits: PayloadLimits,
    /// Bytes after which the buffer is written.
    flush: usize,
    buffer: Buffer,
    open: Option<Open>,
    /// The pointers to the open leaf's cells, which go into the page when it is full.
    pointers: Vec<[u8; 2]>,
    links: Vec<Link>,
    /// Closed leaves of the buffer, by index.
    closed: Vec<(usize, i64)>,
    /// Leaves that have been written.
    pub(super) leaves: Vec<Child>,
    /// A long row, in one piece.
    payload: Vec<u8>,
}

impl<'f> Packer<'f> {
    pub(super) fn new(file: &'f PageFile) -> Packer<'f> {
        let page_size = file.page_size;
        Packer {
            file,
            limits: PayloadLimits::of_table(file.usable),
            flush: FLUSH,
            buffer: Buffer::new(page_size, usual_pages(FLUSH, page_size)),
            open: None,
            pointers: Vec::new(),
            links: Vec::new(),
            closed: Vec::new(),
            leaves: Vec::new(),
            payload: Vec::new(),
        }
    }

    /// Returns the number of leaves so far.
    pub(super) fn leaf_count(&self) -> usize {
        self.leaves.len() + self.closed.len() + usize::from(self.open.is_some())
    }

    /// Adds the rows of a block; their rowids ascend and are above all rowids so far.
    pub(super) fn add(&mut self, block: &Encoder<'_>, rowids: &[i64]) -> Result<()> {
        // The first row stands for the whole block.
        let is_wide = block.rows() > 0 && block.length(0) >= WIDE;
        let flush = if is_wide { WIDE_FLUSH } else { FLUSH };
        if self.flush != flush && self.buffer.pages == 0 {
            // Memory that grows later would be copied.
            self.buffer = Buffer::new(self.file.page_size, usual_pages(flush, self.file.page_size));
        }
        self.flush = flush;
        let mut next = 0;
        loop {
            next = self.fill(block, next, rowids);
            if next == block.rows() {
                return Ok(());
            }
            if block.length(next) > self.limits.whole {
                self.add_long(block, next, rowids[next])?;
                next += 1;
            } else {
                self.open_leaf()?;
            }
        }
    }

    /// Fills the open leaf with rows from `first` on, and returns the first one for which it has no
    /// room or that is too long for a leaf.
    #[inline]
    fn fill(&mut self, block: &Encoder<'_>, first: usize, rowids: &[i64]) -> usize {
        let Some(open) = &mut self.open else { return first };
        let mut filling = Filling {
            page: self.buffer.page(open.index),
            content: open.content,
            pointers: &mut self.pointers,
        };
        let next = match (block.as_narrow(), varint::common_length(rowids)) {
            (Some(narrow), Some(key)) if key < 8 => {
                filling.add_narrow(block, narrow, first, rowids, key)
            }
            _ => filling.add(block, first, rowids, self.limits.whole),
        };
        open.content = filling.content;
        if next > first {
            open.last = rowids[next - 1];
        }
        next
    }

    /// Adds a row that is a record already; its rowid is above all rowids so far.
    pub(super) fn add_record(&mut self, rowid: i64, payload: &[u8]) -> Result<()> {
        let local = self.limits.local(payload.len());
        let key = varint::length(payload.len() as u64) + varint::length(rowid as u64);
        let link = if local < payload.len() { 4 } else { 0 };
        let cell = key + local + link;
        let (index, at) = self.room(rowid, cell)?;
        let place = &mut self.buffer.page(index)[at..at + cell];
        let behind = varint::put(place, payload.len() as u64);
        let behind = behind + varint::put(&mut place[behind..], rowid as u64);
        place[behind..behind + local].copy_from_slice(&payload[..local]);
        if link > 0 {
            self.add_overflow(&payload[local..], index, at + cell - 4);
        }
        Ok(())
    }

    /// Adds a row that needs overflow pages.
    #[cold]
    fn add_long(&mut self, block: &Encoder<'_>, row: usize, rowid: i64) -> Result<()> {
        let mut memory = std::mem::take(&mut self.payload);
        memory.resize(SLACK + block.length(row), 0);
        let end = memory.len();
        block.put(row, &mut memory, end);
        self.add_record(rowid, &memory[SLACK..])?;
        // A huge row must not keep its memory for the rest of the load.
        if memory.capacity() <= FLUSH {
            self.payload = memory;
        }
        Ok(())
    }

    /// Puts the rest of a row into a chain of pages, to which the leaf points from `at`.
    fn add_overflow(&mut self, rest: &[u8], leaf: usize, at: usize) {
        let (mut from, mut from_at) = (leaf, at);
        for chunk in rest.chunks(self.limits.overflow) {
            let index = self.buffer.add();
            self.links.push(Link { index: from, at: from_at, to: index });
            let page = self.buffer.page(index);
            // The last page of a chain points to 0.
            page[..4].fill(0);
            page[4..4 + chunk.len()].copy_from_slice(chunk);
            page[4 + chunk.len()..].fill(0);
            (from, from_at) = (index, NEXT);
        }
    }

    /// Makes room for a cell in the open leaf, or in a new one, and returns the page and the place.
    fn room(&mut self, rowid: i64, cell: usize) -> Result<(usize, usize)> {
        let pointers = 2 * (self.pointers.len() + 1);
        let has_room = |open: &Open| LEAF_HEADER + pointers + cell <= open.content;
        let mut open = match self.open.filter(has_room) {
            Some(open) => open,
            None => self.open_leaf()?,
        };
        open.content -= cell;
        open.last = rowid;
        self.open = Some(open);
        self.pointers.push((open.content as u16).to_be_bytes());
        Ok((open.index, open.content))
    }

    fn open_leaf(&mut self) -> Result<Open> {
        self.close();
        if self.buffer.bytes().len() >= self.flush {
            self.flush()?;
        }
        let open = Open { index: self.buffer.add(), content: self.file.usable, last: 0 };
        self.open = Some(open);
        Ok(open)
    }

    /// Ends the open leaf.
    pub(super) fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let page = self.buffer.page(open.index);
        write_header(page, TABLE_LEAF, self.pointers.len(), open.content);
        let pointers = self.pointers.as_flattened();
        let behind = LEAF_HEADER + pointers.len();
        page[LEAF_HEADER..behind].copy_from_slice(pointers);
        page[behind..open.content].fill(0);
        page[self.file.usable..].fill(0);
        self.pointers.clear();
        self.closed.push((open.index, open.last));
    }

    /// Writes every page of the buffer.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.close();
        let pages = self.buffer.pages;
        if pages == 0 {
            return Ok(());
        }
        let range = self.file.reserve(pages)?;
        self.link(|index| range.page(index));
        self.file.write(range, self.buffer.bytes())?;
        for (index, key) in self.closed.drain(..) {
            self.leaves.push(Child { page: range.page(index), key });
        }
        self.buffer.clear(usual_pages(self.flush, self.file.page_size));
        Ok(())
    }

    /// Writes the only leaf of the tree, which is the first page of the buffer, into the root.
    pub(super) fn flush_into_root(&mut self, root: u32) -> Result<()> {
        self.close();
        let overflow = self.buffer.pages - 1;
        let range = if overflow > 0 { Some(self.file.reserve(overflow)?) } else { None };
        self.link(|index| match (index, range) {
            (1.., Some(range)) => range.page(index - 1),
            _ => root,
        });
        let (leaf, rest) = self.buffer.bytes().split_at(self.file.page_size);
        self.file.write_page(root, leaf)?;
        if let Some(range) = range {
            self.file.write(range, rest)?;
        }
        self.closed.clear();
        Ok(())
    }

    /// Replaces indexes by the numbers of pages.
    fn link(&mut self, number: impl Fn(usize) -> u32) {
        self.file.note(self.links.iter().map(|link| MapEntry {
            page: number(link.to),
            kind: match link.at {
                NEXT => Kind::Overflow,
                _ => Kind::FirstOverflow,
            },
            parent: number(link.index),
        }));
        for link in self.links.drain(..) {
            self.buffer.put_u32(link.index, link.at, number(link.to));
        }
    }
}

/// A leaf to which rows are added, as long as they fit.
///
/// Bytes before a record that are overwritten belong to the rest of the page; its header and pointers are
/// written last. A page holds at least four rows, or much free room.
struct Filling<'p> {
    page: &'p mut [u8],
    content: usize,
    pointers: &'p mut Vec<[u8; 2]>,
}

impl Filling<'_> {
    /// Returns the free bytes between the cells and the pointers, one more pointer included.
    #[inline]
    fn room(&self) -> usize {
        self.content.saturating_sub(LEAF_HEADER + 2 * (self.pointers.len() + 1))
    }

    /// Adds rows until one needs overflow pages or more room; returns the first row not added.
    fn add(&mut self, block: &Encoder<'_>, first: usize, rowids: &[i64], whole: usize) -> usize {
        for (row, rowid) in rowids.iter().copied().enumerate().skip(first) {
            let payload = block.length(row);
            let key = varint::length(payload as u64) + varint::length(rowid as u64);
            if payload > whole || key + payload > self.room() {
                return row;
            }
            let record = block.put(row, self.page, self.content);
            let at = varint::put_before(self.page, record, rowid as u64);
            self.content = varint::put_before(self.page, at, payload as u64);
            self.pointers.push((self.content as u16).to_be_bytes());
        }
        rowids.len()
    }

    /// The same of short rows whose rowids all take `key` bytes, fewer than eight: with the length of the
    /// payload they are one number.
    fn add_narrow(
        &mut self,
        block: &Encoder<'_>,
        narrow: &Narrow,
        first: usize,
        rowids: &[i64],
        key: usize,
    ) -> usize {
        for (row, rowid) in rowids.iter().copied().enumerate().skip(first) {
            let values = block.values_length(row);
            let payload = narrow.header + values;
            if 1 + key + payload > self.room() {
                return row;
            }
            let record = narrow.put(row, values, self.page, self.content);
            let number = (payload as u64) << (8 * key) | varint::lowest_bytes(rowid as u64, key);
            self.page[record - 8..record].copy_from_slice(&number.to_be_bytes());
            self.content = record - key - 1;
            self.pointers.push((self.content as u16).to_be_bytes());
        }
        rowids.len()
    }
}

/// Returns the usual number of pages in a buffer that is flushed after this number of bytes.
fn usual_pages(flush: usize, page_size: usize) -> usize {
    flush / page_size + 2
}
