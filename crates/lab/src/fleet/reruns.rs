//! The blocks that a second agent carries out as well, so that figures of agents can be compared.

use serde::{Deserialize, Serialize};

use crate::seed::Seed;

/// A random choice of blocks that no agent can foresee: its seed stays with the coordinator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reruns {
    /// The share of blocks that are chosen, from 0 to 1.
    pub share: f64,
    /// The seed, which has nothing to do with the run's.
    pub seed: Seed,
}

impl Reruns {
    /// Returns a number that only the coordinator can know if a block is chosen.
    pub fn ticket(&self, block: &str) -> Option<u64> {
        let mut numbers = self.seed.child(block).generator();
        (numbers.uniform() < self.share).then(|| numbers.next_u64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_blocks_is_chosen_and_another_seed_chooses_others() {
        let blocks: Vec<String> = (0..2_000).map(|round| format!("rounds-x-{round}-0")).collect();
        let chosen = |share: f64, seed: u64| -> Vec<&String> {
            let reruns = Reruns { share, seed: Seed(seed) };
            blocks.iter().filter(|block| reruns.ticket(block).is_some()).collect()
        };
        let (one, two) = (chosen(0.05, 1), chosen(0.05, 2));
        assert!((60..140).contains(&one.len()), "{}", one.len());
        assert!(one.iter().filter(|block| two.contains(block)).count() < 20);
        assert_eq!((chosen(0.0, 1).len(), chosen(1.0, 1).len()), (0, 2_000));
    }
}
