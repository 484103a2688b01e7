//! Queries of each class: words by frequency, and combinations that one of the example documents has.

use std::collections::HashSet;

use script::effect::quoted;

use super::survey::{
    Field, Frequency, Survey, is_searchable, is_unspaced, misspelled, prefix, terms, unaccented,
    words,
};
use crate::workload::fts::queries::{Operator, Query};
use Frequency::{Common, Middling, Rare};

/// Queries of a class.
const EACH: usize = 3;

/// Words that may stand between two that are near each other.
const BETWEEN: usize = 5;

/// A class with its queries, or why there are none.
type Class = (&'static str, Result<Vec<Query>, &'static str>);

/// Returns every class with the queries drawn for it.
pub(super) fn draw(survey: &Survey) -> Vec<Class> {
    [by_frequency(survey), of_documents(survey), patterns(survey)].concat()
}

/// Single words of the whole sample.
fn by_frequency(survey: &Survey) -> Vec<Class> {
    let of = |class, frequency, why| each(class, &survey.words(frequency), why, query_of);
    let common = |class| of(class, Common, "no word is in two documents and in 1 % of them");
    vec![
        common("common-term"),
        common("common-limit"),
        common("common-ranked"),
        common("common-snippets"),
        of("middling-term", Middling, "every word is either rare or common"),
        of("rare-term", Rare, "no word is rare"),
        stems(survey),
        misspellings(survey),
        accents(survey),
        unspaced(survey),
    ]
}

/// Returns words that stand together in a document.
fn of_documents(survey: &Survey) -> Vec<Class> {
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
    let phrase = |(one, other)| query_of(format!("\"{one} {other}\""));
    vec![
        together(survey, "simple-and", Middling, 2),
        together(survey, "rare-terms", Rare, 3),
        each("phrase", &next, no_pair, phrase),
        each("rare-phrase", &rare_next, no_pair, phrase),
        each("near", &close, "no field has two words near each other", |(one, other)| {
            query_of(format!("NEAR({one} {other}, {BETWEEN})"))
        }),
        prefixes(survey),
        each("initial-token", &first_words(fields), NO_START, |word| query_of(format!("^{word}"))),
        initial_phrase(fields),
        each("prefix-and-initial", &first_words(fields), NO_START, |word| {
            query_of(format!("^{}*", prefix(word)?))
        }),
        column_filter(survey),
    ]
}

/// Returns a class with evenly spread queries on some of `items`.
fn each<T: Copy>(
    class: &'static str,
    items: &[T],
    why: &'static str,
    query: impl Fn(T) -> Option<Query>,
) -> Class {
    let usable: Vec<Query> = items.iter().filter_map(|item| query(*item)).collect();
    let mut queries: Vec<Query> = Vec::new();
    for query in spread(&usable, EACH) {
        if queries.iter().all(|known| known.text != query.text) {
            queries.push(Query { class: class.to_owned(), ..query.clone() });
        }
    }
    (class, if queries.is_empty() { Err(why) } else { Ok(queries) })
}

/// Returns `count` items at equal distances.
fn spread<T>(items: &[T], count: usize) -> impl Iterator<Item = &T> {
    let count = count.min(items.len());
    (0..count).map(move |number| &items[(2 * number + 1) * items.len() / (2 * count)])
}

/// Returns a query whose class is not known yet.
fn query_of(text: impl Into<String>) -> Option<Query> {
    Some(Query::new("", text))
}

/// Returns words of every frequency, starting with the middling frequency.
fn all_words(survey: &Survey) -> Vec<&str> {
    [Middling, Common, Rare].map(|frequency| survey.words(frequency)).concat()
}

/// Returns words that the sample has with an English ending, too.
fn stems(survey: &Survey) -> Class {
    let has_ending =
        |word: &str| ["s", "ed", "ing"].iter().any(|ending| survey.has(&format!("{word}{ending}")));
    let why = "no word occurs with the ending -s, -ed or -ing as well as without";
    each("stem-term", &all_words(survey), why, |word| {
        query_of(word).filter(|_| word.len() > 3 && has_ending(word))
    })
}

fn misspellings(survey: &Survey) -> Class {
    let why = "no word has five letters and is another with a typing error";
    each("misspelling", &all_words(survey), why, |word| {
        let typed = misspelled(word).filter(|typed| !survey.has(typed))?;
        Some(Query::intending("", typed, word))
    })
}

fn accents(survey: &Survey) -> Class {
    let why = "no word has diacritics and otherwise only ASCII letters";
    each("accented", &all_words(survey), why, |word| {
        Some(Query::intending("", unaccented(word)?, word))
    })
}

fn unspaced(survey: &Survey) -> Class {
    let why = "the text is not in a script without spaces between words";
    each("cjk", &all_words(survey), why, |word| {
        query_of(word).filter(|_| word.chars().all(is_unspaced))
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

/// Returns words of one document each, starting with this frequency; rare queries need one rare word.
fn together(survey: &Survey, class: &'static str, frequency: Frequency, count: usize) -> Class {
    let documents: Vec<usize> = (0..survey.examples).collect();
    let why = "no document has enough different words";
    each(class, &documents, why, |document| {
        let mut found = words_of_document(survey, document);
        found.sort_by_key(|word| survey.frequency(word) != Some(frequency));
        let is_rare = survey.frequency(found.first()?) == Some(Rare);
        let is_enough = found.len() >= count && (frequency != Rare || is_rare);
        found.truncate(count);
        query_of(found.join(" ")).filter(|_| is_enough)
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

fn prefixes(survey: &Survey) -> Class {
    let is_common = |word: &str| survey.frequency(word) == Some(Common);
    let long = one_word_each(&survey.fields, |word| prefix(word).is_some() && !is_common(word));
    each("prefix", &long, "no word that is not common is longer than four letters", |word| {
        query_of(format!("{}*", prefix(word)?))
    })
}

/// Returns the words that fields begin with.
fn first_words(fields: &[Field]) -> Vec<&str> {
    let first = fields.iter().filter_map(|field| words(&field.lower).next());
    first.filter(|word| is_searchable(word)).collect()
}

const NO_START: &str = "no field begins with words of three letters or more";

fn initial_phrase(fields: &[Field]) -> Class {
    let fields: Vec<&Field> = fields.iter().collect();
    each("initial-phrase", &fields, NO_START, |field| {
        let mut words = words(&field.lower);
        let pair = [words.next()?, words.next()?];
        let is_usable = pair.iter().all(|word| is_searchable(word));
        query_of(format!("^ \"{} {}\"", pair[0], pair[1])).filter(|_| is_usable)
    })
}

/// Returns a word of each column in that column.
fn column_filter(survey: &Survey) -> Class {
    let columns: Vec<usize> = (0..survey.columns.len()).collect();
    let why = "no column has a word of three letters or more";
    each("column-filter", &columns, why, |column| {
        let mut fields = survey.fields.iter().filter(|field| field.column == column);
        let word = fields.find_map(|field| words(&field.lower).find(|word| is_searchable(word)))?;
        query_of(format!("{}: {word}", quoted(&survey.columns[column])))
    })
}

/// Patterns on the columns that their letters are from.
fn patterns(survey: &Survey) -> Vec<Class> {
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
            each(class, &words, why, |(column, word)| {
                let pattern = Some((operator, survey.columns[*column].clone()));
                Some(Query { pattern, ..Query::new("", text(word)?) })
            })
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
