//! Arrays of the program as tables in SQL: the element types of `carray`
//! (<https://sqlite.org/carray.html>).

use crate::ffi;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::marker::PhantomData;

/// An array to bind to the parameter of `carray(?)`, borrowed for `'d`.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Array<'d> {
    /// 32-bit signed integers.
    I32(&'d [i32]),
    /// 64-bit signed integers.
    I64(&'d [i64]),
    /// 64-bit floating point numbers.
    F64(&'d [f64]),
    /// Texts in UTF-8.
    Text(&'d TextArray<'d>),
    /// Blobs.
    Blob(&'d BlobArray<'d>),
}

/// An array as `sqlite3_carray_bind` takes it.
pub(crate) struct RawArray {
    pub(crate) start: *const c_void,
    pub(crate) length: usize,
    pub(crate) element: c_int,
}

impl Array<'_> {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.raw().length
    }

    /// Returns whether the array has no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn raw(&self) -> RawArray {
        fn raw<T>(slice: &[T], element: c_int) -> RawArray {
            RawArray { start: slice.as_ptr().cast(), length: slice.len(), element }
        }
        match self {
            Array::I32(values) => raw(values, ffi::CARRAY_INT32),
            Array::I64(values) => raw(values, ffi::CARRAY_INT64),
            Array::F64(values) => raw(values, ffi::CARRAY_DOUBLE),
            Array::Text(texts) => raw(&texts.pointers, ffi::CARRAY_TEXT),
            Array::Blob(blobs) => raw(&blobs.buffers, ffi::CARRAY_BLOB),
        }
    }
}

/// An array of pointers to texts: what carray reads, made from Rust's strings.
#[derive(Debug)]
pub struct TextArray<'d> {
    pointers: Vec<*const c_char>,
    texts: PhantomData<&'d CStr>,
}

impl<'d> FromIterator<&'d CStr> for TextArray<'d> {
    fn from_iter<I: IntoIterator<Item = &'d CStr>>(texts: I) -> TextArray<'d> {
        TextArray { pointers: texts.into_iter().map(CStr::as_ptr).collect(), texts: PhantomData }
    }
}

/// An array of `struct iovec`, made from byte slices.
#[derive(Debug)]
pub struct BlobArray<'d> {
    buffers: Vec<ffi::iovec>,
    blobs: PhantomData<&'d [u8]>,
}

impl<'d> FromIterator<&'d [u8]> for BlobArray<'d> {
    fn from_iter<I: IntoIterator<Item = &'d [u8]>>(blobs: I) -> BlobArray<'d> {
        let buffers = blobs
            .into_iter()
            .map(|blob| ffi::iovec { iov_base: blob.as_ptr().cast(), iov_len: blob.len() });
        BlobArray { buffers: buffers.collect(), blobs: PhantomData }
    }
}
