//! Attributes of machines that correlate with an effect, if there are enough machines to tell.
//!
//! Each attribute is a regression of the effects on it, with weights by their certainty (random effects), and Student's
//! test of its slope. The p-values of all attributes are adjusted by Holm's procedure. Attributes of machines often go
//! together, so what is found need not be a cause.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::fleet::Disk;
use crate::stats::{ALPHA, MachineEffect, RandomEffects, holm, student_tail};

/// Machines that a regression needs (Cochrane Handbook for Systematic Reviews, 10.11.5.1: ten for each attribute).
const FEWEST: usize = 10;

/// Machines that each side of a division needs.
const FEWEST_OF_A_SIDE: usize = 3;

/// Attributes of a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attributes {
    /// Its class, or the group in which it shares blocks.
    pub class: String,
    /// The kind of its disk.
    pub disk: Disk,
    /// The median time of an fsync in nanoseconds, where it was probed.
    pub fsync_ns: Option<u64>,
    /// Its processor.
    pub cpu: Option<String>,
    /// Its file system.
    pub file_system: Option<String>,
    /// Its kernel.
    pub kernel: Option<String>,
}

/// An attribute that goes together with the effect.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The attribute.
    pub attribute: String,
    /// How the effect goes with it, in words.
    pub how: String,
    /// The p-value, adjusted over the attributes (Holm).
    pub p_value: f64,
}

/// An attribute of each machine as a number.
struct Attribute {
    name: String,
    /// The words for a positive slope and for a negative one.
    words: [String; 2],
    values: Vec<Option<f64>>,
}

/// Finds the attributes that correlate with these effects, each on a machine with these attributes.
pub(super) fn explained(effects: &[(&Attributes, MachineEffect)]) -> Vec<Explanation> {
    if effects.len() < FEWEST {
        return Vec::new();
    }
    let (attributes, effects): (Vec<&Attributes>, Vec<MachineEffect>) =
        effects.iter().copied().unzip();
    let tested: Vec<(Attribute, Slope)> = all(&attributes)
        .into_iter()
        .filter_map(|attribute| {
            let slope = slope(&effects, &attribute.values)?;
            Some((attribute, slope))
        })
        .collect();
    let p_values: Vec<f64> = tested.iter().map(|(_, slope)| slope.p_value).collect();
    let rows = holm(&p_values, ALPHA).into_iter();
    let found = tested.into_iter().zip(rows).filter(|(_, row)| row.rejected);
    found
        .map(|((attribute, slope), row)| {
            let [up, down] = attribute.words;
            Explanation {
                attribute: attribute.name,
                how: if slope.value > 0.0 { up } else { down },
                p_value: row.adjusted_p,
            }
        })
        .collect()
}

fn all(machines: &[&Attributes]) -> Vec<Attribute> {
    let mut all = vec![Attribute {
        name: "fsync latency".to_owned(),
        words: [
            "the ratio is larger where an fsync takes longer",
            "the ratio is smaller where an fsync takes longer",
        ]
        .map(str::to_owned),
        values: machines
            .iter()
            .map(|machine| machine.fsync_ns.map(|ns| (ns.max(1) as f64).ln()))
            .collect(),
    }];
    all.extend(divisions("processor", machines, |machine| machine.cpu.as_ref()));
    all.extend(divisions("file system", machines, |machine| machine.file_system.as_ref()));
    all.extend(divisions("kernel", machines, |machine| machine.kernel.as_ref()));
    all
}

/// Divides machines by each value of an attribute: those that have it, and the others. Two values are one division, which is
/// tested once.
fn divisions(
    name: &str,
    machines: &[&Attributes],
    text: impl Fn(&Attributes) -> Option<&String>,
) -> Vec<Attribute> {
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    for machine in machines {
        if let Some(value) = text(machine) {
            *counts.entry(value).or_default() += 1;
        }
    }
    let known: usize = counts.values().sum();
    let is_divided = |count: usize| count >= FEWEST_OF_A_SIDE && known - count >= FEWEST_OF_A_SIDE;
    let different = if counts.len() == 2 { 1 } else { counts.len() };
    let values = counts.iter().take(different).filter(|(_, count)| is_divided(**count));
    let division = |value: &String| Attribute {
        name: name.to_owned(),
        words: [
            format!("the ratio is larger with {value} than with the others"),
            format!("the ratio is smaller with {value} than with the others"),
        ],
        values: machines
            .iter()
            .map(|machine| Some(f64::from(u8::from(text(machine)? == value))))
            .collect(),
    };
    values.map(|(value, _)| division(value)).collect()
}

