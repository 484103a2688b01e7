//! Every way gives what SQL INSERT gives: rows, types, rowids and a sound database, whatever the table,
//! the values and the size of pages.
//!
//! `PROPTEST_CASES=10000 cargo test --release -p pragmark-load --test ways` looks longer;
//! `cargo test --release -p pragmark-load --test ways -- --ignored a_million` at a million rows of each
//! class of schema that `ways/classes.rs` lists, or as many as `PRAGMARK_TEST_ROWS` says.

#[path = "ways/classes.rs"]
mod classes;
#[path = "ways/edges.rs"]
mod edges;

use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, Float64Array, Int64Array, NullArray, RecordBatch, RecordBatchOptions,
    StringArray,
};
use arrow_schema::{DataType, Field, Schema};
use engine::{Connection, Library, OpenFlags, Source, Value};
use pragmark_load::{
    BatchSource, Column, Index, LoadError, Mode, OnError, Request, Summary, Table, Way, WayChoice,
    load,
};
use proptest::prelude::*;
use proptest::sample::select;

fn library() -> Arc<Library> {
    thread_local! {
        static LIBRARY: Arc<Library> = Arc::new(Library::load(&Source::Embedded).unwrap());
    }
    LIBRARY.with(Arc::clone)
}

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

    fn load(&self, database: &Path, way: Way) -> Result<Summary, LoadError> {
        let mut request = Request::new(database, self.table());
        request.way = WayChoice::Only(way);
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
            .execute(&format!(
                "PRAGMA page_size = {}; BEGIN; {create}",
                self.page_size
            ))
            .unwrap();
        let places = vec!["?"; self.declared.len()].join(", ");
        let mut insert = connection
            .prepare(&format!("INSERT INTO t VALUES ({places})"))
            .unwrap();
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
    Index {
        columns: columns.iter().map(|number| format!("c{number}")).collect(),
        unique: false,
    }
}

fn run(batches: Vec<RecordBatch>, request: &Request) -> Result<Summary, LoadError> {
    let names = request.table.types.iter().map(|column| column.name.clone());
    let fields: Vec<Field> = names
        .map(|name| Field::new(name, DataType::Null, true))
        .collect();
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
fn told(database: &Path, columns: usize) -> (Vec<Vec<Value>>, Vec<Vec<Value>>) {
    told_by(database, columns, "rowid")
}

/// The same in the order of these columns, which are told first.
fn told_by(database: &Path, columns: usize, order: &str) -> (Vec<Vec<Value>>, Vec<Vec<Value>>) {
    let connection = open(database);
    let check = connection.query_all("PRAGMA integrity_check").unwrap();
    assert_eq!(check, [[Value::Text("ok".to_owned())]]);
    let list: Vec<String> = (0..columns)
        .map(|number| format!("typeof(c{number}), quote(c{number})"))
        .collect();
    let rows = connection
        .query_all(&format!(
            "SELECT {order}, {} FROM t ORDER BY {order}",
            list.join(", ")
        ))
        .unwrap();
    let schema = connection
        .query_all("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name")
        .unwrap();
    (schema, rows)
}

fn integers() -> impl Strategy<Value = Value> {
    prop_oneof![
        (any::<i64>(), 0_u32..64).prop_map(|(value, bits)| value >> bits),
        select(edges::INTEGERS.to_vec()),
    ]
    .prop_map(Value::Integer)
}

fn reals() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<f64>(),
        any::<i32>().prop_map(f64::from),
        (-100_i32..100).prop_map(|value| f64::from(value) / 4.0),
        select(edges::REALS.to_vec()),
    ]
    .prop_map(Value::Real)
}

fn texts(page_size: u32) -> impl Strategy<Value = Value> {
    let long =
        (0..3 * page_size as usize, "[a-zé]").prop_map(|(length, text)| text.repeat(length / 2));
    prop_oneof![
        4 => "[ -~]{0,12}",
        4 => "[ \t]?[-+]?[0-9]{0,20}(\\.[0-9]{0,20})?([eE][-+]?[0-9]{1,3})?[ \n]?",
        1 => "\\PC{0,40}",
        1 => long,
        2 => select(edges::TEXTS.to_vec()).prop_map(str::to_owned),
    ]
    .prop_map(Value::Text)
}

fn blobs(page_size: u32) -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 0..40),
        1 => (any::<u8>(), 0..3 * page_size as usize).prop_map(|(byte, length)| vec![byte; length]),
    ]
    .prop_map(Value::Blob)
}

/// Values of one storage class and NULLs, which a column of the declared type takes.
fn column(
    declared: &'static str,
    strict: bool,
    page_size: u32,
    rows: usize,
) -> BoxedStrategy<Vec<Value>> {
    let of = |values: BoxedStrategy<Value>| {
        prop::collection::vec(prop_oneof![5 => values, 1 => Just(Value::Null)], rows).boxed()
    };
    let integers = of(integers().boxed());
    let reals = of(reals().boxed());
    let texts = of(texts(page_size).boxed());
    let blobs = of(blobs(page_size).boxed());
    match (strict, declared) {
        (true, "INTEGER") => integers,
        (true, "REAL") => prop_oneof![integers, reals].boxed(),
        (true, "TEXT") => prop_oneof![integers, reals, texts].boxed(),
        (true, "BLOB") => blobs,
        _ => prop_oneof![integers, reals, texts, blobs].boxed(),
    }
}

