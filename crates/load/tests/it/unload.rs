//! What is unloaded comes back as the same values, and files are complete or not there.

use std::path::{Path, PathBuf};

use engine::{Connection, OpenFlags, Value};
use pragmark_load::{
    Blobs, CsvOptions, LoadError, Mode, Opening, OutputForm, Request, Selection, Split, Table,
    Unload, Unloaded, load, open, table_of_sql, unload,
};
use proptest::prelude::*;

use crate::library;

const TABLE: &str = "CREATE TABLE t (i INTEGER, r REAL, t TEXT, b BLOB)";

fn database(path: &Path) -> Connection {
    Connection::open(&library(), path, OpenFlags::default(), None).unwrap()
}

fn request(folder: &Path, name: &str) -> Unload {
    Unload {
        database: folder.join("a.db"),
        selection: Selection::OnlyTable,
        output: Some(folder.join(name)),
        schema: None,
        replace: false,
        form: OutputForm::of_name(name).unwrap(),
        split: None,
        blobs: Blobs::Hex,
    }
}

fn run(request: &Unload) -> Result<Unloaded, LoadError> {
    unload(&library(), request, &mut |_| true)
}

/// Loads files into a new database with the same table, or with one that is made of the columns of the files.
fn reload(folder: &Path, files: &[PathBuf], table: Option<&str>) -> Connection {
    let path = folder.join("b.db");
    let _ = std::fs::remove_file(&path);
    let mut request = Request::new(&path, Table::new("t"));
    if let Some(sql) = table {
        database(&path).execute(sql).unwrap();
        request.mode = Mode::Append;
    }
    let csv = CsvOptions { is_quote_known: true, ..CsvOptions::default() };
    let opening = Opening { csv, ..Opening::new(&library()) };
    let mut source = open(files, &opening).unwrap();
    load(&library(), &mut *source, &request, &mut |_| true).unwrap();
    database(&path)
}

fn rows(connection: &Connection, sql: &str) -> Vec<Vec<Value>> {
    connection.query_all(sql).unwrap()
}

/// A row of every storage class.
type Row = (Option<i64>, Option<f64>, Option<String>, Option<Vec<u8>>);

fn fill(folder: &Path, values: &[Row]) -> Connection {
    let _ = std::fs::remove_file(folder.join("a.db"));
    let connection = database(&folder.join("a.db"));
    connection.execute(TABLE).unwrap();
    let mut insert = connection.prepare("INSERT INTO t VALUES (?1, ?2, ?3, ?4)").unwrap();
    for (integer, real, text, blob) in values {
        let row = [
            integer.map_or(Value::Null, Value::Integer),
            real.map_or(Value::Null, Value::Real),
            text.clone().map_or(Value::Null, Value::Text),
            blob.clone().map_or(Value::Null, Value::Blob),
        ];
        for (at, value) in (1..).zip(&row) {
            insert.bind_value(at, value).unwrap();
        }
        insert.run().unwrap();
    }
    drop(insert);
    connection
}

fn row(reals: impl Strategy<Value = f64>) -> impl Strategy<Value = Row> {
    let text = prop_oneof![
        "[a-z0-9 ,;\"\t\n\ré'\\\\|]{0,6}",
        prop::sample::select(vec![
            "", "007", "1e5", "NULL", "null", "\u{feff}", "(2 rows)", "Total"
        ])
        .prop_map(str::to_owned),
    ];
    let blob = prop::collection::vec(any::<u8>(), 0..5);
    (any::<Option<i64>>(), prop::option::of(reals), prop::option::of(text), prop::option::of(blob))
}

/// Blobs come back from texts as their digits.
const AS_TEXT: &str =
    "SELECT typeof(i), i, typeof(r), r, typeof(t), t, lower(hex(b)), b IS NULL FROM t";
