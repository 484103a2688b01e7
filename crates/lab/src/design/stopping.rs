//! The stopping rule: on the width of intervals, never on significance.
//!
//! Stopping when a result becomes significant covers 80 % where 95 % are promised; stopping on
//! interval width covers 94 % (simulated, see `docs/method.md`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When the measuring of an experiment ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Stopping {
    /// Rounds that are always done: 7 by the protocol, the fewest with which an exact Wilcoxon
    /// interval at 95 % covers what it promises.
    pub rounds: u32,
    /// Rounds after which it ends in any case.
    pub max_rounds: u32,
    /// It ends when every arm's effect is known this well: half the width of the interval of the
    /// ratio to the reference, adjusted for the number of arms, as a fraction.
    pub half_width: f64,
}

impl Default for Stopping {
    fn default() -> Self {
        Stopping {
            rounds: 7,
            max_rounds: 30,
            half_width: 0.02,
        }
    }
}

impl Stopping {
    /// The rule of a quick run: three rounds, up to five where an effect is not known within 10 %,
    /// judged by paired t and labelled preliminary.
    pub fn quick(self) -> Stopping {
        const GOOD_ENOUGH: f64 = 0.1;
        Stopping {
            rounds: self.rounds.min(3),
            max_rounds: self.max_rounds.min(5),
            half_width: self.half_width.max(GOOD_ENOUGH),
        }
    }
}
