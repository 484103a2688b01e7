//! Whether the throughput of one trial held still while it was measured.
//!
//! The rule, for a series of about 100 throughput windows:
//!
//! 1. The windows are averaged into 18 batches of equal length, which takes most of the
//!    correlation between neighbours away. The first three batches are the *opening*, the last
//!    twelve the *tail*; the three between belong to neither.
//! 2. The *tail change* is Theil and Sen's slope over the tail (the median of the slopes of all
//!    pairs; Sen, JASA 63, 1968) times the length of the tail, relative to the tail's median. It is
//!    real when the Mann–Kendall test rejects at [`TEST_LEVEL`] and material when it reaches
//!    [`MATERIAL_CHANGE`].
//! 3. The *opening change* is the tail's median relative to the opening's. It is real when the
//!    Mann–Whitney test rejects at [`TEST_LEVEL`], and material also.
//! 4. A real, material tail change is **drifting**. So is a real, material opening change that the
//!    tail continues by half as much or more. Another real, material opening change is
//!    **warming**, upwards or downwards: the tail alone is fit to be compared. Everything else is
//!    **steady**.
//!
//! Significant is not relevant: hence two conditions. Rank tests are used because one stall in a
//! batch is not a trend. Pure noise, also when neighbouring windows are correlated by one half, is
//! called drifting or warming in less than 5 % of trials (tested below). An opening shorter than
//! about an eighth of the trial is too short to be told from a stall.

use serde::{Deserialize, Serialize};

use super::descriptive::{mean, median};
use super::rank_tests::{shift_p_value, trend_p_value};

/// The smallest relative change worth a label.
pub const MATERIAL_CHANGE: f64 = 0.05;

/// The fewest windows that can be judged: one for each batch.
pub const MIN_WINDOWS: usize = BATCHES;

/// The error rate of each of the two tests: together they stay below 5 % also when windows are
/// correlated.
const TEST_LEVEL: f64 = 0.01;
const BATCHES: usize = 18;
const OPENING: usize = 3;
const TAIL: usize = 12;

/// The shape of a series of windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SteadinessLabel {
    /// The opening differs from the rest, which is steady.
    Warming,
    /// No change worth a label.
    Steady,
    /// The level was still changing in the last two thirds.
    Drifting,
}

/// The steadiness of one trial, with the changes it was judged by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Steadiness {
    /// The verdict.
    pub label: SteadinessLabel,
    /// The level of the last two thirds relative to the first sixth: 0.1 is a tenth faster.
    pub opening_change: f64,
    /// The estimated change across the last two thirds relative to their median: -0.1 is a tenth
    /// slower at the end than at their beginning.
    pub tail_change: f64,
}

/// Judges a series of throughput windows of equal length in time, in the order of time and any
/// unit.
///
/// `None` for fewer than [`MIN_WINDOWS`] windows, for a window that is not finite, and when the
/// median level of opening or tail is not above zero.
pub fn steadiness(windows: &[f64]) -> Option<Steadiness> {
    let batches = batch_means(windows)?;
    let (opening, tail) = (&batches[..OPENING], &batches[BATCHES - TAIL..]);
    let (opening_level, tail_level) = (median(opening)?, median(tail)?);
    if opening_level <= 0.0 || tail_level <= 0.0 {
        return None;
    }
    let opening_change = tail_level / opening_level - 1.0;
    let tail_change = theil_sen_slope(tail)? * (TAIL - 1) as f64 / tail_level;
    let opening_changed = is_material(opening_change) && shift_p_value(opening, tail) <= TEST_LEVEL;
    let tail_changed = is_material(tail_change) && trend_p_value(tail) <= TEST_LEVEL;
    let goes_on = tail_change * opening_change.signum() >= opening_change.abs() / 2.0;
    let label = if tail_changed || (opening_changed && goes_on) {
        SteadinessLabel::Drifting
    } else if opening_changed {
        SteadinessLabel::Warming
    } else {
        SteadinessLabel::Steady
    };
    Some(Steadiness { label, opening_change, tail_change })
}

fn is_material(change: f64) -> bool {
    change.abs() >= MATERIAL_CHANGE
}

/// Returns the means of [`BATCHES`] runs of neighbouring windows, as equal in length as the number of
/// windows allows.
fn batch_means(windows: &[f64]) -> Option<Vec<f64>> {
    if windows.len() < MIN_WINDOWS {
        return None;
    }
    let edge = |batch: usize| batch * windows.len() / BATCHES;
    (0..BATCHES).map(|batch| mean(&windows[edge(batch)..edge(batch + 1)])).collect()
}

