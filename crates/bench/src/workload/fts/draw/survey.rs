//! The words of a sample of documents: in how many each occurs, and some documents whole.

use std::collections::HashMap;

use super::terms::terms;
use crate::generate::Documents;
use crate::import::{ImportError, TextFile};
use crate::workload::fts::truth::lower_case;

/// Documents of a sample at most, spread evenly over the file.
const SAMPLE: u64 = 20_000;

/// Bytes of a field that are looked at.
const FIELD: usize = 20_000;

/// Different words that are counted, which bounds the memory: later ones are ignored.
const WORDS: usize = 1_000_000;

/// Documents that are kept whole, spread evenly over the sample.
const EXAMPLES: usize = 60;

/// From this share of the documents on, a word is common; it is in two documents at least.
const COMMON: f64 = 0.01;

/// Up to this share of the documents, a word is rare; so is one that is in a single document.
const RARE: f64 = 0.0001;

/// Documents of a file, as many as a sample has.
pub(super) struct Sample<'f> {
    file: &'f TextFile,
    pub(super) columns: &'f [String],
    rows: u64,
}

impl<'f> Sample<'f> {
    pub(super) fn of(file: &'f TextFile, columns: &'f [String], rows: u64) -> Sample<'f> {
        Sample { file, columns, rows }
    }

    /// Hands over each document of the sample, field by field.
    pub(super) fn each(&self, mut each: impl FnMut(&[Option<&str>])) -> Result<(), ImportError> {
        let step = self.rows.div_ceil(SAMPLE).max(1);
        let mut reading = self.file.open(self.columns)?;
        let mut documents = Documents::new(self.columns.len());
        for row in 0..self.rows {
            documents.clear();
            if !reading.next_into(&mut documents)? {
                break;
            }
            if row % step == 0 {
                let columns = 0..self.columns.len();
                let fields: Vec<Option<&str>> =
                    columns.map(|column| documents.field(0, column).map(beginning)).collect();
                each(&fields);
            }
        }
        Ok(())
    }

    /// Counts the words of the sample.
    pub(super) fn survey(&self) -> Result<Survey, ImportError> {
        let sampled = self.rows.min(SAMPLE) as usize;
        let mut survey = Survey { columns: self.columns.to_vec(), ..Survey::default() };
        self.each(|fields| survey.add(fields, sampled.div_ceil(EXAMPLES).max(1)))?;
        Ok(survey)
    }
}

/// Returns the beginning of a field, up to a whole character.
fn beginning(field: &str) -> &str {
    let end = (0..=FIELD.min(field.len())).rev().find(|end| field.is_char_boundary(*end));
    &field[..end.unwrap_or(0)]
}

/// How often words occur.
#[derive(Default)]
pub(super) struct Survey {
    pub(super) columns: Vec<String>,
    /// Documents counted.
    documents: u32,
    /// Of each word, the documents with it and the last of them.
    words: HashMap<Box<str>, (u32, u32)>,
    /// Documents kept whole.
    pub(super) examples: usize,
    /// Their fields, without empty ones.
    pub(super) fields: Vec<Field>,
    lower: String,
}

/// A field of a document that is kept.
pub(super) struct Field {
    /// The number of the example.
    pub(super) document: usize,
    pub(super) column: usize,
    pub(super) text: String,
    /// The same in lower case.
    pub(super) lower: String,
}

/// How many documents a word is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frequency {
    Rare,
    Middling,
    Common,
}

impl Survey {
    fn add(&mut self, fields: &[Option<&str>], every: usize) {
        if (self.documents as usize).is_multiple_of(every) {
            for (column, field) in fields.iter().enumerate() {
                let Some(text) = field else { continue };
                let mut lower = String::new();
                lower_case(text, &mut lower);
                self.fields.push(Field {
                    document: self.examples,
                    column,
                    text: (*text).to_owned(),
                    lower,
                });
            }
            self.examples += 1;
        }
        self.documents += 1;
        let (words, document) = (&mut self.words, self.documents);
        for field in fields.iter().flatten() {
            self.lower.clear();
            lower_case(field, &mut self.lower);
            terms(&self.lower, |term| count(words, term, document));
        }
    }

    /// Returns whether the sample has the word.
    pub(super) fn has(&self, word: &str) -> bool {
        self.words.contains_key(word)
    }

    /// Returns how frequent a word is, or `None` if the sample does not have it.
    pub(super) fn frequency(&self, word: &str) -> Option<Frequency> {
        let (count, _) = self.words.get(word)?;
        Some(self.class(*count))
    }

    fn class(&self, count: u32) -> Frequency {
        let of = f64::from(self.documents);
        let count = f64::from(count);
        if count >= (of * COMMON).max(2.0) {
            Frequency::Common
        } else if count <= (of * RARE).max(1.0) {
            Frequency::Rare
        } else {
            Frequency::Middling
        }
    }

    /// Returns the words of a frequency from the rarest on, in alphabetical order for the same count.
    pub(super) fn words(&self, frequency: Frequency) -> Vec<&str> {
        let mut words: Vec<(u32, &str)> = (self.words.iter())
            .filter(|(_, (count, _))| self.class(*count) == frequency)
            .map(|(word, (count, _))| (*count, &**word))
            .collect();
        words.sort_unstable();
        words.into_iter().map(|(_, word)| word).collect()
    }
}

fn count(words: &mut HashMap<Box<str>, (u32, u32)>, term: &str, document: u32) {
    if let Some((count, last)) = words.get_mut(term) {
        *count += u32::from(*last != document);
        *last = document;
    } else if words.len() < WORDS {
        words.insert(term.into(), (1, document));
    }
}
