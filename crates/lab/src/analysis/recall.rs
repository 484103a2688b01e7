//! Recall losses against the baseline: an index that is faster because it finds less has
//! answered another question. Judged by the paired interval of the difference, as all comparisons are.

use serde::Serialize;

use crate::metric::METRICS;
use crate::samples::{Comparison, Samples};
use crate::stats::{ALPHA, Interval, MIN_BLOCKS_FOR_ESTIMATE};

/// Recall that may be lost without a word: half a hundredth of what should be found.
const SLIGHT: f64 = 0.005;

/// A kind of recall that is lower than the baseline's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecallLoss {
    /// The metric.
    pub metric: String,
    /// How much lower than the baseline's it is, paired within blocks.
    pub loss: f64,
    /// The interval of the loss at 95 %.
    pub interval: Interval,
}

/// Returns the metrics that say how much of what should be found is found. Single classes of queries have a recall
/// of their own, after a dot; the others share one.
pub(super) fn metrics() -> impl Iterator<Item = &'static str> {
    METRICS.iter().map(|metric| metric.name).filter(|name| name.starts_with("recall_"))
}

/// Returns the loss of a variant in this metric; `None` if no loss was found, or it is slight.
pub(super) fn loss(metric: &str, samples: &Samples, variant: usize) -> Option<RecallLoss> {
    let compared = Comparison::new(samples.differences(0, variant))
        .filter(|compared| compared.rounds() >= MIN_BLOCKS_FOR_ESTIMATE)?;
    let (loss, interval) = (compared.centre(), compared.plain_interval(ALPHA));
    (loss > SLIGHT && interval.low > 0.0).then(|| RecallLoss {
        metric: metric.to_owned(),
        loss,
        interval,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::Role;

    /// Eight rounds of a baseline and of a variant.
    fn samples(of: impl Fn(u32) -> (f64, f64)) -> Samples {
        let mut samples = Samples::new(2);
        for round in 0..8 {
            let (baseline, variant) = of(round);
            samples.add(round, 0, 0, Role::Baseline, baseline);
            samples.add(round, 0, 1, Role::Variant, variant);
        }
        samples
    }

    #[test]
    fn a_loss_is_found_and_a_slight_one_or_a_gain_is_not() {
        let lost = samples(|_| (0.934, 0.901));
        let found = loss("recall_word", &lost, 1).unwrap();
        assert!((found.loss - 0.033).abs() < 1e-9);
        assert_eq!(loss("recall_word", &samples(|_| (0.7, 0.696)), 1), None);
        assert_eq!(loss("recall_word", &samples(|_| (0.81, 0.95)), 1), None);
    }

    #[test]
    fn a_loss_within_the_noise_is_none() {
        let noisy = samples(|round| (0.9, if round % 2 == 0 { 0.7 } else { 1.0 }));
        assert_eq!(loss("recall_word", &noisy, 1), None);
    }

    #[test]
    fn a_recall_that_falls_to_nothing_is_a_loss() {
        assert!(loss("recall_cjk", &samples(|_| (1.0, 0.0)), 1).is_some());
    }

    #[test]
    fn every_kind_of_recall_is_compared() {
        let kinds: Vec<&str> = metrics().collect();
        assert!(kinds.contains(&"recall_word") && kinds.contains(&"recall_stem"));
    }
}
