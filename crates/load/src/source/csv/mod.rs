//! CSV, TSV and their kin.

mod parse;
pub(crate) mod scan;

use std::ops::RangeInclusive;
use std::sync::atomic::AtomicBool;

use super::Input;
use super::infer::{ColumnKind, Kind};
use super::text::{Text, TextSource};
use crate::error::{LoadError, Result};
use crate::sql::same;
pub use parse::Reader;
use parse::unescaped;
use scan::{Dialect, Field, Quoting, Record, Records};

/// How a CSV file is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvOptions {
    /// The byte between fields; none to detect it from the first line: the most frequent of comma, tab,
    /// semicolon and `|`.
    pub delimiter: Option<u8>,
    /// Whether a tab divides fields where the first line has one or no delimiter at all, as in a file
    /// called `.tsv`.
    pub prefers_tab: bool,
    /// The byte around fields that hold delimiters or line ends, doubled within them; `None` if
    /// quotes mean nothing.
    pub quote: Option<u8>,
    /// Whether the first line has the names of the columns; otherwise they are `column1`, `column2`, ….
    pub header: bool,
    /// Lines before the header, or before the first row, that are passed over.
    pub skip_lines: u64,
    /// The first byte of comment lines, which are passed over; `None` if there are no comments. Within a quoted
    /// field it means nothing.
    pub comment: Option<u8>,
    /// The text that means NULL, unless it is in quotes; the empty text by default.
    pub null: String,
}

