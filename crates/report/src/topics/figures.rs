//! The variants in the experiment's own metric: a dot-and-interval ("forest") plot with all of its figures.
//!
//! The dot is the median over trials in the metric's own unit. The thick line is the interval of
//! the variant's ratio to the baseline, laid on the baseline's median, so that its distance from
//! the baseline's line shows what the comparison shows. The thin line reaches from the smallest
//! to the largest trial. (The form is from Lewis and Clarke, "Forest plots: trying to see the wood and
//! the trees", BMJ 322, 2001.)

use lab::analysis::{
    ComparisonResult, ExperimentAnalysis, Summary, Tiered, Unsteady, UpperBoundAnalysis,
    VariantAnalysis,
};
use lab::stats::Interval;

use super::subject::{ALL_UP_TO, Subject, ratio_cell};
use super::{curve, map, statements, tiers};
use crate::document::{
    Abridge, Block, Cell, Chart, Column, Forest, ForestRow, Item, Mark, Marks, Plot, Row, Scale,
    Sentence, Table, Tone, blocks, joined,
};
use crate::figures;
use crate::glossary::explained;
use crate::words::{
    UPPER_BOUND, UPPER_BOUND_SIGN, by_rank, grouped, mark, metric_axis, metric_cell,
    metric_heading, standing_words, upper_bound_problem,
};

/// Number of the best variants that are drawn of more.
const BEST: usize = 16;
/// Number of the worst variants that are drawn of more.
const WORST: usize = 4;
/// Variants that one note names.
const NAMED: usize = 4;

/// The chart, unless effects or the statements of the only variant say more.
pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    if subject.has_effects_first() || statements::medians(subject).is_some() {
        Vec::new()
    } else {
        chart(subject)
    }
}

/// The chart where effects come first: of hundreds of variants what each setting does says more.
pub(super) fn after_effects(subject: &Subject<'_>) -> Vec<Block> {
    if subject.has_effects_first() { chart(subject) } else { Vec::new() }
}

fn chart(subject: &Subject<'_>) -> Vec<Block> {
    if subject.experiment.tries_crashes() {
        return problems(subject).into_iter().map(Block::small).collect();
    }
    let ranked = by_rank(subject.experiment);
    let is_baseline = |variant: usize| subject.experiment.variants[variant].baseline;
    let drawn = drawn(&ranked, is_baseline);
    let left_out = (drawn.len() < ranked.len()).then(|| {
        let all = figures::count(ranked.len());
        format!("Drawn: of {all} variants the {BEST} best, the baseline and the {WORST} worst.")
    });
    let left_out = left_out.map(|words| Block::full(vec![Block::small(words)]));
    let plot = Plot::Forest(forest(subject, &drawn));
    let chart = Block::chart(Chart {
        figures: Some(table(subject, &ranked)),
        notes: notes(subject),
        ..Chart::new(metric_axis(subject.metric()), plot)
    });
    let bounds = subject.experiment.upper_bounds.iter().filter_map(|bound| {
        Some(Item::new(format!("{}: {}", bound.name, upper_bound_problem(bound)?)))
    });
    let bounds = Block::list(bounds).map(|list| Block::brief(vec![list]));
    let blocks = blocks![chart, bounds, left_out];
    // Curve and map have every variant at a glance.
    if curve::has_everything(subject) || map::has_everything(subject) {
        vec![Block::Depth {
            brief: blocks.clone(),
            full: vec![Block::fold("Every variant, ranked", blocks)],
        }]
    } else {
        blocks
    }
}

/// The variants that are drawn, of those ranked from best to worst.
fn drawn(ranked: &[usize], is_baseline: impl Fn(usize) -> bool) -> Vec<usize> {
    let all = ranked.len();
    let is_drawn = |place: usize| {
        all <= ALL_UP_TO || place < BEST || place + WORST >= all || is_baseline(ranked[place])
    };
    (0..all).filter(|place| is_drawn(*place)).map(|place| ranked[place]).collect()
}

