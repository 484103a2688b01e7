//! Measuring again what was chosen from many variants.
//!
//! Choosing the best of many is biased: of 54 identical variants, the best looks 6.6 % faster
//! after three rounds with 5 % of noise (`docs/method.md`). Where so many could be chosen, the rounds that
//! choose are not those that report the gain: the chosen variants and the baseline get rounds of their own, in
//! an order and on data of their own ([`crate::plan::confirmation_plan`]).

use super::{Course, Stopping};

/// From how many variants on what is chosen is measured again.
pub const MANY: usize = 20;

/// Rounds of their own for what was chosen, unless only a preliminary answer is wanted.
const ROUNDS: u32 = 7;

/// Variants that are chosen at most: one for each of three rungs of the ladder, the best that is not less
/// safe than the baseline, and the best of all.
const CHOSEN: usize = 5;

/// The rounds of measuring again, of an experiment with this rule.
pub fn rounds_again(stopping: Stopping) -> Stopping {
    let rounds = ROUNDS.min(stopping.max_rounds);
    Stopping { rounds, max_rounds: rounds, ..stopping }
}

/// Trials of measuring again, at most, where an experiment has variants enough to choose from.
pub(super) fn confirmation_trials(course: &Course) -> usize {
    if course.variants <= MANY {
        return 0;
    }
    rounds_again(course.stopping).rounds as usize * super::trials_per_round(1 + CHOSEN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;

    #[test]
    fn time_is_put_aside_where_there_are_variants_enough_to_choose_from() {
        let trials = |variants: usize| {
            confirmation_trials(&Course {
                seed: Seed(1),
                variants,
                upper_bounds: 0,
                counting: false,
                stopping: Stopping::default(),
                budget_s: None,
                alone: false,
            })
        };
        assert_eq!((trials(MANY), trials(MANY + 1)), (0, 7 * 7));
    }
}
