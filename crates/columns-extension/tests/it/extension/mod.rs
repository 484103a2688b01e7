//! The extension in SQLite: batches and streams of Arrow arrive as the rows they are.

mod values;

use std::ffi::{CStr, c_void};
use std::path::Path;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int8Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, DurationSecondArray, Int8Array, Int64Array,
    RecordBatch, RecordBatchIterator, StringArray, StructArray, UInt64Array,
};
use arrow_schema::{DataType, Field};
use engine::{Connection, Library, OpenFlags, Source, Statement, Step};

fn connection() -> Connection {
    let library = Arc::new(Library::load(&Source::Embedded).unwrap());
    let memory = Path::new(":memory:");
    let connection = Connection::open(&library, memory, OpenFlags::default(), None).unwrap();
    connection.load_extension(&testing::shared_library("pragmark_columns")).unwrap();
    connection
}

/// A batch as it is bound, and its owner.
struct Bound {
    pointers: Box<pragmark_columns::RecordBatch>,
    _owned: Box<(FFI_ArrowSchema, FFI_ArrowArray)>,
}

impl Bound {
    fn new(batch: &RecordBatch) -> Bound {
        Bound::changed(&StructArray::from(batch.clone()), |_| ())
    }

    /// Rows whose structure is changed before it is bound.
    fn changed(rows: &StructArray, change: impl FnOnce(&mut FFI_ArrowArray)) -> Bound {
        let (mut array, schema) = to_ffi(&rows.to_data()).unwrap();
        change(&mut array);
        let owned = Box::new((schema, array));
        Bound {
            pointers: Box::new(pragmark_columns::RecordBatch {
                schema: (&raw const owned.0).cast(),
                array: (&raw const owned.1).cast(),
            }),
            _owned: owned,
        }
    }
}

fn bind(
    statement: &Statement<'_, '_>,
    connection: &Connection,
    pointer: *mut c_void,
    name: &'static CStr,
) {
    let bind = connection.library().api().bind_pointer.unwrap();
    // SAFETY: the statement is alive; nothing is freed when it lets go, because the test owns it all.
    let code = unsafe { bind(statement.as_ptr(), 1, pointer, name.as_ptr(), std::ptr::null()) };
    assert_eq!(code, 0);
}

/// The rows of a query over a batch, as text.
fn rows_of(batch: &RecordBatch, sql: &str) -> Result<Vec<String>, String> {
    rows_of_bound(&Bound::new(batch), sql)
}

fn rows_of_bound(bound: &Bound, sql: &str) -> Result<Vec<String>, String> {
    let connection = connection();
    let mut statement = connection.prepare(sql).map_err(|error| error.to_string())?;
    let pointer = (&raw const *bound.pointers).cast_mut().cast();
    bind(&statement, &connection, pointer, c"pragmark_record_batch");
    read(&mut statement)
}

fn read(statement: &mut Statement<'_, '_>) -> Result<Vec<String>, String> {
    let mut rows = Vec::new();
    while statement.step().map_err(|error| error.to_string())? == Step::Row {
        let values: Vec<String> = (0..statement.column_count())
            .map(|column| statement.column_value(column).to_string())
            .collect();
        rows.push(values.join("|"));
    }
    Ok(rows)
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true)))
        .unwrap()
}

fn one(array: impl Array + 'static) -> RecordBatch {
    batch(vec![("a", Arc::new(array))])
}

#[test]
fn a_part_of_a_batch_has_the_rows_of_that_part() {
    let numbers: ArrayRef =
        Arc::new(Int64Array::from_iter((0..100).map(|n| (n % 3 != 0).then_some(n))));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..100).map(|n| n.to_string())));
    let flags: ArrayRef = Arc::new(BooleanArray::from_iter((0..100).map(|n| Some(n % 2 == 0))));
    let whole = batch(vec![("n", numbers), ("t", texts), ("f", flags)]);
    let found = rows_of(&whole.slice(41, 3), "SELECT c0, c1, c2, rowid FROM pragmark_columns(?1)");
    assert_eq!(found.unwrap(), ["41|41|0|1", "NULL|42|1|2", "43|43|0|3"]);
}

