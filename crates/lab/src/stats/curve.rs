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

use serde::{Deserialize, Serialize};

use super::line::{Line, can_be_fitted, distinct, explained};

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
}
