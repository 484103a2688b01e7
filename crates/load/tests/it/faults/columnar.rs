//! Types of Parquet and Arrow for which SQLite has several: decimals and nested values.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder};
use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeListArray,
    Float64Array, ListArray, RecordBatch, StringArray, StructArray, UInt64Array,
};
use arrow_schema::{DataType, Field};
use parquet::data_type::{Int96, Int96Type};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use pragmark_load::{DecimalColumn, Decimals, LoadError, OnError, Opening, Summary, load, open};

use crate::faults::{Workspace, library, refused, run};

fn parquet(workspace: &Workspace, name: &str, columns: Vec<(&str, ArrayRef)>) -> PathBuf {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let path = workspace.path(name);
    let file = File::create(&path).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    path
}

fn prices(scale: i8, values: Vec<Option<i128>>) -> ArrayRef {
    let decimals = Decimal128Array::from(values);
    Arc::new(decimals.with_precision_and_scale(30, scale).unwrap())
}

fn run_with(
    workspace: &Workspace,
    inputs: &[PathBuf],
    decimals: Decimals,
) -> Result<Summary, LoadError> {
    let mut opening = Opening::new(&library());
    opening.decimals = decimals;
    let mut source = open(inputs, &opening)?;
    load(&library(), &mut *source, &workspace.request(), &mut |_| true)
}

#[test]
fn decimals_are_what_was_chosen() {
    for (decimals, declared, expected) in [
        (Decimals::Text, "TEXT", ["text|-12.30", "null|NULL", "text|90071992547409.93"]),
        (Decimals::Real, "REAL", ["real|-12.3", "null|NULL", "real|90071992547409.94"]),
        (
            Decimals::ScaledInteger,
            "INTEGER",
            ["integer|-1230", "null|NULL", "integer|9007199254740993"],
        ),
    ] {
        let workspace = Workspace::new();
        let values = prices(2, vec![Some(-1230), None, Some(9_007_199_254_740_993)]);
        let input = parquet(&workspace, "a.parquet", vec![("price", values)]);
        let summary = run_with(&workspace, &[input], decimals).unwrap();
        assert_eq!(summary.decimals, [DecimalColumn { name: "price".to_owned(), scale: 2 }]);
        assert_eq!(workspace.rows("SELECT type FROM pragma_table_info('t')"), [declared]);
        assert_eq!(workspace.rows("SELECT typeof(price), price FROM t"), expected);
    }
}

#[test]
fn decimals_are_numbers_unless_a_digit_would_be_lost() {
    for (scale, value, stored) in [
        (0, 123, Some("integer|123")),
        (2, -1230, Some("real|-12.3")),
        (2, 123_456_789_012_345, Some("real|1234567890123.45")),
        (2, 9_007_199_254_740_993, None),
        (0, i128::from(i64::MAX) + 1, None),
    ] {
        let workspace = Workspace::new();
        let values = prices(scale, vec![Some(value)]);
        let input = parquet(&workspace, "a.parquet", vec![("price", values)]);
        match (stored, run_with(&workspace, &[input], Decimals::default())) {
            (Some(stored), Ok(_)) => {
                assert_eq!(workspace.rows("SELECT typeof(price), price FROM t"), [stored]);
                assert_eq!(
                    workspace.rows("SELECT count(*) FROM t WHERE price > 5"),
                    [if value > 0 { "1" } else { "0" }]
                );
            }
            (None, Err(error)) => assert!(error.to_string().contains("--decimals text"), "{error}"),
            (_, loaded) => panic!("{value}: {loaded:?}"),
        }
    }
}

#[test]
fn a_scaled_integer_beyond_64_bits_is_named_by_its_row() {
    let workspace = Workspace::new();
    let values = prices(2, vec![Some(1), Some(i128::from(i64::MAX) + 1)]);
    let input = parquet(&workspace, "a.parquet", vec![("price", values)]);
    let error = run_with(&workspace, &[input], Decimals::ScaledInteger).unwrap_err().to_string();
    assert!(error.contains("row 2, column price"), "{error}");
    assert!(error.contains("92233720368547758.08 has more digits than 64 bits hold"), "{error}");
}