fn forest(subject: &Subject<'_>, drawn: &[usize]) -> Forest {
    let experiment = subject.experiment;
    let metric = subject.metric();
    let baseline = experiment.variants.first().and_then(|baseline| baseline.median(metric));
    let rows = drawn.iter().map(|variant| forest_row(subject, *variant, baseline));
    let bounds = experiment.upper_bounds.iter();
    Forest {
        scale: Scale::Metric(metric.to_owned()),
        baseline,
        columns: ["median", "to the baseline"].map(str::to_owned).into(),
        rows: rows.collect(),
        bounds: bounds.map(|bound| bound_row(bound, metric)).collect(),
    }
}

fn forest_row(subject: &Subject<'_>, index: usize, baseline: Option<f64>) -> ForestRow {
    let variant = &subject.experiment.variants[index];
    let metric = subject.metric();
    let standing = variant.compared(metric);
    let (sign, tone) = mark(standing);
    let summary = variant.summaries.get(metric);
    let median = summary.map(|summary| figures::figure(summary.median, metric));
    let marks = summary.map(|summary| Marks {
        dot: summary.median,
        range: summary.range,
        interval: laid(variant, baseline),
        mark: if variant.baseline { Mark::Diamond } else { Mark::Circle },
    });
    let reason = problem(variant).map(|words| Sentence::marked(&words).plain());
    let compared = compared(variant, standing);
    let words = match summary {
        Some(summary) => format!("{}; {compared}", trials(summary, metric)),
        None => reason.clone().unwrap_or_default(),
    };
    ForestRow {
        id: variant.label.clone(),
        name: subject.names.sentence(index),
        detail: subject.names.detail(index),
        sign,
        tone,
        words: format!("{}: {words}", variant.label),
        reason: reason.filter(|_| marks.is_none()),
        cells: vec![median.unwrap_or_default(), compared],
        marks,
    }
}

fn trials(summary: &Summary, metric: &str) -> String {
    let median = figures::figure(summary.median, metric);
    format!("median {median}, trials {}", figures::range(summary.range, metric))
}

/// The interval of the variant's ratio laid on the baseline's median.
fn laid(variant: &VariantAnalysis, baseline: Option<f64>) -> Option<Interval> {
    let (estimate, baseline) = (variant.estimate()?, baseline?);
    Some(estimate.interval.map_increasing(|ratio| ratio * baseline))
}

/// The ratio to the baseline with its interval, or words.
fn compared(variant: &VariantAnalysis, standing: ComparisonResult) -> String {
    match variant.estimate().filter(|_| !variant.baseline) {
        Some(estimate) => figures::ratio(estimate.centre, estimate.interval),
        None => standing_words(standing).to_owned(),
    }
}

fn bound_row(bound: &UpperBoundAnalysis, metric: &str) -> ForestRow {
    let median = bound.summary.map(|summary| figures::figure(summary.median, metric));
    let problem = upper_bound_problem(bound);
    let words = bound.summary.map(|summary| trials(&summary, metric));
    let words = words.or_else(|| problem.clone()).unwrap_or_default();
    ForestRow {
        id: bound.name.clone(),
        name: bound.name.as_str().into(),
        detail: bound.says.as_str().into(),
        sign: UPPER_BOUND_SIGN,
        tone: Tone::Bound,
        marks: bound.summary.map(|summary| Marks {
            dot: summary.median,
            range: summary.range,
            interval: None,
            mark: Mark::Square,
        }),
        cells: vec![median.unwrap_or_default(), UPPER_BOUND.to_owned()],
        reason: problem.map(|problem| format!("{UPPER_BOUND}, {problem}")),
        words: format!("{UPPER_BOUND} {}: {words}", bound.name),
    }
}

