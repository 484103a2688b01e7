//! Sorted runs as one sequence.

use super::layout::IndexPlan;
use super::order::{self, Key};
use super::run::{Bytes, Entry, Run, record};
use crate::error::Result;

/// Runs merged by a tournament: each inner node of a tree over the runs holds the one that lost there, so
/// that the next entry takes one comparison on each level
/// (Knuth, The Art of Computer Programming, volume 3, 5.4.1).
pub(super) struct Merged<'r> {
    descending: &'r [bool],
    cursors: Vec<Cursor<'r>>,
    /// The winner, then the loser at each inner node.
    losers: Vec<usize>,
}

impl<'r> Merged<'r> {
    /// Entries of runs of an index that are not before `from`; without `from`, all of them. Of runs in
    /// files about `buffer` bytes are read at a time.
    pub(super) fn new(
        plan: &'r IndexPlan,
        runs: &'r [Run],
        from: Option<Entry<'_>>,
        buffer: usize,
    ) -> Result<Merged<'r>> {
        let descending = &plan.descending[..];
        let mut cursors = Vec::new();
        for run in runs {
            let mut cursor = Cursor::new(run.read(from, descending, buffer));
            cursor.advance(descending)?;
            while let (Some(entry), Some(from)) = (cursor.entry(), from)
                && entry.compare(from, descending).is_lt()
            {
                cursor.advance(descending)?;
            }
            cursors.push(cursor);
        }
        let mut merged = Merged { descending, losers: vec![0; cursors.len()], cursors };
        merged.play();
        Ok(merged)
    }

    /// Finds the winner, and the loser at every node. The runs are the leaves of the tree; its inner nodes
    /// are numbered from 1, so that the parent of a node is half its number.
    fn play(&mut self) {
        let runs = self.cursors.len();
        let mut winners: Vec<usize> = (0..2 * runs).map(|node| node.saturating_sub(runs)).collect();
        for node in (1..runs).rev() {
            let (one, other) = (winners[2 * node], winners[2 * node + 1]);
            let (winner, loser) = if self.beats(other, one) { (other, one) } else { (one, other) };
            (winners[node], self.losers[node]) = (winner, loser);
        }
        if let Some(winner) = self.losers.first_mut() {
            *winner = winners[1];
        }
    }

    /// Returns whether the entry of one run comes before the entry of another.
    #[inline]
    fn beats(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.cursors[one], &self.cursors[other]);
        match (one.key, other.key) {
            (Some(key), Some(other_key)) => {
                let by_key = key.compare(other_key);
                let order = by_key.then_with(|| {
                    order::compare(record(one.cell()), record(other.cell()), self.descending)
                });
                order.is_lt()
            }
            (key, _) => key.is_some(),
        }
    }

    /// Returns the next entry; `None` at the end.
    #[inline]
    pub(super) fn entry(&self) -> Option<Entry<'_>> {
        self.cursors[*self.losers.first()?].entry()
    }

    /// Goes on to the entry after it.
    #[inline]
    pub(super) fn advance(&mut self) -> Result<()> {
        let Some(mut winner) = self.losers.first().copied() else { return Ok(()) };
        self.cursors[winner].advance(self.descending)?;
        let mut node = (winner + self.cursors.len()) / 2;
        while node > 0 {
            if self.beats(self.losers[node], winner) {
                std::mem::swap(&mut self.losers[node], &mut winner);
            }
            node /= 2;
        }
        self.losers[0] = winner;
        Ok(())
    }
}

/// A place in a run.
struct Cursor<'r> {
    bytes: Bytes<'r>,
    /// Where the cell of the entry begins and ends.
    place: (usize, usize),
    /// The key of the entry; none at the end of the run.
    key: Option<Key>,
}

impl<'r> Cursor<'r> {
    /// Before the first entry.
    fn new(bytes: Bytes<'r>) -> Cursor<'r> {
        Cursor { bytes, place: (0, 0), key: None }
    }

    #[inline]
    fn cell(&self) -> &[u8] {
        &self.bytes.get()[self.place.0..self.place.1]
    }

    #[inline]
    fn entry(&self) -> Option<Entry<'_>> {
        let key = self.key?;
        Some(Entry { key, cell: self.cell() })
    }

    #[inline]
    fn advance(&mut self, descending: &[bool]) -> Result<()> {
        self.key = match self.bytes.find(self.place.1)? {
            Some((length, at)) => {
                self.place = (at, at + length);
                Some(Key::of(record(self.cell()), descending))
            }
            None => None,
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::layout::IndexColumn;
    use super::super::record::plain;
    use super::super::run::Spill;
    use super::super::stored::Stored;
    use super::super::varint;
    use super::*;

    fn plan(descends: bool) -> IndexPlan {
        IndexPlan {
            root: 2,
            columns: vec![IndexColumn::Of(0), IndexColumn::Rowid],
            key: 1,
            descending: vec![descends],
            unique: false,
            is_table: false,
            label: "t.a".to_owned(),
        }
    }

    /// Cells in the order of the index.
    fn sorted(texts: &[String], first_rowid: i64, plan: &IndexPlan) -> Vec<Vec<u8>> {
        let mut cells: Vec<Vec<u8>> = (first_rowid..)
            .zip(texts)
            .map(|(rowid, text)| {
                let values = [Stored::Text(text.into()), Stored::Integer(rowid)];
                let record = plain(&values);
                let mut cell = Vec::new();
                varint::push(&mut cell, record.len() as u64);
                cell.extend(record);
                cell
            })
            .collect();
        let record = super::record;
        cells.sort_by(|one, other| order::compare(record(one), record(other), &plan.descending));
        cells
    }

    fn in_file(cells: &[Vec<u8>], spill: &mut Spill) -> Run {
        let mut run = spill.begin(0).unwrap();
        cells.iter().for_each(|cell| run.push(cell).unwrap());
        run.finish().unwrap()
    }

    fn all(mut merged: Merged<'_>) -> Vec<Vec<u8>> {
        let mut cells = Vec::new();
        while let Some(entry) = merged.entry() {
            cells.push(entry.cell.to_vec());
            merged.advance().unwrap();
        }
        cells
    }

    proptest! {
        #[test]
        fn runs_in_memory_and_in_files_come_as_one_sequence_from_any_entry_on(
            texts in prop::collection::vec(prop::collection::vec("[ab]{0,12}", 0..30), 0..9),
            descends in any::<bool>(),
            from in any::<prop::sample::Index>(),
            buffer in 0_usize..100,
        ) {
            let plan = plan(descends);
            let folder = tempfile::tempdir().unwrap();
            let mut spill = Spill::new(folder.path());
            let lists: Vec<Vec<Vec<u8>>> = (texts.iter().enumerate())
                .map(|(number, texts)| sorted(texts, 1_000 * number as i64, &plan))
                .collect();
            let runs: Vec<Run> = (lists.iter().enumerate())
                .map(|(number, cells)| match number % 2 {
                    0 => Run::of_cells(cells.iter().cloned()),
                    _ => in_file(cells, &mut spill),
                })
                .collect();
            let mut expected = lists.concat();
            expected.sort_by(|one, other| {
                order::compare(record(one), record(other), &plan.descending)
            });
            let merged = Merged::new(&plan, &runs, None, buffer).unwrap();
            prop_assert_eq!(all(merged), &expected[..]);
            if !expected.is_empty() {
                let first = from.index(expected.len());
                let from = Entry::new(&expected[first], &plan.descending);
                let merged = Merged::new(&plan, &runs, Some(from), buffer).unwrap();
                prop_assert_eq!(all(merged), &expected[first..]);
            }
        }
    }
}
