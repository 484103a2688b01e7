//! Values as SQLite stores them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A value of one of SQLite's five storage classes (<https://sqlite.org/datatype3.html>).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// NULL.
    Null,
    /// A 64-bit signed integer.
    Integer(i64),
    /// A 64-bit IEEE floating point number.
    Real(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Blob(#[serde(with = "serde_bytes")] Vec<u8>),
}

/// A value where it lies, without a copy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ValueRef<'v> {
    /// NULL.
    Null,
    /// A 64-bit signed integer.
    Integer(i64),
    /// A 64-bit IEEE floating point number; NaN counts as NULL, as always in SQLite.
    Real(f64),
    /// A text.
    Text(&'v str),
    /// Bytes.
    Blob(&'v [u8]),
}

impl ValueRef<'_> {
    /// Returns a copy of its own.
    pub fn to_value(self) -> Value {
        match self {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(value) => Value::Integer(value),
            ValueRef::Real(value) => Value::Real(value),
            ValueRef::Text(text) => Value::Text(text.to_owned()),
            ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
        }
    }
}

impl Value {
    /// Returns the name of the storage class as `typeof()` gives it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Integer(_) => "integer",
            Value::Real(_) => "real",
            Value::Text(_) => "text",
            Value::Blob(_) => "blob",
        }
    }
}

/// The value as text: as SQLite's CAST would give it for numbers and text, `NULL`, and `x'…'` for blobs.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("NULL"),
            Value::Integer(value) => write!(f, "{value}"),
            Value::Real(value) => write!(f, "{value:?}"),
            Value::Text(value) => f.write_str(value),
            Value::Blob(bytes) => {
                f.write_str("x'")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                f.write_str("'")
            }
        }
    }
}
