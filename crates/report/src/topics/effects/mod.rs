//! What each setting does, whatever the others are set to: main effects of crossed factors.

mod sentences;

use lab::analysis::Standing;
use lab::analysis::effects::{Contrast, Effects, MainEffect};
use lab::experiment::Labels;
use lab::level::Level;

use super::Subject;
use super::figures::ratio_cell;
use crate::document::{
    Abridge, Bar, Bars, Block, Cell, Chart, Column, Forest, ForestRow, Item, Mark, Marks, Plot,
    Row, Scale, Sentence, Table, joined, led,
};
use crate::figures;
use crate::words::{TOO_FEW_ROUNDS, mark, metric_axis, plural, standing_words};

/// Smaller shares of the differences are not named.
const LEAST_SHARE: f64 = 0.005;

/// The heading of the topic.
const HEADING: &str = "What each setting does";

/// What the effects are in, and the words for levels.
#[derive(Clone, Copy)]
pub(super) struct Of<'a> {
    pub(super) metric: &'a str,
    pub(super) labels: &'a Labels,
}

impl<'a> Of<'a> {
    pub(super) fn subject(subject: &'a Subject<'_>) -> Of<'a> {
        Of { metric: subject.metric(), labels: &subject.experiment.labels }
    }

    /// A level of a factor: in people's words, or `factor=level`.
    pub(super) fn setting(self, factor: &str, level: &Level) -> Sentence {
        match self.labels.of(factor, level) {
            Some(words) => words.into(),
            None => Sentence::code(format!("{factor}={level}")),
        }
    }

    /// A level whose factor is known: in people's words, or the level.
    pub(super) fn level(self, factor: &str, level: &Level) -> Sentence {
        match self.labels.of(factor, level) {
            Some(words) => words.into(),
            None => Sentence::code(level.to_string()),
        }
    }
}

/// What to take away, the chart, and where the differences come from.
pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let Some(effects) = &subject.experiment.effects else {
        return Vec::new();
    };
    let sentences = sentences::sentences(subject, effects).into_iter();
    let list = Block::list(sentences.map(Item::new));
    let chart = Block::chart(chart(subject, effects));
    let shares = shares(effects);
    let how = Block::small(how(effects));
    let heading = Block::Heading(HEADING.to_owned());
    let blocks = led(heading, list);
    blocks.chain([chart]).chain(shares).chain([how]).collect()
}

/// What holds for all figures of the effects.
fn how(effects: &Effects) -> String {
    let rounds = plural(effects.rounds, "round", "rounds");
    let level = figures::percent(effects.level);
    let preliminary =
        if effects.preliminary { " (preliminary: fewer than seven rounds)" } else { "" };
    let left_out = match effects.left_out.len() {
        0 => String::new(),
        count => format!(
            " {} left out: not measured in enough rounds.",
            plural(count, "variant is", "variants are")
        ),
    };
    format!(
        "Each ratio is a geometric mean over the settings of the other factors, from {rounds}; with {level} confidence all intervals of a table hold together{preliminary}.{left_out}"
    )
}

fn chart(subject: &Subject<'_>, effects: &Effects) -> Chart {
    let of = Of::subject(subject);
    let rows = effects.main.iter().map(|effect| {
        let is_condition = subject.experiment.conditions.contains(&effect.factor);
        forest_row(effect, of, is_condition)
    });
    let forest = Forest {
        scale: Scale::Ratio,
        baseline: Some(1.0),
        columns: ["ratio", "settings"].map(str::to_owned).into(),
        rows: rows.collect(),
        bounds: Vec::new(),
    };
    let caption = format!("{}: ratio to the level of the baseline", metric_axis(of.metric));
    let remark = "thick line: interval; thin line: smallest to largest among the settings of the other factors";
    Chart {
        figures: Some(table(effects, of)),
        ..Chart::new(caption, Plot::Forest(forest)).with_remark(remark)
    }
}

