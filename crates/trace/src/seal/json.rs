//! Values as the elements of a JSON array, which SQLite's JSON functions read.
//!
//! What JSON cannot say is an object: `{"hex": …}` is a blob, `{"blob": n}` a value in the table `blob`.

use std::fmt::Write;

use recorder::read::{Hashed, Value, Values};

use crate::order::Classes;

/// From this length on, in bytes, a value is in a table of its own.
const LONG: usize = 64;

/// Where long values go: gives the number under which one is stored.
pub trait Store {
    /// Why it cannot be stored.
    type Error;
    /// Stores a text or a blob.
    fn store(&mut self, bytes: &[u8], is_text: bool) -> Result<i64, Self::Error>;
}

/// Writes the values as the elements of a JSON array to `out`; hashed ones with the number of their class.
pub fn write<S: Store>(
    values: Values<'_>,
    (store, classes): (&mut S, &Classes),
    out: &mut String,
) -> Result<(), S::Error> {
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        match value {
            Value::HashedText(it) => write_hash("text_hash", it, classes.of(false, it.order), out),
            Value::HashedBlob(it) => write_hash("blob_hash", it, classes.of(true, it.order), out),
            value => write_value(value, store, out)?,
        }
    }
    Ok(())
}

fn write_value<S: Store>(
    value: Value<'_>,
    store: &mut S,
    out: &mut String,
) -> Result<(), S::Error> {
    match value {
        Value::Null => out.push_str("null"),
        Value::Integer(number) => put(out, format_args!("{number}")),
        Value::Real(number) if number.is_finite() => put(out, format_args!("{number:?}")),
        Value::Real(number) => put(out, format_args!(r#"{{"real":"{number}"}}"#)),
        Value::Text(bytes) => write_text(bytes, store, out)?,
        Value::Blob(bytes) if bytes.len() >= LONG => write_stored(bytes, false, store, out)?,
        Value::Blob(bytes) => write_hex("hex", bytes, out),
        Value::ZeroBlob(length) => put(out, format_args!(r#"{{"zeroblob":{length}}}"#)),
        Value::Pointer => out.push_str(r#"{"pointer":true}"#),
        Value::HashedText(_) | Value::HashedBlob(_) | Value::Omitted => {
            out.push_str(r#"{"omitted":true}"#)
        }
        Value::Expanded(sql) => {
            out.push_str(r#"{"expanded":"#);
            quote(&String::from_utf8_lossy(sql), out);
            out.push('}');
        }
    }
    Ok(())
}

/// Writing to a string cannot fail.
fn put(out: &mut String, what: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(what);
}

fn write_text<S: Store>(bytes: &[u8], store: &mut S, out: &mut String) -> Result<(), S::Error> {
    match std::str::from_utf8(bytes) {
        Ok(_) if bytes.len() >= LONG => write_stored(bytes, true, store, out)?,
        Ok(text) => quote(text, out),
        Err(_) => write_hex("text_hex", bytes, out),
    }
    Ok(())
}

fn write_stored<S: Store>(
    bytes: &[u8],
    is_text: bool,
    store: &mut S,
    out: &mut String,
) -> Result<(), S::Error> {
    let number = store.store(bytes, is_text)?;
    put(out, format_args!(r#"{{"blob":{number}}}"#));
    Ok(())
}

fn write_hex(name: &str, bytes: &[u8], out: &mut String) {
    put(out, format_args!(r#"{{"{name}":""#));
    for byte in bytes {
        put(out, format_args!("{byte:02x}"));
    }
    out.push_str("\"}");
}

fn write_hash(name: &str, hashed: Hashed, class: u64, out: &mut String) {
    let Hashed { hash, length, .. } = hashed;
    put(out, format_args!(r#"{{"{name}":"{hash:016x}","length":{length},"order":{class}}}"#));
}

fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c < ' ' => put(out, format_args!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}
