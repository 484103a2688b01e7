//! Numbers in texts, read as SQLite reads them.
//!
//! Integers and short decimals are read exactly. Other decimals of up to 19 digits: such a number is its digits, a
//! whole number of 64 bits, times a power of ten. The product with 128 bits of the power is
//! wrong by less than a part in 2¹²⁴. SQLite (since 3.43) works with 90 bits or more. Unless the product is so close to
//! the middle between two floating point numbers that fewer bits could decide otherwise, both round to the same
//! one; a number in the middle is left to SQLite. Longer numbers are, too, because SQLite drops their last digits.

use crate::bytes::first_eight;

/// Up to here every integer is a floating point number.
pub(crate) const EXACT: u64 = 1 << 53;

/// Returns whether a number has a zero before its other digits.
#[inline]
pub(crate) fn has_leading_zero(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    matches!(digits, [b'0', second, ..] if second.is_ascii_digit())
}

/// Returns whether SQLite allows the byte around a number.
pub(crate) fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Returns whether a column of numbers turns a text into a number: SQLite allows a sign before it and blanks around it.
pub(crate) fn is_number_to_sqlite(text: &[u8]) -> bool {
    let begin = text.iter().position(|byte| !is_blank(byte));
    let end = text.iter().rposition(|byte| !is_blank(byte));
    let (Some(begin), Some(end)) = (begin, end) else { return false };
    match &text[begin..=end] {
        [b'+', b'-', ..] => false,
        [b'+', unsigned @ ..] => is_number(unsigned),
        signed => is_number(signed),
    }
}

/// Returns the integer of 64 bits that a text is, if it is nothing but a sign and at most 19 digits.
#[inline]
pub(crate) fn integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = signed(text);
    let value = match digits.len() {
        4..=8 => integer_of_eight(digits)?,
        1..=18 => integer_of_digits(digits)?,
        _ => return long_integer(text, digits),
    };
    Some(if negative { -value } else { value })
}

/// Returns whether a minus stands before a number, and what follows it.
#[inline]
fn signed(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', unsigned @ ..] => (true, unsigned),
        unsigned => (false, unsigned),
    }
}

/// Returns the number that up to 18 digits are.
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

