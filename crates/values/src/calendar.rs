//! Dates, times and timestamps as text, in the form that SQLite's date functions read.
//!
//! All values of a column have the same width, so that texts sort like times: the
//! fraction of a second has as many digits as the column's unit, and a zone is the same in every value.

use std::ops::RangeInclusive;

/// The quantity that the numbers of a column count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Days since 1970.
    Days,
    /// Milliseconds since 1970 that stand for a day.
    DayOfMilliseconds,
    /// Parts of seconds since midnight, with this number of digits.
    Time(u32),
    /// Parts of seconds since 1970, with this number of digits, in a zone.
    Stamp(u32, Zone),
}

/// The zone in which a timestamp is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    /// None: the timestamp as it is.
    None,
    /// UTC, in which the values are whatever the zone.
    Utc,
    /// An offset in minutes before UTC.
    Minutes(i64),
}

/// Seconds of a day.
pub const DAY: i64 = 86_400;

/// The first and the last day that SQLite's date functions read, 0000-01-01 and 9999-12-31, counted from 1970 on
/// (<https://sqlite.org/lang_datefunc.html#time_values>).
pub const DAYS: RangeInclusive<i64> = -719_528..=2_932_896;

/// A date or time as text.
#[derive(Debug, Clone, Copy)]
pub struct Text {
    bytes: [u8; LONGEST],
    length: usize,
}

/// The most bytes of a text: `2024-12-31T23:59:59.000000000+01:00`.
pub const LONGEST: usize = 35;

impl Text {
    const EMPTY: Text = Text { bytes: [0; LONGEST], length: 0 };

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        // All bytes are ASCII.
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }

    fn push(&mut self, byte: u8) {
        self.bytes[self.length] = byte;
        self.length += 1;
    }

    /// Adds a number with this many digits, the first of which may be zeros.
    fn push_digits(&mut self, number: i64, digits: usize) {
        let mut rest = number;
        let place = &mut self.bytes[self.length..self.length + digits];
        for digit in place.iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.length += digits;
    }
}

impl Clock {
    /// Returns a value as text.
    ///
    /// # Errors
    /// SQLite's date functions do not read its year, or it is no time of a day.
    pub fn text(self, value: i64) -> Result<Text, String> {
        let text = match self {
            Clock::Days => date(value),
            Clock::DayOfMilliseconds => date(value.div_euclid(1_000 * DAY)),
            Clock::Time(digits) => {
                let (seconds, fraction) = divided(value, digits);
                let mut text = Text::EMPTY;
                (0..DAY).contains(&seconds).then(|| {
                    push_time(&mut text, seconds, fraction, digits);
                    text
                })
            }
            Clock::Stamp(digits, zone) => {
                let (seconds, fraction) = divided(value, digits);
                timestamp(seconds, fraction, digits, zone)
            }
        };
        text.ok_or_else(|| match self {
            Clock::Time(_) => format!("{value} is not within a day"),
            _ => format!("{value} is outside of the years 0 to 9999"),
        })
    }
}

impl Zone {
    /// Returns the zone of this name. Those with names of places are written in UTC, because their offsets would have
    /// to be looked up.
    pub fn of(name: &str) -> Zone {
        if name.is_empty() {
            return Zone::None;
        }
        match minutes(name) {
            Some(minutes) if minutes != 0 && minutes.abs() < DAY / 60 => Zone::Minutes(minutes),
            _ => Zone::Utc,
        }
    }
}

/// Returns the minutes of `+05:30`, `+0530` or `+05`.
fn minutes(offset: &str) -> Option<i64> {
    let sign = match offset.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits = offset.get(1..)?;
    let (hours, minutes) = match digits.len() {
        5 => digits.split_once(':')?,
        4 => (digits.get(..2)?, digits.get(2..)?),
        2 => (digits, "00"),
        _ => return None,
    };
    let number = |text: &str| -> Option<i64> {
        let is_number = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse().ok())?
    };
    Some(sign * (60 * number(hours)? + number(minutes)?))
}

/// Returns whole seconds, and the parts of the last one.
fn divided(value: i64, digits: u32) -> (i64, i64) {
    let unit = 10_i64.pow(digits);
    (value.div_euclid(unit), value.rem_euclid(unit))
}

