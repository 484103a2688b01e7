//! The words and signs that topics share: verdicts, standings, tiers, metrics.
//!
//! A sign never stands without its word somewhere near, and a colour never without either, so that
//! nothing is lost to a reader who cannot see one of them.

use lab::analysis::{ComparisonResult, ExperimentAnalysis, UpperBoundAnalysis};
use lab::claims::Verdict;
use lab::metric;
use lab::tier::{Accident, Class, Loss, RareLoss, Tier};

use crate::document::{Cell, Column, Count, Sign, Tone};
use crate::figures;

/// Stands for a missing measurement.
pub(crate) const NOT_MEASURED: &str = "not measured";

/// Label for too few rounds to support an interval.
pub(crate) const TOO_FEW_ROUNDS: &str = "too few rounds";

/// Label of an upper bound among the standings of variants.
pub(crate) const UPPER_BOUND: &str = "upper bound";
/// The sign of an upper bound: hollow, because it is not a variant.
pub(crate) const UPPER_BOUND_SIGN: &str = "□";

/// The sign of a verdict and what it means.
pub(crate) fn verdict_mark(verdict: Verdict) -> Sign {
    match verdict {
        Verdict::Confirmed => ("✓", Tone::Good),
        Verdict::Refuted => ("✗", Tone::Bad),
        Verdict::Inconclusive => ("?", Tone::Doubt),
        Verdict::NotApplicable => ("–", Tone::Neutral),
    }
}

/// The verdicts that occur, with their number.
pub(crate) fn verdict_counts(count: impl Fn(Verdict) -> usize) -> Vec<Count> {
    let all = [Verdict::Confirmed, Verdict::Refuted, Verdict::Inconclusive, Verdict::NotApplicable];
    let counted = all.map(|verdict| {
        let (sign, tone) = verdict_mark(verdict);
        Count { sign, words: verdict.to_string(), count: count(verdict), tone }
    });
    counted.into_iter().filter(|counted| counted.count > 0).collect()
}

/// The sign of a standing and what it means.
pub(crate) fn mark(standing: ComparisonResult) -> Sign {
    match standing {
        ComparisonResult::Baseline => ("◆", Tone::Baseline),
        ComparisonResult::Better => ("▲", Tone::Better),
        ComparisonResult::Worse => ("▼", Tone::Worse),
        ComparisonResult::Same => ("≈", Tone::Same),
        ComparisonResult::Uncompared | ComparisonResult::NoRatio => ("·", Tone::Same),
        ComparisonResult::Unmeasured => ("–", Tone::Missing),
    }
}

/// A standing in words.
pub(crate) fn standing_words(standing: ComparisonResult) -> &'static str {
    match standing {
        ComparisonResult::Baseline => "baseline",
        ComparisonResult::Better => "better",
        ComparisonResult::Worse => "worse",
        ComparisonResult::Same => "no detectable difference",
        ComparisonResult::Uncompared => TOO_FEW_ROUNDS,
        ComparisonResult::NoRatio => "a figure of 0 has no ratio",
        ComparisonResult::Unmeasured => NOT_MEASURED,
    }
}

/// The sign of a loss: a circle, the emptier the more is lost, and a cross for corruption.
pub(crate) fn loss_mark(loss: Option<Loss>) -> Sign {
    match loss {
        Some(Loss::Nothing) => ("●", Tone::Good),
        Some(Loss::LastTransaction) => ("◕", Tone::Middle),
        Some(Loss::RecentTransactions) => ("◐", Tone::Middle),
        Some(Loss::Corruption) => ("✘", Tone::Bad),
        None => ("–", Tone::Missing),
    }
}

/// A loss without counts.
pub(crate) fn loss_words(loss: Option<Loss>) -> &'static str {
    loss.map_or(NOT_MEASURED, Loss::into)
}

/// The same in a word or two, for narrow columns.
pub(crate) fn loss_short(loss: Option<Loss>) -> &'static str {
    match loss {
        Some(Loss::Nothing) => "nothing",
        Some(Loss::LastTransaction) => "last transaction",
        Some(Loss::RecentTransactions) => "recent transactions",
        Some(Loss::Corruption) => "can corrupt",
        None => NOT_MEASURED,
    }
}

/// Label for corruption without any accident.
pub(crate) const UNCRASHED: &str = "corrupts without a crash";

/// Returns the signs of a tier, first for a dying process, and their meaning: as bad as the worse of them.
pub(crate) fn class_mark(class: Class) -> (String, Tone) {
    let corrupt = class.uncrashed.then_some(Loss::Corruption);
    let both = Accident::ALL.map(|accident| corrupt.or(class.loss(accident)));
    let signs = both.map(|loss| loss_mark(loss).0).concat();
    let worst = both.into_iter().max().flatten();
    // What was not measured may be worse than nothing.
    let known = worst.filter(|worst| *worst > Loss::Nothing || !both.contains(&None));
    (signs, loss_mark(known).1)
}

/// A tier without its counts.
pub(crate) fn class_words(class: Class) -> String {
    match class {
        Class { uncrashed: true, .. } => UNCRASHED.to_owned(),
        it if it == Class::default() => NOT_MEASURED.to_owned(),
        it => Accident::ALL
            .map(|accident| format!("{accident}: {}", loss_words(it.loss(accident))))
            .join("; "),
    }
}

