//! Precision and recall of the queries, in three senses.

use super::execute::Response;
use super::queries::{OWN, Query, Shape};
use super::source::Source;
use super::table::{Kind, TableOptions};
use super::truth::{Judge, Meaning, SENSES, Sense};
use crate::generate::Documents;
use crate::workload::prelude::*;

/// Documents judged at a time.
const BATCH: usize = 1_000;

/// The results of a query compared with the right rows in each sense; `None` if the scan cannot tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Recall {
    /// Rows returned.
    pub(super) results: usize,
    senses: [Option<Tally>; 3],
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Tally {
    /// Rows that are right.
    right: usize,
    /// Right rows that were returned.
    hits: usize,
}

impl Recall {
    /// Results without judgement.
    pub(super) fn unjudged(response: &Response<'_>) -> Recall {
        Recall {
            results: response.answer.as_ref().map_or(0, |answer| answer.rowids.len()),
            senses: [None; 3],
        }
    }

    /// Of the right rows of each sense, how many were returned, as a text.
    pub(super) fn shares(&self) -> Vec<String> {
        self.senses
            .iter()
            .map(|tally| match tally {
                Some(tally) => format!("{} of {}", tally.hits, tally.right),
                None => "not judged".to_owned(),
            })
            .collect()
    }
}

/// A pass over the documents that judges them for every query.
pub(super) struct Scan<'a> {
    source: &'a Source,
    judge: Judge,
    recalls: Vec<Recall>,
    /// Of each query, the rowids found and how many of them have been passed.
    rowids: Vec<(&'a [i64], usize)>,
}

impl<'a> Scan<'a> {
    pub(super) fn new(responses: &'a [Response<'_>], source: &'a Source) -> Scan<'a> {
        let meaning = |response: &Response<'_>| match response.answer {
            Ok(_) => response.query.meaning(),
            Err(_) => Meaning::Other,
        };
        Scan {
            source,
            judge: Judge::new(responses.iter().map(meaning).collect(), &source.columns),
            recalls: responses.iter().map(Recall::unjudged).collect(),
            rowids: responses
                .iter()
                .map(|response| match &response.answer {
                    Ok(answer) => (&answer.rowids[..], 0),
                    Err(_) => (&[][..], 0),
                })
                .collect(),
        }
    }

    /// Judges every document.
    pub(super) fn run(mut self) -> Result<Vec<Recall>> {
        let mut documents = Documents::new(self.source.columns.len());
        let mut reading = self.source.open()?;
        let mut rowid = 0;
        loop {
            reading.fill(BATCH, &mut documents)?;
            if documents.rows() == 0 {
                return Ok(self.recalls);
            }
            for row in 0..documents.rows() {
                rowid += 1;
                let columns = 0..documents.columns;
                self.judge.read(columns.map(|column| documents.field(row, column)));
                self.count(rowid);
            }
        }
    }

    /// Counts the document that the judge has read.
    fn count(&mut self, rowid: i64) {
        for (query, (rowids, passed)) in self.rowids.iter_mut().enumerate() {
            let hit = rowids.get(*passed) == Some(&rowid);
            *passed += usize::from(hit);
            for (place, sense) in SENSES.into_iter().enumerate() {
                if let Some(right) = self.judge.is_right(query, sense) {
                    let tally = self.recalls[query].senses[place].get_or_insert_default();
                    tally.right += usize::from(right);
                    tally.hits += usize::from(right && hit);
                }
            }
        }
    }
}

