//! The right results of a query: a scan of every document defines them, in three senses.
//!
//! Whether an index finds the right rows depends on what its reader means: rows with the word
//! itself, with any form of the word, or with its letters anywhere. The scan knows nothing of FTS5:
//! words are runs of letters and digits, forms of a word are those with the same stem by Snowball's
//! stemmer for English (a successor of the one that `porter` is), and letters are letters.

use std::collections::HashMap;

use memchr::memmem::Finder;
use regex::Regex;
use rust_stemmers::{Algorithm, Stemmer};

/// Meaning of a query. Words are in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// All of these words, in any columns.
    Words(Vec<String>),
    /// This word, which the query spells otherwise: without its accents, or with a typing error.
    Intended(String),
    /// These words one after the other.
    Phrase(Vec<String>),
    /// A word that begins so.
    Prefix(String),
    /// A column whose first words are these, or whose only word begins so.
    StartsWith(Vec<String>, bool),
    /// In this column, this word.
    Column(String, String),
    /// Both words in a column with at most this number of words between them.
    Near(String, String, usize),
    /// In this column, this text; whether case counts.
    Contains(String, String, bool),
    /// In this column, a match of this regular expression.
    Matches(String, String),
    /// Nothing that the scan could tell.
    Other,
}

choice! {
    /// In which sense a row is right, with its name in metrics.
    enum Sense {
        /// It has the word itself.
        Word = "word",
        /// It has a word of the same stem.
        Stem = "stem",
        /// It has the letters, in words or across them.
        Substring = "substring",
    }
}

/// Every sense, in the order of their numbers.
pub(super) const SENSES: [Sense; 3] = [Sense::Word, Sense::Stem, Sense::Substring];

/// Number of every word that no query names.
const UNKNOWN: u32 = u32::MAX;

/// Stems that are remembered before all are forgotten: bounds the memory on any text.
const STEMS: usize = 200_000;

/// Judges documents for some queries.
pub(super) struct Judge {
    questions: Vec<Question>,
    /// Of each query, its question: queries that differ only in what they give mean the same.
    question_of: Vec<usize>,
    vocabulary: Vocabulary,
    /// The document being judged, column by column.
    texts: Vec<Text>,
    /// Of each question, whether the document is right in each sense.
    right: Vec<[Option<bool>; 3]>,
}

impl Judge {
    pub(super) fn new(meanings: Vec<Meaning>, columns: &[String]) -> Judge {
        let vocabulary = Vocabulary::of(&meanings);
        let mut distinct: Vec<Meaning> = Vec::new();
        let question_of = meanings.into_iter().map(|meaning| {
            distinct.iter().position(|other| *other == meaning).unwrap_or_else(|| {
                distinct.push(meaning);
                distinct.len() - 1
            })
        });
        Judge {
            question_of: question_of.collect(),
            questions: distinct
                .into_iter()
                .map(|meaning| Question::new(meaning, &vocabulary, columns))
                .collect(),
            vocabulary,
            texts: columns.iter().map(|_| Text::default()).collect(),
            right: Vec::new(),
        }
    }

    /// Judges a document.
    pub(super) fn read<'a>(&mut self, fields: impl Iterator<Item = Option<&'a str>>) {
        for (text, field) in self.texts.iter_mut().zip(fields) {
            text.read(field.unwrap_or(""), &mut self.vocabulary);
        }
        let texts = &self.texts;
        let answers = self.questions.iter();
        self.right.clear();
        // Whether a document is right in this sense, or `None` if the scan cannot tell.
        self.right.extend(answers.map(|question| {
            SENSES.map(|sense| match sense {
                Sense::Substring => question.has_letters(texts),
                Sense::Word => question.has_words(texts, sense, &question.words),
                Sense::Stem => question.has_words(texts, sense, &question.stems),
            })
        }));
    }

    /// Returns whether the document is right for the query of this number in this sense, or `None` if the scan cannot
    /// tell.
    pub(super) fn is_right(&self, query: usize, sense: Sense) -> Option<bool> {
        self.right[self.question_of[query]][sense as usize]
    }
}

