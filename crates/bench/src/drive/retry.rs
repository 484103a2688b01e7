//! Retries of operations that met a lock of another connection, as an application does them.

use std::time::Duration;

use engine::EngineError;
use lab::seed::{Seed, SplitMix64};

use super::messages::BusyCounts;
use super::pacing::{Clock, Nanos};
use super::parameters::Retrying;
use crate::error::{Result, TrialError};

/// Why an attempt failed.
pub(crate) enum AttemptError {
    /// Another connection held a lock that was requested at this moment.
    Busy { since: Nanos, snapshot: bool },
    /// Something else went wrong.
    Failed(TrialError),
}

impl AttemptError {
    /// Distinguishes a lock that was requested at a moment from all other errors.
    pub(crate) fn of(since: Nanos) -> impl FnOnce(EngineError) -> AttemptError {
        move |error| {
            if error.is_busy() {
                AttemptError::Busy { since, snapshot: error.is_busy_snapshot() }
            } else {
                AttemptError::Failed(error.into())
            }
        }
    }
}

/// Decides whether operations are retried, and counts what stood in their way.
pub(crate) struct Retries {
    most: usize,
    pause_ns: u64,
    /// Source of the pauses, apart from all other choices, so that retries do not change what is written.
    pauses: SplitMix64,
    /// A busy result that comes sooner was not waited for.
    patience: Duration,
    busy: BusyCounts,
}

impl Retries {
    /// Retries operations as these parameters say.
    pub(crate) fn new(retrying: &Retrying, seed: Seed) -> Retries {
        Retries {
            most: retrying.max_retries,
            pause_ns: retrying.retry_pause.as_nanos() as u64,
            pauses: seed.child("pauses").generator(),
            patience: retrying.busy_timeout.0 / 2,
            busy: BusyCounts::default(),
        }
    }

    /// Counts a failed attempt, the `failures`th of its operation, and pauses before the next one. Returns whether there is
    /// a next one.
    ///
    /// # Errors
    /// The attempt failed for another reason than a lock.
    pub(crate) fn pause_after(
        &mut self,
        error: AttemptError,
        failures: usize,
        clock: &impl Clock,
    ) -> Result<bool> {
        let (since, snapshot) = match error {
            AttemptError::Busy { since, snapshot } => (since, snapshot),
            AttemptError::Failed(error) => return Err(error),
        };
        let waited = Duration::from_nanos(clock.now().saturating_sub(since));
        self.busy.errors += 1;
        self.busy.at_once += u64::from(waited < self.patience);
        self.busy.snapshots += u64::from(snapshot);
        if failures > self.most {
            return Ok(false);
        }
        self.busy.retries += 1;
        let pause = self.pause_ns / 2 + self.pauses.below(self.pause_ns.max(1));
        clock.wait_until(clock.now() + pause);
        Ok(true)
    }

    /// Returns the counts since the last call.
    pub(crate) fn take_busy(&mut self) -> BusyCounts {
        std::mem::take(&mut self.busy)
    }
}
