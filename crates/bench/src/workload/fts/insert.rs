//! Documents into a full-text table: what tokenizers, options and settings cost in time and space.
//!
//! The phase `insert` is the inserting with its commits, `optimize` the command that may follow,
//! and `checkpoint` the last checkpoint of the write-ahead log, where there is one. `seconds` is
//! their sum. Connecting, making the table and the documents, verifying and closing are outside.
//! Where queries are wanted, each of the published ones on a hundred thousand rows then runs once on
//! the filled table, as in the article; they are the phase `query`.

use std::time::Instant;

use engine::CheckpointMode;

use super::execute::{add_regexp, answered_once};
use super::load::Loaded;
use super::queries::{Query, TextQueries};
use super::source::{DocumentParameters, Source};
use super::table::{TableOptions, TextTable};
use crate::workload::common::MIB;
use crate::workload::prelude::*;

/// The workload `fts-insert`.
pub(in crate::workload) struct FtsInsert;

parameters! {
    /// The parameters of one trial.
    struct Parameters {
        documents: DocumentParameters;
        options: TableOptions;
        /// Rows generated and handed over at once, as to Python's `executemany`.
        batch: Rows = 1_000, 1..;
        /// Rows per transaction; 0: all rows in one.
        commit_every: Rows = 1_000;
        /// Whether each published query runs once on the filled table; `p50_us.query` is the median time.
        run_queries: bool = false;
        text: TextQueries;
    }
}

impl Declared for FtsInsert {
    const NAME: &'static str = "fts-insert";
    const METRIC: &'static str = "rows_per_s.insert";
    const ABOUT: &'static str =
        "Inserts documents like those of Hacker News into a full-text table.";
    const PHASES: &'static [&'static str] = &["insert", "optimize", "checkpoint", "query"];
    type Parameters = Parameters;

    fn check(parameters: &Parameters, _: &Settings) -> Result<()> {
        parameters.options.check()
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured> {
        let options = &parameters.options;
        let source = Source::of(&parameters.documents, trial.seed)?;
        let path = trial.directory.join("test.db");
        let connection = sqlite::open(trial, &path)?;
        options.create(&connection, &source.columns)?;
        let table = TextTable { connection: &connection, options, source: &source };

        (trial.phase)("insert");
        let counts = sqlite::Counts::begin(trial, &connection)?;
        let loaded = table.load(trial, parameters.batch, parameters.commit_every)?;
        let mut measured = Measured::default();
        let insert_s = note_load(&loaded, &mut measured);

        let mut seconds = insert_s;
        if let Some(optimize_s) = options.finish.run(&connection)? {
            set(&mut measured, "seconds.optimize", optimize_s);
            seconds += optimize_s;
        }
        if trial.settings.get("journal_mode") == Some(&"wal".into()) {
            let start = Instant::now();
            connection.checkpoint(CheckpointMode::Truncate)?;
            let checkpoint_s = start.elapsed().as_secs_f64();
            set(&mut measured, "seconds.checkpoint", checkpoint_s);
            seconds += checkpoint_s;
        }
        set(&mut measured, "seconds", seconds);
        set(&mut measured, "rows_per_s", loaded.rows as f64 / seconds);
        set_peak_memory(&mut measured);
        set_counts(&mut measured, counts, &connection)?;
        if parameters.run_queries {
            (trial.phase)("query");
            let queries = parameters.text.chosen("published", "", &source)?;
            run_once(table, &queries, &mut measured)?;
        }

        (trial.phase)("verify");
        table.check()?;
        close(connection, Some(&path), &mut measured)?;
        set_bytes_per_row(&mut measured, loaded.rows);
        Ok(measured)
    }
}

/// Notes what the inserting came to, and gives its time in seconds.
fn note_load(loaded: &Loaded, measured: &mut Measured) -> f64 {
    let seconds = loaded.active.as_secs_f64().max(1e-9);
    set(measured, "seconds.insert", seconds);
    set(measured, "rows_per_s.insert", loaded.rows as f64 / seconds);
    set(measured, "mib_per_s", loaded.bytes as f64 / MIB / seconds);
    set(measured, "generate_s", loaded.making.as_secs_f64());
    set_cpu(measured, loaded.cpu);
    measured.windows.clone_from(&loaded.rates);
    seconds
}

