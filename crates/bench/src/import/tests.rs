//! Tests of reading documents of the user's own.

use super::*;
use ::parquet::arrow::ArrowWriter;
use ::parquet::data_type::{ByteArray, ByteArrayType};
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;
use arrow_array::{ArrayRef, BinaryArray, Int64Array, RecordBatch, StringArray};
use engine::{Connection, Library, OpenFlags, Source};
use std::io::Write;
use std::sync::Arc;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    fn database(&self, sql: &str) -> PathBuf {
        let path = self.0.path().join("own.db");
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        let connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
        connection.execute(sql).unwrap();
        connection.close().unwrap();
        path
    }
}

fn text_file(path: &Path, columns: &[&str]) -> TextFile {
    let options = TextOptions {
        columns: columns.iter().map(|name| (*name).to_owned()).collect(),
        ..TextOptions::default()
    };
    TextFile::new(path, options).unwrap()
}

fn check(path: &Path, columns: &[&str]) -> Result<TextSummary, ImportError> {
    text_file(path, columns).check(u64::MAX)
}

fn rows(path: &Path, columns: &[&str]) -> Vec<Vec<Option<String>>> {
    let file = text_file(path, columns);
    let mut reading = file.open(&file.opening.columns).unwrap();
    let mut documents = Documents::new(columns.len());
    while reading.next_into(&mut documents).unwrap() {}
    (0..documents.rows())
        .map(|row| {
            let fields = 0..columns.len();
            fields.map(|column| documents.field(row, column).map(str::to_owned)).collect()
        })
        .collect()
}

fn problem(path: &Path, columns: &[&str]) -> String {
    check(path, columns).unwrap_err().to_string()
}

#[test]
fn the_same_rows_are_read_from_every_kind_of_file() {
    let folder = Folder::new();
    let csv = folder.file("a.csv", "id,body,title\n1,\"hé, \"\"you\"\"\",T\n2,,U\n".as_bytes());
    let tsv = folder.file("a.tsv", "id\tbody\ttitle\n1\thé, \"\"you\"\"\tT\n".as_bytes());
    let json = "{\"id\":1,\"body\":\"hé, \\\"you\\\"\",\"title\":\"T\"}\n\n{\"title\":\"U\",\"body\":null}\n";
    let json = folder.file("a.jsonl", json.as_bytes());
    let database = folder.database(
        "CREATE TABLE own(id INTEGER PRIMARY KEY, body TEXT, title TEXT);
         INSERT INTO own VALUES (1, 'hé, \"you\"', 'T'), (7, NULL, 'U')",
    );
    let wanted = [
        vec![Some("T".to_owned()), Some("hé, \"you\"".to_owned())],
        vec![Some("U".to_owned()), None],
    ];
    for path in [&csv, &json, &database] {
        assert_eq!(rows(path, &["title", "body"]), wanted, "{}", path.display());
        let summary = check(path, &["title", "body"]).unwrap();
        assert_eq!((summary.rows, summary.bytes), (2, 12));
    }
    assert_eq!(check(&csv, &[]).unwrap().columns, ["id", "body", "title"]);
    assert_eq!(check(&database, &[]).unwrap().columns, ["body", "title"]);
    assert_eq!(check(&json, &[]).unwrap().columns, ["body", "title"]);
    assert_eq!(check(&tsv, &["title"]).unwrap().rows, 1);
}

fn parquet_file(folder: &Folder, name: &str, columns: Vec<(&str, ArrayRef)>) -> PathBuf {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    )
    .unwrap();
    let path = folder.0.path().join(name);
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    path
}

#[test]
fn parquet_is_read_as_texts_whatever_its_columns_are() {
    let folder = Folder::new();
    let bodies = (0..3_000).map(|row| (row % 7 != 3).then(|| format!("hé {row}")));
    let path = parquet_file(
        &folder,
        "a.parquet",
        vec![
            ("id", Arc::new(Int64Array::from_iter_values(0..3_000))),
            ("body", Arc::new(StringArray::from_iter(bodies))),
        ],
    );
    assert_eq!(check(&path, &[]).unwrap().columns, ["body"]);
    let found = rows(&path, &["body", "id"]);
    assert_eq!(found.len(), 3_000);
    assert_eq!(found[2_998], [Some("hé 2998".to_owned()), Some("2998".to_owned())]);
    assert_eq!(found[3], [None, Some("3".to_owned())]);
    assert!(problem(&path, &["title"]).contains("has no column `title` (it has id, body)"));
}

