//! CSV, TSV and their kin.

use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field as ArrowField, Schema};
use std::borrow::Cow;
use std::sync::Arc;

use super::infer::{Kind, integer, short_decimal};
use super::scan::{Dialect, Field, Scanned, scan};
use super::{Input, Source, SourceColumn};
use crate::affinity::Affinity;
use crate::batch::{Batch, Malformed, RowNumbers};
use crate::error::LoadError;
use crate::table::{Column, same};

/// How a CSV file is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvOptions {
    /// The byte between fields; none to tell it from the first line: the most frequent of comma, tab,
    /// semicolon and `|`.
    pub delimiter: Option<u8>,
    /// The byte around fields that hold delimiters or line ends, doubled within them; none where
    /// quotes mean nothing.
    pub quote: Option<u8>,
    /// Whether the first line has the names of the columns; otherwise they are `column1`, `column2`, ….
    pub header: bool,
    /// What stands for NULL, unless it is in quotes; nothing by default.
    pub null: String,
}

impl Default for CsvOptions {
    fn default() -> CsvOptions {
        CsvOptions {
            delimiter: None,
            quote: Some(b'"'),
            header: true,
            null: String::new(),
        }
    }
}

/// Rows in a batch: enough that what is done once for a batch costs nothing.
const BATCH_ROWS: usize = 65_536;
/// Bytes in a batch: no more than this and one row.
const BATCH_BYTES: usize = 8 << 20;
/// Bytes read at a time.
const BUFFER: usize = 1 << 20;
/// Bytes in the longest record. A quote that is never closed must not draw a whole file into memory.
const LONGEST_RECORD: usize = 256 << 20;
/// Rows from which the types of columns are inferred, if they lie in the first [`BUFFER`].
const SAMPLE_ROWS: usize = 10_000;

/// A reader of CSV.
pub struct CsvSource {
    input: Input,
    options: CsvOptions,
    dialect: Dialect,
    columns: Vec<SourceColumn>,
    affinities: Vec<Affinity>,
    schema: Vec<String>,
    buffer: Vec<u8>,
    /// Where the next record begins.
    at: usize,
    /// Whether the buffer holds the end of the input.
    last: bool,
    /// The number of the last row read.
    row: u64,
    fields: Vec<Field>,
}

impl CsvSource {
    /// Reads the beginning of an input: the names of the columns, and the types that the first ten
    /// thousand rows suggest (`INTEGER`, `REAL` or `TEXT`; numbers with leading zeros are text).
    ///
    /// # Errors
    /// The input cannot be read, is empty, is not in UTF-8 or has a broken header.
    pub fn open(
        input: Result<Input, LoadError>,
        options: CsvOptions,
    ) -> Result<CsvSource, LoadError> {
        let mut source = CsvSource {
            input: input?,
            dialect: Dialect {
                delimiter: options.delimiter.unwrap_or(b','),
                quote: options.quote,
            },
            options,
            columns: Vec::new(),
            affinities: Vec::new(),
            schema: Vec::new(),
            buffer: Vec::new(),
            at: 0,
            last: false,
            row: 0,
            fields: Vec::new(),
        };
        source.fill()?;
        source.check_encoding()?;
        if source.options.delimiter.is_none() {
            source.dialect.delimiter =
                guess_delimiter(&source.buffer[source.at..], source.dialect.quote);
        }
        let names = source.read_names()?;
        let kinds = source.sample(names.len())?;
        source.columns = names
            .iter()
            .zip(kinds)
            .map(|(name, kind)| Column::new(name, kind.declared()))
            .collect();
        source.schema = names;
        Ok(source)
    }

    /// Moves what is left to the front of the buffer and reads more behind it.
    fn fill(&mut self) -> Result<(), LoadError> {
        self.buffer.drain(..self.at);
        self.at = 0;
        let held = self.buffer.len();
        // A record longer than the buffer doubles it.
        let more = BUFFER.max(held);
        self.buffer.resize(held + more, 0);
        let count = self.input.fill(&mut self.buffer[held..])?;
        self.buffer.truncate(held + count);
        self.last = count < more;
        Ok(())
    }

