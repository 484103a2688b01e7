//! The knee of a growth curve: from which size on a structure no longer fits into its cache.
//!
//! It stands apart from the comparisons of variants because it fits a model to many sizes instead of
//! estimating one ratio. The model: rows arrive in random order, so each of `n` rows is equally
//! likely to be touched next, and a cache with room for the pages of `C` rows misses with
//! probability `max(0, 1 − C/n)` whatever it evicts (the independent baseline model; Coffman and
//! Denning, *Operating Systems Theory*, Prentice-Hall 1973). The mean over the growth from nothing
//! to `N` rows is
//!
//! ```text
//! t(N) = t0 + tm · (N − C − C·ln(N/C)) / N   for N > C, else t0
//! ```
//!
//! Straight lines through times, by least squares of the relative residuals.
//!
//! Residuals are relative (weights `1/t²`), because the noise of a time grows with it.
//!
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

/// Candidates for the capacity, evenly spaced in its logarithm.
const GRID: usize = 1000;
/// Fewest different sizes: with four, noise of 3 % turned steady growth into a knee in 8 % of
/// simulated curves, with six in 2 %, and with ten in none.
const MIN_SIZES: usize = 5;
/// Least part of the variance that the model must explain, after the adjustment for its
/// parameters.
const MIN_EXPLAINED: f64 = 0.9;
/// Least growth of the time per row from the smallest to the largest size, as a part of `t0`;
/// less is not a knee that a reader could act on, and noise of a few per cent can feign it.
const MIN_GROWTH: f64 = 0.25;
/// How many times the knee's mean square of residuals the one of steady growth must be:
/// a line through a few noisy sizes bends by chance.
const MIN_ADVANTAGE: f64 = 4.0;
/// Parameters of the model.
const PARAMETERS: usize = 3;

/// A knee found in a growth curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheKnee {
    /// Time per row while everything is cached (`t0`), in seconds, from 0.
    pub base: f64,
    /// Time that one miss adds (`tm`), in seconds, above 0.
    pub miss: f64,
    /// Rows whose pages fit into the cache (`C`), within the sizes that were measured.
    pub capacity: f64,
    /// Part of the variance that the model explains (R² with the weights of the fit), up to 1.
    pub r_squared: f64,
}

impl CacheKnee {
    /// Returns the model's mean time per row, in seconds, over the growth from nothing to `rows`.
    pub fn seconds_per_row(&self, rows: f64) -> f64 {
        self.base + self.miss * mean_miss_probability(rows, self.capacity)
    }
}

/// Returns the mean probability of a miss while a structure grows from nothing to `rows`, with a cache
/// for `capacity` of them: 0 to 1.
fn mean_miss_probability(rows: f64, capacity: f64) -> f64 {
    if rows <= capacity {
        return 0.0;
    }
    (rows - capacity - capacity * (rows / capacity).ln()) / rows
}

/// Fits the model to mean times per row, in seconds, of growths to `n` rows.
///
/// For each capacity of a grid, `t0` and `tm` are found by linear least squares with neither below
/// 0. Residuals are relative (weights `1/t²`), because the noise of a time grows with it.
///
/// None unless the data show the knee: five different sizes or more, the best capacity between the
/// smallest and the second-largest of them (so that both sides of the knee were measured), R²
/// adjusted for the parameters of at least 0.9, a time per row that grows by a quarter or more, and
/// a clearly better fit (a quarter of the mean square) than steady growth with the logarithm of the
/// size, which a tree shows without any cache. None also for lists of unequal length and for values that are not finite and positive.
pub fn fit_cache_knee(n: &[f64], seconds_per_row: &[f64]) -> Option<CacheKnee> {
    if !can_be_fitted(n, seconds_per_row) {
        return None;
    }
    let sizes = distinct(n);
    if sizes.len() < MIN_SIZES {
        return None;
    }
    let largest = sizes[sizes.len() - 1];
    let (knee, squares) = best_knee(n, seconds_per_row, sizes[0], sizes[sizes.len() - 2])?;
    let (adjusted, _) = explained(squares, seconds_per_row, PARAMETERS)?;
    let freedom = |parameters: usize| (n.len() - parameters) as f64;
    let steady = steady_growth_squares(n, seconds_per_row, sizes[0])?;
    let shown = adjusted >= MIN_EXPLAINED
        && knee.seconds_per_row(largest) >= (1.0 + MIN_GROWTH) * knee.base
        && MIN_ADVANTAGE * squares / freedom(PARAMETERS) <= steady / freedom(2);
    shown.then_some(knee)
}

