//! What each knob does and what two do together, in sentences and in names.
//!
//! The views show the same contrasts as tables and charts; here is what a reader should take away
//! from them. A sentence says "whatever the others are set to" only where no interaction of that
//! level was found and the effect goes one way in every setting.

use lab::analysis::ExperimentAnalysis;
use lab::analysis::effects::{
    Contrast, Effects, Interaction, MainEffect, PairEffect, SimpleEffect,
};
use lab::level::Level;
use lab::stats::Interval;

use crate::answer::{Piece, Sentence};
use crate::figures;
use crate::words::{Standing, gain_words, higher_is_better, plural};

/// Sentences on single knobs; the chart has the others.
const MOST: usize = 6;
/// Levels of another factor that a sentence lists.
const LISTED: usize = 4;
/// What a reader must know of shares in a design with gaps.
const MISSING: &str = " (combinations are missing, so they need not add up)";
/// Smaller shares of the differences are not named.
const LEAST_SHARE: f64 = 0.005;

/// `factor=level`.
pub(crate) fn setting(factor: &str, level: &Level) -> String {
    format!("{factor}={level}")
}

/// How a ratio in the metric stands to 1.
pub(crate) fn standing(contrast: &Contrast, metric: &str) -> Standing {
    match (contrast.is_found(), gain(contrast, metric).0 > 1.0) {
        (false, _) => Standing::Same,
        (true, true) => Standing::Better,
        (true, false) => Standing::Worse,
    }
}

/// The ratio as a gain: above 1 in the metric's good direction.
pub(crate) fn gain(contrast: &Contrast, metric: &str) -> (f64, Interval) {
    if higher_is_better(metric) {
        return (contrast.ratio, contrast.interval);
    }
    (1.0 / contrast.ratio, inverse(contrast.interval))
}

fn inverse(interval: Interval) -> Interval {
    Interval {
        low: 1.0 / interval.high,
        high: 1.0 / interval.low,
    }
}

/// What holds for all figures of the effects, in one sentence.
pub(crate) fn how(effects: &Effects) -> String {
    format!(
        "Each ratio is a geometric mean over the settings of the other factors, from {}; with {} confidence all intervals of a table hold together{}.",
        plural(effects.rounds, "round", "rounds"),
        figures::percent(effects.level),
        if effects.preliminary {
            " (preliminary: fewer than seven rounds)"
        } else {
            ""
        }
    )
}

/// Variants that are in no comparison; none where all are in one.
pub(crate) fn left_out(effects: &Effects) -> Option<String> {
    let count = effects.left_out.len();
    (count > 0).then(|| {
        format!(
            "{} not measured in enough rounds and left out here.",
            plural(count, "variant was", "variants were")
        )
    })
}

/// What to take away, the greatest effect first.
pub(crate) fn sentences(experiment: &ExperimentAnalysis) -> Vec<Sentence> {
    let Some(effects) = &experiment.effects else {
        return Vec::new();
    };
    let metric = &experiment.metric;
    let is_condition = |effect: &MainEffect| experiment.conditions.contains(&effect.factor);
    // What a condition does is worth a sentence only where there is nothing to choose.
    let no_choice = effects.main.iter().all(is_condition);
    let told = effects.main.iter();
    let told = told.filter(|effect| no_choice || !is_condition(effect));
    let found: Vec<&MainEffect> = told
        .filter(|effect| effect.contrast.is_found() || interacting(effects, effect).is_some())
        .collect();
    let mut sentences: Vec<Sentence> = found
        .iter()
        .take(MOST)
        .map(|effect| match interacting(effects, effect) {
            Some(pair) => depends(effect, pair, metric),
            None => alone(effect, metric),
        })
        .collect();
    if found.is_empty() {
        sentences.push(vec![words("No knob was found to make a difference.")]);
    }
    if found.len() > MOST {
        let more = plural(found.len() - MOST, "more effect", "more effects");
        sentences.push(vec![words(&format!("{more} of single levels: see below."))]);
    }
    if !effects.pairs.iter().any(PairEffect::is_found) {
        sentences.push(vec![words(
            "No two knobs were found to do anything together that they do not do apart.",
        )]);
    }
    sentences
}

/// The pair with the strongest interaction that was found for this level.
fn interacting<'a>(effects: &'a Effects, effect: &MainEffect) -> Option<&'a PairEffect> {
    let strength = |pair: &&PairEffect| {
        let place = pair
            .factors
            .iter()
            .position(|name| *name == effect.factor)?;
        let cells = pair.cells.iter();
        let of_level = cells.filter(|cell| cell.levels[place] == effect.level);
        let found = of_level.filter(|cell| cell.contrast.is_found());
        found.map(|cell| cell.contrast.size()).reduce(f64::max)
    };
    let found = effects.pairs.iter().filter(|pair| strength(pair).is_some());
    found.max_by(|a, b| {
        strength(a)
            .unwrap_or(0.0)
            .total_cmp(&strength(b).unwrap_or(0.0))
    })
}

