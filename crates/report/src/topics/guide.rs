//! How to read a report: the marks, the figures, and every word that is explained.

use lab::analysis::Analysis;

use crate::document::{Block, Kind, Piece, Section, Sentence};
use crate::glossary::TERMS;

/// What there is to know of marks and figures.
const MARKS: [(&str, &str); 5] = [
    (
        "▲ ▼ ≈ ◆ □",
        "Better or worse than the baseline, no detectable difference from it, the baseline itself, and an upper bound. The dot is the median of the trials, the thick line the 95 % interval of the ratio to the baseline, the thin line the smallest to the largest trial; the dashed line is the baseline’s median.",
    ),
    (
        "×2.1 [1.9, 2.3]",
        "The ratio to the baseline and the interval that holds the true ratio with 95 % confidence: the Hodges–Lehmann estimate over paired log-ratios with the interval of Wilcoxon’s signed-rank test; with fewer than seven rounds, mean and Student’s t.",
    ),
    (
        "Curves",
        "Lines join medians, upright strokes reach from the smallest to the largest trial. A thin line is a fitted model, ◇ where it bends; it is drawn only where it explains the data (adjusted R² of at least 0.9, sizes measured on both sides of the bend, clearly better than steady growth with the logarithm of the size).",
    ),
    (
        "What each setting does",
        "Where variants cross several factors: the ratio of one level to that of the baseline, a geometric mean over all settings of the other factors. With 95 % confidence all intervals of a table hold at once.",
    ),
    (
        "✓ ✗ ? –",
        "A claim is confirmed where its whole interval lies within the bound, refuted where it lies wholly outside, inconclusive where it reaches across, not applicable where this machine lacks what the claim requires. The claims of an experiment are judged together (Holm), so their intervals are wider than 95 % ones. In a strip the shaded part confirms, ● is the measured figure, ◇ the published one.",
    ),
];

/// The guide.
pub(super) fn sections(_: &Analysis) -> Vec<Section> {
    let marks = MARKS.map(|(mark, meaning)| (mark.into(), meaning.into()));
    let terms = TERMS.iter().map(|term| {
        let term_itself = Sentence(vec![Piece::Term(term)]);
        (term_itself, Sentence::from(term.meaning))
    });
    vec![Section {
        anchor: "reading".to_owned(),
        kind: Kind::Glossary,
        title: "How to read this page".into(),
        blocks: vec![Block::Facts(marks.into_iter().chain(terms).collect())],
        ..Section::default()
    }]
}
