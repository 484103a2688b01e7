//! The machines of a fleet compared: ratios on each, summaries over all, claims by class, and disagreements.
//!
//! Effects are compared within machines only. Across machines they are summarised for each kind of disk by itself: an
//! average over rotating and solid-state disks would be the effect of no machine.

use std::collections::BTreeMap;

use serde::Serialize;

use super::attributes::{Attributes, Explanation, explained};
use super::figure::Ratio;
use crate::analysis::observation;
use crate::claims::{Judged, Verdict};
use crate::design::History;
use crate::fleet::Disk;
use crate::record::{PlannedExperiment, Purpose, RunPlan, TrialRecord};
use crate::stats::{
    ALPHA, Interval, MachineEffect, RandomEffects, standard_deviation, student_reach,
};

/// Ratios of alike machines that differ by this factor are never called a disagreement.
const TOLERATED: f64 = 1.25;

/// A machine with its effects.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Machine {
    /// Name of its agent.
    pub agent: String,
    /// Its attributes.
    pub attributes: Attributes,
    /// The effect of each variant by experiment; none with too few blocks.
    #[serde(skip)]
    pub effects: Vec<Vec<Option<MachineEffect>>>,
    /// The same over all blocks that it measured, with those that it re-ran for others, by which machines are checked.
    #[serde(skip)]
    pub checked: Vec<Vec<Option<MachineEffect>>>,
    /// Blocks that it carried out.
    pub blocks: usize,
    /// Blocks of other agents that it re-ran, which do not count otherwise.
    pub reruns: usize,
    /// Whether its ratios agree with the ratios of the other machines of its kind.
    pub standing: Standing,
}

/// Whether a machine's ratios agree with those that others with its class and kind of disk measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// No other machine measured enough blocks of the same variants.
    #[default]
    NotChecked,
    /// They do, as far as their intervals tell.
    Agrees,
    /// At least one does not.
    Differs,
}

/// A run over a fleet.
#[derive(Clone, Debug, Serialize)]
pub struct FleetAnalysis {
    /// The machines, by name.
    pub machines: Vec<Machine>,
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
    pub classes: BTreeMap<String, Ratio>,
    /// The machines of each kind of disk together.
    pub summaries: Vec<DiskSummary>,
    /// Machines whose interval is above 1, where others are below: by their indices.
    pub above: Vec<usize>,
    /// Machines whose interval is below 1, where others are above.
    pub below: Vec<usize>,
    /// Each machine that can be compared with others of its kind.
    pub checks: Vec<Check>,
    /// Attributes that correlate with the effect.
    pub explained: Vec<Explanation>,
}

impl FleetVariant {
    /// Returns whether machines disagree in direction.
    pub fn disagrees(&self) -> bool {
        !self.above.is_empty() && !self.below.is_empty()
    }
}

/// A variant's ratio to the baseline on one machine, with its interval at 95 %.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MachineRatio {
    /// The index of the machine.
    pub machine: usize,
    /// The ratio.
    #[serde(flatten)]
    pub ratio: Ratio,
    /// Blocks behind it.
    pub blocks: usize,
}

/// A variant's ratio to the baseline on one machine, and on all others with its class and kind of disk.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Check {
    /// The index of the machine.
    pub machine: usize,
    /// Its ratio.
    pub own: Ratio,
    /// The ratio of the others, as if one machine had measured all their blocks.
    pub others: Ratio,
    /// Whether the two agree.
    pub agrees: bool,
}

/// A variant's ratio to the baseline on all machines with one kind of disk.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct DiskSummary {
    /// The kind of disk.
    pub disk: Disk,
    /// The number of machines.
    pub machines: usize,
    /// The mean ratio of such machines with its interval at 95 %.
    #[serde(flatten)]
    pub ratio: Ratio,
    /// The ratio to be expected on another such machine; none with fewer than three.
    pub prediction: Option<Interval>,
    /// The share of the variation that is between machines, 0 to 1: I².
    pub inconsistency: f64,
}

