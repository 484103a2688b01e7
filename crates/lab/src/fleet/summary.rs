//! What many machines say together of each variant, and where they do not agree.
//!
//! Effects are compared within machines only. Across machines they are summarised for each kind of disk by itself:
//! what a rotating disk and a solid-state disk have in common is no effect of any machine.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::claims::{FleetClaim, fleet_claims};
use super::groups::Disk;
use crate::claims::Judged;
use crate::record::RunPlan;
use crate::stats::{ALPHA, Interval, MachineEffect, RandomEffects};

/// What is known of a machine.
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

/// A machine with its effects.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Name of its agent.
    pub agent: String,
    /// What is known of it.
    pub attributes: Attributes,
    /// The effect of each variant by experiment; none where it has too few blocks.
    pub effects: Vec<Vec<Option<MachineEffect>>>,
    /// Blocks that it carried out.
    pub blocks: usize,
}

/// What a fleet says.
#[derive(Clone, Debug, Serialize)]
pub struct FleetAnalysis {
    /// The machines, by name.
    pub machines: Vec<FleetMachine>,
    /// The classes, by name.
    pub classes: Vec<String>,
    /// The experiments.
    pub experiments: Vec<FleetExperiment>,
    /// The groups whose run has not ended, or not begun.
    pub unanswered: Vec<Unanswered>,
}

/// A group whose run did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unanswered {
    /// Its class.
    pub class: String,
    /// Why.
    pub why: String,
}

/// A machine of a fleet.
#[derive(Clone, Debug, Serialize)]
pub struct FleetMachine {
    /// Name of its agent.
    pub agent: String,
    /// What is known of it.
    pub attributes: Attributes,
    /// Blocks that it carried out.
    pub blocks: usize,
}

/// One experiment on a fleet.
#[derive(Clone, Debug, Serialize)]
pub struct FleetExperiment {
    /// Its key in the plan.
    pub key: String,
    /// The question.
    pub question: String,
    /// The metric by which variants are compared.
    pub metric: String,
    /// The baseline.
    pub baseline: String,
    /// The other variants.
    pub variants: Vec<FleetVariant>,
    /// The claims.
    pub claims: Vec<FleetClaim>,
}

/// One variant on a fleet.
#[derive(Clone, Debug, Serialize)]
pub struct FleetVariant {
    /// Its name.
    pub name: String,
    /// Its ratio to the baseline on each machine that has enough blocks, in the order of the machines.
    pub machines: Vec<MachineRatio>,
    /// Its ratio to the baseline in each class that answers as a whole.
    pub classes: BTreeMap<String, GroupRatio>,
    /// The machines of each kind of disk together.
    pub summaries: Vec<DiskSummary>,
    /// Machines whose interval is above 1, where others are below: by their indices.
    pub above: Vec<usize>,
    /// Machines whose interval is below 1, where others are above.
    pub below: Vec<usize>,
    /// What goes together with the effect.
    pub explained: Vec<Explanation>,
}

impl FleetVariant {
    /// Whether machines disagree in direction.
    pub fn disagrees(&self) -> bool {
        !self.above.is_empty() && !self.below.is_empty()
    }
}

/// A variant's ratio to the baseline on one machine.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MachineRatio {
    /// The index of the machine.
    pub machine: usize,
    /// The ratio.
    pub ratio: f64,
    /// Its interval at 95 %.
    pub interval: Interval,
    /// Blocks behind it.
    pub blocks: usize,
}

/// A variant's ratio to the baseline on all machines with one kind of disk.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct DiskSummary {
    /// The kind of disk.
    pub disk: Disk,
    /// The number of machines.
    pub machines: usize,
    /// The mean ratio of such machines.
    pub ratio: f64,
    /// Its interval at 95 %.
    pub interval: Interval,
    /// The ratio to be expected on another such machine; none with fewer than three.
    pub prediction: Option<Interval>,
    /// The share of the variation that is between machines, 0 to 1: I².
    pub inconsistency: f64,
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

/// What one group answers by itself.
#[derive(Clone, Debug, Default)]
pub struct GroupAnswer {
    /// Its class.
    pub class: String,
    /// The claims of each experiment of the plan.
    pub claims: Vec<Vec<Judged>>,
    /// The ratio of each variant of each experiment, from all blocks of the group; none where it is not measured, or
    /// machines answer by themselves.
    pub ratios: Vec<Vec<Option<GroupRatio>>>,
    /// Why its run has not ended; none where it has.
    pub failed: Option<String>,
}

/// A variant's ratio to the baseline in one group.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GroupRatio {
    /// The ratio.
    pub ratio: f64,
    /// Its interval at 95 %.
    pub interval: Interval,
}

/// What these machines say together, and what groups of them say by themselves.
pub fn summarise(plan: &RunPlan, machines: Vec<Machine>, groups: &[GroupAnswer]) -> FleetAnalysis {
    let mut classes: Vec<String> = groups.iter().map(|group| group.class.clone()).collect();
    classes.sort();
    classes.dedup();
    let experiment = |(index, planned): (usize, &crate::record::PlannedExperiment)| {
        let variants = planned.variants.iter().enumerate().skip(1);
        FleetExperiment {
            key: planned.key.clone(),
            question: planned.experiment.question.clone(),
            metric: planned.experiment.metric.clone(),
            baseline: planned.variants[0].name_or_label().to_owned(),
            variants: variants
                .map(|(variant, it)| FleetVariant {
                    classes: class_ratios((index, variant), groups),
                    ..of_variant(it.name_or_label(), (index, variant), &machines)
                })
                .collect(),
            claims: fleet_claims(index, groups),
        }
    };
    let experiments = plan.experiments.iter().enumerate().map(experiment).collect();
    let unanswered = groups.iter().filter_map(|group| {
        Some(Unanswered { class: group.class.clone(), why: group.failed.clone()? })
    });
    let machines = machines.into_iter().map(|machine| FleetMachine {
        agent: machine.agent,
        attributes: machine.attributes,
        blocks: machine.blocks,
    });
    FleetAnalysis {
        machines: machines.collect(),
        unanswered: unanswered.collect(),
        experiments,
        classes,
    }
}