/// An effect that was not found to depend on the others.
fn alone(effect: &MainEffect, metric: &str) -> Sentence {
    let (times, interval) = gain(&effect.contrast, metric);
    let mut sentence = vec![
        Piece::Code(setting(&effect.factor, &effect.level)),
        words(if times < 1.0 { " is only " } else { " is " }),
        Piece::Figure(format!("{} times", figures::times(times, interval))),
        words(&format!(" {} ", gain_words(metric))),
        Piece::Code(effect.instead_of.to_string()),
    ];
    let range = range(&effect.contrast, metric);
    sentence.push(words(&match (
        effect.contrast.settings,
        effect.contrast.has_one_direction(),
    ) {
        (1, _) => ", in the only setting of the others in which both were measured.".to_owned(),
        (_, true) => format!(", whatever the others are set to{range}."),
        (_, false) => format!(" on average, but not in every setting of the others{range}."),
    }));
    sentence
}

/// ` (×1.6 to ×2.0)` over the settings; nothing where there is only one.
fn range(contrast: &Contrast, metric: &str) -> String {
    if contrast.settings < 2 {
        return String::new();
    }
    let range = match higher_is_better(metric) {
        true => contrast.range,
        false => inverse(contrast.range),
    };
    match [range.low, range.high].map(figures::ratio_without_interval) {
        [low, high] if low == high => String::new(),
        [low, high] => format!(" ({low} to {high})"),
    }
}

/// An effect that depends on another factor: what it is at each level of that one.
fn depends(effect: &MainEffect, pair: &PairEffect, metric: &str) -> Sentence {
    let of_level =
        |simple: &&SimpleEffect| simple.factor == effect.factor && simple.level == effect.level;
    let mut simple: Vec<&SimpleEffect> = pair.simple.iter().filter(of_level).collect();
    let gain_of = |simple: &SimpleEffect| gain(&simple.contrast, metric).0;
    simple.sort_by(|a, b| gain_of(b).total_cmp(&gain_of(a)));
    let (found, unseen): (Vec<&SimpleEffect>, Vec<&SimpleEffect>) = simple
        .iter()
        .copied()
        .partition(|simple| simple.contrast.is_found());
    let name = setting(&effect.factor, &effect.level);
    if let ([only], false) = (&found[..], unseen.is_empty()) {
        return matters_only(name, only, &unseen, metric);
    }
    let mut sentence = vec![
        words("What "),
        Piece::Code(name),
        words(" does instead of "),
        Piece::Code(effect.instead_of.to_string()),
        words(" depends on "),
        Piece::Code(other(effect, pair).to_owned()),
        words(": "),
    ];
    let listed = shortened(&simple);
    for (index, simple) in listed.iter().enumerate() {
        if index > 0 {
            sentence.push(words(", "));
        }
        sentence.extend(at(simple, metric));
    }
    if listed.len() < simple.len() {
        let more = simple.len() - listed.len();
        sentence.push(words(&format!(", and in between with {more} more")));
    }
    sentence.push(words("."));
    sentence
}

fn other<'a>(effect: &MainEffect, pair: &'a PairEffect) -> &'a str {
    let other = pair.factors.iter().find(|name| **name != effect.factor);
    other.map_or("", String::as_str)
}

/// All, or of many the first two and the last two.
fn shortened<'a>(all: &[&'a SimpleEffect]) -> Vec<&'a SimpleEffect> {
    let kept = |(index, _): &(usize, &&SimpleEffect)| {
        all.len() <= LISTED || *index < LISTED / 2 || index + LISTED / 2 >= all.len()
    };
    all.iter()
        .enumerate()
        .filter(kept)
        .map(|(_, one)| *one)
        .collect()
}

fn at(simple: &SimpleEffect, metric: &str) -> Sentence {
    let (times, interval) = gain(&simple.contrast, metric);
    let figure = match simple.contrast.is_found() {
        true => Piece::Figure(figures::ratio_alone(times, interval)),
        false => words("no detectable difference"),
    };
    vec![figure, words(" with "), Piece::Code(simple.at.to_string())]
}

fn matters_only(
    name: String,
    only: &SimpleEffect,
    unseen: &[&SimpleEffect],
    metric: &str,
) -> Sentence {
    let (times, interval) = gain(&only.contrast, metric);
    let mut sentence = vec![
        Piece::Code(name),
        words(" matters only with "),
        Piece::Code(setting(&only.other, &only.at)),
        words(", where it is "),
        Piece::Figure(format!("{} times", figures::times(times, interval))),
        words(&format!(" {} ", gain_words(metric))),
        Piece::Code(only.instead_of.to_string()),
        words("; no difference was detected with "),
    ];
    for (index, simple) in unseen.iter().enumerate() {
        if index > 0 {
            sentence.push(words(if index + 1 == unseen.len() {
                " and "
            } else {
                ", "
            }));
        }
        sentence.push(Piece::Code(simple.at.to_string()));
    }
    sentence.push(words("."));
    sentence
}

