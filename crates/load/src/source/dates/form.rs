//! Dates in texts, with or without a time, in the forms that people and programs write; and the form that all dates
//! of a column have, chosen from its first values.

use values::calendar::{self, DAY, DAYS, Zone};

use crate::error::first_characters;

/// Whether the day or the month comes first in dates that end with the year.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DateOrder {
    /// As the values show; an error where they do not.
    #[default]
    Auto,
    /// 31/12/2024.
    DayFirst,
    /// 12/31/2024.
    MonthFirst,
}

/// The form of the dates of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    shape: Shape,
    day_first: bool,
    has_time: bool,
    has_zone: bool,
    /// Digits after the second, the same for every value, so that texts and times have the same order.
    digits: usize,
}

impl Form {
    /// A date of this form as SQLite reads it.
    pub(super) fn written(&self, text: &str) -> Option<String> {
        let date = ParsedDate::of(text)?;
        let time = date.time;
        let is_alike = date.shape == self.shape
            && time.is_some() == self.has_time
            && time.is_none_or(|time| {
                time.zone.is_some() == self.has_zone && time.digits <= self.digits
            });
        is_alike.then(|| date.written(self.day_first, self.digits))?
    }
}

/// The first values of a column.
#[derive(Debug, Clone, Default)]
pub(super) struct DateSample {
    first: Option<(ParsedDate, String)>,
    /// The first value that is not a date, or has another form than the first, in words.
    differs: Option<String>,
    /// The first date whose first number cannot be the month, and that whose second one cannot.
    day_first: Option<String>,
    month_first: Option<String>,
    digits: usize,
}

/// The decision about a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision {
    /// It has had no value yet.
    Unknown,
    /// It stays as it is: its values are not dates of one form.
    Other,
    /// Its dates have this form, such as the first one.
    Dates(Form, String),
}

impl DateSample {
    /// Takes note of a value that is not a text.
    pub(super) fn add_other(&mut self) {
        self.differs.get_or_insert_with(|| "a value that is not a text".to_owned());
    }

    pub(super) fn add(&mut self, text: &str) {
        if self.differs.is_some() && self.first.is_some() {
            return;
        }
        let Some(date) = ParsedDate::of(text) else {
            self.differs.get_or_insert_with(|| in_words(text));
            return;
        };
        if let Shape::YearLast(_) = date.shape {
            for (number, first) in
                [(date.numbers.0, &mut self.day_first), (date.numbers.1, &mut self.month_first)]
            {
                if number > 12 {
                    first.get_or_insert_with(|| in_words(text));
                }
            }
        }
        self.digits = self.digits.max(date.time.map_or(0, |time| time.digits));
        match &self.first {
            None => self.first = Some((date, text.to_owned())),
            Some((first, _)) if !is_alike(first, &date) => self.differs = Some(in_words(text)),
            Some(_) => {}
        }
    }

    /// Returns a date and the value that is none of its form, in words, if the column has both.
    pub(super) fn contradiction(&self) -> Option<(String, String)> {
        let orders = || self.day_first.clone().zip(self.month_first.clone());
        let other = self.first.as_ref().zip(self.differs.clone());
        other.map(|((_, first), other)| (in_words(first), other)).or_else(orders)
    }

    /// Decides by the values so far.
    ///
    /// # Errors
    /// They may begin with the day or the month, as this first one.
    pub(super) fn decide(&self, order: DateOrder) -> Result<Decision, String> {
        let Some((first, text)) = &self.first else {
            return Ok(if self.differs.is_some() { Decision::Other } else { Decision::Unknown });
        };
        if self.contradiction().is_some() {
            return Ok(Decision::Other);
        }
        let day_first = match (first.shape, order) {
            (Shape::YearLast(_), _) if self.day_first.is_some() => true,
            (Shape::YearLast(_), _) if self.month_first.is_some() => false,
            (Shape::YearLast(_), DateOrder::DayFirst) => true,
            (Shape::YearLast(_), DateOrder::MonthFirst) => false,
            // With points, the day comes first everywhere.
            (Shape::YearLast(b'.'), DateOrder::Auto) => true,
            (Shape::YearLast(_), DateOrder::Auto) => return Err(text.clone()),
            _ => true,
        };
        let form = Form {
            shape: first.shape,
            day_first,
            has_time: first.time.is_some(),
            has_zone: first.time.is_some_and(|time| time.zone.is_some()),
            digits: match self.digits {
                0 => 0,
                1..=3 => 3,
                4..=6 => 6,
                _ => 9,
            },
        };
        Ok(Decision::Dates(form, text.clone()))
    }
}

