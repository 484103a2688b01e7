//! Another SQLite database: a table, a view or the answer to a query, read on a thread of its own.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use engine::{Connection, Library, OpenFlags, Statement, Step, Value, ValueRef};

use super::batch_builder::BatchBuilder;
use super::text::receive;
use super::view::positions;
use super::{ReadOptions, Source, SourceInfo, Storing};
use crate::batch::Batch;
use crate::error::{Fault, LoadError, Result};
use crate::schema::{any_is_strict, texts};
use crate::sql::{list, quoted, same};
use crate::table::Column;

/// How long another connection's lock is waited for.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// The rows to read from an input that has more than one table or list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Selection {
    /// The only table of a database, or the only list of a JSON document.
    #[default]
    OnlyTable,
    /// This table or view, or this list.
    Table(String),
    /// The answer to this query.
    Query(String),
}

impl Selection {
    /// Reads a name or a query.
    pub fn of(text: &str) -> Selection {
        let word = text.split(|c: char| !c.is_ascii_alphabetic()).find(|word| !word.is_empty());
        let is_query = text.contains(char::is_whitespace)
            && ["SELECT", "WITH", "VALUES"]
                .iter()
                .any(|known| word.is_some_and(|word| word.eq_ignore_ascii_case(known)));
        if is_query { Selection::Query(text.to_owned()) } else { Selection::Table(text.to_owned()) }
    }
}

/// A reader of another database.
pub struct DatabaseSource {
    info: SourceInfo,
    /// The length of the file.
    bytes: u64,
    /// The database and the query until reading begins.
    opened: Option<(Connection, String)>,
    /// The batches while reading.
    batches: Option<Batches>,
}

impl DatabaseSource {
    /// Opens a database. Declared types are the table's own; the columns of a query that are no
    /// table's have none, and `ANY` of STRICT tables is none. Unless `only` is empty, the columns that it
    /// names are read.
    ///
    /// # Errors
    /// It cannot be opened; or the table is not there, or the query is none that gives rows.
    pub fn open(
        library: &Arc<Library>,
        path: &Path,
        selection: &Selection,
        only: &[String],
    ) -> Result<DatabaseSource> {
        DatabaseSource::try_open(library, path, selection, only)
            .map_err(|error| error.in_database(path))
    }

    fn try_open(
        library: &Arc<Library>,
        path: &Path,
        selection: &Selection,
        only: &[String],
    ) -> Result<DatabaseSource> {
        let connection = Connection::open(library, path, OpenFlags::READ_ONLY, None)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        let name = path.display().to_string();
        let mut query = query(&connection, &name, selection, &[])?;
        let mut columns = columns(&connection, &name, &query)?;
        if !only.is_empty() {
            let at = positions(&name, &columns, only)?;
            columns = at.iter().map(|at| columns[*at].clone()).collect();
            query = self::query(&connection, &name, selection, only)?;
        }
        Ok(DatabaseSource {
            info: SourceInfo::new(name, columns),
            bytes: std::fs::metadata(path).map_or(0, |metadata| metadata.len()),
            opened: Some((connection, query)),
            batches: None,
        })
    }
}

impl Source for DatabaseSource {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    /// Reads on a thread of its own: a statement borrows its connection, so both stay on one thread. It
    /// ends when the receiver of batches is gone.
    fn begin(&mut self, options: ReadOptions) {
        let Some((connection, query)) = self.opened.take() else { return };
        let (batches, received) = channel();
        let (orders, ordered) = channel();
        let ahead = if options.on_demand { 0 } else { AHEAD };
        // The receiver is here.
        let _ = (0..ahead).try_for_each(|_| orders.send(()));
        self.batches = Some(Batches { orders, received, stop: Arc::clone(&options.stop) });
        let reading = Reading {
            input: self.info.name.clone(),
            bytes: self.bytes,
            names: self.info.columns.iter().map(|column| column.name.clone()).collect(),
            columns: options.columns,
            batches,
            orders: ordered,
            stop: options.stop,
        };
        std::thread::spawn(move || {
            let end = reading.read(&connection, &query);
            let end = end.map_err(|error| error.in_database(Path::new(&reading.input)));
            // The receiver may be gone.
            let _ = reading.batches.send(end.map(|()| None));
        });
    }

