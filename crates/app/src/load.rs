//! Loads of data into a table.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use engine::{EngineError, Library, ffi};
use load::{
    Fault, LoadError, NumberForm, Opening, Outline, Progress, Request, Source, Summary, Table,
};

use crate::error::{Error, Result};
use crate::files::{built_in_library, is_database, read_text};
use crate::interface::Interface;

/// The rows of a dry run that are returned.
const OUTLINED_ROWS: usize = 5;

/// The most bytes of SQL that makes a table.
const MOST_BYTES_OF_SQL: u64 = 1 << 20;

/// A load.
pub struct LoadRequest {
    /// The inputs: files, folders and patterns.
    pub inputs: Vec<PathBuf>,
    /// How the inputs are opened.
    pub opening: Opening,
    /// The table, and how it is loaded.
    pub request: Request,
}

impl LoadRequest {
    /// Opens the inputs.
    ///
    /// # Errors
    /// An input cannot be read, or its format is not clear.
    pub fn open(&self) -> Result<Opened<'_>> {
        let inputs = load::expand(&self.inputs)?;
        let source = load::open(&inputs, &self.opening)?;
        Ok(Opened { request: &self.request, library: &self.opening.library, source })
    }
}

/// A load whose inputs are open.
pub struct Opened<'a> {
    request: &'a Request,
    library: &'a Arc<Library>,
    source: Box<dyn Source>,
}

impl Opened<'_> {
    /// Loads rows, and passes the progress on. Returns `None` if it was interrupted; the database is then unchanged.
    ///
    /// # Errors
    /// A row cannot be loaded, or the database cannot be written.
    pub fn load(
        mut self,
        ui: &dyn Interface,
        on_progress: &mut dyn FnMut(&Progress),
    ) -> Result<Option<Summary>> {
        // Not before: opening waits for the first bytes of a pipe, and a signal ends that at once.
        let interrupted = ui.interrupted()?;
        let loaded = load::load(self.library, &mut *self.source, self.request, &mut |progress| {
            on_progress(progress);
            !interrupted.load(Ordering::Relaxed)
        });
        match loaded {
            Err(LoadError::Interrupted) => Ok(None),
            loaded => Ok(Some(loaded?)),
        }
    }

    /// Returns what the load would do.
    ///
    /// # Errors
    /// The load would be refused.
    pub fn outline(mut self) -> Result<Outline> {
        Ok(load::outline(self.library, &mut *self.source, self.request, OUTLINED_ROWS)?)
    }
}

/// Returns how inputs are opened by default.
///
/// # Errors
/// The built-in SQLite cannot be loaded.
pub fn opening() -> Result<Opening> {
    Ok(Opening::new(&built_in_library()?))
}

/// Takes a file of SQL (`.sql`) from the inputs: it makes the table.
///
/// # Errors
/// It cannot be read, fails or makes another number of tables than one, or no other input is left.
pub fn made_table(inputs: &mut Vec<PathBuf>, opening: &mut Opening) -> Result<Option<Table>> {
    let is_sql = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "sql");
    let Some(path) = inputs.iter().position(is_sql).map(|at| inputs.remove(at)) else {
        return Ok(None);
    };
    if inputs.is_empty() || inputs.iter().any(is_sql) {
        return Err(Error::mistake("a file of SQL makes the table for the rows of other inputs")
            .hint("run SQL alone with `sqlite3 DATABASE < FILE.sql`"));
    }
    let sql = read_text("the file of SQL", &path, MOST_BYTES_OF_SQL)?;
    let name = load::table_of_sql(&opening.library, &path, &sql)?;
    // An unload wrote the rows too, and its quotes have their meaning.
    opening.csv.is_quote_known |= sql.starts_with(load::VALUES_LINE);
    Ok(Some(Table { sql: Some(sql), ..Table::new(name) }))
}

/// Returns the name of the table for inputs whose rows name one.
///
/// # Errors
/// They name none; or an input cannot be read.
pub fn table_name(inputs: &[PathBuf], opening: &Opening) -> Result<String> {
    load::table_name(inputs, opening)?.ok_or_else(|| {
        let is_plain = |path: &Path| !path.to_string_lossy().contains(['*', '?', '[']);
        let is_missing = |path: &Path| !path.exists() && is_plain(path) && path != Path::new("-");
        let is_unlikely = |path: &&PathBuf| is_database(path) || is_missing(path);
        let hint = match inputs.iter().find(is_unlikely).filter(|_| inputs.len() > 1) {
            Some(input) => format!(
                "name it with --table NAME; the last argument is the database, so rows are read from {} here",
                input.display()
            ),
            None => "name it with --table NAME".to_owned(),
        };
        Error::mistake("several files, folders, patterns, queries and pipes do not name the table")
            .hint(hint)
    })
}

