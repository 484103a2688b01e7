//! What a call through a binding costs: nanoseconds for a row over those of the native binding.
//!
//! A ratio would hide it: the same cost of a call is much beside a read from memory and nothing beside a
//! write that waits for the disk. So these are differences, paired within blocks as all comparisons are.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::analysis::ArmAnalysis;
use crate::level::label;
use crate::samples::{Comparison, Samples};
use crate::stats::Interval;
use crate::trial::{BindingMark, DRIVER, NATIVE};

/// The metric whose parts are compared.
const METRIC: &str = "ns_per_row";

/// What is known of the bindings that an experiment compares.
#[derive(Clone, Debug, Serialize)]
pub struct Bindings {
    /// The parts of the work, by name.
    pub parts: Vec<String>,
    /// The native binding first, then the others in the order of the plan.
    pub rows: Vec<BindingCosts>,
    /// Names of PRAGMAs of which a fresh connection has another value in one binding than in another,
    /// with the value in each row; none where the binding does not say.
    pub defaults: Vec<(String, Vec<Option<String>>)>,
}

/// One binding.
#[derive(Clone, Debug, Serialize)]
pub struct BindingCosts {
    /// Its arm.
    pub arm: usize,
    /// What it calls itself.
    pub name: String,
    /// Version of the SQLite that did the work.
    pub sqlite: String,
    /// By part of the work; none where it was not measured.
    pub costs: Vec<Option<Cost>>,
}

/// What a row costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// Median time for a row in nanoseconds.
    pub median: f64,
    /// How much more that is than natively, in nanoseconds; none for the native binding itself and where
    /// too few rounds have both.
    pub over: Option<Over>,
}

/// A difference to the native binding.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Over {
    /// The estimate.
    pub centre: f64,
    /// Its interval at the error rate of the analysis.
    pub interval: Interval,
}

impl Over {
    /// Whether the difference can be told from none.
    pub fn is_found(&self) -> bool {
        !self.interval.contains(0.0)
    }
}

/// Whether the metric is the time for a row in one part of the work.
pub(super) fn is_part(metric: &str) -> bool {
    metric
        .split_once('.')
        .is_some_and(|(name, _)| name == METRIC)
}

impl Bindings {
    /// What an experiment says of bindings; none unless it compares drivers, with the native one as the
    /// reference.
    pub(super) fn of(
        arms: &[ArmAnalysis],
        samples: &BTreeMap<String, Samples>,
        alpha: f64,
    ) -> Option<Bindings> {
        let driver = |arm: &ArmAnalysis| arm.levels.get(DRIVER)?.as_text().map(str::to_owned);
        let drivers: BTreeSet<String> = arms.iter().filter_map(driver).collect();
        if drivers.len() < 2 || driver(arms.first()?)? != NATIVE || samples.is_empty() {
            return None;
        }
        let rows: Vec<BindingCosts> = arms
            .iter()
            .enumerate()
            .filter_map(|(index, arm)| costs(index, arm, samples, alpha))
            .collect();
        let of_rows: Vec<&ArmAnalysis> = rows.iter().map(|row| &arms[row.arm]).collect();
        Some(Bindings {
            parts: samples.keys().map(|name| part(name).to_owned()).collect(),
            defaults: differing_defaults(&of_rows),
            rows,
        })
    }
}

fn part(metric: &str) -> &str {
    metric.split_once('.').map_or(metric, |(_, part)| part)
}

fn costs(
    index: usize,
    arm: &ArmAnalysis,
    samples: &BTreeMap<String, Samples>,
    alpha: f64,
) -> Option<BindingCosts> {
    let mark = arm.binding.as_ref()?;
    let cost = |(metric, samples): (&String, &Samples)| {
        let over = Comparison::new(samples.over_reference(index)).map(|compared| Over {
            centre: compared.centre(),
            interval: compared.plain_interval(alpha),
        });
        Some(Cost {
            median: arm.summaries.get(metric)?.median,
            over,
        })
    };
    Some(BindingCosts {
        arm: index,
        name: named(&mark.name, arm),
        sqlite: arm.engine.as_ref()?.version.clone(),
        costs: samples.iter().map(cost).collect(),
    })
}

/// The binding, with the levels of other factors where there are some.
fn named(binding: &str, arm: &ArmAnalysis) -> String {
    let mut others = arm.levels.clone();
    others.remove(DRIVER);
    if others.is_empty() {
        return binding.to_owned();
    }
    format!("{binding}, {}", label(&others))
}

fn differing_defaults(arms: &[&ArmAnalysis]) -> Vec<(String, Vec<Option<String>>)> {
    /// What tells of the file and not of the binding.
    const OF_THE_FILE: [&str; 4] = [
        "data_version",
        "freelist_count",
        "page_count",
        "schema_version",
    ];
    let marks = arms.iter().map(|arm| arm.binding.as_ref());
    let names: BTreeSet<&String> = marks
        .clone()
        .flatten()
        .flat_map(|mark| mark.defaults.keys())
        .collect();
    let values = |name: &String| -> Vec<Option<String>> {
        let value = |mark: Option<&BindingMark>| mark?.defaults.get(name).cloned();
        marks.clone().map(value).collect()
    };
    names
        .into_iter()
        .filter(|name| !OF_THE_FILE.contains(&name.as_str()))
        .map(|name| (name.clone(), values(name)))
        .filter(|(_, values)| values.iter().any(|value| *value != values[0]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::Role;

    /// Nine rounds in which a native row costs 100 ns and more, and one through the binding 700 ns more.
    fn samples() -> Samples {
        let mut samples = Samples::new(2);
        for round in 0..9 {
            let drift = f64::from(round) * 50.0;
            samples.add(round, 0, 0, Role::Reference, 100.0 + drift);
            let noise = f64::from(round % 3) - 1.0;
            samples.add(round, 0, 1, Role::Arm, 800.0 + drift + noise);
        }
        samples
    }

    #[test]
    fn the_cost_of_a_call_is_a_difference_within_rounds_whatever_the_machine_drifts() {
        let compared = Comparison::new(samples().over_reference(1)).unwrap();
        assert!((compared.centre() - 700.0).abs() < 1.0);
        let over = Over {
            centre: compared.centre(),
            interval: compared.plain_interval(0.05),
        };
        assert!(over.is_found() && over.interval.contains(700.0));
        assert!(over.interval.high - over.interval.low < 4.0);
    }

    #[test]
    fn parts_are_told_from_other_metrics() {
        assert!(is_part("ns_per_row.point-read"));
        assert!(!is_part("ns_per_row") && !is_part("seconds.point-read"));
        assert_eq!(part("ns_per_row.point-read"), "point-read");
    }

    #[test]
    fn arms_that_name_no_driver_compare_no_bindings() {
        let samples = BTreeMap::from([("ns_per_row.point-read".to_owned(), samples())]);
        assert!(Bindings::of(&[], &samples, 0.05).is_none());
    }
}