/// The answer of one group by itself.
#[derive(Clone, Debug, Default)]
pub struct GroupAnswer {
    /// Its class.
    pub class: String,
    /// The claims of each experiment of the plan.
    pub claims: Vec<Vec<Judged>>,
    /// The ratio of each variant of each experiment, from all blocks of the group, with its interval at 95 %; none if it is
    /// not measured, or machines answer by themselves.
    pub ratios: Vec<Vec<Option<Ratio>>>,
    /// Why its run has not ended; none if it has.
    pub failed: Option<String>,
}

/// Summarises these machines, and the answers of groups of them.
pub fn summarise(
    plan: &RunPlan,
    mut machines: Vec<Machine>,
    groups: &[GroupAnswer],
) -> FleetAnalysis {
    let compared: usize = plan.experiments.iter().map(|planned| planned.variants.len() - 1).sum();
    let alpha = ALPHA / (compared * machines.len()).max(1) as f64;
    let mut classes: Vec<String> = groups.iter().map(|group| group.class.clone()).collect();
    classes.sort();
    classes.dedup();
    let experiment = |(index, planned): (usize, &PlannedExperiment)| {
        let variants = planned.variants.iter().enumerate().skip(1);
        FleetExperiment {
            key: planned.key.clone(),
            question: planned.experiment.question.clone(),
            metric: planned.experiment.metric.clone(),
            baseline: planned.variants[0].name_or_label().to_owned(),
            variants: variants
                .map(|(variant, it)| FleetVariant {
                    classes: class_ratios((index, variant), groups),
                    checks: checks((index, variant), &machines, alpha),
                    ..of_variant(it.name_or_label(), (index, variant), &machines)
                })
                .collect(),
            claims: fleet_claims(index, groups),
        }
    };
    let experiments: Vec<FleetExperiment> =
        plan.experiments.iter().enumerate().map(experiment).collect();
    for check in experiments.iter().flat_map(|one| &one.variants).flat_map(|one| &one.checks) {
        let standing = if check.agrees { Standing::Agrees } else { Standing::Differs };
        let of = &mut machines[check.machine].standing;
        *of = standing.max(*of);
    }
    let unanswered = groups.iter().filter_map(|group| {
        Some(Unanswered { class: group.class.clone(), why: group.failed.clone()? })
    });
    FleetAnalysis { machines, unanswered: unanswered.collect(), experiments, classes }
}

fn of_variant(name: &str, (experiment, variant): (usize, usize), all: &[Machine]) -> FleetVariant {
    let effects = on_machines(all, (experiment, variant), |machine| &machine.effects);
    let ratio = |(machine, effect): &(usize, MachineEffect)| MachineRatio {
        machine: *machine,
        ratio: Ratio::of_logs(effect.mean, effect.interval(ALPHA)),
        blocks: effect.blocks,
    };
    let with_attributes: Vec<(&Attributes, MachineEffect)> =
        effects.iter().map(|(index, effect)| (&all[*index].attributes, *effect)).collect();
    let (above, below) = directions(&effects);
    FleetVariant {
        name: name.to_owned(),
        machines: effects.iter().map(ratio).collect(),
        classes: BTreeMap::new(),
        summaries: summaries(&with_attributes),
        checks: Vec::new(),
        explained: explained(&with_attributes),
        above,
        below,
    }
}

/// Returns the machines above and below 1 if there are both. The intervals are adjusted for the number of machines, so that
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

/// Returns the effect of a variant on each machine that has one.
fn on_machines(
    all: &[Machine],
    (experiment, variant): (usize, usize),
    of: impl Fn(&Machine) -> &Vec<Vec<Option<MachineEffect>>>,
) -> Vec<(usize, MachineEffect)> {
    let effect = |machine| *of(machine).get(experiment)?.get(variant)?;
    let found = all.iter().enumerate();
    found.filter_map(|(index, machine)| Some((index, effect(machine)?))).collect()
}

