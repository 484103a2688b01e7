//! Documents of the user's own: text columns of a file, row by row in constant memory.
//!
//! It stands apart from the generators because what it reads can be wrong: every error names the
//! file and, where it lies in one, the row. A file is read whole before it is used, so that a
//! mistake in its last row is found before anything is made of the first.

mod database;
mod delimited;
mod json_lines;
mod parquet;

use std::path::{Path, PathBuf};

use crate::generate::Documents;

/// Names that FTS5 gives to columns of its own, whatever their case: the last is that of the table
/// of the documents.
pub(crate) const RESERVED: [&str; 3] = ["rank", "rowid", "docs"];

/// What is wrong with a file of documents.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file cannot be opened or read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The name does not say what the file is.
    #[error("{}: what kind of file this is cannot be told from its name; .csv, .tsv, .jsonl, .ndjson, .parquet, .db, .sqlite and .sqlite3 are known", .0.display())]
    UnknownKind(PathBuf),
    /// There is no row in it.
    #[error("{} holds no rows", .0.display())]
    Empty(PathBuf),
    /// A column that was asked for does not exist.
    #[error("{} has no column `{column}` (it has {known})", path.display())]
    MissingColumn {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// The columns that it has.
        known: String,
    },
    /// A row is not what it should be.
    #[error("{}, row {row}: {what}", path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// The row, from 1 on; a heading is not counted.
        row: u64,
        /// What is wrong with it.
        what: String,
    },
    /// The file as a whole cannot be used.
    #[error("{}: {what}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
}

/// A file of documents and what of it is wanted.
#[derive(Clone, Debug)]
pub struct TextFile {
    path: PathBuf,
    kind: Kind,
    /// The columns, by name; all that hold text where none is named.
    columns: Vec<String>,
    /// The table of a database; its only one where none is named.
    table: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Fields apart by this byte, names in the first line.
    Delimited(u8),
    /// A JSON object on each line.
    JsonLines,
    /// Columns of a Parquet file.
    Parquet,
    /// A table of a SQLite database.
    Database,
}

/// What a file turned out to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextSummary {
    /// Its rows.
    pub rows: u64,
    /// The columns that are used.
    pub columns: Vec<String>,
    /// Bytes of their texts.
    pub bytes: u64,
}

/// A pass over the rows.
pub(crate) trait Rows {
    /// Appends the next row to `documents`; false where there is none.
    fn next_into(&mut self, documents: &mut Documents) -> Result<bool, ImportError>;
}

impl TextFile {
    /// The file at `path`, of a kind that its name tells: `columns` names those wanted, all text
    /// columns where it is empty, and `table` a table of a database.
    ///
    /// # Errors
    /// Of the name only; the file is not opened.
    pub fn new(
        path: &Path,
        columns: Vec<String>,
        table: Option<String>,
    ) -> Result<TextFile, ImportError> {
        let extension = path
            .extension()
            .map(|end| end.to_string_lossy().to_lowercase());
        let kind = match extension.as_deref() {
            Some("csv") => Kind::Delimited(b','),
            Some("tsv") => Kind::Delimited(b'\t'),
            Some("jsonl" | "ndjson") => Kind::JsonLines,
            Some("parquet") => Kind::Parquet,
            Some("db" | "sqlite" | "sqlite3") => Kind::Database,
            _ => return Err(ImportError::UnknownKind(path.to_owned())),
        };
        Ok(TextFile {
            path: path.to_owned(),
            kind,
            columns,
            table,
        })
    }

    /// Reads the whole file and says what it holds; at most `rows` rows are wanted.
    ///
    /// # Errors
    /// Whatever is wrong with the file or one of the rows wanted.
    pub fn check(&self, rows: u64) -> Result<TextSummary, ImportError> {
        let columns = self.resolve()?;
        let mut reading = self.open(&columns)?;
        let mut documents = Documents::new(columns.len());
        let mut filled = vec![false; columns.len()];
        let mut summary = TextSummary {
            rows: 0,
            columns,
            bytes: 0,
        };
        let read_to_its_end = loop {
            if summary.rows == rows {
                break false;
            }
            if !reading.next_into(&mut documents)? {
                break true;
            }
            summary.rows += 1;
            summary.bytes += documents.bytes() as u64;
            for (column, filled) in filled.iter_mut().enumerate() {
                *filled |= documents.field(0, column).is_some();
            }
            documents.clear();
        };
        if summary.rows == 0 {
            return Err(ImportError::Empty(self.path.clone()));
        }
        match filled.iter().position(|filled| !filled) {
            // Lines of JSON need not have every name, but a name that none has is a mistake. The
            // rows wanted alone cannot tell: the name may come after them.
            Some(column) if read_to_its_end && self.kind == Kind::JsonLines => {
                Err(self.missing(&summary.columns[column], &json_lines::names(&self.path)?))
            }
            _ => Ok(summary),
        }
    }