/// The words that queries name, by numbers, so that documents are compared without looking at letters.
struct Vocabulary {
    stemmer: Stemmer,
    words: HashMap<String, u32>,
    stems: HashMap<String, u32>,
    /// The number of the stem of each word seen.
    seen: HashMap<String, u32>,
}

impl Vocabulary {
    fn of(meanings: &[Meaning]) -> Vocabulary {
        let stemmer = Stemmer::create(Algorithm::English);
        let (mut words, mut stems) = (HashMap::new(), HashMap::new());
        for term in meanings.iter().flat_map(Meaning::terms) {
            let next = words.len() as u32;
            words.entry(term.to_owned()).or_insert(next);
            let next = stems.len() as u32;
            stems.entry(stemmer.stem(term).into_owned()).or_insert(next);
        }
        Vocabulary { stemmer, words, stems, seen: HashMap::new() }
    }

    fn word(&self, word: &str) -> u32 {
        self.words.get(word).copied().unwrap_or(UNKNOWN)
    }

    /// Returns the number of the word's stem.
    fn stem(&mut self, word: &str) -> u32 {
        if let Some(stem) = self.seen.get(word) {
            return *stem;
        }
        if self.seen.len() > STEMS {
            self.seen.clear();
        }
        let stem = self.stem_of(word);
        self.seen.insert(word.to_owned(), stem);
        stem
    }

    fn stem_of(&self, word: &str) -> u32 {
        self.stems.get(&*self.stemmer.stem(word)).copied().unwrap_or(UNKNOWN)
    }
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
    fn read(&mut self, field: &str, vocabulary: &mut Vocabulary) {
        self.original.clear();
        self.original.push_str(field);
        self.lower.clear();
        lower_case(field, &mut self.lower);
        self.ranges.clear();
        self.ranges.extend(words_of(&self.lower));
        self.words.clear();
        self.stems.clear();
        for (from, to) in &self.ranges {
            let word = &self.lower[*from..*to];
            self.words.push(vocabulary.word(word));
            self.stems.push(vocabulary.stem(word));
        }
    }

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

    fn has(&self, letters: &Finder<'_>) -> bool {
        letters.find(self.lower.as_bytes()).is_some()
    }
}

/// A meaning with whatever of it does not depend on the document.
struct Question {
    meaning: Meaning,
    /// The numbers of its words, and of their stems.
    words: Vec<u32>,
    stems: Vec<u32>,
    /// The letters looked for: of each word, or of all of it.
    letters: Vec<Finder<'static>>,
    /// The regular expression, where it is one.
    pattern: Option<Regex>,
    /// The only column that counts, where it names one.
    column: Option<usize>,
}

impl Question {
    fn new(meaning: Meaning, vocabulary: &Vocabulary, columns: &[String]) -> Question {
        let terms = meaning.terms();
        let letters: Vec<String> = match &meaning {
            Meaning::Phrase(terms) | Meaning::StartsWith(terms, _) => vec![terms.join(" ")],
            Meaning::Contains(_, letters, true) => vec![letters.clone()],
            Meaning::Contains(_, letters, false) => vec![letters.to_lowercase()],
            _ => terms.iter().map(|term| (*term).to_owned()).collect(),
        };
        let finder = |letters: &String| Finder::new(letters).into_owned();
        let column = match &meaning {
            Meaning::Column(name, _) | Meaning::Contains(name, ..) | Meaning::Matches(name, _) => {
                Some(name)
            }
            _ => None,
        };
        Question {
            words: terms.iter().map(|term| vocabulary.word(term)).collect(),
            stems: terms.iter().map(|term| vocabulary.stem_of(term)).collect(),
            letters: letters.iter().map(finder).collect(),
            pattern: match &meaning {
                // A pattern that is none was an error of its query, which has no answer to judge.
                Meaning::Matches(_, pattern) => Regex::new(pattern).ok(),
                _ => None,
            },
            column: column.and_then(|name| columns.iter().position(|column| column == name)),
            meaning,
        }
    }