/// Returns a value in words.
fn in_words(text: &str) -> String {
    match text {
        "" => "an empty text".to_owned(),
        text => format!("`{}`", first_characters(text.as_bytes())),
    }
}

fn is_alike(one: &ParsedDate, other: &ParsedDate) -> bool {
    let zone = |date: &ParsedDate| date.time.map(|time| time.zone.is_some());
    one.shape == other.shape && zone(one) == zone(other)
}

/// How the date of a text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// 2024-12-31, with this separator.
    YearFirst(u8),
    /// 31/12/2024 or 12/31/2024, with this separator.
    YearLast(u8),
    /// 31 Dec 2024, or Dec 31, 2024.
    Named,
}

/// A date as it stands in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ParsedDate {
    shape: Shape,
    /// Day and month in the order in which they are written; month and day unless the year comes last.
    numbers: (u32, u32),
    year: i32,
    time: Option<Time>,
}

/// A time as it stands in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Time {
    hour: u32,
    minute: u32,
    second: u32,
    nanosecond: u32,
    /// Digits of the fraction of the second.
    digits: usize,
    /// Minutes before UTC; none without a zone.
    zone: Option<i32>,
}

const MONTHS: &str =
    "january february march april may june july august september october november december";

impl ParsedDate {
    /// The date of a text that is nothing else, if the calendar has it.
    fn of(text: &str) -> Option<ParsedDate> {
        let mut rest = Parser(text.trim_ascii().as_bytes());
        let mut date = rest.date()?;
        if !rest.0.is_empty() {
            rest.skip(b"T").or_else(|| rest.skip(b" "))?;
            date.time = Some(rest.time()?);
        }
        let is_possible = || [true, false].iter().any(|first| date.seconds(*first).is_some());
        (rest.0.is_empty() && is_possible()).then_some(date)
    }

    /// Returns the seconds since 1970, in UTC if there is a zone; `None` if the calendar has no such day.
    fn seconds(&self, day_first: bool) -> Option<i64> {
        let (month, day) = match self.shape {
            Shape::YearLast(_) if day_first => (self.numbers.1, self.numbers.0),
            _ => self.numbers,
        };
        let day = calendar::day(self.year.into(), month.into(), day.into())?;
        let of_day = self.time.map_or(0, |time| {
            let minutes = 60 * time.hour as i64 + time.minute as i64;
            60 * (minutes - i64::from(time.zone.unwrap_or(0))) + time.second as i64
        });
        let seconds = DAY * day + of_day;
        DAYS.contains(&seconds.div_euclid(DAY)).then_some(seconds)
    }

    /// The same date in SQLite's form, with this number of digits after the second; in UTC if there is a zone.
    fn written(&self, day_first: bool, digits: usize) -> Option<String> {
        let seconds = self.seconds(day_first)?;
        let text = match self.time {
            None => calendar::date(seconds.div_euclid(DAY)),
            Some(time) => {
                let zone = if time.zone.is_some() { Zone::Utc } else { Zone::None };
                let fraction = time.nanosecond / 10_u32.pow(9 - digits as u32);
                calendar::timestamp(seconds, fraction.into(), digits as u32, zone)
            }
        };
        text.map(|text| text.as_str().to_owned())
    }
}

/// The rest of a text that is not parsed yet.
struct Parser<'t>(&'t [u8]);

impl<'t> Parser<'t> {
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

