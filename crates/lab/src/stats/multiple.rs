//! Corrections for asking many questions of one set of data: Holm for the claims of an
//! experiment, Benjamini–Hochberg for exploratory comparisons.
//!
//! Rows come back in the order of the p-values given. A p-value that is not a number counts as 1:
//! a test that could not be made proves nothing, but it was one of the questions.

use serde::{Deserialize, Serialize};

/// The result of Holm's procedure for one hypothesis.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HolmRow {
    /// The p-value to compare with the error rate of the whole family, 0 to 1.
    pub adjusted_p: f64,
    /// The error rate at which this hypothesis was decided; an interval at this rate excludes the
    /// value tested exactly when the hypothesis is rejected.
    pub level: f64,
    /// Whether the hypothesis is rejected.
    pub rejected: bool,
}

/// Holm's step-down procedure, which keeps the chance of any false rejection at most `alpha`
/// whatever the dependence: Holm, "A simple sequentially rejective multiple test procedure",
/// Scandinavian Journal of Statistics 6 (1979).
///
/// In ascending order the k-th of m p-values is compared with `alpha / (m - k + 1)`, until one is
/// greater: it and all later ones are retained. Those later ones carry the level of the step that
/// stopped the procedure, since that step decided them.
pub fn holm(p_values: &[f64], alpha: f64) -> Vec<HolmRow> {
    let mut rows = vec![HolmRow { adjusted_p: 1.0, level: alpha, rejected: false }; p_values.len()];
    let (mut adjusted_p, mut level, mut rejected) = (0.0_f64, alpha, true);
    for (step, index) in ascending(p_values).into_iter().enumerate() {
        let p = number_or_one(p_values[index]);
        let remaining = (p_values.len() - step) as f64;
        if rejected {
            level = alpha / remaining;
            rejected = p <= level;
        }
        adjusted_p = adjusted_p.max((remaining * p).min(1.0));
        rows[index] = HolmRow { adjusted_p, level, rejected };
    }
    rows
}

/// Benjamini–Hochberg adjusted p-values: rejecting those at most `q` keeps the expected share of
/// false ones among the rejections at most `q`, for independent and positively dependent tests
/// (Benjamini and Hochberg, "Controlling the false discovery rate", JRSS B 57, 1995; Benjamini and
/// Yekutieli, Annals of Statistics 29, 2001).
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![1.0; p_values.len()];
    let mut smallest = 1.0_f64;
    for (position, index) in ascending(p_values).into_iter().enumerate().rev() {
        let scale = p_values.len() as f64 / (position + 1) as f64;
        smallest = smallest.min(number_or_one(p_values[index]) * scale);
        adjusted[index] = smallest;
    }
    adjusted
}

/// Positions of the p-values from the smallest to the largest; equal ones keep their order.
fn ascending(p_values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| number_or_one(p_values[a]).total_cmp(&number_or_one(p_values[b])));
    order
}

fn number_or_one(p: f64) -> f64 {
    if p.is_nan() { 1.0 } else { p }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (a, b) in found.iter().zip(expected) {
            assert!((a - b).abs() < 1e-12, "{found:?} is not {expected:?}");
        }
    }

    #[test]
    fn holm_agrees_with_r() {
        // p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")
        let rows = holm(&[0.01, 0.04, 0.03, 0.005], 0.05);
        let adjusted: Vec<f64> = rows.iter().map(|row| row.adjusted_p).collect();
        assert_close(&adjusted, &[0.03, 0.06, 0.06, 0.02]);
        let rejected: Vec<bool> = rows.iter().map(|row| row.rejected).collect();
        assert_eq!(rejected, [true, false, false, true]);
    }

    #[test]
    fn holm_decides_each_hypothesis_at_its_step_and_the_rest_where_it_stopped() {
        let levels: Vec<f64> =
            holm(&[0.01, 0.04, 0.03, 0.005], 0.05).iter().map(|row| row.level).collect();
        // 0.04 is below the 0.05 that a fourth step would grant, yet the third step stopped.
        assert_close(&levels, &[0.05 / 3.0, 0.025, 0.025, 0.0125]);
    }

    #[test]
    fn benjamini_hochberg_agrees_with_r() {
        // p.adjust(c(0.01, 0.04, 0.03, 0.005, 0.5), "BH")
        let adjusted = benjamini_hochberg(&[0.01, 0.04, 0.03, 0.005, 0.5]);
        assert_close(&adjusted, &[0.025, 0.05, 0.05, 0.025, 0.5]);
    }

    #[test]
    fn a_missing_p_value_counts_as_a_question_without_evidence() {
        let rows = holm(&[f64::NAN, 0.02], 0.05);
        assert_eq!((rows[0].adjusted_p, rows[0].rejected), (1.0, false));
        assert_close(&[rows[1].adjusted_p, rows[1].level], &[0.04, 0.025]);
        assert_close(&benjamini_hochberg(&[f64::NAN, 0.02]), &[1.0, 0.04]);
        assert!(holm(&[], 0.05).is_empty() && benjamini_hochberg(&[]).is_empty());
    }
}
