//! A JSON text as a text of lines: each of its rows becomes one, so that arrays and documents of any length are read
//! as JSON Lines are.

use std::io::{self, Read};

use super::survey::Rows;

/// The key of the column for the keys of objects that stand under keys.
const KEY: &[u8] = b"_key";
/// Bytes that are read at a time.
const BUFFER: usize = 64 << 10;

/// The rows of a text, each on a line of its own.
pub(super) struct Elements<R> {
    raw: R,
    /// Whether rows follow one another without an array.
    is_bare: bool,
    path: Vec<String>,
    is_found: bool,
    state: State,
    /// Whether the next byte of a text may be escaped; none outside of texts.
    text: Option<bool>,
    above: Above,
    /// Whether rows are the members of an object.
    is_keyed: bool,
    key: Vec<u8>,
    input: Vec<u8>,
    lines: Vec<u8>,
    /// How much of `lines` has been read.
    read: usize,
}

/// Where the reader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Above the rows: in the document, or before it.
    Above,
    /// Before a row, which a comma may have announced.
    Before { after_comma: bool },
    /// In or behind the key of a row.
    Key { after_colon: bool },
    /// Behind the first bracket of a row with a key.
    First,
    /// In a row, within this number of brackets of its own.
    Within { depth: usize },
}

/// The place in a document outside of the rows.
#[derive(Debug, Default)]
struct Above {
    /// Containers that are open.
    depth: usize,
    /// Containers that are open and lead to the rows.
    on_path: usize,
    /// Whether a text is a key now.
    is_key: bool,
    key: Vec<u8>,
    /// Whether the rows of the document have been read.
    is_read: bool,
    /// Whether a list has begun at the level of the rows.
    has_list: bool,
}

fn wrong<T>(reason: impl Into<String>) -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::InvalidInput, reason.into()))
}

fn cut_short<T>(reason: &str) -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::InvalidData, reason))
}

impl<R: Read> Elements<R> {
    pub(super) fn new(raw: R, rows: Rows) -> Elements<R> {
        let is_bare = rows == Rows::Objects;
        let (path, is_found) = match rows {
            Rows::List { path, is_found } => (path, is_found),
            Rows::Lines | Rows::Array | Rows::Objects => (Vec::new(), false),
        };
        Elements {
            raw,
            is_bare,
            path,
            is_found,
            state: if is_bare { State::Before { after_comma: false } } else { State::Above },
            text: None,
            above: Above::default(),
            is_keyed: false,
            key: Vec::new(),
            input: vec![0; BUFFER],
            lines: Vec::new(),
            read: 0,
        }
    }

    /// Goes on by a byte.
    #[inline]
    fn step(&mut self, byte: u8) -> io::Result<()> {
        if let Some(escaped) = self.text {
            let ends = byte == b'"' && !escaped;
            self.text = (!ends).then_some(byte == b'\\' && !escaped);
            match self.state {
                State::Above if self.above.is_key && !ends => self.above.key.push(byte),
                State::Above => {}
                State::Key { .. } => self.key.push(byte),
                // A line end is as wrong in a text as another control character.
                _ => self.lines.push(if byte == b'\n' { b'\t' } else { byte }),
            }
            return Ok(());
        }
        match self.state {
            State::Within { depth } => self.within(depth, byte),
            State::Above => return self.step_above(byte),
            State::Before { after_comma } => return self.before(after_comma, byte),
            State::Key { after_colon } => match byte {
                b':' if !after_colon => self.state = State::Key { after_colon: true },
                b'{' if after_colon => {
                    self.lines.extend_from_slice(b"{\"");
                    self.lines.extend_from_slice(KEY);
                    self.lines.extend_from_slice(b"\":");
                    self.lines.append(&mut self.key);
                    self.state = State::First;
                }
                blank if blank.is_ascii_whitespace() => {}
                _ => {
                    let key = String::from_utf8_lossy(&self.key);
                    return wrong(format!(
                        "the value of {key} is no object, unlike the first ones"
                    ));
                }
            },
            State::First if byte.is_ascii_whitespace() => {}
            State::First => {
                if byte != b'}' {
                    self.lines.push(b',');
                }
                self.within(1, byte);
            }
        }
        Ok(())
    }

