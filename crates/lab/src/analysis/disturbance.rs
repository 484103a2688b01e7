//! Disturbances of the machine while an experiment ran: how many blocks were disturbed, and how much CPU pressure and steal
//! there was. Where most blocks were disturbed none is dropped, and the answer has to say so.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::environment::Covariates;
use crate::stats::median;

/// The blocks of an experiment and what disturbed them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Disturbances {
    /// Blocks that were disturbed, whether they were dropped or not.
    pub disturbed: usize,
    /// All blocks.
    pub blocks: usize,
    /// CPU pressure in per cent of time, 0 to 100; `None` if the system does not say.
    pub cpu_pressure: Option<TrialFigures>,
    /// The share of CPU time, 0 to 1, that the hypervisor gave to others; `None` if the system does not say.
    pub steal: Option<TrialFigures>,
}

/// A figure over the trials of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TrialFigures {
    /// The middle one.
    pub median: f64,
    /// The highest.
    pub highest: f64,
}

impl TrialFigures {
    fn of(values: &[f64]) -> Option<TrialFigures> {
        Some(TrialFigures {
            median: median(values)?,
            highest: values.iter().copied().reduce(f64::max)?,
        })
    }
}

/// Gathers what disturbed the trials of an experiment.
#[derive(Clone, Debug, Default)]
pub(super) struct Disturbing {
    blocks: BTreeSet<(u32, u32)>,
    disturbed: BTreeSet<(u32, u32)>,
    cpu_pressure: Vec<f64>,
    steal: Vec<f64>,
}

impl Disturbing {
    /// Adds a trial of this round and block.
    pub(super) fn add(&mut self, block: (u32, u32), covariates: &Covariates) {
        self.blocks.insert(block);
        if covariates.disturbance().is_some() {
            self.disturbed.insert(block);
        }
        self.cpu_pressure.extend(covariates.cpu_pressure_avg10);
        self.steal.extend(covariates.steal_fraction);
    }

    pub(super) fn finish(&self) -> Disturbances {
        Disturbances {
            disturbed: self.disturbed.len(),
            blocks: self.blocks.len(),
            cpu_pressure: TrialFigures::of(&self.cpu_pressure),
            steal: TrialFigures::of(&self.steal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_disturbed_by_any_of_their_trials_and_pressure_is_kept_of_all() {
        let mut disturbing = Disturbing::default();
        for (block, pressure) in [(0, 1.0), (0, 40.0), (1, 2.0), (2, 90.0)] {
            let covariates =
                Covariates { cpu_pressure_avg10: Some(pressure), ..Covariates::default() };
            disturbing.add((0, block), &covariates);
        }
        let found = disturbing.finish();
        assert_eq!((found.disturbed, found.blocks), (2, 3));
        assert!(2 * found.disturbed > found.blocks);
        let pressure = found.cpu_pressure.unwrap();
        assert_eq!((pressure.median, pressure.highest), (21.0, 90.0));
        assert_eq!(found.steal, None);
    }
}
