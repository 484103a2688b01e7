//! Random numbers, permutations and hashes as pgbench makes them.
//!
//! The generator is xoroshiro128** (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021),
//! seeded by splitmix64: pgbench's [`permute`] gives its published values only with this one.

use lab::seed::Seed;

use crate::error::{EvaluationError, Result};

/// A generator of random numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prng([u64; 2]);

/// Smallest parameter of the normal distribution.
const LEAST_GAUSSIAN: f64 = 2.0;
/// Smallest and largest parameter of Zipf's distribution.
const ZIPFIAN: std::ops::RangeInclusive<f64> = 1.001..=1000.0;

impl Prng {
    /// Returns a generator that starts at a seed.
    pub fn new(seed: u64) -> Prng {
        let mut splitmix = Seed(seed).generator();
        let state = [splitmix.next_u64(), splitmix.next_u64()];
        match state {
            // The generator would stay at zero.
            [0, 0] => Prng([0x5851_f42d_4c95_7f2d, 0x1405_7b7e_f767_814f]),
            state => Prng(state),
        }
    }

    /// Returns the next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let [first, second] = self.0;
        let mixed = second ^ first;
        self.0 = [first.rotate_left(24) ^ mixed ^ (mixed << 16), mixed.rotate_left(37)];
        first.wrapping_mul(5).rotate_left(7).wrapping_mul(9)
    }

    /// Returns a number from 0 to below 1.
    #[inline]
    fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a number above 0, up to 1.
    fn positive_unit(&mut self) -> f64 {
        1.0 - self.unit()
    }

    /// Returns a whole number from 0 to `most`, all equally likely: as many random bits as `most` has, drawn again
    /// while they are larger.
    #[inline]
    pub fn up_to(&mut self, most: u64) -> u64 {
        if most == 0 {
            return 0;
        }
        let surplus = most.leading_zeros();
        loop {
            let value = self.next_u64() >> surplus;
            if value <= most {
                return value;
            }
        }
    }

    /// `random(min, max)`: all numbers equally likely.
    pub(crate) fn uniform(&mut self, min: i64, max: i64) -> Result<i64> {
        numbers(min, max)?;
        Ok(self.between(min, max).unwrap_or(min))
    }

    /// As [`Prng::uniform`]; `None` if the range is empty or too large.
    #[inline]
    pub(crate) fn between(&mut self, min: i64, max: i64) -> Option<i64> {
        let most = max.checked_sub(min).filter(|most| (0..i64::MAX).contains(most))?;
        Some(min + self.up_to(most as u64) as i64)
    }

    /// `random_exponential(min, max, parameter)`: the larger the parameter, the more likely are numbers near `min`.
    pub(crate) fn exponential(&mut self, min: i64, max: i64, parameter: f64) -> Result<i64> {
        let numbers = numbers(min, max)?;
        if parameter.is_nan() || parameter <= 0.0 {
            return Err(wrong("random_exponential", "above 0", parameter));
        }
        let cut = (-parameter).exp();
        let share = -(cut + (1.0 - cut) * self.positive_unit()).ln() / parameter;
        Ok(at(min, numbers, share))
    }

    /// `random_gaussian(min, max, parameter)`: a normal distribution around the middle, cut off at `parameter` standard
    /// deviations.
    pub(crate) fn gaussian(&mut self, min: i64, max: i64, parameter: f64) -> Result<i64> {
        let numbers = numbers(min, max)?;
        if parameter.is_nan() || parameter < LEAST_GAUSSIAN {
            return Err(wrong("random_gaussian", "at least 2", parameter));
        }
        loop {
            let normal = self.normal();
            if (-parameter..parameter).contains(&normal) {
                let share = (normal + parameter) / (parameter * 2.0);
                return Ok(at(min, numbers, share));
            }
        }
    }

    /// Returns a number of the standard normal distribution, by the method of Box and Muller.
    fn normal(&mut self) -> f64 {
        let (radius, angle) = (self.positive_unit(), self.positive_unit());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).sin()
    }

    /// `random_zipfian(min, max, parameter)`: number k of the range with a probability proportional to
    /// k to the power of minus the parameter.
    pub fn zipfian(&mut self, min: i64, max: i64, parameter: f64) -> Result<i64> {
        let numbers = numbers(min, max)?;
        if !ZIPFIAN.contains(&parameter) {
            return Err(wrong("random_zipfian", "from 1.001 to 1000", parameter));
        }
        Ok(min + self.zipfian_rank(numbers, parameter) - 1)
    }

    /// Returns a rank from 1 to `numbers`, by rejection (Devroye, "Non-Uniform Random Variate Generation", 1986, page
    /// 550).
    fn zipfian_rank(&mut self, numbers: i64, parameter: f64) -> i64 {
        if numbers <= 1 {
            return 1;
        }
        let power = parameter - 1.0;
        let bound = 2_f64.powf(power);
        loop {
            let (u, v) = (self.unit(), self.unit());
            let rank = u.powf(-1.0 / power).floor();
            let ratio = (1.0 + 1.0 / rank).powf(power);
            if rank <= numbers as f64 && v * rank * (ratio - 1.0) / (bound - 1.0) <= ratio / bound {
                return rank as i64;
            }
        }
    }
}

