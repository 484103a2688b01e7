//! Every strategy gives what SQL INSERT gives: rows, types, rowids and a sound database, whatever the table,
//! the values and the size of pages.
//!
//! `PROPTEST_CASES=10000 cargo test --release -p pragmark-load --test it strategies` looks longer;
//! `cargo test --release -p pragmark-load --test it strategies -- --ignored a_million` at a million rows of each
//! class of schema that `classes` lists, or as many as `PRAGMARK_TEST_ROWS` says.

mod auto_vacuum;
mod classes;
mod edges;
mod existing;
mod indexes;
mod merged;
mod new;
mod properties;
mod sorted;

use std::path::Path;
use std::sync::Arc;

use crate::library;
use arrow_array::{
    ArrayRef, BinaryArray, Float64Array, Int64Array, NullArray, RecordBatch, RecordBatchOptions,
    StringArray,
};
use arrow_schema::{DataType, Field, Schema};
use engine::{Connection, OpenFlags, Value};
use pragmark_load::{
    BatchSource, Column, Index, LoadError, LoadStrategy, Mode, OnError, Request, Summary, Table,
    load,
};

fn open(path: &Path) -> Connection {
    Connection::open(&library(), path, OpenFlags::default(), None).unwrap()
}

/// A table with rows in batches, as columns of values.
#[derive(Debug, Clone)]
struct Case {
    declared: Vec<&'static str>,
    strict: bool,
    rowid_alias: bool,
    page_size: u32,
    workers: usize,
    /// Columns of indexes.
    indexes: Vec<Vec<usize>>,
    /// Columns of the primary key of a table WITHOUT ROWID; none for other tables.
    key: Vec<usize>,
    /// Whether the entries of indexes are sorted in memory alone; otherwise each block of rows is a run of
    /// its own in a file.
    sorted: bool,
    batches: Vec<Vec<Vec<Value>>>,
}

impl Case {
    fn table(&self) -> Table {
        let mut table = Table::new("t");
        table.strict = self.strict;
        table.types = self
            .declared
            .iter()
            .enumerate()
            .map(|(number, declared)| Column::new(format!("c{number}"), *declared))
            .collect();
        if self.rowid_alias {
            table.primary_key = vec!["c0".to_owned()];
        }
        if !self.key.is_empty() {
            table.primary_key = self.key.iter().map(|number| format!("c{number}")).collect();
            table.without_rowid = true;
        }
        table.indexes = self.indexes.iter().map(|columns| index(columns)).collect();
        table
    }

    fn batches(&self) -> Vec<RecordBatch> {
        self.batches.iter().map(|columns| batch(columns)).collect()
    }

    fn load(&self, database: &Path, strategy: LoadStrategy) -> Result<Summary, LoadError> {
        let mut request = Request::new(database, self.table());
        request.strategy = Some(strategy);
        request.page_size = Some(self.page_size);
        request.workers = Some(self.workers);
        request.check = true;
        if !self.sorted {
            request.index_memory = 0;
        }
        run(self.batches(), &request)
    }

    /// The same by one prepared INSERT for each row.
    fn insert(&self, database: &Path, create: &str) {
        self.insert_part(database, create, &self.batches);
    }

    fn insert_part(&self, database: &Path, create: &str, batches: &[Vec<Vec<Value>>]) {
        let connection = open(database);
        connection
            .execute(&format!("PRAGMA page_size = {}; BEGIN; {create}", self.page_size))
            .unwrap();
        let places = vec!["?"; self.declared.len()].join(", ");
        let mut insert = connection.prepare(&format!("INSERT INTO t VALUES ({places})")).unwrap();
        for columns in batches {
            for row in 0..columns[0].len() {
                for (number, values) in columns.iter().enumerate() {
                    insert.bind_value(number as i32 + 1, &values[row]).unwrap();
                }
                insert.run().unwrap();
            }
        }
        drop(insert);
        connection.execute("COMMIT").unwrap();
    }
}

fn index(columns: &[usize]) -> Index {
    Index { columns: columns.iter().map(|number| format!("c{number}")).collect(), unique: false }
}

fn run(batches: Vec<RecordBatch>, request: &Request) -> Result<Summary, LoadError> {
    let names = request.table.types.iter().map(|column| column.name.clone());
    let fields: Vec<Field> = names.map(|name| Field::new(name, DataType::Null, true)).collect();
    let mut source = BatchSource::new("test", &Schema::new(fields), batches.into_iter());
    load(&library(), &mut source, request, &mut |_| true)
}

