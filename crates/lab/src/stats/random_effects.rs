//! One effect from many machines with effects of their own: a random-effects summary.
//!
//! The variance between machines is estimated by DerSimonian and Laird ("Meta-analysis in clinical trials", Controlled
//! Clinical Trials 7, 1986). The interval is Hartung's and Knapp's ("A refined method for the meta-analysis of controlled
//! clinical trials with binary outcome", Statistics in Medicine 20, 2001), never narrower than without their factor
//! (Röver, Knapp and Friede, BMC Medical Research Methodology 15, 2015). The prediction interval is by Higgins,
//! Thompson and Spiegelhalter (JRSS A 172, 2009). Their coverage is simulated in the tests.

use serde::{Deserialize, Serialize};

use super::interval::Interval;
use super::student::student_reach;

/// The smallest standard error: figures that are counted may not vary at all.
const SMALLEST_ERROR: f64 = 1e-9;

/// The effect on one machine, as the logarithm of a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineEffect {
    /// The mean over its blocks.
    pub mean: f64,
    /// The standard error of this mean.
    pub error: f64,
    /// The number of its blocks.
    pub blocks: usize,
}

impl MachineEffect {
    /// Returns the effect in these blocks; `None` in fewer than three, whose variation is not known.
    pub fn of(diffs: &[f64]) -> Option<MachineEffect> {
        const FEWEST: usize = 3;
        if diffs.len() < FEWEST {
            return None;
        }
        let mean = super::mean(diffs)?;
        let error = super::standard_deviation(diffs)? / (diffs.len() as f64).sqrt();
        (mean.is_finite() && error.is_finite()).then_some(MachineEffect {
            mean,
            error,
            blocks: diffs.len(),
        })
    }

    /// Returns these effects as that of one machine which carried out all their blocks; `None` for no effects.
    pub fn together(effects: &[MachineEffect]) -> Option<MachineEffect> {
        let blocks: usize = effects.iter().map(|effect| effect.blocks).sum();
        let weight = |effect: &MachineEffect| effect.blocks as f64 / blocks as f64;
        let squares = effects.iter().map(|effect| (weight(effect) * effect.error).powi(2));
        (blocks > 0).then(|| MachineEffect {
            mean: effects.iter().map(|effect| weight(effect) * effect.mean).sum(),
            error: squares.sum::<f64>().sqrt(),
            // Each machine has a mean of its own, which takes one degree of freedom.
            blocks: blocks + 1 - effects.len(),
        })
    }

    /// Student's interval of the effect at error rate `alpha`.
    pub fn interval(&self, alpha: f64) -> Interval {
        let reach = student_reach(alpha, (self.blocks - 1) as f64) * self.error;
        Interval { low: self.mean - reach, high: self.mean + reach }
    }

    fn variance(&self) -> f64 {
        self.error.max(SMALLEST_ERROR).powi(2)
    }
}

/// The effect over machines, as logarithms of ratios.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RandomEffects {
    /// The number of machines, at least 2.
    pub machines: usize,
    /// The mean of the effects of all such machines.
    pub centre: f64,
    /// The interval of this mean.
    pub interval: Interval,
    /// The standard deviation of the effects from machine to machine.
    pub between: f64,
    /// The share of all variation that is between machines rather than within them, 0 to 1: I².
    pub inconsistency: f64,
    /// Where the effect on another machine of this kind is to be expected; none with fewer than three machines.
    pub prediction: Option<Interval>,
}

impl RandomEffects {
    /// Returns the summary of these machines at error rate `alpha`; none of fewer than two.
    pub fn of(effects: &[MachineEffect], alpha: f64) -> Option<RandomEffects> {
        let machines = effects.len();
        if machines < 2 {
            return None;
        }
        let freedom = (machines - 1) as f64;
        let fixed = Weighted::of(effects, 0.0);
        let between_variance = fixed.between_variance(freedom);
        let random = Weighted::of(effects, between_variance);
        let factor = (random.heterogeneity / freedom).max(1.0);
        let variance = factor / random.sum;
        let around = |reach: f64, variance: f64| Interval {
            low: random.mean - reach * variance.sqrt(),
            high: random.mean + reach * variance.sqrt(),
        };
        Some(RandomEffects {
            machines,
            centre: random.mean,
            interval: around(student_reach(alpha, freedom), variance),
            between: between_variance.sqrt(),
            inconsistency: ((fixed.heterogeneity - freedom) / fixed.heterogeneity).max(0.0),
            prediction: (machines > 2).then(|| {
                let reach = student_reach(alpha, freedom - 1.0);
                around(reach, between_variance + variance)
            }),
        })
    }
}

/// Effects weighted by how certain each is.
struct Weighted {
    sum: f64,
    sum_of_squares: f64,
    mean: f64,
    /// Cochran's Q.
    heterogeneity: f64,
}

