//! Two runs compared, each measured at its own time.
//!
//! Machines drift, so absolute times of two runs are facts and never a verdict. What can be compared is the ratio of a
//! variant to the baseline of its own run, which was measured in the same blocks; and what is counted, as in [`exact`].

mod circumstances;
mod digest;
mod trials;

use serde::Serialize;

use crate::analysis::Summary;
use crate::exact::{self, Change, Figure, Side};
use crate::metric;
use crate::stats::{ALPHA, Independent, Interval, LARGEST_DETECTABLE};
use crate::trial::{Measured, Outcome};

pub use circumstances::{Difference, Doubt};
pub(crate) use circumstances::{facts, known_differences};
pub use digest::{ExperimentDigest, OfTables, RunDigest, VariantDigest};

/// Two runs compared.
#[derive(Clone, Debug, Serialize)]
pub struct RunComparison {
    /// The id of the base.
    pub base: String,
    /// The id of the other run.
    pub new: String,
    /// What differs in the machine, the engines and the plan.
    pub differences: Vec<Difference>,
    /// What weakens the comparison.
    pub doubts: Vec<Doubt>,
    /// The experiments of both runs.
    pub experiments: Vec<ExperimentComparison>,
    /// Experiments, and variants of common experiments, of the base alone.
    pub only_base: Vec<String>,
    /// Those of the new run alone.
    pub only_new: Vec<String>,
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
    /// How its ratio to the baseline changed; none for the baseline, or where ratios cannot be compared.
    pub change: Option<RatioChange>,
    /// Why ratios cannot be compared; none for the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incomparable: Option<Incomparable>,
    /// Counters, plans and sizes.
    pub exact: exact::Comparison,
    /// What was counted in a single trial of each run, where it differs.
    pub counted_once: Vec<Figure>,
}

/// How the ratio of a variant to its baseline differs between two runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RatioChange {
    /// The ratio in the new run divided by that in the base.
    pub ratio: f64,
    /// Its interval; the intervals of all variants of both runs hold together with 95 % confidence.
    pub interval: Interval,
    /// The smallest change that would have been detected in 80 % of all cases, as a fraction.
    pub detectable: f64,
    /// What that means.
    pub verdict: RatioVerdict,
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

/// What a change of a ratio means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RatioVerdict {
    /// Better compared with the baseline than in the base.
    Better,
    /// Worse compared with the baseline than in the base.
    Worse,
    /// No detectable change.
    NotDetectable,
}

impl RunComparison {
    /// Compares a run with the base.
    pub fn of(base: &RunDigest, new: &RunDigest) -> RunComparison {
        let pairs: Vec<(&ExperimentDigest, &ExperimentDigest)> = base
            .experiments
            .iter()
            .filter_map(|experiment| Some((experiment, counterpart(experiment, new)?)))
            .collect();
        let comparisons: usize = pairs.iter().map(|(one, _)| one.variants.len() - 1).sum();
        let alpha = ALPHA / comparisons.max(1) as f64;
        RunComparison {
            base: base.plan.id.clone(),
            new: new.plan.id.clone(),
            differences: circumstances::differences(base, new),
            doubts: circumstances::doubts(base, new),
            only_base: missing(base, new),
            only_new: missing(new, base),
            experiments: pairs
                .into_iter()
                .map(|pair| experiment(pair, [base, new], alpha))
                .collect(),
        }
    }
}

/// The same experiment of another run: the same key, metric and workload, as far as it is known.
fn counterpart<'a>(it: &ExperimentDigest, run: &'a RunDigest) -> Option<&'a ExperimentDigest> {
    let mut experiments = run.experiments.iter();
    experiments.find(|other| {
        let unknown = it.workload.is_empty() || other.workload.is_empty();
        (&other.key, &other.metric) == (&it.key, &it.metric)
            && (unknown || other.workload == it.workload)
            && !other.variants.is_empty()
    })
}

