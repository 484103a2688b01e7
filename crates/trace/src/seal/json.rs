//! Values as the elements of a JSON array, which SQLite's JSON functions read.
//!
//! What JSON cannot say is an object: `{"hex": …}` is a blob, `{"blob": n}` a value in the table `blob`.

use std::fmt::Write;

use recorder::read::{Hashed, Value, Values};

use crate::content::Classes;

/// From this length on, in bytes, a value is in a table of its own.
const LONG: usize = 64;

/// Writes the values as the elements of a JSON array to `out`; hashed ones with the number of their class.
/// `store` takes a long text or blob and returns the number under which it is stored.
pub fn write<E>(
    values: Values<'_>,
    classes: &Classes,
    store: &mut impl FnMut(&[u8], bool) -> Result<i64, E>,
    out: &mut String,
) -> Result<(), E> {
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        match value {
            Value::HashedText(hashed) => {
                write_hash("text_hash", hashed, classes.of(false, hashed.order), out)
            }
            Value::HashedBlob(hashed) => {
                write_hash("blob_hash", hashed, classes.of(true, hashed.order), out)
            }
            value => write_value(value, store, out)?,
        }
    }
    Ok(())
}

fn write_value<E>(
    value: Value<'_>,
    store: &mut impl FnMut(&[u8], bool) -> Result<i64, E>,
    out: &mut String,
) -> Result<(), E> {
    match value {
        Value::Null => out.push_str("null"),
        Value::Integer(number) => put(out, format_args!("{number}")),
        Value::Real(number) if number.is_finite() => put(out, format_args!("{number:?}")),
        Value::Real(number) => put(out, format_args!(r#"{{"real":"{number}"}}"#)),
        Value::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(_) if bytes.len() >= LONG => write_stored(store(bytes, true)?, out),
            Ok(text) => quote(text, out),
            Err(_) => write_hex("text_hex", bytes, out),
        },
        Value::Blob(bytes) if bytes.len() >= LONG => write_stored(store(bytes, false)?, out),
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

fn write_stored(number: i64, out: &mut String) {
    put(out, format_args!(r#"{{"blob":{number}}}"#));
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
