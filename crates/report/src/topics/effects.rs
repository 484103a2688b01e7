//! Effect of each setting, whatever the others are set to: main effects of crossed factors.
//!
//! A sentence says "whatever the others are set to" only where no interaction of that
//! level was found and the effect goes one way in every setting. None says that an effect does not exist:
//! intervals that hold together are wide, and the same two variants may differ where they are compared by
//! themselves. So every ratio stands with its interval.
//!
//! Joint effects of two settings that neither has alone.

use lab::analysis::ComparisonResult;
use lab::analysis::effects::{Contrast, Effects, MainEffect, PairEffect, SimpleEffect};
use lab::level::Level;
use lab::metric::higher_is_better;

use super::subject::{Subject, Wording, ratio_cell};
use crate::document::{
    Abridge, Bar, Bars, Block, Cell, Chart, Column, Forest, ForestRow, Item, Map, MapCell, MapRow,
    Mark, Marks, Plot, Row, Scale, Sentence, Table, Tone, blocks, joined,
};
use crate::figures;
use crate::words::{TOO_FEW_ROUNDS, gain_words, mark, metric_axis, plural, standing_words};

/// Smaller shares of the differences are not named.
const LEAST_SHARE: f64 = 0.005;

/// Returns the conclusions, the chart, and the sources of the differences.
pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let Some(effects) = &subject.experiment.effects else { return Vec::new() };
    blocks![
        Block::heading("What each setting does"),
        Block::list(sentences(subject, effects).into_iter().map(Item::new)),
        Block::chart(chart(subject, effects)),
        shares(effects),
        Block::small(how(effects)),
    ]
}

/// Returns the explanation of all figures of the effects.
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
    let of = subject.wording();
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

fn forest_row(effect: &MainEffect, of: Wording<'_>, is_condition: bool) -> ForestRow {
    let contrast = &effect.contrast;
    let name = of.setting(&effect.factor, &effect.level);
    let id = format!("{}={}", effect.factor, effect.level);
    let ratio = ratio_of(contrast).plain();
    let standing = contrast.compared(of.metric);
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

/// Returns a standing in words; an undetected effect says no more than its interval.
fn effect_words(standing: ComparisonResult) -> &'static str {
    match standing {
        ComparisonResult::Same => "the interval includes ×1",
        other => standing_words(other),
    }
}

fn table(effects: &Effects, of: Wording<'_>) -> Table {
    Table::of(
        "Every effect in figures",
        &effects.main,
        &[
            (Column::left("level"), &|effect| Cell::new(of.setting(&effect.factor, &effect.level))),
            (Column::left("instead of"), &|effect| {
                Cell::new(of.level(&effect.factor, &effect.instead_of))
            }),
            (Column::left("ratio"), &|effect| {
                let contrast = &effect.contrast;
                let cell = Cell::new(ratio_of(contrast));
                let cell = cell.signed(mark(contrast.compared(of.metric)));
                Cell { value: Some(contrast.ratio), ..cell }
            }),
            (Column::left("smallest to largest").full_only(), &|effect| {
                let range = [effect.contrast.range.low, effect.contrast.range.high];
                Cell::number(Some(range.map(figures::ratio_without_interval).join(" to ")))
            }),
            (Column::right("settings"), &|effect| {
                let settings = effect.contrast.settings;
                Cell::figure(Some(settings as f64), |settings| settings.to_string())
            }),
        ],
    )
    .sortable()
    .abridged(Abridge::End)
}

