//! Two runs compared, each measured at its own time.
//!
//! Machines drift, so absolute times of two runs are facts and never a verdict. Comparable are the ratio of a variant to
//! the baseline of its own run, which was measured in the same blocks, and counters.

use serde::Serialize;

use super::circumstances::{self, Difference, Doubt};
use super::digest::{ExperimentDigest, RunDigest, VariantDigest};
use super::exact::{ExactComparison, Side, Unmatched};
use super::figure::{Change, Figure, Ratio};
use crate::analysis::Summary;
use crate::stats::{ALPHA, Independent, LARGEST_DETECTABLE};
use crate::trial::{Measured, Outcome};

/// Two runs compared.
#[derive(Clone, Debug, Serialize)]
pub struct RunComparison {
    /// The id of the base.
    pub base: String,
    /// The id of the other run.
    pub new: String,
    /// Differences in the machine, the engines and the plan.
    pub differences: Vec<Difference>,
    /// Doubts about the comparison.
    pub doubts: Vec<Doubt>,
    /// The experiments of both runs.
    pub experiments: Vec<ExperimentComparison>,
    /// Experiments, and variants of common experiments.
    #[serde(flatten)]
    pub unmatched: Unmatched,
}

/// An experiment of both runs.
#[derive(Clone, Debug, Serialize)]
pub struct ExperimentComparison {
    /// Its name within the runs.
    pub key: String,
    /// The metric of its ratios.
    pub metric: String,
    /// Settings of the baseline that differ.
    pub settings: Vec<Difference>,
    /// The variants of both runs, the baseline first, the others in the order of concern.
    pub variants: Vec<VariantComparison>,
}

/// A variant of both runs.
#[derive(Clone, Debug, Serialize)]
pub struct VariantComparison {
    /// The levels of its factors.
    pub label: String,
    /// Whether it is the baseline.
    pub baseline: bool,
    /// Its figures in the base, in the metric of the experiment.
    pub base: Option<Summary>,
    /// Its figures in the new run.
    pub new: Option<Summary>,
    /// How its ratio to the baseline changed; none for the baseline, or if ratios cannot be compared.
    pub change: Option<RatioChange>,
    /// Why ratios cannot be compared; none for the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incomparable: Option<Incomparable>,
    /// Counters, plans and sizes.
    pub exact: ExactComparison,
    /// Counters of a single trial in each run that differ.
    pub counted_once: Vec<Figure>,
}

/// How the ratio of a variant to its baseline differs between two runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RatioChange {
    /// The ratio in the new run divided by that in the base. The intervals of all variants of both runs hold together with
    /// 95 % confidence.
    #[serde(flatten)]
    pub ratio: Ratio,
    /// The smallest change that would have been detected in 80 % of all cases, as a fraction.
    pub detectable: f64,
    /// Whether the variant is better or worse, compared with the baseline, than in the base.
    pub verdict: Change,
}

/// Why the ratios of a variant in two runs cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Incomparable {
    /// The runs have different baselines.
    OtherBaseline,
    /// A run did not measure it.
    Unmeasured,
    /// A run did not measure the baseline.
    BaselineUnmeasured,
    /// The runs have too few rounds with a ratio for their noise: even a tenfold change might have gone undetected.
    FewRounds,
}

impl RunComparison {
    /// Compares a run with the base.
    pub fn of(base: &RunDigest, new: &RunDigest) -> RunComparison {
        let experiments = base.experiments.iter();
        let pairs: Vec<(&ExperimentDigest, &ExperimentDigest)> =
            experiments.filter_map(|one| Some((one, new.counterpart(one)?))).collect();
        let comparisons: usize = pairs.iter().map(|(one, _)| one.variants.len() - 1).sum();
        let alpha = ALPHA / comparisons.max(1) as f64;
        let runs = [base, new];
        RunComparison {
            base: base.plan.id.clone(),
            new: new.plan.id.clone(),
            differences: circumstances::differences(base, new),
            doubts: circumstances::doubts(base, new),
            unmatched: Unmatched { only_base: missing(base, new), only_new: missing(new, base) },
            experiments: pairs.into_iter().map(|pair| experiment(pair, runs, alpha)).collect(),
        }
    }
}

/// Returns the names of what a run has and another lacks.
fn missing(run: &RunDigest, other: &RunDigest) -> Vec<String> {
    let mut names = Vec::new();
    for experiment in &run.experiments {
        let Some(counterpart) = other.counterpart(experiment) else {
            names.push(experiment.key.clone());
            continue;
        };
        let labels = experiment.variants.iter().map(|variant| &variant.label);
        let alone = labels.filter(|label| counterpart.variant(label).is_none());
        names.extend(alone.map(|label| format!("{}: {label}", experiment.key)));
    }
    names
}