const FROM_TEXT: &str =
    "SELECT typeof(i), i, typeof(r), r, typeof(t), t, ifnull(b, ''), b IS NULL FROM t";

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn columns_come_back_with_their_types(
        values in prop::collection::vec(row(any::<f64>().prop_filter("SQLite has none", |real| !real.is_nan())), 1..40),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let connection = fill(folder.path(), &values);
        for name in ["a.parquet", "a.arrow", "a.arrows"] {
            let request = request(folder.path(), name);
            let files = run(&request).unwrap().files;
            let loaded = reload(folder.path(), &files, None);
            let all = "SELECT typeof(i), i, typeof(r), r, typeof(t), t, typeof(b), b FROM t";
            prop_assert_eq!(rows(&loaded, all), rows(&connection, all), "{}", name);
        }
    }

    #[test]
    fn values_come_back_from_json(
        values in prop::collection::vec(row(any::<f64>().prop_filter("SQLite has none", |real| !real.is_nan())), 1..40),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let connection = fill(folder.path(), &values);
        for name in ["a.json", "a.jsonl", "a.jsonl.gz", "a.json.zst"] {
            let request = request(folder.path(), name);
            let files = run(&request).unwrap().files;
            let loaded = reload(folder.path(), &files, Some(TABLE));
            prop_assert_eq!(rows(&loaded, FROM_TEXT), rows(&connection, AS_TEXT), "{}", name);
        }
    }

    /// Of very large and small numbers SQLite reads the text, and may be off by the last bit.
    #[test]
    fn values_come_back_from_fields(
        values in prop::collection::vec(row((-1e9..1e9, -30..30).prop_map(|(real, exponent)| real * 10_f64.powi(exponent))), 1..40),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let connection = fill(folder.path(), &values);
        for name in ["a.csv", "a.tsv", "a.csv.gz", "a.tsv.zst"] {
            let request = request(folder.path(), name);
            let files = run(&request).unwrap().files;
            let loaded = reload(folder.path(), &files, Some(TABLE));
            prop_assert_eq!(rows(&loaded, FROM_TEXT), rows(&connection, AS_TEXT), "{}", name);
        }
    }
}

#[test]
fn null_in_a_single_column_is_no_empty_line() {
    let folder = tempfile::tempdir().unwrap();
    database(&folder.path().join("a.db"))
        .execute("CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('x'), (NULL), (''), ('y')")
        .unwrap();
    let files = run(&request(folder.path(), "a.csv")).unwrap().files;
    let loaded = reload(folder.path(), &files, None);
    assert_eq!(
        rows(&loaded, "SELECT group_concat(quote(a)) FROM t")[0][0].to_string(),
        "'x',NULL,'','y'"
    );
}

#[test]
fn files_are_split_by_rows_and_bytes_and_never_replaced_unasked() {
    let folder = tempfile::tempdir().unwrap();
    database(&folder.path().join("a.db"))
        .execute(
            "CREATE TABLE t AS WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) \
             SELECT i, hex(randomblob(20)) AS t FROM n",
        )
        .unwrap();
    for (name, split, least) in [
        ("a.csv", Split::Rows(20_000), 3),
        ("b.jsonl", Split::Bytes(1 << 20), 3),
        ("small.jsonl", Split::Bytes(100_000), 25),
        ("c.csv.gz", Split::Bytes(1 << 19), 2),
        ("d.parquet", Split::Bytes(1 << 19), 2),
    ] {
        let split = Unload { split: Some(split), ..request(folder.path(), name) };
        let unloaded = run(&split).unwrap();
        assert!((least..least + 6).contains(&unloaded.files.len()), "{unloaded:?}");
        assert!(unloaded.files[1].to_string_lossy().contains("-0002."), "{unloaded:?}");
        if let (Some(Split::Bytes(most)), true) = (&split.split, name.ends_with("l")) {
            let (_, full) = unloaded.files.split_last().unwrap();
            let sizes: Vec<u64> = full.iter().map(|file| file.metadata().unwrap().len()).collect();
            assert!(sizes.iter().all(|size| (*most..most * 9 / 8).contains(size)), "{sizes:?}");
        }
        let loaded = reload(folder.path(), &unloaded.files, None);
        assert_eq!(loaded.query_i64("SELECT sum(i) FROM t").unwrap(), 1_250_025_000, "{name}");
        let error = run(&split).unwrap_err();
        assert!(matches!(&error, LoadError::FileExists(_)), "{error}");
        run(&Unload { replace: true, ..split }).unwrap();
    }
    let own = Unload {
        output: Some(folder.path().join("a.db")),
        replace: true,
        ..request(folder.path(), "a.csv")
    };
    assert!(matches!(run(&own), Err(LoadError::SameFile(_))));
}

