//! What other programs have written is in the table as it was: times with zones, values of any type, and
//! rows with something for which SQLite has nothing are told.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::library;
use arrow_array::{ArrayRef, RecordBatch, StringArray, TimestampMicrosecondArray, UInt64Array};
use engine::{Connection, OpenFlags, Value};
use pragmark_load::{
    LoadError, LoadStrategy, OnError, Opening, Request, Summary, Table, load, open,
};

fn write_parquet(path: &Path, columns: Vec<(&str, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = File::create(path).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

fn write_database(path: &Path, sql: &str) {
    let connection = Connection::open(&library(), path, OpenFlags::default(), None).unwrap();
    connection.execute(sql).unwrap();
}

fn run(inputs: &[PathBuf], request: &Request) -> Result<Summary, LoadError> {
    let mut source = open(inputs, &Opening::new(&library()))?;
    load(&library(), &mut *source, request, &mut |_| true)
}

fn rows(database: &Path, sql: &str) -> Vec<String> {
    let connection = Connection::open(&library(), database, OpenFlags::READ_ONLY, None).unwrap();
    let shown = |row: Vec<Value>| {
        let values: Vec<String> = row.iter().map(ToString::to_string).collect();
        values.join("|")
    };
    let rows = connection.query_all(sql).unwrap();
    rows.into_iter().map(shown).collect()
}

#[test]
fn times_in_a_zone_with_a_name_are_read_by_the_date_functions() {
    let folder = tempfile::tempdir().unwrap();
    for zone in ["UTC", "Europe/Vienna", "+00:00"] {
        let times = vec![1_704_067_200_000_000, 1_704_067_200_123_000];
        let times = TimestampMicrosecondArray::from(times).with_timezone(zone);
        let times: ArrayRef = Arc::new(times);
        let input = folder.path().join("times");
        write_parquet(&input, vec![("at", times)]);
        let database = folder.path().join(zone.replace('/', "-"));
        let request = Request::new(&database, Table::new("t"));
        run(&[input], &request).unwrap();
        assert_eq!(
            rows(&database, "SELECT at, datetime(at) FROM t"),
            [
                "2024-01-01T00:00:00.000000Z|2024-01-01 00:00:00",
                "2024-01-01T00:00:00.123000Z|2024-01-01 00:00:00"
            ]
        );
    }
}

#[test]
fn a_value_that_sqlite_lacks_is_named_by_its_row_and_can_be_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("input");
    let ids: ArrayRef = Arc::new(UInt64Array::from(vec![1, 1_u64 << 63, 3]));
    let names: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "c"]));
    write_parquet(&input, vec![("id", ids), ("name", names)]);
    for strategy in [LoadStrategy::Pages, LoadStrategy::Arrays] {
        let database = folder.path().join(format!("{strategy:?}"));
        let rejects = folder.path().join("rejects");
        let mut request = Request::new(&database, Table::new("t"));
        request.strategy = Some(strategy);
        request.rejects = Some(rejects.clone());
        let error = run(std::slice::from_ref(&input), &request).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "{}, row 2, column id: its UInt64 value cannot be loaded: \
                 9223372036854775808 is above SQLite's largest, 9223372036854775807",
                input.display()
            )
        );
        assert!(!database.exists());

        request.on_error = OnError::Skip;
        let summary = run(std::slice::from_ref(&input), &request).unwrap();
        assert_eq!((summary.rows, summary.rejected), (2, 1));
        let length = std::fs::metadata(&input).unwrap().len();
        assert_eq!(summary.bytes_read, length);
        assert_eq!(rows(&database, "SELECT rowid, id, name FROM t"), ["1|1|a", "2|3|c"]);
        let rejected = std::fs::read_to_string(&rejects).unwrap();
        assert!(rejected.ends_with(",9223372036854775808,b\n"), "{rejected}");
    }
}

#[test]
fn values_of_another_database_keep_the_types_they_have() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("input");
    write_database(
        &input,
        "CREATE TABLE t(zip ANY) STRICT; INSERT INTO t VALUES ('04020'), (4020), (x'00'), (NULL)",
    );
    for strict in [false, true] {
        let database = folder.path().join(format!("strict {strict}"));
        let mut table = Table::new("t");
        table.strict = strict;
        let request = Request::new(&database, table);
        let summary = run(std::slice::from_ref(&input), &request).unwrap();
        let length = std::fs::metadata(&input).unwrap().len();
        assert_eq!(summary.bytes_read, length);
        assert_eq!(
            rows(&database, "SELECT typeof(zip), zip FROM t"),
            ["text|04020", "integer|4020", "blob|x'00'", "null|NULL"]
        );
    }
}

#[test]
fn databases_that_name_the_same_type_otherwise_are_read_into_one_table() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = ["a", "b"].map(|name| folder.path().join(name));
    let [one, other] = &inputs;
    write_database(
        one,
        "CREATE TABLE t(id INT, x DOUBLE, name VARCHAR(9)); INSERT INTO t VALUES (1, 1.5, 'one')",
    );
    write_database(
        other,
        "CREATE TABLE t(id INTEGER, x REAL, name TEXT); INSERT INTO t VALUES (2, 2.5, 'two')",
    );
    let database = folder.path().join("both");
    run(&inputs, &Request::new(&database, Table::new("t"))).unwrap();
    assert_eq!(
        rows(&database, "SELECT typeof(id), id, typeof(x), x, name FROM t"),
        ["integer|1|real|1.5|one", "integer|2|real|2.5|two"]
    );
}