#[test]
fn scaled_integers_of_different_scales_do_not_mix() {
    let workspace = Workspace::new();
    let inputs = [
        parquet(&workspace, "a.parquet", vec![("price", prices(2, vec![Some(1)]))]),
        parquet(&workspace, "b.parquet", vec![("price", prices(3, vec![Some(1)]))]),
    ];
    let error = run_with(&workspace, &inputs, Decimals::ScaledInteger).unwrap_err().to_string();
    assert!(error.contains("b.parquet: its column price has 3 digits after the point"), "{error}");
    run_with(&workspace, &inputs, Decimals::Text).unwrap();
    assert_eq!(workspace.rows("SELECT price FROM t"), ["0.01", "0.001"]);
}

fn structs() -> ArrayRef {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("a \"b\"", Arc::new(StringArray::from(vec![Some("x\ny"), None]))),
        ("big", Arc::new(UInt64Array::from(vec![u64::MAX, 1]))),
        ("real", Arc::new(Float64Array::from(vec![0.5, f64::NAN]))),
        ("yes", Arc::new(BooleanArray::from(vec![true, false]))),
        ("day", Arc::new(Date32Array::from(vec![0, 1]))),
        ("price", prices(2, vec![Some(150), None])),
        ("bytes", Arc::new(BinaryArray::from(vec![&b"\x00\xff"[..], b""]))),
    ];
    let fields = columns
        .iter()
        .map(|(name, array)| Arc::new(Field::new(*name, array.data_type().clone(), true)));
    let (fields, arrays): (Vec<_>, Vec<_>) =
        fields.zip(columns.iter().map(|(_, array)| Arc::clone(array))).unzip();
    Arc::new(StructArray::new(fields.into(), arrays, None))
}

fn maps() -> ArrayRef {
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    maps.keys().append_value("k");
    maps.values().append_value(1);
    maps.keys().append_value("l");
    maps.values().append_null();
    maps.append(true).unwrap();
    maps.append(false).unwrap();
    Arc::new(maps.finish())
}

fn nested_lists() -> ArrayRef {
    let mut lists = ListBuilder::new(ListBuilder::new(StringBuilder::new()));
    lists.values().values().append_value("a,]");
    lists.values().append(true);
    lists.values().append(false);
    lists.append(true);
    lists.append(true);
    Arc::new(lists.finish())
}

#[test]
fn nested_values_are_json() {
    let workspace = Workspace::new();
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>([
        Some(vec![Some(1), None, Some(-3)]),
        None,
    ]);
    let pairs = FixedSizeListArray::new(
        Arc::new(Field::new_list_field(DataType::Int64, true)),
        2,
        Arc::new(arrow_array::Int64Array::from(vec![1, 2, 3, 4])),
        None,
    );
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("list", Arc::new(lists)),
        ("pair", Arc::new(pairs)),
        ("lists", nested_lists()),
        ("map", maps()),
        ("struct", structs()),
    ];
    let summary = run(&parquet(&workspace, "a.parquet", columns), &workspace.request()).unwrap();
    assert_eq!(summary.rows, 2);
    let row = |row: usize| {
        let columns = ["list", "pair", "lists", "map", "struct"];
        columns.map(|name| {
            workspace.rows(&format!("SELECT {name} FROM t WHERE rowid = {row}")).concat()
        })
    };
    assert_eq!(
        row(1),
        [
            "[1,null,-3]",
            "[1,2]",
            "[[\"a,]\"],null]",
            "{\"k\":1,\"l\":null}",
            "{\"a \\\"b\\\"\":\"x\\ny\",\"big\":18446744073709551615,\"real\":0.5,\"yes\":true,\
             \"day\":\"1970-01-01\",\"price\":1.50,\"bytes\":\"00ff\"}",
        ]
    );
    assert_eq!(
        row(2),
        [
            "NULL",
            "[3,4]",
            "[]",
            "NULL",
            "{\"a \\\"b\\\"\":null,\"big\":1,\"real\":null,\"yes\":false,\"day\":\"1970-01-02\",\
             \"price\":null,\"bytes\":\"\"}",
        ]
    );
    assert_eq!(
        workspace.rows("SELECT count(*) FROM t WHERE json_valid(struct) AND json_valid(lists)"),
        ["2"]
    );
    assert_eq!(workspace.rows("SELECT DISTINCT type FROM pragma_table_info('t')"), ["TEXT"]);
}