    /// The columns wanted, as the file names them: any may be named, but only those of text are
    /// taken without a word.
    fn resolve(&self) -> Result<Vec<String>, ImportError> {
        let columns = match self.columns.is_empty() {
            true => self.text_columns()?,
            false => self.named_columns()?,
        };
        for (place, column) in columns.iter().enumerate() {
            if let Some(why) = why_impossible(column, &columns[..place]) {
                let what = format!(
                    "its column `{column}` cannot be used, because {why}: choose others with --columns, or with `text_columns` in an experiment file"
                );
                return Err(unusable(&self.path, what));
            }
        }
        Ok(columns)
    }

    fn named_columns(&self) -> Result<Vec<String>, ImportError> {
        // The names on the first lines of JSON are not all that there may be.
        if self.kind != Kind::JsonLines {
            let known = self.all_columns()?;
            for column in &self.columns {
                if !known.contains(column) {
                    return Err(self.missing(column, &known));
                }
            }
        }
        Ok(self.columns.clone())
    }

    fn text_columns(&self) -> Result<Vec<String>, ImportError> {
        let names = match self.kind {
            Kind::Parquet => parquet::names(&self.path)?,
            Kind::Database => database::names(&self.path, self.table.as_deref())?,
            Kind::Delimited(_) | Kind::JsonLines => self.all_columns()?,
        };
        match names.is_empty() {
            true => Err(unusable(
                &self.path,
                "it has no column of text; name the columns",
            )),
            false => Ok(names),
        }
    }

    fn all_columns(&self) -> Result<Vec<String>, ImportError> {
        match self.kind {
            Kind::Delimited(delimiter) => delimited::names(&self.path, delimiter),
            Kind::JsonLines => json_lines::names(&self.path),
            Kind::Parquet => parquet::all_names(&self.path),
            Kind::Database => database::all_names(&self.path, self.table.as_deref()),
        }
    }

    fn missing(&self, column: &str, known: &[String]) -> ImportError {
        ImportError::MissingColumn {
            path: self.path.clone(),
            column: column.to_owned(),
            known: known.join(", "),
        }
    }

    /// Begins a pass over these columns, which [`TextFile::check`] has found.
    pub(crate) fn open(&self, columns: &[String]) -> Result<Box<dyn Rows>, ImportError> {
        Ok(match self.kind {
            Kind::Delimited(delimiter) => {
                Box::new(delimited::Delimited::open(&self.path, delimiter, columns)?)
            }
            Kind::JsonLines => Box::new(json_lines::JsonLines::open(&self.path, columns)?),
            Kind::Parquet => Box::new(parquet::Parquet::open(&self.path, columns)?),
            Kind::Database => Box::new(database::Database::open(
                &self.path,
                self.table.as_deref(),
                columns,
            )?),
        })
    }
}

/// Why a table of documents cannot have a column of this name beside those before it.
fn why_impossible(name: &str, before: &[String]) -> Option<&'static str> {
    let is_name = |other: &str| other.eq_ignore_ascii_case(name);
    if name.is_empty() {
        Some("it has no name")
    } else if name.trim() != name {
        Some("blanks around a name do not count where columns are chosen")
    } else if name.contains(',') {
        Some("commas stand between the names where columns are chosen")
    } else if RESERVED.iter().any(|reserved| is_name(reserved)) {
        Some("FTS5 keeps this name for itself")
    } else if before.iter().any(|other| is_name(other)) {
        Some("another of this name stands before it (capitals do not count)")
    } else {
        None
    }
}

fn unreadable(path: &Path, source: std::io::Error) -> ImportError {
    ImportError::Unreadable {
        path: path.to_owned(),
        source,
    }
}

fn unusable(path: &Path, what: impl Into<String>) -> ImportError {
    ImportError::Unusable {
        path: path.to_owned(),
        what: what.into(),
    }
}

