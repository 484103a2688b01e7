//! Orders in which distinct keys arrive: the patterns by which the published experiments show what
//! governs the speed of an index.
//!
//! Every order is a permutation of the keys `0..count`, so that tables filled in different orders
//! hold the same rows and differ only in where the next key goes.

use lab::seed::Seed;

choice! {
    /// An order of the keys `0..count`.
    enum Order {
        /// 0, 1, 2, 3, …: each key is appended at the end.
        Sequential = "sequential",
        /// …, 3, 2, 1, 0: each key is inserted at the beginning.
        Reversed = "reversed",
        /// A random permutation (Fisher–Yates): keys are inserted anywhere.
        Shuffled = "shuffled",
        /// Smallest, largest, next smallest, next largest, …: keys are inserted in the middle.
        OutsideIn = "outside-in",
        /// outside-in backwards: keys are added at both ends in turn.
        InsideOut = "inside-out",
        /// 1, 3, 5, …, then 0, 2, 4, ….
        OddsThenEvens = "odds-then-evens",
        /// odds-then-evens backwards.
        EvensThenOdds = "evens-then-odds",
        /// 0, 10, 20, …, then 1, 11, 21, …, and so on up to 9, 19, 29, ….
        Sawtooth10 = "sawtooth-10",
    }
}

/// Passes of [`Order::Sawtooth10`], and the step within each.
const TEETH: usize = 10;

impl Order {
    /// Fills `keys` with the keys `0..keys.len()` in this order.
    pub fn fill(self, keys: &mut [i64], seed: Seed) {
        let end = keys.len() as i64;
        match self {
            Order::Sequential | Order::Shuffled => put(keys, 0..end),
            Order::Reversed => put(keys, (0..end).rev()),
            Order::OutsideIn => put(keys, (0..end).map(|place| outside_in(place, end))),
            Order::InsideOut => put(keys, (0..end).rev().map(|place| outside_in(place, end))),
            Order::OddsThenEvens => put(keys, (0..end).map(|place| odds_first(place, end))),
            Order::EvensThenOdds => put(keys, (0..end).rev().map(|place| odds_first(place, end))),
            Order::Sawtooth10 => {
                let teeth = 0..end.min(TEETH as i64);
                put(keys, teeth.flat_map(|first| (first..end).step_by(TEETH)));
            }
        }
        if self == Order::Shuffled {
            seed.child("order").generator().shuffle(keys);
        }
    }
}

fn put(places: &mut [i64], keys: impl Iterator<Item = i64>) {
    for (place, key) in places.iter_mut().zip(keys) {
        *place = key;
    }
}

/// Returns the key at a place of the order that takes the smallest and the largest left in turn.
#[inline]
fn outside_in(place: i64, end: i64) -> i64 {
    if place % 2 == 0 { place / 2 } else { end - 1 - place / 2 }
}

/// Returns the key at a place of the order that takes the odd keys first.
#[inline]
fn odds_first(place: i64, end: i64) -> i64 {
    let odds = end / 2;
    if place < odds { 2 * place + 1 } else { 2 * (place - odds) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Choice;

    fn keys(order: Order, count: usize, seed: u64) -> Vec<i64> {
        let mut keys = vec![-1; count];
        order.fill(&mut keys, Seed(seed));
        keys
    }

    fn order(name: &str) -> Order {
        Order::named(name).expect("an order of this name")
    }

    #[test]
    fn every_order_has_each_key_once() {
        for (order, name, _) in Order::ALL {
            for count in [0, 1, 2, 3, 9, 10, 11, 1_000, 1_001] {
                let mut keys = keys(*order, count, 5);
                keys.sort_unstable();
                assert!(keys.iter().copied().eq(0..count as i64), "{name} {count}");
            }
        }
    }

    #[test]
    fn small_orders_are_the_published_patterns() {
        let examples: &[(&str, usize, &[i64])] = &[
            ("sequential", 5, &[0, 1, 2, 3, 4]),
            ("reversed", 5, &[4, 3, 2, 1, 0]),
            ("outside-in", 6, &[0, 5, 1, 4, 2, 3]),
            ("outside-in", 5, &[0, 4, 1, 3, 2]),
            ("inside-out", 6, &[3, 2, 4, 1, 5, 0]),
            ("inside-out", 5, &[2, 3, 1, 4, 0]),
            ("odds-then-evens", 6, &[1, 3, 5, 0, 2, 4]),
            ("odds-then-evens", 5, &[1, 3, 0, 2, 4]),
            ("evens-then-odds", 6, &[4, 2, 0, 5, 3, 1]),
            ("sawtooth-10", 13, &[0, 10, 1, 11, 2, 12, 3, 4, 5, 6, 7, 8, 9]),
        ];
        for (name, count, published) in examples {
            assert_eq!(keys(order(name), *count, 1), *published, "{name} {count}");
        }
    }

    #[test]
    fn shuffling_repeats_for_a_seed_and_leaves_next_to_no_key_in_its_place() {
        let shuffled = |seed| keys(Order::Shuffled, 10_000, seed);
        assert_eq!(shuffled(2), shuffled(2));
        assert_ne!(shuffled(2), shuffled(3));
        let shuffled = shuffled(2);
        let in_place = (0_i64..).zip(&shuffled).filter(|(place, key)| place == *key);
        assert!(in_place.count() < 20);
    }
}
