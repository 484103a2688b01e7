//! Changes to a table that is filled: their rate, and what they do to queries.
//!
//! Every change leaves its terms in a new part of the index, a segment, until merging takes it up;
//! a query looks into every segment. So the same queries run before the changes, after each
//! quarter of them, and once more after the index has been merged, if it is.

mod changes;

use std::time::Instant;

use engine::CheckpointMode;

use self::changes::{Changes, Kind, Model};
use super::execute::{Cache, Executor, add_regexp, answered_once};
use super::load::BATCH;
use super::queries::{self, Query, QueryChoice, Sql};
use super::source::{GeneratorParameters, Source};
use super::table::{self, Content, Finish, TABLE, TableOptions, TextTable};
use crate::workload::prelude::*;

/// The workload `fts-update`.
pub(in crate::workload) struct FtsUpdate;

/// Number of parts of the changes. The queries run after each part.
const PARTS: usize = 4;

choice! {
    /// State of the index when the changes begin.
    enum Start {
        /// As filling left it.
        AsFilled = "as-filled",
        /// One segment.
        Optimized = "optimized",
    }
}

parameters! {
    /// The parameters of one trial.
    struct Parameters {
        documents: GeneratorParameters;
        options: TableOptions;
        /// What is done to the filled table.
        kind as "change": Kind = Kind::Update;
        /// Rows that are changed.
        changes: Rows = 10_000, 4..;
        /// Changes per transaction.
        rows_per_txn: Rows = 100, 1..;
        /// What the index is like when the changes begin.
        start: Start = Start::Optimized;
        /// Queries that run before, between and after the changes.
        queries: QueryChoice = "published";
        /// Times that each query runs, each time.
        repeat: usize = 5, 1..;
    }
}

impl Declared for FtsUpdate {
    const NAME: &'static str = "fts-update";
    const ABOUT: &'static str = "Inserts, rewrites and deletes documents of a filled full-text table, and runs queries in between.";
    const COUNTS: bool = false;
    type Parameters = Parameters;

    fn phases() -> Vec<String> {
        let queries = (0..=PARTS).map(query_phase);
        let others = ["query-finished", "insert", "change", "optimize", "checkpoint"];
        queries.chain(others.map(str::to_owned)).collect()
    }

    fn check(parameters: &Parameters, _: &Settings) -> Result<()> {
        parameters.options.check()?;
        let (changes, rows) = (parameters.changes, parameters.documents.rows);
        let replaces = parameters.kind != Kind::Insert;
        let why = if queries::published_queries(&parameters.queries).is_empty() {
            "this workload runs the built-in queries only".to_owned()
        } else if replaces && parameters.options.content == Content::Contentless {
            "rows of a contentless table cannot be rewritten or deleted: use `content = \"contentless-delete\"`".to_owned()
        } else if replaces && changes > rows {
            format!("{changes} changes of different rows require as many rows, not {rows}")
        } else {
            return Ok(());
        };
        Err(TrialError::CannotRun(why))
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured> {
        let options = &parameters.options;
        let source = Source::generated(&parameters.documents, trial.seed);
        let queries = queries::published_queries(&parameters.queries);
        let path = trial.directory.join("test.db");
        let connection = sqlite::open(trial, &path)?;
        add_regexp(&connection)?;
        let mut measured = Measured::default();
        (trial.phase)("load");
        let table = TextTable { connection: &connection, options, source: &source };
        parameters.fill(trial, table, &mut measured)?;

        (trial.phase)("change");
        let (cache, repeat, limit) = (Cache::Warm, parameters.repeat, None);
        let executor = Executor { trial, table, path: &path, cache, repeat, limit };
        let probe = Probe::prepare(executor, &queries)?;
        let model = parameters.change(&probe, &mut measured)?;
        finish(&probe, options.finish, &mut measured)?;
        set_peak_memory(&mut measured);

        (trial.phase)("verify");
        if options.keeps_texts() {
            model.compare(table)?;
        } else {
            model.count(&connection)?;
        }
        table.check_index()?;
        close(connection, Some(&path), &mut measured)?;
        Ok(measured)
    }
}

fn query_phase(part: usize) -> String {
    format!("query-{part}")
}

impl Parameters {
    /// Makes and fills the table.
    fn fill(&self, trial: &Trial<'_>, table: TextTable<'_>, measured: &mut Measured) -> Result<()> {
        let loaded = table.make_and_fill(trial, BATCH)?;
        set(measured, "seconds.insert", loaded.active.as_secs_f64());
        if self.start == Start::Optimized && self.options.kind == table::Kind::Fts5 {
            Finish::Optimize.run(table.connection)?;
        }
        table.connection.checkpoint(CheckpointMode::Truncate)?;
        Ok(())
    }

