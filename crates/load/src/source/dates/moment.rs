//! A date in a text, with or without a time, in the forms that people and programs write.

use chrono::{Datelike, NaiveDate, NaiveDateTime, TimeDelta, Timelike};

/// How the date of a text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// 2024-12-31, with this separator.
    YearFirst(u8),
    /// 31/12/2024 or 12/31/2024, with this separator.
    YearLast(u8),
    /// 31 Dec 2024, or Dec 31, 2024.
    Named,
}

/// A date as it stands in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) shape: Shape,
    /// Day and month in the order in which they are written; month and day unless the year comes last.
    pub(super) numbers: (u32, u32),
    year: i32,
    pub(super) time: Option<Time>,
}

/// A time as it stands in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Time {
    hour: u32,
    minute: u32,
    second: u32,
    nanosecond: u32,
    /// Digits of the fraction of the second.
    pub(super) digits: usize,
    /// Minutes before UTC; none without a zone.
    pub(super) zone: Option<i32>,
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

impl Moment {
    /// The date of a text that is nothing else, if the calendar has it.
    pub(super) fn of(text: &str) -> Option<Moment> {
        let mut rest = Rest(text.trim_ascii().as_bytes());
        let mut moment = rest.date()?;
        if !rest.0.is_empty() {
            rest.skip(b"T").or_else(|| rest.skip(b" "))?;
            moment.time = Some(rest.time()?);
        }
        let is_possible = || [true, false].iter().any(|first| moment.when(*first).is_some());
        (rest.0.is_empty() && is_possible()).then_some(moment)
    }

    /// When it is, in UTC if there is a zone; no day of the calendar has the numbers of some.
    fn when(&self, day_first: bool) -> Option<NaiveDateTime> {
        let (month, day) = match self.shape {
            Shape::YearLast(_) if day_first => (self.numbers.1, self.numbers.0),
            _ => self.numbers,
        };
        let date = NaiveDate::from_ymd_opt(self.year, month, day)?;
        let Some(time) = self.time else {
            return date.and_hms_opt(0, 0, 0);
        };
        let (hour, minute, second) = (time.hour, time.minute, time.second);
        let local = date.and_hms_nano_opt(hour, minute, second, time.nanosecond)?;
        let moment = local.checked_sub_signed(TimeDelta::minutes(time.zone.unwrap_or(0).into()))?;
        (0..=9_999).contains(&moment.year()).then_some(moment)
    }

    /// The same date in SQLite's form, with so many digits after the second; in UTC if there is a zone.
    pub(super) fn written(&self, day_first: bool, digits: usize) -> Option<String> {
        let when = self.when(day_first)?;
        let Some(time) = self.time else {
            return Some(day_text(when.date()));
        };
        let zone = if time.zone.is_some() { "Z" } else { "" };
        Some(format!("{}{zone}", moment_text(when, digits)))
    }
}

fn day_text(date: NaiveDate) -> String {
    format!("{:04}-{:02}-{:02}", date.year(), date.month(), date.day())
}

fn moment_text(moment: NaiveDateTime, digits: usize) -> String {
    let (hour, minute, second) = (moment.hour(), moment.minute(), moment.second());
    let mut text = format!("{}T{hour:02}:{minute:02}:{second:02}", day_text(moment.date()));
    if digits > 0 {
        let nanoseconds = format!("{:09}", moment.nanosecond());
        text.push('.');
        text += &nanoseconds[..digits];
    }
    text
}

/// What of a text is not read yet.
struct Rest<'t>(&'t [u8]);

impl<'t> Rest<'t> {
    fn skip(&mut self, beginning: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(beginning)?;
        Some(())
    }

    fn take_while(&mut self, is_wanted: impl Fn(&u8) -> bool) -> &'t [u8] {
        let end = self.0.iter().position(|byte| !is_wanted(byte));
        let (taken, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest;
        taken
    }

    /// A number of so many digits, and how many it has.
    fn number(&mut self, digits: std::ops::RangeInclusive<usize>) -> Option<(u32, usize)> {
        let taken = self.take_while(u8::is_ascii_digit);
        let number = str::from_utf8(taken).ok()?.parse().ok()?;
        digits.contains(&taken.len()).then_some((number, taken.len()))
    }

    /// A month by its name, or the first three letters of it.
    fn month(&mut self) -> Option<u32> {
        let name = self.take_while(u8::is_ascii_alphabetic);
        let name = str::from_utf8(name).ok()?.to_ascii_lowercase();
        let _ = self.skip(b".");
        let is_named =
            |month: &&str| name == **month || name.len() == 3 && month.starts_with(&name);
        Some(MONTHS.iter().position(is_named)? as u32 + 1)
    }

