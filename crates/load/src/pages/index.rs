//! Packed trees of sorted entries: indexes, and tables WITHOUT ROWID
//! (<https://sqlite.org/fileformat2.html#b_tree_pages>).
//!
//! Unlike in a table's tree, an entry is in one place only: the one between two pages moves up into
//! their parent. The entries, sorted lists of several workers, are divided into ranges that are merged
//! and written side by side; the entries at which they are divided become such entries between pages.

use std::ops::Range;

use super::buffer::Buffer;
use super::entries::{self, Entries, Entry, Listed, Merged};
use super::file::PageFile;
use super::order::{self, Field, Fields};
use super::packer::write_header;
use super::varint;
use crate::error::LoadError;

/// An index to be filled, or a table WITHOUT ROWID, which is an index over all of its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexPlan {
    pub(crate) root: u32,
    /// The columns of its entries.
    pub(crate) columns: Vec<IndexColumn>,
    /// How many of them, from the first, are its key.
    pub(crate) key: usize,
    /// Which columns of the key descend.
    pub(crate) descending: Vec<bool>,
    pub(crate) unique: bool,
    /// Whether it is the table itself.
    pub(crate) is_table: bool,
    /// What a violation is called: `t.a, t.b`.
    pub(crate) called: String,
}

impl IndexPlan {
    /// Whether rows that come one after the other are in order already if their first columns are the
    /// same: then nothing but the rowid follows, which ascends, or nothing that the order depends on.
    pub(super) fn first_column_decides(&self) -> bool {
        self.key == 1 && (self.is_table || self.columns.get(1) == Some(&IndexColumn::Rowid))
    }
}

/// A column of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexColumn {
    /// A column of the table, by its place there.
    Of(usize),
    Rowid,
}

/// Entries of a range below which it is not worth a thread.
const SMALL: usize = 50_000;

/// Writes an index of the entries that several workers have collected and sorted.
///
/// # Errors
/// Two rows have the same values in a unique index; the file cannot be written.
pub(super) fn write(
    file: &PageFile,
    plan: &IndexPlan,
    lists: &[&Entries],
) -> Result<(), LoadError> {
    let total: usize = lists.iter().map(|list| list.all().len()).sum();
    if total == 0 {
        // SQLite has made the root as an empty page.
        return Ok(());
    }
    let ranges = divide(plan, lists, (total / SMALL).clamp(1, lists.len().max(1)));
    if let [only] = &ranges[..] {
        return match write_leaves(file, plan, only)?.finish_alone(plan.root)? {
            Some(level) => write_levels(file, plan.root, level),
            None => Ok(()),
        };
    }
    let written: Result<Vec<Level<'_>>, LoadError> = std::thread::scope(|scope| {
        let write = |range| move || write_leaves(file, plan, range)?.finish();
        let threads: Vec<_> = ranges
            .iter()
            .map(|range| scope.spawn(write(range)))
            .collect();
        let joined = threads.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        joined.collect()
    });
    let mut level = Level::new(file);
    for (part, range) in written?.iter().zip(&ranges) {
        if let Some(before) = range.before {
            let mut cell = Vec::new();
            make_cell(file, record(before), &mut cell)?;
            level.dividers.push(&cell);
        }
        level.children.extend_from_slice(&part.children);
        for number in 0..part.dividers.len() {
            level.dividers.push(part.dividers.get(number));
        }
    }
    write_levels(file, plan.root, level)
}

fn record<'e>((list, entry): Listed<'e>) -> &'e [u8] {
    list.record(entry)
}

/// A range of entries, and those on both sides of it, which belong to no range.
struct Part<'e> {
    before: Option<Listed<'e>>,
    lists: Vec<(&'e Entries, &'e [Entry])>,
    behind: Option<Listed<'e>>,
}