#[test]
fn what_is_wrong_with_parquet_is_named() {
    let folder = Folder::new();
    let bytes = BinaryArray::from_iter_values([&b"ok"[..], b"\xff"]);
    let path = parquet_file(&folder, "b.parquet", vec![("body", Arc::new(bytes))]);
    let found = problem(&path, &["body"]);
    assert!(found.contains("b.parquet, row 2, column body: it is not valid UTF-8"), "{found}");
    assert!(problem(&path, &[]).contains("no column of text"));
    let none = BinaryArray::from_iter_values([&b""[..]; 0]);
    let path = parquet_file(&folder, "c.parquet", vec![("body", Arc::new(none))]);
    assert!(problem(&path, &["body"]).contains("c.parquet has no rows"));
    let path = folder.file("d.parquet", b"this is none");
    assert!(problem(&path, &["body"]).contains("d.parquet has no column `body`"));
}

/// Bytes are written as text without a look at them, as careless writers do.
#[test]
fn a_text_of_parquet_that_the_library_refuses_is_reported_with_the_first_row_of_its_batch() {
    let folder = Folder::new();
    let path = folder.0.path().join("a.parquet");
    let file = std::fs::File::create(&path).unwrap();
    let schema = "message m { REQUIRED BYTE_ARRAY body (UTF8); }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let text = |row: usize| if row == 499 { b"\xff" } else { b"x" };
    let texts: Vec<ByteArray> = (0..1_000).map(|row| ByteArray::from(text(row).to_vec())).collect();
    column.typed::<ByteArrayType>().write_batch(&texts, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    let found = problem(&path, &["body"]);
    assert!(found.contains("a.parquet: in row 1 or later: "), "{found}");
}

#[test]
fn a_dot_in_the_name_of_a_column_of_parquet_is_no_way_into_a_nested_one() {
    let folder = Folder::new();
    let texts = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text])) };
    let path =
        parquet_file(&folder, "a.parquet", vec![("user", texts("u")), ("user.name", texts("n"))]);
    assert_eq!(check(&path, &[]).unwrap().columns, ["user", "user.name"]);
    let found = rows(&path, &["user.name", "user"]);
    assert_eq!(found, [[Some("n".to_owned()), Some("u".to_owned())]]);
    assert_eq!(rows(&path, &["user.name"]), [[Some("n".to_owned())]]);
}

#[test]
fn names_that_no_table_of_documents_can_have_are_refused() {
    let folder = Folder::new();
    let path = folder.file("a.csv", b"body,Rank,ROWID,docs,BODY,\"a,b\",\nok,1,2,3,4,5,6\n");
    let cases: [(&[&str], &str, &str); 6] = [
        (&["body", "Rank"], "`Rank`", "FTS5"),
        (&["ROWID"], "`ROWID`", "FTS5"),
        (&["docs"], "`docs`", "FTS5"),
        (&["body", "body"], "`body`", "the same name"),
        (&["a,b"], "`a,b`", "commas"),
        (&[""], "``", "no name"),
    ];
    for (columns, name, why) in cases {
        let found = problem(&path, columns);
        for part in ["a.csv: its column", name, why, "--columns"] {
            assert!(found.contains(part), "{part}: {found}");
        }
    }
    assert!(problem(&path, &[]).contains("`Rank`"));
    check(&path, &["body"]).unwrap();
    let database = folder.database("CREATE TABLE own(\" body\" TEXT)");
    let found = problem(&database, &[" body"]);
    assert!(found.contains("spaces around a name"), "{found}");
}

#[test]
fn names_that_a_heading_repeats_or_lacks_are_those_that_load_gives() {
    let folder = Folder::new();
    let path = folder.file("a.csv", b"body,BODY,\none,two,three\n");
    let names = ["body", "BODY_2", "column3"];
    assert_eq!(check(&path, &[]).unwrap().columns, names);
    let found = rows(&path, &["BODY_2"]);
    assert_eq!(found, [[Some("two".to_owned())]]);
}

#[test]
fn blanks_around_the_names_of_a_heading_do_not_count() {
    let folder = Folder::new();
    let path = folder.file("a.csv", b"id, subject , body\n1, one,two \n");
    assert_eq!(check(&path, &[]).unwrap().columns, ["id", "subject", "body"]);
    let found = rows(&path, &["subject", "body"]);
    assert_eq!(found, [[Some(" one".to_owned()), Some("two ".to_owned())]]);
}

