//! Quotes of securities, recorded as a time series: the workload on which the permutations of
//! connection settings are compared.
//!
//! The same rows are inserted once or several times, one COMMIT each, into a table with an index;
//! then the database may be copied into fresh ones. Each database has a connection and, where
//! there are several, a thread of its own.
//!
//! The phase `insert` runs from the first BEGIN to the end of the last COMMIT, over all threads.
//! The phase `copy` holds everything that making a copy takes, opening and closing included. Making
//! the data, opening and closing the databases that are inserted into, and verifying are outside;
//! in WAL mode the last checkpoint therefore falls into `close_s`, as in every workload.

mod copy;
mod insert;
mod parameters;
mod verify;

use std::path::PathBuf;

use engine::Connection;
use lab::level::Settings;
use lab::trial::Measured;

use super::common::{Elapsed, Stopwatch, close_all, set, set_bytes_per_row, set_peak_memory};
use super::{Declared, Trial};
use crate::error::TrialError;
use crate::generate::{Quote, quotes};
use crate::target::sqlite::{self, Counts};
use insert::{Inserted, Plan};
use parameters::Parameters;
use verify::Sums;

/// The workload `quotes`.
pub(super) struct Quotes;

impl Declared for Quotes {
    const NAME: &'static str = "quotes";
    const ABOUT: &'static str = "Records quotes of securities in a table with an index, one database per thread, and copies the database.";
    const PHASES: &'static [&'static str] = &["insert", "copy"];
    const CHECKED_FIRST: bool = true;
    type Parameters = Parameters;

    fn check(parameters: &Parameters, _: &Settings) -> Result<(), TrialError> {
        parameters.check()
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured, TrialError> {
        (trial.phase)("generate");
        let data = generate(trial, parameters);
        let paths: Vec<PathBuf> = (1..=parameters.databases)
            .map(|number| trial.directory.join(format!("quotes-{number}.db")))
            .collect();

        let mut measured = Measured::default();
        let mut insertion = Insertion::of(trial, parameters, &data, &paths)?;
        set_peak_memory(&mut measured);

        (trial.phase)("verify");
        let wanted: Vec<Sums> =
            data.iter().map(|quotes| Sums::of(quotes).times(parameters.times)).collect();
        for (connection, wanted) in insertion.connections.iter().zip(&wanted) {
            verify::table_and_index(connection, wanted)?;
        }
        let connections = std::mem::take(&mut insertion.connections);
        close_all("writer", connections, &paths, &mut measured)?;

        if parameters.copies > 0 {
            (trial.phase)("copy");
            let counts = insertion.counts.as_mut();
            let copied = copy::all(trial, &paths[0], parameters.copies, counts)?;
            (trial.phase)("verify");
            copied.verify(&trial.library, &wanted[0])?;
            set(&mut measured, "seconds.copy", copied.elapsed.seconds);
            insertion.elapsed.add(copied.elapsed);
            measured.connections.extend(copied.connections);
        }
        report(&mut measured, parameters, insertion);
        measured.checksum = Some(verify::checksum(&wanted));
        Ok(measured)
    }
}

/// The inserting, done.
struct Insertion {
    connections: Vec<Connection>,
    inserted: Inserted,
    /// The time of the work; that of copying is added to it.
    elapsed: Elapsed,
    counts: Option<Counts>,
}

impl Insertion {
    fn of(
        trial: &mut Trial<'_>,
        parameters: &Parameters,
        data: &[Vec<Quote>],
        paths: &[PathBuf],
    ) -> Result<Insertion, TrialError> {
        (trial.phase)("insert");
        let mut connections = open_all(trial, paths)?;
        let mut counts = Counts::begin_all(trial, &connections)?;
        let plan = Plan::new(parameters, sqlite::begin_statement(trial.settings));
        let watch = Stopwatch::start()?;
        let inserted = insert::into_all(&mut connections, data, &plan)?;
        let mut elapsed = watch.stop()?;
        // Starting and joining threads is no part of the work.
        elapsed.seconds = inserted.seconds;
        if let Some(counts) = &mut counts {
            counts.pause(&connections)?;
        }
        Ok(Insertion { connections, inserted, elapsed, counts })
    }
}