/// Where the sense in which a table must answer is known, it must return exactly the rows that
/// are right in it.
pub(super) fn check(
    responses: &[Response<'_>],
    recalls: &[Recall],
    options: &TableOptions,
) -> Result<()> {
    for (response, recall) in responses.iter().zip(recalls) {
        if response.answer.is_err() {
            continue;
        }
        let Some(sense) = promised(response.query, options) else { continue };
        let Some(tally) = recall.senses[sense as usize] else { continue };
        let (class, text) = (&response.query.class, &response.query.text);
        let what = |of| format!("the count of {of} of the {class} query `{text}`");
        expect(&what("rows"), recall.results, tally.right)?;
        expect(&what("right rows"), tally.hits, tally.right)?;
    }
    Ok(())
}

/// Returns the sense in which the table answers the query, where that is certain.
fn promised(query: &Query, options: &TableOptions) -> Option<Sense> {
    match options.kind {
        // Nothing is certain of an expression of the user's, which may have operators.
        Kind::Fts5 if query.pattern.is_none() && query.class == OWN => None,
        Kind::Fts5 if query.pattern.is_none() => {
            tokenizer_promise(&options.tokenizer.name, &query.meaning())
        }
        _ => Some(Sense::Substring),
    }
}

/// Only tokenizers with the same words as the scan promise words: `tokenchars` changes the words, and a loaded extension
/// may give any name to its tokenizer.
fn tokenizer_promise(tokenizer: &str, meaning: &Meaning) -> Option<Sense> {
    // Trigrams know nothing of words shorter than themselves.
    let is_long = |term: &&str| term.chars().count() > 2;
    match tokenizer {
        // Which accents a tokenizer drops is what such queries are there to tell.
        _ if matches!(meaning, Meaning::Intended(_)) => None,
        "ascii"
        | "unicode61"
        | "unicode61 remove_diacritics 0"
        | "unicode61 remove_diacritics 1"
        | "unicode61 remove_diacritics 2" => Some(Sense::Word),
        // `+` joins trigrams without the space between the words.
        "trigram" if matches!(meaning, Meaning::StartsWith(terms, _) if terms.len() > 1) => None,
        "trigram" if meaning.terms().iter().all(is_long) => Some(Sense::Substring),
        _ => None,
    }
}

/// Notes results, precision and recall: of each class over its queries together, and of all as the
/// mean over queries, so that a query with many results does not drown the others. Queries that were
/// refused are excluded.
pub(super) fn note(responses: &[Response<'_>], recalls: &[Recall], measured: &mut Measured) {
    let answered = || responses.iter().zip(recalls).filter(|(response, _)| response.answer.is_ok());
    for (response, recall) in answered() {
        let results = response.query.shape().of(recall.results);
        add(measured, &format!("results.{}", response.query.class), results);
    }
    // Limited queries find what the whole one finds, which is judged already.
    let whole = || answered().filter(|(response, _)| response.query.shape() == Shape::Rows);
    for (place, sense) in SENSES.into_iter().enumerate() {
        let mut shares = Shares::default();
        for class in super::queries::classes() {
            let of_class = whole().filter(|(response, _)| response.query.class == class);
            let mut sum = Recall::default();
            for (_, recall) in of_class {
                let Some(tally) = recall.senses[place] else { continue };
                shares.add(recall.results, tally);
                let all = sum.senses[place].get_or_insert_default();
                all.right += tally.right;
                all.hits += tally.hits;
                sum.results += recall.results;
            }
            if let Some(tally) = sum.senses[place] {
                let mut of_class = Shares::default();
                of_class.add(sum.results, tally);
                of_class.note(measured, sense, &format!(".{class}"));
            }
        }
        shares.note(measured, sense, "");
    }
}

fn add(measured: &mut Measured, metric: &str, count: usize) {
    *measured.metrics.entry(metric.to_owned()).or_default() += count as f64;
}

/// Precision and recall of several queries, as far as they are defined.
#[derive(Default)]
struct Shares {
    precision: Vec<f64>,
    recall: Vec<f64>,
}

impl Shares {
    fn add(&mut self, results: usize, tally: Tally) {
        if results > 0 {
            self.precision.push(tally.hits as f64 / results as f64);
        }
        if tally.right > 0 {
            self.recall.push(tally.hits as f64 / tally.right as f64);
        }
    }

    fn note(&self, measured: &mut Measured, sense: Sense, suffix: &str) {
        for (name, shares) in [("precision", &self.precision), ("recall", &self.recall)] {
            if !shares.is_empty() {
                let mean = shares.iter().sum::<f64>() / shares.len() as f64;
                set(measured, &format!("{name}_{}{suffix}", sense.name()), mean);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::queries::Operator;
    use super::*;
    use crate::parameters::Parameters;

    #[test]
    fn patterns_of_the_users_are_checked_and_their_expressions_only_on_plain_tables() {
        let fts = TableOptions::read(&TableOptions::defaults()).unwrap();
        let plain = TableOptions { kind: Kind::Plain, ..fts.clone() };
        let expression = Query::new(OWN, "data");
        let pattern = Some((Operator::Like, "text".to_owned()));
        let pattern = Query { pattern, ..Query::new(OWN, "%data%") };
        assert_eq!(promised(&pattern, &fts), Some(Sense::Substring));
        assert_eq!(promised(&expression, &fts), None);
        assert_eq!(promised(&expression, &plain), Some(Sense::Substring));
        assert_eq!(promised(&Query::new("simple-and", "data"), &fts), Some(Sense::Word));
    }

    #[test]
    fn only_tokenizers_with_the_words_of_the_scan_promise_words() {
        let promise =
            |tokenizer| tokenizer_promise(tokenizer, &Meaning::Words(vec!["data".to_owned()]));
        for words in [
            "ascii",
            "unicode61",
            "unicode61 remove_diacritics 0",
            "unicode61 remove_diacritics 1",
            "unicode61 remove_diacritics 2",
        ] {
            assert_eq!(promise(words), Some(Sense::Word), "{words}");
        }
        for unknown in [
            "unicode61 tokenchars '-_'",
            "unicode61_of_an_extension",
            "ascii separators 'x'",
            "porter",
            "trigram case_sensitive 1",
        ] {
            assert_eq!(promise(unknown), None, "{unknown}");
        }
        assert_eq!(promise("trigram"), Some(Sense::Substring));
        let short = Meaning::Words(vec!["数据".to_owned()]);
        assert_eq!(tokenizer_promise("trigram", &short), None);
        let accented = Meaning::Intended("müller".to_owned());
        for tokenizer in ["unicode61", "ascii", "trigram"] {
            assert_eq!(tokenizer_promise(tokenizer, &accented), None);
        }
    }

    #[test]
    fn shares_are_noted_only_where_they_are_defined() {
        let mut measured = Measured::default();
        let mut shares = Shares::default();
        shares.add(0, Tally { right: 4, hits: 0 });
        shares.add(10, Tally { right: 4, hits: 2 });
        shares.add(5, Tally { right: 0, hits: 0 });
        shares.note(&mut measured, Sense::Stem, "");
        assert_eq!(measured.metrics["recall_stem"], 0.25);
        assert_eq!(measured.metrics["precision_stem"], 0.1);
        Shares::default().note(&mut measured, Sense::Word, "");
        assert!(!measured.metrics.contains_key("recall_word"));
    }
}
