//! What a query should find: a scan of every document defines it, in three senses.
//!
//! Whether an index finds the right rows depends on what its reader means: rows with the word
//! itself, with any form of the word, or with its letters anywhere. The scan knows nothing of FTS5:
//! words are runs of letters and digits, forms of a word are those with the same stem by Snowball's
//! stemmer for English (a successor of the one that `porter` is), and letters are letters.

use std::collections::HashMap;

use regex::Regex;
use rust_stemmers::{Algorithm, Stemmer};

use super::queries::PATTERN_COLUMN;

/// What a query means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// All of these words, in any columns.
    Words(&'static [&'static str]),
    /// These words one after the other.
    Phrase(&'static [&'static str]),
    /// A word that begins so.
    Prefix(&'static str),
    /// A column whose first word is this, or begins so.
    StartsWith(&'static str, bool),
    /// This word in this column.
    Column(&'static str, &'static str),
    /// Both words in a column with at most so many words between them.
    Near(&'static str, &'static str, usize),
    /// This text in the column of patterns; whether case counts.
    Contains(String, bool),
    /// A match of this regular expression in the column of patterns.
    Matches(String),
    /// Nothing that the scan could tell.
    Other,
}

/// In which sense a row is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sense {
    /// It has the word itself.
    Word,
    /// It has a word of the same stem.
    Stem,
    /// It has the letters, in words or across them.
    Substring,
}

impl Sense {
    pub(super) const ALL: [Sense; 3] = [Sense::Word, Sense::Stem, Sense::Substring];
    /// The name in metrics.
    pub(super) fn name(self) -> &'static str {
        match self {
            Sense::Word => "word",
            Sense::Stem => "stem",
            Sense::Substring => "substring",
        }
    }
}

/// What stands for a word that no query names.
const UNKNOWN: u32 = u32::MAX;

/// Stems that are remembered before all are forgotten: bounds the memory on any text.
const STEMS: usize = 200_000;

/// Judges documents for some queries.
pub(super) struct Judge {
    meanings: Vec<Meaning>,
    columns: Vec<String>,
    stemmer: Stemmer,
    patterns: HashMap<String, Regex>,
    /// The numbers of the words that queries name, and of their stems.
    words: HashMap<String, u32>,
    stems: HashMap<String, u32>,
    /// The number of the stem of each word seen.
    seen: HashMap<String, u32>,
    /// The document being judged, column by column.
    texts: Vec<Text>,
}

/// One column of a document.
#[derive(Default)]
struct Text {
    original: String,
    lower: String,
    /// Where each word is.
    ranges: Vec<(usize, usize)>,
    /// The number of each word, and of its stem.
    words: Vec<u32>,
    stems: Vec<u32>,
}

impl Text {
    fn numbers(&self, sense: Sense) -> &[u32] {
        match sense {
            Sense::Stem => &self.stems,
            _ => &self.words,
        }
    }

    fn word(&self, number: usize) -> &str {
        let (from, to) = self.ranges[number];
        &self.lower[from..to]
    }
}

impl Judge {
    pub(super) fn new(meanings: Vec<Meaning>, columns: &[String]) -> Judge {
        let stemmer = Stemmer::create(Algorithm::English);
        let (mut words, mut stems) = (HashMap::new(), HashMap::new());
        for term in meanings.iter().flat_map(Meaning::terms) {
            let next = words.len() as u32;
            words.entry(term.to_owned()).or_insert(next);
            let next = stems.len() as u32;
            stems.entry(stemmer.stem(term).into_owned()).or_insert(next);
        }
        let patterns = meanings.iter().filter_map(|meaning| match meaning {
            // A pattern that is none was an error of its query, which then has no answer to judge.
            Meaning::Matches(pattern) => Some((pattern.clone(), Regex::new(pattern).ok()?)),
            _ => None,
        });
        Judge {
            patterns: patterns.collect(),
            meanings,
            columns: columns.to_vec(),
            stemmer,
            words,
            stems,
            seen: HashMap::new(),
            texts: columns.iter().map(|_| Text::default()).collect(),
        }
    }

