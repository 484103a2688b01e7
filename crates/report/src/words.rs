//! The words and signs that all views share: verdicts, metrics, limits.
//!
//! A sign never stands without its word somewhere near, and a colour never without either, so that
//! nothing is lost to a reader who cannot see one of them.

use lab::analysis::{ExperimentAnalysis, SteadinessCounts, UpperBoundAnalysis, VariantAnalysis};
use lab::claims::Verdict;
use lab::environment::{FsyncVerdict, VolumeKind};
use lab::metric::{self, Better};

/// Every verdict, in the order in which they are counted.
pub(crate) const VERDICTS: [Verdict; 4] = [
    Verdict::Confirmed,
    Verdict::Refuted,
    Verdict::Inconclusive,
    Verdict::NotApplicable,
];

/// The sign of a verdict.
pub(crate) fn verdict_sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Confirmed => "✓",
        Verdict::Refuted => "✗",
        Verdict::Inconclusive => "?",
        Verdict::NotApplicable => "–",
    }
}

/// How a variant stands to the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is the baseline.
    Baseline,
    /// Better, in the metric's good direction.
    Better,
    /// Worse.
    Worse,
    /// Not told apart from the baseline.
    Same,
    /// Measured, but not in enough rounds to be compared.
    Uncompared,
    /// There is no measurement of it.
    Unmeasured,
}

impl Standing {
    /// How the variant stands to the baseline of its experiment.
    pub(crate) fn of(variant: &VariantAnalysis, metric: &str) -> Standing {
        if variant.unmeasured() {
            return Standing::Unmeasured;
        }
        if variant.baseline {
            return Standing::Baseline;
        }
        match &variant.effect {
            None => Standing::Uncompared,
            Some(effect) if !effect.is_found() => Standing::Same,
            Some(effect) => match (effect.estimate.centre > 1.0) == higher_is_better(metric) {
                true => Standing::Better,
                false => Standing::Worse,
            },
        }
    }

    /// One sign, for narrow places.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Standing::Baseline => "◆",
            Standing::Better => "▲",
            Standing::Worse => "▼",
            Standing::Same => "≈",
            Standing::Uncompared => "·",
            Standing::Unmeasured => "–",
        }
    }

    /// The same in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Standing::Baseline => "baseline",
            Standing::Better => "better",
            Standing::Worse => "worse",
            Standing::Same => "no detectable difference",
            Standing::Uncompared => "not compared",
            Standing::Unmeasured => "not measured",
        }
    }

    /// The class of the mark in the page.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Standing::Baseline => "is-ref",
            Standing::Better => "is-better",
            Standing::Worse => "is-worse",
            Standing::Same | Standing::Uncompared => "is-same",
            Standing::Unmeasured => "is-unmeasured",
        }
    }
}

/// Whether larger figures of the metric are better; so is a metric that is not in the catalogue.
pub(crate) fn higher_is_better(metric: &str) -> bool {
    metric::find(metric).is_none_or(|metric| metric.better == Better::Higher)
}

/// `higher is better` or `lower is better`.
pub(crate) fn direction(metric: &str) -> &'static str {
    if higher_is_better(metric) {
        "higher is better"
    } else {
        "lower is better"
    }
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

/// The kind of file that the suffix of a counted metric names.
pub(crate) fn file_kind(suffix: &str) -> &str {
    match suffix {
        "wal" => "WAL",
        "temporary" => "temporary files",
        "super_journal" => "super-journal",
        other => other,
    }
}

/// What a limit is called where variants have their standing.
pub(crate) const UPPER_BOUND: &str = "upper bound";
/// The sign of a limit: hollow, because it is no variant.
pub(crate) const UPPER_BOUND_SIGN: &str = "□";

/// Why there is no figure of a limit; none where there is one.
pub(crate) fn upper_bound_problem(limit: &UpperBoundAnalysis) -> Option<String> {
    let without = limit.summary.is_none();
    without.then(|| match &limit.problem {
        Some(problem) => problem.clone(),
        None => "not measured in this run".to_owned(),
    })
}

