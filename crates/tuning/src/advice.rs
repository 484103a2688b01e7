//! Changes of the application, which are no settings: their gain is measured on the recommended settings, and said apart.

use serde::Serialize;

use super::compared::Compared;
use lab::stats::Interval;
use lab::tuning_plan::Advice;

/// What a change of the application brings: the recommended settings with it compared with those without it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advised {
    /// The change.
    pub advice: Advice,
    /// What it brings; none where it could not be measured.
    pub gain: Option<Gain>,
}

/// By how many times something is better.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// The ratio, above 1 for better.
    pub ratio: f64,
    /// Its interval, corrected for the number of changes by Holm's method.
    pub interval: Interval,
    /// The difference that would have been detected in 80 % of all cases, as a fraction.
    pub detectable: f64,
    /// Rounds.
    pub rounds: usize,
}

impl From<Compared> for Gain {
    fn from(compared: Compared) -> Gain {
        Gain {
            ratio: compared.ratio,
            interval: compared.interval,
            detectable: compared.detectable,
            rounds: compared.rounds,
        }
    }
}
