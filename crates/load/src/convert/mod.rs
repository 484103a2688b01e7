//! Arrow's many types reduced to those that SQLite has.

mod nested;

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{
    AnyDictionaryArray, Array, ArrayRef, BinaryArray, BinaryArrayType, Float64Array, Int64Array,
    PrimitiveArray, StringArray, StringArrayType, downcast_primitive_array,
    downcast_temporal_array,
};
use arrow_buffer::ToByteSlice;
use arrow_schema::{DataType, TimeUnit};
use arrow_select::take::take;
use values::calendar::{Clock, LONGEST, Zone};
use values::decimal_text;

use crate::cells::{Cells, display_text};
use crate::error::{LoadError, Result};
use crate::source::number::keeps_digits;

/// How decimals are stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Decimals {
    /// Numbers of which no digit is lost: integers without digits after the point, floating point numbers with them. A
    /// value with more digits than these keep cannot be loaded.
    #[default]
    Numbers,
    /// Texts with every digit: exact, but compared as texts.
    Text,
    /// The nearest floating point number of 64 bits.
    Real,
    /// Integers without the decimal point: 12.30 is 1230. Exact; 64 bits hold 18 digits.
    ScaledInteger,
}

impl Decimals {
    /// Returns how values are stored, in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Decimals::Numbers => {
                "numbers with every digit (otherwise: --decimals text or scaled-integer)"
            }
            Decimals::Text => "TEXT with every digit, which compares as text",
            Decimals::Real => "REAL, rounded to 64-bit floating point",
            Decimals::ScaledInteger => "INTEGER",
        }
    }

    /// Returns the declared type of such columns with this number of digits after the point.
    pub(crate) fn declared(self, scale: i8) -> &'static str {
        match self {
            Decimals::Numbers if scale <= 0 => "INTEGER",
            Decimals::Numbers => "REAL",
            Decimals::Text => "TEXT",
            Decimals::Real => "REAL",
            Decimals::ScaledInteger => "INTEGER",
        }
    }
}

/// Returns the digits after the decimal point of values of this type; none for a type of no decimals.
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

/// Why a column cannot become one of SQLite's.
#[derive(Debug)]
pub(crate) enum ConversionError {
    /// SQLite has nothing like its type.
    Type,
    /// SQLite has nothing like some of its values.
    Values(String),
}

/// The converted value, or why there is none.
pub(crate) type Converted<T = ArrayRef> = Result<T, ConversionError>;

impl ConversionError {
    /// Returns the error of a whole column.
    pub(crate) fn of_column(self, name: &str, data_type: &DataType) -> LoadError {
        LoadError::Type(
            name.to_owned(),
            match self {
                ConversionError::Type => data_type.to_string(),
                ConversionError::Values(reason) => format!("{data_type} ({reason})"),
            },
        )
    }
}

/// Returns whether a column has one of SQLite's own types.
pub(crate) fn is_own(column: &ArrayRef) -> bool {
    matches!(
        column.data_type(),
        DataType::Null | DataType::Int64 | DataType::Float64 | DataType::Utf8 | DataType::Binary
    )
}

