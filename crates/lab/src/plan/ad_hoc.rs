//! Experiments that no file holds: made by a command, or by a run for itself.

use std::path::PathBuf;

use crate::catalogue::Catalogue;
use crate::design::{Stopping, Variant};
use crate::experiment::{Design, DesignKind, Experiment};
use crate::record::{PlannedExperiment, RunPlan};

use super::{Request, plan};

/// An experiment that measures listed variants for themselves: it has no factors and compares nothing.
pub fn ad_hoc(id: &str, question: &str, workload: &str, metric: &str) -> Experiment {
    Experiment {
        id: id.to_owned(),
        question: question.to_owned(),
        workload: workload.to_owned(),
        metric: metric.to_owned(),
        design: Design {
            kind: DesignKind::List,
            stopping: Stopping { rounds: 1, max_rounds: 1, ..Stopping::default() },
            ..Design::default()
        },
        ..Experiment::default()
    }
}

/// The plan of such an experiment in one directory.
pub(super) fn planned_alone(
    experiment: Experiment,
    directory: PathBuf,
    variants: Vec<Variant>,
) -> PlannedExperiment {
    PlannedExperiment {
        key: experiment.id.clone(),
        directory,
        variants,
        stopping: experiment.design.stopping,
        alone: true,
        experiment,
        ..PlannedExperiment::default()
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
    let directory = directory.unwrap_or_else(|| ".".into());
    let planned = planned_alone(experiment, directory, variants);
    RunPlan { experiments: vec![planned], ..plan(request, &Catalogue::default()) }
}
