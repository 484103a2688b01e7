//! The settings of SQLite to use, as far as an experiment can tell: a ladder.
//!
//! Speed alone recommends nothing. Each rung is the fastest variant that loses no more in a crash than its
//! reader accepts, by the measured safety tiers. A rung without evidence has no advice but the reason for
//! that; a rung that buys no speed over a safer one is left out.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde::Serialize;

use super::choice::{Choice, NEAR, is_preliminary, shares_a_label};
use super::{ExperimentAnalysis, VariantAnalysis};
use crate::level::{Settings, picked};
use crate::stats::Interval;
use crate::target;
use crate::tier::{MayLose, Tier};

/// The settings to use by one experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ladder {
    /// Key of the experiment.
    pub experiment: String,
    /// The rungs, the safest first.
    pub rungs: Vec<Rung>,
}

/// The fastest settings for what a reader accepts to lose.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rung {
    /// The accepted loss.
    pub may_lose: MayLose,
    /// The settings, or why none are recommended.
    pub advice: Result<Advice, Withheld>,
}

/// Settings to use.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// The variant's place in the experiment.
    pub variant: usize,
    /// Its settings of SQLite: PRAGMAs that were read back, how connections were opened and how
    /// transactions began. What is not named was left as SQLite has it.
    pub settings: Settings,
    /// How it compares with the baseline; none for the baseline itself.
    pub gain: Option<Gain>,
    /// Its safety tier; `None` if nothing was to be measured.
    pub tier: Option<Tier>,
    /// Whether there were too few rounds for more than a preliminary answer.
    pub preliminary: bool,
}

/// How a variant compares with the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// How many times better: above 1 in the metric's good direction.
    pub ratio: f64,
    /// The interval of the ratio at 95 %.
    pub interval: Interval,
    /// Whether the variant is distinguishable from the baseline.
    pub is_found: bool,
    /// Rounds of the confirmation run that shows the ratio; `None` if the rounds that chose the variant
    /// show it.
    pub confirmation_rounds: Option<usize>,
}

/// Why advice is withheld.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Withheld {
    /// The baseline was not measured.
    NoBaseline,
    /// Too few rounds for an interval.
    TooFewRounds,
    /// The losses in crashes were not measured, and why.
    NotMeasured(String),
    /// No variant loses so little.
    NoVariant,
    /// None of those that lose so little keeps the constraints of the search.
    NoneWithinConstraints,
    /// Any of this many variants may be the best, and they look too different to choose one.
    Unresolved(usize),
    /// The confirmation run does not distinguish this variant from the baseline.
    Unconfirmed(usize),
    /// This variant is not distinguishable from the baseline, and only such a difference (a fraction)
    /// would have been detected.
    TooNoisy(usize, f64),
}

impl Ladder {
    /// Returns the rung for what is accepted, or the next safer one that has advice where it was left out.
    pub fn rung(&self, may_lose: MayLose) -> Option<&Rung> {
        let up_to = || self.rungs.iter().filter(|rung| rung.may_lose <= may_lose);
        let advised = up_to().rev().find(|rung| rung.advice.is_ok());
        advised.or(up_to().next_back())
    }
}

/// Returns the settings to use by an experiment that varies settings of SQLite; none for one that varies none or
/// tries crashes, whose speed does not matter.
pub fn ladder(experiment: &ExperimentAnalysis) -> Option<Ladder> {
    let baseline = experiment.variants.first()?;
    if experiment.measures().is_safety() || !varies_settings(experiment) {
        return None;
    }
    let rungs = match why_no_rung(experiment) {
        Some(why) => vec![Rung { may_lose: MayLose::Nothing, advice: Err(why) }],
        None => rungs(experiment, baseline),
    };
    Some(Ladder { experiment: experiment.key.clone(), rungs })
}

/// Returns why an experiment recommends nothing at all.
fn why_no_rung(experiment: &ExperimentAnalysis) -> Option<Withheld> {
    let baseline = experiment.variants.first()?;
    if baseline.unmeasured() {
        return Some(Withheld::NoBaseline);
    }
    (experiment.candidates() == 0).then_some(Withheld::TooFewRounds)
}

