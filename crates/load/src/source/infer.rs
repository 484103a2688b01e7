//! What the texts of a column are: integers, numbers or just text.
//!
//! It stands apart because the same few rules decide which type a column is given and which fields are
//! parsed; parsing must give what SQLite's own affinity would make of the text.

use super::decimal::decimal;
use crate::affinity::Affinity;
use crate::copying::first_eight;

/// What the values seen so far have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// No value seen.
    Unknown,
    /// Integers that a REAL keeps too, without leading zeros.
    Integer,
    /// Integers that SQLite keeps as such, some of which a REAL would round.
    WideInteger,
    /// Integers, some of which SQLite cannot keep: they stay texts.
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
        } else if is_number(text) {
            Kind::Real
        } else {
            Kind::Text
        }
    }

    /// The kind of what has digits only; none for anything else.
    pub(crate) fn of_digits(text: &[u8]) -> Option<Kind> {
        if let Some(value) = integer(text) {
            return Some(match value.unsigned_abs() <= EXACT {
                true => Kind::Integer,
                false => Kind::WideInteger,
            });
        }
        let digits = text.strip_prefix(b"-").unwrap_or(text);
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let fits = str::from_utf8(text).is_ok_and(|text| text.parse::<i64>().is_ok());
        Some(if fits { Kind::WideInteger } else { Kind::LongInteger })
    }

    /// The kind of values of both kinds.
    #[inline]
    pub(super) fn with(self, other: Kind) -> Kind {
        match (self, other) {
            // As floating point numbers the integers would lose digits.
            (Kind::Real, other) | (other, Kind::Real) if other.is_beyond_real() => Kind::Text,
            (one, other) => one.max(other),
        }
    }

    /// Whether there are integers among the values that a REAL would round.
    pub(super) fn is_beyond_real(self) -> bool {
        matches!(self, Kind::WideInteger | Kind::LongInteger)
    }

    /// The declared type for values of this kind.
    pub(crate) fn declared(self) -> &'static str {
        match self {
            Kind::Integer | Kind::WideInteger => "INTEGER",
            Kind::Real => "REAL",
            // As a number it would lose digits.
            Kind::LongInteger | Kind::Text | Kind::Unknown => "TEXT",
        }
    }
}

/// What the values of a column are, as far as they were seen, and the one that decided it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) kind: Kind,
    /// The number of the row that decided the kind, and the beginning of its value; none without a value.
    pub(crate) decided: Option<(u64, String)>,
}

/// Characters of a value that are kept.
const LONGEST_VALUE: usize = 40;

impl Seen {
    /// No value.
    pub(crate) const NOTHING: Seen = Seen { kind: Kind::Unknown, decided: None };

    /// Sees a value of this kind.
    #[inline]
    pub(crate) fn see(&mut self, kind: Kind, row: u64, value: &[u8]) {
        let both = self.kind.with(kind);
        if both == self.kind {
            return;
        }
        let is_decided = self.decided.is_some() && both.declared() == self.kind.declared();
        self.kind = both;
        if !is_decided {
            let value = String::from_utf8_lossy(value);
            self.decided = Some((row, value.chars().take(LONGEST_VALUE).collect()));
        }
    }
}

/// Up to here every integer is a floating point number.
pub(crate) const EXACT: u64 = 1 << 53;

/// Whether a number has a zero before its other digits.
#[inline]
pub(crate) fn has_leading_zero(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    matches!(digits, [b'0', second, ..] if second.is_ascii_digit())
}

/// Whether a column of numbers with this affinity would turn a text into something from which the text cannot
/// be had again, though among the first values it would have made the column TEXT.
pub(crate) fn is_changed_by(affinity: Affinity, text: &[u8]) -> bool {
    let is_blank = |byte: Option<&u8>| byte.is_some_and(is_blank);
    let is_padded = has_leading_zero(text)
        || text.starts_with(b"+")
        || is_blank(text.first())
        || is_blank(text.last());
    let loses_digits = |kind: Kind| match affinity {
        Affinity::Real => kind.is_beyond_real(),
        _ => kind == Kind::LongInteger,
    };
    is_padded && is_number_to_sqlite(text)
        || text.len() > 15 && Kind::of_digits(text).is_some_and(loses_digits)
}

/// What SQLite allows around a number.
fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Whether a column of numbers turns a text into a number: SQLite allows a sign before it and blanks around it.
pub(crate) fn is_number_to_sqlite(text: &[u8]) -> bool {
    let begin = text.iter().position(|byte| !is_blank(byte));
    let end = text.iter().rposition(|byte| !is_blank(byte));
    let (Some(begin), Some(end)) = (begin, end) else {
        return false;
    };
    match &text[begin..=end] {
        [b'+', b'-', ..] => false,
        [b'+', unsigned @ ..] => is_number(unsigned),
        signed => is_number(signed),
    }
}

/// The integer of 64 bits that a text is, if it is nothing but a sign and at most 19 digits.
#[inline]
pub(crate) fn integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let value = match digits.len() {
        4..=8 => integer_of_eight(digits)?,
        1..=18 => integer_of_digits(digits)?,
        _ => return long_integer(text, digits),
    };
    Some(if negative { -value } else { value })
}

