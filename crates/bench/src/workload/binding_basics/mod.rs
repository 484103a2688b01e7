//! The basic work of every program with SQLite, small enough to be written in every binding: inserts, reads by key, range
//! scans and the life cycle of tasks.
//!
//! The same work stands in each driver of `drivers/`, so that the difference between a binding and this
//! one is the cost of its calls. Data are made of whole numbers below 2^53, so that every language makes
//! the same; making them and verifying the results are outside the clock. Each part is timed apart, and
//! its time is divided by the rows that it writes or reads (by its statements for tasks).

mod data;
mod parts;

use std::time::Instant;

use engine::Connection;
use lab::level::{Level, Settings};
use lab::trial::{BindingMark, Measured};

use self::data::Data;
use super::common::{Elapsed, Stopwatch, close, set};
use super::{Declared, Trial};
use crate::error::TrialError;
use crate::parameters::Rows;
use crate::target::sqlite;

/// The workload `binding-basics`.
pub(super) struct BindingBasics;

/// Rows that one INSERT of a batch carries.
const BATCH: usize = 50;

/// Rows that a range scan reads, or all where there are fewer.
const WIDTH: usize = 1_000;

/// The parts of the work, in their order.
const PARTS: [&str; 6] = [
    "insert-single",
    "insert-reused",
    "insert-batch",
    "point-read",
    "range-scan",
    "task-statement",
];

parameters! {
    /// How much work.
    #[derive(Clone, Copy, Debug)]
    struct Parameters {
        /// Rows inserted in each of three ways, each in one transaction: a statement prepared for each row, a
        /// statement reused, and fifty rows per statement; a multiple of 50.
        rows: Rows = 100_000, BATCH as i64..;
        /// Rows read by their key, one per query.
        reads: Rows = 100_000, 1..;
        /// Range scans of 1,000 rows each.
        scans: usize = 100, 1..;
        /// Tasks, each inserted, updated eleven times and deleted, every statement in its own transaction.
        tasks: usize = 1_000, 1..;
    }
}

/// The drivers begin transactions with BEGIN alone; only some could begin them in another way.
fn refuse_another_begin(settings: &Settings) -> Result<(), TrialError> {
    match settings.get("transaction").and_then(Level::as_text) {
        None | Some("deferred") => Ok(()),
        Some(other) => Err(TrialError::CannotRun(format!(
            "every driver begins the transactions of this workload with a plain BEGIN, so transaction={other} would have no effect; leave it out or use deferred"
        ))),
    }
}

impl Declared for BindingBasics {
    const NAME: &'static str = "binding-basics";
    const ABOUT: &'static str = "Inserts, point reads, range scans and task life cycles, done the same way through every binding.";
    const PHASES: &'static [&'static str] = &PARTS;
    const COUNTS: bool = false;
    const CHECKED_FIRST: bool = true;
    type Parameters = Parameters;

    fn check(parameters: &Parameters, settings: &Settings) -> Result<(), TrialError> {
        refuse_another_begin(settings)?;
        if parameters.rows.is_multiple_of(BATCH) {
            Ok(())
        } else {
            Err(TrialError::cannot_run(format!(
                "rows must be a multiple of {BATCH}, the rows of one batch INSERT, not {}",
                parameters.rows
            )))
        }
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured, TrialError> {
        (trial.phase)("generate");
        let generating = Instant::now();
        let data = Data::new(parameters, trial.seed.0);
        let generate_s = generating.elapsed().as_secs_f64();

        let path = trial.directory.join("test.db");
        let defaults = sqlite::defaults(trial)?;
        let connection = sqlite::open(trial, &path)?;
        parts::create_tables(&connection)?;
        let mut measured = time_parts(trial, &connection, &data)?;
        set(&mut measured, "generate_s", generate_s);

        (trial.phase)("verify");
        parts::verify(&connection, &data)?;
        measured.checksum = Some(data.checksum());
        measured.binding = Some(BindingMark {
            name: format!("Rust, pragmark {}", env!("CARGO_PKG_VERSION")),
            compile_options: trial.library.identity().compile_options.clone(),
            defaults,
        });
        close(connection, Some(&path), &mut measured)?;
        Ok(measured)
    }
}

/// Does each part under a clock of its own.
fn time_parts(
    trial: &mut Trial<'_>,
    connection: &Connection,
    data: &Data,
) -> Result<Measured, TrialError> {
    let mut all = Elapsed::default();
    let mut measured = Measured::default();
    for part in PARTS {
        (trial.phase)(part);
        let watch = Stopwatch::start()?;
        let done = parts::carry_out(part, connection, data)?;
        let elapsed = watch.stop()?;
        parts::verify_read(part, &done, data)?;
        set(&mut measured, &format!("seconds.{part}"), elapsed.seconds);
        let each = elapsed.seconds * 1e9 / done.rows as f64;
        set(&mut measured, &format!("ns_per_row.{part}"), each);
        all.add(elapsed);
    }
    measured.metrics.extend(all.times().metrics);
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::common::tests::{problem, run};
    use engine::OpenFlags;

    const SMALL: [(&str, lab::level::Level); 4] = [
        ("rows", lab::level::Level::Int(150)),
        ("reads", lab::level::Level::Int(70)),
        ("scans", lab::level::Level::Int(3)),
        ("tasks", lab::level::Level::Int(4)),
    ];

    #[test]
    fn every_part_is_timed_by_row_and_verified() {
        let measured = run("binding-basics", &SMALL).unwrap();
        for part in PARTS {
            for metric in ["seconds", "ns_per_row"] {
                assert!(measured.metrics[&format!("{metric}.{part}")] > 0.0);
            }
        }
        let binding = measured.binding.unwrap();
        assert_eq!(binding.defaults["synchronous"], "full");
        assert!(!binding.compile_options.is_empty());
        assert_eq!(measured.connections.len(), 1);
    }

    #[test]
    fn the_same_seed_gives_the_same_checksum() {
        let checksum = || run("binding-basics", &SMALL).unwrap().checksum;
        assert_eq!(checksum(), checksum());
    }

    #[test]
    fn rows_that_fill_no_whole_batch_are_refused() {
        let why = problem("binding-basics", &[("rows", 120.into())]);
        assert!(why.contains("multiple of 50"), "{why}");
    }

    #[test]
    fn transactions_that_would_not_begin_as_asked_are_refused() {
        let why = problem("binding-basics", &[("transaction", "immediate".into())]);
        assert!(why.contains("transaction=immediate"), "{why}");
        let deferred = Settings::from([("transaction".to_owned(), "deferred".into())]);
        assert!(refuse_another_begin(&deferred).is_ok());
    }

    #[test]
    fn a_row_that_is_missing_is_a_wrong_result() {
        let parameters = Parameters { rows: 50, reads: 5, scans: 1, tasks: 1 };
        let data = Data::new(&parameters, 5);
        let library =
            std::sync::Arc::new(engine::Library::load(&engine::Source::Embedded).unwrap());
        let memory = std::path::Path::new(":memory:");
        let connection = Connection::open(&library, memory, OpenFlags::default(), None).unwrap();
        parts::create_tables(&connection).unwrap();
        for part in PARTS {
            let done = parts::carry_out(part, &connection, &data).unwrap();
            parts::verify_read(part, &done, &data).unwrap();
        }
        assert!(parts::verify(&connection, &data).is_ok());
        connection.execute("DELETE FROM batch WHERE id = 7").unwrap();
        let error = parts::verify(&connection, &data).unwrap_err().to_string();
        assert!(error.contains("batch"), "{error}");
    }
}
