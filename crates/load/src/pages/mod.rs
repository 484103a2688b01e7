//! The page writer: a new database's B-trees, written without SQLite.
//!
//! SQLite makes the schema; this room fills the table's tree in the file format of
//! <https://sqlite.org/fileformat2.html>, in ascending order of rowids, each page once and full. One
//! thread (the sequencer) takes batches, decides whether they can be written correctly and gives
//! rowids; workers encode rows into pages and write them wherever there is room, in ranges reserved
//! from a counter; interior pages come last. A batch that cannot be written with certainty ends the
//! writing: what is there is a complete database, and the rest goes through SQL.
//!
//! It refuses rather than guesses: UTF-8, no reserved bytes, no auto-vacuum, tables with a rowid.

mod buffer;
mod file;
mod index;
mod key;
mod packer;
mod record;
mod stored;
mod tree;
mod varint;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use engine::{Connection, Library, Value};

use crate::affinity::Affinity;
use crate::batch::Batch;
use crate::cells::{Cells, Rows};
use crate::error::LoadError;
use crate::loader::{Feed, Phase};
use crate::target::Target;
use file::PageFile;
use index::{Entries, IndexPlan};
use packer::Packer;
use record::Record;
use stored::{Conversion, Stored};
use tree::Child;

use crate::table::quoted;

/// Where the table's tree is to grow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    page_size: u32,
    /// Pages that SQLite has made: the schema and empty roots.
    pages: u32,
    /// The root of the table.
    root: u32,
    /// Its indexes, all of them empty.
    indexes: Vec<IndexPlan>,
}

impl Layout {
    /// Reads where SQLite has put the table, and refuses, with the reason, forms of database that are
    /// not written.
    pub(crate) fn read(
        connection: &Connection,
        target: &Target,
    ) -> Result<Result<Layout, String>, LoadError> {
        let number = |sql: &str| connection.query_i64(sql);
        if connection.query_text("PRAGMA encoding")? != "UTF-8" {
            return Ok(Err("the database is not in UTF-8".to_owned()));
        }
        if number("PRAGMA auto_vacuum")? != 0 {
            return Ok(Err("the database has auto_vacuum".to_owned()));
        }
        let indexes = match index_plans(connection, target)? {
            Ok(indexes) => indexes,
            Err(why) => return Ok(Err(why)),
        };
        let table = target.table.replace('\'', "''");
        let root = number(&format!(
            "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND lower(name) = lower('{table}')"
        ))?;
        // Page sizes and page numbers are 32 bits wide.
        Ok(Ok(Layout {
            page_size: number("PRAGMA page_size")? as u32,
            pages: number("PRAGMA page_count")? as u32,
            root: root as u32,
            indexes,
        }))
    }
}

/// The table's indexes, or why one of them is not written.
fn index_plans(
    connection: &Connection,
    target: &Target,
) -> Result<Result<Vec<IndexPlan>, String>, LoadError> {
    let list = format!("PRAGMA index_list({})", quoted(&target.table));
    let mut plans = Vec::new();
    for index in connection.query_all(&list)? {
        let [
            _,
            Value::Text(name),
            Value::Integer(unique),
            _,
            Value::Integer(partial),
        ] = &index[..]
        else {
            return Ok(Err("an index that is not understood".to_owned()));
        };
        let columns = connection.query_all(&format!("PRAGMA index_xinfo({})", quoted(name)))?;
        let columns: Option<Vec<usize>> = columns
            .iter()
            // The last one is the rowid, which is no column of the key.
            .filter(|column| column[5] == Value::Integer(1))
            .map(|column| {
                let plain =
                    column[3] == Value::Integer(0) && column[4] == Value::Text("BINARY".to_owned());
                let Value::Text(name) = &column[2] else {
                    return None;
                };
                let known = || target.columns.iter().position(|known| known.name == *name);
                if plain { known() } else { None }
            })
            .collect();
        let (Some(columns), 0) = (columns, partial) else {
            return Ok(Err(format!(
                "the index {name} is not a plain one over columns of the input"
            )));
        };
        let called = |column: &usize| format!("{}.{}", target.table, target.columns[*column].name);
        let root = connection.query_i64(&format!(
            "SELECT rootpage FROM sqlite_master WHERE type = 'index' AND name = '{}'",
            name.replace('\'', "''")
        ))?;
        plans.push(IndexPlan {
            root: root as u32,
            called: columns.iter().map(called).collect::<Vec<_>>().join(", "),
            columns,
            unique: *unique != 0,
        });
    }
    Ok(Ok(plans))
}