/// What a run has that another lacks.
fn missing(run: &RunDigest, other: &RunDigest) -> Vec<String> {
    let mut names = Vec::new();
    for experiment in &run.experiments {
        let Some(counterpart) = counterpart(experiment, other) else {
            names.push(experiment.key.clone());
            continue;
        };
        let has = |variant: &&VariantDigest| twin(variant, counterpart).is_none();
        let variants = experiment.variants.iter().filter(has);
        names.extend(variants.map(|variant| format!("{}: {}", experiment.key, variant.label)));
    }
    names
}

fn twin<'a>(it: &VariantDigest, experiment: &'a ExperimentDigest) -> Option<&'a VariantDigest> {
    experiment.variants.iter().find(|other| other.label == it.label)
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
    let pairs = base.variants.iter().filter_map(|variant| Some((variant, twin(variant, new)?)));
    let mut variants: Vec<VariantComparison> = pairs
        .map(|(one, other)| {
            let change = match same_baseline {
                true if one.baseline => Err(None),
                true if !has_baselines => Err(Some(Incomparable::BaselineUnmeasured)),
                true => RatioChange::of(one, other, &base.metric, alpha).map_err(Some),
                false => Err(Some(Incomparable::OtherBaseline)),
            };
            VariantComparison {
                label: one.label.clone(),
                baseline: one.baseline && same_baseline,
                base: one.summaries.get(&base.metric).copied(),
                new: other.summaries.get(&base.metric).copied(),
                change: change.ok(),
                incomparable: change.err().flatten(),
                exact: exact::Comparison::of(&side(one, same_seed), &side(other, same_seed)),
                counted_once: counted_once(one, other),
            }
        })
        .collect();
    variants
        .sort_by_key(|variant| (!variant.baseline, variant.change.map_or(3, RatioChange::rank)));
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
        let of = Independent::of(&base.log_ratios, &new.log_ratios, alpha);
        let of = of.filter(|change| change.detectable.exp_m1() <= LARGEST_DETECTABLE);
        let is_measured = |variant: &VariantDigest| variant.summaries.contains_key(metric);
        let it = match of {
            Some(it) => it,
            None if is_measured(base) && is_measured(new) => return Err(Incomparable::FewRounds),
            None => return Err(Incomparable::Unmeasured),
        };
        let interval = it.interval.exp();
        let verdict = match metric::higher_is_better(metric) {
            _ if interval.contains(1.0) => RatioVerdict::NotDetectable,
            higher if (it.difference > 0.0) == higher => RatioVerdict::Better,
            _ => RatioVerdict::Worse,
        };
        Ok(RatioChange {
            ratio: it.difference.exp(),
            interval,
            detectable: it.detectable.exp_m1(),
            verdict,
        })
    }

    fn rank(self) -> u8 {
        match self.verdict {
            RatioVerdict::Worse => 0,
            RatioVerdict::Better => 1,
            RatioVerdict::NotDetectable => 2,
        }
    }
}

/// A variant as the side of an exact comparison: the smallest and the largest of each figure of its trials, which are equal
/// if it repeats exactly. Answers of runs with different seeds are those to different questions.
fn side(variant: &VariantDigest, same_seed: bool) -> Side {
    let mut statements = variant.statements.clone();
    if !same_seed {
        statements.iter_mut().for_each(|statement| statement.answer = None);
    }
    let trial = |pick: fn(&Summary) -> f64| {
        let several = variant.summaries.iter().filter(|(_, it)| it.n > 1);
        Outcome::Measured(Box::new(Measured {
            metrics: several.map(|(name, it)| (name.clone(), pick(it))).collect(),
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

/// The counters of the counting pass that differ; one pass in each run does not prove that they repeat.
fn counted_once(base: &VariantDigest, new: &VariantDigest) -> Vec<Figure> {
    let trial = |variant: &VariantDigest| Measured {
        metrics: variant.counts.clone(),
        ..Measured::default()
    };
    let (one, other) = (trial(base), trial(new));
    let names = one.metrics.keys();
    let figures = names.map(|name| Figure::between(name, &[&one], &[&other]));
    figures.filter(|figure| figure.change != Change::Missing && figure.base != figure.new).collect()
}
