//! A copy of the database, and the statements to look at.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use engine::schema::Schema;
use engine::vfs::{Event, FileKind, ObservedVfs, Observer, Operation, Overlay};
use engine::{Connection, EngineError, Library, OpenFlags, Source, Statement, Value};
use script::effect::quoted;

use crate::implied::keys;

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
    vfs: ObservedVfs<Pages>,
    path: PathBuf,
    extensions: Vec<PathBuf>,
    /// Whether foreign keys are checked: they are declared, and SQLite understands them all.
    has_keys: bool,
    /// Its tables and indexes.
    pub schema: Schema,
    pub(crate) size: Size,
}

/// The size of a database and of its pages in bytes.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) bytes: i64,
    pub(crate) page: i64,
}

/// Parts of its application that a database needs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Needs<'a> {
    /// Extensions that each connection loads.
    pub extensions: &'a [PathBuf],
    /// Stand-ins for collations and functions of its application, a line each.
    pub stand_ins: &'a str,
}

impl Subject {
    /// Opens a copy, which is changed, or the changes of an original that is not.
    ///
    /// # Errors
    /// The copy is not a database, an extension cannot be loaded, or a stand-in is invalid.
    pub fn open(
        copy: &Path,
        original: Option<Arc<Overlay>>,
        needs: Needs<'_>,
    ) -> Result<Subject, EngineError> {
        Subject::with_engine(&Source::Explaining, copy, original, needs)
    }

    /// As [`Subject::open`], with an engine that may count less.
    ///
    /// # Errors
    /// As [`Subject::open`], and if the engine cannot be loaded.
    pub fn with_engine(
        engine: &Source,
        copy: &Path,
        original: Option<Arc<Overlay>>,
        needs: Needs<'_>,
    ) -> Result<Subject, EngineError> {
        let library = Arc::new(Library::load(engine)?);
        library.stand_in(needs.stand_ins)?;
        let observer = Arc::new(Pages { reads: Mutex::default(), original });
        let vfs = ObservedVfs::register(&library, None, "pragmark-pages", observer)?;
        let mut subject = Subject {
            library,
            vfs,
            path: copy.to_owned(),
            extensions: needs.extensions.to_owned(),
            has_keys: false,
            schema: Schema::default(),
            size: Size { bytes: 1, page: 1 },
        };
        let connection = subject.connect()?;
        subject.schema = Schema::read(&connection)?;
        let page = connection.query_i64("PRAGMA page_size")?.max(1);
        let pages = connection.query_i64("PRAGMA page_count")?.max(1);
        subject.size = Size { bytes: pages * page, page };
        subject.has_keys = keys(&subject.schema).next().is_some();
        subject.has_keys &= subject.understands_keys()?;
        Ok(subject)
    }

    /// Returns whether no foreign key keeps a table from being written, as one without its parent does.
    fn understands_keys(&self) -> Result<bool, EngineError> {
        let connection = self.connect()?;
        let concerned = keys(&self.schema).flat_map(|(child, key)| [child, &key.parent]);
        let mut deletes = concerned.map(|table| format!("DELETE FROM {}", quoted(table)));
        Ok(deletes.all(|delete| connection.prepare(&delete).is_ok()))
    }

    /// Returns a new connection, whose cache is empty.
    ///
    /// # Errors
    /// As [`Subject::open`].
    pub fn connect(&self) -> Result<Connection, EngineError> {
        let flags = OpenFlags::default();
        let connection = Connection::open(&self.library, &self.path, flags, Some(self.vfs.name()))?;
        if self.vfs.observer().original.is_some() {
            // Pages of the original have no place in memory here.
            connection.execute("PRAGMA mmap_size = 0")?;
        }
        if self.has_keys {
            connection.execute("PRAGMA foreign_keys = ON")?;
        }
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
        let mut reads = self.vfs.observer().reads.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *reads)
    }
}

/// The pages of the database file: the places that are read, and the original of pages that were not written.
struct Pages {
    reads: Mutex<BTreeSet<i64>>,
    original: Option<Arc<Overlay>>,
}

impl Observer for Pages {
    fn observe(&self, event: &Event<'_>) {
        if event.kind != FileKind::Database {
            return;
        }
        if let Operation::Read { offset, .. } | Operation::Fetch { offset, .. } = event.operation {
            self.reads.lock().unwrap_or_else(PoisonError::into_inner).insert(offset);
        }
        if let Some(original) = &self.original {
            original.note(&event.operation);
        }
    }

    fn syncs(&self) -> bool {
        false
    }

    fn read(&self, kind: FileKind, offset: i64, bytes: &mut [u8]) -> io::Result<bool> {
        match &self.original {
            Some(original) if kind == FileKind::Database => original.read(offset, bytes),
            _ => Ok(false),
        }
    }
}

/// Gives the parameters of a statement their values, in the order of their numbers.
pub(crate) fn bind(statement: &mut Statement<'_, '_>, values: &[Value]) -> Result<(), EngineError> {
    (1..).zip(values).try_for_each(|(index, value)| statement.bind_value(index, value))
}
