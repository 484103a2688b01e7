//! What each setting does, whatever the others are set to: main effects of crossed factors.
//!
//! A sentence says "whatever the others are set to" only where no interaction of that
//! level was found and the effect goes one way in every setting.

use lab::analysis::effects::{Contrast, Effects, MainEffect, PairEffect, SimpleEffect};
use lab::experiment::Labels;
use lab::level::Level;
use lab::metric::higher_is_better;

use super::Subject;
use super::figures::ratio_cell;
use crate::document::{
    Abridge, Bar, Bars, Block, Cell, Chart, Column, Forest, ForestRow, Item, Mark, Marks, Plot,
    Row, Scale, Sentence, Table, joined, led,
};
use crate::figures;
use crate::names::listed;
use crate::words::{gain_words, mark, metric_axis, plural, standing_words};

/// Sentences on single settings; the chart has the others.
const MOST: usize = 6;
/// Levels of another factor that a sentence lists.
const LISTED: usize = 4;
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
        Of {
            metric: subject.metric(),
            labels: &subject.experiment.labels,
        }
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
    let sentences = sentences(subject, effects).into_iter();
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
    let preliminary = match effects.preliminary {
        true => " (preliminary: fewer than seven rounds)",
        false => "",
    };
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

/// What to take away, the greatest effect first.
fn sentences(subject: &Subject<'_>, effects: &Effects) -> Vec<Sentence> {
    let conditions = &subject.experiment.conditions;
    let is_condition = |effect: &MainEffect| conditions.contains(&effect.factor);
    // What a condition does is worth a sentence only where there is nothing to choose.
    let no_choice = effects.main.iter().all(is_condition);
    let main = effects.main.iter();
    let chosen = main.filter(|effect| no_choice || !is_condition(effect));
    let with_pairs = chosen.map(|effect| (effect, effects.interacting(effect)));
    let found: Vec<_> = with_pairs
        .filter(|(effect, pair)| effect.contrast.is_found() || pair.is_some())
        .collect();
    let of = Of::subject(subject);
    let mut sentences: Vec<Sentence> = found
        .iter()
        .take(MOST)
        .map(|(effect, pair)| match pair {
            Some(pair) => depends(effect, pair, of),
            None => alone(effect, of),
        })
        .collect();
    if found.is_empty() {
        sentences.push("No setting makes a detectable difference.".into());
    }
    if found.len() > MOST {
        let more = plural(found.len() - MOST, "more effect", "more effects");
        sentences.push(format!("{more} of single levels: see below.").into());
    }
    if !effects.pairs.iter().any(PairEffect::is_found) {
        sentences.push("No interaction between two settings was found.".into());
    }
    sentences
}

/// An effect that was not found to depend on the others.
fn alone(effect: &MainEffect, of: Of<'_>) -> Sentence {
    let (times, interval) = effect.contrast.gain(of.metric);
    let range = range(&effect.contrast, of.metric);
    let holds = match (
        effect.contrast.settings,
        effect.contrast.has_one_direction(),
    ) {
        (1, _) => ", in the only setting of the others in which both were measured.".to_owned(),
        (_, true) => format!(", whatever the others are set to{range}."),
        (_, false) => format!(" on average, but not in every setting of the others{range}."),
    };
    of.setting(&effect.factor, &effect.level)
        .words(if times < 1.0 { " is only " } else { " is " })
        .figure(format!("{} times", figures::times(times, interval)))
        .words(format!(" {} ", gain_words(of.metric)))
        .and(of.level(&effect.factor, &effect.instead_of))
        .words(holds)
}

/// ` (×1.6 to ×2.0)` over the settings; nothing where there is only one.
fn range(contrast: &Contrast, metric: &str) -> String {
    if contrast.settings < 2 {
        return String::new();
    }
    let range = match higher_is_better(metric) {
        true => contrast.range,
        false => contrast.range.inverse(),
    };
    match [range.low, range.high].map(figures::ratio_without_interval) {
        [low, high] if low == high => String::new(),
        [low, high] => format!(" ({low} to {high})"),
    }
}