    /// Takes up a document.
    pub(super) fn read<'a>(&mut self, fields: impl Iterator<Item = Option<&'a str>>) {
        for (number, field) in fields.enumerate() {
            self.read_column(number, field.unwrap_or(""));
        }
    }

    fn read_column(&mut self, number: usize, field: &str) {
        if self.seen.len() > STEMS {
            self.seen.clear();
        }
        let Judge {
            texts,
            words,
            stems,
            stemmer,
            seen,
            ..
        } = self;
        let text = &mut texts[number];
        text.original.clear();
        text.original.push_str(field);
        text.lower.clear();
        if field.is_ascii() {
            text.lower.push_str(field);
            text.lower.make_ascii_lowercase();
        } else {
            text.lower
                .extend(field.chars().flat_map(char::to_lowercase));
        }
        text.ranges.clear();
        text.ranges.extend(words_of(&text.lower));
        text.words.clear();
        text.stems.clear();
        for (from, to) in &text.ranges {
            let word = &text.lower[*from..*to];
            text.words.push(words.get(word).copied().unwrap_or(UNKNOWN));
            let stem = match seen.get(word) {
                Some(stem) => *stem,
                None => {
                    let stem = stems.get(&*stemmer.stem(word)).copied().unwrap_or(UNKNOWN);
                    seen.insert(word.to_owned(), stem);
                    stem
                }
            };
            text.stems.push(stem);
        }
    }

    /// Whether the document is right for the query of this number in this sense; none where the
    /// scan cannot tell.
    pub(super) fn is_right(&self, query: usize, sense: Sense) -> Option<bool> {
        let meaning = &self.meanings[query];
        match sense {
            Sense::Substring => self.has_letters(meaning),
            Sense::Word | Sense::Stem => self.has_words(meaning, sense),
        }
    }

    fn has_words(&self, meaning: &Meaning, sense: Sense) -> Option<bool> {
        let id = |term: &str| self.number(term, sense);
        let mut texts = self.texts.iter();
        Some(match meaning {
            Meaning::Words(terms) => terms.iter().all(|term| {
                let id = id(term);
                self.texts
                    .iter()
                    .any(|text| text.numbers(sense).contains(&id))
            }),
            Meaning::Phrase(terms) => {
                let ids: Vec<u32> = terms.iter().map(|term| id(term)).collect();
                texts.any(|text| text.numbers(sense).windows(ids.len()).any(|run| run == ids))
            }
            Meaning::Prefix(term) => texts.any(|text| {
                (0..text.ranges.len()).any(|number| text.word(number).starts_with(term))
            }),
            Meaning::StartsWith(term, true) => {
                texts.any(|text| !text.ranges.is_empty() && text.word(0).starts_with(term))
            }
            Meaning::StartsWith(term, false) => {
                texts.any(|text| text.numbers(sense).first() == Some(&id(term)))
            }
            Meaning::Column(column, term) => self
                .column(column)
                .is_some_and(|text| text.numbers(sense).contains(&id(term))),
            Meaning::Near(first, second, between) => {
                texts.any(|text| near(text.numbers(sense), id(first), id(second), *between))
            }
            Meaning::Contains(..) | Meaning::Matches(_) | Meaning::Other => return None,
        })
    }

    fn has_letters(&self, meaning: &Meaning) -> Option<bool> {
        let mut texts = self.texts.iter();
        Some(match meaning {
            Meaning::Words(terms) => terms
                .iter()
                .all(|term| self.texts.iter().any(|text| text.lower.contains(term))),
            Meaning::Phrase(terms) => {
                let letters = terms.join(" ");
                texts.any(|text| text.lower.contains(&letters))
            }
            Meaning::Prefix(term) => texts.any(|text| text.lower.contains(term)),
            Meaning::StartsWith(term, _) => texts.any(|text| text.lower.starts_with(term)),
            Meaning::Column(column, term) => self
                .column(column)
                .is_some_and(|text| text.lower.contains(term)),
            Meaning::Contains(letters, case_counts) => {
                self.column(PATTERN_COLUMN)
                    .is_some_and(|text| match case_counts {
                        true => text.original.contains(letters),
                        false => text.lower.contains(&letters.to_lowercase()),
                    })
            }
            Meaning::Matches(pattern) => {
                let regex = self.patterns.get(pattern)?;
                self.column(PATTERN_COLUMN)
                    .is_some_and(|text| regex.is_match(&text.original))
            }
            Meaning::Near(..) | Meaning::Other => return None,
        })
    }

    fn number(&self, term: &str, sense: Sense) -> u32 {
        let known = match sense {
            Sense::Stem => self.stems.get(&*self.stemmer.stem(term)),
            _ => self.words.get(term),
        };
        known.copied().unwrap_or(UNKNOWN)
    }

    fn column(&self, name: &str) -> Option<&Text> {
        let number = self.columns.iter().position(|column| column == name)?;
        Some(&self.texts[number])
    }
}

