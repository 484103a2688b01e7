//! From the text of a block to the columns of a batch.
//!
//! The fields are found first, for all records; then each column is built in a loop of its own, which
//! knows its type.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int64Type};
use arrow_array::{ArrayRef, PrimitiveArray, StringArray};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer, OffsetBuffer};

use super::CsvOptions;
use super::layout::{is_row_count, is_total, last_lines};
use super::scan::{Dialect, Field, Quoting, Record, Records, cut};
use crate::affinity::Affinity;
use crate::batch::{Batch, Malformed, RowNumbers, record_batch};
use crate::bytes::{SHORT, push_short};
use crate::error::{Fault, Result, first_characters};
use crate::source::infer::is_changed_by;
use crate::source::notes::{Note, Notes};
use crate::source::number::{
    has_leading_zero, integer, is_number_to_sqlite, keeps_digits, kept_decimal, nearest_real, real,
    short_decimal,
};
use crate::source::text::{Parsed, TextFormat};
use crate::source::truth::truth;
use crate::source::{ReadOptions, Storing, Typing, Unit};

/// The byte order mark of UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// How to read a CSV text whose columns are known.
pub struct Reader {
    /// The name of the text in messages.
    pub(super) input: String,
    pub(super) options: CsvOptions,
    /// Bytes of the longest text that means NULL.
    pub(super) longest_null: usize,
    pub(super) dialect: Dialect,
    /// The columns; if rows are mended, the last one has the values that rows have too many.
    pub(super) names: Vec<String>,
    /// Fields without a value that a row may have behind its columns.
    pub(super) further: usize,
    /// The last line with names, without its end.
    pub(super) header_line: Vec<u8>,
    /// Whether blanks stand next to every delimiter.
    pub(super) has_blanks: bool,
    /// Which columns have words for true and false in the first rows; empty if that was not looked at.
    pub(super) truth_values: Vec<bool>,
    /// How the columns will be stored; empty where that is not known.
    pub(super) columns: Vec<Storing>,
    /// The name of the encoding that the text was in.
    pub(super) encoding: &'static str,
    pub(super) notes: Notes,
}

impl TextFormat for Reader {
    fn begin(&mut self, options: &ReadOptions) {
        self.columns.clone_from(&options.columns);
        self.notes.retain(|note| match note {
            Note::Numbers { column, forms, .. } => {
                let place = self.names.iter().position(|name| name == column);
                let storing = self.storing(place.unwrap_or(self.names.len()));
                let stays_wrong = !forms.is_empty() && storing.is_of_numbers();
                storing.typing == Typing::Sampled || stays_wrong
            }
            _ => true,
        });
        let names = self.names.iter().zip(&self.truth_values).enumerate();
        let is_text = |column: usize| self.storing(column).typing == Typing::Sampled;
        let texts = names.filter(|(column, (_, are))| **are && is_text(*column));
        let names: Vec<&str> = texts.map(|(_, (name, _))| name.as_str()).collect();
        if !names.is_empty() {
            self.notes.warn(format!(
                "words for true and false are texts in {}, which conditions take for false; --type COLUMN=BOOLEAN makes them 1 and 0",
                names.join(", ")
            ));
        }
    }

    fn unit(&self) -> Unit {
        Unit::Row
    }

    fn is_all_text(&self) -> bool {
        true
    }

    fn cut(&self, bytes: &[u8]) -> usize {
        // What may be no row stays with the end of the text.
        cut(&bytes[..last_lines(bytes, self.options.skip_last.max(1))], self.dialect)
    }

    fn end(&self, bytes: &mut Vec<u8>) {
        bytes.truncate(last_lines(bytes, self.options.skip_last));
        if !self.options.finds_rows || self.width() < 2 {
            return;
        }
        let begin = last_lines(bytes, 1);
        // A tab before or behind the text would be a delimiter.
        let line = String::from_utf8_lossy(&bytes[begin..]);
        let line = line.trim_matches(['\r', '\n', ' ']).to_owned();
        if is_row_count(&line) {
            bytes.truncate(begin);
            self.notes.fact(format!("skipped: the last line, `{line}`"));
        } else if is_total(&line, self.dialect.delimiter) {
            self.notes.warn(format!(
                "the last row, `{line}`, looks like a total; leave it out with --skip-lines 0,1"
            ));
        } else {
            self.doubt_end(bytes);
        }
    }