#[test]
fn rows_are_inserted_and_a_batch_may_be_read_again() {
    let connection = connection();
    connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT)").unwrap();
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let names: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None]));
    let bound = Bound::new(&batch(vec![("id", ids), ("name", names)]));
    let mut insert = connection
        .prepare(
            "INSERT INTO t SELECT c0 + 10 * (SELECT count(*) FROM t), c1 FROM pragmark_columns(?1)",
        )
        .unwrap();
    let pointer = (&raw const *bound.pointers).cast_mut().cast();
    bind(&insert, &connection, pointer, c"pragmark_record_batch");
    for _ in 0..2 {
        insert.run().unwrap();
    }
    let rows = connection.query_all("SELECT id, name FROM t").unwrap();
    assert_eq!(rows.len(), 4);
    assert_eq!(connection.query_text("SELECT group_concat(id) FROM t").unwrap(), "1,2,21,22");
}

#[test]
fn tables_of_the_module_have_columns_with_names() {
    let connection = connection();
    connection
        .execute(
            "CREATE VIRTUAL TABLE temp.people USING pragmark_columns(id INTEGER, \"full name\")",
        )
        .unwrap();
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![7]));
    let names: ArrayRef = Arc::new(StringArray::from(vec!["Ada"]));
    let bound = Bound::new(&batch(vec![("id", ids), ("name", names)]));
    let mut query = connection.prepare("SELECT \"full name\", id FROM people(?1)").unwrap();
    let pointer = (&raw const *bound.pointers).cast_mut().cast();
    bind(&query, &connection, pointer, c"pragmark_record_batch");
    assert_eq!(read(&mut query).unwrap(), ["Ada|7"]);
}

#[test]
fn a_stream_gives_the_rows_of_all_its_batches_and_values_outlive_them() {
    let batches: Vec<RecordBatch> = ["b", "z", "a"]
        .iter()
        .flat_map(|text| {
            [one(StringArray::from(vec![*text, "m"])), one(StringArray::from(Vec::<&str>::new()))]
        })
        .collect();
    let schema = batches[0].schema();
    let reader = RecordBatchIterator::new(batches.into_iter().map(Ok), schema);
    let mut stream = FFI_ArrowArrayStream::new(Box::new(reader));
    let sql = "SELECT count(*), min(c0), max(c0), group_concat(c0) FROM pragmark_columns(?1)";
    assert_eq!(read_stream(&mut stream, sql).unwrap(), ["6|a|z|b,m,z,m,a,m"]);
}

#[test]
fn the_error_of_a_stream_is_told() {
    let good = one(Int64Array::from(vec![1]));
    let schema = good.schema();
    let failed = arrow_schema::ArrowError::ComputeError("the source dried up".to_owned());
    let reader = RecordBatchIterator::new([Ok(good), Err(failed)].into_iter(), schema);
    let mut stream = FFI_ArrowArrayStream::new(Box::new(reader));
    let sql = "SELECT c0 FROM pragmark_columns(?1)";
    let error = read_stream(&mut stream, sql).unwrap_err();
    assert!(error.contains("the source dried up"), "{error}");
}

#[test]
fn what_cannot_be_read_is_an_error_and_not_null() {
    let durations =
        rows_of(&one(DurationSecondArray::from(vec![1])), "SELECT c0 FROM pragmark_columns(?1)");
    let durations = durations.unwrap_err();
    assert!(
        durations.contains("column 0 (a)")
            && durations.contains("tDs")
            && durations.contains("cast"),
        "{durations}"
    );
    let large =
        rows_of(&one(UInt64Array::from(vec![u64::MAX])), "SELECT c0 FROM pragmark_columns(?1)");
    assert!(large.unwrap_err().contains("18446744073709551615 exceeds"));
    let absent = rows_of(&one(Int8Array::from(vec![1])), "SELECT c1 FROM pragmark_columns(?1)");
    assert!(absent.unwrap_err().contains("there is no column 1; the batch has 1"));
}

const NOTHING: &str = "bind a pointer of the type pragmark_record_batch or arrow_array_stream";

#[test]
fn what_is_no_batch_and_no_stream_is_an_error() {
    let connection = connection();
    for call in ["(NULL)", "(12345)", "('text')", "(?1)", ""] {
        let sql = format!("SELECT count(*) FROM pragmark_columns{call}");
        let error = connection.query_i64(&sql).unwrap_err().to_string();
        assert!(error.contains(NOTHING), "{call}: {error}");
    }
    let mut query = connection.prepare(COUNT).unwrap();
    let mut number = 7_u64;
    let pointer = (&raw mut number).cast();
    bind(&query, &connection, pointer, c"something else");
    let error = read(&mut query).unwrap_err();
    assert!(error.contains(NOTHING), "{error}");
}

