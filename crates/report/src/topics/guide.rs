//! How to read a report: the marks, the figures, and every word that is explained.

use tuning::Analysis;

use crate::document::{Block, Kind, Piece, Section, Sentence};
use crate::glossary::TERMS;

/// Explanation of marks and figures: a line for each mark, with its meaning.
const MARKS: &str = include_str!("../../templates/marks.txt");

/// The guide.
pub(super) fn sections(_: &Analysis) -> Vec<Section> {
    let marks = MARKS.lines().filter_map(|line| line.split_once(" | "));
    let marks = marks.map(|(mark, meaning)| (mark.into(), meaning.into()));
    let terms = TERMS.iter().map(|term| {
        let term_itself = Sentence(vec![Piece::Term(term)]);
        (term_itself, Sentence::from(term.meaning))
    });
    vec![Section::new(
        "reading",
        Kind::Glossary,
        "How to read this page",
        vec![Block::Facts(marks.chain(terms).collect())],
    )]
}
