//! Results of one tokenizer compared with those of other tokenizers; nothing is timed.
//!
//! Each tokenizer fills an index of its own with the same documents and runs the same queries.
//! The overlap of two tokenizers in a query is the part of all rows that either finds which both
//! find (Jaccard, 1901); of all queries it is the mean over those that either answers with a row.

use super::execute::{rowids, understood};
use super::queries::{Query, Shape, TextQueries};
use super::source::{DocumentParameters, Source};
use super::table::{TableOptions, TextTable, TokenizerOptions};
use crate::workload::prelude::*;

/// The workload `fts-overlap`.
pub(in crate::workload) struct FtsOverlap;

/// The tokenizers with which others are compared.
const OTHERS: [&str; 4] = ["unicode61", "ascii", "porter", "trigram"];

/// Results of a tokenizer, query by query; `None` for a query that it cannot answer.
type Findings = Vec<Option<Vec<i64>>>;

parameters! {
    /// The parameters of one trial.
    struct Parameters {
        documents: DocumentParameters;
        text: TextQueries;
        tokenizer: TokenizerOptions;
    }
}

impl Declared for FtsOverlap {
    const NAME: &'static str = "fts-overlap";
    const ABOUT: &'static str = "Runs the same queries on full-text indexes of different tokenizers and compares the rows found.";
    const PHASES: &'static [&'static str] = &OTHERS;
    const COUNTS: bool = false;
    type Parameters = Parameters;

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured> {
        let own = TableOptions::index_only(&parameters.tokenizer)?;
        let source = Source::of(&parameters.documents, trial.seed)?;
        let queries = parameters.text.chosen("all", "", &source)?;
        let queries: Vec<Query> =
            queries.into_iter().filter(|query| query.shape() == Shape::Rows).collect();
        let mut measured = Measured::default();
        (trial.phase)("load");
        let mine = find(trial, &own, &source, &queries, &mut measured)?;
        let results: usize = mine.iter().flatten().map(Vec::len).sum();
        set(&mut measured, "results", results as f64);
        let mut others = Vec::new();
        for tokenizer in OTHERS {
            let findings = if own.tokenizer.name == tokenizer {
                mine.clone()
            } else {
                let mut options = own.clone();
                tokenizer.clone_into(&mut options.tokenizer.name);
                find(trial, &options, &source, &queries, &mut Measured::default())?
            };
            if let Some(overlap) = mean_overlap(&mine, &findings) {
                set(&mut measured, &format!("overlap.{tokenizer}"), overlap);
            }
            others.push(findings);
        }
        measured.tables.push(side_by_side(&queries, &mine, &others));
        Ok(measured)
    }
}

/// Fills an index and asks it every query.
fn find(
    trial: &Trial<'_>,
    options: &TableOptions,
    source: &Source,
    queries: &[Query],
    measured: &mut Measured,
) -> Result<Findings> {
    let path = trial.directory.join("index.db");
    let connection = sqlite::open(trial, &path)?;
    let table = TextTable { connection: &connection, options, source };
    table.make_and_fill(trial, 0)?;
    let findings = queries.iter().map(|query| answer(table, query)).collect::<Result<_, _>>()?;
    close(connection, Some(&path), measured)?;
    std::fs::remove_file(&path).map_err(TrialError::io("remove", &path))?;
    Ok(findings)
}

fn answer(table: TextTable<'_>, query: &Query) -> Result<Option<Vec<i64>>> {
    // Patterns need the texts, which these indexes do not keep, and find the same with each.
    let Ok(sql) = query.sql(table.options, &table.source.columns) else { return Ok(None) };
    Ok(understood(rowids(table.connection, &sql))?.ok())
}

/// Returns the part of the rows of both, each in ascending order, that both have, or `None` if both are empty.
fn overlap(one: &[i64], other: &[i64]) -> Option<f64> {
    let both = one.iter().filter(|rowid| other.binary_search(rowid).is_ok()).count();
    let either = one.len() + other.len() - both;
    (either > 0).then(|| both as f64 / either as f64)
}

fn mean_overlap(one: &Findings, other: &Findings) -> Option<f64> {
    let overlaps: Vec<f64> = one
        .iter()
        .zip(other)
        .filter_map(|(one, other)| overlap(one.as_ref()?, other.as_ref()?))
        .collect();
    (!overlaps.is_empty()).then(|| overlaps.iter().sum::<f64>() / overlaps.len() as f64)
}

/// Returns for each query the number of rows found, and for each other tokenizer its number and the overlap.
fn side_by_side(queries: &[Query], mine: &Findings, others: &[Findings]) -> DataTable {
    let headings = ["class", "query", "rows found"].map(str::to_owned);
    let others_headings = OTHERS.map(|name| format!("{name}: rows, overlap"));
    let rows = queries.iter().enumerate().map(|(number, query)| {
        let found = |findings: &Findings| match &findings[number] {
            Some(found) => found.len().to_string(),
            None => "not answered".to_owned(),
        };
        let mut row = vec![query.class.clone(), query.text.clone(), found(mine)];
        row.extend(others.iter().map(|other| {
            let both = mine[number].as_ref().zip(other[number].as_ref());
            match both.and_then(|(mine, other)| overlap(mine, other)) {
                Some(part) => format!("{}, {:.0} %", found(other), part * 100.0),
                None => found(other),
            }
        }));
        row
    });
    DataTable {
        title: "rows found, compared with other tokenizers".to_owned(),
        columns: headings.into_iter().chain(others_headings).collect(),
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::common::tests::run;

    #[test]
    fn the_overlap_is_the_part_of_either_that_both_have() {
        assert_eq!(overlap(&[1, 2, 3], &[2, 3, 4]), Some(0.5));
        assert_eq!(overlap(&[1], &[]), Some(0.0));
        assert_eq!(overlap(&[], &[]), None);
    }

    #[test]
    fn a_tokenizer_overlaps_with_itself_wholly_and_with_others_in_part() {
        let settings =
            [("tokenizer", "porter".into()), ("rows", 1_500.into()), ("synchronous", "off".into())];
        let metrics = run("fts-overlap", &settings).unwrap().metrics;
        assert_eq!(metrics["overlap.porter"], 1.0);
        for other in ["unicode61", "trigram"] {
            let overlap = metrics[&format!("overlap.{other}")];
            assert!(overlap > 0.1 && overlap < 1.0, "{other}: {overlap}");
        }
    }
}