/// Returns the meaning of the signs of losses, in a line.
pub(crate) fn tier_legend() -> String {
    let losses = Loss::ALL.into_iter().map(Some).chain([None]);
    let words = losses.map(|loss| format!("{} {}", loss_mark(loss).0, loss_words(loss)));
    words.collect::<Vec<_>>().join(", ")
}

/// A count of images or schedules.
pub(crate) fn count(value: u64) -> String {
    figures::count(usize::try_from(value).unwrap_or(usize::MAX))
}

/// A tier with its counts, and what happens on rare occasions alone.
pub(crate) fn tier_words(tier: &Tier) -> String {
    let rare = tier.occasions.iter().map(rare_words);
    std::iter::once(tier.words(count)).chain(rare).collect::<Vec<_>>().join("; ")
}

/// Returns the words for a loss on a rare occasion alone.
pub(crate) fn rare_words(rare: &RareLoss) -> String {
    format!("seen only {}", rare.words(count))
}

/// `higher is better` or `lower is better`.
fn direction(metric: &str) -> &'static str {
    if metric::higher_is_better(metric) { "higher is better" } else { "lower is better" }
}

/// The metric as a heading: `Rows a second`, `Time, index`, `Syncs, WAL`.
pub(crate) fn metric_heading(name: &str) -> String {
    let metric = metric::find(name);
    let heading = metric.map_or(name, |metric| metric.heading);
    match name.split_once('.') {
        Some((_, kind)) if metric.is_some_and(|metric| metric.counted) => {
            format!("{heading}, {}", file_kind(kind))
        }
        Some((_, phase)) if metric.is_some() => format!("{heading}, {phase}"),
        _ => heading.to_owned(),
    }
}

/// A column of figures of a metric.
pub(crate) fn metric_column(name: &str) -> Column {
    Column { about: Some(name.to_owned()), ..Column::right(metric_heading(name)) }
}

/// A cell with a figure of a metric.
pub(crate) fn metric_cell(value: Option<f64>, name: &str) -> Cell {
    Cell::figure(value, |value| figures::figure(value, name))
}

/// The metric as the heading of an axis: `Rows a second, higher is better`.
pub(crate) fn metric_axis(name: &str) -> String {
    format!("{}, {}", metric_heading(name), direction(name))
}

/// The kind of file that the suffix of a counted metric names.
pub(crate) fn file_kind(suffix: &str) -> &str {
    match suffix {
        "wal" => "WAL",
        "temporary" => "temporary files",
        "super_journal" => "super-journal",
        other => other,
    }
}

/// Returns the reason for a missing figure of an upper bound.
pub(crate) fn upper_bound_problem(bound: &UpperBoundAnalysis) -> Option<String> {
    let problem = || bound.problem.clone();
    let problem = || problem().unwrap_or_else(|| "not measured in this run".to_owned());
    bound.summary.is_none().then(problem)
}

/// Returns the words for a gain in the metric after "2.1 times": `as fast as`.
pub(crate) fn gain_words(metric: &str) -> &'static str {
    match metric.split_once('.').map_or(metric, |(base, _)| base) {
        "rows_per_s" | "txns_per_s" | "queries_per_s" | "ops_per_s" | "mib_per_s" | "seconds"
        | "ns_per_row" | "generate_s" | "typical_us" => "as fast as",
        "cpu_user_s" | "cpu_system_s" => "as sparing of CPU time as",
        "peak_memory_bytes" => "as sparing of memory as",
        "db_bytes" | "wal_bytes" | "bytes_per_row" => "as compact as",
        "p50_us" | "p90_us" | "p99_us" | "p999_us" | "max_us" => "as quick to answer as",
        base => match metric::find_declared(base).map(|metric| metric.unit) {
            Some(unit) if unit.is_speed() => "as fast as",
            _ => "as good as",
        },
    }
}

/// `1 trial`, `2 trials`.
pub(crate) fn plural(count: usize, one: &str, many: &str) -> String {
    let what = if count == 1 { one } else { many };
    format!("{} {what}", figures::count(count))
}

/// Groups items by their keys, in the order in which these first occur.
pub(crate) fn grouped<K: PartialEq, T>(all: impl IntoIterator<Item = (K, T)>) -> Vec<(K, Vec<T>)> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for (key, one) in all {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(one),
            None => groups.push((key, vec![one])),
        }
    }
    groups
}

/// The first letter in upper case.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|letter| letter.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

/// The variants in the order in which they are shown: by rank, then what could not be ranked.
pub(crate) fn by_rank(experiment: &ExperimentAnalysis) -> Vec<usize> {
    let mut order = experiment.ranking.clone();
    let is_ranked = |variant: &usize| experiment.ranking.contains(variant);
    order.extend((0..experiment.variants.len()).filter(|variant| !is_ranked(variant)));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_metric_follows_its_heading() {
        assert_eq!(metric_heading("rows_per_s"), "Rows per second");
        assert_eq!(metric_heading("syncs.wal"), "Syncs, WAL");
        assert_eq!(metric_heading("seconds.index"), "Time, index");
    }
}
