//! The table of an experiment's arms.

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width};
use lab::analysis::{ArmAnalysis, ExperimentAnalysis};

use crate::facts::arm_notes;
use crate::figures;
use crate::names::Names;
use crate::words::{Standing, by_rank, metric_heading};

/// The arms from best to worst: name, median, ratio with interval, groups of ranks.
pub(super) fn arms(experiment: &ExperimentAnalysis, width: usize) -> String {
    let names = Names::of(experiment);
    let mut table = Table::new();
    let line = LineStyle::none().fill('─').junction('─');
    table
        .load_style(TableStyle::new().header_separator(line))
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(width).unwrap_or(u16::MAX))
        .set_header([
            Cell::new("arm"),
            right(&metric_heading(&experiment.metric).to_lowercase()),
            Cell::new("to the reference"),
            Cell::new("group"),
        ]);
    for arm in by_rank(experiment) {
        let analysed = &experiment.arms[arm];
        table.add_row([
            Cell::new(names.get(arm)),
            right(&median(experiment, analysed)),
            Cell::new(compared(experiment, analysed)),
            Cell::new(&analysed.groups),
        ]);
    }
    // Names give way first: figures that are broken over two lines cannot be read.
    let figures = [15, 24, 7].map(|most| ColumnConstraint::UpperBoundary(Width::Fixed(most)));
    let name = ColumnConstraint::LowerBoundary(Width::Fixed(12));
    table.set_constraints([name].into_iter().chain(figures));
    table.to_string()
}

/// What weakens the figures of single arms.
pub(super) fn notes(experiment: &ExperimentAnalysis) -> Vec<(String, String)> {
    let names = Names::of(experiment);
    by_rank(experiment)
        .into_iter()
        .filter_map(|arm| {
            let notes = arm_notes(experiment, &experiment.arms[arm]);
            (!notes.is_empty()).then(|| (names.get(arm).to_owned(), notes.join("; ")))
        })
        .collect()
}

fn right(text: &str) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

fn median(experiment: &ExperimentAnalysis, arm: &ArmAnalysis) -> String {
    match arm.summaries.get(&experiment.metric) {
        Some(summary) => figures::figure(summary.median, &experiment.metric),
        None => "–".to_owned(),
    }
}

fn compared(experiment: &ExperimentAnalysis, arm: &ArmAnalysis) -> String {
    let standing = Standing::of(arm, &experiment.metric);
    match (standing, &arm.effect) {
        (Standing::Reference, _) => "◆ reference".to_owned(),
        (Standing::Unmeasured, _) | (_, None) => format!("{} {}", standing.sign(), standing.words()),
        (Standing::Same, Some(effect)) => format!(
            "{} {} (MDE {})",
            standing.sign(),
            figures::ratio(effect.estimate.centre, effect.estimate.interval),
            figures::percent(effect.estimate.mde)
        ),
        (_, Some(effect)) => {
            format!("{} {}", standing.sign(), figures::ratio(effect.estimate.centre, effect.estimate.interval))
        }
    }
}
