//! The effects on each machine, gathered trial by trial, so that records of any length can be read line by line.

use std::collections::BTreeMap;

use super::summary::{Attributes, Machine};
use crate::analysis::observation;
use crate::design::History;
use crate::record::{Purpose, RunPlan, TrialRecord};
use crate::stats::MachineEffect;

/// Takes the trials of the machines of one group.
pub struct MachineCollector<'a> {
    plan: &'a RunPlan,
    by_agent: BTreeMap<String, Vec<History>>,
}

impl<'a> MachineCollector<'a> {
    /// For the run of a group, of which nothing has been read yet.
    pub fn new(plan: &'a RunPlan) -> MachineCollector<'a> {
        MachineCollector { plan, by_agent: BTreeMap::new() }
    }

    /// Adds a trial; those of other purposes than rounds, and those of no agent, have no part in it.
    pub fn add(&mut self, record: &TrialRecord) {
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
            let histories = self.by_agent.entry(agent.clone());
            let histories =
                histories.or_insert_with(|| vec![History::default(); experiments.len()]);
            histories[index].add(observation);
        }
    }

    /// The machines with their effects; `about` says what is known of an agent's machine.
    pub fn finish(self, about: impl Fn(&str) -> Attributes) -> Vec<Machine> {
        let plan = self.plan;
        let machine = |(agent, histories): (String, Vec<History>)| Machine {
            attributes: about(&agent),
            effects: effects(plan, &histories),
            blocks: histories.iter().map(History::blocks).sum(),
            agent,
        };
        self.by_agent.into_iter().map(machine).collect()
    }
}

/// The effect of each variant of each experiment against the baseline, from blocks of one machine alone.
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
