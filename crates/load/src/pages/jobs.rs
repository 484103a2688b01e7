//! Work for the workers: batches, divided where they are large and gathered where they are small.

use arrow_array::Int64Array;

use crate::cells::Rows;

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

/// What a worker does at a time: rows that follow one another.
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
    /// Whether each is above the one before.
    pub(super) fn ascend(&self) -> bool {
        !matches!(self, Rowids::Unsorted(_))
    }

    /// The rowids of a batch of so many rows, one by one.
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
pub(super) struct Outbox<S> {
    send: S,
    /// The number of the next job.
    number: u64,
    pieces: Vec<Piece>,
    rows: usize,
    bytes: usize,
}

impl<S: FnMut(Job) -> bool> Outbox<S> {
    /// `send` tells whether anybody takes the job.
    pub(super) fn new(send: S) -> Outbox<S> {
        Outbox { send, number: 0, pieces: Vec::new(), rows: 0, bytes: 0 }
    }

    /// Takes the rows of a batch; false when nobody takes jobs any more.
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
        !is_enough || self.hand_out()
    }

    /// Hands out what is gathered; false when nobody takes it.
    pub(super) fn hand_out(&mut self) -> bool {
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

/// The pieces of a batch.
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
