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
use super::truth::{Judge, Sense};
use crate::import::{ImportError, TextFile};
use crate::parameters::Choice;
use crate::workload::fts::queries::{How, OWN, Operator, Query, Shape};
use crate::workload::fts::truth::{Meaning, words_of};

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
    let sample = Sample::of(file, columns, rows);
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

/// Words with a meaning of their own in full-text expressions.
const KEYWORDS: [&str; 4] = ["AND", "OR", "NOT", "NEAR"];

/// Returns the queries of a text; empty lines and those that start with `#` are ignored. A pattern on a column that
/// does not exist is an error, which names its line.
fn own_queries(text: &str, columns: &[String]) -> Result<Vec<Query>, String> {
    let lines = text.lines().map(str::trim).enumerate();
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(number, line)| {
            let pattern = pattern(line, columns);
            let pattern = pattern.map_err(|why| format!("line {}: {why}", number + 1))?;
            Ok(pattern.unwrap_or_else(|| expression(line)))
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
            let how = How::Pattern(operator, column);
            Ok(Some(Query::new(OWN, pattern, how)))
        }
        Some((column, ..)) => {
            Err(format!("there is no column `{column}` (the columns are {})", columns.join(", ")))
        }
    }
}

/// Returns a name, in quotation marks or without, or `None` if it is more than that.
fn column_name(text: &str) -> Option<String> {
    let quoted = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match quoted {
        Some(name) => Some(name.replace("\"\"", "\"")),
        None => (!text.contains([' ', '"', '(', ':'])).then(|| text.to_owned()),
    }
}

fn expression(line: &str) -> Query {
    Query::new(OWN, line, How::Match(meaning(line), Shape::Rows))
}

/// Returns the meaning of an expression for a scan: words, one phrase or one prefix, and nothing else.
fn meaning(line: &str) -> Meaning {
    let quoted = line.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    if let Some(phrase) = quoted.filter(|inner| !inner.contains('"')) {
        return plain_words(phrase).map_or(Meaning::Other, Meaning::Phrase);
    }
    let prefix = line.strip_suffix('*').and_then(plain_words);
    if let Some([word]) = prefix.as_deref() {
        return Meaning::Prefix(word.clone());
    }
    plain_words(line).map_or(Meaning::Other, Meaning::Words)
}

/// Returns the words of a text in lower case, if there is nothing else between them than spaces.
fn plain_words(text: &str) -> Option<Vec<String>> {
    let words = text.split_whitespace().map(|word| {
        let is_plain = word.chars().all(char::is_alphanumeric) && !KEYWORDS.contains(&word);
        is_plain.then(|| word.to_lowercase())
    });
    let words: Vec<String> = words.collect::<Option<_>>()?;
    // What is one word here must be one to the scan, too.
    let is_one = |word: &String| words_of(word).eq([(0, word.len())]);
    (!words.is_empty() && words.iter().all(is_one)).then_some(words)
}
