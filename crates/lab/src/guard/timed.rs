//! Budgets and limits that are measured in time, each with the blocks so far.

use std::collections::BTreeMap;

use super::bounds::Budget;
use super::checks::{Check, Status};
use super::config::Guard;
use super::sequence::{Decision, Sequence};
use crate::comparison::is_exact;

/// A budget or a limit of time.
#[derive(Clone, Debug)]
pub struct Timed {
    metric: String,
    /// The bound as the user wrote it.
    allowed: String,
    /// Whether the figure of the new side counts by itself.
    is_limit: bool,
    sequence: Sequence,
    /// Whether a block lacked the metric before it was decided, as a trial with too few operations for its p99 does. No
    /// block is added after that: those that have it would be the faster ones.
    is_lacking: bool,
}

impl Timed {
    /// Returns every budget and limit of a file whose metric is not a counter; they are judged together.
    pub fn of(guard: &Guard) -> Vec<Timed> {
        let is_timed = |name: &&String| !is_exact(name);
        let budgets = guard.budgets.keys().filter(is_timed).count();
        let limits = guard.limits.keys().filter(is_timed).count();
        let timed = |metric: &String, allowed: String, is_limit, bound: Budget| Timed {
            metric: metric.clone(),
            allowed,
            is_limit,
            sequence: if is_limit {
                Sequence::of_figures(bound, budgets + limits)
            } else {
                Sequence::new(bound, budgets + limits)
            },
            is_lacking: false,
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

    /// Returns the metric, which may end in the name of a statement.
    pub fn metric(&self) -> &str {
        &self.metric
    }

    /// Adds a block: the figures of both sides by metric. A block that lacks the metric ends the measurement of
    /// this budget, which stays undecided unless it was decided before.
    pub fn add(&mut self, base: &BTreeMap<String, f64>, new: &BTreeMap<String, f64>) {
        match self.value(base, new) {
            None => self.is_lacking |= self.sequence.decision() == Decision::Open,
            Some(_) if self.is_lacking => {}
            Some(value) => self.sequence.add(value),
        }
    }

    /// Returns the ratio or the figure of a block; none if it lacks the metric.
    fn value(&self, base: &BTreeMap<String, f64>, new: &BTreeMap<String, f64>) -> Option<f64> {
        let figure = *new.get(&self.metric)?;
        Some(if self.is_limit { figure } else { quotient(figure, *base.get(&self.metric)?) })
    }

    /// Returns whether more blocks are needed.
    pub fn is_open(&self) -> bool {
        self.sequence.decision() == Decision::Open && !self.is_lacking
    }

    /// Returns the result so far.
    pub fn check(&self) -> Check {
        let status = match self.sequence.decision() {
            Decision::Passed => Status::Passed,
            Decision::Failed => Status::Failed,
            Decision::Open | Decision::Exhausted => Status::Undecided,
        };
        // The stand-in for a ratio to 0 is not a figure.
        let look = self.sequence.last_look().filter(|look| look.one_sided == 0);
        let centre = look.map(|look| look.centre);
        let detectable = look.and_then(|_| self.sequence.detectable());
        Check {
            ratio: centre.filter(|_| !self.is_limit),
            figure: centre.filter(|_| self.is_limit),
            interval: look.map(|look| look.interval),
            detectable: detectable.filter(|_| status == Status::Undecided),
            open: self.is_open(),
            blocks: self.sequence.all().to_vec(),
            ..Check::of(&self.metric, &self.allowed, status, self.words())
        }
    }

    /// Returns the blocks that were measured, in words.
    fn words(&self) -> String {
        let (look, alarm) = (self.sequence.last_look(), self.sequence.alarm());
        let blocks = look.map_or(self.sequence.blocks(), |look| look.blocks);
        let before = alarm.map_or(0, |alarm| alarm.blocks);
        let words = match (self.sequence.decision(), look, alarm) {
            (Decision::Failed, ..) => format!("{blocks} blocks, confirmed on fresh blocks"),
            (Decision::Exhausted, ..) => format!("{blocks} blocks, the most that are measured"),
            (Decision::Passed, _, Some(_)) => {
                format!("{blocks} fresh blocks are within it, {before} before them were beyond it")
            }
            (Decision::Open, Some(_), Some(_)) => {
                format!("{blocks} fresh blocks have not confirmed what {before} before them showed")
            }
            (Decision::Open, None, Some(_)) => {
                format!(
                    "{blocks} fresh blocks, too few to confirm what {before} before them showed"
                )
            }
            (Decision::Open, None, None) => format!("{blocks} blocks, too few to judge"),
            (Decision::Passed | Decision::Open, ..) => format!("{blocks} blocks"),
        };
        let words = match look.map_or(0, |look| look.one_sided) {
            0 => words,
            some => format!("{words}; in {some} of them one side alone has a figure of 0"),
        };
        if !self.is_lacking {
            words
        } else if self.sequence.all().is_empty() {
            "the trials do not report it; latencies of single statements are `p99_us.NAME`, and p99 needs 1,000 operations: raise --trial".to_owned()
        } else {
            format!(
                "{words}; the next did not report it; p99 needs 1,000 operations: raise --trial"
            )
        }
    }
}

/// Divides one figure by another; two zeros are the same.
fn quotient(new: f64, base: f64) -> f64 {
    if new == base { 1.0 } else { new / base }
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
                it.add(&figures(20_000.0 * wobble), &figures(24_000.0 * wobble));
            }
        }
        let checks: Vec<Check> = all.iter().map(Timed::check).collect();
        let summary: Vec<_> =
            checks.iter().map(|check| (check.allowed.as_str(), check.status)).collect();
        assert_eq!(summary, [("<= 1.5", Status::Passed), ("<= 20 ms", Status::Failed)]);
        assert!((checks[0].ratio.unwrap() - 1.2).abs() < 1e-9 && checks[0].figure.is_none());
        let figure = checks[1].figure.unwrap();
        assert!((24_000.0..24_100.0).contains(&figure), "{figure}");
        assert!(checks[1].ratio.is_none());
    }

    /// A budget after so many blocks with these figures of the base and of the new side.
    fn after(text: &str, blocks: &[(f64, f64)]) -> Check {
        let mut timed = timed(text).remove(0);
        for (base, new) in blocks {
            timed.add(&figures(*base), &figures(*new));
        }
        timed.check()
    }

    #[test]
    fn blocks_before_and_after_an_alarm_are_kept_apart() {
        let text = "budgets = { p99 = \"<= 1.1\" }";
        let mut blocks = vec![(1.0, 2.0); 7];
        blocks.extend([(1.0, 0.99); 6]);
        let check = after(text, &blocks);
        assert_eq!((check.status, check.open), (Status::Undecided, true));
        assert_eq!((check.ratio, check.interval), (None, None));
        assert_eq!(check.words, "6 fresh blocks, too few to confirm what 7 before them showed");
        blocks.push((1.0, 0.99));
        let check = after(text, &blocks);
        assert_eq!(check.status, Status::Passed);
        assert!(check.interval.unwrap().contains(check.ratio.unwrap()));
    }

    #[test]
    fn a_later_block_without_the_figure_ends_the_measurement_and_keeps_what_was_measured() {
        let mut timed = timed("budgets = { p99 = \"<= 1.1\" }").remove(0);
        let none = BTreeMap::new();
        timed.add(&figures(1.0), &figures(1.0));
        timed.add(&figures(1.0), &none);
        timed.add(&figures(1.0), &figures(1.0));
        let check = timed.check();
        assert_eq!((check.status, check.open), (Status::Undecided, false));
        assert_eq!(check.blocks.len(), 1);
        assert!(check.words.contains("raise --trial"), "{}", check.words);
    }

    #[test]
    fn a_block_without_the_figure_changes_nothing_of_what_was_decided() {
        let mut timed = timed("budgets = { p99 = \"<= 1.1\" }").remove(0);
        for _ in 0..7 {
            timed.add(&figures(1.0), &figures(1.0));
        }
        let before = timed.check();
        assert_eq!(before.status, Status::Passed);
        timed.add(&figures(1.0), &BTreeMap::new());
        assert_eq!(timed.check(), before);
    }

    #[test]
    fn figures_of_zero_are_compared() {
        let text = "budgets = { p99 = \"<= 1.1\" }";
        let same = after(text, &[(0.0, 0.0); 7]);
        assert_eq!((same.status, same.ratio), (Status::Passed, Some(1.0)));
        let more = after(text, &[(0.0, 3.0); 14]);
        assert_eq!((more.status, more.ratio), (Status::Failed, None));
        assert!(more.words.ends_with("in 7 of them one side alone has a figure of 0"));
        let limit = after("budgets = {}\nlimits = { p99 = \"<= 1\" }", &[(5.0, 0.0); 7]);
        assert_eq!((limit.status, limit.figure), (Status::Passed, Some(0.0)));
    }

    #[test]
    fn the_most_blocks_are_said_to_be_the_most() {
        let text = "budgets = { p99 = \"<= 1\" }";
        let wobble = [(1.0, 1.1), (1.0, 0.9), (1.0, 1.0)];
        let open = after(text, &wobble.repeat(5));
        assert!(open.open && open.detectable.is_some(), "{}", open.words);
        let most = after(text, &wobble.repeat(150));
        assert_eq!((most.status, most.open), (Status::Undecided, false));
        assert_eq!(most.words, "448 blocks, the most that are measured");
    }

    #[test]
    fn a_metric_that_trials_do_not_report_is_undecided_and_counters_are_not_timed() {
        let mut all = timed("budgets = { \"p50.nosuch\" = \"<= 1.5\", syncs = \"<= 1\" }");
        assert_eq!(all.len(), 1);
        all[0].add(&figures(1.0), &figures(1.0));
        let check = all[0].check();
        assert_eq!((check.status, check.open), (Status::Undecided, false));
        assert!(check.words.starts_with("the trials do not report it"), "{}", check.words);
    }
}