fn forest_row(effect: &MainEffect, of: Of<'_>, is_condition: bool) -> ForestRow {
    let contrast = &effect.contrast;
    let name = of.setting(&effect.factor, &effect.level);
    let id = format!("{}={}", effect.factor, effect.level);
    let ratio = ratio_of(contrast).plain();
    let standing = contrast.standing(of.metric);
    let (sign, tone) = mark(standing);
    let condition = if is_condition { "; a condition, no choice" } else { "" };
    ForestRow {
        words: format!(
            "{id}: {ratio} of {}, a mean over {} settings of the others, {}",
            of.setting(&effect.factor, &effect.instead_of).plain(),
            contrast.settings,
            effect_words(standing)
        ),
        name,
        id,
        detail: Sentence::from("instead of ")
            .words(of.level(&effect.factor, &effect.instead_of).plain())
            .words(condition),
        sign,
        tone,
        marks: Some(Marks {
            dot: contrast.ratio,
            range: contrast.range,
            interval: contrast.is_supported().then_some(contrast.interval),
            mark: Mark::Circle,
        }),
        cells: vec![ratio, contrast.settings.to_string()],
        reason: None,
    }
}

/// The ratio with its interval where there are rounds enough for one.
fn ratio_of(contrast: &Contrast) -> Sentence {
    if contrast.is_supported() {
        ratio_cell(contrast.ratio, contrast.interval)
    } else {
        Sentence::number(figures::ratio_without_interval(contrast.ratio))
            .words(format!(", {TOO_FEW_ROUNDS}"))
    }
}

/// A standing in words; what was not detected is no more than what the interval says.
fn effect_words(standing: Standing) -> &'static str {
    match standing {
        Standing::Same => "the interval includes ×1",
        other => standing_words(other),
    }
}

fn table(effects: &Effects, of: Of<'_>) -> Table {
    let row = |effect: &MainEffect| {
        let contrast = &effect.contrast;
        let (sign, tone) = mark(contrast.standing(of.metric));
        let ratio = ratio_of(contrast);
        let range = [contrast.range.low, contrast.range.high];
        let range = range.map(figures::ratio_without_interval).join(" to ");
        Row::new([
            Cell::new(of.setting(&effect.factor, &effect.level)),
            Cell::new(of.level(&effect.factor, &effect.instead_of)),
            Cell { value: Some(contrast.ratio), ..Cell::new(ratio).signed(sign, tone) },
            Cell::number(Some(range)),
            Cell::figure(Some(contrast.settings as f64), |settings| settings.to_string()),
        ])
    };
    Table {
        sortable: true,
        abridge: Abridge::End,
        ..Table::new(
            "Every effect in figures",
            [
                Column::left("level"),
                Column::left("instead of"),
                Column::left("ratio"),
                Column::left("smallest to largest").full_only(),
                Column::right("settings"),
            ],
            effects.main.iter().map(row),
        )
    }
}

/// What the differences between variants come from, the greatest share first, then what is left.
fn shares(effects: &Effects) -> Option<Block> {
    let shares = effects.shares.as_ref()?;
    let factors = shares.factors.iter();
    let factors = factors.map(|one| (Sentence::code(&one.factor), one.share));
    let pairs = shares.pairs.iter().map(|one| {
        let names = one.factors.iter().map(Sentence::code);
        (joined(names, " with "), one.share)
    });
    let mut named: Vec<(Sentence, f64)> = factors.chain(pairs).collect();
    named.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let left = [("three or more together", shares.rest), ("noise", shares.noise)];
    let bar = |filled: bool, name: Sentence, share: f64| Bar {
        name,
        share,
        text: figures::percent(share),
        filled,
    };
    let left = left.map(|(name, share)| bar(false, name.into(), share));
    let named = named.into_iter().map(|(name, share)| bar(true, name, share));
    let bars = named.chain(left).filter(|bar| bar.share >= LEAST_SHARE);
    let bars: Vec<Bar> = bars.collect();
    let remark = if shares.whole {
        "shares of the variance of the logarithms"
    } else {
        "shares of the variance of the logarithms; combinations are missing, so they need not add up"
    };
    (!bars.is_empty()).then(|| {
        let caption = "Differences between variants are attributed to";
        Block::chart(Chart::new(caption, Plot::Bars(Bars { bars })).with_remark(remark))
    })
}
