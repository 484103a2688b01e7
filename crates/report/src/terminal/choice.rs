//! Which arms of a large experiment the summary shows.

use lab::analysis::ExperimentAnalysis;

use crate::words::by_rank;

/// Up to this number every arm is shown.
const ALL_UP_TO: usize = 12;
/// Of more, so many of the best are shown,
const BEST: usize = 8;
/// and so many of the worst.
const WORST: usize = 3;

/// One line of the table.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// An arm, by its place in the plan.
    Arm(usize),
    /// Arms that are left out, in words.
    LeftOut(String),
}

/// The lines from best to worst: every arm, or of many the best, the reference and the worst.
/// Arms without a measurement are then counted only, as the notes below the table name them.
pub(super) fn lines(experiment: &ExperimentAnalysis) -> Vec<Line> {
    let ranked = by_rank(experiment);
    if ranked.len() <= ALL_UP_TO {
        return ranked.into_iter().map(Line::Arm).collect();
    }
    let (unmeasured, measured): (Vec<usize>, Vec<usize>) = ranked
        .into_iter()
        .partition(|arm| experiment.arms[*arm].unmeasured());
    let mut lines = best_and_worst(&measured, |arm| experiment.arms[arm].reference);
    if !unmeasured.is_empty() {
        lines.push(Line::LeftOut(format!(
            "… {} not measured",
            unmeasured.len()
        )));
    }
    lines
}

fn best_and_worst(ranked: &[usize], is_reference: impl Fn(usize) -> bool) -> Vec<Line> {
    let shown: Vec<usize> = (0..ranked.len())
        .filter(|place| {
            *place < BEST || place + WORST >= ranked.len() || is_reference(ranked[*place])
        })
        .collect();
    let mut lines = Vec::new();
    let mut next = 0;
    for place in shown {
        match place - next {
            0 => {}
            // The arm itself takes no more room than saying that it is left out.
            1 => lines.push(Line::Arm(ranked[next])),
            more => lines.push(Line::LeftOut(format!("… {more} more in the report"))),
        }
        lines.push(Line::Arm(ranked[place]));
        next = place + 1;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(arms: usize, reference: usize) -> Vec<Line> {
        best_and_worst(&(0..arms).collect::<Vec<_>>(), |arm| arm == reference)
    }

    #[test]
    fn the_best_the_reference_and_the_worst_are_shown() {
        let lines = shown(24, 15);
        let arms: Vec<usize> = lines
            .iter()
            .filter_map(|line| match line {
                Line::Arm(arm) => Some(*arm),
                Line::LeftOut(_) => None,
            })
            .collect();
        assert_eq!(arms, [0, 1, 2, 3, 4, 5, 6, 7, 15, 21, 22, 23]);
        assert_eq!(lines[8], Line::LeftOut("… 7 more in the report".to_owned()));
        assert_eq!(
            lines[10],
            Line::LeftOut("… 5 more in the report".to_owned())
        );
    }

    #[test]
    fn a_single_arm_is_not_left_out() {
        let lines = shown(13, 9);
        assert_eq!(lines[8], Line::Arm(8));
        assert_eq!(lines.len(), 13);
    }

    #[test]
    fn few_measured_arms_are_all_shown() {
        assert_eq!(shown(5, 0).len(), 5);
    }
}
