//! SQLite's order of records, for indexes and tables WITHOUT ROWID
//! (<https://sqlite.org/datatype3.html#sort_order>, the collation `BINARY`).
//!
//! NULL comes before numbers, numbers before texts, texts before blobs; integers and reals are compared by
//! their exact values. Most comparisons are decided by a prefix, one number made of the first value, so
//! that sorting is comparing numbers.

use std::cmp::Ordering;

use super::record::number_length;
use super::varint;
use crate::bytes::first_eight;

/// The beginning of a value as a number that orders as values do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prefix {
    pub(super) bits: u64,
    /// Whether equal bits of exact prefixes mean equal values.
    pub(super) is_exact: bool,
}

impl Prefix {
    /// The bytes of a text or blob that a prefix holds completely.
    pub(super) const BYTES: usize = 7;

    /// Two bits are the class, the others the value's highest.
    fn new(class: u64, value: u64, is_exact: bool) -> Prefix {
        Prefix { bits: class << 62 | value >> 2, is_exact: is_exact && value & 3 == 0 }
    }

    #[inline]
    pub(super) fn of(value: Field<'_>) -> Prefix {
        match value {
            Field::Null => Prefix::new(0, 0, true),
            Field::Integer(value) => {
                let nearest = value as f64;
                let is_exact =
                    value.unsigned_abs() <= WHOLE || nearest as i128 == i128::from(value);
                Prefix::new(1, ordered(nearest), is_exact)
            }
            Field::Real(value) => Prefix::new(1, ordered(value), true),
            Field::Text(text) => Prefix::of_bytes(2, text),
            Field::Blob(bytes) => Prefix::of_bytes(3, bytes),
        }
    }

    /// Shorter ones are filled up with zeros, which a value that ends in one would be mistaken for.
    #[inline]
    fn of_bytes(class: u64, bytes: &[u8]) -> Prefix {
        let is_exact = bytes.len() < 8 && bytes.last() != Some(&0);
        Prefix::new(class, first_eight(bytes), is_exact)
    }

    /// Returns the prefix that orders the other way round.
    pub(super) fn reversed(self) -> Prefix {
        Prefix { bits: !self.bits, ..self }
    }
}

/// Integers up to this one are reals without loss.
const WHOLE: u64 = 1 << 53;

/// The prefixes of the first two values of a record, which decide the order of most records.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Key {
    first: u64,
    /// 0 where the first is not exact: then the rest of the first value comes before it.
    second: u64,
    first_is_exact: bool,
}

impl Key {
    /// Returns the key of a record; `descending` says which columns descend.
    #[inline]
    pub(super) fn of(record: &[u8], descending: &[bool]) -> Key {
        let mut fields = Fields::of(record);
        let mut prefix = |column: usize| {
            let prefix = fields.next().map(Prefix::of)?;
            let turned = descending.get(column) == Some(&true);
            Some(if turned { prefix.reversed() } else { prefix })
        };
        let Some(first) = prefix(0) else { return Key::default() };
        let second = if first.is_exact { prefix(1) } else { None };
        Key {
            first: first.bits,
            second: second.map_or(0, |second| second.bits),
            first_is_exact: first.is_exact,
        }
    }

    /// Returns the prefix of the second value; `None` unless the first prefix holds all of the first value.
    #[inline]
    pub(super) fn second(self) -> Option<u64> {
        self.first_is_exact.then_some(self.second)
    }

    /// Returns the order of records as far as their keys decide it.
    #[inline]
    pub(super) fn compare(self, other: Key) -> Ordering {
        self.first.cmp(&other.first).then_with(|| {
            if self.first_is_exact && other.first_is_exact {
                self.second.cmp(&other.second)
            } else {
                Ordering::Equal
            }
        })
    }

    /// Returns whether the first values of two records may be the same.
    #[inline]
    pub(super) fn may_be_same(self, other: Key) -> bool {
        self.first == other.first
    }
}