/// An effect that depends on another factor: what it is at each level of that one.
fn depends(effect: &MainEffect, pair: &PairEffect, of: Of<'_>) -> Sentence {
    let is_of_level =
        |simple: &&SimpleEffect| simple.factor == effect.factor && simple.level == effect.level;
    let mut simple: Vec<&SimpleEffect> = pair.simple.iter().filter(is_of_level).collect();
    let gain_of = |simple: &SimpleEffect| simple.contrast.gain(of.metric).0;
    simple.sort_by(|a, b| gain_of(b).total_cmp(&gain_of(a)));
    let is_found = |simple: &&SimpleEffect| simple.contrast.is_found();
    let (found, undetected): (Vec<_>, Vec<_>) = simple.iter().copied().partition(is_found);
    let name = of.setting(&effect.factor, &effect.level);
    if let ([only], false) = (&found[..], undetected.is_empty()) {
        return matters_only(name, only, &undetected, of);
    }
    let other = pair.factors.iter().find(|name| **name != effect.factor);
    let between = match simple.len() > LISTED {
        true => format!(", and in between with {} more", simple.len() - LISTED),
        false => String::new(),
    };
    let ends = shortened(&simple).into_iter().map(|it| at(it, of));
    Sentence::from("The effect of ")
        .and(name)
        .words(" instead of ")
        .and(of.level(&effect.factor, &effect.instead_of))
        .words(" depends on ")
        .and_code(other.map_or("", String::as_str))
        .words(": ")
        .and(joined(ends, ", "))
        .words(format!("{between}."))
}

/// All, or of many the first two and the last two.
fn shortened<'a>(all: &[&'a SimpleEffect]) -> Vec<&'a SimpleEffect> {
    let is_kept =
        |index: usize| all.len() <= LISTED || index < LISTED / 2 || index + LISTED / 2 >= all.len();
    let kept = (0..all.len()).filter(|index| is_kept(*index));
    kept.map(|index| all[index]).collect()
}

fn at(simple: &SimpleEffect, of: Of<'_>) -> Sentence {
    let (times, interval) = simple.contrast.gain(of.metric);
    let figure = match simple.contrast.is_found() {
        true => Sentence::default().figure(figures::ratio_alone(times, interval)),
        false => "no detectable difference".into(),
    };
    figure
        .words(" with ")
        .and(of.level(&simple.other, &simple.at))
}

fn matters_only(
    name: Sentence,
    only: &SimpleEffect,
    undetected: &[&SimpleEffect],
    of: Of<'_>,
) -> Sentence {
    let (times, interval) = only.contrast.gain(of.metric);
    let others = undetected.iter().map(|it| of.level(&it.other, &it.at));
    name.words(" matters only with ")
        .and(of.setting(&only.other, &only.at))
        .words(", where it is ")
        .figure(format!("{} times", figures::times(times, interval)))
        .words(format!(" {} ", gain_words(of.metric)))
        .and(of.level(&only.factor, &only.instead_of))
        .words("; no detectable difference with ")
        .and(listed(others.collect(), undetected.len()))
        .words(".")
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
    let caption = format!(
        "{}: ratio to the level of the baseline",
        metric_axis(of.metric)
    );
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
    let ratio = figures::ratio(contrast.ratio, contrast.interval);
    let standing = contrast.standing(of.metric);
    let (sign, tone) = mark(standing);
    let condition = if is_condition {
        "; a condition, no choice"
    } else {
        ""
    };
    ForestRow {
        words: format!(
            "{id}: {ratio} of {}, a mean over {} settings of the others, {}",
            of.setting(&effect.factor, &effect.instead_of).plain(),
            contrast.settings,
            standing_words(standing)
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
            interval: Some(contrast.interval),
            mark: Mark::Circle,
        }),
        cells: vec![ratio, contrast.settings.to_string()],
        reason: None,
    }
}

