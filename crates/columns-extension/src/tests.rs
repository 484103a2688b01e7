//! Batches of another implementation of Arrow, read without SQLite: so Miri can execute these tests, and with them the code
//! that follows pointers into batches.

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int8Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Date64Array, Decimal128Array,
    DictionaryArray, FixedSizeBinaryArray, Float32Array, Float64Array, Int8Array, Int16Array,
    Int32Array, Int64Array, LargeBinaryArray, LargeStringArray, NullArray, RecordBatch,
    RecordBatchIterator, RecordBatchReader, StringArray, StringViewArray, StructArray, UInt8Array,
    UInt16Array, UInt32Array, UInt64Array,
};
use arrow_schema::ArrowError;

use crate::arrow::{ArrowArray, ArrowArrayStream, ArrowSchema};
use crate::column::Value;
use crate::rows::{Rows, Stream};

/// Longer than a view has space for.
const LONG: &str = "longer than twelve bytes";

fn batch(column: impl Array + 'static) -> RecordBatch {
    RecordBatch::try_from_iter([("c", std::sync::Arc::new(column) as ArrayRef)]).unwrap()
}

/// What a row of the first column holds, in words.
fn word(rows: &Rows, row: usize) -> String {
    // SAFETY: callers stay below the length of the batch, which they keep.
    match unsafe { rows.columns[0].value(row) }.unwrap() {
        Value::Null => "NULL".to_owned(),
        Value::Integer(value) => value.to_string(),
        Value::Real(value) => value.to_string(),
        Value::Text(text) => String::from_utf8(text.to_vec()).unwrap(),
        Value::Blob(bytes) => format!("{bytes:?}"),
        Value::Written(text) => text,
    }
}

/// Returns the rows of the first column of a batch as the Arrow C data interface hands it over, after a change.
fn words(rows: &StructArray, change: impl FnOnce(&mut ArrowArray)) -> Vec<String> {
    let (mut array, schema): (FFI_ArrowArray, FFI_ArrowSchema) = to_ffi(&rows.to_data()).unwrap();
    let (array, schema): (*mut ArrowArray, *const ArrowSchema) =
        ((&raw mut array).cast(), (&raw const schema).cast());
    // SAFETY: both implementations have the structures of the interface, and their owners live until the end.
    unsafe {
        change(&mut *array);
        let rows = Rows::of(&*schema, &*array).unwrap();
        (0..rows.rows).map(|row| word(&rows, row)).collect()
    }
}

#[test]
fn every_layout_is_read_to_its_last_value() {
    let dictionary: DictionaryArray<Int8Type> = ["b", "a", "b"].into_iter().collect();
    let decimals = Decimal128Array::from(vec![1_230, -5, 7]).with_precision_and_scale(10, 2);
    let fixed = FixedSizeBinaryArray::try_from_iter([[1, 2], [3, 4], [5, 6]].iter()).unwrap();
    for (batch, expected) in [
        (batch(NullArray::new(3)), ["NULL", "NULL", "NULL"]),
        (batch(BooleanArray::from(vec![true, false, true])), ["1", "0", "1"]),
        (batch(Int8Array::from(vec![Some(-1), None, Some(1)])), ["-1", "NULL", "1"]),
        (batch(Int16Array::from(vec![-1, 0, 1])), ["-1", "0", "1"]),
        (batch(Int32Array::from(vec![-1, 0, 1])), ["-1", "0", "1"]),
        (batch(Int64Array::from(vec![-1, 0, 1])), ["-1", "0", "1"]),
        (batch(UInt8Array::from(vec![0, 1, 255])), ["0", "1", "255"]),
        (batch(UInt16Array::from(vec![0, 1, 2])), ["0", "1", "2"]),
        (batch(UInt32Array::from(vec![0, 1, 2])), ["0", "1", "2"]),
        (batch(UInt64Array::from(vec![0, 1, 2])), ["0", "1", "2"]),
        (batch(Float32Array::from(vec![0.5, 1.5, 2.5])), ["0.5", "1.5", "2.5"]),
        (batch(Float64Array::from(vec![0.5, 1.5, 2.5])), ["0.5", "1.5", "2.5"]),
        (batch(Date32Array::from(vec![0, 1, 2])), ["1970-01-01", "1970-01-02", "1970-01-03"]),
        (
            batch(Date64Array::from(vec![0, 86_400_000, -1])),
            ["1970-01-01", "1970-01-02", "1969-12-31"],
        ),
        (batch(decimals.unwrap()), ["12.30", "-0.05", "0.07"]),
        (batch(StringArray::from(vec![Some("é"), None, Some("")])), ["é", "NULL", ""]),
        (batch(LargeStringArray::from(vec!["", "x", LONG])), ["", "x", LONG]),
        (batch(StringViewArray::from(vec!["short", LONG, ""])), ["short", LONG, ""]),
        (batch(BinaryArray::from_vec(vec![b"", b"\xff", b""])), ["[]", "[255]", "[]"]),
        (batch(LargeBinaryArray::from_vec(vec![b"\xff", b"", b"\0"])), ["[255]", "[]", "[0]"]),
        (batch(fixed), ["[1, 2]", "[3, 4]", "[5, 6]"]),
        (batch(dictionary), ["b", "a", "b"]),
    ] {
        let kind = batch.schema().field(0).data_type().clone();
        let rows = StructArray::from(batch);
        assert_eq!(words(&rows, |_| ()), expected, "{kind}");
        assert_eq!(words(&rows.slice(1, 2), |_| ()), expected[1..], "{kind}");
        assert_eq!(words(&rows.slice(3, 0), |_| ()), [""; 0], "{kind}");
    }
}