/// Returns the number that at most eight digits are, all of them at once: neighbours are joined to numbers of two digits, these to
/// numbers of four, and these to one of eight
/// (Lemire, "Number parsing at a gigabyte per second", 2021, section 6).
#[inline]
fn integer_of_eight(digits: &[u8]) -> Option<i64> {
    const ZEROS: u64 = 0x3030_3030_3030_3030;
    const HIGH: u64 = 0xf0f0_f0f0_f0f0_f0f0;
    let missing = 64 - 8 * digits.len() as u32;
    // Zeros fill the bytes before the digits; the first digit comes to the lowest byte.
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

/// Returns the integer of a text with 19 digits, if it fits.
fn long_integer(text: &[u8], digits: &[u8]) -> Option<i64> {
    if digits.len() != 19 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    str::from_utf8(text).ok()?.parse().ok()
}

/// Returns the number that a text is, if it is plain digits and SQLite certainly reads the same.
#[inline]
pub(crate) fn real(text: &[u8]) -> Option<f64> {
    short_decimal(text).or_else(|| decimal(text))
}

/// Returns the number nearest to a text, of which SQLite may make a neighbour.
pub(crate) fn nearest_real(text: &[u8]) -> Option<f64> {
    real(text).or_else(|| str::from_utf8(text).ok()?.parse().ok())
}

/// The powers of ten that are exact as 64-bit floating point numbers and needed here.
const EXACT_POWERS: [f64; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// Returns the number that a text is, if it is plain digits, at most 15 of them, with or without a decimal
/// point. Of such a number digits and divisor are exact, so that one division rounds correctly, and any
/// reading which rounds correctly gives the same (Clinger, "How to read floating point numbers
/// accurately", 1990).
#[inline]
pub(crate) fn short_decimal(text: &[u8]) -> Option<f64> {
    let (negative, unsigned) = signed(text);
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
    let value = value as f64 / EXACT_POWERS[behind_point.unwrap_or(0)];
    Some(if negative { -value } else { value })
}

/// Returns whether a text is a decimal number, with or without an exponent.
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

/// The most digits, leading zeros aside, that SQLite takes into account whatever they are.
const DIGITS: usize = 19;
/// The largest stored power of ten: five to this power has fewer than 127 bits.
const LARGEST: i32 = 54;
/// The bits of a product behind the 53 of a floating point number.
const BEHIND: u32 = 128 - 53;
/// How close to the middle, in units of the last bit of a product, SQLite decides: 2⁻⁸³ of it.
const CLOSE: u128 = 1 << 45;

/// The highest 128 bits of each power of ten from -[`LARGEST`] to [`LARGEST`]; negative powers are cut off.
const POWERS: [u128; 2 * LARGEST as usize + 1] = powers();

const fn powers() -> [u128; 2 * LARGEST as usize + 1] {
    let mut powers = [0; 2 * LARGEST as usize + 1];
    let (mut five, mut exponent) = (1_u128, 0);
    while exponent <= LARGEST as usize {
        powers[LARGEST as usize + exponent] = five << five.leading_zeros();
        powers[LARGEST as usize - exponent] = reciprocal(five);
        five = five.saturating_mul(5);
        exponent += 1;
    }
    powers
}

/// Returns the highest 128 bits of 1 ÷ `divisor`, by long division.
const fn reciprocal(divisor: u128) -> u128 {
    let (mut rest, mut quotient) = (1_u128, 0_u128);
    while quotient >> 127 == 0 {
        quotient <<= 1;
        if rest >= divisor {
            rest -= divisor;
            quotient |= 1;
        }
        rest <<= 1;
    }
    quotient
}

/// Returns the number that a text is, if it is plain digits with or without a decimal point and an exponent, and SQLite
/// certainly reads the same.
#[inline]
pub(crate) fn decimal(text: &[u8]) -> Option<f64> {
    let (is_negative, unsigned) = signed(text);
    let (digits, exponent) = digits(unsigned)?;
    let value = nearest(digits, exponent)?.value;
    Some(if is_negative { -value } else { value })
}

/// Returns the same, if the digits can be had again from the number.
#[inline]
pub(crate) fn kept_decimal(text: &[u8]) -> Option<f64> {
    let (is_negative, unsigned) = signed(text);
    let (digits, exponent) = digits(unsigned)?;
    let nearest = nearest(digits, exponent)?;
    let is_kept = nearest.keeps_digits && has_usual_exponent(text);
    is_kept.then_some(if is_negative { -nearest.value } else { nearest.value })
}

/// Returns whether the digits of a number can be had again from the floating point number nearest to it.
pub(crate) fn keeps_digits(text: &[u8]) -> bool {
    let mantissa = text.split(|byte| matches!(byte, b'e' | b'E')).next().unwrap_or_default();
    let digits: Vec<u8> = mantissa.iter().copied().filter(u8::is_ascii_digit).collect();
    let digits = significant(&digits);
    let Some(value) = str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok()) else {
        return false;
    };
    if digits.is_empty() || !value.is_finite() || value.abs() < f64::MIN_POSITIVE {
        return digits.is_empty() || is_infinity(text);
    }
    if digits.len() <= 15 {
        return true;
    }
    let is_written = |written: String| {
        let mantissa = written.split('e').next().unwrap_or_default();
        let found: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
        significant(&found) == digits
    };
    // Of two decimals that are equally near, programs write either one.
    let value = value.abs();
    is_written(format!("{:.*e}", digits.len() - 1, value)) || is_written(format!("{value:e}"))
}

/// Returns whether a text is the number that stands for infinity.
fn is_infinity(text: &[u8]) -> bool {
    text.strip_prefix(b"-").unwrap_or(text) == b"9e999"
}

/// Returns digits without zeros at both ends.
fn significant(digits: &[u8]) -> &[u8] {
    let is_digit = |byte: &u8| *byte != b'0';
    let begin = digits.iter().position(is_digit).unwrap_or(digits.len());
    let end = digits.iter().rposition(is_digit).map_or(begin, |at| at + 1);
    &digits[begin..end]
}

/// Returns whether a number has no exponent, or one as programs write it, with one digit before a decimal point or a sign:
/// `1.5E7` and `1e-7`, but neither `12E3` nor `1E5`, which may be codes.
pub(crate) fn has_usual_exponent(text: &[u8]) -> bool {
    let Some(at) = text.iter().position(|byte| matches!(byte, b'e' | b'E')) else { return true };
    let mantissa = text[..at].strip_prefix(b"-").unwrap_or(&text[..at]);
    let has_sign = matches!(text.get(at + 1), Some(b'+' | b'-'));
    let has_point = mantissa.get(1) == Some(&b'.');
    has_point || mantissa.len() == 1 && has_sign || is_infinity(text)
}

/// Returns the digits of a number as a whole one, and the power of ten by which it is to be multiplied.
#[inline]
fn digits(text: &[u8]) -> Option<(u64, i32)> {
    let (mut value, mut count, mut exponent) = (0_u64, 0, 0);
    let (mut has_digits, mut has_point) = (false, false);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                if count == DIGITS {
                    return None;
                }
                has_digits = true;
                value = value * 10 + u64::from(byte - b'0');
                count += usize::from(value > 0);
                exponent -= i32::from(has_point);
            }
            b'.' if !has_point => has_point = true,
            b'e' | b'E' if has_digits => {
                return Some((value, exponent + written_exponent(&text[at + 1..])?));
            }
            _ => return None,
        }
    }
    has_digits.then_some((value, exponent))
}

