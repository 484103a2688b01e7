//! The kind of values that the texts of a column have: integers, numbers or just text.
//!
//! It stands apart because the same few rules decide which type a column is given and which fields are
//! parsed; parsing must give the same as SQLite's own affinity.

use super::number::{
    EXACT, has_leading_zero, has_usual_exponent, integer, is_blank, is_number, is_number_to_sqlite,
    keeps_digits, kept_decimal, short_decimal,
};
use crate::affinity::Affinity;

/// Returns whether a text is a number whose text can be had again from it.
fn is_kept_number(text: &[u8]) -> bool {
    let is_kept = || is_number(text) && has_usual_exponent(text) && keeps_digits(text);
    short_decimal(text).is_some() || kept_decimal(text).is_some() || is_kept()
}

/// The kind of all values so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// No value so far.
    Unknown,
    /// Integers that a REAL keeps too, without leading zeros.
    Integer,
    /// Integers that SQLite keeps; a REAL would round some of them.
    WideInteger,
    /// Integers that stay texts, because SQLite cannot keep some of them.
    LongInteger,
    /// Numbers.
    Real,
    /// Anything.
    Text,
}

impl Kind {
    /// The kind of one text.
    pub(crate) fn of(text: &[u8]) -> Kind {
        if has_leading_zero(text) {
            // A number would lose the zeros of a postcode or a telephone number.
            Kind::Text
        } else if let Some(kind) = Kind::of_digits(text) {
            kind
        } else if is_kept_number(text) {
            Kind::Real
        } else {
            // A number would lose digits, or not tell a code such as 12E3 from 12000.
            Kind::Text
        }
    }

    /// Returns the kind of what has digits only; none for anything else.
    pub(crate) fn of_digits(text: &[u8]) -> Option<Kind> {
        if let Some(value) = integer(text) {
            return Some(if value.unsigned_abs() <= EXACT {
                Kind::Integer
            } else {
                Kind::WideInteger
            });
        }
        let digits = text.strip_prefix(b"-").unwrap_or(text);
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let fits = str::from_utf8(text).is_ok_and(|text| text.parse::<i64>().is_ok());
        Some(if fits { Kind::WideInteger } else { Kind::LongInteger })
    }

    /// Returns the kind of values of both kinds.
    #[inline]
    pub(super) fn with(self, other: Kind) -> Kind {
        match (self, other) {
            // As floating point numbers the integers would lose digits.
            (Kind::Real, other) | (other, Kind::Real) if other.is_beyond_real() => Kind::Text,
            (one, other) => one.max(other),
        }
    }

    /// Returns whether all values are numbers.
    pub(crate) fn is_number(self) -> bool {
        !matches!(self, Kind::Unknown | Kind::Text)
    }

    /// Returns whether there are integers among the values that a REAL would round.
    pub(super) fn is_beyond_real(self) -> bool {
        matches!(self, Kind::WideInteger | Kind::LongInteger)
    }

    /// Returns the declared type for values of this kind.
    pub(crate) fn declared(self) -> &'static str {
        match self {
            Kind::Integer | Kind::WideInteger => "INTEGER",
            Kind::Real => "REAL",
            // As a number it would lose digits.
            Kind::LongInteger | Kind::Text | Kind::Unknown => "TEXT",
        }
    }
}

/// The kind of the values of a column so far, and the value that decided it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ColumnKind {
    pub(crate) kind: Kind,
    /// The number of the row that decided the kind, and the beginning of its value; none without a value.
    pub(crate) decided: Option<(u64, String)>,
    /// The beginning of the first value.
    pub(crate) first: Option<String>,
    /// Whether SQLite takes a value for a number.
    pub(crate) has_number: bool,
}

/// Characters of a value that are kept.
const LONGEST_VALUE: usize = 40;

impl ColumnKind {
    /// No value.
    pub(crate) const UNKNOWN: ColumnKind =
        ColumnKind { kind: Kind::Unknown, decided: None, first: None, has_number: false };

    /// Sees a value of this kind.
    #[inline]
    pub(crate) fn add(&mut self, kind: Kind, row: u64, value: &[u8]) {
        if !self.has_number && kind != Kind::Unknown {
            self.first.get_or_insert_with(|| beginning(value));
            self.has_number = kind.is_number() || is_number_to_sqlite(inside(value));
        }
        let both = self.kind.with(kind);
        if both == self.kind {
            return;
        }
        let is_decided = self.decided.is_some() && both.declared() == self.kind.declared();
        self.kind = both;
        if !is_decided {
            self.decided = Some((row, beginning(value)));
        }
    }
}

/// Returns a text without the quotes of JSON.
fn inside(value: &[u8]) -> &[u8] {
    value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value)
}

fn beginning(value: &[u8]) -> String {
    String::from_utf8_lossy(value).chars().take(LONGEST_VALUE).collect()
}