#[test]
fn a_divided_unload_that_does_not_end_leaves_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let rows = "CREATE TABLE t AS WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) SELECT 1 AS a FROM n";
    database(&folder.path().join("a.db")).execute(rows).unwrap();
    let divided = |column: &str| Unload {
        split: Some(Split::Columns(vec![column.to_owned()])),
        output: Some(folder.path().join("new/deep/part.csv")),
        ..request(folder.path(), "part.csv")
    };
    run(&divided("b")).unwrap_err();
    let stopped = unload(&library(), &divided("a"), &mut |_| false);
    assert!(matches!(stopped, Err(LoadError::Interrupted)));
    assert!(!folder.path().join("new").exists());
    run(&divided("a")).unwrap();
    assert!(folder.path().join("new/deep/a=1/part.csv").exists());
}

#[test]
fn rows_are_divided_by_the_values_of_columns() {
    let folder = tempfile::tempdir().unwrap();
    let connection = database(&folder.path().join("a.db"));
    connection
        .execute(
            "CREATE TABLE t (i INTEGER, c TEXT COLLATE NOCASE, y); INSERT INTO t VALUES (1, 'DE', 1), \
             (2, 'a/b=%', 1), (3, 'de', 2), (4, 'DE', 1.0), (5, NULL, 1), (6, '', x'01'), (7, 'DE', 1), \
             (8, '__HIVE_DEFAULT_PARTITION__', 1)",
        )
        .unwrap();
    let split = Some(Split::Columns(vec!["C".to_owned(), "y".to_owned()]));
    let output = Some(folder.path().join("new/part.jsonl"));
    let request = Unload { split, output, ..request(folder.path(), "part.jsonl") };
    let unloaded = run(&request).unwrap();
    let new = folder.path().join("new");
    let names = unloaded.files.iter().map(|file| file.strip_prefix(&new).unwrap());
    let mut names: Vec<String> = names.map(|name| name.display().to_string()).collect();
    names.sort();
    assert_eq!(
        names,
        [
            "c=%5F_HIVE_DEFAULT_PARTITION__/y=1/part.jsonl",
            "c=/y=01/part.jsonl",
            "c=DE/y=1.0/part.jsonl",
            "c=DE/y=1/part.jsonl",
            "c=__HIVE_DEFAULT_PARTITION__/y=1/part.jsonl",
            "c=a%2Fb%3D%25/y=1/part.jsonl",
            "c=de/y=2/part.jsonl",
        ]
    );
    let loaded =
        reload(folder.path(), &unloaded.files, Some("CREATE TABLE t (i INTEGER, c TEXT, y)"));
    let all = "SELECT i, quote(c) FROM t ORDER BY i";
    assert_eq!(rows(&loaded, all), rows(&connection, all));
    assert!(matches!(run(&request), Err(LoadError::FileExists(_))));
    let unknown = Unload { split: Some(Split::Columns(vec!["z".to_owned()])), ..request };
    assert!(run(&unknown).unwrap_err().to_string().contains("no column `z`"));
}

