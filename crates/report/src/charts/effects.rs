//! The effects of single knobs as a dot-and-interval plot, and those of pairs as maps.
//!
//! The plot has the form of the one of variants (see [`super::forest`]): the dot is the ratio, the thick
//! line its interval, the thin line reaches from the smallest to the largest ratio among the settings
//! of the other factors. A map has a row for each level of one factor and a column for each of the
//! other; its cells say how much the two together differ from the product of both alone. Text and
//! signs say everything that colour does.

use lab::analysis::ExperimentAnalysis;
use lab::analysis::effects::{Contrast, Effects, MainEffect, PairEffect};
use lab::level::Level;

use super::heat::shade;
use super::{Axis, Percent, Span, Tick};
use crate::answer::Sentence;
use crate::effects::{self, gain, setting, standing};
use crate::figures;
use crate::words::{Standing, direction, metric_heading};

/// Maps of pairs that are shown at once; more are folded away.
const MAPS: usize = 3;

/// Everything that the page shows of effects.
pub(crate) struct EffectsChart {
    /// What to take away.
    pub(crate) sentences: Vec<Sentence>,
    /// What the ratios are of: `Rows a second, higher is better`.
    pub(crate) heading: String,
    /// How the figures were made.
    pub(crate) how: String,
    /// Variants that are in no comparison.
    pub(crate) left_out: Option<String>,
    /// Marks of the axis.
    pub(crate) ticks: Vec<Tick>,
    /// Where no effect stands.
    pub(crate) one: Option<Percent>,
    /// The levels, the greatest effect first.
    pub(crate) rows: Vec<EffectRow>,
    /// What the differences between variants come from.
    pub(crate) shares: Vec<ShareRow>,
    /// Whether shares add up to the whole.
    pub(crate) whole: bool,
    /// All pairs at a glance; none where there is one pair only.
    pub(crate) overview: Option<Overview>,
    /// Maps of the pairs in which the strongest interactions were found, or of the only pair.
    pub(crate) maps: Vec<PairMap>,
    /// Maps of the other pairs in which something was found.
    pub(crate) more_maps: Vec<PairMap>,
}

/// One level of a factor.
pub(crate) struct EffectRow {
    /// `factor=level`.
    pub(crate) name: String,
    /// The level that it is compared with.
    pub(crate) instead_of: String,
    /// How it stands to that.
    pub(crate) standing: Standing,
    /// The ratio.
    pub(crate) dot: Percent,
    /// Its interval.
    pub(crate) interval: Span,
    /// From the smallest to the largest over settings.
    pub(crate) range: Span,
    /// The ratio with its interval.
    pub(crate) ratio: String,
    /// The number of settings.
    pub(crate) settings: usize,
    /// Whether the factor is a condition rather than a choice.
    pub(crate) condition: bool,
    /// The row in words.
    pub(crate) words: String,
}

/// One part of the differences.
pub(crate) struct ShareRow {
    /// The factors.
    pub(crate) names: Vec<String>,
    /// Words where there are none.
    pub(crate) words: Option<&'static str>,
    /// `62 %`.
    pub(crate) percent: String,
    /// Length of the bar.
    pub(crate) length: Percent,
}

/// The strongest interaction of each two factors.
pub(crate) struct Overview {
    /// Factors that are columns.
    pub(crate) columns: Vec<String>,
    /// The rows: a factor and a cell for each column up to its own.
    pub(crate) rows: Vec<(String, Vec<MapCell>)>,
}

/// The interactions of two factors, level by level.
pub(crate) struct PairMap {
    /// The factor of the rows.
    pub(crate) row_factor: String,
    /// The factor of the columns.
    pub(crate) column_factor: String,
    /// The levels of the columns, the baseline's first.
    pub(crate) columns: Vec<String>,
    /// A level of the row factor and its cells.
    pub(crate) rows: Vec<(String, Vec<MapCell>)>,
}

/// One cell of a map.
pub(crate) struct MapCell {
    /// The class that colours it.
    pub(crate) class: &'static str,
    /// The ratio with its sign, or words.
    pub(crate) text: String,
    /// The interval, or what the strongest interaction is of.
    pub(crate) below: String,
}

/// The effects of an experiment; none where its variants do not cross.
pub(crate) fn effects(experiment: &ExperimentAnalysis) -> Option<EffectsChart> {
    let effects = experiment.effects.as_ref()?;
    let metric = &experiment.metric;
    let axis = axis(&effects.main);
    let rows = effects.main.iter().zip(axis.iter().cycle());
    let mut maps = maps(effects, metric);
    let more_maps = maps.split_off(maps.len().min(MAPS));
    Some(EffectsChart {
        sentences: effects::sentences(experiment),
        heading: format!("{}, {}", metric_heading(metric), direction(metric)),
        how: effects::how(effects),
        left_out: effects::left_out(effects),
        ticks: axis.map(ratio_ticks).unwrap_or_default(),
        one: axis.map(|axis| axis.place(1.0)),
        rows: rows
            .map(|(effect, axis)| {
                let condition = experiment.conditions.contains(&effect.factor);
                row(effect, *axis, metric, condition)
            })
            .collect(),
        shares: shares(effects),
        whole: effects.shares.as_ref().is_some_and(|shares| shares.whole),
        overview: overview(effects, metric),
        maps,
        more_maps,
    })
}