/// Every variant in figures, from best to worst.
fn table(subject: &Subject<'_>, ranked: &[usize]) -> Table {
    let experiment = subject.experiment;
    let has_tiers = experiment.tiered() == Tiered::Each;
    let heading = metric_heading(subject.metric()).to_lowercase();
    let tier = has_tiers.then(tiers::columns).into_iter().flatten();
    let columns = [
        Column::left("variant"),
        Column::right(heading),
        Column::right("smallest–largest").full_only(),
        Column::right("trials").full_only(),
        Column::left("to the baseline"),
        Column::right(explained("detectable difference")).full_only(),
    ];
    let rows = ranked.iter().map(|index| row(subject, *index, has_tiers));
    let bounds = experiment.upper_bounds.iter();
    Table {
        foot: bounds.map(|bound| bound_cells(bound, subject.metric())).collect(),
        sortable: true,
        abridge: Abridge::Middle,
        ..Table::new(
            "Every variant in figures",
            (columns.into_iter().chain(tier)).chain([Column::left(explained("groups"))]),
            rows,
        )
    }
}

fn row(subject: &Subject<'_>, index: usize, has_tiers: bool) -> Row {
    let variant = &subject.experiment.variants[index];
    let metric = subject.metric();
    let standing = variant.compared(metric);
    let summary = variant.summaries.get(metric);
    let estimate = variant.estimate();
    let ratio = estimate.filter(|_| !variant.baseline).map_or_else(
        || standing_words(standing).into(),
        |estimate| ratio_cell(estimate.centre, estimate.interval),
    );
    let measured = variant.trials.measured;
    let cells = [
        subject.names.full_cell(index),
        metric_cell(variant.median(metric), metric),
        Cell {
            value: summary.map(|summary| summary.range.low),
            ..Cell::number(summary.map(|summary| figures::range(summary.range, metric)))
        },
        Cell::figure(Some(measured as f64), |_| figures::count(measured)),
        Cell {
            value: estimate.map(|estimate| estimate.centre),
            ..Cell::new(ratio).signed(mark(standing))
        },
        Cell::figure(estimate.map(|estimate| estimate.detectable), figures::percent),
    ];
    let tier = variant.safety.as_ref().map(|safety| &safety.tier);
    let tier = has_tiers.then(|| tiers::cells(tier)).into_iter().flatten();
    let groups = Cell::new(group_words(&variant.groups));
    Row {
        cells: cells.into_iter().chain(tier).chain([groups]).collect(),
        keep: variant.baseline || is_chosen(subject, index),
        minor: variant.unmeasured(),
        anchor: None,
    }
}

/// Whether the answer or the settings to use name the variant.
fn is_chosen(subject: &Subject<'_>, index: usize) -> bool {
    let finding = subject.finding.iter();
    let by_finding = finding.flat_map(|finding| {
        let faster = finding.faster.as_ref().map(|faster| faster.variant);
        [Some(finding.variant), faster].into_iter().flatten()
    });
    let mut ladders = subject.analysis.ladders.iter();
    let ladder = ladders.find(|ladder| ladder.experiment == subject.experiment.key);
    let rungs = ladder.into_iter().flat_map(|ladder| &ladder.rungs);
    let advised = rungs.filter_map(|rung| Some(rung.advice.as_ref().ok()?.variant));
    by_finding.chain(advised).any(|chosen| chosen == index)
}

/// Upper bounds stand below the variants, neither ranked nor compared.
fn bound_cells(bound: &UpperBoundAnalysis, metric: &str) -> Row {
    let summary = bound.summary;
    let problem = upper_bound_problem(bound);
    let name = Cell::new(bound.name.as_str()).with_below(bound.says.as_str());
    let cells = [
        name.with_below(problem.unwrap_or_default()),
        Cell::number(summary.map(|summary| figures::figure(summary.median, metric))),
        Cell::number(summary.map(|summary| figures::range(summary.range, metric))),
        Cell::number(summary.map(|summary| figures::count(summary.n))),
        Cell::new(UPPER_BOUND).signed((UPPER_BOUND_SIGN, Tone::Bound)),
    ];
    Row::new(cells)
}

/// Returns caveats on the figures of variants, grouped by caveat.
fn notes(subject: &Subject<'_>) -> Vec<Sentence> {
    let mut notes = problems(subject);
    notes.extend(undetected(subject));
    notes.extend(lost_in_correction(subject));
    notes.extend(exceeded(subject));
    notes.extend(unsteady(subject));
    notes.extend(not_of_medians(subject));
    notes
}