#[test]
fn more_files_are_written_than_a_process_may_usually_have_open() {
    let folder = tempfile::tempdir().unwrap();
    database(&folder.path().join("a.db"))
        .execute(
            "CREATE TABLE t AS WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1040) \
             SELECT i FROM n",
        )
        .unwrap();
    let split = Some(Split::Rows(1));
    let unloaded = run(&Unload { split, ..request(folder.path(), "a.csv") }).unwrap();
    assert_eq!(unloaded.files.len(), 1_040);
}

#[test]
fn a_column_of_several_types_is_named_where_the_format_has_one() {
    let folder = tempfile::tempdir().unwrap();
    database(&folder.path().join("a.db"))
        .execute("CREATE TABLE t (a, n NUMERIC); INSERT INTO t VALUES (1, 1), ('x', 1.5)")
        .unwrap();
    let error = run(&request(folder.path(), "a.parquet")).unwrap_err().to_string();
    assert!(error.contains("column a has values of several types (integer, text)"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let selection = Selection::of("SELECT n FROM t");
    let files = run(&Unload { selection, ..request(folder.path(), "n.parquet") }).unwrap().files;
    assert_eq!(
        rows(&reload(folder.path(), &files, None), "SELECT n FROM t"),
        [[Value::Real(1.0)], [Value::Real(1.5)]]
    );
}

#[test]
fn dates_are_dates_and_come_back_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    database(&folder.path().join("a.db"))
        .execute(
            "CREATE TABLE t (d TEXT, s TEXT, x TEXT, n TEXT, y TEXT, z TEXT); INSERT INTO t VALUES \
             ('2024-02-29', '1969-12-31T23:59:59', '2024-02-30', NULL, '2024-01-01T24:00:00', '+024-01-01'), \
             (NULL, NULL, '2024-01-01', NULL, NULL, NULL), \
             ('0001-01-01', '9999-12-31T00:00:00', NULL, NULL, NULL, NULL)",
        )
        .unwrap();
    let all = "SELECT * FROM t";
    for name in ["a.parquet", "a.arrow"] {
        let request = request(folder.path(), name);
        let files = run(&request).unwrap().files;
        let loaded = reload(folder.path(), &files, None);
        assert_eq!(rows(&loaded, all), rows(&database(&request.database), all), "{name}");
    }
    let file = std::fs::File::open(folder.path().join("a.arrow")).unwrap();
    let reader = arrow_ipc::reader::FileReader::try_new(file, None).unwrap();
    let types: Vec<String> =
        reader.schema().fields().iter().map(|field| field.data_type().to_string()).collect();
    assert_eq!(types, ["Date32", "Timestamp(s)", "Utf8", "Utf8", "Utf8", "Utf8"]);
}

#[test]
fn a_file_is_a_snapshot_while_others_write() {
    let folder = tempfile::tempdir().unwrap();
    let connection = database(&folder.path().join("a.db"));
    let sql = format!("PRAGMA journal_mode = wal; CREATE TABLE t AS {MANY}");
    connection.execute(&sql).unwrap();
    for name in ["a.csv", "a.parquet"] {
        let request = request(folder.path(), name);
        let before = connection.query_i64("SELECT count(*) FROM t").unwrap();
        let mut write = |_| connection.execute("INSERT INTO t SELECT * FROM t LIMIT 5").is_ok();
        let rows = unload(&library(), &request, &mut write).unwrap().rows;
        assert_eq!(rows.cast_signed(), before);
        assert!(connection.query_i64("SELECT count(*) FROM t").unwrap() > before);
    }
    let stopped = request(folder.path(), "b.csv");
    assert!(matches!(unload(&library(), &stopped, &mut |_| false), Err(LoadError::Interrupted)));
    assert!(!folder.path().join("b.csv").exists());
}

/// Rows of several megabytes.
const MANY: &str = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000) \
     SELECT i, hex(zeroblob(500)) AS t FROM n";