    fn parse(&self, bytes: &[u8]) -> Result<Parsed> {
        Block::new(self, bytes).parse()
    }

    fn too_long(&self, megabytes: usize) -> String {
        format!("a row is longer than {megabytes} MiB; probably a quote is never closed")
    }
}

/// A value that does not fit the type of its column.
struct TypeMismatch {
    /// The index of its row among the good ones of the block.
    row: usize,
    column: usize,
    fault: Fault,
}

/// A block being parsed.
struct Block<'r> {
    reader: &'r Reader,
    bytes: &'r [u8],
    /// The bytes as text; bytes that are not UTF-8 are replaced by `?`, so that all others stay in
    /// their places.
    text: Cow<'r, str>,
    /// Where such bytes are, ascending.
    wrong: Vec<usize>,
    /// The fields of the rows that are good, row by row.
    fields: Vec<Field>,
    numbers: u64,
    malformed: Vec<Malformed>,
}

impl<'r> Block<'r> {
    fn new(reader: &'r Reader, bytes: &'r [u8]) -> Block<'r> {
        let (text, wrong) = checked(bytes);
        Block {
            reader,
            bytes,
            text,
            wrong,
            // Fields of a few bytes each.
            fields: Vec::with_capacity(bytes.len() / 4),
            numbers: 0,
            malformed: Vec::new(),
        }
    }

    fn parse(mut self) -> Result<Parsed> {
        self.find_fields();
        let rows = self.fields.len() / self.reader.names.len();
        if rows == 0 && self.malformed.is_empty() {
            return Ok(Parsed::default());
        }
        let columns = match self.columns(rows) {
            Ok(columns) => columns,
            Err(mismatch) => {
                self.end_with(mismatch);
                self.columns(0).unwrap_or_default()
            }
        };
        let rows = self.fields.len() / self.reader.names.len();
        let batch = Batch {
            rows: record_batch(&self.reader.input, &self.reader.names, columns, rows)?,
            numbers: RowNumbers { first: 1, left_out: left_out(&self.malformed), of: Vec::new() },
            malformed: self.malformed,
            bytes_read: 0,
        };
        Ok(Parsed { batches: vec![batch], numbers: self.numbers })
    }

    /// Lists the fields of all good rows, and the rows that are not.
    fn find_fields(&mut self) {
        let mut records = Records::new(self.bytes, self.reader.dialect);
        let mut listed = 0;
        while let Some(record) = records.next(&mut self.fields) {
            self.numbers += 1;
            let (column, fault, raw) = match record {
                Record::Whole(range) => match self.fit(listed, range.end, records.is_mended) {
                    Ok(mended) => {
                        listed += self.reader.names.len();
                        // Few rows begin as the header or a byte order mark does.
                        let first = self.bytes.get(range.start);
                        if first == self.reader.header_line.first() || first == Some(&MARK[0]) {
                            self.reader.compare_with_header(&self.bytes[range.clone()]);
                        }
                        if let Some(fault) = mended {
                            self.report(fault, &self.bytes[range]);
                        }
                        continue;
                    }
                    Err((column, fault)) => (column, fault, None),
                },
                Record::Broken { range, field, reason } => {
                    (Some(field), self.reader.quote_fault(reason), Some(&self.bytes[range]))
                }
            };
            self.reject(column, fault, listed, raw);
            self.fields.truncate(listed);
        }
    }

    /// Fits the last fields listed to the columns. Returns the fault of a row that was mended, or the fault, and its column,
    /// of one that is not loaded.
    #[inline]
    fn fit(
        &mut self,
        listed: usize,
        end: usize,
        has_odd_quotes: bool,
    ) -> Result<Option<Fault>, (Option<usize>, Fault)> {
        let fitted = self.reader.fit(self.bytes, &mut self.fields, listed..end);
        let mended = fitted.map_err(|fault| (None, fault))?;
        if !self.wrong.is_empty()
            && let Some(fault) = self.wrong_encoding(listed, end)
        {
            return Err(fault);
        }
        let odd = || {
            has_odd_quotes.then(|| self.reader.quote_fault("quotes within quotes are not doubled"))
        };
        Ok(mended.or_else(odd))
    }

    #[cold]
    fn wrong_encoding(&self, listed: usize, end: usize) -> Option<(Option<usize>, Fault)> {
        let start = self.fields[listed].range().start;
        let next = self.wrong.partition_point(|at| *at < start);
        let wrong = *self.wrong.get(next).filter(|at| **at < end)?;
        let column = self.fields[listed..].iter().position(|field| field.range().contains(&wrong));
        let is_mixed = !self.text.is_ascii();
        Some((column, Fault::Encoding { expected: self.reader.encoding, is_mixed }))
    }

    /// Reports a row that was mended.
    #[cold]
    fn report(&mut self, fault: Fault, raw: &[u8]) {
        let fields = vec![String::from_utf8_lossy(raw.trim_ascii_end()).into_owned()];
        let row = self.numbers;
        self.malformed.push(Malformed { row, column: None, fault, fields, is_kept: true });
    }

    /// `raw` is the whole record where it has no fields.
    #[cold]
    fn reject(&mut self, column: Option<usize>, fault: Fault, listed: usize, raw: Option<&[u8]>) {
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let fields = match raw {
            Some(raw) => vec![shown(raw.trim_ascii_end())],
            None => self.fields[listed..]
                .iter()
                .map(|field| shown(&unescaped(self.bytes, *field, self.reader.dialect)))
                .collect(),
        };
        let column = column.and_then(|column| self.reader.names.get(column).cloned());
        self.malformed.push(Malformed::new(self.numbers, column, fault, fields));
    }

    /// Leaves nothing of the block but the rows refused up to this value: the load ends there.
    #[cold]
    fn end_with(&mut self, mismatch: TypeMismatch) {
        let left_out = left_out(&self.malformed);
        let row = RowNumbers { first: 1, left_out, of: Vec::new() }.number(mismatch.row);
        self.malformed.retain(|bad| bad.row < row);
        let column = self.reader.names[mismatch.column].clone();
        self.malformed.push(Malformed::new(row, Some(column), mismatch.fault, Vec::new()));
        self.fields.clear();
    }

    fn columns(&self, rows: usize) -> Result<Vec<ArrayRef>, TypeMismatch> {
        (0..self.reader.names.len()).map(|column| self.column(column, rows)).collect()
    }

    /// A column, parsed if every text is what the affinity wants and parsing gives what SQLite would
    /// have made of it; otherwise texts, which SQLite's affinity then turns into the same.
    fn column(&self, column: usize, rows: usize) -> Result<ArrayRef, TypeMismatch> {
        let Storing { affinity, typing } = self.storing(column);
        let number = self.reader.options.number;
        let parsed = match (affinity, typing, number) {
            (Affinity::Integer | Affinity::Numeric, Typing::Booleans, _) => self
                .numbers::<Int64Type>(column, rows, |text| truth(text).or_else(|| integer(text))),
            (Affinity::Integer | Affinity::Numeric, _, Some(form)) => {
                self.numbers::<Int64Type>(column, rows, |text| kept(&form.plain(text)?, integer))
            }
            (Affinity::Real, _, Some(form)) => {
                self.numbers::<Float64Type>(column, rows, |text| kept_real(&form.plain(text)?))
            }
            (Affinity::Integer | Affinity::Numeric, Typing::Declared, None) => {
                self.numbers::<Int64Type>(column, rows, integer)
            }
            (Affinity::Integer | Affinity::Numeric, _, None) => {
                self.numbers::<Int64Type>(column, rows, |text| kept(text, integer))
            }
            (Affinity::Real, Typing::Declared, None) => {
                self.numbers::<Float64Type>(column, rows, real)
            }
            (Affinity::Real, Typing::Written, None) => {
                self.numbers::<Float64Type>(column, rows, nearest_real)
            }
            (Affinity::Real, _, None) => self.numbers::<Float64Type>(column, rows, kept_real),
            (Affinity::Text | Affinity::Blob, _, _) => None,
        };
        if let Some(array) = parsed {
            return Ok(array);
        }
        match self.mismatch(column) {
            Some(mismatch) => Err(mismatch),
            None => Ok(self.texts(column, rows)),
        }
    }

    fn storing(&self, column: usize) -> Storing {
        self.reader.storing(column)
    }

    /// Returns the first value of a column of texts that does not fit the column's type, where that was chosen
    /// from the first rows; or that is a number only if it is not written as numbers are said to be.
    fn mismatch(&self, column: usize) -> Option<TypeMismatch> {
        let storing = self.storing(column);
        let (affinity, is_number) = (storing.affinity, storing.is_of_numbers());
        let text = |field| unescaped(self.bytes, field, self.reader.dialect);
        let fields = self.fields(column).enumerate();
        let mut values = fields.filter(|(_, field)| !self.reader.is_null(self.bytes, *field));
        let (row, fault) = match (storing.typing, self.reader.options.number) {
            (Typing::Unseen, _) => (values.next()?.0, Fault::Unseen),
            (_, Some(form)) if is_number => {
                let is_other =
                    |text: &[u8]| form.plain(text).is_none() && is_number_to_sqlite(text);
                let (row, field) = values.find(|(_, field)| is_other(&text(*field)))?;
                (row, Fault::changed(affinity, &text(field)))
            }
            (Typing::Sampled, None) if is_number => {
                let (row, field) =
                    values.find(|(_, field)| is_changed_by(affinity, &text(*field)))?;
                (row, Fault::changed(affinity, &text(field)))
            }
            _ => return None,
        };
        Some(TypeMismatch { row, column, fault })
    }

    fn fields(&self, column: usize) -> impl Iterator<Item = Field> {
        let columns = self.reader.names.len();
        self.fields.get(column..).unwrap_or_default().iter().step_by(columns).copied()
    }

    /// Returns a column of numbers, if every value is one.
    #[inline]
    fn numbers<T: ArrowPrimitiveType>(
        &self,
        column: usize,
        rows: usize,
        number: impl Fn(&[u8]) -> Option<T::Native>,
    ) -> Option<ArrayRef> {
        let mut values = Vec::with_capacity(rows);
        // The rows that are NULL: of most columns none is.
        let mut nulls = Vec::new();
        for field in self.fields(column) {
            if self.reader.is_null(self.bytes, field) {
                nulls.push(values.len());
                values.push(T::Native::default());
            } else {
                values.push(number(&self.bytes[field.range()])?);
            }
        }
        let nulls = null_buffer(rows, &nulls);
        Some(Arc::new(PrimitiveArray::<T>::new(values.into(), nulls)))
    }

    fn texts(&self, column: usize, rows: usize) -> ArrayRef {
        let length = self.fields(column).map(|field| field.range().len()).sum();
        let mut values = Texts::new(rows, length);
        if self.storing(column).is_of_numbers() {
            return self.numbers_and_texts(column, values);
        }
        for field in self.fields(column) {
            if self.reader.is_null(self.bytes, field) {
                values.push_null();
            } else if field.quoting == Quoting::Doubled {
                values.push(&unescaped(self.text.as_bytes(), field, self.reader.dialect));
            } else {
                values.push_part(self.text.as_bytes(), field.range());
            }
        }
        Arc::new(values.finish())
    }

    /// A column of numbers among whose values are texts.
    fn numbers_and_texts(&self, column: usize, mut values: Texts) -> ArrayRef {
        let (mut others, mut first, mut is_rounded) = (0, None, false);
        let Storing { typing, affinity, .. } = self.storing(column);
        let is_whole = affinity != Affinity::Real;
        for field in self.fields(column) {
            let text = unescaped(self.text.as_bytes(), field, self.reader.dialect);
            if self.reader.is_null(self.bytes, field) {
                values.push_null();
                continue;
            }
            let plain = match typing {
                Typing::Booleans => truth(&text).map(|value| value.to_string().into_bytes()),
                _ => self.reader.options.number.and_then(|form| form.plain(&text)),
            };
            if plain.is_none() && !is_number_to_sqlite(&text) {
                // A column of type DATE has the affinity of numbers.
                if affinity != Affinity::Numeric || !is_date(&text) {
                    others += 1;
                    first.get_or_insert_with(|| first_characters(&text));
                }
            } else if is_whole && plain.is_none() {
                is_rounded |= integer(&text).is_none() && !keeps_digits(text.trim_ascii());
            }
            values.push(plain.as_deref().unwrap_or(&text));
        }
        let column = &self.reader.names[column];
        if is_rounded {
            self.reader.notes.warn(format!("numbers in column {column} do not fit 64 bits and were rounded; a column of type TEXT keeps them"));
        }
        if let Some(value) = first {
            let column = column.clone();
            let wanted = if typing == Typing::Booleans { "truth value" } else { "number" };
            self.reader.notes.add(Note::Texts { column, wanted, values: others, value });
        }
        Arc::new(values.finish())
    }
}

