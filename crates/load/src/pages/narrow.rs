//! Rows of a few short values, as numbers: what is written of them at once takes no loop and no branch.
//!
//! Most tables have rows whose serial types take a byte each and whose values take sixteen bytes together
//! at most. The header of such a record is a number of up to eight bytes, and its values are one of up to
//! sixteen, made column by column; then writing the record is two moves.

use std::ops::{BitOr, Shl};

use arrow_array::GenericByteArray;
use arrow_array::types::ByteArrayType;

use super::record::number_length;

/// The most columns: with its own length, the header takes eight bytes.
const MOST_COLUMNS: usize = 7;
/// The most bytes of values.
pub(super) const MOST_BYTES: u32 = 16;
/// The most bytes of values for which numbers of 64 bits do, which are faster: one fewer than they have, so
/// that making room for a value never shifts by all bits.
const MOST_SMALL: u32 = 7;

/// The records of a block.
#[derive(Debug)]
pub(super) struct Narrow {
    /// The bytes of a header.
    header: usize,
    /// Headers in their lowest bytes; what is above them means nothing.
    headers: Vec<u64>,
    /// Values, likewise.
    values: Values,
    small: Vec<u64>,
    large: Vec<u128>,
}

/// Which numbers hold the values of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Values {
    Small,
    Large,
}

impl Narrow {
    /// Room for the rows of a block; `None` if there are too many columns.
    pub(super) fn new(columns: usize, block: usize) -> Option<Narrow> {
        (columns <= MOST_COLUMNS).then(|| Narrow {
            header: columns + 1,
            headers: Vec::with_capacity(block),
            values: Values::Small,
            small: Vec::with_capacity(block),
            large: Vec::new(),
        })
    }

    /// Begins with so many records without columns, whose values will take so many bytes at most.
    pub(super) fn begin(&mut self, rows: usize, bytes: u32) {
        self.headers.clear();
        self.headers.resize(rows, self.header as u64);
        if bytes <= MOST_SMALL {
            self.values = Values::Small;
            self.small.clear();
            self.small.resize(rows, 0);
        } else {
            self.values = Values::Large;
            self.large.clear();
            self.large.resize(rows, 0);
        }
    }

    /// Adds a column of NULLs.
    pub(super) fn push_nulls(&mut self) {
        for header in &mut self.headers {
            *header <<= 8;
        }
    }

    /// Adds a column of numbers; `bits` makes those of a value of some serial type.
    #[inline]
    pub(super) fn push_numbers<T: Copy>(
        &mut self,
        numbers: &[T],
        types: &[u32],
        bits: impl Fn(T, u32) -> u64,
    ) {
        let numbers = numbers.iter().zip(types).map(|(number, serial_type)| {
            let length = number_length(*serial_type);
            let unused = 64 - 8 * length as u32;
            let lowest = bits(*number, *serial_type) & u64::MAX.checked_shr(unused).unwrap_or(0);
            (*serial_type, length, lowest)
        });
        match self.values {
            Values::Small => push(&mut self.headers, &mut self.small, numbers),
            Values::Large => push(&mut self.headers, &mut self.large, numbers),
        }
    }

    /// Adds a column of texts or blobs, of which the block has the ones from `first` on.
    #[inline]
    pub(super) fn push_bytes<T: ByteArrayType<Offset = i32>>(
        &mut self,
        array: &GenericByteArray<T>,
        first: usize,
        types: &[u32],
    ) {
        let (bytes, ends) = (array.value_data(), &array.value_offsets()[first + 1..]);
        let values = ends.iter().zip(types).map(|(end, serial_type)| {
            let length = (*serial_type as usize).saturating_sub(12) / 2;
            (*serial_type, length, last(bytes, *end as usize, length))
        });
        self.push(values);
    }

    /// Adds a column of values: the serial type of each, how many bytes it takes, and these as the lowest
    /// ones of a number.
    #[inline]
    pub(super) fn push(&mut self, values: impl Iterator<Item = (u32, usize, u128)>) {
        match self.values {
            Values::Small => {
                let values = values.map(|(of, length, lowest)| (of, length, lowest as u64));
                push(&mut self.headers, &mut self.small, values);
            }
            Values::Large => {
                for (row, (serial_type, length, lowest)) in values.enumerate() {
                    let (header, all) = (&mut self.headers[row], &mut self.large[row]);
                    *header = *header << 8 | u64::from(serial_type);
                    // A value that takes all of it is the only one.
                    *all = all.checked_shl(8 * length as u32).unwrap_or(0) | lowest;
                }
            }
        }
    }

    /// The bytes of a header.
    #[inline]
    pub(super) fn header(&self) -> usize {
        self.header
    }

    /// Writes a record with so many bytes of values so that it ends at `end`, and returns where it begins.
    /// Of the bytes before it, sixteen may have been overwritten.
    #[inline]
    pub(super) fn put(&self, row: usize, values: usize, place: &mut [u8], end: usize) -> usize {
        match self.values {
            Values::Small => put(place, end, self.small[row]),
            Values::Large => place[end - 16..end].copy_from_slice(&self.large[row].to_be_bytes()),
        }
        put(place, end - values, self.headers[row]);
        end - values - self.header
    }
}

/// Adds a value to each row.
#[inline]
fn push<V>(headers: &mut [u64], rows: &mut [V], values: impl Iterator<Item = (u32, usize, u64)>)
where
    V: Copy + From<u64> + Shl<u32, Output = V> + BitOr<Output = V>,
{
    for ((header, row), (serial_type, length, lowest)) in headers.iter_mut().zip(rows).zip(values) {
        *header = *header << 8 | u64::from(serial_type);
        *row = *row << (8 * length as u32) | V::from(lowest);
    }
}

/// Writes eight bytes so that they end at `end`.
#[inline]
fn put(place: &mut [u8], end: usize, number: u64) {
    place[end - 8..end].copy_from_slice(&number.to_be_bytes());
}

/// The bytes before `end`, so many and at most sixteen, as the lowest ones of a number.
#[inline]
pub(super) fn last(bytes: &[u8], end: usize, length: usize) -> u128 {
    let mut last = [0; 16];
    if end >= 16 {
        last.copy_from_slice(&bytes[end - 16..end]);
    } else {
        last[16 - length..].copy_from_slice(&bytes[end - length..end]);
    }
    let unused = 128 - 8 * length as u32;
    u128::from_be_bytes(last) & u128::MAX.checked_shr(unused).unwrap_or(0)
}
