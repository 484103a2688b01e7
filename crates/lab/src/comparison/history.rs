//! Figures of the same experiments over many runs: which levels changed, when, and which circumstances changed with them.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::circumstances::{Difference, known_differences};
use super::digest::RunDigest;
use super::figure::{Change, Ratio};
use crate::analysis::Summary;
use crate::level::label;
use crate::stats::{Estimate, Interval, change_points, median};

/// Part of a run that a history keeps.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// Its id.
    pub id: String,
    /// When it was planned: RFC 3339, UTC.
    pub created: String,
    /// Version of SQLite of its engine.
    pub version: String,
    /// Facts about machine, engines and plan, by name.
    #[serde(skip)]
    facts: Vec<(String, String)>,
    /// The settings of the baseline of each experiment.
    #[serde(skip)]
    settings: Vec<(String, String)>,
    /// The figures of its variants, by experiment, variant and metric, with the ratio to the baseline.
    #[serde(skip)]
    figures: Vec<([String; 3], Figure)>,
    /// Differences from the runs before: for each fact, from the last run that has it.
    pub differences: Vec<Difference>,
}

/// Many runs.
#[derive(Clone, Debug, Default, Serialize)]
pub struct History {
    /// The runs, the oldest first.
    pub runs: Vec<Run>,
    /// A series for each variant of each experiment.
    pub series: Vec<Series>,
}

/// The figures of one variant in the metric of its experiment.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// The experiment.
    pub experiment: String,
    /// The variant.
    pub variant: String,
    /// The metric.
    pub metric: String,
    /// Its figures.
    pub points: Vec<Point>,
    /// Where the level of its medians changed.
    pub changes: Vec<LevelChange>,
    /// Where the level of its ratios to the baseline changed, which the drift of machines does not move.
    pub ratio_changes: Vec<LevelChange>,
}

/// A figure of a run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Point {
    /// The index of the run.
    pub run: usize,
    /// The figure.
    #[serde(flatten)]
    pub figure: Figure,
}

/// A figure over the trials of a run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Figure {
    /// The figure by itself.
    pub summary: Summary,
    /// Its ratio to the baseline of the same run with the interval at 95 %; none of the baseline, or with too few rounds.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_centre")]
    pub ratio: Option<Ratio>,
}

/// Writes a ratio under the name that exports of histories have for it.
fn as_centre<S: Serializer>(ratio: &Option<Ratio>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Written {
        centre: f64,
        interval: Interval,
    }
    ratio.map(|Ratio { ratio, interval }| Written { centre: ratio, interval }).serialize(serializer)
}

/// A change of level.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LevelChange {
    /// The index of the last run before it.
    pub before: usize,
    /// The index of the first run after it.
    pub after: usize,
    /// The median of the level before.
    pub from: f64,
    /// The median of the level after.
    pub to: f64,
    /// Whether machine, engines, plan or the settings of the experiment differ between these two runs.
    pub circumstances_changed: bool,
}

impl LevelChange {
    /// Returns the level after the change divided by that before.
    pub fn ratio(&self) -> f64 {
        self.to / self.from
    }

    /// Returns whether the change is for better or worse in this metric.
    pub fn change(&self, metric: &str) -> Change {
        Change::towards(self.to > self.from, metric)
    }
}

impl Run {
    /// Returns the part of a run that a history keeps.
    pub fn of(run: &RunDigest) -> Run {
        let experiments = run.experiments.iter();
        let figures = experiments.flat_map(|experiment| {
            experiment.variants.iter().filter_map(|variant| {
                let metric = &experiment.metric;
                let summary = variant.summaries.get(metric)?;
                let key = [&experiment.key, &variant.label, metric].map(Clone::clone);
                let figure = Figure { summary: *summary, ratio: ratio(&variant.log_ratios) };
                Some((key, figure))
            })
        });
        let mut facts = run.facts();
        let fact = |name: &str| facts.iter().find(|fact| fact.0 == name).map(|fact| fact.1.clone());
        let version = fact("engine of the run").and_then(|name| fact(&format!("engine {name}")));
        // The seed differs in every run.
        facts.retain(|(name, _)| name != "seed");
        // A table of trials has no settings.
        let with_settings = run.experiments.iter().filter(|_| !run.trials_alone);
        let settings = with_settings.filter_map(|experiment| {
            let baseline = experiment.variants.first()?;
            Some((settings_of(&experiment.key), label(&baseline.settings)))
        });
        Run {
            settings: settings.collect(),
            id: run.plan.id.clone(),
            created: run.plan.created.clone(),
            version: version.unwrap_or_default(),
            figures: figures.collect(),
            differences: Vec::new(),
            facts,
        }
    }
}

