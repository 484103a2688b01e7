//! Queries of each class: words by frequency, and combinations that one of the example documents has.

use std::collections::HashSet;

use script::effect::quoted;

use super::survey::{
    Field, Frequency, Survey, is_searchable, is_unspaced, misspelled, prefix, terms, unaccented,
    words,
};
use crate::workload::fts::queries::{How, Operator, Query, Shape};
use crate::workload::fts::truth::Meaning;
use Frequency::{Common, Middling, Rare};

/// Queries of a class.
const EACH: usize = 3;

/// Words that may stand between two that are near each other.
const BETWEEN: usize = 5;

/// The queries of a class, or why there are none.
type Drawn = Result<Vec<Query>, &'static str>;

/// Returns every class with the queries drawn for it.
pub(super) fn draw(survey: &Survey) -> Vec<(&'static str, Drawn)> {
    let mut drawn = by_frequency(survey);
    drawn.extend(of_documents(survey));
    drawn.extend(patterns(survey));
    drawn
}

/// Single words of the whole sample.
fn by_frequency(survey: &Survey) -> Vec<(&'static str, Drawn)> {
    let common = |class, shape| {
        let words = survey.words(Common);
        let why = "no word is in two documents and in 1 % of them";
        (class, each(class, &words, why, |word| word_query(word, shape)))
    };
    let of = |class, frequency, why| {
        (class, each(class, &survey.words(frequency), why, |word| word_query(word, Shape::Rows)))
    };
    vec![
        common("common-term", Shape::Rows),
        common("common-limit", Shape::Limit),
        common("common-ranked", Shape::Ranked),
        common("common-snippets", Shape::Snippets),
        of("middling-term", Middling, "every word is either rare or common"),
        of("rare-term", Rare, "no word is rare"),
        ("stem-term", stems(survey)),
        ("misspelling", misspellings(survey)),
        ("accented", accents(survey)),
        ("cjk", unspaced(survey)),
    ]
}

/// Returns words that stand together in a document.
fn of_documents(survey: &Survey) -> Vec<(&'static str, Drawn)> {
    let fields = &survey.fields;
    let pairs = |gap| -> Vec<(&str, &str)> {
        fields.iter().filter_map(|field| pair(survey, field, gap)).collect()
    };
    let rare = |(one, other): &(&str, &str)| {
        [one, other].iter().any(|word| survey.frequency(word) == Some(Rare))
    };
    let (next, close) = (pairs(1), pairs(3));
    let rare_next: Vec<_> = next.iter().copied().filter(rare).collect();
    let no_pair = "no two words of three letters or more follow each other";
    vec![
        ("simple-and", together(survey, "simple-and", Middling, 2)),
        ("rare-terms", together(survey, "rare-terms", Rare, 3)),
        ("phrase", each("phrase", &next, no_pair, phrase)),
        ("rare-phrase", each("rare-phrase", &rare_next, no_pair, phrase)),
        ("near", each("near", &close, "no field has two words near each other", near)),
        ("prefix", prefixes(survey)),
        ("initial-token", initial(fields)),
        ("initial-phrase", initial_phrase(fields)),
        ("prefix-and-initial", initial_prefix(fields)),
        ("column-filter", column_filter(survey)),
    ]
}

/// Evenly spread queries on some of `items`.
fn each<T: Copy>(
    class: &str,
    items: &[T],
    why: &'static str,
    query: impl Fn(T) -> Option<(String, How)>,
) -> Drawn {
    let usable: Vec<(String, How)> = items.iter().filter_map(|item| query(*item)).collect();
    let mut queries: Vec<Query> = Vec::new();
    for (text, how) in spread(&usable, EACH) {
        if queries.iter().all(|known| known.text != *text) {
            queries.push(Query::new(class, text, how.clone()));
        }
    }
    if queries.is_empty() { Err(why) } else { Ok(queries) }
}

/// Returns `count` items at equal distances.
fn spread<T>(items: &[T], count: usize) -> impl Iterator<Item = &T> {
    let count = count.min(items.len());
    (0..count).map(move |number| &items[(2 * number + 1) * items.len() / (2 * count)])
}

