//! Two samples that were not measured together: the difference of their means by Welch's method.
//!
//! Welch, "The generalization of 'Student's' problem when several different population variances are involved",
//! Biometrika 34 (1947).

use super::descriptive::{mean, standard_deviation};
use super::interval::Interval;
use super::student::student_reach;

/// How two independent samples differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Independent {
    /// Mean of the second less mean of the first.
    pub difference: f64,
    /// Its interval.
    pub interval: Interval,
    /// The smallest difference, to either side, that such samples show with a power of 80 % at this level.
    pub detectable: f64,
}

impl Independent {
    /// Compares two samples at error rate `alpha`, both sides together; `None` if a sample has fewer than two values or
    /// one that is not finite.
    pub fn of(first: &[f64], second: &[f64], alpha: f64) -> Option<Independent> {
        let (one, other) = (Part::of(first)?, Part::of(second)?);
        let difference = other.mean - one.mean;
        let error = (one.variance + other.variance).sqrt();
        if error == 0.0 {
            let (low, high) = (difference, difference);
            return Some(Independent {
                difference,
                interval: Interval { low, high },
                detectable: 0.0,
            });
        }
        let freedom = error.powi(4) / (one.share_of_freedom() + other.share_of_freedom());
        let reach = student_reach(alpha, freedom) * error;
        Some(Independent {
            difference,
            interval: Interval { low: difference - reach, high: difference + reach },
            // The quantile of the power stands on one side.
            detectable: reach + student_reach(2.0 * (1.0 - POWER), freedom) * error,
        })
    }
}

/// The power at which differences count as detectable.
const POWER: f64 = 0.8;

/// The mean of a sample and the variance of that mean.
struct Part {
    mean: f64,
    variance: f64,
    n: f64,
}

impl Part {
    fn of(values: &[f64]) -> Option<Part> {
        let n = values.len() as f64;
        let part =
            Part { mean: mean(values)?, variance: standard_deviation(values)?.powi(2) / n, n };
        (part.mean.is_finite() && part.variance.is_finite()).then_some(part)
    }

    fn share_of_freedom(&self) -> f64 {
        self.variance.powi(2) / (self.n - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::simulation::Noise;
    use super::*;

    #[test]
    fn a_published_example_is_reproduced() {
        // R: t.test(extra ~ group, data = sleep): t = -1.8608, df = 17.776, interval -3.3654832 to 0.2054832.
        let one = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let other = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let it = Independent::of(&other, &one, 0.05).unwrap();
        assert!((it.interval.low + 3.365_483_2).abs() < 1e-5, "{it:?}");
        assert!((it.interval.high - 0.205_483_2).abs() < 1e-5, "{it:?}");
    }

    fn sample(noise: &mut Noise, n: usize, mean: f64, sd: f64) -> Vec<f64> {
        (0..n).map(|_| mean + sd * noise.normal()).collect()
    }

    #[test]
    fn equal_samples_differ_in_five_of_a_hundred_cases_and_detectable_ones_in_eighty() {
        let mut noise = Noise::new(7);
        let (mut alarms, mut hits) = (0, 0);
        const CASES: i32 = 4_000;
        for _ in 0..CASES {
            let one = sample(&mut noise, 7, 0.0, 0.05);
            let other = sample(&mut noise, 12, 0.0, 0.02);
            let it = Independent::of(&one, &other, 0.05).unwrap();
            alarms += i32::from(!it.interval.contains(0.0));
            let moved: Vec<f64> = other.iter().map(|value| value + 0.062).collect();
            let it = Independent::of(&one, &moved, 0.05).unwrap();
            hits += i32::from(it.interval.low > 0.0);
        }
        let rate = f64::from(alarms) / f64::from(CASES);
        assert!((0.035..=0.06).contains(&rate), "{rate}");
        // The detectable difference of these samples is 0.062 on average.
        let power = f64::from(hits) / f64::from(CASES);
        assert!((0.74..=0.86).contains(&power), "{power}");
    }

    #[test]
    fn samples_without_noise_are_a_point_and_single_values_bound_nothing() {
        let it = Independent::of(&[1.0; 3], &[1.5; 2], 0.05).unwrap();
        assert_eq!((it.interval.low, it.interval.high), (0.5, 0.5));
        assert!(Independent::of(&[1.0], &[1.0, 2.0], 0.05).is_none());
        assert!(Independent::of(&[1.0, f64::NAN], &[1.0, 2.0], 0.05).is_none());
    }
}
