//! Changes to a table that is filled: their rate, and what they do to queries.
//!
//! Every change leaves its terms in a new part of the index, a segment, until merging takes it up;
//! a query looks into every segment. So the same queries are asked before the changes, after each
//! quarter of them, and once more after the index has been merged, if it is.

mod changes;

use std::time::{Duration, Instant};

use engine::{CheckpointMode, Connection};
use lab::catalogue::{Accepts, WorkloadInfo};
use lab::trial::Measured;

use self::changes::{Changes, KINDS, Kind, Model};
use super::ask::{Asker, Cache, Effort, add_regexp, can_answer};
use super::finish::{Finish, finish_parameter};
use super::load::make_and_fill;
use super::queries::{self, Query, Sql};
use super::source::{self, Source};
use super::table::{self, Content, TABLE, TableOptions};
use super::verify;
use crate::error::TrialError;
use crate::measure::{CpuTime, LatencyHistogram};
use crate::settings::Reader;
use crate::target::sqlite;
use crate::workload::common::{
    by_name, close, from, names, parameter, refuse_counting, set, set_peak_memory,
};
use crate::workload::{Trial, Workload};

/// The workload `fts-update`.
pub(in crate::workload) struct FtsUpdate;

/// Parts of the changes after each of which the queries are asked.
const PARTS: usize = 4;

impl Workload for FtsUpdate {
    fn info(&self) -> WorkloadInfo {
        let mut parameters = source::generator_parameters();
        parameters.extend(table::parameters());
        parameters.extend([
            parameter(
                "change",
                names(KINDS),
                "update".into(),
                "what is done to the filled table: rows are inserted, rewritten or deleted, or each in turn",
            ),
            parameter("changes", from(4), 10_000.into(), "rows that are changed"),
            parameter("rows_per_txn", from(1), 100.into(), "changes in a transaction"),
            parameter(
                "start",
                names(&[("as-filled", ()), ("optimized", ())]),
                "optimized".into(),
                "whether the index is one segment when the changes begin, or as filling left it",
            ),
            finish_parameter(),
            parameter(
                "queries",
                Accepts::choice(&queries::choices()),
                "published".into(),
                "queries that are asked before, among and after the changes",
            ),
            parameter("repeat", from(1), 5.into(), "times that each query is asked, each time"),
        ]);
        let mut phases: Vec<String> = (0..=PARTS).map(query_phase).collect();
        phases.extend(
            [
                "query-finished",
                "insert",
                "change",
                "optimize",
                "checkpoint",
            ]
            .map(str::to_owned),
        );
        WorkloadInfo {
            name: "fts-update".to_owned(),
            about: "inserts, rewrites and deletes documents of a filled full-text table, and asks queries in between".to_owned(),
            parameters,
            phases,
            counts: false,
        }
    }

    fn run(&self, trial: &mut Trial<'_>) -> Result<Measured, TrialError> {
        refuse_counting(trial, "counts would mix changes and queries")?;
        let parameters = Parameters::read(trial)?;
        let path = trial.directory.join("test.db");
        let connection = sqlite::open(trial, &path)?;
        add_regexp(&connection)?;
        let mut measured = Measured::default();
        (trial.phase)("load");
        parameters.fill(trial, &connection, &mut measured)?;

        (trial.phase)("change");
        let effort = Effort {
            repeat: parameters.repeat,
            limit: None,
        };
        let asker = Asker::new(trial, &parameters.options, &path, Cache::Warm, effort);
        let probe = Probe::prepare(&asker, &connection, &parameters)?;
        let model = parameters.change(trial, &probe, &mut measured)?;
        finish(&probe, parameters.finish, &mut measured)?;
        set_peak_memory(&mut measured);

        (trial.phase)("verify");
        if parameters.options.keeps_texts() {
            model.compare(&connection, &parameters.options, &parameters.source)?;
        } else {
            model.count(&connection)?;
        }
        verify::check_index(&connection, &parameters.options)?;
        close(connection, Some(&path), &mut measured)?;
        Ok(measured)
    }
}

fn query_phase(part: usize) -> String {
    format!("query-{part}")
}

struct Parameters {
    options: TableOptions,
    source: Source,
    kind: Kind,
    changes: usize,
    rows_per_txn: usize,
    optimized: bool,
    finish: Finish,
    queries: Vec<Query>,
    repeat: usize,
}

impl Parameters {
    fn read(trial: &Trial<'_>) -> Result<Parameters, TrialError> {
        let reader = Reader(trial.settings);
        let choice = reader.name("queries", |name| Some(name.to_owned()))?;
        let options = TableOptions::read(trial.settings)?;
        let parameters = Parameters {
            finish: Finish::read(&reader, &options)?,
            options,
            source: Source::generated(trial)?,
            kind: reader.name("change", |name| by_name(KINDS, name))?,
            changes: reader.count("changes")?,
            rows_per_txn: reader.count("rows_per_txn")?,
            optimized: reader.name("start", |name| Some(name == "optimized"))?,
            queries: queries::chosen(&choice, ""),
            repeat: reader.count("repeat")?,
        };
        parameters.check(&choice)?;
        Ok(parameters)
    }

    fn check(&self, choice: &str) -> Result<(), TrialError> {
        let (changes, rows) = (self.changes, self.source.rows());
        let why = if choice == queries::OWN {
            "this workload asks the built-in queries only".to_owned()
        } else if self.kind != Kind::Insert && self.options.content == Content::Contentless {
            "rows of a contentless table can be neither rewritten nor deleted: `content = \"contentless-delete\"` can".to_owned()
        } else if self.kind != Kind::Insert && changes > rows {
            format!("{changes} changes of different rows need as many rows, not {rows}")
        } else {
            return Ok(());
        };
        Err(TrialError::CannotRun(why))
    }