#[test]
fn a_single_value_anywhere_decides_on_the_type_of_its_column() {
    let folder = tempfile::tempdir().unwrap();
    let connection = database(&folder.path().join("a.db"));
    for (number, (usual, single, wanted)) in [
        ("i", "i", "Int64"),
        ("i", "0.5", "Float64"),
        ("'2024-01-02'", "'2024-01-02'", "Date32"),
        ("'2024-01-02'", "'none'", "Utf8"),
        ("NULL", "7", "Int64"),
        ("NULL", "x'07'", "Binary"),
    ]
    .into_iter()
    .enumerate()
    {
        connection
            .execute(&format!(
                "DROP TABLE IF EXISTS t; CREATE TABLE t AS WITH many AS ({MANY}) \
                 SELECT iif(i = 1500, {single}, {usual}) AS c, t FROM many"
            ))
            .unwrap();
        let name = format!("{number}.arrow");
        let files = run(&request(folder.path(), &name)).unwrap().files;
        let file = std::fs::File::open(&files[0]).unwrap();
        let reader = arrow_ipc::reader::FileReader::try_new(file, None).unwrap();
        assert_eq!(reader.schema().field(0).data_type().to_string(), wanted);
        let loaded = reload(folder.path(), &files, None);
        let value = "SELECT c FROM t WHERE rowid = 1500";
        assert_eq!(loaded.query_value(value).unwrap(), connection.query_value(value).unwrap());
        assert_eq!(loaded.query_i64("SELECT count(*) FROM t").unwrap(), 6000);
    }
    let mixed = "UPDATE t SET c = iif(rowid = 1500, 'x', 1)";
    connection.execute(mixed).unwrap();
    let error = run(&request(folder.path(), "mixed.parquet")).unwrap_err().to_string();
    assert!(error.contains("column c has values of several types (integer, text)"), "{error}");
    assert!(!folder.path().join("mixed.parquet").exists());
}

#[test]
fn ranges_of_rowids_give_all_rows_in_their_order_wherever_rowids_lie() {
    let folder = tempfile::tempdir().unwrap();
    let connection = database(&folder.path().join("a.db"));
    let fill = "FROM many; INSERT INTO t SELECT 9223372036854775807, t, i FROM many LIMIT 1; \
         INSERT INTO t SELECT -9223372036854775808, t, i FROM many LIMIT 1";
    for (table, fill) in [
        ("t (id INTEGER PRIMARY KEY, t, i)", format!("INSERT INTO t SELECT i * 7, t, i {fill}")),
        ("t (id INTEGER PRIMARY KEY, t, i)", format!("INSERT INTO t SELECT -i * i, t, i {fill}")),
        // Its rowid has none of its usual names, or none at all.
        ("t (rowid TEXT, _rowid_, oid)", "INSERT INTO t SELECT i, t, i FROM many".to_owned()),
        ("t (rowid, t, oid)", "INSERT INTO t SELECT -i, t, i FROM many".to_owned()),
        ("t (id PRIMARY KEY, t) WITHOUT ROWID", "INSERT INTO t SELECT i, t FROM many".to_owned()),
    ] {
        let sql = format!(
            "DROP TABLE IF EXISTS t; CREATE TABLE {table}; CREATE TEMP TABLE many AS {MANY}; \
             {fill}; DROP TABLE many"
        );
        connection.execute(&sql).unwrap();
        let whole = Selection::Query("SELECT * FROM t".to_owned());
        for name in ["a.csv", "a.json", "a.parquet"] {
            let table = Unload { replace: true, ..request(folder.path(), name) };
            let query = Unload { selection: whole.clone(), ..request(folder.path(), "b.csv") };
            let query = Unload { form: table.form, replace: true, ..query };
            let [one, other] = [&table, &query].map(|request| run(request).unwrap());
            assert_eq!(one.rows, other.rows);
            let [one, other] =
                [one, other].map(|unloaded| std::fs::read(&unloaded.files[0]).unwrap());
            // Rows meet in other batches of a columnar file.
            if name == "a.parquet" {
                let rows = |name: &str| {
                    let loaded = reload(folder.path(), &[folder.path().join(name)], None);
                    rows(&loaded, "SELECT * FROM t ORDER BY rowid")
                };
                std::fs::write(folder.path().join("b.parquet"), other).unwrap();
                assert!(rows(name) == rows("b.parquet"), "{table:?}");
            } else {
                assert!(one == other, "{table:?}");
            }
        }
    }
}

