//! Arrow streams that Python libraries export.

use std::ffi::CStr;

use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// The name that the interface gives such capsules.
const STREAM: &CStr = c"arrow_array_stream";

/// Returns the batches of an object with the method `__arrow_c_stream__`.
pub(crate) fn reader(data: &Bound<'_, PyAny>) -> PyResult<ArrowArrayStreamReader> {
    let Ok(export) = data.getattr("__arrow_c_stream__") else {
        let name = data.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "data of the type {name} has no method __arrow_c_stream__; tables of pyarrow, polars, pandas (2.2 and \
             newer) and relations of DuckDB have it"
        )));
    };
    let capsule = export.call0()?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(STREAM))?;
    let stream = pointer.cast::<FFI_ArrowArrayStream>().as_ptr();
    // SAFETY: a capsule of this name holds a valid stream, or one that was released, which stays with the capsule
    // as long as that lives. It is taken over once: what is left behind is marked as released.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(stream) };
    ArrowArrayStreamReader::try_new(stream).map_err(|error| {
        PyValueError::new_err(format!("data cannot be read as an Arrow stream: {error}"))
    })
}
