//! Findings: the sentences that a reader should take away from a run.

use std::collections::BTreeSet;

use serde::Serialize;

use super::choice::{is_preliminary, shares_a_group};
use super::recommend::{Ladder, is_faster, ladder, of_sqlite};
use super::{ExperimentAnalysis, VariantAnalysis};
use crate::design::MANY;
use crate::durability::Durability;
use crate::level::{Settings, picked};
use crate::stats::Interval;
use crate::tier::{MayLose, Tier};

/// The best of an experiment's variants against its baseline, under the baseline's conditions: the best
/// of those that are not known to be less safe than the baseline, or of all where none of these is
/// better. Among settings of SQLite it is always what the ladder advises.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Key of the experiment.
    pub experiment: String,
    /// The question it answers.
    pub question: String,
    /// The best variant's place in the experiment.
    pub variant: usize,
    /// Name of the best variant, if the experiment gives one: its own name, or the words for
    /// `levels`.
    pub name: Option<String>,
    /// Name of the baseline, if the experiment gives one.
    pub baseline_name: Option<String>,
    /// Recommended action, if the experiment gives one.
    pub answer: Option<String>,
    /// The levels of the best variant that differ from the baseline; empty when no variant is better.
    pub levels: Settings,
    /// The levels of the baseline for the same factors.
    pub instead_of: Settings,
    /// The levels of the experiment's conditions, under which it was found.
    pub conditions: Settings,
    /// How many times better the best variant is: above 1 in the metric's good direction.
    pub gain: f64,
    /// The interval of the gain at 95 %.
    pub interval: Interval,
    /// How many variants could have been the best. Where the rounds that show the gain have also chosen the
    /// variant, chance had a hand in it: the more variants, the more.
    pub chosen_from: usize,
    /// The rounds in which it was measured again after it was chosen, which show the gain then; none
    /// where it was not.
    pub confirmation_rounds: Option<usize>,
    /// Other variants that are not distinguishable from the best.
    pub tied: Vec<String>,
    /// The places of others that look better and are distinguishable from it, but not as firmly as a choice
    /// requires that is the same in every run.
    pub passed_over: Vec<usize>,
    /// Whether there were too few rounds for more than a preliminary answer.
    pub preliminary: bool,
    /// Settings among `levels` that decide what a crash can destroy.
    pub crash_relevant: Vec<String>,
    /// Whether the best variant is known to be less safe than the baseline.
    pub is_less_safe: bool,
    /// The tiers of the best variant and of the baseline; `None` if nothing was to be measured.
    pub tiers: Option<TierChange>,
    /// Durability of an acknowledged change with the best variant; `None` if no target states it, or
    /// if it is the same as with the baseline.
    pub survives: Option<SurvivalChange>,
    /// A variant that is better still, but not known to be as safe as the baseline: the next rung of the ladder.
    pub faster: Option<Faster>,
}

/// The tier of a variant compared with the baseline's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TierChange {
    /// The variant's.
    pub own: Tier,
    /// The baseline's.
    pub baseline: Tier,
    /// Whether the variant is at least as safe; `None` if that is not known.
    pub is_as_safe: Option<bool>,
}

impl TierChange {
    /// Returns the tier of a variant compared with the baseline's.
    pub(super) fn of(
        experiment: &ExperimentAnalysis,
        variant: &VariantAnalysis,
    ) -> Option<TierChange> {
        let (own, baseline) = (variant.safety.as_ref()?, experiment.variants[0].safety.as_ref()?);
        Some(TierChange {
            is_as_safe: (own.tier.class()).is_at_least_as_safe_as(baseline.tier.class()),
            own: own.tier.clone(),
            baseline: baseline.tier.clone(),
        })
    }
}

/// Durability of an acknowledged change with a variant, compared with the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SurvivalChange {
    /// With the variant.
    pub own: Durability,
    /// With the baseline.
    pub baseline: Durability,
}