    fn has_words(&self, texts: &[Text], sense: Sense, wanted: &[u32]) -> Option<bool> {
        let has = |text: &Text, number| text.numbers(sense).contains(number);
        let mut all = texts.iter();
        Some(match &self.meaning {
            Meaning::Words(_) | Meaning::Intended(_) => {
                wanted.iter().all(|number| texts.iter().any(|text| has(text, number)))
            }
            Meaning::Phrase(_) => {
                all.any(|text| text.numbers(sense).windows(wanted.len()).any(|run| run == wanted))
            }
            Meaning::Prefix(term) => all.any(|text| {
                (0..text.ranges.len()).any(|number| text.word(number).starts_with(term))
            }),
            Meaning::StartsWith(terms, true) => {
                all.any(|text| !text.ranges.is_empty() && text.word(0).starts_with(&terms[0]))
            }
            Meaning::StartsWith(_, false) => {
                all.any(|text| text.numbers(sense).starts_with(wanted))
            }
            Meaning::Column(..) => {
                self.column.is_some_and(|column| has(&texts[column], &wanted[0]))
            }
            Meaning::Near(_, _, between) => {
                all.any(|text| near(text.numbers(sense), wanted[0], wanted[1], *between))
            }
            Meaning::Contains(..) | Meaning::Matches(..) | Meaning::Other => return None,
        })
    }

    fn has_letters(&self, texts: &[Text]) -> Option<bool> {
        let named = self.column.map(|column| &texts[column]);
        let in_any = |letters: &Finder<'_>| texts.iter().any(|text| text.has(letters));
        Some(match &self.meaning {
            Meaning::Words(_) | Meaning::Intended(_) | Meaning::Phrase(_) | Meaning::Prefix(_) => {
                self.letters.iter().all(in_any)
            }
            Meaning::StartsWith(..) => {
                let start = self.letters[0].needle();
                texts.iter().any(|text| text.lower.as_bytes().starts_with(start))
            }
            Meaning::Contains(_, _, true) => {
                named.is_some_and(|text| self.letters[0].find(text.original.as_bytes()).is_some())
            }
            Meaning::Column(..) | Meaning::Contains(_, _, false) => {
                named.is_some_and(|text| text.has(&self.letters[0]))
            }
            Meaning::Matches(..) => {
                let pattern = self.pattern.as_ref()?;
                named.is_some_and(|text| pattern.is_match(&text.original))
            }
            Meaning::Near(..) | Meaning::Other => return None,
        })
    }
}

impl Meaning {
    /// Returns the meaning of a full-text expression: words, or one phrase, prefix, pair of near words or word of a column,
    /// and nothing else.
    pub(super) fn of(expression: &str) -> Meaning {
        let parsed = match expression.strip_prefix('^') {
            Some(start) => match start.strip_suffix('*') {
                Some(prefix) => one_word(prefix).map(|word| Meaning::StartsWith(vec![word], true)),
                None => phrase(start).map(|words| Meaning::StartsWith(words, false)),
            },
            None => near_words(expression)
                .or_else(|| Some(Meaning::Prefix(one_word(expression.strip_suffix('*')?)?)))
                .or_else(|| {
                    let (column, word) = expression.rsplit_once(": ")?;
                    Some(Meaning::Column(column_name(column)?, one_word(word)?))
                })
                .or_else(|| plain_words(expression).map(Meaning::Words))
                .or_else(|| phrase(expression).map(Meaning::Phrase)),
        };
        parsed.unwrap_or(Meaning::Other)
    }

