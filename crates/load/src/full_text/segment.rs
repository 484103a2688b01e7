//! A segment of an FTS5 index, in the format that the beginning of `fts5_index.c` describes: terms in order, each with the rows that
//! contain it and the positions there, on leaves; and indexes of the leaves of long lists of rows.

use crate::pages::varint;

/// The size of a leaf in bytes at which another one begins: FTS5's default.
const LEAF: usize = 4050;

/// The part of a leaf before its terms: two offsets.
const HEADER: usize = 4;

/// The fewest leaves without a term that follow one another for which there is an index of their rows.
const LEAST_INDEXED: usize = 4;

/// Terms in order on leaves, whose numbers are counted from 0.
#[derive(Default)]
pub(super) struct Leaves {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// Leaves that begin with a term, those without one left out.
    starts: Vec<Start>,
    /// The leaf that is being written, and the offsets of its terms, which follow it.
    leaf: Vec<u8>,
    offsets: Vec<u8>,
    /// The offset of the last term on this leaf.
    last_offset: usize,
    /// The last term and row.
    term: Vec<u8>,
    row: i64,
    is_first_row: bool,
    /// Whether the leaf has a term, and a term or a row.
    has_term: bool,
    has_row: bool,
}

/// A leaf with a term, and those that go on with the rows of its last term.
struct Start {
    /// The leaf's number.
    leaf: usize,
    /// A text that is greater than the terms before it, and not greater than its first one.
    term: Vec<u8>,
    /// The number of leaves without a term behind it.
    empty: usize,
    /// The first leaf behind it that begins with a row.
    first: usize,
    /// The rows with which that leaf and those behind it begin.
    rows: Vec<Option<i64>>,
}

/// A record of the table `…_data`.
pub(super) struct Record<'l> {
    /// Its rowid.
    pub(super) id: i64,
    /// Its value.
    pub(super) block: std::borrow::Cow<'l, [u8]>,
}

impl Leaves {
    pub(super) fn new() -> Leaves {
        Leaves { leaf: vec![0; HEADER], ..Leaves::default() }
    }

    /// Begins a term, which is greater than those before it.
    pub(super) fn term(&mut self, term: &[u8]) {
        let is_full = self.leaf.len() + self.offsets.len() + term.len() + 2 >= LEAF;
        if is_full && self.leaf.len() > HEADER {
            self.end_leaf();
        }
        varint::push(&mut self.offsets, (self.leaf.len() - self.last_offset) as u64);
        self.last_offset = self.leaf.len();
        let common = self.term.iter().zip(term).take_while(|(a, b)| a == b).count();
        let mut rest = term;
        if self.has_term {
            varint::push(&mut self.leaf, common as u64);
            rest = &term[common..];
        } else {
            // Leaves of another part may be before the first one.
            let length = if self.term.is_empty() { term.len() } else { common + 1 };
            let term = term[..length].to_owned();
            let leaf = self.ends.len();
            self.starts.push(Start { leaf, term, empty: 0, first: 0, rows: Vec::new() });
        }
        varint::push(&mut self.leaf, rest.len() as u64);
        self.leaf.extend_from_slice(rest);
        self.term.clear();
        self.term.extend_from_slice(term);
        (self.has_term, self.has_row, self.is_first_row) = (true, true, true);
    }

    /// Appends a row to the last term, whose rows ascend, with the list of positions in it.
    pub(super) fn row(&mut self, row: i64, positions: &[u8]) {
        if self.leaf.len() + self.offsets.len() >= LEAF {
            self.end_leaf();
        }
        let is_literal = self.is_first_row || !self.has_row;
        if !self.has_row {
            let offset = (self.leaf.len() as u16).to_be_bytes();
            self.leaf[..2].copy_from_slice(&offset);
            let leaf = self.ends.len();
            if let Some(start) = self.starts.last_mut() {
                if start.rows.is_empty() {
                    start.first = leaf;
                }
                start.rows.push(Some(row));
            }
        }
        let before = if is_literal { 0 } else { self.row };
        varint::push(&mut self.leaf, row.wrapping_sub(before) as u64);
        (self.row, self.is_first_row, self.has_row) = (row, false, true);
        varint::push(&mut self.leaf, 2 * positions.len() as u64);
        self.positions(positions);
    }

