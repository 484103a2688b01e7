//! A preview of a load: the table, the types of its columns and the values that decided them, the strategy, and
//! the first rows. Nothing is written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::{Columns, Connection, Library, OpenFlags, Value};

use crate::cells::Rows;
use crate::database::{check_page_size, refuse_own_input, set_foreign_keys};
use crate::error::{LoadError, Result};
use crate::loader::{check_request, check_types, read_options};
use crate::pages::{Layout, NoLayout, REFERRED_TO, refused};
use crate::request::{Mode, Request};
use crate::schema::{object, statements};
use crate::source::{Deciding, Note, ReadOptions, Seen, Source, Typing};
use crate::target::{Target, TargetColumn, is_referred_to, make_indexes};

/// A preview of a load.
#[derive(Debug, Clone, PartialEq)]
pub struct Outline {
    /// The statements that would create the table and its indexes, or did create them if rows would be added.
    pub sql: Vec<String>,
    /// The columns of the input.
    pub columns: Vec<OutlinedColumn>,
    /// Why not all rows would be written as pages, judging by the table; rows may add reasons.
    pub why_arrays: Option<String>,
    /// The first rows, with their values as they are read.
    pub rows: Vec<Vec<Value>>,
    /// The findings in the input.
    pub notes: Vec<Note>,
}

/// A column of the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlinedColumn {
    /// Its name.
    pub name: String,
    /// Its declared type in the table.
    pub declared: String,
    /// The value that decided the type; `None` if the request, the table or the input declares the type.
    pub decided: Option<Deciding>,
}

/// Previews a load, with this number of first rows.
///
/// # Errors
/// The errors of [`load`](crate::load) that show before the rows.
pub fn outline(
    library: &Arc<Library>,
    source: &mut dyn Source,
    request: &Request,
    rows: usize,
) -> Result<Outline> {
    let is_reopenable = source.reopen().is_some();
    let request = &request.resolved()?.expecting_unique(is_reopenable);
    refuse_own_input(&*source, request)?;
    check_types(source.info(), request)?;
    let outlined = Preview { library, source, request }.examine(rows);
    outlined.map_err(|error| error.in_database(&request.database))
}

/// The table, its SQL, and where its pages would grow.
type Examined = (Target, Vec<String>, Result<Layout, NoLayout>);

/// A load that is previewed.
struct Preview<'a> {
    library: &'a Arc<Library>,
    source: &'a mut dyn Source,
    request: &'a Request,
}

