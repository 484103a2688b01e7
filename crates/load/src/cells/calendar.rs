//! Dates, times and timestamps as text, in the form that SQLite's date functions read.
//!
//! All values of a column have the same width, so that the order of the texts is that of the times: the
//! fraction of a second has as many digits as the column's unit, and a zone is the same in every value.

use std::fmt::Write;
use std::ops::RangeInclusive;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::temporal_conversions::{as_datetime, as_datetime_with_timezone, as_time};
use arrow_array::timezone::Tz;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use chrono::format::{Item, StrftimeItems};
use chrono::{Datelike, NaiveDate, NaiveDateTime};

use super::convert::{Unfit, check_length};

/// The years that SQLite's date functions read, all of four digits
/// (<https://sqlite.org/lang_datefunc.html#time_values>).
const YEARS: RangeInclusive<i32> = 0..=9_999;

/// More than any date and time with its zone has.
const MOST_WIDTH: usize = 48;

/// A column of dates or times as a column of texts; none for one of another type.
///
/// # Errors
/// If a value is in a year that SQLite's date functions do not read, or if the texts are too long for a column.
pub(super) fn texts(array: &ArrayRef) -> Option<Result<ArrayRef, Unfit>> {
    use TimeUnit::*;
    Some(match array.data_type() {
        DataType::Date32 => days::<Date32Type>(array),
        DataType::Date64 => days::<Date64Type>(array),
        DataType::Time32(Second) => times::<Time32SecondType>(array, Second),
        DataType::Time32(_) => times::<Time32MillisecondType>(array, Millisecond),
        DataType::Time64(Nanosecond) => times::<Time64NanosecondType>(array, Nanosecond),
        DataType::Time64(_) => times::<Time64MicrosecondType>(array, Microsecond),
        DataType::Timestamp(Second, zone) => stamps::<TimestampSecondType>(array, zone.as_deref()),
        DataType::Timestamp(Millisecond, zone) => {
            stamps::<TimestampMillisecondType>(array, zone.as_deref())
        }
        DataType::Timestamp(Microsecond, zone) => {
            stamps::<TimestampMicrosecondType>(array, zone.as_deref())
        }
        DataType::Timestamp(Nanosecond, zone) => {
            stamps::<TimestampNanosecondType>(array, zone.as_deref())
        }
        _ => return None,
    })
}

fn days<T: ArrowPrimitiveType>(array: &ArrayRef) -> Result<ArrayRef, Unfit>
where
    T::Native: Into<i64>,
{
    written::<T>(array, "%Y-%m-%d", "", as_datetime::<T>)
}

fn times<T: ArrowPrimitiveType>(array: &ArrayRef, unit: TimeUnit) -> Result<ArrayRef, Unfit>
where
    T::Native: Into<i64>,
{
    let form = format!("%H:%M:%S{}", fraction(unit));
    let read = |time| Some(NaiveDate::default().and_time(as_time::<T>(time)?));
    written::<T>(array, &form, "", read)
}

/// The library knows zones that are offsets. One with a name is shown in UTC, in which the values are whatever
/// the zone.
fn stamps<T: ArrowTimestampType>(array: &ArrayRef, zone: Option<&str>) -> Result<ArrayRef, Unfit> {
    let form = format!("%Y-%m-%dT%H:%M:%S{}", fraction(T::UNIT));
    let zone: Option<Option<Tz>> = zone.map(|zone| zone.parse().ok());
    match zone {
        Some(Some(zone)) => {
            let local = |time| Some(as_datetime_with_timezone::<T>(time, zone)?.naive_local());
            written::<T>(array, &form, &offset(zone), local)
        }
        Some(None) => written::<T>(array, &form, "Z", as_datetime::<T>),
        None => written::<T>(array, &form, "", as_datetime::<T>),
    }
}

/// How an offset follows a time: `Z` for UTC, else `+01:00`.
fn offset(zone: Tz) -> String {
    use chrono::{Offset, TimeZone};
    let offset = zone.offset_from_utc_datetime(&NaiveDateTime::default()).fix();
    match offset.local_minus_utc() {
        0 => "Z".to_owned(),
        _ => offset.to_string(),
    }
}

/// The fraction of a second in the pattern of a time.
fn fraction(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "",
        TimeUnit::Millisecond => "%.3f",
        TimeUnit::Microsecond => "%.6f",
        TimeUnit::Nanosecond => "%.9f",
    }
}

/// The texts of a column whose values `read` gives as a date and time.
fn written<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    form: &str,
    zone: &str,
    read: impl Fn(i64) -> Option<NaiveDateTime>,
) -> Result<ArrayRef, Unfit>
where
    T::Native: Into<i64>,
{
    check_length(std::iter::repeat_n(MOST_WIDTH, array.len()))?;
    let items: Vec<Item<'_>> = StrftimeItems::new(form).collect();
    let mut texts = StringBuilder::with_capacity(array.len(), array.len() * form.len());
    for value in array.as_primitive::<T>() {
        let Some(value) = value.map(Into::into) else {
            texts.append_null();
            continue;
        };
        let beyond = || Unfit::Values(format!("{value} is outside of the years 0 to 9999"));
        let time = read(value).filter(|time| YEARS.contains(&time.year())).ok_or_else(beyond)?;
        write!(texts, "{}{zone}", time.format_with_items(items.iter())).map_err(|_| beyond())?;
        texts.append_value("");
    }
    Ok(Arc::new(texts.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{
        Date32Array, Date64Array, PrimitiveArray, Time64MicrosecondArray,
        TimestampMillisecondArray, TimestampNanosecondArray,
    };

    fn column<T: ArrowPrimitiveType>(array: PrimitiveArray<T>) -> Vec<Option<String>> {
        let array: ArrayRef = Arc::new(array);
        let texts = texts(&array).unwrap().unwrap_or_else(|_| panic!("{array:?}"));
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
            let Some(Err(Unfit::Values(why))) = texts(&array) else {
                panic!("a year of four digits: {array:?}")
            };
            assert!(why.contains(&value.to_string()), "{why}");
        }
    }
}