    fn next(&mut self) -> Result<Option<Batch>> {
        self.begin(ReadOptions::default());
        let Some(Batches { orders, received, stop }) = &self.batches else { return Ok(None) };
        // A reader that has ended sends nothing more.
        let _ = orders.send(());
        let batch = receive(received, stop, &self.info.name)
            .and_then(|message| message.unwrap_or(Ok(None)));
        if !matches!(batch, Ok(Some(_))) {
            self.batches = None;
        }
        batch
    }
}

/// Returns the query that gives the rows wanted, with only these columns where any is named.
pub(crate) fn query(
    connection: &Connection,
    input: &str,
    selection: &Selection,
    only: &[String],
) -> Result<String> {
    let list = list(only);
    let table = match selection {
        Selection::Query(query) if only.is_empty() => return Ok(query.clone()),
        Selection::Query(query) => return Ok(format!("SELECT {list} FROM ({query})")),
        Selection::Table(table) => table.clone(),
        Selection::OnlyTable => only_table(connection, input)?,
    };
    let known = names(connection, "type IN ('table', 'view')")?;
    if !known.iter().any(|known| same(known, &table)) {
        let known = known.join(", ");
        let reason = format!("it has no table {table}; it has {known}");
        return Err(LoadError::form(input, reason));
    }
    let table = quoted(&table);
    if only.is_empty() {
        return Ok(format!("SELECT * FROM main.{table}"));
    }
    // An index of all these columns would give the rows in another order.
    Ok(format!("SELECT {list} FROM main.{table} NOT INDEXED"))
}

/// Returns the name of the table that statements make.
///
/// # Errors
/// They fail, or make another number of tables than one.
pub fn table_of_sql(library: &Arc<Library>, path: &Path, sql: &str) -> Result<String> {
    let name = || {
        let connection = Connection::in_memory(library)?;
        // As the load will do.
        connection.execute("BEGIN")?;
        connection.execute(sql)?;
        let input = path.display().to_string();
        let name = only_table(&connection, &input)?;
        match connection.query_i64(&format!("SELECT count(*) FROM {}", quoted(&name)))? {
            0 => Ok(name),
            _ => Err(LoadError::form(&input, "it inserts rows; keep only its CREATE statements")),
        }
    };
    name().map_err(|error: LoadError| error.in_database(path))
}

/// Returns the name of the only table of a database.
pub(super) fn only_table_of(library: &Arc<Library>, path: &Path) -> Result<String> {
    let opened = Connection::open(library, path, OpenFlags::READ_ONLY, None).map_err(Into::into);
    opened
        .and_then(|connection| only_table(&connection, &path.display().to_string()))
        .map_err(|error: LoadError| error.in_database(path))
}

/// Selects ordinary tables, and virtual tables that keep their own texts (`_content`) or are alone, without the tables that store them.
const OWN_TABLES: &str = "type = 'table' AND name NOT IN (
     WITH listed AS (SELECT * FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\')
     SELECT name FROM listed WHERE type = 'shadow' OR type = 'virtual'
     AND name || '_content' NOT IN (SELECT name FROM listed) AND 'table' IN (SELECT type FROM listed))";

pub(crate) fn only_table(connection: &Connection, input: &str) -> Result<String> {
    // Engines before 3.37 cannot tell which tables belong to a virtual table.
    let mut tables =
        names(connection, OWN_TABLES).or_else(|_| names(connection, "type = 'table'"))?;
    match (tables.pop(), tables.is_empty()) {
        (Some(table), true) => Ok(table),
        (None, _) => Err(LoadError::form(input, "it has no table")),
        (Some(last), false) => {
            tables.push(last);
            Err(LoadError::SeveralTables(input.to_owned(), tables))
        }
    }
}

fn names(connection: &Connection, which: &str) -> Result<Vec<String>> {
    let sql = format!(
        "SELECT name FROM sqlite_master WHERE {which} AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
         ORDER BY rowid"
    );
    texts(connection, &sql, 0)
}

