//! The target `pages`: a new database whose B-tree pages the bulk loader writes itself.
//!
//! None of it goes through SQL: it has neither statements nor transactions and, before the rows are in, no connection that
//! could execute PRAGMAs. A variant that asks for something that the page writer lacks is impossible, with the reason;
//! it is never done another way.
//!
//! The clock runs over the whole load: creating database and table, the rows, syncing, and putting the file in its place.
//! Methods of SQL find database and table created. The rows are put into batches before the clock starts, like the array
//! of `carray`: such a program has its rows in this form.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::{Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use engine::pragma;
use load::{BatchSource, Column, LoadStrategy, Request, load};

use super::insert::Inserted;
use super::{Index, Loaded, Method, Parameters, Statement, Table};
use crate::measure::CpuTime;
use crate::workload::common::refuse_counting;
use crate::workload::prelude::*;

/// Rows of a batch.
const BATCH: usize = 65_536;

/// The only PRAGMA that the page writer obeys. All others belong to a connection, or to files that SQLite writes.
const PAGE_SIZE: &str = "page_size";

/// Name of the index that the loader creates on the column.
pub(super) const INDEX: &str = "integers_value_index";

/// Checks that the page writer can do the work of the variant.
///
/// # Errors
/// [`TrialError::CannotRun`] with the first part of the work that it cannot do.
pub(super) fn check(trial: &Trial<'_>, parameters: &Parameters) -> Result<()> {
    refuse_counting(
        trial,
        "the page writer bypasses SQLite's file system, so nothing can be counted",
    )?;
    let refused = refused_setting(trial.settings).or_else(|| refused_work(parameters));
    refused.map_or(Ok(()), |refused| {
        let why = format!("the target `pages` cannot have {refused}");
        Err(TrialError::CannotRun(why))
    })
}

fn refused_setting(settings: &Settings) -> Option<String> {
    let is_default = |name: &str, default: &str| {
        let level = settings.get(name).and_then(Level::as_text);
        level.is_none_or(|level| level == default)
    };
    let pragma =
        settings.iter().find(|(name, _)| *name != PAGE_SIZE && pragma::find(name).is_some());
    if let Some((name, level)) = pragma {
        return Some(format!(
            "{name}={level}: it writes without SQLite and supports only the PRAGMA {PAGE_SIZE}"
        ));
    }
    let other = [("transaction", "deferred"), ("open_mutex", "default")];
    let (name, default) = other.into_iter().find(|(name, default)| !is_default(name, default))?;
    Some(format!("{name} other than {default}: it has neither transactions nor a connection"))
}

fn refused_work(parameters: &Parameters) -> Option<String> {
    let Parameters { method, table, .. } = parameters;
    let why = if matches!(table, Table::AutoKey | Table::Autoincrement) {
        "a table whose column `key` SQLite generates"
    } else if parameters.index.is_before() {
        "an index maintained during the load: it writes the sorted entries afterwards (`after`)"
    } else if *method != Method::Values {
        return Some(format!("the method {}: it uses no SQL", method.name()));
    } else if parameters.statement == Statement::PreparedEachTime {
        "statements that are prepared each time: it uses none"
    } else {
        return None;
    };
    Some(why.to_owned())
}

/// Returns the values in batches for the loader.
pub(super) fn batches(data: &[i64]) -> Result<Vec<RecordBatch>> {
    let schema = Arc::new(schema());
    let batch = |values: &[i64]| {
        let column = Arc::new(Int64Array::from(values.to_vec()));
        RecordBatch::try_new(Arc::clone(&schema), vec![column])
            .map_err(|error| TrialError::Measuring(format!("a batch of rows: {error}")))
    };
    data.chunks(BATCH).map(batch).collect()
}

fn schema() -> Schema {
    Schema::new(vec![Field::new("value", DataType::Int64, true)])
}

/// Does the measured work.
pub(super) fn load_pages(
    trial: &Trial<'_>,
    parameters: &Parameters,
    batches: Vec<RecordBatch>,
    path: &Path,
) -> Result<Loaded> {
    let request = request(parameters, trial.settings, path);
    let mut source = BatchSource::new("the rows", &schema(), batches.into_iter());
    let histogram = LatencyHistogram::default();
    let mut windows = Windows::new(parameters.rows, parameters.rows, None);
    let cpu_before = CpuTime::now()?;
    let start = Instant::now();
    windows.start(start);
    let summary = load(&trial.library, &mut source, &request, &mut |_| true)?;
    let loaded = Instant::now();
    let cpu = CpuTime::now()?.since(cpu_before);
    windows.tick(parameters.rows, loaded);
    let (found, wanted) = (summary.rows_by_pages, parameters.rows as u64);
    expect("the count of rows written as pages", found, wanted)?;
    let inserted = Inserted { rows: summary.rows as usize, transactions: 1 };
    Ok(Loaded {
        inserted,
        load_s: loaded.duration_since(start).as_secs_f64(),
        index_s: None,
        cpu,
        histogram,
        windows,
    })
}