/// The number that up to 18 digits are.
#[inline]
fn integer_of_digits(digits: &[u8]) -> Option<i64> {
    let mut value = 0_i64;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(value)
}

/// The number that at most eight digits are, all of them at once: neighbours are joined to numbers of two digits, these to
/// numbers of four, and these to one of eight
/// (Lemire, "Number parsing at a gigabyte per second", 2021, section 6).
#[inline]
fn integer_of_eight(digits: &[u8]) -> Option<i64> {
    const ZEROS: u64 = 0x3030_3030_3030_3030;
    const HIGH: u64 = 0xf0f0_f0f0_f0f0_f0f0;
    let missing = 64 - 8 * digits.len() as u32;
    // Zeros stand before what is there; the first digit comes to the lowest byte.
    let filled = first_eight(digits) >> missing | ZEROS.checked_shl(64 - missing).unwrap_or(0);
    let are_digits = filled & HIGH == ZEROS && filled.wrapping_add(ZEROS >> 3) & HIGH == ZEROS;
    if !are_digits {
        return None;
    }
    let ones = filled.swap_bytes() - ZEROS;
    let twos = (ones.wrapping_mul(10).wrapping_add(ones >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (twos.wrapping_mul(100).wrapping_add(twos >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff) as i64)
}

/// The integer of a text with these digits, of which not all numbers of so many fit.
fn long_integer(text: &[u8], digits: &[u8]) -> Option<i64> {
    if digits.len() != 19 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    str::from_utf8(text).ok()?.parse().ok()
}

/// The number that a text is, if it is plain digits and SQLite certainly reads the same.
#[inline]
pub(crate) fn real(text: &[u8]) -> Option<f64> {
    short_decimal(text).or_else(|| decimal(text))
}

/// The powers of ten that are exact as 64-bit floating point numbers and needed here.
const POWERS: [f64; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// The number that a text is, if it is plain digits, at most 15 of them, with or without a decimal
/// point. Of such a number digits and divisor are exact, so that one division rounds correctly, and any
/// reading which rounds correctly gives the same (Clinger, "How to read floating point numbers
/// accurately", 1990).
#[inline]
pub(crate) fn short_decimal(text: &[u8]) -> Option<f64> {
    let (negative, unsigned) = match text {
        [b'-', unsigned @ ..] => (true, unsigned),
        unsigned => (false, unsigned),
    };
    let (mut value, mut digits, mut behind_point) = (0_u64, 0, None);
    for byte in unsigned {
        match byte {
            b'0'..=b'9' => {
                value = value * 10 + u64::from(byte - b'0');
                digits += 1;
                behind_point = behind_point.map(|count: usize| count + 1);
            }
            b'.' if behind_point.is_none() => behind_point = Some(0),
            _ => return None,
        }
        if digits > 15 {
            return None;
        }
    }
    if digits == 0 {
        return None;
    }
    let value = value as f64 / POWERS[behind_point.unwrap_or(0)];
    Some(if negative { -value } else { value })
}

/// Whether a text is a decimal number, with or without an exponent.
pub(crate) fn is_number(text: &[u8]) -> bool {
    let unsigned = text.strip_prefix(b"-").unwrap_or(text);
    let exponent = unsigned.iter().position(|byte| matches!(byte, b'e' | b'E'));
    let (mantissa, exponent) = match exponent {
        None => (unsigned, None),
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
    };
    let all_digits = |text: &[u8]| text.iter().all(u8::is_ascii_digit);
    let mantissa_is_good = match mantissa.iter().position(|byte| *byte == b'.') {
        None => !mantissa.is_empty() && all_digits(mantissa),
        Some(at) => {
            mantissa.len() > 1 && all_digits(&mantissa[..at]) && all_digits(&mantissa[at + 1..])
        }
    };
    let exponent_is_good = exponent.is_none_or(|exponent| {
        let digits = match exponent {
            [b'+' | b'-', digits @ ..] => digits,
            digits => digits,
        };
        !digits.is_empty() && all_digits(digits)
    });
    mantissa_is_good && exponent_is_good
}

#[cfg(test)]
mod tests {
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
            ("9999999999999999999.0", Kind::Real),
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
            let mut seen = Seen::NOTHING;
            for (row, value) in (1..).zip(values) {
                seen.see(Kind::of(value.as_bytes()), row, value.as_bytes());
            }
            (seen.kind.declared(), seen.decided.map(|(row, _)| row))
        };
        assert_eq!(decided(&["1", "9007199254740993"]), ("INTEGER", Some(1)));
        assert_eq!(decided(&["1", "0.5", "2"]), ("REAL", Some(2)));
        assert_eq!(decided(&["1", "0.5", "9007199254740993", "x"]), ("TEXT", Some(3)));
    }

    #[test]
    fn integers_are_read_as_far_as_they_fit() {
        for text in [
            "1000000000000000000",
            "9223372036854775807",
            "-9223372036854775808",
            "0000000000000000001",
        ] {
            assert_eq!(integer(text.as_bytes()), text.parse().ok());
        }
        for text in [
            "9223372036854775808",
            "-9223372036854775809",
            "10000000000000000000",
            "+123456789012345678",
            "12345678901234567x9",
            "123:",
            "12/45",
            "1234 678",
            "+1234567",
            "é234",
            "1-23",
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