/// A column in one of SQLite's own types: booleans become 0 and 1, and numbers get 64 bits. Decimals in nested
/// values keep every digit.
pub(crate) fn converted(array: &ArrayRef, decimals: Decimals) -> Converted {
    fn integers<T: ArrowPrimitiveType>(array: &ArrayRef) -> ArrayRef
    where
        T::Native: Into<i64>,
    {
        let integers: Int64Array = array.as_primitive::<T>().unary(Into::into);
        Arc::new(integers)
    }
    Ok(match array.data_type() {
        _ if is_own(array) => Arc::clone(array),
        DataType::Boolean => {
            let bits = array.as_boolean().iter();
            Arc::new(bits.map(|bit| bit.map(i64::from)).collect::<Int64Array>())
        }
        DataType::Int8 => integers::<Int8Type>(array),
        DataType::Int16 => integers::<Int16Type>(array),
        DataType::Int32 => integers::<Int32Type>(array),
        DataType::UInt8 => integers::<UInt8Type>(array),
        DataType::UInt16 => integers::<UInt16Type>(array),
        DataType::UInt32 => integers::<UInt32Type>(array),
        DataType::UInt64 => {
            let values = array.as_primitive::<UInt64Type>();
            let signed = |value: u64| {
                let largest = i64::MAX;
                let reason = || format!("{value} is above SQLite's largest, {largest}");
                i64::try_from(value).map_err(|_| ConversionError::Values(reason()))
            };
            Arc::new(values.try_unary::<_, Int64Type, _>(signed)?)
        }
        DataType::Float16 => {
            let reals: Float64Array = array.as_primitive::<Float16Type>().unary(f64::from);
            Arc::new(reals)
        }
        DataType::Float32 => {
            let reals: Float64Array = array.as_primitive::<Float32Type>().unary(f64::from);
            Arc::new(reals)
        }
        DataType::LargeUtf8 => texts(array.as_string::<i64>())?,
        DataType::Utf8View => texts(array.as_string_view())?,
        DataType::LargeBinary => blobs(array.as_binary::<i64>())?,
        DataType::BinaryView => blobs(array.as_binary_view())?,
        DataType::FixedSizeBinary(_) => blobs(array.as_fixed_size_binary())?,
        DataType::Dictionary(_, _) => gathered(array.as_any_dictionary(), decimals)?,
        DataType::Decimal32(_, _) => stored_decimals::<Decimal32Type>(array, decimals)?,
        DataType::Decimal64(_, _) => stored_decimals::<Decimal64Type>(array, decimals)?,
        DataType::Decimal128(_, _) => stored_decimals::<Decimal128Type>(array, decimals)?,
        DataType::Decimal256(_, _) => stored_decimals::<Decimal256Type>(array, decimals)?,
        data_type if data_type.is_nested() => nested::texts(array)?,
        data_type => match clock(data_type) {
            Some(clock) => downcast_temporal_array! {
                array => times(array, clock)?,
                _ => return Err(ConversionError::Type),
            },
            None => return Err(ConversionError::Type),
        },
    })
}

/// Returns the quantity that dates or times of this type count.
fn clock(data_type: &DataType) -> Option<Clock> {
    let digits = |unit: &TimeUnit| match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    };
    Some(match data_type {
        DataType::Date32 => Clock::Days,
        DataType::Date64 => Clock::DayOfMilliseconds,
        DataType::Time32(unit) | DataType::Time64(unit) => Clock::Time(digits(unit)),
        DataType::Timestamp(unit, zone) => {
            Clock::Stamp(digits(unit), Zone::of(zone.as_deref().unwrap_or_default()))
        }
        _ => return None,
    })
}

/// Dates or times as texts in the form of SQLite's date functions.
fn times<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, clock: Clock) -> Converted
where
    T::Native: Into<i64>,
{
    check_length(std::iter::repeat_n(LONGEST, array.len()))?;
    let mut texts = StringBuilder::with_capacity(array.len(), array.len() * LONGEST / 2);
    for value in array {
        match value {
            Some(value) => {
                let text = clock.text(value.into()).map_err(ConversionError::Values)?;
                texts.append_value(text.as_str());
            }
            None => texts.append_null(),
        }
    }
    Ok(Arc::new(texts.finish()))
}

