//! From what the user asked for to the plan of a run.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::catalogue::Catalogue;
use crate::design::{arms, limits};
use crate::experiment::{Experiment, Scale};
use crate::record::{FORMAT, PlannedExperiment, RunPlan};
use crate::seed::Seed;

/// What the user asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// Name of the run.
    pub id: String,
    /// Now: RFC 3339, UTC.
    pub created: String,
    /// Version of pragmark.
    pub pragmark: String,
    /// From which every random choice derives.
    pub seed: Seed,
    /// How large the data is to be.
    pub scale: Scale,
    /// The engine of arms that name none.
    pub engine: String,
    /// Whether a quick, preliminary answer is enough.
    pub quick: bool,
    /// Longest time for one trial, in seconds.
    pub trial_limit_s: f64,
    /// Time for the whole run in seconds; none for no limit.
    pub budget_s: Option<f64>,
    /// The experiments, checked.
    pub experiments: Vec<Experiment>,
    /// The directories to be measured; every experiment is done on each.
    pub directories: Vec<PathBuf>,
}

/// Plans a run.
pub fn plan(request: Request, catalogue: &Catalogue) -> RunPlan {
    let Request { scale, quick, .. } = request;
    let several = request.directories.len() > 1;
    let mut experiments: Vec<PlannedExperiment> = Vec::new();
    for experiment in &request.experiments {
        for (number, directory) in request.directories.iter().enumerate() {
            let id = &experiment.id;
            let stopping = experiment.design.stopping;
            experiments.push(PlannedExperiment {
                key: if several {
                    format!("{id}@{}", number + 1)
                } else {
                    id.clone()
                },
                experiment: experiment.clone(),
                directory: directory.clone(),
                arms: arms(experiment, scale, catalogue),
                limits: limits(experiment, scale, catalogue),
                // A quick look is at speed, not at its causes.
                counting: !quick
                    && catalogue
                        .workload(&experiment.workload)
                        .is_some_and(|workload| workload.counts),
                crash_relevant: crash_relevant(experiment, catalogue),
                stopping: if quick { stopping.quick() } else { stopping },
            });
        }
    }
    RunPlan {
        format: FORMAT,
        id: request.id,
        created: request.created,
        pragmark: request.pragmark,
        seed: request.seed,
        scale,
        engine: request.engine,
        quick,
        trial_limit_s: request.trial_limit_s,
        budget_s: request.budget_s,
        experiments,
    }
}

fn crash_relevant(experiment: &Experiment, catalogue: &Catalogue) -> Vec<String> {
    let Some(workload) = catalogue.workload(&experiment.workload) else {
        return Vec::new();
    };
    let decides = |name: &&String| {
        catalogue
            .setting(workload, name)
            .is_some_and(|parameter| parameter.crash_relevant)
    };
    // The arms of a list may differ in more than the factors.
    let arms = &experiment.design.arms;
    let differing: BTreeSet<&String> = experiment
        .factors
        .keys()
        .chain(arms.iter().flat_map(|arm| arm.keys()))
        .collect();
    differing.into_iter().filter(decides).cloned().collect()
}