/// Runs each query once, and notes the median time, their sum and how many the table answered.
fn run_once(table: TextTable<'_>, queries: &[Query], measured: &mut Measured) -> Result<()> {
    let (mut latencies, mut seconds) = (LatencyHistogram::default(), 0.0);
    add_regexp(table.connection)?;
    for query in queries {
        let Ok(sql) = query.sql(table.options, &table.source.columns) else { continue };
        if let Some(time) = answered_once(table.connection, &sql)? {
            latencies.record(time);
            seconds += time.as_secs_f64();
        }
    }
    set(measured, "answered", latencies.count() as f64);
    if latencies.count() > 0 {
        set(measured, "p50_us.query", latencies.quantile_us(0.5));
        set(measured, "seconds.query", seconds);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::error::TrialError;
    use crate::workload::common::tests::{problem, run};
    use lab::level::Level;

    const ROWS: i64 = 300;

    #[test]
    fn every_tokenizer_and_option_gives_a_verified_index() {
        let tokenizers = [
            "unicode61",
            "unicode61 remove_diacritics 0",
            "unicode61 remove_diacritics 2",
            "ascii",
            "porter",
            "porter ascii",
            "trigram",
            "trigram case_sensitive 1",
        ];
        for tokenizer in tokenizers {
            for detail in ["full", "column", "none"] {
                let settings = [
                    ("tokenizer", tokenizer.into()),
                    ("detail", detail.into()),
                    ("rows", ROWS.into()),
                    ("synchronous", "off".into()),
                ];
                let metrics = run("fts-insert", &settings).unwrap().metrics;
                assert!(metrics["db_bytes"] > 100_000.0, "{tokenizer} {detail}");
            }
        }
    }

    #[test]
    fn every_kind_of_table_and_content_is_verified() {
        for table in ["plain", "plain-indexed", "fts5"] {
            for content in ["ordinary", "contentless", "contentless-delete", "external"] {
                for columnsize in [true, false] {
                    let settings = [
                        ("table", table.into()),
                        ("content", content.into()),
                        ("columnsize", columnsize.into()),
                        ("rows", ROWS.into()),
                        ("synchronous", "off".into()),
                    ];
                    match run("fts-insert", &settings) {
                        Ok(measured) => assert!(measured.metrics["seconds.insert"] > 0.0),
                        Err(error) => assert!(
                            content.starts_with("contentless") && !columnsize,
                            "{table} {content} {columnsize}: {error}"
                        ),
                    }
                }
            }
        }
    }

    #[test]
    fn batches_commits_and_configuration_leave_the_same_documents() {
        for (batch, commit_every) in [(1, 1), (7, 50), (1_000, 0), (500, 300)] {
            let settings = [
                ("batch", batch.into()),
                ("commit_every", commit_every.into()),
                ("pgsz", 1_000.into()),
                ("automerge", 2.into()),
                ("crisismerge", 8.into()),
                ("usermerge", 2.into()),
                ("hashsize", 100_000.into()),
                ("fts_secure_delete", 1.into()),
                ("prefix", "2 3".into()),
                ("finish", "optimize".into()),
                ("rows", ROWS.into()),
                ("synchronous", "off".into()),
                ("journal_mode", "wal".into()),
            ];
            let metrics = run("fts-insert", &settings).unwrap().metrics;
            let parts: f64 = ["insert", "optimize", "checkpoint"]
                .iter()
                .map(|phase| metrics[&format!("seconds.{phase}")])
                .sum();
            assert!((metrics["seconds"] - parts).abs() < 1e-9);
            assert_eq!(metrics["wal_bytes"], 0.0);
        }
    }

    #[test]
    fn the_filled_table_is_queried_where_that_is_wanted() {
        let metrics = |table: &str, queries: bool| {
            let settings = [
                ("table", table.into()),
                ("run_queries", queries.into()),
                ("rows", ROWS.into()),
                ("synchronous", "off".into()),
                ("journal_mode", "wal".into()),
            ];
            run("fts-insert", &settings).unwrap().metrics
        };
        let queried = metrics("fts5", true);
        assert_eq!(queried["answered"], 21.0);
        let (median, sum) = (queried["p50_us.query"] / 1e6, queried["seconds.query"]);
        assert!(median > 0.0 && median < sum && sum < 21.0 * 60.0);
        // Queries are no part of the work, and LIKE cannot express all of them.
        let parts = queried["seconds.insert"] + queried["seconds.checkpoint"];
        assert!((queried["seconds"] - parts).abs() < 1e-9);
        assert_eq!(metrics("plain", true)["answered"], 16.0);
        assert!(!metrics("fts5", false).contains_key("p50_us.query"));
    }

    #[test]
    fn sizes_stand_to_one_another_as_those_of_the_original_data() {
        let size = |tokenizer: &str| {
            let settings = [
                ("tokenizer", tokenizer.into()),
                ("rows", 3_000.into()),
                ("synchronous", "off".into()),
            ];
            run("fts-insert", &settings).unwrap().metrics["db_bytes"]
        };
        let words = size("unicode61");
        assert!((2.0..4.0).contains(&(size("trigram") / words)));
        assert!((0.95..1.0).contains(&(size("porter") / words)));
        assert!((size("ascii") / words - 1.0).abs() <= 0.01);
        assert!((size("unicode61 remove_diacritics 0") / words - 1.0).abs() <= 0.005);
        assert!((size("unicode61 remove_diacritics 2") / words - 1.0).abs() <= 0.005);
    }

    #[test]
    fn documents_of_ones_own_are_indexed_and_mistakes_in_them_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.csv");
        std::fs::write(&path, "title,body\nOne,two words\nThree,\n").unwrap();
        let file = || ("text_file", path.to_str().unwrap().into());
        let measured =
            run("fts-insert", &[file(), ("text_columns", "body, title".into())]).unwrap();
        let rows = measured.metrics["rows_per_s.insert"] * measured.metrics["seconds.insert"];
        assert!((rows - 2.0).abs() < 1e-6, "{rows}");
        let own = [
            file(),
            ("queries", "own".into()),
            ("query", "three OR words".into()),
            ("repeat", 1.into()),
        ];
        assert_eq!(run("fts-query", &own).unwrap().metrics["results.own"], 2.0);
        let missing = problem("fts-insert", &[file(), ("text_columns", "text".into())]);
        assert!(missing.contains("own.csv has no column `text`"), "{missing}");
        std::fs::write(&path, b"title,body\nOne,\xff\n").unwrap();
        let broken = problem("fts-insert", &[file()]);
        assert!(broken.contains("own.csv, row 1") && broken.contains("UTF-8"), "{broken}");
        let relative = problem("fts-insert", &[("text_file", "own.csv".into())]);
        assert!(relative.contains("absolute"), "{relative}");
    }

    #[test]
    fn a_column_of_ones_own_may_be_called_id_in_every_kind_of_table() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.csv");
        std::fs::write(&path, "id,body\nA7,two words\nB9,three\n").unwrap();
        for (name, level) in [
            ("content", "ordinary"),
            ("content", "external"),
            ("content", "contentless"),
            ("table", "plain-indexed"),
        ] {
            let settings = [("text_file", path.to_str().unwrap().into()), (name, level.into())];
            let measured = run("fts-insert", &settings).unwrap();
            assert!(measured.metrics["db_bytes"] > 0.0, "{level}");
        }
    }

    #[test]
    fn what_the_engine_does_not_know_is_named() {
        let tokenizer = problem("fts-insert", &[("tokenizer", "unicode16".into())]);
        assert!(tokenizer.contains("unicode16"), "{tokenizer}");
        let option = problem("fts-insert", &[("tokenizer", "trigram colour 1".into())]);
        assert!(option.contains("trigram colour 1"), "{option}");
        let prefix = problem("fts-insert", &[("prefix", "two".into())]);
        assert!(prefix.contains("two"), "{prefix}");
        let extension = problem("fts-insert", &[("extension", "/no/such/tokenizer.so".into())]);
        assert!(extension.contains("/no/such/tokenizer.so"), "{extension}");
    }

    #[test]
    fn what_would_fail_or_not_be_in_force_cannot_be_run() {
        let why = |over: &[(&str, Level)]| match run("fts-insert", over) {
            Err(TrialError::CannotRun(why)) => why,
            other => panic!("{over:?}: {other:?}"),
        };
        let automerge = why(&[("automerge", 1.into())]);
        assert!(automerge.contains("`automerge = 1`"), "{automerge}");
        for content in ["contentless", "contentless-delete"] {
            let rebuild = why(&[("finish", "rebuild".into()), ("content", content.into())]);
            assert!(rebuild.contains("does not keep"), "{rebuild}");
        }
        let plain = why(&[("finish", "merge".into()), ("table", "plain".into())]);
        assert!(plain.contains("a plain table"), "{plain}");
        // A plain table has no such option to be wrong.
        let settings = [
            ("automerge", 1.into()),
            ("table", "plain".into()),
            ("rows", ROWS.into()),
            ("synchronous", "off".into()),
        ];
        assert!(run("fts-insert", &settings).is_ok());
    }
}