/// Returns the sum of squares of the best straight line over the logarithm of the size.
fn steady_growth_squares(n: &[f64], times: &[f64], smallest: f64) -> Option<f64> {
    let logarithms: Vec<f64> = n.iter().map(|rows| (rows / smallest).ln()).collect();
    Some(Line::fit(&logarithms, times)?.squares(&logarithms, times))
}

/// Returns the best of the grid with its sum of squares; `None` if it lies at an end of the grid, beyond
/// which the data do not reach.
fn best_knee(n: &[f64], times: &[f64], least: f64, most: f64) -> Option<(CacheKnee, f64)> {
    let mut best: Option<(usize, f64, Line, f64)> = None;
    for step in 0..=GRID {
        let capacity = least * (most / least).powf(step as f64 / GRID as f64);
        let misses: Vec<f64> =
            n.iter().map(|rows| mean_miss_probability(*rows, capacity)).collect();
        let Some(line) = Line::fit(&misses, times) else { continue };
        let squares = line.squares(&misses, times);
        if best.is_none_or(|(.., least)| squares < least) {
            best = Some((step, capacity, line, squares));
        }
    }
    let (step, capacity, line, squares) = best?;
    let inside = step > 0 && step < GRID;
    let (_, r_squared) = explained(squares, times, PARAMETERS)?;
    inside.then(|| {
        let knee = CacheKnee { base: line.start, miss: line.slope, capacity, r_squared };
        (knee, squares)
    })
}

/// Returns whether points can be fitted: as many times as places, all finite and above 0.
pub(super) fn can_be_fitted(x: &[f64], times: &[f64]) -> bool {
    let usable = |values: &[f64]| values.iter().all(|value| value.is_finite() && *value > 0.0);
    x.len() == times.len() && usable(x) && usable(times)
}

/// R² of a fit with this sum of squares, adjusted for its number of parameters (Theil, *Economic
/// Forecasts and Policy*, 1961), up to 1; and R² itself.
pub(super) fn explained(squares: f64, times: &[f64], parameters: usize) -> Option<(f64, f64)> {
    let total = total_squares(times);
    let freedom = |parameters: usize| (times.len() - parameters) as f64;
    (total > 0.0).then(|| {
        let r_squared = 1.0 - squares / total;
        let adjusted = 1.0 - (1.0 - r_squared) * freedom(1) / freedom(parameters);
        (adjusted, r_squared)
    })
}

/// Returns the different ones among values, in order.
pub(super) fn distinct(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    sorted
}

/// A straight line `start + slope · x` through times, `start` not below 0 and `slope` above it.
#[derive(Clone, Copy)]
pub(super) struct Line {
    /// Where it starts, in seconds.
    pub(super) start: f64,
    /// How it rises, in seconds for each unit of `x`.
    pub(super) slope: f64,
}

