//! The page writer: B-trees written without SQLite.
//!
//! SQLite makes the schema; this module fills the table's tree in the file format of
//! <https://sqlite.org/fileformat2.html>, in ascending order of rowids, each page once and full. One
//! thread (the sequencer) takes batches, decides whether they can be written correctly and gives
//! rowids; workers encode rows into pages and write them wherever there is room, in ranges reserved
//! from a counter; interior pages come last. A batch that cannot be written with certainty ends the
//! writing: the pages so far are a complete database, and the rest goes through SQL.
//!
//! In a database that others use, the pages are added behind its end, and [linked](link) within SQLite's
//! own transaction.
//!
//! It refuses rather than guesses: it writes UTF-8 only, and schemas that [`Layout`] understands.

mod buffer;
mod encoder;
mod entries;
mod existing;
mod file;
mod index;
mod layout;
mod leaves;
mod level;
mod link;
mod map;
mod merge;
mod narrow;
mod order;
mod packer;
mod page;
mod record;
mod run;
mod sequencer;
mod sort;
mod stored;
mod tree;
pub(crate) mod varint;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use engine::{Connection, Library};

use crate::affinity::Affinity;
use crate::batch::Batch;
use crate::cells::Cells;
use crate::error::Result;
use crate::feed::{Feed, Phase};
use crate::target::Target;
use encoder::{BLOCK, Encoder};
use existing::Existing;
use layout::{IndexColumn, IndexPlan};
use packer::Packer;
use run::Run;
use sequencer::{Job, Piece, Sequencer};
use sort::Sorter;
use stored::Conversion;
use tree::{Child, RightEdge};

pub(crate) use file::PageFile;
pub(crate) use layout::{Layout, NoLayout, REFERRED_TO, refused};
pub(crate) use link::{free, link};

/// The result of writing pages.
pub(crate) struct Written {
    /// Rows.
    pub(crate) rows: u64,
    /// The first batch that has to go through SQL, and why.
    pub(crate) stopped: Option<(Batch, String)>,
    /// The pages of former trees of indexes, to be [freed](free) at the end of the transaction.
    pub(crate) replaced: Vec<u32>,
}

/// The resources that the page writer may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Resources {
    /// Threads that encode and write.
    pub(crate) workers: usize,
    /// Bytes of memory for the entries of indexes; further entries are sorted in a temporary file.
    pub(crate) index_memory: usize,
    /// Rows that the first batch must have unless they are wide, so that a table with rows does not get a page for
    /// every few new ones.
    pub(crate) least_rows: usize,
    /// The share of its rows by which a table with rows and indexes must be expected to grow, so that its
    /// indexes are not rewritten for a few new entries.
    pub(crate) least_growth: f64,
}

impl Resources {
    /// Returns the bytes of memory for new entries of indexes: half of it if there are old ones.
    fn new_entries(&self, layout: &Layout) -> usize {
        if layout.has_entries() { self.index_memory / 2 } else { self.index_memory }
    }
}

/// Writes the feed's batches into the table of a database of the load's own, which no connection has
/// open.
pub(crate) fn write(
    library: &Arc<Library>,
    path: &Path,
    layout: Layout,
    target: &Target,
    resources: Resources,
    feed: &mut Feed<'_>,
) -> Result<Written> {
    let file = PageFile::open(path, &layout.form)?;
    let written = write_into(&file, library, layout, target, resources, feed)?;
    file.finish()?;
    Ok(written)
}

/// Adds the feed's batches as pages to a file that a connection has open; nothing of them counts before
/// they are [linked](link).
pub(crate) fn write_into(
    file: &PageFile,
    library: &Arc<Library>,
    layout: Layout,
    target: &Target,
    resources: Resources,
    feed: &mut Feed<'_>,
) -> Result<Written> {
    let failed = AtomicBool::new(false);
    let pool = WorkerPool { library, target, file, layout: &layout, failed: &failed, resources };
    let (written, parts) = pool.work(feed);
    let parts = parts?;
    let mut written = written?;
    if !layout.indexes.is_empty() {
        feed.report(Phase::Indexes)?;
    }
    let memory = resources.index_memory - resources.new_entries(&layout);
    written.replaced = finish(file, &layout, parts, memory)?;
    Ok(written)
}