impl SurvivalChange {
    fn of(experiment: &ExperimentAnalysis, variant: &VariantAnalysis) -> Option<SurvivalChange> {
        let (own, baseline) = (variant.durability?, experiment.variants[0].durability?);
        (own != baseline).then_some(SurvivalChange { own, baseline })
    }
}

/// The next step: a variant that is better still, but less safe than the baseline, as far as is known.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Faster {
    /// Its place in the experiment.
    pub variant: usize,
    /// Its name, if the experiment gives one.
    pub name: Option<String>,
    /// Its levels that differ from the baseline.
    pub levels: Settings,
    /// How many times better than the baseline it is.
    pub gain: f64,
    /// The interval of the gain at 95 %.
    pub interval: Interval,
    /// Its tier; `None` if nothing was to be measured.
    pub tier: Option<Tier>,
    /// Durability of an acknowledged change with it, if its target states it.
    pub survives: Option<Durability>,
}

/// The change of safety by choosing the variant of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SafetyChange {
    /// Nothing: no setting that decides it differs.
    None,
    /// The tier is the baseline's.
    SameTier,
    /// The tier is safer than the baseline's.
    Safer,
    /// An accident takes more than with the baseline.
    LessSafe,
    /// It was not measured, and why where that is known.
    NotMeasured(Option<String>),
}

impl Finding {
    /// Returns the change of safety by choosing its variant.
    pub fn safety_change(&self) -> SafetyChange {
        let Some(change) = &self.tiers else {
            return if self.crash_relevant.is_empty() {
                SafetyChange::None
            } else {
                SafetyChange::NotMeasured(None)
            };
        };
        match change.is_as_safe {
            Some(false) => SafetyChange::LessSafe,
            Some(true) if change.own.class() != change.baseline.class() => SafetyChange::Safer,
            _ if self.crash_relevant.is_empty() => SafetyChange::None,
            Some(true) => SafetyChange::SameTier,
            None => {
                let why = change.own.why_not().or(change.baseline.why_not());
                SafetyChange::NotMeasured(why.map(str::to_owned))
            }
        }
    }
}

/// One finding an experiment, the greatest gain first, those that are known to cost safety last.
/// Experiments in which no variant is better than the baseline give none. Variants that ran under other conditions than
/// the baseline (with fewer rows, say) cannot replace it and are passed over.
pub fn findings(experiments: &[ExperimentAnalysis]) -> Vec<Finding> {
    let mut found: Vec<Finding> = experiments.iter().filter_map(finding).collect();
    found.sort_by(|a, b| {
        let by_safety = a.is_less_safe.cmp(&b.is_less_safe);
        by_safety.then(b.gain.total_cmp(&a.gain))
    });
    found
}

impl ExperimentAnalysis {
    /// Returns the best variant among those that `may` be taken, where it is found to be better than the baseline.
    fn better_where(&self, may: impl Fn(&VariantAnalysis) -> bool) -> Option<usize> {
        let chosen = self.choose(may)?.variant()?;
        self.is_found_better(&self.variants[chosen]).then_some(chosen)
    }

    /// As [`gain_of`](ExperimentAnalysis::gain_of), by the rounds in which the variant was measured again after it was chosen from many, where
    /// there were some, and `None` if these do not show a gain. The other rounds only choose.
    fn reported_gain(&self, variant: &VariantAnalysis) -> Option<(f64, Interval)> {
        match &variant.confirmation {
            Some(confirmation) => self
                .better_by(confirmation)
                .filter(|(gain, interval)| *gain > 1.0 && interval.low > 1.0),
            None => self.gain_of(variant),
        }
    }
}

/// Returns the experiment as its rounds show it, without confirmation runs: what was chosen stays so, whatever they
/// show, because what comes next was never measured again.
pub(super) fn by_rounds(experiment: &ExperimentAnalysis) -> ExperimentAnalysis {
    let mut by_rounds = experiment.clone();
    for variant in &mut by_rounds.variants {
        variant.confirmation = None;
    }
    by_rounds
}

