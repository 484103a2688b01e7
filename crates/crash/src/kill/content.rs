//! The writes of each transaction, and the expected database after it. Both are pure functions of the seed,
//! so writer and judge need not communicate.

use lab::seed::Seed;

/// Number of places that a transaction can write to. With bodies of up to [`LONGEST`] bytes the database
/// stays around 100 KB, so that judging it is fast.
pub(super) const SLOTS: u64 = 64;

/// The longest body in bytes: longer than a page, so that overflow pages are written too.
const LONGEST: u64 = 6_000;

/// The most places that a transaction writes to; enough for the small cache of the writer to spill.
const MOST_WRITES: u64 = 24;

/// One row that a transaction writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Write {
    pub(super) slot: u64,
    pub(super) body: Vec<u8>,
}

/// Returns the rows that a transaction writes, each slot once.
pub(super) fn writes(seed: Seed, transaction: u64) -> Vec<Write> {
    let seed = seed.child("transaction").nth(transaction);
    let mut generator = seed.generator();
    let mut slots: Vec<u64> = (0..SLOTS).collect();
    generator.shuffle(&mut slots);
    // Most transactions are small, some are large.
    let most = if generator.below(4) == 0 { MOST_WRITES } else { 3 };
    let count = 1 + generator.below(most);
    slots.truncate(count as usize);
    slots.into_iter().map(|slot| Write { slot, body: body(seed.nth(slot)) }).collect()
}

fn body(seed: Seed) -> Vec<u8> {
    let mut generator = seed.generator();
    let longest = if generator.below(8) == 0 { LONGEST } else { 600 };
    let length = 1 + generator.below(longest) as usize;
    let mut body = Vec::with_capacity(length + 8);
    while body.len() < length {
        body.extend(generator.next_u64().to_le_bytes());
    }
    body.truncate(length);
    body
}

/// The expected content of the database after some transaction.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    seed: Seed,
    /// The last transaction.
    pub(super) last: u64,
    slots: Vec<Option<Vec<u8>>>,
}

impl Expected {
    /// After transaction 0, which makes the tables.
    pub(super) fn new(seed: Seed) -> Expected {
        Expected { seed, last: 0, slots: vec![None; SLOTS as usize] }
    }

    /// Advances to a later transaction.
    pub(super) fn advance(&mut self, to: u64) {
        while self.last < to {
            self.last += 1;
            for write in writes(self.seed, self.last) {
                self.slots[write.slot as usize] = Some(write.body);
            }
        }
    }

    /// Returns the rows, in the order of their slots.
    pub(super) fn rows(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.slots
            .iter()
            .enumerate()
            .filter_map(|(slot, body)| Some((slot as u64, body.as_deref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_is_a_function_of_its_number_and_seed() {
        assert_eq!(writes(Seed(1), 7), writes(Seed(1), 7));
        assert_ne!(writes(Seed(1), 7), writes(Seed(1), 8));
        assert_ne!(writes(Seed(1), 7), writes(Seed(2), 7));
    }

    #[test]
    fn transactions_write_each_slot_once_and_some_are_large() {
        let sizes: Vec<usize> = (1..200)
            .map(|transaction| {
                let writes = writes(Seed(3), transaction);
                let mut slots: Vec<u64> = writes.iter().map(|write| write.slot).collect();
                slots.sort_unstable();
                slots.dedup();
                assert_eq!(slots.len(), writes.len());
                assert!(writes.iter().all(|write| !write.body.is_empty()));
                writes.len()
            })
            .collect();
        assert!(sizes.contains(&1));
        assert!(sizes.iter().any(|size| *size > 15));
    }

    #[test]
    fn what_is_expected_does_not_depend_on_the_steps_taken() {
        let mut at_once = Expected::new(Seed(5));
        at_once.advance(50);
        let mut in_steps = Expected::new(Seed(5));
        (1..=50).for_each(|transaction| in_steps.advance(transaction));
        assert!(at_once.rows().eq(in_steps.rows()));
        assert_eq!(at_once.last, 50);
    }
}
