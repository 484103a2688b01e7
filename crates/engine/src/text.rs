//! Texts on their way to and from C.

use crate::error::{EngineError, Result};
use std::ffi::{CStr, CString, c_char};

/// Names of texts in errors.
pub(crate) const SQL: &str = "SQL";
pub(crate) const VFS_NAME: &str = "name of the VFS";

/// Returns the text as a C string; `what` names it in the error.
pub(crate) fn c_string(text: impl Into<Vec<u8>>, what: &'static str) -> Result<CString> {
    CString::new(text).map_err(|_| EngineError::Usage(format!("the {what} contains a NUL byte")))
}

/// Returns a copy of a C string; `None` for a null pointer.
///
/// # Safety
/// `text` must be null or a valid C string.
pub(crate) unsafe fn copied(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null, hence a C string by the caller's promise.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}
