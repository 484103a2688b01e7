//! One row a variant and one a limit, in the metric of its experiment.

use lab::analysis::{ExperimentAnalysis, UpperBoundAnalysis, VariantAnalysis};
use lab::tier::{Accident, Loss, Losses, Tier};
use tuning::Analysis;

use super::cells::{number, text};
use super::metrics::{FIGURES, figures, role};
use super::{Columns, Form, table};
use crate::Result;
use crate::words::{UPPER_BOUND, upper_bound_problem};

const FORM: Form = Form {
    name: "variants",
    header: "experiment,variant,role,metric,rank,groups,median,min,max,sd,p95,p99,n,ratio,low,high,level,q_value,\
             detectable,preliminary,measured,skipped,failed,timed_out,problem,sqlite,\
             process_dies,process_dies_images,process_dies_corrupt,process_dies_losing,process_dies_most,\
             power_cut,power_cut_images,power_cut_corrupt,power_cut_losing,power_cut_most,\
             rare_occasions,uncrashed,tier_problem,pareto",
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
        "process_dies",
        "power_cut",
    ],
};

/// The variants of a run as CSV, each with its role: `baseline`, `variant`, or `limit` for what bounds the
/// variants and is neither ranked nor compared.
///
/// The columns: median, smallest and largest figure, standard deviation, 95th and 99th percentile over
/// trials and their number in the metric of the experiment (base unit), the ratio to the baseline with its interval at confidence `level`
/// (0 to 1), the detectable difference as a fraction, the rank from 1 and the groups of ranks; then
/// the safety tier, the loss and its counts of images for each accident, and whether the variant belongs to the Pareto set.
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
    let figures = figures(variant.summaries.get(&experiment.metric));
    let effect = variant.effect.as_ref();
    let estimate = effect.map(|effect| &effect.estimate);
    let problem = if variant.unmeasured() && variant.problem.is_none() {
        "not measured in this run".to_owned()
    } else {
        variant.problem.clone().unwrap_or_default()
    };
    let engine = variant.engine.as_ref();
    let head = [
        text(&experiment.key),
        text(&variant.label),
        role(variant).to_owned(),
        text(&experiment.metric),
        rank.map(|rank| rank.to_string()).unwrap_or_default(),
        variant.groups.clone(),
    ];
    let rest = [
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
    ];
    head.into_iter()
        .chain(figures)
        .chain(rest)
        .chain(tier_columns(variant))
        .chain([pareto(experiment, variant)])
        .collect()
}

/// The safety tier of a variant in columns: for each accident the loss in ordinary commits with its counts
/// of images; then losses on rare occasions alone, the schedule that corrupts without a crash, and why
/// nothing was measured.
fn tier_columns(variant: &VariantAnalysis) -> Vec<String> {
    let tier = variant.safety.as_ref().map(|safety| &safety.tier);
    let losses = |accident| loss_columns(tier.map(|tier| tier.losses(accident)));
    let rare = tier.into_iter().flat_map(|tier| &tier.occasions);
    let rare: Vec<String> = rare.map(|rare| rare.words(|count| count.to_string())).collect();
    let uncrashed = tier.and_then(|tier| tier.uncrashed.as_ref());
    let uncrashed = uncrashed.map_or(String::new(), |it| text(&it.schedule));
    let problem = text(tier.and_then(Tier::why_not).unwrap_or_default());
    let losses = Accident::ALL.into_iter().flat_map(losses);
    losses.chain([text(&rare.join("; ")), uncrashed, problem]).collect()
}

/// What an accident takes, as the record of a run names it, and its counts.
fn loss_columns(losses: Option<&Losses>) -> [String; 5] {
    let Some(losses) = losses else {
        return Default::default();
    };
    let Some(counts) = losses.counts() else {
        return ["not_measured", "", "", "", ""].map(str::to_owned);
    };
    let name = match counts.loss() {
        Loss::Nothing => "nothing",
        Loss::LastTransaction => "last_transaction",
        Loss::RecentTransactions => "recent_transactions",
        Loss::Corruption => "corruption",
    };
    let [images, corrupt, losing, most] =
        [counts.images, counts.corrupt, counts.losing, counts.most].map(|it| it.to_string());
    [name.to_owned(), images, corrupt, losing, most]
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
    let problem = upper_bound_problem(limit);
    let named = [
        ("experiment", text(&experiment.key)),
        ("variant", text(&limit.name)),
        ("role", UPPER_BOUND.to_owned()),
        ("metric", text(&experiment.metric)),
        ("problem", text(&problem.unwrap_or_default())),
    ];
    let figures = FIGURES.into_iter().zip(figures(limit.summary.as_ref()));
    let filled: Vec<(&str, String)> = named.into_iter().chain(figures).collect();
    let cell = |column: &str| {
        let cell = filled.iter().find(|(name, _)| *name == column);
        cell.map(|(_, text)| text.clone()).unwrap_or_default()
    };
    FORM.header.split(',').map(cell).collect()
}
