//! By how much variants are better than the baseline of their rounds.

use lab::design::History;
use lab::stats::{
    ALPHA, Interval, detectable_difference, holm, mean, standard_deviation, student_interval,
    student_p_value,
};

/// The fewest common rounds of two variants that are compared.
const FEWEST: usize = 2;

/// A variant compared with the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Compared {
    /// The ratio.
    pub(super) ratio: f64,
    /// Its interval, corrected for the number of variants by Holm's method.
    pub(super) interval: Interval,
    /// The difference that would have been detected in 80 % of all cases, as a fraction.
    pub(super) detectable: f64,
    /// Common rounds.
    pub(super) rounds: usize,
}

/// Each of so many variants after the baseline compared with it: the ratio of its metric to the baseline's, or with a
/// sign of -1 the other way round. None for those with too few common rounds.
pub(super) fn compared(history: &History, others: usize, sign: f64) -> Vec<Option<Compared>> {
    let samples = history.samples(others + 1);
    let differences = (1..=others).map(|variant| -> Vec<f64> {
        let ratios = samples.log_ratios(variant, 0).into_iter();
        ratios.map(|ratio| sign * ratio).collect()
    });
    let differences: Vec<Vec<f64>> = differences.collect();
    let measured = differences.iter().filter(|it| it.len() >= FEWEST);
    let p_values = measured.map(|it| student_p_value(it, 0.0).unwrap_or(1.0));
    let mut rows = holm(&p_values.collect::<Vec<_>>(), ALPHA).into_iter();
    let compare = |differences: &Vec<f64>| {
        let is_enough = differences.len() >= FEWEST;
        let row = is_enough.then(|| rows.next()).flatten()?;
        Some(Compared {
            ratio: mean(differences).unwrap_or(0.0).exp(),
            interval: student_interval(differences, row.level).exp(),
            detectable: detectable(differences),
            rounds: differences.len(),
        })
    };
    differences.iter().map(compare).collect()
}

/// The detectable difference of log-ratios, as a fraction.
fn detectable(differences: &[f64]) -> f64 {
    let sd = standard_deviation(differences).unwrap_or(f64::INFINITY);
    detectable_difference(sd, differences.len()).exp_m1()
}
