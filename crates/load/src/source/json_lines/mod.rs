//! JSON Lines (<https://jsonlines.org>): an object on each line; and arrays, documents and other texts with objects, which
//! are made lines first.

mod elements;
mod quick;
mod survey;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::num::ParseFloatError;
use std::sync::atomic::AtomicBool;

use engine::ValueRef;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::batch_builder::BatchBuilder;
use super::format::is_array_of_rows;
use super::infer::{ColumnKind, Kind, loses_digits};
use super::notes::{Note, Notes};
use super::number::is_number_to_sqlite;
use super::number::keeps_digits;
use super::text::{Parsed, Text, TextFormat, TextSource};
use super::truth::truth;
use super::{Input, ReadOptions, Storing, Typing, Unit};
use crate::affinity::Affinity;
use crate::error::{Fault, LoadError, Result, first_characters};
use crate::sql::{same, unique};
use elements::Elements;
use survey::Rows;

/// Lines from which columns and types are inferred, if they lie in what was read first.
const SAMPLE_LINES: usize = 10_000;

/// Bytes in which the rows of a text are looked for.
const SURVEYED: u64 = 1 << 20;

/// How a JSON text is read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JsonOptions {
    /// The keys that lead to the list with the rows, in a document; it is looked for by default.
    pub rows: Option<Vec<String>>,
    /// Whether an object on the only line is a row, whatever lists it has, and one on several lines unless lists are found.
    pub is_of_lines: bool,
    /// Whether the texts of a first array are values, not the names of the columns.
    pub has_no_header: bool,
    /// Keys that objects have in addition to those of the first ones.
    pub more_keys: Vec<String>,
    /// The columns to read, in this order; empty for all.
    pub only: Vec<String>,
}

/// A reader of JSON Lines.
pub type JsonLinesSource = TextSource<Lines>;

impl TextSource<Lines> {
    /// Reads the beginning of an input: lines, an array of objects, objects one after another, or a document with a list of
    /// objects. Columns are the keys of the first ten thousand objects (as far as
    /// they lie in the first MiB) in the order of their appearance, and the further keys of the options;
    /// or only the columns named there, whichever objects have them. Types
    /// are `INTEGER` (whole numbers, true and false), `REAL` or `TEXT`; arrays and objects are kept as
    /// JSON text.
    ///
    /// # Errors
    /// The input cannot be read, is empty, or none of these lines is an object.
    pub fn open(input: Result<Input>, options: &JsonOptions) -> Result<JsonLinesSource> {
        let (mut text, lines) = read_beginning(input?, options)?;
        let whole = text.whole(&lines)?;
        let mut keys = Keys::of(&lines);
        keys.add(&finite(&text.bytes[..whole]), SAMPLE_LINES);
        let keys = keys.checked(&lines, &options.more_keys)?;
        Ok(JsonLinesSource::with_keys(text, lines, keys, &options.only))
    }

    /// The same, with keys and types from all lines, which reads the input twice; until `stop`.
    pub(super) fn open_all(
        open: impl Fn() -> Result<Input>,
        options: &JsonOptions,
        stop: &AtomicBool,
    ) -> Result<JsonLinesSource> {
        let (mut text, lines) = read_beginning(open()?, options)?;
        let mut keys = Keys::of(&lines);
        text.for_each_block(&lines, stop, |block| keys.add(&finite(block), usize::MAX))?;
        let keys = keys.checked(&lines, &options.more_keys)?;
        let (text, lines) = read_beginning(open()?, options)?;
        Ok(JsonLinesSource::with_keys(text, lines, keys, &options.only))
    }