pub(crate) fn columns(connection: &Connection, input: &str, query: &str) -> Result<Vec<Column>> {
    let wrong = |reason: String| LoadError::form(input, reason);
    let knows_any = any_is_strict(connection, "PRAGMA main.table_list");
    let statement = connection.prepare(query)?;
    if statement.column_count() == 0 || !statement.is_read_only() {
        return Err(wrong("the query must only read rows".to_owned()));
    }
    let mut columns: Vec<Column> = Vec::new();
    for number in 0..statement.column_count() {
        let name = statement.column_name(number).unwrap_or_default();
        if columns.iter().any(|known| same(&known.name, &name)) {
            return Err(wrong(format!("the query returns two columns {name}; rename one with AS")));
        }
        let declared = statement.column_declared_type(number).unwrap_or_default();
        // A STRICT table keeps everything in such a column as it is; another would make numbers of texts.
        let declared = if knows_any && same(&declared, "ANY") { String::new() } else { declared };
        columns.push(Column::new(name, declared));
    }
    Ok(columns)
}

/// Rows in a batch, as for CSV.
const BATCH_ROWS: usize = 65_536;
/// Bytes of text and blobs in a batch: no more than this and one row.
const BATCH_BYTES: usize = 8 << 20;
/// Rows in a batch that cannot be read: all of their fields are kept until they are reported.
const BATCH_MALFORMED: usize = 1_024;
/// Batches read ahead.
const AHEAD: usize = 2;

/// Batches of the thread that reads.
struct Batches {
    /// Asks for one more.
    orders: Sender<()>,
    received: Receiver<Message>,
    stop: Arc<AtomicBool>,
}

/// A message of the thread that reads: a batch, an error, or `None` at the end.
type Message = Result<Option<Batch>>;

/// How a query is read, and where its batches go.
struct Reading {
    input: String,
    bytes: u64,
    names: Vec<String>,
    columns: Vec<Storing>,
    batches: Sender<Message>,
    /// An order is waited for before a batch is read.
    orders: Receiver<()>,
    stop: Arc<AtomicBool>,
}

impl Reading {
    /// Sends a batch and waits until another one is wanted; false where none is any more.
    fn send(&self, batch: Batch) -> bool {
        self.batches.send(Ok(Some(batch))).is_ok()
            && !self.stop.load(Ordering::Relaxed)
            && self.orders.recv().is_ok()
    }

    /// Sends batches until the end, an error, or until the receiver is gone.
    fn read(&self, connection: &Connection, query: &str) -> Result<()> {
        if self.orders.recv().is_err() {
            return Ok(());
        }
        let mut statement = connection.prepare(query)?;
        let mut builder = BatchBuilder::new(&self.names, &self.columns, 0);
        let mut bytes = 0;
        while statement.step()? == Step::Row {
            // A batch ends when there is a row for the next one, so that the last one is known as such.
            if is_full(&builder, bytes) {
                builder.end_batch(&self.input)?;
                bytes = 0;
            }
            bytes += self.take(&statement, &mut builder)?;
            if !builder.take().into_iter().all(|batch| self.send(batch)) {
                return Ok(());
            }
        }
        builder.end_batch(&self.input)?;
        let mut batches = builder.take();
        if let Some(last) = batches.last_mut() {
            last.bytes_read = self.bytes;
        }
        batches.into_iter().all(|batch| self.send(batch));
        Ok(())
    }