/// Divides entries into so many ranges, about equal in size, each of which has some.
fn divide<'e>(plan: &IndexPlan, lists: &[&'e Entries], count: usize) -> Vec<Part<'e>> {
    let mut left: Vec<(&Entries, &[Entry])> =
        lists.iter().map(|list| (*list, list.all())).collect();
    let longest = lists.iter().max_by_key(|list| list.all().len());
    let mut parts = Vec::new();
    let mut before = None;
    for number in 1..count {
        let Some(list) = longest else { break };
        let at: Listed<'e> = (*list, list.all()[number * list.all().len() / count]);
        let mut part = Vec::new();
        for (list, entries) in &mut left {
            let end = entries
                .partition_point(|entry| entries::compare(plan, (*list, *entry), at).is_lt());
            part.push((*list, &entries[..end]));
            // The entry itself belongs to neither side.
            let is_its_own = std::ptr::eq(*list, at.0);
            *entries = &entries[end + usize::from(is_its_own)..];
        }
        parts.push(Part {
            before,
            lists: part,
            behind: Some(at),
        });
        before = Some(at);
    }
    parts.push(Part {
        before,
        lists: left,
        behind: None,
    });
    parts
}

/// Writes the leaves of a range, but for the last ones.
fn write_leaves<'f>(
    file: &'f PageFile,
    plan: &IndexPlan,
    part: &Part<'_>,
) -> Result<Leaves<'f>, LoadError> {
    let mut leaves = Leaves::new(file);
    let mut last = part.before;
    for entry in Merged::new(plan, part.lists.clone()) {
        check_unique(plan, last, entry)?;
        leaves.push(record(entry))?;
        last = Some(entry);
    }
    if let Some(behind) = part.behind {
        check_unique(plan, last, behind)?;
    }
    Ok(leaves)
}

/// Checks that neighbours are not the same in a unique index, where NULL is never the same.
#[inline]
fn check_unique(
    plan: &IndexPlan,
    last: Option<Listed<'_>>,
    entry: Listed<'_>,
) -> Result<(), LoadError> {
    if let (true, Some(last)) = (plan.unique, last)
        && entries::may_be_same(last, entry)
        && order::is_same(record(last), record(entry), plan.key)
    {
        return Err(duplicate(plan, record(last), record(entry)));
    }
    Ok(())
}

#[cold]
fn duplicate(plan: &IndexPlan, one: &[u8], other: &[u8]) -> LoadError {
    let columns = plan.called.clone();
    let rowid = |record| match Fields::of(record).last() {
        Some(Field::Integer(rowid)) => rowid,
        _ => 0,
    };
    if plan.columns.last() == Some(&IndexColumn::Rowid) {
        return LoadError::Duplicate {
            columns,
            rowids: [rowid(one), rowid(other)],
        };
    }
    let values: Vec<String> = Fields::of(one)
        .take(plan.key)
        .map(|field| field.shown())
        .collect();
    LoadError::DuplicateKey {
        columns,
        values: values.join(", "),
    }
}

/// Writes what stands above a level of several pages, up to the root.
fn write_levels(file: &PageFile, root: u32, level: Level<'_>) -> Result<(), LoadError> {
    let Level {
        mut children,
        mut dividers,
        ..
    } = level;
    loop {
        let groups = groups(children.len(), &dividers, file.usable());
        if groups.len() == 1 {
            let mut buffer = Buffer::new(file.page_size(), 1);
            let index = buffer.add();
            fill_interior(buffer.page(index), file.usable(), &children, &dividers, 0);
            return file.write_page(root, buffer.bytes());
        }
        let mut level = Level::new(file);
        for group in &groups {
            level.interior(&children[group.clone()], &dividers, group.start)?;
            if group.end < children.len() {
                level.dividers.push(dividers.get(group.end - 1));
            }
        }
        level.flush()?;
        (children, dividers) = (level.children, level.dividers);
    }
}

/// The types of pages.
const INDEX_LEAF: u8 = 0x0a;
const INDEX_INTERIOR: u8 = 0x02;
const LEAF_HEADER: usize = 8;
const INTERIOR_HEADER: usize = 12;
/// Bytes after which the buffer is written.
const FLUSH: usize = 1 << 20;

/// Cells in one piece of memory.
#[derive(Debug, Default, Clone)]
struct Cells {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Cells {
    fn len(&self) -> usize {
        self.ends.len()
    }

    fn get(&self, number: usize) -> &[u8] {
        let start = if number == 0 {
            0
        } else {
            self.ends[number - 1]
        };
        &self.bytes[start..self.ends[number]]
    }