/// Returns what helps with a row that is wrong.
fn row_hint(fault: &Fault) -> String {
    let remedy = match fault {
        Fault::Encoding { is_mixed: true, .. } => {
            "the input mixes encodings: --encoding would change its other rows; correct the row"
        }
        Fault::Encoding { .. } => "set the encoding with --encoding, such as windows-1252",
        Fault::UnknownKey { .. } => "declare such keys with --type KEY=TYPE",
        Fault::Fields { has_blanks: true, .. } => {
            return "remove blanks around fields and quotes with --trim; nothing was loaded"
                .to_owned();
        }
        Fault::Fields { is_comment: true, .. } => "leave such lines out with --comment '#'",
        Fault::Fields { found, expected, .. } if found < expected => {
            "correct the row, or fill short rows with --lenient; if the last lines are not rows, drop them with --skip-lines 0,LINES"
        }
        Fault::Fields { found, expected, .. } if *found == expected + 1 => {
            "correct the row, name the quote with --quote, skip lines before the header with --skip-lines LINES, or a header that lacks a name with --skip-lines 1 --header 0, or load its further value with --lenient"
        }
        Fault::Fields { .. } => {
            "correct the row, name the quote with --quote, skip lines before the header with --skip-lines LINES, or load its further values with --lenient"
        }
        Fault::Quote { is_lenient: true, .. } => {
            return "read quotes as they are with --quote none; nothing was loaded".to_owned();
        }
        Fault::Quote { is_tab: true, .. } => {
            let remedy =
                "read quotes as they are with --quote none, or by the rules with --quote '\"'";
            return format!("{remedy}; nothing was loaded");
        }
        Fault::Quote { .. } => {
            "read quotes as they are with --lenient, or with --quote none if they have no meaning"
        }
        Fault::Type(..) | Fault::Unseen => {
            return "set the type of the column with --type COLUMN=TYPE, such as TEXT; nothing was loaded".to_owned();
        }
        Fault::Refused(words) if words.starts_with("UNIQUE ") => return TAKEN.to_owned(),
        _ => "correct the row",
    };
    format!("{remedy}, or skip such rows with --on-error skip; nothing was loaded")
}

const TAKEN: &str = "skip such rows with --on-error skip, ignore them with --ignore, or update the rows with --upsert; nothing was loaded";

const FULL: &str = "make room on the disk, or choose a path on another one; nothing was loaded";

/// Returns what helps with an error of SQLite's.
fn hint_of_sqlite(error: &EngineError) -> Option<&'static str> {
    let sqlite = error.as_sqlite()?;
    Some(match sqlite.primary() {
        ffi::SQLITE_BUSY => "another program is using the database; try again later",
        ffi::SQLITE_FULL => FULL,
        ffi::SQLITE_NOTADB => "the last argument is the database: pragmark load INPUT DATABASE",
        ffi::SQLITE_READONLY => {
            "make the file and its directory writable (SQLite creates a journal there); nothing was loaded"
        }
        _ if sqlite.message().ends_with("because it is a view") => {
            "load into the table of the view, or give it an INSTEAD OF trigger"
        }
        _ => return None,
    })
}

/// Returns what to do with texts in a column that is declared as one of numbers.
fn hint_for_texts(value: &str, form: Option<NumberForm>) -> String {
    match form {
        Some(form) => format!("read such numbers with --number {form}; nothing was loaded"),
        None if load::is_truth_value(value) => {
            "read them as 1 and 0 with --type COLUMN=BOOLEAN; nothing was loaded".to_owned()
        }
        None => "keep the texts with --type COLUMN=TEXT; nothing was loaded".to_owned(),
    }
}