fn of_variant(name: &str, (experiment, variant): (usize, usize), all: &[Machine]) -> FleetVariant {
    let effect = |machine: &Machine| *machine.effects.get(experiment)?.get(variant)?;
    let effects: Vec<(usize, MachineEffect)> = all
        .iter()
        .enumerate()
        .filter_map(|(index, machine)| Some((index, effect(machine)?)))
        .collect();
    let ratio = |(machine, effect): &(usize, MachineEffect)| MachineRatio {
        machine: *machine,
        ratio: effect.mean.exp(),
        interval: effect.interval(ALPHA).exp(),
        blocks: effect.blocks,
    };
    let machines: Vec<MachineRatio> = effects.iter().map(ratio).collect();
    let (above, below) = directions(&effects);
    FleetVariant {
        name: name.to_owned(),
        summaries: summaries(&effects, all),
        explained: super::explain::explained(&effects, all),
        classes: BTreeMap::new(),
        machines,
        above,
        below,
    }
}

/// The machines above and below 1, where there are both. The intervals are adjusted for the number of machines, so that
/// no disagreement among many is the accident of one.
fn directions(effects: &[(usize, MachineEffect)]) -> (Vec<usize>, Vec<usize>) {
    let alpha = ALPHA / effects.len().max(1) as f64;
    let side = |is_on: &dyn Fn(&Interval) -> bool| -> Vec<usize> {
        let on = effects.iter().filter(|(_, effect)| is_on(&effect.interval(alpha)));
        on.map(|(machine, _)| *machine).collect()
    };
    let (above, below) =
        (side(&|interval| interval.low > 0.0), side(&|interval| interval.high < 0.0));
    if above.is_empty() || below.is_empty() { (Vec::new(), Vec::new()) } else { (above, below) }
}

fn summaries(effects: &[(usize, MachineEffect)], all: &[Machine]) -> Vec<DiskSummary> {
    let mut by_disk: BTreeMap<Disk, Vec<MachineEffect>> = BTreeMap::new();
    for (machine, effect) in effects {
        let disk = all[*machine].attributes.disk;
        // Disks of which nothing is known may be of several kinds.
        if disk != Disk::Unknown {
            by_disk.entry(disk).or_default().push(*effect);
        }
    }
    let summary = |(disk, effects): (Disk, Vec<MachineEffect>)| {
        let pooled = RandomEffects::of(&effects, ALPHA)?;
        Some(DiskSummary {
            disk,
            machines: pooled.machines,
            ratio: pooled.centre.exp(),
            interval: pooled.interval.exp(),
            prediction: pooled.prediction.map(|interval| interval.exp()),
            inconsistency: pooled.inconsistency,
        })
    };
    by_disk.into_iter().filter_map(summary).collect()
}

fn class_ratios(
    (experiment, variant): (usize, usize),
    groups: &[GroupAnswer],
) -> BTreeMap<String, GroupRatio> {
    let ratio = |group: &GroupAnswer| *group.ratios.get(experiment)?.get(variant)?;
    let ratios = groups.iter();
    ratios.filter_map(|group| Some((group.class.clone(), ratio(group)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(agent: &str, disk: Disk, mean: f64) -> Machine {
        let effect = MachineEffect { mean, error: 0.02, blocks: 7 };
        Machine {
            agent: agent.to_owned(),
            attributes: Attributes { disk, ..Attributes::default() },
            effects: vec![vec![None, Some(effect)]],
            blocks: 7,
        }
    }

    #[test]
    fn rotating_and_solid_state_disks_are_never_averaged() {
        let mut all: Vec<Machine> = (0..4).map(|_| machine("s", Disk::Solid, 0.7)).collect();
        all.extend((0..3).map(|_| machine("r", Disk::Rotating, 3.0)));
        let variant = of_variant("v", (0, 1), &all);
        let disks: Vec<(Disk, usize)> =
            variant.summaries.iter().map(|summary| (summary.disk, summary.machines)).collect();
        assert_eq!(disks, [(Disk::Solid, 4), (Disk::Rotating, 3)]);
        assert!((variant.summaries[0].ratio - 0.7_f64.exp()).abs() < 1e-9);
        assert!((variant.summaries[1].ratio - 3.0_f64.exp()).abs() < 1e-6);
    }

    #[test]
    fn machines_that_disagree_in_direction_are_named() {
        let all = [
            machine("a", Disk::Solid, 0.5),
            machine("b", Disk::Solid, -0.4),
            machine("c", Disk::Solid, 0.01),
        ];
        let variant = of_variant("v", (0, 1), &all);
        assert!(variant.disagrees());
        assert_eq!((variant.above, variant.below), (vec![0], vec![1]));
        let agree = of_variant("v", (0, 1), &all[..1]);
        assert!(!agree.disagrees() && agree.above.is_empty());
    }

    #[test]
    fn machines_whose_kind_of_disk_is_unknown_are_not_averaged() {
        let all: Vec<Machine> = (0..4).map(|_| machine("u", Disk::Unknown, 0.7)).collect();
        let variant = of_variant("v", (0, 1), &all);
        assert_eq!((variant.machines.len(), variant.summaries.len()), (4, 0));
    }
}
