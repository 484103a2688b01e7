//! Which batches can be written as pages, the rowids of their rows, and the jobs of the workers: batches, divided
//! where they are large and gathered where they are small.

use arrow_array::{Array, Int64Array};

use super::Written;
use super::layout::Layout;
use crate::affinity::Affinity;
use crate::batch::Batch;
use crate::cells::{Cells, Rows};
use crate::error::Result;
use crate::feed::Feed;
use crate::target::Target;

/// Decides about batches, in their order.
pub(super) struct Sequencer<'t> {
    target: &'t Target,
    /// Rows that the first batch must have.
    least_rows: usize,
    /// Rows that the whole input must be expected to have.
    least_expected: u64,
    /// The last rowid given; none before the first row.
    last: Option<i64>,
    /// Whether rows can be sorted by their rowids, and whether they are.
    may_sort: bool,
    sorts: bool,
    rows: u64,
}

impl<'t> Sequencer<'t> {
    pub(super) fn new(
        target: &'t Target,
        layout: &Layout,
        least_rows: usize,
        least_expected: u64,
    ) -> Sequencer<'t> {
        let edge = &layout.edge;
        Sequencer {
            target,
            may_sort: layout.rows.is_some(),
            sorts: false,
            least_rows: if edge.is_empty() { 0 } else { least_rows },
            least_expected,
            last: edge.last,
            rows: 0,
        }
    }

    /// Hands out jobs until the feed ends, a batch cannot be written, or all workers have ended: then a
    /// worker has failed, and its error says why.
    pub(super) fn run(
        &mut self,
        feed: &mut Feed<'_>,
        send: impl FnMut(Job) -> bool,
    ) -> Result<Written> {
        let mut queue = JobQueue::new(send);
        let stopped = self.take_all(feed, &mut queue)?;
        queue.send_job();
        Ok(Written { rows: self.rows, stopped, replaced: Vec::new() })
    }

    /// Takes batches as long as it can; gives the one that cannot be written, with the reason.
    fn take_all(
        &mut self,
        feed: &mut Feed<'_>,
        queue: &mut JobQueue<impl FnMut(Job) -> bool>,
    ) -> Result<Option<(Batch, String)>> {
        while let Some(batch) = feed.next()? {
            let rows = Rows::of(&batch);
            let rowids = match self.decide(&rows, feed) {
                Ok(rowids) => rowids,
                Err(reason) => return Ok(Some((batch, reason))),
            };
            if !queue.take(&rows, rowids) {
                return Ok(None);
            }
            let count = rows.range().len() as u64;
            self.rows += count;
            feed.loaded(count)?;
        }
        Ok(None)
    }

    /// Returns the rowids of a batch that can be written.
    ///
    /// # Errors
    /// Why it cannot.
    fn decide(&mut self, rows: &Rows, feed: &Feed<'_>) -> Result<Rowids, String> {
        let count = rows.range().len();
        let is_first = self.rows == 0 && count > 0;
        if is_first && count < self.least_rows && rows.bytes() < FEW_BYTES {
            return Err(FEW_ROWS.to_owned());
        }
        if is_first && feed.expected_rows(count as u64) < self.least_expected {
            return Err(FEW_ENTRIES.to_owned());
        }
        self.check(rows)?;
        self.rowids(&rows.cells, count)
    }

    /// Whether every row of the batch fits the table for certain.
    fn check(&self, rows: &Rows) -> Result<(), String> {
        for (number, (column, cells)) in
            self.target.columns.iter().zip(rows.cells.iter()).enumerate()
        {
            if Some(number) == self.target.rowid_alias {
                continue;
            }
            if column.not_null && cells.has_nulls() {
                return Err(format!("NULL in column {}, which is NOT NULL", column.name));
            }
            if self.target.strict && !fits_strictly(&column.declared, cells) {
                return Err(format!(
                    "values in column {} may not be {}",
                    column.name, column.declared
                ));
            }
            let may_be_number = !matches!(column.affinity, Affinity::Text | Affinity::Blob);
            if may_be_number && cells.has_nul_bytes() {
                return Err(format!("text with NUL bytes in the numeric column {}", column.name));
            }
        }
        if longest_row(rows) > LONGEST_ROW {
            return Err("rows may be too long".to_owned());
        }
        Ok(())
    }

    /// Returns the rowids of a batch: the column that is the rowid by another name, or the next ones.
    fn rowids(&mut self, cells: &[Cells], rows: usize) -> Result<Rowids, String> {
        let Some(alias) = self.target.rowid_alias else { return self.next_rowids(rows) };
        if let Cells::Integer(values) = &cells[alias]
            && self.must_sort(values)
        {
            return Ok(Rowids::Unsorted(values.clone()));
        }
        let rowids = match &cells[alias] {
            Cells::Integer(values) if self.go_on(values) => values.clone(),
            _ if self.sorts => return Err("a row has no key among rows in no order".to_owned()),
            Cells::Null => self.each_rowid((0..rows).map(|_| None))?,
            Cells::Integer(values) => self.each_rowid(values.iter())?,
            _ => return Err("values in the primary key may not be integers".to_owned()),
        };
        if rows > 0 {
            self.last = Some(rowids.value(rows - 1));
        }
        Ok(Rowids::Listed(rowids))
    }

    /// Returns whether these rowids are to be sorted. The first batch decides, before anything is written.
    fn must_sort(&mut self, values: &Int64Array) -> bool {
        let is_first = self.may_sort && self.rows == 0 && !self.go_on(values);
        let may = values.null_count() == 0 && (self.sorts || is_first);
        self.sorts |= may;
        may
    }

    /// Returns this number of rowids after the last one.
    fn next_rowids(&mut self, rows: usize) -> Result<Rowids, String> {
        let last = self.last.unwrap_or(0);
        let behind = last.checked_add(rows as i64).ok_or(NO_ROWID)?;
        if rows > 0 {
            self.last = Some(behind);
        }
        Ok(Rowids::From(last.wrapping_add(1)))
    }

    /// Returns whether these are rowids as they are: all there, and each above the one before.
    fn go_on(&self, values: &Int64Array) -> bool {
        let slice = values.values();
        let above_last = match (self.last, slice.first()) {
            (Some(last), Some(first)) => last < *first,
            _ => true,
        };
        // Without a way out, which would keep it from being several at a time.
        let ascend = slice.windows(2).fold(true, |so_far, pair| so_far & (pair[0] < pair[1]));
        values.null_count() == 0 && above_last && ascend
    }

    /// Decides about rowids one by one.
    fn each_rowid(&self, given: impl Iterator<Item = Option<i64>>) -> Result<Int64Array, String> {
        let mut last = self.last;
        let rowids: Result<Vec<i64>, String> =
            given.map(|given| next_rowid(&mut last, given)).collect();
        rowids.map(Int64Array::from)
    }
}

