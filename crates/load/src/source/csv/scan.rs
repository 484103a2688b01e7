//! Where the records and fields of a CSV text lie: RFC 4180, with any delimiter and line end.
//!
//! It is our own, and not the `csv` crate's, for three things that loading needs: what is wrong with a
//! record is told (that crate reads text behind a closing quote and a quote never closed without
//! complaint), an empty field differs from an empty text in quotes (NULL and ''), and fields are given
//! where they lie, without a copy.
//!
//! [`cut`] and [`Records`] follow one grammar: the first finds where a stretch of whole records ends, by
//! jumping from quote to quote; the second divides such a stretch into fields.

use std::ops::Range;

use wide::u8x64;

/// The bytes that divide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(crate) delimiter: u8,
    /// `None` if quotes mean nothing.
    pub(crate) quote: Option<u8>,
    /// The first byte of comment lines; `None` without comments.
    pub(crate) comment: Option<u8>,
    /// Whether blanks around fields, also around quotes, belong to no field.
    pub(crate) trim: bool,
    pub(crate) quotes: Quotes,
}

/// How strictly quotes are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Quotes {
    /// By the rules.
    #[default]
    Strict,
    /// By the rules, but a field in quotes that goes on over the end of a row is broken: nobody said that quotes
    /// have a meaning.
    Doubtful,
    /// A quote within a field in quotes that ends nothing is a character like any other.
    Lenient,
}

impl Dialect {
    /// Returns whether a byte is a blank that may be trimmed.
    fn is_blank(&self, byte: u8) -> bool {
        matches!(byte, b' ' | b'\t') && byte != self.delimiter
    }

    /// Returns how many blanks to pass over stand at the beginning.
    fn blanks(&self, bytes: &[u8]) -> usize {
        let count = || bytes.iter().take_while(|byte| self.is_blank(**byte)).count();
        if self.trim { count() } else { 0 }
    }

    /// Returns how many blanks to pass over stand at the end.
    fn blanks_before(&self, bytes: &[u8]) -> usize {
        let count = || bytes.iter().rev().take_while(|byte| self.is_blank(**byte)).count();
        if self.trim { count() } else { 0 }
    }

    /// Returns whether a field in quotes ends before these bytes.
    fn ends_quoted(&self, behind: &[u8]) -> bool {
        let behind = behind.get(self.blanks(behind));
        behind.is_none_or(|byte| *byte == self.delimiter || is_line_end(*byte))
    }
}

/// How a field is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quoting {
    /// As it is.
    Plain,
    /// Within quotes.
    Quoted,
    /// Within quotes and with doubled ones; each pair stands for one quote.
    Doubled,
    /// Not at all: the row is too short.
    Absent,
}

/// A field within the text, without its quotes. Blocks end long before 4 GiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    start: u32,
    end: u32,
    pub(crate) quoting: Quoting,
}

impl Field {
    #[inline]
    fn new(start: usize, end: usize, quoting: Quoting) -> Field {
        Field { start: start as u32, end: end as u32, quoting }
    }

    /// A field that a row does not have.
    pub(crate) const ABSENT: Field = Field { start: 0, end: 0, quoting: Quoting::Absent };

    /// Returns this field and all others of its row, as they are written; the row ends there.
    pub(crate) fn until(self, end: usize, bytes: &[u8]) -> Field {
        let start = self.start as usize - usize::from(self.quoting != Quoting::Plain);
        let text = bytes[start..end].trim_ascii_end();
        Field::new(start, start + text.len(), Quoting::Plain)
    }

    /// Returns its place in the text.
    #[inline]
    pub(crate) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// The text between two line ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Record {
    /// A record, whose fields were listed.
    Whole(Range<usize>),
    /// One that breaks the rules in the field of this number (from 0); no fields were listed.
    Broken { range: Range<usize>, field: usize, reason: &'static str },
}

/// The records of a text that begins and ends with whole ones; the last may lack its line end.
pub(crate) struct Records<'b> {
    bytes: &'b [u8],
    dialect: Dialect,
    marks: Marks<'b, 4>,
    /// Where the next record begins.
    pub(crate) at: usize,
    /// Whether quotes of the latest record were read as they are.
    pub(crate) is_mended: bool,
}