impl Reader {
    fn storing(&self, column: usize) -> Storing {
        Storing::of(&self.columns, column)
    }

    /// Warns of a row that is the header once more, or begins with a byte order mark.
    #[cold]
    fn compare_with_header(&self, row: &[u8]) {
        let unmarked = row.strip_prefix(MARK);
        if unmarked.is_some() {
            self.notes.warn("a row begins with a byte order mark, which became a part of its first value; if files were joined, load the files themselves");
        }
        let row = unmarked.unwrap_or(row);
        if row.trim_ascii_end() == self.header_line && self.width() > 1 {
            self.notes.warn("a row repeats the header; delete it, or leave it out with --strict, --type and --on-error skip");
        }
    }

    /// Returns the fault of a row whose quotes break the rules.
    fn quote_fault(&self, reason: &'static str) -> Fault {
        let is_lenient = self.options.lenient;
        Fault::Quote { reason, is_tab: self.dialect.delimiter == b'\t', is_lenient }
    }

    /// Fits the last fields to the columns: `listed` begins at their place in the list and ends where the row ends.
    /// Returns the fault of a row that was mended.
    ///
    /// # Errors
    /// The fields do not fit.
    #[inline]
    pub(super) fn fit(
        &self,
        bytes: &[u8],
        fields: &mut Vec<Field>,
        listed: Range<usize>,
    ) -> Result<Option<Fault>, Fault> {
        if fields.len() - listed.start == self.names.len() && !self.options.lenient {
            return Ok(None);
        }
        self.fit_other(bytes, fields, listed)
    }

