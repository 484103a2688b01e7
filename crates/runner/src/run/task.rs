//! From a position in the design to the task of an executor.

use lab::design::{Next, Role};
use lab::engine_name::{engine_of, without_engine};
use lab::level::Level;
use lab::record::{PlannedExperiment, Purpose, RunPlan};
use lab::trial::{BindingSpec, DRIVER, NATIVE, PROTOCOL, TrialSpec};

use super::artifacts_of;
use crate::executor::Task;
use crate::survey::is_on_disk;

/// Which trial, and where it stands in its block.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) place: (u32, u32, u32),
    pub(crate) variant: usize,
    pub(crate) role: Role,
}

impl Slot {
    /// The place of a trial that comes next.
    pub(super) fn of(next: Next) -> Option<Slot> {
        match next {
            Next::Trial { place, variant, role } => Some(Slot { place, variant, role }),
            Next::Stop(_) => None,
        }
    }
}

/// Returns the task of a trial.
pub(crate) fn task(
    plan: &RunPlan,
    planned: &PlannedExperiment,
    purpose: Purpose,
    slot: Slot,
) -> Task {
    let (workload, settings) = match slot.variant.checked_sub(planned.variants.len()) {
        None => (&planned.experiment.workload, &planned.variants[slot.variant].settings),
        Some(bound) => {
            (&planned.upper_bounds[bound].workload, &planned.upper_bounds[bound].settings)
        }
    };
    let mut rest = without_engine(settings);
    let binding = match rest.remove(DRIVER) {
        Some(Level::Text(driver)) if driver != NATIVE => {
            Some(BindingSpec { driver, ..BindingSpec::default() })
        }
        _ => None,
    };
    Task {
        block: block_name(planned, purpose, slot),
        position: slot.place.2,
        spec: TrialSpec {
            protocol: PROTOCOL,
            workload: workload.clone(),
            settings: rest,
            engine: engine_of(settings, &plan.engine),
            directory: planned.directory.clone(),
            seed: plan.data_seed(planned, slot.place.0).0,
            counting: slot.role == Role::Counting,
            artifacts: planned.alone.then(|| artifacts_of(&planned.key, slot)),
            binding,
            postgres: None,
            confined: false,
        },
        limit_s: plan.trial_limit_s,
        probe_fsync: slot.place.2 == 0 && slot.role != Role::Counting && is_on_disk(planned),
    }
}

/// The name of a trial's block in the run. A trial that counts, or is compared with none, is a block of its own.
fn block_name(planned: &PlannedExperiment, purpose: Purpose, slot: Slot) -> String {
    let (round, block, position) = slot.place;
    let purpose = match purpose {
        Purpose::Search => "search",
        Purpose::Ablation => "ablation",
        Purpose::Advice => "advice",
        Purpose::Rounds => "rounds",
        Purpose::Tier => "tier",
        Purpose::Confirmation => "confirmation",
    };
    let own = match (slot.role, planned.alone) {
        (Role::Counting, _) => format!("-counting{position}"),
        (_, true) => format!("-alone{position}"),
        _ => String::new(),
    };
    format!("{purpose}-{}-{round}-{block}{own}", planned.key)
}
