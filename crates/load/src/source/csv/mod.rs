//! CSV, TSV and their kin.

mod doubts;
mod layout;
mod parse;
pub(crate) mod scan;

use std::ops::RangeInclusive;
use std::sync::atomic::AtomicBool;

use super::Input;
use super::infer::{ColumnKind, Kind};
use super::notes::Notes;
use super::number_form::NumberForm;
use super::text::{Text, TextSource};
use crate::error::{LoadError, Result};
use crate::sql::unique;
use layout::{Layout, guess_delimiter, has_blanks, layout, named_delimiter, ruler};
pub use parse::Reader;
use parse::unescaped;
use scan::{Dialect, Field, Quotes, Quoting, Record, Records};

/// How a CSV file is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvOptions {
    /// The byte between fields; none to detect it: the most frequent of comma, tab, semicolon and `|` in the first line,
    /// unless the rows agree on another one.
    pub delimiter: Option<u8>,
    /// Whether a tab divides fields where the first line has one or no delimiter at all, as in a file
    /// called `.tsv`.
    pub prefers_tab: bool,
    /// The byte around fields that hold delimiters or line ends, doubled within them; `None` if
    /// quotes mean nothing.
    pub quote: Option<u8>,
    /// Whether the quote is certain. Otherwise a quoted field between tabs that goes on in another row is an error.
    pub is_quote_known: bool,
    /// Lines with the names of the columns, which are joined; without any they are `column1`, `column2`, ….
    pub header: usize,
    /// Lines before the header, or before the first row, that are passed over.
    pub skip_lines: u64,
    /// Lines behind the last row that are passed over.
    pub skip_last: usize,
    /// Whether a line that names the delimiter, a preamble, a last line that counts the rows, and nameless columns without a
    /// value at the end are left out.
    pub finds_rows: bool,
    /// Whether blanks around fields, also around quotes, belong to no field.
    pub trim: bool,
    /// Whether rows are mended: short ones are filled with NULL, further values of long ones go into a column of
    /// their own, and quotes that end nothing are characters.
    pub lenient: bool,
    /// How numbers are written, if not as SQLite writes them.
    pub number: Option<NumberForm>,
    /// The first byte of comment lines, which are passed over; `None` if there are no comments. Within a quoted
    /// field it means nothing.
    pub comment: Option<u8>,
    /// The texts that mean NULL, unless they are in quotes; the empty text by default.
    pub null: Vec<String>,
}

impl Default for CsvOptions {
    fn default() -> CsvOptions {
        CsvOptions {
            delimiter: None,
            prefers_tab: false,
            quote: Some(b'"'),
            is_quote_known: false,
            header: 1,
            skip_lines: 0,
            skip_last: 0,
            finds_rows: true,
            trim: false,
            lenient: false,
            number: None,
            comment: None,
            null: vec![String::new()],
        }
    }
}

/// Rows from which the types of columns are inferred, if they lie in what was read first.
const SAMPLE_ROWS: u64 = 10_000;

/// A reader of CSV.
pub type CsvSource = TextSource<Reader>;

impl TextSource<Reader> {
    /// Reads the beginning of an input: the names of the columns, and the types that the first ten
    /// thousand rows suggest (`INTEGER`, `REAL` or `TEXT`; numbers with leading zeros are text).
    ///
    /// # Errors
    /// The input cannot be read, is empty, is not in its encoding or has a broken header; or the
    /// options contradict one another.
    pub fn open(input: Result<Input>, options: CsvOptions) -> Result<CsvSource> {
        let header = options.header;
        let (mut text, mut reader) = read_header(input?, options)?;
        let whole = text.whole(&reader)?;
        let mut kinds = vec![ColumnKind::UNKNOWN; reader.names.len()];
        reader.sample(&text.bytes[..whole], 1..=SAMPLE_ROWS, &mut kinds);
        reader.doubt(&text.bytes[..whole], &kinds);
        let columns = reader.names.iter().cloned().zip(kinds).collect();
        let notes = reader.notes.clone();
        let mut source = TextSource::new(text, reader, columns);
        source.info.is_named = header > 0;
        source.info.notes = notes;
        Ok(source)
    }