fn rungs(experiment: &ExperimentAnalysis, baseline: &VariantAnalysis) -> Vec<Rung> {
    if baseline.class().is_measured() {
        let accepted = [MayLose::Nothing, MayLose::Recent, MayLose::Anything];
        let rungs = monotone(experiment, accepted.map(|chosen| rung(experiment, chosen)).into());
        return without_gainless(experiment, rungs);
    }
    let unchanged = rung(experiment, MayLose::Unchanged);
    if experiment.crash_relevant.is_empty() {
        return vec![unchanged];
    }
    let safety = baseline.safety.as_ref();
    let why = safety.and_then(|safety| safety.tier.why_not());
    let nothing = Rung {
        may_lose: MayLose::Nothing,
        advice: Err(Withheld::NotMeasured(why.unwrap_or_default().to_owned())),
    };
    let anything = rung(experiment, MayLose::Anything);
    let rungs = monotone(experiment, vec![unchanged, anything]);
    let mut rungs = without_gainless(experiment, rungs);
    rungs.insert(1, nothing);
    rungs
}

/// Returns the rungs, the safest first. A rung without advice takes the advice of a looser one if that variant is safe enough for it.
fn monotone(experiment: &ExperimentAnalysis, mut rungs: Vec<Rung>) -> Vec<Rung> {
    for at in 0..rungs.len() {
        let accepts = |advice: &&Advice| {
            experiment.is_accepted(&experiment.variants[advice.variant], rungs[at].may_lose)
        };
        let mut looser = rungs[at + 1..].iter().filter_map(|rung| rung.advice.as_ref().ok());
        if let (Err(_), Some(advice)) = (&rungs[at].advice, looser.find(accepts)) {
            rungs[at].advice = Ok(advice.clone());
        }
    }
    rungs
}

/// Returns the rungs without those whose variant a safer rung has too, or has one that is as fast.
fn without_gainless(experiment: &ExperimentAnalysis, rungs: Vec<Rung>) -> Vec<Rung> {
    let mut kept: Vec<Rung> = Vec::new();
    for rung in rungs {
        let variant = |rung: &Rung| rung.advice.as_ref().ok().map(|advice| advice.variant);
        let is_gainless = |safer: &Rung| {
            let both = variant(&rung).zip(variant(safer));
            both.is_some_and(|(own, safer)| !is_faster(experiment, own, safer))
        };
        if !kept.iter().any(is_gainless) {
            kept.push(rung);
        }
    }
    kept
}

/// Returns whether a variant is better than another one by more than noise.
pub(super) fn is_faster(experiment: &ExperimentAnalysis, one: usize, other: usize) -> bool {
    let variants = &experiment.variants;
    let (own, others) = (&variants[one].firm_groups, &variants[other].firm_groups);
    let rank = |wanted| experiment.ranking.iter().position(|index| *index == wanted);
    rank(one) < rank(other) && !shares_a_label(own, others)
}

fn rung(experiment: &ExperimentAnalysis, may_lose: MayLose) -> Rung {
    let choice = experiment.choose(|variant| experiment.is_accepted(variant, may_lose));
    let breaks = |variant: &VariantAnalysis| !variant.breaks.is_empty();
    let mut variants = experiment.variants.iter();
    let advice = match choice {
        None if variants
            .any(|variant| breaks(variant) && experiment.is_accepted(variant, may_lose)) =>
        {
            Err(Withheld::NoneWithinConstraints)
        }
        None => Err(Withheld::NoVariant),
        Some(Choice::Unresolved(tied)) => Err(Withheld::Unresolved(tied)),
        Some(Choice::Variant(variant)) => {
            let mut baseline = experiment.variants.iter().take(1);
            advice(experiment, variant, baseline.any(|it| experiment.is_accepted(it, may_lose)))
        }
    };
    Rung { may_lose, advice }
}

