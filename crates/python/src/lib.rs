//! The loader as a module for Python: tables of any library with the Arrow PyCapsule interface
//! (<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>) into a table of a SQLite
//! database.
//!
//! The public functions are written in Python, with types (`packaging/python/module`); they call this module.
//! Unsafe code is limited to taking over a stream, whose interface is C's.

mod open_files;
mod options;
mod stream;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use engine::{Library, Source as EngineSource};
use load::{BatchSource, Fault, LoadError, Summary};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyTypeError};
use pyo3::prelude::*;

use open_files::{Claim, Refusal};
use options::Options;

create_exception!(
    pragmark,
    Error,
    PyException,
    "The rows cannot be loaded; the database is as it was."
);

/// The result of a load.
#[pyclass(frozen, get_all, name = "Summary", module = "pragmark")]
struct Loaded {
    /// Rows added; with `upsert`, rows added or updated.
    rows: u64,
    /// Rows left out because their keys were known.
    ignored: u64,
    /// Rows skipped because they could not be loaded.
    skipped: u64,
    /// `pages`, `arrays`, or `pages, arrays`.
    strategy: String,
    /// Why not all rows were written as pages.
    reason: Option<String>,
    /// Full-text indexes that lack the new rows.
    stale: Vec<String>,
    /// From the beginning to the end, syncing included.
    seconds: f64,
}

#[pymethods]
impl Loaded {
    fn __repr__(&self) -> String {
        format!(
            "Summary(rows={}, ignored={}, skipped={}, strategy='{}', seconds={:.3})",
            self.rows, self.ignored, self.skipped, self.strategy, self.seconds
        )
    }
}

impl From<Summary> for Loaded {
    fn from(summary: Summary) -> Loaded {
        let strategy = match (summary.rows_by_pages > 0, summary.why_arrays.is_some()) {
            (true, true) => "pages, arrays",
            (false, true) => "arrays",
            _ => "pages",
        };
        Loaded {
            rows: summary.rows,
            ignored: summary.ignored,
            skipped: summary.rejected,
            strategy: strategy.to_owned(),
            reason: summary.why_arrays,
            stale: summary.stale,
            seconds: summary.time.as_secs_f64(),
        }
    }
}

/// SQLite, which is loaded once.
fn library() -> PyResult<Arc<Library>> {
    static LIBRARY: OnceLock<Arc<Library>> = OnceLock::new();
    if let Some(library) = LIBRARY.get() {
        return Ok(Arc::clone(library));
    }
    let library = Library::load(&EngineSource::Embedded);
    let library = Arc::new(library.map_err(|error| Error::new_err(error.to_string()))?);
    Ok(Arc::clone(LIBRARY.get_or_init(|| library)))
}

/// Loads every row of `data` into a table.
#[pyfunction(name = "load")]
fn load_data(
    py: Python<'_>,
    path: PathBuf,
    table: &str,
    data: &Bound<'_, PyAny>,
    options: Options,
) -> PyResult<Loaded> {
    let library = library()?;
    let request = options.request(&path, table)?;
    let reader = stream::reader(data)?;
    // After the export, which may open files for the stream.
    let _claim =
        Claim::of(&request.database).map_err(|refusal| refused(&request.database, refusal))?;
    let schema = arrow_array::RecordBatchReader::schema(&reader);
    let mut source = BatchSource::reading("data", &schema, options.decimals()?, reader);
    let mut raised = None;
    let loaded = py.detach(|| {
        load::load(&library, &mut source, &request, &mut |_| {
            raised = Python::attach(|py| py.check_signals()).err();
            raised.is_none()
        })
    });
    match loaded {
        Ok(summary) => Ok(summary.into()),
        Err(LoadError::Interrupted) => {
            Err(raised.unwrap_or_else(|| PyKeyboardInterrupt::new_err(())))
        }
        Err(error) => Err(failure(&error)),
    }
}

/// Returns the error of a database that this process has open.
fn refused(database: &Path, refusal: Refusal) -> PyErr {
    let database = database.display();
    Error::new_err(match refusal {
        Refusal::Loading => format!(
            "another thread loads into {database}; wait until it has ended, or load one table after the other"
        ),
        Refusal::Open(descriptor) => format!(
            "{database} is open in this process ({descriptor}); close that connection first, because two libraries of \
             SQLite in one process do not see each other's locks"
        ),
    })
}

/// The advice for a row whose key is known.
const KNOWN: &str =
    "; leave such rows out with ignore=True, or update the rows of the table with upsert=[...]";

/// Returns the error for Python, with advice.
fn failure(error: &LoadError) -> PyErr {
    let hint = match error {
        LoadError::TableExists(_) => {
            "; add to it with append=True, or recreate it with replace=True"
        }
        LoadError::NoTable(_) => "; omit append=True to create it",
        LoadError::Type(..) => {
            return PyTypeError::new_err(format!("{error}; convert the column before loading"));
        }
        LoadError::Duplicate { .. } | LoadError::DuplicateKey { .. } => KNOWN,
        LoadError::Row { fault: Fault::Refused(reason), .. } if reason.contains("UNIQUE") => KNOWN,
        _ => "",
    };
    Error::new_err(format!("{error}{hint}"))
}

/// Returns the part of the module `pragmark` that is not written in Python.
#[pymodule]
fn _pragmark(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("Error", module.py().get_type::<Error>())?;
    module.add_class::<Loaded>()?;
    module.add_function(wrap_pyfunction!(load_data, module)?)
}
