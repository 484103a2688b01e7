//! The words of a sample of documents: in how many each occurs, and some documents whole.
//!
//! Words of a text, and pieces of text in scripts that do not separate words.

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::generate::Documents;
use crate::import::{ImportError, TextFile};
use crate::workload::fts::truth::{lower_case, words_of};

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
    pub(super) file: &'f TextFile,
    pub(super) columns: &'f [String],
    pub(super) rows: u64,
}

impl Sample<'_> {
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

/// The shortest word that is drawn, in characters: a trigram index knows no shorter ones.
const SHORTEST: usize = 3;

/// The longest word that is drawn, in characters.
const LONGEST: usize = 32;

/// The lengths of pieces of scripts without spaces, in characters.
const PIECES: [usize; 2] = [2, 3];

/// The words of a text in lower case that can be searched for, and instead of words the pieces of scripts
/// without spaces.
pub(super) fn terms(lower: &str, mut each: impl FnMut(&str)) {
    for word in words(lower) {
        if word.chars().any(is_unspaced) {
            pieces(word, &mut each);
        } else if is_searchable(word) {
            each(word);
        }
    }
}

/// Returns every word, whatever its length.
pub(super) fn words(lower: &str) -> impl Iterator<Item = &str> {
    words_of(lower).map(|(from, to)| &lower[from..to])
}

/// Returns whether a word is neither too short nor too long to be searched for.
pub(super) fn is_searchable(word: &str) -> bool {
    let length = word.chars().count();
    let shortest = if word.chars().any(is_unspaced) { 2 } else { SHORTEST };
    (shortest..=LONGEST).contains(&length)
}

/// The pieces of a run of characters: of one script each, and without Hiragana, which mostly writes endings.
fn pieces(run: &str, each: &mut impl FnMut(&str)) {
    let starts: Vec<(usize, Script)> =
        run.char_indices().map(|(start, letter)| (start, script(letter))).collect();
    for length in PIECES {
        for (first, piece) in starts.windows(length).enumerate() {
            let script = piece[0].1;
            let is_whole = matches!(script, Script::Han | Script::Katakana | Script::Other);
            if is_whole && piece.iter().all(|(_, other)| *other == script) {
                let end = starts.get(first + length).map_or(run.len(), |next| next.0);
                each(&run[piece[0].0..end]);
            }
        }
    }
}

/// A script as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Script {
    Spaced,
    Han,
    Hiragana,
    Katakana,
    /// Thai, Lao, Khmer or the script of Myanmar.
    Other,
}

fn script(letter: char) -> Script {
    match letter {
        '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}' => Script::Han,
        '\u{3040}'..='\u{309f}' => Script::Hiragana,
        '\u{30a0}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}' => {
            Script::Katakana
        }
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' => Script::Other,
        _ => Script::Spaced,
    }
}

/// Returns whether the script of a character does not separate words.
pub(super) fn is_unspaced(letter: char) -> bool {
    script(letter) != Script::Spaced
}

/// Returns a word without its diacritics if they are all that keeps it from being ASCII.
pub(super) fn unaccented(word: &str) -> Option<String> {
    let plain: String = word.nfd().filter(|letter| !is_combining_mark(*letter)).collect();
    (plain != word && plain.is_ascii()).then_some(plain)
}

/// Returns a word with a typing error: two letters in the wrong order, or one left out where they are the same.
pub(super) fn misspelled(word: &str) -> Option<String> {
    let mut letters: Vec<char> = word.chars().collect();
    let is_word = letters.len() >= 5 && letters.iter().all(|letter| letter.is_alphabetic());
    if !is_word || letters.iter().any(|letter| is_unspaced(*letter)) {
        return None;
    }
    if letters[2] == letters[3] {
        letters.remove(3);
    } else {
        letters.swap(2, 3);
    }
    Some(letters.into_iter().collect())
}

/// Returns the first characters of a word, or `None` if it has no more than these.
pub(super) fn prefix(word: &str) -> Option<&str> {
    let length = if word.chars().any(is_unspaced) { 2 } else { 4 };
    let (end, _) = word.char_indices().nth(length)?;
    Some(&word[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms_of(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        terms(text, |term| found.push(term.to_owned()));
        found
    }

    #[test]
    fn words_are_those_of_the_scan_and_scripts_without_spaces_come_in_pieces() {
        assert_eq!(terms_of("a table of über_all, x27"), ["table", "über", "all", "x27"]);
        assert_eq!(terms_of("我爱数"), ["我爱", "爱数", "我爱数"]);
        assert_eq!(terms_of("エンジンの数です"), ["エン", "ンジ", "ジン", "エンジ", "ンジン"]);
        assert_eq!(terms_of("데이터 베이스 관리"), ["데이터", "베이스"]);
        let long = "x".repeat(33);
        assert!(terms_of(&long).is_empty());
    }

    #[test]
    fn only_what_diacritics_alone_keep_from_ascii_loses_them() {
        assert_eq!(unaccented("nguyễn").as_deref(), Some("nguyen"));
        assert_eq!(unaccented("für").as_deref(), Some("fur"));
        for same in ["straße", "fur", "が", "データ", "데이터", "øre"] {
            assert_eq!(unaccented(same), None, "{same}");
        }
    }

    #[test]
    fn a_typing_error_changes_a_word_of_letters() {
        assert_eq!(misspelled("database").as_deref(), Some("daatbase"));
        assert_eq!(misspelled("litter").as_deref(), Some("liter"));
        for none in ["data", "12345", "数据库数据库"] {
            assert_eq!(misspelled(none), None, "{none}");
        }
    }

    #[test]
    fn a_prefix_is_shorter_than_its_word() {
        assert_eq!(prefix("über1"), Some("über"));
        assert_eq!(prefix("über"), None);
        assert_eq!(prefix("数据库"), Some("数据"));
    }
}