/// The variants that the rounds of an experiment choose.
///
/// Where settings of SQLite are compared, the ladder chooses among them, because a finding and the settings
/// to use must not differ: a variant that a rung withholds is not a finding either.
struct Chosen {
    /// The best of those that are not known to be less safe than the baseline.
    as_safe: Option<usize>,
    /// The next step: what is better still, for those who accept that it is less safe.
    faster: Option<usize>,
}

impl Chosen {
    /// `None` if crashes were tried: then speed does not decide.
    fn of(experiment: &ExperimentAnalysis) -> Option<Chosen> {
        if experiment.measures().is_safety() {
            return None;
        }
        let experiment = &by_rounds(experiment);
        let ladder = ladder(experiment);
        let is_left = |variant: &VariantAnalysis| ladder.is_none() || !of_sqlite(variant);
        let is_as_safe = |variant: &VariantAnalysis| !experiment.is_less_safe(variant);
        let is_better = |index: usize| experiment.is_found_better(&experiment.variants[index]);
        let rungs = ladder.iter().flat_map(advised).filter(|rung| is_better(rung.1));
        let mut rungs: Vec<(MayLose, usize)> = rungs.collect();
        let place = rungs.iter().position(|rung| is_as_safe(&experiment.variants[rung.1]));
        let rung = place.map(|place| rungs.remove(place).1);
        let other = experiment.better_where(|variant| is_left(variant) && is_as_safe(variant));
        let as_safe = match (rung, other) {
            (Some(rung), Some(other)) if is_faster(experiment, other, rung) => Some(other),
            _ => rung.or(other),
        };
        // A variant that can destroy a database is not the next step; it is only left if nothing else is better.
        let is_known = experiment.variants[0].class().is_measured();
        let is_step = |may_lose| may_lose < MayLose::Anything || as_safe.is_none() || !is_known;
        let faster = rungs.into_iter().find(|rung| is_step(rung.0)).map(|rung| rung.1);
        Some(Chosen { as_safe, faster: faster.or_else(|| experiment.better_where(is_left)) })
    }

    /// Returns the chosen variants, the safest first.
    fn variants(&self) -> impl Iterator<Item = usize> {
        [self.as_safe, self.faster].into_iter().flatten()
    }
}

/// Returns the variants that a ladder advises with what they may lose, the safest first.
fn advised(ladder: &Ladder) -> impl Iterator<Item = (MayLose, usize)> {
    ladder.rungs.iter().filter_map(|rung| Some((rung.may_lose, rung.advice.as_ref().ok()?.variant)))
}

/// Returns the variant that the rounds of an experiment choose, where no confirmation run shows a gain.
pub(super) fn unconfirmed(experiment: &ExperimentAnalysis) -> Option<usize> {
    let chosen = Chosen::of(experiment)?;
    let first = chosen.variants().next()?;
    let is_confirmed = experiment.variants[first].confirmation.is_some();
    (is_confirmed && reported(experiment, &chosen).is_none()).then_some(first)
}

/// Returns the first of what was chosen that is shown to be better than the baseline, with its gain.
fn reported(experiment: &ExperimentAnalysis, chosen: &Chosen) -> Option<(usize, (f64, Interval))> {
    let gain = |index| Some((index, experiment.reported_gain(&experiment.variants[index])?));
    chosen.variants().find_map(gain)
}