/// An exponent of up to three digits.
fn written_exponent(text: &[u8]) -> Option<i32> {
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if !(1..=3).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits.iter().fold(0, |value, byte| value * 10 + i32::from(byte - b'0'));
    Some(if is_negative { -value } else { value })
}

/// A floating point number that is nearest to a decimal.
struct Nearest {
    value: f64,
    /// Whether it is certain that no other decimal with as many digits is nearer to it.
    keeps_digits: bool,
}

/// Returns the floating point number nearest to `digits` · 10^`exponent`, unless another one is about as near.
#[inline]
fn nearest(digits: u64, exponent: i32) -> Option<Nearest> {
    if digits == 0 {
        return Some(Nearest { value: 0.0, keeps_digits: true });
    }
    if !(-LARGEST..=LARGEST).contains(&exponent) {
        return None;
    }
    let power = POWERS[(exponent + LARGEST) as usize];
    let zeros = digits.leading_zeros();
    let (product, doubled) = product(digits << zeros, power);
    let behind = product & ((1 << BEHIND) - 1);
    let middle = 1 << (BEHIND - 1);
    if behind.abs_diff(middle) < CLOSE {
        return None;
    }
    let mantissa = (product >> BEHIND) as u64 + u64::from(behind > middle);
    // 10^exponent lies between 2^floor and twice that, and so does the power: 2^floor is its highest bit.
    let floor = (exponent * 217_706) >> 16;
    let scale = floor - zeros as i32 + 64 - i32::from(doubled);
    // Adding lets a mantissa that rounding has made one bit longer carry into the exponent.
    let bits = ((1_023 + scale) as u64) << 52;
    let value = f64::from_bits(bits + mantissa - (1 << 52));
    Some(Nearest { value, keeps_digits: keeps(digits, product, behind) })
}

/// Returns whether the number is nearer than half a unit of the last digit. Up to 2⁵² a unit of the last bit is smaller than
/// one of the last digit.
#[inline]
fn keeps(digits: u64, product: u128, behind: u128) -> bool {
    let distance = behind.min((1 << BEHIND) - behind);
    digits <= EXACT / 2 || distance as f64 * 2.0 * (digits as f64) < product as f64 * (1.0 - 1e-9)
}

