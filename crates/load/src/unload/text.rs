//! Rows as texts: CSV, TSV, JSON and JSON Lines. What is written is read back as the same values.

use std::io::{self, Write};

use engine::ValueRef;

use super::output::{Output, Writer};
use super::{OutputFormat, Unload};
use crate::blobs::Blobs;
use crate::table::Column;

/// Writes rows as texts.
pub(super) struct TextWriter {
    output: Output,
    format: OutputFormat,
    blobs: Blobs,
    ends_with_delimiter: bool,
    /// The keys of JSON with what stands before their values.
    keys: Vec<Vec<u8>>,
    is_first: bool,
    line: Vec<u8>,
}

impl TextWriter {
    pub(super) fn new(
        output: Output,
        request: &Unload,
        columns: &[Column],
        ends_with_delimiter: bool,
    ) -> io::Result<TextWriter> {
        let names = || columns.iter().map(|column| &*column.name);
        let key = |(at, name): (usize, &str)| {
            let mut key = if at == 0 { b"{".to_vec() } else { b",".to_vec() };
            push_json_text(&mut key, name);
            key.push(b':');
            key
        };
        let mut writer = TextWriter {
            output,
            format: request.form.format,
            blobs: request.blobs,
            ends_with_delimiter,
            keys: names().enumerate().map(key).collect(),
            is_first: true,
            line: Vec::new(),
        };
        match writer.delimiter() {
            Some(_) => writer.fields(&names().map(ValueRef::Text).collect::<Vec<_>>())?,
            None if writer.format == OutputFormat::Json => writer.output.write_all(b"[")?,
            None => {}
        }
        Ok(writer)
    }

    fn delimiter(&self) -> Option<u8> {
        match self.format {
            OutputFormat::Csv => Some(b','),
            OutputFormat::Tsv => Some(b'\t'),
            _ => None,
        }
    }

    fn fields(&mut self, values: &[ValueRef<'_>]) -> io::Result<()> {
        let delimiter = self.delimiter().unwrap_or(b',');
        self.line.clear();
        for (at, value) in values.iter().enumerate() {
            if at > 0 {
                self.line.push(delimiter);
            }
            match *value {
                ValueRef::Text(text) => push_field(&mut self.line, text),
                ValueRef::Blob(bytes) => push_field(&mut self.line, &self.blobs.text(bytes)),
                value => push_number(&mut self.line, value, ""),
            }
        }
        if self.ends_with_delimiter {
            self.line.push(delimiter);
        }
        self.line.push(b'\n');
        self.output.write_all(&self.line)
    }

    fn object(&mut self, values: &[ValueRef<'_>]) -> io::Result<()> {
        self.line.clear();
        if self.format == OutputFormat::Json {
            self.line.extend_from_slice(if self.is_first { b"\n" } else { b",\n" });
        }
        self.is_first = false;
        for (key, value) in self.keys.iter().zip(values) {
            self.line.extend_from_slice(key);
            match *value {
                ValueRef::Text(text) => push_json_text(&mut self.line, text),
                ValueRef::Blob(bytes) => push_json_text(&mut self.line, &self.blobs.text(bytes)),
                value => push_number(&mut self.line, value, "null"),
            }
        }
        self.line.push(b'}');
        if self.format == OutputFormat::JsonLines {
            self.line.push(b'\n');
        }
        self.output.write_all(&self.line)
    }
}

impl Writer for TextWriter {
    fn row(&mut self, values: &[ValueRef<'_>]) -> io::Result<()> {
        match self.delimiter() {
            Some(_) => self.fields(values),
            None => self.object(values),
        }
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        if self.format == OutputFormat::Json {
            self.output.write_all(b"\n]\n")?;
        }
        self.output.finish()
    }
}

/// Adds a text, in quotes where it would be something else without: an empty text would be NULL, and a usual delimiter could
/// be taken for the file's.
fn push_field(line: &mut Vec<u8>, text: &str) {
    let needs_quotes = |byte: u8| matches!(byte, b'"' | b'\n' | b'\r' | b',' | b'\t' | b';' | b'|');
    if !text.is_empty() && !text.bytes().any(needs_quotes) {
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
