//! Loads of every kind: into new files and old ones, as pages and through SQL.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use engine::Value;
use pragmark_load::{
    BatchSource, Column, Duplicates, Index, LoadError, Mode, OnError, Request, Summary, Table, load,
};

use crate::accidents::{Contents, library, open};

/// A load and the database before it.
pub(crate) struct Scene {
    pub(crate) name: &'static str,
    /// The statements that make the database; none of a new one.
    pub(crate) before: &'static str,
    mode: Mode,
    change: fn(&mut Request),
    /// The keys of the rows.
    keys: fn(i64) -> i64,
}

const ROWS: i64 = 6_000;

macro_rules! filled {
    ($($sql:literal),+) => {
        concat!($($sql),+, "; WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000)
            INSERT INTO t SELECT i, printf('%060d', i * 7919 % 100003) FROM n;")
    };
}

fn in_order(row: i64) -> i64 {
    10_000 + row
}

fn shuffled(row: i64) -> i64 {
    10_000 + row * 7_919 % ROWS
}

/// Every other one is in the table before.
fn partly_known(row: i64) -> i64 {
    if row % 2 == 0 { 1 + row / 2 } else { in_order(row) }
}

fn unchanged(_: &mut Request) {}

fn indexes(request: &mut Request) {
    request.table.indexes = vec![
        Index { columns: vec!["b".to_owned()], unique: false },
        Index { columns: vec!["a".to_owned(), "b".to_owned()], unique: true },
    ];
}

fn skipping(request: &mut Request) {
    request.on_error = OnError::Skip;
    request.rejects = Some(request.database.with_extension("rejected.csv"));
}

const INDEXED: &str = filled!(
    "CREATE TABLE t(a INTEGER, b TEXT); CREATE INDEX i ON t(b); CREATE UNIQUE INDEX u ON t(a DESC)"
);
const KEYED: &str = filled!("CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT)");
const WITH_LOG: &str =
    filled!("PRAGMA journal_mode = WAL; CREATE TABLE t(a INTEGER, b TEXT); CREATE INDEX i ON t(b)");
const VACUUMED: &str =
    filled!("PRAGMA auto_vacuum = FULL; CREATE TABLE t(a INTEGER, b TEXT); CREATE INDEX i ON t(b)");
const VACUUMED_PLAIN: &str =
    filled!("PRAGMA auto_vacuum = FULL; CREATE TABLE t(a INTEGER, b TEXT)");
const TRIGGERED: &str = filled!(
    "CREATE TABLE t(a INTEGER, b TEXT); CREATE TABLE o(a);
         CREATE TRIGGER r AFTER INSERT ON t BEGIN INSERT INTO o VALUES (new.a); END"
);

pub(crate) const SCENES: &[Scene] = &[
    Scene::new("a new database", "", Mode::Create, indexes, in_order),
    Scene::new(
        "a new table",
        KEYED,
        Mode::Create,
        |request| {
            request.table.name = "new".to_owned();
            indexes(request);
        },
        in_order,
    ),
    Scene::new("rows merged into indexes", INDEXED, Mode::Append, unchanged, in_order),
    Scene::new("a replaced table", INDEXED, Mode::Replace, indexes, in_order),
    Scene::new("a write-ahead log", WITH_LOG, Mode::Append, unchanged, in_order),
    Scene::new("auto_vacuum", VACUUMED, Mode::Append, unchanged, in_order),
    Scene::new("auto_vacuum, as pages", VACUUMED_PLAIN, Mode::Append, unchanged, in_order),
    Scene::new("a trigger", TRIGGERED, Mode::Append, unchanged, in_order),
    Scene::new(
        "keys out of order",
        "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT)",
        Mode::Append,
        unchanged,
        shuffled,
    ),
    Scene::new(
        "known keys ignored",
        KEYED,
        Mode::Append,
        |request| {
            request.duplicates = Duplicates::Ignore;
        },
        partly_known,
    ),
    Scene::new(
        "known keys updated",
        KEYED,
        Mode::Append,
        |request| {
            request.duplicates = Duplicates::Update(vec!["a".to_owned()]);
        },
        partly_known,
    ),
    Scene::new("known keys skipped", INDEXED, Mode::Append, skipping, partly_known),
    Scene::new(
        "WITHOUT ROWID",
        KEYED,
        Mode::Replace,
        |request| {
            request.table.primary_key = vec!["b".to_owned(), "a".to_owned()];
            request.table.without_rowid = true;
        },
        shuffled,
    ),
];

impl Scene {
    const fn new(
        name: &'static str,
        before: &'static str,
        mode: Mode,
        change: fn(&mut Request),
        keys: fn(i64) -> i64,
    ) -> Scene {
        Scene { name, before, mode, change, keys }
    }

    /// Loads in this process.
    pub(crate) fn load(&self, database: &Path) -> Result<Summary, LoadError> {
        let mut table = Table::new("t");
        table.types = vec![Column::new("a", "INTEGER"), Column::new("b", "TEXT")];
        let mut request = Request::new(database, table);
        request.mode = self.mode;
        (self.change)(&mut request);
        if request.mode == Mode::Append {
            request.table.types.clear();
        }
        let schema = Schema::new(vec![
            Field::new("a", DataType::Int64, true),
            Field::new("b", DataType::Utf8, true),
        ]);
        let batches = (0..ROWS).step_by(1_500).map(|first| self.batch(first..first + 1_500));
        let mut source = BatchSource::new("test", &schema, batches);
        load(&library(), &mut source, &request, &mut |_| true)
    }

    /// Rows whose texts now and then need pages of their own.
    fn batch(&self, rows: std::ops::Range<i64>) -> RecordBatch {
        let keys = rows.clone().map(|row| (self.keys)(row));
        let texts = rows.map(|row| {
            let length = if row % 500 == 0 { 9_000 } else { 30 };
            format!("{:0length$}", row * 7_919 % 100_003)
        });
        let arrays: [(&str, ArrayRef); 2] = [
            ("a", Arc::new(Int64Array::from_iter_values(keys))),
            ("b", Arc::new(StringArray::from_iter_values(texts))),
        ];
        RecordBatch::try_from_iter(arrays).unwrap()
    }

    /// All rows of all tables of a sound database; none where there is no file.
    pub(crate) fn contents(&self, database: &Path) -> Option<Contents> {
        if !database.exists() {
            return None;
        }
        let connection = open(database);
        let check = connection.query_text("PRAGMA integrity_check").unwrap();
        assert_eq!(check, "ok", "{}", self.name);
        let tables = "SELECT name, sql FROM sqlite_schema ORDER BY type DESC, name";
        let mut contents = Contents::new();
        for object in connection.query_all(tables).unwrap() {
            contents.push(format!("{object:?}"));
            let Value::Text(name) = &object[0] else {
                continue;
            };
            let is_table = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ";
            if connection.query_i64(&format!("{is_table}'{name}'")).unwrap() == 1 {
                let rows = connection.query_all(&format!("SELECT * FROM {name} ORDER BY 1, 2"));
                let rows = rows.or_else(|_| connection.query_all(&format!("SELECT * FROM {name}")));
                contents.extend(rows.unwrap().iter().map(|row| format!("{row:?}")));
            }
        }
        Some(contents)
    }
}