    #[cold]
    fn fit_other(
        &self,
        bytes: &[u8],
        fields: &mut Vec<Field>,
        listed: Range<usize>,
    ) -> Result<Option<Fault>, Fault> {
        let (found, expected) = (fields.len() - listed.start, self.width());
        let behind = listed.start + expected;
        let further = fields.get(behind..).unwrap_or_default();
        let is_empty = further.len() <= self.further
            && further.iter().all(|field| self.is_null(bytes, *field));
        let fault =
            (found != expected && !(found > expected && is_empty)).then_some(Fault::Fields {
                found,
                expected,
                has_blanks: self.has_blanks,
                is_comment: fields
                    .get(listed.start)
                    .is_some_and(|field| bytes[field.range()].starts_with(b"#")),
            });
        if !self.options.lenient {
            fields.truncate(behind);
            return fault.map_or(Ok(None), Err);
        }
        let rest =
            further.first().filter(|_| !is_empty).map(|field| field.until(listed.end, bytes));
        fields.truncate(behind);
        fields.resize(behind, Field::ABSENT);
        fields.push(rest.unwrap_or(Field::ABSENT));
        Ok(fault)
    }
}

/// Returns the numbers of the rows that are not among the good ones.
fn left_out(malformed: &[Malformed]) -> Vec<u64> {
    malformed.iter().filter(|row| !row.is_kept).map(|row| row.row).collect()
}