const FEW_ROWS: &str = "too few rows for pages of their own";
const FEW_ENTRIES: &str = "too few rows to write the indexes of the table anew";
/// Bytes of values that are enough for pages of their own, however few rows they are.
const FEW_BYTES: usize = 256 << 10;
const NO_ROWID: &str = "the largest rowid is taken";

/// Returns the rowid of a row: the given one, which must be above the last one, or the one after it.
#[inline]
fn next_rowid(last: &mut Option<i64>, given: Option<i64>) -> Result<i64, String> {
    let next = match (given, *last) {
        (Some(given), Some(last)) if given <= last => {
            return Err(format!("primary keys are not in ascending order: {given} after {last}"));
        }
        (Some(given), _) => given,
        (None, Some(last)) => {
            // As SQLite: one more than the largest, which may be negative; at the end it tries others.
            last.checked_add(1).ok_or(NO_ROWID)?
        }
        (None, None) => 1,
    };
    *last = Some(next);
    Ok(next)
}

/// SQLite's limit for a row (`SQLITE_MAX_LENGTH`), with room for its numbers
/// (<https://sqlite.org/limits.html>).
const LONGEST_ROW: usize = 900_000_000;

/// Returns the bytes of texts and blobs that a row has at most.
fn longest_row(rows: &Rows) -> usize {
    let all: usize = rows.cells.iter().map(Cells::bytes).sum();
    if all <= LONGEST_ROW {
        return all;
    }
    let of_row = |row| rows.cells.iter().map(|cells| cells.length(row)).sum();
    rows.range().map(of_row).max().unwrap_or(0)
}

