//! The trade-off between metrics: the configurations that no other one beats.

use serde::Serialize;

use super::rounds::RoundFigures;
use lab::experiment::Experiment;
use lab::level::{Level, distinct};
use lab::metric::higher_is_better;
use lab::stats::{Estimate, Interval, mean, median};

/// The metrics that a search may improve, besides the experiment's own, and whether they describe a whole trial: in
/// trials that last a fixed time, such a figure grows with the work done.
const GOALS: [(&str, bool); 3] = [("p99_us", false), ("db_bytes", true), ("cpu_user_s", true)];

/// The setting of trials that last a fixed time.
const DURATION: &str = "stop_after_ms";

/// The settings that give trials the same work instead.
const WORK: [&str; 2] = ["transactions", "executions"];

/// A metric in which all configurations differ by less than this, as a logarithm, does not belong to a trade-off.
const SAME: f64 = 0.02;

/// Configurations of the search that are named, at most.
const MOST: usize = 6;

/// The error rate of intervals.
const LEVEL: f64 = 0.05;

/// The configurations that no other one beats in every metric.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TradeOff {
    /// The metrics, the search's own first; fewer than two without a trade-off.
    pub metrics: Vec<String>,
    /// The configurations, those that were measured in the rounds first, and the best by the first metric first.
    pub compromises: Vec<Compromise>,
}

/// A configuration of a trade-off.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compromise {
    /// Its settings as a label.
    pub settings: String,
    /// Whether it was measured in the rounds of what is recommended; otherwise in the search alone, where luck has a hand in
    /// what looks best.
    pub by_rounds: bool,
    /// Trials that it was compared by.
    pub trials: usize,
    /// For each metric, what it is.
    pub figures: Vec<CompromiseFigure>,
}

/// A figure of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CompromiseFigure {
    /// The median.
    pub median: f64,
    /// By how many times it is better than the current settings in the same rounds, or in the nearest blocks of the search, above 1
    /// for better.
    pub gain: f64,
    /// The interval of the gain; none of a single trial.
    pub interval: Option<Interval>,
}

impl TradeOff {
    /// From the rounds of what is recommended, and from the search. Variants that cannot be used are left out, by either part.
    pub(super) fn of(
        experiment: &Experiment,
        current: &str,
        [rounds, searched]: [&RoundFigures; 2],
        is_usable: impl Fn(&str, bool) -> bool,
    ) -> TradeOff {
        let is_measured = |metric: &String| {
            let mut parts = [rounds, searched].into_iter();
            parts.any(|part| part.figures(metric, current).any(|figure| figure > 0.0))
        };
        let mut metrics = metrics(experiment);
        metrics.retain(is_measured);
        if metrics.first() != Some(&experiment.metric) {
            return TradeOff::default();
        }
        let current = current.to_owned();
        let of = |part: &RoundFigures, by_rounds: bool| -> Vec<Compromise> {
            let variants = part.variants().into_iter();
            let usable =
                variants.filter(|variant| **variant == current || is_usable(variant, by_rounds));
            let all = usable
                .filter_map(|variant| compromise(part, [variant, &current], &metrics, by_rounds));
            all.collect()
        };
        let mut all = of(rounds, true);
        let in_search = of(searched, false).into_iter();
        let is_known =
            |compromise: &Compromise| all.iter().any(|known| known.settings == compromise.settings);
        let in_search: Vec<Compromise> =
            in_search.filter(|compromise| !is_known(compromise)).collect();
        all.extend(in_search);
        TradeOff { metrics, compromises: all }.with_what_differs().unbeaten()
    }

    /// With the metrics in which configurations differ; the first one stays.
    fn with_what_differs(mut self) -> TradeOff {
        let differs = |index: &usize| {
            let figures =
                self.compromises.iter().map(|compromise| compromise.figures[*index].gain.ln());
            *index == 0 || figures.fold(0.0_f64, |most, it| most.max(it.abs())) > SAME
        };
        let kept: Vec<usize> = (0..self.metrics.len()).filter(differs).collect();
        self.metrics = kept.iter().map(|index| self.metrics[*index].clone()).collect();
        for compromise in &mut self.compromises {
            compromise.figures = kept.iter().map(|index| compromise.figures[*index]).collect();
        }
        self
    }

