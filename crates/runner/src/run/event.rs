//! Events of a run, for displays.

use lab::design::StopReason;
use lab::record::{PlannedExperiment, Purpose, TrialRecord};
use tuning::Forecast;

/// Something that happens during a run.
pub enum Event<'a> {
    /// An experiment has its first turn, or its first after the run was taken up again.
    ExperimentBegins {
        /// The experiment.
        planned: &'a PlannedExperiment,
        /// Its number, from 1.
        number: usize,
        /// Of how many.
        of: usize,
        /// The purpose of its trials.
        purpose: Purpose,
    },
    /// A trial begins.
    TrialBegins {
        /// Its experiment.
        planned: &'a PlannedExperiment,
        /// Its round, from 0.
        round: u32,
        /// Label of its variant.
        variant: &'a str,
        /// Seconds that the whole run will probably still take; none before a trial has ended, from
        /// which it could be estimated.
        left_s: Option<f64>,
    },
    /// The trial's driver has entered a phase.
    Phase(&'a str),
    /// A trial has ended and is recorded.
    TrialEnded(&'a TrialRecord),
    /// The screen of a search has shown the noise of trials.
    Forecast(Forecast),
    /// An experiment has come to its end.
    ExperimentEnds {
        /// The experiment.
        planned: &'a PlannedExperiment,
        /// Why.
        reason: StopReason,
    },
}

/// Takes events as they happen.
pub trait Observer {
    /// Takes one.
    fn event(&mut self, event: Event<'_>);
}