    /// Reads the whole input, until `stop`, and returns what the values of each column are.
    pub(super) fn kinds_of_all(
        input: Input,
        options: CsvOptions,
        stop: &AtomicBool,
    ) -> Result<Vec<ColumnKind>> {
        let (mut text, reader) = read_header(input, options)?;
        let mut kinds = vec![ColumnKind::UNKNOWN; reader.names.len()];
        let mut rows = 0;
        text.for_each_block(&reader, stop, |block| {
            rows += reader.sample(block, rows + 1..=u64::MAX, &mut kinds);
        })?;
        Ok(kinds)
    }
}

/// Returns the rows of a text, and how to read them.
fn read_header(input: Input, options: CsvOptions) -> Result<(Text, Reader)> {
    let mut text = Text::open(input)?;
    pass(&mut text, options.skip_lines, options.comment)?;
    let notes = Notes::default();
    let named = named_delimiter(&text.bytes).filter(|_| options.finds_rows);
    if named.is_some() {
        pass(&mut text, 1, options.comment)?;
        notes.fact("skipped: the first line, which names the delimiter");
    }
    let finds_rows = options.finds_rows;
    let pass_ruler = |text: &mut Text, delimiter: u8, notes: &Notes| {
        let length = if finds_rows { ruler(&text.bytes, delimiter) } else { 0 };
        text.skip(length);
        if length > 0 {
            notes.fact("skipped: a line of dashes next to the header");
        }
    };
    pass_ruler(&mut text, b'+', &notes);
    let quote = options.quote;
    let known = options.delimiter.or(named);
    let guess = || guess_delimiter(&text.bytes, quote, options.prefers_tab);
    let first = options.dialect(known.unwrap_or_else(guess));
    check_dialect(first)?;
    let found = if options.finds_rows {
        layout(&text.bytes, first, known.is_some())
    } else {
        Layout { delimiter: first.delimiter, begin: 0 }
    };
    note_preamble(&text.bytes[..found.begin], &notes);
    text.skip(found.begin);
    let input = &text.input;
    let mut reader = Reader {
        input: input.name.to_owned(),
        dialect: options.dialect(found.delimiter),
        longest_null: options.null.iter().map(String::len).max().unwrap_or(0),
        options,
        names: Vec::new(),
        further: 0,
        header_line: Vec::new(),
        has_blanks: false,
        truth_values: Vec::new(),
        columns: Vec::new(),
        encoding: input.encoding(),
        notes,
    };
    reader.has_blanks = !reader.dialect.trim && has_blanks(&text.bytes, reader.dialect);
    let whole = text.whole(&reader)?;
    reader.doubt_encoding(&text.bytes);
    let header = reader.read_names(&text.bytes[..whole])?;
    text.skip(header);
    if header > 0 {
        pass_ruler(&mut text, reader.dialect.delimiter, &reader.notes);
    }
    text.end(&reader);
    reader.find_columns(&text.bytes);
    reader.note_form();
    Ok((text, reader))
}

fn note_preamble(preamble: &[u8], notes: &Notes) {
    let text = String::from_utf8_lossy(preamble);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    if let Some(first) = lines.first() {
        let first: String = first.chars().take(LONGEST_SHOWN).collect();
        let what = plural(lines.len(), "line");
        notes.fact(format!("skipped: {what} before the header, from `{first}` on"));
    }
}

