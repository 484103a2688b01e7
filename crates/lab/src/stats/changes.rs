//! Where the level of a series of figures changes: PELT.
//!
//! Killick, Fearnhead and Eckley, "Optimal detection of changepoints with a linear computational cost", Journal of the
//! American Statistical Association 107 (2012): of all ways to divide the series, the one with the least sum of squared
//! distances from the mean of each part, and a penalty for each part. Distances are in units of the noise, which is
//! estimated from the differences of neighbours (a change of level is one of them, and does not count), and
//! those beyond three of it count as three, so that a single outlier is not a change. The penalty is chosen
//! by simulation: a series without a change shows one in at most 5 % of all cases (see the tests).

use super::descriptive::median;

/// The fewest figures of a part.
const LEAST: usize = 4;
/// The penalty for a change, in units of the logarithm of the number of figures.
const PENALTY: f64 = 7.0;
/// Distances are capped at this number of standard deviations.
const FAR: f64 = 3.0;

/// Returns the positions at which a new level begins, in their order; none in fewer than 8 figures, or without noise
/// that can be estimated.
pub fn change_points(values: &[f64]) -> Vec<usize> {
    let Some(scaled) = scaled(values) else { return Vec::new() };
    let best = divided(&scaled);
    let mut points = Vec::new();
    let mut end = scaled.len();
    while best[end].1 > 0 {
        end = best[end].1;
        points.push(end);
    }
    points.reverse();
    points
}

/// Returns the least cost of the first `n` figures, and where their last part begins.
fn divided(scaled: &[f64]) -> Vec<(f64, usize)> {
    let n = scaled.len();
    let penalty = PENALTY * (n as f64).ln();
    let sums = Sums::of(scaled);
    let mut best = vec![(-penalty, 0); n + 1];
    // Where a last part may begin, and from which end on another beginning is not worse.
    let mut candidates: Vec<(usize, usize)> = vec![(0, usize::MAX)];
    for end in LEAST..=n {
        if end >= 2 * LEAST {
            candidates.push((end - LEAST, usize::MAX));
        }
        // What cannot win any more is left out, which makes the method fast.
        candidates.retain(|(_, beaten_from)| end < *beaten_from);
        let part = |start: usize| best[start].0 + sums.cost(start, end);
        let costs = candidates.iter().map(|(start, _)| (part(*start), *start));
        let Some((least, start)) = costs.min_by(|one, other| one.0.total_cmp(&other.0)) else {
            continue;
        };
        let least = least + penalty;
        for (start, beaten_from) in &mut candidates {
            // A part that begins here instead reaches its least length only that number of figures later.
            if part(*start) > least {
                *beaten_from = (*beaten_from).min(end + LEAST);
            }
        }
        best[end] = (least, start);
    }
    best
}

/// Returns the figures in units of their noise, single outliers drawn in.
fn scaled(values: &[f64]) -> Option<Vec<f64>> {
    if values.len() < 2 * LEAST || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    /// The median of absolute values of the normal distribution.
    const OF_NORMAL: f64 = 0.674_489_75;
    let steps: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    let noise = median(&steps)? / OF_NORMAL / std::f64::consts::SQRT_2;
    (noise > 0.0).then(|| (0..values.len()).map(|at| drawn_in(values, at, noise)).collect())
}

/// Returns a figure in units of the noise, no further from the median of its neighbourhood than [`FAR`].
fn drawn_in(values: &[f64], at: usize, noise: f64) -> f64 {
    let (from, to) = (at.saturating_sub(LEAST - 1), (at + LEAST).min(values.len()));
    let middle = median(&values[from..to]).unwrap_or(values[at]) / noise;
    let value = values[at] / noise;
    value.clamp(middle - FAR, middle + FAR)
}

/// Sums from the beginning, so that the cost of a part takes no loop.
struct Sums {
    values: Vec<f64>,
    squares: Vec<f64>,
}