/// Ascending keys; where the flag is false, NULL, which means one more than the last.
fn keys(steps: Vec<(bool, u8)>, last: &mut i64) -> Vec<Value> {
    steps
        .into_iter()
        .map(|(own, step)| {
            *last += if own {
                1 + i64::from(step) * i64::from(step)
            } else {
                1
            };
            if own {
                Value::Integer(*last)
            } else {
                Value::Null
            }
        })
        .collect()
}

/// Tables with rowids, in up to three batches of fewer rows than `largest`.
fn cases(largest: usize) -> impl Strategy<Value = Case> {
    let page_sizes = select(vec![
        512_u32, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536,
    ]);
    (
        any::<bool>(),
        any::<bool>(),
        page_sizes,
        1_usize..4,
        -100_i64..1000,
        1_usize..6,
    )
        .prop_flat_map(
            move |(strict, rowid_alias, page_size, workers, first, columns)| {
                let names = if strict {
                    vec!["INTEGER", "REAL", "TEXT", "BLOB", "ANY"]
                } else {
                    vec![
                        "INTEGER",
                        "REAL",
                        "TEXT",
                        "BLOB",
                        "",
                        "NUMERIC",
                        "DECIMAL(10,2)",
                    ]
                };
                let declared = prop::collection::vec(select(names), columns);
                let indexed =
                    prop::sample::subsequence((0..columns).collect::<Vec<_>>(), 1..=columns);
                let indexed = prop::collection::btree_set(indexed, 0..3);
                let sizes = prop::collection::vec(0..largest, 0..4);
                (declared, sizes, indexed, any::<bool>()).prop_flat_map(
                    move |(mut declared, sizes, indexes, sorted)| {
                        let indexes: Vec<Vec<usize>> = indexes.into_iter().collect();
                        if rowid_alias {
                            declared[0] = "INTEGER";
                        }
                        let batches: Vec<_> = sizes
                            .iter()
                            .map(|rows| {
                                let columns: Vec<_> = declared
                                    .iter()
                                    .map(|declared| column(declared, strict, page_size, *rows))
                                    .collect();
                                let steps =
                                    prop::collection::vec((any::<bool>(), any::<u8>()), *rows);
                                (columns, steps)
                            })
                            .collect();
                        let declared = declared.clone();
                        batches.prop_map(move |batches| {
                            let mut last = first;
                            let mut first_batch = true;
                            let batches = batches
                                .into_iter()
                                .map(|(mut columns, mut steps)| {
                                    if rowid_alias {
                                        if let (true, Some(step)) = (first_batch, steps.first_mut())
                                        {
                                            // The first key of all sets where the others begin.
                                            step.0 = true;
                                            first_batch = false;
                                        }
                                        columns[0] = keys(steps, &mut last);
                                    }
                                    columns
                                })
                                .collect();
                            Case {
                                declared: declared.clone(),
                                strict,
                                rowid_alias,
                                page_size,
                                workers,
                                indexes: indexes.clone(),
                                key: Vec::new(),
                                sorted,
                                batches,
                            }
                        })
                    },
                )
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_way_gives_what_insert_gives(case in cases(60)) {
        check_new(&case);
    }
}

impl Case {
    /// Adds batches to the table in a database that exists.
    fn append(&self, database: &Path, first: usize, way: WayChoice) -> Result<Summary, LoadError> {
        let mut request = Request::new(database, self.table());
        request.mode = Mode::Append;
        request.way = way;
        request.workers = Some(self.workers);
        request.check = true;
        if !self.sorted {
            request.index_memory = 0;
        }
        run(self.batches().split_off(first), &request)
    }

    fn create(&self, database: &Path) -> String {
        let empty = Case {
            batches: Vec::new(),
            ..self.clone()
        };
        empty.load(database, Way::Arrays).unwrap();
        let (objects, _) = told(database, self.declared.len());
        std::fs::remove_file(database).unwrap();
        let sql: Vec<String> = objects.iter().map(|object| object[3].to_string()).collect();
        sql.join("; ")
    }

    fn rows(&self, batches: &[Vec<Vec<Value>>]) -> usize {
        batches.iter().map(|columns| columns[0].len()).sum()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn adding_to_a_table_gives_what_insert_gives(case in cases(60), first in 0_usize..4) {
        check_added(&case, first);
    }
}

/// Tables WITHOUT ROWID, with a primary key of two columns in any order.
fn keyed_cases(largest: usize) -> impl Strategy<Value = Case> {
    let keys = prop::collection::btree_set(("[ab]{0,12}", any::<i16>()), 0..largest);
    let keys = keys
        .prop_map(|keys| keys.into_iter().collect::<Vec<_>>())
        .prop_shuffle();
    let page_sizes = select(vec![512_u32, 1024, 4096, 65_536]);
    let names = vec!["INTEGER", "REAL", "TEXT", "BLOB", "", "NUMERIC"];
    let declared = prop::collection::vec(select(names), 0..3);
    let indexed = prop::sample::subsequence(vec![0, 1], 1..=2);
    let indexes = prop::collection::btree_set(indexed, 0..2);
    let key = select(vec![vec![0, 1], vec![1, 0]]);
    let means = (1_usize..4, any::<bool>());
    (keys, declared, page_sizes, indexes, key, means).prop_flat_map(
        |(keys, others, page_size, indexes, key, (workers, sorted))| {
            let columns: Vec<_> = others
                .iter()
                .map(|declared| column(declared, false, page_size, keys.len()))
                .collect();
            columns.prop_map(move |others_values| {
                let texts = keys.iter().map(|(text, _)| Value::Text(text.clone()));
                let numbers = keys
                    .iter()
                    .map(|(_, number)| Value::Integer(i64::from(*number)));
                let mut columns = vec![texts.collect(), numbers.collect()];
                columns.extend(others_values);
                let mut declared = vec!["TEXT", "INTEGER"];
                declared.extend(&others);
                Case {
                    declared,
                    strict: false,
                    rowid_alias: false,
                    page_size,
                    workers,
                    indexes: indexes.iter().cloned().collect(),
                    key: key.clone(),
                    sorted,
                    batches: parts(&columns, keys.len().div_ceil(3)),
                }
            })
        },
    )
}

/// The columns in batches of so many rows.
fn parts(columns: &[Vec<Value>], rows: usize) -> Vec<Vec<Vec<Value>>> {
    let all = columns[0].len();
    let starts = (0..all).step_by(rows.max(1));
    let part = |start: usize| {
        let part = start..all.min(start + rows);
        columns
            .iter()
            .map(|values| values[part.clone()].to_vec())
            .collect()
    };
    starts.map(part).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tables_without_rowid_are_what_insert_makes_them(case in keyed_cases(200)) {
        check_keyed(&case);
    }
}

#[test]
fn keys_of_a_table_without_rowid_are_unique_and_not_null() {
    let folder = tempfile::tempdir().unwrap();
    let mut table = two_columns(false);
    table.primary_key = vec!["c1".to_owned(), "c0".to_owned()];
    table.without_rowid = true;
    let mut request = Request::new(folder.path().join("db"), table);
    request.way = WayChoice::Only(Way::Pages);
    request.workers = Some(2);
    let error = run(vec![many(0..200_000, 6), many(70_000..70_001, 6)], &request)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "UNIQUE constraint failed: t.c1, t.c0: two rows have '070000', 70000 there"
    );
    let null = batch(&[vec![Value::Null], vec![Value::Text("a".to_owned())]]);
    let error = run(vec![null.clone()], &request).unwrap_err().to_string();
    assert!(error.contains("NULL in column c0"), "{error}");
    request.way = WayChoice::Auto;
    let error = run(vec![null], &request).unwrap_err().to_string();
    assert!(
        error.contains("NOT NULL constraint failed: t.c0"),
        "{error}"
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn rows_without_rowid_that_memory_does_not_hold_are_sorted_by_way_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut table = two_columns(false);
    table.primary_key = vec!["c0".to_owned()];
    table.types[0].declared = "INT".to_owned();
    table.without_rowid = true;
    table.indexes = vec![index(&[1])];
    let mut request = Request::new(folder.path().join("db"), table);
    request.index_memory = 1 << 20;
    request.check = true;
    let batches: Vec<RecordBatch> = (0..20)
        .rev()
        .map(|part| many(part * 10_000..(part + 1) * 10_000, 8))
        .collect();
    let summary = run(batches, &request).unwrap();
    assert_eq!((summary.rows, summary.rows_by_pages), (200_000, 200_000));
    let connection = open(&request.database);
    let sql = "SELECT count(*) FROM t WHERE c1 IN (SELECT format('%08d', c0) FROM t)";
    assert_eq!(connection.query_i64(sql).unwrap(), 200_000);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn duplicates_are_found_between_runs_in_files() {
    let folder = tempfile::tempdir().unwrap();
    let mut table = two_columns(false);
    table.indexes = vec![Index {
        columns: vec!["c1".to_owned()],
        unique: true,
    }];
    let mut request = Request::new(folder.path().join("db"), table);
    request.index_memory = 1 << 20;
    let batches = || (0..20).map(|part| many(part * 10_000..(part + 1) * 10_000, 12));
    let twice = batches().chain([many(150_000..150_001, 12)]).collect();
    let error = run(twice, &request).unwrap_err().to_string();
    assert!(error.contains("rowids 150001 and 200001"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    assert_eq!(run(batches().collect(), &request).unwrap().rows, 200_000);
}

#[test]
fn the_shortest_entries_leave_room_for_what_sqlite_puts_in_their_places() {
    let folder = tempfile::tempdir().unwrap();
    let mut table = Table::new("t");
    table.types = vec![Column::new("c0", "INT")];
    table.primary_key = vec!["c0".to_owned()];
    table.without_rowid = true;
    for first in [0, -500] {
        let database = folder.path().join(format!("{first}.db"));
        let mut request = Request::new(&database, table.clone());
        request.way = WayChoice::Only(Way::Pages);
        request.page_size = Some(512);
        request.check = true;
        let keys = (first..first + 1_000).map(Value::Integer).collect();
        assert_eq!(run(vec![batch(&[keys])], &request).unwrap().rows, 1_000);
        let connection = open(&database);
        connection
            .execute("DELETE FROM t WHERE c0 IN (0, 1)")
            .unwrap();
        let check = connection.query_text("PRAGMA integrity_check").unwrap();
        assert_eq!(check, "ok");
    }
}

#[test]
fn bytes_that_are_reserved_in_every_page_stay_free() {
    for page_size in [512, 4096] {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("db");
        open(&database)
            .execute(&format!(
                "PRAGMA page_size = {page_size}; PRAGMA user_version = 1"
            ))
            .unwrap();
        reserve(&database, page_size, 32);
        let mut table = two_columns(true);
        table.indexes = vec![index(&[1])];
        let mut request = Request::new(&database, table);
        request.way = WayChoice::Only(Way::Pages);
        request.check = true;
        run(
            vec![many(0..3_000, 20), many(3_000..3_100, 2_000)],
            &request,
        )
        .unwrap();
        let bytes = std::fs::read(&database).unwrap();
        let size = usize::from(page_size);
        assert!(
            bytes
                .chunks(size)
                .all(|page| page[size - 32..].iter().all(|byte| *byte == 0))
        );
        let connection = open(&database);
        let sum = connection
            .query_i64("SELECT sum(length(c1)) FROM t")
            .unwrap();
        assert_eq!(sum, 3_000 * 20 + 100 * 2_000);
        connection
            .execute("DELETE FROM t WHERE c0 % 2; PRAGMA integrity_check")
            .unwrap();
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

/// A new table by every way against INSERT.
fn check_new(case: &Case) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let rows: usize = case.batches.iter().map(|columns| columns[0].len()).sum();

    let summary = case.load(&path("pages"), Way::Pages).unwrap();
    assert_eq!(
        (summary.rows, summary.rows_by_pages),
        (rows as u64, rows as u64)
    );
    let summary = case.load(&path("arrays"), Way::Arrays).unwrap();
    assert_eq!((summary.rows, summary.rows_by_pages), (rows as u64, 0));

    let by_pages = told(&path("pages"), case.declared.len());
    let create: Vec<String> = by_pages
        .0
        .iter()
        .map(|object| object[3].to_string())
        .collect();
    case.insert(&path("insert"), &create.join("; "));
    let by_insert = told(&path("insert"), case.declared.len());
    assert_eq!(&by_pages, &by_insert);
    assert_eq!(told(&path("arrays"), case.declared.len()), by_insert);
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 3, "{:?}", left);
}

/// Rows added to a table that has the batches before `first`.
fn check_added(case: &Case, first: usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (before, added) = case.batches.split_at(first.min(case.batches.len()));
    let create = case.create(&path("pages"));
    case.insert(&path("insert"), &create);
    case.insert_part(&path("pages"), &create, before);

    let rows = case.rows(added);
    let can = case.indexes.is_empty() || case.rows(before) == 0;
    let way = if can {
        WayChoice::Only(Way::Pages)
    } else {
        WayChoice::Auto
    };
    let summary = case.append(&path("pages"), before.len(), way).unwrap();
    assert_eq!(summary.rows, rows as u64);
    assert_eq!(summary.rows_by_pages, if can { rows as u64 } else { 0 });
    assert_eq!(
        told(&path("pages"), case.declared.len()),
        told(&path("insert"), case.declared.len())
    );
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 2, "{:?}", left);
}

/// A table WITHOUT ROWID against INSERT.
fn check_keyed(case: &Case) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let summary = case.load(&path("pages"), Way::Pages).unwrap();
    let rows = case.rows(&case.batches) as u64;
    assert_eq!((summary.rows, summary.rows_by_pages), (rows, rows));
    let order = case
        .key
        .iter()
        .map(|number| format!("c{number}"))
        .collect::<Vec<_>>()
        .join(", ");
    let by_pages = told_by(&path("pages"), case.declared.len(), &order);
    let create: Vec<String> = (by_pages.0.iter())
        .filter(|object| object[3] != Value::Null)
        .map(|object| object[3].to_string())
        .collect();
    case.insert(&path("insert"), &create.join("; "));
    assert_eq!(
        by_pages,
        told_by(&path("insert"), case.declared.len(), &order)
    );
}

/// Rows with a key and a text of some length.
fn many(rows: std::ops::Range<i64>, length: usize) -> RecordBatch {
    let keys = rows.clone().map(Value::Integer).collect();
    let texts = rows
        .map(|row| Value::Text(format!("{row:0length$}")))
        .collect();
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

#[test]
fn trees_of_many_levels_are_sound_and_searched() {
    for (page_size, workers) in [(512, 1), (512, 3), (4096, 2)] {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("db");
        let mut request = Request::new(&database, two_columns(true));
        request.page_size = Some(page_size);
        request.workers = Some(workers);
        request.check = true;
        let batches = (0..12)
            .map(|part| many(part * 5_000..(part + 1) * 5_000, 30))
            .collect();
        let summary = run(batches, &request).unwrap();
        assert_eq!((summary.rows, summary.rows_by_pages), (60_000, 60_000));
        let connection = open(&database);
        for key in [0, 1, 4_999, 5_000, 31_234, 59_999] {
            let text = connection
                .query_text(&format!("SELECT c1 FROM t WHERE c0 = {key}"))
                .unwrap();
            assert_eq!(text, format!("{key:030}"));
        }
        connection
            .execute("INSERT INTO t(c1) VALUES ('more'); DELETE FROM t WHERE c0 % 3 = 0; VACUUM")
            .unwrap();
        let count = connection.query_i64("SELECT count(*) FROM t").unwrap();
        assert_eq!(count, 40_000);
    }
}

#[test]
fn a_value_of_many_megabytes_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    let huge = "é".repeat(5 << 20);
    let texts = ["a", &huge, "b", &huge[..4], &huge].map(|text| Value::Text(text.to_owned()));
    let keys = (1..=5).map(Value::Integer).collect();
    let mut request = Request::new(&database, two_columns(false));
    request.check = true;
    let summary = run(vec![batch(&[keys, texts.to_vec()])], &request).unwrap();
    assert_eq!(summary.rows_by_pages, 5);
    let rows = open(&database)
        .query_all("SELECT c1 FROM t ORDER BY rowid")
        .unwrap();
    assert!(rows.iter().map(|row| &row[0]).eq(&texts));
}

#[test]
fn what_pages_cannot_do_goes_on_through_sql() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    let batches = vec![many(10..5_000, 5), many(0..10, 5), many(5_000..5_010, 5)];
    let mut request = Request::new(&database, two_columns(true));
    request.check = true;
    let summary = run(batches.clone(), &request).unwrap();
    assert_eq!((summary.rows, summary.rows_by_pages), (5_010, 4_990));
    let why = summary.why_arrays.unwrap();
    assert!(why.contains("do not ascend: 0 after 4999"), "{why}");

    request.way = WayChoice::Only(Way::Pages);
    request.database = folder.path().join("other");
    let error = run(batches, &request).unwrap_err().to_string();
    assert!(error.contains("do not ascend"), "{error}");
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        1,
        "nothing is left"
    );
}

#[test]
fn indexes_are_made_after_the_rows_and_unique_ones_hold() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    let mut table = two_columns(false);
    table.indexes = vec![
        Index {
            columns: vec!["c1".to_owned(), "c0".to_owned()],
            unique: false,
        },
        Index {
            columns: vec!["c0".to_owned()],
            unique: true,
        },
    ];
    let mut request = Request::new(&database, table);
    request.check = true;
    let summary = run(vec![many(0..3_000, 9)], &request).unwrap();
    assert_eq!(summary.rows_by_pages, 3_000);
    let plan = open(&database)
        .query_all("EXPLAIN QUERY PLAN SELECT * FROM t WHERE c1 = 'x'")
        .unwrap();
    assert!(plan[0][3].to_string().contains("t_c1_c0_index"), "{plan:?}");

    request.database = folder.path().join("twice");
    request.workers = Some(2);
    let error = run(vec![many(0..10, 9), many(9..12, 9)], &request)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "UNIQUE constraint failed: t.c0: the rows with the rowids 10 and 11 are the same there"
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);

    request.on_error = OnError::Skip;
    request.rejects = Some(folder.path().join("rejected.csv"));
    let summary = run(vec![many(0..10, 9), many(9..12, 9)], &request).unwrap();
    assert_eq!(
        (summary.rows, summary.rejected, summary.rows_by_pages),
        (12, 1, 0)
    );
    let rejected = std::fs::read_to_string(folder.path().join("rejected.csv")).unwrap();
    assert_eq!(
        rejected,
        "input,row,column,reason,fields\ntest,11,,UNIQUE constraint failed: t.c0,9,000000009\n"
    );
}