/// Returns the shares of the differences between variants, the greatest first, then the rest.
fn shares(effects: &Effects) -> Option<Block> {
    let shares = effects.shares.as_ref()?;
    let factors = shares.factors.iter().map(|one| (Sentence::code(&one.factor), one.share));
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
    let bars: Vec<Bar> = named.chain(left).filter(|bar| bar.share >= LEAST_SHARE).collect();
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

/// Sentences on single settings; the chart has the others.
const MOST: usize = 6;
/// Levels of another factor that a sentence lists.
const LISTED: usize = 4;

/// Returns the conclusions, the greatest effect first.
pub(super) fn sentences(subject: &Subject<'_>, effects: &Effects) -> Vec<Sentence> {
    let conditions = &subject.experiment.conditions;
    let is_condition = |effect: &MainEffect| conditions.contains(&effect.factor);
    // What a condition does is worth a sentence only where there is nothing to choose.
    let no_choice = effects.main.iter().all(is_condition);
    let chosen: Vec<&MainEffect> =
        effects.main.iter().filter(|effect| no_choice || !is_condition(effect)).collect();
    let with_pairs = chosen.iter().map(|effect| (*effect, effects.interacting(effect)));
    let found: Vec<_> =
        with_pairs.filter(|(effect, pair)| effect.contrast.is_found() || pair.is_some()).collect();
    let of = subject.wording();
    let mut sentences: Vec<Sentence> = found
        .iter()
        .take(MOST)
        .map(|(effect, pair)| match pair {
            Some(pair) => depends(effect, pair, of),
            None => alone(effect, of),
        })
        .collect();
    if found.is_empty() {
        sentences.push(nothing_found(&chosen).into());
    }
    if found.len() > MOST {
        let more = plural(found.len() - MOST, "more effect", "more effects");
        sentences.push(format!("{more} of single levels: see below.").into());
    }
    if !effects.pairs.iter().any(PairEffect::is_found) {
        sentences.push(no_interaction(effects).into());
    }
    sentences
}

/// Returns the words for no effect.
fn nothing_found(effects: &[&MainEffect]) -> String {
    let all = effects.len();
    let untold = effects.iter().filter(|effect| !effect.contrast.is_supported()).count();
    match untold {
        0 => "No effect of a single setting was detected: each interval includes ×1.".to_owned(),
        untold if untold == all => {
            "There are too few rounds to show the effect of a single setting.".to_owned()
        }
        _ => format!(
            "No effect of a single setting was detected, but there are too few rounds for {untold} of {all} settings."
        ),
    }
}

/// Returns the words for no interaction.
fn no_interaction(effects: &Effects) -> &'static str {
    let mut cells = effects.pairs.iter().flat_map(|pair| &pair.cells);
    if cells.any(|cell| cell.contrast.is_supported()) {
        "No interaction between two settings was detected."
    } else {
        "There are too few rounds to show whether settings interact."
    }
}

