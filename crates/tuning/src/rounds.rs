//! Constraints: what metrics besides the one that is tuned may be.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use lab::level::Settings;
use lab::record::TrialRecord;
use lab::stats::{Interval, mean, student_interval};
use lab::trial::Outcome;
use lab::tuning_plan::{Bound, Constraint};

/// The error rate of the interval of a judged constraint.
const LEVEL: f64 = 0.05;

/// The fewest rounds by which a constraint is judged.
const FEWEST: usize = 2;

/// A constraint as the rounds of what is recommended judge it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Constrained {
    /// The constraint.
    pub constraint: Constraint,
    /// The figure by the rounds; `None` if there were too few.
    pub measured: Option<Measured>,
}

/// The figure of a constraint by the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// The recommendation divided by the current settings, or the figure itself, with its interval; `None` if one of the
    /// figures is 0.
    pub figure: Option<(f64, Interval)>,
    /// Whether it is within the bound; `None` if the interval holds the bound, or without one, where some rounds are within
    /// the bound and others are not.
    pub is_kept: Option<bool>,
    /// Rounds.
    pub rounds: usize,
}

/// Whether the optimum has moved since an earlier search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moved {
    /// The recommendation of the earlier search.
    pub earlier: Settings,
    /// Whether this search recommends the same.
    pub is_same: bool,
    /// By how many times what is recommended now is better, with the interval; `None` if that was not measured.
    pub gain: Option<(f64, Interval)>,
}

/// The figures of the rounds of what is recommended, or of the blocks of a search.
#[derive(Clone, Debug, Default)]
pub(super) struct RoundFigures {
    /// By round and variant.
    figures: BTreeMap<(u32, String), BTreeMap<String, f64>>,
    /// Whether a variant is compared with what another one was in the nearest round, if not in the same.
    by_nearest: bool,
}

impl RoundFigures {
    /// Of a search, which measures the current settings in some blocks only.
    pub(super) fn of_search() -> RoundFigures {
        RoundFigures { by_nearest: true, ..RoundFigures::default() }
    }

    /// Takes the record of a trial of these rounds. The first one of a variant counts: the baseline is measured twice.
    pub(super) fn add(&mut self, record: &TrialRecord) {
        if let Outcome::Measured(measured) = &record.outcome {
            let place = (record.round, record.variant.clone());
            let figures = self.figures.entry(place);
            figures.or_insert_with(|| measured.metrics.clone());
        }
    }

    /// Each constraint judged by the rounds of these variants: what is recommended, and the current settings.
    pub(super) fn judged(
        &self,
        constraints: &[Constraint],
        [recommended, current]: &[String; 2],
    ) -> Vec<Constrained> {
        let judged = constraints.iter().map(|constraint| {
            let pairs = self.pairs(&constraint.metric, [recommended, current]);
            Constrained::of(constraint, &pairs)
        });
        judged.collect()
    }

    /// Whether the figures of a variant exceed a constraint: their mean, since trials of a search are too few for an interval.
    pub(super) fn exceeds(
        &self,
        constraints: &[Constraint],
        [variant, current]: &[String; 2],
    ) -> bool {
        constraints.iter().any(|constraint| {
            let pairs = self.pairs(&constraint.metric, [variant, current]);
            let [own, now] = [
                mean(&pairs.iter().map(|pair| pair.0).collect::<Vec<_>>()),
                mean(&pairs.iter().map(|pair| pair.1).collect::<Vec<_>>()),
            ];
            let means = own.zip(now);
            means.and_then(|means| constraint.holds(means)) == Some(false)
        })
    }

    /// Returns the variants that were measured.
    pub(super) fn variants(&self) -> BTreeSet<&String> {
        self.figures.keys().map(|(_, variant)| variant).collect()
    }

    /// Returns the figures of a variant, one for each round that measured it.
    pub(super) fn figures<'a>(
        &'a self,
        metric: &'a str,
        variant: &'a str,
    ) -> impl Iterator<Item = f64> + 'a {
        self.by_round(metric, variant).map(|(_, figure)| figure)
    }

    fn by_round<'a>(
        &'a self,
        metric: &'a str,
        variant: &'a str,
    ) -> impl Iterator<Item = (u32, f64)> + 'a {
        let own = self.figures.iter().filter(move |((_, it), _)| it == variant);
        own.filter_map(move |((round, _), figures)| Some((*round, *figures.get(metric)?)))
    }

    /// Returns the figures of two variants in the rounds that measured both; of a search, the first one's, each with the figure of
    /// the other in the nearest block.
    pub(super) fn pairs(&self, metric: &str, [one, other]: [&String; 2]) -> Vec<(f64, f64)> {
        let others: Vec<(u32, f64)> = self.by_round(metric, other).collect();
        let nearest = |round: u32| {
            let nearest = others.iter().min_by_key(|(it, _)| it.abs_diff(round))?;
            (self.by_nearest || nearest.0 == round).then_some(nearest.1)
        };
        let own = self.by_round(metric, one);
        own.filter_map(|(round, figure)| Some((figure, nearest(round)?))).collect()
    }

    /// Returns the logarithms of the ratios of such pairs, with a sign of -1 of the ratios the other way round.
    pub(super) fn logs(&self, metric: &str, pair: [&String; 2], sign: f64) -> Vec<f64> {
        let pairs = self.pairs(metric, pair).into_iter();
        pairs.map(|(one, other)| sign * (one / other).ln()).filter(|log| log.is_finite()).collect()
    }

    /// By how many times the first variant is better than the second: the ratio of the metric, with a sign of -1 the
    /// other way round, and its interval. None of too few rounds.
    pub(super) fn ratio(
        &self,
        metric: &str,
        [one, other]: &[String; 2],
        sign: f64,
    ) -> Option<(f64, Interval)> {
        let logs = self.logs(metric, [one, other], sign);
        let ratio = mean(&logs).filter(|_| logs.len() >= FEWEST)?.exp();
        Some((ratio, student_interval(&logs, LEVEL).exp()))
    }
}