/// Writes the last pages, the interior ones and the indexes; returns the pages that these do not need any
/// more. `memory` are the bytes that old entries of indexes may take.
fn finish(
    file: &PageFile,
    layout: &Layout,
    mut parts: Vec<WorkerOutput<'_>>,
    memory: usize,
) -> Result<Vec<u32>> {
    let mut replaced = Vec::new();
    let rows_index = layout.indexes.len();
    for (number, plan) in layout.indexes.iter().enumerate() {
        let of_parts = parts.iter_mut().map(|part| &mut part.runs[number]);
        let mut runs: Vec<Run> = of_parts.flat_map(std::mem::take).collect();
        if layout.has_entries() && !runs.is_empty() {
            let existing = Existing::read(file, plan, memory)?;
            runs.extend(existing.runs);
            replaced.extend(existing.pages);
        }
        index::write(file, plan, &runs, parts.len())?;
    }
    let mut packers = Vec::new();
    if let Some(plan) = &layout.rows {
        let of_parts = parts.iter_mut().map(|part| &mut part.runs[rows_index]);
        let runs: Vec<Run> = of_parts.flat_map(std::mem::take).collect();
        if !runs.is_empty() {
            packers = index::write_rows(file, plan, &runs, parts.len())?;
        }
    }
    packers.extend(parts.into_iter().map(|part| part.packer));
    if let Some(root) = layout.root {
        write_table(file, root, layout.edge.clone(), &mut packers)?;
    }
    Ok(replaced)
}

/// Writes the last leaves of the table and what stands above them.
fn write_table(file: &PageFile, root: u32, edge: RightEdge, packers: &mut [Packer]) -> Result<()> {
    let counts = packers.iter().map(Packer::leaf_count);
    let is_one_page = edge.is_empty() && counts.sum::<usize>() == 1;
    let mut leaves = Vec::new();
    for packer in packers {
        if is_one_page && packer.leaf_count() == 1 {
            // The tree is a single page, which has to be the root itself.
            packer.flush_into_root(root)?;
        } else {
            packer.flush()?;
            leaves.append(&mut packer.leaves);
        }
    }
    if leaves.is_empty() {
        return Ok(());
    }
    leaves.sort_unstable_by_key(|leaf: &Child| leaf.key);
    edge.append(file, root, leaves)
}

/// The pages and runs that a worker has not written yet.
struct WorkerOutput<'f> {
    packer: Packer<'f>,
    /// The entries of each index, and behind them rows that are to be sorted.
    runs: Vec<Vec<Run>>,
}

/// The pool of workers that encode batches into pages, with everything that they share.
struct WorkerPool<'w> {
    library: &'w Arc<Library>,
    target: &'w Target,
    file: &'w PageFile,
    layout: &'w Layout,
    failed: &'w AtomicBool,
    resources: Resources,
}