/// How effects depend on an attribute.
struct Slope {
    value: f64,
    p_value: f64,
}

/// Returns the slope of a weighted regression; none if too few machines have the attribute, or all have the same.
fn slope(effects: &[MachineEffect], values: &[Option<f64>]) -> Option<Slope> {
    let known: Vec<(MachineEffect, f64)> = effects
        .iter()
        .zip(values)
        .filter_map(|(effect, value)| Some((*effect, (*value)?)))
        .collect();
    if known.len() < FEWEST {
        return None;
    }
    let all: Vec<MachineEffect> = known.iter().map(|(effect, _)| *effect).collect();
    let between = RandomEffects::of(&all, ALPHA)?.between;
    let points = known.iter().map(|(effect, value)| Point {
        weight: 1.0 / (effect.error.powi(2) + between.powi(2)).max(1e-18),
        x: *value,
        y: effect.mean,
    });
    regression(&points.collect::<Vec<_>>())
}

/// One machine in a regression.
struct Point {
    weight: f64,
    x: f64,
    y: f64,
}

fn regression(points: &[Point]) -> Option<Slope> {
    let sum = |of: &dyn Fn(&Point) -> f64| {
        points.iter().map(|point| point.weight * of(point)).sum::<f64>()
    };
    let weight = sum(&|_| 1.0);
    let (x, y) = (sum(&|point| point.x) / weight, sum(&|point| point.y) / weight);
    let spread = sum(&|point| (point.x - x).powi(2));
    if spread <= f64::EPSILON * weight {
        return None;
    }
    let value = sum(&|point| (point.x - x) * (point.y - y)) / spread;
    let residual = sum(&|point| (point.y - y - value * (point.x - x)).powi(2));
    let freedom = (points.len() - 2) as f64;
    let error = (residual / freedom / spread).sqrt();
    let p_value = if error > 0.0 { student_tail(value / error, freedom) } else { 0.0 };
    Some(Slope { value, p_value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::simulation::Noise;

    /// Makes machines whose effects depend on their fsync latency with this slope.
    fn machines(count: usize, slope: f64, noise: &mut Noise) -> Vec<(Attributes, MachineEffect)> {
        let machine = |index: usize| {
            let ns = 100_000 * (1 + index as u64 % 8);
            let mean = 0.3 + slope * (ns as f64).ln() + 0.05 * noise.normal();
            let attributes = Attributes {
                fsync_ns: Some(ns),
                cpu: Some(["Xeon", "EPYC"][index / 8 % 2].to_owned()),
                file_system: Some("ext4".to_owned()),
                ..Attributes::default()
            };
            (attributes, MachineEffect { mean, error: 0.02, blocks: 7 })
        };
        (0..count).map(machine).collect()
    }

    fn named(machines: &[(Attributes, MachineEffect)]) -> Vec<Explanation> {
        let machines = machines.iter().map(|(attributes, effect)| (attributes, *effect));
        explained(&machines.collect::<Vec<_>>())
    }

    #[test]
    fn an_attribute_is_named_where_there_is_evidence() {
        let mut noise = Noise::new(7);
        let explained = named(&machines(24, 0.4, &mut noise));
        assert_eq!(explained.len(), 1, "{explained:?}");
        assert_eq!(explained[0].attribute, "fsync latency");
        assert!(explained[0].how.contains("larger"), "{explained:?}");
        assert!(named(&machines(9, 0.4, &mut noise)).is_empty(), "too few machines");
    }

    #[test]
    fn attributes_without_effect_are_rarely_named() {
        let mut noise = Noise::new(8);
        const RUNS: usize = 500;
        let wrong = (0..RUNS).filter(|_| !named(&machines(16, 0.0, &mut noise)).is_empty());
        let share = wrong.count() as f64 / RUNS as f64;
        assert!(share < 0.08, "{share}");
    }
}