    /// A byte of a row, outside of texts.
    #[inline]
    fn within(&mut self, depth: usize, byte: u8) {
        let is_end = matches!(byte, b'\n' | b'\r');
        self.lines.push(match byte {
            b',' | b']' | b'}' if depth == 0 => b'\n',
            b'\n' | b'\r' if depth == 0 && self.is_bare => b'\n',
            _ if is_end => b' ',
            _ => byte,
        });
        match byte {
            b',' if depth == 0 => self.state = State::Before { after_comma: true },
            b']' | b'}' if depth == 0 => self.end_rows(),
            b'\n' | b'\r' if depth == 0 && self.is_bare => {
                self.state = State::Before { after_comma: false };
            }
            b'"' => {
                self.text = Some(false);
                self.state = State::Within { depth };
            }
            b'[' | b'{' => self.state = State::Within { depth: depth + 1 },
            b']' | b'}' if depth == 1 && self.is_bare => {
                self.lines.push(b'\n');
                self.state = State::Before { after_comma: false };
            }
            b']' | b'}' => self.state = State::Within { depth: depth - 1 },
            _ => self.state = State::Within { depth },
        }
    }

    /// A byte before a row.
    fn before(&mut self, after_comma: bool, byte: u8) -> io::Result<()> {
        match byte {
            blank if blank.is_ascii_whitespace() => {}
            b',' if self.is_bare => {}
            b',' => return wrong("a comma follows no value"),
            b']' | b'}' if after_comma && !self.is_bare => {
                return wrong("the JSON array ends with a comma");
            }
            b']' | b'}' if !self.is_bare => self.end_rows(),
            b'"' if self.is_keyed => {
                self.key.push(b'"');
                self.text = Some(false);
                self.state = State::Key { after_colon: false };
            }
            first => self.within(0, first),
        }
        Ok(())
    }

    fn end_rows(&mut self) {
        self.state = State::Above;
        self.above.is_read = true;
    }

    /// A byte of the document outside of the rows.
    fn step_above(&mut self, byte: u8) -> io::Result<()> {
        let is_at_rows =
            self.above.depth == self.path.len() && self.above.on_path == self.above.depth;
        match byte {
            blank if blank.is_ascii_whitespace() => return Ok(()),
            b'{' | b'[' => return self.open(byte == b'{', is_at_rows),
            b'}' | b']' => {
                self.above.depth = self.above.depth.saturating_sub(1);
                self.above.on_path = self.above.on_path.min(self.above.depth);
                if self.above.depth == 0 && !self.above.is_read {
                    return wrong(format!("it has no list `{}`", self.path.join(".")));
                }
            }
            _ if self.above.depth == 0 => return wrong("something follows the JSON array"),
            b'"' => {
                self.text = Some(false);
                if self.above.is_key {
                    self.above.key.clear();
                }
            }
            b':' => self.above.is_key = false,
            b',' => self.above.is_key = self.above.on_path == self.above.depth,
            _ => {}
        }
        self.above.has_list = false;
        Ok(())
    }

    /// Enters an object or an array outside of the rows, or the rows.
    fn open(&mut self, is_object: bool, is_at_rows: bool) -> io::Result<()> {
        let above = &mut self.above;
        if above.has_list && is_object && self.is_found {
            let key = String::from_utf8_lossy(&above.key).into_owned();
            return wrong(format!(
                "it has a second list of objects, {key}; choose one with --rows"
            ));
        }
        let leads = above.depth == above.on_path
            && above.depth <= self.path.len()
            && (above.depth == 0 || is_key(&above.key, &self.path[above.depth - 1]));
        if leads && is_at_rows && !above.is_read {
            self.is_keyed = is_object;
            self.state = State::Before { after_comma: false };
            return Ok(());
        }
        if above.depth == 0 && above.is_read && self.path.is_empty() {
            return wrong("something follows the JSON array");
        }
        above.has_list = is_at_rows && !is_object && above.is_read;
        above.is_read &= above.depth > 0;
        above.depth += 1;
        above.on_path += usize::from(leads && is_object);
        above.is_key = is_object && above.on_path == above.depth;
        Ok(())
    }
}

