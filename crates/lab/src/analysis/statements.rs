//! What each variant does to each of the user's statements.
//!
//! The rate of a mix is that of its slowest statements: a setting that makes every write three times as fast is hardly
//! seen in it where one report takes most of the time.

use std::collections::BTreeMap;

use super::collect::GatheredVariant;
use super::experiment::{Dropped, corrected, samples_of};
use super::{Effect, VariantAnalysis};
use crate::stats::{self, Estimate};

/// What the metric with the median time of a statement begins with; the statement's name follows.
const MEDIAN: &str = "p50_us.";

/// By variant and statement: the median time of the statement divided by the baseline's. Q-values are adjusted over all of
/// them together.
pub(super) fn effects(
    variants: &[GatheredVariant],
    dropped: &Dropped,
) -> Vec<BTreeMap<String, Effect>> {
    let baseline = variants.first();
    let statements = baseline.map_or(&[][..], |it| &it.analysis.statements);
    let (mut places, mut compared) = (Vec::new(), Vec::new());
    for statement in statements {
        let samples = samples_of(&format!("{MEDIAN}{}", statement.name), variants, dropped);
        for variant in 1..variants.len() {
            let ratios = samples.log_ratios(variant, 0);
            let estimate = Estimate::supported(&ratios).zip(stats::p_value(&ratios, 0.0).ok());
            places.push((variant, &statement.name));
            compared.push(estimate);
        }
    }
    let mut effects = vec![BTreeMap::new(); variants.len()];
    for ((variant, name), effect) in places.into_iter().zip(corrected(compared)) {
        effects[variant].extend(effect.map(|effect| (name.clone(), effect)));
    }
    effects
}

impl VariantAnalysis {
    /// The statements whose time is found to differ from the baseline's, the largest difference first.
    pub fn differing_statements(&self) -> Vec<(&str, &Effect)> {
        let found = self.statement_effects.iter().filter(|(_, it)| it.is_found());
        let mut found: Vec<(&str, &Effect)> = found.map(|(name, it)| (name.as_str(), it)).collect();
        let size = |effect: &Effect| effect.estimate.centre.ln().abs();
        found.sort_by(|(_, one), (_, other)| size(other).total_cmp(&size(one)));
        found
    }

    /// The statement that takes most of the time of its trials, with its share from 0 to 1: executions times the median, of the
    /// same of all statements, or of the time of a trial where that is longer. None without statements that are timed.
    pub fn longest_statement(&self) -> Option<(&str, f64)> {
        let time = |name: &str| {
            let median =
                |metric: &str| Some(self.summaries.get(&format!("{metric}.{name}"))?.median);
            Some(median("executions")? * median("p50_us")?)
        };
        let names = self.statements.iter().map(|it| it.name.as_str());
        let times: Vec<(&str, f64)> = names.filter_map(|name| Some((name, time(name)?))).collect();
        let timed: f64 = times.iter().map(|(_, time)| time).sum();
        // Between statements, and in those that take much longer than their median, time passes, too.
        let of_trial = self.summaries.get("seconds").map(|it| it.median * 1e6);
        let all = of_trial.map_or(timed, |of_trial| timed.max(of_trial));
        let longest = times.into_iter().max_by(|(_, one), (_, other)| one.total_cmp(other))?;
        (all > 0.0).then_some((longest.0, longest.1 / all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::collect::Figure;
    use crate::design::Role;
    use crate::trial::StatementRecord;

    /// A variant whose statements take so long, over rounds with a little noise.
    fn variant(role: Role, medians: &[(&str, f64)]) -> GatheredVariant {
        let mut variant = GatheredVariant::default();
        for (name, median) in medians {
            let figures = (0..12).map(|round| Figure {
                round,
                block: 0,
                role,
                value: median * (1.0 + 0.001 * f64::from(round % 5)),
            });
            let metric = format!("{MEDIAN}{name}");
            variant.figures.insert(metric, figures.collect());
            variant
                .analysis
                .statements
                .push(StatementRecord { name: (*name).to_owned(), ..StatementRecord::default() });
        }
        variant
    }

    #[test]
    fn a_faster_statement_is_seen_next_to_one_that_takes_most_of_the_time() {
        let baseline = variant(Role::Baseline, &[("pay", 800.0), ("sales", 15_000.0)]);
        let wal = variant(Role::Variant, &[("pay", 200.0), ("sales", 15_000.0)]);
        let effects = effects(&[baseline, wal], &Vec::new());
        assert!(effects[0].is_empty());
        let pay = &effects[1]["pay"];
        assert!(pay.is_found() && (pay.estimate.centre - 0.25).abs() < 0.01);
        let sales = effects[1].get("sales");
        assert!(sales.is_none_or(|it| !it.is_found()));
    }

    #[test]
    fn the_longest_statement_is_that_with_most_time_in_all_its_executions() {
        let summary = |value| crate::analysis::Summary::of(&[value]).unwrap();
        let mut variant = variant(Role::Baseline, &[("pay", 800.0), ("sales", 15_000.0)]).analysis;
        assert_eq!(variant.longest_statement(), None);
        for (name, value) in [
            ("p50_us.pay", 800.0),
            ("p50_us.sales", 15_000.0),
            ("executions.pay", 75.0),
            ("executions.sales", 1.0),
        ] {
            variant.summaries.insert(name.to_owned(), summary(value));
        }
        assert_eq!(variant.longest_statement(), Some(("pay", 0.8)));
        variant.summaries.insert("seconds".to_owned(), summary(0.1));
        assert_eq!(variant.longest_statement(), Some(("pay", 0.6)));
    }
}