/// Compares each machine with the others of its class and kind of disk. Blocks are distributed at random, so all of them measure
/// the same ratio. A machine differs if the gap between its interval and theirs is larger than [`TOLERATED`], and larger than their
/// own means deviate from each other at this error rate: where the others differ among themselves, nobody is singled out.
fn checks(variant: (usize, usize), all: &[Machine], alpha: f64) -> Vec<Check> {
    let effects = on_machines(all, variant, |machine| &machine.checked);
    let kind = |machine: usize| {
        let attributes = &all[machine].attributes;
        (attributes.disk, &attributes.class)
    };
    // Of so few means, Student's own reach would be endless, and nobody would ever be named.
    let deviations = student_reach(alpha, 1e6);
    let check = |(machine, own): &(usize, MachineEffect)| {
        let others = effects.iter().filter(|(other, _)| other != machine);
        let alike = others.filter(|(other, _)| kind(*other) == kind(*machine));
        let alike: Vec<MachineEffect> = alike.map(|(_, effect)| *effect).collect();
        let others = MachineEffect::together(&alike)?;
        let means: Vec<f64> = alike.iter().map(|effect| effect.mean).collect();
        let spread = standard_deviation(&means).unwrap_or_default();
        let tolerated = TOLERATED.ln().max(deviations * spread);
        let (of_own, of_others) = (own.interval(alpha), others.interval(alpha));
        Some(Check {
            machine: *machine,
            own: Ratio::of_logs(own.mean, own.interval(ALPHA)),
            others: Ratio::of_logs(others.mean, others.interval(ALPHA)),
            agrees: of_own.low - of_others.high <= tolerated
                && of_others.low - of_own.high <= tolerated,
        })
    };
    effects.iter().filter_map(check).collect()
}

fn summaries(effects: &[(&Attributes, MachineEffect)]) -> Vec<DiskSummary> {
    let mut by_disk: BTreeMap<Disk, Vec<MachineEffect>> = BTreeMap::new();
    // Unknown disks may be of several kinds.
    for (attributes, effect) in effects.iter().filter(|(it, _)| it.disk != Disk::Unknown) {
        by_disk.entry(attributes.disk).or_default().push(*effect);
    }
    let summary = |(disk, effects): (Disk, Vec<MachineEffect>)| {
        let pooled = RandomEffects::of(&effects, ALPHA)?;
        Some(DiskSummary {
            disk,
            machines: pooled.machines,
            ratio: Ratio::of_logs(pooled.centre, pooled.interval),
            prediction: pooled.prediction.map(|interval| interval.exp()),
            inconsistency: pooled.inconsistency,
        })
    };
    by_disk.into_iter().filter_map(summary).collect()
}

fn class_ratios(
    (experiment, variant): (usize, usize),
    groups: &[GroupAnswer],
) -> BTreeMap<String, Ratio> {
    let ratio = |group: &GroupAnswer| *group.ratios.get(experiment)?.get(variant)?;
    groups.iter().filter_map(|group| Some((group.class.clone(), ratio(group)?))).collect()
}

/// A claim on a fleet.
#[derive(Clone, Debug, Serialize)]
pub struct FleetClaim {
    /// Its id.
    pub id: String,
    /// Its statement.
    pub says: String,
    /// The verdicts by class: of each group of that class.
    pub by_class: BTreeMap<String, Vec<Verdict>>,
    /// Number of groups of a class without a verdict, if there are any.
    pub without_verdict: BTreeMap<String, usize>,
    /// The agreement of all classes.
    pub overall: Agreement,
}

impl FleetClaim {
    /// Returns the agreement of the groups of a class; none without a verdict.
    pub fn of_class(&self, class: &str) -> Option<Agreement> {
        let verdicts = Agreement::of(self.by_class.get(class)?);
        Some(if self.without_verdict.contains_key(class) { verdicts.with_more() } else { verdicts })
    }
}

