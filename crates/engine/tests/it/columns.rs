//! Rows of the program as a table.

use crate::support::{engine, memory};
use pragmark_engine::{Columns, Step, Value, ValueRef};

struct Rows(Vec<Vec<Value>>);

impl Columns for Rows {
    fn rows(&self) -> usize {
        self.0.len()
    }

    fn value(&self, row: usize, column: usize) -> ValueRef<'_> {
        match self.0[row].get(column) {
            None | Some(Value::Null) => ValueRef::Null,
            Some(Value::Integer(value)) => ValueRef::Integer(*value),
            Some(Value::Real(value)) => ValueRef::Real(*value),
            Some(Value::Text(text)) => ValueRef::Text(text),
            Some(Value::Blob(bytes)) => ValueRef::Blob(bytes),
        }
    }
}

fn sample() -> Rows {
    Rows(vec![
        vec![Value::Integer(i64::MIN), Value::Text("ä\0b".to_owned()), Value::Blob(vec![0, 1])],
        vec![Value::Real(0.5), Value::Text(String::new()), Value::Blob(vec![])],
        vec![Value::Null, Value::Integer(7)],
    ])
}

#[test]
fn values_of_every_type_arrive_as_they_are() {
    let connection = memory(&engine());
    connection.create_columns_function("rows_of", 3).expect("is made");
    connection.execute("CREATE TABLE t(a, b, c)").expect("creates");
    let rows = sample();
    let mut insert =
        connection.prepare("INSERT INTO t SELECT c0, c1, c2 FROM rows_of(?1)").expect("prepares");
    insert.bind_columns(1, &rows).expect("binds");
    insert.run().expect("inserts");
    let mut expected = rows.0.clone();
    expected[2].push(Value::Null);
    assert_eq!(connection.query_all("SELECT * FROM t").expect("reads"), expected);
}

#[test]
fn rows_bound_for_a_scope_are_gone_afterwards() {
    let connection = memory(&engine());
    connection.create_columns_function("rows_of", 3).expect("is made");
    let mut query =
        connection.prepare("SELECT count(*), max(rowid) FROM rows_of(?1)").expect("prepares");
    for length in 1..=3 {
        let mut rows = sample();
        rows.0.truncate(length);
        let counted = query.with_borrowed(|query| {
            query.bind_columns(1, &rows)?;
            assert_eq!(query.step()?, Step::Row);
            Ok((query.column_i64(0), query.column_i64(1)))
        });
        assert_eq!(counted.expect("runs"), (length as i64, length as i64));
    }
    assert_eq!(query.step().expect("a row"), Step::Row);
    assert_eq!(query.column_i64(0), 0, "nothing bound, no rows");
}

#[test]
fn other_values_than_bound_rows_give_no_rows() {
    let connection = memory(&engine());
    connection.create_columns_function("rows_of", 1).expect("is made");
    for sql in [
        "SELECT count(*) FROM rows_of",
        "SELECT count(*) FROM rows_of(1)",
        "SELECT count(*) FROM rows_of(NULL)",
        "SELECT count(*) FROM (SELECT 1 AS x) AS other JOIN rows_of(other.x)",
    ] {
        assert_eq!(connection.query_i64(sql).expect(sql), 0);
    }
    assert!(connection.execute("INSERT INTO rows_of VALUES (1)").is_err(), "read-only");
    assert!(
        connection.execute("CREATE VIRTUAL TABLE v USING rows_of").is_err(),
        "only as a function"
    );
}

#[test]
fn a_join_of_two_walks_each_on_its_own() {
    let connection = memory(&engine());
    connection.create_columns_function("rows_of", 1).expect("is made");
    let left = Rows((1..=3).map(|n| vec![Value::Integer(n)]).collect());
    let right = Rows((1..=4).map(|n| vec![Value::Integer(n * 10)]).collect());
    let mut query = connection
        .prepare("SELECT sum(a.c0 * b.c0) FROM rows_of(?1) a, rows_of(?2) b")
        .expect("prepares");
    query.bind_columns(1, &left).expect("binds");
    query.bind_columns(2, &right).expect("binds");
    assert_eq!(query.step().expect("a row"), Step::Row);
    assert_eq!(query.column_i64(0), 6 * 100);
}

#[test]
fn more_columns_than_sqlite_allows_are_an_error() {
    let connection = memory(&engine());
    connection.create_columns_function("most", 1_999).expect("is made");
    assert_eq!(connection.query_i64("SELECT count(c1998) FROM most").expect("runs"), 0);
    let error = connection.create_columns_function("rows_of", 2_000).expect_err("too many");
    assert!(error.to_string().contains("too many"), "{error}");
}