fn bad_row(path: &Path, row: u64, what: impl Into<String>) -> ImportError {
    ImportError::Row {
        path: path.to_owned(),
        row,
        what: what.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::parquet::arrow::ArrowWriter;
    use ::parquet::data_type::{ByteArray, ByteArrayType};
    use ::parquet::file::writer::SerializedFileWriter;
    use ::parquet::schema::parser::parse_message_type;
    use arrow_array::{ArrayRef, BinaryArray, Int64Array, RecordBatch, StringArray};
    use engine::{Connection, Library, OpenFlags, Source};
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

    fn check(path: &Path, columns: &[&str]) -> Result<TextSummary, ImportError> {
        let columns = columns.iter().map(|name| (*name).to_owned()).collect();
        TextFile::new(path, columns, None)?.check(u64::MAX)
    }

    fn rows(path: &Path, columns: &[&str]) -> Vec<Vec<Option<String>>> {
        let columns: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
        let file = TextFile::new(path, columns.clone(), None).unwrap();
        let mut reading = file.open(&columns).unwrap();
        let mut documents = Documents::new(columns.len());
        while reading.next_into(&mut documents).unwrap() {}
        (0..documents.rows())
            .map(|row| {
                let fields = 0..columns.len();
                fields
                    .map(|column| documents.field(row, column).map(str::to_owned))
                    .collect()
            })
            .collect()
    }

    fn problem(path: &Path, columns: &[&str]) -> String {
        check(path, columns).unwrap_err().to_string()
    }

    #[test]
    fn the_same_rows_are_read_from_every_kind_of_file() {
        let folder = Folder::new();
        let csv = folder.file(
            "a.csv",
            "id,body,title\n1,\"hé, \"\"you\"\"\",T\n2,,U\n".as_bytes(),
        );
        let tsv = folder.file(
            "a.tsv",
            "id\tbody\ttitle\n1\thé, \"\"you\"\"\tT\n".as_bytes(),
        );
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
            columns
                .into_iter()
                .map(|(name, column)| (name, column, true)),
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
        assert_eq!(
            found[2_998],
            [Some("hé 2998".to_owned()), Some("2998".to_owned())]
        );
        assert_eq!(found[3], [None, Some("3".to_owned())]);
        assert!(problem(&path, &["title"]).contains("has no column `title` (it has id, body)"));
    }

    #[test]
    fn what_is_wrong_with_parquet_is_named() {
        let folder = Folder::new();
        let bytes = BinaryArray::from_iter_values([&b"ok"[..], b"\xff"]);
        let path = parquet_file(&folder, "b.parquet", vec![("body", Arc::new(bytes))]);
        let found = problem(&path, &["body"]);
        assert!(
            found.contains("b.parquet, row 2: not UTF-8 in the column `body`"),
            "{found}"
        );
        assert!(problem(&path, &[]).contains("no column of text"));
        let none = BinaryArray::from_iter_values([&b""[..]; 0]);
        let path = parquet_file(&folder, "c.parquet", vec![("body", Arc::new(none))]);
        assert!(problem(&path, &["body"]).contains("c.parquet holds no rows"));
        let path = folder.file("d.parquet", b"this is none");
        assert!(problem(&path, &["body"]).contains("d.parquet: not a Parquet file"));
    }

    /// Bytes are written as text without a look at them, as careless writers do.
    #[test]
    fn a_text_of_parquet_that_the_library_refuses_is_told_with_the_first_row_of_its_batch() {
        let folder = Folder::new();
        let path = folder.0.path().join("a.parquet");
        let file = std::fs::File::create(&path).unwrap();
        let schema = "message m { REQUIRED BYTE_ARRAY body (UTF8); }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let text = |row: usize| if row == 499 { b"\xff" } else { b"x" };
        let texts: Vec<ByteArray> = (0..1_000)
            .map(|row| ByteArray::from(text(row).to_vec()))
            .collect();
        column
            .typed::<ByteArrayType>()
            .write_batch(&texts, None, None)
            .unwrap();
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
        let path = parquet_file(
            &folder,
            "a.parquet",
            vec![("user", texts("u")), ("user.name", texts("n"))],
        );
        assert_eq!(check(&path, &[]).unwrap().columns, ["user", "user.name"]);
        let found = rows(&path, &["user.name", "user"]);
        assert_eq!(found, [[Some("n".to_owned()), Some("u".to_owned())]]);
        assert_eq!(rows(&path, &["user.name"]), [[Some("n".to_owned())]]);
    }

    #[test]
    fn names_that_no_table_of_documents_can_have_are_told() {
        let folder = Folder::new();
        let path = folder.file(
            "a.csv",
            b"body,Rank,ROWID,docs,BODY,\"a,b\",\nok,1,2,3,4,5,6\n",
        );
        let cases: [(&[&str], &str, &str); 7] = [
            (&["body", "Rank"], "`Rank`", "FTS5"),
            (&["ROWID"], "`ROWID`", "FTS5"),
            (&["docs"], "`docs`", "FTS5"),
            (&["body", "BODY"], "`BODY`", "of this name stands before"),
            (&["body", "body"], "`body`", "of this name stands before"),
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
        assert!(found.contains("blanks around a name"), "{found}");
    }

    #[test]
    fn blanks_around_the_names_of_a_heading_do_not_count() {
        let folder = Folder::new();
        let path = folder.file("a.csv", b"id, subject , body\n1, one,two \n");
        assert_eq!(
            check(&path, &[]).unwrap().columns,
            ["id", "subject", "body"]
        );
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
        let lines =
            b"{\"title\":\"T\",\"size\":1}\n\n{\"body\":\"B\",\"title\":null}\n{\"size\":2}\n";
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
        let file = |column: &str| {
            let columns = vec!["title".to_owned(), column.to_owned()];
            TextFile::new(&path, columns, None).unwrap()
        };
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
    fn a_table_whose_rows_have_no_key_to_go_by_is_refused() {
        for (sql, why) in [
            (
                "CREATE TABLE own(id INTEGER PRIMARY KEY, body TEXT) WITHOUT ROWID;
                 INSERT INTO own VALUES (1, 'one')",
                "own.db: the table `own` is WITHOUT ROWID",
            ),
            (
                "CREATE TABLE own(body TEXT, rowid TEXT, _ROWID_ TEXT, oid TEXT);
                 INSERT INTO own(body) VALUES ('one')",
                "own.db: the columns of the table `own` hide its rowid",
            ),
        ] {
            let folder = Folder::new();
            let found = problem(&folder.database(sql), &["body"]);
            assert!(found.contains(why), "{found}");
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
                "a.csv, row 2: not UTF-8 in the column `body`",
            ),
            ("b.csv", b"body,x\nok,1\nno\n", &["body"], "b.csv, row 2"),
            (
                "c.csv",
                b"body\nok\n",
                &["title"],
                "c.csv has no column `title` (it has body)",
            ),
            ("d.csv", b"body\n", &["body"], "d.csv holds no rows"),
            ("e.csv", b"", &["body"], "e.csv"),
            (
                "a.jsonl",
                b"{\"body\":\"ok\"}\n{\"body\":\n",
                &["body"],
                "a.jsonl, row 2",
            ),
            (
                "b.jsonl",
                b"{\"body\":\"\xff\"}\n",
                &["body"],
                "b.jsonl, row 1: not UTF-8",
            ),
            (
                "c.jsonl",
                b"{\"body\":\"ok\"}\n",
                &["title"],
                "c.jsonl has no column `title`",
            ),
            ("d.jsonl", b"", &["body"], "d.jsonl holds no rows"),
        ];
        for (name, content, columns, wanted) in cases {
            let path = folder.file(name, content);
            let found = problem(&path, columns);
            assert!(found.contains(wanted), "{name}: {found}");
        }
        let missing = problem(&folder.0.path().join("none.csv"), &["body"]);
        assert!(missing.contains("none.csv"), "{missing}");
        let kind = problem(&folder.file("text.pdf", b""), &["body"]);
        assert!(kind.contains("text.pdf") && kind.contains(".csv"), "{kind}");
        let no_database = problem(
            &folder.file("not.db", b"this is no database at all........"),
            &["body"],
        );
        assert!(no_database.contains("not.db"), "{no_database}");
        let bad_text = folder.database(
            "CREATE TABLE own(body TEXT); INSERT INTO own VALUES ('a'), (CAST(x'ff' AS TEXT))",
        );
        let found = problem(&bad_text, &["body"]);
        assert!(found.contains("row 2: not UTF-8"), "{found}");
    }
}