/// Whether the verdicts on one claim agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agreement {
    /// All are this one.
    All(Verdict),
    /// The claim is confirmed by some and refuted by others.
    Differ,
    /// It is not decided everywhere, and not decided differently.
    Undecided,
}

impl Agreement {
    /// Returns the agreement of these verdicts.
    fn of<'v>(verdicts: impl IntoIterator<Item = &'v Verdict> + Clone) -> Agreement {
        let has = |wanted| verdicts.clone().into_iter().any(|verdict| *verdict == wanted);
        let mut all = verdicts.clone().into_iter();
        match all.next() {
            _ if has(Verdict::Confirmed) && has(Verdict::Refuted) => Agreement::Differ,
            Some(first) if all.all(|verdict| verdict == first) => Agreement::All(*first),
            _ => Agreement::Undecided,
        }
    }

    /// Returns the agreement together with groups that have no verdict.
    fn with_more(self) -> Agreement {
        match self {
            Agreement::All(_) => Agreement::Undecided,
            other => other,
        }
    }
}

/// Collects the verdicts of the groups on the claims of an experiment.
fn fleet_claims(experiment: usize, groups: &[GroupAnswer]) -> Vec<FleetClaim> {
    let mut claims: Vec<FleetClaim> = Vec::new();
    for GroupAnswer { class, claims: judged, .. } in groups {
        for judged in judged.get(experiment).into_iter().flatten() {
            let id = &judged.claim.id;
            let index = claims.iter().position(|claim| claim.id == *id).unwrap_or_else(|| {
                claims.push(FleetClaim {
                    id: id.clone(),
                    says: judged.claim.says.clone(),
                    by_class: BTreeMap::new(),
                    without_verdict: BTreeMap::new(),
                    overall: Agreement::Undecided,
                });
                claims.len() - 1
            });
            claims[index].by_class.entry(class.clone()).or_default().push(judged.verdict);
        }
    }
    for claim in &mut claims {
        claim.without_verdict = without_verdict(experiment, groups, &claim.id);
        let judged = Agreement::of(claim.by_class.values().flatten());
        claim.overall = if claim.without_verdict.is_empty() { judged } else { judged.with_more() };
    }
    claims
}

/// Counts the groups of each class that do not judge a claim.
fn without_verdict(
    experiment: usize,
    groups: &[GroupAnswer],
    claim: &str,
) -> BTreeMap<String, usize> {
    let mut without = BTreeMap::new();
    for group in groups {
        let mut judged = group.claims.get(experiment).into_iter().flatten();
        if !judged.any(|judged| judged.claim.id == claim) {
            *without.entry(group.class.clone()).or_default() += 1;
        }
    }
    without
}

/// Collects the effects on each machine of one group trial by trial, so that records of any length can be read line by line.
pub struct MachineCollector<'a> {
    plan: &'a RunPlan,
    by_agent: BTreeMap<String, Measured>,
}

/// The trials of an agent by experiment.
struct Measured {
    /// Those that count.
    own: Vec<History>,
    /// All of them.
    all: Vec<History>,
}

