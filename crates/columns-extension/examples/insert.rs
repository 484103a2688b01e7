//! Inserts an Arrow record batch by the extension `pragmark_columns`, with rusqlite:
//!
//! ```sh
//! cargo run -p pragmark-columns --example insert -- target/debug/libpragmark_columns.so
//! ```

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, to_ffi};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray, StructArray};
use rusqlite::types::{ToSql, ToSqlOutput};
use rusqlite::{Connection, LoadExtensionGuard};

/// A record batch that can be bound. It has to live as long as it is bound.
struct BoundBatch {
    schema: Box<FFI_ArrowSchema>,
    array: Box<FFI_ArrowArray>,
}

/// The name under which the extension knows it.
const NAME: &CStr = c"pragmark_record_batch";

impl BoundBatch {
    fn new(batch: RecordBatch) -> Result<BoundBatch, Box<dyn std::error::Error>> {
        let (array, schema) = to_ffi(&StructArray::from(batch).into_data())?;
        Ok(BoundBatch { schema: Box::new(schema), array: Box::new(array) })
    }
}

/// The two pointers that the extension reads.
#[repr(C)]
struct Pointers {
    schema: *const FFI_ArrowSchema,
    array: *const FFI_ArrowArray,
}

impl ToSql for BoundBatch {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        unsafe extern "C" fn free(pointers: *mut c_void) {
            // SAFETY: made by `into_raw` below; SQLite calls this once, when it lets go of the pointer.
            drop(unsafe { Box::from_raw(pointers.cast::<Pointers>()) });
        }
        let pointers =
            Box::new(Pointers { schema: &raw const *self.schema, array: &raw const *self.array });
        let pointer: *const c_void = Box::into_raw(pointers).cast_const().cast();
        Ok(ToSqlOutput::Pointer((pointer, NAME, Some(free))))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let extension = std::env::args().nth(1).ok_or("the path of the extension is missing")?;
    let connection = Connection::open_in_memory()?;
    // SAFETY: the extension is code that the user chose to run.
    unsafe {
        let _guard = LoadExtensionGuard::new(&connection)?;
        connection.load_extension(extension, None::<&str>)?;
    }
    connection.execute_batch("CREATE TABLE people(id INTEGER PRIMARY KEY, name TEXT)")?;

    let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let names: ArrayRef = Arc::new(StringArray::from(vec![Some("Ada"), None, Some("Grace")]));
    let batch = BoundBatch::new(RecordBatch::try_from_iter([("id", ids), ("name", names)])?)?;
    connection.execute(
        "INSERT INTO people(id, name) SELECT c0, c1 FROM pragmark_columns(?1)",
        [&batch],
    )?;

    let mut query = connection.prepare("SELECT id, coalesce(name, 'NULL') FROM people")?;
    let rows = query.query_map([], |row| {
        Ok(format!("{}|{}", row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
    })?;
    for row in rows {
        println!("{}", row?);
    }
    Ok(())
}
