//! How trials ended.

use serde::{Deserialize, Serialize};

use crate::trial::Outcome;

/// How many trials ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialCounts {
    /// Measured and verified.
    pub measured: usize,
    /// Could not be run here.
    pub skipped: usize,
    /// Something was wrong.
    pub failed: usize,
    /// Stopped at the time limit.
    pub timed_out: usize,
}

impl TrialCounts {
    /// Counts one more.
    pub(super) fn add(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Measured(_) => self.measured += 1,
            Outcome::Skipped { .. } => self.skipped += 1,
            Outcome::Failed { .. } => self.failed += 1,
            Outcome::TimedOut { .. } => self.timed_out += 1,
        }
    }

    /// Both together.
    pub(super) fn plus(self, other: TrialCounts) -> TrialCounts {
        TrialCounts {
            measured: self.measured + other.measured,
            skipped: self.skipped + other.skipped,
            failed: self.failed + other.failed,
            timed_out: self.timed_out + other.timed_out,
        }
    }

    /// Returns all of them.
    pub fn total(&self) -> usize {
        self.measured + self.skipped + self.failed + self.timed_out
    }
}
