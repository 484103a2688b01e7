//! What a chosen variant finds less than the baseline: an index that is faster because it finds less has
//! answered another question, and whoever reads of its speed has to know.

use std::collections::BTreeMap;

use lab::analysis::{ExperimentAnalysis, Finding, Summary, VariantAnalysis};
use lab::level::overlaid;
use lab::metric::{METRICS, Metric};

use crate::answer::{Piece, Sentence};
use crate::figures;

/// Recall that may be lost without a word: half a hundredth of what should be found.
const SLIGHT: f64 = 0.005;

/// What the variant of a finding finds less than the baseline, after what it gains; nothing where it finds
/// as much, or where nobody looked what is found.
pub(crate) fn of_finding(finding: &Finding, experiment: &ExperimentAnalysis) -> Sentence {
    let chosen = chosen(finding, experiment);
    match chosen.zip(experiment.variants.first()) {
        Some((chosen, baseline)) => compared(&chosen.summaries, &baseline.summaries),
        None => Sentence::new(),
    }
}

/// The variant that the finding is about.
fn chosen<'e>(
    finding: &Finding,
    experiment: &'e ExperimentAnalysis,
) -> Option<&'e VariantAnalysis> {
    let baseline = experiment.variants.first()?;
    let levels = overlaid(&baseline.levels, &finding.levels);
    experiment
        .variants
        .iter()
        .find(|variant| variant.levels == levels)
}

fn compared(own: &BTreeMap<String, Summary>, baseline: &BTreeMap<String, Summary>) -> Sentence {
    // Single classes of queries have a recall of their own, after a dot; the catalogue has those of all.
    let kinds = METRICS
        .iter()
        .filter(|metric| metric.name.starts_with("recall_"));
    let losses: Vec<String> = kinds
        .filter_map(|kind| loss(kind, own.get(kind.name)?, baseline.get(kind.name)?))
        .collect();
    if losses.is_empty() {
        return Sentence::new();
    }
    let told = format!(" It finds less: {}.", losses.join(", "));
    vec![Piece::Words(told)]
}

/// How much is found instead of how much, where it is less.
fn loss(kind: &Metric, own: &Summary, baseline: &Summary) -> Option<String> {
    if baseline.median - own.median <= SLIGHT {
        return None;
    }
    let what = kind.heading.to_lowercase();
    let share = |summary: &Summary| figures::figure(summary.median, kind.name);
    let (own, baseline) = (share(own), share(baseline));
    Some(format!("{what} {own} instead of {baseline}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::plain;
    use lab::stats::Interval;

    fn found(shares: &[(&str, f64)]) -> BTreeMap<String, Summary> {
        let summary = |median| Summary {
            median,
            range: Interval {
                low: median,
                high: median,
            },
            n: 10,
        };
        shares
            .iter()
            .map(|(metric, share)| ((*metric).to_owned(), summary(*share)))
            .collect()
    }

    #[test]
    fn what_is_found_less_is_told_and_what_is_found_as_well_is_not() {
        let baseline = found(&[
            ("recall_word", 0.934),
            ("recall_word.cjk", 1.0),
            ("recall_stem", 0.7),
            ("recall_substring", 0.81),
        ]);
        let own = found(&[
            ("recall_word", 0.901),
            ("recall_word.cjk", 0.0),
            ("recall_stem", 0.696),
            ("recall_substring", 0.95),
        ]);
        assert_eq!(
            plain(&compared(&own, &baseline)),
            " It finds less: recall of words 90.1 % instead of 93.4 %."
        );
        assert_eq!(
            plain(&compared(&baseline, &own)),
            " It finds less: recall of letters 81.0 % instead of 95.0 %."
        );
        assert!(compared(&own, &own).is_empty());
    }

    #[test]
    fn every_kind_of_recall_is_told_and_one_that_was_not_measured_is_none() {
        let baseline = found(&[("recall_word", 1.0), ("recall_stem", 0.8)]);
        let own = found(&[("recall_word", 0.5), ("recall_stem", 0.4)]);
        assert_eq!(
            plain(&compared(&own, &baseline)),
            " It finds less: recall of words 50.0 % instead of 100 %, recall of stems 40.0 % instead of 80.0 %."
        );
        assert!(compared(&found(&[("seconds", 1.0)]), &baseline).is_empty());
    }
}
