//! Experiments on documents of the user's own: an experiment from a library reads a file instead of
//! generated documents.

use std::fmt;
use std::path::{Path, PathBuf};

use lab::catalogue::Catalogue;
use lab::design::variants;
use lab::experiment::{Experiment, Scale};
use lab::level::{Level, Settings};

use crate::import::{TextOptions, TextSummary, split_columns};
use crate::workload::fts::draw::DocumentQueries;

/// The parameter that says how many documents are used.
const ROWS: &str = "rows";

/// The parameter that holds queries on the documents of a file.
const QUERIES: &str = "text_queries";

/// The parameter that says whether a workload runs queries, where it need not.
const RUN_QUERIES: &str = "run_queries";

/// Why an experiment takes no documents of the user's.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TakesNoText {
    /// It needs what only the generator knows.
    #[error("the experiment `{0}` takes generated documents only")]
    GeneratedOnly(String),
    /// It has no documents.
    #[error("the experiment `{0}` uses no documents")]
    NoDocuments(String),
}

/// How many documents of a file an experiment uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextUse {
    /// Documents used; with variants that differ, the largest number.
    pub used: u64,
    /// Documents that every variant uses.
    pub by_all: u64,
    /// Documents in the file.
    pub of: u64,
}

impl fmt::Display for TextUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.used < self.of {
            write!(f, "the first {} of {} documents", self.used, self.of)
        } else {
            write!(f, "all {} documents", self.of)
        }
    }
}

/// Whether the experiment can read documents from a file.
///
/// # Errors
/// It cannot.
pub fn check_takes_text(experiment: &Experiment, catalogue: &Catalogue) -> Result<(), TakesNoText> {
    let workload = catalogue.workload(&experiment.workload);
    let knows = |setting: &str| {
        workload.is_some_and(|workload| catalogue.setting(workload, setting).is_some())
    };
    // Generated documents belong to an era.
    match (knows("text_file"), knows("era")) {
        (true, _) => Ok(()),
        (false, true) => Err(TakesNoText::GeneratedOnly(experiment.id.clone())),
        (false, false) => Err(TakesNoText::NoDocuments(experiment.id.clone())),
    }
}

/// Makes an experiment read the file at `path` with this summary. Returns how much of it the experiment uses at this
/// scale.
pub fn use_text(
    experiment: &mut Experiment,
    path: &Path,
    options: &TextOptions,
    summary: &TextSummary,
    scale: Scale,
    catalogue: &Catalogue,
) -> TextUse {
    let mut set = |name: &str, value: &str| {
        experiment.base.insert(name.to_owned(), value.into());
    };
    set("text_file", &path.to_string_lossy());
    set("text_columns", &summary.columns.join(","));
    if let Some(table) = &options.table {
        set("text_table", table);
    }
    if let Some(encoding) = options.encoding {
        set("text_encoding", encoding.name());
    }
    cap_rows(experiment, summary.rows as i64, catalogue);
    let variants = variants(experiment, scale, catalogue);
    let rows = variants.iter().filter_map(|variant| variant.settings.get(ROWS)?.as_int());
    let rows = rows.map(|rows| summary.rows.min(rows as u64));
    TextUse {
        used: rows.clone().max().unwrap_or(summary.rows),
        by_all: rows.min().unwrap_or(summary.rows),
        of: summary.rows,
    }
}

/// Returns the file that an experiment reads its documents from, as its own file says.
///
/// # Errors
/// The encoding is unknown.
pub fn text_of(experiment: &Experiment) -> Result<Option<(PathBuf, TextOptions)>, String> {
    let text = |name: &str| experiment.base.get(name).and_then(Level::as_text);
    let Some(path) = text("text_file") else { return Ok(None) };
    let columns = text("text_columns").map(split_columns);
    let options = TextOptions {
        columns: columns.unwrap_or_default(),
        table: text("text_table").map(str::to_owned),
        encoding: text("text_encoding").map(str::parse).transpose()?,
    };
    Ok(Some((PathBuf::from(path), options)))
}

/// Returns whether trials of an experiment run queries that must be drawn from its documents: those that it does not
/// bring itself.
pub fn needs_queries(experiment: &Experiment, scale: Scale, catalogue: &Catalogue) -> bool {
    let brings = |settings: &Settings| {
        let text = |name: &str| settings.get(name).and_then(Level::as_text);
        let queries = settings.get(RUN_QUERIES).and_then(Level::as_bool);
        text("queries") == Some("own") || settings.contains_key(QUERIES) || queries == Some(false)
    };
    let knows = catalogue
        .workload(&experiment.workload)
        .is_some_and(|workload| catalogue.setting(workload, QUERIES).is_some());
    knows && !variants(experiment, scale, catalogue).iter().all(|variant| brings(&variant.settings))
}