    /// Skips the mark that says UTF-8, and refuses the ones that say UTF-16.
    fn check_encoding(&mut self) -> Result<(), LoadError> {
        if self.buffer.is_empty() {
            return Err(LoadError::Empty {
                input: self.input.name().to_owned(),
            });
        }
        if self.buffer.starts_with(&[0xff, 0xfe]) || self.buffer.starts_with(&[0xfe, 0xff]) {
            return Err(self.wrong(
                "it is in UTF-16; only UTF-8 is read (`iconv -f UTF-16 -t UTF-8` converts it)",
            ));
        }
        if self.buffer.starts_with(&[0xef, 0xbb, 0xbf]) {
            self.at = 3;
        }
        Ok(())
    }

    fn wrong(&self, reason: impl Into<String>) -> LoadError {
        LoadError::Form {
            input: self.input.name().to_owned(),
            reason: reason.into(),
        }
    }

    /// The names of the columns: from the header, or numbers. A name that is empty or comes twice is
    /// made unique.
    fn read_names(&mut self) -> Result<Vec<String>, LoadError> {
        let begin = loop {
            match self.scan()? {
                Scanned::Record { next } => break next,
                Scanned::Blank { next } => self.at = next,
                Scanned::Broken { reason, .. } => {
                    return Err(self.wrong(format!("the first line: {reason}")));
                }
                Scanned::End | Scanned::Incomplete => {
                    return Err(self.wrong("it has no line with anything in it"));
                }
            }
        };
        if !self.options.header {
            return Ok((1..=self.fields.len())
                .map(|n| format!("column{n}"))
                .collect());
        }
        let mut names: Vec<String> = Vec::new();
        for (number, field) in self.fields.iter().enumerate() {
            let name = std::str::from_utf8(&self.text(*field))
                .map_err(|_| self.wrong("the header is not in UTF-8"))?
                .trim()
                .to_owned();
            if name.contains('\0') {
                return Err(self.wrong("the header holds a NUL byte"));
            }
            let wanted = if name.is_empty() {
                format!("column{}", number + 1)
            } else {
                name
            };
            names.push(unique(&names, wanted));
        }
        self.at = begin;
        Ok(names)
    }

    /// The kinds of the columns in the rows that are in the buffer, which stay there.
    fn sample(&mut self, columns: usize) -> Result<Vec<Kind>, LoadError> {
        let mut kinds = vec![Kind::Unknown; columns];
        let (mut at, mut rows) = (self.at, 0);
        while rows < SAMPLE_ROWS {
            match scan(&self.buffer, at, self.last, self.dialect, &mut self.fields) {
                Scanned::Record { next } => {
                    at = next;
                    rows += 1;
                    if self.fields.len() == columns {
                        for (kind, field) in kinds.iter_mut().zip(&self.fields) {
                            if !self.is_null(*field) {
                                *kind = (*kind).max(Kind::of(&self.text(*field)));
                            }
                        }
                    }
                }
                Scanned::Blank { next } | Scanned::Broken { next, .. } => at = next,
                Scanned::Incomplete | Scanned::End => break,
            }
        }
        Ok(kinds)
    }

    /// The next record, with the buffer filled as far as it takes.
    #[inline]
    fn scan(&mut self) -> Result<Scanned, LoadError> {
        loop {
            match scan(
                &self.buffer,
                self.at,
                self.last,
                self.dialect,
                &mut self.fields,
            ) {
                Scanned::Incomplete if self.buffer.len() - self.at > LONGEST_RECORD => {
                    return Err(LoadError::Row {
                        input: self.input.name().to_owned(),
                        row: self.row + 1,
                        column: None,
                        reason: format!(
                            "it is longer than {} MiB; probably a quote is opened and never closed",
                            LONGEST_RECORD >> 20
                        ),
                    });
                }
                Scanned::Incomplete => self.fill()?,
                scanned => return Ok(scanned),
            }
        }
    }

    #[inline]
    fn is_null(&self, field: Field) -> bool {
        !field.quoted && self.buffer[field.start..field.end] == *self.options.null.as_bytes()
    }

