//! Which variants differ in one factor alone, and which four differ in two.
//!
//! It stands apart because it knows levels and no figures: a design may be a full cross, one with
//! combinations left out, or a list of variants, and what can be compared follows from the variants
//! themselves.

use std::collections::{BTreeMap, HashMap};

use crate::level::{Level, Settings, distinct};

/// A factor with several measured levels.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Factor {
    /// Its name.
    pub(super) name: String,
    /// Its levels, in the order of the experiment.
    pub(super) levels: Vec<Level>,
    /// The place of the baseline's level among them.
    pub(super) baseline: usize,
}

impl Factor {
    /// Returns the places of the levels that are not the baseline's.
    pub(super) fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let baseline = self.baseline;
        (0..self.levels.len()).filter(move |level| *level != baseline)
    }
}

/// Variants by the levels of their factors. Rows are the variants given, in their order.
pub(super) struct Crossing {
    /// The factors.
    pub(super) factors: Vec<Factor>,
    /// For each row the place of its level in each factor.
    pub(super) codes: Vec<Vec<usize>>,
    rows: HashMap<Vec<usize>, usize>,
}

/// Rows with the sign with which each enters a difference.
pub(super) type Term = Vec<(usize, f64)>;

impl Crossing {
    /// Returns the crossing of these variants; `order` gives the order of levels where the experiment has one.
    /// Levels of the first variant are the baseline's.
    pub(super) fn of(variants: &[&Settings], order: &BTreeMap<String, Vec<Level>>) -> Crossing {
        let baseline = variants.first();
        let names = baseline.into_iter().flat_map(|levels| levels.keys());
        let factors: Vec<Factor> = names
            .filter_map(|name| {
                factor(name, variants, order.get(name).map_or(&[][..], Vec::as_slice))
            })
            .collect();
        let code = |variant: &&Settings| -> Vec<usize> {
            let place = |factor: &Factor| {
                let level = variant.get(&factor.name);
                factor.levels.iter().position(|known| Some(known) == level)
            };
            // A variant that lacks a factor of the baseline is in no comparison.
            factors.iter().map(|factor| place(factor).unwrap_or(usize::MAX)).collect()
        };
        let codes: Vec<Vec<usize>> = variants.iter().map(code).collect();
        let rows = codes.iter().cloned().enumerate().map(|(row, code)| (code, row));
        Crossing { rows: rows.collect(), factors, codes }
    }

    /// For each setting of the other factors in which both were measured: the row with `level` of
    /// `factor` less the row with the baseline's level.
    pub(super) fn pairs(&self, factor: usize, level: usize) -> Vec<Term> {
        let baseline = self.factors[factor].baseline;
        self.with(factor, level)
            .filter_map(|(row, code)| {
                let other = self.find(code, &[(factor, baseline)])?;
                Some(vec![(row, 1.0), (other, -1.0)])
            })
            .collect()
    }

    /// Returns the pairs of [`Crossing::pairs`] in which another factor has one level.
    pub(super) fn pairs_at(&self, factor: usize, level: usize, at: (usize, usize)) -> Vec<Term> {
        let holds = |term: &Term| self.codes[term[0].0][at.0] == at.1;
        self.pairs(factor, level).into_iter().filter(holds).collect()
    }

    /// For each setting of the other factors in which all four were measured: what both levels
    /// together do, less what each does alone.
    pub(super) fn quads(&self, one: (usize, usize), two: (usize, usize)) -> Vec<Term> {
        let back = |(factor, _): (usize, usize)| (factor, self.factors[factor].baseline);
        self.with(one.0, one.1)
            .filter(|(_, code)| code[two.0] == two.1)
            .filter_map(|(both, code)| {
                let only_one = self.find(code, &[back(two)])?;
                let only_two = self.find(code, &[back(one)])?;
                let neither = self.find(code, &[back(one), back(two)])?;
                Some(vec![(both, 1.0), (only_one, -1.0), (only_two, -1.0), (neither, 1.0)])
            })
            .collect()
    }

    fn with(&self, factor: usize, level: usize) -> impl Iterator<Item = (usize, &Vec<usize>)> {
        self.codes.iter().enumerate().filter(move |(_, code)| code[factor] == level)
    }

    /// Returns the row whose code is `code` with some places changed.
    fn find(&self, code: &[usize], changes: &[(usize, usize)]) -> Option<usize> {
        let mut wanted = code.to_vec();
        for (factor, level) in changes {
            wanted[*factor] = *level;
        }
        self.rows.get(&wanted).copied()
    }
}

/// Returns every two of `factors` factors, in order.
pub(super) fn pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |one| (one + 1..count).map(move |two| (one, two)))
}

/// Returns the factor of this name, where variants differ in it.
fn factor(name: &str, variants: &[&Settings], order: &[Level]) -> Option<Factor> {
    let found: Vec<&Level> = variants.iter().filter_map(|variant| variant.get(name)).collect();
    let known = order.iter().filter(|level| found.contains(level));
    let levels = distinct(known.chain(found.iter().copied()).cloned());
    let baseline = variants.first()?.get(name)?;
    let baseline = levels.iter().position(|level| level == baseline)?;
    (levels.len() > 1).then(|| Factor { name: name.to_owned(), levels, baseline })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variant(levels: &[(&str, i64)]) -> Settings {
        let entry = |(name, level): &(&str, i64)| ((*name).to_owned(), Level::Int(*level));
        levels.iter().map(entry).collect()
    }

    fn crossing(variants: &[Settings]) -> Crossing {
        Crossing::of(&variants.iter().collect::<Vec<_>>(), &BTreeMap::new())
    }

    #[test]
    fn a_full_cross_compares_each_level_in_every_setting_of_the_others() {
        let mut variants = Vec::new();
        for a in [1, 2, 3] {
            for b in [1, 2] {
                for c in [7, 8] {
                    variants.push(variant(&[("a", a), ("b", b), ("c", c)]));
                }
            }
        }
        let crossing = crossing(&variants);
        assert_eq!(crossing.factors.len(), 3);
        assert_eq!(crossing.pairs(0, 2).len(), 4);
        assert_eq!(crossing.pairs_at(0, 2, (1, 1)).len(), 2);
        assert_eq!(crossing.quads((0, 1), (1, 1)).len(), 2);
        let quad = &crossing.quads((0, 1), (1, 1))[0];
        assert_eq!(quad.iter().map(|(_, sign)| sign).sum::<f64>(), 0.0);
    }

    #[test]
    fn one_factor_at_a_time_crosses_nothing() {
        let variants = [
            variant(&[("a", 1), ("b", 1)]),
            variant(&[("a", 2), ("b", 1)]),
            variant(&[("a", 1), ("b", 2)]),
        ];
        let crossing = crossing(&variants);
        assert_eq!(crossing.pairs(0, 1).len(), 1);
        assert!(crossing.quads((0, 1), (1, 1)).is_empty());
    }

    #[test]
    fn levels_keep_the_order_of_the_experiment_and_unmeasured_ones_are_left_out() {
        let variants = [variant(&[("a", 4), ("b", 1)]), variant(&[("a", 1), ("b", 1)])];
        let order = BTreeMap::from([("a".to_owned(), [1, 2, 4].map(Level::Int).to_vec())]);
        let crossing = Crossing::of(&variants.iter().collect::<Vec<_>>(), &order);
        assert_eq!(crossing.factors.len(), 1);
        assert_eq!(crossing.factors[0].levels, [1, 4].map(Level::Int));
        assert_eq!(crossing.factors[0].baseline, 1);
        assert_eq!(crossing.factors[0].others().collect::<Vec<_>>(), [0]);
    }
}
