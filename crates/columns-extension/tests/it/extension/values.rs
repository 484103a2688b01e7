//! Values of every type, as they arrive.

use arrow_array::types::{ArrowPrimitiveType, Decimal256Type, Float16Type, Int8Type};
use arrow_array::{
    Array, BinaryArray, BooleanArray, Date32Array, Date64Array, Decimal32Array, Decimal64Array,
    Decimal128Array, Decimal256Array, DictionaryArray, FixedSizeBinaryArray, Float16Array,
    Float32Array, Float64Array, Int8Array, Int64Array, LargeStringArray, NullArray, StringArray,
    StringViewArray, Time32SecondArray, Time64MicrosecondArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, UInt64Array,
};

use super::{one, rows_of};

#[test]
fn every_type_that_sqlite_has_arrives_as_it_is() {
    let long = "longer than twelve bytes";
    for (array, expected) in [
        (one(Int8Array::from(vec![Some(-1), None])), ["-1", "NULL"]),
        (
            one(Int64Array::from(vec![i64::MIN, i64::MAX])),
            ["-9223372036854775808", "9223372036854775807"],
        ),
        (one(UInt64Array::from(vec![0, 1 << 62])), ["0", "4611686018427387904"]),
        (one(Float32Array::from(vec![0.5, -2.0])), ["0.5", "-2.0"]),
        (one(Float64Array::from(vec![Some(0.1), None])), ["0.1", "NULL"]),
        (one(BooleanArray::from(vec![true, false])), ["1", "0"]),
        (one(StringArray::from(vec![Some("é"), None])), ["é", "NULL"]),
        (one(StringArray::from(vec!["", "a\0b"])), ["", "a\0b"]),
        (one(LargeStringArray::from(vec!["x", long])), ["x", long]),
        (one(StringViewArray::from(vec!["short", long])), ["short", long]),
        (one(BinaryArray::from_vec(vec![b"\xff", b""])), ["x'ff'", "x''"]),
        (
            one(FixedSizeBinaryArray::try_from_iter([[1, 2], [3, 4]].iter()).unwrap()),
            ["x'0102'", "x'0304'"],
        ),
        (one(["b", "a"].into_iter().collect::<DictionaryArray<Int8Type>>()), ["b", "a"]),
        (one(NullArray::new(2)), ["NULL", "NULL"]),
    ] {
        let found = rows_of(&array, "SELECT c0 FROM pragmark_columns(?1)").unwrap();
        assert_eq!(found, expected, "{}", array.schema().field(0).data_type());
    }
}

/// A floating point number of 16 bits, and an integer of 256.
type Half = <Float16Type as ArrowPrimitiveType>::Native;
type Wide = <Decimal256Type as ArrowPrimitiveType>::Native;

/// The first column of a batch of one, as it arrives.
fn arrived(array: impl Array + 'static) -> Vec<String> {
    rows_of(&one(array), "SELECT c0 FROM pragmark_columns(?1)").unwrap()
}

#[test]
fn dates_and_times_arrive_as_texts_that_the_date_functions_read() {
    let days = Date32Array::from(vec![Some(19_782), None, Some(-719_528), Some(2_932_896)]);
    let expected = ["2024-02-29", "NULL", "0000-01-01", "9999-12-31"];
    assert_eq!(arrived(days), expected);
    let days = Date64Array::from(vec![-1, 1_709_164_800_000]);
    assert_eq!(arrived(days), ["1969-12-31", "2024-02-29"]);
    let times = Time32SecondArray::from(vec![0, 86_399]);
    assert_eq!(arrived(times), ["00:00:00", "23:59:59"]);
    let times = Time64MicrosecondArray::from(vec![1, 3_600_000_000]);
    assert_eq!(arrived(times), ["00:00:00.000001", "01:00:00.000000"]);
    let stamps = vec![-1, 43_200_500];
    for (zone, expected) in [
        (None, ["1969-12-31T23:59:59.999", "1970-01-01T12:00:00.500"]),
        (Some("Europe/Vienna"), ["1969-12-31T23:59:59.999Z", "1970-01-01T12:00:00.500Z"]),
        (Some("+00:00"), ["1969-12-31T23:59:59.999Z", "1970-01-01T12:00:00.500Z"]),
        (Some("-03:30"), ["1969-12-31T20:29:59.999-03:30", "1970-01-01T08:30:00.500-03:30"]),
    ] {
        let array = TimestampMillisecondArray::from(stamps.clone()).with_timezone_opt(zone);
        assert_eq!(arrived(array), expected, "{zone:?}");
    }
}

#[test]
fn times_mean_to_sqlite_what_they_mean_to_arrow() {
    let stamps = (0..4_000).map(|n| n * 1_234_567_890_123 - 2_000_000_000_000_000);
    let seconds = TimestampMicrosecondArray::from_iter_values(stamps).with_timezone("+05:30");
    let wrong = "SELECT count(*) FROM pragmark_columns(?1) WHERE \
        abs(unixepoch(c0, 'subsec') - (1234567.890123 * (rowid - 1) - 2e9)) > 0.001";
    assert_eq!(rows_of(&one(seconds), wrong).unwrap(), ["0"]);
}

#[test]
fn what_is_no_date_of_sqlites_is_an_error() {
    for (array, reason) in [
        (one(Date32Array::from(vec![2_932_897])), "outside of the years"),
        (one(Date32Array::from(vec![-719_529])), "outside of the years"),
        (one(TimestampMillisecondArray::from(vec![i64::MAX])), "outside of the years"),
        (one(Time32SecondArray::from(vec![86_400])), "within a day"),
    ] {
        let error = rows_of(&array, "SELECT c0 FROM pragmark_columns(?1)").unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn decimals_arrive_with_every_digit() {
    let decimals = vec![Some(1_230), Some(-5), None, Some(0)];
    let array = Decimal128Array::from(decimals).with_precision_and_scale(10, 2);
    let expected = ["12.30", "-0.05", "NULL", "0.00"];
    assert_eq!(arrived(array.unwrap()), expected);
    let narrow = Decimal64Array::from(vec![-1_230]).with_precision_and_scale(10, 0);
    assert_eq!(arrived(narrow.unwrap()), ["-1230"]);
    let rounded = Decimal32Array::from(vec![123]).with_precision_and_scale(5, -2);
    assert_eq!(arrived(rounded.unwrap()), ["12300"]);
    let digits = "9".repeat(76);
    let values = ["", "-"].map(|sign| Wide::from_string(&format!("{sign}{digits}")).unwrap());
    let wide = Decimal256Array::from(values.to_vec()).with_precision_and_scale(76, 40);
    let expected = format!("{}.{}", "9".repeat(36), "9".repeat(40));
    assert_eq!(arrived(wide.unwrap()), [expected.clone(), format!("-{expected}")]);
}

#[test]
fn halves_keep_their_values() {
    let halves = [0.5, -65_504.0, 5.960_464_477_539_063e-8, 0.333_251_953_125];
    let array = Float16Array::from_iter_values(halves.map(Half::from_f64));
    let found = arrived(array);
    for (text, value) in found.iter().zip(halves) {
        assert_eq!(text.parse(), Ok(value));
    }
}