#[test]
fn a_primary_key_of_any_columns_is_unique_but_for_null() {
    let folder = tempfile::tempdir().unwrap();
    let mut table = two_columns(false);
    table.primary_key = vec!["c1".to_owned(), "c0".to_owned()];
    let mut request = Request::new(folder.path().join("db"), table);
    request.check = true;
    request.way = WayChoice::Only(Way::Pages);
    let text = |text: &str| Value::Text(text.to_owned());
    let rows = |keys: &[Option<i64>]| {
        let texts = keys.iter().map(|_| text("a")).collect();
        let keys = keys
            .iter()
            .map(|key| key.map_or(Value::Null, Value::Integer));
        vec![batch(&[keys.collect(), texts])]
    };
    assert_eq!(
        run(rows(&[Some(1), None, Some(2), None]), &request)
            .unwrap()
            .rows,
        4
    );
    request.database = folder.path().join("twice");
    let error = run(rows(&[Some(1), None, Some(1), None]), &request)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("t.c1, t.c0: the rows with the rowids 1 and 3"),
        "{error}"
    );
}

#[test]
fn indexes_of_many_levels_are_sound_and_searched() {
    for (page_size, length) in [(512, 8), (512, 300), (4096, 40)] {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("db");
        let mut table = two_columns(false);
        table.indexes = vec![
            index(&[1]),
            Index {
                unique: true,
                ..index(&[0])
            },
        ];
        let mut request = Request::new(&database, table);
        request.page_size = Some(page_size);
        request.check = true;
        request.workers = Some(2);
        // Shuffled: 7,919 is prime and no divisor of the number of rows.
        let keys: Vec<i64> = (0..30_000).map(|row| row * 7_919 % 30_000).collect();
        let batches = keys.chunks(4_000).map(|keys| {
            let texts = keys
                .iter()
                .map(|key| Value::Text(format!("{key:0length$}")));
            batch(&[
                keys.iter().copied().map(Value::Integer).collect(),
                texts.collect(),
            ])
        });
        let summary = run(batches.collect(), &request).unwrap();
        assert_eq!(summary.rows_by_pages, 30_000);
        let connection = open(&database);
        for key in [0, 1, 17_000, 29_999] {
            let sql = format!("SELECT c0 FROM t INDEXED BY t_c1_index WHERE c1 = '{key:0length$}'");
            assert_eq!(connection.query_i64(&sql).unwrap(), key);
        }
        connection
            .execute("DELETE FROM t WHERE c0 % 3 = 0; REINDEX")
            .unwrap();
        assert_eq!(
            connection.query_text("PRAGMA integrity_check").unwrap(),
            "ok"
        );
    }
}

