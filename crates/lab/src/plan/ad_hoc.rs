//! Experiments that no file holds: made by a command, or by a run for itself.

use std::collections::BTreeMap;

use crate::catalogue::Catalogue;
use crate::design::{Stopping, Variant};
use crate::experiment::{Design, DesignKind, Experiment};
use crate::level::Settings;
use crate::record::{PlannedExperiment, RunPlan};

use super::{Request, plan};

/// An experiment that measures listed variants for themselves: it has no factors and compares nothing.
pub fn ad_hoc(id: &str, question: &str, workload: &str, metric: &str) -> Experiment {
    Experiment {
        id: id.to_owned(),
        question: question.to_owned(),
        source: None,
        note: None,
        workload: workload.to_owned(),
        metric: metric.to_owned(),
        secondary_metrics: Vec::new(),
        base: Settings::new(),
        scale: BTreeMap::new(),
        factors: BTreeMap::new(),
        levels: BTreeMap::new(),
        conditions: Vec::new(),
        labels: Default::default(),
        variants: Vec::new(),
        adjust: Vec::new(),
        exclude: Vec::new(),
        upper_bounds: Vec::new(),
        design: Design {
            kind: DesignKind::List,
            baseline: Settings::new(),
            variants: Vec::new(),
            stopping: Stopping {
                rounds: 1,
                max_rounds: 1,
                ..Stopping::default()
            },
        },
        claims: Vec::new(),
    }
}

/// The run of an experiment that measures variants for themselves, in the first of the directories;
/// `rounds` times each.
pub fn plan_alone(
    request: Request,
    mut experiment: Experiment,
    variants: Vec<Variant>,
    rounds: u32,
) -> RunPlan {
    let directory = request.directories.first().cloned();
    experiment.design.stopping.rounds = rounds;
    experiment.design.stopping.max_rounds = rounds;
    let planned = PlannedExperiment {
        key: experiment.id.clone(),
        directory: directory.unwrap_or_else(|| ".".into()),
        variants,
        upper_bounds: Vec::new(),
        counting: false,
        crash_relevant: Vec::new(),
        stopping: experiment.design.stopping,
        alone: true,
        experiment,
    };
    RunPlan {
        experiments: vec![planned],
        ..plan(request, &Catalogue::default())
    }
}
