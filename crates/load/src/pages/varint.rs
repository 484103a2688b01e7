//! SQLite's variable-length integers: seven bits a byte, the highest first, and eight in a ninth
//! (<https://sqlite.org/fileformat2.html#varint>).

/// The largest number of bytes.
pub(super) const LONGEST: usize = 9;

/// Appends a number.
#[inline]
pub(crate) fn push(bytes: &mut Vec<u8>, value: u64) {
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

/// Writes a number so that it ends at `end`, and returns where it begins. Bytes before it, up to eight
/// before `end`, are overwritten too.
#[inline]
pub(super) fn put_before(place: &mut [u8], end: usize, value: u64) -> usize {
    if value < 0x80 {
        place[end - 1] = value as u8;
        return end - 1;
    }
    if value < 0x4000 {
        let sevens = [(value >> 7) as u8 | 0x80, (value & 0x7f) as u8];
        place[end - 2..end].copy_from_slice(&sevens);
        return end - 2;
    }
    if value >> 56 != 0 {
        // The last of nine bytes is a whole one, and the eight before it have their highest bits set.
        place[end - 1] = value as u8;
        let sevens = spread(value >> 8) | 0x8080_8080_8080_8080;
        place[end - 9..end - 1].copy_from_slice(&sevens.to_be_bytes());
        return end - LONGEST;
    }
    let sevens = spread(value) | 0x8080_8080_8080_8000;
    place[end - 8..end].copy_from_slice(&sevens.to_be_bytes());
    end - length(value)
}

/// Returns a number that takes `length` bytes, fewer than nine, as the lowest bytes of another number.
#[inline]
pub(super) fn lowest_bytes(value: u64, length: usize) -> u64 {
    (spread(value) | 0x8080_8080_8080_8000) & (u64::MAX >> (64 - 8 * length as u32))
}

/// Returns the length that all of these numbers have, which ascend; `None` if it is not the same.
#[inline]
pub(super) fn common_length(ascending: &[i64]) -> Option<usize> {
    let (first, last) = (*ascending.first()?, *ascending.last()?);
    // Negative ones, as the largest of unsigned numbers, take nine bytes, and so do the largest.
    let same_sign = (first < 0) == (last < 0);
    let length = length(first as u64);
    (same_sign && length == self::length(last as u64)).then_some(length)
}

/// Returns the lowest 56 bits, seven to a byte: by halves, twice halved.
#[inline]
fn spread(value: u64) -> u64 {
    let lanes = (value & 0x0fff_ffff) | (value & 0x00ff_ffff_f000_0000) << 4;
    let lanes = (lanes & 0x0000_3fff_0000_3fff) | (lanes & 0x0fff_c000_0fff_c000) << 2;
    (lanes & 0x007f_007f_007f_007f) | (lanes & 0x3f80_3f80_3f80_3f80) << 1
}

/// Reads a number and its length from the beginning of `bytes`; `None` if they end before it.
#[inline]
pub(super) fn get(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((u64::from(first), 1));
    }
    let mut value = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if at == LONGEST - 1 {
            return Some((value << 8 | u64::from(*byte), LONGEST));
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
    }
    None
}

/// The same of bytes that this room has made, which begin with a number.
#[inline]
pub(crate) fn take(bytes: &[u8]) -> (u64, usize) {
    get(bytes).unwrap_or((0, bytes.len()))
}

/// Returns the length of a number in bytes.
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

    proptest! {
        #[test]
        fn numbers_are_read_back(bits in 0_u32..64, value in any::<u64>()) {
            let value = value >> bits;
            let mut bytes = Vec::new();
            push(&mut bytes, value);
            prop_assert_eq!(get(&bytes), Some((value, bytes.len())));
            prop_assert_eq!(get(&bytes[..bytes.len() - 1]), None);
            prop_assert_eq!(length(value), bytes.len());
            let mut place = [0; 9];
            prop_assert_eq!(put(&mut place, value), bytes.len());
            prop_assert_eq!(&place[..bytes.len()], &bytes[..]);
            let mut place = [0; 20];
            prop_assert_eq!(put_before(&mut place, 18, value), 18 - bytes.len());
            prop_assert_eq!(&place[18 - bytes.len()..18], &bytes[..]);
            prop_assert_eq!(&place[18..], &[0, 0]);
            if bytes.len() < 9 {
                let number = lowest_bytes(value, bytes.len()).to_be_bytes();
                prop_assert_eq!(&number[8 - bytes.len()..], &bytes[..]);
                prop_assert_eq!(&number[..8 - bytes.len()], &[0; 8][bytes.len()..]);
            }
        }
    }

    #[test]
    fn ascending_numbers_have_a_length_in_common_if_their_ends_have() {
        assert_eq!(common_length(&[128, 200, 16_383]), Some(2));
        assert_eq!(common_length(&[127, 128]), None);
        assert_eq!(common_length(&[-5, -1]), Some(9));
        assert_eq!(common_length(&[-1, 0, i64::MAX]), None);
        assert_eq!(common_length(&[]), None);
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