#[test]
fn a_refused_row_leaves_an_existing_database_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    let connection = open(&database);
    connection
        .execute(
            "CREATE TABLE t(c1 TEXT CHECK (c1 <> '0004'), c0 INTEGER, more DEFAULT 'x', sum AS (c0 + 1));
             CREATE TABLE log(c0);
             CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.c0); END;
             INSERT INTO t(c0) VALUES (-1)",
        )
        .unwrap();
    drop(connection);
    let before = std::fs::read(&database).unwrap();
    let mut request = Request::new(&database, two_columns(false));
    request.mode = Mode::Append;
    let error = run(vec![many(0..3, 4), many(3..9, 4)], &request)
        .unwrap_err()
        .to_string();
    assert_eq!(error, "test, row 5: CHECK constraint failed: c1 <> '0004'");
    assert_eq!(std::fs::read(&database).unwrap(), before);

    request.on_error = OnError::Skip;
    let summary = run(vec![many(0..3, 4), many(3..9, 4)], &request).unwrap();
    assert_eq!((summary.rows, summary.rejected), (8, 1));
    let connection = open(&database);
    assert_eq!(connection.query_i64("SELECT count(*) FROM log").unwrap(), 9);
    assert_eq!(
        connection
            .query_i64("SELECT sum(sum) FROM t WHERE more = 'x'")
            .unwrap(),
        36 - 4 + 8
    );
}

