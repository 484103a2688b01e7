//! The plan of the rounds in which chosen variants are measured again; why they are is told in
//! [`crate::design`].

use std::collections::BTreeSet;

use crate::design::rounds_again;
use crate::experiment::Experiment;
use crate::record::{PlannedExperiment, RunPlan};

/// The run in which chosen variants are measured again: of each experiment those with the indices in
/// `chosen`, against the baseline. `budget_s` is the time that is left for it in seconds, where a limit
/// was set.
pub fn confirmation_plan(
    plan: &RunPlan,
    chosen: &[BTreeSet<usize>],
    budget_s: Option<f64>,
) -> RunPlan {
    let experiments = plan.experiments.iter().zip(chosen);
    RunPlan {
        seed: plan.seed.child("confirmation rounds"),
        budget_s,
        tiers: None,
        experiments: experiments
            .filter(|(_, chosen)| !chosen.is_empty())
            .map(|(planned, chosen)| again(planned, chosen))
            .collect(),
        ..plan.clone()
    }
}

fn again(planned: &PlannedExperiment, chosen: &BTreeSet<usize>) -> PlannedExperiment {
    let indices = [0].iter().chain(chosen);
    PlannedExperiment {
        // Claims were judged by the rounds of all variants.
        experiment: Experiment { claims: Vec::new(), ..planned.experiment.clone() },
        variants: indices.map(|variant| planned.variants[*variant].clone()).collect(),
        upper_bounds: Vec::new(),
        counting: false,
        stopping: rounds_again(planned.stopping),
        ..planned.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::{Stopping, Variant};
    use crate::seed::Seed;

    fn plan() -> RunPlan {
        let experiment: Experiment = serde_json::from_str(
            r#"{ "id": "x", "question": "?", "workload": "w", "factors": { "page_size": [512, 1024] },
            "design": { "kind": "one-at-a-time", "baseline": { "page_size": 512 } } }"#,
        )
        .unwrap();
        let variant = |label: &str| Variant { label: label.to_owned(), ..Variant::default() };
        let planned = |key: &str, stopping: Stopping| PlannedExperiment {
            key: key.to_owned(),
            experiment: experiment.clone(),
            directory: "/data".into(),
            variants: ["baseline", "a", "b", "c"].map(variant).to_vec(),
            counting: true,
            stopping,
            ..PlannedExperiment::default()
        };
        RunPlan {
            id: "run".to_owned(),
            seed: Seed(1),
            engine: "default".to_owned(),
            trial_limit_s: 60.0,
            budget_s: Some(100.0),
            experiments: vec![
                planned("few", Stopping::default()),
                planned("usual", Stopping::default()),
                planned("quick", Stopping::default().quick()),
            ],
            ..RunPlan::default()
        }
    }

    #[test]
    fn chosen_variants_get_rounds_of_their_own_on_data_of_their_own() {
        let plan = plan();
        let chosen = [BTreeSet::new(), BTreeSet::from([1, 3]), BTreeSet::from([2])];
        let confirmation = confirmation_plan(&plan, &chosen, Some(30.0));
        let labels = |index: usize| -> Vec<&str> {
            let variants = &confirmation.experiments[index].variants;
            variants.iter().map(|variant| variant.label.as_str()).collect()
        };
        assert_eq!(confirmation.experiments.len(), 2);
        assert_eq!(confirmation.experiments[0].key, "usual");
        assert_eq!(labels(0), ["baseline", "a", "c"]);
        assert_eq!(labels(1), ["baseline", "b"]);
        assert_eq!(confirmation.experiments[0].stopping.max_rounds, 7);
        assert_eq!(confirmation.experiments[1].stopping.max_rounds, 5);
        assert!(!confirmation.experiments[0].counting);
        assert_ne!(confirmation.seed, plan.seed);
        assert_eq!(confirmation.budget_s, Some(30.0));
    }
}
