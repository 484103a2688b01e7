//! The trials of an experiment so far, as the design sees them.

use std::collections::{HashMap, HashSet};

use super::Role;
use crate::samples::Samples;

/// Failures after which a variant is not tried again.
const FAILURES_ENOUGH: usize = 2;

/// How a trial ended, as far as the design cares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Done {
    /// Measured, with the figure of the experiment's metric.
    Measured(f64),
    /// Cannot be run here.
    Skipped,
    /// Failed or timed out.
    Failed,
}

/// One trial that has been run.
#[derive(Clone, Debug)]
pub struct Observation {
    /// Round, block and position.
    pub place: (u32, u32, u32),
    /// Index of the variant.
    pub variant: usize,
    /// Its role in its block.
    pub role: Role,
    /// How it ended.
    pub done: Done,
    /// How long it took in seconds, process and clean-up included.
    pub wall_s: f64,
    /// Whether the machine was disturbed meanwhile.
    pub disturbed: bool,
}

/// The trials of one experiment so far.
#[derive(Clone, Debug, Default)]
pub struct History {
    pub(super) trials: HashMap<(u32, u32, u32), Observation>,
    /// By variant, the rounds in which it was not measured and whether it was skipped there; asked
    /// before every trial, so kept apart.
    troubles: HashMap<usize, Vec<(u32, bool)>>,
    /// The rounds of the baseline's trials that were measured, its A/A checks among them.
    baselines: Vec<u32>,
    pub(super) begun: HashSet<u32>,
    /// Variants whose counting trial has been run.
    pub(super) counted: HashSet<usize>,
    /// The time taken so far in seconds, counting trials left out.
    pub elapsed_s: f64,
}

impl History {
    /// Adds a trial. A trial whose place is taken is a repetition: it is ignored and the answer
    /// is `false`.
    pub fn add(&mut self, trial: Observation) -> bool {
        if trial.role == Role::Counting {
            return self.counted.insert(trial.variant);
        }
        if self.trials.contains_key(&trial.place) {
            return false;
        }
        self.elapsed_s += trial.wall_s;
        self.begun.insert(trial.place.0);
        if !matches!(trial.done, Done::Measured(_)) {
            let trouble = (trial.place.0, trial.done == Done::Skipped);
            self.troubles.entry(trial.variant).or_default().push(trouble);
        } else if trial.variant == 0 {
            self.baselines.push(trial.place.0);
        }
        self.trials.insert(trial.place, trial);
        true
    }

    /// Returns the number of rounds begun.
    pub fn rounds(&self) -> u32 {
        self.begun.iter().max().map_or(0, |last| last + 1)
    }

    /// Returns the number of blocks begun, dropped ones included.
    pub fn blocks(&self) -> usize {
        let blocks: HashSet<(u32, u32)> =
            self.trials.keys().map(|place| (place.0, place.1)).collect();
        blocks.len()
    }

    /// Returns the number of trials, counting trials left out.
    pub fn len(&self) -> usize {
        self.trials.len()
    }

    /// Returns whether nothing has been run.
    pub fn is_empty(&self) -> bool {
        self.trials.is_empty()
    }