impl Preview<'_> {
    fn examine(&mut self, rows: usize) -> Result<Outline> {
        let request = self.request;
        let existing = self.existing()?;
        if let Some(connection) = &existing {
            check_page_size(connection, request)?;
        }
        let adds_to = existing.as_ref().filter(|_| request.mode == Mode::Append);
        let (target, sql, layout) = match adds_to {
            Some(connection) => self.of_existing(connection)?,
            None => self.of_new(existing.as_ref())?,
        };
        let why_arrays = match layout {
            Ok(_) => None,
            Err(NoLayout::Refused(why)) => Some(why),
            Err(NoLayout::Failed(error)) => return Err(error),
        };
        let rows = self.first_rows(&target, rows)?;
        // Only a load can count the texts among numbers: more or fewer rows are read ahead here.
        let notes = self.source.info().notes.all().into_iter();
        let notes = notes.filter(|note| !matches!(note, Note::Texts { .. }));
        Ok(Outline {
            sql,
            columns: self.columns(&target),
            why_arrays,
            rows,
            notes: notes.collect(),
        })
    }

    /// Returns the database, if it is there, for reading.
    fn existing(&self) -> Result<Option<Connection>> {
        let (library, request) = (self.library, self.request);
        if !request.database.exists() {
            return Ok(None);
        }
        let vfs = request.vfs.as_deref();
        let connection = Connection::open(library, &request.database, OpenFlags::READ_ONLY, vfs)?;
        set_foreign_keys(&connection, request)?;
        connection.execute("BEGIN")?;
        Ok(Some(connection))
    }

    /// Examines a table to which rows would be added.
    fn of_existing(&self, connection: &Connection) -> Result<Examined> {
        let (library, request, info) = (self.library, self.request, self.source.info());
        let (target, sql) = if request.adds_columns {
            // The database is open for reading only.
            let memory = Connection::in_memory(library)?;
            for sql in statements(connection, &request.table.name)? {
                memory.execute(&sql)?;
            }
            let target = Target::prepare(&memory, request, info)?;
            (target, statements(&memory, &request.table.name)?)
        } else {
            let target = Target::prepare(connection, request, info)?;
            (target, statements(connection, &request.table.name)?)
        };
        let layout = check_request(request, &target)
            .and_then(|()| Layout::of_existing(connection, &target))
            .and_then(|layout| layout.checked(request));
        Ok((target, sql, layout))
    }

    /// Examines a table that would be created, by creating it in memory.
    fn of_new(&self, existing: Option<&Connection>) -> Result<Examined> {
        let (library, request) = (self.library, self.request);
        let name = &request.table.name;
        if let (Mode::Create, Some(connection)) = (request.mode, existing)
            && object(connection, name)?.is_some()
        {
            return Err(LoadError::TableExists(name.clone()));
        }
        let connection = Connection::in_memory(library)?;
        let mut made = request.clone();
        if made.mode == Mode::Replace {
            made.mode = Mode::Create;
        }
        let target = Target::prepare(&connection, &made, self.source.info())?;
        let later = |index: &_| !request.is_made_before(index);
        make_indexes(&connection, &request.table, later)?;
        let layout = check_request(request, &target)
            .and_then(|()| existing.map_or(Ok(()), |existing| check_existing(existing, request)))
            .and_then(|()| Layout::of_new(&connection, &target, request))
            .and_then(|layout| layout.checked(request));
        let mut sql = statements(&connection, name)?;
        if let Some(full_text) = &request.table.full_text {
            full_text.make(&connection, name, &mut || Ok(()))?;
            sql.extend(statements(&connection, &full_text.name(name))?);
        }
        Ok((target, sql, layout))
    }

    fn columns(&self, target: &Target) -> Vec<OutlinedColumn> {
        let of = |(column, seen): (&TargetColumn, &Seen)| OutlinedColumn {
            name: column.name.clone(),
            declared: column.declared.clone(),
            decided: seen.decided.clone().filter(|_| !self.request.declares(&column.name)),
        };
        target.columns.iter().zip(&self.source.info().seen).map(of).collect()
    }

    fn first_rows(&mut self, target: &Target, most: usize) -> Result<Vec<Vec<Value>>> {
        let stop = Arc::new(AtomicBool::new(false));
        let ReadOptions { mut columns, .. } = read_options(self.source, self.request, target);
        for column in &mut columns {
            // Nothing is read again here.
            if column.typing == Typing::Unseen {
                column.typing = Typing::Declared;
            }
        }
        self.source.begin(ReadOptions {
            columns,
            stop: Arc::clone(&stop),
            ..ReadOptions::default()
        });
        let mut found = Vec::new();
        while found.len() < most
            && let Some(batch) = self.source.next_converted()?
        {
            let rows = Rows::of(&batch);
            let columns = target.columns.len();
            let row = |row| (0..columns).map(|column| rows.value(row, column).to_value()).collect();
            found.extend((0..rows.rows()).map(row));
        }
        stop.store(true, Ordering::Relaxed);
        found.truncate(most);
        Ok(found)
    }
}

/// Refuses an existing database that the page writer cannot change.
fn check_existing(connection: &Connection, request: &Request) -> Result<(), NoLayout> {
    let name = &request.table.name;
    let replaces = object(connection, name)?.is_some();
    if replaces && request.foreign_keys && is_referred_to(connection, name)? {
        return refused(REFERRED_TO);
    }
    Layout::check_existing(connection, replaces)
}
