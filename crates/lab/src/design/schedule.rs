//! The order of trials in a round.
//!
//! A round measures every variant once. It is divided into blocks of the baseline, the baseline
//! once more (the A/A check) and up to six other variants; trials are compared within their block only,
//! because the machine drifts between blocks. The variants are dealt to blocks anew in each round, so
//! no pair of variants always shares one.

use serde::{Deserialize, Serialize};

use crate::seed::Seed;

/// Other variants in a block besides the baseline and its A/A check.
pub const VARIANTS_PER_BLOCK: usize = 6;

/// The role of a trial in its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The baseline variant, with which the block's other trials are compared.
    Baseline,
    /// The baseline variant once more: an A/A comparison that must show no difference.
    AaCheck,
    /// Any other variant.
    Variant,
    /// An upper bound of the variants: the same input without SQLite.
    UpperBound,
    /// A variant once more after the last round, counting what it does to files; its time is not used.
    Counting,
}

/// One trial of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduledTrial {
    /// Index of the variant; the baseline is 0.
    pub variant: usize,
    /// The trial's role in its block.
    pub role: Role,
}

/// Trials that are compared with one another, in the order in which they run.
pub type Block = Vec<ScheduledTrial>;

/// Returns the trials in a round over this many variants, the baseline among them.
pub fn trials_per_round(variants: usize) -> usize {
    let others = variants.saturating_sub(1);
    others + 2 * blocks_of(others)
}

fn blocks_of(others: usize) -> usize {
    others.div_ceil(VARIANTS_PER_BLOCK).max(1)
}

/// Returns the blocks of one round over the variants `others` (the baseline, variant 0, is not among them).
///
/// A pure function of its arguments: the same seed gives the same order.
pub fn round(seed: Seed, number: u32, others: &[usize]) -> Vec<Block> {
    let mut generator = seed.child("order").nth(u64::from(number)).generator();
    let mut dealt = others.to_vec();
    generator.shuffle(&mut dealt);
    let blocks = blocks_of(dealt.len());
    (0..blocks)
        .map(|block| {
            // Dealing like cards keeps the sizes of the blocks within one of each other.
            let mut trials: Block = dealt
                .iter()
                .skip(block)
                .step_by(blocks)
                .map(|variant| ScheduledTrial { variant: *variant, role: Role::Variant })
                .collect();
            trials.push(ScheduledTrial { variant: 0, role: Role::Baseline });
            trials.push(ScheduledTrial { variant: 0, role: Role::AaCheck });
            generator.shuffle(&mut trials);
            trials
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_measures_every_variant_once_and_each_block_has_its_own_baseline() {
        let others: Vec<usize> = (1..=23).collect();
        for number in 0..20 {
            let blocks = round(Seed(3), number, &others);
            assert_eq!(blocks.len(), 4);
            assert_eq!(blocks.concat().len(), trials_per_round(24));
            let mut seen: Vec<usize> = blocks
                .iter()
                .flatten()
                .filter(|trial| trial.role == Role::Variant)
                .map(|trial| trial.variant)
                .collect();
            seen.sort_unstable();
            assert_eq!(seen, others);
            for block in &blocks {
                for role in [Role::Baseline, Role::AaCheck] {
                    assert_eq!(
                        block
                            .iter()
                            .filter(|trial| trial.role == role && trial.variant == 0)
                            .count(),
                        1
                    );
                }
                assert!(block.len() <= VARIANTS_PER_BLOCK + 2);
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_order_and_rounds_differ() {
        let others: Vec<usize> = (1..=6).collect();
        assert_eq!(round(Seed(1), 0, &others), round(Seed(1), 0, &others));
        assert_ne!(round(Seed(1), 0, &others), round(Seed(1), 1, &others));
        assert_ne!(round(Seed(1), 0, &others), round(Seed(2), 0, &others));
    }

    #[test]
    fn an_experiment_of_one_variant_still_has_its_aa_check() {
        assert_eq!(round(Seed(1), 0, &[]).concat().len(), 2);
    }
}