const COUNT: &str = "SELECT count(*) FROM pragmark_columns(?1)";

/// A stream of three rows.
fn stream() -> FFI_ArrowArrayStream {
    let batch = one(Int64Array::from(vec![1, 2, 3]));
    let schema = batch.schema();
    FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new([Ok(batch)], schema)))
}

fn read_stream(stream: &mut FFI_ArrowArrayStream, sql: &str) -> Result<Vec<String>, String> {
    let connection = connection();
    let mut query = connection.prepare(sql).unwrap();
    bind(&query, &connection, (&raw mut *stream).cast(), c"arrow_array_stream");
    read(&mut query)
}

#[test]
fn a_stream_is_read_once() {
    let mut read_before = stream();
    assert_eq!(read_stream(&mut read_before, COUNT).unwrap(), ["3"]);
    let error = read_stream(&mut read_before, COUNT).unwrap_err();
    assert!(error.contains("the stream has been released"), "{error}");
    let mut released = FFI_ArrowArrayStream::empty();
    let error = read_stream(&mut released, COUNT).unwrap_err();
    assert!(error.contains("the stream has been released"), "{error}");
}

#[test]
fn a_stream_cannot_be_joined_with_itself() {
    for sql in [
        "SELECT count(*) FROM pragmark_columns(?1) AS a, pragmark_columns(?1) AS b",
        "SELECT count(*) FROM pragmark_columns(?1) WHERE c0 IN (SELECT c0 FROM pragmark_columns(?1))",
    ] {
        let error = read_stream(&mut stream(), sql).unwrap_err();
        assert!(error.contains("the stream has been released"), "{sql}: {error}");
    }
    // A batch can.
    let numbers = one(Int64Array::from(vec![1, 2, 3]));
    let join = "SELECT count(*) FROM pragmark_columns(?1) AS a JOIN pragmark_columns(?1) AS b ON a.c0 < b.c0";
    assert_eq!(rows_of(&numbers, join).unwrap(), ["3"]);
}

/// Sets a field of an array by its number in the C data interface.
fn set(array: *mut FFI_ArrowArray, field: usize, value: isize) {
    assert_eq!(size_of::<isize>(), size_of::<i64>());
    // SAFETY: all of its ten fields have 64 bits; what is set here is not needed to release it.
    unsafe { array.cast::<isize>().add(field).write(value) }
}

const NULL_COUNT: usize = 1;
const CHILDREN: usize = 6;
const DICTIONARY: usize = 7;
const ALL: &str = "SELECT c0 FROM pragmark_columns(?1)";

#[test]
fn rows_that_are_entirely_null_are_refused_whether_they_are_counted_or_not() {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let field = Arc::new(Field::new("a", DataType::Int64, true));
    let rows = |valid: Option<Vec<bool>>| {
        let (fields, numbers) = (vec![Arc::clone(&field)].into(), vec![Arc::clone(&numbers)]);
        StructArray::new(fields, numbers, valid.map(Into::into))
    };
    let read = |rows: &StructArray, null_count: isize| {
        rows_of_bound(&Bound::changed(rows, |array| set(array, NULL_COUNT, null_count)), ALL)
    };
    for null_count in [1, -1] {
        let error = read(&rows(Some(vec![true, false, true])), null_count).unwrap_err();
        assert!(error.contains("entirely NULL"), "{error}");
    }
    assert_eq!(read(&rows(None), -1).unwrap(), ["1", "2", "3"]);
    let valid = rows(Some(vec![false, true, true])).slice(1, 2);
    assert_eq!(read(&valid, -1).unwrap(), ["2", "3"]);
}

#[test]
fn keys_without_their_dictionary_are_refused() {
    let texts: DictionaryArray<Int8Type> = vec!["x", "y"].into_iter().collect();
    let rows = StructArray::from(one(texts));
    let bound = Bound::changed(&rows, |array| {
        // SAFETY: the array has one column.
        let child = unsafe {
            let children = (&raw mut *array).cast::<*mut *mut FFI_ArrowArray>().add(CHILDREN);
            **children
        };
        set(child, DICTIONARY, 0);
    });
    let error = rows_of_bound(&bound, ALL).unwrap_err();
    assert!(error.contains("dictionary"), "{error}");
}
