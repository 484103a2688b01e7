//! What single settings contribute to a recommendation.

use serde::Serialize;

use super::settled::NOTHING;
use lab::design::Variant;
use lab::level::Settings;
use lab::stats::Interval;

/// What one setting contributes: the recommended configuration compared with the same with this one setting as it
/// is now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Contribution {
    /// Name of the setting, or of several that may only be tried together.
    pub settings: String,
    /// Its level that was measured, or theirs.
    pub levels: Settings,
    /// The variant without it.
    pub without: Variant,
    /// By how many times the setting is better, above 1 for better.
    pub ratio: f64,
    /// The interval of the ratio, corrected for the number of settings by Holm's method.
    pub interval: Interval,
    /// The difference that would have been detected in 80 % of all cases, as a fraction.
    pub detectable: f64,
    /// Rounds.
    pub rounds: usize,
}

impl Contribution {
    /// Whether the setting stays as it is: it was expected to bring something, and its own rounds do not show it.
    pub fn is_left_out(&self) -> bool {
        self.detectable.is_finite() && self.ratio <= NOTHING.exp()
    }

    /// Whether the setting is better or worse by more than noise.
    pub fn is_found(&self) -> bool {
        !self.interval.contains(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_without_a_gain_of_its_own_is_left_out() {
        let of = |ratio: f64, detectable: f64| Contribution {
            settings: "cache_size".to_owned(),
            levels: Settings::new(),
            without: Variant::default(),
            ratio,
            interval: Interval { low: ratio * 0.9, high: ratio * 1.1 },
            detectable,
            rounds: 7,
        };
        assert!(of(0.87, 0.1).is_left_out() && of(1.005, 0.1).is_left_out());
        assert!(!of(1.05, 0.1).is_left_out() && !of(2.0, 0.1).is_left_out());
        // One or two rounds show nothing.
        assert!(!of(0.87, f64::INFINITY).is_left_out());
    }
}