    fn with_keys(
        text: Text,
        mut lines: Lines,
        mut keys: Vec<(String, ColumnKind)>,
        only: &[String],
    ) -> JsonLinesSource {
        if !only.is_empty() {
            keys = selected(&keys, only);
        }
        lines.ignores_others = !only.is_empty();
        lines.keys = keys.iter().map(|(key, _)| key.clone()).collect();
        lines.names = names(&keys);
        lines.columns_by_key = (lines.keys.iter().cloned().zip(0..)).collect();
        for (key, name) in lines.keys.iter().zip(&lines.names).filter(|(key, name)| key != name) {
            lines.notes.fact(format!(
                "keys: {key}, which differs from another one only in case, is column {name}"
            ));
        }
        let notes = lines.notes.clone();
        let columns = lines.names.iter().cloned().zip(keys.into_iter().map(|(_, kind)| kind));
        let columns = columns.collect();
        let mut source = TextSource::new(text, lines, columns);
        source.info.notes = notes;
        source
    }
}

/// Returns the lines of a text, and how to read them, but for their keys.
fn read_beginning(mut input: Input, options: &JsonOptions) -> Result<(Text, Lines)> {
    let rows = rows(&mut input, options)?;
    let notes = Notes::default();
    let form = match &rows {
        Rows::Lines => "JSON, an object on each line",
        Rows::Array => "JSON, an array",
        Rows::Objects => "JSON, objects one after another",
        Rows::List { .. } => "JSON, one document",
    };
    notes.fact(format!("input: {form}, {}", input.encoding()));
    match &rows {
        Rows::List { path, .. } if path.is_empty() => {
            notes.fact("rows: the members of an object; column _key has their keys");
        }
        Rows::List { path, .. } => notes.fact(format!("rows: the list {}", path.join("."))),
        _ => {}
    }
    let unit = if rows == Rows::Lines { Unit::Line } else { Unit::Row };
    if unit == Unit::Row {
        input = input.map(|reader| Box::new(Elements::new(reader, rows)));
    }
    let mut lines = Lines {
        input: input.name.to_owned(),
        unit,
        encoding: input.encoding(),
        notes,
        is_reopenable: false,
        keys: Vec::new(),
        names: Vec::new(),
        columns_by_key: HashMap::new(),
        columns: Vec::new(),
        ignores_others: false,
        positions: Vec::new(),
    };
    let mut text = Text::open(input)?;
    lines.read_names(&mut text, options.has_no_header)?;
    Ok((text, lines))
}

/// Returns where the rows of an input are.
fn rows(input: &mut Input, options: &JsonOptions) -> Result<Rows> {
    if let Some(path) = &options.rows {
        return Ok(Rows::List { path: path.clone(), is_found: false });
    }
    let beginning = input.beginning()?;
    if is_array_of_rows(&beginning) {
        return Ok(Rows::Array);
    }
    if beginning.trim_ascii_start().first() != Some(&b'{') {
        return Ok(Rows::Lines);
    }
    let beginning = input.first(SURVEYED)?;
    let is_whole = (beginning.len() as u64) < SURVEYED;
    Rows::find(&beginning, is_whole, options.is_of_lines)
        .map_err(|reason| LoadError::form(&input.name, reason))
}

/// Returns the text with numbers in place of `NaN` and `Infinity`, which some programs write: NULL, and a number beyond the
/// largest one.
fn finite(text: &[u8]) -> Cow<'_, [u8]> {
    let has = |word: &[u8]| memchr::memmem::find(text, word).is_some();
    if !has(b"NaN") && !has(b"Infinity") {
        return Cow::Borrowed(text);
    }
    let mut plain = Vec::with_capacity(text.len() + 16);
    let (mut rest, mut is_text) = (text, false);
    while let Some(byte) = rest.first() {
        let word = [(&b"NaN"[..], &b"null"[..]), (b"Infinity", b"9e999")];
        let word = word.iter().find(|(word, _)| !is_text && rest.starts_with(word));
        let (taken, written) = match word {
            Some((word, number)) => (word.len(), *number),
            None if is_text && *byte == b'\\' => (2.min(rest.len()), &rest[..2.min(rest.len())]),
            None => (1, &rest[..1]),
        };
        is_text = match byte {
            b'\n' => false,
            b'"' => !is_text,
            _ => is_text,
        };
        plain.extend_from_slice(written);
        rest = &rest[taken..];
    }
    Cow::Owned(plain)
}

