//! Gains of single settings of a recommendation, and of changes of the application, which are not settings: each is
//! compared with the baseline of its rounds.

use lab::design::{History, Variant};
use lab::level::Settings;
use lab::stats::{
    ALPHA, Interval, detectable_difference, holm, mean, standard_deviation, student_interval,
    student_p_value,
};
use lab::tuning_plan::Advice;
use serde::Serialize;

use super::result::NOTHING;

/// The gain of one setting: the recommended configuration compared with the same with this one setting as it
/// is now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Contribution {
    /// Name of the setting, or of several that may only be tried together.
    pub settings: String,
    /// Its level that was measured, or theirs.
    pub levels: Settings,
    /// The variant without it.
    pub without: Variant,
    /// By how many times the setting is better.
    #[serde(flatten)]
    pub gain: Gain,
}

/// Returns whether one of these settings, named with `and` between them, decides how a commit is made safe at these levels.
/// `synchronous=extra` alone does what FULL does and more, so it stays only for what it brings like any other setting.
pub(super) fn decides_safety(settings: &str, levels: &Settings) -> bool {
    let is_extra = || levels.get("synchronous").is_some_and(|level| level.to_string() == "extra");
    let decides = |name| name == "journal_mode" || name == "synchronous" && !is_extra();
    settings.split(" and ").any(decides)
}

impl Contribution {
    /// Returns whether the setting stays as it is: it was expected to bring something, and its own rounds do not show it. What decides
    /// how safe a commit is stays unless they show that it brings nothing.
    pub fn is_left_out(&self) -> bool {
        self.brings_nothing()
            || !decides_safety(&self.settings, &self.levels) && self.gain.interval.low <= 1.0
    }

    /// Returns whether its rounds show no gain, and are enough to say so.
    pub fn brings_nothing(&self) -> bool {
        self.gain.is_certain() && self.gain.ratio <= NOTHING.exp()
    }
}

/// The gain of a change of the application: the recommended settings with and without it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advised {
    /// The change.
    pub advice: Advice,
    /// Its gain; `None` if it could not be measured.
    pub gain: Option<Gain>,
}

/// By how many times something is better.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// The ratio, above 1 for better.
    pub ratio: f64,
    /// Its interval, corrected for the number of comparisons by Holm's method.
    pub interval: Interval,
    /// The difference that would have been detected in 80 % of all cases, as a fraction.
    pub detectable: f64,
    /// Common rounds.
    pub rounds: usize,
}

impl Gain {
    /// Returns whether the rounds are enough to say anything.
    pub fn is_certain(&self) -> bool {
        self.detectable.is_finite()
    }
}

/// The fewest common rounds of two variants that are compared.
const FEWEST: usize = 2;

/// Compares each of `others` variants with the baseline: the ratio of its metric to the baseline's, or with a
/// sign of -1 the other way round. None for those with too few common rounds.
pub(super) fn compared(history: &History, others: usize, sign: f64) -> Vec<Option<Gain>> {
    let samples = history.samples(others + 1);
    let differences = (1..=others).map(|variant| -> Vec<f64> {
        samples.log_ratios(variant, 0).into_iter().map(|ratio| sign * ratio).collect()
    });
    let differences: Vec<Vec<f64>> = differences.collect();
    let measured = differences.iter().filter(|differences| differences.len() >= FEWEST);
    let p_values = measured.map(|trial| student_p_value(trial, 0.0).unwrap_or(1.0));
    let mut rows = holm(&p_values.collect::<Vec<_>>(), ALPHA).into_iter();
    let compare = |differences: &Vec<f64>| {
        let is_enough = differences.len() >= FEWEST;
        let row = is_enough.then(|| rows.next()).flatten()?;
        Some(Gain {
            ratio: mean(differences).unwrap_or(0.0).exp(),
            interval: student_interval(differences, row.level).exp(),
            detectable: detectable(differences),
            rounds: differences.len(),
        })
    };
    differences.iter().map(compare).collect()
}

/// Returns the detectable difference of log-ratios, as a fraction.
fn detectable(differences: &[f64]) -> f64 {
    let sd = standard_deviation(differences).unwrap_or(f64::INFINITY);
    detectable_difference(sd, differences.len()).exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_without_a_gain_of_its_own_is_left_out() {
        let of = |settings: &str, ratio: f64, detectable: f64| Contribution {
            settings: settings.to_owned(),
            levels: Settings::new(),
            without: Variant::default(),
            gain: Gain {
                ratio,
                interval: Interval { low: ratio * 0.9, high: ratio * 1.1 },
                detectable,
                rounds: 7,
            },
        };
        let (cache, mode) = ("cache_size", "journal_mode and synchronous");
        assert!(of(cache, 0.87, 0.1).is_left_out() && of(cache, 1.005, 0.1).is_left_out());
        assert!(of(cache, 1.05, 0.1).is_left_out(), "the interval holds 1");
        assert!(!of(cache, 2.0, 0.1).is_left_out());
        assert!(of(mode, 0.87, 0.1).is_left_out() && !of(mode, 1.05, 0.1).is_left_out());
        let mut extra = of("synchronous", 1.05, 0.1);
        assert!(!extra.is_left_out());
        extra.levels.insert("synchronous".to_owned(), "extra".into());
        assert!(extra.is_left_out(), "it syncs more, and the interval holds 1");
        // One or two rounds show nothing.
        assert!(of(cache, 1.05, f64::INFINITY).is_left_out());
        assert!(!of(mode, 0.87, f64::INFINITY).is_left_out());
    }
}
