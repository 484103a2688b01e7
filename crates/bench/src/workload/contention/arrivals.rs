//! When operations arrive in an open loop: a Poisson process, which is what many independent users
//! make together. The schedule is a pure function of seed and rate.

use lab::seed::{Seed, SplitMix64};

use super::clock::Nanos;

/// The moments of arrival, counted from the start, without end.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    generator: SplitMix64,
    mean_gap_ns: f64,
    at_ns: f64,
}

impl Arrivals {
    /// At `per_s` operations a second on average; none ever where that is not above zero.
    pub(super) fn new(seed: Seed, per_s: f64) -> Arrivals {
        Arrivals { generator: seed.generator(), mean_gap_ns: 1e9 / per_s, at_ns: 0.0 }
    }
}

impl Iterator for Arrivals {
    type Item = Nanos;

    fn next(&mut self) -> Option<Nanos> {
        if !self.mean_gap_ns.is_finite() || self.mean_gap_ns <= 0.0 {
            return None;
        }
        // 53 random bits as a number from 0 to below 1; gaps are exponentially distributed.
        let uniform = (self.generator.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        self.at_ns += -(1.0 - uniform).ln() * self.mean_gap_ns;
        Some(self.at_ns as Nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn first(seed: u64, per_s: f64, count: usize) -> Vec<Nanos> {
        Arrivals::new(Seed(seed), per_s).take(count).collect()
    }

    proptest! {
        #[test]
        fn the_schedule_is_a_pure_function_of_seed_and_rate(seed: u64, per_s in 0.1..1e6) {
            prop_assert_eq!(first(seed, per_s, 200), first(seed, per_s, 200));
            prop_assert_ne!(first(seed, per_s, 200), first(seed ^ 1, per_s, 200));
        }

        #[test]
        fn nobody_arrives_before_the_one_ahead(seed: u64, per_s in 0.1..1e6) {
            prop_assert!(first(seed, per_s, 500).is_sorted());
        }

        #[test]
        fn twice_the_rate_halves_every_gap(seed: u64, per_s in 1.0..1e5) {
            let slow = first(seed, per_s, 100);
            let fast = first(seed, per_s * 2.0, 100);
            for (slow, fast) in slow.iter().zip(fast) {
                prop_assert!((slow / 2).abs_diff(fast) <= 1, "{slow} {fast}");
            }
        }

        /// The mean of 10,000 gaps varies by 1 %, so 6 % is six standard deviations.
        #[test]
        fn the_rate_is_kept_on_average(seed: u64, per_s in 1.0..1e5) {
            let last = *first(seed, per_s, 10_000).last().unwrap() as f64;
            let rate = 10_000.0 / (last / 1e9);
            prop_assert!((rate / per_s - 1.0).abs() < 0.06, "{rate} {per_s}");
        }
    }

    #[test]
    fn a_rate_of_nothing_brings_nobody() {
        for per_s in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Arrivals::new(Seed(1), per_s).next(), None, "{per_s}");
        }
    }
}
