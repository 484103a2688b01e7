//! What a column's affinity makes of a value before it is stored
//! (<https://sqlite.org/datatype3.html#type_affinity>).
//!
//! Conversions between texts and numbers that are more than copying digits are left to SQLite itself,
//! so that they come out as it does them.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use engine::{Connection, EngineError, Library, OpenFlags, Statement, Step, Value, ValueRef};

use super::order::Field;
use super::record::{integer_type, number_length};
use crate::affinity::Affinity;
use crate::source::infer::{integer, is_number, real};

/// A value as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Stored<'v> {
    Null,
    Integer(i64),
    Real(f64),
    Text(Cow<'v, str>),
    Blob(&'v [u8]),
}

impl Stored<'_> {
    /// The serial type (<https://sqlite.org/fileformat2.html#record_format>).
    pub(super) fn serial_type(&self) -> u32 {
        // Texts and blobs are shorter than 2³⁰ bytes.
        match self {
            Stored::Null => 0,
            Stored::Integer(value) => integer_type(*value),
            Stored::Real(_) => 7,
            Stored::Text(text) => 2 * text.len() as u32 + 13,
            Stored::Blob(bytes) => 2 * bytes.len() as u32 + 12,
        }
    }

    /// The value as it will be read from the record.
    #[inline]
    pub(super) fn field(&self) -> Field<'_> {
        match self {
            Stored::Null => Field::Null,
            Stored::Integer(value) => Field::Integer(*value),
            Stored::Real(value) => Field::Real(*value),
            Stored::Text(text) => Field::Text(text.as_bytes()),
            Stored::Blob(bytes) => Field::Blob(bytes),
        }
    }

    /// The bytes that the value takes in a record.
    pub(super) fn length(&self) -> usize {
        match self {
            Stored::Text(text) => text.len(),
            Stored::Blob(bytes) => bytes.len(),
            number => number_length(number.serial_type()),
        }
    }
}

/// Whether an integer takes up to 48 bits, which is less than a real takes.
#[inline]
pub(super) fn is_short(value: i64) -> bool {
    (-(1_i64 << 47)..1 << 47).contains(&value)
}

/// Whether a real is a whole number that SQLite makes an integer: not at the ends of the range.
#[inline]
pub(super) fn is_whole(value: f64) -> bool {
    let whole = value as i64;
    whole as f64 == value && whole > i64::MIN && whole < i64::MAX
}

/// Conversions by SQLite.
pub(super) struct Conversion<'c> {
    to_number: Statement<'c, 'static>,
    to_text: Statement<'c, 'static>,
}

impl<'c> Conversion<'c> {
    /// A connection of one's own, to nothing.
    pub(super) fn connection(library: &Arc<Library>) -> Result<Connection, EngineError> {
        Connection::open(library, Path::new(":memory:"), OpenFlags::default(), None)
    }

    pub(super) fn new(connection: &'c Connection) -> Result<Conversion<'c>, EngineError> {
        Ok(Conversion {
            to_number: connection.prepare("SELECT CAST(?1 AS NUMERIC)")?,
            to_text: connection.prepare("SELECT CAST(?1 AS TEXT)")?,
        })
    }

    /// A number: the cast gives what affinity gives, since the whole text is one.
    fn number(&mut self, text: &str) -> Result<Value, EngineError> {
        convert(&mut self.to_number, &Value::Text(text.to_owned()))
    }

    fn text(&mut self, real: f64) -> Result<String, EngineError> {
        Ok(convert(&mut self.to_text, &Value::Real(real))?.to_string())
    }
}

fn convert(statement: &mut Statement<'_, '_>, value: &Value) -> Result<Value, EngineError> {
    statement.bind_value(1, value)?;
    let converted = match statement.step()? {
        Step::Row => statement.column_value(0),
        Step::Done => Value::Null,
    };
    statement.reset()?;
    Ok(converted)
}

/// What is stored of a value in a column of this affinity.
#[inline]
pub(super) fn store<'v>(
    value: ValueRef<'v>,
    affinity: Affinity,
    conversion: &mut Conversion<'_>,
) -> Result<Stored<'v>, EngineError> {
    Ok(match (value, affinity) {
        (ValueRef::Null, _) => Stored::Null,
        (ValueRef::Integer(value), Affinity::Text) => Stored::Text(Cow::Owned(value.to_string())),
        (ValueRef::Integer(value), affinity) => integer_stored(value, affinity),
        // NaN is NULL in SQLite.
        (ValueRef::Real(value), _) if value.is_nan() => Stored::Null,
        (ValueRef::Real(value), Affinity::Text) => {
            Stored::Text(Cow::Owned(conversion.text(value)?))
        }
        (ValueRef::Real(value), affinity) => real_stored(value, affinity),
        (ValueRef::Text(text), Affinity::Text | Affinity::Blob) => {
            Stored::Text(Cow::Borrowed(text))
        }
        (ValueRef::Text(text), affinity) => text_stored(text, affinity, conversion)?,
        (ValueRef::Blob(bytes), _) => Stored::Blob(bytes),
    })
}

/// Integers in a REAL column are reals; those of up to 48 bits are stored as integers, to take less
/// room, and come back as reals.
#[inline]
fn integer_stored<'v>(value: i64, affinity: Affinity) -> Stored<'v> {
    if affinity == Affinity::Real && !is_short(value) {
        return Stored::Real(value as f64);
    }
    Stored::Integer(value)
}

/// A real that is a whole number becomes an integer in every numeric column, except at the ends of the
/// range.
fn real_stored<'v>(value: f64, affinity: Affinity) -> Stored<'v> {
    match affinity {
        Affinity::Blob | Affinity::Text => Stored::Real(value),
        _ if is_whole(value) => integer_stored(value as i64, affinity),
        _ => Stored::Real(value),
    }
}

/// A text that is a number, white space around it aside, becomes that number.
fn text_stored<'v>(
    text: &'v str,
    affinity: Affinity,
    conversion: &mut Conversion<'_>,
) -> Result<Stored<'v>, EngineError> {
    let bytes = text.as_bytes();
    if let Some(value) = integer(bytes) {
        return Ok(integer_stored(value, affinity));
    }
    if let Some(value) = real(bytes) {
        return Ok(real_stored(value, affinity));
    }
    if !is_number_for_sqlite(bytes) {
        return Ok(Stored::Text(Cow::Borrowed(text)));
    }
    Ok(match conversion.number(text)? {
        Value::Integer(value) => integer_stored(value, affinity),
        Value::Real(value) => real_stored(value, affinity),
        _ => Stored::Text(Cow::Borrowed(text)),
    })
}

/// SQLite allows a plus sign, and white space on both sides.
fn is_number_for_sqlite(text: &[u8]) -> bool {
    let is_space = |byte: &u8| matches!(byte, b' ' | 9..=13);
    let Some(first) = text.iter().position(|byte| !is_space(byte)) else {
        return false;
    };
    let last = text.iter().rposition(|byte| !is_space(byte)).unwrap_or(first);
    let trimmed = &text[first..=last];
    match trimmed.strip_prefix(b"+") {
        None => is_number(trimmed),
        Some(unsigned) => !unsigned.starts_with(b"-") && is_number(unsigned),
    }
}