/// A column of decimals as it is stored.
fn stored_decimals<T: DecimalType>(array: &ArrayRef, decimals: Decimals) -> Converted {
    let values = array.as_primitive::<T>();
    let text = |value: T::Native| decimal_text(value.to_byte_slice(), values.scale().into());
    let lost = |text: &str, what: &str| {
        let reason = format!(
            "{text} has more digits than {what}; --decimals text, real or scaled-integer says how to store such values"
        );
        ConversionError::Values(reason)
    };
    Ok(match decimals {
        Decimals::Numbers if values.scale() <= 0 => {
            Arc::new(values.try_unary::<_, Int64Type, _>(|value| {
                let text = text(value);
                text.parse().map_err(|_| lost(&text, "64 bits hold"))
            })?)
        }
        Decimals::Numbers => Arc::new(values.try_unary::<_, Float64Type, _>(|value| {
            let text = text(value);
            // Of the sign, the point and 15 digits none is lost.
            let is_kept = text.len() <= 16 || keeps_digits(text.as_bytes());
            text.parse().ok().filter(|_| is_kept).ok_or_else(|| lost(&text, "a REAL keeps"))
        })?),
        Decimals::Text => {
            // A sign, a zero and a point besides the digits.
            let width = usize::from(T::MAX_PRECISION) + 3;
            check_length(std::iter::repeat_n(width, values.len()))?;
            Arc::new(values.iter().map(|value| value.map(text)).collect::<StringArray>())
        }
        Decimals::Real => Arc::new(values.try_unary::<_, Float64Type, _>(|value| {
            let text = text(value);
            text.parse().map_err(|_| ConversionError::Values(format!("{text} is not a number")))
        })?),
        Decimals::ScaledInteger => Arc::new(values.try_unary::<_, Int64Type, _>(|value| {
            let integer = decimal_text(value.to_byte_slice(), 0).parse();
            let reason = || format!("{} has more digits than 64 bits hold", text(value));
            integer.map_err(|_| ConversionError::Values(reason()))
        })?),
    })
}

fn texts<'t>(values: impl StringArrayType<'t>) -> Converted {
    check_length(values.iter().flatten().map(str::len))?;
    Ok(Arc::new(values.iter().collect::<StringArray>()))
}

fn blobs<'b>(values: impl BinaryArrayType<'b>) -> Converted {
    check_length(values.iter().flatten().map(<[u8]>::len))?;
    Ok(Arc::new(values.iter().collect::<BinaryArray>()))
}

/// Whether texts or blobs of these lengths make a column, in which 32 bits tell where each begins; the
/// library panics where they do not.
fn check_length(lengths: impl Iterator<Item = usize>) -> Converted<()> {
    let bytes: usize = lengths.sum();
    match i32::try_from(bytes) {
        Ok(_) => Ok(()),
        Err(_) => {
            Err(ConversionError::Values(format!("{bytes} bytes exceed SQLite's limit for a value")))
        }
    }
}

/// Returns the value of each row of a dictionary, in one of SQLite's own types.
fn gathered(dictionary: &dyn AnyDictionaryArray, decimals: Decimals) -> Converted {
    let rows = |values: &dyn Array| {
        take(values, dictionary.keys(), None)
            .map_err(|error| ConversionError::Values(error.to_string()))
    };
    match converted(dictionary.values(), decimals) {
        Ok(values) => rows(&values),
        // SQLite has nothing like some of the values: only those that rows have matter.
        Err(ConversionError::Values(_)) => converted(&rows(dictionary.values())?, decimals),
        Err(error) => Err(error),
    }
}

/// Returns a column as SQLite's values.
///
/// # Errors
/// SQLite has nothing like the type, or like one of the values.
pub(crate) fn cells(array: &ArrayRef, name: &str) -> Result<Cells> {
    let own = converted(array, Decimals::Text);
    Ok(Cells::of(&own.map_err(|error| error.of_column(name, array.data_type()))?))
}