/// Returns whether the inside of a text in JSON is this key.
fn is_key(text: &[u8], key: &str) -> bool {
    let quoted = [b"\"", text, b"\""].concat();
    serde_json::from_slice::<String>(&quoted).is_ok_and(|text| text == key)
}

impl<R: Read> Read for Elements<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.read == self.lines.len() {
            self.lines.clear();
            self.read = 0;
            let mut input = std::mem::take(&mut self.input);
            let count = self.raw.read(&mut input)?;
            let read = input[..count].iter().try_for_each(|byte| self.step(*byte));
            self.input = input;
            read?;
            if count == 0 {
                return self.check_end().map(|()| 0);
            }
        }
        let count = buffer.len().min(self.lines.len() - self.read);
        buffer[..count].copy_from_slice(&self.lines[self.read..self.read + count]);
        self.read += count;
        Ok(count)
    }
}

impl<R> Elements<R> {
    fn check_end(&self) -> io::Result<()> {
        match self.state {
            State::Above if self.above.depth == 0 && self.above.is_read => Ok(()),
            State::Before { .. } if self.is_bare => Ok(()),
            _ if self.path.is_empty() && !self.is_bare => {
                cut_short("the JSON array ends in the middle")
            }
            _ => cut_short("the JSON document ends in the middle"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(text: &str, rows: Rows) -> Result<String, String> {
        let mut lines = String::new();
        let read = Elements::new(text.as_bytes(), rows).read_to_string(&mut lines);
        read.map(|_| lines).map_err(|error| error.to_string())
    }

    fn list(path: &str) -> Rows {
        let path = path.split('.').filter(|key| !key.is_empty()).map(str::to_owned).collect();
        Rows::List { path, is_found: true }
    }

    #[test]
    fn elements_become_lines() {
        let array = "[ {\"a\": \"],\\\"\"} ,\n[1,\r\n{}]\n, 2 ]\n";
        assert_eq!(lines(array, Rows::Array).unwrap(), "{\"a\": \"],\\\"\"} \n[1,  {}] \n2 \n");
        let objects = "{\n\"a\": {}}{\"b\":\n[1]},{}\n";
        assert_eq!(lines(objects, Rows::Objects).unwrap(), "{ \"a\": {}}\n{\"b\": [1]}\n{}\n");
    }

    #[test]
    fn the_list_of_a_document_becomes_lines() {
        let text = "{\"meta\": {\"rows\": [1], \"x\": \"rows\"},\n\"rows\": [{\"a\": [{}]},\n{}], \"more\": [1]}\n";
        assert_eq!(lines(text, list("rows")).unwrap(), "{\"a\": [{}]}\n{}\n");
        let deep = "{\"rows\": {\"x\": 1}, \"r\": {\"rows\": [{\"a\": 1}]}}";
        assert_eq!(lines(deep, list("r.rows")).unwrap(), "{\"a\": 1}\n");
        assert_eq!(lines(&deep.repeat(2), list("r.rows")).unwrap(), "{\"a\": 1}\n{\"a\": 1}\n");
        let keyed = "{\"x\": { \"a\": 1}, \"y\\\"\" : {}\n}";
        assert_eq!(
            lines(keyed, list("")).unwrap(),
            "{\"_key\":\"x\",\"a\": 1}\n{\"_key\":\"y\\\"\"} \n"
        );
    }

    #[test]
    fn a_document_that_is_not_as_it_seemed_is_refused() {
        for (text, path, reason) in [
            ("{\"rows\": [{}], \"other\": [ {}]}", "rows", "a second list of objects, other"),
            ("{\"a\": 1}", "rows", "no list `rows`"),
            ("{\"rows\": [{}]", "rows", "ends in the middle"),
            ("{\"a\": {}, \"b\": 1}", "", "\"b\" is no object"),
        ] {
            let found = lines(text, list(path)).unwrap_err();
            assert!(found.contains(reason), "{text}: {found}");
        }
    }

    proptest! {
        #[test]
        fn any_array_has_as_many_lines_as_elements(texts in prop::collection::vec("\\PC*", 1..9), pretty: bool) {
            let array = serde_json::Value::from(texts.clone());
            let array = if pretty { format!("{array:#}") } else { array.to_string() };
            let lines = lines(&array, Rows::Array).unwrap();
            let found: Vec<String> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            prop_assert_eq!(found, texts);
        }
    }
}