fn rows(meaning: Meaning) -> How {
    How::Match(meaning, Shape::Rows)
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn word_query(word: &str, shape: Shape) -> Option<(String, How)> {
    Some((word.to_owned(), How::Match(Meaning::Words(owned(&[word])), shape)))
}

/// Returns words of every frequency, starting with the middling frequency.
fn all_words(survey: &Survey) -> Vec<&str> {
    [Middling, Common, Rare].map(|frequency| survey.words(frequency)).concat()
}

/// Returns words that the sample has with an English ending, too.
fn stems(survey: &Survey) -> Drawn {
    let has_ending =
        |word: &str| ["s", "ed", "ing"].iter().any(|ending| survey.has(&format!("{word}{ending}")));
    let why = "no word occurs with the ending -s, -ed or -ing as well as without";
    each("stem-term", &all_words(survey), why, |word| {
        let is_stem = word.len() > 3 && has_ending(word);
        is_stem.then(|| word_query(word, Shape::Rows)).flatten()
    })
}

fn misspellings(survey: &Survey) -> Drawn {
    let why = "no word has five letters and is another with a typing error";
    each("misspelling", &all_words(survey), why, |word| {
        let typed = misspelled(word).filter(|typed| !survey.has(typed))?;
        Some((typed, rows(Meaning::Intended(word.to_owned()))))
    })
}

fn accents(survey: &Survey) -> Drawn {
    let why = "no word has diacritics and otherwise only ASCII letters";
    each("accented", &all_words(survey), why, |word| {
        Some((unaccented(word)?, rows(Meaning::Intended(word.to_owned()))))
    })
}

fn unspaced(survey: &Survey) -> Drawn {
    let why = "the text is not in a script without spaces between words";
    each("cjk", &all_words(survey), why, |word| {
        word.chars().all(is_unspaced).then(|| word_query(word, Shape::Rows)).flatten()
    })
}

/// Returns two different words of a field, `gap` apart, with at most one common word if any such pair exists.
fn pair<'f>(survey: &Survey, field: &'f Field, gap: usize) -> Option<(&'f str, &'f str)> {
    let words: Vec<&str> = words(&field.lower).collect();
    let pairs = words.iter().zip(words.iter().skip(gap));
    let usable =
        |one: &str, other: &str| one != other && is_searchable(one) && is_searchable(other);
    let pairs: Vec<(&str, &str)> = pairs
        .map(|(one, other)| (*one, *other))
        .filter(|(one, other)| usable(one, other))
        .collect();
    let telling = pairs.iter().find(|(one, other)| {
        [one, other].iter().all(|word| survey.frequency(word) != Some(Common))
    });
    telling.or(pairs.first()).copied()
}

fn phrase((one, other): (&str, &str)) -> Option<(String, How)> {
    let meaning = Meaning::Phrase(owned(&[one, other]));
    Some((format!("\"{one} {other}\""), rows(meaning)))
}

fn near((one, other): (&str, &str)) -> Option<(String, How)> {
    let meaning = Meaning::Near(one.to_owned(), other.to_owned(), BETWEEN);
    Some((format!("NEAR({one} {other}, {BETWEEN})"), rows(meaning)))
}

/// Returns words of one document each, starting with this frequency; rare queries need one rare word.
fn together(survey: &Survey, class: &str, frequency: Frequency, count: usize) -> Drawn {
    let documents: Vec<usize> = (0..survey.examples).collect();
    let why = "no document has enough different words";
    each(class, &documents, why, |document| {
        let mut found = words_of_document(survey, document);
        found.sort_by_key(|word| survey.frequency(word) != Some(frequency));
        let is_rare = survey.frequency(found.first()?) == Some(Rare);
        let is_enough = found.len() >= count && (frequency != Rare || is_rare);
        found.truncate(count);
        is_enough.then(|| (found.join(" "), rows(Meaning::Words(found))))
    })
}

/// Returns the different words of an example.
fn words_of_document(survey: &Survey, document: usize) -> Vec<String> {
    let (mut found, mut known) = (Vec::new(), HashSet::new());
    for field in survey.fields.iter().filter(|field| field.document == document) {
        terms(&field.lower, |term| {
            if known.insert(term.to_owned()) {
                found.push(term.to_owned());
            }
        });
    }
    found
}

/// Returns words of the examples, one of each field.
fn one_word_each<'s>(fields: &'s [Field], is_wanted: impl Fn(&str) -> bool) -> Vec<&'s str> {
    let wanted =
        |field: &'s Field| words(&field.lower).find(|word| is_searchable(word) && is_wanted(word));
    fields.iter().filter_map(wanted).collect()
}

fn prefixes(survey: &Survey) -> Drawn {
    let is_common = |word: &str| survey.frequency(word) == Some(Common);
    let long = one_word_each(&survey.fields, |word| prefix(word).is_some() && !is_common(word));
    each("prefix", &long, "no word that is not common is longer than four letters", |word| {
        let prefix = prefix(word)?;
        Some((format!("{prefix}*"), rows(Meaning::Prefix(prefix.to_owned()))))
    })
}

/// Returns the words that fields begin with.
fn first_words(fields: &[Field]) -> Vec<&str> {
    let first = fields.iter().filter_map(|field| words(&field.lower).next());
    first.filter(|word| is_searchable(word)).collect()
}

