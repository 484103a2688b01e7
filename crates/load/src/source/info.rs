//! Everything known of a source before its rows are read, and how they are read.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::locations::{Locations, RowLocation, Unit};
use super::notes::Notes;
use crate::affinity::Affinity;
use crate::blobs::Blobs;
use crate::convert::Decimals;
use crate::table::Column;

/// Where the type of a column of the table comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typing {
    /// The type is declared, and values are converted as SQLite does.
    Declared,
    /// The type is declared as BOOLEAN: words for true and false become 1 and 0.
    Booleans,
    /// The numbers were written with all digits that tell them apart, and keep every bit.
    Written,
    /// The source suggested the type from its first rows. A value that it would change ends the load.
    Sampled,
    /// The first rows have no value. The first one ends the load, because the rows can be read again.
    Unseen,
}

/// How a column will be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Storing {
    /// Its affinity in the table.
    pub affinity: Affinity,
    /// Where its type comes from.
    pub typing: Typing,
}

impl Storing {
    /// Describes a column of this affinity, whose type is declared.
    pub fn declared(affinity: Affinity) -> Storing {
        Storing { affinity, typing: Typing::Declared }
    }

    /// Returns the description of a column; where it is not known, values are kept as they are.
    pub(crate) fn of(columns: &[Storing], column: usize) -> Storing {
        columns.get(column).copied().unwrap_or(Storing::declared(Affinity::Blob))
    }

    /// Returns whether the column holds numbers by its type.
    pub(crate) fn is_of_numbers(self) -> bool {
        !matches!(self.affinity, Affinity::Text | Affinity::Blob)
    }
}

/// How a source is read.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// How its columns will be stored.
    pub columns: Vec<Storing>,
    /// The form in which each column's blobs are written as texts, to turn them back into blobs; empty if no column has any.
    pub(crate) blobs: Vec<Option<Blobs>>,
    /// The column that is the rowid, if one is.
    pub(crate) rowid: Option<usize>,
    /// Whether the rows can be read again, with types and keys of all rows.
    pub is_reopenable: bool,
    /// Whether nothing is read ahead: rows are read and parsed only while [`Source::next`](super::Source::next) waits for them, so that a
    /// caller can measure other work between its calls.
    pub on_demand: bool,
    /// Set to true when no more rows are wanted. A source that may have to wait, such as for standard input,
    /// checks it regularly and ends.
    pub stop: Arc<AtomicBool>,
}

impl ReadOptions {
    /// Returns the options for columns of these affinities, with declared types.
    pub fn new(affinities: impl IntoIterator<Item = Affinity>) -> ReadOptions {
        let columns = affinities.into_iter().map(Storing::declared).collect();
        ReadOptions { columns, ..ReadOptions::default() }
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

/// Facts about the values of a column.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// Whether the type of the column describes its values. It does not if it was chosen without a value.
    pub is_typed: bool,
    /// The value that decided the type, if one did.
    pub decided: Option<Deciding>,
    /// Whether there are integers so far that a REAL would round.
    pub is_beyond_real: bool,
    /// Whether the column holds text by its type.
    pub is_text: bool,
    /// The first value, if there are some so far and none of them is a number.
    pub no_number: Option<String>,
}

impl Seen {
    /// Describes a column whose type is declared.
    pub(crate) fn declared() -> Seen {
        Seen { is_typed: true, ..Seen::default() }
    }
}

/// A column of decimals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecimalColumn {
    /// Its name.
    pub name: String,
    /// Digits after the point.
    pub scale: i8,
}

/// A column whose texts are dates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DateColumn {
    /// Its name.
    pub name: String,
    /// Its first value.
    pub first: String,
    /// The first value as it is stored.
    pub stored: String,
}

/// The description of a source before its rows are read.
#[derive(Debug, Clone)]
pub struct SourceInfo {
    /// Its name in messages: a path.
    pub name: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Whether the columns have names; otherwise they are numbered, and rows are
    /// appended to a table by position.
    pub is_named: bool,
    /// Whether each row of an input gives one row.
    pub is_row_for_row: bool,
    /// Facts about the values of each column.
    pub seen: Vec<Seen>,
    /// The columns of decimals.
    pub decimals: Vec<DecimalColumn>,
    /// How decimals are stored.
    pub decimals_as: Decimals,
    /// The columns of dates.
    pub dates: Vec<DateColumn>,
    /// The findings in it.
    pub notes: Notes,
    /// Whether all of it has been read, and its file is closed.
    pub is_in_memory: bool,
    /// The bytes to read from the disk, if known.
    pub total_bytes: Option<u64>,
    /// The files that it reads, which must not be written meanwhile.
    pub files: Vec<PathBuf>,
    /// Where its rows come from, by the numbers of its batches.
    pub locations: Locations,
}

impl SourceInfo {
    /// Describes a file of this name, or data in memory, whose columns have declared types.
    pub fn new(name: impl Into<String>, columns: Vec<Column>) -> SourceInfo {
        let name = name.into();
        let is_text = |column: &Column| {
            column.declared.is_empty() || Affinity::of(&column.declared) == Affinity::Text
        };
        let seen = |column| Seen { is_text: is_text(column), ..Seen::declared() };
        SourceInfo {
            is_named: true,
            is_row_for_row: true,
            seen: columns.iter().map(seen).collect(),
            columns,
            decimals: Vec::new(),
            decimals_as: Decimals::default(),
            dates: Vec::new(),
            notes: Notes::default(),
            is_in_memory: false,
            total_bytes: None,
            files: vec![PathBuf::from(&name)],
            locations: Locations::new(&name, Unit::Row),
            name,
        }
    }
}
