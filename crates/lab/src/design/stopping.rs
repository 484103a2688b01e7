//! The stopping rule: on the width of intervals, never on significance.
//!
//! Stopping when a result becomes significant covers 80 % where 95 % are promised; stopping on
//! interval width covers 94 % (simulated, see `docs/method.md`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stats::{ALPHA, MIN_BLOCKS_FOR_WILCOXON, wilcoxon_smallest_alpha};

/// When the measurement of an experiment stops.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Stopping {
    /// Minimum number of rounds: 7 by default, the fewest for an exact Wilcoxon interval at 95 %, and more
    /// where many claims are judged together.
    pub rounds: u32,
    /// Maximum number of rounds.
    pub max_rounds: u32,
    /// Precision at which it stops: half the width of the interval of every variant's ratio to the
    /// baseline, adjusted for the number of variants, as a fraction.
    pub half_width: f64,
}

impl Default for Stopping {
    fn default() -> Self {
        Stopping { rounds: 7, max_rounds: 30, half_width: 0.02 }
    }
}

impl Stopping {
    /// Returns the rule for an experiment of which so many claims are judged together: with at least as many rounds
    /// as let each of them be decided.
    ///
    /// Of n differences, an exact Wilcoxon interval is wrong in 2/2^n of all cases at least, and Holm's first
    /// step allows 5 % divided by the claims. With fewer rounds every interval would reach from
    /// nothing to infinity. A rule that asks for preliminary answers, by Student's t, is left alone.
    pub fn for_claims(self, judged_together: usize) -> Stopping {
        let is_preliminary = (self.max_rounds as usize) < MIN_BLOCKS_FOR_WILCOXON;
        if judged_together == 0 || is_preliminary {
            return self;
        }
        let allowed = ALPHA / judged_together as f64;
        let needed = (self.rounds..)
            .find(|rounds| wilcoxon_smallest_alpha(*rounds as usize) <= allowed)
            .unwrap_or(self.rounds);
        Stopping { rounds: needed, max_rounds: self.max_rounds.max(needed), ..self }
    }

    /// Returns the rule of a quick run: three rounds, up to five where an effect is not known within 10 %,
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

#[cfg(test)]
mod tests {
    use super::*;

    /// As 2/2^n, with which the method is documented.
    fn attained(rounds: u32) -> f64 {
        2.0 / 2_f64.powi(rounds as i32)
    }

    #[test]
    fn there_are_just_enough_rounds_for_every_claim_to_be_decided() {
        let usual = Stopping::default().rounds;
        for claims in 1..300 {
            let rounds = Stopping::default().for_claims(claims).rounds;
            let allowed = ALPHA / claims as f64;
            assert!(attained(rounds) <= allowed, "{claims}: {rounds}");
            assert!(rounds == usual || attained(rounds - 1) > allowed, "{claims}: {rounds}");
        }
        let short = Stopping { max_rounds: 7, ..Stopping::default() };
        assert_eq!(short.for_claims(19).max_rounds, 10);
    }

    #[test]
    fn preliminary_answers_stay_preliminary() {
        let preliminary = Stopping { rounds: 2, max_rounds: 5, ..Stopping::default() };
        assert_eq!(preliminary.for_claims(19), preliminary);
    }

    #[test]
    fn without_claims_the_rule_is_as_it_was_written() {
        let early = Stopping { rounds: 2, ..Stopping::default() };
        assert_eq!(early.for_claims(0), early);
    }
}