/// Returns the finding of an experiment; `None` if no variant is shown to be better than the baseline.
pub(super) fn finding(experiment: &ExperimentAnalysis) -> Option<Finding> {
    let chosen = Chosen::of(experiment)?;
    let (index, (gain, interval)) = reported(experiment, &chosen)?;
    let best = &experiment.variants[index];
    let baseline = &experiment.variants[0];
    let levels = levels_of(experiment, best);
    let instead_of = picked(&baseline.levels, |name| levels.contains_key(name));
    Some(Finding {
        experiment: experiment.key.clone(),
        question: experiment.question.clone(),
        variant: index,
        name: experiment.name_by(best, &levels),
        baseline_name: experiment.name_by(baseline, &instead_of),
        answer: best.answer.clone(),
        instead_of,
        conditions: picked(&baseline.levels, |name| experiment.conditions.contains(name)),
        crash_relevant: experiment
            .crash_relevant
            .iter()
            .filter(|name| levels.contains_key(*name))
            .cloned()
            .collect(),
        levels,
        gain,
        interval,
        chosen_from: experiment.candidates(),
        confirmation_rounds: best.confirmation.as_ref().map(|confirmation| confirmation.n),
        tied: tied_with(best, experiment),
        passed_over: passed_over(index, experiment),
        preliminary: is_preliminary(best),
        is_less_safe: experiment.is_less_safe(best),
        tiers: TierChange::of(experiment, best),
        survives: SurvivalChange::of(experiment, best),
        faster: (chosen.faster)
            .filter(|faster| is_faster(experiment, *faster, index))
            .and_then(|index| faster(experiment, index))
            .filter(|faster| faster.gain > gain),
    })
}

fn faster(experiment: &ExperimentAnalysis, index: usize) -> Option<Faster> {
    let variant = &experiment.variants[index];
    let (gain, interval) = experiment.reported_gain(variant)?;
    let levels = levels_of(experiment, variant);
    Some(Faster {
        variant: index,
        name: experiment.name_by(variant, &levels),
        levels,
        gain,
        interval,
        tier: variant.safety.as_ref().map(|safety| safety.tier.clone()),
        survives: variant.durability,
    })
}

/// Returns the levels of a variant that differ from the baseline.
fn levels_of(experiment: &ExperimentAnalysis, variant: &VariantAnalysis) -> Settings {
    let baseline = &experiment.variants[0].levels;
    picked(&variant.levels, |name| variant.levels.get(name) != baseline.get(name))
}

/// Returns the alternatives, not known to be less safe than what is chosen, that look better than it and do not share a
/// group, but are not better by as much as a choice requires.
fn passed_over(chosen: usize, experiment: &ExperimentAnalysis) -> Vec<usize> {
    let best = &experiment.variants[chosen];
    let is_as_safe = |variant: &VariantAnalysis| {
        variant.class().is_at_least_as_safe_as(best.class()) != Some(false)
            && variant.durability >= best.durability
    };
    let is_passed_over = |index: &usize| {
        let variant = &experiment.variants[*index];
        experiment.is_alternative(variant)
            && experiment.is_found_better(variant)
            && !shares_a_group(variant, best)
            && !is_faster(experiment, *index, chosen)
            && is_as_safe(variant)
    };
    let better = experiment.ranking.iter().copied().take_while(|index| *index != chosen);
    better.filter(is_passed_over).collect()
}

fn tied_with(best: &VariantAnalysis, experiment: &ExperimentAnalysis) -> Vec<String> {
    // A variant that may cost safety does not equal one that does not, however fast it is.
    let needs_safety = !experiment.is_less_safe(best);
    let is_tied = |variant: &&VariantAnalysis| {
        variant.label != best.label
            && experiment.is_alternative(variant)
            && shares_a_group(variant, best)
            && (!needs_safety || !experiment.is_less_safe(variant))
    };
    experiment.variants.iter().filter(is_tied).map(|variant| variant.label.clone()).collect()
}

/// Returns the variants that findings and rungs name, where they were chosen from many.
pub(super) fn chosen_from_many(experiment: &ExperimentAnalysis) -> BTreeSet<usize> {
    if experiment.measures().is_safety() || experiment.candidates() < MANY {
        return BTreeSet::new();
    }
    let experiment = &by_rounds(experiment);
    let rungs = ladder(experiment).into_iter().flat_map(|ladder| ladder.rungs);
    let advised = rungs.filter_map(|rung| Some(rung.advice.ok()?.variant));
    let finding = finding(experiment).into_iter();
    let named = finding.flat_map(|finding| {
        let faster = finding.faster.map(|faster| faster.variant);
        [Some(finding.variant), faster].into_iter().flatten()
    });
    advised.chain(named).filter(|variant| *variant != 0).collect()
}