fn experiment(
    (base, new): (&ExperimentDigest, &ExperimentDigest),
    runs: [&RunDigest; 2],
    alpha: f64,
) -> ExperimentComparison {
    let same_seed = runs[0].plan.seed == runs[1].plan.seed;
    let same_baseline = base.variants[0].label == new.variants[0].label;
    let is_measured = |variant: &VariantDigest| variant.summaries.contains_key(&base.metric);
    let has_baselines = is_measured(&base.variants[0]) && is_measured(&new.variants[0]);
    let pairs =
        base.variants.iter().filter_map(|variant| Some((variant, new.variant(&variant.label)?)));
    let mut variants: Vec<VariantComparison> = pairs
        .map(|(one, other)| {
            let change = if !same_baseline {
                Err(Some(Incomparable::OtherBaseline))
            } else if one.baseline {
                Err(None)
            } else if !has_baselines {
                Err(Some(Incomparable::BaselineUnmeasured))
            } else {
                RatioChange::of(one, other, &base.metric, alpha).map_err(Some)
            };
            VariantComparison {
                label: one.label.clone(),
                baseline: one.baseline && same_baseline,
                base: one.summaries.get(&base.metric).copied(),
                new: other.summaries.get(&base.metric).copied(),
                change: change.ok(),
                incomparable: change.err().flatten(),
                exact: ExactComparison::of(&side(one, same_seed), &side(other, same_seed)),
                counted_once: counted_once(one, other),
            }
        })
        .collect();
    // The baseline first, then in the order of concern.
    let rank = |variant: &VariantComparison| match variant.change.map(|change| change.verdict) {
        _ if variant.baseline => 0,
        Some(Change::Worse) => 1,
        Some(Change::Better) => 2,
        Some(_) => 3,
        None => 4,
    };
    variants.sort_by_key(rank);
    ExperimentComparison {
        key: base.key.clone(),
        metric: base.metric.clone(),
        settings: if runs.iter().any(|run| run.trials_alone) {
            Vec::new()
        } else {
            circumstances::settings(&base.variants[0].settings, &new.variants[0].settings)
        },
        variants,
    }
}

impl RatioChange {
    fn of(
        base: &VariantDigest,
        new: &VariantDigest,
        metric: &str,
        alpha: f64,
    ) -> Result<RatioChange, Incomparable> {
        let found = Independent::of(&base.log_ratios, &new.log_ratios, alpha);
        let found = found.filter(|found| found.detectable.exp_m1() <= LARGEST_DETECTABLE);
        let Some(found) = found else {
            let is_measured = |variant: &VariantDigest| variant.summaries.contains_key(metric);
            let are_measured = is_measured(base) && is_measured(new);
            return Err(if are_measured {
                Incomparable::FewRounds
            } else {
                Incomparable::Unmeasured
            });
        };
        let ratio = Ratio::of_logs(found.difference, found.interval);
        let (detectable, verdict) = (found.detectable.exp_m1(), ratio.change(metric));
        Ok(RatioChange { ratio, detectable, verdict })
    }
}

/// Returns a variant as the side of an exact comparison: the smallest and the largest of each figure of its trials, which
/// are equal if it repeats exactly. Runs with different seeds answer different questions, so their answers are left out.
fn side(variant: &VariantDigest, same_seed: bool) -> Side {
    let mut statements = variant.statements.clone();
    if !same_seed {
        statements.iter_mut().for_each(|statement| statement.set_answers(Vec::new()));
    }
    let trial = |pick: fn(&Summary) -> f64| {
        let several = variant.summaries.iter().filter(|(_, summary)| summary.n > 1);
        Outcome::Measured(Box::new(Measured {
            metrics: several.map(|(name, summary)| (name.clone(), pick(summary))).collect(),
            statements: statements.clone(),
            engine: variant.engine.clone().unwrap_or_default(),
            ..Measured::default()
        }))
    };
    let trials = if variant.unmeasured() {
        Vec::new()
    } else {
        vec![trial(|summary| summary.range.low), trial(|summary| summary.range.high)]
    };
    Side { name: variant.label.clone(), trials }
}

/// Returns the counters of the counting pass that differ; one pass in each run does not prove that they repeat.
fn counted_once(base: &VariantDigest, new: &VariantDigest) -> Vec<Figure> {
    let trial = |variant: &VariantDigest| Measured {
        metrics: variant.counts.clone(),
        ..Measured::default()
    };
    let (one, other) = (trial(base), trial(new));
    let figures = one.metrics.keys().map(|name| Figure::of(name, name, &[&one], &[&other]));
    figures.filter(|figure| figure.change != Change::Missing && figure.base != figure.new).collect()
}
