//! One JSON object on each line.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use engine::Value;
use serde_json::Value as Json;

use super::columns::{COLUMNS, Type};
use super::for_each_row;
use crate::{Trace, TraceError};

pub fn write(
    trace: &Trace,
    file: File,
    failed: impl Fn(io::Error) -> TraceError,
) -> Result<u64, TraceError> {
    let mut out = BufWriter::new(file);
    let count = for_each_row(trace, |row| write_row(&mut out, row).map_err(&failed))?;
    out.flush().map_err(&failed)?;
    Ok(count)
}

fn write_row(out: &mut impl Write, row: &[Value]) -> io::Result<()> {
    for (number, ((name, kind), value)) in COLUMNS.iter().zip(row).enumerate() {
        let between = if number == 0 { '{' } else { ',' };
        write!(out, "{between}\"{name}\":")?;
        match (kind, value) {
            (Type::Boolean, Value::Integer(number)) => write!(out, "{}", *number != 0)?,
            (_, Value::Integer(number)) => write!(out, "{number}")?,
            // They are an array already.
            (Type::Json, Value::Text(values)) => out.write_all(values.as_bytes())?,
            (_, Value::Text(text)) => write!(out, "{}", Json::from(text.as_str()))?,
            _ => out.write_all(b"null")?,
        }
    }
    out.write_all(b"}\n")
}