    /// The bytes of a field, its doubled quotes made single.
    #[inline]
    fn text(&self, field: Field) -> Cow<'_, [u8]> {
        let raw = &self.buffer[field.start..field.end];
        match self.dialect.quote {
            Some(quote) if field.doubled => Cow::Owned(single_quotes(raw, quote)),
            _ => Cow::Borrowed(raw),
        }
    }

    /// What is wrong with a record that was scanned well, if anything.
    #[inline]
    fn fault(&self, next: usize) -> Option<(Option<String>, String)> {
        if self.fields.len() != self.columns.len() {
            let (found, expected) = (self.fields.len(), self.columns.len());
            let reason = format!("it has {found} fields instead of {expected}");
            return Some((None, reason));
        }
        if std::str::from_utf8(&self.buffer[self.at..next]).is_ok() {
            return None;
        }
        let bad = self
            .fields
            .iter()
            .position(|field| std::str::from_utf8(&self.text(*field)).is_err());
        let column = bad.map(|number| self.columns[number].name.clone());
        Some((column, "it is not in UTF-8".to_owned()))
    }

    fn malformed(&self, column: Option<String>, reason: String, raw: Option<&[u8]>) -> Malformed {
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let fields = match raw {
            Some(raw) => vec![shown(raw.trim_ascii_end())],
            None => self
                .fields
                .iter()
                .map(|field| shown(&self.text(*field)))
                .collect(),
        };
        Malformed {
            row: self.row,
            column,
            reason,
            fields,
        }
    }

    fn push_row(&self, builders: &mut [Builder]) {
        for (builder, field) in builders.iter_mut().zip(&self.fields) {
            if self.is_null(*field) {
                builder.push_null();
            } else {
                builder.push(&self.text(*field));
            }
        }
    }

    fn batch(&self, builders: Vec<Builder>, rows: usize) -> Result<RecordBatch, LoadError> {
        let arrays: Vec<ArrayRef> = builders.into_iter().map(Builder::finish).collect();
        let fields: Vec<ArrowField> = self
            .schema
            .iter()
            .zip(&arrays)
            .map(|(name, array)| ArrowField::new(name, array.data_type().clone(), true))
            .collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
            .map_err(|error| self.wrong(error.to_string()))
    }
}

impl Source for CsvSource {
    fn name(&self) -> &str {
        self.input.name()
    }

    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn begin(&mut self, affinities: &[Affinity]) {
        self.affinities = affinities.to_vec();
    }

    fn next(&mut self) -> Result<Option<Batch>, LoadError> {
        let mut builders: Vec<Builder> = (0..self.columns.len())
            .map(|number| Builder::new(self.affinities.get(number).copied()))
            .collect();
        let mut numbers = RowNumbers {
            first: self.row + 1,
            left_out: Vec::new(),
        };
        let (mut malformed, mut rows, mut bytes) = (Vec::new(), 0, 0);
        while rows < BATCH_ROWS && bytes < BATCH_BYTES && malformed.len() < BATCH_ROWS {
            match self.scan()? {
                Scanned::Record { next } => {
                    self.row += 1;
                    match self.fault(next) {
                        None => {
                            self.push_row(&mut builders);
                            rows += 1;
                            bytes += next - self.at;
                        }
                        Some((column, reason)) => {
                            numbers.left_out.push(self.row);
                            malformed.push(self.malformed(column, reason, None));
                        }
                    }
                    self.at = next;
                }
                Scanned::Broken {
                    next,
                    field,
                    reason,
                } => {
                    self.row += 1;
                    let column = self.columns.get(field).map(|column| column.name.clone());
                    numbers.left_out.push(self.row);
                    let raw = &self.buffer[self.at..next];
                    malformed.push(self.malformed(column, reason.to_owned(), Some(raw)));
                    self.at = next;
                }
                Scanned::Blank { next } => self.at = next,
                Scanned::End | Scanned::Incomplete => break,
            }
        }
        if rows == 0 && malformed.is_empty() {
            return Ok(None);
        }
        Ok(Some(Batch {
            rows: self.batch(builders, rows)?,
            numbers,
            malformed,
            bytes_read: self.input.bytes_read(),
        }))
    }

    fn total_bytes(&self) -> Option<u64> {
        self.input.total()
    }
}

