//! The map of a factorial design of two factors: one cell for each combination.
//!
//! Each cell shows its figure; the colour only repeats it in five steps to either side, so that
//! the map can be read without it.

use lab::analysis::{ExperimentAnalysis, VariantAnalysis};
use lab::experiment::{DesignKind, Exclusion, Experiment};
use lab::level::{Level, Settings, contains};

use crate::facts::variant_notes;
use crate::figures;
use crate::words::{Standing, higher_is_better};

/// A map ready to be drawn.
pub(crate) struct Heat {
    /// The factor whose levels are the rows.
    pub(crate) row_factor: String,
    /// The factor whose levels are the columns.
    pub(crate) column_factor: String,
    /// The levels of the columns.
    pub(crate) columns: Vec<String>,
    /// The rows.
    pub(crate) rows: Vec<HeatRow>,
    /// Why cells have no figure, in the order of their numbers.
    pub(crate) reasons: Vec<String>,
}

/// One row of a map.
pub(crate) struct HeatRow {
    /// Its level.
    pub(crate) level: String,
    /// Its cells.
    pub(crate) cells: Vec<Cell>,
}

/// One combination.
pub(crate) struct Cell {
    /// The class that colours it.
    pub(crate) class: &'static str,
    /// The ratio to the baseline, or a word where there is none.
    pub(crate) text: String,
    /// The median.
    pub(crate) median: String,
    /// The number of the reason why there is no figure.
    pub(crate) reason: Option<usize>,
}

/// The map of an experiment, when its design is a factorial of two factors with several levels
/// each.
pub(crate) fn heat(experiment: &ExperimentAnalysis, planned: &Experiment) -> Option<Heat> {
    let mut factors: Vec<(&String, &Vec<Level>)> = experiment
        .factors
        .iter()
        .filter(|(_, levels)| levels.len() > 1)
        .collect();
    if planned.design.kind != DesignKind::Factorial || factors.len() != 2 {
        return None;
    }
    // Narrow screens have more room downwards.
    factors.sort_by_key(|(_, levels)| std::cmp::Reverse(levels.len()));
    let ((row_factor, row_levels), (column_factor, column_levels)) = (factors[0], factors[1]);
    let mut reasons = Vec::new();
    let rows = row_levels
        .iter()
        .map(|row| HeatRow {
            level: row.to_string(),
            cells: column_levels
                .iter()
                .map(|column| {
                    let levels = Settings::from([
                        (row_factor.clone(), row.clone()),
                        (column_factor.clone(), column.clone()),
                    ]);
                    cell(experiment, planned, &levels, &mut reasons)
                })
                .collect(),
        })
        .collect();
    Some(Heat {
        row_factor: row_factor.clone(),
        column_factor: column_factor.clone(),
        columns: column_levels.iter().map(Level::to_string).collect(),
        rows,
        reasons,
    })
}

fn cell(
    experiment: &ExperimentAnalysis,
    planned: &Experiment,
    levels: &Settings,
    reasons: &mut Vec<String>,
) -> Cell {
    match experiment
        .variants
        .iter()
        .find(|variant| contains(&variant.levels, levels))
    {
        Some(variant) => of_variant(experiment, variant, reasons),
        None => {
            let excludes = |exclusion: &&Exclusion| contains(levels, &exclusion.levels);
            let because = planned.exclude.iter().find(excludes);
            let why = because.map_or("no variant of the plan", |exclusion| &exclusion.because);
            empty("left out", format!("left out: {why}"), reasons)
        }
    }
}

fn of_variant(
    experiment: &ExperimentAnalysis,
    variant: &VariantAnalysis,
    reasons: &mut Vec<String>,
) -> Cell {
    let standing = Standing::of(variant, &experiment.metric);
    let Some(summary) = variant.summaries.get(&experiment.metric) else {
        let why = variant_notes(experiment, variant).join("; ");
        return empty(word_for(variant), why, reasons);
    };
    let estimate = variant.effect.as_ref().map(|effect| &effect.estimate);
    let (class, text) = match (standing, estimate) {
        (Standing::Baseline, _) => ("heat-ref", format!("{} ×1", standing.sign())),
        (_, Some(estimate)) => {
            let gain = match higher_is_better(&experiment.metric) {
                true => estimate.centre,
                false => 1.0 / estimate.centre,
            };
            let ratio = figures::ratio_alone(estimate.centre, estimate.interval);
            (
                shade(standing, gain),
                format!("{} {ratio}", standing.sign()),
            )
        }
        (_, None) => ("heat-same", "not compared".to_owned()),
    };
    let median = figures::figure(summary.median, &experiment.metric);
    Cell {
        class,
        text,
        median,
        reason: None,
    }
}

/// Five steps to either side of the baseline: up to 1.25, 2, 4, 10 times, and beyond.
pub(super) fn shade(standing: Standing, gain: f64) -> &'static str {
    const LIMITS: [f64; 4] = [1.25, 2.0, 4.0, 10.0];
    const BETTER: [&str; 5] = ["heat-b1", "heat-b2", "heat-b3", "heat-b4", "heat-b5"];
    const WORSE: [&str; 5] = ["heat-w1", "heat-w2", "heat-w3", "heat-w4", "heat-w5"];
    let step = |factor: f64| LIMITS.iter().filter(|limit| factor >= **limit).count();
    match standing {
        Standing::Better => BETTER[step(gain)],
        Standing::Worse => WORSE[step(1.0 / gain)],
        _ => "heat-same",
    }
}

/// A word for a cell without a figure.
fn word_for(variant: &VariantAnalysis) -> &'static str {
    let trials = &variant.trials;
    match (trials.skipped, trials.failed, trials.timed_out) {
        (0, 0, 0) => "not run",
        (_, 0, 0) => "skipped",
        (_, _, 0) => "failed",
        _ => "too slow",
    }
}

/// A cell without a figure; equal reasons share a number.
fn empty(word: &str, why: String, reasons: &mut Vec<String>) -> Cell {
    let number = reasons
        .iter()
        .position(|reason| *reason == why)
        .unwrap_or_else(|| {
            reasons.push(why);
            reasons.len() - 1
        });
    Cell {
        class: "heat-none",
        text: word.to_owned(),
        median: String::new(),
        reason: Some(number + 1),
    }
}
