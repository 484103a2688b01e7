//! Packed trees of sorted entries: indexes, and tables WITHOUT ROWID
//! (<https://sqlite.org/fileformat2.html#b_tree_pages>).
//!
//! Unlike in a table's tree, an entry is in one place only: the one between two pages moves up into
//! their parent. The entries, sorted runs of several workers, are divided into ranges that are merged and
//! written side by side; the entries at which they are divided become such entries between pages.

mod existing;
mod leaves;
mod overflow;
mod rows;

use super::file::PageFile;
use super::order::{self, Field, Fields, Key};
use super::sort::{Entry, Merged, Run};
use crate::error::LoadError;
pub(super) use existing::Existing;
use leaves::{Cells, Leaves, Level, write_levels};
pub(super) use leaves::{INDEX_INTERIOR, INDEX_LEAF};
pub(super) use overflow::local as local_of_index;
pub(super) use rows::write_rows;

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
    /// The plan of a table whose rows do not come in the order of their rowids: an index over all that it has,
    /// `columns` in their order, of which one may be the rowid by another name.
    pub(super) fn of_rows(
        root: u32,
        columns: impl Iterator<Item = IndexColumn>,
        called: String,
    ) -> IndexPlan {
        IndexPlan {
            root,
            columns: std::iter::once(IndexColumn::Rowid).chain(columns).collect(),
            key: 1,
            descending: vec![false],
            unique: true,
            is_table: true,
            called,
        }
    }

    /// Whether rows that come one after the other are in order already if their first columns are the
    /// same: then nothing but the rowid follows, if rowids ascend, or nothing that the order depends on.
    pub(super) fn first_column_decides(&self, rowids_ascend: bool) -> bool {
        let only_rowid = rowids_ascend && self.columns.get(1) == Some(&IndexColumn::Rowid);
        self.key == 1 && (self.is_table || only_rowid)
    }
}

/// A column of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexColumn {
    /// A column of the table, by its place there.
    Of(usize),
    Rowid,
    /// NULL: what a table's record has in the place of the rowid by another name.
    Null,
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
    if runs.iter().all(|run| run.bytes() == 0) {
        // SQLite has made the root as an empty page.
        return Ok(());
    }
    let (source, cuts) = Source::new(file, plan, runs, threads);
    if cuts.is_empty() {
        let (leaves, _) = source.write_leaves(None, None)?;
        return match leaves.finish_alone(plan.root)? {
            Some(level) => write_levels(file, plan.root, level),
            None => Ok(()),
        };
    }
    let mut level = Level::new(file);
    for (range, first) in source.write_ranges(&cuts)? {
        level.append(&range, first.as_deref());
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
    /// The entries of runs, and where to divide them among so many threads at most.
    fn new(
        file: &'f PageFile,
        plan: &'f IndexPlan,
        runs: &'f [Run],
        threads: usize,
    ) -> (Source<'f>, Vec<Entry<'f>>) {
        let bytes: u64 = runs.iter().map(Run::bytes).sum();
        let cuts = cuts(plan, runs, threads.min((bytes / SMALL) as usize).max(1));
        let in_files = runs.iter().filter(|run| run.is_in_file()).count();
        let readers = in_files.max(1) * (cuts.len() + 1);
        let source =
            Source { file, plan, runs, ahead: (AHEAD / readers).clamp(LEAST_AHEAD, MOST_AHEAD) };
        (source, cuts)
    }

    /// Writes the leaves between these entries, a thread for each range.
    fn write_ranges(&self, cuts: &[Entry<'_>]) -> Result<Vec<WrittenRange<'f>>, LoadError> {
        self.each_range(cuts, |from, until| {
            let (leaves, first) = self.write_leaves(from, until)?;
            Ok((leaves.finish()?, first))
        })
    }

    /// Does something with each range between these entries, on a thread of its own.
    fn each_range<R: Send>(
        &self,
        cuts: &[Entry<'_>],
        work: impl Fn(Option<Entry<'_>>, Option<Entry<'_>>) -> Result<R, LoadError> + Sync,
    ) -> Result<Vec<R>, LoadError> {
        std::thread::scope(|scope| {
            let work = &work;
            let range = |number: usize| {
                let from = number.checked_sub(1).map(|before| cuts[before]);
                let until = cuts.get(number).copied();
                move || work(from, until)
            };
            let threads: Vec<_> =
                (0..=cuts.len()).map(|number| scope.spawn(range(number))).collect();
            let joined = threads.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
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
                first = self.cell(entry)?;
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

    /// The cell of one entry.
    fn cell(&self, entry: Entry<'_>) -> Result<Option<Vec<u8>>, LoadError> {
        let mut alone = Cells::default();
        alone.push(entry.cell);
        Ok(overflow::cells(self.file, &alone, &mut None)?.pop())
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
        Neighbours { plan, last: None, record: Vec::new() }
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
    let fields = Fields::of(one).take(plan.key);
    let values: Vec<String> = fields.map(|field| field.to_text()).collect();
    let (input, values) = (String::new(), values.join(", "));
    if plan.columns.last() != Some(&IndexColumn::Rowid) {
        return LoadError::DuplicateKey { input, columns, values };
    }
    let (one, other) = (rowid(one), rowid(other));
    LoadError::Duplicate {
        input,
        columns,
        values,
        rowids: [one.min(other), one.max(other)],
        rows: None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::pages::record::plain;
    use crate::pages::stored::Stored;
    use crate::pages::varint;

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