/// Returns the request that creates the database of the variant, by pages or not at all.
fn request(parameters: &Parameters, settings: &Settings, path: &Path) -> Request {
    let mut table = load::Table::new("integers");
    let (declared, is_key) = match parameters.table {
        Table::IntegerPrimaryKey => ("INTEGER", true),
        Table::WithoutRowid => ("INT", true),
        _ => ("INTEGER", false),
    };
    table.types = vec![Column::new("value", declared)];
    if is_key {
        table.primary_key = vec!["value".to_owned()];
    }
    table.without_rowid = parameters.table == Table::WithoutRowid;
    if parameters.index == Index::After {
        table.indexes = vec![load::Index { columns: vec!["value".to_owned()], unique: false }];
    }
    let mut request = Request::new(path, table);
    request.strategy = Some(LoadStrategy::Pages);
    let page_size = settings.get(PAGE_SIZE).and_then(Level::as_int);
    request.page_size = page_size.and_then(|size| u32::try_from(size).ok());
    request
}

#[cfg(test)]
mod tests {
    use lab::level::Level;

    use crate::workload::common::tests::{problem, run};

    const ALL_AT_ONCE: [(&str, i64); 2] = [("rows", 200_003), ("rows_per_statement", 0)];

    fn variant(over: &[(&'static str, Level)]) -> Vec<(&'static str, Level)> {
        let base = ALL_AT_ONCE.map(|(name, number)| (name, Level::from(number)));
        let target = [("target", Level::from("pages"))];
        [&base[..], &target, over].concat()
    }

    #[test]
    fn pages_fill_tables_and_an_index_with_verified_rows() {
        for (table, order) in [
            ("rowid", "none"),
            ("rowid", "shuffled"),
            ("integer-primary-key", "sequential"),
            ("without-rowid", "shuffled"),
        ] {
            for index in ["none", "after"] {
                for page_size in [4_096, 65_536] {
                    let over = variant(&[
                        ("table", table.into()),
                        ("order", order.into()),
                        ("index", index.into()),
                        ("page_size", page_size.into()),
                    ]);
                    let measured =
                        run("bulk-insert", &over).unwrap_or_else(|e| panic!("{over:?}: {e}"));
                    assert!(measured.metrics["rows_per_s"] > 0.0);
                    assert!(!measured.metrics.contains_key("seconds.index"));
                    let page_sizes = measured
                        .connections
                        .iter()
                        .map(|connection| connection.pragmas["page_size"].clone());
                    assert!(page_sizes.eq([page_size.to_string()]));
                }
            }
        }
    }

    #[test]
    fn what_the_page_writer_has_not_got_is_said_and_not_done_otherwise() {
        for (over, named) in [
            (("journal_mode", "wal".into()), "journal_mode=wal"),
            (("synchronous", "off".into()), "synchronous=off"),
            (("encoding", "UTF-16le".into()), "encoding"),
            (("transaction", "immediate".into()), "transaction"),
            (("open_mutex", "full".into()), "open_mutex"),
            (("table", "auto-key".into()), "column `key`"),
            (("table", "autoincrement".into()), "column `key`"),
            (("index", "before".into()), "index"),
            (("method", "carray".into()), "method carray"),
            (("statement", "prepared-each-time".into()), "prepared"),
        ] {
            let why = problem("bulk-insert", &variant(&[over]));
            assert!(why.contains("`pages` cannot"), "{why}");
            assert!(why.contains(named), "{why}");
        }
    }

    #[test]
    fn keys_that_do_not_ascend_are_sorted_by_the_loader() {
        let over =
            variant(&[("table", "integer-primary-key".into()), ("order", "reversed".into())]);
        // The workload counts and sums what it has inserted.
        let measured = run("bulk-insert", &over).unwrap();
        assert!(measured.metrics["rows_per_s"] > 0.0);
    }
}
