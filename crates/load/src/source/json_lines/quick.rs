//! Lines as programs write them: an object on each, whose keys come in the same order and whose values are short
//! numbers and texts without escapes. Whatever else a line has is left to the parser, which gives the same.

use engine::ValueRef;

use super::Lines;
use crate::affinity::Affinity;
use crate::source::number::{integer, short_decimal};
use crate::source::{Storing, Typing};

/// Bytes of a number up to which no type changes it.
const SHORT: usize = 15;

/// Reads the values of a line, one for each column, if it is such a line.
pub(super) fn row<'l>(lines: &Lines, line: &'l str, values: &mut Vec<ValueRef<'l>>) -> bool {
    values.clear();
    values.resize(lines.names.len(), ValueRef::Null);
    read(lines, line, values).is_some()
}

fn read<'l>(lines: &Lines, line: &'l str, values: &mut [ValueRef<'l>]) -> Option<()> {
    let mut rest = Parser { line, at: 0 };
    rest.skip(b'{')?;
    let mut expected = 0;
    loop {
        let column = rest.key(&lines.keys, expected)?;
        if !matches!(values[column], ValueRef::Null) {
            return None;
        }
        expected = column + 1;
        rest.skip(b':')?;
        values[column] = rest.value(lines, column)?;
        match rest.next()? {
            b',' => {}
            b'}' => break,
            _ => return None,
        }
    }
    rest.blanks();
    (rest.at == line.len()).then_some(())
}

/// The rest of a line that is not parsed yet.
struct Parser<'l> {
    line: &'l str,
    at: usize,
}

impl<'l> Parser<'l> {
    fn peek(&self) -> Option<u8> {
        self.line.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    /// Returns the next byte that is not blank.
    fn next(&mut self) -> Option<u8> {
        self.blanks();
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn skip(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then_some(())
    }

    /// Returns the column of a key, usually the expected one.
    fn key(&mut self, names: &[String], expected: usize) -> Option<usize> {
        self.skip(b'"')?;
        if let Some(name) = names.get(expected) {
            let rest = &self.line.as_bytes()[self.at..];
            if rest.starts_with(name.as_bytes())
                && rest.get(name.len()) == Some(&b'"')
                && is_plain(name)
            {
                self.at += name.len() + 1;
                return Some(expected);
            }
        }
        let key = self.text()?;
        names.iter().position(|name| name == key)
    }

    /// A text without escapes, behind its first quote.
    fn text(&mut self) -> Option<&'l str> {
        let rest = &self.line.as_bytes()[self.at..];
        let length = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | ..b' '))?;
        let text = self.line.get(self.at..self.at + length)?;
        self.at += length + 1;
        (rest[length] == b'"').then_some(text)
    }

    fn value(&mut self, lines: &Lines, column: usize) -> Option<ValueRef<'l>> {
        let first = self.next()?;
        let storing = Storing::of(&lines.columns, column);
        let is_null = first == b'n';
        if storing.typing == Typing::Unseen && !is_null {
            return None;
        }
        let is_text = storing.affinity == Affinity::Text;
        if first == b'"' {
            let is_checked = match storing.typing {
                Typing::Sampled => storing.is_of_numbers(),
                typing => typing == Typing::Booleans,
            };
            return (!is_checked).then(|| self.text().map(ValueRef::Text))?;
        }
        let begin = self.at - 1;
        let rest = &self.line.as_bytes()[begin..];
        let length =
            rest.iter().position(|byte| matches!(byte, b',' | b'}' | b' ' | b'\t' | b'\r'))?;
        let raw = self.line.get(begin..begin + length)?;
        self.at = begin + length;
        match raw {
            "null" => Some(ValueRef::Null),
            "true" | "false" if is_text => Some(ValueRef::Text(raw)),
            "true" => Some(ValueRef::Integer(1)),
            "false" => Some(ValueRef::Integer(0)),
            raw => {
                let number = number(raw.as_bytes())?;
                Some(if is_text { ValueRef::Text(raw) } else { number })
            }
        }
    }
}

/// Returns whether a name stands in JSON as it is.
fn is_plain(name: &str) -> bool {
    !name.bytes().any(|byte| matches!(byte, b'"' | b'\\' | ..b' '))
}

