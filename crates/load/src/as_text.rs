//! How the values of columns were written as texts, where a table does not say it: the first line of the SQL that an unload
//! writes beside them, by which a load makes the same values of them again.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BinaryArray};
use engine::ValueRef;

use crate::affinity::Affinity;
use crate::batch::{Batch, record_batch};
use crate::batch_conversion::leave_out;
use crate::blobs::Blobs;
use crate::error::Result;
use crate::table::Column;

/// The beginning of the line that an unload writes before SQL; a word for each column that the table stores follows.
pub const VALUES_LINE: &str = "-- values of the columns: ";
/// The word for values that the type of the column tells.
const BY_TYPE: &str = "by type";

/// How the values of a column were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AsText {
    Integers,
    Reals,
    Texts,
    Blobs(Blobs),
}

const ALL: [(&str, AsText); 5] = [
    ("integers", AsText::Integers),
    ("reals", AsText::Reals),
    ("texts", AsText::Texts),
    ("hex", AsText::Blobs(Blobs::Hex)),
    ("base64", AsText::Blobs(Blobs::Base64)),
];

impl AsText {
    /// Returns the affinity by which the texts are read.
    pub(crate) fn affinity(self) -> Affinity {
        match self {
            AsText::Integers => Affinity::Integer,
            AsText::Reals => Affinity::Real,
            AsText::Texts => Affinity::Text,
            AsText::Blobs(_) => Affinity::Blob,
        }
    }
}

/// Which storage classes the values in a column have: integers, reals, texts, blobs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Classes(pub(crate) [bool; 4]);

impl Classes {
    pub(crate) fn add(&mut self, value: &ValueRef<'_>) {
        let class = match value {
            ValueRef::Null => return,
            ValueRef::Integer(_) => 0,
            ValueRef::Real(_) => 1,
            ValueRef::Text(_) => 2,
            ValueRef::Blob(_) => 3,
        };
        self.0[class] = true;
    }

    /// Adds the classes of other values.
    pub(crate) fn merge(&mut self, other: Classes) {
        self.0.iter_mut().zip(other.0).for_each(|(has, other)| *has |= other);
    }

    /// Returns the word for how the values of a column are written; `None` if no word tells.
    fn word(self, column: &Column, blobs: Blobs) -> Option<&'static str> {
        let written = match self.0 {
            [false, false, false, true] => AsText::Blobs(blobs),
            [.., true] => return None,
            [false, true, false, _] => AsText::Reals,
            [false, false, true, _] => AsText::Texts,
            _ if Affinity::of(&column.declared) != Affinity::Blob => return Some(BY_TYPE),
            [false, false, false, _] => return Some(BY_TYPE),
            [true, false, false, _] => AsText::Integers,
            _ => return None,
        };
        ALL.iter().find(|(_, known)| *known == written).map(|(word, _)| *word)
    }
}

/// Returns the line about columns with values of these classes, and the columns whose values will not come back in their
/// storage classes, in a format that has types for all but blobs or for none.
pub(crate) fn line(
    columns: &[Column],
    classes: &[Classes],
    blobs: Blobs,
    has_types: bool,
) -> (String, Vec<String>) {
    let mut mixed = Vec::new();
    let words = columns.iter().zip(classes).map(|(column, classes)| {
        classes.word(column, blobs).unwrap_or_else(|| {
            if classes.0[3] || !has_types {
                mixed.push(column.name.clone());
            }
            BY_TYPE
        })
    });
    let words: Vec<&str> = words.collect();
    (format!("{VALUES_LINE}{}\n", words.join(", ")), mixed)
}

/// Returns what the first line of SQL says of each column.
pub(crate) fn read(sql: &str) -> Vec<Option<AsText>> {
    let line =
        sql.strip_prefix(VALUES_LINE).and_then(|rest| rest.lines().next()).unwrap_or_default();
    let known = |word: &str| ALL.iter().find(|(known, _)| *known == word);
    line.split(", ").map(|word| known(word).map(|(_, written)| *written)).collect()
}

/// Makes blobs of the texts of these columns. Rows whose texts stand for none are malformed.
pub(crate) fn decode(input: &str, batch: &mut Batch, blobs: &[Option<Blobs>]) -> Result<()> {
    let mut columns = batch.rows.columns().to_vec();
    let mut refused = Vec::new();
    for (number, blobs) in blobs.iter().enumerate() {
        let texts = columns.get(number).and_then(|array| array.as_string_opt::<i32>());
        let Some((blobs, texts)) = blobs.zip(texts) else { continue };
        let decoded = texts.iter().enumerate().map(|(row, text)| {
            let bytes = text.map(|text| blobs.bytes(text));
            if bytes == Some(None) {
                let column = batch.rows.schema_ref().field(number).name().clone();
                refused.push((row, column, "its text stands for no bytes".to_owned()));
            }
            bytes.flatten()
        });
        let decoded: ArrayRef = Arc::new(decoded.collect::<BinaryArray>());
        columns[number] = decoded;
    }
    let schema = batch.rows.schema();
    let names = schema.fields().iter().map(|field| field.name());
    let changed = record_batch(input, names, columns, batch.rows.num_rows())?;
    let before = std::mem::replace(&mut batch.rows, changed);
    refused.sort_by_key(|(row, ..)| *row);
    refused.dedup_by_key(|(row, ..)| *row);
    if refused.is_empty() { Ok(()) } else { leave_out(input, batch, &before, refused) }
}
