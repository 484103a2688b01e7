//! Rows as texts: CSV, TSV, JSON and JSON Lines. What is written is read back as the same values.

use std::io::{self, Write};

use engine::ValueRef;

use super::output::Output;
use super::{OutputFormat, Shape};
use crate::blobs::Blobs;
use crate::table::Column;

/// Makes texts of rows.
pub(super) struct TextRows {
    format: OutputFormat,
    blobs: Blobs,
    ends_with_delimiter: bool,
    /// The keys of JSON with what stands before their values.
    keys: Vec<Vec<u8>>,
    text: Vec<u8>,
    block: usize,
}

impl TextRows {
    pub(super) fn new(shape: &Shape<'_>) -> TextRows {
        let Shape { request, columns, ends_with_delimiter, .. } = shape;
        let key = |(at, column): (usize, &Column)| {
            let mut key = if at == 0 { b"{".to_vec() } else { b",".to_vec() };
            push_json_text(&mut key, &column.name);
            key.push(b':');
            key
        };
        TextRows {
            format: request.form.format,
            blobs: request.blobs,
            ends_with_delimiter: *ends_with_delimiter,
            keys: columns.iter().enumerate().map(key).collect(),
            text: Vec::new(),
            block: request.block(),
        }
    }

    /// Adds a row. In an array of JSON each begins with a comma.
    pub(super) fn push(&mut self, values: &[ValueRef<'_>]) {
        match delimiter(self.format) {
            Some(delimiter) => self.push_fields(values, delimiter),
            None => self.push_object(values),
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.text.len() >= self.block
    }

    /// Returns the texts of the rows since the last call.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::replace(&mut self.text, Vec::with_capacity(self.block + self.block / 8))
    }

    fn push_fields(&mut self, values: &[ValueRef<'_>], delimiter: u8) {
        let text = &mut self.text;
        for (at, value) in values.iter().enumerate() {
            if at > 0 {
                text.push(delimiter);
            }
            match *value {
                ValueRef::Text(value) => push_field(text, value),
                ValueRef::Blob(bytes) => push_field(text, &self.blobs.text(bytes)),
                value => push_number(text, value, ""),
            }
        }
        if self.ends_with_delimiter {
            text.push(delimiter);
        }
        text.push(b'\n');
    }

    fn push_object(&mut self, values: &[ValueRef<'_>]) {
        let text = &mut self.text;
        if self.format == OutputFormat::Json {
            text.extend_from_slice(b",\n");
        }
        for (key, value) in self.keys.iter().zip(values) {
            text.extend_from_slice(key);
            match *value {
                ValueRef::Text(value) => push_json_text(text, value),
                ValueRef::Blob(bytes) => push_json_text(text, &self.blobs.text(bytes)),
                value => push_number(text, value, "null"),
            }
        }
        text.push(b'}');
        if self.format == OutputFormat::JsonLines {
            text.push(b'\n');
        }
    }
}

/// Writes texts of rows, with what stands before and behind them.
pub(super) struct TextWriter {
    output: Output,
    format: OutputFormat,
    is_first: bool,
}

impl TextWriter {
    pub(super) fn new(mut output: Output, shape: &Shape<'_>) -> io::Result<TextWriter> {
        let format = shape.request.form.format;
        if delimiter(format).is_some() {
            let names = shape.columns.iter().map(|column| ValueRef::Text(&column.name));
            let mut header = TextRows::new(shape);
            header.push(&names.collect::<Vec<_>>());
            output.write_all(&header.text)?;
        } else if format == OutputFormat::Json {
            output.write_all(b"[")?;
        }
        Ok(TextWriter { output, format, is_first: true })
    }

    /// Writes texts of rows.
    pub(super) fn write(&mut self, text: &[u8]) -> io::Result<()> {
        let is_first = std::mem::replace(&mut self.is_first, false);
        let comma = usize::from(is_first && self.format == OutputFormat::Json);
        self.output.write_all(&text[comma..])
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        if self.format == OutputFormat::Json {
            self.output.write_all(b"\n]\n")?;
        }
        self.output.finish()
    }
}

fn delimiter(format: OutputFormat) -> Option<u8> {
    match format {
        OutputFormat::Csv => Some(b','),
        OutputFormat::Tsv => Some(b'\t'),
        _ => None,
    }
}

/// Adds a text, in quotes where it would be something else without: an empty text would be NULL, and a usual delimiter could
/// be taken for the file's.
fn push_field(line: &mut Vec<u8>, text: &str) {
    let needs_quotes = |byte: u8| matches!(byte, b'"' | b'\n' | b'\r' | b',' | b'\t' | b';' | b'|');
    // Looking at all of them, without an end at the first, takes a fraction of the time.
    let is_quoted =
        text.bytes().fold(text.is_empty(), |is_quoted, byte| is_quoted | needs_quotes(byte));
    if !is_quoted {
        line.extend_from_slice(text.as_bytes());
        return;
    }
    line.push(b'"');
    for byte in text.bytes() {
        line.push(byte);
        if byte == b'"' {
            line.push(byte);
        }
    }
    line.push(b'"');
}

fn push_json_text(line: &mut Vec<u8>, text: &str) {
    // Writing to memory cannot fail.
    let _ = serde_json::to_writer(line, text);
}

/// Adds a number with every digit, or what stands for NULL.
fn push_number(line: &mut Vec<u8>, value: ValueRef<'_>, null: &str) {
    // Writing to memory cannot fail.
    let _ = match value {
        ValueRef::Integer(value) => serde_json::to_writer(line, &value).map_err(io::Error::from),
        ValueRef::Real(value) if value.is_infinite() => {
            write!(line, "{}9e999", if value < 0.0 { "-" } else { "" })
        }
        ValueRef::Real(value) if value == 0.0 || (1e-5..1e16).contains(&value.abs()) => {
            serde_json::to_writer(line, &value).map_err(io::Error::from)
        }
        // With a point, which tells such numbers from codes.
        ValueRef::Real(value) => {
            let text = format!("{value:e}");
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let point = if mantissa.contains('.') { "" } else { ".0" };
            write!(line, "{mantissa}{point}e{exponent}")
        }
        _ => line.write_all(null.as_bytes()),
    };
}