impl<'b> Records<'b> {
    pub(crate) fn new(bytes: &'b [u8], dialect: Dialect) -> Records<'b> {
        let quote = dialect.quote.unwrap_or(dialect.delimiter);
        Records {
            bytes,
            dialect,
            marks: Marks::new(bytes, [dialect.delimiter, b'\n', b'\r', quote]),
            at: 0,
            is_mended: false,
        }
    }

    /// Returns the next record, whose fields are added to the list; empty lines are passed over.
    #[inline]
    pub(crate) fn next(&mut self, fields: &mut Vec<Field>) -> Option<Record> {
        let listed = fields.len();
        let record = self.next_of_marks(fields)?;
        if self.dialect.trim {
            self.trim(&mut fields[listed..]);
        }
        if self.dialect.quotes == Quotes::Doubtful {
            return Some(self.checked(record, listed, fields));
        }
        Some(record)
    }

    #[cold]
    fn trim(&self, fields: &mut [Field]) {
        for field in fields.iter_mut().filter(|field| field.quoting == Quoting::Plain) {
            let text = &self.bytes[field.range()];
            let begin = self.dialect.blanks(text);
            field.end -= self.dialect.blanks_before(&text[begin..]) as u32;
            field.start += begin as u32;
        }
    }

    /// Returns the record, or a broken one if a field in quotes holds a line end and a delimiter.
    fn checked(&self, record: Record, listed: usize, fields: &mut Vec<Field>) -> Record {
        let Record::Whole(range) = record else { return record };
        let spans_rows = |field: &Field| {
            let text = &self.bytes[field.range()];
            let end = memchr::memchr2(b'\n', b'\r', text);
            field.quoting != Quoting::Plain
                && end.is_some()
                && memchr::memchr(self.dialect.delimiter, text).is_some()
        };
        let Some(field) = fields[listed..].iter().position(spans_rows) else {
            return Record::Whole(range);
        };
        fields.truncate(listed);
        let reason = "a quote opens a field that goes on in the next row";
        Record::Broken { range, field, reason }
    }

    #[inline]
    fn next_of_marks(&mut self, fields: &mut Vec<Field>) -> Option<Record> {
        let listed = fields.len();
        self.is_mended = false;
        let mut start = self.behind_comments(self.at);
        if start >= self.bytes.len() {
            return None;
        }
        let mut field = start;
        while let Some(at) = self.marks.next() {
            let byte = self.bytes[at];
            if byte == self.dialect.delimiter {
                fields.push(Field::new(field, at, Quoting::Plain));
                field = at + 1;
            } else if is_line_end(byte) {
                if at == start {
                    // Of a carriage return and a line feed, the second ends an empty line.
                    start = self.behind_comments(at + 1);
                    field = start;
                    continue;
                }
                fields.push(Field::new(field, at, Quoting::Plain));
                self.at = at + 1;
                return Some(Record::Whole(start..at));
            } else if at == field || at == field + self.dialect.blanks(&self.bytes[field..at]) {
                match self.quoted(at, fields) {
                    Ok(behind) if self.bytes.get(behind) == Some(&self.dialect.delimiter) => {
                        field = behind + 1;
                    }
                    Ok(behind) => {
                        self.at = (behind + 1).min(self.bytes.len());
                        return Some(Record::Whole(start..self.at));
                    }
                    Err((next, reason)) => {
                        let field = fields.len() - listed;
                        fields.truncate(listed);
                        self.at = next;
                        return Some(Record::Broken { range: start..next, field, reason });
                    }
                }
            }
            // A quote within a plain field is a character like any other.
        }
        self.at = self.bytes.len();
        if start == self.at {
            return None;
        }
        fields.push(Field::new(field, self.at, Quoting::Plain));
        Some(Record::Whole(start..self.at))
    }

    /// Returns where the next line begins that is not a comment.
    #[inline]
    fn behind_comments(&mut self, mut begin: usize) -> usize {
        let comment = self.dialect.comment;
        while comment.is_some() && self.bytes.get(begin).copied() == comment {
            let end = self.next_mark(is_line_end);
            begin = end.map_or(self.bytes.len(), |end| end + 1);
        }
        begin
    }

    /// Lists the field whose opening quote stands here, and returns where the byte behind it lies.
    ///
    /// # Errors
    /// It breaks the rules: where the next record begins, and the reason.
    #[inline]
    fn quoted(
        &mut self,
        open: usize,
        fields: &mut Vec<Field>,
    ) -> Result<usize, (usize, &'static str)> {
        let (bytes, dialect, quote) = (self.bytes, self.dialect, self.bytes[open]);
        let never_closed = (bytes.len(), "a quote is never closed");
        let mut quoting = Quoting::Quoted;
        let mut close = loop {
            let close = self.next_mark(|byte| byte == quote).ok_or(never_closed)?;
            if bytes.get(close + 1) != Some(&quote) {
                break close;
            }
            quoting = Quoting::Doubled;
            self.marks.next();
        };
        let ends = |close: usize| dialect.ends_quoted(&bytes[close + 1..]);
        if !ends(close) {
            if dialect.quotes != Quotes::Lenient {
                let next = self.next_mark(is_line_end).map_or(bytes.len(), |end| end + 1);
                return Err((next, "text follows a closing quote"));
            }
            (self.is_mended, quoting) = (true, Quoting::Quoted);
            let end = self.marks.find(|at| bytes[*at] == quote && ends(*at));
            close = end.ok_or(never_closed)?;
        }
        fields.push(Field::new(open + 1, close, quoting));
        // The byte behind is a mark of its own.
        self.marks.next();
        Ok(close + 1 + dialect.blanks(&bytes[close + 1..]))
    }

    #[inline]
    fn next_mark(&mut self, wanted: impl Fn(u8) -> bool) -> Option<usize> {
        let bytes = self.bytes;
        self.marks.find(|at| wanted(bytes[*at]))
    }
}

/// A line ends at a line feed or a carriage return; of both together the second makes an empty line,
/// which counts for nothing.
#[inline]
fn is_line_end(byte: u8) -> bool {
    byte == b'\n' || byte == b'\r'
}

/// Returns how many of these bytes, which begin with a record, are whole records with their line ends; 0 where
/// the first one does not end within them.
pub(crate) fn cut(bytes: &[u8], dialect: Dialect) -> usize {
    let last_line_end = |range: Range<usize>| {
        memchr::memrchr2(b'\n', b'\r', &bytes[range.clone()]).map(|at| range.start + at + 1)
    };
    let Some(quote) = dialect.quote else { return last_line_end(0..bytes.len()).unwrap_or(0) };
    let unquoted = unquoted(bytes, quote, &dialect);
    unquoted.into_iter().rev().find_map(last_line_end).unwrap_or(0)
}

/// Returns the stretches of the text that lie outside of quoted fields, as far as that can be told: it ends at
/// the opening quote of a field whose end, or what follows it, is not there.
fn unquoted(bytes: &[u8], quote: u8, dialect: &Dialect) -> Vec<Range<usize>> {
    let mut stretches = Vec::new();
    let mut quotes = Marks::new(bytes, [quote]);
    // Outside of quotes from here on.
    let mut from = 0;
    while let Some(open) = quotes.next() {
        let before = &bytes[..open - dialect.blanks_before(&bytes[..open])];
        let begins_field =
            before.last().is_none_or(|byte| *byte == dialect.delimiter || is_line_end(*byte));
        if open < from || !begins_field || is_in_comment(bytes, from..open, dialect.comment) {
            continue;
        }
        stretches.push(from..open);
        match behind_quoted(bytes, &mut quotes, quote, dialect) {
            Some(behind) => from = behind,
            None => return stretches,
        }
    }
    stretches.push(from..bytes.len());
    stretches
}

/// Returns whether the end of a stretch outside of quotes lies in a comment.
fn is_in_comment(bytes: &[u8], stretch: Range<usize>, comment: Option<u8>) -> bool {
    let Some(comment) = comment else { return false };
    let begin = match memchr::memrchr2(b'\n', b'\r', &bytes[stretch.clone()]) {
        Some(at) => stretch.start + at + 1,
        // A line cannot begin behind a quoted field.
        None if stretch.start == 0 => 0,
        None => return false,
    };
    bytes[begin] == comment
}

/// Returns where the text continues outside of quotes, behind a quoted field: at the byte behind its closing quote,
/// or at the end of the line that a broken record stands in.
#[inline]
fn behind_quoted(
    bytes: &[u8],
    quotes: &mut Marks<'_, 1>,
    quote: u8,
    dialect: &Dialect,
) -> Option<usize> {
    loop {
        let close = quotes.next()?;
        let behind = &bytes[close + 1..];
        let first = *behind.get(dialect.blanks(behind))?;
        if behind[0] == quote {
            quotes.next();
        } else if first == dialect.delimiter || is_line_end(first) {
            return Some(close + 1);
        } else if dialect.quotes == Quotes::Lenient {
            let ends = |at: &usize| dialect.ends_quoted(&bytes[*at + 1..]);
            // What follows the last byte is not known.
            return quotes
                .find(ends)
                .map(|at| at + 1)
                .filter(|at| *at + dialect.blanks(&bytes[*at..]) < bytes.len());
        } else {
            return memchr::memchr2(b'\n', b'\r', behind).map(|length| close + 1 + length);
        }
    }
}

// Where bytes of a few kinds stand, 64 bytes at a time.
//
// Fields of a CSV file are short, so that looking for the end of each (as `memchr` does) costs more than
// the field. Comparing 64 bytes at once gives one bit for each, and walking over bits costs almost
// nothing (Langdale and Lemire, "Parsing gigabytes of JSON per second", 2019).

/// Bytes compared at once.
const WIDTH: usize = 64;

/// The places of all bytes that are one of `N`, ascending.
struct Marks<'b, const N: usize> {
    bytes: &'b [u8],
    wanted: [u8x64; N],
    /// Where the bytes begin that `bits` stands for.
    base: usize,
    /// One bit for each at that has not been given yet.
    bits: u64,
}

