//! The structures of the Arrow C data interface and C stream interface
//! (<https://arrow.apache.org/docs/format/CDataInterface.html>), and reading of their buffers.

use std::ffi::{CStr, c_char, c_int, c_void};

/// The type of an array.
#[repr(C)]
pub struct ArrowSchema {
    pub(crate) format: *const c_char,
    pub(crate) name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    pub(crate) n_children: i64,
    pub(crate) children: *mut *mut ArrowSchema,
    pub(crate) dictionary: *mut ArrowSchema,
    release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

/// The values of an array.
#[repr(C)]
pub struct ArrowArray {
    pub(crate) length: i64,
    pub(crate) null_count: i64,
    pub(crate) offset: i64,
    pub(crate) n_buffers: i64,
    pub(crate) n_children: i64,
    pub(crate) buffers: *mut *const c_void,
    pub(crate) children: *mut *mut ArrowArray,
    pub(crate) dictionary: *mut ArrowArray,
    pub(crate) release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

/// Batches that come one after another.
#[repr(C)]
pub(crate) struct ArrowArrayStream {
    pub(crate) get_schema:
        Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    pub(crate) get_next:
        Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    pub(crate) get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    pub(crate) release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    private_data: *mut c_void,
}

/// The structures bound for one record batch: a struct array (`+s`) whose children are the columns. They stay
/// their owner's, and may be read any number of times.
#[repr(C)]
pub struct RecordBatch {
    /// Its type.
    pub schema: *const ArrowSchema,
    /// Its values.
    pub array: *const ArrowArray,
}

impl ArrowSchema {
    pub(crate) const fn empty() -> ArrowSchema {
        ArrowSchema {
            format: std::ptr::null(),
            name: std::ptr::null(),
            metadata: std::ptr::null(),
            flags: 0,
            n_children: 0,
            children: std::ptr::null_mut(),
            dictionary: std::ptr::null_mut(),
            release: None,
            private_data: std::ptr::null_mut(),
        }
    }

    /// Returns the format string; empty where there is none.
    ///
    /// # Safety
    /// The structure must be valid.
    pub(crate) unsafe fn format(&self) -> &str {
        // SAFETY: the caller guarantees it.
        unsafe { text(self.format) }
    }

    /// Returns the name of the field; empty where there is none.
    ///
    /// # Safety
    /// The structure must be valid.
    pub(crate) unsafe fn name(&self) -> &str {
        // SAFETY: the caller guarantees it.
        unsafe { text(self.name) }
    }
}

impl Drop for ArrowSchema {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: only structures that a stream has handed over are ever dropped here, and their
            // owner, which is us, has to release them once.
            unsafe { release(self) };
        }
    }
}

impl ArrowArray {
    pub(crate) const fn empty() -> ArrowArray {
        ArrowArray {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: std::ptr::null_mut(),
            children: std::ptr::null_mut(),
            dictionary: std::ptr::null_mut(),
            release: None,
            private_data: std::ptr::null_mut(),
        }
    }
}

impl Drop for ArrowArray {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: as for the schema.
            unsafe { release(self) };
        }
    }
}

/// # Safety
/// `text` must be null or a C string that lives long enough.
pub(crate) unsafe fn text<'t>(text: *const c_char) -> &'t str {
    if text.is_null() {
        return "";
    }
    // SAFETY: not null, hence a C string.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("")
}

/// A length or offset, which are signed in C.
pub(crate) fn count(number: i64) -> Result<usize, String> {
    usize::try_from(number).map_err(|_| format!("a length or offset of {number}"))
}

impl Drop for ArrowArrayStream {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: only streams that were taken over are ever dropped here, once.
            unsafe { release(self) };
        }
    }
}

/// # Safety
/// There must be a bit of that number.
#[inline]
pub(crate) unsafe fn bit(bits: *const u8, number: usize) -> bool {
    // SAFETY: the caller guarantees it.
    unsafe { *bits.add(number / 8) >> (number % 8) & 1 == 1 }
}

/// # Safety
/// There must be a value of that number. Arrow recommends alignment and does not demand it.
#[inline]
pub(crate) unsafe fn read<T: Copy>(values: *const u8, number: usize) -> T {
    // SAFETY: the caller guarantees it.
    unsafe { values.cast::<T>().add(number).read_unaligned() }
}

/// # Safety
/// There must be `length` bytes from `start` on, which live as long as the result.
#[inline]
pub(crate) unsafe fn slice<'s>(bytes: *const u8, start: usize, length: usize) -> &'s [u8] {
    if length == 0 {
        // The buffer of nothing may be null.
        return &[];
    }
    // SAFETY: the caller guarantees it.
    unsafe { std::slice::from_raw_parts(bytes.add(start), length) }
}