/// A value in an array of its own as text; one that cannot be converted as the number that it is.
pub(crate) fn field_text(value: &ArrayRef) -> String {
    let Ok(cells) = cells(value, "") else {
        // The number that a value is to Arrow, such as the days of a date.
        return downcast_primitive_array! {
            value => format!("{:?}", value.value(0)),
            _ => String::new()
        };
    };
    display_text(cells.value(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::*;
    use engine::Value;

    fn values(array: impl Array + 'static) -> Vec<String> {
        let array: ArrayRef = Arc::new(array);
        let cells = cells(&array, "c").unwrap();
        (0..array.len())
            .map(|row| cells.value(row).to_value())
            .map(|value: Value| format!("{} {value}", value.type_name()))
            .collect()
    }

    #[test]
    fn types_that_sqlite_lacks_become_those_it_has() {
        assert_eq!(values(BooleanArray::from(vec![Some(true), None])), ["integer 1", "null NULL"]);
        assert_eq!(values(UInt8Array::from(vec![255])), ["integer 255"]);
        assert_eq!(values(Float32Array::from(vec![0.5])), ["real 0.5"]);
        assert_eq!(values(Date32Array::from(vec![19_753])), ["text 2024-01-31"]);
        assert_eq!(values(TimestampSecondArray::from(vec![0])), ["text 1970-01-01T00:00:00"]);
        // SQLite's date functions read both forms of a zone.
        let in_zone = |zone: &str| values(TimestampSecondArray::from(vec![0]).with_timezone(zone));
        assert_eq!(in_zone("UTC"), ["text 1970-01-01T00:00:00Z"]);
        assert_eq!(in_zone("Europe/Vienna"), ["text 1970-01-01T00:00:00Z"]);
        assert_eq!(in_zone("+01:00"), ["text 1970-01-01T01:00:00+01:00"]);
        let decimal = Decimal128Array::from(vec![-12_345]).with_precision_and_scale(10, 2).unwrap();
        assert_eq!(values(decimal), ["text -123.45"]);
        let dictionary: DictionaryArray<types::Int8Type> =
            vec!["a", "b", "a"].into_iter().collect();
        assert_eq!(values(dictionary), ["text a", "text b", "text a"]);
        assert_eq!(values(LargeStringArray::from(vec!["x"])), ["text x"]);
    }

    #[test]
    fn values_without_a_counterpart_are_refused() {
        let refused = |array: ArrayRef| cells(&array, "c").err().unwrap().to_string();
        let large = refused(Arc::new(UInt64Array::from(vec![u64::MAX])));
        assert!(large.contains("column c") && large.contains("UInt64"), "{large}");
        let duration = DurationSecondArray::from(vec![1]);
        assert!(refused(Arc::new(duration)).contains("Duration"));
    }

    fn rows(keys: Vec<Option<i8>>, values: ArrayRef) -> Converted {
        let dictionary = DictionaryArray::<Int8Type>::new(Int8Array::from(keys), values);
        gathered(&dictionary, Decimals::Text)
    }

    #[test]
    fn each_row_has_the_value_of_its_key() {
        let keys = || vec![Some(1), None, Some(0), Some(1), Some(2)];
        let numbers: ArrayRef =
            Arc::new(PrimitiveArray::<UInt32Type>::from(vec![Some(7), Some(8), None]));
        let expected = Int64Array::from(vec![Some(8), None, Some(7), Some(8), None]);
        assert_eq!(rows(keys(), numbers).unwrap().as_primitive::<Int64Type>(), &expected);
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), Some("bc"), None]));
        let expected = StringArray::from(vec![Some("bc"), None, Some("a"), Some("bc"), None]);
        assert_eq!(rows(keys(), texts).unwrap().as_string::<i32>(), &expected);
    }

    #[test]
    fn a_dictionary_without_values_has_nulls_alone() {
        let none: ArrayRef = Arc::new(StringArray::from(Vec::<&str>::new()));
        assert_eq!(rows(vec![None, None], none).unwrap().null_count(), 2);
    }

    #[test]
    fn a_value_that_sqlite_lacks_counts_only_where_a_row_has_it() {
        let values: ArrayRef = Arc::new(UInt64Array::from(vec![1, u64::MAX]));
        assert!(rows(vec![Some(0), Some(0)], Arc::clone(&values)).is_ok());
        assert!(matches!(rows(vec![Some(0), Some(1)], values), Err(ConversionError::Values(_))));
    }

    #[test]
    fn texts_of_any_kind_of_array_stay_what_they_are() {
        let texts = vec![Some("short"), None, Some("a text longer than a view holds")];
        let plain: ArrayRef = Arc::new(StringArray::from(texts.clone()));
        let large: ArrayRef = Arc::new(LargeStringArray::from(texts.clone()));
        let views: ArrayRef = Arc::new(StringViewArray::from(texts));
        for array in [large, views] {
            assert_eq!(&converted(&array, Decimals::Text).unwrap(), &plain);
        }
    }

    #[test]
    fn more_than_a_column_takes_is_refused_before_it_is_copied() {
        let most = i32::MAX as usize;
        assert!(check_length([most - 1, 1].into_iter()).is_ok());
        assert!(matches!(check_length([most, 1].into_iter()), Err(ConversionError::Values(_))));
    }

    fn column<T: ArrowPrimitiveType>(array: PrimitiveArray<T>) -> Vec<Option<String>> {
        let array: ArrayRef = Arc::new(array);
        let texts = converted(&array, Decimals::Text).unwrap_or_else(|_| panic!("{array:?}"));
        let texts = texts.as_string::<i32>().iter();
        texts.map(|text| text.map(str::to_owned)).collect()
    }

    fn some(texts: &[&str]) -> Vec<Option<String>> {
        texts.iter().map(|text| Some((*text).to_owned())).collect()
    }

    #[test]
    fn the_order_of_the_texts_is_that_of_the_times() {
        let times = vec![43_200_000, 43_200_500, 43_201_000];
        for zone in [None, Some("UTC"), Some("+05:30"), Some("Europe/Vienna")] {
            let array = TimestampMillisecondArray::from(times.clone()).with_timezone_opt(zone);
            let texts = column(array);
            assert!(texts.is_sorted(), "{texts:?}");
        }
    }

    #[test]
    fn every_value_of_a_column_has_the_digits_of_its_unit() {
        let stamps = TimestampNanosecondArray::from(vec![Some(0), None, Some(1_500_000_000)]);
        let mut expected =
            some(&["1970-01-01T00:00:00.000000000", "1970-01-01T00:00:01.500000000"]);
        expected.insert(1, None);
        assert_eq!(column(stamps), expected);
        let times = Time64MicrosecondArray::from(vec![0, 1]);
        assert_eq!(column(times), some(&["00:00:00.000000", "00:00:00.000001"]));
        let before = TimestampMillisecondArray::from(vec![-1]).with_timezone("-03:00");
        assert_eq!(column(before), some(&["1969-12-31T20:59:59.999-03:00"]));
        assert_eq!(column(Date64Array::from(vec![86_400_000])), some(&["1970-01-02"]));
    }

    /// 0000-01-01 and 9999-12-31 as days.
    const FIRST: i32 = -719_528;
    const LAST: i32 = 2_932_896;

    #[test]
    fn years_of_four_digits_are_written() {
        let days = Date32Array::from(vec![FIRST, LAST]);
        assert_eq!(column(days), some(&["0000-01-01", "9999-12-31"]));
    }

    #[test]
    fn what_the_date_functions_do_not_read_is_refused() {
        let arrays: [(ArrayRef, i64); 3] = [
            (Arc::new(TimestampMillisecondArray::from(vec![i64::MAX])), i64::MAX),
            (Arc::new(Date32Array::from(vec![FIRST - 1])), -719_529),
            (Arc::new(Date32Array::from(vec![LAST + 1])), 2_932_897),
        ];
        for (array, value) in arrays {
            let Err(ConversionError::Values(why)) = converted(&array, Decimals::Text) else {
                panic!("a year of four digits: {array:?}")
            };
            assert!(why.contains(&value.to_string()), "{why}");
        }
    }
}