    /// Takes the row that the statement stands on, and returns the bytes that are kept of it: of its texts
    /// and blobs, or of its fields as they are reported where it cannot be read.
    fn take(&self, statement: &Statement<'_, '_>, builder: &mut BatchBuilder) -> Result<usize> {
        let mut values = Vec::with_capacity(self.names.len());
        let mut wrong = None;
        for (number, name) in self.names.iter().enumerate() {
            let value = statement.column_value_ref(number as i32);
            if value.is_err() {
                wrong = wrong.or(Some(name));
            }
            values.push(value.unwrap_or(ValueRef::Null));
        }
        if let Some(name) = wrong {
            let fields: Vec<String> = (0..self.names.len() as i32)
                .map(|number| match statement.column_value(number) {
                    Value::Null => String::new(),
                    value => value.to_string(),
                })
                .collect();
            let bytes = fields.iter().map(String::len).sum();
            builder.reject(
                Some(name.clone()),
                Fault::Form("its text is not valid UTF-8".to_owned()),
                fields,
            );
            return Ok(bytes);
        }
        builder.push(&self.input, &values)?;
        let length = |value: &ValueRef<'_>| match value {
            ValueRef::Text(text) => text.len(),
            ValueRef::Blob(bytes) => bytes.len(),
            _ => 0,
        };
        Ok(values.iter().map(length).sum())
    }
}

