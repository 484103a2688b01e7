//! Sort keys: bytes whose order is SQLite's order of values, so that sorting an index is comparing bytes
//! (<https://sqlite.org/datatype3.html#sort_order>, the collation `BINARY`).
//!
//! NULL comes before numbers, numbers before texts, texts before blobs. Integers and reals are compared by
//! their exact values: a key has the nearest floating point number, and how far an integer is from it.

use super::stored::Stored;

const NULL: u8 = 0x08;
const NUMBER: u8 = 0x10;
const TEXT: u8 = 0x20;
const BLOB: u8 = 0x30;
/// A number that is its nearest floating point number; integers differ from theirs by at most 512.
const EXACT: u16 = 0x8000;

/// Appends the key of a value.
pub(super) fn push(key: &mut Vec<u8>, value: &Stored<'_>) {
    match value {
        Stored::Null => key.push(NULL),
        Stored::Integer(value) => {
            let nearest = *value as f64;
            // The difference of two numbers of up to 64 bits, which is small.
            let difference = i128::from(*value) - nearest as i128;
            push_number(key, nearest, (i128::from(EXACT) + difference) as u16);
        }
        Stored::Real(value) => push_number(key, *value, EXACT),
        Stored::Text(text) => push_bytes(key, TEXT, text.as_bytes()),
        Stored::Blob(bytes) => push_bytes(key, BLOB, bytes),
    }
}

/// Appends a rowid, which ends a key.
pub(super) fn push_rowid(key: &mut Vec<u8>, rowid: i64) {
    key.extend_from_slice(&((rowid as u64) ^ (1 << 63)).to_be_bytes());
}

/// The length of a rowid in a key.
pub(super) const ROWID: usize = 8;

/// The rowid at the end of a key.
pub(super) fn rowid(key: &[u8]) -> i64 {
    let bytes = key.last_chunk::<ROWID>().copied().unwrap_or_default();
    (u64::from_be_bytes(bytes) ^ (1 << 63)) as i64
}

/// IEEE numbers order as integers once negative ones are turned over.
fn push_number(key: &mut Vec<u8>, number: f64, difference: u16) {
    // Zero has a sign that means nothing.
    let bits = if number == 0.0 { 0 } else { number.to_bits() };
    let ordered = if bits >> 63 == 1 {
        !bits
    } else {
        bits | 1 << 63
    };
    key.push(NUMBER);
    key.extend_from_slice(&ordered.to_be_bytes());
    key.extend_from_slice(&difference.to_be_bytes());
}

/// Bytes with an end that sorts before any longer value: 0 becomes 0 255, and 0 1 ends.
fn push_bytes(key: &mut Vec<u8>, class: u8, bytes: &[u8]) {
    key.push(class);
    for (number, part) in bytes.split(|byte| *byte == 0).enumerate() {
        if number > 0 {
            key.extend_from_slice(&[0, 255]);
        }
        key.extend_from_slice(part);
    }
    key.extend_from_slice(&[0, 1]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::select;

    fn key(value: &Stored<'_>) -> Vec<u8> {
        let mut key = Vec::new();
        push(&mut key, value);
        key
    }

    fn numbers() -> impl Strategy<Value = Stored<'static>> {
        prop_oneof![
            (any::<i64>(), 0_u32..64).prop_map(|(value, bits)| Stored::Integer(value >> bits)),
            (any::<i64>(), 0_u32..64)
                .prop_map(|(value, bits)| Stored::Real((value >> bits) as f64)),
            any::<f64>()
                .prop_filter("NaN is NULL", |value| !value.is_nan())
                .prop_map(Stored::Real),
            select(vec![i64::MAX, i64::MIN, (1 << 53) + 1, 0]).prop_map(Stored::Integer),
            select(vec![0.0, -0.0, f64::INFINITY, 9_007_199_254_740_992.0]).prop_map(Stored::Real),
        ]
    }

    /// Exactly: a real against an integer is decided by whole parts, then by the rest.
    fn compared(one: &Stored<'_>, other: &Stored<'_>) -> std::cmp::Ordering {
        let parts = |value: &Stored<'_>| match value {
            Stored::Integer(value) => (i128::from(*value), 0.0),
            Stored::Real(value) => (value.floor() as i128, value - value.floor()),
            _ => unreachable!(),
        };
        match (one, other) {
            (Stored::Real(one), Stored::Real(other)) => one.partial_cmp(other).unwrap(),
            _ => parts(one)
                .partial_cmp(&parts(other))
                .unwrap_or(std::cmp::Ordering::Equal),
        }
    }

    proptest! {
        #[test]
        fn keys_of_numbers_order_as_their_values(one in numbers(), other in numbers()) {
            prop_assert_eq!(key(&one).cmp(&key(&other)), compared(&one, &other));
        }

        #[test]
        fn keys_of_bytes_order_as_bytes_and_end_each_column(
            one in prop::collection::vec(0_u8..3, 0..6),
            other in prop::collection::vec(0_u8..3, 0..6),
            behind in any::<[bool; 2]>(),
        ) {
            let pair = |bytes: &[u8], behind: bool| {
                let mut made = key(&Stored::Blob(bytes));
                push(&mut made, &Stored::Integer(i64::from(behind)));
                made
            };
            let expected = one.cmp(&other).then(behind[0].cmp(&behind[1]));
            prop_assert_eq!(pair(&one, behind[0]).cmp(&pair(&other, behind[1])), expected);
        }

        #[test]
        fn rowids_are_read_back_and_order(one in any::<i64>(), other in any::<i64>()) {
            let made = |value| { let mut key = vec![7]; push_rowid(&mut key, value); key };
            prop_assert_eq!(rowid(&made(one)), one);
            prop_assert_eq!(made(one).cmp(&made(other)), one.cmp(&other));
        }
    }

    #[test]
    fn classes_come_in_sqlites_order() {
        let values = [
            Stored::Null,
            Stored::Real(f64::NEG_INFINITY),
            Stored::Integer(5),
            Stored::Text("".into()),
            Stored::Text("a".into()),
            Stored::Text("a\0".into()),
            Stored::Text("ab".into()),
            Stored::Blob(b""),
        ];
        assert!(values.windows(2).all(|pair| key(&pair[0]) < key(&pair[1])));
    }
}
