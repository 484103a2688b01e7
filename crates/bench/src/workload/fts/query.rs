//! Queries on a full-text table: the latency of each class, with precision and recall.
//!
//! The table is filled first and timed separately. A query's time runs from preparing its statement to
//! its last row; all columns of every row are read. `seconds` is the time of running each query once:
//! the sum of the median times. Queries that the table refuses are counted in `answered` only. Warm
//! queries have run before; for cold ones the connection is new and the kernel has dropped the file from
//! its cache.

use std::collections::BTreeMap;

use engine::CheckpointMode;

use super::execute::{Answer, Cache, Executor, Response, add_regexp, check_cold, understood};
use super::load::BATCH;
use super::queries::{self, OWN, Query, QueryChoice, TextQueries};
use super::recall::{Recall, Scan};
use super::source::{DocumentParameters, Source};
use super::table::{TableOptions, TextTable};
use crate::measure::CpuTime;
use crate::parameters::{Limit, SqlText};
use crate::workload::prelude::*;

/// The workload `fts-query`.
pub(in crate::workload) struct FtsQuery;

parameters! {
    /// The parameters of one trial.
    struct Parameters {
        documents: DocumentParameters;
        options: TableOptions;
        /// Queries to run: `published` (of the article, on 100,000 rows), `large` (like its queries on all
        /// rows, and some beyond English), both, one class, or `own`, the one in `query`. On a file of
        /// yours, queries of the same classes are drawn from it.
        queries: QueryChoice = "all";
        text: TextQueries;
        /// Your own full-text expression, for `queries = "own"`.
        query: SqlText = "";
        /// Times that each query runs.
        repeat: usize = 20, 1..;
        /// Time after which a query is not repeated; 0: no limit.
        limit as "query_limit_ms": Limit = 1_000;
        /// What is in memory when a query runs.
        cache: Cache = Cache::Warm;
        /// Whether a scan of all documents measures precision and recall of the queries.
        judge: bool = true;
    }
}

impl Declared for FtsQuery {
    const NAME: &'static str = "fts-query";
    const METRIC: &'static str = "seconds";
    const ABOUT: &'static str = "Runs the published queries on a full-text table, or a plain one, and measures precision and recall.";
    const COUNTS: bool = false;
    type Parameters = Parameters;

    fn phases() -> Vec<String> {
        let load = ["insert", "optimize"].map(str::to_owned);
        queries::classes().into_iter().chain(load).collect()
    }

    fn check(parameters: &Parameters, _: &Settings) -> Result<()> {
        let needs_query = parameters.queries == OWN && parameters.text.text_queries.is_none();
        let has_query = !parameters.query.is_empty();
        if needs_query && !has_query || has_query && parameters.queries != OWN {
            let why = "`query` is the expression for `queries = \"own\"`: give both or neither";
            return Err(TrialError::cannot_run(why));
        }
        check_cold(parameters.cache)?;
        parameters.options.check()
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured> {
        let source = Source::of(&parameters.documents, trial.seed)?;
        let queries = parameters.text.chosen(&parameters.queries, &parameters.query, &source)?;
        let path = trial.directory.join("test.db");
        let connection = sqlite::open(trial, &path)?;
        add_regexp(&connection)?;
        let mut measured = Measured::default();
        (trial.phase)("load");
        let options = &parameters.options;
        let table = TextTable { connection: &connection, options, source: &source };
        fill(trial, table, &mut measured)?;

        (trial.phase)("query");
        let Parameters { cache, repeat, limit, .. } = *parameters;
        let executor = Executor { trial, table, path: &path, cache, repeat, limit };
        let responses = run_all(&executor, &queries)?;
        set_peak_memory(&mut measured);
        // How many queries were answered: where variants differ in that, their times and recalls are not of the same
        // queries.
        let answered = responses.iter().filter(|response| response.answer.is_ok());
        set(&mut measured, "answered", answered.count() as f64);
        // CPU time of all timed executions, and of nothing else.
        let answers = responses.iter().filter_map(|response| response.answer.as_ref().ok());
        let cpu = answers.fold(CpuTime::default(), |sum, answer| sum.plus(answer.cpu));
        set_cpu(&mut measured, cpu);
        note_times(&responses, repeat, &mut measured)?;
        (trial.phase)("verify");
        let recalls = if parameters.judge {
            Scan::new(&responses, &source).run()?
        } else {
            responses.iter().map(Recall::unjudged).collect()
        };
        if parameters.judge && source.is_generated() {
            super::recall::check(&responses, &recalls, options)?;
        }
        super::recall::note(&responses, &recalls, &mut measured);
        measured.tables.push(findings(&responses, &recalls));
        table.check_index()?;
        close(connection, Some(&path), &mut measured)?;
        set_bytes_per_row(&mut measured, source.rows);
        Ok(measured)
    }
}

/// Makes and fills the table; afterwards nothing is left in a write-ahead log.
fn fill(trial: &Trial<'_>, table: TextTable<'_>, measured: &mut Measured) -> Result<()> {
    let loaded = table.make_and_fill(trial, BATCH)?;
    let insert_s = loaded.active.as_secs_f64().max(1e-9);
    set(measured, "seconds.insert", insert_s);
    set(measured, "rows_per_s", loaded.rows as f64 / insert_s);
    set(measured, "generate_s", loaded.making.as_secs_f64());
    if let Some(seconds) = table.options.finish.run(table.connection)? {
        set(measured, "seconds.optimize", seconds);
    }
    table.connection.checkpoint(CheckpointMode::Truncate)?;
    Ok(())
}

/// Runs every query that the table can answer; where it can answer none, the trial is skipped.
fn run_all<'q>(executor: &Executor<'_, '_>, queries: &'q [Query]) -> Result<Vec<Response<'q>>> {
    let TextTable { options, source, .. } = executor.table;
    let mut responses = Vec::new();
    for query in queries {
        let answer = match query.sql(options, &source.columns) {
            Ok(sql) => {
                understood(executor.execute(query, &sql))?.map_err(|error| error.to_string())
            }
            Err(why) => Err(why),
        };
        responses.push(Response { query, answer });
    }
    match &responses[..] {
        all if all.iter().any(|response| response.answer.is_ok()) => Ok(responses),
        [Response { query, answer: Err(why) }, ..] => Err(TrialError::CannotRun(format!(
            "the query `{}` cannot be answered: {why}",
            query.text
        ))),
        _ => Err(TrialError::cannot_run("there is no query")),
    }
}

