//! Counts times of executions in classes: eight for each power of two.

/// How many classes a power of two has; a quantile is exact within a sixteenth.
const CLASSES: u32 = 8;

/// Counts of times by class; memory grows with the longest time only, to 500 classes at most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latencies(Vec<u32>);

impl Latencies {
    /// Counts a time, in nanoseconds.
    pub fn take(&mut self, ns: u64) {
        let class = class(ns);
        if self.0.len() <= class {
            self.0.resize(class + 1, 0);
        }
        self.0[class] = self.0[class].saturating_add(1);
    }

    /// Returns the time, in nanoseconds, that this share of the counted ones does not exceed; `None` if none was counted.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let count: u64 = self.0.iter().map(|count| u64::from(*count)).sum();
        let wanted = ((count as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        let class = self.0.iter().position(|count| {
            seen += u64::from(*count);
            seen >= wanted
        })?;
        Some(middle(class))
    }

    /// Returns how many of the counted times are at most this long, in nanoseconds, as far as classes tell.
    pub fn within(&self, ns: u64) -> u64 {
        self.0.iter().take(class(ns) + 1).map(|count| u64::from(*count)).sum()
    }
}

/// Small times have a class each; of larger ones the three bits after the first one count.
fn class(ns: u64) -> usize {
    let Some(power) = ns.checked_ilog2().filter(|power| *power >= 3) else { return ns as usize };
    let eighth = (ns >> (power - 3)) & u64::from(CLASSES - 1);
    ((power - 2) * CLASSES) as usize + eighth as usize
}

fn middle(class: usize) -> f64 {
    let (power, eighth) = (class as u32 / CLASSES, class as u32 % CLASSES);
    match power {
        0 => f64::from(eighth),
        _ => 2f64.powi(power as i32 - 1) * (f64::from(CLASSES + eighth) + 0.5),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_exact_within_a_sixteenth() {
        for ns in [9, 100, 1_234, 56_789, 1_000_000, 7_654_321_000, u64::MAX / 3] {
            let mut latencies = Latencies::default();
            (0..99).for_each(|_| latencies.take(ns));
            latencies.take(ns.saturating_mul(2));
            let median = latencies.quantile(0.5).unwrap();
            assert!((median / ns as f64 - 1.0).abs() <= 1.0 / 16.0, "{ns}: {median}");
            assert!(latencies.quantile(1.0).unwrap() > 1.8 * ns as f64);
            assert_eq!(latencies.within(ns), 99);
        }
        assert_eq!(Latencies::default().quantile(0.5), None);
    }

    #[test]
    fn classes_follow_one_another() {
        let all: Vec<usize> = (0..100_000).map(class).collect();
        assert!(all.windows(2).all(|pair| pair[1] == pair[0] || pair[1] == pair[0] + 1));
    }
}
