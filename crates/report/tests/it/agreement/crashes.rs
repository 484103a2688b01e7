//! What the crash trials of a generated run find.

use lab::design::Role;
use lab::record::{Purpose, RunPlan, TrialRecord};
use lab::seed::Seed;
use lab::tier::{Accident, Counts, Losses, ModelSafety};
use lab::trial::{Measured, Outcome};

use crate::agreement::recipe::{RunRecipe, Tiers};

/// The crash trials, of some or all sets of settings.
pub fn records(plan: &RunPlan, recipe: &RunRecipe) -> Vec<TrialRecord> {
    let sets = plan.tiers.iter().flat_map(|tiers| &tiers.sets);
    let labels = sets.map(ToString::to_string);
    let seed = |label: &String| plan.seed.child("crash").child(label);
    let is_reached =
        |label: &String| recipe.tiers == Tiers::All || seed(label).nth(0).generator().below(3) > 0;
    labels.filter(is_reached).map(|label| record(seed(&label), label)).collect()
}

fn record(seed: Seed, label: String) -> TrialRecord {
    TrialRecord {
        agent: None,
        purpose: Purpose::Tier,
        experiment: "tiers".to_owned(),
        round: 0,
        block: 0,
        position: 0,
        variant: label,
        role: Role::Variant,
        started: String::new(),
        wall_s: 1.0,
        covariates: Default::default(),
        outcome: outcome(seed),
    }
}

fn losses(images: u64, corrupt: u64, losing: u64, most: u64) -> Losses {
    Losses::of(Counts::of(images, corrupt, losing, most))
}

fn outcome(seed: Seed) -> Outcome {
    let mut dice = seed.generator();
    let torn = match dice.below(5) {
        0 => losses(700, 31, 5, 2),
        1 => losses(700, 0, 5, 2),
        2 => {
            let why = "the engine refuses it".to_owned();
            return Outcome::Skipped { why };
        }
        _ => losses(700, 0, 0, 0),
    };
    Outcome::Measured(Box::new(Measured {
        safety: vec![
            model("kill", Accident::Process, losses(70, 0, 0, 0)),
            model("torn", Accident::Power, torn),
        ],
        ..Measured::default()
    }))
}

fn model(name: &str, accident: Accident, ordinary: Losses) -> ModelSafety {
    ModelSafety { ordinary, ..ModelSafety::not_measured(name, accident, true, "") }
}
