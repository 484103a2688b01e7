//! The safety tiers of variants, and the best variant at each of them.
//!
//! Differences between engines: the same settings under the same storage model, with other tiers.
//!
//! Counts are left aside: another version writes in another order, so that images differ where nothing
//! is better or worse.
//!
//! The variants by what survives of an acknowledged change, so that they can be compared within a class.

use std::collections::BTreeMap;

use serde::Serialize;

use super::choice::{Ranked, rank_by_class, shares_a_group};
use super::{ExperimentAnalysis, TrialCounts, VariantAnalysis};
use crate::design::Variant;
use crate::durability::Durability;
use crate::engine_name::{ENGINE, engine_of, without_engine};
use crate::level::{Level, distinct, label};
use crate::record::{EngineRecord, PlannedExperiment, RunPlan, TrialRecord};
use crate::target;
use crate::tier::{BESIDES, Class, ModelSafety, Safety, TierPlan, TierSet};
use crate::trial::{DRIVER, EngineMark, NATIVE, Outcome, ReadBack};

/// The tiers that a run has measured.
pub(super) struct Tiers {
    engine: String,
    plan: Option<TierPlan>,
    records: Vec<TrialRecord>,
}

impl Tiers {
    /// None so far.
    pub(super) fn new(plan: &RunPlan) -> Tiers {
        Tiers { engine: plan.engine.clone(), plan: plan.tiers.clone(), records: Vec::new() }
    }

    /// Adds one.
    pub(super) fn add(&mut self, record: TrialRecord) {
        self.records.push(record);
    }

    /// Returns how the crash trials ended.
    pub(super) fn counts(&self) -> TrialCounts {
        let mut counts = TrialCounts::default();
        for record in &self.records {
            counts.add(&record.outcome);
        }
        counts
    }

    /// Returns how safe a variant is; `None` if its experiment names no setting that decides it. An
    /// experiment that tries crashes has its tiers from its own trials.
    pub(super) fn safety_of(
        &self,
        planned: &PlannedExperiment,
        variant: &Variant,
    ) -> Option<Safety> {
        if planned.experiment.measures().is_safety() || !target::is_sqlite(&variant.settings) {
            return None;
        }
        let Some(plan) = &self.plan else {
            let varies_safety = !planned.crash_relevant.is_empty();
            return varies_safety.then(|| Safety::not_measured("this run measured no tiers"));
        };
        let set_of = |variant: &Variant| TierSet::of(&variant.settings, &plan.names, &self.engine);
        let mut of_sqlite =
            planned.variants.iter().filter(|variant| target::is_sqlite(&variant.settings));
        if !of_sqlite.any(|variant| set_of(variant).decides()) {
            return None;
        }
        Some(self.safety_of_set(plan, &set_of(variant)))
    }

    /// Returns a tier is a property of a library: nothing is known of a variant whose driver used another than the engine with
    /// which its tier was measured.
    pub(super) fn with_library(
        &self,
        safety: Safety,
        variant: &Variant,
        used: Option<&EngineMark>,
        engines: &[EngineRecord],
    ) -> Safety {
        let driver = variant.settings.get(DRIVER).and_then(Level::as_text);
        let name = engine_of(&variant.settings, &self.engine);
        let engine = engines.iter().find(|engine| engine.name == name);
        let (Some(driver), Some(used), Some(engine)) = (driver, used, engine) else {
            return safety;
        };
        if driver == NATIVE || used.source_id == engine.source_id {
            safety
        } else {
            Safety::not_measured(format!(
                "the driver {driver} used its own SQLite {}, and tiers are measured with the engine {name}",
                used.version
            ))
        }
    }

    /// Returns a tier is a property of settings: nothing is known of a variant that worked under others than those with which its
    /// tier was measured, because its database or its statements have settings of their own.
    pub(super) fn with_read_back(
        &self,
        safety: Safety,
        variant: &Variant,
        analysed: &VariantAnalysis,
    ) -> Safety {
        let Some(plan) = &self.plan else { return safety };
        if let Some(words) =
            (!analysed.sets_itself.is_empty()).then(|| listed(&analysed.sets_itself))
        {
            return Safety::not_measured(format!(
                "{words}: the tier of the variant’s settings says nothing of that"
            ));
        }
        let set = TierSet::of(&variant.settings, &plan.names, &self.engine);
        let mut connections = analysed.connections.iter();
        let tried = self.tried(plan, &set);
        match connections.find_map(|connection| other_setting(&tried, connection)) {
            Some((name, value)) => Safety::not_measured(format!(
                "{name} was {value} on a connection, and the variant does not set it: with `{name} = {value}` it has a tier"
            )),
            None => safety,
        }
    }

