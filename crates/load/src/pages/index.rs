//! Packed trees of sorted entries: indexes, and tables WITHOUT ROWID
//! (<https://sqlite.org/fileformat2.html#b_tree_pages>); and rows that were sorted by their rowids, as leaves of
//! their table.
//!
//! Unlike in a table's tree, an entry is in one place only: the one between two pages moves up into
//! their parent. The sorted runs of several workers are divided into ranges that are merged and
//! written in parallel; the entries at which they are divided become such entries between pages.

use super::file::PageFile;
use super::layout::{IndexColumn, IndexPlan};
use super::leaves::{self, Leaves};
use super::level::{CellList, Level, write_levels};
use super::merge::Merged;
use super::order::{self, Field, Fields, Key};
use super::packer::Packer;
use super::page::INDEX_INTERIOR;
use super::record::{header_length, number_length};
use super::run::{Entry, Run};
use super::varint;
use crate::error::{LoadError, Result};

/// Bytes of entries in a range below which it is not worth a thread.
const SMALL: u64 = 1 << 20;
/// Bytes that are read ahead of all runs in files together, and of each.
const AHEAD: usize = 64 << 20;
const MOST_AHEAD: usize = 256 << 10;
const LEAST_AHEAD: usize = 4 << 10;

/// Writes an index of the entries that several workers have sorted, with at most this number of threads.
///
/// # Errors
/// Two rows have the same values in a unique index; the file cannot be written, or a run not be read.
pub(super) fn write(file: &PageFile, plan: &IndexPlan, runs: &[Run], threads: usize) -> Result<()> {
    if runs.iter().all(|run| run.bytes() == 0) {
        // SQLite has made the root as an empty page.
        return Ok(());
    }
    let (writer, cuts) = IndexWriter::new(file, plan, runs, threads);
    if cuts.is_empty() {
        let (leaves, _) = writer.write_leaves(Between { from: None, until: None })?;
        return match leaves.finish_alone(plan.root)? {
            Some(level) => write_levels(file, INDEX_INTERIOR, plan.root, level),
            None => Ok(()),
        };
    }
    let mut level = Level::default();
    let ranges = writer.each_range(&cuts, |range| {
        let (leaves, first) = writer.write_leaves(range)?;
        Ok((leaves.finish()?, first))
    })?;
    for (range, first) in ranges {
        level.append(&range, first.as_deref());
    }
    write_levels(file, INDEX_INTERIOR, plan.root, level)
}

/// Chooses entries that divide the runs into at most `ranges` ranges of about equal size, each of several
/// entries.
fn cuts<'r>(plan: &IndexPlan, runs: &'r [Run], ranges: usize) -> Vec<Entry<'r>> {
    // Each sample stands for as many bytes as lie between it and the next.
    let of_run = |run: &'r Run| {
        let bytes = run.bytes() / run.samples.len().max(1) as u64;
        run.samples.iter().map(move |sample| (Entry::new(&sample.cell, &plan.descending), bytes))
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

/// A range of entries, from one on and before another.
#[derive(Clone, Copy)]
struct Between<'e> {
    from: Option<Entry<'e>>,
    until: Option<Entry<'e>>,
}

/// Where the leaves of an index come from.
struct IndexWriter<'f, 'r> {
    file: &'f PageFile,
    plan: &'r IndexPlan,
    runs: &'r [Run],
    /// Bytes that are read at a time of each run in a file.
    ahead: usize,
}

impl<'f, 'r> IndexWriter<'f, 'r> {
    /// Returns the entries of runs, and where to divide them among at most this number of threads.
    fn new(
        file: &'f PageFile,
        plan: &'r IndexPlan,
        runs: &'r [Run],
        threads: usize,
    ) -> (IndexWriter<'f, 'r>, Vec<Entry<'r>>) {
        let bytes: u64 = runs.iter().map(Run::bytes).sum();
        let cuts = cuts(plan, runs, threads.min((bytes / SMALL) as usize).max(1));
        let readers = runs.iter().filter(|run| run.is_in_file()).count().max(1) * (cuts.len() + 1);
        let writer = IndexWriter {
            file,
            plan,
            runs,
            ahead: (AHEAD / readers).clamp(LEAST_AHEAD, MOST_AHEAD),
        };
        (writer, cuts)
    }