/// The variants whose intervals exclude no difference, but not after the correction.
fn lost_in_correction(subject: &Subject<'_>) -> Option<Sentence> {
    let experiment = subject.experiment;
    let variants = &experiment.variants;
    let is_lost = |variant: &usize| variants[*variant].is_lost_in_correction();
    let lost: Vec<usize> = by_rank(experiment).into_iter().filter(is_lost).collect();
    let compared = variants.iter().filter(|variant| variant.effect.is_some()).count();
    let (sign, _) = mark(ComparisonResult::Same);
    let lead = format!(
        "{sign} the interval excludes ×1, but the difference does not count among {compared} comparisons: "
    );
    (!lost.is_empty()).then(|| Sentence::from(lead).and(subject.names.list(&lost, NAMED)))
}

/// The upper bounds that variants exceed, which bound nothing for them.
fn exceeded(subject: &Subject<'_>) -> Vec<Sentence> {
    let bounds = subject.experiment.upper_bounds.iter();
    let exceeded = bounds.filter(|bound| !bound.exceeded_by.is_empty());
    let sentence = |bound: &UpperBoundAnalysis| {
        let lead = format!("better median than the {UPPER_BOUND} {}: ", bound.name);
        Sentence::from(lead).and(subject.names.list(&bound.exceeded_by, NAMED))
    };
    exceeded.map(sentence).collect()
}

fn problems(subject: &Subject<'_>) -> Vec<Sentence> {
    let experiment = subject.experiment;
    let problems = by_rank(experiment).into_iter().filter_map(|index| {
        let variant = &experiment.variants[index];
        let all = [problem(variant), adjusted(experiment, variant)];
        let all: Vec<String> = all.into_iter().flatten().collect();
        (!all.is_empty()).then(|| (all.join("; "), index))
    });
    let note = |(problem, variants): (String, Vec<usize>)| {
        let names = subject.names.list(&variants, NAMED);
        names.and(Sentence::marked(&format!(": {problem}")))
    };
    grouped(problems).into_iter().map(note).collect()
}

/// Why trials of a variant are missing.
fn problem(variant: &VariantAnalysis) -> Option<String> {
    let missing = variant.trials.total() - variant.trials.measured;
    match (&variant.problem, variant.trials.measured) {
        (None, 0) => Some("not measured in this run".to_owned()),
        (None, _) => None,
        (Some(problem), 0) => Some(clipped(problem)),
        (Some(problem), _) => Some(format!(
            "{missing} of {} trials without a figure, {}",
            variant.trials.total(),
            clipped(problem)
        )),
    }
}

/// A problem without its middle where it is long, as what a compiler says with its command can be. The
/// beginning tells what went wrong, the end why; the record keeps all of it.
fn clipped(problem: &str) -> String {
    const BEGINNING: usize = 200;
    const END: usize = 300;
    let length = problem.chars().count();
    if length <= BEGINNING + END {
        return problem.to_owned();
    }
    let beginning: String = problem.chars().take(BEGINNING).collect();
    let end: String = problem.chars().skip(length - END).collect();
    format!("{beginning} […] {end}")
}

/// Settings besides its levels in which a variant differs from the baseline.
fn adjusted(experiment: &ExperimentAnalysis, variant: &VariantAnalysis) -> Option<String> {
    let baseline = experiment.variants.first()?;
    let other = variant.settings.iter().filter(|(name, level)| {
        !variant.levels.contains_key(*name) && baseline.settings.get(*name) != Some(level)
    });
    let settings: Vec<String> = other
        .map(|(name, level)| match baseline.settings.get(name) {
            Some(usual) => format!("{name}={level} where the baseline has {usual}"),
            None => format!("{name}={level}"),
        })
        .collect();
    (!settings.is_empty()).then(|| format!("run with {}", settings.join(", ")))
}

