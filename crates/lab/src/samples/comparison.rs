//! One comparison, ready to give an interval at any level.

use crate::stats::{Interval, Method, PairedSample, student_interval};

/// Log-ratios, or plain differences, of one comparison, ready to give an interval at any level.
#[derive(Clone, Debug)]
pub struct Comparison {
    diffs: Vec<f64>,
    ranks: PairedSample,
}

impl Comparison {
    /// From log-ratios; none where there are fewer than two or one is not finite.
    pub fn new(diffs: Vec<f64>) -> Option<Comparison> {
        let ranks = PairedSample::new(&diffs).ok().filter(|_| diffs.len() >= 2)?;
        Some(Comparison { diffs, ranks })
    }

    /// The number of rounds compared.
    pub fn rounds(&self) -> usize {
        self.diffs.len()
    }

    /// Whether there are too few rounds for the exact method, so that the answer is preliminary.
    pub fn preliminary(&self) -> bool {
        Method::for_blocks(self.diffs.len()) != Some(Method::Wilcoxon)
    }

    /// The log-ratios.
    pub fn diffs(&self) -> &[f64] {
        &self.diffs
    }

    /// The ratio: exp of the Hodges–Lehmann estimate, or of the mean where preliminary.
    pub fn ratio(&self) -> f64 {
        self.centre().exp()
    }

    /// The centre of the differences as they are: the Hodges–Lehmann estimate, or the mean where
    /// preliminary.
    pub fn centre(&self) -> f64 {
        if self.preliminary() {
            self.diffs.iter().sum::<f64>() / self.diffs.len() as f64
        } else {
            self.ranks.centre()
        }
    }

    /// The interval of the ratio with error rate `alpha`, both sides together. It reaches from
    /// nothing to infinity where so few rounds cannot attain the rate.
    pub fn interval(&self, alpha: f64) -> Interval {
        self.plain_interval(alpha).exp()
    }

    /// The interval of [`Comparison::centre`], in the unit of the differences.
    pub fn plain_interval(&self, alpha: f64) -> Interval {
        if self.preliminary() {
            student_interval(&self.diffs, alpha)
        } else {
            self.ranks.interval(alpha)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_rounds_are_preliminary() {
        let few = Comparison::new(vec![0.1, 0.2, 0.15]).unwrap();
        assert!(few.preliminary());
        assert!(few.interval(0.05).is_bounded());
        let enough = Comparison::new(vec![0.1; 7]).unwrap();
        assert!(!enough.preliminary());
        assert!((enough.ratio() - 0.1f64.exp()).abs() < 1e-12);
        assert!(Comparison::new(vec![0.1]).is_none());
    }
}