    /// Appends positions, which a leaf may end between.
    fn positions(&mut self, mut positions: &[u8]) {
        while self.leaf.len() + self.offsets.len() + positions.len() >= LEAF {
            let space = LEAF.saturating_sub(self.leaf.len() + self.offsets.len());
            // To the end of a number, whose last byte has no highest bit.
            let ends_number = |at: &usize| *at == 0 || positions[at - 1] & 0x80 == 0;
            let length = (space..=positions.len()).find(ends_number).unwrap_or(0);
            let (now, later) = positions.split_at(length);
            self.leaf.extend_from_slice(now);
            positions = later;
            self.end_leaf();
        }
        self.leaf.extend_from_slice(positions);
    }

    fn end_leaf(&mut self) {
        let length = (self.leaf.len() as u16).to_be_bytes();
        self.leaf[2..HEADER].copy_from_slice(&length);
        if !self.has_term
            && let Some(start) = self.starts.last_mut()
        {
            start.empty += 1;
            if !self.has_row && !start.rows.is_empty() {
                start.rows.push(None);
            }
        }
        self.bytes.extend_from_slice(&self.leaf);
        self.bytes.extend_from_slice(&self.offsets);
        self.ends.push(self.bytes.len());
        self.leaf.clear();
        self.leaf.resize(HEADER, 0);
        self.offsets.clear();
        (self.last_offset, self.has_term, self.has_row) = (0, false, false);
    }

    /// Ends the last leaf.
    pub(super) fn finish(mut self) -> Leaves {
        if self.leaf.len() > HEADER {
            self.end_leaf();
        }
        self
    }

    /// Returns the number of leaves.
    pub(super) fn count(&self) -> usize {
        self.ends.len()
    }

    /// Returns the leaves of a segment whose first one has this number.
    pub(super) fn records(&self, segment: i64, first: usize) -> impl Iterator<Item = Record<'_>> {
        self.ends.iter().enumerate().map(move |(number, end)| {
            let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
            let id = (segment << 37) + (first + number) as i64;
            Record { id, block: self.bytes[start..*end].into() }
        })
    }

    /// Returns the indexes of rows.
    pub(super) fn indexes(&self, segment: i64, first: usize) -> Vec<Record<'static>> {
        let indexed = self.starts.iter().filter(|start| start.is_indexed());
        let indexes = indexed.flat_map(|start| {
            let leaf = first + start.leaf;
            let nodes = doclist_index(leaf, first + start.first, &start.rows);
            nodes.into_iter().map(move |(height, number, block)| {
                let id = (segment << 37) + (1 << 36) + (height << 31) + number as i64;
                Record { id, block: block.into() }
            })
        });
        indexes.collect()
    }

    /// Returns the rows of the table `…_idx`: the text that a leaf begins with, and its number and whether it has an index of rows.
    pub(super) fn starts(&self, first: usize) -> impl Iterator<Item = (&[u8], i64)> {
        self.starts.iter().map(move |start| {
            let leaf = first + start.leaf;
            // Nothing is before the first leaf of a segment.
            let term = if leaf == 1 { &[][..] } else { &start.term };
            (term, (leaf as i64) << 1 | i64::from(start.is_indexed()))
        })
    }
}

impl Start {
    fn is_indexed(&self) -> bool {
        self.empty >= LEAST_INDEXED && !self.rows.is_empty()
    }
}

/// Returns the nodes of an index of rows, each with its height, its number and its value: a tree over the leaves from `first` on that
/// begin with these rows. Its nodes are numbered from the leaf of their term on.
fn doclist_index(leaf: usize, first: usize, rows: &[Option<i64>]) -> Vec<(i64, usize, Vec<u8>)> {
    let (mut all, mut child, mut rows) = (Vec::new(), first, rows.to_owned());
    for height in 0.. {
        // Each with its first row.
        let mut nodes: Vec<(i64, Vec<u8>)> = Vec::new();
        let mut last = 0;
        for (number, row) in rows.iter().enumerate() {
            match (row, nodes.last_mut()) {
                (None, Some((_, node))) => node.push(0),
                (Some(row), Some((_, node))) if node.len() < LEAF => {
                    varint::push(node, row.wrapping_sub(last) as u64);
                    last = *row;
                }
                (Some(row), _) => {
                    let mut node = vec![0];
                    varint::push(&mut node, (child + number) as u64);
                    varint::push(&mut node, *row as u64);
                    nodes.push((*row, node));
                    last = *row;
                }
                (None, None) => {}
            }
        }
        let is_root = nodes.len() <= 1;
        rows = nodes.iter().map(|(row, _)| Some(*row)).collect();
        child = leaf;
        all.extend(nodes.into_iter().enumerate().map(|(number, (_, mut node))| {
            node[0] = u8::from(!is_root);
            (height, leaf + number, node)
        }));
        if is_root {
            break;
        }
    }
    all
}