/// IEEE numbers order as integers once negative ones are turned over.
fn ordered(number: f64) -> u64 {
    // Zero has a sign that means nothing.
    let bits = if number == 0.0 { 0 } else { number.to_bits() };
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// A value read from a record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Field<'r> {
    Null,
    Integer(i64),
    Real(f64),
    Text(&'r [u8]),
    Blob(&'r [u8]),
}

impl Field<'_> {
    fn class(self) -> u8 {
        match self {
            Field::Null => 0,
            Field::Integer(_) | Field::Real(_) => 1,
            Field::Text(_) => 2,
            Field::Blob(_) => 3,
        }
    }

    /// Returns the value as a message shows it.
    pub(super) fn to_text(self) -> String {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match self {
            Field::Null => "NULL".to_owned(),
            Field::Integer(value) => value.to_string(),
            Field::Real(value) => value.to_string(),
            Field::Text(bytes) => format!("'{}'", text(bytes)),
            Field::Blob(bytes) => format!("a blob of {} bytes", bytes.len()),
        }
    }

    fn compare(self, other: Field<'_>) -> Ordering {
        match (self, other) {
            (Field::Integer(one), Field::Integer(other)) => one.cmp(&other),
            (Field::Real(one), Field::Real(other)) => compare_reals(one, other),
            (Field::Integer(one), Field::Real(other)) => integer_to_real(one, other),
            (Field::Real(one), Field::Integer(other)) => integer_to_real(other, one).reverse(),
            (Field::Text(one), Field::Text(other)) | (Field::Blob(one), Field::Blob(other)) => {
                one.cmp(other)
            }
            _ => self.class().cmp(&other.class()),
        }
    }
}

/// Reals are never NaN, which is NULL in SQLite.
fn compare_reals(one: f64, other: f64) -> Ordering {
    one.partial_cmp(&other).unwrap_or(Ordering::Equal)
}

/// Returns the nearest real decides unless it is the other one; then both are whole, and compared as such.
fn integer_to_real(integer: i64, real: f64) -> Ordering {
    compare_reals(integer as f64, real).then_with(|| i128::from(integer).cmp(&(real as i128)))
}

/// The values of a record (<https://sqlite.org/fileformat2.html#record_format>).
pub(super) struct Fields<'r> {
    types: &'r [u8],
    values: &'r [u8],
}

impl<'r> Fields<'r> {
    /// The record must be one that this room has made.
    pub(super) fn of(record: &'r [u8]) -> Fields<'r> {
        let (header, length) = varint::take(record);
        let (header, values) = record.split_at(header as usize);
        Fields { types: &header[length..], values }
    }
}

impl<'r> Iterator for Fields<'r> {
    type Item = Field<'r>;

    #[inline]
    fn next(&mut self) -> Option<Field<'r>> {
        if self.types.is_empty() {
            return None;
        }
        let (serial_type, length) = varint::take(self.types);
        self.types = &self.types[length..];
        let length = match serial_type {
            0..12 => number_length(serial_type as u32),
            _ => (serial_type as usize - 12) / 2,
        };
        let (value, rest) = self.values.split_at(length);
        self.values = rest;
        Some(match serial_type {
            0 => Field::Null,
            7 => Field::Real(f64::from_bits(signed(value) as u64)),
            8 => Field::Integer(0),
            9 => Field::Integer(1),
            1..7 => Field::Integer(signed(value)),
            _ if serial_type % 2 == 1 => Field::Text(value),
            _ => Field::Blob(value),
        })
    }
}

/// Returns whether bytes that others have written are a record of this number of values.
pub(super) fn is_record(bytes: &[u8], columns: usize) -> bool {
    let of_header = varint::get(bytes).and_then(|(header, length)| {
        let types = bytes.get(length..usize::try_from(header).ok()?)?;
        Some((types, bytes.len() - header as usize))
    });
    let Some((mut types, values)) = of_header else { return false };
    let (mut count, mut wanted) = (0, 0_u64);
    while let Some((serial_type, length)) = varint::get(types) {
        types = &types[length..];
        count += 1;
        wanted += match serial_type {
            0..12 => number_length(serial_type as u32) as u64,
            // Far from what would overflow, and too long for any record.
            _ => ((serial_type - 12) / 2).min(1 << 32),
        };
    }
    types.is_empty() && count == columns && wanted == values as u64
}

/// A number of up to eight bytes, the highest first.
#[inline]
fn signed(bytes: &[u8]) -> i64 {
    // The sign is stretched over what is not there.
    (first_eight(bytes) as i64) >> (64 - 8 * bytes.len())
}

/// Returns the eight bytes from this place on of a record's first value, if that is a text or blob that is longer;
/// what is missing at its end is 0.
#[inline]
pub(super) fn bytes_from(record: &[u8], from: usize) -> Option<u64> {
    let (Field::Text(value) | Field::Blob(value)) = Fields::of(record).next()? else { return None };
    let rest = value.get(from..).filter(|rest| !rest.is_empty())?;
    Some(first_eight(rest))
}

/// Compares two records of the same columns; of those beyond `descending` every one ascends.
pub(super) fn compare(one: &[u8], other: &[u8], descending: &[bool]) -> Ordering {
    for (number, (one, other)) in Fields::of(one).zip(Fields::of(other)).enumerate() {
        let order = one.compare(other);
        if order != Ordering::Equal {
            let turned = descending.get(number) == Some(&true);
            return if turned { order.reverse() } else { order };
        }
    }
    Ordering::Equal
}

