//! Values as they are stored after their column's affinity was applied
//! (<https://sqlite.org/datatype3.html#type_affinity>).
//!
//! Conversions between texts and numbers that are more than copying digits are left to SQLite itself,
//! so that they come out as it does them.

use std::borrow::Cow;

use engine::{Connection, EngineError, Statement, Step, Value, ValueRef};

use super::order::Field;
use super::record::{REAL, integer_type, number_length, put_bytes, put_number};
use crate::affinity::Affinity;
use crate::source::number::{integer, is_number_to_sqlite, real};

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
    /// Returns the serial type (<https://sqlite.org/fileformat2.html#record_format>).
    pub(super) fn serial_type(&self) -> u32 {
        // Texts and blobs are shorter than 2³⁰ bytes.
        match self {
            Stored::Null => 0,
            Stored::Integer(value) => integer_type(*value),
            Stored::Real(_) => REAL,
            Stored::Text(text) => 2 * text.len() as u32 + 13,
            Stored::Blob(bytes) => 2 * bytes.len() as u32 + 12,
        }
    }

    /// Returns the value as it will be read from the record.
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

    /// Returns the bytes that the value takes in a record.
    pub(super) fn length(&self) -> usize {
        match self {
            Stored::Text(text) => text.len(),
            Stored::Blob(bytes) => bytes.len(),
            number => number_length(number.serial_type()),
        }
    }

    /// Writes the value so that it ends at `end`, and returns where it begins.
    #[cold]
    pub(super) fn put(&self, serial_type: u32, place: &mut [u8], end: usize) -> usize {
        match self {
            Stored::Null => end,
            Stored::Integer(value) => put_number(*value as u64, serial_type, place, end),
            Stored::Real(value) => put_number(value.to_bits(), serial_type, place, end),
            Stored::Text(text) => put_bytes(text.as_bytes(), text.len(), serial_type, place, end),
            Stored::Blob(bytes) => put_bytes(bytes, bytes.len(), serial_type, place, end),
        }
    }
}

/// Returns whether an integer takes up to 48 bits, which is less than a real takes.
#[inline]
pub(super) fn is_short(value: i64) -> bool {
    (-(1_i64 << 47)..1 << 47).contains(&value)
}

/// Returns whether a real is a whole number that SQLite makes an integer: not at the ends of the range.
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

/// Returns the value that is stored in a column of this affinity.
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

/// Integers in a REAL column are reals; integers of up to 48 bits are stored as such, to take less
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
    if !is_number_to_sqlite(bytes) {
        return Ok(Stored::Text(Cow::Borrowed(text)));
    }
    Ok(match conversion.number(text)? {
        Value::Integer(value) => integer_stored(value, affinity),
        Value::Real(value) => real_stored(value, affinity),
        _ => Stored::Text(Cow::Borrowed(text)),
    })
}
