//! What matters most: the sentences a reader should take away from a run.

use serde::Serialize;

use super::tiers::shares_a_group;
use super::{ArmAnalysis, ExperimentAnalysis};
use crate::durability::Durability;
use crate::level::{Settings, label};
use crate::metric::{self, Better};
use crate::stats::{Estimate, Interval};
use crate::tier::{Narrowed, Tier, WORKLOAD};

/// The best of an experiment's arms against its reference, under the reference's conditions: the best
/// of those that are as safe as the reference, or of all where none of these is better.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Key of the experiment.
    pub experiment: String,
    /// The question it answers.
    pub question: String,
    /// The levels of the best arm that differ from the reference; empty when no arm is better.
    pub levels: Settings,
    /// The levels of the reference for the same factors.
    pub instead_of: Settings,
    /// The levels of the experiment's conditions that are no choice, under which it was found.
    pub conditions: Settings,
    /// How many times better the best arm is: above 1 in the metric's good direction.
    pub gain: f64,
    /// The interval of the gain at 95 %.
    pub interval: Interval,
    /// How many arms could have been the best. Where the rounds that show the gain have also chosen the
    /// arm, chance had a hand in it: the more arms, the more.
    pub chosen_from: usize,
    /// The rounds in which it was measured again after it was chosen, which show the gain then; none
    /// where it was not.
    pub fresh_rounds: Option<usize>,
    /// Other arms that cannot be told apart from the best.
    pub tied: Vec<String>,
    /// Whether there were too few rounds for more than a preliminary answer.
    pub preliminary: bool,
    /// Settings among `levels` that decide what a crash can destroy.
    pub crash_relevant: Vec<String>,
    /// Whether the best arm is known to be at least as safe as the reference.
    pub as_safe: bool,
    /// The tiers of the best arm and of the reference; none where nothing was to be measured.
    pub tiers: Option<TierChange>,
    /// What survives of an acknowledged change with the best arm; none where no target says it, or
    /// where the same survives with the reference.
    pub survives: Option<SurvivalChange>,
    /// What is better still, but not known to be as safe as the reference.
    pub faster: Option<Faster>,
}

/// The tier of an arm beside that of the reference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TierChange {
    /// The arm's.
    pub own: Tier,
    /// The reference's.
    pub reference: Tier,
    /// Where the arm's holds on occasions only.
    pub own_narrowed: Option<Narrowed>,
    /// Where the reference's does.
    pub reference_narrowed: Option<Narrowed>,
    /// Storage models inside SQLite's assumptions under which the arm fares worse; none where that is
    /// not known.
    pub worse_under: Option<Vec<String>>,
}

impl TierChange {
    /// The tier of an arm beside that of the reference.
    pub(super) fn of(experiment: &ExperimentAnalysis, arm: &ArmAnalysis) -> Option<TierChange> {
        let (own, reference) = (arm.safety.as_ref()?, experiment.arms[0].safety.as_ref()?);
        Some(TierChange {
            worse_under: own.worse_under(reference),
            own: own.tier.clone(),
            reference: reference.tier.clone(),
            own_narrowed: own.narrowed.clone(),
            reference_narrowed: reference.narrowed.clone(),
        })
    }
}

/// What survives of an acknowledged change with an arm, beside what survives with the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SurvivalChange {
    /// With the arm.
    pub own: Durability,
    /// With the reference.
    pub reference: Durability,
}

impl SurvivalChange {
    fn of(experiment: &ExperimentAnalysis, arm: &ArmAnalysis) -> Option<SurvivalChange> {
        let (own, reference) = (arm.durability?, experiment.arms[0].durability?);
        (own != reference).then_some(SurvivalChange { own, reference })
    }
}

/// The best arm of all, where it is not known to be as safe as the reference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Faster {
    /// Its levels that differ from the reference.
    pub levels: Settings,
    /// How many times better than the reference it is.
    pub gain: f64,
    /// The interval of the gain at 95 %.
    pub interval: Interval,
    /// Its tier; none where nothing was to be measured.
    pub tier: Option<Tier>,
    /// What survives of an acknowledged change with it, where its target says it.
    pub survives: Option<Durability>,
}

impl Finding {
    /// The levels of the best arm as a label.
    pub fn what(&self) -> String {
        label(&self.levels)
    }
}

/// One finding an experiment, the greatest gain first, those that may cost safety last. Experiments
/// in which no arm is better than the reference give none. Arms that ran under other conditions than
/// the reference (with fewer rows, say) are no alternative to it and are passed over.
pub fn findings(experiments: &[ExperimentAnalysis]) -> Vec<Finding> {
    let mut found: Vec<Finding> = experiments.iter().filter_map(finding).collect();
    found.sort_by(|a, b| b.as_safe.cmp(&a.as_safe).then(b.gain.total_cmp(&a.gain)));
    found
}

/// The best of the alternatives to the reference among those that `may` be taken, where it is found
/// to be better than the reference; its place in the experiment.
pub(super) fn best_where(
    experiment: &ExperimentAnalysis,
    may: impl Fn(&ArmAnalysis) -> bool,
) -> Option<usize> {
    let above_reference = experiment.ranking.iter().copied();
    let mut above_reference = above_reference.take_while(|index| *index != 0);
    // One with more noise may stand above it that cannot be told from the reference.
    above_reference.find(|index| {
        let arm = &experiment.arms[*index];
        let is_better = || gain_of(experiment, arm).is_some_and(|(gain, _)| gain > 1.0);
        experiment.is_alternative(arm) && may(arm) && is_better()
    })
}