impl<'a> MachineCollector<'a> {
    /// Makes a collector for the run of a group.
    pub fn new(plan: &'a RunPlan) -> MachineCollector<'a> {
        MachineCollector { plan, by_agent: BTreeMap::new() }
    }

    /// Adds a trial, unless it is not part of a round or of no agent. One that was re-run for another agent does not count.
    pub fn add(&mut self, record: &TrialRecord, is_rerun: bool) {
        let Some(agent) = record.agent.as_ref().filter(|_| record.purpose == Purpose::Rounds)
        else {
            return;
        };
        let experiments = &self.plan.experiments;
        let Some(index) =
            experiments.iter().position(|experiment| experiment.key == record.experiment)
        else {
            return;
        };
        if let Some(observation) = observation(&experiments[index], record) {
            let none = || vec![History::default(); experiments.len()];
            let measured = self.by_agent.entry(agent.clone());
            let measured = measured.or_insert_with(|| Measured { own: none(), all: none() });
            measured.all[index].add(observation.clone());
            if !is_rerun {
                measured.own[index].add(observation);
            }
        }
    }

    /// Returns the machines with their effects; `about` returns the attributes of an agent's machine.
    pub fn finish(self, about: impl Fn(&str) -> Attributes) -> Vec<Machine> {
        let plan = self.plan;
        let blocks = |histories: &[History]| histories.iter().map(History::blocks).sum::<usize>();
        let machine = |(agent, Measured { own, all }): (String, Measured)| Machine {
            attributes: about(&agent),
            effects: effects(plan, &own),
            checked: effects(plan, &all),
            blocks: blocks(&own),
            reruns: blocks(&all) - blocks(&own),
            standing: Standing::NotChecked,
            agent,
        };
        self.by_agent.into_iter().map(machine).collect()
    }
}

/// Returns the effect of each variant of each experiment against the baseline, from blocks of one machine.
fn effects(plan: &RunPlan, histories: &[History]) -> Vec<Vec<Option<MachineEffect>>> {
    let experiments = plan.experiments.iter().zip(histories);
    experiments
        .map(|(planned, history)| {
            let variants = planned.variants.len();
            let samples = history.samples(variants);
            let effect = |variant| MachineEffect::of(&samples.log_ratios(variant, 0));
            (0..variants).map(effect).collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Bounds;
    use crate::seed::Seed;

    fn machine(agent: &str, disk: Disk, mean: f64) -> Machine {
        let effect = MachineEffect { mean, error: 0.02, blocks: 7 };
        Machine {
            agent: agent.to_owned(),
            attributes: Attributes { disk, ..Attributes::default() },
            effects: vec![vec![None, Some(effect)]],
            checked: vec![vec![None, Some(effect)]],
            ..Machine::default()
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
        assert!((variant.summaries[0].ratio.ratio - 0.7_f64.exp()).abs() < 1e-9);
        assert!((variant.summaries[1].ratio.ratio - 3.0_f64.exp()).abs() < 1e-6);
    }

    /// The machines whose ratio the others of their kind do not show.
    fn apart(all: &[Machine]) -> Vec<usize> {
        let checks = checks((0, 1), all, ALPHA / all.len() as f64);
        checks.iter().filter(|check| !check.agrees).map(|check| check.machine).collect()
    }

    #[test]
    fn a_machine_whose_ratio_the_others_of_its_kind_do_not_show_is_named() {
        let honest = |index: usize| machine("m", Disk::Solid, 0.5 + 0.01 * (index % 3) as f64);
        let mut all: Vec<Machine> = (0..6).map(honest).collect();
        assert!(apart(&all).is_empty());
        all.push(machine("rogue", Disk::Solid, 2.5));
        all.push(machine("slow disk", Disk::Rotating, 2.5));
        assert_eq!(apart(&all), [6]);
        all.drain(..4);
        assert_eq!(apart(&all), [2], "two others are enough");
        all.remove(0);
        assert_eq!(apart(&all), [0, 1], "of two, nobody knows which");
        all.remove(0);
        assert!(checks((0, 1), &all, ALPHA).is_empty(), "nobody to be compared with");
    }

    /// The share of simulated groups in which honest agents are named, and in which the first agent is, whose figures of a
    /// variant are invented. Machines have a noise and a ratio of their own, and one trial in a hundred takes far too long.
    fn named((agents, blocks): (usize, usize), between: f64, invented: f64) -> (f64, f64) {
        // Each machine is compared with all others.
        let runs = (1_000 / agents).clamp(5, 300);
        let mut random = Seed(7).generator();
        let (mut honest, mut rogue) = (0, 0);
        for _ in 0..runs {
            let of_agent = |agent: usize| {
                let noise = 0.05 * (1.4 * random.uniform() - 0.7).exp();
                let mean = 0.5 + between * random.normal();
                let mut trial = || {
                    let stalls = random.uniform() < 0.01;
                    noise * random.normal() + if stalls { 0.7 } else { 0.0 }
                };
                let shift = if agent == 0 { invented.ln() } else { 0.0 };
                let diffs = (0..blocks / agents).map(|_| mean + shift + trial() - trial());
                let effect = MachineEffect::of(&diffs.collect::<Vec<_>>());
                Machine { checked: vec![vec![None, effect]], ..Machine::default() }
            };
            let found = apart(&(0..agents).map(of_agent).collect::<Vec<_>>());
            rogue += usize::from(found.contains(&0));
            honest += usize::from(found.iter().any(|agent| *agent > 0));
        }
        (honest as f64 / runs as f64, rogue as f64 / runs as f64)
    }

    #[test]
    fn honest_agents_are_not_named_and_invented_figures_are() {
        for group in [(2, 14), (3, 30), (5, 100), (10, 100), (200, 1_400)] {
            let (honest, first) = named(group, 0.05, 1.0);
            assert!(honest <= 0.01 && first <= 0.01, "{group:?}: {honest} {first}");
        }
        let (honest, first) = named((200, 1_400), 0.1, 1.0);
        assert!(honest + first <= 0.05, "in a large class that varies: {honest}");
        for (group, least) in [((2, 14), 0.7), ((3, 30), 0.9), ((3, 100), 0.99), ((5, 100), 0.99)] {
            let (honest, first) = named(group, 0.03, 0.5);
            assert!(first >= least, "{group:?}: {first}");
            assert!(honest <= 0.02 || group.0 == 2, "{group:?}: {honest}");
        }
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

    /// The claim of a fleet whose groups, each with its class, have these verdicts.
    fn claim(verdicts: &[(&str, Option<Verdict>)]) -> FleetClaim {
        let judged = |verdict| -> Judged {
            serde_json::from_value(serde_json::json!({
                "claim": { "id": "c", "says": "" }, "verdict": verdict, "measure": "", "figure": null,
                "interval": null, "alpha": 0.05, "bounds": Bounds::default(), "rounds": 7,
                "preliminary": false, "why": null
            }))
            .unwrap()
        };
        let answer = |(class, verdict): &(&str, Option<Verdict>)| GroupAnswer {
            class: (*class).to_owned(),
            claims: vec![verdict.map(judged).into_iter().collect()],
            ..GroupAnswer::default()
        };
        let groups: Vec<GroupAnswer> = verdicts.iter().map(answer).collect();
        fleet_claims(0, &groups).remove(0)
    }

    #[test]
    fn an_overall_verdict_needs_classes_that_agree() {
        let (yes, no) = (Some(Verdict::Confirmed), Some(Verdict::Refuted));
        let open = Some(Verdict::Inconclusive);
        let all = Agreement::All(Verdict::Confirmed);
        assert_eq!(claim(&[("a", yes), ("b", yes)]).overall, all);
        let mixed = claim(&[("a", yes), ("b", no), ("b", yes), ("c", no)]);
        assert_eq!(mixed.overall, Agreement::Differ);
        assert_eq!(mixed.of_class("a"), Some(all));
        assert_eq!(mixed.of_class("b"), Some(Agreement::Differ));
        assert_eq!(mixed.of_class("d"), None);
        let undecided = claim(&[("a", yes), ("b", open)]);
        assert_eq!(undecided.overall, Agreement::Undecided, "none refutes it");
        let missing = claim(&[("a", yes), ("b", None)]);
        assert_eq!(missing.overall, Agreement::Undecided, "b has no verdict");
        let one_missing = claim(&[("a", yes), ("b", yes), ("b", None)]);
        assert_eq!(one_missing.overall, Agreement::Undecided);
        assert_eq!(one_missing.of_class("a"), Some(all));
        let of_b = one_missing.of_class("b");
        assert_eq!(of_b, Some(Agreement::Undecided), "one of b has no verdict");
    }
}