/// Returns whether a STRICT column takes all these values whatever they are.
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

/// Bytes of values from which on a batch is divided, so that no worker is still busy with a large one
/// when the others have ended.
const LARGE: usize = 4 << 20;
/// Bytes of values and rows from which on a job is large enough. The page that a worker is filling ends
/// where its next job is not the following one, so where types change from row to row, and a batch has
/// one row, there would be pages of one row.
const ENOUGH_BYTES: usize = 1 << 20;
const ENOUGH_ROWS: usize = 16 << 10;
/// Batches that are gathered at most: each takes a kilobyte or two, however short it is.
const MOST_PIECES: usize = 1 << 10;

/// A batch, or a part of one.
pub(super) struct Piece {
    pub(super) rows: Rows,
    /// The rowids of the whole batch.
    pub(super) rowids: Rowids,
}

/// The unit of work of a worker: consecutive rows.
pub(super) struct Job {
    /// Its number among the jobs.
    pub(super) number: u64,
    pub(super) pieces: Vec<Piece>,
}

/// The rowids of a batch.
#[derive(Clone)]
pub(super) enum Rowids {
    /// Consecutive ones from this.
    From(i64),
    /// These, ascending.
    Listed(Int64Array),
    /// These, in any order.
    Unsorted(Int64Array),
}

impl Rowids {
    /// Returns whether each is above the one before.
    pub(super) fn ascend(&self) -> bool {
        !matches!(self, Rowids::Unsorted(_))
    }

    /// Returns the rowids of a batch of this number of rows, one by one.
    pub(super) fn listed(&self, rows: usize) -> Int64Array {
        match self {
            Rowids::From(first) => {
                let rowids: Vec<i64> = (0..rows as i64).map(|row| first + row).collect();
                rowids.into()
            }
            Rowids::Listed(rowids) | Rowids::Unsorted(rowids) => rowids.clone(),
        }
    }
}

/// Makes jobs of batches and hands them out.
pub(super) struct JobQueue<S> {
    send: S,
    /// The number of the next job.
    number: u64,
    pieces: Vec<Piece>,
    rows: usize,
    bytes: usize,
}

impl<S: FnMut(Job) -> bool> JobQueue<S> {
    /// `send` returns whether a worker takes the job.
    pub(super) fn new(send: S) -> JobQueue<S> {
        JobQueue { send, number: 0, pieces: Vec::new(), rows: 0, bytes: 0 }
    }

    /// Takes the rows of a batch; false when all workers have ended.
    pub(super) fn take(&mut self, rows: &Rows, rowids: Rowids) -> bool {
        pieces(rows, rowids).all(|piece| self.add(piece))
    }

    fn add(&mut self, piece: Piece) -> bool {
        self.rows += piece.rows.range().len();
        self.bytes += piece.rows.bytes();
        self.pieces.push(piece);
        let is_enough = self.rows >= ENOUGH_ROWS
            || self.bytes >= ENOUGH_BYTES
            || self.pieces.len() >= MOST_PIECES;
        !is_enough || self.send_job()
    }

    /// Sends the gathered pieces as a job; false when all workers have ended.
    pub(super) fn send_job(&mut self) -> bool {
        if self.pieces.is_empty() {
            return true;
        }
        let job = Job { number: self.number, pieces: std::mem::take(&mut self.pieces) };
        self.number += 1;
        self.rows = 0;
        self.bytes = 0;
        (self.send)(job)
    }
}

/// Returns the pieces of a batch.
fn pieces(rows: &Rows, rowids: Rowids) -> impl Iterator<Item = Piece> {
    let all = rows.range();
    let parts = rows.bytes().div_ceil(LARGE).max(1);
    let rowids = match rowids {
        Rowids::From(_) if parts > 1 => Rowids::Listed(rowids.listed(all.len())),
        rowids => rowids,
    };
    let size = all.len().div_ceil(parts).max(1);
    all.clone().step_by(size).map(move |start| Piece {
        rows: rows.part(start..all.end.min(start + size)),
        rowids: rowids.clone(),
    })
}