    /// Returns the settings with which the tier of a set was measured, as SQLite answers them; page sizes have no part in it.
    fn tried(&self, plan: &TierPlan, set: &TierSet) -> BTreeMap<String, String> {
        let known = plan.known(set).map(|known| {
            known.in_force.iter().map(|(name, level)| (name.clone(), answered(level))).collect()
        });
        let label = set.to_string();
        let measured = || {
            let record = self.records.iter().find(|record| record.variant == label)?;
            let Outcome::Measured(measured) = &record.outcome else { return None };
            Some(measured.connections.first()?.pragmas.clone())
        };
        let mut tried: BTreeMap<String, String> = known.or_else(measured).unwrap_or_default();
        tried.retain(|name, _| plan.names.contains(name) && !BESIDES.contains(&name.as_str()));
        tried
    }

    /// Returns how safe a set of settings is: as known before the run, or as measured in it.
    fn safety_of_set(&self, plan: &TierPlan, set: &TierSet) -> Safety {
        if let Some(known) = plan.known(set) {
            return known.safety();
        }
        let label = set.to_string();
        match self.records.iter().find(|record| record.variant == label) {
            Some(record) => Safety::of_outcome(&record.outcome),
            None => Safety::not_measured("the run ended before it"),
        }
    }
}

/// Returns a level as SQLite answers it.
fn answered(level: &Level) -> String {
    match level {
        Level::Bool(true) => "on".to_owned(),
        Level::Bool(false) => "off".to_owned(),
        other => other.to_string(),
    }
}

/// Returns the first setting of a connection that is not as it was tried, with its value.
fn other_setting(
    tried: &BTreeMap<String, String>,
    connection: &ReadBack,
) -> Option<(String, String)> {
    tried.iter().find_map(|(name, wanted)| {
        let found = connection.pragmas.get(name)?;
        (found != wanted).then(|| (name.clone(), found.clone()))
    })
}

/// Returns the first of some words, and how many more there are.
fn listed(all: &[String]) -> String {
    match all {
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} (and {} more)", rest.len()),
        [] => String::new(),
    }
}

/// The best variant at a tier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BestAtTier {
    /// The tier, without its counts.
    pub class: Class,
    /// The variant's place in the experiment.
    pub variant: usize,
    /// Other variants of the tier that are not distinguishable from it.
    pub tied: Vec<usize>,
    /// Whether no safer variant is as good: whether it belongs to the Pareto set of speed and safety.
    pub pareto: bool,
    /// How it compares with the best variants of safer tiers; `None` if there are none.
    #[serde(skip)]
    pub against_safer: Option<AgainstStronger>,
}

/// Whether the variants of an experiment differ in their safety tiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tiered<'a> {
    /// No variant names a setting that decides it.
    No,
    /// All variants have this one.
    Alike(&'a Safety),
    /// They differ.
    Each,
}

impl ExperimentAnalysis {
    /// Returns how a variant compares with the `stronger` ones; `None` if there are none.
    fn against(&self, own: usize, stronger: &[usize]) -> Option<AgainstStronger> {
        let variants = &self.variants;
        let rank = |variant: usize| self.ranking.iter().position(|index| *index == variant);
        let is_tied = |other: usize| shares_a_group(&variants[own], &variants[other]);
        let best = stronger.iter().copied().min_by_key(|variant| rank(*variant))?;
        let tied = stronger.iter().copied().find(|variant| is_tied(*variant));
        Some(match tied {
            _ if rank(best) < rank(own) && !is_tied(best) => AgainstStronger::Worse(best),
            Some(tied) => AgainstStronger::Same(tied),
            None => AgainstStronger::Better,
        })
    }

    /// Returns the safety tiers that occur among its variants, without counts, the safest first and unknown
    /// ones last.
    pub fn classes(&self) -> Vec<Class> {
        let mut classes = distinct(self.variants.iter().map(VariantAnalysis::class));
        classes.sort_by_key(|class| class.order());
        classes
    }

    /// Returns whether its variants have safety tiers, and whether these differ.
    pub fn tiered(&self) -> Tiered<'_> {
        let mut all = self.variants.iter().map(|variant| variant.safety.as_ref());
        let is_alike = |first: &Safety, other: Option<&Safety>| {
            other.is_some_and(|other| other.tier == first.tier)
        };
        match all.next() {
            Some(Some(first)) if all.all(|other| is_alike(first, other)) => Tiered::Alike(first),
            _ if self.variants.iter().any(|variant| variant.safety.is_some()) => Tiered::Each,
            _ => Tiered::No,
        }
    }
}