#[test]
fn columns_of_a_table_that_hold_no_text_can_be_named() {
    let folder = Folder::new();
    let path = folder.database(
        "CREATE TABLE own(id INTEGER PRIMARY KEY, size REAL);
         INSERT INTO own VALUES (1, 2.5), (7, NULL)",
    );
    assert!(problem(&path, &[]).contains("no column of text; name the columns"));
    let found = rows(&path, &["size", "id"]);
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(found, [[text("2.5"), text("1")], [None, text("7")]]);
    check(&path, &["id"]).unwrap();
    assert!(problem(&path, &["title"]).contains("no column `title` (it has id, size)"));
}

#[test]
fn names_come_from_more_lines_of_json_than_the_first() {
    let folder = Folder::new();
    let lines = b"{\"title\":\"T\",\"size\":1}\n\n{\"body\":\"B\",\"title\":null}\n{\"size\":2}\n";
    let path = folder.file("a.jsonl", lines);
    assert_eq!(check(&path, &[]).unwrap().columns, ["title", "body"]);
    let path = folder.file("b.jsonl", b"{\"size\":1}\n");
    assert!(problem(&path, &[]).contains("no column of text"));
    assert_eq!(rows(&path, &["size"]), [[Some("1".to_owned())]]);
}

#[test]
fn a_name_of_json_is_missing_only_where_every_line_has_been_read() {
    let folder = Folder::new();
    let lines = b"{\"title\":\"T\"}\n{\"title\":\"U\"}\n{\"body\":\"B\"}\n";
    let path = folder.file("a.jsonl", lines);
    let file = |column: &str| text_file(&path, &["title", column]);
    for rows in [1, 2, 3, u64::MAX] {
        assert_eq!(file("body").check(rows).unwrap().rows, rows.min(3));
    }
    assert_eq!(file("text").check(2).unwrap().rows, 2);
    let missing = file("text").check(4).unwrap_err().to_string();
    assert!(missing.contains("no column `text`"), "{missing}");
}

#[test]
fn a_column_called_rowid_is_not_taken_for_the_key_of_the_rows() {
    let text = |text: &str| Some(text.to_owned());
    for sql in [
        "CREATE TABLE own(RowID TEXT, oid INTEGER, body TEXT);
         INSERT INTO own VALUES ('b', 1, 'one'), ('a', 1, 'two')",
        "CREATE TABLE own(body TEXT, rowid TEXT AS ('always the same'));
         INSERT INTO own VALUES ('one'), ('two')",
    ] {
        let folder = Folder::new();
        let found = rows(&folder.database(sql), &["body"]);
        assert_eq!(found, [[text("one")], [text("two")]], "{sql}");
    }
}

#[test]
fn tables_and_views_whose_rows_have_no_rowid_to_name_are_read() {
    for sql in [
        "CREATE TABLE own(id INTEGER PRIMARY KEY, body TEXT) WITHOUT ROWID;
         INSERT INTO own VALUES (1, 'one'), (2, 'two')",
        "CREATE TABLE own(body TEXT, rowid TEXT, _ROWID_ TEXT, oid TEXT);
         INSERT INTO own(body) VALUES ('one'), ('two')",
    ] {
        let folder = Folder::new();
        let found = rows(&folder.database(sql), &["body"]);
        assert_eq!(found, [[Some("one".to_owned())], [Some("two".to_owned())]], "{sql}");
    }
    let folder = Folder::new();
    let path = folder.database(
        "CREATE TABLE a(x TEXT); CREATE VIEW own AS SELECT x AS body FROM a;
         INSERT INTO a VALUES ('one')",
    );
    let options = TextOptions { table: Some("own".to_owned()), ..TextOptions::default() };
    let file = TextFile::new(&path, options.clone()).unwrap();
    assert_eq!(file.check(u64::MAX).unwrap().columns, ["body"]);
    let csv = TextFile::new(&folder.file("a.csv", b"body\nx\n"), options).unwrap();
    assert!(csv.check(1).unwrap_err().to_string().contains("a.csv"));
}

#[test]
fn rows_come_in_the_order_of_the_table_whatever_indexes_it_has() {
    let folder = Folder::new();
    let path = folder.database(
        "CREATE TABLE own(body TEXT); CREATE INDEX by_body ON own(body);
         INSERT INTO own VALUES ('b'), ('c'), ('a'); ANALYZE",
    );
    let found = rows(&path, &["body"]);
    let text = |text: &str| [Some(text.to_owned())];
    assert_eq!(found, [text("b"), text("c"), text("a")]);
}

