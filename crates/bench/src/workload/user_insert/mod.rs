//! Rows of mixed types into the table `user`: what binding, generating and the file itself cost.
//!
//! The clock runs from the BEGIN to the end of the COMMIT. Whether the rows are generated before
//! it starts or while it runs is a parameter: programs that are timed from outside pay for both.

mod generators;
mod insert;
mod parameters;
mod verify;

use std::path::PathBuf;
use std::time::Instant;

use engine::Connection;
use lab::level::Settings;
use lab::trial::Measured;

use self::insert::{Inserter, Source};
use self::parameters::{Data, Generate, Location, Parameters};
use super::common::{
    Elapsed, Stopwatch, close, set, set_bytes_per_row, set_counts, set_peak_memory,
};
use super::{Declared, Trial};
use crate::error::TrialError;
use crate::generate::Users;
use crate::measure::Windows;
use crate::target::sqlite;

/// The workload `user-insert`.
pub(super) struct UserInsert;

const CREATE_TABLE: &str = "CREATE TABLE user(id INTEGER NOT NULL PRIMARY KEY, area CHAR(6), age INTEGER NOT NULL, active INTEGER NOT NULL)";

impl Declared for UserInsert {
    const NAME: &'static str = "user-insert";
    const ABOUT: &'static str = "Inserts rows into user(id INTEGER NOT NULL PRIMARY KEY, area CHAR(6), age INTEGER NOT NULL, active INTEGER NOT NULL), in one transaction; SQLite generates the id.";
    const CHECKED_FIRST: bool = true;
    type Parameters = Parameters;

    fn check(parameters: &Parameters, settings: &Settings) -> Result<(), TrialError> {
        parameters.check(settings)
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured, TrialError> {
        (trial.phase)("generate");
        let users = parameters.users(trial.seed);
        let generating = Instant::now();
        let source = source(parameters, users);
        let generate_s = generating.elapsed().as_secs_f64();

        (trial.phase)("load");
        let file = match parameters.location {
            Location::File => Some(trial.directory.join("test.db")),
            Location::Memory => None,
        };
        let path = file.clone().unwrap_or_else(|| PathBuf::from(":memory:"));
        let connection = sqlite::open(trial, &path)?;
        connection.execute(CREATE_TABLE)?;
        let mut windows = Windows::new(parameters.rows, parameters.rows_per_part(), None);
        let counts = sqlite::Counts::begin(trial, &connection)?;
        let begin = sqlite::begin_statement(trial.settings);
        let elapsed = work(&connection, begin, parameters, &source, users, &mut windows)?;

        let mut measured = elapsed.measured(parameters.rows);
        set_peak_memory(&mut measured);
        if parameters.generate == Generate::Before {
            set(&mut measured, "generate_s", generate_s);
        }
        set_counts(&mut measured, counts, &connection)?;
        measured.windows = windows.rates();

        (trial.phase)("verify");
        verify::check(&connection, parameters.data, users)?;
        close(connection, file.as_deref(), &mut measured)?;
        set_bytes_per_row(&mut measured, parameters.rows);
        Ok(measured)
    }
}

/// Where the rows come from; those that are generated before the measured work are generated here.
fn source(parameters: &Parameters, users: Users) -> Source {
    match (parameters.data, parameters.generate) {
        (Data::Literals | Data::BoundConstants, _) => Source::Constant,
        (Data::BoundRandom, Generate::Before) => Source::Ready(users.all().collect()),
        (Data::BoundRandom, Generate::During) if parameters.generator_threads > 0 => {
            Source::Threads(parameters.generator_threads)
        }
        (Data::BoundRandom, Generate::During) => Source::Drawn,
    }
}

/// The measured work.
fn work(
    connection: &Connection,
    begin: &str,
    parameters: &Parameters,
    source: &Source,
    users: Users,
    windows: &mut Windows,
) -> Result<Elapsed, TrialError> {
    let mut begin = connection.prepare(begin)?;
    let mut commit = connection.prepare("COMMIT")?;
    let mut inserter = Inserter::prepare(connection, parameters)?;
    let watch = Stopwatch::start()?;
    windows.start(watch.started());
    begin.run()?;
    inserter.insert_all(source, users, windows)?;
    commit.run()?;
    watch.stop()
}

#[cfg(test)]
mod tests {
    use super::super::common::tests::{problem, run};
    use lab::level::Level;

    fn settings(over: &[(&str, Level)]) -> Vec<(String, Level)> {
        let mut settings: Vec<(String, Level)> =
            vec![("rows".to_owned(), 25_003.into()), ("synchronous".to_owned(), "off".into())];
        settings.extend(over.iter().map(|(name, level)| ((*name).to_owned(), level.clone())));
        settings
    }

    fn rate(over: &[(&str, Level)]) -> f64 {
        let settings = settings(over);
        let borrowed: Vec<(&str, Level)> =
            settings.iter().map(|(name, level)| (name.as_str(), level.clone())).collect();
        let measured = run("user-insert", &borrowed).unwrap_or_else(|e| panic!("{over:?}: {e}"));
        let memory = over.contains(&("where", "memory".into()));
        assert_eq!(measured.metrics.contains_key("db_bytes"), !memory);
        measured.metrics["rows_per_s"] * measured.metrics["seconds"]
    }

    #[test]
    fn every_kind_of_data_gives_verified_rows() {
        for data in ["literals", "bound-constants", "bound-random"] {
            for generate in ["before", "during"] {
                for rows_per_statement in [1, 50] {
                    let inserted = rate(&[
                        ("data", data.into()),
                        ("generate", generate.into()),
                        ("rows_per_statement", rows_per_statement.into()),
                    ]);
                    assert!((inserted - 25_003.0).abs() < 0.01, "{inserted}");
                }
            }
        }
    }

    #[test]
    fn threads_and_memory_give_the_same_rows() {
        for threads in [1, 3] {
            rate(&[
                ("generator_threads", threads.into()),
                ("generate", "during".into()),
                ("where", "memory".into()),
            ]);
        }
    }

    #[test]
    fn threads_without_anything_to_generate_cannot_run_and_say_why() {
        let threads = ("generator_threads", Level::from(1));
        for over in [("generate", "before".into()), ("data", "literals".into())] {
            let during = ("generate", Level::from("during"));
            let why = problem("user-insert", &[threads.clone(), during, over]);
            assert!(why.contains("generator threads"), "{why}");
        }
    }

    #[test]
    fn more_parameters_than_a_statement_has_cannot_run_and_say_why() {
        let rows = ("rows_per_statement", Level::from(20_000));
        let why = problem("user-insert", &[rows]);
        assert!(why.contains("60000 parameters"), "{why}");
    }
}
