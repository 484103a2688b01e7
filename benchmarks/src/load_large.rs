//! A table of any size, written as pages while its rows are generated: time, size, and peak memory, which
//! must not grow with the rows.
//!
//! The table is T2, `user`. Keys ascend; the other columns repeat after four million rows, so that
//! generating them costs almost nothing. The result is checked after the clock stops.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use ::load::{BatchSource, LoadStrategy, Request, Table, load};
use arrow_array::{Int64Array, RecordBatch};
use engine::{Connection, Library, OpenFlags, Source, Value};

use crate::Failure;
use crate::load::{BATCH, Subject, index};

/// Batches whose values repeat.
const DRAWN: usize = 64;

/// Loads once and prints time and memory.
pub fn run(rows: u64, index_on: Option<&str>, directory: &Path) -> Result<(), Failure> {
    let library = Arc::new(Library::load(&Source::Embedded)?);
    let place = tempfile::tempdir_in(directory)?;
    let path = place.path().join("large.db");
    let mut request = Request::new(&path, table(index_on));
    request.strategy = Some(LoadStrategy::Pages);
    let drawn = Subject::T2.batches(DRAWN * BATCH);
    let schema = drawn[0].schema();
    let mut source = BatchSource::new("memory", &schema, Batches::new(drawn, rows));
    let begin = Instant::now();
    load(&library, &mut source, &request, &mut |_| true)?;
    let seconds = begin.elapsed().as_secs_f64();
    let memory = bench::peak_memory_bytes().ok_or("the system does not report peak memory")?;
    let bytes = std::fs::metadata(&path)?.len();
    check(&library, &path, rows)?;
    println!(
        "{rows} rows{}: {seconds:.1} s, {:.1} M rows/s, {:.2} GB at {:.2} GB/s, peak memory {:.0} MiB \
         (target: 10^9 rows in 120 s, less than 1024 MiB at any size)",
        index_on.map(|column| format!(" and an index on {column}")).unwrap_or_default(),
        rows as f64 / seconds / 1e6,
        bytes as f64 / 1e9,
        bytes as f64 / seconds / 1e9,
        memory / f64::from(1 << 20),
    );
    Ok(())
}

fn table(index_on: Option<&str>) -> Table {
    let mut table = Subject::T2.table();
    table.indexes = index_on.into_iter().map(index).collect();
    table
}

/// Batches with ascending keys and other columns that repeat.
struct Batches {
    drawn: Vec<RecordBatch>,
    rows: u64,
    given: u64,
}

impl Batches {
    fn new(drawn: Vec<RecordBatch>, rows: u64) -> Batches {
        Batches { drawn, rows, given: 0 }
    }
}

impl Iterator for Batches {
    type Item = RecordBatch;

    fn next(&mut self) -> Option<RecordBatch> {
        let count = (self.rows - self.given).min(BATCH as u64);
        if count == 0 {
            return None;
        }
        let number = (self.given / BATCH as u64) as usize % self.drawn.len();
        let like = self.drawn[number].slice(0, count as usize);
        let first = self.given as i64 + 1;
        self.given += count;
        let mut columns = like.columns().to_vec();
        columns[0] = Arc::new(Int64Array::from_iter_values(first..first + count as i64));
        Some(RecordBatch::try_new(like.schema(), columns).expect("columns of one length"))
    }
}

fn check(library: &Arc<Library>, path: &Path, rows: u64) -> Result<(), Failure> {
    let connection = Connection::open(library, path, OpenFlags::READ_WRITE, None)?;
    let found = connection
        .query_all("SELECT count(*), (SELECT min(id) FROM t), (SELECT max(id) FROM t) FROM t")?;
    let expected = [rows, 1, rows].map(|value| Value::Integer(value as i64));
    if found[0] != expected {
        return Err(format!("{} holds {found:?}", path.display()).into());
    }
    Ok(())
}