/// The delimiter that is most frequent in the first line, outside of quotes.
fn guess_delimiter(beginning: &[u8], quote: Option<u8>) -> u8 {
    let mut counts = [(b',', 0), (b'\t', 0), (b';', 0), (b'|', 0)];
    let mut within_quotes = false;
    for byte in beginning {
        if Some(*byte) == quote {
            within_quotes = !within_quotes;
        } else if !within_quotes {
            if matches!(byte, b'\n' | b'\r') {
                break;
            }
            if let Some((_, count)) = counts.iter_mut().find(|(known, _)| known == byte) {
                *count += 1;
            }
        }
    }
    // The first of the equally frequent ones.
    counts
        .iter()
        .rev()
        .max_by_key(|(_, count)| *count)
        .map_or(b',', |(byte, _)| *byte)
}

fn unique(names: &[String], wanted: String) -> String {
    let taken = |name: &str| names.iter().any(|known| same(known, name));
    if !taken(&wanted) {
        return wanted;
    }
    (2..)
        .map(|number| format!("{wanted}_{number}"))
        .find(|name| !taken(name))
        .unwrap_or(wanted)
}

fn single_quotes(raw: &[u8], quote: u8) -> Vec<u8> {
    let mut text = Vec::with_capacity(raw.len());
    let mut bytes = raw.iter();
    while let Some(byte) = bytes.next() {
        text.push(*byte);
        if *byte == quote {
            // The second of two.
            bytes.next();
        }
    }
    text
}

/// A column in the making: parsed as long as every text is what the affinity wants and parsing gives
/// what SQLite would have made of it; otherwise texts, which SQLite's affinity then turns into the same.
enum Builder {
    Integers(Int64Builder),
    Reals(Float64Builder),
    Texts(StringBuilder),
}

impl Builder {
    fn new(affinity: Option<Affinity>) -> Builder {
        match affinity {
            Some(Affinity::Integer | Affinity::Numeric) => Builder::Integers(Int64Builder::new()),
            Some(Affinity::Real) => Builder::Reals(Float64Builder::new()),
            Some(Affinity::Text | Affinity::Blob) | None => Builder::Texts(StringBuilder::new()),
        }
    }

    #[inline]
    fn push_null(&mut self) {
        match self {
            Builder::Integers(values) => values.append_null(),
            Builder::Reals(values) => values.append_null(),
            Builder::Texts(values) => values.append_null(),
        }
    }

    #[inline]
    fn push(&mut self, text: &[u8]) {
        match self {
            Builder::Integers(values) => match integer(text) {
                Some(value) => values.append_value(value),
                None => self.push_unfit(text),
            },
            Builder::Reals(values) => match short_decimal(text) {
                Some(value) => values.append_value(value),
                None => self.push_unfit(text),
            },
            // The record was checked to be UTF-8 as a whole, and fields end at ASCII bytes.
            Builder::Texts(values) => values.append_value(String::from_utf8_lossy(text)),
        }
    }

    /// Goes over to texts. A number parsed is written so that reading it again gives the same number.
    #[cold]
    fn push_unfit(&mut self, text: &[u8]) {
        let mut texts: StringBuilder = match self {
            Builder::Integers(values) => {
                let values = values.finish();
                (values.iter())
                    .map(|value| value.map(|value| value.to_string()))
                    .collect::<Vec<_>>()
            }
            Builder::Reals(values) => {
                let values = values.finish();
                (values.iter())
                    .map(|value| value.map(|value| value.to_string()))
                    .collect::<Vec<_>>()
            }
            Builder::Texts(_) => Vec::new(),
        }
        .into_iter()
        .fold(StringBuilder::new(), |mut texts, text| {
            texts.append_option(text);
            texts
        });
        texts.append_value(String::from_utf8_lossy(text));
        *self = Builder::Texts(texts);
    }

