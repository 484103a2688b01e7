//! Straight lines through times, by least squares of the relative residuals.
//!
//! Residuals are relative (weights `1/t²`), because the noise of a time grows with it.

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