impl<'b, const N: usize> Marks<'b, N> {
    fn new(bytes: &'b [u8], wanted: [u8; N]) -> Marks<'b, N> {
        let mut marks = Marks { bytes, wanted: wanted.map(u8x64::splat), base: 0, bits: 0 };
        marks.look();
        marks
    }

    /// Compares the bytes from `base` on.
    #[inline]
    fn look(&mut self) {
        let rest = &self.bytes[self.base.min(self.bytes.len())..];
        self.bits = match rest.first_chunk::<WIDTH>() {
            Some(chunk) => self.compare(chunk),
            None => {
                let mut chunk = [0; WIDTH];
                chunk[..rest.len()].copy_from_slice(rest);
                // What lies behind the end may be a byte that is looked for.
                self.compare(&chunk) & ((1_u64 << rest.len()) - 1)
            }
        };
    }

    #[inline]
    fn compare(&self, chunk: &[u8; WIDTH]) -> u64 {
        let chunk = u8x64::new(*chunk);
        self.wanted.iter().fold(0, |bits, wanted| bits | chunk.simd_eq(*wanted).to_bitmask())
    }
}

impl<const N: usize> Iterator for Marks<'_, N> {
    type Item = usize;

    // Called for each field: a call would cost as much as what it does.
    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        while self.bits == 0 {
            self.base += WIDTH;
            if self.base >= self.bytes.len() {
                // Stays behind the end, however often it is called.
                self.base = self.bytes.len();
                return None;
            }
            self.look();
        }
        let at = self.base + self.bits.trailing_zeros() as usize;
        self.bits &= self.bits - 1;
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DIALECT: Dialect = Dialect {
        delimiter: b',',
        quote: Some(b'"'),
        comment: None,
        trim: false,
        quotes: Quotes::Strict,
    };
    const TRIM: Dialect = Dialect { trim: true, ..DIALECT };
    const LENIENT: Dialect = Dialect { quotes: Quotes::Lenient, ..DIALECT };
    const DOUBTFUL: Dialect = Dialect { quotes: Quotes::Doubtful, delimiter: b'\t', ..DIALECT };