/// A logarithmic axis that holds every dot and every bounded interval.
fn axis(main: &[MainEffect]) -> Option<Axis> {
    let ends = main.iter().flat_map(|effect| {
        let Contrast {
            ratio,
            interval,
            range,
            ..
        } = effect.contrast;
        let interval = Some(interval).filter(|it| it.is_bounded() && it.low > 0.0);
        let interval = interval.into_iter().flat_map(|it| [it.low, it.high]);
        [ratio, range.low, range.high].into_iter().chain(interval)
    });
    // Room around 1, so that nothing looks like much where nothing is.
    const ROOM: [f64; 2] = [0.9, 1.1];
    let values: Vec<f64> = ends.filter(|value| *value > 0.0).collect();
    (!values.is_empty())
        .then(|| Axis::logarithmic_over(values.into_iter().chain(ROOM)))
        .flatten()
}

fn ratio_ticks(axis: Axis) -> Vec<Tick> {
    let mut ticks = axis.ratio_ticks();
    for tick in &mut ticks {
        tick.label = format!("×{}", tick.label);
    }
    ticks
}

fn row(effect: &MainEffect, axis: Axis, metric: &str, condition: bool) -> EffectRow {
    let contrast = &effect.contrast;
    let name = setting(&effect.factor, &effect.level);
    let ratio = figures::ratio(contrast.ratio, contrast.interval);
    let standing = standing(contrast, metric);
    let settings = contrast.settings;
    EffectRow {
        words: format!(
            "{name}: {ratio} of {}, a mean over {settings} settings of the others, {}",
            setting(&effect.factor, &effect.instead_of),
            standing.words()
        ),
        name,
        instead_of: effect.instead_of.to_string(),
        standing,
        dot: axis.place(contrast.ratio),
        interval: axis.span(contrast.interval),
        range: axis.span(contrast.range),
        ratio,
        settings,
        condition,
    }
}

fn shares(effects: &Effects) -> Vec<ShareRow> {
    let shares = effects::shares(effects);
    shares
        .into_iter()
        .map(|one| ShareRow {
            percent: figures::percent(one.share),
            length: Percent(100.0 * one.share.min(1.0)),
            names: one.names,
            words: one.words,
        })
        .collect()
}

fn overview(effects: &Effects, metric: &str) -> Option<Overview> {
    if effects.pairs.len() < 2 {
        return None;
    }
    let mut names: Vec<&String> = effects
        .pairs
        .iter()
        .flat_map(|pair| &pair.factors)
        .collect();
    names.sort_unstable();
    names.dedup();
    let (columns, rows) = (&names[..names.len() - 1], &names[1..]);
    let rows = rows.iter().enumerate().map(|(index, row)| {
        let cells = columns[..=index].iter().map(|column| {
            let both =
                |pair: &&PairEffect| pair.factors.contains(row) && pair.factors.contains(column);
            match effects.pairs.iter().find(both) {
                Some(pair) => strongest(pair, metric),
                None => without("not crossed"),
            }
        });
        ((*row).clone(), cells.collect())
    });
    Some(Overview {
        rows: rows.collect(),
        columns: columns.iter().map(|name| (*name).clone()).collect(),
    })
}

/// The strongest interaction of a pair that was found, or the strongest as estimated.
fn strongest(pair: &PairEffect, metric: &str) -> MapCell {
    let found = pair.cells.iter().filter(|cell| cell.contrast.is_found());
    let strongest = found.max_by(|a, b| a.contrast.size().total_cmp(&b.contrast.size()));
    match strongest {
        Some(strongest) => MapCell {
            below: strongest
                .levels
                .iter()
                .map(Level::to_string)
                .collect::<Vec<_>>()
                .join(" + "),
            ..cell(&strongest.contrast, metric)
        },
        None => MapCell {
            class: "heat-same",
            text: "≈".to_owned(),
            below: "none found".to_owned(),
        },
    }
}

/// Pairs in which something was found; where there is one pair only, that one.
fn maps(effects: &Effects, metric: &str) -> Vec<PairMap> {
    let only = effects.pairs.len() == 1;
    let shown = effects.pairs.iter().filter(|pair| only || pair.is_found());
    shown.map(|pair| map(pair, metric)).collect()
}

fn map(pair: &PairEffect, metric: &str) -> PairMap {
    // Narrow screens have more room downwards.
    let (rows, columns) = match pair.levels[0].len() >= pair.levels[1].len() {
        true => (0, 1),
        false => (1, 0),
    };
    let line = |(index, row): (usize, &Level)| {
        let cells = pair.levels[columns].iter().enumerate();
        let cells = cells.map(|(place, column)| {
            let levels = if rows == 0 {
                [row, column]
            } else {
                [column, row]
            };
            match (index, place, pair.cell(levels)) {
                (0, _, _) | (_, 0, _) => MapCell {
                    class: "heat-base",
                    text: "×1".to_owned(),
                    below: String::new(),
                },
                (.., Some(found)) => cell(&found.contrast, metric),
                (.., None) => without("not measured"),
            }
        });
        (row.to_string(), cells.collect())
    };
    PairMap {
        row_factor: pair.factors[rows].clone(),
        column_factor: pair.factors[columns].clone(),
        columns: pair.levels[columns].iter().map(Level::to_string).collect(),
        rows: pair.levels[rows].iter().enumerate().map(line).collect(),
    }
}

fn cell(contrast: &Contrast, metric: &str) -> MapCell {
    let standing = standing(contrast, metric);
    let ratio = figures::ratio_alone(contrast.ratio, contrast.interval);
    MapCell {
        class: shade(standing, gain(contrast, metric).0),
        text: format!("{} {ratio}", standing.sign()),
        below: figures::interval_of_ratio(contrast.ratio, contrast.interval),
    }
}

fn without(words: &str) -> MapCell {
    MapCell {
        class: "heat-none",
        text: words.to_owned(),
        below: String::new(),
    }
}
