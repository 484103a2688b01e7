//! Indexes in bulk: their entries are collected while rows are packed, sorted, and written as a packed
//! tree (<https://sqlite.org/fileformat2.html#b_tree_pages>).
//!
//! Unlike in a table's tree, an entry is in one place only: the one between two pages moves up into
//! their parent.

use std::ops::Range;

use super::buffer::Buffer;
use super::file::PageFile;
use super::key;
use super::packer::write_header;
use super::record::Record;
use super::stored::Stored;
use super::varint;
use crate::affinity::Affinity;
use crate::error::LoadError;

/// An index to be filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexPlan {
    pub(crate) root: u32,
    /// Its columns, as numbers of the table's.
    pub(crate) columns: Vec<usize>,
    pub(crate) unique: bool,
    /// What a violation is called: `t.a, t.b`.
    pub(crate) called: String,
}

/// Entries of one index, in the order in which rows came.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// Keys and records, one behind the other.
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    record: Record,
}

/// An entry: a key and behind it a record.
#[derive(Debug, Clone, Copy)]
struct Entry {
    /// The first bytes of the key, which decide most comparisons.
    prefix: u64,
    at: usize,
    key: u32,
    /// The length of the record; the highest bit tells that a column is NULL.
    record: u32,
}

const HAS_NULL: u32 = 1 << 31;

impl Entries {
    /// Adds a row's entry, of the values that the row has in the table.
    pub(super) fn push(
        &mut self,
        plan: &IndexPlan,
        row: &[Stored<'_>],
        affinities: &[Affinity],
        rowid: i64,
    ) {
        let at = self.bytes.len();
        self.record.clear();
        let mut has_null = 0;
        for column in &plan.columns {
            // Reals come out of the table as reals, whatever they are stored as; in an index whole ones
            // are integers.
            let value = match (&row[*column], affinities[*column]) {
                (Stored::Real(value), Affinity::Real) => whole(*value),
                (value, _) => value.clone(),
            };
            if value == Stored::Null {
                has_null = HAS_NULL;
            }
            key::push(&mut self.bytes, &value);
            self.record.push(&value);
        }
        key::push_rowid(&mut self.bytes, rowid);
        self.record.push(&Stored::Integer(rowid));
        let behind = self.bytes.len();
        let length = self.record.length();
        self.bytes.resize(behind + length, 0);
        self.record.write(&mut self.bytes[behind..]);
        self.entries.push(Entry {
            prefix: prefix(&self.bytes[at..behind]),
            at,
            // Values of a row are below 900 MB each, and refused above in sum.
            key: (behind - at) as u32,
            record: length as u32 | has_null,
        });
    }

    /// The memory taken, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.bytes.len() + self.entries.len() * size_of::<Entry>()
    }

    pub(super) fn sort(&mut self) {
        let bytes = &self.bytes;
        self.entries.sort_unstable_by(|one, other| {
            one.prefix
                .cmp(&other.prefix)
                .then_with(|| one.key(bytes).cmp(other.key(bytes)))
        });
    }
}

impl Entry {
    fn key(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.at..self.at + self.key as usize]
    }

    fn record(self, bytes: &[u8]) -> &[u8] {
        let at = self.at + self.key as usize;
        &bytes[at..at + (self.record & !HAS_NULL) as usize]
    }
}

fn prefix(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = key.len().min(8);
    bytes[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(bytes)
}

fn whole(value: f64) -> Stored<'static> {
    let integer = value as i64;
    if integer as f64 == value && integer > i64::MIN && integer < i64::MAX {
        Stored::Integer(integer)
    } else {
        Stored::Real(value)
    }
}

/// Writes an index of the entries that several workers have collected and sorted.
///
/// # Errors
/// Two rows have the same values in a unique index; the file cannot be written.
pub(super) fn write(
    file: &PageFile,
    plan: &IndexPlan,
    parts: &[&Entries],
) -> Result<(), LoadError> {
    let mut leaves = Leaves::new(file);
    let mut merged = Merged::new(parts);
    let mut last: Option<(&[u8], bool)> = None;
    while let Some((key, record, has_null)) = merged.next() {
        let values = &key[..key.len() - key::ROWID];
        if let (true, false, Some((before, false))) = (plan.unique, has_null, last)
            && before[..before.len() - key::ROWID] == *values
        {
            return Err(LoadError::Duplicate {
                columns: plan.called.clone(),
                rowids: [key::rowid(before), key::rowid(key)],
            });
        }
        last = Some((key, has_null));
        leaves.push(record)?;
    }
    leaves.finish(plan.root)
}

/// The entries of several sorted lists, in order.
struct Merged<'e> {
    parts: Vec<(&'e [u8], std::slice::Iter<'e, Entry>)>,
}

