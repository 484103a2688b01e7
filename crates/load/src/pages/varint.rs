//! SQLite's variable-length integers: seven bits a byte, the highest first, and eight in a ninth
//! (<https://sqlite.org/fileformat2.html#varint>).

/// The largest number of bytes.
pub(super) const LONGEST: usize = 9;

/// Appends a number.
#[inline]
pub(super) fn push(bytes: &mut Vec<u8>, value: u64) {
    if value < 0x80 {
        bytes.push(value as u8);
        return;
    }
    let (encoded, length) = encode(value);
    bytes.extend_from_slice(&encoded[..length]);
}

/// Writes a number to the beginning of `place` and returns its length.
#[inline]
pub(super) fn put(place: &mut [u8], value: u64) -> usize {
    if value < 0x80 {
        place[0] = value as u8;
        return 1;
    }
    let (encoded, length) = encode(value);
    place[..length].copy_from_slice(&encoded[..length]);
    length
}

/// The length of a number in bytes.
#[inline]
pub(super) fn length(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    bits.div_ceil(7).min(LONGEST)
}

fn encode(value: u64) -> ([u8; LONGEST], usize) {
    let mut encoded = [0; LONGEST];
    let length = length(value);
    let mut rest = value;
    if length == LONGEST {
        encoded[8] = rest as u8;
        rest >>= 8;
    }
    let sevens = if length == LONGEST { 8 } else { length };
    for (at, byte) in encoded[..sevens].iter_mut().enumerate().rev() {
        let more = at + 1 < sevens || length == LONGEST;
        *byte = (rest & 0x7f) as u8 | if more { 0x80 } else { 0 };
        rest >>= 7;
    }
    (encoded, length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(bytes: &[u8]) -> (u64, usize) {
        let mut value = 0_u64;
        for (at, byte) in bytes.iter().enumerate() {
            if at == 8 {
                return ((value << 8) | u64::from(*byte), 9);
            }
            value = (value << 7) | u64::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                return (value, at + 1);
            }
        }
        panic!("it does not end");
    }

    proptest! {
        #[test]
        fn numbers_are_read_back(bits in 0_u32..64, value in any::<u64>()) {
            let value = value >> bits;
            let mut bytes = Vec::new();
            push(&mut bytes, value);
            prop_assert_eq!(read(&bytes), (value, bytes.len()));
            prop_assert_eq!(length(value), bytes.len());
            let mut place = [0; 9];
            prop_assert_eq!(put(&mut place, value), bytes.len());
            prop_assert_eq!(&place[..bytes.len()], &bytes[..]);
        }
    }

    #[test]
    fn lengths_change_where_the_format_says() {
        for (value, bytes) in [
            (0, 1),
            (0x7f, 1),
            (0x80, 2),
            (0x3fff, 2),
            (0x4000, 3),
            ((1 << 56) - 1, 8),
            (1 << 56, 9),
            (u64::MAX, 9),
        ] {
            assert_eq!(length(value), bytes, "{value:#x}");
        }
    }
}
