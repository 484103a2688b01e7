//! Everything that can go wrong with a load.
//!
//! Errors name the file, row and column; the command line adds the advice.

use std::path::{Path, PathBuf};

use engine::{During, EngineError, SqliteError, ffi};
use thiserror::Error;

use crate::affinity::Affinity;
use crate::source::{NumberForm, RowLocation};

/// A result of this crate.
pub type Result<T, E = LoadError> = std::result::Result<T, E>;

/// SQLite's result codes of keys that must be unique.
const UNIQUE: [i32; 3] = [
    ffi::SQLITE_CONSTRAINT_PRIMARYKEY,
    ffi::SQLITE_CONSTRAINT_UNIQUE,
    ffi::SQLITE_CONSTRAINT_ROWID,
];

/// Any error of this crate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// An input cannot be opened.
    #[error("cannot open {0}: {1}")]
    Open(PathBuf, std::io::Error),
    /// Reading an input failed, above all where compressed data is damaged.
    #[error("cannot read {0}: {1}")]
    Read(String, std::io::Error),
    /// An input is of a form or encoding that is not read.
    #[error("{0}: {1}")]
    Form(String, String),
    /// An input has other columns than the first one.
    #[error("{0}: {1}")]
    OtherColumns(String, String),
    /// The names of the columns are not of the encoding in which they are read.
    #[error("{0}: the header is not valid {1}")]
    HeaderEncoding(String, &'static str),
    /// An input has several bytes for each character, and no mark that tells their order.
    #[error("{0}: it looks like {1}")]
    WideEncoding(String, &'static str),
    /// A database has several tables, and none was chosen.
    #[error("{} has several tables: {}", .0, .1.join(", "))]
    SeveralTables(String, Vec<String>),
    /// A file would be read and written at once, or written as two.
    #[error("{0}")]
    SameFile(String),
    /// A file to be written is there already (the file).
    #[error("{0} already exists")]
    FileExists(PathBuf),
    /// A row that cannot be read, or that the table refuses.
    #[error("{}, {} {}{}: {fault}", .location.input, .location.unit, .location.number, in_column(.column))]
    Row {
        /// Where it is: the input, and the number of the row (from 1, without the header) or line.
        location: RowLocation,
        /// The column with the fault, if there is one.
        column: Option<String>,
        /// The fault.
        fault: Fault,
    },
    /// More rows than allowed cannot be read, or are refused by the table.
    #[error("{0}; more than {1} rows cannot be loaded")]
    TooManyErrors(Box<LoadError>, u64),
    /// Not a single row can be loaded, though there are some.
    #[error("{input}: none of its {rows} rows can be loaded; the first: {first}")]
    NothingLoaded {
        /// The input.
        input: String,
        /// How many rows it has.
        rows: u64,
        /// The first fault.
        first: String,
    },
    /// A column of the input has a type without a counterpart in SQLite.
    #[error("column {0} has the type {1}, which SQLite does not have")]
    Type(String, String),
    /// A column was declared as one of numbers, and none of its first values is one.
    #[error(
        "column {column} is declared {declared}, but its first values are no numbers, such as `{value}`"
    )]
    NoNumbers {
        /// The column.
        column: String,
        /// Its declared type.
        declared: String,
        /// Its first value.
        value: String,
        /// A form of numbers that all of the values have.
        form: Option<NumberForm>,
    },
    /// The dates of a column may begin with the day or with the month, as far as its first values show.
    #[error("the dates of column {0}, such as {1}, may begin with the day or with the month")]
    AmbiguousDates(String, String),
    /// The definition of the table does not hold together.
    #[error("{0}")]
    Definition(String),
    /// The table would have more columns than SQLite allows (how many).
    #[error("the input has {0} columns, and a table has at most 2,000")]
    TooManyColumns(usize),
    /// The table is there already (the table).
    #[error("the table or view {0} already exists")]
    TableExists(String),
    /// The table to append to is not there (the table).
    #[error("the database has no table {0}")]
    NoTable(String),
    /// The table has no column of that name.
    #[error("{0}")]
    NoColumn(String),
    /// The input has nothing in it or no column of that name, or an index that has rows is damaged.
    #[error("{0}")]
    Unusable(String),
    /// A journal lies where the new database is to be made; SQLite would roll it back into it (the journal).
    #[error("{0} is the journal of a database that no longer exists")]
    LeftoverJournal(PathBuf),
    /// The rows cannot be written as pages, which was chosen.
    #[error("the load strategy `pages` cannot do this: {0}")]
    Strategy(String),
    /// A file cannot be written.
    #[error("cannot write {0}: {1}")]
    Write(PathBuf, std::io::Error),
    /// Entries of indexes that memory does not hold cannot be written to a temporary file, above all where
    /// the disk is full: they need as much room again next to the database.
    #[error("cannot sort indexes in a temporary file in {0}: {1}")]
    Spill(PathBuf, std::io::Error),
    /// Two rows have the same values where a unique index allows one.
    #[error("{}", in_two_rows(input, columns, values, *rowids, rows))]
    Duplicate {
        /// The input.
        input: String,
        /// The columns.
        columns: String,
        /// Their values.
        values: String,
        /// Both rows, where it is known which.
        rowids: Option<[i64; 2]>,
        /// Where they are in the input, where rowids tell it.
        rows: Option<Box<[RowLocation; 2]>>,
    },
    /// The finished database does not hold what it should.
    #[error("the check of the database failed, so nothing was loaded: {0}")]
    Check(String),
    /// The observer ended the load.
    #[error("stopped; the database is unchanged")]
    Interrupted,
    /// SQLite refused to do something with a database, or failed.
    #[error("{}{}", before(.0, .1), .1)]
    Database(PathBuf, EngineError),
    /// The same before it is known with which database.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl LoadError {
    /// Returns whether a row does not fit a type that was chosen from the first rows.
    pub(crate) fn is_of_type(&self) -> bool {
        matches!(self, LoadError::Row { fault, .. } if fault.is_of_type())
    }

    /// Returns whether two rows have the same unique key.
    pub(crate) fn is_of_uniqueness(&self) -> bool {
        let is_unique = |error: &EngineError| {
            let code = error.as_sqlite().map(SqliteError::extended);
            code.is_some_and(|code| UNIQUE.contains(&code))
        };
        match self {
            LoadError::Duplicate { .. } => true,
            LoadError::Database(_, source) | LoadError::Engine(source) => is_unique(source),
            _ => false,
        }
    }

    /// Returns whether rows were skipped until that was too much: they are kept to be looked at.
    pub(crate) fn is_of_skipped_rows(&self) -> bool {
        matches!(self, LoadError::TooManyErrors(..) | LoadError::NothingLoaded { .. })
    }

    /// A thread that reads an input has ended before the end of it: it panicked.
    pub(crate) fn died(input: &str) -> LoadError {
        LoadError::Read(
            input.to_owned(),
            std::io::Error::other("the thread that reads it ended before its end"),
        )
    }

    /// Returns the error of an input whose form is wrong.
    pub(crate) fn form(input: impl Into<String>, reason: impl ToString) -> LoadError {
        LoadError::Form(input.into(), reason.to_string())
    }

    /// Returns the error of a file that is two things at once.
    pub(crate) fn same_file(path: &Path, one: &str, other: &str) -> LoadError {
        LoadError::SameFile(format!("{} is both {one} and {other}", path.display()))
    }

    /// Returns the error of a column that an input does not have.
    pub fn no_input_column<'k>(
        input: &str,
        column: &str,
        known: impl Iterator<Item = &'k String>,
    ) -> LoadError {
        let known = known.map(String::as_str).collect::<Vec<_>>().join(", ");
        LoadError::Unusable(format!("{input} has no column `{column}` (it has {known})"))
    }

    /// A file that cannot be opened.
    pub(crate) fn open(path: &Path) -> impl Fn(std::io::Error) -> LoadError {
        move |source| LoadError::Open(path.to_owned(), source)
    }

    /// A file that cannot be written.
    pub(crate) fn write(path: &Path) -> impl Fn(std::io::Error) -> LoadError {
        move |source| LoadError::Write(path.to_owned(), source)
    }

    /// Says in which database SQLite refused or failed, where that is not said yet.
    pub(crate) fn in_database(self, path: &Path) -> LoadError {
        match self {
            LoadError::Engine(source) => LoadError::Database(path.to_owned(), source),
            other => other,
        }
    }
}

