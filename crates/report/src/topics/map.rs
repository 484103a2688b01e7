//! The map of a factorial design of two factors: one cell for each combination.

use lab::analysis::{ComparisonResult, Tiered, VariantAnalysis};
use lab::experiment::{DesignKind, Exclusion};
use lab::level::{Level, Settings, contains};

use super::subject::Subject;
use crate::document::{Block, Chart, Map, MapCell, MapRow, Plot, Tone};
use crate::figures;
use crate::words::{class_mark, mark, standing_words};

/// The map, when the design is a factorial of two factors with several levels each.
pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    // A curve that holds every variant says what the map would; and crashes have no speed.
    if super::curve::has_everything(subject) || subject.experiment.tries_crashes() {
        return Vec::new();
    }
    let map = map(subject).map(|map| {
        let chart = Chart::new("Ratio to the baseline, with the median", Plot::Map(map));
        let remark = if subject.experiment.tiered() == Tiered::Each {
            "blue is better, orange is worse, grey can corrupt (✘); signs: losses when the process dies, and in a power cut"
        } else {
            "blue is better, orange is worse"
        };
        Block::chart(chart.with_remark(remark))
    });
    map.map(|map| Block::full(vec![map])).into_iter().collect()
}

/// Whether there is a map.
pub(super) fn has_everything(subject: &Subject<'_>) -> bool {
    map(subject).is_some()
}

fn map(subject: &Subject<'_>) -> Option<Map> {
    let factors = subject.experiment.factors.iter();
    let mut factors: Vec<(&String, &Vec<Level>)> =
        factors.filter(|(_, levels)| levels.len() > 1).collect();
    // Narrow screens have more room downwards.
    factors.sort_by_key(|(_, levels)| std::cmp::Reverse(levels.len()));
    let is_factorial = subject.planned.experiment.design.kind == DesignKind::Factorial;
    let [(row_factor, rows), (column_factor, columns)] = factors[..] else { return None };
    if !is_factorial {
        return None;
    }
    let of = subject.wording();
    let mut map = Map {
        row_factor: Some(row_factor.clone()),
        column_factor: Some(column_factor.clone()),
        columns: columns.iter().map(|column| of.level(column_factor, column).plain()).collect(),
        ..Map::default()
    };
    for row in rows {
        let cells = columns.iter().map(|column| {
            let levels = [(row_factor, row), (column_factor, column)];
            let levels = levels.map(|(name, level)| (name.clone(), level.clone()));
            cell(subject, &Settings::from(levels), &mut map.reasons)
        });
        let (name, cells) = (of.level(row_factor, row).plain(), cells.collect());
        map.rows.push(MapRow { name, cells });
    }
    Some(map)
}

fn cell(subject: &Subject<'_>, levels: &Settings, reasons: &mut Vec<String>) -> MapCell {
    match subject.experiment.variants.iter().find(|variant| contains(&variant.levels, levels)) {
        Some(variant) => of_variant(subject, variant, reasons),
        None => {
            let excludes = |exclusion: &&Exclusion| contains(levels, &exclusion.levels);
            let because = subject.planned.experiment.exclude.iter().find(excludes);
            let why = because.map_or("no variant of the plan", |exclusion| &exclusion.because);
            empty("left out", format!("left out: {why}"), reasons)
        }
    }
}

fn of_variant(
    subject: &Subject<'_>,
    variant: &VariantAnalysis,
    reasons: &mut Vec<String>,
) -> MapCell {
    let metric = subject.metric();
    let Some(summary) = variant.summaries.get(metric) else {
        let why = variant.problem.clone().unwrap_or_else(|| "not measured in this run".to_owned());
        return empty(word_for(variant), why, reasons);
    };
    let standing = variant.compared(metric);
    let (sign, tone) = mark(standing);
    let (times, text) = match (standing, variant.estimate()) {
        (ComparisonResult::Baseline, _) => (1.0, format!("{sign} ×1")),
        (standing, None) => (1.0, standing_words(standing).to_owned()),
        (_, Some(estimate)) => {
            let ratio = figures::ratio_alone(estimate.centre, estimate.interval);
            let times = estimate.centre.max(1.0 / estimate.centre);
            (times, format!("{sign} {ratio}"))
        }
    };
    let (losses, safety) = class_mark(variant.class());
    let below = figures::figure(summary.median, metric);
    let (tone, below) = match (subject.experiment.tiered(), safety) {
        // Whatever can corrupt is not painted as a gain.
        (Tiered::Each, Tone::Bad) => (Tone::Same, format!("{below} {losses}")),
        (Tiered::Each, _) => (tone, format!("{below} {losses}")),
        _ => (tone, below),
    };
    MapCell { tone, times, text, below, reason: None }
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
fn empty(word: &str, why: String, reasons: &mut Vec<String>) -> MapCell {
    let number = reasons.iter().position(|reason| *reason == why).unwrap_or_else(|| {
        reasons.push(why);
        reasons.len() - 1
    });
    MapCell {
        tone: Tone::Missing,
        text: word.to_owned(),
        reason: Some(number + 1),
        ..MapCell::default()
    }
}