/// Texts of a column.
struct Texts {
    bytes: Vec<u8>,
    ends: Vec<i32>,
    nulls: Vec<usize>,
}

impl Texts {
    /// Makes room for `rows` texts with `length` bytes together.
    fn new(rows: usize, length: usize) -> Texts {
        let mut ends = Vec::with_capacity(rows + 1);
        ends.push(0);
        Texts { bytes: Vec::with_capacity(length + SHORT), ends, nulls: Vec::new() }
    }

    fn push_null(&mut self) {
        self.nulls.push(self.ends.len() - 1);
        self.end();
    }

    fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.end();
    }

    /// Adds the text that lies in a range of these bytes.
    #[inline]
    fn push_part(&mut self, all: &[u8], range: Range<usize>) {
        push_short(&mut self.bytes, all, range.start, range.len());
        self.end();
    }

    #[inline]
    fn end(&mut self) {
        // A block is far below 2 GiB.
        self.ends.push(self.bytes.len() as i32);
    }

    /// Returns the column; the texts are UTF-8.
    fn finish(self) -> StringArray {
        let nulls = null_buffer(self.ends.len() - 1, &self.nulls);
        let ends = OffsetBuffer::new(self.ends.into());
        StringArray::new(ends, self.bytes.into(), nulls)
    }
}

