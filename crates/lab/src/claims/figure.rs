//! The figure behind a claim, with its interval at any error rate.
//!
//! Ratios of two variants come with an interval from [`Comparison`]. The other forms are made of
//! several ratios: an ordering is its smallest step, a spread its largest ratio, an extreme the
//! lead of the best candidate over the best of the rest. Where a figure is the smallest of `k`
//! ratios, its lower end needs no correction (the true smallest is covered by its own interval),
//! while the upper end uses the error rate divided by `k` (any of the `k` may be the smallest by
//! chance); for the largest of `k` it is the other way round. That is the intersection–union
//! principle (Berger 1982, "Multiparameter hypothesis testing and acceptance sampling").

use crate::samples::Comparison;
use crate::stats::{Interval, PooledDifference, median, range};

/// A figure with an interval.
#[derive(Clone, Debug)]
pub(super) enum Figure {
    /// A single ratio.
    Ratio(Comparison),
    /// Figures as they are, all in each round; for values that must hold exactly, which may be 0.
    Plain(Vec<Vec<f64>>),
    /// The smallest of several ratios.
    Smallest(Vec<Comparison>),
    /// The largest of several ratios, less one. Both directions of each pair are among them.
    LargestLessOne(Vec<Comparison>),
    /// For each candidate its ratios to all rivals: the largest over candidates of the smallest.
    Lead(Vec<Vec<Comparison>>),
    /// A ratio of two variants that were chosen for their figures, out of several each: chance had a
    /// hand in the choice, so that each end of the interval is corrected for what could have been
    /// chosen instead. The noise comes from all variants that could have been chosen.
    Chosen {
        /// The ratio, round by round.
        ratio: Comparison,
        /// Its logarithm, with the noise of all.
        pooled: PooledDifference,
        /// Number of variants from which the upper one was chosen.
        of: usize,
        /// Number of variants from which the lower one was chosen.
        to: usize,
    },
}

impl Figure {
    /// Returns the point estimate.
    pub(super) fn point(&self) -> f64 {
        match self {
            Figure::Ratio(comparison) => comparison.ratio(),
            Figure::Plain(rounds) => median(&rounds.concat()).unwrap_or(f64::NAN),
            Figure::Chosen { pooled, .. } => pooled.centre.exp(),
            Figure::Smallest(all) => smallest(all.iter().map(Comparison::ratio)),
            Figure::LargestLessOne(all) => largest(all.iter().map(Comparison::ratio)) - 1.0,
            Figure::Lead(candidates) => largest(
                candidates.iter().map(|rivals| smallest(rivals.iter().map(Comparison::ratio))),
            ),
        }
    }

    /// Returns the interval with error rate `alpha`.
    pub(super) fn interval(&self, alpha: f64) -> Interval {
        match self {
            Figure::Ratio(comparison) => comparison.interval(alpha),
            Figure::Plain(rounds) => range(&rounds.concat()).unwrap_or(Interval::EVERYTHING),
            Figure::Smallest(all) => Interval {
                low: smallest(lows(all, alpha)),
                high: smallest(highs(all, alpha / all.len() as f64)),
            },
            Figure::LargestLessOne(all) => Interval {
                // Both directions of a pair share its two-sided error rate.
                low: largest(lows(all, 2.0 * alpha / all.len() as f64)) - 1.0,
                high: largest(highs(all, alpha)) - 1.0,
            },
            Figure::Lead(candidates) => lead_interval(candidates, alpha),
            Figure::Chosen { pooled, of, to, .. } => Interval {
                low: pooled.interval(alpha / *of as f64).low.exp(),
                high: pooled.interval(alpha / *to as f64).high.exp(),
            },
        }
    }

    /// Returns the comparisons that make up the figure.
    pub(super) fn comparisons(&self) -> Vec<&Comparison> {
        match self {
            Figure::Ratio(comparison) => vec![comparison],
            Figure::Plain(_) => Vec::new(),
            Figure::Smallest(all) | Figure::LargestLessOne(all) => all.iter().collect(),
            Figure::Lead(candidates) => candidates.iter().flatten().collect(),
            Figure::Chosen { ratio, .. } => vec![ratio],
        }
    }

    /// Returns the figures in each single round; for predicates that must hold exactly.
    pub(super) fn by_round(&self) -> Vec<Vec<f64>> {
        (0..self.rounds()).map(|round| self.in_round(round)).collect()
    }

    /// Returns the rounds behind the figure.
    pub(super) fn rounds(&self) -> usize {
        match self {
            Figure::Plain(rounds) => rounds.len(),
            _ => self.comparisons().into_iter().map(Comparison::rounds).min().unwrap_or(0),
        }
    }

    fn in_round(&self, round: usize) -> Vec<f64> {
        let ratio = |comparison: &Comparison| comparison.diffs[round].exp();
        let figure = match self {
            Figure::Plain(rounds) => return rounds[round].clone(),
            Figure::Ratio(comparison) | Figure::Chosen { ratio: comparison, .. } => {
                ratio(comparison)
            }
            Figure::Smallest(all) => smallest(all.iter().map(ratio)),
            Figure::LargestLessOne(all) => largest(all.iter().map(ratio)) - 1.0,
            Figure::Lead(candidates) => {
                largest(candidates.iter().map(|rivals| smallest(rivals.iter().map(ratio))))
            }
        };
        vec![figure]
    }
}

/// Returns the lead is a largest of smallests: the choice of the candidate is paid for at the lower end,
/// the choice of the rival at the upper.
fn lead_interval(candidates: &[Vec<Comparison>], alpha: f64) -> Interval {
    let low_alpha = alpha / candidates.len() as f64;
    let low = largest(candidates.iter().map(|rivals| smallest(lows(rivals, low_alpha))));
    let high = largest(
        candidates.iter().map(|rivals| smallest(highs(rivals, alpha / rivals.len() as f64))),
    );
    Interval { low, high }
}

fn lows(all: &[Comparison], alpha: f64) -> impl Iterator<Item = f64> {
    all.iter().map(move |comparison| comparison.interval(alpha).low)
}

fn highs(all: &[Comparison], alpha: f64) -> impl Iterator<Item = f64> {
    all.iter().map(move |comparison| comparison.interval(alpha).high)
}

fn smallest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::INFINITY, f64::min)
}

fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::NEG_INFINITY, f64::max)
}