    fn push(&mut self, cell: &[u8]) {
        self.bytes.extend_from_slice(cell);
        self.ends.push(self.bytes.len());
    }
}

/// The leaf that is being filled.
#[derive(Debug, Clone, Copy)]
struct Open {
    index: usize,
    /// Where the cells begin, which are filled from the end.
    content: usize,
    /// The length of the last cell.
    last: usize,
}

/// The leaves, and what becomes the level above.
struct Leaves<'f> {
    file: &'f PageFile,
    level: Level<'f>,
    open: Option<Open>,
    /// The pointers to the open leaf's cells, which go into the page when it is full.
    pointers: Vec<u8>,
    /// The cell behind the last leaf, which is full: it comes between that one and the next, if there is
    /// a next one.
    between: Option<Vec<u8>>,
    cell: Vec<u8>,
}

impl<'f> Leaves<'f> {
    fn new(file: &'f PageFile) -> Leaves<'f> {
        Leaves {
            file,
            level: Level::new(file),
            open: None,
            pointers: Vec::new(),
            between: None,
            cell: Vec::new(),
        }
    }

    fn push(&mut self, record: &[u8]) -> Result<(), LoadError> {
        let mut cell = std::mem::take(&mut self.cell);
        make_cell(self.file, record, &mut cell)?;
        self.push_cell(&cell)?;
        self.cell = cell;
        Ok(())
    }

    #[inline]
    fn push_cell(&mut self, cell: &[u8]) -> Result<(), LoadError> {
        let mut open = match self.open {
            Some(open) if self.between.is_none() => open,
            _ => self.open_leaf()?,
        };
        if LEAF_HEADER + self.pointers.len() + 2 + cell.len() > open.content {
            self.between = Some(cell.to_vec());
            return Ok(());
        }
        let end = open.content;
        open.content -= cell.len();
        open.last = cell.len();
        self.level.buffer.page(open.index)[open.content..end].copy_from_slice(cell);
        let pointer = (open.content as u16).to_be_bytes();
        self.pointers.extend_from_slice(&pointer);
        self.open = Some(open);
        Ok(())
    }

    /// Closes the leaf that is full, and opens the next one.
    fn open_leaf(&mut self) -> Result<Open, LoadError> {
        self.close();
        if let Some(between) = self.between.take() {
            self.level.dividers.push(&between);
        }
        self.level.flush_when_full()?;
        let open = Open {
            index: self.level.buffer.add(),
            content: self.file.usable(),
            last: 0,
        };
        self.open = Some(open);
        Ok(open)
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else {
            return;
        };
        let page = self.level.buffer.page(open.index);
        write_header(page, INDEX_LEAF, self.pointers.len() / 2, open.content);
        let behind = LEAF_HEADER + self.pointers.len();
        page[LEAF_HEADER..behind].copy_from_slice(&self.pointers);
        page[behind..open.content].fill(0);
        page[self.file.usable()..].fill(0);
        self.pointers.clear();
    }

    /// Sees to it that a leaf follows the cell that comes between leaves: it becomes that leaf's, and the
    /// last cell of the full leaf takes its place.
    fn complete(&mut self) -> Result<(), LoadError> {
        if let (Some(cell), Some(mut open)) = (self.between.take(), self.open) {
            let end = open.content + open.last;
            let page = self.level.buffer.page(open.index);
            self.between = Some(page[open.content..end].to_vec());
            open.content = end;
            self.open = Some(open);
            self.pointers.truncate(self.pointers.len() - 2);
            self.open_leaf()?;
            self.push_cell(&cell)?;
        }
        self.close();
        Ok(())
    }

    /// Writes the last leaves.
    fn finish(mut self) -> Result<Level<'f>, LoadError> {
        self.complete()?;
        self.level.flush()?;
        Ok(self.level)
    }

    /// Writes the last leaves; where there is one only, it is the root, and nothing stands above it.
    fn finish_alone(mut self, root: u32) -> Result<Option<Level<'f>>, LoadError> {
        self.complete()?;
        if self.level.children.is_empty() && self.level.buffer.pages() == 1 {
            self.file.write_page(root, self.level.buffer.bytes())?;
            return Ok(None);
        }
        self.level.flush()?;
        Ok(Some(self.level))
    }
}

/// The pages of one level as they are written, with the cells between them.
struct Level<'f> {
    file: &'f PageFile,
    buffer: Buffer,
    children: Vec<u32>,
    dividers: Cells,
}

