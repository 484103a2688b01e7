//! Integers of the sizes that the published experiments use.
//!
//! Orders in which distinct keys arrive: the patterns by which the published experiments show what
//! governs the speed of an index.
//!
//! Every order is a permutation of the keys `0..count`, so that tables filled in different orders
//! hold the same rows and differ only in where the next key goes.

use std::ops::{Deref, DerefMut};

use lab::seed::Seed;
use memmap2::MmapMut;

use crate::error::{Result, TrialError};

choice! {
    /// Which integers a table is filled with.
    enum Values {
        /// 0.
        Zeros = "zeros",
        /// 1.
        Ones = "ones",
        /// 0 or 1, equally likely.
        Bools = "bools",
        /// Uniform over 8 bits, signed.
        Int8 = "int8",
        /// Uniform over 16 bits, signed.
        Int16 = "int16",
        /// Uniform over 32 bits, signed.
        Int32 = "int32",
        /// Uniform over 64 bits, signed.
        Int64 = "int64",
    }
}

impl Values {
    /// `count` integers of this kind.
    ///
    /// # Errors
    /// As for [`Integers::zeroed`].
    pub fn generate(self, count: usize, seed: Seed) -> Result<Integers> {
        let mut data = Integers::zeroed(count)?;
        self.fill(&mut data, seed);
        Ok(data)
    }

    /// Fills `data` with integers of this kind.
    pub fn fill(self, data: &mut [i64], seed: Seed) {
        let mut generator = seed.child("integers").generator();
        let mut draw = |bits: u32| {
            for value in &mut *data {
                *value = (generator.next_u64() as i64) >> (64 - bits);
            }
        };
        match self {
            Values::Zeros => data.fill(0),
            Values::Ones => data.fill(1),
            Values::Bools => data.fill_with(|| (generator.next_u64() >> 63) as i64),
            Values::Int8 => draw(8),
            Values::Int16 => draw(16),
            Values::Int32 => draw(32),
            Values::Int64 => draw(64),
        }
    }
}

/// Memory for the input of a trial, in huge pages where the kernel gives them: drawing a value
/// takes less time than the first touch of an ordinary page takes for each value on it. Threads
/// would be faster too, but a process that has once had several pays for locks in every
/// allocation from then on, which makes one-row inserts 6 % slower.
pub struct Integers {
    memory: MmapMut,
    count: usize,
}

impl Integers {
    /// `count` zeros.
    ///
    /// # Errors
    /// The memory is exhausted.
    pub fn zeroed(count: usize) -> Result<Integers> {
        let bytes = count.max(1).saturating_mul(size_of::<i64>());
        let memory = MmapMut::map_anon(bytes).map_err(|error| {
            TrialError::cannot_run(format!("{count} integers do not fit into memory: {error}"))
        })?;
        // Ordinary pages, which remain where the kernel refuses, differ in speed only.
        #[cfg(target_os = "linux")]
        let _ = memory.advise(memmap2::Advice::HugePage);
        Ok(Integers { memory, count })
    }
}

impl Deref for Integers {
    type Target = [i64];

    fn deref(&self) -> &[i64] {
        &bytemuck::cast_slice(&self.memory)[..self.count]
    }
}

impl DerefMut for Integers {
    fn deref_mut(&mut self) -> &mut [i64] {
        &mut bytemuck::cast_slice_mut(&mut self.memory)[..self.count]
    }
}

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

    #[test]
    fn values_fill_their_range_and_repeat_for_a_seed() {
        for (values, low, high) in [
            (Values::Int8, i64::from(i8::MIN), i64::from(i8::MAX)),
            (Values::Int16, i64::from(i16::MIN), i64::from(i16::MAX)),
            (Values::Int32, i64::from(i32::MIN), i64::from(i32::MAX)),
        ] {
            let data = values.generate(20_000, Seed(3)).unwrap();
            assert_eq!(*data, *values.generate(20_000, Seed(3)).unwrap());
            assert_ne!(*data, *values.generate(20_000, Seed(4)).unwrap());
            let (least, most) = (*data.iter().min().unwrap(), *data.iter().max().unwrap());
            let width = (high - low) / 50;
            assert!(least >= low && least < low + width, "{values:?} {least}");
            assert!(most <= high && most > high - width, "{values:?} {most}");
        }
        assert_eq!(*Values::Zeros.generate(3, Seed(1)).unwrap(), [0; 3]);
        assert_eq!(*Values::Ones.generate(3, Seed(1)).unwrap(), [1; 3]);
    }

    #[test]
    fn bools_are_zero_and_one_about_equally_often() {
        let data = Values::Bools.generate(10_000, Seed(8)).unwrap();
        assert!(data.iter().all(|value| matches!(value, 0 | 1)));
        let ones: i64 = data.iter().sum();
        assert!((4_800..=5_200).contains(&ones), "{ones}");
    }

    #[test]
    fn memory_for_integers_begins_with_zeros_and_keeps_what_it_is_filled_with() {
        for count in [0, 1, 1_000] {
            let mut data = Integers::zeroed(count).unwrap();
            assert_eq!(*data, vec![0; count]);
            data.fill(7);
            assert_eq!(*data, vec![7; count]);
        }
    }

    /// `cargo test --release -p pragmark-bench generating -- --ignored --nocapture` says how fast
    /// the values come; the published programs made 362 million a second.
    #[test]
    #[ignore = "a benchmark, not a check"]
    fn generating() {
        const COUNT: usize = 20_000_000;
        let rate = |values: Values| {
            let start = std::time::Instant::now();
            let data = std::hint::black_box(values.generate(COUNT, Seed(1)).unwrap());
            data.len() as f64 / start.elapsed().as_secs_f64()
        };
        for (values, name, _) in Values::ALL {
            let best = (0..9).map(|_| rate(*values)).fold(0.0, f64::max);
            println!("{name}: {:.0} million values a second", best / 1e6);
        }
    }

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