/// A batch of columns, each of one type besides NULL.
fn batch(columns: &[Vec<Value>]) -> RecordBatch {
    let arrays: Vec<ArrayRef> = columns.iter().map(|values| array(values)).collect();
    let fields: Vec<Field> = arrays
        .iter()
        .enumerate()
        .map(|(number, array)| Field::new(format!("c{number}"), array.data_type().clone(), true))
        .collect();
    let options = RecordBatchOptions::new().with_row_count(Some(columns[0].len()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options).unwrap()
}

fn array(values: &[Value]) -> ArrayRef {
    macro_rules! collect {
        ($array:ty, $variant:path) => {
            Arc::new(
                values
                    .iter()
                    .map(|value| match value {
                        $variant(value) => Some(value.clone()),
                        _ => None,
                    })
                    .collect::<$array>(),
            )
        };
    }
    match values.iter().find(|value| **value != Value::Null) {
        None => Arc::new(NullArray::new(values.len())),
        Some(Value::Integer(_)) => collect!(Int64Array, Value::Integer),
        Some(Value::Real(_)) => collect!(Float64Array, Value::Real),
        Some(Value::Text(_)) => collect!(StringArray, Value::Text),
        Some(_) => Arc::new(
            values
                .iter()
                .map(|value| match value {
                    Value::Blob(bytes) => Some(bytes.as_slice()),
                    _ => None,
                })
                .collect::<BinaryArray>(),
        ),
    }
}

/// All that SQL tells of the table: schema, rowids, types and values.
fn contents(database: &Path, columns: usize) -> (Vec<Vec<Value>>, Vec<Vec<Value>>) {
    contents_by(database, columns, "rowid")
}

/// The same in the order of these columns, which are told first.
fn contents_by(database: &Path, columns: usize, order: &str) -> (Vec<Vec<Value>>, Vec<Vec<Value>>) {
    let connection = open(database);
    let check = connection.query_all("PRAGMA integrity_check").unwrap();
    assert_eq!(check, [[Value::Text("ok".to_owned())]]);
    let list: Vec<String> =
        (0..columns).map(|number| format!("typeof(c{number}), quote(c{number})")).collect();
    let rows = connection
        .query_all(&format!("SELECT {order}, {} FROM t ORDER BY {order}", list.join(", ")))
        .unwrap();
    let schema = connection
        .query_all("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name")
        .unwrap();
    (schema, rows)
}

impl Case {
    /// Adds batches to the table in a database that exists.
    fn append(
        &self,
        database: &Path,
        first: usize,
        strategy: Option<LoadStrategy>,
    ) -> Result<Summary, LoadError> {
        let mut request = Request::new(database, self.table());
        request.mode = Mode::Append;
        request.strategy = strategy;
        request.workers = Some(self.workers);
        request.check = true;
        if !self.sorted {
            request.index_memory = 0;
        }
        run(self.batches().split_off(first), &request)
    }

    fn create(&self, database: &Path) -> String {
        let empty = Case { batches: Vec::new(), ..self.clone() };
        empty.load(database, LoadStrategy::Arrays).unwrap();
        let (objects, _) = contents(database, self.declared.len());
        std::fs::remove_file(database).unwrap();
        let sql: Vec<String> = objects.iter().map(|object| object[3].to_string()).collect();
        sql.join("; ")
    }

    fn rows(&self, batches: &[Vec<Vec<Value>>]) -> usize {
        batches.iter().map(|columns| columns[0].len()).sum()
    }
}

/// Reserves bytes at the end of each page of a database whose only page is the empty schema.
fn reserve(database: &Path, page_size: u16, reserved: u8) {
    let mut bytes = std::fs::read(database).unwrap();
    assert_eq!(bytes.len(), usize::from(page_size));
    bytes[20] = reserved;
    let content = page_size - u16::from(reserved);
    bytes[105..107].copy_from_slice(&content.to_be_bytes());
    std::fs::write(database, bytes).unwrap();
}

/// Rows with a key and a text of some length.
fn many(rows: std::ops::Range<i64>, length: usize) -> RecordBatch {
    let keys = rows.clone().map(Value::Integer).collect();
    let texts = rows.map(|row| Value::Text(format!("{row:0length$}"))).collect();
    batch(&[keys, texts])
}

fn two_columns(primary_key: bool) -> Table {
    let mut table = Table::new("t");
    table.types = vec![Column::new("c0", "INTEGER"), Column::new("c1", "TEXT")];
    if primary_key {
        table.primary_key = vec!["c0".to_owned()];
    }
    table
}