/// Returns which of the rows are NULL, if any is.
fn null_buffer(rows: usize, nulls: &[usize]) -> Option<NullBuffer> {
    if nulls.is_empty() {
        return None;
    }
    let mut valid = BooleanBufferBuilder::new(rows);
    valid.append_n(rows, true);
    for row in nulls {
        valid.set_bit(*row, false);
    }
    Some(NullBuffer::new(valid.finish()))
}

/// Returns whether a text begins as SQLite writes dates and times.
fn is_date(text: &[u8]) -> bool {
    let has_form = |form: &[u8]| {
        let fits = |(byte, wanted): (&u8, &u8)| match wanted {
            b'0' => byte.is_ascii_digit(),
            mark => byte == mark,
        };
        text.len() >= form.len() && text.iter().zip(form).all(fits)
    };
    has_form(b"0000-00-00") || has_form(b"00:00")
}

/// Returns the number that a text is, if the text can be had again from it.
#[inline]
fn kept<T>(text: &[u8], parse: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
    if has_leading_zero(text) {
        return None;
    }
    parse(text)
}

/// Returns the number that a text is, if its digits can be had again from it.
#[inline]
fn kept_real(text: &[u8]) -> Option<f64> {
    kept(text, |text| short_decimal(text).or_else(|| kept_decimal(text)))
}

/// Returns the bytes of a field, its doubled quotes made single.
pub(super) fn unescaped(bytes: &[u8], field: Field, dialect: Dialect) -> Cow<'_, [u8]> {
    let raw = &bytes[field.range()];
    let Some(quote) = dialect.quote.filter(|_| field.quoting == Quoting::Doubled) else {
        return Cow::Borrowed(raw);
    };
    let mut text = Vec::with_capacity(raw.len());
    let mut rest = raw;
    // All quotes are doubled, or the field would have ended.
    while let Some(at) = memchr::memchr(quote, rest) {
        text.extend_from_slice(&rest[..=at]);
        rest = &rest[(at + 2).min(rest.len())..];
    }
    text.extend_from_slice(rest);
    Cow::Owned(text)
}

/// Returns the bytes as text, and the places of bytes that are not UTF-8.
fn checked(bytes: &[u8]) -> (Cow<'_, str>, Vec<usize>) {
    let mut wrong = Vec::new();
    if let Ok(text) = std::str::from_utf8(bytes) {
        return (Cow::Borrowed(text), wrong);
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for _ in chunk.invalid() {
            wrong.push(text.len());
            text.push('?');
        }
    }
    (Cow::Owned(text), wrong)
}