/// Returns what helps with an error, unless its own words say it.
fn hint(error: &LoadError) -> Option<String> {
    let hint = match error {
        LoadError::Row { fault, .. } => return Some(row_hint(fault)),
        LoadError::HeaderEncoding(..) => "set the encoding with --encoding, such as windows-1252",
        LoadError::WideEncoding(_, "UTF-32") => "convert it to UTF-8 first, such as with iconv",
        LoadError::WideEncoding(_, "UTF-16BE") => "read it with --encoding utf-16be",
        LoadError::WideEncoding(..) => "read it with --encoding utf-16le",
        LoadError::SeveralTables(..) => {
            "choose one with --rows NAME, or a query with --rows 'SELECT …'"
        }
        LoadError::SameFile(_) => {
            "choose another file; within one database, INSERT … SELECT copies rows"
        }
        LoadError::TooManyErrors(..) => {
            "the skipped rows are in the file of rejected rows; nothing was loaded"
        }
        LoadError::NothingLoaded { .. } => {
            "check delimiter, header and types; the rows are in the file of rejected rows; nothing was loaded"
        }
        LoadError::FileExists(_) => "choose another file, or replace it with --replace",
        LoadError::TableExists(_) => {
            "add to it with --append, recreate it with --replace, or name another with --table"
        }
        LoadError::NoTable(_) => "omit --append to create it",
        LoadError::NoColumn(_) => {
            "use the table's column names in the header, or add the columns that it lacks with --lenient=columns"
        }
        LoadError::OtherColumns(..) => {
            "load inputs with different columns with --lenient=columns, or some columns of all with --select"
        }
        LoadError::TooManyColumns(_) => {
            "load some of them with --select a,b, or make a row of each value with --long and the columns that stay"
        }
        LoadError::LeftoverJournal(_) => {
            "restore its database, or delete the journal if it is not needed"
        }
        LoadError::Strategy(..) => "omit --strategy to use the fastest one possible",
        LoadError::Duplicate { .. } => TAKEN,
        LoadError::NoNumbers { value, form, .. } => return Some(hint_for_texts(value, *form)),
        LoadError::AmbiguousDates(..) => {
            "choose with --dates=day-first or --dates=month-first, or keep the column with --type COLUMN=TEXT; nothing was loaded"
        }
        LoadError::Type(..) => "convert the column before loading",
        LoadError::Read(_, source) if source.kind() == io::ErrorKind::InvalidInput => return None,
        LoadError::Read(..) => "it may be damaged or truncated; nothing was loaded",
        LoadError::Write(_, source) | LoadError::Spill(_, source)
            if source.kind() == io::ErrorKind::StorageFull =>
        {
            FULL
        }
        LoadError::Write(_, source) if source.kind() == io::ErrorKind::NotFound => {
            "make its folder first, or choose another one"
        }
        LoadError::Database(_, source) => return hint_of_sqlite(source).map(str::to_owned),
        _ => return None,
    };
    Some(hint.to_owned())
}

impl From<LoadError> for Error {
    fn from(error: LoadError) -> Error {
        let hint = hint(&error);
        let failure = match error {
            LoadError::Definition(_) | LoadError::SameFile(_) | LoadError::FileExists(_) => {
                Error::mistake(error)
            }
            error => Error::unusable(error),
        };
        failure.hint_if(hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_come_with_what_helps() {
        let row = |fault| LoadError::Row {
            location: load::Locations::new("a.csv", load::Unit::Row).find(1),
            column: None,
            fault,
        };
        let fields = |found, has_blanks, is_comment| Fault::Fields {
            found,
            expected: 3,
            has_blanks,
            is_comment,
        };
        let quote = |is_tab, is_lenient| Fault::Quote { reason: "", is_tab, is_lenient };
        let full = LoadError::Write("a.db".into(), io::ErrorKind::StorageFull.into());
        let spilled = LoadError::Spill("/data".into(), io::ErrorKind::StorageFull.into());
        for (error, part) in [
            (row(Fault::Encoding { expected: "UTF-8", is_mixed: false }), "set the encoding"),
            (row(Fault::Encoding { expected: "UTF-8", is_mixed: true }), "mixes encodings"),
            (row(Fault::UnknownKey { key: "b".to_owned(), is_reread: false }), "--type KEY=TYPE"),
            (row(fields(1, false, false)), "--skip-lines"),
            (row(fields(1, false, true)), "--comment"),
            (row(fields(4, false, false)), "--header 0"),
            (row(fields(5, false, false)), "--quote"),
            (row(fields(4, true, false)), "--trim"),
            (row(quote(true, false)), "--quote none"),
            (row(quote(false, false)), "--lenient"),
            (row(quote(false, true)), "as they are with --quote none"),
            (row(Fault::Refused("CHECK".to_owned())), "--on-error skip"),
            (row(Fault::Refused("UNIQUE constraint failed: t.a".to_owned())), "--upsert"),
            (full, "make room"),
            (spilled, "make room"),
            (LoadError::Write("a/b.csv".into(), io::ErrorKind::NotFound.into()), "make its folder"),
        ] {
            let found = hint(&error).unwrap();
            assert!(found.contains(part), "{error}: {found}");
        }
        assert_eq!(hint(&LoadError::Interrupted), None);
    }
}