/// A short number without an exponent.
fn number(raw: &[u8]) -> Option<ValueRef<'static>> {
    let digits = raw.strip_prefix(b"-").unwrap_or(raw);
    let is_number = match digits {
        [b'0'] => true,
        [b'0', b'.', _, ..] | [b'1'..=b'9', ..] => !digits.ends_with(b"."),
        _ => false,
    };
    if !is_number || raw.len() > SHORT {
        return None;
    }
    match integer(raw) {
        Some(integer) => Some(ValueRef::Integer(integer)),
        None => short_decimal(raw).map(ValueRef::Real),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Value;
    use super::*;
    use crate::source::{Notes, Unit};
    use proptest::prelude::*;

    /// Lines of two columns with these types.
    fn lines(affinities: [Affinity; 2], typing: Typing) -> Lines {
        let names = ["a", "b c"].map(str::to_owned);
        Lines {
            input: "test".to_owned(),
            unit: Unit::Line,
            encoding: "UTF-8",
            columns_by_key: names.iter().cloned().zip(0..).collect(),
            keys: names.to_vec(),
            names: names.to_vec(),
            notes: Notes::default(),
            is_reopenable: false,
            columns: affinities.map(|affinity| Storing { affinity, typing }).to_vec(),
            ignores_others: false,
            positions: Vec::new(),
        }
    }

    /// Returns whether a line is read, after a comparison with the parser.
    fn is_read(lines: &Lines, line: &str) -> bool {
        let mut values = Vec::new();
        let is_read = row(lines, line, &mut values);
        if is_read {
            let parsed = lines.row(line.as_bytes());
            let parsed = parsed.unwrap_or_else(|_| panic!("the parser refuses {line}"));
            let parsed = parsed.unwrap_or_default();
            let parsed: Vec<ValueRef<'_>> = parsed.iter().map(Value::borrowed).collect();
            // -0.0 is not 0.0 here.
            assert_eq!(format!("{values:?}"), format!("{parsed:?}"), "{line}");
        }
        is_read
    }

    #[test]
    fn plain_lines_are_read_and_others_left() {
        let lines = lines([Affinity::Integer, Affinity::Text], Typing::Sampled);
        for line in [
            r#"{"a": 1, "b c": "é x"}"#,
            r#"{"b c":"x","a":-12}"#,
            r#" { "a" : 1.50 , "b c" : true }  "#,
            r#"{"a": null}"#,
            r#"{"b c": -0}"#,
        ] {
            assert!(is_read(&lines, line), "{line}");
        }
        for line in [
            "",
            "{}",
            "[1]",
            r#"{"a": 01}"#,
            r#"{"a": 1,}"#,
            r#"{"a": 1} {}"#,
            r#"{"a": 1e5}"#,
            r#"{"a": 1234567890123456}"#,
            r#"{"a": "7"}"#,
            r#"{"b c": "\n"}"#,
            r#"{"d": 1}"#,
            r#"{"b c": 1.50, "b c": -0}"#,
            r#"{"a": [1]}"#,
            r#"{"a": nul}"#,
            r#"{"a": 1."#,
            r#"{"a": 1.}"#,
            r#"{"a": -}"#,
            r#"{"b c": "x"#,
        ] {
            assert!(!is_read(&lines, line), "{line}");
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_the_parser_reads(
            keys in prop::collection::vec("a|b c|d", 0..4),
            values in prop::collection::vec(
                "-?(0|[1-9][0-9]{0,16})(\\.[0-9]{0,12})?(e[+-]?[0-9])?|null|true|false|\"[a-z é,}:\\\\\"]{0,5}\"|\\[1\\]|\\{\\}|0[0-9]|\\.5",
                4,
            ),
            blank in "[ \t]{0,2}",
            affinities in prop::sample::select(vec![
                Affinity::Text, Affinity::Integer, Affinity::Real, Affinity::Numeric, Affinity::Blob,
            ]),
            typing in prop::sample::select(vec![Typing::Declared, Typing::Sampled, Typing::Unseen]),
        ) {
            let pairs = keys.iter().zip(&values);
            let pairs: Vec<String> = pairs.map(|(key, value)| format!("\"{key}\":{blank}{value}{blank}")).collect();
            let line = format!("{{{}}}", pairs.join(","));
            is_read(&lines([affinities, Affinity::Text], typing), &line);
        }
    }
}
