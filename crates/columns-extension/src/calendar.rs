//! Dates, times and timestamps as text, in the form that SQLite's date functions read.
//!
//! All values of a column have the same width, so that the order of the texts is that of the times: the
//! fraction of a second has as many digits as the column's unit, and a zone is the same in every value.

/// What a number of a column counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// Days since 1970.
    Days,
    /// Milliseconds since 1970, of which the day is meant.
    DayOfMilliseconds,
    /// Parts of seconds since midnight; so many digits of them.
    Time(u32),
    /// Parts of seconds since 1970, in a zone.
    Stamp(u32, Zone),
}

/// How a timestamp is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Zone {
    /// As it is.
    None,
    /// In UTC, in which the values are whatever the zone.
    Utc,
    /// With so many minutes before UTC.
    Minutes(i64),
}

const SECONDS_OF_DAY: i64 = 86_400;

impl Clock {
    /// What the values of a format are (<https://arrow.apache.org/docs/format/CDataInterface.html>), and whether
    /// they have 32 bits; none for a format without dates.
    pub(crate) fn of(format: &str) -> Option<(Clock, bool)> {
        Some(match format {
            "tdD" => (Clock::Days, true),
            "tdm" => (Clock::DayOfMilliseconds, false),
            "tts" => (Clock::Time(0), true),
            "ttm" => (Clock::Time(3), true),
            "ttu" => (Clock::Time(6), false),
            "ttn" => (Clock::Time(9), false),
            _ => {
                let (unit, zone) = format.strip_prefix("ts")?.split_once(':')?;
                let digits = match unit {
                    "s" => 0,
                    "m" => 3,
                    "u" => 6,
                    "n" => 9,
                    _ => return None,
                };
                (Clock::Stamp(digits, Zone::of(zone)), false)
            }
        })
    }

    /// The text of a value.
    ///
    /// # Errors
    /// SQLite's date functions do not read its year, or it is no time of a day.
    pub(crate) fn text(self, value: i64) -> Result<String, String> {
        let text = match self {
            Clock::Days => date(value),
            Clock::DayOfMilliseconds => date(value.div_euclid(1_000 * SECONDS_OF_DAY)),
            Clock::Time(digits) => {
                let (seconds, fraction) = parts(value, digits);
                let is_time = (0..SECONDS_OF_DAY).contains(&seconds);
                is_time.then(|| time(seconds, fraction, digits))
            }
            Clock::Stamp(digits, zone) => stamp(value, digits, zone),
        };
        text.ok_or_else(|| match self {
            Clock::Time(_) => format!("{value} is not within a day"),
            _ => format!("{value} is outside of the years 0 to 9999"),
        })
    }
}

impl Zone {
    /// Those with names are written in UTC: what they are would have to be looked up.
    fn of(name: &str) -> Zone {
        if name.is_empty() {
            return Zone::None;
        }
        match minutes(name) {
            Some(0) | None => Zone::Utc,
            Some(minutes) => Zone::Minutes(minutes),
        }
    }
}

/// The minutes of `+05:30`, `+0530` or `+05`.
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

/// Whole seconds, and the parts of the last one.
fn parts(value: i64, digits: u32) -> (i64, i64) {
    let unit = 10_i64.pow(digits);
    (value.div_euclid(unit), value.rem_euclid(unit))
}

fn stamp(value: i64, digits: u32, zone: Zone) -> Option<String> {
    let (seconds, fraction) = parts(value, digits);
    let (offset, suffix) = match zone {
        Zone::None => (0, String::new()),
        Zone::Utc => (0, "Z".to_owned()),
        Zone::Minutes(minutes) => {
            let sign = if minutes < 0 { '-' } else { '+' };
            let (hours, rest) = (minutes.abs() / 60, minutes.abs() % 60);
            (60 * minutes, format!("{sign}{hours:02}:{rest:02}"))
        }
    };
    let local = seconds.checked_add(offset)?;
    let day = date(local.div_euclid(SECONDS_OF_DAY))?;
    let time = time(local.rem_euclid(SECONDS_OF_DAY), fraction, digits);
    Some(format!("{day}T{time}{suffix}"))
}

fn time(seconds: i64, fraction: i64, digits: u32) -> String {
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    let mut text = format!("{hours:02}:{minutes:02}:{:02}", seconds % 60);
    if digits > 0 {
        text += &format!(".{fraction:0width$}", width = digits as usize);
    }
    text
}

/// The first and the last day that SQLite's date functions read, 0000-01-01 and 9999-12-31.
const DAYS: std::ops::RangeInclusive<i64> = -719_528..=2_932_896;

/// A day, counted from 1970 on, in the Gregorian calendar (after Hinnant,
/// <https://howardhinnant.github.io/date_algorithms.html#civil_from_days>).
fn date(day: i64) -> Option<String> {
    if !DAYS.contains(&day) {
        return None;
    }
    // Years begin in March, so that a leap day is the last one; eras have 400 of them.
    let since = day + 719_468;
    let (era, of_era) = (since.div_euclid(146_097), since.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = 400 * era + year + later;
    Some(format!("{year:04}-{month:02}-{day:02}"))
}
