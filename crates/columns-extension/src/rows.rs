//! The rows of batches and streams.

use std::ffi::c_int;

use crate::arrow::{ArrowArray, ArrowArrayStream, ArrowSchema, bit, count, text};
use crate::column::Column;

/// The error of a stream that cannot be read any more.
const RELEASED: &str =
    "the stream has been released: each can be read once, by one statement and in one place";

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
        // SAFETY: the caller guarantees it.
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
        // SAFETY: the caller guarantees it.
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

impl ArrowArray {
    /// Returns whether its first buffer says that a row is NULL. The number of such rows may be unknown (-1).
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

/// A stream being read: the latest batch, its schema, and the stream itself, which is released
/// after them.
pub(crate) struct Stream {
    batch: ArrowArray,
    schema: ArrowSchema,
    stream: ArrowArrayStream,
}

impl Stream {
    /// Takes the stream over and asks for its schema. The owner is left with a released stream, as the
    /// interface says of a moved stream, so that a second reader notices.
    ///
    /// # Safety
    /// The stream must be valid, or released.
    pub(crate) unsafe fn open(stream: *mut ArrowArrayStream) -> Result<Stream, String> {
        // SAFETY: the caller guarantees a pointer to a stream; of a released stream only `release` is valid.
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

    /// Returns the next batch; `None` at the end. The previous one is released.
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
