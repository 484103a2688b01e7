//! Integers of the sizes that the published experiments use.

use lab::seed::Seed;

/// Which integers a table is filled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Nothing but 0.
    Zeros,
    /// Nothing but 1.
    Ones,
    /// 0 or 1, equally likely.
    Bools,
    /// Uniform over 8 bits, signed.
    Int8,
    /// Uniform over 16 bits, signed.
    Int16,
    /// Uniform over 32 bits, signed.
    Int32,
    /// Uniform over 64 bits, signed.
    Int64,
}

impl Values {
    /// Every kind with its name in experiment files.
    pub const NAMES: &[(&str, Values)] = &[
        ("zeros", Values::Zeros),
        ("ones", Values::Ones),
        ("bools", Values::Bools),
        ("int8", Values::Int8),
        ("int16", Values::Int16),
        ("int32", Values::Int32),
        ("int64", Values::Int64),
    ];

    /// The kind of this name.
    pub fn parse(name: &str) -> Option<Values> {
        Values::NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, values)| *values)
    }

    /// `count` integers of this kind.
    pub fn generate(self, count: usize, seed: Seed) -> Vec<i64> {
        let mut generator = seed.child("integers").generator();
        let mut draw = |bits: u32| (generator.next_u64() as i64) >> (64 - bits);
        match self {
            Values::Zeros => vec![0; count],
            Values::Ones => vec![1; count],
            Values::Bools => (0..count).map(|_| draw(1) & 1).collect(),
            Values::Int8 => (0..count).map(|_| draw(8)).collect(),
            Values::Int16 => (0..count).map(|_| draw(16)).collect(),
            Values::Int32 => (0..count).map(|_| draw(32)).collect(),
            Values::Int64 => (0..count).map(|_| draw(64)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fill_their_range_and_repeat_for_a_seed() {
        for (values, low, high) in [
            (Values::Int8, i64::from(i8::MIN), i64::from(i8::MAX)),
            (Values::Int16, i64::from(i16::MIN), i64::from(i16::MAX)),
            (Values::Int32, i64::from(i32::MIN), i64::from(i32::MAX)),
        ] {
            let data = values.generate(20_000, Seed(3));
            assert_eq!(data, values.generate(20_000, Seed(3)));
            assert_ne!(data, values.generate(20_000, Seed(4)));
            let (least, most) = (*data.iter().min().unwrap(), *data.iter().max().unwrap());
            let width = (high - low) / 50;
            assert!(least >= low && least < low + width, "{values:?} {least}");
            assert!(most <= high && most > high - width, "{values:?} {most}");
        }
        assert_eq!(Values::Zeros.generate(3, Seed(1)), [0; 3]);
        assert_eq!(Values::Ones.generate(3, Seed(1)), [1; 3]);
    }

    #[test]
    fn bools_are_zero_and_one_about_equally_often() {
        let data = Values::Bools.generate(10_000, Seed(8));
        assert!(data.iter().all(|value| matches!(value, 0 | 1)));
        let ones: i64 = data.iter().sum();
        assert!((4_800..=5_200).contains(&ones), "{ones}");
    }

    /// `cargo test --release -p pragmark-bench generating -- --ignored --nocapture` says how fast
    /// the values come; the published programs made 362 million a second.
    #[test]
    #[ignore = "a benchmark, not a check"]
    fn generating() {
        const COUNT: usize = 20_000_000;
        for (name, values) in Values::NAMES {
            let start = std::time::Instant::now();
            let data = std::hint::black_box(values.generate(COUNT, Seed(1)));
            let rate = data.len() as f64 / start.elapsed().as_secs_f64();
            println!("{name}: {:.0} million values a second", rate / 1e6);
        }
    }
}
