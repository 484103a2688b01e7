//! Decimals, for which SQLite has no type: texts, floating point numbers or integers.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType, Float64Type,
    Int64Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray, StringArray};
use arrow_schema::DataType;

use super::convert::{Unfit, check_length};

/// What decimals are stored as.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Decimals {
    /// Texts with every digit: exact, but compared as texts.
    #[default]
    Text,
    /// The nearest floating point number of 64 bits.
    Real,
    /// Integers without the decimal point: 12.30 is 1230. Exact; 64 bits hold 18 digits.
    ScaledInteger,
}

impl Decimals {
    /// The declared type of such columns.
    pub(crate) fn declared(self) -> &'static str {
        match self {
            Decimals::Text => "TEXT",
            Decimals::Real => "REAL",
            Decimals::ScaledInteger => "INTEGER",
        }
    }
}

/// The digits after the decimal point of values of this type; none for a type of no decimals.
pub(crate) fn scale(data_type: &DataType) -> Option<i8> {
    match data_type {
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => Some(*scale),
        DataType::Dictionary(_, values) => scale(values),
        _ => None,
    }
}

/// A column of decimals as it is stored; none for a column of another type.
///
/// # Errors
/// The texts are too long for a column, or an integer needs more than 64 bits.
pub(super) fn stored(array: &ArrayRef, decimals: Decimals) -> Option<Result<ArrayRef, Unfit>> {
    Some(match array.data_type() {
        DataType::Decimal32(_, _) => stored_as::<Decimal32Type>(array, decimals),
        DataType::Decimal64(_, _) => stored_as::<Decimal64Type>(array, decimals),
        DataType::Decimal128(_, _) => stored_as::<Decimal128Type>(array, decimals),
        DataType::Decimal256(_, _) => stored_as::<Decimal256Type>(array, decimals),
        _ => return None,
    })
}

fn stored_as<T: DecimalType>(array: &ArrayRef, decimals: Decimals) -> Result<ArrayRef, Unfit> {
    let values = array.as_primitive::<T>();
    match decimals {
        Decimals::Text => texts(values),
        Decimals::Real => reals(values),
        Decimals::ScaledInteger => integers(values),
    }
}

/// The rows, those that are NULL as none.
fn rows<T: DecimalType>(values: &PrimitiveArray<T>) -> impl Iterator<Item = Option<usize>> {
    (0..values.len()).map(|row| values.is_valid(row).then_some(row))
}

fn texts<T: DecimalType>(values: &PrimitiveArray<T>) -> Result<ArrayRef, Unfit> {
    // A sign, a zero and a point besides the digits.
    let width = usize::from(T::MAX_PRECISION) + 3;
    check_length(std::iter::repeat_n(width, values.len()))?;
    let text = |row: Option<usize>| row.map(|row| values.value_as_string(row));
    Ok(Arc::new(rows(values).map(text).collect::<StringArray>()))
}

fn reals<T: DecimalType>(values: &PrimitiveArray<T>) -> Result<ArrayRef, Unfit> {
    let real = |row: Option<usize>| {
        let Some(row) = row else {
            return Ok(None);
        };
        let text = values.value_as_string(row);
        let read = text.parse().map(Some);
        read.map_err(|_| Unfit::Values(format!("{text} is no number")))
    };
    let reals: PrimitiveArray<Float64Type> =
        rows(values).map(real).collect::<Result<_, Unfit>>()?;
    Ok(Arc::new(reals))
}

fn integers<T: DecimalType>(values: &PrimitiveArray<T>) -> Result<ArrayRef, Unfit> {
    let integer = |row: Option<usize>| {
        let Some(row) = row else {
            return Ok(None);
        };
        let digits = format!("{:?}", values.value(row));
        digits.parse().map(Some).map_err(|_| {
            let text = values.value_as_string(row);
            Unfit::Values(format!("{text} has more digits than 64 bits hold"))
        })
    };
    let integers: PrimitiveArray<Int64Type> =
        rows(values).map(integer).collect::<Result<_, Unfit>>()?;
    Ok(Arc::new(integers))
}