impl Line {
    /// Least squares of the relative residuals; `None` if no line rises.
    pub(super) fn fit(x: &[f64], times: &[f64]) -> Option<Line> {
        let sum = |term: &dyn Fn(f64, f64) -> f64| -> f64 {
            x.iter().zip(times).map(|(x, t)| term(*x, *t) / (t * t)).sum()
        };
        let (w, wx, wxx) = (sum(&|_, _| 1.0), sum(&|x, _| x), sum(&|x, _| x * x));
        let (wt, wxt) = (sum(&|_, t| t), sum(&|x, t| x * t));
        let slope = (w * wxt - wx * wt) / (w * wxx - wx * wx);
        let start = (wt - slope * wx) / w;
        let line =
            if start < 0.0 { Line { start: 0.0, slope: wxt / wxx } } else { Line { start, slope } };
        (line.slope.is_finite() && line.slope > 0.0).then_some(line)
    }

    /// Returns the sum of the squared relative residuals.
    pub(super) fn squares(&self, x: &[f64], times: &[f64]) -> f64 {
        let residuals = x.iter().zip(times).map(|(x, t)| (self.start + self.slope * x - t) / t);
        residuals.map(|residual| residual * residual).sum()
    }
}

/// Returns the sum of the squared relative residuals of the best constant.
fn total_squares(times: &[f64]) -> f64 {
    let weights: f64 = times.iter().map(|t| 1.0 / (t * t)).sum();
    let constant = times.iter().map(|t| 1.0 / t).sum::<f64>() / weights;
    times.iter().map(|t| ((constant - t) / t).powi(2)).sum()
}