/// Returns the ratio to the baseline; none with too few rounds.
fn ratio(log_ratios: &[f64]) -> Option<Ratio> {
    let estimate = Estimate::supported(log_ratios)?;
    Some(Ratio { ratio: estimate.centre, interval: estimate.interval })
}

/// Returns the name of the settings of an experiment's baseline.
fn settings_of(experiment: &str) -> String {
    format!("settings of {experiment}")
}

impl History {
    /// Makes the history of these runs, in any order. A run that is given twice, such as in its folder and in an export,
    /// counts once.
    pub fn of(mut runs: Vec<Run>) -> History {
        // Of two records of a run, the one with its settings comes first and stays.
        let key = |run: &Run| (run.created.clone(), run.id.clone(), run.settings.is_empty());
        runs.sort_by_cached_key(key);
        runs.dedup_by(|one, other| (&one.created, &one.id) == (&other.created, &other.id));
        note_differences(&mut runs);
        let mut points: BTreeMap<[String; 3], Vec<Point>> = BTreeMap::new();
        for (run, entry) in runs.iter().enumerate() {
            for (key, figure) in &entry.figures {
                let (key, figure) = (key.clone(), *figure);
                points.entry(key).or_default().push(Point { run, figure });
            }
        }
        let median_of = |point: &Point| (point.run, point.figure.summary.median);
        let ratio_of = |point: &Point| Some((point.run, point.figure.ratio?.ratio));
        let series = points.into_iter().map(|([experiment, variant, metric], points)| Series {
            changes: changes(points.iter().map(median_of), &experiment, &runs),
            ratio_changes: changes(points.iter().filter_map(ratio_of), &experiment, &runs),
            experiment,
            variant,
            metric,
            points,
        });
        History { series: series.collect(), runs }
    }

    /// Returns the known differences between two runs, by their indices: of machine, engines, plan, and the settings of
    /// this experiment.
    pub fn differences(&self, experiment: &str, one: usize, other: usize) -> Vec<Difference> {
        differences(&self.runs[one], &self.runs[other], experiment)
    }
}

fn differences(one: &Run, other: &Run, experiment: &str) -> Vec<Difference> {
    let name = settings_of(experiment);
    let [of_one, of_other] = [one, other].map(|run| {
        run.settings.iter().filter(|setting| setting.0 == name).cloned().collect::<Vec<_>>()
    });
    let mut differences = known_differences(&one.facts, &other.facts);
    differences.extend(known_differences(&of_one, &of_other));
    differences
}

/// Notes in each run its differences: for each fact, from the last run before it that has the fact.
fn note_differences(runs: &mut [Run]) {
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    for run in runs {
        let facts: Vec<(String, String)> = [&run.facts[..], &run.settings].concat();
        let before: Vec<(String, String)> = known.clone().into_iter().collect();
        run.differences = known_differences(&before, &facts);
        known.extend(facts);
    }
}