/// How to read lines whose keys are known.
pub struct Lines {
    input: String,
    /// The unit in which objects are counted: lines, or rows of an array.
    unit: Unit,
    encoding: &'static str,
    notes: Notes,
    /// Whether the input can be read again.
    is_reopenable: bool,
    /// The key of each column.
    keys: Vec<String>,
    names: Vec<String>,
    /// Which column a key is.
    columns_by_key: HashMap<String, usize>,
    /// How the columns will be stored.
    columns: Vec<Storing>,
    /// Whether a key without a column is passed over.
    ignores_others: bool,
    /// The names of the values of an array, if rows are arrays.
    positions: Vec<String>,
}

impl TextFormat for Lines {
    fn begin(&mut self, options: &ReadOptions) {
        self.columns.clone_from(&options.columns);
        self.is_reopenable = options.is_reopenable;
    }

    fn unit(&self) -> Unit {
        self.unit
    }

    fn cut(&self, bytes: &[u8]) -> usize {
        memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1)
    }

    fn parse(&self, bytes: &[u8]) -> Result<Parsed> {
        let bytes = &*finite(bytes);
        let mut builder = BatchBuilder::new(&self.names, &self.columns, 0);
        // Looked at once, because it takes as long for each line as for many of them.
        let text = std::str::from_utf8(bytes).ok();
        let (mut values, mut begin) = (Vec::with_capacity(self.names.len()), 0);
        for line in split(bytes) {
            let end = begin + line.len();
            let quick = text.and_then(|text| text.get(begin..end));
            begin = end + 1;
            if quick.is_some_and(|line| quick::row(self, line, &mut values)) {
                self.note_texts(&values);
                builder.push(&self.input, &values)?;
                continue;
            }
            match self.row(line) {
                Ok(None) => builder.skip(),
                Ok(Some(values)) => {
                    let values: Vec<ValueRef<'_>> = values.iter().map(Value::borrowed).collect();
                    self.note_texts(&values);
                    builder.push(&self.input, &values)?;
                }
                Err((column, fault)) => {
                    let line = String::from_utf8_lossy(line.trim_ascii()).into_owned();
                    builder.reject(column, fault, vec![line]);
                }
            }
        }
        builder.end_batch(&self.input)?;
        Ok(Parsed { numbers: builder.number, batches: builder.take() })
    }

    fn too_long(&self, megabytes: usize) -> String {
        format!("a line is longer than {megabytes} MiB")
    }
}

/// The column with the fault, if there is one, and the fault.
type Problem = (Option<String>, Fault);

impl Lines {
    /// Finds out whether rows are arrays, and reads the names of their values: from a first one that has texts alone.
    fn read_names(&mut self, text: &mut Text, has_no_header: bool) -> Result<()> {
        let begin = text.bytes.len() - text.bytes.trim_ascii_start().len();
        let end = memchr::memchr(b'\n', &text.bytes[begin..]);
        let end = end.map_or(text.bytes.len(), |at| begin + at);
        let Some(first) = array(&text.bytes[begin..end]) else { return Ok(()) };
        if self.unit == Unit::Line && text.bytes[end..].trim_ascii().is_empty() {
            let reason = "it is one array of values; rows are objects or arrays";
            return Err(LoadError::form(&self.input, reason));
        }
        let name = |value: &&RawValue| serde_json::from_str::<String>(value.get()).ok();
        let names: Option<Vec<String>> = first.iter().map(name).collect();
        match names.filter(|_| !has_no_header) {
            None => self.positions = (1..=first.len()).map(|at| format!("column{at}")).collect(),
            Some(names) => {
                for name in names {
                    self.positions.push(unique(&self.positions, name));
                }
                self.notes.fact("header: the first array; --header 0 reads it as a row");
                self.unit = Unit::Row;
                text.skip((end + 1).min(text.bytes.len()));
            }
        }
        Ok(())
    }