    /// Keeps the configurations that no other one beats. A trial of the search, which may be fast by luck, beats nothing that was measured in
    /// rounds.
    fn unbeaten(mut self) -> TradeOff {
        let all = self.compromises.clone();
        let may_beat = |other: &Compromise, own: &Compromise| other.by_rounds || !own.by_rounds;
        let is_beaten =
            |own: &Compromise| all.iter().any(|other| may_beat(other, own) && beats(other, own));
        self.compromises.retain(|compromise| !is_beaten(compromise));
        let gain = |compromise: &Compromise| compromise.figures[0].gain;
        self.compromises.sort_by(|a, b| {
            let by_rounds = b.by_rounds.cmp(&a.by_rounds);
            by_rounds.then(gain(b).total_cmp(&gain(a)))
        });
        let rounds = self.compromises.iter().filter(|compromise| compromise.by_rounds).count();
        self.compromises.truncate(rounds + MOST);
        self
    }
}

/// Returns whether trials last a fixed time, however much is done in it.
pub(super) fn is_timed(experiment: &Experiment) -> bool {
    let works = |name: &&str| {
        let number = experiment.base.get(*name).and_then(Level::as_int);
        number.is_some_and(|number| number > 0)
    };
    experiment.base.contains_key(DURATION) && !WORK.iter().any(works)
}

/// Returns the metrics that may differ: the experiment's own, rates, and other goals.
fn metrics(experiment: &Experiment) -> Vec<String> {
    let is_timed = is_timed(experiment);
    let secondary = experiment.secondary_metrics.iter();
    let rates = secondary.filter(|metric| higher_is_better(metric)).cloned();
    let goals = GOALS.iter().filter(|(_, of_trial)| !(is_timed && *of_trial));
    let goals = goals.map(|(name, _)| (*name).to_owned());
    let first = std::iter::once(experiment.metric.clone());
    distinct(first.chain(rates).chain(goals))
}

/// Returns whether a configuration is at least as good as another one in every metric, and better in one.
fn beats(one: &Compromise, other: &Compromise) -> bool {
    let pairs = || one.figures.iter().zip(&other.figures);
    pairs().all(|(one, other)| one.gain >= other.gain)
        && pairs().any(|(one, other)| one.gain > other.gain)
}

/// A configuration compared with the current settings; `None` if one of the metrics was not measured.
fn compromise(
    part: &RoundFigures,
    pair: [&String; 2],
    metrics: &[String],
    by_rounds: bool,
) -> Option<Compromise> {
    let figures = metrics.iter().map(|metric| figure(part, metric, pair));
    let figures: Vec<CompromiseFigure> = figures.collect::<Option<_>>()?;
    Some(Compromise {
        settings: pair[0].clone(),
        by_rounds,
        trials: part.figures(&metrics[0], pair[0]).count(),
        figures,
    })
}

