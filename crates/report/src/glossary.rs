//! The words of the field that reports use, each with its meaning in one sentence.

use crate::document::{Piece, Sentence, Term};

/// Every word that is explained, in the order of the guide.
pub(crate) const TERMS: [Term; 13] = [
    term(
        "variant",
        "guide-variant",
        "One set of settings that is measured; every trial of it runs in a fresh process on a fresh database.",
    ),
    term(
        "baseline",
        "guide-baseline",
        "The variant that all others are compared with, within the same block of trials, so that drift of the machine cancels out.",
    ),
    term(
        "upper bound",
        "guide-upper-bound",
        "The same input without SQLite, measured in the same blocks: what the variants cannot exceed; neither ranked nor compared.",
    ),
    term(
        "detectable difference",
        "guide-detectable",
        "A difference this large would have been found in four of five such experiments (80 % power); “no detectable difference” never means “no difference”.",
    ),
    term(
        "A/A check",
        "guide-aa-check",
        "The baseline compared with itself: where the two differ, the instrument sees differences that are not there, and small effects are not to be trusted.",
    ),
    term(
        "groups",
        "guide-groups",
        "Variants that share a letter are not distinguishable from each other; the first letter marks the best.",
    ),
    term(
        "preliminary",
        "guide-preliminary",
        "Fewer than seven rounds: a first answer that more rounds may overturn.",
    ),
    term(
        "dropped",
        "guide-dropped",
        "A block of trials is dropped when other work disturbed the machine (CPU steal or pressure), never because of what it measured.",
    ),
    term(
        "interaction",
        "guide-interaction",
        "What two settings do together, divided by the product of what each does alone; ×1 means that they are independent.",
    ),
    term(
        "confirmation run",
        "guide-confirmation",
        "A variant chosen from many is measured again in rounds of its own, to remove selection bias.",
    ),
    term(
        "safety tier",
        "guide-safety-tier",
        "What a crash can destroy with a variant’s settings, measured: a workload is recorded, crashed in memory under several storage models and recovered by the same engine; the worst model within SQLite’s assumptions about hardware decides.",
    ),
    term(
        "crash image",
        "guide-crash-image",
        "One state of the files that a crash may leave; counts of images are properties of the sample, not probabilities.",
    ),
    term(
        "Pareto set",
        "guide-pareto",
        "The variants that no other variant beats in safety and speed at once.",
    ),
];

const fn term(word: &'static str, anchor: &'static str, meaning: &'static str) -> Term {
    Term {
        word,
        anchor,
        meaning,
    }
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
        places
            .find(|(at, word)| is_whole(*at, word))
            .map(|(at, _)| at)
    };
    let places = terms.iter().enumerate();
    let found = places.filter_map(|(index, term)| Some((index, place(term)?)));
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