/// Arrow recommends alignment and does not demand it.
#[test]
fn numbers_need_no_alignment() {
    let mut bytes = vec![0];
    bytes.extend([7_i64, -8].map(i64::to_ne_bytes).as_flattened());
    let rows = StructArray::from(batch(Int64Array::from(vec![0, 0])));
    let read = words(&rows, |array| {
        // SAFETY: the batch has one column with buffers of validity and values.
        unsafe { *(**array.children).buffers.add(1) = bytes[1..].as_ptr().cast() };
    });
    assert_eq!(read, ["7", "-8"]);
}

/// A stream of these batches, as the Arrow C stream interface hands it over.
fn stream(batches: Vec<Result<RecordBatch, ArrowError>>) -> FFI_ArrowArrayStream {
    let schema = batch(Int64Array::from(vec![0])).schema();
    let reader: Box<dyn RecordBatchReader + Send> =
        Box::new(RecordBatchIterator::new(batches, schema));
    FFI_ArrowArrayStream::new(reader)
}

fn open(stream: &mut FFI_ArrowArrayStream) -> Result<Stream, String> {
    let stream: *mut ArrowArrayStream = (&raw mut *stream).cast();
    // SAFETY: both implementations have the structure of the interface.
    unsafe { Stream::open(stream) }
}

#[test]
fn a_stream_is_read_once_and_each_of_its_batches_released() {
    let batches = [vec![1, 2], vec![], vec![3]].map(|it| Ok(batch(Int64Array::from(it))));
    let mut owner = stream(batches.into());
    let mut opened = open(&mut owner).unwrap();
    let again = open(&mut owner).err().unwrap();
    assert!(again.contains("has been released"), "{again}");
    let mut read = Vec::new();
    while let Some(rows) = opened.next().unwrap() {
        read.push((0..rows.rows).map(|row| word(&rows, row)).collect::<Vec<_>>());
    }
    assert_eq!(read, [vec!["1", "2"], vec![], vec!["3"]]);
}

#[test]
fn a_stream_may_be_left_in_its_middle_and_may_fail() {
    let first = || Ok(batch(Int64Array::from(vec![1])));
    let mut left = open(&mut stream(vec![first(), first()])).unwrap();
    assert!(left.next().unwrap().is_some());
    drop(left);
    let failure = Err(ArrowError::ComputeError("disk on fire".to_owned()));
    let mut failing = open(&mut stream(vec![first(), failure])).unwrap();
    assert!(failing.next().unwrap().is_some());
    let error = failing.next().err().unwrap();
    assert!(error.contains("disk on fire"), "{error}");
}
