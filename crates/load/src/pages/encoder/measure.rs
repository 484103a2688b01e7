//! The first step: the serial types of a column's values, and with them the lengths of the records.

use arrow_array::types::ByteArrayType;
use arrow_array::{Array, ArrowPrimitiveType, GenericByteArray, PrimitiveArray};

use super::{Column, Lengths, REAL};
use crate::affinity::Affinity;
use crate::error::LoadError;
use crate::pages::record::{integer_type, number_length};
use crate::pages::stored::{self, Conversion};
use crate::pages::varint;

/// Finds the serial types of a column's values in the block, and adds them to the rows' lengths.
pub(super) fn measure(
    column: &mut Column<'_>,
    first: usize,
    types: &mut [u32],
    lengths: &mut [Lengths],
    conversion: &mut Conversion<'_>,
) -> Result<(), LoadError> {
    match column {
        Column::Null => types.fill(0),
        Column::Integers(values) => measure_numbers(values, first, types, lengths, integer_type),
        Column::IntegersAsReals(values) => {
            measure_numbers(values, first, types, lengths, |value| {
                if stored::is_short(value) { integer_type(value) } else { REAL }
            });
        }
        Column::Reals(values) => {
            measure_numbers(
                values,
                first,
                types,
                lengths,
                |value| {
                    if value.is_nan() { 0 } else { REAL }
                },
            );
        }
        Column::RealsAsNumbers(values, affinity) => {
            let affinity = *affinity;
            measure_numbers(values, first, types, lengths, |value| real_type(value, affinity));
        }
        Column::Texts(values) => measure_bytes(values, first, 13, types, lengths),
        Column::Blobs(values) => measure_bytes(values, first, 12, types, lengths),
        Column::Converted(cells, affinity, values) => {
            values.clear();
            for (at, (serial_type, lengths)) in types.iter_mut().zip(lengths).enumerate() {
                let value = stored::store(cells.value(first + at), *affinity, conversion)?;
                *serial_type = value.serial_type();
                lengths.types += varint::length(u64::from(*serial_type)) as u32 - 1;
                lengths.values += value.length() as u32;
                values.push(value);
            }
        }
    }
    Ok(())
}

/// Serial types of numbers; `of` gives the one of a value that is not NULL.
#[inline]
fn measure_numbers<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    first: usize,
    types: &mut [u32],
    lengths: &mut [Lengths],
    of: impl Fn(T::Native) -> u32,
) {
    let has_nulls = array.null_count() > 0;
    let values = &array.values()[first..first + lengths.len()];
    for (row, ((value, serial_type), lengths)) in values.iter().zip(types).zip(lengths).enumerate()
    {
        *serial_type = if has_nulls && array.is_null(first + row) { 0 } else { of(*value) };
        lengths.values += number_length(*serial_type) as u32;
    }
}

/// Serial types of texts or blobs, by the one that an empty value has.
#[inline]
fn measure_bytes<T: ByteArrayType<Offset = i32>>(
    array: &GenericByteArray<T>,
    first: usize,
    empty: u32,
    types: &mut [u32],
    lengths: &mut [Lengths],
) {
    let has_nulls = array.null_count() > 0;
    let offsets = &array.value_offsets()[first..=first + lengths.len()];
    for (row, ((offsets, serial_type), lengths)) in
        offsets.windows(2).zip(types).zip(lengths).enumerate()
    {
        if has_nulls && array.is_null(first + row) {
            *serial_type = 0;
            continue;
        }
        // Offsets ascend.
        let length = (offsets[1] - offsets[0]) as u32;
        *serial_type = 2 * length + empty;
        // Most texts are short, and take no look at their length.
        if *serial_type >= 0x80 {
            lengths.types += varint::length(u64::from(*serial_type)) as u32 - 1;
        }
        lengths.values += length;
    }
}

/// The serial type of a real in a numeric column.
#[inline]
fn real_type(value: f64, affinity: Affinity) -> u32 {
    let whole = value as i64;
    if value.is_nan() {
        0
    } else if !stored::is_whole(value) || affinity == Affinity::Real && !stored::is_short(whole) {
        REAL
    } else {
        integer_type(whole)
    }
}