/// Returns the database, where the error itself does not name it.
fn before(path: &Path, error: &EngineError) -> String {
    match error.as_sqlite().map(SqliteError::during) {
        Some(During::Opening(_)) => String::new(),
        _ => format!("{}: ", path.display()),
    }
}

fn in_two_rows(
    input: &str,
    columns: &str,
    values: &str,
    rowids: Option<[i64; 2]>,
    rows: &Option<Box<[RowLocation; 2]>>,
) -> String {
    let failed = format!("UNIQUE constraint failed: {columns}:");
    let row = |row: &RowLocation| format!("{}, {} {}", row.input, row.unit, row.number);
    match (rows.as_deref(), rowids) {
        (Some([first, second]), _) => {
            format!("{}: {failed} {values} is already in {}", row(second), row(first))
        }
        (None, Some([one, other])) => {
            format!("{input}: {failed} rowids {one} and {other} both have {values}")
        }
        (None, None) => format!("{input}: {failed} two rows have {values}"),
    }
}

fn in_column(column: &Option<String>) -> String {
    column.as_ref().map_or_else(String::new, |column| format!(", column {column}"))
}

/// The reason why a row cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// It is not as its format has rows.
    #[error("{0}")]
    Form(String),
    /// Its text is not of the encoding in which it is read.
    #[error("it is not valid {expected}")]
    Encoding {
        /// The encoding.
        expected: &'static str,
        /// Whether other texts nearby are of this encoding and not plain ASCII.
        is_mixed: bool,
    },
    /// It has more or fewer fields than there are columns.
    #[error("it has {found} {} instead of {expected}", if *found == 1 { "field" } else { "fields" })]
    Fields {
        /// Its fields.
        found: usize,
        /// The columns.
        expected: usize,
        /// Whether blanks stand next to every delimiter of the first rows.
        has_blanks: bool,
        /// Whether it begins with `#`.
        is_comment: bool,
    },
    /// Its quotes break the rules.
    #[error("{reason}")]
    Quote {
        /// How.
        reason: &'static str,
        /// Whether fields are divided by tabs.
        is_tab: bool,
        /// Whether quotes that end nothing were read as they are.
        is_lenient: bool,
    },
    /// An object of JSON has a key without a column.
    #[error("its key {key} is not among those of the first lines")]
    UnknownKey {
        /// The key.
        key: String,
        /// Whether the input is read again to find all keys.
        is_reread: bool,
    },
    /// The type of a column, chosen from the first rows, would change a value.
    #[error("the type {0}, chosen from the first rows, would change the value `{1}`")]
    Type(&'static str, String),
    /// It has the first value of a column, which is read again to choose the type of that column.
    #[error("the first rows have no value in this column, so its type is not known")]
    Unseen,
    /// The table refuses it, in SQLite's words.
    #[error("{0}")]
    Refused(String),
}

impl Fault {
    /// A value that a column of this affinity would change.
    pub(crate) fn changed(affinity: Affinity, value: &[u8]) -> Fault {
        Fault::Type(affinity.into(), first_characters(value))
    }

    /// Returns whether the fault lies in the type of a column, or in its absence: such a row is never skipped.
    pub(crate) fn is_of_type(&self) -> bool {
        matches!(self, Fault::Type(..) | Fault::Unseen | Fault::UnknownKey { is_reread: true, .. })
    }
}

/// Returns the beginning of a value, as messages show it.
pub(crate) fn first_characters(value: &[u8]) -> String {
    String::from_utf8_lossy(value).chars().take(LONGEST_VALUE).collect()
}

/// Characters of a value that a message repeats.
const LONGEST_VALUE: usize = 60;