#[test]
fn tables_are_made_replaced_and_appended_to_as_asked() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    let mut request = Request::new(&database, two_columns(false));
    run(vec![many(0..3, 4)], &request).unwrap();
    assert!(matches!(
        run(vec![many(0..3, 4)], &request),
        Err(LoadError::TableExists { .. })
    ));
    request.mode = Mode::Replace;
    assert_eq!(run(vec![many(0..5, 4)], &request).unwrap().rows, 5);
    request.mode = Mode::Append;
    assert_eq!(run(vec![many(0..5, 4)], &request).unwrap().rows, 5);
    assert_eq!(
        open(&database).query_i64("SELECT count(*) FROM t").unwrap(),
        10
    );
    request.table.name = "other".to_owned();
    assert!(matches!(
        run(vec![many(0..3, 4)], &request),
        Err(LoadError::NoTable { .. })
    ));
    request.table.name = "t".to_owned();
    request.table.types[1].name = "missing".to_owned();
    let error = run(vec![many(0..3, 4)], &request).unwrap_err().to_string();
    assert_eq!(error, "table t has no column missing; it has c0, c1");
}

#[test]
fn a_load_that_is_stopped_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    for way in [Way::Pages, Way::Arrays] {
        let mut request = Request::new(&database, two_columns(false));
        request.way = WayChoice::Only(way);
        let fields = ["c0", "c1"].map(|name| Field::new(name, DataType::Null, true));
        let endless = (0..).map(|part| many(part * 100..(part + 1) * 100, 4));
        let mut source = BatchSource::new("test", &Schema::new(fields.to_vec()), endless);
        let mut told = 0;
        let stopped = load(&library(), &mut source, &request, &mut |_| {
            told += 1;
            told < 5
        });
        assert!(matches!(stopped, Err(LoadError::Interrupted)));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_journal_without_its_database_is_not_rolled_back_into_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("db-journal"), "x").unwrap();
    let request = Request::new(folder.path().join("db"), two_columns(false));
    assert!(matches!(
        run(vec![many(0..3, 4)], &request),
        Err(LoadError::LeftoverJournal { .. })
    ));
}

