//! Readers that do not come to the end of their input.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::Schema;
use pragmark_load::{BatchSource, LoadStrategy, Mode, Request, load};

use crate::faults::{Workspace, library, run};

fn batch(rows: std::ops::Range<i64>) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(rows));
    RecordBatch::try_from_iter([("a", numbers)]).unwrap()
}

/// A batch, and then the reading thread dies.
fn load_of_a_dying_reader(request: &Request) {
    let (first, mut read) = (batch(0..5_000), 0);
    let schema: Schema = first.schema().as_ref().clone();
    let batches = std::iter::from_fn(move || {
        read += 1;
        assert_eq!(read, 1, "a test");
        Some(first.clone())
    });
    let mut source = BatchSource::new("test", &schema, batches);
    let end =
        catch_unwind(AssertUnwindSafe(|| load(&library(), &mut source, request, &mut |_| true)));
    assert!(!matches!(end, Ok(Ok(_))), "{end:?}");
}

#[test]
fn nothing_is_loaded_where_a_reader_dies() {
    for strategy in [LoadStrategy::Pages, LoadStrategy::Arrays] {
        let workspace = Workspace::new();
        let mut request = workspace.request();
        request.strategy = Some(strategy);
        load_of_a_dying_reader(&request);
        assert!(!workspace.database().exists());
        run(&workspace.write("a.csv", "a\n7\n"), &workspace.request()).unwrap();
        request.mode = Mode::Append;
        load_of_a_dying_reader(&request);
        assert_eq!(workspace.rows("SELECT a FROM t"), ["7"]);
    }
}