impl Default for CsvOptions {
    fn default() -> CsvOptions {
        CsvOptions {
            delimiter: None,
            prefers_tab: false,
            quote: Some(b'"'),
            header: true,
            skip_lines: 0,
            comment: None,
            null: String::new(),
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
        let (mut text, reader) = read_header(input?, options)?;
        let whole = text.whole(&reader)?;
        let mut kinds = vec![ColumnKind::UNKNOWN; reader.names.len()];
        reader.sample(&text.bytes()[..whole], 1..=SAMPLE_ROWS, &mut kinds);
        let columns = reader.names.iter().cloned().zip(kinds).collect();
        let mut source = TextSource::new(text, reader, columns);
        source.info.is_named = header;
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
    let input = text.input();
    let (input, encoding) = (input.name().to_owned(), input.encoding());
    let quote = options.quote;
    let mut reader = Reader {
        input,
        dialect: Dialect {
            delimiter: options
                .delimiter
                .unwrap_or_else(|| guess_delimiter(text.bytes(), quote, options.prefers_tab)),
            quote,
            comment: options.comment,
        },
        null: options.null.into_bytes(),
        names: Vec::new(),
        affinities: Vec::new(),
        typing: Vec::new(),
        encoding,
    };
    reader.check_dialect()?;
    let whole = text.whole(&reader)?;
    let header = reader.read_names(&text.bytes()[..whole], options.header)?;
    text.skip(header);
    Ok((text, reader))
}

/// Passes over this number of lines, and over comment lines behind them.
fn pass(text: &mut Text, lines: u64, comment: Option<u8>) -> Result<()> {
    for _ in 0..lines {
        text.skip_line()?;
    }
    while comment.is_some() && text.bytes().first().copied() == comment {
        text.skip_line()?;
    }
    Ok(())
}

impl Reader {
    fn wrong(&self, reason: impl Into<String>) -> LoadError {
        LoadError::form(&self.input, reason.into())
    }

    fn check_dialect(&self) -> Result<()> {
        let Dialect { delimiter, quote, comment } = self.dialect;
        let divides = |byte: u8| byte.is_ascii() && !matches!(byte, b'\n' | b'\r');
        if !divides(delimiter) || !quote.is_none_or(divides) || !comment.is_none_or(divides) {
            return Err(LoadError::Definition(
                "delimiter, quote and comment must be ASCII characters other than line ends"
                    .to_owned(),
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

    /// Reads the names of the columns, from the header or as numbers, and returns the length of the
    /// header. A name that is empty or comes twice is made unique.
    fn read_names(&mut self, bytes: &[u8], header: bool) -> Result<usize> {
        let mut records = Records::new(bytes, self.dialect);
        let mut fields = Vec::new();
        match records.next(&mut fields) {
            Some(Record::Whole(_)) => {}
            Some(Record::Broken { reason, .. }) => {
                return Err(self.wrong(format!("the first line: {reason}")));
            }
            None => return Err(self.wrong("every line is empty")),
        }
        if !header {
            self.names = (1..=fields.len()).map(|n| format!("column{n}")).collect();
            return Ok(0);
        }
        for (number, field) in fields.iter().enumerate() {
            let name = std::str::from_utf8(&unescaped(bytes, *field, self.dialect))
                .map_err(|_| LoadError::HeaderEncoding {
                    input: self.input.clone(),
                    encoding: self.encoding,
                })?
                .trim()
                .to_owned();
            if name.contains('\0') {
                return Err(self.wrong("the header holds a NUL byte"));
            }
            let wanted = if name.is_empty() { format!("column{}", number + 1) } else { name };
            let name = unique(&self.names, wanted);
            self.names.push(name);
        }
        Ok(records.at())
    }

    /// Adds the values of rows, as many as have these numbers, to what is known of the columns; returns how many
    /// rows there are.
    fn sample(&self, bytes: &[u8], numbers: RangeInclusive<u64>, kinds: &mut [ColumnKind]) -> u64 {
        let mut records = Records::new(bytes, self.dialect);
        let mut fields = Vec::new();
        let mut rows = 0;
        for row in numbers {
            fields.clear();
            if records.next(&mut fields).is_none() {
                break;
            }
            rows += 1;
            if fields.len() != kinds.len() {
                continue;
            }
            for (kind, field) in kinds.iter_mut().zip(&fields) {
                if !self.is_null(bytes, *field) {
                    let value = unescaped(bytes, *field, self.dialect);
                    kind.add(Kind::of(&value), row, &value);
                }
            }
        }
        rows
    }

    #[inline]
    fn is_null(&self, bytes: &[u8], field: Field) -> bool {
        field.quoting == Quoting::Plain && bytes[field.range()] == *self.null
    }
}

/// Returns the delimiter that is most frequent in the first line that is not empty, outside of quotes.
fn guess_delimiter(beginning: &[u8], quote: Option<u8>, prefers_tab: bool) -> u8 {
    let mut counts = [(b',', 0), (b'\t', 0), (b';', 0), (b'|', 0)];
    let mut within_quotes = false;
    let is_end = |byte: &&u8| matches!(byte, b'\n' | b'\r');
    for byte in beginning.iter().skip_while(is_end) {
        if Some(*byte) == quote {
            within_quotes = !within_quotes;
        } else if !within_quotes {
            if is_end(&byte) {
                break;
            }
            if let Some((_, count)) = counts.iter_mut().find(|(known, _)| known == byte) {
                *count += 1;
            }
        }
    }
    if prefers_tab && (counts[1].1 > 0 || counts.iter().all(|(_, count)| *count == 0)) {
        return b'\t';
    }
    // The first of the equally frequent ones.
    counts.iter().rev().max_by_key(|(_, count)| *count).map_or(b',', |(byte, _)| *byte)
}

fn unique(names: &[String], wanted: String) -> String {
    let taken = |name: &str| names.iter().any(|known| same(known, name));
    if !taken(&wanted) {
        return wanted;
    }
    (2..).map(|number| format!("{wanted}_{number}")).find(|name| !taken(name)).unwrap_or(wanted)
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
        let source = open("1\t2\n", CsvOptions { header: false, ..CsvOptions::default() });
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
        let options = CsvOptions { null: "NA".to_owned(), ..CsvOptions::default() };
        let mut source = open("a\nNA\n\"NA\"\n\"\"\n", options);
        source.begin(ReadOptions::new([Affinity::Text]));
        let batch = source.next().unwrap().unwrap();
        let nulls: Vec<bool> = (0..3).map(|row| batch.rows.column(0).is_null(row)).collect();
        assert_eq!(nulls, [true, false, false]);
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
