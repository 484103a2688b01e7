//! Parsers for the values of options: times, sizes, characters.

use std::net::{SocketAddr, ToSocketAddrs};

use app::measure::Vary;
use app::{Error, Result};
use lab::record::LONGEST_S;

/// Declares the enum of an option whose variants are named as those of a type in another crate, and converts it into that type.
macro_rules! values_of {
    (
        $(#[$attribute:meta])*
        enum $name:ident of $of:ident {$(
            $(#[$about:meta])*
            $value:ident,
        )+}
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
        pub enum $name {$(
            $(#[$about])*
            $value,
        )+}

        impl From<$name> for $of {
            fn from(value: $name) -> $of {
                match value {
                    $($name::$value => $of::$value,)+
                }
            }
        }
    };
}
pub(super) use values_of;

/// A duration in seconds, written with units or as a plain number.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let seconds =
        text.parse().ok().or_else(|| Some(humantime::parse_duration(text).ok()?.as_secs_f64()));
    match seconds {
        Some(seconds) if seconds > 0.0 && seconds <= LONGEST_S => Ok(seconds),
        _ => Err(
            "must be a positive duration, such as 90s, 40m, 1h30m or a number of seconds, of at most a hundred years"
                .to_owned(),
        ),
    }
}

/// An address with a port to listen at.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let found = text.to_socket_addrs().ok().and_then(|mut all| all.next());
    found.ok_or_else(|| "must be an address with a port, such as 127.0.0.1:9464".to_owned())
}

/// An age in seconds, written with its unit: what is older is removed, so a bare number must not mean seconds.
pub(super) fn age(text: &str) -> Result<f64, String> {
    if text.chars().any(char::is_alphabetic) {
        seconds(text)
    } else {
        Err("needs a unit, such as 30d, 12h or 90m".to_owned())
    }
}

pub(super) fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=LONGEST_S).contains(&value) => Ok(value),
        _ => {
            Err("must be zero or a positive number of seconds, of at most a hundred years"
                .to_owned())
        }
    }
}

/// A size in bytes, written with a binary unit (K, M, G or T) or as a plain number.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => Some(0),
        "K" => Some(10),
        "M" => Some(20),
        "G" => Some(30),
        "T" => Some(40),
        _ => None,
    };
    let number = digits.parse::<u64>().ok();
    number
        .zip(shift)
        .and_then(|(number, shift)| number.checked_mul(1 << shift))
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "must be a positive size, such as 512M or 2G".to_owned())
}

/// A label such as `disk=nvme`.
pub(super) fn label(text: &str) -> Result<(String, String), String> {
    pair(text, "must be a name and a value, such as disk=nvme")
}

fn pair(text: &str, wanted: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err(wanted.to_owned()),
    }
}

pub(super) fn zero_or_one(text: &str) -> Result<bool, String> {
    match text {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err("must be 0 or 1".to_owned()),
    }
}

pub(super) fn page_size(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(size) if (512..=65_536).contains(&size) && size.is_power_of_two() => Ok(size),
        _ => Err("must be a power of two from 512 to 65536".to_owned()),
    }
}

/// The quote character, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote(pub Option<u8>);

/// Names of columns between commas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names(pub Vec<String>);

/// Splits settings of an option, such as NAME=VALUE.
pub(super) fn settings(given: &[String], option: &str) -> Result<Vec<(String, String)>> {
    let pair = |text: &String| {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            Error::mistake(format!("{option} {text} lacks a value: {option} NAME=VALUE"))
        })?;
        Ok((name.trim().to_owned(), value.trim().to_owned()))
    };
    given.iter().map(pair).collect()
}

/// Splits settings with the values to compare.
pub(super) fn varied(given: &[String]) -> Result<Vec<Vary>> {
    let vary = |text: &String| {
        let (name, values) = text.split_once('=').ok_or_else(|| {
            Error::mistake(format!("--vary {text} lacks values: --vary NAME=VALUE,VALUE"))
        })?;
        let values = levels(values).ok_or_else(|| {
            Error::mistake(format!("--vary {text} has a quote or a bracket that is not closed"))
                .hint("a comma between quotes or brackets does not separate values")
        })?;
        if values.len() < 2 {
            let one = format!("--vary {text} has only one value, so there is nothing to compare");
            let one_for_all = match (name.trim(), values.as_slice()) {
                ("engine", [only]) => format!("--engine {only}"),
                _ => format!("--set {text}"),
            };
            let hint = format!("name two or more, or set one for all variants with {one_for_all}");
            return Err(Error::mistake(one).hint(hint));
        }
        Ok(Vary { name: name.trim().to_owned(), values })
    };
    given.iter().map(vary).collect()
}

/// Splits values at the commas that stand in no quotes and no brackets. Returns `None` if one of these is not closed.
fn levels(text: &str) -> Option<Vec<String>> {
    let (mut values, mut start, mut depth, mut quote) = (Vec::new(), 0, 0_u32, None);
    for (at, character) in text.char_indices().chain([(text.len(), ',')]) {
        match (quote, character) {
            (Some(open), _) => quote = quote.filter(|_| character != open),
            (None, '"' | '\'') => quote = Some(character),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                values.push(without_quotes(text[start..at].trim()));
                start = at + 1;
            }
            _ => {}
        }
    }
    (start > text.len()).then_some(values)
}