impl<'e> Merged<'e> {
    fn new(parts: &[&'e Entries]) -> Merged<'e> {
        let parts = parts
            .iter()
            .map(|part| (&part.bytes[..], part.entries.iter()));
        Merged {
            parts: parts.collect(),
        }
    }

    /// Key, record and whether a column is NULL. There are a few lists only, so that looking at the
    /// first entry of each is cheap.
    fn next(&mut self) -> Option<(&'e [u8], &'e [u8], bool)> {
        let first = |part: &(&'e [u8], std::slice::Iter<'e, Entry>)| {
            let (bytes, entries) = part;
            let entry = *entries.as_slice().first()?;
            Some((entry.prefix, entry.key(bytes)))
        };
        let (number, _) = self
            .parts
            .iter()
            .enumerate()
            .filter_map(|(number, part)| Some((number, first(part)?)))
            .min_by(|(_, one), (_, other)| one.cmp(other))?;
        let (bytes, entries) = &mut self.parts[number];
        let entry = *entries.next()?;
        Some((
            entry.key(bytes),
            entry.record(bytes),
            entry.record & HAS_NULL != 0,
        ))
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

    /// Takes the last one off.
    fn pop(&mut self) -> Vec<u8> {
        let last = self.len() - 1;
        let cell = self.get(last).to_vec();
        self.ends.pop();
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
        cell
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Bytes that the cells take in a page, pointers included.
    fn room(&self) -> usize {
        self.bytes.len() + 2 * self.len()
    }
}

/// The leaves, and what becomes the level above.
struct Leaves<'f> {
    file: &'f PageFile,
    level: Level<'f>,
    /// The cells of the page that is being filled.
    open: Cells,
    /// A full page and the cell behind it, kept back until it is known that another page follows with
    /// at least one cell.
    full: Option<(Cells, Vec<u8>)>,
    cell: Vec<u8>,
}

impl<'f> Leaves<'f> {
    fn new(file: &'f PageFile) -> Leaves<'f> {
        Leaves {
            file,
            level: Level::new(file),
            open: Cells::default(),
            full: None,
            cell: Vec::new(),
        }
    }

    fn push(&mut self, record: &[u8]) -> Result<(), LoadError> {
        let mut cell = std::mem::take(&mut self.cell);
        make_cell(self.file, record, &mut cell)?;
        if self.open.room() + cell.len() + 2 > self.file.page_size() - LEAF_HEADER {
            let full = std::mem::take(&mut self.open);
            self.keep_back(full, cell.clone())?;
        } else {
            self.open.push(&cell);
        }
        self.cell = cell;
        Ok(())
    }

    /// Keeps a full page back, and writes the one kept before.
    fn keep_back(&mut self, full: Cells, divider: Vec<u8>) -> Result<(), LoadError> {
        if let Some((mut before, between)) = self.full.replace((full, divider)) {
            self.level.leaf(&before)?;
            self.level.dividers.push(&between);
            before.clear();
            self.open = before;
        }
        Ok(())
    }

    fn finish(mut self, root: u32) -> Result<(), LoadError> {
        let Some((mut full, mut divider)) = self.full.take() else {
            // Everything is in one page, which is the root.
            let mut buffer = Buffer::new(self.file.page_size(), 1);
            let index = buffer.add();
            fill_leaf(buffer.page(index), &self.open);
            return self.file.write_page(root, buffer.bytes());
        };
        if self.open.len() == 0 {
            // A leaf must not be empty: the cell behind the full page goes into it, and the last of the
            // full page takes its place.
            self.open.push(&divider);
            divider = full.pop();
        }
        self.level.leaf(&full)?;
        self.level.dividers.push(&divider);
        self.level.leaf(&self.open)?;
        self.level.flush()?;
        let Level {
            mut children,
            mut dividers,
            ..
        } = self.level;
        loop {
            let groups = groups(children.len(), &dividers, self.file.page_size());
            if groups.len() == 1 {
                let mut buffer = Buffer::new(self.file.page_size(), 1);
                let index = buffer.add();
                fill_interior(buffer.page(index), &children, &dividers, 0);
                return self.file.write_page(root, buffer.bytes());
            }
            let mut level = Level::new(self.file);
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

    fn leaf(&mut self, cells: &Cells) -> Result<(), LoadError> {
        let index = self.buffer.add();
        fill_leaf(self.buffer.page(index), cells);
        self.flush_when_full()
    }

    /// A page of these children; the first divider among them has the number `first`.
    fn interior(
        &mut self,
        children: &[u32],
        dividers: &Cells,
        first: usize,
    ) -> Result<(), LoadError> {
        let index = self.buffer.add();
        fill_interior(self.buffer.page(index), children, dividers, first);
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
    let page_size = file.page_size();
    let whole = (page_size - 12) * 64 / 255 - 23;
    cell.clear();
    varint::push(cell, record.len() as u64);
    if record.len() <= whole {
        cell.extend_from_slice(record);
        return Ok(());
    }
    let least = (page_size - 12) * 32 / 255 - 23;
    let wanted = least + (record.len() - least) % (page_size - 4);
    let local = if wanted <= whole { wanted } else { least };
    cell.extend_from_slice(&record[..local]);
    let first = write_chain(file, &record[local..])?;
    cell.extend_from_slice(&first.to_be_bytes());
    Ok(())
}

/// Writes a chain of overflow pages and returns the number of the first.
fn write_chain(file: &PageFile, rest: &[u8]) -> Result<u32, LoadError> {
    let chunks = rest.chunks(file.page_size() - 4);
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
fn groups(children: usize, dividers: &Cells, page_size: usize) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    let (mut start, mut room) = (0, page_size - INTERIOR_HEADER);
    for number in 1..children {
        let needed = 4 + dividers.get(number - 1).len() + 2;
        if number > start && needed > room {
            groups.push(start..number);
            (start, room) = (number, page_size - INTERIOR_HEADER);
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

fn fill_leaf(page: &mut [u8], cells: &Cells) {
    let mut content = page.len();
    for number in 0..cells.len() {
        let cell = cells.get(number);
        content -= cell.len();
        page[content..content + cell.len()].copy_from_slice(cell);
        put_pointer(page, LEAF_HEADER + 2 * number, content);
    }
    write_header(page, INDEX_LEAF, cells.len(), content);
    page[LEAF_HEADER + 2 * cells.len()..content].fill(0);
}

fn fill_interior(page: &mut [u8], children: &[u32], dividers: &Cells, first: usize) {
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
