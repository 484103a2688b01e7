//! The structures of the Arrow C data interface and C stream interface
//! (<https://arrow.apache.org/docs/format/CDataInterface.html>), and the rows they hold.

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::column::{Column, bit};

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
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

/// Batches that come one after another.
#[repr(C)]
pub(crate) struct ArrowArrayStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    private_data: *mut c_void,
}

/// The error of a stream that cannot be read any more.
const RELEASED: &str =
    "the stream has been released: each can be read once, by one statement and in one place";

/// What is bound for one record batch: a struct array (`+s`) whose children are the columns. It stays
/// its owner's, and may be read any number of times.
#[repr(C)]
pub struct RecordBatch {
    /// Its type.
    pub schema: *const ArrowSchema,
    /// Its values.
    pub array: *const ArrowArray,
}

impl ArrowSchema {
    const fn empty() -> ArrowSchema {
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

    /// The format string; empty where there is none.
    ///
    /// # Safety
    /// The structure must be valid.
    pub(crate) unsafe fn format(&self) -> &str {
        // SAFETY: by the caller's word.
        unsafe { text(self.format) }
    }

    /// The name of the field; empty where there is none.
    ///
    /// # Safety
    /// The structure must be valid.
    pub(crate) unsafe fn name(&self) -> &str {
        // SAFETY: by the caller's word.
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
    const fn empty() -> ArrowArray {
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

    /// Whether its first buffer says that a row is NULL. The number of such rows may be unknown (-1).
    ///
    /// # Safety
    /// The structure must be valid, and of a type whose first buffer is one of validity.
    unsafe fn has_null(&self) -> Result<bool, String> {
        if self.n_buffers < 1 || self.buffers.is_null() {
            return Ok(false);
        }
        // SAFETY: a valid array has as many buffers as it says, the first with a bit for each row, or null.
        unsafe {
            let validity: *const u8 = (*self.buffers).cast();
            let offset = count(self.offset)?;
            let mut rows = offset..offset + count(self.length)?;
            Ok(!validity.is_null() && rows.any(|row| !bit(validity, row)))
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
unsafe fn text<'t>(text: *const c_char) -> &'t str {
    if text.is_null() {
        return "";
    }
    // SAFETY: not null, hence a C string.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("")
}

/// The rows of a batch, column by column.
pub(crate) struct Rows {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: usize,
}

impl Rows {
    /// The rows of a batch, which must outlive them.
    ///
    /// # Safety
    /// Both structures must be valid and belong together.
    pub(crate) unsafe fn of(schema: &ArrowSchema, array: &ArrowArray) -> Result<Rows, String> {
        // SAFETY: by the caller's word.
        let format = unsafe { schema.format() };
        if format != "+s" {
            return Err(format!(
                "a record batch must be a struct of columns (+s), not of the format {format}"
            ));
        }
        if schema.n_children != array.n_children {
            return Err(format!(
                "the schema has {} columns, but the batch has {}",
                schema.n_children, array.n_children
            ));
        }
        // SAFETY: by the caller's word.
        if array.null_count != 0 && unsafe { array.has_null() }? {
            return Err("a record batch cannot have rows that are entirely NULL".to_owned());
        }
        let offset = count(array.offset)?;
        let columns = (0..count(schema.n_children)?).map(|number| {
            // SAFETY: a valid structure has as many children as it says, all of them valid; those of
            // a struct array begin at its own offset.
            unsafe {
                let schema = &**schema.children.add(number);
                let array = &**array.children.add(number);
                Column::new(schema, array, offset)
                    .map_err(|reason| format!("column {number} ({}): {reason}", schema.name()))
            }
        });
        Ok(Rows { columns: columns.collect::<Result<_, _>>()?, rows: count(array.length)? })
    }
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

/// A stream being read: the batch that has come last, its schema, and the stream itself, which is released
/// after them.
pub(crate) struct Stream {
    batch: ArrowArray,
    schema: ArrowSchema,
    stream: ArrowArrayStream,
}

impl Stream {
    /// Takes the stream over and asks for its schema. The owner is left with a released stream, as the
    /// interface says of one that is moved, so that nobody can read it a second time without noticing.
    ///
    /// # Safety
    /// The stream must be valid, or released.
    pub(crate) unsafe fn open(stream: *mut ArrowArrayStream) -> Result<Stream, String> {
        // SAFETY: by the caller's word; of a released stream nothing else is valid.
        if unsafe { (*stream).release.is_none() } {
            return Err(RELEASED.to_owned());
        }
        let mut opened = Stream {
            batch: ArrowArray::empty(),
            schema: ArrowSchema::empty(),
            // SAFETY: it is valid, and what is left behind is marked as released, so that only this
            // copy is.
            stream: unsafe {
                let moved = stream.read();
                (*stream).release = None;
                moved
            },
        };
        let get_schema = opened.stream.get_schema.ok_or("the stream has no schema")?;
        // SAFETY: the stream is valid; it fills the structure in and hands it over.
        let code = unsafe { get_schema(&mut opened.stream, &mut opened.schema) };
        opened.check(code)?;
        Ok(opened)
    }

    /// Goes on to the next batch; `None` at the end. The one before is released.
    pub(crate) fn next(&mut self) -> Result<Option<Rows>, String> {
        self.batch = ArrowArray::empty();
        let get_next = self.stream.get_next.ok_or("the stream has no batches")?;
        // SAFETY: the stream is valid; it fills the structure in and hands it over. The rows refer to it
        // and are gone before the next one is requested.
        unsafe {
            let code = get_next(&mut self.stream, &mut self.batch);
            self.check(code)?;
            if self.batch.release.is_none() {
                return Ok(None);
            }
            Rows::of(&self.schema, &self.batch).map(Some)
        }
    }

    fn check(&mut self, code: c_int) -> Result<(), String> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the stream is valid; its message lives until it is called again.
        let reason = unsafe {
            let get = self.stream.get_last_error;
            get.map_or("", |get| text(get(&mut self.stream)))
        };
        Err(format!("the stream failed ({code}): {reason}"))
    }
}