    /// Does something with each range between these entries, on a thread of its own.
    fn each_range<R: Send>(
        &self,
        cuts: &[Entry<'_>],
        work: impl Fn(Between<'_>) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        std::thread::scope(|scope| {
            let work = &work;
            let range = |number: usize| {
                let from = number.checked_sub(1).map(|before| cuts[before]);
                let until = cuts.get(number).copied();
                move || work(Between { from, until })
            };
            let threads: Vec<_> =
                (0..=cuts.len()).map(|number| scope.spawn(range(number))).collect();
            let joined = threads.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            joined.collect()
        })
    }

    /// Visits the entries of a range in order. In a unique index, no two may be equal.
    fn for_each(
        &self,
        range: Between<'_>,
        mut add: impl FnMut(Entry<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut merged = Merged::new(self.plan, self.runs, range.from, self.ahead)?;
        let mut neighbours = UniqueCheck::new(self.plan);
        let is_after = |entry: Entry<'_>, end| entry.compare(end, &self.plan.descending).is_ge();
        while let Some(entry) = merged.entry() {
            if range.until.is_some_and(|end| is_after(entry, end)) {
                break;
            }
            neighbours.check(entry)?;
            add(entry)?;
            merged.advance()?;
        }
        range.until.map_or(Ok(()), |end| neighbours.check(end))
    }

    /// Writes the leaves of a range, but for the last leaves. The first entry of a range that is not the
    /// first is in none of them but comes before, as a cell.
    fn write_leaves(&self, range: Between<'_>) -> Result<(Leaves<'f>, Option<Vec<u8>>)> {
        let mut leaves = Leaves::new(self.file);
        let mut first = None;
        self.for_each(range, |entry| {
            if range.from.is_some() && first.is_none() {
                first = self.cell(entry)?;
                return Ok(());
            }
            leaves.push(entry)
        })?;
        Ok((leaves, first))
    }

    /// Returns the cell of one entry.
    fn cell(&self, entry: Entry<'_>) -> Result<Option<Vec<u8>>> {
        let mut alone = CellList::default();
        alone.push(entry.cell);
        Ok(leaves::stored_cells(self.file, &alone, &mut None)?.pop())
    }
}

/// Checks that neighbours are not the same in a unique index, where NULL is never the same.
struct UniqueCheck<'p> {
    plan: &'p IndexPlan,
    /// The key and the record of the last entry of a unique index.
    last: Option<Key>,
    record: Vec<u8>,
}

impl<'p> UniqueCheck<'p> {
    fn new(plan: &'p IndexPlan) -> UniqueCheck<'p> {
        UniqueCheck { plan, last: None, record: Vec::new() }
    }

    #[inline]
    fn check(&mut self, entry: Entry<'_>) -> Result<()> {
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
    let columns = plan.label.clone();
    let rowid = |record| match Fields::of(record).last() {
        Some(Field::Integer(rowid)) => rowid,
        _ => 0,
    };
    let values: Vec<String> = Fields::of(one).take(plan.key).map(|field| field.to_text()).collect();
    let (input, values) = (String::new(), values.join(", "));
    let (one, other) = (rowid(one), rowid(other));
    let has_rowids = plan.columns.last() == Some(&IndexColumn::Rowid);
    let rowids = has_rowids.then(|| [one.min(other), one.max(other)]);
    LoadError::Duplicate { input, columns, values, rowids, rows: None }
}

/// Packs the rows of a table that several workers have sorted, with at most this number of threads. The rows of each
/// packer ascend, and so do the packers.
///
/// # Errors
/// Two rows have the same rowid; the file cannot be written, or a run not be read.
pub(super) fn write_rows<'f>(
    file: &'f PageFile,
    plan: &IndexPlan,
    runs: &[Run],
    threads: usize,
) -> Result<Vec<Packer<'f>>> {
    let (writer, cuts) = IndexWriter::new(file, plan, runs, threads);
    writer.each_range(&cuts, |range| writer.pack_range(range))
}