    fn records(text: &[u8]) -> Vec<String> {
        records_of(text, DIALECT)
    }

    /// Returns every record of a text, in which `|` shows where fields were divided; problems in brackets.
    fn records_of(text: &[u8], dialect: Dialect) -> Vec<String> {
        let (mut records, mut fields, mut found) =
            (Records::new(text, dialect), Vec::new(), Vec::new());
        let shown = |field: &Field| String::from_utf8_lossy(&text[field.range()]).into_owned();
        while let Some(record) = records.next(&mut fields) {
            found.push(match record {
                Record::Whole(_) => fields.iter().map(shown).collect::<Vec<_>>().join("|"),
                Record::Broken { field, reason, .. } => format!("[{field}: {reason}]"),
            });
            fields.clear();
        }
        found
    }

    #[test]
    fn records_are_divided_as_the_rules_say() {
        assert_eq!(records(b"a,b\nc,d"), ["a|b", "c|d"]);
        assert_eq!(records(b"a,\r\n,b\r\n\r\n"), ["a|", "|b"]);
        assert_eq!(records(b"\"a,\nb\",\"\"\n"), ["a,\nb|"]);
        assert_eq!(records(b"\"say \"\"hi\"\"\",5\" disk\n"), ["say \"\"hi\"\"|5\" disk"]);
        assert_eq!(records(b"old\rmac\r"), ["old", "mac"]);
        assert_eq!(records(b"a,"), ["a|"]);
        assert_eq!(records(b"\n\n"), [""; 0]);
    }