/// An effect that was not found to depend on the others.
fn alone(effect: &MainEffect, of: Wording<'_>) -> Sentence {
    let (times, interval) = effect.contrast.gain(of.metric);
    let range = range(&effect.contrast, of.metric);
    let holds = match (effect.contrast.settings, effect.contrast.has_one_direction()) {
        (1, _) => ", in the only combination of the others that measured both.".to_owned(),
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
    let range = if higher_is_better(metric) { contrast.range } else { contrast.range.inverse() };
    match [range.low, range.high].map(figures::about_ratio) {
        [low, high] if low == high => String::new(),
        [low, high] => format!(" ({low} to {high})"),
    }
}

/// An effect that depends on another factor: what it is at each level of that one.
fn depends(effect: &MainEffect, pair: &PairEffect, of: Wording<'_>) -> Sentence {
    let is_of_level =
        |simple: &&SimpleEffect| simple.factor == effect.factor && simple.level == effect.level;
    let mut simple: Vec<&SimpleEffect> = pair.simple.iter().filter(is_of_level).collect();
    let gain_of = |simple: &SimpleEffect| simple.contrast.gain(of.metric).0;
    simple.sort_by(|a, b| gain_of(b).total_cmp(&gain_of(a)));
    let name = of.setting(&effect.factor, &effect.level);
    let other = pair.factors.iter().find(|name| **name != effect.factor);
    let between = if simple.len() > LISTED {
        format!(", and in between with {} more", simple.len() - LISTED)
    } else {
        String::new()
    };
    let ends = shortened(&simple).into_iter().map(|condition| at(condition, of));
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
    (0..all.len()).filter(|index| is_kept(*index)).map(|index| all[index]).collect()
}

fn at(simple: &SimpleEffect, of: Wording<'_>) -> Sentence {
    let (times, interval) = simple.contrast.gain(of.metric);
    let figure = if simple.contrast.is_supported() {
        ratio_cell(times, interval)
    } else {
        TOO_FEW_ROUNDS.into()
    };
    figure.words(" with ").and(of.level(&simple.other, &simple.at))
}

/// A table of the interactions that were found; for those who can see, maps of the pairs instead.
pub(super) fn interactions(subject: &Subject<'_>) -> Vec<Block> {
    let Some(effects) = &subject.experiment.effects else { return Vec::new() };
    let overview = overview(effects, subject.metric());
    let only = effects.pairs.len() == 1;
    let pairs = effects.pairs.iter().filter(|pair| only || pair.is_found());
    let maps: Vec<Block> =
        overview.into_iter().chain(pairs.map(|pair| map(pair, subject.wording()))).collect();
    let full = if maps.is_empty() {
        maps
    } else {
        vec![Block::fold("Interactions between settings", maps)]
    };
    let brief = joint_table(effects, subject.wording()).map(Block::table).into_iter().collect();
    vec![Block::Depth { brief, full }]
}

fn joint_table(effects: &Effects, of: Wording<'_>) -> Option<Table> {
    let found = effects.interactions();
    let rows = found.iter().map(|(pair, interaction)| {
        let contrast = &interaction.contrast;
        let both = [0, 1].map(|side| of.setting(&pair.factors[side], &interaction.levels[side]));
        let ratio = Cell::new(ratio_cell(contrast.ratio, contrast.interval));
        let ratio = ratio.signed(mark(contrast.compared(of.metric)));
        Row::new(both.map(Cell::new).into_iter().chain([ratio]))
    });
    let columns =
        ["together", "with", "ratio to the product of both single effects"].map(Column::left);
    (!found.is_empty()).then(|| Table::new("Interactions", columns, rows).abridged(Abridge::End))
}

/// Returns a map of the strongest interaction of each two factors; none for a single pair.
fn overview(effects: &Effects, metric: &str) -> Option<Block> {
    if effects.pairs.len() < 2 {
        return None;
    }
    let mut names: Vec<&String> = effects.pairs.iter().flat_map(|pair| &pair.factors).collect();
    names.sort_unstable();
    names.dedup();
    let (columns, rows) = (&names[..names.len() - 1], &names[1..]);
    let rows = rows.iter().enumerate().map(|(index, row)| {
        let cells = columns[..=index].iter().map(|column| {
            let is_of_both =
                |pair: &&PairEffect| pair.factors.contains(row) && pair.factors.contains(column);
            let pair = effects.pairs.iter().find(is_of_both);
            pair.map_or_else(|| without("not crossed"), |pair| strongest(pair, metric))
        });
        let (name, cells) = ((*row).clone(), cells.collect());
        MapRow { name, cells }
    });
    let map = Map {
        columns: columns.iter().map(|name| (*name).clone()).collect(),
        rows: rows.collect(),
        ..Map::default()
    };
    let remark = "×1: the settings do not influence each other; ▲ better together, ▼ worse";
    Some(map_chart("Two settings together: the strongest interaction of each pair", remark, map))
}

fn map_chart(caption: &str, remark: &str, map: Map) -> Block {
    let chart = Chart::new(Sentence::marked(caption), Plot::Map(map));
    Block::chart(chart.with_remark(remark))
}

/// The strongest interaction of a pair that was found.
fn strongest(pair: &PairEffect, metric: &str) -> MapCell {
    let found = pair.cells.iter().filter(|cell| cell.contrast.is_found());
    let strongest = found.max_by(|a, b| a.contrast.size().total_cmp(&b.contrast.size()));
    match strongest {
        Some(strongest) => MapCell {
            below: strongest.levels.each_ref().map(Level::to_string).join(" + "),
            ..cell(&strongest.contrast, metric)
        },
        None => MapCell {
            tone: Tone::Same,
            text: "≈".to_owned(),
            below: "none detected".to_owned(),
            ..MapCell::default()
        },
    }
}

fn map(pair: &PairEffect, of: Wording<'_>) -> Block {
    // Narrow screens have more room downwards.
    let (rows, columns) =
        if pair.levels[0].len() >= pair.levels[1].len() { (0, 1) } else { (1, 0) };
    let cell_of = |row_index: usize, row: &Level, column_index: usize, column: &Level| {
        let levels = if rows == 0 { [row, column] } else { [column, row] };
        match (row_index, column_index, pair.cell(levels)) {
            (0, _, _) | (_, 0, _) => MapCell { text: "×1".to_owned(), ..MapCell::default() },
            (.., Some(found)) => cell(&found.contrast, of.metric),
            (.., None) => without("not measured"),
        }
    };
    let map_row = |(index, row): (usize, &Level)| {
        let cells = pair.levels[columns].iter().enumerate();
        let cells = cells.map(|(place, column)| cell_of(index, row, place, column));
        let (name, cells) = (of.level(&pair.factors[rows], row).plain(), cells.collect());
        MapRow { name, cells }
    };
    let column_names = pair.levels[columns].iter();
    let column_names = column_names.map(|name| of.level(&pair.factors[columns], name).plain());
    let map = Map {
        row_factor: Some(pair.factors[rows].clone()),
        column_factor: Some(pair.factors[columns].clone()),
        columns: column_names.collect(),
        rows: pair.levels[rows].iter().enumerate().map(map_row).collect(),
        reasons: Vec::new(),
    };
    let caption = format!("`{}` with `{}`", pair.factors[rows], pair.factors[columns]);
    map_chart(
        &caption,
        "both together, divided by the product of both single effects; ▲ better, ▼ worse, ≈ the interval includes ×1",
        map,
    )
}

fn cell(contrast: &Contrast, metric: &str) -> MapCell {
    if !contrast.is_supported() {
        return without(TOO_FEW_ROUNDS);
    }
    let (sign, tone) = mark(contrast.compared(metric));
    let ratio = figures::ratio_alone(contrast.ratio, contrast.interval);
    MapCell {
        tone,
        times: contrast.size(),
        text: format!("{sign} {ratio}"),
        below: figures::interval_of_ratio(contrast.ratio, contrast.interval),
        reason: None,
    }
}

fn without(words: &str) -> MapCell {
    MapCell { tone: Tone::Missing, text: words.to_owned(), ..MapCell::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::experiment::Labels;
    use lab::stats::Interval;

    fn contrast(ratio: f64, found: bool, range: (f64, f64), settings: usize) -> Contrast {
        let reach = if found { 1.05 } else { 5.0 };
        Contrast {
            ratio,
            interval: Interval { low: ratio / reach, high: ratio * reach },
            settings,
            range: Interval { low: range.0, high: range.1 },
        }
    }

    fn of<'a>(metric: &'a str, labels: &'a Labels) -> Wording<'a> {
        Wording { metric, labels }
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
            "journal_mode=wal is 1.8 times as fast as delete, whatever the others are set to \
             (×1.6 to ×2)."
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
                .contains("in the only combination")
        );
    }

    #[test]
    fn a_time_that_shrinks_is_a_gain() {
        let effect = wal(contrast(0.5, true, (0.4, 0.5), 2));
        let sentence = alone(&effect, of("seconds", &Labels::default())).plain();
        assert!(
            sentence.starts_with("journal_mode=wal is 2.0 times as fast as delete"),
            "{sentence}"
        );
        assert!(sentence.contains("(×2 to ×2.5)"), "{sentence}");
        assert_eq!(effect.contrast.compared("seconds"), ComparisonResult::Better);
        assert_eq!(effect.contrast.compared("rows_per_s"), ComparisonResult::Worse);
    }

    #[test]
    fn an_effect_that_depends_on_another_is_listed_level_by_level() {
        let effect = wal(contrast(3.0, true, (1.0, 9.0), 3));
        let pair = at_levels(&[("full", 3.0, true), ("normal", 9.0, true), ("off", 1.0, false)]);
        assert_eq!(
            depends(&effect, &pair, of("rows_per_s", &Labels::default())).plain(),
            "The effect of journal_mode=wal instead of delete depends on synchronous: ×9.0 [8.6, 9.5] \
             with normal, ×3.0 [2.9, 3.2] with full, ×1.0 [0.2, 5.0] with off."
        );
    }

    #[test]
    fn an_effect_that_was_found_once_is_not_denied_elsewhere() {
        let effect = wal(contrast(3.0, true, (0.2, 3.0), 2));
        let pair = at_levels(&[("normal", 3.0, true), ("full", 0.21, false)]);
        let sentence = depends(&effect, &pair, of("rows_per_s", &Labels::default())).plain();
        assert!(sentence.contains("×0.21 [0.04, 1.05] with full"), "{sentence}");
        assert!(!sentence.contains("only") && !sentence.contains("no detectable"));
    }

    #[test]
    fn effects_without_an_interval_are_not_said_to_include_none() {
        let (same, mut wide) =
            (wal(contrast(1.0, false, (1.0, 1.0), 2)), wal(contrast(1.6, false, (1.0, 2.0), 2)));
        assert!(nothing_found(&[&same]).contains("each interval includes ×1"));
        wide.contrast.interval = Interval { low: 1e-9, high: 1e9 };
        assert!(nothing_found(&[&same, &wide]).contains("too few rounds for 1 of 2 settings"));
        assert!(nothing_found(&[&wide]).starts_with("There are too few rounds"));
    }

    #[test]
    fn an_interval_of_many_powers_of_ten_is_too_few_rounds() {
        let mut wide = contrast(3.0, true, (1.0, 9.0), 3);
        wide.interval = Interval { low: 1e-24, high: 1e24 };
        assert_eq!(ratio_of(&wide).plain(), "×3, too few rounds");
        let effect = wal(wide);
        let row = forest_row(&effect, of("rows_per_s", &Labels::default()), false);
        assert_eq!(row.marks.unwrap().interval, None);
        assert!(row.words.ends_with("too few rounds"), "{}", row.words);
    }
}
