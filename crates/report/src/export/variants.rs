//! One row a variant and one a limit, in the metric of its experiment.

use lab::analysis::{Analysis, ExperimentAnalysis, Summary, UpperBoundAnalysis, VariantAnalysis};
use lab::tier::Tier;

use super::cells::{number, text};
use super::{Columns, Form, table};
use crate::Result;
use crate::words::{UPPER_BOUND, upper_bound_problem};

const FORM: Form = Form {
    name: "variants",
    header: "experiment,variant,role,metric,rank,groups,median,min,max,n,ratio,low,high,level,q_value,\
             detectable,preliminary,measured,skipped,failed,timed_out,problem,sqlite,tier,tier_bad,\
             tier_losing,tier_most_lost,tier_images,tier_problem,pareto",
    narrow: &[
        "experiment",
        "variant",
        "role",
        "metric",
        "rank",
        "groups",
        "median",
        "n",
        "ratio",
        "low",
        "high",
        "level",
        "preliminary",
        "problem",
        "tier",
    ],
};

/// The variants of a run as CSV, each with its role: `baseline`, `variant`, or `limit` for what bounds the
/// variants and is neither ranked nor compared.
///
/// The columns: median, smallest and largest figure and their number in the metric of the
/// experiment (base unit), the ratio to the baseline with its interval at confidence `level`
/// (0 to 1), the detectable difference as a fraction, the rank from 1 and the groups of ranks; then
/// the safety tier with its counts of images, and whether the variant belongs to the Pareto set.
///
/// # Errors
/// When the table cannot be built.
pub fn variants_csv(analysis: &Analysis, columns: Columns) -> Result<String> {
    let rows = analysis.experiments.iter().flat_map(|experiment| {
        let ranks = ranks(experiment);
        let variants = experiment.variants.iter().zip(ranks);
        let upper_bounds = experiment.upper_bounds.iter();
        variants
            .map(|(variant, rank)| row(experiment, variant, rank))
            .chain(upper_bounds.map(|limit| upper_bound_row(experiment, limit)))
            .collect::<Vec<_>>()
    });
    table(&FORM, columns, rows)
}

/// The rank of each variant from 1; none for variants without a measurement.
fn ranks(experiment: &ExperimentAnalysis) -> Vec<Option<usize>> {
    let mut ranks = vec![None; experiment.variants.len()];
    let measured = experiment
        .ranking
        .iter()
        .filter(|variant| !experiment.variants[**variant].groups.is_empty());
    for (place, variant) in measured.enumerate() {
        ranks[*variant] = Some(place + 1);
    }
    ranks
}

fn row(
    experiment: &ExperimentAnalysis,
    variant: &VariantAnalysis,
    rank: Option<usize>,
) -> Vec<String> {
    let [median, least, most, n] = figures(variant.summaries.get(&experiment.metric));
    let tier = TierColumns::of(variant);
    let effect = variant.effect.as_ref();
    let estimate = effect.map(|effect| &effect.estimate);
    let problem = if variant.unmeasured() && variant.problem.is_none() {
        "not measured in this run".to_owned()
    } else {
        variant.problem.clone().unwrap_or_default()
    };
    let role = match variant.baseline {
        true => "baseline",
        false => "variant",
    };
    let engine = variant.engine.as_ref();
    vec![
        text(&experiment.key),
        text(&variant.label),
        role.to_owned(),
        text(&experiment.metric),
        rank.map(|rank| rank.to_string()).unwrap_or_default(),
        variant.groups.clone(),
        median,
        least,
        most,
        n,
        number(estimate.map(|estimate| estimate.centre)),
        number(estimate.map(|estimate| estimate.interval.low)),
        number(estimate.map(|estimate| estimate.interval.high)),
        number(estimate.map(|estimate| estimate.level)),
        number(effect.map(|effect| effect.q_value)),
        number(estimate.map(|estimate| estimate.detectable)),
        estimate.map_or(String::new(), |it| it.preliminary.to_string()),
        variant.trials.measured.to_string(),
        variant.trials.skipped.to_string(),
        variant.trials.failed.to_string(),
        variant.trials.timed_out.to_string(),
        text(&problem),
        engine.map_or(String::new(), |it| text(&it.version)),
        tier.class,
        tier.bad,
        tier.losing,
        tier.most,
        tier.images,
        tier.problem,
        pareto(experiment, variant),
    ]
}

/// The safety tier of a variant in columns: its class, the images with a corrupted database, those that
/// lack commits, the most commits that one lacks, all images, and why nothing was measured.
#[derive(Default)]
struct TierColumns {
    class: String,
    bad: String,
    losing: String,
    most: String,
    images: String,
    problem: String,
}

impl TierColumns {
    fn of(variant: &VariantAnalysis) -> TierColumns {
        let Some(safety) = &variant.safety else {
            return TierColumns::default();
        };
        let mut columns = TierColumns {
            images: safety.tier.images().to_string(),
            ..TierColumns::default()
        };
        let class = match &safety.tier {
            Tier::NoViolation { .. } => {
                columns.bad = "0".to_owned();
                columns.losing = "0".to_owned();
                "no-violation"
            }
            Tier::LosesCommits { losing, most, .. } => {
                columns.bad = "0".to_owned();
                columns.losing = losing.to_string();
                columns.most = most.to_string();
                "loses-commits"
            }
            Tier::CanCorrupt { bad, .. } => {
                columns.bad = bad.to_string();
                "can-corrupt"
            }
            Tier::CorruptsUncrashed { schedule, .. } => {
                columns.problem = text(schedule);
                "corrupts-without-a-crash"
            }
            Tier::NotMeasured { why } => {
                columns.problem = text(why);
                "not-measured"
            }
        };
        columns.class = class.to_owned();
        columns
    }
}

/// Whether the variant belongs to the Pareto set of speed and safety; nothing where no tiers were
/// measured.
fn pareto(experiment: &ExperimentAnalysis, variant: &VariantAnalysis) -> String {
    if experiment.best_at_tiers.is_empty() {
        return String::new();
    }
    let best = experiment.best_at_tiers.iter();
    best.filter(|best| best.pareto)
        .any(|best| experiment.variants[best.variant].label == variant.label)
        .to_string()
}

/// A limit has figures of its own and nothing that compares it with a variant.
fn upper_bound_row(experiment: &ExperimentAnalysis, limit: &UpperBoundAnalysis) -> Vec<String> {
    let [median, least, most, n] = figures(limit.summary.as_ref());
    let problem = upper_bound_problem(limit);
    let filled = [
        ("experiment", text(&experiment.key)),
        ("variant", text(&limit.name)),
        ("role", UPPER_BOUND.to_owned()),
        ("metric", text(&experiment.metric)),
        ("median", median),
        ("min", least),
        ("max", most),
        ("n", n),
        ("problem", text(&problem.unwrap_or_default())),
    ];
    let cell = |column: &str| {
        let cell = filled.iter().find(|(name, _)| *name == column);
        cell.map(|(_, text)| text.clone()).unwrap_or_default()
    };
    FORM.header.split(',').map(cell).collect()
}

/// Median, smallest, largest and number of the figures.
fn figures(summary: Option<&Summary>) -> [String; 4] {
    [
        number(summary.map(|summary| summary.median)),
        number(summary.map(|summary| summary.range.low)),
        number(summary.map(|summary| summary.range.high)),
        summary.map_or(String::new(), |it| it.n.to_string()),
    ]
}