/// Returns the advice to use a variant. It needs a gain in speed where the baseline is safe enough, and otherwise brings safety.
fn advice(
    experiment: &ExperimentAnalysis,
    index: usize,
    needs_gain: bool,
) -> Result<Advice, Withheld> {
    let variant = &experiment.variants[index];
    let gain = gain(experiment, variant);
    let no_longer = |gain: &Gain| gain.confirmation_rounds.is_some() && !gain.is_found;
    if needs_gain && gain.as_ref().is_some_and(no_longer) {
        return Err(Withheld::Unconfirmed(index));
    }
    let detectable = variant.estimate().map(|estimate| estimate.detectable);
    let too_noisy = detectable.filter(|detectable| needs_gain && *detectable > NEAR - 1.0);
    if let (Some(Gain { is_found: false, .. }), Some(detectable)) = (&gain, too_noisy) {
        return Err(Withheld::TooNoisy(index, detectable));
    }
    let names = names_of_settings(variant);
    Ok(Advice {
        variant: index,
        settings: picked(&variant.settings, |name| names.contains(name)),
        gain,
        tier: variant.safety.as_ref().map(|safety| safety.tier.clone()),
        preliminary: is_preliminary(variant),
    })
}

/// Returns how a variant compares with the baseline: by the confirmation run where there was one.
fn gain(experiment: &ExperimentAnalysis, variant: &VariantAnalysis) -> Option<Gain> {
    if variant.baseline {
        return None;
    }
    let confirmation = variant.confirmation.as_ref();
    let effect = variant.effect.as_ref()?;
    let (ratio, interval) = experiment.better_by(confirmation.unwrap_or(&effect.estimate))?;
    Some(Gain {
        ratio,
        interval,
        is_found: match confirmation {
            Some(_) => !interval.contains(1.0),
            None => effect.is_found(),
        },
        confirmation_rounds: confirmation.map(|confirmation| confirmation.n),
    })
}

/// Other targets have no settings of SQLite.
pub(super) fn of_sqlite(variant: &VariantAnalysis) -> bool {
    target::is_sqlite(&variant.settings)
}

/// Returns whether an alternative to the baseline has another setting of SQLite.
fn varies_settings(experiment: &ExperimentAnalysis) -> bool {
    let Some(baseline) = experiment.variants.first() else { return false };
    let varies = |name: &str| {
        let level = baseline.levels.get(name);
        let variants = experiment.variants.iter();
        let mut others = variants.filter(|variant| experiment.is_alternative(variant));
        others.any(|variant| variant.levels.get(name) != level)
    };
    let names: BTreeSet<String> = experiment.variants.iter().flat_map(names_of_settings).collect();
    names.iter().any(|name| varies(name))
}

/// How connections are opened and transactions begin: settings that no PRAGMA reports.
const OF_CONNECTIONS: [&str; 2] = ["open_mutex", "transaction"];

/// Returns the settings of SQLite among a variant's: PRAGMAs that were set and read back, and those of
/// connections where the experiment makes them a choice.
fn names_of_settings(variant: &VariantAnalysis) -> BTreeSet<String> {
    let read_back = variant.connections.iter().flat_map(|one| one.pragmas.keys());
    let set = read_back.filter(|name| variant.settings.contains_key(*name));
    let of_connections = OF_CONNECTIONS.into_iter().map(str::to_owned);
    let chosen = of_connections.filter(|name| variant.levels.contains_key(name));
    set.cloned().chain(chosen).collect()
}

impl ExperimentAnalysis {
    /// Returns whether a rung accepts what a variant loses.
    fn is_accepted(&self, variant: &VariantAnalysis, may_lose: MayLose) -> bool {
        of_sqlite(variant)
            && match may_lose {
                MayLose::Unchanged => self.changed_safety(variant).is_empty(),
                MayLose::Anything => true,
                _ => variant.safety.as_ref().is_some_and(|safety| may_lose.accepts(safety)),
            }
    }

    /// Returns the settings that decide what a crash can destroy by which a variant differs from the baseline.
    pub fn changed_safety(&self, variant: &VariantAnalysis) -> Vec<String> {
        let baseline = self.variants.first().map(|baseline| &baseline.levels);
        let differs = |name: &&String| {
            variant.levels.get(*name) != baseline.and_then(|levels| levels.get(*name))
        };
        self.crash_relevant.iter().filter(differs).cloned().collect()
    }
}