fn table(effects: &Effects, of: Of<'_>) -> Table {
    let row = |effect: &MainEffect| {
        let contrast = &effect.contrast;
        let (sign, tone) = mark(contrast.standing(of.metric));
        let ratio = ratio_cell(contrast.ratio, contrast.interval);
        let range = [contrast.range.low, contrast.range.high];
        let range = range.map(figures::ratio_without_interval).join(" to ");
        Row::new([
            Cell::new(of.setting(&effect.factor, &effect.level)),
            Cell::new(of.level(&effect.factor, &effect.instead_of)),
            Cell {
                value: Some(contrast.ratio),
                ..Cell::new(ratio).signed(sign, tone)
            },
            Cell::number(Some(range)),
            Cell::figure(Some(contrast.settings as f64), |it| it.to_string()),
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
    let left = [
        ("three or more together", shares.rest),
        ("noise", shares.noise),
    ];
    let bar = |filled: bool, name: Sentence, share: f64| Bar {
        name,
        share,
        text: figures::percent(share),
        filled,
    };
    let left = left.map(|(name, share)| bar(false, name.into(), share));
    let named = named
        .into_iter()
        .map(|(name, share)| bar(true, name, share));
    let bars = named.chain(left).filter(|bar| bar.share >= LEAST_SHARE);
    let bars: Vec<Bar> = bars.collect();
    let remark = match shares.whole {
        true => "shares of the variance of the logarithms",
        false => {
            "shares of the variance of the logarithms; combinations are missing, so they need not add up"
        }
    };
    (!bars.is_empty()).then(|| {
        let caption = "Differences between variants are attributed to";
        Block::chart(Chart::new(caption, Plot::Bars(Bars { bars })).with_remark(remark))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::analysis::Standing;
    use lab::stats::Interval;

    fn contrast(ratio: f64, found: bool, range: (f64, f64), settings: usize) -> Contrast {
        let reach = if found { 1.05 } else { 100.0 };
        Contrast {
            ratio,
            interval: Interval {
                low: ratio / reach,
                high: ratio * reach,
            },
            settings,
            range: Interval {
                low: range.0,
                high: range.1,
            },
        }
    }

    fn of<'a>(metric: &'a str, labels: &'a Labels) -> Of<'a> {
        Of { metric, labels }
    }

    fn wal(contrast: Contrast) -> MainEffect {
        MainEffect {
            factor: "journal_mode".to_owned(),
            level: "wal".into(),
            instead_of: "delete".into(),
            contrast,
        }
    }

    /// The effect of WAL at levels of `synchronous`, with ratios and whether they were found.
    fn at_levels(of: &[(&str, f64, bool)]) -> PairEffect {
        let simple = |(at, ratio, found): &(&str, f64, bool)| SimpleEffect {
            factor: "journal_mode".to_owned(),
            level: "wal".into(),
            instead_of: "delete".into(),
            other: "synchronous".to_owned(),
            at: (*at).into(),
            contrast: contrast(*ratio, *found, (*ratio, *ratio), 1),
        };
        PairEffect {
            factors: ["journal_mode".to_owned(), "synchronous".to_owned()],
            levels: [Vec::new(), Vec::new()],
            cells: Vec::new(),
            simple: of.iter().map(simple).collect(),
        }
    }

    #[test]
    fn an_effect_by_itself_says_how_far_it_holds() {
        let effect = wal(contrast(1.8, true, (1.62, 2.0), 4));
        assert_eq!(
            alone(&effect, of("rows_per_s", &Labels::default())).plain(),
            "journal_mode=wal is 1.80 times as fast as delete, whatever the others are set to \
             (×1.62 to ×2)."
        );
        let effect = wal(contrast(1.8, true, (0.9, 2.4), 4));
        assert!(
            alone(&effect, of("rows_per_s", &Labels::default()))
                .plain()
                .contains("but not in every setting")
        );
        let effect = wal(contrast(1.8, true, (1.8, 1.8), 1));
        assert!(
            alone(&effect, of("rows_per_s", &Labels::default()))
                .plain()
                .contains("in the only setting")
        );
    }

    #[test]
    fn a_time_that_shrinks_is_a_gain() {
        let effect = wal(contrast(0.5, true, (0.4, 0.5), 2));
        let sentence = alone(&effect, of("seconds", &Labels::default())).plain();
        assert!(
            sentence.starts_with("journal_mode=wal is 2.00 times as fast as delete"),
            "{sentence}"
        );
        assert!(sentence.contains("(×2 to ×2.5)"), "{sentence}");
        assert_eq!(effect.contrast.standing("seconds"), Standing::Better);
        assert_eq!(effect.contrast.standing("rows_per_s"), Standing::Worse);
    }

    #[test]
    fn an_effect_that_depends_on_another_is_listed_level_by_level() {
        let effect = wal(contrast(3.0, true, (1.0, 9.0), 3));
        let pair = at_levels(&[
            ("full", 3.0, true),
            ("normal", 9.0, true),
            ("off", 1.0, false),
        ]);
        assert_eq!(
            depends(&effect, &pair, of("rows_per_s", &Labels::default())).plain(),
            "The effect of journal_mode=wal instead of delete depends on synchronous: ×9.0 with \
             normal, ×3.0 with full, no detectable difference with off."
        );
        let pair = at_levels(&[
            ("full", 3.0, true),
            ("normal", 1.1, false),
            ("off", 1.0, false),
        ]);
        assert_eq!(
            depends(&effect, &pair, of("rows_per_s", &Labels::default())).plain(),
            "journal_mode=wal matters only with synchronous=full, where it is 3.0 times as fast as \
             delete; no detectable difference with normal and off."
        );
    }
}
