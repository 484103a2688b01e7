//! Packed trees of sorted entries: indexes, and tables WITHOUT ROWID
//! (<https://sqlite.org/fileformat2.html#b_tree_pages>).
//!
//! Unlike in a table's tree, an entry is in one place only: the one between two pages moves up into
//! their parent. The entries, sorted runs of several workers, are divided into ranges that are merged and
//! written side by side; the entries at which they are divided become such entries between pages.

use std::ops::Range;

use super::buffer::Buffer;
use super::file::PageFile;
use super::order::{self, Field, Fields, Key};
use super::packer::write_header;
use super::sort::{Entry, Merged, Run};
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

/// Bytes of entries in a range below which it is not worth a thread.
const SMALL: u64 = 1 << 20;
/// Bytes that are read ahead of all runs in files together, and of one of them.
const AHEAD: usize = 64 << 20;
const MOST_AHEAD: usize = 256 << 10;
const LEAST_AHEAD: usize = 4 << 10;

/// Writes an index of the entries that several workers have sorted, by so many threads at most.
///
/// # Errors
/// Two rows have the same values in a unique index; the file cannot be written, or a run not be read.
pub(super) fn write(
    file: &PageFile,
    plan: &IndexPlan,
    runs: &[Run],
    threads: usize,
) -> Result<(), LoadError> {
    let bytes: u64 = runs.iter().map(Run::bytes).sum();
    if bytes == 0 {
        // SQLite has made the root as an empty page.
        return Ok(());
    }
    let cuts = cuts(plan, runs, threads.min((bytes / SMALL) as usize).max(1));
    let in_files = runs.iter().filter(|run| run.is_in_file()).count();
    let readers = in_files.max(1) * (cuts.len() + 1);
    let source = Source {
        file,
        plan,
        runs,
        ahead: (AHEAD / readers).clamp(LEAST_AHEAD, MOST_AHEAD),
    };
    if cuts.is_empty() {
        let (leaves, _) = source.write_leaves(None, None)?;
        return match leaves.finish_alone(plan.root)? {
            Some(level) => write_levels(file, plan.root, level),
            None => Ok(()),
        };
    }
    let mut level = Level::new(file);
    for (range, first) in source.write_ranges(&cuts)? {
        if let Some(first) = first {
            level.dividers.push(&first);
        }
        level.children.extend_from_slice(&range.children);
        for number in 0..range.dividers.len() {
            level.dividers.push(range.dividers.get(number));
        }
    }
    write_levels(file, plan.root, level)
}

/// Entries that divide all of them into so many ranges at most, about equal in size, each of several
/// entries.
fn cuts<'r>(plan: &IndexPlan, runs: &'r [Run], ranges: usize) -> Vec<Entry<'r>> {
    // Each sample stands for as many bytes as lie between it and the next.
    let of_run = |run: &'r Run| {
        let bytes = run.bytes() / run.samples().len().max(1) as u64;
        let samples = run.samples().iter();
        samples.map(move |sample| (Entry::new(&sample.cell, &plan.descending), bytes))
    };
    let mut samples: Vec<(Entry<'r>, u64)> = runs.iter().flat_map(of_run).collect();
    let compare = |one: Entry<'_>, other: Entry<'_>| one.compare(other, &plan.descending);
    samples.sort_unstable_by(|(one, _), (other, _)| compare(*one, *other));
    // The same entry twice is an error, which shows when the range that has it is written.
    samples.dedup_by(|(one, _), (other, _)| compare(*one, *other).is_eq());
    let total: u64 = samples.iter().map(|(_, bytes)| bytes).sum();
    let (mut cuts, mut last, mut before) = (Vec::new(), 0, 0);
    for (number, (entry, bytes)) in samples.iter().enumerate() {
        let wanted = total / ranges as u64 * (cuts.len() as u64 + 1);
        let leaves_several = number >= last + 2 && number + 2 <= samples.len();
        if cuts.len() + 1 < ranges && before >= wanted && leaves_several {
            cuts.push(*entry);
            last = number;
        }
        before += bytes;
    }
    cuts
}

/// Where the leaves of an index come from.
struct Source<'f> {
    file: &'f PageFile,
    plan: &'f IndexPlan,
    runs: &'f [Run],
    /// Bytes that are read at a time of each run in a file.
    ahead: usize,
}

/// What becomes the level above the leaves of a range, and the cell that comes before them.
type WrittenRange<'f> = (Level<'f>, Option<Vec<u8>>);

impl<'f> Source<'f> {
    /// Writes the leaves between these entries, a thread for each range.
    fn write_ranges(&self, cuts: &[Entry<'_>]) -> Result<Vec<WrittenRange<'f>>, LoadError> {
        std::thread::scope(|scope| {
            let range = |number: usize| {
                let from = number.checked_sub(1).map(|before| cuts[before]);
                let until = cuts.get(number).copied();
                move || -> Result<WrittenRange<'f>, LoadError> {
                    let (leaves, first) = self.write_leaves(from, until)?;
                    Ok((leaves.finish()?, first))
                }
            };
            let threads: Vec<_> = (0..=cuts.len())
                .map(|number| scope.spawn(range(number)))
                .collect();
            let joined = threads.into_iter().map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            joined.collect()
        })
    }

    /// Writes the leaves of the entries from one on and before another, but for the last leaves. The first
    /// entry of a range is in none of them but comes before, as a cell.
    fn write_leaves(
        &self,
        from: Option<Entry<'_>>,
        until: Option<Entry<'_>>,
    ) -> Result<(Leaves<'f>, Option<Vec<u8>>), LoadError> {
        let mut merged = Merged::new(self.plan, self.runs, from, self.ahead)?;
        let mut leaves = Leaves::new(self.file);
        let mut neighbours = Neighbours::new(self.plan);
        let mut first = None;
        while let Some(entry) = merged.entry() {
            if until.is_some_and(|until| entry.compare(until, &self.plan.descending).is_ge()) {
                break;
            }
            neighbours.check(entry)?;
            if from.is_some() && first.is_none() {
                first = Some(cell(self.file, entry)?);
            } else {
                leaves.push(entry)?;
            }
            merged.advance()?;
        }
        if let Some(until) = until {
            neighbours.check(until)?;
        }
        Ok((leaves, first))
    }
}

/// Checks that neighbours are not the same in a unique index, where NULL is never the same.
struct Neighbours<'p> {
    plan: &'p IndexPlan,
    /// The key and the record of the last entry of a unique index.
    last: Option<Key>,
    record: Vec<u8>,
}

