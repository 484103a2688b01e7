//! Rows of a few short values, made column by column: what is written of them at once takes no loop over
//! columns and no look at their types.
//!
//! Most tables have rows whose serial types take a byte each and whose values are short. The header of such a
//! record is a number of up to eight bytes. Its values are another one if they take less than eight together;
//! otherwise they are gathered in memory of their own, from the last column to the first, and writing the
//! record copies them sixteen bytes at a time.

use arrow_array::GenericByteArray;
use arrow_array::types::ByteArrayType;

use super::record::{SLACK, number_length, put_bytes, put_number};
use super::stored::Stored;

/// The most columns: with its own length, the header takes eight bytes.
const MOST_COLUMNS: usize = 7;
/// The most bytes of values: a record stays below 128 bytes, so that its length takes a single one.
pub(super) const MOST_BYTES: u32 = 112;
/// The most bytes of values that are a number of 64 bits: one fewer than that has, so that making room for a
/// value never shifts by all bits.
const MOST_SMALL: u32 = 7;

/// The records of a block.
pub(super) struct Narrow {
    /// The bytes of a header.
    pub(super) header: usize,
    /// Headers in their lowest bytes; what is above them means nothing.
    headers: Vec<u64>,
    is_small: bool,
    /// Values, if they are small, as headers are.
    small: Vec<u64>,
    /// Values otherwise: the values of a row end where the next row's part begins, at least [`SLACK`] bytes
    /// behind the beginning of their own part.
    gathered: Vec<u8>,
    /// Where the values of each row begin so far.
    starts: Vec<usize>,
    /// The bytes of a row's part.
    part: usize,
}

impl Narrow {
    /// Room for the rows of a block; `None` if there are too many columns.
    pub(super) fn new(columns: usize, block: usize) -> Option<Narrow> {
        (columns <= MOST_COLUMNS).then(|| Narrow {
            header: columns + 1,
            headers: Vec::with_capacity(block),
            is_small: true,
            small: Vec::with_capacity(block),
            gathered: Vec::new(),
            starts: Vec::new(),
            part: 0,
        })
    }

    /// Begins `rows` records without columns, whose values will take at most `bytes` bytes.
    pub(super) fn begin(&mut self, rows: usize, bytes: u32) {
        self.headers.clear();
        self.headers.resize(rows, self.header as u64);
        self.is_small = bytes <= MOST_SMALL;
        if self.is_small {
            self.small.clear();
            self.small.resize(rows, 0);
        } else {
            self.part = SLACK + bytes as usize;
            let needed = rows * self.part;
            if self.gathered.len() < needed {
                self.gathered.resize(needed, 0);
            }
            self.starts.clear();
            (self.starts).extend((1..=rows).map(|row| row * self.part));
        }
    }

    /// Returns the order in which the columns are added: gathered values are added from
    /// the last column to the first.
    pub(super) fn order(&self, columns: usize) -> impl Iterator<Item = usize> + use<> {
        let is_small = self.is_small;
        (0..columns).map(move |at| if is_small { at } else { columns - 1 - at })
    }

    /// Adds a column to the headers.
    pub(super) fn push_types(&mut self, types: &[u32]) {
        for (header, serial_type) in self.headers.iter_mut().zip(types) {
            *header = *header << 8 | u64::from(*serial_type);
        }
    }

    /// Adds a column of numbers; `bits` returns the bits of a value of a serial type.
    #[inline]
    pub(super) fn push_numbers<T: Copy>(
        &mut self,
        numbers: &[T],
        types: &[u32],
        bits: impl Fn(T, u32) -> u64,
    ) {
        let numbers = (numbers.iter().zip(types)).map(|(number, of)| (bits(*number, *of), *of));
        if self.is_small {
            for (row, (bits, serial_type)) in self.small.iter_mut().zip(numbers) {
                let length = number_length(serial_type);
                let unused = 64 - 8 * length as u32;
                let lowest = bits & u64::MAX.checked_shr(unused).unwrap_or(0);
                *row = *row << (8 * length as u32) | lowest;
            }
        } else {
            for (start, (bits, serial_type)) in self.starts.iter_mut().zip(numbers) {
                *start = put_number(bits, serial_type, &mut self.gathered, *start);
            }
        }
    }

    /// Adds a column of texts or blobs; the block begins at row `first`.
    #[inline]
    pub(super) fn push_bytes<T: ByteArrayType<Offset = i32>>(
        &mut self,
        array: &GenericByteArray<T>,
        first: usize,
        types: &[u32],
    ) {
        let (bytes, ends) = (array.value_data(), &array.value_offsets()[first + 1..]);
        let values = ends.iter().zip(types);
        if self.is_small {
            for (row, (end, serial_type)) in self.small.iter_mut().zip(values) {
                let length = (*serial_type as usize).saturating_sub(12) / 2;
                *row = *row << (8 * length as u32) | last(bytes, *end as usize, length);
            }
        } else {
            for (start, (end, of)) in self.starts.iter_mut().zip(values) {
                *start = put_bytes(bytes, *end as usize, *of, &mut self.gathered, *start);
            }
        }
    }

    /// Adds a column of values that were converted one by one.
    pub(super) fn push(&mut self, values: &[Stored<'_>]) {
        for (row, value) in values.iter().enumerate() {
            let (serial_type, length) = (value.serial_type(), value.length());
            if self.is_small {
                let mut place = [0; SLACK];
                value.put(serial_type, &mut place, SLACK);
                let row = &mut self.small[row];
                *row = *row << (8 * length as u32) | last(&place, SLACK, length);
            } else {
                let start = &mut self.starts[row];
                *start = value.put(serial_type, &mut self.gathered, *start);
            }
        }
    }

    /// Writes a record with `values` bytes of values so that it ends at `end`, and returns where it begins.
    /// Of the bytes before it, [`SLACK`] may have been overwritten.
    #[inline]
    pub(super) fn put(&self, row: usize, values: usize, place: &mut [u8], end: usize) -> usize {
        if self.is_small {
            put(place, end, self.small[row]);
        } else {
            let part = &self.gathered[row * self.part..(row + 1) * self.part];
            for back in (0..values).step_by(SLACK) {
                let behind = part.len() - back;
                place[end - back - SLACK..end - back]
                    .copy_from_slice(&part[behind - SLACK..behind]);
            }
        }
        put(place, end - values, self.headers[row]);
        end - values - self.header
    }
}

/// Writes eight bytes so that they end at `end`.
#[inline]
fn put(place: &mut [u8], end: usize, number: u64) {
    place[end - 8..end].copy_from_slice(&number.to_be_bytes());
}

/// Returns `length` bytes before `end`, fewer than eight, as the lowest bytes of a number.
#[inline]
fn last(bytes: &[u8], end: usize, length: usize) -> u64 {
    let mut last = [0; 8];
    if end >= 8 {
        last.copy_from_slice(&bytes[end - 8..end]);
    } else {
        last[8 - length..].copy_from_slice(&bytes[end - length..end]);
    }
    let unused = 64 - 8 * length as u32;
    u64::from_be_bytes(last) & u64::MAX.checked_shr(unused).unwrap_or(0)
}