    /// Returns the values of a line, one for each column; nothing for an empty line.
    fn row<'l>(&self, line: &'l [u8]) -> Result<Option<Vec<Value<'l>>>, Problem> {
        if std::str::from_utf8(line).is_err() {
            return Err((None, Fault::Encoding { expected: self.encoding, is_mixed: false }));
        }
        let Some(object) =
            object(line, &self.positions).map_err(|reason| (None, Fault::Form(reason)))?
        else {
            return Ok(None);
        };
        let mut values: Vec<Value<'l>> = (0..self.names.len()).map(|_| Value::Null).collect();
        let mut is_given = vec![false; values.len()];
        for (key, raw) in object.0 {
            let Some(column) = self.columns_by_key.get(&*key) else {
                if self.ignores_others {
                    continue;
                }
                let is_reread = self.is_reopenable;
                return Err((None, Fault::UnknownKey { key: key.into_owned(), is_reread }));
            };
            if std::mem::replace(&mut is_given[*column], true) {
                self.notes
                    .warn(format!("an object has the key {key} twice; its last value was loaded"));
            }
            if let Some(fault) = self.mismatch(*column, raw.get()) {
                return Err((Some(key.into_owned()), fault));
            }
            values[*column] = value(raw, Storing::of(&self.columns, *column))
                .map_err(|reason| (Some(key.into_owned()), Fault::Form(reason)))?;
        }
        Ok(Some(values))
    }
}

impl Lines {
    /// Notes the texts among the values of a row that stay texts in a column of numbers or of truth values.
    fn note_texts(&self, values: &[ValueRef<'_>]) {
        for (column, value) in values.iter().enumerate() {
            let ValueRef::Text(text) = value else { continue };
            let Storing { affinity, typing } = Storing::of(&self.columns, column);
            let wanted = match (affinity, typing) {
                (_, Typing::Booleans) => "truth value",
                (Affinity::Integer | Affinity::Real, _) => "number",
                _ => continue,
            };
            if !is_number_to_sqlite(text.as_bytes()) {
                let (column, value) =
                    (self.names[column].clone(), first_characters(text.as_bytes()));
                self.notes.add(Note::Texts { column, wanted, values: 1, value });
            }
        }
    }

    /// Returns the fault of a value that does not fit the type of its column, where the type was chosen from
    /// the first lines: a number loses its digits, or a text becomes a number.
    fn mismatch(&self, column: usize, raw: &str) -> Option<Fault> {
        let storing = Storing::of(&self.columns, column);
        let (affinity, is_number) = (storing.affinity, storing.is_of_numbers());
        let first = raw.as_bytes().first()?;
        match storing.typing {
            Typing::Unseen => (*first != b'n').then_some(Fault::Unseen),
            Typing::Sampled if is_number && *first == b'"' => {
                let text = serde_json::from_str::<Key<'_>>(raw).ok()?.0;
                let becomes_number = is_number_to_sqlite(text.as_bytes());
                becomes_number.then(|| Fault::changed(affinity, text.as_bytes()))
            }
            Typing::Sampled if is_number && loses_digits(affinity, raw.as_bytes()) => {
                Some(Fault::changed(affinity, raw.as_bytes()))
            }
            _ => None,
        }
    }
}

/// Returns the lines of a text, without their ends.
fn split(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let ends = memchr::memchr_iter(b'\n', bytes).chain([bytes.len()]);
    let mut begin = 0;
    ends.map(move |end| {
        let line = &bytes[begin..end];
        begin = end + 1;
        line
    })
}

/// Returns the values of a line that is an array.
fn array(line: &[u8]) -> Option<Vec<&RawValue>> {
    let is_array = line.trim_ascii_start().first() == Some(&b'[');
    if is_array { serde_json::from_slice(line).ok() } else { None }
}

/// Returns the object on a line, or the array whose values have these names; nothing where there is nothing but blanks.
fn object<'l>(line: &'l [u8], positions: &[String]) -> Result<Option<Object<'l>>, String> {
    if line.trim_ascii().is_empty() {
        return Ok(None);
    }
    if let Some(values) = array(line).filter(|_| !positions.is_empty()) {
        let (found, expected) = (values.len(), positions.len());
        if found != expected {
            return Err(format!("an array of {found} values instead of {expected}"));
        }
        let names = positions.iter().map(|name| Cow::Owned(name.clone()));
        return Ok(Some(Object(names.zip(values).collect())));
    }
    serde_json::from_slice(line)
        .map(Some)
        // The library counts lines too; here there is only one.
        .map_err(|error| {
            if std::str::from_utf8(line).is_err() {
                return "it is not valid UTF-8; set the encoding with --encoding, such as windows-1252".to_owned();
            }
            let error = error.to_string();
            let reason = error.split(" at line 1 column ").collect::<Vec<_>>();
            match reason[..] {
                [reason, column] => format!("not a JSON object: {reason} at character {column}"),
                _ => format!("not a JSON object: {error}"),
            }
        })
}

