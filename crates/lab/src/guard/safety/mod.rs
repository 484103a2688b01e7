//! Whether the new side loses more in a crash than the base: by what its connections had in force, not only by what its
//! settings name.

use std::collections::{BTreeMap, BTreeSet};

use super::{Check, MayLose, Status};
use crate::analysis::{Collector, ExperimentAnalysis};
use crate::design::Variant;
use crate::record::{EnvironmentFile, RunPlan, TrialRecord};
use crate::target;
use crate::tier::{BESIDES, Class, TierSet};
use crate::trial::{Measured, Outcome};

/// The sides in words.
const SIDES: [&str; 2] = ["base", "new side"];

/// What is known of what a crash takes from a side.
#[derive(Clone, Debug, Default, PartialEq)]
struct Evidence {
    /// The tier of its settings, without counts.
    class: Class,
    /// Why it has none.
    why_not: Option<String>,
    /// The engine and the settings that decide, as far as the side names them.
    set: Option<TierSet>,
    /// The settings that decide as SQLite answered them, each different set of a connection once.
    in_force: BTreeSet<BTreeMap<String, String>>,
    /// The libraries that did the work.
    libraries: BTreeSet<String>,
    /// What the work itself does to settings that decide.
    sets_itself: BTreeSet<String>,
}

/// The check of both sides of a run whose experiments have them as their variants; none where anything may be lost, or
/// where no side drives SQLite. `names` are the settings that decide what a crash can destroy.
pub fn safety(
    may_lose: MayLose,
    run: &RunPlan,
    environment: EnvironmentFile,
    names: &[String],
    trials: &[TrialRecord],
) -> Option<Check> {
    let variants = run.experiments.first()?.variants.get(..2)?;
    let of_sqlite = |variant: &Variant| target::is_sqlite(&variant.settings);
    if may_lose == MayLose::Anything || !variants.iter().any(of_sqlite) {
        return None;
    }
    let mut sides = [0, 1].map(|side| Evidence::of(run, names, &variants[side], trials));
    let mut collector = Collector::new(run.clone(), environment);
    trials.iter().for_each(|trial| collector.add(trial.clone()));
    let analysis = collector.finish();
    let measured = |experiment: &&ExperimentAnalysis| {
        experiment.variants.iter().all(|variant| variant.trials.measured > 0)
    };
    if let Some(experiment) = analysis.experiments.iter().find(measured) {
        for (side, variant) in sides.iter_mut().zip(&experiment.variants) {
            side.class = variant.class();
            let safety = variant.safety.as_ref();
            side.why_not = safety.and_then(|safety| safety.tier.why_not().map(str::to_owned));
        }
    }
    Some(check(may_lose, &sides))
}

impl Evidence {
    /// What all trials of a side say, but for its tier.
    fn of(run: &RunPlan, names: &[String], variant: &Variant, trials: &[TrialRecord]) -> Evidence {
        let is_sqlite = target::is_sqlite(&variant.settings);
        let mut evidence = Evidence {
            set: is_sqlite.then(|| TierSet::of(&variant.settings, names, &run.engine)),
            ..Evidence::default()
        };
        for trial in trials.iter().filter(|trial| trial.variant == variant.label) {
            if let Outcome::Measured(measured) = &trial.outcome {
                evidence.add(measured, names);
            }
        }
        evidence
    }

    fn add(&mut self, measured: &Measured, names: &[String]) {
        let decides = |name: &String| names.contains(name) && !BESIDES.contains(&name.as_str());
        for connection in &measured.connections {
            let pragmas = connection.pragmas.iter();
            let deciding = pragmas.filter(|(name, _)| decides(name));
            let deciding = deciding.map(|(name, value)| (name.clone(), value.clone()));
            self.in_force.insert(deciding.collect());
        }
        self.libraries.insert(measured.engine.source_id.clone());
        self.sets_itself.extend(measured.sets_itself.iter().cloned());
    }