    fn date(&mut self) -> Option<Moment> {
        let moment =
            |shape, numbers, year| Moment { shape, numbers, year: year as i32, time: None };
        if self.0.first()?.is_ascii_alphabetic() {
            let month = self.month()?;
            self.take_while(|byte| *byte == b' ');
            let (day, _) = self.number(1..=2)?;
            let _ = self.skip(b",");
            self.skip(b" ")?;
            return Some(moment(Shape::Named, (month, day), self.number(4..=4)?.0));
        }
        let (first, digits) = self.number(1..=4)?;
        let separator = *self.0.first()?;
        self.0 = &self.0[1..];
        if separator == b'.' {
            // As in 31. 12. 2024.
            let _ = self.skip(b" ");
        }
        if digits <= 2
            && self.0.first()?.is_ascii_alphabetic()
            && matches!(separator, b' ' | b'-' | b'.')
        {
            let month = self.month()?;
            self.skip(&[separator]).or_else(|| self.skip(b" "))?;
            return Some(moment(Shape::Named, (month, first), self.number(4..=4)?.0));
        }
        if !matches!(separator, b'-' | b'/' | b'.') {
            return None;
        }
        let (second, _) = self.number(1..=2)?;
        self.skip(&[separator])?;
        if separator == b'.' {
            let _ = self.skip(b" ");
        }
        match digits {
            4 => Some(moment(Shape::YearFirst(separator), (second, self.number(1..=2)?.0), first)),
            1 | 2 => {
                Some(moment(Shape::YearLast(separator), (first, second), self.number(4..=4)?.0))
            }
            _ => None,
        }
    }

    fn time(&mut self) -> Option<Time> {
        let (hour, _) = self.number(1..=2)?;
        self.skip(b":")?;
        let (minute, _) = self.number(2..=2)?;
        let mut time = Time { hour, minute, second: 0, nanosecond: 0, digits: 0, zone: None };
        if self.skip(b":").is_some() {
            time.second = self.number(2..=2)?.0;
            if self.skip(b".").or_else(|| self.skip(b",")).is_some() {
                let (fraction, digits) = self.number(1..=9)?;
                time.nanosecond = fraction * 10_u32.pow(9 - digits as u32);
                time.digits = digits;
            }
        }
        self.half_of_day(&mut time)?;
        time.zone = self.zone()?;
        let is_time = time.hour < 24 && time.minute < 60 && time.second < 60;
        is_time.then_some(time)
    }

    /// `AM` or `PM`, if it stands there.
    fn half_of_day(&mut self, time: &mut Time) -> Option<()> {
        let beginning = self.0.trim_ascii_start();
        let half = beginning.get(..2).map(<[u8]>::to_ascii_uppercase);
        let hours = match half.as_deref() {
            Some(b"AM") => 0,
            Some(b"PM") => 12,
            _ => return Some(()),
        };
        self.0 = &beginning[2..];
        let is_hour = (1..=12).contains(&time.hour);
        time.hour = time.hour % 12 + hours;
        is_hour.then_some(())
    }

    /// The zone, if there is one; nothing where something else stands in its place.
    fn zone(&mut self) -> Option<Option<i32>> {
        self.0 = self.0.trim_ascii_start();
        if self.0.is_empty() {
            return Some(None);
        }
        if [b"Z".as_slice(), b"UTC", b"GMT"].contains(&self.0) {
            self.0 = &[];
            return Some(Some(0));
        }
        let sign = match self.0.first()? {
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        self.0 = &self.0[1..];
        let (mut hours, digits) = self.number(2..=4)?;
        let mut minutes = 0;
        if digits == 4 {
            (hours, minutes) = (hours / 100, hours % 100);
        } else if self.skip(b":").is_some() {
            minutes = self.number(2..=2)?.0;
        }
        let is_offset = digits != 3 && hours <= 18 && minutes < 60;
        is_offset.then_some(Some(sign * (60 * hours + minutes) as i32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str, day_first: bool) -> Option<String> {
        let moment = Moment::of(text)?;
        moment.written(day_first, moment.time.map_or(0, |time| time.digits))
    }

    #[test]
    fn dates_are_read_as_people_and_programs_write_them() {
        for (text, expected) in [
            ("2024-12-31", "2024-12-31"),
            ("2024/1/2", "2024-01-02"),
            ("31.12.2024", "2024-12-31"),
            (" 1. 2. 2024 ", "2024-02-01"),
            ("31/12/2024", "2024-12-31"),
            ("31-Dec-2024", "2024-12-31"),
            ("1 January 2024", "2024-01-01"),
            ("Dec 31, 2024", "2024-12-31"),
            ("May 3 2024", "2024-05-03"),
            ("2024-12-31 17:30", "2024-12-31T17:30:00"),
            ("2024-12-31T17:30:05.25", "2024-12-31T17:30:05.25"),
            ("31/12/2024 5:30 PM", "2024-12-31T17:30:00"),
            ("31/12/2024 12:05:06am", "2024-12-31T00:05:06"),
            ("2024-12-31T17:30:00Z", "2024-12-31T17:30:00Z"),
            ("2024-12-31 23:30:00 -0100", "2025-01-01T00:30:00Z"),
            ("2024-12-31T00:30:00+05:30", "2024-12-30T19:00:00Z"),
            ("31 Dec 2024 08:00:00 UTC", "2024-12-31T08:00:00Z"),
        ] {
            assert_eq!(written(text, true).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(written("12/31/2024", false).as_deref(), Some("2024-12-31"));
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "2024",
            "20241231",
            "12/31",
            "31.12.24",
            "2024-13-01",
            "2024-02-30",
            "30/02/2024",
            "2024-12-31x",
            "2024-12-31 25:00",
            "2024-12-31 12:60",
            "2024-12-31 0:30 PM",
            "2024-12-31 13:00 PM",
            "2024-12-31 12:00 Mars",
            "31/12-2024",
            "1.2.3",
            "Dezember 1, 2024",
            "2024-12-31T12:00:00+1",
            "12024-01-01",
            "0000-01-01T00:00:00+01:00",
            "31:12:2024",
            "é/1/2024",
        ] {
            assert_eq!(written(text, true), None, "{text}");
        }
    }
}