impl Meaning {
    /// The words that it names.
    pub(super) fn terms(&self) -> Vec<&'static str> {
        match self {
            Meaning::Words(terms) | Meaning::Phrase(terms) => terms.to_vec(),
            Meaning::Prefix(term) | Meaning::StartsWith(term, _) | Meaning::Column(_, term) => {
                vec![term]
            }
            Meaning::Near(first, second, _) => vec![first, second],
            Meaning::Contains(..) | Meaning::Matches(_) | Meaning::Other => Vec::new(),
        }
    }
}

/// Runs of letters and digits.
fn words_of(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut rest = text.char_indices();
    std::iter::from_fn(move || {
        let (from, _) = rest.by_ref().find(|(_, letter)| letter.is_alphanumeric())?;
        let to = rest
            .by_ref()
            .find(|(_, letter)| !letter.is_alphanumeric())
            .map_or(text.len(), |(to, _)| to);
        Some((from, to))
    })
}

/// Whether both numbers occur with at most `between` others between them.
fn near(numbers: &[u32], first: u32, second: u32, between: usize) -> bool {
    let places = |wanted: u32| {
        let all = numbers.iter().enumerate();
        all.filter(move |(_, number)| **number == wanted)
            .map(|(place, _)| place)
    };
    places(first).any(|one| places(second).any(|other| one.abs_diff(other) <= between + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(meaning: Meaning, text: &str) -> [Option<bool>; 3] {
        let columns = ["title".to_owned(), "text".to_owned()];
        let mut judge = Judge::new(vec![meaning], &columns);
        judge.read([None, Some(text)].into_iter());
        Sense::ALL.map(|sense| judge.is_right(0, sense))
    }

    const YES: Option<bool> = Some(true);
    const NO: Option<bool> = Some(false);

    #[test]
    fn the_three_senses_differ_as_words_stems_and_letters_do() {
        let pattern = |text: &str| Meaning::Contains(text.to_owned(), true);
        assert_eq!(
            judged(pattern("PostgreSQL"), "a PostgreSQLite"),
            [None, None, YES]
        );
        assert_eq!(
            judged(pattern("PostgreSQL"), "a postgresql"),
            [None, None, NO]
        );
        let connection = || Meaning::Words(&["connection"]);
        assert_eq!(judged(connection(), "A Connection!"), [YES, YES, YES]);
        assert_eq!(judged(connection(), "it connected"), [NO, YES, NO]);
        assert_eq!(judged(connection(), "disconnections"), [NO, NO, YES]);
        assert_eq!(judged(connection(), "nothing"), [NO, NO, NO]);
    }

    #[test]
    fn every_meaning_is_told() {
        let phrase = Meaning::Phrase(&["data", "science"]);
        assert_eq!(judged(phrase.clone(), "Data, science"), [YES, YES, NO]);
        assert_eq!(judged(phrase, "science data"), [NO, NO, NO]);
        let near = |between| Meaning::Near("rust", "sqlite", between);
        assert_eq!(judged(near(2), "sqlite in pure rust"), [YES, YES, None]);
        assert_eq!(judged(near(1), "sqlite in pure rust"), [NO, NO, None]);
        assert_eq!(
            judged(Meaning::Prefix("data"), "a database"),
            [YES, YES, YES]
        );
        assert_eq!(judged(Meaning::Prefix("data"), "metadata"), [NO, NO, YES]);
        let first = |prefix| Meaning::StartsWith("web", prefix);
        assert_eq!(judged(first(false), "<Web> sites"), [YES, YES, NO]);
        assert_eq!(judged(first(true), "website"), [YES, YES, YES]);
        assert_eq!(judged(first(false), "website"), [NO, NO, YES]);
        let column = |name| Meaning::Column(name, "dawg");
        assert_eq!(judged(column("text"), "dawg"), [YES, YES, YES]);
        assert_eq!(judged(column("title"), "dawg"), [NO, NO, NO]);
        assert_eq!(judged(Meaning::Other, "dawg"), [None, None, None]);
    }

    #[test]
    fn words_are_runs_of_letters_and_digits_of_any_script() {
        let text = "it&#x27;s 全文 über_all ";
        let words: Vec<&str> = words_of(text).map(|(from, to)| &text[from..to]).collect();
        assert_eq!(words, ["it", "x27", "s", "全文", "über", "all"]);
    }
}
