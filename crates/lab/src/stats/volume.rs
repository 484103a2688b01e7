//! The cost of rows of different lengths: a cost per row and a cost per unit of length.
//!
//! It goes with the knee of a cache ([`super::curve`]) because both say where a curve bends;
//! here the time of a row grows by a straight line, and the bend is where the second part of
//!
//! ```text
//! t(L) = row + unit · L
//! ```
//!
//! becomes larger than the first: from there on what limits is how fast the bytes are taken in,
//! by the disk in the end, and no longer how fast SQLite handles rows.

use serde::{Deserialize, Serialize};

use super::line::{Line, can_be_fitted, distinct, explained};

/// Fewest different lengths.
const MIN_LENGTHS: usize = 5;
/// Least part of the variance that the model must explain, adjusted for its parameters.
const MIN_EXPLAINED: f64 = 0.9;
/// Parameters of the model.
const PARAMETERS: usize = 2;

/// The cost of rows by their length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct VolumeCost {
    /// Time for each row whatever its length, in seconds, above 0.
    pub row: f64,
    /// Time for each unit of length, in seconds, above 0.
    pub unit: f64,
    /// Part of the variance that the model explains (R² with the weights of the fit), up to 1.
    pub r_squared: f64,
}

impl VolumeCost {
    /// Returns the length at which the row's own cost and the cost of its length are equal, within the lengths
    /// that were measured.
    pub fn crossover(&self) -> f64 {
        self.row / self.unit
    }

    /// Returns the model's time for a row of this length, in seconds.
    pub fn seconds_per_row(&self, length: f64) -> f64 {
        self.row + self.unit * length
    }
}

/// Fits the model to the times per row, in seconds, of rows of these lengths.
///
/// None unless the data show the crossover: five different lengths or more, R² adjusted for the
/// parameters of at least 0.9, and the crossover between the smallest and the largest length. None
/// also for lists of unequal size and for values that are not finite and positive.
pub fn fit_volume_cost(lengths: &[f64], seconds_per_row: &[f64]) -> Option<VolumeCost> {
    if !can_be_fitted(lengths, seconds_per_row) {
        return None;
    }
    let different = distinct(lengths);
    if different.len() < MIN_LENGTHS {
        return None;
    }
    let line = Line::fit(lengths, seconds_per_row)?;
    let squares = line.squares(lengths, seconds_per_row);
    let (adjusted, r_squared) = explained(squares, seconds_per_row, PARAMETERS)?;
    let cost = VolumeCost { row: line.start, unit: line.slope, r_squared };
    let measured = different[0]..different[different.len() - 1];
    (adjusted >= MIN_EXPLAINED && measured.contains(&cost.crossover())).then_some(cost)
}

#[cfg(test)]
mod tests {
    use super::super::simulation::Noise;
    use super::*;

    const LENGTHS: [f64; 7] = [4.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

    fn times(time: impl Fn(f64) -> f64, sigma: f64, noise: &mut Noise) -> Vec<f64> {
        LENGTHS.iter().map(|length| time(*length) * (sigma * noise.normal()).exp()).collect()
    }

    #[test]
    fn planted_costs_are_found_again_under_noise() {
        let planted = VolumeCost { row: 2e-7, unit: 2e-9, r_squared: 1.0 };
        let mut noise = Noise::new(5);
        for _ in 0..200 {
            let times = times(|length| planted.seconds_per_row(length), 0.03, &mut noise);
            let found = fit_volume_cost(&LENGTHS, &times).expect("a crossover");
            let off = (found.crossover() / planted.crossover()).ln().abs();
            assert!(off < 0.2, "{found:?}");
        }
    }

    #[test]
    fn rows_that_cost_the_same_at_any_length_or_only_by_length_have_no_crossover() {
        let mut noise = Noise::new(6);
        for sigma in [0.0, 0.05] {
            for _ in 0..200 {
                let flat = times(|_| 2e-7, sigma, &mut noise);
                assert_eq!(fit_volume_cost(&LENGTHS, &flat), None);
                let volume = times(|length| 1e-9 * length, sigma, &mut noise);
                assert_eq!(fit_volume_cost(&LENGTHS, &volume), None);
            }
        }
    }

    #[test]
    fn times_that_do_not_lie_on_a_line_are_not_fitted() {
        let zigzag: Vec<f64> = (0..7).map(|n| if n % 2 == 0 { 1e-7 } else { 9e-7 }).collect();
        assert_eq!(fit_volume_cost(&LENGTHS, &zigzag), None);
    }

    #[test]
    fn data_that_cannot_be_fitted_have_no_crossover() {
        assert_eq!(fit_volume_cost(&LENGTHS[..4], &[1.0, 2.0, 3.0, 4.0]), None);
        assert_eq!(fit_volume_cost(&LENGTHS, &[1.0]), None);
        assert_eq!(fit_volume_cost(&LENGTHS, &[f64::NAN; 7]), None);
        assert_eq!(fit_volume_cost(&[], &[]), None);
    }
}