/// The variants without a detectable difference, and what would have been detected. Of a single one the answer says it.
fn undetected(subject: &Subject<'_>) -> Option<Sentence> {
    let experiment = subject.experiment;
    if experiment.variants.len() == 2 {
        return None;
    }
    let note = |index: usize| {
        let variant = &experiment.variants[index];
        let detectable = figures::percent(variant.estimate()?.detectable);
        let same = variant.compared(subject.metric()) == ComparisonResult::Same
            && !variant.is_lost_in_correction();
        let name = subject.names.sentence(index);
        same.then(|| name.words(format!(" (detectable difference {detectable})")))
    };
    let same: Vec<Sentence> = by_rank(experiment).into_iter().filter_map(note).collect();
    let standing = ComparisonResult::Same;
    let lead = format!("{} {}: ", mark(standing).0, standing_words(standing));
    (!same.is_empty()).then(|| Sentence::from(lead).and(crate::names::listed(same, NAMED)))
}

/// Explains why ratios differ from ratios of the medians, if they do.
fn not_of_medians(subject: &Subject<'_>) -> Option<Sentence> {
    let experiment = subject.experiment;
    let median = |variant: &VariantAnalysis| variant.median(subject.metric());
    let baseline = experiment.variants.first().and_then(median)?;
    let differs = |variant: &VariantAnalysis| {
        let both = median(variant).zip(variant.estimate());
        both.is_some_and(|(median, estimate)| !estimate.interval.contains(median / baseline))
    };
    experiment.variants.iter().any(differs).then(|| {
        "ratios compare trials of the same block, so they can differ from the ratio of the medians"
            .into()
    })
}

/// The variants whose throughput did not hold still in most of their trials, in one line.
fn unsteady(subject: &Subject<'_>) -> Option<Sentence> {
    let variants = &subject.experiment.variants;
    let kinds = [
        (Unsteady::Drifting, "drifted"),
        (Unsteady::Warming, "was still warming up"),
        (Unsteady::Both, "warmed up or drifted"),
    ];
    let lines = kinds.into_iter().filter_map(|(kind, words)| {
        let is_so = |variant: &usize| {
            variants[*variant].steadiness.and_then(|steadiness| steadiness.mostly()) == Some(kind)
        };
        let so: Vec<usize> = (0..variants.len()).filter(is_so).collect();
        let sentence = match so.len() {
            0 => return None,
            all if all == variants.len() => " in most trials of every variant".into(),
            _ => Sentence::from(" in most trials of: ").and(subject.names.list(&so, NAMED)),
        };
        Some(Sentence::from(words).and(sentence))
    });
    let lines = joined(lines, "; ");
    (!lines.is_empty()).then(|| Sentence::from("throughput ").and(lines))
}

/// Returns the letters of a variant's groups. Many letters are the first and the last of them.
fn group_words(letters: &str) -> String {
    /// Letters that a reader compares.
    const MOST: usize = 4;
    let (first, last) = (letters.chars().next(), letters.chars().next_back());
    match (letters.chars().count(), first, last) {
        (count, Some(first), Some(last)) if count > MOST && !letters.contains('(') => {
            format!("{first}…{last}")
        }
        _ => letters.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_variants_the_best_the_baseline_and_the_worst_are_drawn() {
        let ranked: Vec<usize> = (0..432).rev().collect();
        let some = drawn(&ranked, |variant| variant == 100);
        assert_eq!(some.len(), BEST + 1 + WORST);
        assert_eq!(&some[..2], [431, 430]);
        assert_eq!(&some[BEST..], [100, 3, 2, 1, 0]);
        assert_eq!(drawn(&ranked[..ALL_UP_TO], |_| false).len(), ALL_UP_TO);
    }

    #[test]
    fn a_long_problem_keeps_its_beginning_and_its_end() {
        assert_eq!(clipped("no such engine"), "no such engine");
        let long = format!("the compiler failed: cc {}undefined symbol", "-O2 ".repeat(500));
        let clipped = clipped(&long);
        assert!(clipped.starts_with("the compiler failed: cc"), "{clipped}");
        assert!(clipped.ends_with("undefined symbol"), "{clipped}");
        assert!(clipped.chars().count() < 520, "{clipped}");
    }
}