impl Sums {
    fn of(values: &[f64]) -> Sums {
        let centre = values.iter().sum::<f64>() / values.len() as f64;
        let mut sums = Sums { values: vec![0.0], squares: vec![0.0] };
        for (at, value) in values.iter().enumerate() {
            // Around the centre, so that no digits are lost.
            let value = value - centre;
            sums.values.push(sums.values[at] + value);
            sums.squares.push(sums.squares[at] + value * value);
        }
        sums
    }

    /// Returns the sum of squared distances from the mean of a part.
    fn cost(&self, start: usize, end: usize) -> f64 {
        let sum = self.values[end] - self.values[start];
        self.squares[end] - self.squares[start] - sum * sum / (end - start) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::super::simulation::Noise;
    use super::*;

    /// Noise with one value in twenty five times as far.
    fn heavy(noise: &mut Noise) -> f64 {
        let factor = if noise.uniform() < 0.05 { 5.0 } else { 1.0 };
        factor * noise.normal()
    }

    #[test]
    fn a_series_without_a_change_shows_one_in_few_cases() {
        let mut noise = Noise::new(3);
        for n in [10, 30, 120] {
            for draw in [Noise::normal, heavy] {
                const CASES: usize = 400;
                let shows = |_: &usize| {
                    let values: Vec<f64> = (0..n).map(|_| draw(&mut noise)).collect();
                    !change_points(&values).is_empty()
                };
                let rate = (0..CASES).filter(shows).count() as f64 / CASES as f64;
                assert!(rate <= 0.05, "{rate} of {n}");
            }
        }
    }

    #[test]
    fn changes_are_found_where_they_are() {
        let mut noise = Noise::new(4);
        let mut hits = 0;
        for _ in 0..200 {
            let level = |at: usize| match at {
                ..30 => 0.0,
                30..60 => 4.0,
                _ => 1.0,
            };
            let values: Vec<f64> = (0..90).map(|at| level(at) + noise.normal()).collect();
            let points = change_points(&values);
            let is_near = |(point, truth): (&usize, usize)| point.abs_diff(truth) <= 3;
            hits += usize::from(points.len() == 2 && points.iter().zip([30, 60]).all(is_near));
        }
        assert!(hits >= 190, "{hits}");
    }

    /// The least cost of all divisions, with every beginning looked at.
    fn least_cost(scaled: &[f64]) -> f64 {
        let n = scaled.len();
        let penalty = PENALTY * (n as f64).ln();
        let sums = Sums::of(scaled);
        let mut best = vec![f64::INFINITY; n + 1];
        best[0] = -penalty;
        for end in LEAST..=n {
            for start in (0..=end - LEAST).filter(|it| *it == 0 || *it >= LEAST) {
                best[end] = best[end].min(best[start] + sums.cost(start, end) + penalty);
            }
        }
        best[n]
    }

    #[test]
    fn no_division_costs_less_than_the_one_that_is_found() {
        let mut noise = Noise::new(6);
        for case in 0..300 {
            // Levels that are often shorter than the least length, where pruning is delicate.
            let mut level = 0.0;
            let values: Vec<f64> = (0..60)
                .map(|_| {
                    if noise.uniform() < 0.2 {
                        level = 8.0 * noise.normal();
                    }
                    level + noise.normal()
                })
                .collect();
            let (found, least) = (divided(&values)[60].0, least_cost(&values));
            assert!((found - least).abs() < 1e-6, "{case}: {found} {least}");
        }
    }

    #[test]
    fn an_outlier_and_few_or_equal_figures_are_no_change() {
        let mut noise = Noise::new(5);
        let mut values: Vec<f64> = (0..60).map(|_| noise.normal()).collect();
        values[20] = 40.0;
        assert_eq!(change_points(&values), Vec::<usize>::new());
        assert!(change_points(&[1.0, 9.0, 1.0]).is_empty());
        assert!(change_points(&[1.0; 50]).is_empty());
        assert!(change_points(&[f64::NAN; 50]).is_empty());
    }
}