    /// Makes the changes part by part, querying in between, and returns what the table should hold.
    fn change(&self, probe: &Probe<'_, '_>, measured: &mut Measured) -> Result<Model> {
        let Executor { trial, table, .. } = probe.executor;
        let mut model = Model::new(table.source.rows, self.kind, trial.seed);
        let begin = sqlite::begin_statement(trial.settings);
        let mut changes = Changes::prepare(table, begin)?;
        probe.run(&query_phase(0), measured)?;
        let mut done = 0;
        for part in 1..=PARTS {
            let until = self.changes * part / PARTS;
            while done < until {
                let count = self.rows_per_txn.min(until - done);
                changes.run(&model.next(count))?;
                done += count;
            }
            probe.run(&query_phase(part), measured)?;
        }
        set_cpu(measured, changes.cpu);
        let seconds = changes.active.as_secs_f64().max(1e-9);
        set(measured, "seconds.change", seconds);
        set(measured, "seconds", seconds);
        set(measured, "rows_per_s", done as f64 / seconds);
        set_latency(measured, &changes.latency)?;
        Ok(model)
    }
}

/// Merges the index and runs the queries once more.
fn finish(probe: &Probe<'_, '_>, finish: Finish, measured: &mut Measured) -> Result<()> {
    if let Some(seconds) = finish.run(probe.executor.table.connection)? {
        set(measured, "seconds.optimize", seconds);
        probe.run("query-finished", measured)?;
    }
    let start = Instant::now();
    let checkpoint = probe.executor.table.connection.checkpoint(CheckpointMode::Truncate)?;
    let seconds = start.elapsed().as_secs_f64();
    if checkpoint.is_some() {
        set(measured, "seconds.checkpoint", seconds);
    }
    Ok(())
}

/// The queries that run repeatedly.
struct Probe<'t, 'p> {
    executor: Executor<'t, 'p>,
    queries: Vec<(&'t Query, Sql)>,
}

impl<'t, 'p> Probe<'t, 'p> {
    fn prepare(executor: Executor<'t, 'p>, all: &'t [Query]) -> Result<Probe<'t, 'p>> {
        let table = executor.table;
        let mut queries = Vec::new();
        for query in all {
            // Queries that this kind of table cannot answer are left out in every phase.
            if let Ok(sql) = query.sql(table.options, &table.source.columns)
                && answered_once(table.connection, &sql)?.is_some()
            {
                queries.push((query, sql));
            }
        }
        if queries.is_empty() {
            return Err(TrialError::cannot_run("this table can answer none of the queries"));
        }
        Ok(Probe { executor, queries })
    }

    /// Runs every query and notes the sum of the median times, and the segments of the index.
    fn run(&self, phase: &str, measured: &mut Measured) -> Result<()> {
        let mut seconds = 0.0;
        let mut results = 0;
        for (query, sql) in &self.queries {
            let answer = self.executor.execute(query, sql)?;
            seconds += answer.median();
            results += answer.rowids.len();
        }
        set(measured, &format!("seconds.{phase}"), seconds);
        set(measured, &format!("results.{phase}"), results as f64);
        if self.executor.table.options.kind == table::Kind::Fts5 {
            let sql = format!("SELECT count(DISTINCT segid) FROM {TABLE}_idx");
            let segments = self.executor.table.connection.query_i64(&sql)?;
            set(measured, &format!("segments.{phase}"), segments as f64);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::workload::common::tests::{problem, run};

    #[test]
    fn every_kind_of_change_leaves_the_rows_it_should_in_every_table() {
        for change in ["insert", "update", "delete", "mixed"] {
            for (name, level) in [
                ("content", "ordinary"),
                ("content", "external"),
                ("content", "contentless-delete"),
                ("table", "plain-indexed"),
                ("start", "as-filled"),
                ("finish", "merge"),
            ] {
                let settings = [
                    ("change", change.into()),
                    (name, level.into()),
                    ("rows", 400.into()),
                    ("changes", 90.into()),
                    ("rows_per_txn", 7.into()),
                    ("repeat", 1.into()),
                    ("synchronous", "off".into()),
                ];
                let metrics = run("fts-update", &settings).unwrap().metrics;
                assert!(metrics["rows_per_s"] > 0.0, "{change} {level}");
                assert!(metrics["seconds.query-4"] > 0.0);
                assert_eq!(metrics.contains_key("seconds.query-finished"), level == "merge");
            }
        }
    }

    #[test]
    fn changes_add_segments_and_optimizing_leaves_one() {
        let settings = [
            ("rows", 2_000.into()),
            ("changes", 400.into()),
            ("rows_per_txn", 50.into()),
            ("automerge", 0.into()),
            ("finish", "optimize".into()),
            ("repeat", 1.into()),
            ("synchronous", "off".into()),
        ];
        let metrics = run("fts-update", &settings).unwrap().metrics;
        assert_eq!(metrics["segments.query-0"], 1.0);
        assert!(metrics["segments.query-2"] > metrics["segments.query-0"]);
        assert!(metrics["segments.query-4"] > metrics["segments.query-2"]);
        assert_eq!(metrics["segments.query-finished"], 1.0);
        assert_eq!(metrics["results.query-finished"], metrics["results.query-4"]);
    }

    #[test]
    fn only_merging_by_levels_asks_how_many_segments_a_level_has() {
        let segments = |finish: &str, usermerge: i64| {
            let settings = [
                ("rows", 1_000.into()),
                ("changes", 400.into()),
                ("rows_per_txn", 50.into()),
                ("automerge", 0.into()),
                ("usermerge", usermerge.into()),
                ("finish", finish.into()),
                ("repeat", 1.into()),
                ("synchronous", "off".into()),
            ];
            let metrics = run("fts-update", &settings).unwrap().metrics;
            ["query-4", "query-finished"].map(|phase| metrics[&format!("segments.{phase}")])
        };
        let [before, after] = segments("merge-levels", 16);
        assert_eq!(before, after);
        let [before, after] = segments("merge-levels", 2);
        assert!(after < before, "{after} of {before}");
        let [before, after] = segments("merge", 16);
        assert!(after < before, "{after} of {before}");
    }

    #[test]
    fn what_cannot_be_changed_is_said() {
        let contentless = [("content", "contentless".into())];
        let why = problem("fts-update", &contentless);
        assert!(why.contains("contentless-delete"), "{why}");
        let many = problem("fts-update", &[("rows", 10.into()), ("changes", 11.into())]);
        assert!(many.contains("11 changes"), "{many}");
    }
}