/// An object whose values have not been looked at.
struct Object<'l>(Vec<(Cow<'l, str>, &'l RawValue)>);

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object<'de>, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
                let mut pairs = Vec::new();
                while let Some((Key(key), value)) = map.next_entry()? {
                    pairs.push((key, value));
                }
                Ok(Object(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

/// A key, borrowed where it has no escapes.
#[derive(serde::Deserialize)]
struct Key<'l>(#[serde(borrow)] Cow<'l, str>);

/// A value, borrowed where it can be.
enum Value<'l> {
    Null,
    Integer(i64),
    Real(f64),
    Text(Cow<'l, str>),
}

impl Value<'_> {
    fn borrowed(&self) -> ValueRef<'_> {
        match self {
            Value::Null => ValueRef::Null,
            Value::Integer(value) => ValueRef::Integer(*value),
            Value::Real(value) => ValueRef::Real(*value),
            Value::Text(text) => ValueRef::Text(text),
        }
    }
}

/// Returns the value for SQLite: true and false are 1 and 0, and arrays and objects stay JSON. A column
/// of text gets other values as JSON writes them, and one of truth values 1 and 0 for words for them.
fn value(raw: &RawValue, storing: Storing) -> Result<Value<'_>, String> {
    let text = raw.get();
    let reason = |error: serde_json::Error| error.to_string();
    let is_text_column = storing.affinity == Affinity::Text;
    Ok(match text.as_bytes().first() {
        Some(b'n') => Value::Null,
        Some(first) if is_text_column && *first != b'"' => Value::Text(Cow::Borrowed(text)),
        Some(b't') => Value::Integer(1),
        Some(b'f') => Value::Integer(0),
        Some(b'"') => {
            let text = serde_json::from_str::<Key<'_>>(text).map_err(reason)?.0;
            let is_of_truth_values = storing.typing == Typing::Booleans;
            let truth = is_of_truth_values.then(|| truth(text.as_bytes())).flatten();
            truth.map_or(Value::Text(text), Value::Integer)
        }
        Some(b'[' | b'{') | None => Value::Text(Cow::Borrowed(text)),
        Some(_) => match text.parse() {
            Ok(integer) => Value::Integer(integer),
            Err(_) => {
                Value::Real(text.parse().map_err(|error: ParseFloatError| error.to_string())?)
            }
        },
    })
}

/// The keys of lines in the order of their appearance, with what their values are.
#[derive(Default)]
struct Keys {
    columns: Vec<(String, ColumnKind)>,
    /// The names of the values of an array, if rows are arrays.
    positions: Vec<String>,
    /// Lines so far.
    lines: usize,
    /// The number of the first line that is not an object, and the reason.
    first_problem: Option<(usize, String)>,
}

impl Keys {
    fn of(lines: &Lines) -> Keys {
        Keys { positions: lines.positions.clone(), ..Keys::default() }
    }

