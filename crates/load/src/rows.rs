//! The rows of an input one at a time, for other readers than a load.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::path::Path;

use engine::{Columns, ValueRef};

use crate::affinity::Affinity;
use crate::batch::{Malformed, RowNumbers};
use crate::cells::Rows;
use crate::error::{Fault, Result};
use crate::source::{Locations, Opening, ReadOptions, Source, open};
use crate::table::Column;

/// Reads the rows of an input one at a time, and only when they are wanted, so that a caller can measure
/// other work between two of them. Text stays text: a number in CSV or JSON comes as it is written.
pub struct RowReader {
    source: Box<dyn Source>,
    locations: Locations,
    rows: Option<Rows>,
    numbers: RowNumbers,
    /// The next of these rows.
    next: usize,
    /// Malformed rows that have not been reached yet.
    malformed: VecDeque<Malformed>,
    /// How many of these rows stand before the first of them.
    before_malformed: usize,
}

impl RowReader {
    /// Opens an input.
    ///
    /// # Errors
    /// The errors of [`open`].
    pub fn open(path: &Path, opening: &Opening) -> Result<RowReader> {
        let mut source = open(&[path.to_owned()], opening)?;
        let affinities = vec![Affinity::Text; source.columns().len()];
        source.begin(ReadOptions { on_demand: true, ..ReadOptions::new(affinities) });
        Ok(RowReader {
            locations: source.info().locations.clone(),
            source,
            rows: None,
            numbers: RowNumbers::default(),
            next: 0,
            malformed: VecDeque::new(),
            before_malformed: usize::MAX,
        })
    }

    /// Returns the columns.
    pub fn columns(&self) -> &[Column] {
        self.source.columns()
    }

    /// Returns the names of the columns that hold text by their types; of CSV all do.
    pub fn text_columns(&self) -> Vec<String> {
        let info = self.source.info();
        let columns = info.columns.iter().zip(&info.seen);
        columns.filter(|(_, seen)| seen.is_text).map(|(column, _)| column.name.clone()).collect()
    }

    /// Returns the next row; `None` at the end.
    ///
    /// # Errors
    /// Reading fails, or the next row is malformed.
    pub fn next_row(&mut self) -> Result<Option<Row<'_>>> {
        while self.next >= self.before_malformed || self.next >= self.len() {
            let is_reached = self.next >= self.before_malformed;
            if is_reached || !self.advance()? {
                return match self.malformed.pop_front() {
                    Some(malformed) => Err(malformed.error(&self.locations)),
                    None => Ok(None),
                };
            }
        }
        self.next += 1;
        let (index, reader) = (self.next - 1, &*self);
        Ok(reader.rows.as_ref().map(|rows| Row { rows, index, reader }))
    }

    fn len(&self) -> usize {
        self.rows.as_ref().map_or(0, Columns::rows)
    }

    /// Advances to the next rows; false at the end.
    fn advance(&mut self) -> Result<bool> {
        let Some(mut batch) = self.source.next_converted()? else { return Ok(false) };
        self.malformed.extend(batch.malformed.drain(..));
        self.rows = Some(Rows::of(&batch));
        self.numbers = batch.numbers;
        self.next = 0;
        self.before_malformed = match self.malformed.front() {
            Some(malformed) => self.numbers.before(malformed.row),
            None => usize::MAX,
        };
        Ok(true)
    }
}

/// A row that was read.
pub struct Row<'r> {
    rows: &'r Rows,
    index: usize,
    reader: &'r RowReader,
}

