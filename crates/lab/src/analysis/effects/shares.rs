//! How much of the differences between variants each factor and each pair of factors accounts for.
//!
//! The account is an analysis of variance over the logarithms (Fisher, "Statistical Methods
//! for Research Workers", 1925; Yates, "The analysis of multiple classifications with unequal
//! numbers in the different classes", JASA 29, 1934): a factor counts with what it explains beyond
//! the other factors, a pair with what it explains beyond all factors. What noise alone would give
//! is taken off each part and shown by itself, since a pair with many combinations would otherwise
//! look important for having many.

use serde::{Deserialize, Serialize};

use super::crossing::{Crossing, pairs};
use super::table::Table;
use crate::stats::Projection;

/// Parts of the variance of the logarithms between variants. In a full cross they add up to 1; where
/// combinations are missing, factors overlap and they add up to less or more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shares {
    /// The factors, the greatest share first.
    pub factors: Vec<FactorShare>,
    /// The pairs of factors, the greatest share first.
    pub pairs: Vec<PairShare>,
    /// The share of three or more factors together.
    pub rest: f64,
    /// The share that noise alone is expected to make of variants that do not differ.
    pub noise: f64,
    /// Whether every combination of the levels was measured, so that the shares add up to 1.
    pub whole: bool,
}

/// The share of one factor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FactorShare {
    /// Its name.
    pub factor: String,
    /// From 0 to 1.
    pub share: f64,
}

/// The share of two factors together, beyond what each accounts for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairShare {
    /// Their names.
    pub factors: [String; 2],
    /// From 0 to 1.
    pub share: f64,
}

impl Shares {
    /// Returns the shares; `None` if the variants do not differ at all.
    pub(super) fn of(crossing: &Crossing, table: &Table) -> Option<Shares> {
        let account = Account::new(crossing, table)?;
        let count = crossing.factors.len();
        let mut factors: Vec<FactorShare> = (0..count)
            .map(|factor| FactorShare {
                factor: crossing.factors[factor].name.clone(),
                share: account.of_factor(factor),
            })
            .collect();
        let mut pairs: Vec<PairShare> = pairs(count)
            .map(|(one, two)| PairShare {
                factors: [one, two].map(|factor| crossing.factors[factor].name.clone()),
                share: account.of_pair(one, two),
            })
            .collect();
        factors.sort_by(|a, b| b.share.total_cmp(&a.share));
        pairs.sort_by(|a, b| b.share.total_cmp(&a.share));
        let combinations: usize = crossing.factors.iter().map(|f| f.levels.len()).product();
        Some(Shares {
            factors,
            pairs,
            rest: account.rest(),
            noise: account.noise_share(),
            whole: combinations == table.variants.len(),
        })
    }
}

/// Everything that the shares are taken from.
struct Account<'a> {
    crossing: &'a Crossing,
    means: Vec<f64>,
    /// Variance that noise gives the mean of a variant.
    noise: f64,
    /// Sum of squares of the means about their mean.
    total: f64,
    /// All factors by themselves.
    mains: Projection,
}

impl<'a> Account<'a> {
    fn new(crossing: &'a Crossing, table: &Table) -> Option<Account<'a>> {
        let means = table.means();
        let constant = Projection::about_the_mean(means.len());
        let squares: f64 = means.iter().map(|mean| mean * mean).sum();
        let total = squares - constant.explained(&means);
        let mut account = Account {
            crossing,
            noise: noise_of_a_mean(table, &means)?,
            means,
            total,
            mains: constant,
        };
        for factor in 0..crossing.factors.len() {
            account.mains.add_all(&account.columns(factor));
        }
        // Less is rounding: the variants do not differ.
        (total > 1e-18 * squares.max(1.0)).then_some(account)
    }

    fn of_factor(&self, factor: usize) -> f64 {
        let mut others = Projection::about_the_mean(self.means.len());
        for other in (0..self.crossing.factors.len()).filter(|other| *other != factor) {
            others.add_all(&self.columns(other));
        }
        self.share(others.gained(&self.columns(factor), &self.means))
    }

    fn of_pair(&self, one: usize, two: usize) -> f64 {
        let gained = self.mains.gained(&self.products(one, two), &self.means);
        self.share(gained)
    }

    /// Returns the share that factors and pairs do not explain.
    fn rest(&self) -> f64 {
        let mut all = self.mains.clone();
        for (one, two) in pairs(self.crossing.factors.len()) {
            all.add_all(&self.products(one, two));
        }
        let squares: f64 = self.means.iter().map(|mean| mean * mean).sum();
        let left = squares - all.explained(&self.means);
        self.share((left, self.means.len() - all.rank()))
    }

    fn noise_share(&self) -> f64 {
        let expected = self.noise * (self.means.len() - 1) as f64;
        (expected / self.total).min(1.0)
    }

    fn share(&self, (squares, freedom): (f64, usize)) -> f64 {
        ((squares - freedom as f64 * self.noise) / self.total).max(0.0)
    }

    /// Returns a column for each level of the factor, 1 in the variants that hold it.
    fn columns(&self, factor: usize) -> Vec<Vec<f64>> {
        let levels = 0..self.crossing.factors[factor].levels.len();
        let column = |level: usize| {
            self.crossing.codes.iter().map(|code| f64::from(code[factor] == level)).collect()
        };
        levels.map(column).collect()
    }

    fn products(&self, one: usize, two: usize) -> Vec<Vec<f64>> {
        let (ones, twos) = (self.columns(one), self.columns(two));
        let product = |a: &Vec<f64>, b: &Vec<f64>| a.iter().zip(b).map(|(a, b)| a * b).collect();
        ones.iter().flat_map(|a| twos.iter().map(move |b| product(a, b))).collect()
    }
}

/// Returns the variance that noise gives the mean of a variant: what variants and rounds together leave over.
/// None for fewer than two rounds or variants.
fn noise_of_a_mean(table: &Table, means: &[f64]) -> Option<f64> {
    let (variants, rounds) = (table.values.len(), table.rounds());
    let freedom = variants.checked_sub(1)? * rounds.checked_sub(1)?;
    let overall = means.iter().sum::<f64>() / variants as f64;
    let shift = |round: usize| {
        table.values.iter().map(|row| row[round]).sum::<f64>() / variants as f64 - overall
    };
    let shifts: Vec<f64> = (0..rounds).map(shift).collect();
    let rows = table.values.iter().zip(means);
    let squares: f64 = rows
        .flat_map(|(row, mean)| {
            row.iter().zip(&shifts).map(move |(value, shift)| (value - mean - shift).powi(2))
        })
        .sum();
    (freedom > 0).then(|| squares / freedom as f64 / rounds as f64)
}