    /// Makes and fills the table.
    fn fill(
        &self,
        trial: &Trial<'_>,
        connection: &Connection,
        measured: &mut Measured,
    ) -> Result<(), TrialError> {
        let loaded = make_and_fill(trial, connection, &self.options, &self.source)?;
        set(measured, "seconds.insert", loaded.active.as_secs_f64());
        if self.optimized && self.options.kind == table::Kind::Fts5 {
            Finish::Optimize.run(connection)?;
        }
        connection.checkpoint(CheckpointMode::Truncate)?;
        Ok(())
    }

    /// Makes the changes part by part, asking in between, and says what the table should hold.
    fn change(
        &self,
        trial: &Trial<'_>,
        probe: &Probe<'_, '_, '_>,
        measured: &mut Measured,
    ) -> Result<Model, TrialError> {
        let mut model = Model::new(self.source.rows(), self.kind, trial.seed);
        let begin = sqlite::begin_statement(trial.settings);
        let mut changes = Changes::prepare(probe.connection, &self.options, &self.source, begin)?;
        let mut work = Work::new()?;
        probe.ask(&query_phase(0), measured)?;
        let mut done = 0;
        for part in 1..=PARTS {
            let until = self.changes * part / PARTS;
            while done < until {
                let count = self.rows_per_txn.min(until - done);
                let plan = model.next(count);
                work.add(changes.run(&plan)?);
                done += count;
            }
            probe.ask(&query_phase(part), measured)?;
        }
        work.note(done, measured)?;
        Ok(model)
    }
}

/// What the changes came to, without the queries among them.
struct Work {
    active: Duration,
    cpu: CpuTime,
    /// The time of each transaction.
    histogram: LatencyHistogram,
}

impl Work {
    fn new() -> Result<Work, TrialError> {
        Ok(Work {
            active: Duration::ZERO,
            cpu: CpuTime::default(),
            histogram: LatencyHistogram::new()?,
        })
    }

    fn add(&mut self, (time, cpu): (Duration, CpuTime)) {
        self.active += time;
        self.cpu = self.cpu.plus(cpu);
        self.histogram.record(time);
    }

    fn note(&self, rows: usize, measured: &mut Measured) -> Result<(), TrialError> {
        set(measured, "cpu_user_s", self.cpu.user);
        set(measured, "cpu_system_s", self.cpu.system);
        let seconds = self.active.as_secs_f64().max(1e-9);
        set(measured, "seconds.change", seconds);
        set(measured, "seconds", seconds);
        set(measured, "rows_per_s", rows as f64 / seconds);
        measured.metrics.extend(self.histogram.metrics());
        measured.latency = Some(self.histogram.latency()?);
        Ok(())
    }
}

/// Merges the index and asks once more.
fn finish(
    probe: &Probe<'_, '_, '_>,
    finish: Finish,
    measured: &mut Measured,
) -> Result<(), TrialError> {
    if let Some(seconds) = finish.run(probe.connection)? {
        set(measured, "seconds.optimize", seconds);
        probe.ask("query-finished", measured)?;
    }
    let start = Instant::now();
    if probe
        .connection
        .checkpoint(CheckpointMode::Truncate)?
        .is_some()
    {
        set(
            measured,
            "seconds.checkpoint",
            start.elapsed().as_secs_f64(),
        );
    }
    Ok(())
}

/// The queries that are asked again and again.
struct Probe<'a, 't, 'p> {
    asker: &'a Asker<'t, 'p>,
    connection: &'a Connection,
    queries: Vec<(&'a Query, Sql)>,
    full_text: bool,
}

impl<'a, 't, 'p> Probe<'a, 't, 'p> {
    fn prepare(
        asker: &'a Asker<'t, 'p>,
        connection: &'a Connection,
        parameters: &'a Parameters,
    ) -> Result<Probe<'a, 't, 'p>, TrialError> {
        let columns = parameters.source.columns();
        let mut queries = Vec::new();
        for query in &parameters.queries {
            // Queries that this kind of table cannot be asked are left out, in every phase alike.
            if let Ok(sql) = query.sql(&parameters.options, columns)
                && can_answer(connection, &sql)?
            {
                queries.push((query, sql));
            }
        }
        if queries.is_empty() {
            let why = "this table can answer none of the queries";
            return Err(TrialError::CannotRun(why.to_owned()));
        }
        Ok(Probe {
            asker,
            connection,
            queries,
            full_text: parameters.options.kind == table::Kind::Fts5,
        })
    }

    /// Asks every query and notes the sum of the median times, and the segments of the index.
    fn ask(&self, phase: &str, measured: &mut Measured) -> Result<(), TrialError> {
        let mut seconds = 0.0;
        let mut results = 0;
        for (query, sql) in &self.queries {
            let answer = self.asker.ask(self.connection, query, sql)?;
            seconds += answer.median();
            results += answer.found.len();
        }
        set(measured, &format!("seconds.{phase}"), seconds);
        set(measured, &format!("results.{phase}"), results as f64);
        if self.full_text {
            let sql = format!("SELECT count(DISTINCT segid) FROM {TABLE}_idx");
            let segments = self.connection.query_i64(&sql)?;
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
                assert_eq!(
                    metrics.contains_key("seconds.query-finished"),
                    level == "merge"
                );
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
        assert_eq!(
            metrics["results.query-finished"],
            metrics["results.query-4"]
        );
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
