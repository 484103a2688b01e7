//! A copy of the database, and the statements to look at.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use engine::vfs::{Event, FileKind, ObservedVfs, Observer, Operation};
use engine::{Connection, EngineError, Library, OpenFlags, Source, Statement, Value};

use crate::schema::Schema;

/// A statement of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// Its name.
    pub name: String,
    /// Its text.
    pub sql: String,
    /// How often it is executed, against other statements.
    pub weight: f64,
    /// Values of its parameters, one list for each execution; at least one list, which is empty without parameters.
    pub values: Vec<Vec<Value>>,
}

/// A copy of a database that statements are tried on.
pub struct Subject {
    library: Arc<Library>,
    vfs: ObservedVfs<PageReads>,
    path: PathBuf,
    extensions: Vec<PathBuf>,
    /// Its tables and indexes.
    pub schema: Schema,
}

impl Subject {
    /// Opens a copy, which is changed. Each connection loads these extensions.
    ///
    /// # Errors
    /// The copy is not a database, or an extension cannot be loaded.
    pub fn open(copy: &Path, extensions: &[PathBuf]) -> Result<Subject, EngineError> {
        Subject::with_engine(&Source::Explaining, copy, extensions)
    }

    /// As [`Subject::open`], with an engine that may count less.
    ///
    /// # Errors
    /// As [`Subject::open`], and if the engine cannot be loaded.
    pub fn with_engine(
        engine: &Source,
        copy: &Path,
        extensions: &[PathBuf],
    ) -> Result<Subject, EngineError> {
        let library = Arc::new(Library::load(engine)?);
        let observer = Arc::new(PageReads::default());
        let vfs = ObservedVfs::register(&library, None, "pragmark-pages", observer)?;
        let mut subject = Subject {
            library,
            vfs,
            path: copy.to_owned(),
            extensions: extensions.to_owned(),
            schema: Schema::default(),
        };
        subject.schema = Schema::read(&subject.connect()?)?;
        Ok(subject)
    }

    /// Returns a new connection, whose cache is empty.
    ///
    /// # Errors
    /// As [`Subject::open`].
    pub fn connect(&self) -> Result<Connection, EngineError> {
        let flags = OpenFlags::default();
        let connection = Connection::open(&self.library, &self.path, flags, Some(self.vfs.name()))?;
        for extension in &self.extensions {
            connection.load_extension(extension)?;
        }
        Ok(connection)
    }

    /// Returns the engine.
    pub fn library(&self) -> &Arc<Library> {
        &self.library
    }

    /// Returns the places of the database file that were read since the last call.
    pub(crate) fn page_reads(&self) -> BTreeSet<i64> {
        let mut reads = self.vfs.observer().0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *reads)
    }
}

/// Notes the places of the database file that are read.
#[derive(Default)]
struct PageReads(Mutex<BTreeSet<i64>>);

impl Observer for PageReads {
    fn observe(&self, event: &Event<'_>) {
        let (Operation::Read { offset, .. } | Operation::Fetch { offset, .. }) = event.operation
        else {
            return;
        };
        if event.kind == FileKind::Database {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(offset);
        }
    }

    fn syncs(&self) -> bool {
        false
    }
}

/// Gives the parameters of a statement their values, in the order of their numbers.
pub(crate) fn bind(statement: &mut Statement<'_, '_>, values: &[Value]) -> Result<(), EngineError> {
    (1..).zip(values).try_for_each(|(index, value)| statement.bind_value(index, value))
}
