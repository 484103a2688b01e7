//! Integers of the sizes that the published experiments use.

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
}