/// Returns whether a column of numbers with this affinity would turn a text into something from which the text cannot
/// be had again, though among the first values it would have made the column TEXT.
pub(crate) fn is_changed_by(affinity: Affinity, text: &[u8]) -> bool {
    let is_blank = |byte: Option<&u8>| byte.is_some_and(is_blank);
    let is_padded = has_leading_zero(text)
        || text.starts_with(b"+")
        || is_blank(text.first())
        || is_blank(text.last());
    (is_padded || !has_usual_exponent(text)) && is_number_to_sqlite(text)
        || loses_digits(affinity, text)
}

/// Returns whether a column of numbers with this affinity would turn a number into one without some of its digits.
pub(crate) fn loses_digits(affinity: Affinity, text: &[u8]) -> bool {
    if short_decimal(text).is_some() {
        return false;
    }
    match Kind::of_digits(text) {
        Some(kind) if affinity == Affinity::Real => kind.is_beyond_real(),
        Some(kind) => kind == Kind::LongInteger,
        None => is_number(text) && !keeps_digits(text),
    }
}

#[cfg(test)]
mod tests {
    use super::super::number::short_decimal;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts_are_told_apart() {
        for (text, kind) in [
            ("0", Kind::Integer),
            ("-17", Kind::Integer),
            ("9007199254740992", Kind::Integer),
            ("-9007199254740992", Kind::Integer),
            ("9007199254740993", Kind::WideInteger),
            ("-9007199254740993", Kind::WideInteger),
            ("1234567890123456789", Kind::WideInteger),
            ("9223372036854775807", Kind::WideInteger),
            ("-9223372036854775808", Kind::WideInteger),
            ("9223372036854775808", Kind::LongInteger),
            ("9999999999999999999", Kind::LongInteger),
            ("9999999999999999999.0", Kind::Text),
            ("0.123456789012345678", Kind::Text),
            ("9007199254740993.5", Kind::Text),
            ("0.30000000000000004", Kind::Real),
            ("12E3", Kind::Text),
            ("1e309", Kind::Text),
            ("1.5e+07", Kind::Real),
            ("1.5", Kind::Real),
            (".5", Kind::Real),
            ("5.", Kind::Real),
            ("-1e-7", Kind::Real),
            ("007", Kind::Text),
            ("-01", Kind::Text),
            ("+49", Kind::Text),
            ("1.2.3", Kind::Text),
            ("1e", Kind::Text),
            (".", Kind::Text),
            ("", Kind::Text),
            (" 1", Kind::Text),
            ("0x10", Kind::Text),
            ("nan", Kind::Text),
        ] {
            assert_eq!(Kind::of(text.as_bytes()), kind, "{text}");
        }
    }

    #[test]
    fn integers_that_the_type_of_the_others_would_round_make_a_text() {
        let column = |texts: &[&str]| {
            let kinds = texts.iter().map(|text| Kind::of(text.as_bytes()));
            kinds.fold(Kind::Unknown, Kind::with).declared()
        };
        assert_eq!(column(&["1", "18446744073709551616"]), "TEXT");
        assert_eq!(column(&["1", "9007199254740993"]), "INTEGER");
        assert_eq!(column(&["0.5", "9007199254740992", "2"]), "REAL");
        assert_eq!(column(&["0.5", "9007199254740993", "2"]), "TEXT");
        assert_eq!(column(&["9007199254740993", "0.5"]), "TEXT");
        assert_eq!(column(&["0.5", "100000000000000000000", "x"]), "TEXT");
    }

    #[test]
    fn the_value_that_decides_is_the_first_that_needs_the_type() {
        let decided = |values: &[&str]| {
            let mut column = ColumnKind::UNKNOWN;
            for (row, value) in (1..).zip(values) {
                column.add(Kind::of(value.as_bytes()), row, value.as_bytes());
            }
            (column.kind.declared(), column.decided.map(|(row, _)| row))
        };
        assert_eq!(decided(&["1", "9007199254740993"]), ("INTEGER", Some(1)));
        assert_eq!(decided(&["1", "0.5", "2"]), ("REAL", Some(2)));
        assert_eq!(decided(&["1", "0.5", "9007199254740993", "x"]), ("TEXT", Some(3)));
    }

    #[test]
    fn integers_are_read_as_far_as_they_fit() {
        for text in [
            "1000000000000000000", "9223372036854775807", "-9223372036854775808",
            "0000000000000000001",
        ] {
            assert_eq!(integer(text.as_bytes()), text.parse().ok());
        }
        for text in [
            "9223372036854775808", "-9223372036854775809", "10000000000000000000",
            "+123456789012345678", "12345678901234567x9", "123:", "12/45", "1234 678", "+1234567",
            "é234", "1-23",
        ] {
            assert_eq!(integer(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn short_numbers_are_read_as_rust_reads_them(text in "-?[0-9]{0,8}(\\.[0-9]{0,7})?") {
            let known = text.parse::<f64>().ok();
            prop_assert_eq!(short_decimal(text.as_bytes()).map(f64::to_bits), known.map(f64::to_bits));
            let whole = text.parse::<i64>().ok();
            prop_assert_eq!(integer(text.as_bytes()), whole);
        }
    }
}
