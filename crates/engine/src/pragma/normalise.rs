//! One spelling for each value: `NORMAL`, `normal` and `1` are the same setting.

use super::error::PragmaError;
use super::model::{Pragma, Values};
use std::ops::RangeInclusive;

impl Pragma {
    /// The value in its one normal spelling: names in SQLite's own (`normal`, `UTF-8`), Booleans as
    /// `on` and `off`, numbers in decimal.
    ///
    /// # Errors
    /// [`PragmaError::InvalidValue`] with the values allowed.
    pub fn normalise(&self, value: &str) -> Result<String, PragmaError> {
        let value = value.trim();
        let normal = match self.values {
            Values::Boolean => boolean(value).map(str::to_owned),
            Values::Integer { min, max, .. } => number(value, min..=max),
            Values::PowerOfTwo { min, max, .. } => {
                number(value, min..=max).filter(|n| integer(n).is_some_and(|n| n.count_ones() == 1))
            }
            Values::BooleanOrInteger { max, .. } => {
                boolean(value).map(str::to_owned).or_else(|| number(value, 2..=max))
            }
            Values::Numbered(names) => numbered(names, value).map(str::to_owned),
            Values::Names(names) => named(names, value).map(str::to_owned),
            Values::None => None,
        };
        normal.ok_or_else(|| PragmaError::InvalidValue {
            pragma: self.name,
            value: value.to_owned(),
            expected: self.values.in_words(),
        })
    }
}

impl Values {
    /// The values allowed, for a message.
    pub fn in_words(&self) -> String {
        match self {
            Values::Boolean => "on or off".to_owned(),
            Values::Integer { min, max, unit } => format!("a number from {min} to {max} ({unit})"),
            Values::PowerOfTwo { min, max, unit } => {
                format!("a power of two from {min} to {max} ({unit})")
            }
            Values::BooleanOrInteger { max, unit } => {
                format!("on, off or a number from 2 to {max} ({unit})")
            }
            Values::Numbered(names) => {
                let each = names.iter().map(|(name, n)| format!("{name} ({n})"));
                format!("one of {}", each.collect::<Vec<_>>().join(", "))
            }
            Values::Names(names) => format!("one of {}", names.join(", ")),
            Values::None => "no value".to_owned(),
        }
    }
}

fn boolean(value: &str) -> Option<&'static str> {
    match value.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some("on"),
        "off" | "false" | "no" | "0" => Some("off"),
        _ => None,
    }
}

fn integer(value: &str) -> Option<i64> {
    value.parse().ok()
}

/// The number in decimal, if it is within the range.
fn number(value: &str, range: RangeInclusive<i64>) -> Option<String> {
    let number = integer(value).filter(|number| range.contains(number))?;
    Some(number.to_string())
}

fn numbered(names: &'static [(&'static str, i64)], value: &str) -> Option<&'static str> {
    let number = integer(value);
    let same = |(name, n): &&(&str, i64)| name.eq_ignore_ascii_case(value) || number == Some(*n);
    names.iter().find(same).map(|(name, _)| *name)
}

/// Also takes encodings as SQLite does: without the hyphen, and `UTF-16` as the machine's own.
fn named(names: &'static [&'static str], value: &str) -> Option<&'static str> {
    let native = if cfg!(target_endian = "little") { "utf16le" } else { "utf16be" };
    let plain = |text: &str| match text.replace('-', "").to_ascii_lowercase().as_str() {
        "utf16" => native.to_owned(),
        other => other.to_owned(),
    };
    names.iter().find(|name| plain(name) == plain(value)).copied()
}

#[cfg(test)]
mod tests {
    use crate::pragma::find;

    fn normal(pragma: &str, value: &str) -> Option<String> {
        find(pragma).expect("in the catalogue").normalise(value).ok()
    }

    #[test]
    fn names_numbers_and_capitals_are_one_spelling() {
        for value in ["NORMAL", "normal", " Normal ", "1"] {
            assert_eq!(normal("synchronous", value).as_deref(), Some("normal"), "{value}");
        }
        for value in ["1", "TRUE", "yes", "On"] {
            assert_eq!(normal("foreign_keys", value).as_deref(), Some("on"), "{value}");
        }
        assert_eq!(normal("encoding", "utf8").as_deref(), Some("UTF-8"));
        assert_eq!(normal("encoding", "utf-16BE").as_deref(), Some("UTF-16be"));
        assert_eq!(normal("cache_size", "-02000").as_deref(), Some("-2000"));
    }

    #[test]
    fn values_outside_the_range_are_refused() {
        for (pragma, value) in [
            ("synchronous", "4"),
            ("synchronous", "paranoid"),
            ("foreign_keys", "2"),
            ("page_size", "0"),
            ("page_size", "5000"),
            ("page_size", "131072"),
            ("threads", "9"),
            ("cache_size", "3000000000"),
            ("journal_mode", "wal; DROP TABLE t"),
            ("integrity_check", "1"),
        ] {
            assert_eq!(normal(pragma, value), None, "{pragma} = {value}");
        }
    }

    #[test]
    fn a_refusal_says_what_is_allowed() {
        let error = find("synchronous").expect("in the catalogue").normalise("paranoid");
        assert_eq!(
            error.expect_err("no such level").to_string(),
            "PRAGMA synchronous cannot be paranoid: it takes one of off (0), normal (1), full (2), \
             extra (3)"
        );
    }
}