impl<'f> IndexWriter<'f, '_> {
    /// Packs the rows of a range.
    fn pack_range(&self, range: Between<'_>) -> Result<Packer<'f>> {
        let mut packer = Packer::new(self.file);
        let mut record = Vec::new();
        self.for_each(range, |entry| {
            let rowid = split(entry.record(), &mut record);
            packer.add_record(rowid, &record)
        })?;
        Ok(packer)
    }
}

/// Returns the first value of a record, which is a rowid; the others become a record of their own.
fn split(entry: &[u8], record: &mut Vec<u8>) -> i64 {
    let rowid = match Fields::of(entry).next() {
        Some(Field::Integer(rowid)) => rowid,
        // `Sequencer` lets no others pass.
        _ => 0,
    };
    let (header, of_length) = varint::take(entry);
    let (header, values) = entry.split_at(header as usize);
    let (serial_type, of_type) = varint::take(&header[of_length..]);
    let types = &header[of_length + of_type..];
    record.clear();
    varint::push(record, header_length(types.len()) as u64);
    record.extend_from_slice(types);
    record.extend_from_slice(&values[number_length(serial_type as u32)..]);
    rowid
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::file::FileFormat;
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
            label: "t.a".to_owned(),
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

    fn cell(rowid: i64, text: &str) -> Vec<u8> {
        let record = plain(&[Stored::Integer(rowid), Stored::Text(text.into())]);
        let mut cell = Vec::new();
        varint::push(&mut cell, record.len() as u64);
        [cell, record].concat()
    }

    /// Packs two runs of rows in two ranges that part at an entry.
    fn in_two_ranges(runs: [Vec<Vec<u8>>; 2], cut: &[u8]) -> Result<()> {
        let made = tempfile::NamedTempFile::new().unwrap();
        let form = FileFormat { page_size: 4096, reserved: 0, pages: 2, auto_vacuum: false };
        let file = PageFile::open(made.path(), &form)?;
        let plan = IndexPlan::of_rows(2, std::iter::once(IndexColumn::Of(0)), "t.id".to_owned());
        let runs = runs.map(|cells| Run::of_cells(cells.into_iter()));
        let writer = IndexWriter { file: &file, plan: &plan, runs: &runs, ahead: 4096 };
        let cuts = [Entry::new(cut, &plan.descending)];
        writer.each_range(&cuts, |range| writer.pack_range(range)).map(drop)
    }

    #[test]
    fn a_rowid_that_is_twice_where_ranges_part_is_refused() {
        let runs = |rowid| {
            let one = vec![cell(1, "a"), cell(5, "b")];
            [one, vec![cell(rowid, "a"), cell(9, "a")]]
        };
        assert!(in_two_ranges(runs(4), &cell(5, "b")).is_ok());
        let error = in_two_ranges(runs(5), &cell(5, "b")).unwrap_err();
        assert!(matches!(error, LoadError::Duplicate { rowids: None, .. }), "{error}");
    }

    proptest! {
        #[test]
        fn the_record_of_a_row_lacks_the_rowid_alone(rowid in any::<i64>(), others in 1_usize..200) {
            let others: Vec<Stored<'_>> = (0..others)
                .map(|at| if at % 3 == 0 { Stored::Null } else { Stored::Text("ab".into()) })
                .collect();
            let all = [vec![Stored::Integer(rowid)], others.clone()].concat();
            let mut record = vec![7];
            prop_assert_eq!(split(&plain(&all), &mut record), rowid);
            prop_assert_eq!(record, plain(&others));
        }
    }
}