    /// Adds the keys of at most this number of lines.
    fn add(&mut self, bytes: &[u8], most: usize) {
        for line in split(bytes).take(most) {
            self.lines += 1;
            match object(line, &self.positions) {
                Ok(Some(object)) => object.0.iter().for_each(|(key, value)| {
                    let (kind, row) = (kind(value.get()), self.lines as u64);
                    let known = self.columns.iter().position(|(name, _)| name == key);
                    let at = known.unwrap_or_else(|| {
                        let name = key.clone().into_owned();
                        self.columns.push((name, ColumnKind::UNKNOWN));
                        self.columns.len() - 1
                    });
                    self.columns[at].1.add(kind, row, value.get().as_bytes());
                }),
                Ok(None) => {}
                Err(problem) => {
                    self.first_problem.get_or_insert((self.lines, problem));
                }
            }
        }
    }

    /// Returns all of them, and `more`.
    fn checked(self, lines: &Lines, more: &[String]) -> Result<Vec<(String, ColumnKind)>> {
        let (input, mut columns) = (&lines.input, self.columns);
        if columns.is_empty() {
            let reason = match self.first_problem {
                Some((number, reason)) => format!("{} {number}: {reason}", lines.unit),
                None => "it contains no object with a key".to_owned(),
            };
            return Err(LoadError::form(input, reason));
        }
        let known = names(&columns);
        for name in more.iter().filter(|name| !known.iter().any(|known| same(known, name))) {
            columns.push((name.clone(), ColumnKind::UNKNOWN));
        }
        if columns.iter().any(|(key, _)| key.contains('\0')) {
            return Err(LoadError::form(input, "a key holds a NUL character"));
        }
        Ok(columns)
    }
}

/// Only these keys, with what their values are as far as that is known.
fn selected(known: &[(String, ColumnKind)], only: &[String]) -> Vec<(String, ColumnKind)> {
    let names = names(known);
    let of = |name: &String| {
        let at = names.iter().position(|known| known == name);
        at.map_or_else(|| (name.clone(), ColumnKind::UNKNOWN), |at| known[at].clone())
    };
    only.iter().map(of).collect()
}

/// Returns the names of the columns: keys that differ only in case, which SQLite ignores, get a number.
fn names(columns: &[(String, ColumnKind)]) -> Vec<String> {
    let mut names = Vec::with_capacity(columns.len());
    for (key, _) in columns {
        let name = unique(&names, key.clone());
        names.push(name);
    }
    names
}

