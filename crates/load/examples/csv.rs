//! Loads a CSV file by the library, in a few lines:
//!
//! ```sh
//! cargo run --release -p pragmark-load --example csv -- people.csv people.db people
//! ```

use std::sync::Arc;

use engine::{Library, Source};
use pragmark_load::{Opening, Request, Table, load, open};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [csv, database, table] = &arguments[..] else {
        return Err("usage: csv FILE.csv FILE.db TABLE".into());
    };
    let library = Arc::new(Library::load(&Source::Embedded)?);
    let mut source = open(&[csv.into()], &Opening::new(&library))?;
    let request = Request::new(database, Table::new(table));
    // `false` would end the load, and leave everything as it was.
    let summary = load(&library, &mut *source, &request, &mut |_progress| true)?;
    println!(
        "{} rows in {:.3} s: {:.0} rows/s",
        summary.rows,
        summary.time.as_secs_f64(),
        summary.rows_per_second()
    );
    Ok(())
}