/// 1.2 GB: `cargo test --release -p pragmark-load --test ways -- --ignored`.
#[test]
#[ignore = "writes 1.2 GB"]
fn a_database_past_the_lock_byte_page_is_sound() {
    let directory = std::env::var_os("PRAGMARK_TEST_DIR").unwrap_or_else(|| ".".into());
    let folder = tempfile::tempdir_in(directory).unwrap();
    let mut request = Request::new(folder.path().join("db"), two_columns(false));
    request.check = true;
    let batches = (0..1_200).map(|part| many(part * 1_000..(part + 1) * 1_000, 1_000));
    let summary = run(batches.collect(), &request).unwrap();
    assert_eq!(summary.rows_by_pages, 1_200_000);
    assert!(summary.database_bytes > 1 << 30);
}

#[test]
fn a_table_grows_at_its_right_edge_through_many_levels() {
    for (page_size, workers) in [(512, 1), (512, 3), (4096, 2)] {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("db");
        let mut request = Request::new(&database, two_columns(true));
        request.page_size = Some(page_size);
        request.way = WayChoice::Only(Way::Pages);
        request.workers = Some(workers);
        request.check = true;
        let mut rows = 0;
        for more in [1, 1, 5, 40, 3, 300, 2_000, 1, 9_000, 30_000] {
            let summary = run(vec![many(rows..rows + more, 30)], &request).unwrap();
            assert_eq!(summary.rows_by_pages, more as u64);
            request.mode = Mode::Append;
            rows += more;
            // SQLite goes on with the tree between the loads.
            let connection = open(&database);
            connection
                .execute(&format!("INSERT INTO t VALUES ({rows}, 'more')"))
                .unwrap();
            rows += 1;
            assert_eq!(
                connection.query_i64("SELECT count(*) FROM t").unwrap(),
                rows
            );
        }
        let connection = open(&database);
        for key in [0, 2, 8, 350, 4_000, rows - 2] {
            let text = connection
                .query_text(&format!("SELECT c1 FROM t WHERE c0 = {key}"))
                .unwrap();
            assert_eq!(text, format!("{key:030}"));
        }
    }
}

