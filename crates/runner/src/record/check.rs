//! Whether trials belong to a run: a line of another run, or the same line twice, would change what the
//! run says.

use std::collections::{HashMap, HashSet};

use lab::design::Role;
use lab::level::label;
use lab::plan::tier_plan;
use lab::record::{PlannedExperiment, Purpose, RunPlan, TrialRecord};

/// Purpose, experiment, whether it counts, and round, block and position: no two trials share all of them.
type Identity = (Purpose, usize, bool, (u32, u32, u32));

/// The trials of a run so far.
pub(super) struct RecordCheck {
    rounds: RunPlan,
    tiers: Option<RunPlan>,
    by_key: HashMap<String, usize>,
    seen: HashSet<Identity>,
}

impl RecordCheck {
    /// None yet.
    pub(super) fn new(plan: RunPlan) -> RecordCheck {
        let keys = plan.experiments.iter().map(|planned| planned.key.clone());
        RecordCheck {
            by_key: keys.zip(0..).collect(),
            tiers: tier_plan(&plan),
            seen: HashSet::new(),
            rounds: plan,
        }
    }

    /// Takes the next trial.
    ///
    /// # Errors
    /// Why it does not belong to this run.
    pub(super) fn take(&mut self, trial: &TrialRecord) -> Result<(), String> {
        let key = &trial.experiment;
        let (index, planned) =
            self.planned(trial).ok_or_else(|| format!("the run has no experiment `{key}`"))?;
        if !is_of(planned, trial) {
            let variant = &trial.variant;
            return Err(format!("`{key}` has no variant `{variant}`"));
        }
        let place = (trial.round, trial.block, trial.position);
        let counting = trial.role == Role::Counting;
        if self.seen.insert((trial.purpose, index, counting, place)) {
            Ok(())
        } else {
            Err("the trial is in the record twice".to_owned())
        }
    }

    fn planned(&self, trial: &TrialRecord) -> Option<(usize, &PlannedExperiment)> {
        if trial.purpose == Purpose::Tier {
            let planned = self.tiers.as_ref()?.experiments.first();
            return Some((0, planned.filter(|planned| planned.key == trial.experiment)?));
        }
        let index = *self.by_key.get(&trial.experiment)?;
        Some((index, &self.rounds.experiments[index]))
    }
}

/// Returns whether the experiment has the variant of a trial. One that is tuned has every configuration of its space,
/// and changes of the application.
fn is_of(planned: &PlannedExperiment, trial: &TrialRecord) -> bool {
    let tuned = planned.tuning.as_ref().is_some_and(|tuning| {
        let mut advice = tuning.advice.iter();
        let is_change = trial.purpose == Purpose::Advice
            && advice.any(|advised| label(&advised.settings) == trial.variant);
        is_change || tuning.configuration(&trial.variant).is_some()
    });
    tuned || planned.index_of(&trial.variant, trial.role).is_some()
}

#[cfg(test)]
mod tests {
    use lab::level::{Level, Settings};
    use lab::tier::MayLose;
    use lab::tuning_plan::{Advice, TunableSetting, TuningPlan};
    use tuning::tuning_of;

    use super::*;

    fn trial(purpose: &str, variant: &str) -> TrialRecord {
        let record = serde_json::json!({
            "purpose": purpose, "experiment": "x", "round": 0, "block": 0, "position": 0, "variant": variant,
            "role": "variant", "started": "", "wall_s": 1.0, "covariates": { "duration_ns": 1 },
            "outcome": { "failed": { "why": "x" } }
        });
        serde_json::from_value(record).unwrap()
    }

    #[test]
    fn a_run_that_tunes_has_the_configurations_of_its_space_and_changes_where_they_are_measured() {
        let lever = TunableSetting {
            name: "a".to_owned(),
            levels: vec![Level::Int(0), Level::Int(1)],
            always_named: true,
            only_with: None,
        };
        let change = Advice {
            counted: None,
            change: "ten in one".to_owned(),
            sql: None,
            settings: [("group".to_owned(), Level::Int(10))].into(),
        };
        let tuning = TuningPlan {
            advice: vec![change],
            ..tuning_of(vec![lever], &Settings::new(), &[], MayLose::Nothing)
        };
        let planned =
            PlannedExperiment { tuning: Some(Box::new(tuning)), ..PlannedExperiment::default() };
        for (purpose, variant, belongs) in [
            ("search", "a=1", true),
            ("advice", "a=1", true),
            ("advice", "group=10", true),
            ("rounds", "group=10", false),
            ("advice", "group=11", false),
            ("search", "a=2", false),
        ] {
            let trial = trial(purpose, variant);
            assert_eq!(is_of(&planned, &trial), belongs, "{purpose} {variant}");
        }
    }
}