impl Weighted {
    fn of(effects: &[MachineEffect], between_variance: f64) -> Weighted {
        let weight = |effect: &MachineEffect| 1.0 / (effect.variance() + between_variance);
        let sum: f64 = effects.iter().map(weight).sum();
        let mean = effects.iter().map(|effect| weight(effect) * effect.mean).sum::<f64>() / sum;
        let deviation = |effect: &MachineEffect| weight(effect) * (effect.mean - mean).powi(2);
        Weighted {
            sum,
            sum_of_squares: effects.iter().map(|effect| weight(effect).powi(2)).sum(),
            mean,
            heterogeneity: effects.iter().map(deviation).sum(),
        }
    }

    /// DerSimonian's and Laird's estimate.
    fn between_variance(&self, freedom: f64) -> f64 {
        let scale = self.sum - self.sum_of_squares / self.sum;
        ((self.heterogeneity - freedom) / scale).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::ALPHA;
    use crate::stats::simulation::Noise;

    fn effect(mean: f64, variance: f64) -> MachineEffect {
        MachineEffect { mean, error: f64::sqrt(variance), blocks: 7 }
    }

    #[test]
    fn a_worked_example_is_reproduced() {
        // Six studies of Borenstein, Hedges, Higgins and Rothstein, "Introduction to Meta-Analysis" (2009), table 14.1:
        // Q = 12.0033, T² = 0.0372, I² = 58.34 %, random-effects mean 0.3582 with variance 0.0111. The book calculates with
        // more digits than it prints of each study; with the printed ones, Q is 11.743.
        let effects = [
            (0.095, 0.033),
            (0.277, 0.031),
            (0.367, 0.050),
            (0.664, 0.011),
            (0.462, 0.043),
            (0.185, 0.023),
        ];
        let effects = effects.map(|(mean, variance)| effect(mean, variance));
        let summary = RandomEffects::of(&effects, ALPHA).unwrap();
        assert!((summary.centre - 0.3582).abs() < 1e-3, "{summary:?}");
        assert!((summary.between.powi(2) - 0.0372).abs() < 1e-3, "{summary:?}");
        assert!((summary.inconsistency - (11.743 - 5.0) / 11.743).abs() < 1e-4, "{summary:?}");
        // Without Hartung's and Knapp's factor below 1: t of 5 degrees of freedom times the standard error.
        let half = summary.interval.half_width();
        assert!((half - 2.5706 * 0.0111_f64.sqrt()).abs() < 6e-3, "{half}");
        let prediction = summary.prediction.unwrap().half_width();
        let expected = 2.7764 * (0.0372_f64 + 0.0111).sqrt();
        assert!((prediction - expected).abs() < 1e-2, "{prediction} {expected}");
    }

    #[test]
    fn machines_that_agree_have_no_variation_between_them() {
        let same = [effect(0.5, 0.01); 4];
        let summary = RandomEffects::of(&same, ALPHA).unwrap();
        assert_eq!((summary.between, summary.inconsistency), (0.0, 0.0));
        let counted = [effect(0.5, 0.0); 3];
        let summary = RandomEffects::of(&counted, ALPHA).unwrap();
        assert!((summary.centre - 0.5).abs() < 1e-12 && summary.interval.half_width() < 1e-6);
        assert_eq!(RandomEffects::of(&same[..1], ALPHA), None);
        assert_eq!(RandomEffects::of(&same[..2], ALPHA).unwrap().prediction, None);
    }

    #[test]
    fn two_blocks_say_nothing_of_how_blocks_vary() {
        assert_eq!(MachineEffect::of(&[0.1, 0.2]), None);
        let effect = MachineEffect::of(&[0.1, 0.2, 0.3]).unwrap();
        assert!((effect.mean - 0.2).abs() < 1e-12);
        assert!(effect.interval(ALPHA).contains(0.2));
    }

    /// How often the interval holds the true mean, and the prediction interval the effect on one more machine.
    fn coverage(machines: usize, between: f64, blocks: usize, noise: &mut Noise) -> (f64, f64) {
        const RUNS: usize = 2_000;
        const TRUTH: f64 = 0.3;
        let (mut held, mut predicted) = (0, 0);
        for _ in 0..RUNS {
            let effects: Vec<MachineEffect> = (0..machines)
                .map(|machine| {
                    let own = TRUTH + between * noise.normal();
                    let sd = if machine % 2 == 0 { 0.05 } else { 0.15 };
                    let diffs: Vec<f64> = (0..blocks).map(|_| own + sd * noise.normal()).collect();
                    MachineEffect::of(&diffs).unwrap()
                })
                .collect();
            let summary = RandomEffects::of(&effects, ALPHA).unwrap();
            held += usize::from(summary.interval.contains(TRUTH));
            let next = TRUTH + between * noise.normal();
            predicted += usize::from(summary.prediction.unwrap().contains(next));
        }
        (held as f64 / RUNS as f64, predicted as f64 / RUNS as f64)
    }

    #[test]
    fn intervals_cover_what_they_promise() {
        let mut noise = Noise::new(22);
        for machines in [4, 8, 20] {
            for between in [0.0, 0.05, 0.3] {
                let (held, predicted) = coverage(machines, between, 7, &mut noise);
                let place = format!("{machines} machines, {between} between: {held} {predicted}");
                assert!(held >= 0.93, "{place}");
                assert!(predicted >= 0.90, "{place}");
            }
        }
    }
}
