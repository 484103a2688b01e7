//! Budgets and limits that are measured in time, each with the blocks so far.

use std::collections::BTreeMap;

use super::{Budget, Check, Decision, Guard, Sequence, Status};
use crate::exact::is_exact;

/// A budget or a limit of time.
#[derive(Clone, Debug)]
pub struct Timed {
    metric: String,
    /// What is allowed, as the user wrote it.
    allowed: String,
    /// Whether the figure of the new side counts by itself.
    is_limit: bool,
    sequence: Sequence,
}

/// A trial lacks this metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingMetric(pub String);

impl Timed {
    /// Those of a file: every budget and limit of a metric that is not counted, judged together.
    pub fn of(guard: &Guard) -> Vec<Timed> {
        let is_timed = |name: &&String| !is_exact(name);
        let budgets = guard.budgets.keys().filter(is_timed).count();
        let limits = guard.limits.keys().filter(is_timed).count();
        let timed = |metric: &String, allowed: String, is_limit, bound: Budget| Timed {
            metric: metric.clone(),
            allowed,
            is_limit,
            sequence: Sequence::new(bound, budgets + limits),
        };
        let of_budgets = guard.budgets.iter().filter(|(name, _)| is_timed(name));
        let of_budgets =
            of_budgets.map(|(name, budget)| timed(name, budget.to_string(), false, *budget));
        let of_limits = guard.limits.iter().filter(|(name, _)| is_timed(name));
        let of_limits = of_limits.filter_map(|(name, limit)| {
            let bound = limit.of_metric(name).ok()?;
            Some(timed(name, limit.to_string(), true, bound))
        });
        of_budgets.chain(of_limits).collect()
    }

    /// The metric, which may end in the name of a statement.
    pub fn metric(&self) -> &str {
        &self.metric
    }

    /// Adds a block: the figures of both sides by metric.
    ///
    /// # Errors
    /// A side lacks the metric.
    pub fn add(
        &mut self,
        base: &BTreeMap<String, f64>,
        new: &BTreeMap<String, f64>,
    ) -> Result<(), MissingMetric> {
        let missing = || MissingMetric(self.metric.clone());
        let figure = *new.get(&self.metric).ok_or_else(missing)?;
        let value = match self.is_limit {
            true => figure,
            false => figure / base.get(&self.metric).ok_or_else(missing)?,
        };
        self.sequence.add(value);
        Ok(())
    }

    /// Whether more blocks are needed.
    pub fn is_open(&self) -> bool {
        self.sequence.decision() == Decision::Open
    }

    /// What came of it so far.
    pub fn check(&self) -> Check {
        let status = match self.sequence.decision() {
            Decision::Passed => Status::Passed,
            Decision::Failed => Status::Failed,
            Decision::Open | Decision::Exhausted => Status::Undecided,
        };
        let confirmed = match (status, self.sequence.is_confirming()) {
            (Status::Failed, _) => ", confirmed on fresh blocks",
            (Status::Undecided, true) => ", to be confirmed on fresh blocks",
            _ => "",
        };
        let centre = self.sequence.ratio();
        let words = format!("{} blocks{confirmed}", self.sequence.blocks());
        Check {
            ratio: centre.filter(|_| !self.is_limit),
            figure: centre.filter(|_| self.is_limit),
            interval: Some(self.sequence.interval()),
            detectable: (self.sequence.detectable()).filter(|_| status == Status::Undecided),
            blocks: self.sequence.all().to_vec(),
            ..Check::of(&self.metric, &self.allowed, status, words)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(value: f64) -> BTreeMap<String, f64> {
        [("p99_us".to_owned(), value)].into()
    }

    fn timed(text: &str) -> Vec<Timed> {
        let file = format!("work = {{ scripts = \"a\" }}\n{text}");
        Timed::of(&Guard::parse(&file).unwrap())
    }

    #[test]
    fn a_limit_is_judged_by_the_new_side_alone_and_a_budget_by_the_ratio() {
        let mut all = timed("budgets = { p99 = \"<= 1.5\" }\nlimits = { p99_ms = \"<= 20\" }");
        for block in 0..14 {
            let wobble = 1.0 + 0.001 * f64::from(block % 5);
            for it in &mut all {
                it.add(&figures(20_000.0 * wobble), &figures(24_000.0 * wobble))
                    .unwrap();
            }
        }
        let checks: Vec<Check> = all.iter().map(Timed::check).collect();
        let summary: Vec<_> = checks
            .iter()
            .map(|it| (it.allowed.as_str(), it.status))
            .collect();
        assert_eq!(
            summary,
            [("<= 1.5", Status::Passed), ("<= 20 ms", Status::Failed)]
        );
        assert!((checks[0].ratio.unwrap() - 1.2).abs() < 1e-9 && checks[0].figure.is_none());
        let figure = checks[1].figure.unwrap();
        assert!((24_000.0..24_100.0).contains(&figure), "{figure}");
        assert!(checks[1].ratio.is_none());
    }

    #[test]
    fn a_trial_without_the_metric_is_an_error_and_counters_are_not_timed() {
        let mut all = timed("budgets = { p50_us = \"<= 1.5\", syncs = \"<= 1\" }");
        assert_eq!(all.len(), 1);
        let missing = all[0].add(&figures(1.0), &figures(1.0)).unwrap_err();
        assert_eq!(missing, MissingMetric("p50_us".to_owned()));
        assert!(all[0].is_open());
    }
}
