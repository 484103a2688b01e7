//! Queries drawn from a file of documents: the classes of the published queries, with words of the user's
//! text.
//!
//! [`survey`] counts the words of a sample and keeps some documents whole, [`terms`] tells what a word is,
//! [`classes`] draws queries of each class, and [`own`] reads queries that the user has written. The same
//! documents always give the same queries. Every query that is drawn is checked against the sample: its
//! words or letters occur there, and a misspelled word does not.
//!
//! Queries that the user has written: one per line, a full-text expression or `column LIKE pattern`.

mod classes;
mod survey;
#[cfg(test)]
mod tests;

use std::path::Path;

use self::survey::{Sample, Survey};
use super::queries::{OWN, Operator, Query};
use super::truth::{Judge, Meaning, Sense, column_name};
use crate::import::{ImportError, TextFile};
use crate::parameters::Choice;

/// Queries on a file of documents.
#[derive(Clone, Debug)]
pub struct DocumentQueries {
    /// The value of the setting `text_queries`.
    pub setting: String,
    /// Each class that has queries, with their number.
    pub classes: Vec<(String, usize)>,
    /// Each class that the documents are too few or too plain for, with the reason.
    pub missing: Vec<(String, String)>,
}

/// Draws queries from the first `rows` documents of a file.
///
/// # Errors
/// The file cannot be read, or no query can be drawn from it.
pub fn draw_queries(
    file: &TextFile,
    columns: &[String],
    rows: u64,
) -> Result<DocumentQueries, ImportError> {
    let sample = Sample { file, columns, rows };
    let survey = sample.survey()?;
    let mut missing = Vec::new();
    let mut queries = Vec::new();
    for (class, drawn) in classes::draw(&survey) {
        match drawn {
            Ok(drawn) => queries.extend(drawn),
            Err(why) => missing.push((class.to_owned(), why.to_owned())),
        }
    }
    let drawn = queries.clone();
    let queries = occurring(&sample, queries, &survey)?;
    missing.extend(lost(&drawn, &queries));
    if queries.is_empty() {
        return Err(unusable(
            file,
            "no query can be drawn from it, because it has no word of three letters or more"
                .to_owned(),
        ));
    }
    listed(file, &queries, missing)
}

/// Reads queries that the user has written, one per line.
///
/// # Errors
/// The file cannot be read or holds no query.
pub fn read_queries(
    queries: &Path,
    file: &TextFile,
    columns: &[String],
) -> Result<DocumentQueries, ImportError> {
    let problem = |what: String| ImportError::Unusable(queries.to_owned(), what);
    let text = std::fs::read_to_string(queries).map_err(|error| problem(error.to_string()))?;
    let read = own_queries(&text, columns).map_err(problem)?;
    if read.is_empty() {
        Err(problem("it holds no query".to_owned()))
    } else {
        listed(file, &read, Vec::new())
    }
}

/// Returns the classes that have no query left.
fn lost(drawn: &[Query], left: &[Query]) -> Vec<(String, String)> {
    let has_class =
        |queries: &[Query], class: &str| queries.iter().any(|query| query.class == class);
    let mut lost: Vec<(String, String)> = Vec::new();
    for Query { class, .. } in drawn {
        if !has_class(left, class) && lost.iter().all(|(known, _)| known != class) {
            let why = "a scan does not find what was drawn".to_owned();
            lost.push((class.clone(), why));
        }
    }
    lost
}

fn unusable(file: &TextFile, what: String) -> ImportError {
    ImportError::Unusable(file.path.to_owned(), what)
}

fn listed(
    file: &TextFile,
    queries: &[Query],
    missing: Vec<(String, String)>,
) -> Result<DocumentQueries, ImportError> {
    let setting = Query::list(queries).map_err(|error| unusable(file, error.to_string()))?;
    let mut classes: Vec<(String, usize)> = Vec::new();
    for query in queries {
        match classes.iter_mut().find(|(class, _)| *class == query.class) {
            Some((_, count)) => *count += 1,
            None => classes.push((query.class.clone(), 1)),
        }
    }
    Ok(DocumentQueries { setting, classes, missing })
}

/// Returns the queries that a scan of the sample finds, as words or as letters, without queries whose misspelled word is
/// a word of the text.
fn occurring(
    sample: &Sample<'_>,
    queries: Vec<Query>,
    survey: &Survey,
) -> Result<Vec<Query>, ImportError> {
    let meanings: Vec<Meaning> = queries.iter().map(Query::meaning).collect();
    let mut judge = Judge::new(meanings, sample.columns);
    let mut occurs = vec![false; queries.len()];
    sample.each(|fields| {
        judge.read(fields.iter().copied());
        for (query, occurs) in occurs.iter_mut().enumerate() {
            let is_right = |sense| judge.is_right(query, sense) == Some(true);
            *occurs |= is_right(Sense::Word) || is_right(Sense::Substring);
        }
    })?;
    let is_typed_wrong = |query: &Query| query.class != "misspelling" || !survey.has(&query.text);
    let kept = queries.into_iter().zip(occurs);
    Ok(kept
        .filter(|(query, occurs)| *occurs && is_typed_wrong(query))
        .map(|(query, _)| query)
        .collect())
}

/// Returns the queries of a text; empty lines and those that start with `#` are ignored. A pattern on a column that
/// does not exist is an error, which names its line.
fn own_queries(text: &str, columns: &[String]) -> Result<Vec<Query>, String> {
    let lines = text.lines().map(str::trim).enumerate();
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(number, line)| {
            let pattern = pattern(line, columns);
            let pattern = pattern.map_err(|why| format!("line {}: {why}", number + 1))?;
            Ok(pattern.unwrap_or_else(|| Query::new(OWN, line)))
        })
        .collect()
}

/// Returns a pattern that a column is compared with.
fn pattern(line: &str, columns: &[String]) -> Result<Option<Query>, String> {
    let parts = Operator::ALL.iter().find_map(|(operator, name, _)| {
        let (column, pattern) = line.split_once(&format!(" {name} "))?;
        Some((column_name(column.trim())?, *operator, pattern.trim()))
    });
    match parts {
        None => Ok(None),
        Some((column, operator, pattern)) if columns.contains(&column) => {
            Ok(Some(Query { pattern: Some((operator, column)), ..Query::new(OWN, pattern) }))
        }
        Some((column, ..)) => {
            Err(format!("there is no column `{column}` (the columns are {})", columns.join(", ")))
        }
    }
}