    /// Returns the words that it names.
    pub(super) fn terms(&self) -> Vec<&str> {
        match self {
            Meaning::Words(terms) | Meaning::Phrase(terms) | Meaning::StartsWith(terms, _) => {
                terms.iter().map(String::as_str).collect()
            }
            Meaning::Intended(term) | Meaning::Prefix(term) | Meaning::Column(_, term) => {
                vec![term]
            }
            Meaning::Near(first, second, _) => vec![first, second],
            Meaning::Contains(..) | Meaning::Matches(..) | Meaning::Other => Vec::new(),
        }
    }
}

/// Words with a meaning of their own in full-text expressions.
const KEYWORDS: [&str; 4] = ["AND", "OR", "NOT", "NEAR"];

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

fn one_word(text: &str) -> Option<String> {
    plain_words(text)?.try_into().ok().map(|[word]: [String; 1]| word)
}

/// Returns the words of a phrase: in quotation marks, or joined by `+`.
fn phrase(text: &str) -> Option<Vec<String>> {
    match text.trim().strip_prefix('"') {
        Some(quoted) => plain_words(quoted.strip_suffix('"')?),
        None => text.split('+').map(one_word).collect(),
    }
}

fn near_words(expression: &str) -> Option<Meaning> {
    let (words, between) =
        expression.strip_prefix("NEAR(")?.strip_suffix(')')?.rsplit_once(", ")?;
    let [first, second] = plain_words(words)?.try_into().ok()?;
    Some(Meaning::Near(first, second, between.parse().ok()?))
}

/// Returns a name, in quotation marks or without, or `None` if it is more than that.
pub(super) fn column_name(text: &str) -> Option<String> {
    let quoted = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match quoted {
        Some(name) => Some(name.replace("\"\"", "\"")),
        None => (!text.contains([' ', '"', '(', ':'])).then(|| text.to_owned()),
    }
}

/// Appends a text in lower case.
pub(super) fn lower_case(text: &str, lower: &mut String) {
    if text.is_ascii() {
        let start = lower.len();
        lower.push_str(text);
        lower[start..].make_ascii_lowercase();
    } else {
        lower.extend(text.chars().flat_map(char::to_lowercase))
    }
}