    /// Returns the mean time of a trial in seconds, counting trials left out; none before the first.
    pub fn trial_s(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.elapsed_s / self.len() as f64)
    }

    /// Returns the blocks that are dropped because the machine was disturbed.
    ///
    /// Where more than half of all blocks were disturbed, none is dropped: then disturbance is
    /// how this machine is, and what remained would be no better. The same holds where more than half of
    /// the blocks of one variant were: it may keep every processor busy by itself, and would lose its trials
    /// for what they are.
    pub fn dropped_blocks(&self) -> Vec<(u32, u32)> {
        let mut blocks: HashMap<(u32, u32), bool> = HashMap::new();
        for trial in self.trials.values() {
            *blocks.entry((trial.place.0, trial.place.1)).or_default() |= trial.disturbed;
        }
        let mut dropped: Vec<(u32, u32)> =
            blocks.iter().filter(|(_, disturbed)| **disturbed).map(|(place, _)| *place).collect();
        if 2 * dropped.len() > blocks.len() || self.is_mostly_in(&dropped) {
            dropped.clear();
        }
        dropped.sort_unstable();
        dropped
    }

    /// Returns whether a variant would lose more than half of its trials with these blocks.
    fn is_mostly_in(&self, dropped: &[(u32, u32)]) -> bool {
        if dropped.is_empty() {
            return false;
        }
        let dropped: HashSet<(u32, u32)> = dropped.iter().copied().collect();
        let mut variants: HashMap<usize, (usize, usize)> = HashMap::new();
        for trial in self.trials.values().filter(|trial| trial.role == Role::Variant) {
            let (lost, all) = variants.entry(trial.variant).or_default();
            *lost += usize::from(dropped.contains(&(trial.place.0, trial.place.1)));
            *all += 1;
        }
        variants.values().any(|(lost, all)| 2 * lost > *all)
    }

    /// Returns the figures of the experiment's metric without the dropped blocks.
    pub fn samples(&self, variants: usize) -> Samples {
        let dropped = self.dropped_blocks();
        let mut samples = Samples::new(variants);
        for trial in self.trials.values() {
            let (round, block, _) = trial.place;
            if let Done::Measured(value) = trial.done
                && dropped.binary_search(&(round, block)).is_err()
            {
                samples.add(round, block, trial.variant, trial.role, value);
            }
        }
        samples
    }

    /// Returns whether the variant is given up before `round`: it was skipped, or failed twice. Without the baseline
    /// nothing is left, and it has several trials in a round: it has to fail as often as it was measured.
    pub(super) fn given_up(&self, variant: usize, round: u32) -> bool {
        let Some(troubles) = self.troubles.get(&variant) else { return false };
        let before = || troubles.iter().filter(|(when, _)| *when < round);
        let measured = match variant {
            0 => self.baselines.iter().filter(|when| **when < round).count(),
            _ => 0,
        };
        before().any(|(_, skipped)| *skipped) || before().count() >= FAILURES_ENOUGH.max(measured)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disturbed_blocks_are_measured_again_unless_most_are_disturbed() {
        let mut history = History::default();
        let seen = |round, disturbed| Observation {
            place: (round, 0, 0),
            variant: 0,
            role: Role::Baseline,
            done: Done::Measured(1.0),
            wall_s: 1.0,
            disturbed,
        };
        history.add(seen(0, true));
        history.add(seen(1, false));
        history.add(seen(2, false));
        assert_eq!(history.dropped_blocks(), [(0, 0)]);
        assert_eq!(history.samples(1).values(0).len(), 2);
        history.add(seen(3, true));
        history.add(seen(4, true));
        assert!(history.dropped_blocks().is_empty());
    }

    #[test]
    fn a_variant_that_disturbs_by_itself_keeps_its_blocks() {
        let seen = |round, block, variant, disturbed| Observation {
            place: (round, block, 0),
            variant,
            role: Role::Variant,
            done: Done::Measured(1.0),
            wall_s: 1.0,
            disturbed,
        };
        let mut history = History::default();
        for round in 0..5 {
            history.add(seen(round, 0, 1, false));
            history.add(seen(round, 1, 2, round < 2));
        }
        assert_eq!(history.dropped_blocks(), [(0, 1), (1, 1)]);
        history.add(seen(5, 0, 1, false));
        history.add(seen(5, 1, 2, true));
        assert_eq!(history.dropped_blocks().len(), 3);
        history.add(seen(6, 0, 1, false));
        history.add(seen(6, 1, 2, true));
        assert!(history.dropped_blocks().is_empty());
    }

    #[test]
    fn the_baseline_is_given_up_when_it_fails_as_often_as_it_is_measured() {
        let seen = |round, block, done| Observation {
            place: (round, block, 0),
            variant: 0,
            role: Role::Baseline,
            done,
            wall_s: 1.0,
            disturbed: false,
        };
        let mut history = History::default();
        for block in 0..2 {
            history.add(seen(0, block, Done::Failed));
        }
        assert!(history.given_up(0, 1));
        for block in 2..20 {
            history.add(seen(0, block, Done::Measured(1.0)));
        }
        assert!(!history.given_up(0, 1), "a disk that was full for a moment");
        for block in 0..16 {
            history.add(seen(1, block, Done::Failed));
        }
        assert!(history.given_up(0, 2));
    }
}
