//! The safety tiers of variants, and the best variant at each of them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::classes::rank_by_class;
use super::{ExperimentAnalysis, TrialCounts, VariantAnalysis};
use crate::design::Variant;
use crate::engine_name::engine_of;
use crate::level::{Level, distinct};
use crate::record::{EngineRecord, PlannedExperiment, RunPlan, TrialRecord};
use crate::target;
use crate::tier::{BESIDES, Class, Safety, TierPlan, TierSet};
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
    let is_as_safe = |one: Class, other: Class| one.is_at_least_as_safe_as(other) == Some(true);
    let of_variant = |variant: &VariantAnalysis| Some(variant.class());
    let ranked = rank_by_class(experiment, &measured, is_as_safe, of_variant);
    let best = ranked.into_iter().map(|ranked| BestAtTier {
        class: ranked.class,
        variant: ranked.best,
        tied: ranked.tied,
        pareto: ranked.is_better,
    });
    best.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::Settings;

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
}