impl<'w> WorkerPool<'w> {
    /// Takes every batch of the feed; returns what was taken and what the workers have not written yet.
    fn work(&self, feed: &mut Feed<'_>) -> (Result<Written>, Result<Vec<WorkerOutput<'w>>>) {
        let Resources { workers, least_rows, least_growth, .. } = self.resources;
        // Rows that the input must be expected to have.
        let least_expected = (self.layout.entries as f64 * least_growth) as u64;
        std::thread::scope(|scope| {
            let (sender, jobs) = sync_channel(workers);
            let jobs = Arc::new(Mutex::new(jobs));
            let handles: Vec<_> = (0..workers)
                .map(|_| {
                    let jobs = Arc::clone(&jobs);
                    scope.spawn(move || self.run(&jobs))
                })
                .collect();
            // The workers alone hold the receiver, so that sending fails when all of them have ended.
            drop(jobs);
            let mut sequencer =
                Sequencer::new(self.target, self.layout, least_rows, least_expected);
            let written = sequencer
                .run(feed, |job| !self.failed.load(Ordering::Relaxed) && sender.send(job).is_ok());
            drop(sender);
            let parts = handles.into_iter().map(|handle| {
                handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            (written, parts.collect())
        })
    }

    fn run(&self, jobs: &Mutex<Receiver<Job>>) -> Result<WorkerOutput<'w>> {
        let result = self.take(jobs);
        if result.is_err() {
            self.failed.store(true, Ordering::Relaxed);
        }
        result
    }

    fn take(&self, jobs: &Mutex<Receiver<Job>>) -> Result<WorkerOutput<'w>> {
        let connection = Connection::in_memory(self.library)?;
        let mut conversion = Conversion::new(&connection)?;
        let mut packer = Packer::new(self.file);
        let plans = self.layout.indexes.iter().chain(&self.layout.rows);
        let directory = self.file.directory();
        let memory = self.resources.new_entries(self.layout) / self.resources.workers;
        let mut sorter = Sorter::new(plans.collect(), memory, directory);
        let mut expected = 0;
        loop {
            // A lock that another worker's panic has poisoned still guards a sound receiver.
            let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(job) = job else { break };
            if job.number != expected {
                // Rows of other batches come between: the open page must end here.
                packer.close();
            }
            expected = job.number + 1;
            for piece in &job.pieces {
                self.pack(piece, &mut conversion, &mut packer, &mut sorter)?;
            }
        }
        // The last pages too are written by all at once; a single one may have to be the root.
        if packer.leaf_count() > 1 {
            packer.flush()?;
        }
        Ok(WorkerOutput { packer, runs: sorter.finish() })
    }

    /// Encodes a batch, block by block.
    fn pack(
        &self,
        piece: &Piece,
        conversion: &mut Conversion<'_>,
        packer: &mut Packer<'_>,
        sorter: &mut Sorter<'_>,
    ) -> Result<()> {
        let rows = piece.rows.range();
        let columns = BatchColumns {
            pool: self,
            cells: &piece.rows.cells,
            rowids: Cells::Integer(piece.rowids.listed(rows.end)),
        };
        let ascend = piece.rowids.ascend();
        let mut table = (self.layout.root.filter(|_| ascend)).map(|_| columns.of_table());
        let sorted = self.layout.rows.iter().filter(|_| !ascend);
        let mut indexes: Vec<Encoder<'_>> =
            (self.layout.indexes.iter().chain(sorted)).map(|plan| columns.of_index(plan)).collect();
        for first in rows.clone().step_by(BLOCK) {
            let count = BLOCK.min(rows.end - first);
            if let (Some(table), Cells::Integer(rowids)) = (&mut table, &columns.rowids) {
                table.take(first, count, conversion)?;
                let rowids = &rowids.values()[first..first + count];
                packer.add(table, rowids)?;
            }
            for (number, index) in indexes.iter_mut().enumerate() {
                index.take(first, count, conversion)?;
                sorter.add(number, index, ascend)?;
            }
        }
        Ok(())
    }
}

/// The columns of a batch as the table and its indexes have them.
struct BatchColumns<'b> {
    pool: &'b WorkerPool<'b>,
    cells: &'b [Cells],
    rowids: Cells,
}

impl BatchColumns<'_> {
    /// Returns whether a column of the table is the rowid by another name.
    fn is_rowid(&self, column: usize) -> bool {
        Some(self.pool.layout.columns[column]) == self.pool.target.rowid_alias
    }

    /// A column of the table, by its place there.
    fn column(&self, column: usize) -> (&Cells, Affinity) {
        if self.is_rowid(column) {
            return (&self.rowids, Affinity::Integer);
        }
        let source = self.pool.layout.columns[column];
        (&self.cells[source], self.pool.target.columns[source].affinity)
    }

    fn of_table(&self) -> Encoder<'_> {
        let columns = 0..self.pool.layout.columns.len();
        // The rowid precedes the record, which has NULL in its place.
        Encoder::new(columns.map(|column| (!self.is_rowid(column)).then(|| self.column(column))))
    }

    fn of_index(&self, plan: &IndexPlan) -> Encoder<'_> {
        Encoder::new(plan.columns.iter().map(|of| match of {
            IndexColumn::Of(column) => Some(self.column(*column)),
            IndexColumn::Rowid => Some((&self.rowids, Affinity::Integer)),
            IndexColumn::Null => None,
        }))
    }
}