    /// Parses a number with this many digits, and returns how many it has.
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
        let is_named = |month: &str| name == month || name.len() == 3 && month.starts_with(&name);
        Some(MONTHS.split(' ').position(is_named)? as u32 + 1)
    }

    fn date(&mut self) -> Option<ParsedDate> {
        let date =
            |shape, numbers, year| ParsedDate { shape, numbers, year: year as i32, time: None };
        if self.0.first()?.is_ascii_alphabetic() {
            let month = self.month()?;
            self.take_while(|byte| *byte == b' ');
            let (day, _) = self.number(1..=2)?;
            let _ = self.skip(b",");
            self.skip(b" ")?;
            return Some(date(Shape::Named, (month, day), self.number(4..=4)?.0));
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
            return Some(date(Shape::Named, (month, first), self.number(4..=4)?.0));
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
            4 => Some(date(Shape::YearFirst(separator), (second, self.number(1..=2)?.0), first)),
            1 | 2 => Some(date(Shape::YearLast(separator), (first, second), self.number(4..=4)?.0)),
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

    /// Returns the zone, if there is one; nothing where something else stands in its place.
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

    fn written(order: DateOrder, values: &[&str]) -> Vec<Option<String>> {
        let mut column_sample = DateSample::default();
        for value in values {
            column_sample.add(value);
        }
        match column_sample.decide(order) {
            Ok(Decision::Dates(form, _)) => {
                values.iter().map(|value| form.written(value)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn some(texts: [&str; 2]) -> Vec<Option<String>> {
        texts.map(|text| Some(text.to_owned())).to_vec()
    }

    #[test]
    fn one_day_above_twelve_tells_the_order_of_all() {
        let days = some(["2024-02-01", "2024-02-13"]);
        assert_eq!(written(DateOrder::Auto, &["1/2/2024", "13/2/2024"]), days);
        assert_eq!(written(DateOrder::Auto, &["2/1/2024", "2/13/2024"]), days);
        assert_eq!(written(DateOrder::MonthFirst, &["1/2/2024", "13/2/2024"]), days);
    }

    #[test]
    fn without_one_the_order_is_the_one_chosen_or_unknown() {
        let mut column_sample = DateSample::default();
        column_sample.add("1/2/2024");
        assert_eq!(column_sample.decide(DateOrder::Auto), Err("1/2/2024".to_owned()));
        let one = |order| written(order, &["1/2/2024"])[0].clone().unwrap();
        assert_eq!(one(DateOrder::DayFirst), "2024-02-01");
        assert_eq!(one(DateOrder::MonthFirst), "2024-01-02");
        assert_eq!(written(DateOrder::Auto, &["1.2.2024"])[0].as_deref(), Some("2024-02-01"));
    }

    #[test]
    fn values_of_a_column_have_one_width() {
        assert_eq!(
            written(DateOrder::Auto, &["2024-01-01 12:00:00.5", "2024-01-01 12:00"]),
            some(["2024-01-01T12:00:00.500", "2024-01-01T12:00:00.000"])
        );
    }

    #[test]
    fn values_of_several_forms_or_of_none_are_no_dates() {
        for values in [
            ["1/13/2024", "13/1/2024"],
            ["1/13/2024", "1-14-2024"],
            ["2024-01-01", "2024-01-01 12:00"],
            ["2024-01-01 12:00", "2024-01-01 12:00Z"],
            ["2024-01-01", "n/a"],
            ["x", "2024-01-01"],
            ["2024-01-01", "2024-17-1"],
            ["0000-00-00", "0000-00-00"],
            ["2024-02-30", "2024-02-28"],
            ["30/02/2024", "13/02/2024"],
            ["31 Apr 2024", "1 Apr 2024"],
        ] {
            let mut column_sample = DateSample::default();
            values.iter().for_each(|value| column_sample.add(value));
            assert_eq!(column_sample.decide(DateOrder::Auto), Ok(Decision::Other), "{values:?}");
        }
    }

    fn in_sqlite_form(text: &str, day_first: bool) -> Option<String> {
        let date = ParsedDate::of(text)?;
        date.written(day_first, date.time.map_or(0, |time| time.digits))
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
            assert_eq!(in_sqlite_form(text, true).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(in_sqlite_form("12/31/2024", false).as_deref(), Some("2024-12-31"));
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
            assert_eq!(in_sqlite_form(text, true), None, "{text}");
        }
    }
}