/// Returns whether two records have the same values, none of them NULL, in their first columns.
pub(super) fn is_same(one: &[u8], other: &[u8], columns: usize) -> bool {
    let mut pairs = Fields::of(one).zip(Fields::of(other)).take(columns);
    pairs.all(|(one, other)| one != Field::Null && one.compare(other) == Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::super::record::plain as record;
    use super::super::stored::Stored;
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::select;

    fn numbers() -> impl Strategy<Value = Stored<'static>> {
        prop_oneof![
            (any::<i64>(), 0_u32..64).prop_map(|(value, bits)| Stored::Integer(value >> bits)),
            (any::<i64>(), 0_u32..64)
                .prop_map(|(value, bits)| Stored::Real((value >> bits) as f64)),
            any::<f64>().prop_filter("NaN is NULL", |value| !value.is_nan()).prop_map(Stored::Real),
            select(vec![i64::MAX, i64::MIN, (1 << 53) + 1, 0]).prop_map(Stored::Integer),
            select(vec![0.0, -0.0, f64::INFINITY, 9_007_199_254_740_992.0]).prop_map(Stored::Real),
        ]
    }

    fn values() -> impl Strategy<Value = Stored<'static>> {
        prop_oneof![
            1 => Just(Stored::Null),
            4 => numbers(),
            4 => "[ab\0]{0,9}".prop_map(|text| Stored::Text(text.into())),
            1 => select(vec![&b""[..], b"a", b"\0", b"aaaaaaaaa"]).prop_map(Stored::Blob),
        ]
    }

    /// Exactly: a real against an integer is decided by whole parts, then by the rest.
    fn compared(one: &Stored<'_>, other: &Stored<'_>) -> Ordering {
        let parts = |value: &Stored<'_>| match value {
            Stored::Integer(value) => (i128::from(*value), 0.0),
            Stored::Real(value) => (value.floor() as i128, value - value.floor()),
            _ => unreachable!(),
        };
        match (one, other) {
            (Stored::Real(one), Stored::Real(other)) => one.partial_cmp(other).unwrap(),
            _ => parts(one).partial_cmp(&parts(other)).unwrap_or(Ordering::Equal),
        }
    }

    proptest! {
        #[test]
        fn numbers_order_by_their_exact_values(one in numbers(), other in numbers()) {
            let (a, b) = (record(std::slice::from_ref(&one)), record(std::slice::from_ref(&other)));
            let expected = compared(&one, &other);
            prop_assert_eq!(compare(&a, &b, &[false]), expected);
            prop_assert_eq!(compare(&a, &b, &[true]), expected.reverse());
            prop_assert_eq!(is_same(&a, &b, 1), expected == Ordering::Equal);
        }

        #[test]
        fn prefixes_never_contradict_the_order(one in values(), other in values()) {
            let (a, b) = (Prefix::of(one.field()), Prefix::of(other.field()));
            let expected = compare(&record(&[one]), &record(&[other]), &[]);
            match a.bits.cmp(&b.bits) {
                Ordering::Equal if a.is_exact && b.is_exact => {
                    prop_assert_eq!(expected, Ordering::Equal);
                }
                Ordering::Equal => {}
                decided => prop_assert_eq!(decided, expected),
            }
        }

        #[test]
        fn keys_never_contradict_the_order(
            one in (values(), values()),
            other in (values(), values()),
            descending in prop::collection::vec(any::<bool>(), 0..3),
        ) {
            let made = |(first, second)| record(&[first, second]);
            let (one, other) = (made(one), made(other));
            let key = |record: &[u8]| Key::of(record, &descending);
            let by_keys = key(&one).compare(key(&other));
            let expected = compare(&one, &other, &descending);
            prop_assert!(by_keys == Ordering::Equal || by_keys == expected);
            prop_assert!(!is_same(&one, &other, 1) || key(&one).may_be_same(key(&other)));
        }

        #[test]
        fn later_columns_decide_where_earlier_ones_are_the_same(
            first in values(),
            others in (values(), values()),
        ) {
            let made = |other: &Stored<'static>| record(&[first.clone(), other.clone()]);
            let alone = |other: &Stored<'static>| record(std::slice::from_ref(other));
            let expected = compare(&alone(&others.0), &alone(&others.1), &[]);
            let (one, other) = (made(&others.0), made(&others.1));
            prop_assert_eq!(compare(&one, &other, &[]), expected);
            prop_assert_eq!(compare(&one, &other, &[false, true]), expected.reverse());
            let is_null = first == Stored::Null;
            prop_assert_eq!(is_same(&one, &other, 1), !is_null);
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
        for pair in values.windows(2) {
            let [one, other] =
                [&pair[0], &pair[1]].map(|value| record(std::slice::from_ref(value)));
            assert_eq!(compare(&one, &other, &[]), Ordering::Less);
        }
    }
}