impl<'p> Neighbours<'p> {
    fn new(plan: &'p IndexPlan) -> Neighbours<'p> {
        Neighbours {
            plan,
            last: None,
            record: Vec::new(),
        }
    }

    #[inline]
    fn check(&mut self, entry: Entry<'_>) -> Result<(), LoadError> {
        if !self.plan.unique {
            return Ok(());
        }
        if self.last.is_some_and(|last| last.may_be_same(entry.key))
            && order::is_same(&self.record, entry.record(), self.plan.key)
        {
            return Err(duplicate(self.plan, &self.record, entry.record()));
        }
        self.last = Some(entry.key);
        self.record.clear();
        self.record.extend_from_slice(entry.record());
        Ok(())
    }
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
/// What a cell takes in a leaf at least, so that there is room for a free block where it was.
const LEAST_CELL: usize = 4;
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
    /// Bytes that a cell may have to be for certain a whole one.
    whole: usize,
}

impl<'f> Leaves<'f> {
    fn new(file: &'f PageFile) -> Leaves<'f> {
        Leaves {
            file,
            level: Level::new(file),
            open: None,
            pointers: Vec::new(),
            between: None,
            whole: longest_whole(file.usable()),
        }
    }

    fn push(&mut self, entry: Entry<'_>) -> Result<(), LoadError> {
        if entry.cell.len() <= self.whole {
            return self.push_cell(entry.cell);
        }
        let cell = cell(self.file, entry)?;
        self.push_cell(&cell)
    }

    #[inline]
    fn push_cell(&mut self, cell: &[u8]) -> Result<(), LoadError> {
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
        let place = &mut self.level.buffer.page(open.index)[open.content..open.content + room];
        place[..cell.len()].copy_from_slice(cell);
        place[cell.len()..].fill(0);
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
            let page = self.level.buffer.page(open.index);
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

/// The longest record that a page keeps whole.
fn longest_whole(usable: usize) -> usize {
    (usable - 12) * 64 / 255 - 23
}

/// The cell of an entry as a page has it: its length, what stays in the page, and where the rest is, which
/// is written at once.
fn cell(file: &PageFile, entry: Entry<'_>) -> Result<Vec<u8>, LoadError> {
    let (usable, record) = (file.usable(), entry.record());
    let whole = longest_whole(usable);
    if record.len() <= whole {
        return Ok(entry.cell.to_vec());
    }
    let least = (usable - 12) * 32 / 255 - 23;
    let wanted = least + (record.len() - least) % (usable - 4);
    let local = if wanted <= whole { wanted } else { least };
    let mut cell = Vec::new();
    varint::push(&mut cell, record.len() as u64);
    cell.extend_from_slice(&record[..local]);
    let first = write_chain(file, &record[local..])?;
    cell.extend_from_slice(&first.to_be_bytes());
    Ok(cell)
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::record::plain;
    use super::super::stored::Stored;
    use super::*;

    fn plan() -> IndexPlan {
        IndexPlan {
            root: 2,
            columns: vec![IndexColumn::Of(0), IndexColumn::Rowid],
            key: 1,
            descending: vec![false],
            unique: false,
            is_table: false,
            called: "t.a".to_owned(),
        }
    }

    fn cell_of(number: i64) -> Vec<u8> {
        let record = plain(&[Stored::Integer(number), Stored::Integer(1)]);
        let mut cell = Vec::new();
        varint::push(&mut cell, record.len() as u64);
        [cell, record].concat()
    }

    proptest! {
        #[test]
        fn every_range_has_several_entries(
            numbers in prop::collection::vec(prop::collection::btree_set(any::<i64>(), 0..3_000), 1..5),
            ranges in 1_usize..9,
        ) {
            let plan = plan();
            let runs: Vec<Run> = (numbers.iter())
                .map(|numbers| Run::of_cells(numbers.iter().map(|number| cell_of(*number))))
                .collect();
            let cuts = cuts(&plan, &runs, ranges);
            prop_assert!(cuts.len() < ranges);
            let all: BTreeSet<i64> = numbers.iter().flatten().copied().collect();
            let mut bounds = vec![i64::MIN];
            for cut in &cuts {
                let Some(Field::Integer(number)) = Fields::of(cut.record()).next() else {
                    return Err(TestCaseError::fail("not an entry"));
                };
                prop_assert!(all.contains(&number));
                bounds.push(number);
            }
            bounds.push(i64::MAX);
            if !cuts.is_empty() {
                let counts = bounds.windows(2).map(|pair| all.range(pair[0]..pair[1]).count());
                prop_assert!(counts.min() >= Some(2));
            }
        }
    }
}