#[test]
fn a_text_that_is_none_is_named_by_the_number_of_its_row() {
    let folder = tempfile::tempdir().unwrap();
    let sql =
        format!("CREATE TABLE t AS {MANY}; UPDATE t SET t = CAST(x'ff' AS TEXT) WHERE i = 5900");
    database(&folder.path().join("a.db")).execute(&sql).unwrap();
    for name in ["a.csv", "a.parquet"] {
        let error = run(&request(folder.path(), name)).unwrap_err().to_string();
        assert!(error.contains("row 5900, column t: its text is not valid UTF-8"), "{error}");
    }
}

/// A table that its values alone do not tell: types, keys, collations, constraints, names and generated columns.
const AWKWARD: &str = "CREATE TABLE \"a table; \"\"of\"\" x\" (\"key\" TEXT COLLATE NOCASE, n DECIMAL(10, 2) CHECK (n < 9e9), \
    \"select\" AS (n + 1), t VARCHAR(9) NOT NULL DEFAULT 'x', PRIMARY KEY (\"key\", n DESC)) WITHOUT ROWID; \
    CREATE UNIQUE INDEX \"an index\" ON \"a table; \"\"of\"\" x\" (lower(t)) WHERE n > 0; \
    CREATE TRIGGER r AFTER INSERT ON \"a table; \"\"of\"\" x\" BEGIN SELECT raise(abort, 'no'); END";

#[test]
fn a_table_comes_back_with_its_statements() {
    let folder = tempfile::tempdir().unwrap();
    let connection = database(&folder.path().join("a.db"));
    let name = "\"a table; \"\"of\"\" x\"";
    connection.execute(AWKWARD).unwrap();
    connection
        .execute(&format!(
            "DROP TRIGGER r; INSERT INTO {name} VALUES ('007', 1, 'a'), ('b', -1, 'a'), ('B', 2.5, '1e3'), ('', 3, '')"
        ))
        .unwrap();
    for file in ["a.csv", "a.jsonl.gz", "a.parquet"] {
        let schema = folder.path().join(format!("{file}.sql"));
        let unload = Unload { schema: Some(schema.clone()), ..request(folder.path(), file) };
        let files = run(&unload).unwrap().files;
        assert!(matches!(run(&unload), Err(LoadError::FileExists(_))));
        let sql = std::fs::read_to_string(schema).unwrap();
        let path = folder.path().join(format!("{file}.db"));
        let table = table_of_sql(&library(), Path::new("a.sql"), &sql).unwrap();
        let table = Table { sql: Some(sql), ..Table::new(table) };
        for mode in [Mode::Create, Mode::Replace] {
            let mut request = Request::new(&path, table.clone());
            (request.mode, request.check) = (mode, true);
            let mut source = open(&files, &Opening::new(&library())).unwrap();
            load(&library(), &mut *source, &request, &mut |_| true).unwrap();
            let loaded = database(&path);
            for sql in [
                format!("SELECT *, typeof(n), typeof(t) FROM {name}"),
                "SELECT type, name, sql FROM sqlite_schema ORDER BY name".to_owned(),
            ] {
                assert_eq!(rows(&loaded, &sql), rows(&connection, &sql), "{file}");
            }
        }
    }
    let schema = Some(folder.path().join("b.sql"));
    let selection = Selection::of("SELECT 1 AS a");
    let error = run(&Unload { schema, selection, ..request(folder.path(), "b.csv") }).unwrap_err();
    assert!(error.to_string().contains("only a table has CREATE statements"), "{error}");
    assert!(!folder.path().join("b.csv").exists());
}