impl<'r> Row<'r> {
    /// Returns its value in a column.
    pub fn value(&self, column: usize) -> ValueRef<'r> {
        self.rows.value(self.index, column)
    }

    /// Returns its value in a column as a text: a number as it is written, and a blob if it is UTF-8; `None` for
    /// NULL.
    ///
    /// # Errors
    /// The value is a blob that is not UTF-8.
    pub fn text(&self, column: usize) -> Result<Option<Cow<'r, str>>> {
        Ok(match self.value(column) {
            ValueRef::Null => None,
            ValueRef::Text(text) => Some(Cow::Borrowed(text)),
            ValueRef::Integer(number) => Some(Cow::Owned(number.to_string())),
            ValueRef::Real(number) => Some(Cow::Owned(number.to_string())),
            ValueRef::Blob(bytes) => {
                let text = std::str::from_utf8(bytes).map_err(|_| {
                    let row = self.reader.numbers.number(self.index);
                    let column = self.reader.columns()[column].name.clone();
                    let fault = Fault::Encoding { expected: "UTF-8", is_mixed: false };
                    Malformed::new(row, Some(column), fault, Vec::new())
                        .error(&self.reader.locations)
                })?;
                Some(Cow::Borrowed(text))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Library;
    use std::sync::Arc;

    /// Returns the texts of each row, and what ended them.
    fn read(name: &str, content: &[u8], columns: &[&str]) -> (Vec<Vec<Option<String>>>, String) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        let library = Arc::new(Library::load(&engine::Source::Embedded).unwrap());
        let mut opening = Opening::new(&library);
        opening.columns = columns.iter().map(|name| (*name).to_owned()).collect();
        let mut reader = match RowReader::open(&path, &opening) {
            Ok(reader) => reader,
            Err(error) => return (Vec::new(), error.to_string()),
        };
        let mut rows = Vec::new();
        let count = reader.columns().len();
        loop {
            match reader.next_row() {
                Ok(Some(row)) => {
                    let texts = (0..count).map(|column| row.text(column).unwrap());
                    rows.push(texts.map(|text| text.map(Cow::into_owned)).collect());
                }
                Ok(None) => return (rows, String::new()),
                Err(error) => {
                    let error = error.to_string();
                    return (rows, error.rsplit('/').next().unwrap().to_owned());
                }
            }
        }
    }

    #[test]
    fn rows_come_in_order_until_a_malformed_one_is_reached() {
        let csv = b"a,b\n01,x\n2,\n3\n4,y\n";
        let some = |text: &str| Some(text.to_owned());
        let (rows, error) = read("a.csv", csv, &[]);
        assert_eq!(rows, [[some("01"), some("x")], [some("2"), None]]);
        assert_eq!(error, "a.csv, row 3: it has 1 field instead of 2");
        let json = b"{\"a\": 1.50}\n\n{\"a\": \"x\"}\n{\"a\"}\n";
        let (rows, error) = read("a.jsonl", json, &[]);
        assert_eq!(rows, [[some("1.50")], [some("x")]]);
        assert!(error.starts_with("a.jsonl, line 4: "), "{error}");
        let (rows, error) = read("a.csv", b"a\n\"x\"y\n", &[]);
        assert_eq!(
            (rows.len(), &*error),
            (0, "a.csv, row 1, column a: text follows a closing quote")
        );
    }

    #[test]
    fn columns_are_selected_by_name_and_come_in_that_order() {
        let some = |text: &str| Some(text.to_owned());
        let (rows, _) = read("a.csv", b"a,b,c\n1,2,3\n", &["c", "a"]);
        assert_eq!(rows, [[some("3"), some("1")]]);
        let (_, error) = read("a.csv", b"a,b,c\n1,2,3\n", &["d"]);
        assert!(error.ends_with("a.csv has no column `d` (it has a, b, c)"), "{error}");
        let json = b"{\"a\": 1}\n{\"late\": 2, \"b\": 3}\n";
        let (rows, _) = read("a.jsonl", json, &["late", "a"]);
        assert_eq!(rows, [[None, some("1")], [some("2"), None]]);
    }

    #[test]
    fn a_tab_divides_fields_of_a_file_called_tsv() {
        let (rows, _) = read("a.tsv", b"body\none, two\n", &[]);
        assert_eq!(rows, [[Some("one, two".to_owned())]]);
        let (rows, _) = read("a.tsv", b"a,b,c\td\n1\t2\n", &[]);
        assert_eq!(rows[0].len(), 2);
        let (rows, _) = read("a.tsv", b"a;b\n1;2\n", &[]);
        assert_eq!(rows[0].len(), 2);
    }
}