/// The interactions that were found, the strongest first, with the names of their levels.
pub(crate) fn found_interactions(effects: &Effects) -> Vec<([String; 2], &Interaction)> {
    let named = |pair: &PairEffect, cell: &Interaction| {
        [0, 1].map(|place| setting(&pair.factors[place], &cell.levels[place]))
    };
    let pairs = effects.pairs.iter();
    let all = pairs.flat_map(|pair| pair.cells.iter().map(move |cell| (named(pair, cell), cell)));
    let mut found: Vec<_> = all.filter(|(_, cell)| cell.contrast.is_found()).collect();
    found.sort_by(|(_, a), (_, b)| b.contrast.size().total_cmp(&a.contrast.size()));
    found
}

/// One part of the differences between variants.
pub(crate) struct Share {
    /// The factors to which it is due, or a word where it is due to none.
    pub(crate) names: Vec<String>,
    /// What it is where no factor is named.
    pub(crate) words: Option<&'static str>,
    /// From 0 to 1.
    pub(crate) share: f64,
}

/// What the differences between variants come from, the greatest share first, then what is left.
pub(crate) fn shares(effects: &Effects) -> Vec<Share> {
    let Some(shares) = &effects.shares else {
        return Vec::new();
    };
    let factors = shares.factors.iter().map(|one| Share {
        names: vec![one.factor.clone()],
        words: None,
        share: one.share,
    });
    let pairs = shares.pairs.iter().map(|one| Share {
        names: one.factors.to_vec(),
        words: None,
        share: one.share,
    });
    let mut named: Vec<Share> = factors.chain(pairs).collect();
    named.sort_by(|a, b| b.share.total_cmp(&a.share));
    let left = |words, share| Share {
        names: Vec::new(),
        words: Some(words),
        share,
    };
    named.push(left("three or more together", shares.rest));
    named.push(left("noise", shares.noise));
    named.retain(|one| one.share >= LEAST_SHARE);
    named
}

/// The shares in one line: `62 % journal_mode, 15 % journal_mode with synchronous`.
pub(crate) fn shares_in_words(effects: &Effects) -> Option<String> {
    let shares: Vec<String> = shares(effects)
        .iter()
        .map(|one| {
            let what = one
                .words
                .map_or_else(|| one.names.join(" with "), str::to_owned);
            format!("{} {what}", figures::percent(one.share))
        })
        .collect();
    let whole = effects.shares.as_ref().is_some_and(|shares| shares.whole);
    let remark = if whole { "" } else { MISSING };
    (!shares.is_empty()).then(|| format!("{}{remark}", shares.join(", ")))
}

fn words(text: &str) -> Piece {
    Piece::Words(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::plain;

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
            plain(&alone(&effect, "rows_per_s")),
            "journal_mode=wal is 1.80 times as fast as delete, whatever the others are set to \
             (×1.62 to ×2)."
        );
        let effect = wal(contrast(1.8, true, (0.9, 2.4), 4));
        assert!(plain(&alone(&effect, "rows_per_s")).contains("but not in every setting"));
        let effect = wal(contrast(1.8, true, (1.8, 1.8), 1));
        assert!(plain(&alone(&effect, "rows_per_s")).contains("in the only setting"));
    }

    #[test]
    fn a_time_that_shrinks_is_a_gain() {
        let effect = wal(contrast(0.5, true, (0.4, 0.5), 2));
        let told = plain(&alone(&effect, "seconds"));
        assert!(
            told.starts_with("journal_mode=wal is 2.00 times as fast as delete"),
            "{told}"
        );
        assert!(told.contains("(×2 to ×2.5)"), "{told}");
        assert_eq!(standing(&effect.contrast, "seconds"), Standing::Better);
        assert_eq!(standing(&effect.contrast, "rows_per_s"), Standing::Worse);
    }

    #[test]
    fn an_effect_that_depends_on_another_is_told_level_by_level() {
        let effect = wal(contrast(3.0, true, (1.0, 9.0), 3));
        let pair = at_levels(&[
            ("full", 3.0, true),
            ("normal", 9.0, true),
            ("off", 1.0, false),
        ]);
        assert_eq!(
            plain(&depends(&effect, &pair, "rows_per_s")),
            "What journal_mode=wal does instead of delete depends on synchronous: ×9.0 with \
             normal, ×3.0 with full, no detectable difference with off."
        );
        let pair = at_levels(&[
            ("full", 3.0, true),
            ("normal", 1.1, false),
            ("off", 1.0, false),
        ]);
        assert_eq!(
            plain(&depends(&effect, &pair, "rows_per_s")),
            "journal_mode=wal matters only with synchronous=full, where it is 3.0 times as fast as \
             delete; no difference was detected with normal and off."
        );
    }
}