/// Returns how many numbers there are from `min` to `max`.
fn numbers(min: i64, max: i64) -> Result<i64> {
    if max < min {
        return Err(EvaluationError::EmptyRange { min, max });
    }
    let numbers = max.checked_sub(min).and_then(|steps| steps.checked_add(1));
    numbers.ok_or(EvaluationError::LargeRange { min, max })
}

/// Returns the number at a share (0 to below 1) of a range.
fn at(min: i64, numbers: i64, share: f64) -> i64 {
    let offset = (numbers as f64 * share) as i64;
    min + offset.clamp(0, numbers - 1)
}

fn wrong(function: &'static str, wanted: &'static str, found: f64) -> EvaluationError {
    EvaluationError::Parameter { function, wanted, found }
}

/// `hash_fnv1a(value, seed)`: FNV-1a over the eight bytes, the lowest first.
pub(crate) fn hash_fnv1a(value: i64, seed: i64) -> i64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let bytes = value.to_le_bytes();
    let hash = bytes
        .iter()
        .fold(OFFSET ^ seed as u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME));
    hash as i64
}

/// `hash_murmur2(value, seed)`: MurmurHash2 of 64 bits over the eight bytes.
pub(crate) fn hash_murmur2(value: i64, seed: i64) -> i64 {
    const PRIME: u64 = 0xc6a4_a793_5bd1_e995;
    const SHIFT: u32 = 47;
    let mut block = (value as u64).wrapping_mul(PRIME);
    block ^= block >> SHIFT;
    block = block.wrapping_mul(PRIME);
    let mut hash = seed as u64 ^ PRIME.wrapping_mul(8);
    hash = (hash ^ block).wrapping_mul(PRIME);
    hash = (hash ^ (hash >> SHIFT)).wrapping_mul(PRIME);
    (hash ^ (hash >> SHIFT)) as i64
}

/// `permute(value, size, seed)`: where a number from 0 to below `size` goes in a pseudorandom permutation.
///
/// Six rounds of multiplying by an odd number, exclusive-or and rotation, on the lower and on the upper part of the
/// range, and of an offset.
pub(crate) fn permute(value: i64, size: i64, seed: i64) -> Result<i64> {
    if size <= 0 {
        return Err(wrong("permute", "a size above 0", size as f64));
    }
    if size == 1 {
        return Ok(0);
    }
    let mut prng = Prng::new(seed as u64);
    let size = size as u64;
    let mut value = value as u64 % size;
    let bits = size.ilog2();
    for _ in 0..6 {
        value = mixed(value, bits, &mut prng);
        value = size - 1 - mixed(size - 1 - value, bits, &mut prng);
        value = (value + prng.up_to(size - 1)) % size;
    }
    Ok(value as i64)
}

/// Returns the result of one bijective step on the numbers of `bits` bits; larger ones stay.
fn mixed(value: u64, bits: u32, prng: &mut Prng) -> u64 {
    let mask = (1_u64 << bits) - 1;
    let odd = (prng.next_u64() & mask) | 1;
    let toggled = prng.next_u64() & mask;
    if value > mask {
        return value;
    }
    let value = (value.wrapping_mul(odd) ^ toggled) & mask;
    ((value << 1) & mask) | (value >> (bits - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values are those that pgbench 15.18 printed.
    #[test]
    fn hashes_are_those_of_pgbench() {
        for (value, seed, wanted) in [
            (10, 5432, -5_817_877_081_768_721_676),
            (-7, 42, 8_287_981_196_594_187_981),
            (123_456_789_012, 0, 3_154_016_286_560_967_009),
        ] {
            assert_eq!(hash_murmur2(value, seed), wanted);
        }
        assert_eq!(hash_fnv1a(10, 5432), -7_793_829_335_365_542_153);
        assert_eq!(hash_fnv1a(-1, 0), -8_289_690_350_564_177_859);
    }

    #[test]
    fn permutations_are_those_of_pgbench() {
        for (value, size, seed, wanted) in [
            (0, 1, 5, 0),
            (0, 2, 5, 0),
            (7, 10, 5, 0),
            (3, 1_000, 42, 333),
            (123_456, 10_000_000, 1, 8_641_514),
            (5, i64::MAX, -3, 4_598_949_357_656_765_691),
            (1, 3, 77, 1),
            (2, 3, 77, 0),
            (-5, 100, 9, 54),
        ] {
            assert_eq!(permute(value, size, seed), Ok(wanted), "{value} {size} {seed}");
        }
        assert!(permute(1, 0, 1).is_err());
    }

    #[test]
    fn every_number_has_a_place_of_its_own_in_a_permutation() {
        for size in [2, 3, 7, 8, 100, 1_000] {
            let mut places: Vec<i64> =
                (0..size).map(|value| permute(value, size, 9).unwrap()).collect();
            places.sort_unstable();
            assert_eq!(places, (0..size).collect::<Vec<_>>());
        }
    }

    #[test]
    fn impossible_ranges_and_parameters_are_refused() {
        let mut prng = Prng::new(1);
        assert!(prng.uniform(5, 1).is_err());
        assert!(prng.uniform(i64::MIN, i64::MAX).is_err());
        assert_eq!(prng.uniform(i64::MAX, i64::MAX), Ok(i64::MAX));
        assert!(prng.zipfian(1, 10, 1.0).is_err());
        assert!(prng.zipfian(1, 10, f64::NAN).is_err());
        assert!(prng.gaussian(1, 10, 1.9).is_err());
        assert!(prng.exponential(1, 10, 0.0).is_err());
    }
}