/// Returns whether the current batch, of this number of bytes, is as long as a batch may be.
fn is_full(builder: &BatchBuilder, bytes: usize) -> bool {
    builder.rows >= BATCH_ROWS || builder.malformed() >= BATCH_MALFORMED || bytes >= BATCH_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity::Affinity;
    use std::path::PathBuf;

    fn library() -> Arc<Library> {
        Arc::new(Library::load(&engine::Source::Embedded).unwrap())
    }

    fn database(folder: &Path, sql: &str) -> PathBuf {
        let path = folder.join("a.db");
        let flags = OpenFlags::default();
        let connection = Connection::open(&library(), &path, flags, None).unwrap();
        connection.execute(sql).unwrap();
        path
    }

    #[test]
    fn a_table_comes_with_its_declared_types_and_its_values_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = database(
            folder.path(),
            "CREATE TABLE t(id INTEGER PRIMARY KEY, price DECIMAL(10, 2), any);\
             INSERT INTO t VALUES (1, 1.5, 'a'), (2, 2, x'00'), (3, NULL, NULL)",
        );
        assert_eq!(crate::Format::of(&path).unwrap(), crate::Format::Database);
        let mut source =
            DatabaseSource::open(&library(), &path, &Selection::OnlyTable, &[]).unwrap();
        let declared: Vec<&str> = source.columns().iter().map(|c| &*c.declared).collect();
        assert_eq!(declared, ["INTEGER", "DECIMAL(10, 2)", ""]);
        source.begin(ReadOptions::new([Affinity::Integer, Affinity::Numeric, Affinity::Blob]));
        let mut sizes = Vec::new();
        while let Some(batch) = source.next().unwrap() {
            sizes.push(batch.rows.num_rows());
        }
        assert_eq!(sizes, [1, 2]);
    }

    #[test]
    fn what_is_not_there_or_gives_no_rows_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = database(folder.path(), "CREATE TABLE a(x); CREATE TABLE b(x)");
        let refused = |selection: Selection| {
            let opened = DatabaseSource::open(&library(), &path, &selection, &[]);
            opened.err().unwrap().to_string()
        };
        let query = |sql: &str| refused(Selection::Query(sql.to_owned()));
        assert!(refused(Selection::OnlyTable).contains("several tables: a, b"));
        assert!(refused(Selection::Table("c".to_owned())).contains("no table c; it has a, b"));
        assert!(query("DELETE FROM a").contains("only read rows"));
        assert!(query("SELECT x, x FROM a").contains("two columns x"));
        assert!(query("SELEC").contains("syntax error"));
    }

    #[test]
    fn tables_of_virtual_tables_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let fts = "CREATE VIRTUAL TABLE t_fts USING fts5(x";
        let places = "CREATE VIRTUAL TABLE places USING rtree(id, a, b)";
        for (sql, expected) in [
            (format!("CREATE TABLE t(x); {fts}, content='t'); {places}"), "t"),
            (format!("{fts})"), "t_fts"),
            (places.to_owned(), "places"),
            (format!("CREATE TABLE t(x); {fts})"), "several tables: t, t_fts"),
        ] {
            let path = database(folder.path(), &sql);
            let found = only_table_of(&library(), &path).unwrap_or_else(|error| error.to_string());
            assert!(found.ends_with(expected), "{found}");
            std::fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn text_that_is_not_valid_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = database(
            folder.path(),
            "CREATE TABLE t(x); INSERT INTO t VALUES ('a'), (CAST(x'ff' AS TEXT)), ('b')",
        );
        let mut source =
            DatabaseSource::open(&library(), &path, &Selection::Table("T".to_owned()), &[])
                .unwrap();
        let batch = source.next().unwrap().unwrap();
        assert_eq!(batch.rows.num_rows(), 2);
        assert_eq!(batch.malformed[0].row, 2);
        assert_eq!(batch.numbers.number(1), 3);
    }

    #[test]
    fn many_texts_that_are_not_valid_come_in_several_batches() {
        let folder = tempfile::tempdir().unwrap();
        let path = database(
            folder.path(),
            "CREATE TABLE t(x);
             WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000)
             INSERT INTO t SELECT CAST(x'ff' AS TEXT) FROM n;
             INSERT INTO t SELECT hex(zeroblob(2500000)) || x FROM t WHERE rowid <= 3",
        );
        let mut source =
            DatabaseSource::open(&library(), &path, &Selection::OnlyTable, &[]).unwrap();
        let (mut counts, mut last) = (Vec::new(), 0);
        while let Some(batch) = source.next().unwrap() {
            for bad in &batch.malformed {
                assert_eq!(bad.row, last + 1);
                last = bad.row;
            }
            counts.push(batch.malformed.len());
        }
        assert_eq!(counts, [1024, 1024, 953, 1, 1]);
    }

    #[test]
    fn all_of_the_file_is_read_with_the_last_batch() {
        let folder = tempfile::tempdir().unwrap();
        let path = database(
            folder.path(),
            "CREATE TABLE t(x);
             WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 131072)
             INSERT INTO t SELECT i FROM n",
        );
        let mut source =
            DatabaseSource::open(&library(), &path, &Selection::OnlyTable, &[]).unwrap();
        let (mut rows, mut bytes) = (Vec::new(), 0);
        while let Some(batch) = source.next().unwrap() {
            rows.push(batch.rows.num_rows());
            bytes = batch.bytes_read;
        }
        assert_eq!(rows, [BATCH_ROWS, BATCH_ROWS]);
        assert_eq!(bytes, std::fs::metadata(&path).unwrap().len());
    }

    #[test]
    fn what_a_strict_table_keeps_as_it_is_has_no_type() {
        let declared = |sql: &str, selection: &Selection| {
            let folder = tempfile::tempdir().unwrap();
            let path = database(folder.path(), sql);
            let source = DatabaseSource::open(&library(), &path, selection, &[]).unwrap();
            let columns = source.columns().iter();
            columns.map(|column| column.declared.clone()).collect::<Vec<_>>()
        };
        let strict = "CREATE TABLE t(a ANY, b INT) STRICT";
        assert_eq!(declared(strict, &Selection::OnlyTable), ["", "INT"]);
        let query = Selection::Query("SELECT b, a FROM t".to_owned());
        assert_eq!(declared(strict, &query), ["INT", ""]);
        // There it is a name like any other, which means numbers.
        let plain = "CREATE TABLE t(a ANY)";
        assert_eq!(declared(plain, &Selection::OnlyTable), ["ANY"]);
    }

    #[test]
    fn a_thread_that_dies_is_not_the_end_of_the_rows() {
        let source = |sent: Option<Message>, is_stopped: bool| {
            let (sender, received) = channel();
            sent.into_iter().for_each(|message| sender.send(message).unwrap());
            let stop = Arc::new(AtomicBool::new(is_stopped));
            let batches = Some(Batches { orders: channel().0, received, stop });
            let info = SourceInfo::new("a.db".to_owned(), Vec::new());
            DatabaseSource { info, bytes: 0, opened: None, batches }
        };
        assert!(source(Some(Ok(None)), false).next().unwrap().is_none());
        let error = source(None, false).next().unwrap_err().to_string();
        assert!(error.starts_with("cannot read a.db: the thread"), "{error}");
        assert!(source(None, true).next().unwrap().is_none());
    }
}
