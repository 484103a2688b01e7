//! SQLite as an extension sees it: a table of functions that the library hands over
//! (`sqlite3_api_routines` in `sqlite3ext.h`), whose order never changes.

use std::ffi::{c_char, c_int, c_void};

/// A database connection.
#[repr(C)]
#[allow(non_camel_case_types)]
pub struct sqlite3 {
    _private: [u8; 0],
}
/// The call that requests a column.
#[repr(C)]
pub(crate) struct Context {
    _private: [u8; 0],
}
/// A value given to the function.
#[repr(C)]
pub(crate) struct Value {
    _private: [u8; 0],
}

/// The table of functions; only some of its entries are known here.
#[repr(C)]
pub struct Routines {
    _private: [u8; 0],
}

pub(crate) const OK: c_int = 0;
pub(crate) const ERROR: c_int = 1;
pub(crate) const NO_MEMORY: c_int = 7;
pub(crate) const CONSTRAINT: c_int = 19;
pub(crate) const CONSTRAINT_EQUAL: u8 = 2;
pub(crate) const UTF_8: u8 = 1;
/// Text and blobs stay where they are as long as they are bound.
pub(crate) const STATIC: *const c_void = std::ptr::null();
/// Text and blobs are to be copied.
pub(crate) const TRANSIENT: *const c_void = usize::MAX as *const c_void;

/// The first version whose table has `value_pointer`.
const FIRST_VERSION: c_int = 3_020_000;

/// The functions used, copied from the table. Their contracts:
/// <https://sqlite.org/c3ref/funclist.html>.
#[derive(Clone, Copy)]
pub(crate) struct Api {
    pub(crate) create_module: unsafe extern "C" fn(
        *mut sqlite3,
        *const c_char,
        *const c_void,
        *mut c_void,
        Option<unsafe extern "C" fn(*mut c_void)>,
    ) -> c_int,
    pub(crate) declare_vtab: unsafe extern "C" fn(*mut sqlite3, *const c_char) -> c_int,
    pub(crate) free: unsafe extern "C" fn(*mut c_void),
    pub(crate) malloc: unsafe extern "C" fn(c_int) -> *mut c_void,
    pub(crate) value_pointer: unsafe extern "C" fn(*mut Value, *const c_char) -> *mut c_void,
    pub(crate) result_double: unsafe extern "C" fn(*mut Context, f64),
    pub(crate) result_error: unsafe extern "C" fn(*mut Context, *const c_char, c_int),
    pub(crate) result_int64: unsafe extern "C" fn(*mut Context, i64),
    pub(crate) result_null: unsafe extern "C" fn(*mut Context),
    pub(crate) result_blob: unsafe extern "C" fn(*mut Context, *const c_void, u64, *const c_void),
    pub(crate) result_text:
        unsafe extern "C" fn(*mut Context, *const c_char, u64, *const c_void, u8),
}

impl Api {
    /// Reads the functions from the table, or says why not, as a result code.
    ///
    /// # Safety
    /// The table must be the one that SQLite hands to extensions.
    pub(crate) unsafe fn new(routines: *const Routines) -> Result<Api, c_int> {
        /// Returns the function at an index of the table.
        ///
        /// # Safety
        /// It must have the signature `F`, a pointer to a function, or be missing.
        unsafe fn function<F: Copy>(routines: *const Routines, index: usize) -> Result<F, c_int> {
            const { assert!(size_of::<F>() == size_of::<*const c_void>()) };
            // SAFETY: the table is an array of pointers; the caller guarantees index and signature,
            // and a null pointer is what `None` is.
            unsafe { *routines.cast::<Option<F>>().add(index) }.ok_or(ERROR)
        }
        // The indices count from 0 in the order of `sqlite3ext.h`; a test compares them with the header.
        // SAFETY: each signature is the one that the header declares at this index, and the version,
        // queried first, ensures that the table is long enough.
        unsafe {
            let version: unsafe extern "C" fn() -> c_int = function(routines, 67)?;
            if version() < FIRST_VERSION {
                return Err(ERROR);
            }
            Ok(Api {
                declare_vtab: function(routines, 50)?,
                free: function(routines, 58)?,
                malloc: function(routines, 68)?,
                result_double: function(routines, 79)?,
                result_error: function(routines, 80)?,
                result_int64: function(routines, 83)?,
                result_null: function(routines, 84)?,
                create_module: function(routines, 119)?,
                result_blob: function(routines, 201)?,
                result_text: function(routines, 202)?,
                value_pointer: function(routines, 221)?,
            })
        }
    }

    /// Copies a text into SQLite's own memory, which messages need; null if no memory is left.
    pub(crate) fn text(&self, text: &str) -> *mut c_char {
        let Ok(length) = c_int::try_from(text.len() + 1) else { return std::ptr::null_mut() };
        // SAFETY: any length may be requested; what is given is writable for that length.
        unsafe {
            let memory = (self.malloc)(length).cast::<u8>();
            if !memory.is_null() {
                std::ptr::copy_nonoverlapping(text.as_ptr(), memory, text.len());
                memory.add(text.len()).write(0);
            }
            memory.cast()
        }
    }
}

#[cfg(test)]
mod tests {
    /// Returns the names of the functions in `sqlite3ext.h`, in their order; `None` where it is not installed.
    fn header() -> Option<Vec<String>> {
        let text = std::fs::read_to_string("/usr/include/sqlite3ext.h").ok()?;
        let (_, rest) = text.split_once("struct sqlite3_api_routines {")?;
        let (table, _) = rest.split_once("\n};")?;
        let without_comments: String = table
            .split("/*")
            .enumerate()
            .map(|(number, part)| match part.split_once("*/") {
                Some((_, behind)) if number > 0 => behind,
                _ => part,
            })
            .collect();
        let names = without_comments.split(';').filter_map(|member| {
            let (_, behind) = member.split_once("(*")?;
            let (name, _) = behind.split_once(')')?;
            Some(name.trim().to_owned())
        });
        Some(names.collect())
    }

    #[test]
    fn the_places_are_those_of_the_header() {
        let Some(names) = header() else {
            testing::skip("/usr/include/sqlite3ext.h is not installed");
            return;
        };
        for (index, name) in [
            (50, "declare_vtab"),
            (58, "free"),
            (67, "libversion_number"),
            (68, "malloc"),
            (79, "result_double"),
            (80, "result_error"),
            (83, "result_int64"),
            (84, "result_null"),
            (119, "create_module_v2"),
            (201, "result_blob64"),
            (202, "result_text64"),
            (221, "value_pointer"),
        ] {
            assert_eq!(names[index], name, "{index}");
        }
    }
}