#[test]
fn what_pages_cannot_add_goes_on_through_sql_in_one_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    let mut request = Request::new(&database, two_columns(true));
    run(vec![many(0..3_000, 5)], &request).unwrap();
    request.mode = Mode::Append;
    request.check = true;
    let batches = vec![
        many(4_000..9_000, 5),
        many(3_000..3_010, 5),
        many(9_000..9_010, 5),
    ];
    let summary = run(batches.clone(), &request).unwrap();
    assert_eq!((summary.rows, summary.rows_by_pages), (5_020, 5_000));

    // A row that SQL refuses takes back what was written as pages, too.
    let before = told(&database, 2);
    let bytes = std::fs::read(&database).unwrap();
    let batches = vec![many(10_000..15_000, 5), many(8_999..9_000, 5)];
    let error = run(batches, &request).unwrap_err().to_string();
    assert!(error.contains("UNIQUE constraint failed: t.c0"), "{error}");
    assert_eq!(told(&database, 2), before);
    assert_eq!(std::fs::read(&database).unwrap().len(), bytes.len());
}

#[test]
fn tables_that_ask_for_more_than_storing_go_through_sql() {
    for (sql, reason) in [
        ("CREATE TABLE t(c0, c1 CHECK (c1 <> ''))", "CHECK"),
        ("CREATE TABLE t(c0, c1, c2 AS (c0))", "generated"),
        ("CREATE TABLE t(c0, c1, c2 DEFAULT 5)", "no column c2"),
        (
            "CREATE TABLE t(c0 UNIQUE ON CONFLICT IGNORE, c1)",
            "conflicts",
        ),
        (
            "CREATE TABLE t(c0 INTEGER PRIMARY KEY AUTOINCREMENT, c1)",
            "AUTOINCREMENT",
        ),
        (
            "CREATE TABLE t(c0 PRIMARY KEY, c1) WITHOUT ROWID",
            "WITHOUT ROWID",
        ),
        (
            "CREATE TABLE t(c0, c1 COLLATE NOCASE UNIQUE)",
            "not a plain one",
        ),
        (
            "CREATE TABLE t(c0, c1); CREATE INDEX i ON t(c0) WHERE c1 > ''",
            "not a plain one",
        ),
        (
            "CREATE TABLE t(c0, c1); CREATE INDEX i ON t(c0 + 1)",
            "not a plain one",
        ),
        (
            "CREATE TABLE t(c0, c1); CREATE INDEX i ON t(c0); INSERT INTO t VALUES (-1, '')",
            "rows and indexes already",
        ),
        (
            "CREATE TABLE t(c0, c1); CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; END",
            "a trigger",
        ),
        (
            "CREATE VIEW t AS SELECT 1 AS c0, 2 AS c1;
          CREATE TRIGGER r INSTEAD OF INSERT ON t BEGIN SELECT 1; END",
            "view",
        ),
        ("CREATE VIRTUAL TABLE t USING fts5(c0, c1)", "virtual"),
        (
            "PRAGMA auto_vacuum = FULL; CREATE TABLE t(c0, c1)",
            "auto_vacuum",
        ),
        (
            "PRAGMA encoding = 'UTF-16'; CREATE TABLE t(c0, c1)",
            "UTF-8",
        ),
        (
            "PRAGMA journal_mode = WAL; CREATE TABLE t(c0, c1)",
            "journal mode is wal",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("db");
        open(&database).execute(sql).unwrap();
        let mut request = Request::new(&database, two_columns(false));
        request.mode = Mode::Append;
        request.check = true;
        let summary = run(vec![many(0..2_000, 4)], &request).unwrap();
        assert_eq!((summary.rows, summary.rows_by_pages), (2_000, 0), "{sql}");
        let why = summary.why_arrays.unwrap();
        assert!(why.contains(reason), "{sql}: {why}");
        request.way = WayChoice::Only(Way::Pages);
        assert!(run(vec![many(2_000..4_000, 4)], &request).is_err(), "{sql}");
    }
}

#[test]
fn an_empty_file_and_a_few_rows_more_are_left_to_sql() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    std::fs::write(&database, "").unwrap();
    let mut request = Request::new(&database, two_columns(false));
    for (mode, rows, reason) in [
        (Mode::Create, 2_000, "the database is empty"),
        (Mode::Append, 999, "too few"),
    ] {
        request.mode = mode;
        let summary = run(vec![many(0..rows, 4)], &request).unwrap();
        assert_eq!(summary.rows_by_pages, 0);
        let why = summary.why_arrays.unwrap();
        assert!(why.contains(reason), "{why}");
    }
}