/// Returns the best alternative to the baseline, the baseline included, at each tier that occurs, the
/// safest first. Empty where no tier was measured, and where the trials tried crashes, because there
/// is no speed to weigh against safety then.
pub(super) fn best_at_tiers(experiment: &ExperimentAnalysis) -> Vec<BestAtTier> {
    if experiment.measures().is_safety() {
        return Vec::new();
    }
    let classes = experiment.classes().into_iter();
    let measured: Vec<Class> = classes.filter(|class| *class != Class::default()).collect();
    let ranked = rank_by_class(experiment, &measured, |variant| Some(variant.class()));
    let bests: Vec<(Class, usize)> = ranked.iter().map(|one| (one.class, one.best)).collect();
    let best = ranked.into_iter().enumerate().map(|(index, ranked)| {
        let is_safer =
            |other: &&(Class, usize)| other.0.is_at_least_as_safe_as(ranked.class) == Some(true);
        let safer = bests[..index].iter().filter(is_safer).map(|(_, best)| *best);
        let against_safer = experiment.against(ranked.best, &safer.collect::<Vec<usize>>());
        BestAtTier {
            class: ranked.class,
            variant: ranked.best,
            tied: ranked.tied,
            pareto: against_safer.is_none_or(|against| against == AgainstStronger::Better),
            against_safer,
        }
    });
    best.collect()
}

/// Settings under a storage model with which engines differ in how bad a crash can be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EngineDifference {
    /// The settings.
    pub settings: String,
    /// The storage model.
    pub model: String,
    /// The engines with what was found, in the order of the variants.
    pub found: Vec<(String, ModelSafety)>,
}

/// Returns the differences between the engines of variants that have the same settings otherwise.
pub(super) fn engine_differences(variants: &[VariantAnalysis]) -> Vec<EngineDifference> {
    let mut differences = Vec::new();
    for (index, first) in variants.iter().enumerate() {
        let settings = without_engine(&first.levels);
        let same = |variant: &&VariantAnalysis| without_engine(&variant.levels) == settings;
        if !first.levels.contains_key(ENGINE)
            || variants[..index].iter().any(|variant| same(&variant))
        {
            continue;
        }
        let engines: Vec<&VariantAnalysis> = variants[index..].iter().filter(same).collect();
        for model in models(&engines) {
            let found = engines.iter().filter_map(|variant| {
                let engine = engine_of(&variant.levels, "default");
                Some((engine, of_model(variant, model)?.clone()))
            });
            let found: Vec<(String, ModelSafety)> = found.collect();
            let losses = |safety: &ModelSafety| (safety.ordinary.loss(), safety.worst());
            let all = || found.iter().map(|(_, safety)| losses(safety));
            if all().any(|losses| Some(losses) != all().next()) {
                differences.push(EngineDifference {
                    settings: label(&settings),
                    model: model.to_owned(),
                    found,
                });
            }
        }
    }
    differences
}

/// Returns the storage models under which at least one of the variants was measured.
fn models<'v>(variants: &[&'v VariantAnalysis]) -> Vec<&'v str> {
    let safeties = variants.iter().filter_map(|variant| variant.safety.as_ref());
    let models = safeties.flat_map(|safety| &safety.models);
    distinct(models.map(|model| model.model.as_str()))
}

fn of_model<'v>(variant: &'v VariantAnalysis, model: &str) -> Option<&'v ModelSafety> {
    variant.safety.as_ref()?.models.iter().find(|found| found.model == model)
}

/// The variants of one durability class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AtDurability {
    /// The class.
    pub class: Durability,
    /// Its variants under the conditions of the baseline, the best first.
    pub variants: Vec<usize>,
    /// The median of each of them in the experiment's metric, divided by the best one's; `None` if that is
    /// no number, because the best's is 0.
    pub to_best: Vec<Option<f64>>,
    /// How many of them are not distinguishable from the best, itself included.
    pub tied: usize,
    /// How the best compares with the best of the stronger classes: whether giving up durability brings
    /// anything. None for the strongest class.
    pub against_stronger: Option<AgainstStronger>,
}

/// How the best variant of a class compares with the best of the stronger classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgainstStronger {
    /// Better than each of them.
    Better,
    /// Not distinguishable from this variant.
    Same(usize),
    /// Worse than this variant.
    Worse(usize),
}