/// Returns the highest 128 bits of a product of numbers whose highest bits are set, moved up so that its highest bit is set
/// too, and whether that took a doubling.
#[inline]
fn product(one: u64, other: u128) -> (u128, bool) {
    let one = u128::from(one);
    let low = one * (other & u128::from(u64::MAX));
    let product = one * (other >> 64) + (low >> 64);
    match product >> 127 {
        0 => (product << 1, true),
        _ => (product, false),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use engine::{Connection, Library, OpenFlags, Source, Value};
    use proptest::prelude::*;

    use super::*;

    fn connection() -> Connection {
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        Connection::open(&library, Path::new(":memory:"), OpenFlags::default(), None).unwrap()
    }

    /// What SQLite makes of a text in a column of real numbers.
    fn by_sqlite(connection: &Connection, text: &str) -> f64 {
        let sql = format!("SELECT CAST('{text}' AS REAL)");
        match connection.query_value(&sql).unwrap() {
            Value::Real(value) => value,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn check(connection: &Connection, text: &str) -> Result<bool, TestCaseError> {
        let Some(value) = decimal(text.as_bytes()) else { return Ok(false) };
        prop_assert_eq!(value.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{}", text);
        // SQLite has no negative zero in texts.
        let expected = by_sqlite(connection, text);
        prop_assert_eq!(value, expected, "{}", text);
        Ok(true)
    }

    #[test]
    fn numbers_are_those_of_sqlite_or_left_to_it() {
        let connection = connection();
        for (text, is_read) in [
            ("0", true),
            ("-0.0", true),
            (".5", true),
            ("5.", true),
            ("1e22", true),
            ("1E+24", true),
            ("0.12345678901234567", true),
            ("-123.45678901234567", true),
            ("9223372036854775807", true),
            ("0.0000000000000000000000000012345", true),
            ("1.7976931348623157e308", false),
            ("12345678901234567890", false),
            // In the middle between two.
            ("9007199254740993", false),
            ("1e23", false),
            ("1e400", false),
            ("1e0001", false),
        ] {
            assert_eq!(check(&connection, text).unwrap(), is_read, "{text}");
        }
        for text in ["", ".", "-", "e5", "1e", "1e+", "1.2.3", "1x", "+1", " 1", "1 ", "0x1"] {
            assert_eq!(decimal(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn digits_that_a_number_does_not_keep_are_known() {
        for text in [
            "0.1",
            "1.50",
            "-0.00",
            "0.30000000000000004",
            "1e-7",
            "1.7976931348623157e308",
            "5.",
            "123456789.12345678",
            "0.1000000000000000055511151231257827",
            "9e999",
            "1000000000000000000000.0",
        ] {
            assert!(keeps_digits(text.as_bytes()), "{text}");
        }
        for text in [
            "0.123456789012345678", "9007199254740993.5", "1e309", "1e-400",
            "9999999999999999999.0",
        ] {
            assert!(!keeps_digits(text.as_bytes()), "{text}");
            assert_eq!(kept_decimal(text.as_bytes()), None, "{text}");
        }
        for (text, is_usual) in [
            ("12E3", false),
            ("1E5", false),
            ("2e4", false),
            ("1.5E7", true),
            ("1e-7", true),
            ("1E+05", true),
            ("12", true),
        ] {
            assert_eq!(has_usual_exponent(text.as_bytes()), is_usual, "{text}");
        }
    }

    #[test]
    fn numbers_of_the_usual_lengths_are_hardly_ever_left_to_sqlite() {
        let connection = connection();
        let mut random = lab::seed::Seed(5).generator();
        let mut read = 0;
        for _ in 0..2_000 {
            let digits = random.below(u64::MAX);
            let text = format!("0.{digits:017}");
            read += usize::from(check(&connection, &text[..19]).unwrap());
        }
        assert!(read >= 1_999, "{read}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

        /// What programs write of a number is kept, and what is kept quickly is kept exactly.
        #[test]
        fn numbers_are_had_again(bits: u64, text in "[0-9]{1,9}\\.[0-9]{6,12}") {
            let value = f64::from_bits(bits);
            if value.is_normal() {
                let shortest = format!("{value:e}");
                prop_assert!(keeps_digits(shortest.as_bytes()), "{}", shortest);
                let digits = format!("{value:.16e}");
                prop_assert!(keeps_digits(digits.as_bytes()), "{}", digits);
            }
            if let Some(kept) = kept_decimal(text.as_bytes()) {
                prop_assert!(keeps_digits(text.as_bytes()), "{} as {}", text, kept);
            }
        }

        #[test]
        fn what_is_read_is_what_sqlite_reads(
            text in "-?[0-9]{0,12}(\\.[0-9]{0,12})?([eE][+-]?[0-9]{1,2})?",
        ) {
            let connection = CONNECTION.with(std::rc::Rc::clone);
            check(&connection, &text)?;
        }

        /// Numbers next to the middle between two floating point numbers, where fewer bits decide wrongly.
        #[test]
        fn numbers_close_to_a_middle_are_those_of_sqlite(bits in 0_u64..(1 << 53), digits in 16_usize..20, step in -2_i64..3) {
            let middle = u128::from(2 * (bits | 1 << 52) + 1);
            // As a decimal of so many digits.
            let fraction = format!("{:.60}", middle as f64 / f64::from(1_u32 << 30) / f64::from(1_u32 << 24));
            let cut: String = fraction.chars().filter(char::is_ascii_digit).take(digits).collect();
            let near = cut.parse::<u64>().unwrap_or(1).saturating_add_signed(step);
            let connection = CONNECTION.with(std::rc::Rc::clone);
            for exponent in [-(digits as i32), -1, 0, 3, -20] {
                check(&connection, &format!("{near}e{exponent}"))?;
            }
        }
    }

    thread_local! {
        static CONNECTION: std::rc::Rc<Connection> = std::rc::Rc::new(connection());
    }
}
