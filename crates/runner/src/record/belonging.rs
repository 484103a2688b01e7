//! Whether trials belong to a run: a line of another run, or the same line twice, would change what the
//! run says.

use std::collections::{HashMap, HashSet};

use lab::design::Role;
use lab::plan::tier_plan;
use lab::record::{PlannedExperiment, Purpose, RunPlan, TrialRecord};

/// Purpose, experiment, whether it counts, and round, block and position: no two trials share all of them.
type Identity = (Purpose, usize, bool, (u32, u32, u32));

/// The trials of a run so far.
pub(super) struct Belonging {
    rounds: RunPlan,
    tiers: Option<RunPlan>,
    by_key: HashMap<String, usize>,
    seen: HashSet<Identity>,
}

impl Belonging {
    /// None yet.
    pub(super) fn to(plan: RunPlan) -> Belonging {
        let keys = plan.experiments.iter().map(|planned| planned.key.clone());
        Belonging {
            by_key: keys.zip(0..).collect(),
            tiers: tier_plan(&plan),
            seen: HashSet::new(),
            rounds: plan,
        }
    }

    /// Takes the next trial.
    ///
    /// # Errors
    /// Why it is none of this run.
    pub(super) fn take(&mut self, trial: &TrialRecord) -> Result<(), String> {
        let key = &trial.experiment;
        let (index, planned) = self
            .planned(trial)
            .ok_or_else(|| format!("the run has no experiment `{key}`"))?;
        if !is_of(planned, trial) {
            let variant = &trial.variant;
            return Err(format!("`{key}` has no variant `{variant}`"));
        }
        let place = (trial.round, trial.block, trial.position);
        let counting = trial.role == Role::Counting;
        match self.seen.insert((trial.purpose, index, counting, place)) {
            true => Ok(()),
            false => Err("the trial is in the record twice".to_owned()),
        }
    }

    fn planned(&self, trial: &TrialRecord) -> Option<(usize, &PlannedExperiment)> {
        if trial.purpose == Purpose::Tier {
            let planned = self.tiers.as_ref()?.experiments.first();
            return Some((
                0,
                planned.filter(|planned| planned.key == trial.experiment)?,
            ));
        }
        let index = *self.by_key.get(&trial.experiment)?;
        Some((index, &self.rounds.experiments[index]))
    }
}

/// Whether the experiment has the variant of a trial. One that is tuned has every configuration of its space.
fn is_of(planned: &PlannedExperiment, trial: &TrialRecord) -> bool {
    let searched = planned.tuning.as_ref();
    let configuration = searched.and_then(|tuning| tuning.configuration(&trial.variant));
    configuration.is_some() || planned.index_of(&trial.variant, trial.role).is_some()
}