impl Constrained {
    /// Returns whether the rounds show that the constraint is not kept.
    pub fn is_broken(&self) -> bool {
        self.measured.is_some_and(|measured| measured.is_kept == Some(false))
    }

    /// Judged by the pairs of figures of the rounds: what is recommended, and the current settings.
    pub(super) fn of(constraint: &Constraint, rounds: &[(f64, f64)]) -> Constrained {
        let log = |(own, current): &(f64, f64)| match constraint.bound {
            Bound::Ratio(_) => (own / current).ln(),
            Bound::Figure(_) => own.ln(),
        };
        let logs: Vec<f64> = rounds.iter().map(log).collect();
        let measured = if logs.iter().all(|log| log.is_finite()) {
            by_interval(constraint, &logs)
        } else {
            by_rounds(constraint, rounds)
        };
        Constrained {
            measured: measured.filter(|measured| measured.rounds >= FEWEST),
            constraint: constraint.clone(),
        }
    }
}

/// Judged round by round: a figure of 0 has no logarithm.
fn by_rounds(constraint: &Constraint, rounds: &[(f64, f64)]) -> Option<Measured> {
    let holds = rounds.iter().map(|round| constraint.holds(*round));
    let holds: Vec<bool> = holds.collect::<Option<_>>()?;
    let first = *holds.first()?;
    Some(Measured {
        figure: None,
        is_kept: holds.iter().all(|holds| *holds == first).then_some(first),
        rounds: rounds.len(),
    })
}

fn by_interval(constraint: &Constraint, logs: &[f64]) -> Option<Measured> {
    let budget = match &constraint.bound {
        Bound::Ratio(budget) => *budget,
        Bound::Figure(limit) => limit.of_metric(&constraint.metric).ok()?,
    };
    let figure = mean(logs)?.exp();
    let interval = student_interval(logs, LEVEL).exp();
    let ends = [interval.low, interval.high].map(|end| budget.allows(end));
    Some(Measured {
        figure: Some((figure, interval)),
        is_kept: (ends[0] == ends[1]).then_some(ends[0]),
        rounds: logs.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_of_0_is_within_a_ratio_to_0_and_a_higher_one_is_not() {
        let busy = Constraint::parsed("busy_errors <= 1").unwrap();
        let none = busy.scaled(0.0).unwrap();
        assert_eq!(busy.room(none), Some(0.0));
        assert!(busy.scaled(3.0).unwrap() > none);
        let judged = |own: &[f64]| {
            let rounds: Vec<(f64, f64)> = own.iter().map(|own| (*own, 0.0)).collect();
            let measured = Constrained::of(&busy, &rounds).measured;
            measured.map(|it| (it.figure.is_none(), it.is_kept))
        };
        assert_eq!(judged(&[0.0, 0.0, 0.0]), Some((true, Some(true))));
        assert_eq!(judged(&[2.0, 3.0, 1.0]), Some((true, Some(false))));
        assert_eq!(judged(&[0.0, 3.0, 0.0]), Some((true, None)));
        assert_eq!(judged(&[0.0]), None);
    }

    #[test]
    fn a_constraint_is_kept_where_the_whole_interval_is_within_it() {
        let judged = |bound: &str, own: [f64; 4]| {
            let constraint = Constraint::parsed(bound).unwrap();
            let rounds = own.map(|own| (own, 100.0));
            let judged = Constrained::of(&constraint, &rounds);
            judged.measured.unwrap().is_kept
        };
        let near = [100.0, 101.0, 99.0, 100.0];
        assert_eq!(judged("p99 <= 1.05", near), Some(true));
        assert_eq!(judged("p99 <= 0.9", near), Some(false));
        assert_eq!(judged("p99 <= 1.0", near), None);
        assert_eq!(judged("p99 <= 105us", near), Some(true));
        let constraint = Constraint::parsed("p99 <= 1.05").unwrap();
        assert_eq!(Constrained::of(&constraint, &[(1.0, 1.0)]).measured, None);
    }
}