/// Finds where the level of a series changes. Levels are compared by ratios, so by logarithms.
fn changes(
    series: impl Iterator<Item = (usize, f64)>,
    experiment: &str,
    runs: &[Run],
) -> Vec<LevelChange> {
    let (of, values): (Vec<usize>, Vec<f64>) = series.unzip();
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let starts = change_points(&logs);
    let ends = starts.iter().skip(1).copied().chain([values.len()]);
    let mut begin = 0;
    let change = |(start, end): (&usize, usize)| {
        let (before, after) = (&values[begin..*start], &values[*start..end]);
        begin = *start;
        let (last, first) = (of[*start - 1], of[*start]);
        Some(LevelChange {
            before: last,
            after: first,
            from: median(before)?,
            to: median(after)?,
            circumstances_changed: !differences(&runs[last], &runs[first], experiment).is_empty(),
        })
    };
    starts.iter().zip(ends).filter_map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::simulation::Noise;

    /// Makes `count` runs, slower by a factor from run `from` on.
    fn runs(count: usize, from: usize, factor: f64) -> Vec<Run> {
        let mut noise = Noise::new(8);
        let run = |number: usize| {
            let level = if number < from { 100.0 } else { 100.0 * factor };
            let value = level * (0.02 * noise.normal()).exp();
            let engine = if number < from { "3.46.0" } else { "3.54.1" };
            Run {
                id: format!("run-{number:03}"),
                created: format!("2026-01-01T00:{:02}:{:02}Z", number / 60, number % 60),
                version: String::new(),
                facts: vec![("engine default".to_owned(), engine.to_owned())],
                settings: vec![(settings_of("e"), "rows=5".to_owned())],
                figures: vec![(
                    ["e", "v", "rows_per_s"].map(str::to_owned),
                    Figure {
                        summary: Summary::of(&[value * 0.99, value, value * 1.01]).unwrap(),
                        // As stable as machines are not.
                        ratio: Some(Ratio {
                            ratio: 2.0 * (0.01 * noise.normal()).exp(),
                            interval: Interval { low: 1.9, high: 2.1 },
                        }),
                    },
                )],
                differences: Vec::new(),
            }
        };
        // In the wrong order.
        (0..count).map(run).rev().collect()
    }

    #[test]
    fn a_change_names_the_runs_around_it_and_what_changed_with_it() {
        let history = History::of(runs(40, 25, 0.8));
        let change = history.series[0].changes[0];
        assert_eq!(history.series[0].changes.len(), 1);
        assert!(history.series[0].ratio_changes.is_empty());
        assert_eq!(history.runs[change.after].id, "run-025");
        assert_eq!(history.runs[change.before].id, "run-024");
        assert!((change.to / change.from - 0.8).abs() < 0.03, "{change:?}");
        assert!(change.circumstances_changed);
        assert_eq!(history.runs[25].differences[0].new, "3.54.1");
        assert!(history.runs[24].differences.is_empty());
    }

    #[test]
    fn a_change_is_not_ascribed_to_runs_of_other_experiments_or_to_what_went_back() {
        let mut all = runs(40, 25, 0.8);
        all.iter_mut().for_each(|run| run.facts.clear());
        // Between the last run before the change and the first after it, in a folder with other runs.
        let between = |second: u32, key: &str, engine: &str| Run {
            id: format!("other-{second}"),
            created: format!("2026-01-01T00:00:24.{second}Z"),
            version: String::new(),
            facts: vec![("engine default".to_owned(), engine.to_owned())],
            settings: vec![(settings_of(key), "pages=7".to_owned())],
            figures: Vec::new(),
            differences: Vec::new(),
        };
        all.push(between(1, "another", "3.46.0"));
        all.push(between(2, "another", "3.54.1"));
        for run in &mut all {
            if run.id.starts_with("run") {
                run.facts = vec![("engine default".to_owned(), "3.46.0".to_owned())];
            }
        }
        let history = History::of(all);
        let change = history.series[0].changes[0];
        assert_eq!(history.runs[change.before].id, "run-024");
        assert!(!change.circumstances_changed);
        let of = |id: &str| history.runs.iter().position(|run| run.id == id).unwrap();
        let names = |run: usize| -> Vec<&str> {
            let all = history.runs[run].differences.iter();
            all.map(|it| it.what.as_str()).collect()
        };
        assert!(names(of("other-1")).is_empty(), "what is new is no change");
        assert_eq!(names(of("other-2")), ["engine default"]);
        let [one, other] = ["run-024", "other-2"].map(of);
        assert_eq!(history.differences("e", one, other).len(), 1);
    }

    #[test]
    fn settings_of_the_experiment_count_and_a_run_counts_once() {
        let mut all = runs(40, 25, 0.8);
        for run in &mut all {
            run.facts.clear();
            if run.id.as_str() >= "run-025" {
                run.settings = vec![(settings_of("e"), "rows=6".to_owned())];
            }
        }
        let twice: Vec<Run> = all.iter().chain(&all).cloned().collect();
        let history = History::of(twice);
        assert_eq!((history.runs.len(), history.series[0].points.len()), (40, 40));
        assert!(history.series[0].changes[0].circumstances_changed);
        let what = &history.runs[25].differences[0].what;
        assert_eq!(what, "settings of e");
    }

    #[test]
    fn of_a_run_that_is_there_twice_the_one_with_its_settings_stays() {
        let with = runs(1, 1, 1.0);
        let mut without = with.clone();
        without[0].settings.clear();
        for all in [[with.clone(), without.clone()], [without, with]] {
            let history = History::of(all.concat());
            assert_eq!(history.runs.len(), 1);
            assert_eq!(history.runs[0].settings.len(), 1);
        }
    }

    #[test]
    fn runs_of_one_level_have_no_change() {
        let history = History::of(runs(40, 40, 1.0));
        assert!(history.series[0].changes.is_empty());
        assert_eq!(history.series[0].points.len(), 40);
        assert!(History::of(Vec::new()).series.is_empty());
    }
}