/// Returns a timestamp, given by whole seconds since 1970 and a fraction of this number of digits; `None` if SQLite's
/// date functions do not read its year.
pub fn timestamp(seconds: i64, fraction: i64, digits: u32, zone: Zone) -> Option<Text> {
    let offset = if let Zone::Minutes(minutes) = zone { 60 * minutes } else { 0 };
    let local = seconds.checked_add(offset)?;
    let mut text = date(local.div_euclid(DAY))?;
    text.push(b'T');
    push_time(&mut text, local.rem_euclid(DAY), fraction, digits);
    match zone {
        Zone::None => {}
        Zone::Utc => text.push(b'Z'),
        Zone::Minutes(minutes) => {
            text.push(if minutes < 0 { b'-' } else { b'+' });
            text.push_digits(minutes.abs() / 60, 2);
            text.push(b':');
            text.push_digits(minutes.abs() % 60, 2);
        }
    }
    Some(text)
}

fn push_time(text: &mut Text, seconds: i64, fraction: i64, digits: u32) {
    text.push_digits(seconds / 3_600, 2);
    text.push(b':');
    text.push_digits(seconds / 60 % 60, 2);
    text.push(b':');
    text.push_digits(seconds % 60, 2);
    if digits > 0 {
        text.push(b'.');
        text.push_digits(fraction, digits as usize);
    }
}

/// Days before the first of March of the year 0, from which years are counted so that a leap day is the last one.
const BEFORE_MARCH: i64 = 719_468;
/// Days in 400 years.
const ERA: i64 = 146_097;

/// Returns a day, counted from 1970 on, in the Gregorian calendar (after Hinnant,
/// <https://howardhinnant.github.io/date_algorithms.html#civil_from_days>); `None` if SQLite's date functions do
/// not read its year.
pub fn date(day: i64) -> Option<Text> {
    if !DAYS.contains(&day) {
        return None;
    }
    let since = day + BEFORE_MARCH;
    let (era, of_era) = (since.div_euclid(ERA), since.rem_euclid(ERA));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = 400 * era + year + later;
    let mut text = Text::EMPTY;
    text.push_digits(year, 4);
    text.push(b'-');
    text.push_digits(month, 2);
    text.push(b'-');
    text.push_digits(day, 2);
    Some(text)
}

/// Returns the day, counted from 1970 on, of a date that the Gregorian calendar has (after Hinnant, `days_from_civil`).
pub fn day(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(is_leap),
        _ => return None,
    };
    if !(1..=days).contains(&day) {
        return None;
    }
    let (month, year) = if month > 2 { (month - 3, year) } else { (month + 9, year - 1) };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * month + 2) / 5 + day - 1;
    Some(era * ERA + 365 * of_era + of_era / 4 - of_era / 100 + of_year - BEFORE_MARCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(clock: Clock, value: i64) -> Result<String, String> {
        clock.text(value).map(|text| text.as_str().to_owned())
    }

    #[test]
    fn every_day_is_read_back() {
        for number in DAYS {
            let written = text(Clock::Days, number).unwrap();
            let parts: Vec<i64> = written.split('-').map(|part| part.parse().unwrap()).collect();
            assert_eq!(day(parts[0], parts[1], parts[2]), Some(number), "{written}");
        }
        assert_eq!(text(Clock::Days, *DAYS.start()).unwrap(), "0000-01-01");
        assert_eq!(text(Clock::Days, *DAYS.end()).unwrap(), "9999-12-31");
        assert_eq!(text(Clock::Days, 19_782).unwrap(), "2024-02-29");
    }

    #[test]
    fn days_that_no_calendar_has_are_none() {
        for (year, month, of_month) in
            [(2024, 13, 1), (2024, 0, 1), (2023, 2, 29), (1900, 2, 29), (2024, 4, 31), (2024, 1, 0)]
        {
            assert_eq!(day(year, month, of_month), None);
        }
        assert_eq!(day(2000, 2, 29), Some(11_016));
    }

    #[test]
    fn zones_are_offsets_or_utc() {
        for (name, expected) in [
            ("", Zone::None),
            ("UTC", Zone::Utc),
            ("Europe/Vienna", Zone::Utc),
            ("+00:00", Zone::Utc),
            ("+05:30", Zone::Minutes(330)),
            ("-0330", Zone::Minutes(-210)),
            ("+05", Zone::Minutes(300)),
            ("+25:00", Zone::Utc),
            ("+é:00", Zone::Utc),
        ] {
            assert_eq!(Zone::of(name), expected, "{name}");
        }
    }

    #[test]
    fn times_keep_the_digits_of_their_unit() {
        assert_eq!(text(Clock::Time(6), 1).unwrap(), "00:00:00.000001");
        assert_eq!(text(Clock::Time(0), DAY).unwrap_err(), "86400 is not within a day");
        let stamp = Clock::Stamp(3, Zone::Minutes(-210));
        assert_eq!(text(stamp, -1).unwrap(), "1969-12-31T20:29:59.999-03:30");
        assert!(text(stamp, i64::MAX).unwrap_err().contains("outside of the years"));
    }
}
