//! Where the fields of a CSV record lie: RFC 4180, with any delimiter and line end.
//!
//! It is our own, and not the `csv` crate's, for three things that loading needs: what is wrong with a
//! record is told (that crate reads text behind a closing quote and a quote never closed without
//! complaint), an empty field differs from an empty text in quotes (NULL and ''), and fields are given
//! where they lie, without a copy.

/// The bytes that divide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(crate) delimiter: u8,
    /// None where quotes mean nothing.
    pub(crate) quote: Option<u8>,
}

/// A field within the buffer, without its quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) quoted: bool,
    /// Whether it holds doubled quotes, each of which stands for one.
    pub(crate) doubled: bool,
}

/// What a record came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scanned {
    /// A record; the next one begins at `next`.
    Record { next: usize },
    /// An empty line.
    Blank { next: usize },
    /// The buffer ends before the record does.
    Incomplete,
    /// The record breaks the rules in the field of this number (from 0).
    Broken {
        next: usize,
        field: usize,
        reason: &'static str,
    },
    /// Nothing left.
    End,
}

/// Reads the record that begins at `start` and lists its fields. `last` tells that nothing follows the
/// buffer.
pub(crate) fn scan(
    buffer: &[u8],
    start: usize,
    last: bool,
    dialect: Dialect,
    fields: &mut Vec<Field>,
) -> Scanned {
    fields.clear();
    if start == buffer.len() {
        return if last {
            Scanned::End
        } else {
            Scanned::Incomplete
        };
    }
    if is_line_end(buffer[start]) {
        return Scanned::Blank { next: start + 1 };
    }
    let mut at = start;
    loop {
        let field = if dialect.quote.is_some() && buffer.get(at).copied() == dialect.quote {
            match quoted(buffer, at, last, dialect) {
                Ok(field) => field,
                Err(Quoting::Incomplete) => return Scanned::Incomplete,
                Err(Quoting::Broken { at, reason }) => {
                    return Scanned::Broken {
                        next: behind_line(buffer, at),
                        field: fields.len(),
                        reason,
                    };
                }
            }
        } else {
            plain(buffer, at, dialect.delimiter)
        };
        let behind = field.end + usize::from(field.quoted);
        fields.push(field);
        match buffer.get(behind) {
            None if last => return Scanned::Record { next: behind },
            None => return Scanned::Incomplete,
            Some(byte) if *byte == dialect.delimiter => at = behind + 1,
            Some(_) => return Scanned::Record { next: behind + 1 },
        }
    }
}

/// A line ends at a line feed or a carriage return; of both together the second makes an empty line,
/// which counts for nothing.
#[inline]
fn is_line_end(byte: u8) -> bool {
    byte == b'\n' || byte == b'\r'
}

#[inline]
fn plain(buffer: &[u8], start: usize, delimiter: u8) -> Field {
    let length = buffer[start..]
        .iter()
        .position(|byte| *byte == delimiter || is_line_end(*byte));
    Field {
        start,
        end: length.map_or(buffer.len(), |length| start + length),
        quoted: false,
        doubled: false,
    }
}

enum Quoting {
    Incomplete,
    Broken { at: usize, reason: &'static str },
}

fn quoted(buffer: &[u8], start: usize, last: bool, dialect: Dialect) -> Result<Field, Quoting> {
    let quote = dialect.quote.unwrap_or(b'"');
    let mut doubled = false;
    let mut at = start + 1;
    loop {
        let Some(length) = buffer[at..].iter().position(|byte| *byte == quote) else {
            return Err(if last {
                Quoting::Broken {
                    at: buffer.len(),
                    reason: "a quote is opened and never closed",
                }
            } else {
                Quoting::Incomplete
            });
        };
        let end = at + length;
        match buffer.get(end + 1) {
            Some(byte) if *byte == quote => {
                doubled = true;
                at = end + 2;
            }
            None if !last => return Err(Quoting::Incomplete),
            Some(byte) if *byte != dialect.delimiter && !is_line_end(*byte) => {
                return Err(Quoting::Broken {
                    at: end + 1,
                    reason: "text follows a closing quote",
                });
            }
            _ => {
                return Ok(Field {
                    start: start + 1,
                    end,
                    quoted: true,
                    doubled,
                });
            }
        }
    }
}

/// Where the line that holds this place ends, from where reading can go on.
fn behind_line(buffer: &[u8], at: usize) -> usize {
    buffer[at..]
        .iter()
        .position(|byte| is_line_end(*byte))
        .map_or(buffer.len(), |length| at + length + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DIALECT: Dialect = Dialect {
        delimiter: b',',
        quote: Some(b'"'),
    };

    /// Every record of a text, in which `|` shows where fields were divided; problems in brackets.
    fn records(text: &str) -> Vec<String> {
        let (buffer, mut fields, mut at, mut found) = (text.as_bytes(), Vec::new(), 0, Vec::new());
        loop {
            match scan(buffer, at, true, DIALECT, &mut fields) {
                Scanned::Record { next } => {
                    let shown: Vec<&str> = fields.iter().map(|f| &text[f.start..f.end]).collect();
                    found.push(shown.join("|"));
                    at = next;
                }
                Scanned::Blank { next } => at = next,
                Scanned::Broken {
                    next,
                    field,
                    reason,
                } => {
                    found.push(format!("[{field}: {reason}]"));
                    at = next;
                }
                Scanned::End => return found,
                Scanned::Incomplete => panic!("nothing follows"),
            }
        }
    }

    #[test]
    fn records_are_divided_as_the_rules_say() {
        assert_eq!(records("a,b\nc,d"), ["a|b", "c|d"]);
        assert_eq!(records("a,\r\n,b\r\n\r\n"), ["a|", "|b"]);
        assert_eq!(records("\"a,\nb\",\"\"\n"), ["a,\nb|"]);
        assert_eq!(
            records("\"say \"\"hi\"\"\",5\" disk\n"),
            ["say \"\"hi\"\"|5\" disk"]
        );
        assert_eq!(records("old\rmac\r"), ["old", "mac"]);
    }

    #[test]
    fn broken_records_are_told_and_reading_goes_on_behind_them() {
        assert_eq!(
            records("a,\"b\"c\nd,e\n"),
            ["[1: text follows a closing quote]", "d|e"]
        );
        assert_eq!(
            records("a,\"b\nc"),
            ["[1: a quote is opened and never closed]"]
        );
    }

    proptest! {
        /// Whatever the `csv` crate writes is read back, wherever the buffer happens to end.
        #[test]
        fn what_another_writes_is_read_back(
            rows in prop::collection::vec(prop::collection::vec("[a,\"\n\r é]{0,4}", 2), 1..6),
            cut in 0_usize..60,
        ) {
            let mut writer = csv::WriterBuilder::new().quote_style(csv::QuoteStyle::Always).from_writer(Vec::new());
            for row in &rows {
                writer.write_record(row).unwrap();
            }
            let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
            let (mut at, mut fields, mut found) = (0, Vec::new(), Vec::new());
            let mut end = cut.min(text.len());
            loop {
                match scan(&text.as_bytes()[..end], at, end == text.len(), DIALECT, &mut fields) {
                    Scanned::Record { next } => {
                        found.push(fields.iter().map(|f| text[f.start..f.end].replace("\"\"", "\"")).collect::<Vec<_>>());
                        at = next;
                    }
                    Scanned::Blank { next } => at = next,
                    Scanned::Incomplete => end = text.len(),
                    Scanned::End => break,
                    Scanned::Broken { reason, .. } => prop_assert!(false, "{}", reason),
                }
            }
            prop_assert_eq!(found, rows);
        }
    }
}