/// Runs of letters and digits.
pub(super) fn words_of(text: &str) -> impl Iterator<Item = (usize, usize)> {
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

/// Returns whether both numbers occur with at most `between` others between them.
fn near(numbers: &[u32], first: u32, second: u32, between: usize) -> bool {
    let places = |wanted: u32| {
        let all = numbers.iter().enumerate();
        all.filter(move |(_, number)| **number == wanted).map(|(place, _)| place)
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
        SENSES.map(|sense| judge.is_right(0, sense))
    }

    fn owned(terms: &[&str]) -> Vec<String> {
        terms.iter().map(|term| (*term).to_owned()).collect()
    }

    const YES: Option<bool> = Some(true);
    const NO: Option<bool> = Some(false);

    #[test]
    fn the_three_senses_differ_as_words_stems_and_letters_do() {
        let pattern = |text: &str| Meaning::Contains("text".to_owned(), text.to_owned(), true);
        assert_eq!(judged(pattern("PostgreSQL"), "a PostgreSQLite"), [None, None, YES]);
        assert_eq!(judged(pattern("PostgreSQL"), "a postgresql"), [None, None, NO]);
        let connection = || Meaning::Words(owned(&["connection"]));
        assert_eq!(judged(connection(), "A Connection!"), [YES, YES, YES]);
        assert_eq!(judged(connection(), "it connected"), [NO, YES, NO]);
        assert_eq!(judged(connection(), "disconnections"), [NO, NO, YES]);
        assert_eq!(judged(connection(), "nothing"), [NO, NO, NO]);
    }

    #[test]
    fn plain_expressions_have_a_meaning() {
        assert_eq!(Meaning::of("Data Base"), Meaning::Words(owned(&["data", "base"])));
        for phrase in ["\"data base\"", "data + base"] {
            assert_eq!(Meaning::of(phrase), Meaning::Phrase(owned(&["data", "base"])), "{phrase}");
        }
        assert_eq!(Meaning::of("dat*"), Meaning::Prefix("dat".to_owned()));
        for start in ["^ \"data base\"", "^data + base"] {
            let words = owned(&["data", "base"]);
            assert_eq!(Meaning::of(start), Meaning::StartsWith(words, false), "{start}");
        }
        assert_eq!(Meaning::of("^dat*"), Meaning::StartsWith(owned(&["dat"]), true));
        let column = Meaning::Column("my: title".to_owned(), "data".to_owned());
        assert_eq!(Meaning::of("\"my: title\": data"), column);
        let near = Meaning::Near("data".to_owned(), "base".to_owned(), 5);
        assert_eq!(Meaning::of("NEAR(data base, 5)"), near);
        for other in [
            "a OR b",
            "a: b c",
            "\"a\" \"b\"",
            "NEAR(a b)",
            "NEAR(a b c, 5)",
            "*",
            "a*b",
            "a b*",
            "^",
            "NEAR(a b, 5) c*",
            "^a NEAR(a b, 3)",
            "\"a b\" OR NEAR(a b, 5)",
            "a +",
        ] {
            assert_eq!(Meaning::of(other), Meaning::Other, "{other}");
        }
    }

    #[test]
    fn every_meaning_is_told() {
        let phrase = Meaning::Phrase(owned(&["data", "science"]));
        assert_eq!(judged(phrase.clone(), "Data, science"), [YES, YES, NO]);
        assert_eq!(judged(phrase, "science data"), [NO, NO, NO]);
        let near = |between| Meaning::Near("rust".to_owned(), "sqlite".to_owned(), between);
        assert_eq!(judged(near(2), "sqlite in pure rust"), [YES, YES, None]);
        assert_eq!(judged(near(1), "sqlite in pure rust"), [NO, NO, None]);
        assert_eq!(judged(Meaning::Prefix("data".to_owned()), "a database"), [YES, YES, YES]);
        assert_eq!(judged(Meaning::Prefix("data".to_owned()), "metadata"), [NO, NO, YES]);
        let first = |prefix| Meaning::StartsWith(owned(&["web"]), prefix);
        assert_eq!(judged(first(false), "<Web> sites"), [YES, YES, NO]);
        assert_eq!(judged(first(true), "website"), [YES, YES, YES]);
        assert_eq!(judged(first(false), "website"), [NO, NO, YES]);
        let start = || Meaning::StartsWith(owned(&["crypto", "scam"]), false);
        assert_eq!(judged(start(), "Crypto scam!"), [YES, YES, YES]);
        assert_eq!(judged(start(), "a crypto scam"), [NO, NO, NO]);
        let column = |name: &str| Meaning::Column(name.to_owned(), "dawg".to_owned());
        assert_eq!(judged(column("text"), "dawg"), [YES, YES, YES]);
        assert_eq!(judged(column("title"), "dawg"), [NO, NO, NO]);
        assert_eq!(judged(Meaning::Other, "dawg"), [None, None, None]);
        let accented = || Meaning::Intended("müller".to_owned());
        assert_eq!(judged(accented(), "Herr Müller"), [YES, YES, YES]);
        assert_eq!(judged(accented(), "Herr Muller"), [NO, NO, NO]);
        let inside = || Meaning::Words(owned(&["エンジン"]));
        assert_eq!(judged(inside(), "検索エンジン"), [NO, NO, YES]);
        assert_eq!(judged(inside(), "検索 エンジン"), [YES, YES, YES]);
    }

    #[test]
    fn words_are_runs_of_letters_and_digits_of_any_script() {
        let text = "it&#x27;s 全文 über_all ";
        let words: Vec<&str> = words_of(text).map(|(from, to)| &text[from..to]).collect();
        assert_eq!(words, ["it", "x27", "s", "全文", "über", "all"]);
    }
}