#[test]
fn a_row_without_a_counterpart_in_sqlite_does_not_disturb_the_nested_ones() {
    let workspace = Workspace::new();
    let days = |row: i32| Some((0..row).map(Some).collect::<Vec<_>>());
    let lists = ListArray::from_iter_primitive::<arrow_array::types::Date32Type, _, _>([
        days(1),
        Some(vec![Some(i32::MAX)]),
        days(2),
        days(0),
    ]);
    let input = parquet(&workspace, "a.parquet", vec![("days", Arc::new(lists))]);
    let mut request = workspace.request();
    request.on_error = OnError::Skip;
    assert_eq!(run(&input, &request).unwrap().rejected, 1);
    let expected = ["[\"1970-01-01\"]", "[\"1970-01-01\",\"1970-01-02\"]", "[]"];
    assert_eq!(workspace.rows("SELECT days FROM t"), expected);
}

/// A column of timestamps of 96 bits, as days and nanoseconds since 1970; `None` is NULL.
fn int96(workspace: &Workspace, values: &[Option<(i64, u64)>]) -> PathBuf {
    let path = workspace.path("a.parquet");
    let schema = parse_message_type("message m { optional int96 at; }").unwrap();
    let file = File::create(&path).unwrap();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let written = values.iter().flatten().map(|(day, nanoseconds)| {
        let day = u32::try_from(day + 2_440_588).unwrap();
        Int96::from(vec![*nanoseconds as u32, (nanoseconds >> 32) as u32, day])
    });
    let levels: Vec<i16> = values.iter().map(|value| value.is_some().into()).collect();
    let writing = column.typed::<Int96Type>();
    writing.write_batch(&written.collect::<Vec<_>>(), Some(&levels), None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    path
}

/// 0001-01-01 and 9999-12-31.
const FIRST: i64 = -719_162;
const LAST: i64 = 2_932_896;

#[test]
fn timestamps_of_96_bits_keep_their_years() {
    let workspace = Workspace::new();
    let values = [Some((FIRST, 0)), None, Some((0, 1_000)), Some((LAST, 86_399_999_999_000))];
    run(&int96(&workspace, &values), &workspace.request()).unwrap();
    let expected = [
        "0001-01-01T00:00:00.000000",
        "NULL",
        "1970-01-01T00:00:00.000001",
        "9999-12-31T23:59:59.999999",
    ];
    assert_eq!(workspace.rows("SELECT at FROM t"), expected);
}

#[test]
fn timestamps_of_96_bits_keep_their_nanoseconds_or_are_refused() {
    let workspace = Workspace::new();
    let fine = Some((0, 1));
    run(&int96(&workspace, &[fine]), &workspace.request()).unwrap();
    let expected = ["1970-01-01T00:00:00.000000001"];
    assert_eq!(workspace.rows("SELECT at FROM t"), expected);
    let workspace = Workspace::new();
    let message = refused(&int96(&workspace, &[fine, Some((LAST, 0))]), &workspace.request());
    assert!(message.contains("its column at has INT96"), "{message}");
    assert!(!workspace.database().exists());
}

#[test]
fn columns_that_differ_only_in_case_are_told_apart_by_a_new_name() {
    let workspace = Workspace::new();
    let values = |value| Arc::new(Float64Array::from(vec![value])) as ArrayRef;
    let input = parquet(&workspace, "a.parquet", vec![("a", values(1.0)), ("A", values(2.0))]);
    let mut opening = Opening::new(&library());
    opening.names = vec![("A".to_owned(), "b".to_owned())];
    let mut source = open(std::slice::from_ref(&input), &opening).unwrap();
    load(&library(), &mut *source, &workspace.request(), &mut |_| true).unwrap();
    assert_eq!(workspace.rows("SELECT a, b FROM t"), ["1.0|2.0"]);
    assert!(refused(&input, &workspace.again()).contains("rename it with --rename"));
}
