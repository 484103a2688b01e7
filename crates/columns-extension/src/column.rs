//! One column of a batch: the layout of its values, and their conversion for SQLite.

use std::ffi::c_void;
use std::fmt::Display;

use values::calendar::{Clock, Zone};
use values::decimal_text;

use crate::arrow::{ArrowArray, ArrowSchema, bit, count, read, slice};

/// A value: borrowed from the batch, or written as a text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value<'v> {
    Null,
    Integer(i64),
    Real(f64),
    /// UTF-8, as Arrow promises.
    Text(&'v [u8]),
    Blob(&'v [u8]),
    Written(String),
}

/// Returns the number of a row.
///
/// # Safety
/// The values must be of its type, and one of them the row's.
type ReadNumber = unsafe fn(*const u8, usize) -> Result<Value<'static>, String>;

/// How values are laid out (<https://arrow.apache.org/docs/format/Columnar.html>).
#[derive(Debug, Clone, Copy)]
enum Layout {
    Null,
    Boolean,
    /// Numbers of one size, by the function that reads one.
    Number(ReadNumber),
    /// Dates and times of 32 bits.
    Clock32(Clock),
    /// Dates and times of 64 bits.
    Clock64(Clock),
    /// Integers of this number of bytes, with this number of digits after the decimal point.
    Decimal(usize, i32),
    /// Offsets of 32 bits and bytes.
    Bytes(Kind),
    /// Offsets of 64 bits and bytes.
    LargeBytes(Kind),
    /// Views of 16 bytes into several buffers.
    Views(Kind),
    /// Values of this number of bytes each.
    FixedBytes(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Blob,
}

/// A column. It borrows the array's buffers without the compiler knowing.
pub(crate) struct Column {
    layout: Layout,
    validity: *const u8,
    /// The buffer of values, offsets or views.
    first: *const u8,
    /// The buffer of bytes.
    second: *const u8,
    buffers: *mut *const c_void,
    offset: usize,
    /// The values that a dictionary's keys stand for.
    dictionary: Option<Box<Column>>,
}

/// The longest text within a view; longer ones are in a buffer.
const INLINE: usize = 12;

impl Column {
    /// A column whose struct begins at an offset of its own.
    ///
    /// # Safety
    /// Both structures must be valid, belong together and outlive the column.
    pub(crate) unsafe fn new(
        schema: &ArrowSchema,
        array: &ArrowArray,
        offset: usize,
    ) -> Result<Column, String> {
        // SAFETY: the caller guarantees it.
        let layout = layout(unsafe { schema.format() })?;
        let needed = match layout {
            Layout::Null => 0,
            Layout::Bytes(_) | Layout::LargeBytes(_) | Layout::Views(_) => 3,
            _ => 2,
        };
        if array.n_buffers < needed {
            return Err(format!("it has {} buffers but needs {needed}", array.n_buffers));
        }
        let buffer = |number: i64| -> *const u8 {
            if number < array.n_buffers {
                // SAFETY: a valid array has as many buffers as it says.
                unsafe { *array.buffers.add(number as usize) }.cast()
            } else {
                std::ptr::null()
            }
        };
        if schema.dictionary.is_null() != array.dictionary.is_null() {
            return Err("schema and array do not agree on whether it has a dictionary".to_owned());
        }
        let dictionary = if schema.dictionary.is_null() {
            None
        } else {
            // SAFETY: not null, hence valid.
            let values = unsafe { Column::new(&*schema.dictionary, &*array.dictionary, 0) }?;
            Some(Box::new(values))
        };
        Ok(Column {
            layout,
            validity: if needed == 0 { std::ptr::null() } else { buffer(0) },
            first: buffer(1),
            second: buffer(2),
            buffers: array.buffers,
            offset: offset + count(array.offset)?,
            dictionary,
        })
    }

    /// Returns the value of a row.
    ///
    /// # Safety
    /// The row must be below the length of the batch, which must still be there.
    pub(crate) unsafe fn value(&self, row: usize) -> Result<Value<'_>, String> {
        let row = self.offset + row;
        // SAFETY: the caller guarantees a valid row, and a valid array has values for all its rows.
        let value = unsafe {
            if !self.validity.is_null() && !bit(self.validity, row) {
                return Ok(Value::Null);
            }
            self.valid(row)
        }?;
        match (&self.dictionary, value) {
            (None, value) => Ok(value),
            (Some(values), Value::Integer(key)) => {
                let key = usize::try_from(key).map_err(|_| format!("a dictionary key of {key}"))?;
                // SAFETY: in a valid array keys are below the length of the dictionary.
                unsafe { values.value(key) }
            }
            (Some(_), _) => Err("the keys of a dictionary must be integers".to_owned()),
        }
    }

    /// # Safety
    /// As [`value`](Self::value), with the offset added.
    unsafe fn valid(&self, row: usize) -> Result<Value<'_>, String> {
        // SAFETY: a valid array's buffers hold as many values of the layout as it has rows.
        Ok(unsafe {
            match self.layout {
                Layout::Null => Value::Null,
                Layout::Boolean => Value::Integer(i64::from(bit(self.first, row))),
                Layout::Number(read) => read(self.first, row)?,
                Layout::Clock32(clock) => written(clock, read::<i32>(self.first, row).into())?,
                Layout::Clock64(clock) => written(clock, read(self.first, row))?,
                Layout::Decimal(width, scale) => {
                    let bytes = slice(self.first, row * width, width);
                    Value::Written(decimal_text(bytes, scale))
                }
                Layout::Bytes(kind) => {
                    let start = read::<i32>(self.first, row) as usize;
                    let end = read::<i32>(self.first, row + 1) as usize;
                    kind.value(slice(self.second, start, end - start))
                }
                Layout::LargeBytes(kind) => {
                    let start = read::<i64>(self.first, row) as usize;
                    let end = read::<i64>(self.first, row + 1) as usize;
                    kind.value(slice(self.second, start, end - start))
                }
                Layout::Views(kind) => kind.value(self.viewed(row)),
                Layout::FixedBytes(width) => Value::Blob(slice(self.first, row * width, width)),
            }
        })
    }

    /// Returns the bytes of a view: a length, then the bytes themselves, or their first four, the number of a
    /// buffer and an offset in it.
    ///
    /// # Safety
    /// As [`valid`](Self::valid).
    unsafe fn viewed(&self, row: usize) -> &[u8] {
        // SAFETY: a view has 16 bytes; buffers of bytes come behind validity and views.
        unsafe {
            let view = self.first.add(16 * row);
            let length = read::<i32>(view, 0) as usize;
            if length <= INLINE {
                return slice(view, 4, length);
            }
            let buffer = read::<i32>(view, 2) as usize;
            let start = read::<i32>(view, 3) as usize;
            slice((*self.buffers.add(2 + buffer)).cast(), start, length)
        }
    }
}