/// What was written.
pub(crate) struct Written {
    /// Rows.
    pub(crate) rows: u64,
    /// The batch from which on rows have to go through SQL, and why.
    pub(crate) stopped: Option<(Batch, String)>,
    /// Whether sorting the indexes would have taken too much memory, so that they are still empty.
    pub(crate) indexes_left: bool,
}

/// How much the page writer may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Means {
    /// Threads that encode and write.
    pub(crate) workers: usize,
    /// Bytes of memory for the entries of indexes.
    pub(crate) index_memory: usize,
}

/// Writes the feed's batches into the table of the database at `path`, which no connection has open.
pub(crate) fn write(
    library: &Arc<Library>,
    path: &Path,
    layout: &Layout,
    target: &Target,
    means: Means,
    feed: &mut Feed<'_>,
) -> Result<Written, LoadError> {
    let workers = means.workers;
    let file = PageFile::open(path, layout.page_size, layout.pages)?;
    let failed = AtomicBool::new(false);
    let too_much = AtomicBool::new(false);
    let (written, parts) = std::thread::scope(|scope| {
        let (sender, jobs) = sync_channel(workers);
        let jobs = Arc::new(Mutex::new(jobs));
        let handles: Vec<_> = (0..workers)
            .map(|_| {
                let jobs = Arc::clone(&jobs);
                let worker = Worker {
                    library,
                    target,
                    file: &file,
                    failed: &failed,
                    indexes: &layout.indexes,
                    too_much: &too_much,
                    index_memory: means.index_memory / workers,
                };
                scope.spawn(move || worker.run(&jobs))
            })
            .collect();
        // The workers alone hold the receiver, so that sending fails when all of them have ended.
        drop(jobs);
        let mut sequencer = Sequencer::new(target);
        let written = sequencer.run(feed, |job| {
            !failed.load(Ordering::Relaxed) && sender.send(job).is_ok()
        });
        drop(sender);
        let parts: Result<Vec<Part>, LoadError> = handles
            .into_iter()
            .map(|handle| {
                handle
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect();
        (written, parts)
    });
    let parts = parts?;
    let mut written = written?;
    written.indexes_left = too_much.load(Ordering::Relaxed);
    if !layout.indexes.is_empty() {
        feed.tell(Phase::Indexes)?;
    }
    finish(&file, layout, parts, written.indexes_left)?;
    Ok(written)
}

/// Writes the last pages, the interior ones, the indexes and the header.
fn finish(
    file: &PageFile,
    layout: &Layout,
    mut parts: Vec<Part>,
    indexes_left: bool,
) -> Result<(), LoadError> {
    write_table(file, layout, &mut parts)?;
    if !indexes_left {
        for (number, plan) in layout.indexes.iter().enumerate() {
            let entries: Vec<&Entries> = parts.iter().map(|part| &part.entries[number]).collect();
            index::write(file, plan, &entries)?;
        }
    }
    file.finish()
}

/// Writes the last leaves of the table and what stands above them.
fn write_table(file: &PageFile, layout: &Layout, parts: &mut [Part]) -> Result<(), LoadError> {
    let mut leaves = Vec::new();
    let only_leaf = parts
        .iter()
        .map(|part| part.packer.leaf_count())
        .sum::<usize>()
        == 1;
    for part in parts {
        if only_leaf && part.packer.leaf_count() == 1 {
            // The tree is a single page, which has to be the root itself.
            part.packer.flush_into_root(file, layout.root)?;
        } else {
            part.packer.flush(file)?;
            leaves.append(&mut part.packer.take_leaves());
        }
    }
    leaves.sort_unstable_by_key(|leaf: &Child| leaf.key);
    if !leaves.is_empty() {
        tree::write_interior(file, layout.root, leaves)?;
    }
    Ok(())
}

/// A batch for a worker.
struct Job {
    /// Its number among the batches.
    number: u64,
    rows: Rows,
    rowids: Rowids,
}

/// The rowids of a batch.
enum Rowids {
    /// Consecutive ones from this.
    From(i64),
    /// These, ascending.
    Listed(Vec<i64>),
}

impl Rowids {
    #[inline]
    fn get(&self, row: usize) -> i64 {
        match self {
            Rowids::From(first) => first + row as i64,
            Rowids::Listed(rowids) => rowids[row],
        }
    }
}

/// Decides about batches, in their order.
struct Sequencer<'t> {
    target: &'t Target,
    /// The last rowid given; none before the first row.
    last: Option<i64>,
    rows: u64,
}

impl<'t> Sequencer<'t> {
    fn new(target: &'t Target) -> Sequencer<'t> {
        Sequencer {
            target,
            last: None,
            rows: 0,
        }
    }

    /// Hands out jobs until the feed ends, a batch cannot be written, or nobody takes them: then a
    /// worker has failed, and its error tells why.
    fn run(
        &mut self,
        feed: &mut Feed<'_>,
        mut send: impl FnMut(Job) -> bool,
    ) -> Result<Written, LoadError> {
        let mut number = 0;
        while let Some(batch) = feed.next()? {
            let count = batch.rows.num_rows();
            let rows = Rows::of(&batch)?;
            let rowids = match self
                .check(&rows)
                .and_then(|()| self.rowids(rows.cells(), count))
            {
                Ok(rowids) => rowids,
                Err(reason) => return Ok(self.written(Some((batch, reason)))),
            };
            if count > 0
                && !send(Job {
                    number,
                    rows,
                    rowids,
                })
            {
                break;
            }
            number += 1;
            self.rows += count as u64;
            feed.loaded(count as u64)?;
        }
        Ok(self.written(None))
    }

    fn written(&self, stopped: Option<(Batch, String)>) -> Written {
        Written {
            rows: self.rows,
            stopped,
            indexes_left: false,
        }
    }

    /// Whether every row of the batch fits the table for certain.
    fn check(&self, rows: &Rows) -> Result<(), String> {
        for (number, (column, cells)) in self.target.columns.iter().zip(rows.cells()).enumerate() {
            if Some(number) == self.target.rowid_alias {
                continue;
            }
            if column.not_null && cells.has_nulls() {
                return Err(format!("NULL in column {}, which is NOT NULL", column.name));
            }
            if self.target.strict && !fits_strictly(&column.declared, cells) {
                return Err(format!(
                    "values in column {} that may not be {}",
                    column.name, column.declared
                ));
            }
            if cells.bytes() > LONGEST_VALUE {
                return Err(format!(
                    "values in column {} that may be too long",
                    column.name
                ));
            }
            let may_be_number = !matches!(column.affinity, Affinity::Text | Affinity::Blob);
            if may_be_number && cells.has_nul_bytes() {
                return Err(format!(
                    "texts with NUL bytes in the numeric column {}",
                    column.name
                ));
            }
        }
        Ok(())
    }

    /// The rowids of a batch: the column that is the rowid by another name, or the next ones.
    fn rowids(&mut self, cells: &[Cells], rows: usize) -> Result<Rowids, String> {
        let Some(alias) = self.target.rowid_alias else {
            let first = self.last.unwrap_or(0) + 1;
            self.last = Some(first + rows as i64 - 1);
            return Ok(Rowids::From(first));
        };
        let mut last = self.last;
        let rowids: Result<Vec<i64>, String> = match &cells[alias] {
            Cells::Null => (0..rows).map(|_| next_rowid(&mut last, None)).collect(),
            Cells::Integer(values) => values
                .iter()
                .map(|value| next_rowid(&mut last, value))
                .collect(),
            _ => Err("values in the primary key that may not be integers".to_owned()),
        };
        let rowids = rowids?;
        self.last = last;
        Ok(Rowids::Listed(rowids))
    }
}

/// The rowid of a row: its own, which must be above the last one, or the one after it.
#[inline]
fn next_rowid(last: &mut Option<i64>, own: Option<i64>) -> Result<i64, String> {
    let next = match (own, *last) {
        (Some(own), Some(last)) if own <= last => {
            return Err(format!("primary keys do not ascend: {own} after {last}"));
        }
        (Some(own), _) => own,
        (None, Some(last)) => {
            // As SQLite: one more than the largest, which may be negative; at the end it tries others.
            last.checked_add(1).ok_or("the largest rowid is taken")?
        }
        (None, None) => 1,
    };
    *last = Some(next);
    Ok(next)
}

/// SQLite's limit for a text or a blob, and for a row (`SQLITE_MAX_LENGTH`), with room for the rest of
/// the row (<https://sqlite.org/limits.html>).
const LONGEST_VALUE: usize = 900_000_000;

/// Whether a STRICT column takes all these values whatever they are.
fn fits_strictly(declared: &str, cells: &Cells) -> bool {
    match (declared.to_ascii_uppercase().as_str(), cells) {
        (_, Cells::Null) | ("ANY", _) => true,
        ("INT" | "INTEGER", cells) => matches!(cells, Cells::Integer(_)),
        ("REAL", cells) => matches!(cells, Cells::Integer(_) | Cells::Real(_)),
        ("TEXT", cells) => !matches!(cells, Cells::Blob(_)),
        ("BLOB", cells) => matches!(cells, Cells::Blob(_)),
        _ => false,
    }
}

/// What a worker has made and not yet written.
struct Part {
    packer: Packer,
    /// Sorted, one for each index.
    entries: Vec<Entries>,
}

/// Encodes batches into pages.
struct Worker<'w> {
    library: &'w Arc<Library>,
    target: &'w Target,
    file: &'w PageFile,
    failed: &'w AtomicBool,
    indexes: &'w [IndexPlan],
    /// Whether a worker has had to give the indexes up.
    too_much: &'w AtomicBool,
    /// Bytes that this worker's entries may take.
    index_memory: usize,
}

impl Worker<'_> {
    fn run(&self, jobs: &Mutex<Receiver<Job>>) -> Result<Part, LoadError> {
        let result = self.work(jobs);
        if result.is_err() {
            self.failed.store(true, Ordering::Relaxed);
        }
        result
    }

    fn work(&self, jobs: &Mutex<Receiver<Job>>) -> Result<Part, LoadError> {
        let connection = Conversion::connection(self.library)?;
        let mut conversion = Conversion::new(&connection)?;
        let mut part = Part {
            packer: Packer::new(self.file.page_size()),
            entries: self.no_entries(),
        };
        let mut record = Record::default();
        let mut expected = 0;
        loop {
            // A lock that another worker's panic has poisoned still guards a sound receiver.
            let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(job) = job else {
                break;
            };
            if job.number != expected {
                // Rows of other batches come between: the open page must end here.
                part.packer.close();
            }
            expected = job.number + 1;
            self.pack(&job, &mut record, &mut conversion, &mut part)?;
            self.limit(&mut part);
        }
        part.entries.iter_mut().for_each(Entries::sort);
        Ok(part)
    }

    fn no_entries(&self) -> Vec<Entries> {
        self.indexes.iter().map(|_| Entries::default()).collect()
    }

    /// Gives the entries up when they, or another worker's, have become too many.
    fn limit(&self, part: &mut Part) {
        let memory: usize = part.entries.iter().map(Entries::memory).sum();
        if memory > self.index_memory {
            self.too_much.store(true, Ordering::Relaxed);
        }
        if memory > 0 && self.too_much.load(Ordering::Relaxed) {
            part.entries = self.no_entries();
        }
    }

    fn pack(
        &self,
        job: &Job,
        record: &mut Record,
        conversion: &mut Conversion<'_>,
        part: &mut Part,
    ) -> Result<(), LoadError> {
        let affinities = self.target.affinities();
        let columns: Vec<(&Cells, Affinity)> = job
            .rows
            .cells()
            .iter()
            .zip(affinities.iter().copied())
            .collect();
        let mut values: Vec<Stored<'_>> = Vec::with_capacity(columns.len());
        for row in job.rows.range() {
            let rowid = job.rowids.get(row);
            record.clear();
            values.clear();
            for (number, (cells, affinity)) in columns.iter().enumerate() {
                if Some(number) == self.target.rowid_alias {
                    // The rowid stands in the cell; its column in the record is NULL.
                    record.push(&Stored::Null);
                    values.push(Stored::Integer(rowid));
                    continue;
                }
                let value = stored::store(cells.value(row), *affinity, conversion)?;
                record.push(&value);
                if !self.indexes.is_empty() {
                    values.push(value);
                }
            }
            part.packer.add(rowid, record, self.file)?;
            for (plan, entries) in self.indexes.iter().zip(&mut part.entries) {
                entries.push(plan, &values, &affinities, rowid);
            }
        }
        Ok(())
    }
}