/// Returns a metric of the first variant compared with the second one.
fn figure(part: &RoundFigures, metric: &str, pair: [&String; 2]) -> Option<CompromiseFigure> {
    let sign = if higher_is_better(metric) { 1.0 } else { -1.0 };
    let logs = part.logs(metric, pair, sign);
    let own: Vec<f64> = part.figures(metric, pair[0]).collect();
    // As the gain of what is recommended, so that one page has one figure for it.
    let estimate = Estimate::from_log_ratios(&logs, LEVEL).ok();
    Some(CompromiseFigure {
        median: median(&own)?,
        gain: estimate.as_ref().map_or(mean(&logs)?.exp(), |estimate| estimate.centre),
        interval: estimate.map(|estimate| estimate.interval),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::record::TrialRecord;

    /// Trials of variants: transactions per second, p99 and the size of the database.
    fn part(rounds: u32, variants: &[(&str, [f64; 3])]) -> RoundFigures {
        let mut part = RoundFigures::default();
        for round in 0..rounds {
            for (name, [rate, p99, bytes]) in variants {
                let noise = 1.0 + 0.001 * f64::from(round);
                let metrics = serde_json::json!({ "txns_per_s": rate * noise, "p99_us": p99 * noise, "db_bytes": bytes });
                let record: TrialRecord = serde_json::from_value(serde_json::json!({
                    "purpose": "search", "experiment": "x", "round": round, "block": 0, "position": 0,
                    "variant": name, "role": "variant", "started": "", "wall_s": 1.0,
                    "covariates": { "duration_ns": 1 },
                    "outcome": { "measured": { "metrics": metrics,
                        "engine": { "version": "3", "source_id": "x", "threadsafe": 1 } } }
                }))
                .unwrap();
                part.add(&record);
            }
        }
        part
    }

    fn experiment() -> Experiment {
        Experiment { metric: "txns_per_s".to_owned(), ..Experiment::default() }
    }

    #[test]
    fn a_trade_off_has_what_no_other_configuration_beats_and_says_what_measured_it() {
        let rounds = part(3, &[("now", [100.0, 50.0, 1e6]), ("best", [200.0, 80.0, 1e6])]);
        let searched = part(
            1,
            &[
                ("now", [100.0, 50.0, 1e6]),
                ("best", [900.0, 1.0, 1e6]),
                ("even", [150.0, 40.0, 1e6]),
                ("bad", [120.0, 45.0, 1e6]),
            ],
        );
        let found = TradeOff::of(&experiment(), "now", [&rounds, &searched], |_, _| true);
        // All sizes are the same.
        assert_eq!(found.metrics, ["txns_per_s", "p99_us"]);
        let named = found.compromises.iter().map(|it| (it.settings.as_str(), it.by_rounds));
        let named: Vec<(&str, bool)> = named.collect();
        // The single trial of "even" that is better in everything deletes nothing that was measured in rounds.
        assert_eq!(named, [("best", true), ("now", true), ("even", false)]);
        let best = &found.compromises[0].figures;
        assert!((best[0].gain - 2.0).abs() < 1e-9 && (best[1].gain - 0.625).abs() < 1e-9);
        assert!(best[0].interval.is_some() && found.compromises[2].figures[0].interval.is_none());
        let without = |wrong: &'static str| {
            let is_usable = move |it: &str, by_rounds: bool| by_rounds || it != wrong;
            let found = TradeOff::of(&experiment(), "now", [&rounds, &searched], is_usable);
            found.compromises.into_iter().map(|it| it.settings).collect::<Vec<_>>()
        };
        assert_eq!(without("even"), ["best", "now", "bad"]);
        assert_eq!(without("bad"), ["best", "now", "even"]);
    }

    #[test]
    fn what_grows_with_the_work_of_a_fixed_time_is_no_goal() {
        let mut timed = experiment();
        timed.base.insert(DURATION.to_owned(), 100.into());
        let rounds = part(3, &[("now", [100.0, 50.0, 1e6]), ("best", [200.0, 50.0, 2e6])]);
        let none = RoundFigures::default();
        let found = TradeOff::of(&timed, "now", [&rounds, &none], |_, _| true);
        assert_eq!(found.metrics, ["txns_per_s"]);
        timed.base.insert("transactions".to_owned(), 50.into());
        let found = TradeOff::of(&timed, "now", [&rounds, &none], |_, _| true);
        assert_eq!(found.metrics, ["txns_per_s", "db_bytes"]);
        let found = TradeOff::of(&experiment(), "now", [&rounds, &none], |_, _| true);
        assert_eq!(found.metrics, ["txns_per_s", "db_bytes"]);
        assert_eq!(found.compromises.len(), 2);
        assert_eq!(TradeOff::of(&timed, "now", [&none, &none], |_, _| true), TradeOff::default());
    }
}