/// Returns whether an experiment compares classes of queries, so that one list cannot serve all its variants.
pub fn compares_classes(experiment: &Experiment) -> bool {
    let listed = &experiment.design.variants;
    experiment.factors.contains_key("queries")
        || listed.iter().any(|levels| levels.contains_key("queries"))
}

/// Has every trial of an experiment run these queries.
pub fn use_queries(experiment: &mut Experiment, queries: &DocumentQueries) {
    let list = queries.setting.as_str().into();
    experiment.base.insert(QUERIES.to_owned(), list);
}

/// Has an experiment ask for no more documents than there are, at any scale: the duration of a run is
/// forecast from the documents requested.
fn cap_rows(experiment: &mut Experiment, documents: i64, catalogue: &Catalogue) {
    let workload = catalogue.workload(&experiment.workload);
    let unstated = workload.and_then(|workload| catalogue.defaults(workload).remove(ROWS));
    if let Some(rows) = unstated {
        experiment.base.entry(ROWS.to_owned()).or_insert(rows);
    }
    let scales = experiment.scale.values_mut();
    for settings in scales.chain([&mut experiment.base]) {
        if let Some(Level::Int(rows)) = settings.get_mut(ROWS) {
            *rows = documents.min(*rows);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn experiment(workload: &str, scale: &str) -> Experiment {
        let text = format!(
            "id = \"own\"\nquestion = \"?\"\nworkload = \"{workload}\"\n{scale}\n\
             [factors]\njournal_mode = [\"wal\", \"delete\"]\n\
             [design]\nkind = \"one-at-a-time\"\nbaseline = {{ journal_mode = \"wal\" }}\n"
        );
        lab::experiment::parse("own", &text, &crate::catalogue()).unwrap()
    }

    fn used(experiment: &mut Experiment, rows: u64, scale: Scale) -> String {
        let summary =
            TextSummary { rows, columns: vec!["title".to_owned(), "body".to_owned()], bytes: 0 };
        let options =
            TextOptions { encoding: Some("latin1".parse().unwrap()), ..TextOptions::default() };
        let path = Path::new("/own.csv");
        use_text(experiment, path, &options, &summary, scale, &crate::catalogue()).to_string()
    }

    #[test]
    fn no_scale_asks_for_more_documents_than_there_are() {
        let scales = "[scale]\nquick = { rows = 10_000 }\ndefault = { rows = 100_000 }\npaper = { rows = 41_400_000 }";
        let mut experiment = experiment("fts-query", scales);
        let mut of_scale = |scale| used(&mut experiment, 50_000, scale);
        let quick = of_scale(Scale::Quick);
        assert_eq!(quick, "the first 10000 of 50000 documents");
        assert_eq!(of_scale(Scale::Default), "all 50000 documents");
        assert_eq!(of_scale(Scale::Paper), "all 50000 documents");
        let paper = &experiment.scale[&Scale::Paper];
        assert_eq!(paper[ROWS], Level::Int(50_000));
        assert_eq!(experiment.base["text_file"], "/own.csv".into());
        assert_eq!(experiment.base["text_columns"], "title,body".into());
        assert_eq!(experiment.base["text_encoding"], "windows-1252".into());
    }

    #[test]
    fn rows_that_an_experiment_does_not_state_are_capped_too() {
        for (documents, rows) in [(7, 7), (500_000, 100_000)] {
            let mut experiment = experiment("fts-query", "");
            used(&mut experiment, documents, Scale::Default);
            assert_eq!(experiment.base[ROWS], Level::Int(rows));
        }
    }

    #[test]
    fn queries_are_drawn_for_experiments_that_run_any_and_bring_none() {
        let needs = |workload: &str, base: &str| {
            let mut experiment = experiment(workload, "");
            for setting in base.split(' ').filter(|setting| !setting.is_empty()) {
                let level = match setting.split_once('=').unwrap().1 {
                    "true" => true.into(),
                    text => Level::from(text),
                };
                let name = setting.split_once('=').unwrap().0.to_owned();
                experiment.base.insert(name, level);
            }
            needs_queries(&experiment, Scale::Default, &crate::catalogue())
        };
        assert!(needs("fts-query", ""));
        assert!(needs("fts-overlap", ""));
        assert!(needs("fts-insert", "run_queries=true"));
        assert!(!needs("fts-insert", ""));
        assert!(!needs("fts-query", "queries=own query=mine"));
        assert!(!needs("fts-query", "text_queries=[]"));
        assert!(!needs("fts-update", ""));
    }

    #[test]
    fn an_experiment_that_takes_no_text_says_why() {
        let refused = |workload: &str| {
            let experiment = experiment(workload, "");
            check_takes_text(&experiment, &crate::catalogue()).unwrap_err().to_string()
        };
        assert!(refused("fts-update").contains("generated documents only"));
        assert!(refused("bulk-insert").contains("uses no documents"));
        check_takes_text(&experiment("fts-query", ""), &crate::catalogue()).unwrap();
    }
}