    /// Whether all that decides was looked at.
    fn is_whole(&self) -> bool {
        self.sets_itself.is_empty() && !self.in_force.is_empty()
    }

    /// Whether nothing differs that decides, so that no tier needs to be known.
    fn is_like(&self, other: &Evidence) -> bool {
        let deciding = |evidence: &Evidence| {
            (evidence.set.clone(), evidence.in_force.clone(), evidence.libraries.clone())
        };
        self.is_whole() && other.is_whole() && deciding(self) == deciding(other)
    }
}

/// The check of both sides, the base first.
fn check(may_lose: MayLose, sides: &[Evidence; 2]) -> Check {
    let [base, new] = sides;
    let (allowed, is_fine) = allowed(may_lose, base.class, new.class);
    let is_whole = sides.iter().all(Evidence::is_whole);
    let (status, words) = match is_fine {
        _ if base.is_like(new) => (
            Status::Passed,
            "the settings that decide it are the same, and so is what SQLite read back".to_owned(),
        ),
        Some(false) => {
            (Status::Failed, "the new settings lose more than those of the base".to_owned())
        }
        Some(true) if is_whole => {
            (Status::Passed, "as safe as the base, as crash images showed".to_owned())
        }
        _ => (Status::Undecided, unknown(sides)),
    };
    Check::of("safety", allowed, status, words)
}

/// What is allowed, in words, and whether these tiers are; none where that is not known.
fn allowed(may_lose: MayLose, base: Class, new: Class) -> (&'static str, Option<bool>) {
    let as_safe = new.is_at_least_as_safe_as(base);
    match may_lose {
        MayLose::Anything => ("lose anything", Some(true)),
        MayLose::Nothing => ("lose nothing that the base keeps", as_safe),
        MayLose::Recent => (
            "lose recent transactions at most",
            match new.is_measured() {
                true if new.loses_recent_at_most() => Some(true),
                true => as_safe,
                false => None,
            },
        ),
    }
}

/// Why nobody knows whether the new side is as safe.
fn unknown(sides: &[Evidence; 2]) -> String {
    let named = || sides.iter().zip(SIDES);
    let itself = named().find_map(|(it, side)| Some((it.sets_itself.first()?, side)));
    if let Some((words, side)) = itself {
        let instead = if words.contains(" sets ") {
            "; name the setting in `pragmas` instead"
        } else {
            ", which has settings of its own"
        };
        return format!("not known: in the {side}, {words}{instead}");
    }
    if let Some((_, side)) = named().find(|(it, _)| it.in_force.is_empty()) {
        return format!("not known: the {side} did not say which settings its connections had");
    }
    if let (true, Some(words)) = (sides[0].set == sides[1].set, difference(sides)) {
        return format!("not known: {words}; name the setting in `pragmas`");
    }
    match named().find_map(|(it, side)| Some((it.why_not.as_ref()?, side))) {
        Some((why, side)) => format!("the tier of the {side} is not known: {why}"),
        None => "the safety tier of these settings is not known".to_owned(),
    }
}

/// The first setting that connections of both sides had in different values.
fn difference([base, new]: &[Evidence; 2]) -> Option<String> {
    let names = base.in_force.iter().chain(&new.in_force);
    let names: BTreeSet<&String> = names.flat_map(BTreeMap::keys).collect();
    let values = |side: &Evidence, name: &String| -> String {
        let values = side.in_force.iter().filter_map(|pragmas| pragmas.get(name));
        let values: BTreeSet<&str> = values.map(String::as_str).collect();
        values.into_iter().collect::<Vec<_>>().join(" and ")
    };
    let of = |name: &String| (values(base, name), values(new, name));
    let mut pairs = names.into_iter().map(|name| (name, of(name)));
    let (name, (old, new)) = pairs.find(|(_, (old, new))| old != new)?;
    Some(format!("{name} was {old} in the base and is {new} in the new side"))
}

#[cfg(test)]
mod tests;
