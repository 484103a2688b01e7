//! Constraints on other metrics, as the rounds judge them.

use lab::tuning_plan::Bound;
use tuning::Constrained;
use tuning::TuningAnalysis;

use crate::document::{Block, Cell, Column, Row, Table};
use crate::figures;
use crate::words::plural;

/// Whether what is recommended keeps the constraints.
pub(super) fn blocks(tuning: &TuningAnalysis) -> Vec<Block> {
    if tuning.constraints.is_empty() {
        return Vec::new();
    }
    let columns =
        [Column::left("constraint"), Column::right("measured"), Column::left("judgement").prose()];
    let rows = tuning.constraints.iter().map(|constraint| {
        let metric = &constraint.constraint.metric;
        let figure = constraint.measured.and_then(|measured| measured.figure);
        let figure = figure.map(|(figure, interval)| match constraint.constraint.bound {
            Bound::Ratio(_) => figures::ratio(figure, interval),
            Bound::Figure(_) => figures::figure(figure, metric),
        });
        Row::new([
            Cell::code(constraint.constraint.to_string()),
            Cell::number(figure),
            Cell::new(judgement_of_constraint(constraint)),
        ])
    });
    let table = Table::new("Constraints", columns, rows);
    let how = "Measured in the rounds of what is recommended: a bound without a unit is a ratio to the current settings.";
    vec![Block::Heading("Constraints".to_owned()), Block::table(table), Block::small(how)]
}

fn judgement_of_constraint(it: &Constrained) -> String {
    let Some(measured) = it.measured else {
        return "not measured".to_owned();
    };
    if measured.figure.is_some() {
        let judgement = match measured.is_kept {
            Some(true) => "kept",
            Some(false) => "not kept",
            None => "not certain: the interval holds the bound",
        };
        return judgement.to_owned();
    }
    let which = match measured.is_kept {
        Some(true) => "kept in each of",
        Some(false) => "not kept in any of",
        None => "not certain: kept in some of",
    };
    let rounds = plural(measured.rounds, "round", "rounds");
    format!("{which} {rounds}; a figure is 0, so there is no ratio")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{analysis, text};
    use super::*;
    use lab::stats::Interval;
    use lab::tuning_plan::Constraint;
    use tuning::Measured;

    #[test]
    fn a_constraint_is_judged_by_its_interval_or_round_by_round() {
        let judged = |figure: Option<(f64, Interval)>, is_kept| Constrained {
            constraint: Constraint::parsed("busy_errors <= 1").unwrap(),
            measured: Some(Measured { figure, is_kept, rounds: 7 }),
        };
        let near = Some((1.0, Interval { low: 0.9, high: 1.1 }));
        let mut tuning = analysis(Vec::new());
        tuning.constraints = vec![
            judged(near, None),
            judged(None, Some(true)),
            judged(None, Some(false)),
            judged(None, None),
        ];
        tuning.constraints.push(Constrained { measured: None, ..tuning.constraints[0].clone() });
        let text = text(blocks(&tuning));
        let rows = text.lines().filter(|line| line.starts_with('|')).skip(2);
        let judgements = [
            "the interval holds the bound",
            "| kept in each of 7 rounds; a figure is 0",
            "not kept in any of 7 rounds",
            "not certain: kept in some of 7 rounds",
            "not measured",
        ];
        assert_eq!(rows.clone().count(), judgements.len());
        for (row, judgement) in rows.zip(judgements) {
            assert!(row.contains(judgement), "{row}");
        }
    }
}