/// How many times better than the reference an arm is, with its interval at 95 %; none where it
/// cannot be told apart.
pub(super) fn gain_of(
    experiment: &ExperimentAnalysis,
    arm: &ArmAnalysis,
) -> Option<(f64, Interval)> {
    let effect = arm.effect.as_ref().filter(|effect| effect.is_found())?;
    better_by(experiment, &effect.estimate)
}

/// As [`gain_of`], by the rounds in which the arm was measured again after it was chosen from many, where
/// there were some: so it is told, while the other rounds choose.
pub(super) fn told_gain_of(
    experiment: &ExperimentAnalysis,
    arm: &ArmAnalysis,
) -> Option<(f64, Interval)> {
    match &arm.fresh {
        Some(fresh) => better_by(experiment, fresh),
        None => gain_of(experiment, arm),
    }
}

/// How many times better than the reference an arm of this ratio is, with its interval.
fn better_by(experiment: &ExperimentAnalysis, ratio: &Estimate) -> Option<(f64, Interval)> {
    let (centre, interval) = (ratio.centre, ratio.interval);
    Some(match metric::find(&experiment.metric)?.better {
        Better::Higher => (centre, interval),
        Better::Lower => (1.0 / centre, inverse(interval)),
    })
}

fn finding(experiment: &ExperimentAnalysis) -> Option<Finding> {
    if experiment.workload == WORKLOAD {
        // How quickly crashes are tried is no reason to choose anything.
        return None;
    }
    let fastest = best_where(experiment, |_| true);
    let as_safe = best_where(experiment, |arm| experiment.is_as_safe(arm));
    let best = &experiment.arms[as_safe.or(fastest)?];
    let reference = &experiment.arms[0];
    let (gain, interval) = told_gain_of(experiment, best)?;
    let levels = levels_of(experiment, best);
    Some(Finding {
        experiment: experiment.key.clone(),
        question: experiment.question.clone(),
        instead_of: reference
            .levels
            .iter()
            .filter(|(name, _)| levels.contains_key(*name))
            .map(|(name, level)| (name.clone(), level.clone()))
            .collect(),
        conditions: reference
            .levels
            .iter()
            .filter(|(name, _)| experiment.conditions.contains(name))
            .map(|(name, level)| (name.clone(), level.clone()))
            .collect(),
        crash_relevant: experiment
            .crash_relevant
            .iter()
            .filter(|name| levels.contains_key(*name))
            .cloned()
            .collect(),
        levels,
        gain,
        interval,
        chosen_from: candidates(experiment),
        fresh_rounds: best.fresh.as_ref().map(|fresh| fresh.n),
        tied: tied_with(best, experiment),
        preliminary: is_preliminary(best),
        as_safe: as_safe.is_some(),
        tiers: TierChange::of(experiment, best),
        survives: SurvivalChange::of(experiment, best),
        faster: as_safe
            .and(fastest)
            .filter(|fastest| as_safe != Some(*fastest))
            .and_then(|fastest| faster(experiment, &experiment.arms[fastest])),
    })
}

/// Whether there were too few rounds for more than a preliminary answer about an arm.
pub(super) fn is_preliminary(arm: &ArmAnalysis) -> bool {
    let of_all = arm.effect.as_ref().map(|effect| &effect.estimate);
    let told = arm.fresh.as_ref().or(of_all);
    told.is_some_and(|estimate| estimate.preliminary)
}

/// The arms that were compared with the reference and might have been taken in its place.
pub(super) fn candidates(experiment: &ExperimentAnalysis) -> usize {
    let is_candidate = |arm: &&ArmAnalysis| arm.effect.is_some() && experiment.is_alternative(arm);
    experiment.arms.iter().filter(is_candidate).count()
}

fn faster(experiment: &ExperimentAnalysis, arm: &ArmAnalysis) -> Option<Faster> {
    let (gain, interval) = told_gain_of(experiment, arm)?;
    Some(Faster {
        levels: levels_of(experiment, arm),
        gain,
        interval,
        tier: arm.safety.as_ref().map(|safety| safety.tier.clone()),
        survives: arm.durability,
    })
}

/// The levels of an arm that differ from the reference.
fn levels_of(experiment: &ExperimentAnalysis, arm: &ArmAnalysis) -> Settings {
    let reference = &experiment.arms[0].levels;
    arm.levels
        .iter()
        .filter(|(name, level)| reference.get(*name) != Some(level))
        .map(|(name, level)| (name.clone(), level.clone()))
        .collect()
}

fn inverse(interval: Interval) -> Interval {
    Interval {
        low: 1.0 / interval.high,
        high: 1.0 / interval.low,
    }
}

fn tied_with(best: &ArmAnalysis, experiment: &ExperimentAnalysis) -> Vec<String> {
    // An arm that may cost safety is no equal of one that does not, however fast it is.
    let needs_safety = experiment.is_as_safe(best);
    let is_tied = |arm: &&ArmAnalysis| {
        arm.label != best.label
            && experiment.is_alternative(arm)
            && shares_a_group(arm, best)
            && (!needs_safety || experiment.is_as_safe(arm))
    };
    experiment
        .arms
        .iter()
        .filter(is_tied)
        .map(|arm| arm.label.clone())
        .collect()
}
