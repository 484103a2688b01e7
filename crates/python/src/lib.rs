//! The loader as a module for Python: tables of any library with the Arrow PyCapsule interface
//! (<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>) into a table of a SQLite
//! database, and rows of a database into files.
//!
//! The public functions are written in Python, with types (`packaging/python/module`); they call this module.
//! Unsafe code is limited to taking over a stream, whose interface is C's.

mod open_files;
mod options;
mod stream;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use engine::{Library, Source as EngineSource};
use load::{BatchSource, Blobs, Decimals, Fault, LoadError, Selection, Summary, Unload};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyTypeError, PyValueError};
use pyo3::prelude::*;

use open_files::{Claim, Refusal};
use options::Options;

create_exception!(
    pragmark,
    Error,
    PyException,
    "The rows cannot be loaded; the database is as it was."
);

/// The result of a load, as a dictionary.
#[derive(IntoPyObject)]
struct Loaded {
    rows: u64,
    ignored: u64,
    skipped: u64,
    strategy: &'static str,
    reason: Option<String>,
    stale: Vec<String>,
    notices: Vec<String>,
    seconds: f64,
}

impl Loaded {
    fn new(summary: Summary, decimals: Decimals) -> Loaded {
        let strategy = match (summary.rows_by_pages > 0, summary.why_arrays.is_some()) {
            (true, true) => "pages, arrays",
            (false, true) => "arrays",
            _ => "pages",
        };
        Loaded {
            rows: summary.rows,
            ignored: summary.ignored,
            skipped: summary.rejected,
            strategy,
            notices: summary.notices(decimals),
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
    let _claim = claim(&request.database)?;
    let schema = arrow_array::RecordBatchReader::schema(&reader);
    let decimals = options.decimals()?;
    let mut source = BatchSource::reading("data", &schema, decimals, reader);
    let mut raised = None;
    let loaded = py.detach(|| {
        load::load(&library, &mut source, &request, &mut |_| {
            raised = Python::attach(|py| py.check_signals()).err();
            raised.is_none()
        })
    });
    match loaded {
        Ok(summary) => Ok(Loaded::new(summary, decimals)),
        Err(error) => Err(failure(&error, raised)),
    }
}

/// The options of an unload: the items of a dictionary, which must be complete.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct UnloadOptions {
    rows: Option<String>,
    format: Option<String>,
    split: Option<String>,
    blobs: String,
    replace: bool,
}

/// Writes rows of a database into files; returns their number and the files.
#[pyfunction(name = "unload")]
fn unload_data(
    py: Python<'_>,
    path: PathBuf,
    output: PathBuf,
    options: UnloadOptions,
) -> PyResult<(u64, Vec<PathBuf>)> {
    let UnloadOptions { rows, format, split, blobs, replace } = options;
    let wrong = |option: &str, reason: String| PyValueError::new_err(format!("{option} {reason}"));
    let name = output.file_name().unwrap_or_default().to_string_lossy();
    let form =
        format.as_deref().unwrap_or(&name).parse().map_err(|reason| wrong("format", reason))?;
    let split =
        split.map(|split| split.parse()).transpose().map_err(|reason| wrong("split", reason))?;
    let selection = rows.as_deref().map_or(Selection::OnlyTable, Selection::of);
    let blobs =
        options::one_of("blobs", &blobs, &[("hex", Blobs::Hex), ("base64", Blobs::Base64)])?;
    let (database, output) = (path, Some(output));
    let schema = None;
    let request = Unload { database, selection, output, schema, replace, form, split, blobs };
    let _claim = claim(&request.database)?;
    let (library, mut raised) = (library()?, None);
    let unloaded = py.detach(|| {
        load::unload(&library, &request, &mut |_| {
            raised = Python::attach(|py| py.check_signals()).err();
            raised.is_none()
        })
    });
    let unloaded = unloaded.map_err(|error| failure(&error, raised))?;
    Ok((unloaded.rows, unloaded.files))
}

/// Claims a database that nothing else in this process has open.
fn claim(database: &Path) -> PyResult<Claim> {
    Claim::of(database).map_err(|refusal| refused(database, refusal))
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

/// Returns the error for Python, with advice; after an interruption the one that was raised.
fn failure(error: &LoadError, raised: Option<PyErr>) -> PyErr {
    let hint = match error {
        LoadError::Interrupted => {
            return raised.unwrap_or_else(|| PyKeyboardInterrupt::new_err(()));
        }
        LoadError::FileExists(_) => "; choose another file, or replace it with replace=True",
        LoadError::SeveralTables(..) => "; choose one with rows='NAME', or a query",
        LoadError::TableExists(_) => {
            "; add to it with append=True, or recreate it with replace=True"
        }
        LoadError::NoTable(_) => "; omit append=True to create it",
        LoadError::Type(..) => {
            return PyTypeError::new_err(format!("{error}; convert the column before loading"));
        }
        LoadError::Duplicate { .. } => KNOWN,
        LoadError::Row { fault: Fault::Refused(reason), .. } if reason.contains("UNIQUE") => KNOWN,
        _ => "",
    };
    Error::new_err(format!("{error}{hint}"))
}

/// Returns the part of the module `pragmark` that is not written in Python.
#[pymodule]
fn _pragmark(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("Error", module.py().get_type::<Error>())?;
    module.add_function(wrap_pyfunction!(load_data, module)?)?;
    module.add_function(wrap_pyfunction!(unload_data, module)?)
}