impl<'f> Level<'f> {
    fn new(file: &'f PageFile) -> Level<'f> {
        Level {
            file,
            buffer: Buffer::new(file.page_size(), FLUSH / file.page_size() + 1),
            children: Vec::new(),
            dividers: Cells::default(),
        }
    }

    /// A page of these children; the first divider among them has the number `first`.
    fn interior(
        &mut self,
        children: &[u32],
        dividers: &Cells,
        first: usize,
    ) -> Result<(), LoadError> {
        let index = self.buffer.add();
        fill_interior(
            self.buffer.page(index),
            self.file.usable(),
            children,
            dividers,
            first,
        );
        self.flush_when_full()
    }

    fn flush_when_full(&mut self) -> Result<(), LoadError> {
        if self.buffer.bytes().len() >= FLUSH {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), LoadError> {
        let pages = self.buffer.pages();
        if pages > 0 {
            let range = self.file.reserve(pages)?;
            self.file.write(range, self.buffer.bytes())?;
            self.children
                .extend((0..pages).map(|index| range.page(index)));
            self.buffer.clear(FLUSH / self.file.page_size() + 1);
        }
        Ok(())
    }
}

/// Makes the cell of a record: its length, what stays in the page, and where the rest is, which is
/// written at once.
fn make_cell(file: &PageFile, record: &[u8], cell: &mut Vec<u8>) -> Result<(), LoadError> {
    let usable = file.usable();
    let whole = (usable - 12) * 64 / 255 - 23;
    cell.clear();
    varint::push(cell, record.len() as u64);
    if record.len() <= whole {
        cell.extend_from_slice(record);
        return Ok(());
    }
    let least = (usable - 12) * 32 / 255 - 23;
    let wanted = least + (record.len() - least) % (usable - 4);
    let local = if wanted <= whole { wanted } else { least };
    cell.extend_from_slice(&record[..local]);
    let first = write_chain(file, &record[local..])?;
    cell.extend_from_slice(&first.to_be_bytes());
    Ok(())
}

/// Writes a chain of overflow pages and returns the number of the first.
fn write_chain(file: &PageFile, rest: &[u8]) -> Result<u32, LoadError> {
    let chunks = rest.chunks(file.usable() - 4);
    let range = file.reserve(chunks.len())?;
    let mut buffer = Buffer::new(file.page_size(), chunks.len());
    let last = chunks.len() - 1;
    for (number, chunk) in chunks.enumerate() {
        let index = buffer.add();
        let page = buffer.page(index);
        let next = if number < last {
            range.page(number + 1)
        } else {
            0
        };
        page[..4].copy_from_slice(&next.to_be_bytes());
        page[4..4 + chunk.len()].copy_from_slice(chunk);
        page[4 + chunk.len()..].fill(0);
    }
    file.write(range, buffer.bytes())?;
    Ok(range.page(0))
}

/// Divides children among pages: as many as fit, and never a single one for the last page. Between two
/// pages a divider is left for the level above.
fn groups(children: usize, dividers: &Cells, usable: usize) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    let (mut start, mut room) = (0, usable - INTERIOR_HEADER);
    for number in 1..children {
        let needed = 4 + dividers.get(number - 1).len() + 2;
        if number > start && needed > room {
            groups.push(start..number);
            (start, room) = (number, usable - INTERIOR_HEADER);
        } else if number > start {
            room -= needed;
        }
    }
    groups.push(start..children);
    if let [.., before, last] = &mut groups[..]
        && last.len() == 1
    {
        before.end -= 1;
        last.start -= 1;
    }
    groups
}

fn fill_interior(page: &mut [u8], usable: usize, children: &[u32], dividers: &Cells, first: usize) {
    let (page, reserved) = page.split_at_mut(usable);
    reserved.fill(0);
    let cells = children.len() - 1;
    let mut content = page.len();
    for (number, child) in children.iter().enumerate().take(cells) {
        let cell = dividers.get(first + number);
        content -= 4 + cell.len();
        page[content..content + 4].copy_from_slice(&child.to_be_bytes());
        page[content + 4..content + 4 + cell.len()].copy_from_slice(cell);
        put_pointer(page, INTERIOR_HEADER + 2 * number, content);
    }
    write_header(page, INDEX_INTERIOR, cells, content);
    page[8..12].copy_from_slice(&children[cells].to_be_bytes());
    page[INTERIOR_HEADER + 2 * cells..content].fill(0);
}

fn put_pointer(page: &mut [u8], at: usize, content: usize) {
    page[at..at + 2].copy_from_slice(&(content as u16).to_be_bytes());
}
