//! Lists, structs and maps as JSON text, which SQLite's JSON functions read.

use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, StringArray, UInt64Array};
use arrow_schema::DataType;
use engine::ValueRef;
use serde_json::Value;

use super::{ConversionError, Converted, Decimals, check_length, converted, scale};
use crate::cells::Cells;

/// A column of nested values as a column of texts.
///
/// # Errors
/// SQLite has nothing like a type or a value in it, or the texts are too long for a column.
pub(super) fn texts(array: &ArrayRef) -> Converted {
    let json = Json::of(array)?;
    let text = |row| {
        array.is_valid(row).then(|| {
            let mut text = String::new();
            json.write(row, &mut text);
            text
        })
    };
    let texts: Vec<Option<String>> = (0..array.len()).map(text).collect();
    check_length(texts.iter().flatten().map(String::len))?;
    Ok(Arc::new(texts.into_iter().collect::<StringArray>()))
}

/// An array whose values are written as JSON.
struct Json {
    array: ArrayRef,
    form: Form,
}

enum Form {
    /// Values as SQLite would store them.
    Plain(Cells),
    /// Texts that are JSON as they stand: numbers that SQLite does not hold exactly.
    Digits(StringArray),
    /// Integers without a sign, which JSON does not limit.
    Unsigned(UInt64Array),
    Bits,
    /// The ranges of the values that belong to each row.
    List(Vec<Range<usize>>, Box<Json>),
    /// Keys as texts of JSON, and the values that belong to each row.
    Map(Vec<Range<usize>>, Box<Json>, Box<Json>),
    /// Names as texts of JSON, and the column of each.
    Struct(Vec<(String, Json)>),
}

impl Json {
    fn of(array: &ArrayRef) -> Converted<Json> {
        let form = match array.data_type() {
            DataType::Boolean => Form::Bits,
            DataType::UInt64 => Form::Unsigned(array.as_primitive::<UInt64Type>().clone()),
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                let lengths = list.offsets().lengths();
                Form::list(list.values(), list.value_offsets()[0] as usize, lengths)?
            }
            DataType::LargeList(_) => {
                let list = array.as_list::<i64>();
                let lengths = list.offsets().lengths();
                Form::list(list.values(), list.value_offsets()[0] as usize, lengths)?
            }
            DataType::FixedSizeList(_, length) => {
                let lengths = std::iter::repeat_n(*length as usize, array.len());
                let list = array.as_fixed_size_list();
                Form::list(list.values(), list.value_offset(0) as usize, lengths)?
            }
            DataType::Map(_, _) => {
                let map = array.as_map();
                let (first, lengths) = (map.value_offsets()[0] as usize, map.offsets().lengths());
                let (ranges, all) = ranges(lengths);
                let part = |array: &ArrayRef| Json::of(&array.slice(first, all)).map(Box::new);
                Form::Map(ranges, part(map.keys())?, part(map.values())?)
            }
            DataType::Struct(fields) => {
                let columns = fields.iter().zip(array.as_struct().columns());
                let named = |name: &String, column| Ok((quoted(name), Json::of(column)?));
                let columns = columns.map(|(field, column)| named(field.name(), column));
                Form::Struct(columns.collect::<Converted<_>>()?)
            }
            data_type if scale(data_type).is_some() => {
                let texts = converted(array, Decimals::Text)?;
                Form::Digits(texts.as_string::<i32>().clone())
            }
            data_type if data_type.is_nested() => return Err(ConversionError::Type),
            _ => Form::Plain(Cells::of(&converted(array, Decimals::Text)?)),
        };
        let array = Arc::clone(array);
        Ok(Json { array, form })
    }

    /// Writes the value of a row.
    fn write(&self, row: usize, text: &mut String) {
        if self.array.is_null(row) {
            text.push_str("null");
            return;
        }
        match &self.form {
            Form::Plain(cells) => write_plain(cells.value(row), text),
            Form::Digits(digits) => text.push_str(digits.value(row)),
            Form::Unsigned(values) => text.push_str(&values.value(row).to_string()),
            Form::Bits => {
                text.push_str(if self.array.as_boolean().value(row) { "true" } else { "false" })
            }
            Form::List(ranges, values) => {
                write_all(text, ['[', ']'], ranges[row].clone(), |row, text| {
                    values.write(row, text)
                });
            }
            Form::Map(ranges, keys, values) => {
                write_all(text, ['{', '}'], ranges[row].clone(), |row, text| {
                    // Writes the value of a row as a key, which JSON knows as texts only.
                    let mut key = String::new();
                    keys.write(row, &mut key);
                    text.push_str(&if key.starts_with('"') { key } else { quoted(&key) });
                    text.push(':');
                    values.write(row, text);
                });
            }
            Form::Struct(columns) => {
                write_all(text, ['{', '}'], 0..columns.len(), |column, text| {
                    let (name, values) = &columns[column];
                    text.push_str(name);
                    text.push(':');
                    values.write(row, text);
                })
            }
        }
    }
}

impl Form {
    /// Lists of these lengths; the values of the first begin at `first`.
    fn list(
        values: &ArrayRef,
        first: usize,
        lengths: impl Iterator<Item = usize>,
    ) -> Converted<Form> {
        let (ranges, all) = ranges(lengths);
        // Values that no row has are not converted, because SQLite may have nothing like them.
        let values = Json::of(&values.slice(first, all))?;
        Ok(Form::List(ranges, Box::new(values)))
    }
}

/// Ranges of these lengths one behind the other, and the length of all.
fn ranges(lengths: impl Iterator<Item = usize>) -> (Vec<Range<usize>>, usize) {
    let mut end = 0;
    let ranges = lengths.map(|length| {
        end += length;
        end - length..end
    });
    (ranges.collect(), end)
}

/// Writes items between brackets, with commas between them.
fn write_all(
    text: &mut String,
    [open, close]: [char; 2],
    items: Range<usize>,
    mut write: impl FnMut(usize, &mut String),
) {
    text.push(open);
    let first = items.start;
    for item in items {
        if item > first {
            text.push(',');
        }
        write(item, text);
    }
    text.push(close);
}

/// Writes a value of SQLite's. JSON has neither infinity nor bytes: these become null and hexadecimal digits.
fn write_plain(value: ValueRef<'_>, text: &mut String) {
    match value {
        ValueRef::Null => text.push_str("null"),
        ValueRef::Integer(integer) => text.push_str(&integer.to_string()),
        ValueRef::Real(real) => text.push_str(&Value::from(real).to_string()),
        ValueRef::Text(plain) => text.push_str(&quoted(plain)),
        ValueRef::Blob(bytes) => {
            text.push('"');
            for byte in bytes {
                // Writing to a text does not fail.
                let _ = write!(text, "{byte:02x}");
            }
            text.push('"');
        }
    }
}

/// A text as JSON writes it.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
