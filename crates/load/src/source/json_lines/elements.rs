//! A JSON array as a text of lines: each of its elements becomes one, so that arrays of any length are read
//! as JSON Lines are.

use std::io::{self, Read};

/// The elements of an array, each on a line of its own.
pub(super) struct Elements<R> {
    raw: R,
    state: State,
}

/// Where in the array the reader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before its opening bracket.
    Start,
    /// Before an element, which a comma may have announced.
    Before { after_comma: bool },
    /// In an element, within this number of brackets of its own.
    Within { depth: usize },
    /// In a text of an element; its next byte may be escaped.
    Text { depth: usize, escaped: bool },
    /// After the closing bracket.
    End,
}

impl<R: Read> Elements<R> {
    pub(super) fn new(raw: R) -> Elements<R> {
        let state = State::Start;
        Elements { raw, state }
    }

    /// Goes on by a byte, and returns what becomes of it.
    fn step(&mut self, byte: u8) -> io::Result<Option<u8>> {
        let (state, output) = match self.state {
            State::Start => match byte {
                b'[' => (State::Before { after_comma: false }, None),
                _ => (State::Start, None),
            },
            State::Before { after_comma } => match byte {
                blank if blank.is_ascii_whitespace() => (self.state, None),
                b',' => return Err(wrong("a comma follows no value")),
                b']' if after_comma => return Err(wrong("the JSON array ends with a comma")),
                b']' => (State::End, None),
                first => within(0, first),
            },
            State::Within { depth } => within(depth, byte),
            State::Text { depth, escaped } => within_text(depth, escaped, byte),
            State::End if byte.is_ascii_whitespace() => (State::End, None),
            State::End => return Err(wrong("something follows the JSON array")),
        };
        self.state = state;
        Ok(output)
    }
}

fn wrong(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// A byte of an element, outside of texts.
fn within(depth: usize, byte: u8) -> (State, Option<u8>) {
    let state = match byte {
        b',' if depth == 0 => return (State::Before { after_comma: true }, Some(b'\n')),
        b']' if depth == 0 => return (State::End, Some(b'\n')),
        b'\n' | b'\r' => return (State::Within { depth }, Some(b' ')),
        b'"' => State::Text { depth, escaped: false },
        b'[' | b'{' => State::Within { depth: depth + 1 },
        b']' | b'}' => State::Within { depth: depth.saturating_sub(1) },
        _ => State::Within { depth },
    };
    (state, Some(byte))
}

/// A byte of a text. A line end is as wrong in it as another control character.
fn within_text(depth: usize, escaped: bool, byte: u8) -> (State, Option<u8>) {
    let state = match byte {
        b'"' if !escaped => State::Within { depth },
        _ => State::Text { depth, escaped: byte == b'\\' && !escaped },
    };
    (state, Some(if byte == b'\n' { b'\t' } else { byte }))
}

impl<R: Read> Read for Elements<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.raw.read(buffer)?;
            if count == 0 && !buffer.is_empty() && self.state != State::End {
                return Err(wrong("the JSON array ends in the middle"));
            }
            let mut kept = 0;
            for at in 0..count {
                if let Some(byte) = self.step(buffer[at])? {
                    buffer[kept] = byte;
                    kept += 1;
                }
            }
            if kept > 0 || count == 0 {
                return Ok(kept);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(array: &str) -> io::Result<String> {
        let mut text = String::new();
        Elements::new(array.as_bytes()).read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn elements_become_lines() {
        let array = "[ {\"a\": \"],\\\"\"} ,\n[1,\r\n{}]\n, 2 ]\n";
        assert_eq!(lines(array).unwrap(), "{\"a\": \"],\\\"\"} \n[1,  {}] \n2 \n");
    }

    proptest! {
        #[test]
        fn any_array_has_as_many_lines_as_elements(texts in prop::collection::vec("\\PC*", 1..9), pretty: bool) {
            let array = serde_json::Value::from(texts.clone());
            let array = if pretty { format!("{array:#}") } else { array.to_string() };
            let lines = lines(&array).unwrap();
            let found: Vec<String> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            prop_assert_eq!(found, texts);
        }
    }
}
