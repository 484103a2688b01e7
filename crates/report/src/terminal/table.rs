//! The table of an experiment's variants and limits.

use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width,
};
use lab::analysis::{ExperimentAnalysis, Summary, VariantAnalysis};

use super::choice::{self, Line};
use crate::figures;
use crate::names::Names;
use crate::tiers;
use crate::words::{Standing, UPPER_BOUND, UPPER_BOUND_SIGN, metric_heading};

/// In narrower windows a ratio and its interval stand on two lines.
const NARROW: usize = 72;

/// The variants from best to worst: name, median, ratio with interval, groups of ranks; below them the
/// limits.
pub(super) fn variants(experiment: &ExperimentAnalysis, width: usize) -> String {
    let names = Names::of(experiment);
    let between = if width < NARROW { "\n  " } else { " " };
    let mut table = Table::new();
    let line = LineStyle::none().fill('─');
    table
        .load_style(TableStyle::new().header_separator(line))
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(width).unwrap_or(u16::MAX))
        .set_header(with_tier(
            experiment,
            [
                Cell::new("variant"),
                right(&metric_heading(&experiment.metric).to_lowercase()),
                Cell::new("to the baseline"),
                Cell::new("group"),
            ],
            "tier",
        ));
    for line in choice::lines(experiment) {
        match line {
            Line::Variant(variant) => {
                let analysed = &experiment.variants[variant];
                let cells = [
                    Cell::new(names.get(variant)),
                    right(&figure(
                        analysed.summaries.get(&experiment.metric),
                        experiment,
                    )),
                    Cell::new(compared(experiment, analysed, between)),
                    Cell::new(&analysed.groups),
                ];
                table.add_row(with_tier(experiment, cells, &tier(analysed, width)));
            }
            Line::LeftOut(words) => {
                table.add_row([Cell::new(words)]);
            }
        }
    }
    add_limits(&mut table, experiment);
    lay_out(&mut table, width, tiers::has_column(experiment));
    table.to_string()
}

/// The cells of a row, with a last one for the safety tier where variants have one each.
fn with_tier(experiment: &ExperimentAnalysis, cells: [Cell; 4], tier: &str) -> Vec<Cell> {
    let tier = tiers::has_column(experiment).then(|| Cell::new(tier));
    cells.into_iter().chain(tier).collect()
}

/// The tier of a variant: a sign, and words where there is room for them.
fn tier(variant: &VariantAnalysis, width: usize) -> String {
    let sign = tiers::sign(variant.class());
    match width < NARROW {
        true => sign.to_owned(),
        false => format!("{sign} {}", tiers::short(variant.class())),
    }
}

/// Room for the columns: words of names and figures are not broken as long as that can be helped.
fn lay_out(table: &mut Table, width: usize, has_tier: bool) {
    const GAP: u16 = 2;
    let mut figures: Vec<u16> = match width < NARROW {
        true => vec![15, 16, 7],
        false => vec![15, 28, 7],
    };
    match (has_tier, width < NARROW) {
        (false, _) => {}
        (true, true) => figures.push(6),
        (true, false) => figures.push(17),
    }
    let last = figures.len();
    let room = width.saturating_sub(figures.iter().copied().map(usize::from).sum());
    let names = table.column_cells_iter(0).flatten();
    let words = names.map(|cell| {
        let content = cell.content();
        content
            .split(' ')
            .map(|word| word.chars().count())
            .max()
            .unwrap_or(0)
    });
    let longest = (words.max().unwrap_or(0) + usize::from(GAP)).min(room) as u16;
    let name = ColumnConstraint::LowerBoundary(Width::Fixed(longest));
    let figures = figures
        .into_iter()
        .map(|most| ColumnConstraint::UpperBoundary(Width::Fixed(most)));
    table.set_constraints([name].into_iter().chain(figures));
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if index == last { 0 } else { GAP }));
    }
}

fn right(text: &str) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

/// The limits, an empty line below the variants.
fn add_limits(table: &mut Table, experiment: &ExperimentAnalysis) {
    if !experiment.upper_bounds.is_empty() {
        table.add_row([Cell::new("")]);
    }
    for limit in &experiment.upper_bounds {
        let measured = match limit.summary {
            Some(_) => "",
            None => ", not measured",
        };
        table.add_row([
            Cell::new(&limit.name),
            right(&figure(limit.summary.as_ref(), experiment)),
            Cell::new(format!("{UPPER_BOUND_SIGN} {UPPER_BOUND}{measured}")),
        ]);
    }
}

fn figure(summary: Option<&Summary>, experiment: &ExperimentAnalysis) -> String {
    match summary {
        Some(summary) => figures::figure(summary.median, &experiment.metric),
        None => "–".to_owned(),
    }
}

/// How the variant stands to the baseline; in a narrow window the interval has a line of its own.
fn compared(experiment: &ExperimentAnalysis, variant: &VariantAnalysis, between: &str) -> String {
    let standing = Standing::of(variant, &experiment.metric);
    let estimate = variant.effect.as_ref().map(|effect| &effect.estimate);
    match estimate {
        Some(estimate) if standing != Standing::Baseline => format!(
            "{} {}{between}{}",
            standing.sign(),
            figures::ratio_alone(estimate.centre, estimate.interval),
            figures::interval_of_ratio(estimate.centre, estimate.interval)
        ),
        _ => format!("{} {}", standing.sign(), standing.words()),
    }
}