/// Returns the alternatives to the baseline, the baseline included, by class, the strongest first; empty
/// where no target said what survives.
pub(super) fn by_durability(experiment: &ExperimentAnalysis) -> Vec<AtDurability> {
    let median = |variant: &usize| {
        experiment.variants[*variant].median(&experiment.metric).unwrap_or(f64::NAN)
    };
    let ranked = rank_by_class(experiment, &Durability::ALL, |variant| variant.durability);
    let bests: Vec<usize> = ranked.iter().map(|ranked| ranked.best).collect();
    let class = |(index, ranked): (usize, Ranked<Durability>)| {
        let variants = [vec![ranked.best], ranked.tied.clone(), ranked.worse].concat();
        let to_best = |variant: &usize| {
            let ratio = median(variant) / median(&ranked.best);
            ratio.is_finite().then_some(ratio)
        };
        AtDurability {
            class: ranked.class,
            to_best: variants.iter().map(to_best).collect(),
            tied: 1 + ranked.tied.len(),
            against_stronger: experiment.against(ranked.best, &bests[..index]),
            variants,
        }
    };
    ranked.into_iter().enumerate().map(class).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::analysis::{Summary, VariantAnalysis};
    use crate::level::Settings;
    use crate::tier::{Accident, Counts, Losses, Safety};

    #[test]
    fn a_driver_with_a_library_of_its_own_has_no_tier_of_the_engine() {
        let tiers = Tiers { engine: "default".to_owned(), plan: None, records: Vec::new() };
        let engine = EngineRecord {
            source_id: "built in".to_owned(),
            ..EngineRecord::unusable("default", String::new())
        };
        let known = Safety::not_measured("known");
        let with = |driver: &str, source_id: &str| {
            let variant = Variant {
                settings: Settings::from([(DRIVER.to_owned(), driver.into())]),
                ..Variant::default()
            };
            let used = EngineMark { version: "3.50.0".to_owned(), source_id: source_id.to_owned() };
            tiers.with_library(known.clone(), &variant, Some(&used), std::slice::from_ref(&engine))
        };
        assert_eq!(with("shop", "built in"), known);
        assert_eq!(with(NATIVE, "another"), known);
        let unknown = "the driver shop used its own SQLite 3.50.0, and tiers are measured with the engine default";
        assert_eq!(with("shop", "another"), Safety::not_measured(unknown));
    }

    fn measured(model: &str, counts: Counts) -> ModelSafety {
        ModelSafety {
            ordinary: Losses::of(counts),
            ..ModelSafety::not_measured(model, Accident::Power, true, "")
        }
    }

    fn variant(engine: &str, synchronous: &str, models: &[(&str, Counts)]) -> VariantAnalysis {
        let levels = Settings::from([
            (ENGINE.to_owned(), engine.into()),
            ("synchronous".to_owned(), synchronous.into()),
        ]);
        let models = models.iter().map(|(model, counts)| measured(model, *counts));
        VariantAnalysis {
            safety: Some(Safety::of(models.collect())),
            ..VariantAnalysis::made_up(levels)
        }
    }

    fn clean(images: u64) -> Counts {
        Counts::of(images, 0, 0, 0)
    }

    fn bad() -> Counts {
        Counts::of(9, 1, 0, 0)
    }

    #[test]
    fn an_engine_that_was_not_measured_hides_no_difference_between_the_others() {
        let variants = [
            variant("a", "full", &[]),
            variant("b", "full", &[("torn", clean(9))]),
            variant("c", "full", &[("torn", bad())]),
        ];
        let differences = engine_differences(&variants);
        let engines = differences[0].found.iter().map(|(engine, _)| engine);
        assert_eq!(engines.collect::<Vec<_>>(), ["b", "c"]);
    }

    #[test]
    fn engines_differ_where_their_losses_do_and_not_where_only_counts_do() {
        let variants = [
            variant("a", "full", &[("kill", clean(9)), ("torn", clean(9))]),
            variant("a", "off", &[("kill", bad())]),
            variant("b", "full", &[("kill", clean(8)), ("torn", bad())]),
            variant("b", "off", &[("kill", bad())]),
        ];
        let both = [("a", clean(9)), ("b", bad())];
        let both = both.map(|(engine, counts)| (engine.to_owned(), measured("torn", counts)));
        assert_eq!(
            engine_differences(&variants),
            [EngineDifference {
                settings: "synchronous=full".to_owned(),
                model: "torn".to_owned(),
                found: both.into(),
            }]
        );
        assert_eq!(engine_differences(&variants[..2]), []);
    }

    #[test]
    fn a_best_figure_of_zero_gives_the_others_no_ratio() {
        let variant = |number: i64, median: f64| {
            let summary = Summary::of(&[median; 7]);
            VariantAnalysis {
                summaries: BTreeMap::from([("busy_errors".to_owned(), summary.unwrap())]),
                durability: Some(Durability::Every),
                loose_groups: ["a", "b"][number as usize].to_owned(),
                ..VariantAnalysis::made_up(Settings::from([("columns".to_owned(), number.into())]))
            }
        };
        let experiment = ExperimentAnalysis {
            metric: "busy_errors".to_owned(),
            variants: vec![variant(0, 0.0), variant(1, 3.0)],
            ranking: vec![0, 1],
            ..ExperimentAnalysis::default()
        };
        assert_eq!(by_durability(&experiment)[0].to_best, [None, None]);
    }
}