/// Returns a value without the quotes around all of it. Within, they stand twice.
fn without_quotes(value: &str) -> String {
    ["\"", "'"]
        .into_iter()
        .find_map(|quote| {
            let inner = value.strip_prefix(quote)?.strip_suffix(quote)?;
            let bare = inner.replace(&quote.repeat(2), "");
            (!bare.contains(quote)).then(|| inner.replace(&quote.repeat(2), quote))
        })
        .unwrap_or_else(|| value.to_owned())
}

/// Reads names between commas. A name in double quotes may have commas, and double quotes twice.
pub(super) fn names(text: &str) -> Result<Names, String> {
    let mut names = Vec::new();
    let mut rest = text.trim();
    loop {
        let (name, behind) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_name(quoted)?,
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                (rest[..end].trim().to_owned(), &rest[end..])
            }
        };
        if name.is_empty() {
            return Err("must be names of columns between commas; one of them is empty".to_owned());
        }
        names.push(name);
        match behind.trim_start().strip_prefix(',') {
            Some(more) => rest = more.trim_start(),
            None if behind.trim().is_empty() => return Ok(Names(names)),
            None => return Err("must have a comma after each closing quote".to_owned()),
        }
    }
}

/// The name that begins behind a quote, and what stands behind its closing quote.
fn quoted_name(text: &str) -> Result<(String, &str), String> {
    let (mut name, mut rest) = (String::new(), text);
    loop {
        let (part, behind) = rest.split_once('"').ok_or("must close each quote around a name")?;
        name.push_str(part);
        match behind.strip_prefix('"') {
            Some(more) => {
                name.push('"');
                rest = more;
            }
            None => return Ok((name, behind)),
        }
    }
}

pub(super) fn quote(text: &str) -> Result<Quote, String> {
    if text == "none" {
        return Ok(Quote(None));
    }
    one_byte(text).map(|byte| Quote(Some(byte)))
}

pub(super) fn one_byte(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        _ => match text.as_bytes() {
            [byte] if byte.is_ascii() && !matches!(byte, b'\n' | b'\r') => Ok(*byte),
            _ => Err("must be a single ASCII character or `tab`".to_owned()),
        },
    }
}

pub(super) fn column_type(text: &str) -> Result<(String, String), String> {
    text.rsplit_once('=')
        .map(|(column, declared)| (column.to_owned(), declared.trim().to_owned()))
        .ok_or_else(|| "must be COLUMN=TYPE, such as price=REAL".to_owned())
}

/// The name that a column has and the one that it is to have.
pub(super) fn new_name(text: &str) -> Result<(String, String), String> {
    pair(text, "must be OLD=NEW, such as 'Town name'=name")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_quotes_and_types_are_read() {
        assert_eq!(one_byte(";"), Ok(b';'));
        assert_eq!(one_byte("tab"), Ok(b'\t'));
        assert!(one_byte("ä").is_err() && one_byte("").is_err() && one_byte("ab").is_err());
        assert_eq!(quote("none"), Ok(Quote(None)));
        assert_eq!(quote("'"), Ok(Quote(Some(b'\''))));
        let typed = column_type("a=b=DECIMAL(10, 2)");
        assert_eq!(typed, Ok(("a=b".to_owned(), "DECIMAL(10, 2)".to_owned())));
        assert!(column_type("a").is_err());
        assert_eq!(new_name("a b=c"), Ok(("a b".to_owned(), "c".to_owned())));
        assert!(new_name("a=").is_err() && new_name("a").is_err());
    }

    #[test]
    fn names_in_quotes_may_have_commas() {
        let read = |text| names(text).map(|names| names.0.join(";"));
        for (text, expected) in [
            ("a", "a"),
            ("a, b c ,-d", "a;b c;-d"),
            ("\"a,b\"", "a,b"),
            ("x,\"a, \"\"b\"\"\" , y", "x;a, \"b\";y"),
            ("a\"b", "a\"b"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(expected), "{text}");
        }
        for text in ["", "a,", ",a", "a,,b", "\"a", "\"a\"b", "\"\""] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn values_with_commas_are_sql_in_brackets_or_stand_in_quotes() {
        for (text, expected) in [
            ("wal, delete", &["wal", "delete"][..]),
            (",CREATE INDEX i ON e(k, n)", &["", "CREATE INDEX i ON e(k, n)"]),
            ("'a, b',\"c\"", &["a, b", "c"]),
            ("SELECT 'a, ''b',\"x \"\"y\"\"\"", &["SELECT 'a, ''b'", "x \"y\""]),
            ("'a' || 'b'", &["'a' || 'b'"]),
        ] {
            assert_eq!(levels(text).unwrap(), expected, "{text}");
        }
        assert_eq!((levels("a,f(b"), levels("a,'b")), (None, None));
    }

    #[test]
    fn times_are_read_with_units_or_as_seconds() {
        for (text, read) in
            [("90", 90.0), ("0.5", 0.5), ("40m", 2400.0), ("1h30m", 5400.0), ("250ms", 0.25)]
        {
            assert_eq!(seconds(text), Ok(read), "{text}");
        }
        assert_eq!(age("12h"), Ok(43_200.0));
        assert!(age("3").is_err() && age("soon").is_err());
        for text in ["0", "-1", "0s", "soon", "nan", "inf", "1e300", ""] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_read_with_binary_units_or_as_bytes() {
        for (text, read) in [("512M", 512 << 20), ("2g", 2 << 30), ("7", 7), ("1K", 1024)] {
            assert_eq!(bytes(text), Ok(read), "{text}");
        }
        for text in ["", "0", "G", "-1M", "1.5G", "2GB", "99999999999T"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
