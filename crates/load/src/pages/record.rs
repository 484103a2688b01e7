//! The record format: a header of serial types, then the values
//! (<https://sqlite.org/fileformat2.html#record_format>).

use super::stored::Stored;
use super::varint;

/// A row in the making, used again for every row.
///
/// Values are written over memory that is there already, eight bytes at a time for numbers, because
/// rows are many and short: what counts is not the bytes but the decisions about them.
#[derive(Debug, Default)]
pub(super) struct Record {
    types: Vec<u8>,
    body: Vec<u8>,
    /// How much of `body` is the record's.
    length: usize,
}

/// The bytes that are written for a number, of which it keeps those it needs.
const NUMBER: usize = 8;

impl Record {
    #[inline]
    pub(super) fn clear(&mut self) {
        self.types.clear();
        self.length = 0;
    }

    /// Adds a column.
    #[inline]
    pub(super) fn push(&mut self, value: &Stored<'_>) {
        match value {
            Stored::Null => self.types.push(0),
            Stored::Integer(value) => self.push_integer(*value),
            Stored::Real(value) => {
                self.types.push(7);
                self.push_number(value.to_bits(), NUMBER);
            }
            Stored::Text(text) => self.push_bytes(text.as_bytes(), 13),
            Stored::Blob(bytes) => self.push_bytes(bytes, 12),
        }
    }

    /// Adds a text or a blob, by the serial type that an empty one has.
    #[inline]
    fn push_bytes(&mut self, bytes: &[u8], empty: u64) {
        varint::push(&mut self.types, bytes.len() as u64 * 2 + empty);
        let end = self.length + bytes.len();
        if end > self.body.len() {
            self.body.resize(2 * end, 0);
        }
        self.body[self.length..end].copy_from_slice(bytes);
        self.length = end;
    }

    /// An integer in the fewest bytes of 0, 1, 2, 3, 4, 6 and 8.
    #[inline]
    fn push_integer(&mut self, value: i64) {
        // The bits needed besides the sign.
        let magnitude = if value < 0 { !value } else { value } as u64;
        let (serial_type, bytes) = match magnitude {
            0 if value == 0 => (8, 0),
            1 if value == 1 => (9, 0),
            0..=0x7f => (1, 1),
            0x80..=0x7fff => (2, 2),
            0x8000..=0x7f_ffff => (3, 3),
            0x80_0000..=0x7fff_ffff => (4, 4),
            0x8000_0000..=0x7fff_ffff_ffff => (5, 6),
            _ => (6, 8),
        };
        self.types.push(serial_type);
        if bytes > 0 {
            self.push_number((value as u64) << (64 - 8 * bytes), bytes);
        }
    }

    /// Adds the first `bytes` of a number, the highest first.
    #[inline]
    fn push_number(&mut self, number: u64, bytes: usize) {
        let end = self.length + NUMBER;
        if end > self.body.len() {
            self.body.resize(2 * end, 0);
        }
        self.body[self.length..end].copy_from_slice(&number.to_be_bytes());
        self.length += bytes;
    }

    /// The length of the header, which counts its own length.
    #[inline]
    fn header_length(&self) -> usize {
        let types = self.types.len();
        if types < 0x7f {
            return types + 1;
        }
        // One more byte for the length may make the length itself one byte longer.
        let with = |bytes: usize| types + bytes;
        let bytes = (1..=varint::LONGEST)
            .find(|bytes| varint::length(with(*bytes) as u64) <= *bytes)
            .unwrap_or(varint::LONGEST);
        with(bytes)
    }

    /// The length of the whole record in bytes.
    #[inline]
    pub(super) fn length(&self) -> usize {
        self.header_length() + self.length
    }

    /// Writes the record to the beginning of `place`, which must hold [`length`](Self::length) bytes.
    #[inline]
    pub(super) fn write(&self, place: &mut [u8]) {
        let at = varint::put(place, self.header_length() as u64);
        let body = at + self.types.len();
        place[at..body].copy_from_slice(&self.types);
        place[body..body + self.length].copy_from_slice(&self.body[..self.length]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(values: &[Stored<'_>]) -> Vec<u8> {
        let mut record = Record::default();
        values.iter().for_each(|value| record.push(value));
        let mut bytes = vec![0; record.length()];
        record.write(&mut bytes);
        bytes
    }

    #[test]
    fn integers_take_the_bytes_that_the_format_gives_them() {
        for (value, serial_type, bytes) in [
            (0, 8, 0),
            (1, 9, 0),
            (-1, 1, 1),
            (127, 1, 1),
            (-128, 1, 1),
            (128, 2, 2),
            (-32_769, 3, 3),
            (1 << 23, 4, 4),
            (1 << 31, 5, 6),
            (-(1 << 47), 5, 6),
            (1 << 47, 6, 8),
            (i64::MIN, 6, 8),
        ] {
            let record = record(&[Stored::Integer(value)]);
            assert_eq!(record[..2], [2, serial_type], "{value}");
            assert_eq!(record.len(), 2 + bytes, "{value}");
        }
    }

    #[test]
    fn a_header_counts_its_own_length() {
        for columns in [1, 125, 126, 127, 128, 16_000] {
            let record = record(&vec![Stored::Null; columns]);
            let length = if columns < 127 {
                columns + 1
            } else {
                columns + 2
            };
            assert_eq!(record.len(), length);
            let told = if columns < 127 {
                usize::from(record[0])
            } else {
                usize::from(record[0] & 0x7f) << 7 | usize::from(record[1])
            };
            assert_eq!(told, length, "{columns}");
        }
    }
}