/// Fewest different lengths.
const MIN_LENGTHS: usize = 5;
/// Parameters of the model of volume.
const VOLUME_PARAMETERS: usize = 2;

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
    let (adjusted, r_squared) = explained(squares, seconds_per_row, VOLUME_PARAMETERS)?;
    let cost = VolumeCost { row: line.start, unit: line.slope, r_squared };
    let measured = different[0]..different[different.len() - 1];
    (adjusted >= MIN_EXPLAINED && measured.contains(&cost.crossover())).then_some(cost)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::properties::fixed_seed;
    use super::super::simulation::Noise;
    use super::*;

    /// Sizes from `first` on, three a decade, over `decades`.
    fn sizes(first: f64, decades: usize) -> Vec<f64> {
        (0..=3 * decades).map(|step| first * 10f64.powf(step as f64 / 3.0)).collect()
    }

    const SIX: [f64; 6] = [1e5, 3e5, 1e6, 3e6, 1e7, 3e7];

    fn noisy(n: &[f64], sigma: f64, noise: &mut Noise, time: impl Fn(f64) -> f64) -> Vec<f64> {
        n.iter().map(|n| time(*n) * (sigma * noise.normal()).exp()).collect()
    }

    /// The part of 200 made-up curves with noise of `sigma` in which a knee is seen.
    fn seen(n: &[f64], sigma: f64, time: impl Fn(f64) -> f64) -> f64 {
        let mut noise = Noise::new(11);
        let found = (0..200).filter(|_| {
            let times = noisy(n, sigma, &mut noise, &time);
            fit_cache_knee(n, &times).is_some()
        });
        found.count() as f64 / 200.0
    }

    #[test]
    fn the_mean_miss_probability_is_the_integral_of_the_miss_probability() {
        let (capacity, rows, steps) = (3e5, 4e6, 200_000);
        let width = rows / f64::from(steps);
        let integral: f64 = (0..steps)
            .map(|step| (f64::from(step) + 0.5) * width)
            .map(|n| (1.0 - capacity / n).max(0.0) * width)
            .sum();
        let expected = integral / rows;
        assert!((mean_miss_probability(rows, capacity) - expected).abs() < 1e-6);
        assert_eq!(mean_miss_probability(capacity, capacity), 0.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, ..fixed_seed() })]

        #[test]
        fn planted_parameters_are_recovered_under_noise(
            base in 5e-7..5e-6_f64, factor in 3.0..40.0_f64, place in 0.3..0.6_f64, seed in 0..1000_u64,
        ) {
            let n = sizes(1e5, 3);
            let planted = CacheKnee {
                base,
                miss: base * factor,
                capacity: 1e5 * 1e3_f64.powf(place),
                r_squared: 1.0,
            };
            let times = noisy(&n, 0.02, &mut Noise::new(seed), |n| planted.seconds_per_row(n));
            let found = fit_cache_knee(&n, &times).expect("a knee");
            let off = |found: f64, planted: f64| (found / planted).ln().abs();
            prop_assert!(off(found.base, planted.base) < 0.10, "{found:?} {planted:?}");
            prop_assert!(off(found.miss, planted.miss) < 0.25, "{found:?} {planted:?}");
            prop_assert!(off(found.capacity, planted.capacity) < 0.40, "{found:?} {planted:?}");
            prop_assert!(found.r_squared > 0.95);
        }
    }

    #[test]
    fn exact_data_give_the_parameters_back() {
        let planted = CacheKnee { base: 1e-6, miss: 2e-5, capacity: 1.3e6, r_squared: 1.0 };
        let n = sizes(1e5, 3);
        let times: Vec<f64> = n.iter().map(|n| planted.seconds_per_row(*n)).collect();
        let found = fit_cache_knee(&n, &times).unwrap();
        assert!((found.capacity / planted.capacity - 1.0).abs() < 0.01);
        assert!((found.miss / planted.miss - 1.0).abs() < 0.02);
        assert!((found.base / planted.base - 1.0).abs() < 0.01);
        assert!(found.r_squared > 0.9999);
    }

    #[test]
    fn flat_data_have_no_knee_however_noisy() {
        for sigma in [0.0, 0.02, 0.1] {
            assert_eq!(seen(&sizes(1e5, 3), sigma, |_| 2e-6), 0.0);
            assert_eq!(seen(&SIX, sigma, |_| 2e-6), 0.0);
        }
    }

    #[test]
    fn growth_without_a_knee_is_rarely_taken_for_one() {
        let slow = |n: f64| 1e-7 * n.ln();
        let fast = |n: f64| 1e-6 * (n / 3e4).ln();
        let power = |n: f64| 1e-6 * n.powf(0.3);
        let linear = |n: f64| 1e-6 + 1e-12 * n;
        let all: [&dyn Fn(f64) -> f64; 4] = [&slow, &fast, &power, &linear];
        for growth in all {
            assert!(seen(&SIX, 0.03, growth) <= 0.02);
            assert_eq!(seen(&sizes(1e5, 3), 0.03, growth), 0.0);
        }
    }

    #[test]
    fn a_knee_that_triples_the_time_is_always_seen() {
        let knee = |n: f64| 1e-6 + 3e-6 * mean_miss_probability(n, 1e6);
        assert_eq!(seen(&SIX, 0.03, knee), 1.0);
        assert_eq!(seen(&sizes(1e5, 3), 0.05, knee), 1.0);
    }

    #[test]
    fn a_knee_outside_the_sizes_is_not_made_up() {
        let beyond = |capacity: f64| move |n: f64| 1e-6 + 2e-5 * mean_miss_probability(n, capacity);
        let n = sizes(1e5, 3);
        assert_eq!(seen(&n, 0.02, beyond(1.1e8)), 0.0);
        assert!(seen(&n, 0.02, beyond(1e4)) < 0.02);
    }

    #[test]
    fn data_that_cannot_be_fitted_have_no_knee() {
        assert!(fit_cache_knee(&SIX[..4], &[1.0, 1.0, 4.0, 7.0]).is_none());
        assert!(fit_cache_knee(&[1.0, 2.0], &[1.0]).is_none());
        assert!(fit_cache_knee(&SIX, &[1.0, 1.0, f64::NAN, 4.0, 7.0, 9.0]).is_none());
        assert!(
            fit_cache_knee(&[0.0, 3e5, 1e6, 3e6, 1e7, 3e7], &[1.0, 1.0, 1.0, 4.0, 7.0, 9.0])
                .is_none()
        );
        assert!(fit_cache_knee(&[], &[]).is_none());
    }

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