impl Kind {
    fn value(self, bytes: &[u8]) -> Value<'_> {
        match self {
            Kind::Text => Value::Text(bytes),
            Kind::Blob => Value::Blob(bytes),
        }
    }
}

fn layout(format: &str) -> Result<Layout, String> {
    Ok(match format {
        "n" => Layout::Null,
        "b" => Layout::Boolean,
        "c" => Layout::Number(integer::<i8>),
        "s" => Layout::Number(integer::<i16>),
        "i" => Layout::Number(integer::<i32>),
        "l" => Layout::Number(integer::<i64>),
        "C" => Layout::Number(integer::<u8>),
        "S" => Layout::Number(integer::<u16>),
        "I" => Layout::Number(integer::<u32>),
        "L" => Layout::Number(integer::<u64>),
        "e" => Layout::Number(half),
        "f" => Layout::Number(real::<f32>),
        "g" => Layout::Number(real::<f64>),
        "u" => Layout::Bytes(Kind::Text),
        "z" => Layout::Bytes(Kind::Blob),
        "U" => Layout::LargeBytes(Kind::Text),
        "Z" => Layout::LargeBytes(Kind::Blob),
        "vu" => Layout::Views(Kind::Text),
        "vz" => Layout::Views(Kind::Blob),
        _ => {
            return layout_with_parameters(format).ok_or_else(|| {
                format!(
                    "SQLite has no equivalent of the Arrow format {format}; cast it to text, an integer \
                     or a floating point number"
                )
            });
        }
    })
}

