//! Queries that the user has written: one per line, a full-text expression or `column LIKE pattern`.

use crate::workload::fts::queries::{How, OWN, Operator, Query, Shape};
use crate::workload::fts::truth::{Meaning, words_of};

/// Words with a meaning of their own in full-text expressions.
const KEYWORDS: [&str; 4] = ["AND", "OR", "NOT", "NEAR"];

/// Returns the queries of a text; empty lines and those that start with `#` are ignored. A pattern on a column that
/// does not exist is an error, which names its line.
pub(super) fn queries(text: &str, columns: &[String]) -> Result<Vec<Query>, String> {
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
    let parts = Operator::ALL.into_iter().find_map(|operator| {
        let (column, pattern) = line.split_once(&format!(" {} ", operator.name()))?;
        Some((column_name(column.trim())?, operator, pattern.trim()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_expression_or_a_pattern_on_a_column() {
        let columns = ["body".to_owned(), "my \"title".to_owned()];
        let text = "# mine\n\ninvoice overdue\nbody LIKE %50 %\n\"my \"\"title\" GLOB *A*\na OR b LIKE x\n";
        let read = queries(text, &columns).unwrap();
        let hows: Vec<How> = read.iter().map(|query| query.how.clone()).collect();
        let words = Meaning::Words(vec!["invoice".to_owned(), "overdue".to_owned()]);
        assert_eq!(
            hows,
            [
                How::Match(words, Shape::Rows),
                How::Pattern(Operator::Like, "body".to_owned()),
                How::Pattern(Operator::Glob, "my \"title".to_owned()),
                How::Match(Meaning::Other, Shape::Rows),
            ]
        );
        assert_eq!(read[1].text, "%50 %");
        assert!(read.iter().all(|query| query.class == OWN));
        let why = queries("a\n\nother LIKE x", &columns).unwrap_err();
        assert!(why.contains("line 3: there is no column `other`"), "{why}");
    }

    #[test]
    fn only_plain_expressions_have_a_meaning() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(meaning("Data Base"), Meaning::Words(words(&["data", "base"])));
        assert_eq!(meaning("\"data base\""), Meaning::Phrase(words(&["data", "base"])));
        assert_eq!(meaning("dat*"), Meaning::Prefix("dat".to_owned()));
        for other in ["a OR b", "^a", "a: b", "\"a\" \"b\"", "NEAR(a b)", "*", "a*b", "a b*"] {
            assert_eq!(meaning(other), Meaning::Other, "{other}");
        }
    }
}