/// The quotes for each database.
fn generate(trial: &Trial<'_>, parameters: &Parameters) -> Vec<Vec<Quote>> {
    (0..parameters.databases)
        .map(|database| {
            let seed = trial.seed.nth(database as u64);
            quotes(parameters.rows, parameters.securities, seed)
        })
        .collect()
}

fn open_all(trial: &Trial<'_>, paths: &[PathBuf]) -> Result<Vec<Connection>, TrialError> {
    let open = |path: &PathBuf| {
        let connection = sqlite::open(trial, path)?;
        connection.execute(insert::SCHEMA)?;
        Ok(connection)
    };
    paths.iter().map(open).collect()
}

/// Puts the figures of both phases together.
fn report(measured: &mut Measured, parameters: &Parameters, insertion: Insertion) {
    let Insertion { inserted, elapsed, counts, .. } = insertion;
    let rows = parameters.inserted();
    set(measured, "seconds.insert", inserted.seconds);
    let rate = rows as f64 / inserted.seconds;
    set(measured, "rows_per_s.insert", rate);
    let with_copies = elapsed.measured(rows * (1 + parameters.copies));
    measured.metrics.extend(with_copies.metrics);
    measured.windows = inserted.windows;
    set_bytes_per_row(measured, rows);
    if let Some(counts) = counts {
        measured.metrics.extend(counts.finish());
    }
}

#[cfg(test)]
mod tests {
    use super::super::common::tests::{problem, run};
    use lab::level::Level;
    use lab::trial::Measured;

    fn measured(over: &[(&str, Level)]) -> Measured {
        let few = [("rows", 1_003.into()), ("synchronous", "off".into())];
        let over = [&few[..], over].concat();
        run("quotes", &over).unwrap_or_else(|error| panic!("{over:?}: {error}"))
    }

    #[test]
    fn every_permutation_of_the_settings_gives_the_same_verified_rows() {
        let mut checksums = std::collections::BTreeSet::new();
        for journal in ["wal", "truncate", "memory"] {
            for locking in ["normal", "exclusive"] {
                for transaction in ["deferred", "immediate", "exclusive"] {
                    for mutex in ["no", "full"] {
                        let measured = measured(&[
                            ("journal_mode", journal.into()),
                            ("locking_mode", locking.into()),
                            ("transaction", transaction.into()),
                            ("open_mutex", mutex.into()),
                            ("page_size", 8192.into()),
                            ("cache_size", 1000.into()),
                            ("times", 2.into()),
                            ("copies", 2.into()),
                        ]);
                        let metrics = &measured.metrics;
                        let phases = metrics["seconds.insert"] + metrics["seconds.copy"];
                        assert!((metrics["seconds"] - phases).abs() < 1e-9);
                        let rows = metrics["rows_per_s"] * metrics["seconds"];
                        assert!((rows - 3.0 * 2_006.0).abs() < 0.01, "{rows}");
                        let names: Vec<&str> = measured
                            .connections
                            .iter()
                            .map(|connection| connection.connection.as_str())
                            .collect();
                        assert_eq!(names, ["writer", "copy 1", "copy 2"]);
                        checksums.insert(measured.checksum);
                    }
                }
            }
        }
        assert_eq!(checksums.len(), 1, "{checksums:?}");
    }

    #[test]
    fn each_database_has_a_thread_and_a_connection_that_is_read_back() {
        for rows_per_txn in [0, 100] {
            let measured = measured(&[
                ("databases", 4.into()),
                ("rows_per_txn", rows_per_txn.into()),
                ("journal_mode", "wal".into()),
            ]);
            let rows = measured.metrics["rows_per_s"] * measured.metrics["seconds"];
            assert!((rows - 4.0 * 1_003.0).abs() < 0.01, "{rows}");
            assert_eq!(measured.connections.len(), 4);
            assert_eq!(measured.connections[3].connection, "writer 4");
        }
    }

    #[test]
    fn copies_of_several_databases_cannot_be_made_and_it_says_so() {
        let why = problem("quotes", &[("databases", 2.into()), ("copies", 1.into())]);
        assert!(why.contains("one database only"), "{why}");
    }
}
