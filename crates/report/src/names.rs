//! Short names for the arms of one experiment.
//!
//! A label names the level of every factor. Within its experiment much of that says nothing: what
//! all arms share, and in a design that changes one factor at a time everything but the change.

use lab::analysis::ExperimentAnalysis;
use lab::level::{Settings, label};

/// Names of the arms, in the order of the plan.
pub(crate) struct Names(Vec<String>);

impl Names {
    /// The shortest names that still tell the arms apart.
    pub(crate) fn of(experiment: &ExperimentAnalysis) -> Names {
        let all: Vec<&Settings> = experiment.arms.iter().map(|arm| &arm.levels).collect();
        let Some(reference) = all.first() else {
            return Names(Vec::new());
        };
        let varies = |name: &String| all.iter().any(|arm| arm.get(name) != reference.get(name));
        let one_at_a_time = all.iter().all(|arm| changed(arm, reference).len() <= 1);
        let names = all.iter().enumerate().map(|(index, arm)| {
            let told: Settings = if one_at_a_time && index > 0 {
                changed(arm, reference)
            } else {
                arm.iter()
                    .filter(|(name, _)| varies(name))
                    .map(|(n, l)| (n.clone(), l.clone()))
                    .collect()
            };
            let told = if told.is_empty() {
                label(arm)
            } else {
                label(&told)
            };
            if told.is_empty() {
                "the only arm".to_owned()
            } else {
                told
            }
        });
        Names(names.collect())
    }

    /// The name of the arm at this place in the plan.
    pub(crate) fn get(&self, arm: usize) -> &str {
        &self.0[arm]
    }
}

/// The levels of `arm` that differ from the reference.
fn changed(arm: &Settings, reference: &Settings) -> Settings {
    arm.iter()
        .filter(|(name, level)| reference.get(*name) != Some(level))
        .map(|(name, level)| (name.clone(), level.clone()))
        .collect()
}
