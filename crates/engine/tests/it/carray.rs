//! Arrays of the program as tables.

use crate::support::{engine, memory};
use pragmark_engine::{
    Array, BlobArray, Connection, EngineError, Library, OpenFlags, Source, Step, TextArray, Value,
};
use std::ffi::CString;
use std::path::Path;
use std::sync::Arc;

/// What `select` gives over `carray(?1)`.
fn over(connection: &Connection, select: &str, array: Array<'_>) -> Value {
    let mut query =
        connection.prepare(&format!("SELECT {select} FROM carray(?1)")).expect("prepares");
    query
        .with_array(1, array, |query| {
            assert_eq!(query.step()?, Step::Row);
            Ok(query.column_value(0))
        })
        .expect("runs")
}

#[test]
fn arrays_of_every_type_are_summed() {
    let connection = memory(&engine());
    let ints: Vec<i32> = (-10..1000).collect();
    assert_eq!(over(&connection, "sum(value)", Array::I32(&ints)), Value::Integer(499_445));
    let longs = [i64::MAX, -1, 1 - i64::MAX];
    assert_eq!(over(&connection, "sum(value)", Array::I64(&longs)), Value::Integer(0));
    assert_eq!(over(&connection, "sum(value)", Array::F64(&[0.5, 1.25])), Value::Real(1.75));

    let strings = ["ä", "b", ""].map(|text| CString::new(text).expect("no NUL"));
    let texts: TextArray = strings.iter().map(CString::as_c_str).collect();
    assert_eq!(
        over(&connection, "group_concat(value, '|')", Array::Text(&texts)),
        Value::Text("ä|b|".to_owned())
    );
    let blobs: BlobArray = [&[1_u8, 0, 2][..], &[], &[3]].into_iter().collect();
    assert_eq!(Array::Blob(&blobs).len(), 3);
    assert_eq!(
        over(&connection, "group_concat(hex(value), '|')", Array::Blob(&blobs)),
        Value::Text("010002||03".to_owned())
    );
    assert_eq!(over(&connection, "count(*)", Array::I64(&[])), Value::Integer(0));
}

#[test]
fn an_array_that_outlives_the_statement_needs_no_scope() {
    let connection = memory(&engine());
    connection.execute("CREATE TABLE t(x)").expect("creates");
    let values: Vec<i64> = (0..100_000).collect();
    let mut insert =
        connection.prepare("INSERT INTO t SELECT value FROM carray(?1)").expect("prepares");
    for batch in values.chunks(30_000) {
        insert.bind_array(1, Array::I64(batch)).expect("binds");
        insert.run().expect("inserts");
    }
    assert_eq!(connection.query_i64("SELECT sum(x) FROM t").expect("a sum"), 4_999_950_000);
}

#[test]
fn two_arrays_are_bound_at_once_and_gone_afterwards() {
    let connection = memory(&engine());
    let mut query = connection
        .prepare("SELECT sum(a.value * b.value) FROM carray(?1) a JOIN carray(?2) b ON a.rowid = b.rowid")
        .expect("prepares");
    let (left, right) = (vec![1_i64, 2, 3], vec![10_i64, 20, 30]);
    let sum = query.with_borrowed(|query| {
        query.bind_array(1, Array::I64(&left))?;
        query.bind_array(2, Array::I64(&right))?;
        query.step()?;
        Ok(query.column_i64(0))
    });
    assert_eq!(sum.expect("runs"), 140);
    drop((left, right));
    assert_eq!(query.step().expect("a row"), Step::Row);
    assert!(query.column_is_null(0), "no arrays, no rows");
}

#[test]
fn clearing_bindings_in_the_middle_of_an_array_ends_the_reading() {
    let connection = memory(&engine());
    let mut query = connection.prepare("SELECT value FROM carray(?1)").expect("prepares");
    query.bind_array(1, Array::I64(&[1, 2, 3])).expect("binds");
    assert_eq!(query.step().expect("a row"), Step::Row);
    assert!(query.bind_array(1, Array::I64(&[4])).is_err(), "the statement is running");
    query.clear_bindings().expect("resets first");
    assert_eq!(query.step().expect("nothing bound"), Step::Done);
}

#[test]
fn an_engine_without_carray_says_so() {
    let Ok(library) = Library::load(&Source::System) else {
        testing::skip("no system library here");
        return;
    };
    if library.has_carray() {
        testing::skip("the system's library has carray");
        return;
    }
    let library = Arc::new(library);
    let memory = Path::new(":memory:");
    let connection = Connection::open(&library, memory, OpenFlags::default(), None).expect("opens");
    let mut query = connection.prepare("SELECT ?1").expect("prepares");
    let error = query.bind_array(1, Array::I64(&[1])).expect_err("no carray");
    assert!(matches!(error, EngineError::Unsupported("carray", _)), "{error}");
}