/// Names in a row, the first `most` of them: `a, b and 3 more`.
pub(crate) fn named(names: &[String], most: usize) -> String {
    // Naming the last one takes no more room than saying that there is one more.
    let shown = if names.len() <= most + 1 {
        names.len()
    } else {
        most
    };
    let more = names.len() - shown;
    match (&names[..shown], more) {
        ([], _) => String::new(),
        ([only], 0) => only.clone(),
        ([first @ .., last], 0) => format!("{} and {last}", first.join(", ")),
        (shown, more) => format!("{} and {more} more", shown.join(", ")),
    }
}

/// What a gain in the metric is, after "2.1 times": `as fast as`.
pub(crate) fn gain_words(metric: &str) -> &'static str {
    match metric.split_once('.').map_or(metric, |(base, _)| base) {
        "rows_per_s" | "txns_per_s" | "queries_per_s" | "ops_per_s" | "mib_per_s" | "seconds"
        | "ns_per_row" | "generate_s" => "as fast as",
        "cpu_user_s" | "cpu_system_s" => "as sparing of CPU time as",
        "peak_memory_bytes" => "as sparing of memory as",
        "db_bytes" | "wal_bytes" | "bytes_per_row" => "as compact as",
        "p50_us" | "p90_us" | "p99_us" | "p999_us" | "max_us" => "as quick to answer as",
        _ => "as good as",
    }
}

/// `1 trial`, `2 trials`.
pub(crate) fn plural(count: usize, one: &str, many: &str) -> String {
    format!(
        "{} {}",
        crate::figures::count(count),
        if count == 1 { one } else { many }
    )
}

/// Whether throughput held still within the trials; none when all did, or none was looked at.
pub(crate) fn unsteadiness(counts: Option<SteadinessCounts>) -> Option<String> {
    let counts = counts?;
    let all = counts.warming + counts.steady + counts.drifting;
    match (counts.warming, counts.drifting) {
        (0, 0) => None,
        (warming, 0) => Some(format!("warming in {warming} of {all} trials")),
        (0, drifting) => Some(format!("drifting in {drifting} of {all} trials")),
        (warming, drifting) => Some(format!(
            "warming in {warming}, drifting in {drifting} of {all} trials"
        )),
    }
}

/// The kind of storage in words.
pub(crate) fn volume_kind(kind: VolumeKind) -> &'static str {
    match kind {
        VolumeKind::Disk => "disk",
        VolumeKind::Memory => "memory",
        VolumeKind::Overlay => "container layer",
        VolumeKind::Network => "network or shared",
        VolumeKind::Unknown => "unknown",
    }
}

/// What the probe of fsync says in words.
pub(crate) fn fsync_verdict(verdict: FsyncVerdict) -> &'static str {
    match verdict {
        FsyncVerdict::Memory => "in memory: nothing to sync to",
        FsyncVerdict::NoOpOrPowerLossProtection => {
            "quicker than any medium: a sync that does nothing, or power-loss protection"
        }
        FsyncVerdict::RotationalWithCache => "quicker than the disk turns: a cache answers",
        FsyncVerdict::Plain => "plausible for a real medium",
    }
}

/// The variants in the order in which they are shown: by rank, then what could not be ranked.
pub(crate) fn by_rank(experiment: &ExperimentAnalysis) -> Vec<usize> {
    let mut placed = vec![false; experiment.variants.len()];
    let mut order = Vec::with_capacity(experiment.variants.len());
    for variant in experiment
        .ranking
        .iter()
        .copied()
        .chain(0..experiment.variants.len())
    {
        if !std::mem::replace(&mut placed[variant], true) {
            order.push(variant);
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_first_are_counted_unless_there_is_only_one() {
        let names = ["a", "b", "c", "d"].map(str::to_owned);
        assert_eq!(named(&names[..1], 2), "a");
        assert_eq!(named(&names[..2], 2), "a and b");
        assert_eq!(named(&names[..3], 2), "a, b and c");
        assert_eq!(named(&names, 2), "a, b and 2 more");
        assert_eq!(named(&[], 2), "");
    }

    #[test]
    fn a_part_of_a_metric_follows_its_heading() {
        assert_eq!(metric_heading("rows_per_s"), "Rows per second");
        assert_eq!(metric_heading("syncs.wal"), "Syncs, WAL");
        assert_eq!(metric_heading("seconds.index"), "Time, index");
    }
}