#[test]
fn keys_that_sqlite_gives_itself_are_the_ones_that_were_given() {
    for (sql, last) in [
        ("CREATE TABLE t(c0 INTEGER PRIMARY KEY, c1)", 0),
        (
            "CREATE TABLE t(c0 INTEGER PRIMARY KEY, c1); INSERT INTO t VALUES (-8, '')",
            -8,
        ),
        (
            "CREATE TABLE t(c0 INTEGER PRIMARY KEY, c1); INSERT INTO t VALUES (41, '')",
            41,
        ),
        // SQLite would not give 6 again.
        (
            "CREATE TABLE t(c0 INTEGER PRIMARY KEY AUTOINCREMENT, c1);
          INSERT INTO t VALUES (5, ''), (6, ''); DELETE FROM t WHERE c0 = 6",
            5,
        ),
        // A trigger before the insert would not see the key.
        (
            "CREATE TABLE t(c0 INTEGER PRIMARY KEY, c1); CREATE TABLE log(c0);
          CREATE TRIGGER r BEFORE INSERT ON t BEGIN INSERT INTO log VALUES (new.c0); END",
            0,
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("db");
        open(&database).execute(sql).unwrap();
        let mut request = Request::new(&database, two_columns(true));
        request.mode = Mode::Append;
        request.way = WayChoice::Only(Way::Arrays);
        let batches = [1..50, 50..90, 200..210, 210..260, 100..120];
        let keys: Vec<i64> = batches
            .clone()
            .into_iter()
            .flatten()
            .map(|key| key + last)
            .collect();
        let batches = batches.map(|keys| many(keys.start + last..keys.end + last, 4));
        run(batches.to_vec(), &request).unwrap();
        let connection = open(&database);
        let found = connection
            .query_i64("SELECT count(*) FROM t WHERE CAST(c1 AS INTEGER) = c0 AND c1 <> ''")
            .unwrap();
        assert_eq!(found, keys.len() as i64, "{sql}");
        if sql.contains("log") {
            let logged = connection
                .query_all("SELECT c0 FROM log ORDER BY rowid")
                .unwrap();
            assert!(
                logged
                    .into_iter()
                    .flatten()
                    .eq(keys.into_iter().map(Value::Integer))
            );
        }
    }
}

#[test]
fn columns_find_their_places_in_a_table_that_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    open(&database)
        .execute("CREATE TABLE other(x); CREATE TABLE t(C1 TEXT, c0 INTEGER); CREATE INDEX i ON t(c0 DESC, c1)")
        .unwrap();
    let mut request = Request::new(&database, two_columns(false));
    request.mode = Mode::Append;
    request.way = WayChoice::Only(Way::Pages);
    request.check = true;
    run(vec![many(0..5_000, 6)], &request).unwrap();
    let connection = open(&database);
    let row = connection
        .query_all("SELECT c1, c0, rowid FROM t INDEXED BY i WHERE c0 = 4321")
        .unwrap();
    let expected = [
        Value::Text("004321".to_owned()),
        Value::Integer(4_321),
        Value::Integer(4_322),
    ];
    assert_eq!(row, [expected]);
    connection
        .execute("INSERT INTO other VALUES (1); DELETE FROM t WHERE c0 % 2")
        .unwrap();
    let check = connection.query_text("PRAGMA integrity_check").unwrap();
    assert_eq!(check, "ok");
}

#[test]
fn a_new_table_in_a_database_that_exists_is_written_as_pages() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    open(&database)
        .execute(
            "CREATE TABLE old(a, b); CREATE INDEX old_a ON old(a);
             WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 9000)
             INSERT INTO old SELECT i, 'text ' || i FROM n;
             DELETE FROM old WHERE a % 3 = 0",
        )
        .unwrap();
    let mut table = two_columns(false);
    table.indexes = vec![
        index(&[1]),
        Index {
            unique: true,
            ..index(&[0])
        },
    ];
    let mut request = Request::new(&database, table);
    request.way = WayChoice::Only(Way::Pages);
    request.check = true;
    for mode in [Mode::Create, Mode::Replace] {
        request.mode = mode;
        let summary = run(vec![many(0..20_000, 9), many(20_000..30_000, 9)], &request).unwrap();
        assert_eq!(summary.rows_by_pages, 30_000);
        let connection = open(&database);
        let found = connection
            .query_i64("SELECT c0 FROM t INDEXED BY t_c1_index WHERE c1 = '000012345'")
            .unwrap();
        assert_eq!(found, 12_345);
        assert_eq!(
            connection.query_i64("SELECT count(*) FROM old").unwrap(),
            6_000
        );
    }
    let before = told(&database, 2);
    let error = run(vec![many(0..5_000, 9), many(4_000..4_001, 9)], &request).unwrap_err();
    assert!(matches!(error, LoadError::Duplicate { .. }), "{error}");
    assert_eq!(told(&database, 2), before);
}

#[test]
fn readers_see_the_old_database_until_the_load_is_committed() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    let mut request = Request::new(&database, two_columns(false));
    run(vec![many(0..5_000, 6)], &request).unwrap();
    request.mode = Mode::Append;
    request.way = WayChoice::Only(Way::Pages);
    let reader = open(&database);
    let fields = ["c0", "c1"].map(|name| Field::new(name, DataType::Null, true));
    let batches = (1..5).map(|part| many(part * 5_000..(part + 1) * 5_000, 6));
    let mut source = BatchSource::new("test", &Schema::new(fields.to_vec()), batches);
    let mut seen = Vec::new();
    load(&library(), &mut source, &request, &mut |_| {
        seen.push(reader.query_i64("SELECT count(*) FROM t").unwrap());
        true
    })
    .unwrap();
    assert!(
        seen.len() >= 4 && seen.iter().all(|count| *count == 5_000),
        "{seen:?}"
    );
    assert_eq!(reader.query_i64("SELECT count(*) FROM t").unwrap(), 25_000);
}
