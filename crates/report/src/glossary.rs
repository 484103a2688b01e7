//! The words of the field that reports use, each with its meaning in one sentence.

use std::sync::LazyLock;

use crate::document::{Piece, Sentence, Term};

/// Every word that is explained, in the order of the guide.
pub(crate) static TERMS: LazyLock<Vec<Term>> =
    LazyLock::new(|| TEXT.lines().filter_map(term).collect());

/// A line for each term: the word, the name under which it is linked to, and its meaning.
const TEXT: &str = include_str!("../templates/terms.txt");

fn term(line: &'static str) -> Option<Term> {
    let (word, rest) = line.split_once(" | ")?;
    let (anchor, meaning) = rest.split_once(" | ")?;
    Some(Term { word, anchor, meaning })
}

/// Text in which the first occurrence of every explained word is marked as such.
pub(crate) fn explained(text: &str) -> Sentence {
    let mut rest = text;
    let mut sentence = Sentence::default();
    let mut unused: Vec<&'static Term> = TERMS.iter().collect();
    while let Some((index, at)) = first_of(&unused, rest) {
        let term = unused.remove(index);
        sentence = sentence.and(rest[..at].into());
        sentence.0.push(Piece::Term(term));
        rest = &rest[at + term.word.len()..];
    }
    sentence.and(rest.into())
}

/// The earliest whole word of these in a text: which, and where it begins.
fn first_of(terms: &[&Term], text: &str) -> Option<(usize, usize)> {
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let is_whole = |at: usize, word: &str| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        !is_letter(before.chars().next_back()) && !is_letter(after.chars().next())
    };
    let place = |term: &Term| {
        let mut places = text.match_indices(term.word);
        places.find(|(at, word)| is_whole(*at, word)).map(|(at, _)| at)
    };
    let found = terms.iter().enumerate().filter_map(|(index, term)| Some((index, place(term)?)));
    found.min_by_key(|(_, at)| *at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_explained_word_is_marked_once_and_only_where_it_is_whole() {
        let text = "baselines; the baseline in no safety tier, another baseline";
        let sentence = explained(text);
        assert_eq!(sentence.plain(), text);
        let terms = sentence.0.iter().filter_map(|piece| match piece {
            Piece::Term(term) => Some(term.word),
            _ => None,
        });
        assert_eq!(terms.collect::<Vec<_>>(), ["baseline", "safety tier"]);
        assert!(matches!(&sentence.0[0], Piece::Words(words) if words == "baselines; the "));
    }
}