/// Returns the median slope, for each step, of all pairs of values.
fn theil_sen_slope(series: &[f64]) -> Option<f64> {
    let slopes: Vec<f64> = series
        .iter()
        .enumerate()
        .flat_map(|(i, a)| {
            series[i + 1..].iter().enumerate().map(move |(gap, b)| (b - a) / (gap + 1) as f64)
        })
        .collect();
    median(&slopes)
}

#[cfg(test)]
mod tests {
    use SteadinessLabel::{Drifting, Steady, Warming};

    use super::super::simulation::Noise;
    use super::*;

    /// A hundred windows of the given shape (a function of time from 0 to 1) under log-normal
    /// noise whose neighbours are correlated by `correlation`.
    fn windows(
        noise: &mut Noise,
        sd: f64,
        correlation: f64,
        shape: impl Fn(f64) -> f64,
    ) -> Vec<f64> {
        let mut state = noise.normal();
        (0..100)
            .map(|window| {
                let fresh = (1.0 - correlation * correlation).sqrt() * noise.normal();
                state = correlation * state + fresh;
                1e5 * shape(window as f64 / 99.0) * (sd * state).exp()
            })
            .collect()
    }

    /// The share of 1,000 simulated trials of one shape that get the label.
    fn share(label: SteadinessLabel, sd: f64, correlation: f64, shape: fn(f64) -> f64) -> f64 {
        let mut noise = Noise::new(7);
        let labelled = (0..1000).filter(|_| {
            let windows = windows(&mut noise, sd, correlation, shape);
            steadiness(&windows).unwrap().label == label
        });
        labelled.count() as f64 / 1000.0
    }

    #[test]
    fn noise_is_rarely_called_anything_but_steady() {
        for sd in [0.02, 0.1, 0.4] {
            for correlation in [0.0, 0.5] {
                let steady = share(Steady, sd, correlation, |_| 1.0);
                assert!(steady >= 0.95, "sd {sd}, correlation {correlation}: {steady}");
            }
        }
    }

    #[test]
    fn a_lasting_trend_is_drifting_in_either_direction() {
        assert!(share(Drifting, 0.02, 0.3, |t| 1.0 + 0.15 * t) > 0.95);
        assert!(share(Drifting, 0.05, 0.3, |t| 1.0 - 0.2 * t) > 0.95);
        assert!(share(Drifting, 0.10, 0.3, |t| 1.0 - 0.4 * t) > 0.95);
    }

    #[test]
    fn a_transient_at_the_beginning_is_warming_in_either_direction() {
        assert!(share(Warming, 0.05, 0.3, |t| 1.0 - 0.5 * (-t / 0.08).exp()) > 0.95);
        assert!(share(Warming, 0.05, 0.3, |t| if t < 0.15 { 1.3 } else { 1.0 }) > 0.95);
    }

    #[test]
    fn one_long_stall_is_neither_warming_nor_drifting() {
        let stalled =
            share(Steady, 0.05, 0.3, |t| if (0.6..0.65).contains(&t) { 0.1 } else { 1.0 });
        assert!(stalled >= 0.95, "{stalled}");
    }

    #[test]
    fn changes_are_estimated_with_their_sign() {
        let mut noise = Noise::new(3);
        let drift = steadiness(&windows(&mut noise, 0.01, 0.0, |t| 1.0 - 0.3 * t)).unwrap();
        // From 0.89 to 0.71 over the middles of the tail's batches, around a median of 0.80.
        assert!((drift.tail_change + 0.23).abs() < 0.03, "{drift:?}");
        let step = |t: f64| if t < 0.16 { 0.5 } else { 1.0 };
        let warm = steadiness(&windows(&mut noise, 0.01, 0.0, step)).unwrap();
        assert_eq!(warm.label, Warming);
        assert!((warm.opening_change - 1.0).abs() < 0.05, "{warm:?}");
    }

    #[test]
    fn series_that_cannot_be_judged_have_no_label() {
        assert_eq!(steadiness(&[1.0; MIN_WINDOWS - 1]), None);
        assert_eq!(steadiness(&[0.0; 100]), None);
        assert_eq!(steadiness(&[f64::NAN; 100]), None);
        assert_eq!(steadiness(&[1.0; MIN_WINDOWS]).unwrap().label, Steady);
    }
}
