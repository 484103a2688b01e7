//! The rows whose key is in a set of the program's: how to hand SQLite the set.
//!
//! The time of a query includes everything from the set in the program's memory to the answer: filling a temporary table,
//! writing JSON, building and preparing the SQL of a list.
//! Making the table and the sets and verifying the answers are outside the clock. The database
//! has just been written, so it is in the kernel's memory, and in part in SQLite's page cache.

mod data;
mod method;
mod parameters;

use std::time::Instant;

use engine::Connection;
use lab::level::Settings;
use lab::trial::Measured;

use self::data::{Answer, Set};
use self::method::Query;
use self::parameters::Parameters;
use super::common::{Stopwatch, close, expect, set, set_counts, set_latency, set_peak_memory};
use super::{Declared, Trial};
use crate::error::TrialError;
use crate::measure::{LatencyHistogram, Windows};
use crate::target::sqlite;

/// The workload `set-query`.
pub(super) struct SetQuery;

impl Declared for SetQuery {
    const NAME: &'static str = "set-query";
    const ABOUT: &'static str = "Counts and sums the rows whose key is in a set held by the program, half of which is in the table.";
    type Parameters = Parameters;

    fn check(parameters: &Parameters, _: &Settings) -> Result<(), TrialError> {
        parameters.check()
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured, TrialError> {
        parameters.check_engine(&trial.library)?;
        (trial.phase)("generate");
        let generating = Instant::now();
        let sets = data::sets(parameters, trial.seed);
        let generate_s = generating.elapsed().as_secs_f64();

        (trial.phase)("load");
        let path = trial.directory.join("test.db");
        let connection = sqlite::open(trial, &path)?;
        data::fill(&connection, parameters)?;

        (trial.phase)("query");
        let counts = sqlite::Counts::begin(trial, &connection)?;
        let (answers, mut measured) = run_queries(&connection, parameters, &sets)?;
        set(&mut measured, "generate_s", generate_s);
        set_peak_memory(&mut measured);
        set_counts(&mut measured, counts, &connection)?;

        (trial.phase)("verify");
        check(&answers, &sets)?;
        close(connection, Some(&path), &mut measured)?;
        Ok(measured)
    }
}

/// Returns queries the sets in turn until the queries are done or the time is up.
fn run_queries(
    connection: &Connection,
    parameters: &Parameters,
    sets: &[Set],
) -> Result<(Vec<Answer>, Measured), TrialError> {
    let mut query = Query::prepare(connection, parameters)?;
    let mut histogram = LatencyHistogram::new();
    let mut windows = Windows::new(parameters.queries, 1, parameters.stop_after);
    let mut answers = Vec::new();
    let watch = Stopwatch::start()?;
    let start = watch.started();
    windows.start(start);
    let mut last = start;
    for set in sets.iter().cycle().take(parameters.queries) {
        answers.push(query.run(set)?);
        let now = Instant::now();
        histogram.record(now.duration_since(last));
        windows.tick(1, now);
        last = now;
        let elapsed = now.duration_since(start);
        if parameters.stop_after.is_some_and(|limit| elapsed >= limit) {
            break;
        }
    }
    let elapsed = watch.stop()?;
    let mut measured = elapsed.times();
    let rate = answers.len() as f64 / elapsed.seconds;
    set(&mut measured, "queries_per_s", rate);
    set_latency(&mut measured, &histogram)?;
    measured.windows = windows.rates();
    Ok((answers, measured))
}

/// Checks that every answer belongs to its set.
fn check(answers: &[Answer], sets: &[Set]) -> Result<(), TrialError> {
    for (number, (answer, set)) in answers.iter().zip(sets.iter().cycle()).enumerate() {
        let what = |of: &str| format!("the {of} in the answer of query {}", number + 1);
        expect(&what("count"), answer.count, set.answer.count)?;
        expect(&what("sum"), answer.sum, set.answer.sum)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::common::tests::{problem, run};
    use super::*;
    use crate::parameters::{Choice, Parameters as _};

    #[test]
    fn every_method_finds_the_rows_of_every_type() {
        for (_, method, _) in parameters::Method::ALL {
            for (_, kind, _) in parameters::Type::ALL {
                for lookup in ["primary-key", "index"] {
                    let settings = [
                        ("method", (*method).into()),
                        ("type", (*kind).into()),
                        ("lookup", lookup.into()),
                        ("rows", 500.into()),
                        ("set_size", 40.into()),
                        ("queries", 50.into()),
                        ("synchronous", "off".into()),
                    ];
                    match run("set-query", &settings) {
                        Ok(measured) => {
                            assert_eq!(measured.latency.unwrap().count, 50);
                            assert!(measured.metrics["queries_per_s"] > 0.0);
                        }
                        Err(TrialError::CannotRun(_)) => assert!(
                            (*method, *kind) == ("json-each", "blob")
                                || (*kind != "integer" && lookup == "primary-key"),
                            "{method} {kind} {lookup}"
                        ),
                        Err(error) => panic!("{method} {kind} {lookup}: {error}"),
                    }
                }
            }
        }
    }

    #[test]
    fn sets_that_a_list_cannot_hold_or_the_table_cannot_fill_cannot_run_and_say_why() {
        let long = [("method", "in-list".into()), ("set_size", 40_000.into())];
        let long = problem("set-query", &long);
        assert!(long.contains("32766"), "{long}");
        let large = problem("set-query", &[("rows", 10.into()), ("set_size", 21.into())]);
        assert!(large.contains("21"), "{large}");
    }

    #[test]
    fn the_time_limit_ends_the_queries() {
        let settings = [("queries", 100_000_000.into()), ("stop_after_ms", 20.into())];
        let measured = run("set-query", &settings).unwrap();
        assert!(measured.metrics["seconds"] >= 0.02);
        assert!(measured.latency.unwrap().count < 100_000_000);
    }

    #[test]
    fn a_wrong_answer_is_a_wrong_result() {
        let catalogue = crate::catalogue();
        let mut settings = catalogue.defaults(catalogue.workload(SetQuery::NAME).unwrap());
        settings.insert("set_size".to_owned(), 10.into());
        let parameters = Parameters::read(&settings).unwrap();
        let sets = data::sets(&parameters, lab::seed::Seed(3));
        let mut answers: Vec<Answer> = sets.iter().map(|set| set.answer).collect();
        assert!(check(&answers, &sets).is_ok());
        answers[1].sum += 1;
        let error = check(&answers, &sets).unwrap_err().to_string();
        assert!(error.contains("the sum in the answer of query 2"), "{error}");
    }
}
