//! The record format: a header of serial types, then the values
//! (<https://sqlite.org/fileformat2.html#record_format>).

use super::varint;

/// Returns the serial type of an integer: the fewest bytes of 0, 1, 2, 3, 4, 6 and 8 that hold it.
#[inline]
pub(super) fn integer_type(value: i64) -> u32 {
    /// By the bits that are needed besides the sign.
    const TYPES: [u8; 64] = {
        let mut types = [6; 64];
        let mut bits = 0;
        while bits < 48 {
            types[bits] = match bits {
                0..8 => 1,
                8..16 => 2,
                16..24 => 3,
                24..32 => 4,
                _ => 5,
            };
            bits += 1;
        }
        types
    };
    if value == 0 || value == 1 {
        return 8 + value as u32;
    }
    let magnitude = (value ^ (value >> 63)) as u64;
    // At most 63 bits are left when the sign is gone.
    let bits = 64 - magnitude.leading_zeros();
    u32::from(TYPES[(bits & 63) as usize])
}

/// Returns the bytes that a number of this serial type takes; NULL is one that takes none.
#[inline]
pub(super) fn number_length(serial_type: u32) -> usize {
    const LENGTHS: [u8; 16] = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0, 0, 0, 0, 0];
    usize::from(LENGTHS[(serial_type & 15) as usize])
}

/// Returns the length of a header whose serial types take this many bytes: it counts its own length.
#[inline]
pub(super) fn header_length(types: usize) -> usize {
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

/// The bytes before a record that may be written over.
pub(super) const SLACK: usize = 16;
/// The serial type of a real.
pub(super) const REAL: u32 = 7;

/// Writes a number so that it ends at `end`, and returns where it begins. All eight bytes are written; the value keeps
/// the lowest ones, which come last.
#[inline]
pub(super) fn put_number(bits: u64, serial_type: u32, place: &mut [u8], end: usize) -> usize {
    place[end - 8..end].copy_from_slice(&bits.to_be_bytes());
    end - number_length(serial_type)
}

/// Writes the bytes that end at `behind` in `bytes`, as many as the serial type says.
#[inline]
pub(super) fn put_bytes(
    bytes: &[u8],
    behind: usize,
    serial_type: u32,
    place: &mut [u8],
    end: usize,
) -> usize {
    if serial_type == 0 {
        return end;
    }
    let length = (serial_type as usize - 12) / 2;
    let start = end - length;
    if length <= SLACK && behind >= SLACK {
        // A copy of known length is a move, not a call.
        place[end - SLACK..end].copy_from_slice(&bytes[behind - SLACK..behind]);
    } else {
        place[start..end].copy_from_slice(&bytes[behind - length..behind]);
    }
    start
}

/// A record, made value by value: what faster ways of making records are compared with.
#[cfg(test)]
pub(super) fn plain(values: &[super::stored::Stored<'_>]) -> Vec<u8> {
    use super::stored::Stored;
    let mut types = Vec::new();
    let mut body = Vec::new();
    for value in values {
        varint::push(&mut types, u64::from(value.serial_type()));
        match value {
            Stored::Null => {}
            Stored::Integer(integer) => {
                body.extend_from_slice(&integer.to_be_bytes()[8 - value.length()..]);
            }
            Stored::Real(real) => body.extend_from_slice(&real.to_bits().to_be_bytes()),
            Stored::Text(text) => body.extend_from_slice(text.as_bytes()),
            Stored::Blob(bytes) => body.extend_from_slice(bytes),
        }
    }
    let mut record = Vec::new();
    varint::push(&mut record, header_length(types.len()) as u64);
    [record, types, body].concat()
}

#[cfg(test)]
mod tests {
    use super::super::stored::Stored;
    use super::*;

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
            let record = plain(&[Stored::Integer(value)]);
            assert_eq!(record[..2], [2, serial_type], "{value}");
            assert_eq!(record.len(), 2 + bytes, "{value}");
        }
    }

    #[test]
    fn a_header_counts_its_own_length() {
        for columns in [1, 125, 126, 127, 128, 16_000] {
            let record = plain(&vec![Stored::Null; columns]);
            let length = if columns < 127 { columns + 1 } else { columns + 2 };
            assert_eq!(record.len(), length);
            let counted = if columns < 127 {
                usize::from(record[0])
            } else {
                usize::from(record[0] & 0x7f) << 7 | usize::from(record[1])
            };
            assert_eq!(counted, length, "{columns}");
        }
    }
}