#[test]
fn compressed_and_encoded_files_are_read() {
    let folder = Folder::new();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all("body\nhé\n".as_bytes()).unwrap();
    let gzip = folder.file("a.csv.gz", &gzip.finish().unwrap());
    let json = "{\"body\": \"hé\"}\n".as_bytes();
    let zstd = folder.file("a.jsonl.zst", &zstd::encode_all(json, 1).unwrap());
    let utf_16: Vec<u8> = "\u{feff}body\nhé\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let utf_16 = folder.file("b.csv", &utf_16);
    for path in [&gzip, &zstd, &utf_16] {
        let found = rows(path, &["body"]);
        assert_eq!(found, [[Some("hé".to_owned())]], "{}", path.display());
        assert_eq!(check(path, &[]).unwrap().bytes, 3);
    }
    let latin = folder.file("c.csv", b"body\nh\xe9\n");
    assert!(
        problem(&latin, &["body"]).contains("c.csv, row 1, column body: it is not valid UTF-8")
    );
    let options =
        TextOptions { encoding: Some("latin1".parse().unwrap()), ..TextOptions::default() };
    assert_eq!(TextFile::new(&latin, options).unwrap().check(1).unwrap().bytes, 3);
}

#[test]
fn what_load_refuses_is_refused_in_the_same_words() {
    let folder = Folder::new();
    let library = Arc::new(Library::load(&Source::Embedded).unwrap());
    for (name, content) in [
        ("a.csv", &b"body\n\"quoted\" junk\n"[..]),
        ("b.csv", b"body\n\"never closed\n"),
        ("c.csv", b"body,title\none\n"),
        ("d.csv", b"body\nok\nna\xefve\n"),
        ("e.jsonl", b"{\"body\": \"ok\"}\n{\"body\"}\n"),
    ] {
        let path = folder.file(name, content);
        let opening = load::Opening::new(&library);
        let mut source = load::open(std::slice::from_ref(&path), &opening).unwrap();
        let table = load::Table::new("t");
        let request = load::Request::new(folder.0.path().join("t.db"), table);
        let loaded = load::load(&library, &mut *source, &request, &mut |_| true);
        assert_eq!(problem(&path, &["body"]), loaded.unwrap_err().to_string());
    }
}

#[test]
fn large_tables_are_read_to_their_end() {
    let folder = Folder::new();
    let path = folder.database(
        "CREATE TABLE own(body TEXT);
         WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n WHERE x < 5000)
         INSERT INTO own SELECT 'row ' || x FROM n;
         DELETE FROM own WHERE rowid % 7 = 3",
    );
    let found = rows(&path, &["body"]);
    assert_eq!(found.len(), 5_000 - 714);
    assert_eq!(found.last().unwrap()[0].as_deref(), Some("row 5000"));
}

#[test]
fn what_is_wrong_is_named_with_file_and_row() {
    let folder = Folder::new();
    let cases: [(&str, &[u8], &[&str], &str); 9] = [
        (
            "a.csv",
            b"body\nok\n\xff\xfe\n",
            &["body"],
            "a.csv, row 2, column body: it is not valid UTF-8",
        ),
        ("b.csv", b"body,x\nok,1\nno\n", &["body"], "b.csv, row 2"),
        ("c.csv", b"body\nok\n", &["title"], "c.csv has no column `title` (it has body)"),
        ("d.csv", b"body\n", &["body"], "d.csv has no rows"),
        ("e.csv", b"", &["body"], "e.csv"),
        ("a.jsonl", b"{\"body\":\"ok\"}\n{\"body\":\n", &["body"], "a.jsonl, line 2"),
        (
            "b.jsonl",
            b"{\"body\":\"ok\"}\n{\"body\":\"\xff\"}\n",
            &["body"],
            "b.jsonl, line 2: it is not valid UTF-8",
        ),
        ("c.jsonl", b"{\"body\":\"ok\"}\n", &["title"], "c.jsonl has no column `title`"),
        ("d.jsonl", b"", &["body"], "d.jsonl is empty"),
    ];
    for (name, content, columns, wanted) in cases {
        let path = folder.file(name, content);
        let found = problem(&path, columns);
        assert!(found.contains(wanted), "{name}: {found}");
    }
    let missing = problem(&folder.0.path().join("none.csv"), &["body"]);
    assert!(missing.contains("none.csv"), "{missing}");
    let no_database =
        problem(&folder.file("not.db", b"this is no database at all........"), &["body"]);
    assert!(no_database.contains("not.db"), "{no_database}");
    let bad_text = folder.database(
        "CREATE TABLE own(body TEXT); INSERT INTO own VALUES ('a'), (CAST(x'ff' AS TEXT))",
    );
    let found = problem(&bad_text, &["body"]);
    assert!(found.contains("row 2, column body: its text is not valid UTF-8"), "{found}");
}