/// Percentiles of each class and of all, in which every query weighs alike, and the sum of the
/// medians.
fn note_times(responses: &[Response<'_>], repeat: usize, measured: &mut Measured) -> Result<()> {
    let mut all = Latencies::default();
    let mut seconds = 0.0;
    for class in queries::classes() {
        let mut of_class = Latencies::default();
        let mut sum = 0.0;
        for response in responses.iter().filter(|response| response.query.class == class) {
            let Ok(answer) = &response.answer else { continue };
            of_class.add(answer, repeat);
            all.add(answer, repeat);
            sum += answer.median();
        }
        if of_class.unweighed.count() > 0 {
            let percentiles = of_class.metrics();
            let named = |(name, value)| (format!("{name}.{class}"), value);
            measured.metrics.extend(percentiles.into_iter().map(named));
            set(measured, &format!("seconds.{class}"), sum);
            seconds += sum;
        }
    }
    set(measured, "seconds", seconds);
    measured.metrics.extend(all.metrics());
    measured.latency = Some(all.unweighed.latency()?);
    Ok(())
}

/// The latencies of several queries.
#[derive(Default)]
struct Latencies {
    /// Every execution.
    unweighed: LatencyHistogram,
    /// As many of each query.
    weighed: LatencyHistogram,
}

impl Latencies {
    fn add(&mut self, answer: &Answer, repeat: usize) {
        for time in &answer.times {
            self.unweighed.record(*time);
        }
        for time in answer.weighed(repeat) {
            self.weighed.record(time);
        }
    }

    /// Percentiles in which every query weighs alike, as far as the number of executions allows.
    fn metrics(&self) -> BTreeMap<String, f64> {
        self.weighed.metrics_of(self.unweighed.count())
    }
}

/// Returns the results of each query, or why it has no answer, for the reader of the report.
fn findings(responses: &[Response<'_>], recalls: &[Recall]) -> DataTable {
    let headings = [
        "class",
        "query",
        "results",
        "of rows with the words",
        "of rows with their stems",
        "of rows with their letters",
    ];
    let rows = responses.iter().zip(recalls).map(|(response, recall)| {
        let mut row = vec![response.query.class.clone(), response.query.text.clone()];
        match &response.answer {
            Ok(answer) => {
                row.push(answer.rowids.len().to_string());
                row.extend(recall.shares());
            }
            Err(why) => row.push(format!("not answered: {why}")),
        }
        row.resize(headings.len(), String::new());
        row
    });
    DataTable::new("what the queries find", &headings, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::common::tests::{problem, run};
    use lab::level::Level;

    fn measured(over: &[(&str, Level)]) -> Measured {
        let mut settings =
            vec![("rows", 1_500.into()), ("repeat", 2.into()), ("synchronous", "off".into())];
        settings.extend(over.iter().cloned());
        run("fts-query", &settings).unwrap()
    }

    #[test]
    fn every_tokenizer_answers_and_patterns_find_the_same_with_each() {
        let mut patterns = Vec::new();
        for tokenizer in ["unicode61", "ascii", "porter", "trigram"] {
            let metrics = measured(&[("tokenizer", tokenizer.into())]).metrics;
            assert!(metrics["p50_us"] > 0.0);
            assert!(metrics["results.simple-and"] > 0.0, "{tokenizer}");
            assert!(metrics["results.common-limit"] <= 50.0);
            patterns.push(
                ["like-rare", "glob-medium", "regexp"]
                    .map(|class| metrics[&format!("results.{class}")]),
            );
            if tokenizer == "trigram" {
                assert_eq!(metrics["recall_substring.common-term"], 1.0);
            } else {
                assert_eq!(metrics["recall_word.common-term"], 1.0);
            }
        }
        assert!(patterns.iter().all(|found| found == &patterns[0]), "{patterns:?}");
        assert!(patterns[0][2] > 0.0);
    }

    #[test]
    fn plain_tables_and_other_contents_answer_what_they_can() {
        for over in [
            ("table", Level::from("plain")),
            ("table", "plain-indexed".into()),
            ("content", "external".into()),
            ("content", "contentless".into()),
            ("detail", "column".into()),
            ("detail", "none".into()),
            ("columnsize", false.into()),
        ] {
            let measured = measured(std::slice::from_ref(&over));
            assert!(measured.metrics["seconds"] > 0.0, "{over:?}");
            let rows = &measured.tables[0].rows;
            let refused = rows.iter().filter(|row| row[2].contains("not answered"));
            let answered = rows.len() - refused.count();
            let all = matches!(&over.1, Level::Text(text) if text == "external")
                || over.0 == "columnsize";
            assert_eq!(answered == rows.len(), all, "{over:?}");
            assert_eq!(measured.metrics["answered"], answered as f64, "{over:?}");
        }
    }

    /// What each tokenizer finds of words with accents queried without them, and of a word in a
    /// longer run of Japanese.
    #[test]
    fn accents_and_scripts_without_spaces_tell_tokenizers_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.csv");
        let text = "text\nHerr Müller\nông Nguyễn\n日本の検索エンジン\nnobody\n";
        std::fs::write(&path, text).unwrap();
        let queries = Query::list(&queries::published_queries("large")).unwrap();
        let find = |tokenizer: &str, class: &str| {
            let settings = [
                ("text_file", path.to_str().unwrap().into()),
                ("text_queries", queries.as_str().into()),
                ("tokenizer", tokenizer.into()),
                ("queries", class.into()),
                ("repeat", 1.into()),
            ];
            run("fts-query", &settings).unwrap().metrics
        };
        for (tokenizer, accented, cjk) in [
            ("unicode61", 1.0, 0.0),
            ("unicode61 remove_diacritics 0", 0.0, 0.0),
            ("unicode61 remove_diacritics 2", 2.0, 0.0),
            ("ascii", 0.0, 0.0),
            ("porter", 1.0, 0.0),
            ("trigram", 0.0, 1.0),
        ] {
            let found = find(tokenizer, "accented");
            assert_eq!(found["results.accented"], accented, "{tokenizer}");
            assert_eq!(found["recall_word.accented"], accented / 2.0, "{tokenizer}");
            let found = find(tokenizer, "cjk");
            assert_eq!(found["recall_substring.cjk"], cjk, "{tokenizer}");
        }
    }

    #[test]
    fn generated_documents_have_the_words_that_tell_tokenizers_apart() {
        let accented = [
            ("rows", 4_000.into()),
            ("tokenizer", "unicode61 remove_diacritics 2".into()),
            ("queries", "accented".into()),
        ];
        assert_eq!(measured(&accented).metrics["recall_word.accented"], 1.0);
        let cjk = [("rows", 12_000.into()), ("table", "plain".into()), ("queries", "cjk".into())];
        let metrics = measured(&cjk).metrics;
        assert!(metrics["results.cjk"] > 0.0);
        // The word never stands alone.
        assert!(!metrics.contains_key("recall_word.cjk"));
    }

    #[test]
    fn cold_queries_find_what_warm_ones_do() {
        let [warm, cold] = ["warm", "cold"].map(|cache| {
            let measured = measured(&[("cache", cache.into()), ("queries", "large".into())]);
            measured.tables
        });
        assert_eq!(warm, cold);
    }

    #[test]
    fn an_optimized_index_answers_the_same() {
        let finishes = ["nothing", "optimize", "merge", "merge-levels", "rebuild"];
        let tables = finishes.map(|finish| {
            measured(&[("finish", finish.into()), ("queries", "published".into())]).tables
        });
        assert!(tables.iter().all(|found| found == &tables[0]));
    }

    #[test]
    fn a_query_of_ones_own_is_asked_and_a_wrong_one_named() {
        let own = [("queries", "own".into()), ("query", "the AND data*".into())];
        assert!(measured(&own).metrics["results.own"] > 0.0);
        let wrong =
            [("queries", "own".into()), ("query", "the AND AND".into()), ("rows", 10.into())];
        let why = problem("fts-query", &wrong);
        assert!(why.contains("`the AND AND`") && why.contains("syntax error"), "{why}");
        let none = problem("fts-query", &[("queries", "own".into())]);
        assert!(none.contains("`query`"), "{none}");
    }
}