    #[test]
    fn broken_records_are_told_and_reading_goes_on_behind_them() {
        assert_eq!(records(b"a,\"b\"c\nd,e\n"), ["[1: text follows a closing quote]", "d|e"]);
        assert_eq!(records(b"a,\"b\nc"), ["[1: a quote is never closed]"]);
    }

    #[test]
    fn blanks_around_fields_and_quotes_are_trimmed() {
        let text = b"a , b,\t\"c, d\" ,e \n \"x\"\t\n ,\n";
        assert_eq!(records_of(text, TRIM), ["a|b|c, d|e", "x", "|"]);
        let tabs = Dialect { delimiter: b'\t', ..TRIM };
        assert_eq!(records_of(b"a \t\t \"b\tc\"\n", tabs), ["a||b\tc"]);
    }

    #[test]
    fn quotes_that_end_nothing_are_characters_to_the_lenient() {
        let text = b"\"He said \"hi\"\",2\n\"a \"\"b\"\"\",\"\"c\"\n\"open,3\n";
        assert_eq!(
            records_of(text, LENIENT),
            ["He said \"hi\"|2", "a \"\"b\"\"|\"c", "[0: a quote is never closed]"]
        );
    }

    #[test]
    fn a_quoted_field_that_may_hold_the_end_of_a_row_is_broken_where_nobody_named_the_quote() {
        let text = b"1\t\"Star\t1990\n2\tMoon\"\t1991\n3\t\"two\nlines\"\t\"a\tb\"\n";
        assert_eq!(
            records_of(text, DOUBTFUL),
            ["[1: a quote opens a field that goes on in the next row]", "3|two\nlines|a\tb"]
        );
    }

    #[test]
    fn a_text_is_cut_behind_its_last_whole_record() {
        let cut = |text: &str| cut(text.as_bytes(), DIALECT);
        assert_eq!(cut("a,b\nc,d\ne"), 8);
        assert_eq!(cut("a,b"), 0);
        assert_eq!(cut("a\n\"b\nc"), 2);
        assert_eq!(cut("a\n\"b\n\"\"c\""), 2);
        assert_eq!(cut("a\n\"b\n\",\nd"), 8);
        assert_eq!(cut("5\" disk\n6\" disk\n"), 16);
        assert_eq!(cut("\"a\"x\n\"b\n"), 5);
    }

    proptest! {
        /// Wherever the text happens to be cut, the records are the same, and a cut is never too early
        /// to get on.
        #[test]
        fn cutting_changes_nothing(
            text in "[a, \t\"\n\r]{0,40}",
            end in 0_usize..40,
            dialect in prop::sample::select(vec![DIALECT, TRIM, LENIENT, DOUBTFUL]),
        ) {
            let bytes = text.as_bytes();
            let end = end.min(bytes.len());
            let at = cut(&bytes[..end], dialect);
            let mut parts = records_of(&bytes[..at], dialect);
            parts.extend(records_of(&bytes[at..], dialect));
            prop_assert_eq!(parts, records_of(bytes, dialect));
        }

        /// Whatever the `csv` crate writes is read back.
        #[test]
        fn what_another_writes_is_read_back(
            rows in prop::collection::vec(prop::collection::vec("[a,\"\n\r é]{0,4}", 2), 1..60),
        ) {
            let mut writer = csv::WriterBuilder::new().quote_style(csv::QuoteStyle::Always).from_writer(Vec::new());
            for row in &rows {
                writer.write_record(row).unwrap();
            }
            let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
            let (mut records, mut fields, mut found) =
                (Records::new(text.as_bytes(), DIALECT), Vec::new(), Vec::new());
            while let Some(record) = records.next(&mut fields) {
                prop_assert!(matches!(record, Record::Whole(_)));
                found.push(fields.drain(..).map(|f| text[f.range()].replace("\"\"", "\"")).collect::<Vec<_>>());
            }
            prop_assert_eq!(found, rows);
        }
    }

    proptest! {
        #[test]
        fn the_places_are_those_that_a_plain_search_finds(
            bytes in prop::collection::vec(0_u8..6, 0..300),
        ) {
            let found: Vec<usize> = Marks::new(&bytes, [0, 3]).collect();
            let known: Vec<usize> = (0..bytes.len()).filter(|at| [0, 3].contains(&bytes[*at])).collect();
            prop_assert_eq!(found, known);
        }
    }

    #[test]
    fn nothing_is_found_in_nothing() {
        let mut marks = Marks::new(&[], [0]);
        assert_eq!((marks.next(), marks.next()), (None, None));
    }
}