    fn finish(self) -> ArrayRef {
        match self {
            Builder::Integers(mut values) => Arc::new(values.finish()),
            Builder::Reals(mut values) => Arc::new(values.finish()),
            Builder::Texts(mut values) => Arc::new(values.finish()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::DataType;

    fn open(text: &str, options: CsvOptions) -> CsvSource {
        CsvSource::open(Input::from_bytes("test", text.as_bytes().to_vec()), options).unwrap()
    }

    fn columns(source: &CsvSource) -> Vec<String> {
        let shown = |column: &SourceColumn| format!("{} {}", column.name, column.declared);
        source.columns().iter().map(shown).collect()
    }

    #[test]
    fn names_and_types_come_from_the_beginning() {
        let text = "\u{feff}id;name;price;zip;;Name\n1;a;1.5;01234;;x\n-2;;3;99999;;\n";
        let source = open(text, CsvOptions::default());
        assert_eq!(
            columns(&source),
            [
                "id INTEGER",
                "name TEXT",
                "price REAL",
                "zip TEXT",
                "column5 TEXT",
                "Name_2 TEXT"
            ]
        );
        let source = open(
            "1\t2\n",
            CsvOptions {
                header: false,
                ..CsvOptions::default()
            },
        );
        assert_eq!(columns(&source), ["column1 INTEGER", "column2 INTEGER"]);
    }

    #[test]
    fn malformed_rows_are_named_and_the_others_kept() {
        let mut text = b"a,b\n1,2\n3\n4,\"x\"y\n5,\xff\n6,7\n".to_vec();
        text.extend_from_slice(b"8,\"open");
        let mut source =
            CsvSource::open(Input::from_bytes("test", text), CsvOptions::default()).unwrap();
        source.begin(&[Affinity::Integer, Affinity::Text]);
        let batch = source.next().unwrap().unwrap();
        assert_eq!(batch.rows.num_rows(), 2);
        assert_eq!([0, 1].map(|index| batch.numbers.number(index)), [1, 5]);
        let told: Vec<String> = batch
            .malformed
            .iter()
            .map(|bad| format!("{} {:?} {}", bad.row, bad.column, bad.reason))
            .collect();
        assert_eq!(
            told,
            [
                "2 None it has 1 fields instead of 2",
                "3 Some(\"b\") text follows a closing quote",
                "4 Some(\"b\") it is not in UTF-8",
                "6 Some(\"b\") a quote is opened and never closed",
            ]
        );
        assert!(source.next().unwrap().is_none());
    }

    #[test]
    fn a_column_that_stops_being_numbers_becomes_text() {
        let mut source = open("a,b\n007,1.50\n,\nx,1e400\n", CsvOptions::default());
        source.begin(&[Affinity::Integer, Affinity::Real]);
        let batch = source.next().unwrap().unwrap();
        let texts = |number: usize| -> Vec<Option<String>> {
            let array = batch.rows.column(number);
            assert_eq!(array.data_type(), &DataType::Utf8);
            use arrow_array::cast::AsArray;
            array
                .as_string::<i32>()
                .iter()
                .map(|text| text.map(str::to_owned))
                .collect()
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(texts(0), [some("7"), None, some("x")]);
        assert_eq!(texts(1), [some("1.5"), None, some("1e400")]);
    }

    #[test]
    fn records_longer_than_the_buffer_are_read() {
        let long = "x".repeat(3 * BUFFER);
        let mut source = open(
            &format!("a,b\n\"{long}\n\",1\n2,3\n"),
            CsvOptions::default(),
        );
        source.begin(&[Affinity::Text, Affinity::Integer]);
        let mut rows = 0;
        while let Some(batch) = source.next().unwrap() {
            rows += batch.rows.num_rows();
            assert!(batch.malformed.is_empty());
        }
        assert_eq!(rows, 2);
    }

    #[test]
    fn only_an_unquoted_field_is_null() {
        let options = CsvOptions {
            null: "NA".to_owned(),
            ..CsvOptions::default()
        };
        let mut source = open("a\nNA\n\"NA\"\n\"\"\n", options);
        source.begin(&[Affinity::Text]);
        let batch = source.next().unwrap().unwrap();
        let nulls: Vec<bool> = (0..3)
            .map(|row| batch.rows.column(0).is_null(row))
            .collect();
        assert_eq!(nulls, [true, false, false]);
    }

    #[test]
    fn what_is_no_csv_is_refused() {
        let refused = |bytes: &[u8]| {
            CsvSource::open(
                Input::from_bytes("test", bytes.to_vec()),
                CsvOptions::default(),
            )
            .err()
            .unwrap()
            .to_string()
        };
        assert!(refused(b"").contains("empty"));
        assert!(refused(b"\n\n").contains("no line"));
        assert!(refused(b"\xff\xfea\0").contains("UTF-16"));
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
