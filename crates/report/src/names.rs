//! Short names for the variants of one experiment.
//!
//! A label names the level of every factor. Within its experiment much of that says nothing: what
//! all variants share, and in a design that changes one factor at a time everything but the change.

use lab::analysis::ExperimentAnalysis;
use lab::level::{Settings, label};

/// Names of the variants, in the order of the plan.
pub(crate) struct Names(Vec<String>);

impl Names {
    /// The shortest names that still tell the variants apart.
    pub(crate) fn of(experiment: &ExperimentAnalysis) -> Names {
        let all: Vec<&Settings> = experiment
            .variants
            .iter()
            .map(|variant| &variant.levels)
            .collect();
        let Some(baseline) = all.first() else {
            return Names(Vec::new());
        };
        let varies = |name: &String| {
            all.iter()
                .any(|variant| variant.get(name) != baseline.get(name))
        };
        let one_at_a_time = all
            .iter()
            .all(|variant| changed(variant, baseline).len() <= 1);
        let names = all.iter().enumerate().map(|(index, variant)| {
            let told: Settings = if one_at_a_time && index > 0 {
                changed(variant, baseline)
            } else {
                variant
                    .iter()
                    .filter(|(name, _)| varies(name))
                    .map(|(n, l)| (n.clone(), l.clone()))
                    .collect()
            };
            let told = if told.is_empty() {
                label(variant)
            } else {
                label(&told)
            };
            if told.is_empty() {
                "the only variant".to_owned()
            } else {
                told
            }
        });
        Names(names.collect())
    }

    /// The name of the variant at this place in the plan.
    pub(crate) fn get(&self, variant: usize) -> &str {
        &self.0[variant]
    }
}

/// The levels of `variant` that differ from the baseline.
fn changed(variant: &Settings, baseline: &Settings) -> Settings {
    variant
        .iter()
        .filter(|(name, level)| baseline.get(*name) != Some(level))
        .map(|(name, level)| (name.clone(), level.clone()))
        .collect()
}
