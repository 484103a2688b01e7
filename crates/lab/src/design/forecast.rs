//! How long an experiment will still take, as predicted from its trials so far.

use super::turns::{counting_trials, seconds_after};
use super::{Course, History, Stopping};
use crate::samples::Samples;
use crate::stats::standard_deviation;

/// Rounds before which the noise says nothing yet.
const FEWEST: u32 = 3;

/// The rounds that the stopping rule will probably ask for.
///
/// Half the width of a 95 % interval is about 2·σ/√n for paired differences with deviation σ, and
/// a little more for many variants; the variant with the most noise decides. Before three rounds are
/// done, the fewest rounds are expected.
pub fn expected_rounds(variants: usize, stopping: Stopping, history: &History) -> u32 {
    if history.rounds() < FEWEST {
        return stopping.rounds;
    }
    let samples = history.samples(variants);
    let noisiest =
        (1..variants).filter_map(|variant| deviation(&samples, variant)).fold(0.0, f64::max);
    let needed = (normal_quantile_for(variants) * noisiest / stopping.half_width).powi(2).ceil();
    (needed as u32).clamp(stopping.rounds, stopping.max_rounds.max(stopping.rounds))
}

/// Trials of the fewest rounds, and of counting.
pub fn fewest_trials(course: &Course) -> usize {
    course.stopping.rounds as usize * per_round(course) + counting_trials(course)
}

/// Seconds that the experiment will probably still take; `trial_s` is how long a trial takes
/// where none of the experiment's own has been run.
pub fn expected_seconds(course: &Course, history: &History, trial_s: f64) -> f64 {
    let own = history.trial_s().unwrap_or(trial_s);
    let rounds = match course.alone {
        true => course.stopping.rounds,
        false => expected_rounds(course.variants, course.stopping, history),
    };
    let all = f64::from(rounds) * per_round(course) as f64 * own;
    let capped = course.budget_s.map_or(all, |budget| all.min(budget));
    (capped - history.elapsed_s()).max(0.0) + seconds_after(course, own)
}

fn per_round(course: &Course) -> usize {
    match course.alone {
        true => course.variants,
        false => super::trials_per_round(course.variants + course.upper_bounds),
    }
}

fn deviation(samples: &Samples, variant: usize) -> Option<f64> {
    standard_deviation(&samples.log_ratios(variant, 0))
}

/// Two-sided normal quantile at 5 % divided by the number of comparisons, by the tail bound
/// z ≈ √(2·ln(1/p)), which is near enough for a forecast.
fn normal_quantile_for(variants: usize) -> f64 {
    let p = 0.025 / (variants.max(2) - 1) as f64;
    (2.0 * (1.0 / p).ln()).sqrt() * 0.85
}