/// Returns this number of things.
fn plural(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// Characters of a line that a note repeats.
const LONGEST_SHOWN: usize = 60;

/// Passes over this number of lines, and over comment lines behind them.
fn pass(text: &mut Text, lines: u64, comment: Option<u8>) -> Result<()> {
    for _ in 0..lines {
        text.skip_line()?;
    }
    while comment.is_some() && text.bytes.first().copied() == comment {
        text.skip_line()?;
    }
    Ok(())
}

impl CsvOptions {
    fn dialect(&self, delimiter: u8) -> Dialect {
        let quotes = match (self.lenient, delimiter) {
            (true, _) => Quotes::Lenient,
            (false, b'\t') if !self.is_quote_known => Quotes::Doubtful,
            (false, _) => Quotes::Strict,
        };
        Dialect { delimiter, quote: self.quote, comment: self.comment, trim: self.trim, quotes }
    }
}

fn check_dialect(dialect: Dialect) -> Result<()> {
    let Dialect { delimiter, quote, comment, .. } = dialect;
    let divides = |byte: u8| byte.is_ascii() && !matches!(byte, b'\n' | b'\r');
    if !divides(delimiter) || !quote.is_none_or(divides) || !comment.is_none_or(divides) {
        return Err(LoadError::Definition(
            "delimiter, quote and comment must be ASCII characters other than line ends".to_owned(),
        ));
    }
    let is_twice = quote.is_some() && quote == comment;
    if is_twice || [quote, comment].contains(&Some(delimiter)) {
        return Err(LoadError::Definition(
            "two of delimiter, quote and comment are the same character".to_owned(),
        ));
    }
    Ok(())
}

/// The column of the values that rows have too many.
const FURTHER: &str = "further_values";

impl Reader {
    fn wrong(&self, reason: impl Into<String>) -> LoadError {
        LoadError::form(&self.input, reason.into())
    }

    /// Reads the names of the columns, from lines of a header or as numbers, and returns the length of the
    /// header. A name that is empty or comes twice is made unique.
    fn read_names(&mut self, bytes: &[u8]) -> Result<usize> {
        let lines = self.options.header;
        let mut records = Records::new(bytes, self.dialect);
        let mut fields = Vec::new();
        let mut parts: Vec<Vec<String>> = Vec::new();
        for line in 0..lines.max(1) {
            fields.clear();
            match records.next(&mut fields) {
                Some(Record::Whole(range)) if lines > 0 => {
                    self.header_line = bytes[range].trim_ascii_end().to_vec();
                }
                Some(Record::Whole(_)) => {}
                Some(Record::Broken { reason, .. }) => {
                    return Err(self.wrong(format!("the first line: {reason}")));
                }
                None if line == 0 => return Err(self.wrong("every line is empty")),
                None => return Err(self.wrong(format!("it has fewer than {lines} lines"))),
            }
            let texts: Result<Vec<String>> =
                fields.iter().map(|field| self.header_text(bytes, *field)).collect();
            parts.push(texts?);
        }
        let columns = parts.iter().map(Vec::len).max().unwrap_or(0);
        if lines == 0 {
            self.names = (1..=columns).map(|n| format!("column{n}")).collect();
            return Ok(0);
        }
        for (number, name) in joined(&parts, columns).into_iter().enumerate() {
            let wanted = if name.is_empty() { format!("column{}", number + 1) } else { name };
            let name = unique(&self.names, wanted);
            self.names.push(name);
        }
        // Nameless columns at the end, unless there is none but them.
        let is_nameless =
            |at: &usize| parts.iter().all(|line| line.get(*at).is_none_or(String::is_empty));
        self.further = (1..columns).rev().take_while(is_nameless).count();
        Ok(records.at)
    }

    /// Returns a field of the header.
    fn header_text(&self, bytes: &[u8], field: Field) -> Result<String> {
        let bytes = unescaped(bytes, field, self.dialect);
        let Ok(text) = std::str::from_utf8(&bytes) else {
            let (input, encoding) = (self.input.clone(), self.encoding);
            return Err(LoadError::HeaderEncoding(input, encoding));
        };
        if text.contains('\0') {
            Err(self.wrong("the header holds a NUL byte"))
        } else {
            Ok(text.trim().to_owned())
        }
    }

    /// Leaves out nameless columns at the end in which the first rows have no value; delimiters that end all of the rows
    /// are such a column too.
    fn find_columns(&mut self, bytes: &[u8]) {
        let nameless = std::mem::take(&mut self.further);
        if self.options.finds_rows && self.options.header > 0 {
            let named = self.names.len() - nameless;
            let mut records = Records::new(bytes, self.dialect);
            let (mut fields, mut rows, mut further) = (Vec::new(), 0, nameless.max(1));
            while rows < SAMPLE_ROWS && records.next(&mut fields).is_some() {
                let behind = fields.get(named..).unwrap_or_default();
                if behind.iter().any(|field| !self.is_null(bytes, *field)) {
                    further = 0;
                    break;
                }
                further = if nameless == 0 && behind.len() != 1 { 0 } else { further };
                fields.clear();
                rows += 1;
            }
            if rows > 0 && further > 0 {
                self.names.truncate(named);
                self.further = further;
            }
        }
        if self.options.lenient {
            let name = unique(&self.names, FURTHER.to_owned());
            self.names.push(name);
        }
    }

    /// Returns how many columns the rows have.
    pub(super) fn width(&self) -> usize {
        self.names.len() - usize::from(self.options.lenient)
    }

    /// Notes how the text is written.
    fn note_form(&self) {
        let Dialect { delimiter, quote, trim, .. } = self.dialect;
        let character = |byte: u8| match byte {
            b'\t' => "tab".to_owned(),
            byte if byte.is_ascii_control() => format!("`\\x{byte:02x}`"),
            byte => format!("`{}`", char::from(byte)),
        };
        let mut form = format!("CSV, {}, delimiter {}", self.encoding, character(delimiter));
        form += &quote
            .map_or(", no quotes".to_owned(), |quote| format!(", quote {}", character(quote)));
        form += &match self.options.header {
            0 => ", no header".to_owned(),
            1 => String::new(),
            lines => format!(", {lines} header lines"),
        };
        form += if trim { ", trimmed" } else { "" };
        form += &self
            .options
            .number
            .map_or_else(String::new, |number| format!(", numbers as {number}"));
        form += if self.further > 0 { ", empty last column left out" } else { "" };
        self.notes.fact(format!("input: {form}"));
        if self.has_blanks {
            self.notes.warn("blanks stand next to every delimiter and are part of the values; --trim takes them away");
        }
    }

    /// Adds the values of rows, as many as have these numbers, to what is known of the columns; returns how many
    /// rows there are.
    fn sample(&self, bytes: &[u8], numbers: RangeInclusive<u64>, kinds: &mut [ColumnKind]) -> u64 {
        let mut records = Records::new(bytes, self.dialect);
        let mut fields = Vec::new();
        let mut rows = 0;
        for row in numbers {
            fields.clear();
            let Some(record) = records.next(&mut fields) else { break };
            rows += 1;
            let Record::Whole(range) = record else { continue };
            if self.fit(bytes, &mut fields, 0..range.end).is_err() {
                continue;
            }
            for (kind, field) in kinds.iter_mut().zip(&fields) {
                if !self.is_null(bytes, *field) {
                    let value = unescaped(bytes, *field, self.dialect);
                    self.add(kind, row, &value);
                }
            }
        }
        if let Some(further) = kinds.last_mut().filter(|_| self.options.lenient) {
            further.kind = Kind::Text;
        }
        rows
    }

    /// Adds a value to what is known of its column.
    fn add(&self, kind: &mut ColumnKind, row: u64, value: &[u8]) {
        match &self.options.number {
            None => kind.add(Kind::of(value), row, value),
            Some(form) => {
                let number = form.plain(value);
                kind.add(number.map_or(Kind::Text, |number| Kind::of(&number)), row, value);
            }
        }
    }

    #[inline]
    fn is_null(&self, bytes: &[u8], field: Field) -> bool {
        match field.quoting {
            // Few values are as short as that.
            Quoting::Plain if field.range().len() > self.longest_null => false,
            Quoting::Plain => {
                let text = &bytes[field.range()];
                self.options.null.iter().any(|null| text == null.as_bytes())
            }
            Quoting::Absent => true,
            Quoting::Quoted if field.range().is_empty() => {
                self.options.null.iter().any(|null| null == QUOTED_EMPTY)
            }
            Quoting::Quoted | Quoting::Doubled => false,
        }
    }
}

/// An empty text in quotes, as a word for NULL.
const QUOTED_EMPTY: &str = "\"\"";

/// Returns the names that several lines of a header give: parts are joined, and a part holds for empty fields to the right of
/// it, as in merged cells, except in the last line.
fn joined(lines: &[Vec<String>], columns: usize) -> Vec<String> {
    let mut names = vec![String::new(); columns];
    for (number, line) in lines.iter().enumerate() {
        let is_last = number + 1 == lines.len();
        let mut latest = "";
        for (at, name) in names.iter_mut().enumerate() {
            let part = line.get(at).map_or("", String::as_str);
            latest = if part.is_empty() && !is_last { latest } else { part };
            *name = format!("{name} {latest}").trim().to_owned();
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;
    use crate::affinity::Affinity;
    use crate::source::ReadOptions;
    use crate::table::Column;
    use arrow_array::Array;
    use arrow_schema::DataType;

    fn open(text: &str, options: CsvOptions) -> CsvSource {
        CsvSource::open(Input::from_bytes("test", text.as_bytes().to_vec()), options).unwrap()
    }

    fn columns(source: &CsvSource) -> Vec<String> {
        let shown = |column: &Column| format!("{} {}", column.name, column.declared);
        source.columns().iter().map(shown).collect()
    }

    #[test]
    fn names_and_types_come_from_the_beginning() {
        let text = "\u{feff}id;name;price;zip;;Name\n1;a;1.5;01234;;x\n-2;;3;99999;;\n";
        let source = open(text, CsvOptions::default());
        assert_eq!(
            columns(&source),
            ["id INTEGER", "name TEXT", "price REAL", "zip TEXT", "column5 TEXT", "Name_2 TEXT"]
        );
        let source = open("1\t2\n", CsvOptions { header: 0, ..CsvOptions::default() });
        assert_eq!(columns(&source), ["column1 INTEGER", "column2 INTEGER"]);
        let source = open("\n\r\na;b\n1;2\n", CsvOptions::default());
        assert_eq!(columns(&source), ["a INTEGER", "b INTEGER"]);
    }

    #[test]
    fn malformed_rows_are_named_and_the_others_kept() {
        let mut text = b"a,b\n1,2\n3\n4,\"x\"y\n5,\xff\n6,7\n".to_vec();
        text.extend_from_slice(b"8,\"open");
        let mut source =
            CsvSource::open(Input::from_bytes("test", text), CsvOptions::default()).unwrap();
        source.begin(ReadOptions::new([Affinity::Integer, Affinity::Text]));
        let batch = source.next().unwrap().unwrap();
        assert_eq!(batch.rows.num_rows(), 2);
        assert_eq!([0, 1].map(|index| batch.numbers.number(index)), [1, 5]);
        let messages: Vec<String> = batch
            .malformed
            .iter()
            .map(|bad| format!("{} {:?} {}", bad.row, bad.column, bad.fault))
            .collect();
        assert_eq!(
            messages,
            [
                "2 None it has 1 field instead of 2",
                "3 Some(\"b\") text follows a closing quote",
                "4 Some(\"b\") it is not valid UTF-8",
                "6 Some(\"b\") a quote is never closed",
            ]
        );
        assert!(source.next().unwrap().is_none());
    }

    #[test]
    fn a_column_that_stops_being_numbers_becomes_text() {
        let mut source = open("a,b\n007,1.50\n,\nx,1e400\n", CsvOptions::default());
        source.begin(ReadOptions::new([Affinity::Integer, Affinity::Real]));
        let batch = source.next().unwrap().unwrap();
        let texts = |number: usize| -> Vec<Option<String>> {
            let array = batch.rows.column(number);
            assert_eq!(array.data_type(), &DataType::Utf8);
            use arrow_array::cast::AsArray;
            array.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(texts(0), [some("007"), None, some("x")]);
        assert_eq!(texts(1), [some("1.50"), None, some("1e400")]);
    }

    #[test]
    fn records_longer_than_a_block_are_read() {
        let long = "x".repeat(3 << 20);
        let mut source = open(&format!("a,b\n\"{long}\n\",1\n2,3\n"), CsvOptions::default());
        source.begin(ReadOptions::new([Affinity::Text, Affinity::Integer]));
        let mut rows = 0;
        while let Some(batch) = source.next().unwrap() {
            rows += batch.rows.num_rows();
            assert!(batch.malformed.is_empty());
        }
        assert_eq!(rows, 2);
    }

    #[test]
    fn only_an_unquoted_field_is_null() {
        let options =
            CsvOptions { null: ["NA", "-"].map(str::to_owned).to_vec(), ..CsvOptions::default() };
        let mut source = open("a\nNA\n\"NA\"\n\"\"\n-\n", options);
        source.begin(ReadOptions::new([Affinity::Text]));
        let batch = source.next().unwrap().unwrap();
        let nulls: Vec<bool> = (0..4).map(|row| batch.rows.column(0).is_null(row)).collect();
        assert_eq!(nulls, [true, false, false, true]);
    }

    #[test]
    fn lines_before_the_header_and_comments_are_passed_over() {
        let options = CsvOptions { skip_lines: 2, comment: Some(b'#'), ..CsvOptions::default() };
        let long = "x".repeat(3 << 20);
        let text = format!(
            "A \"report\r\n{long}\r\n# comma, \"quote\r\na;b\r\n#\r\n\r\n1;x#\r\n# a;\"b\n2;\"\n# no comment\n\"\n#end"
        );
        let mut source = open(&text, options.clone());
        assert_eq!(columns(&source), ["a INTEGER", "b TEXT"]);
        source.begin(ReadOptions::new([Affinity::Integer, Affinity::Text]));
        let batch = source.next().unwrap().unwrap();
        assert!(batch.malformed.is_empty(), "{:?}", batch.malformed);
        use arrow_array::cast::AsArray;
        let texts: Vec<_> = batch.rows.column(1).as_string::<i32>().iter().collect();
        assert_eq!(texts, [Some("x#"), Some("\n# no comment\n")]);
        assert_eq!([0, 1].map(|index| batch.numbers.number(index)), [1, 2]);
        // A comment with an open quote at the end of a block does not take what follows into it.
        let mut lines = "a;b\n".to_owned();
        for number in 0..100_000 {
            lines += &format!("{number};x\n# ;\"open\n");
        }
        let mut source = open(&format!("\n\n{lines}"), options);
        source.begin(ReadOptions::new([Affinity::Integer, Affinity::Text]));
        let mut rows = 0;
        while let Some(batch) = source.next().unwrap() {
            assert!(batch.malformed.is_empty());
            rows += batch.rows.num_rows();
        }
        assert_eq!(rows, 100_000);
    }

    #[test]
    fn what_is_no_csv_is_refused() {
        let refused = |bytes: &[u8]| {
            CsvSource::open(Input::from_bytes("test", bytes.to_vec()), CsvOptions::default())
                .err()
                .unwrap()
                .to_string()
        };
        assert!(refused(b"").contains("empty"));
        assert!(refused(b"\n\n").contains("every line is empty"));
        assert!(refused(b"a\xff,b\n").contains("header is not valid UTF-8"));
        assert!(refused(b"\"a\"b\n").contains("closing quote"));
    }

    #[test]
    fn compressed_input_is_read_as_if_it_were_not() {
        use std::io::Write;
        let text = b"a,b\n1,2\n".to_vec();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&text).unwrap();
        let zstd = zstd::encode_all(&text[..], 1).unwrap();
        for bytes in [text, gzip.finish().unwrap(), zstd] {
            let mut source =
                CsvSource::open(Input::from_bytes("test", bytes), CsvOptions::default()).unwrap();
            assert_eq!(source.next().unwrap().unwrap().rows.num_rows(), 1);
        }
    }
}