/// Returns the kind of a value in JSON.
fn kind(raw: &str) -> Kind {
    match raw.as_bytes().first() {
        Some(b'n') => Kind::Unknown,
        Some(b't' | b'f') => Kind::Integer,
        Some(b'"' | b'[' | b'{') | None => Kind::Text,
        Some(_) => {
            let fraction = if keeps_digits(raw.as_bytes()) { Kind::Real } else { Kind::Text };
            Kind::of_digits(raw.as_bytes()).unwrap_or(fraction)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;
    use crate::batch::Batch;
    use crate::table::Column;
    use arrow_array::RecordBatch;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;

    fn open(text: &str) -> Result<JsonLinesSource, LoadError> {
        let input = Input::from_bytes("test.jsonl", text.as_bytes().to_vec());
        JsonLinesSource::open(input, &JsonOptions::default())
    }

    fn declared(source: &JsonLinesSource) -> Vec<String> {
        let shown = |column: &Column| format!("{} {}", column.name, column.declared);
        source.columns().iter().map(shown).collect()
    }

    fn read(source: &mut JsonLinesSource) -> Vec<Batch> {
        let affinities: Vec<Affinity> =
            source.columns().iter().map(|column| Affinity::of(&column.declared)).collect();
        source.begin(ReadOptions::new(affinities));
        let mut batches = Vec::new();
        while let Some(batch) = source.next().unwrap() {
            batches.push(batch);
        }
        batches
    }

    fn texts(rows: &RecordBatch, column: usize) -> Vec<Option<String>> {
        let texts = rows.column(column).as_string::<i32>();
        texts.iter().map(|text| text.map(str::to_owned)).collect()
    }

    #[test]
    fn columns_are_the_keys_and_types_those_of_their_values() {
        let source = open(concat!(
            "{\"id\": 1, \"name\": \"a\", \"ok\": true, \"price\": 1}\n\n",
            "{\"id\": 2, \"price\": 1.5, \"tags\": [1, 2], \"none\": null}\n",
        ))
        .unwrap();
        assert_eq!(
            declared(&source),
            ["id INTEGER", "name TEXT", "ok INTEGER", "price REAL", "tags TEXT", "none TEXT"]
        );
    }

    #[test]
    fn values_keep_their_types_and_nested_ones_their_text() {
        let mut source = open(concat!(
            "{\"a\": -9223372036854775808, \"b\": \"x\\ty \\u00e9\"}\n",
            "{\"b\": {\"c\": [1.50, \"\\u00e9\"]}}\r\n",
            "{\"a\": true, \"b\": null}"
        ))
        .unwrap();
        let batches = read(&mut source);
        let [batch] = &batches[..] else {
            panic!("{} batches", batches.len());
        };
        let integers = batch.rows.column(0).as_primitive::<Int64Type>();
        assert_eq!(integers.iter().collect::<Vec<_>>(), [Some(i64::MIN), None, Some(1)]);
        assert_eq!(
            texts(&batch.rows, 1),
            [Some("x\ty é".to_owned()), Some("{\"c\": [1.50, \"\\u00e9\"]}".to_owned()), None]
        );
    }

    #[test]
    fn malformed_lines_are_named_by_their_number_in_the_file() {
        let mut text = b"{\"a\": 1}\n\n{\"a\": }\n[1]\n{\"b\": 1}\n{\"a\": \"\xff\"}\n".to_vec();
        text.extend_from_slice(b"{\"a\": 1} {}\n{\"a\": 2}\n");
        let mut source =
            JsonLinesSource::open(Input::from_bytes("test", text), &JsonOptions::default())
                .unwrap();
        // The sample has seen the key b.
        assert_eq!(declared(&source), ["a INTEGER", "b INTEGER"]);
        let batches = read(&mut source);
        let messages: Vec<String> = batches
            .iter()
            .flat_map(|batch| &batch.malformed)
            .map(|bad| format!("{}: {}", bad.row, bad.fault))
            .collect();
        assert_eq!(
            messages,
            [
                "3: not a JSON object: expected value at character 7",
                "4: not a JSON object: invalid type: sequence, expected an object at character 0",
                "6: it is not valid UTF-8",
                "7: not a JSON object: trailing characters at character 10",
            ]
        );
        let last = batches.last().unwrap();
        assert_eq!(last.numbers.number(last.rows.num_rows() - 1), 8);
    }

    #[test]
    fn a_key_that_comes_late_is_an_error_unless_it_was_named() {
        let mut text = "{\"a\": 1}\n".repeat(SAMPLE_LINES);
        text += "{\"a\": 1, \"late\": 2}\n";
        let last_problem = |source: &mut JsonLinesSource| {
            let batches = read(source);
            batches.last().and_then(|batch| batch.malformed.last().map(|bad| bad.fault.to_string()))
        };
        let messages = last_problem(&mut open(&text).unwrap()).unwrap();
        assert_eq!(messages, "its key late is not among those of the first lines");
        let input = Input::from_bytes("test", text.into_bytes());
        let options = JsonOptions { more_keys: vec!["late".to_owned()], ..JsonOptions::default() };
        let mut source = JsonLinesSource::open(input, &options).unwrap();
        assert_eq!(last_problem(&mut source), None);
    }

    #[test]
    fn what_is_no_json_lines_is_refused() {
        let refused = |text: &str| open(text).err().unwrap().to_string();
        assert!(refused("").contains("empty"));
        assert!(refused("\n \n").contains("no object with a key"));
        assert!(refused("{}\n").contains("no object"));
        assert!(refused("[\n").contains("line 1: not a JSON object"));
    }
}
