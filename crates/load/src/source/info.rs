//! Everything known of a source before its rows are read, and how they are read.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::locations::{Locations, RowLocation, Unit};
use crate::affinity::Affinity;
use crate::convert::Decimals;
use crate::table::Column;

/// Where the type of a column of the table comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typing {
    /// It was declared, and values are converted as SQLite does.
    Declared,
    /// The source suggested it from its first rows. A value that it would change ends the load.
    Sampled,
    /// The first rows have no value. The first one ends the load, because the rows can be read again.
    Unseen,
}

/// How a source is read.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// The affinities of the columns in the table.
    pub affinities: Vec<Affinity>,
    /// Where the types of the columns come from; they are declared where this says nothing.
    pub typing: Vec<Typing>,
    /// Whether nothing is read ahead: rows are read and parsed only while [`Source::next`](super::Source::next) waits for them, so that a
    /// caller can measure other work between its calls.
    pub on_demand: bool,
    /// Set to true when no more rows are wanted. A source that may have to wait, such as for standard input,
    /// checks it regularly and ends.
    pub stop: Arc<AtomicBool>,
}

impl ReadOptions {
    /// Returns the options for columns of these affinities, with declared types.
    pub fn new(affinities: impl Into<Vec<Affinity>>) -> ReadOptions {
        ReadOptions { affinities: affinities.into(), ..ReadOptions::default() }
    }
}

/// The value that decided the type of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deciding {
    /// Its row.
    pub row: RowLocation,
    /// Its beginning.
    pub value: String,
}

/// The description of a source before its rows are read.
#[derive(Debug, Clone)]
pub struct SourceInfo {
    /// Returns its name in messages: a path.
    pub name: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Whether the columns have names of their own; otherwise they are called by their numbers, and rows are
    /// appended to a table by position.
    pub is_named: bool,
    /// Whether the type of each column says something of its values. It does not where it was chosen
    /// without having seen one.
    pub typed: Vec<bool>,
    /// The value that decided the type of each column, where values did.
    pub decided: Vec<Option<Deciding>>,
    /// Whether each column has integers, as far as they were seen, that a REAL would round.
    pub beyond_real: Vec<bool>,
    /// Whether each column holds text by its type.
    pub texts: Vec<bool>,
    /// The columns of decimals, by name, with the number of digits after the point.
    pub decimals: Vec<(String, i8)>,
    /// How decimals are stored.
    pub decimals_as: Decimals,
    /// The columns of dates, by name, with the first value of each and what became of it.
    pub dates: Vec<(String, String, String)>,
    /// The bytes to read, as they lie on the disk, where known.
    pub total_bytes: Option<u64>,
    /// The files that it reads, which must not be written meanwhile.
    pub files: Vec<PathBuf>,
    /// Where its rows come from, by the numbers of its batches.
    pub locations: Locations,
}

impl SourceInfo {
    /// A file of this name, or something in memory, whose columns have the types that they declare.
    pub fn new(name: impl Into<String>, columns: Vec<Column>) -> SourceInfo {
        let name = name.into();
        let is_text = |column: &Column| {
            column.declared.is_empty() || Affinity::of(&column.declared) == Affinity::Text
        };
        SourceInfo {
            is_named: true,
            typed: vec![true; columns.len()],
            decided: vec![None; columns.len()],
            beyond_real: vec![false; columns.len()],
            texts: columns.iter().map(is_text).collect(),
            columns,
            decimals: Vec::new(),
            decimals_as: Decimals::Text,
            dates: Vec::new(),
            total_bytes: None,
            files: vec![PathBuf::from(&name)],
            locations: Locations::new(&name, Unit::Row),
            name,
        }
    }
}