const NO_START: &str = "no field begins with words of three letters or more";

fn initial(fields: &[Field]) -> Drawn {
    each("initial-token", &first_words(fields), NO_START, |word| {
        let meaning = Meaning::StartsWith(owned(&[word]), false);
        Some((format!("^{word}"), rows(meaning)))
    })
}

fn initial_prefix(fields: &[Field]) -> Drawn {
    each("prefix-and-initial", &first_words(fields), NO_START, |word| {
        let prefix = prefix(word)?;
        let meaning = Meaning::StartsWith(owned(&[prefix]), true);
        Some((format!("^{prefix}*"), rows(meaning)))
    })
}

fn initial_phrase(fields: &[Field]) -> Drawn {
    let fields: Vec<&Field> = fields.iter().collect();
    each("initial-phrase", &fields, NO_START, |field| {
        let mut words = words(&field.lower);
        let pair = [words.next()?, words.next()?];
        let meaning = Meaning::StartsWith(owned(&pair), false);
        let is_usable = pair.iter().all(|word| is_searchable(word));
        is_usable.then(|| (format!("^ \"{} {}\"", pair[0], pair[1]), rows(meaning)))
    })
}

/// Returns a word of each column in that column.
fn column_filter(survey: &Survey) -> Drawn {
    let of_column = |column: &usize| {
        let fields = survey.fields.iter().filter(|field| field.column == *column);
        let word =
            |field: &Field| Some(words(&field.lower).find(|word| is_searchable(word))?.to_owned());
        let name = &survey.columns[*column];
        let word = fields.filter_map(word).next()?;
        let meaning = Meaning::Column(name.clone(), word.clone());
        Some((format!("{}: {word}", quoted(name)), rows(meaning)))
    };
    let columns: Vec<usize> = (0..survey.columns.len()).collect();
    let why = "no column has a word of three letters or more";
    each("column-filter", &columns, why, |column| of_column(&column))
}

/// Patterns on the columns that their letters are from.
fn patterns(survey: &Survey) -> Vec<(&'static str, Drawn)> {
    let of = |frequency| -> Vec<(usize, String)> {
        let fields = survey.fields.iter();
        let found =
            fields.filter_map(|field| Some((field.column, spelled(survey, field, frequency)?)));
        found.collect()
    };
    let (rare, middling) = (of(Some(Rare)), of(Some(Middling)));
    let any = of(None);
    let usual = if middling.is_empty() { &any } else { &middling };
    let pattern =
        |class, operator, words: &[(usize, String)], why, text: fn(&str) -> Option<String>| {
            let words: Vec<&(usize, String)> = words.iter().collect();
            let query = |(column, word): &(usize, String)| {
                let column = survey.columns[*column].clone();
                Some((text(word)?, How::Pattern(operator, column)))
            };
            (class, each(class, &words, why, query))
        };
    let no_word = "no document has a word of three letters or more";
    vec![
        pattern("like-rare", Operator::Like, &rare, "no word is rare", |word| {
            Some(format!("%{}%", inner(word)))
        }),
        pattern("glob-medium", Operator::Glob, usual, no_word, |word| Some(format!("*{word}*"))),
        pattern("regexp", Operator::Regexp, usual, no_word, |word| {
            Some(format!(r"{}\w+", prefix(word)?))
        }),
    ]
}

/// Returns a word of a field as it is spelled there, of three characters at least.
fn spelled(survey: &Survey, field: &Field, wanted: Option<Frequency>) -> Option<String> {
    let mut found = None;
    terms(&field.text, |term| {
        let frequency = survey.frequency(&term.to_lowercase());
        let is_wanted = wanted.is_none() || frequency == wanted;
        if found.is_none() && is_wanted && term.chars().count() > 2 {
            found = Some(term.to_owned());
        }
    });
    found
}

/// Returns the letters within a word of five or more; all of a shorter one.
fn inner(word: &str) -> &str {
    let starts: Vec<usize> = word.char_indices().map(|(start, _)| start).collect();
    match starts.len() {
        0..5 => word,
        length => &word[starts[1]..starts[(length - 1).min(7)]],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_spread_evenly_and_few_are_all_taken() {
        let spread =
            |count| spread(&(0..count).collect::<Vec<usize>>(), 3).copied().collect::<Vec<_>>();
        assert_eq!(spread(12), [2, 6, 10]);
        assert_eq!(spread(3), [0, 1, 2]);
        assert_eq!(spread(2), [0, 1]);
        assert!(spread(0).is_empty());
    }

    #[test]
    fn the_inner_letters_of_a_word_are_three_at_least() {
        assert_eq!(inner("über"), "über");
        assert_eq!(inner("überz"), "ber");
        assert_eq!(inner("paleoxylography"), "aleoxy");
    }
}
