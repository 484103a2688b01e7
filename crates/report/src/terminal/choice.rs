//! Which variants of a large experiment the summary shows.

use lab::analysis::ExperimentAnalysis;

use crate::words::by_rank;

/// Up to this number every variant is shown.
const ALL_UP_TO: usize = 12;
/// Of more, so many of the best are shown,
const BEST: usize = 8;
/// and so many of the worst.
const WORST: usize = 3;

/// One line of the table.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A variant, by its place in the plan.
    Variant(usize),
    /// Variants that are left out, in words.
    LeftOut(String),
}

/// The lines from best to worst: every variant, or of many the best, the baseline and the worst.
/// Variants without a measurement are then counted only, as the notes below the table name them.
pub(super) fn lines(experiment: &ExperimentAnalysis) -> Vec<Line> {
    let ranked = by_rank(experiment);
    if ranked.len() <= ALL_UP_TO {
        return ranked.into_iter().map(Line::Variant).collect();
    }
    let (unmeasured, measured): (Vec<usize>, Vec<usize>) = ranked
        .into_iter()
        .partition(|variant| experiment.variants[*variant].unmeasured());
    let mut lines = best_and_worst(&measured, |variant| experiment.variants[variant].baseline);
    if !unmeasured.is_empty() {
        lines.push(Line::LeftOut(format!(
            "… {} not measured",
            unmeasured.len()
        )));
    }
    lines
}

fn best_and_worst(ranked: &[usize], is_baseline: impl Fn(usize) -> bool) -> Vec<Line> {
    let shown: Vec<usize> = (0..ranked.len())
        .filter(|place| {
            *place < BEST || place + WORST >= ranked.len() || is_baseline(ranked[*place])
        })
        .collect();
    let mut lines = Vec::new();
    let mut next = 0;
    for place in shown {
        match place - next {
            0 => {}
            // The variant itself takes no more room than saying that it is left out.
            1 => lines.push(Line::Variant(ranked[next])),
            more => lines.push(Line::LeftOut(format!("… {more} more in the report"))),
        }
        lines.push(Line::Variant(ranked[place]));
        next = place + 1;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(variants: usize, baseline: usize) -> Vec<Line> {
        best_and_worst(&(0..variants).collect::<Vec<_>>(), |variant| {
            variant == baseline
        })
    }

    #[test]
    fn the_best_the_baseline_and_the_worst_are_shown() {
        let lines = shown(24, 15);
        let variants: Vec<usize> = lines
            .iter()
            .filter_map(|line| match line {
                Line::Variant(variant) => Some(*variant),
                Line::LeftOut(_) => None,
            })
            .collect();
        assert_eq!(variants, [0, 1, 2, 3, 4, 5, 6, 7, 15, 21, 22, 23]);
        assert_eq!(lines[8], Line::LeftOut("… 7 more in the report".to_owned()));
        assert_eq!(
            lines[10],
            Line::LeftOut("… 5 more in the report".to_owned())
        );
    }

    #[test]
    fn a_single_variant_is_not_left_out() {
        let lines = shown(13, 9);
        assert_eq!(lines[8], Line::Variant(8));
        assert_eq!(lines.len(), 13);
    }

    #[test]
    fn few_measured_variants_are_all_shown() {
        assert_eq!(shown(5, 0).len(), 5);
    }
}