/// Returns the layout of a format that says more than a type.
fn layout_with_parameters(format: &str) -> Option<Layout> {
    if let Some(layout) = layout_of_clock(format) {
        return Some(layout);
    }
    if let Some(parameters) = format.strip_prefix("d:") {
        let mut parameters = parameters.split(',').skip(1);
        let scale = parameters.next()?.parse().ok()?;
        let bits = parameters.next().map_or(Ok(128), str::parse::<usize>).ok()?;
        return [32, 64, 128, 256].contains(&bits).then_some(Layout::Decimal(bits / 8, scale));
    }
    let width = format.strip_prefix("w:")?.parse().ok()?;
    Some(Layout::FixedBytes(width))
}

/// Returns the layout of a format of dates or times.
fn layout_of_clock(format: &str) -> Option<Layout> {
    Some(match format {
        "tdD" => Layout::Clock32(Clock::Days),
        "tdm" => Layout::Clock64(Clock::DayOfMilliseconds),
        "tts" => Layout::Clock32(Clock::Time(0)),
        "ttm" => Layout::Clock32(Clock::Time(3)),
        "ttu" => Layout::Clock64(Clock::Time(6)),
        "ttn" => Layout::Clock64(Clock::Time(9)),
        _ => {
            let (unit, zone) = format.strip_prefix("ts")?.split_once(':')?;
            let digits = match unit {
                "s" => 0,
                "m" => 3,
                "u" => 6,
                "n" => 9,
                _ => return None,
            };
            Layout::Clock64(Clock::Stamp(digits, Zone::of(zone)))
        }
    })
}

/// Writes a date or time as a text.
fn written(clock: Clock, value: i64) -> Result<Value<'static>, String> {
    Ok(Value::Written(clock.text(value)?.as_str().to_owned()))
}

/// # Safety
/// As of [`ReadNumber`].
unsafe fn integer<T: Copy + Display + TryInto<i64>>(
    values: *const u8,
    row: usize,
) -> Result<Value<'static>, String> {
    // SAFETY: the caller guarantees it.
    let value = unsafe { read::<T>(values, row) };
    let integer = value.try_into().map(Value::Integer);
    integer.map_err(|_| format!("{value} exceeds a signed 64-bit integer"))
}

/// # Safety
/// As of [`ReadNumber`].
unsafe fn real<T: Copy + Into<f64>>(
    values: *const u8,
    row: usize,
) -> Result<Value<'static>, String> {
    // SAFETY: the caller guarantees it.
    Ok(Value::Real(unsafe { read::<T>(values, row) }.into()))
}

/// A floating point number of 16 bits (IEEE 754), which one of 64 bits holds exactly.
///
/// # Safety
/// As of [`ReadNumber`].
unsafe fn half(values: *const u8, row: usize) -> Result<Value<'static>, String> {
    // SAFETY: the caller guarantees it.
    let bits = unsafe { read::<u16>(values, row) };
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let fraction = f64::from(bits & 0x3ff);
    let exponent = i32::from(bits >> 10 & 0x1f);
    let value = match exponent {
        0 => fraction * 2_f64.powi(-24),
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        _ => (1.0 + fraction / 1_024.0) * 2_f64.powi(exponent - 15),
    };
    Ok(Value::Real(sign * value))
}
