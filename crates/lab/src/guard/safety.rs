//! Check whether the new side loses more in a crash than the base: by the settings in force on its connections, not only by
//! those it names.

use std::collections::{BTreeMap, BTreeSet};

use super::checks::{Check, Status};
use super::config::MayLose;
use crate::analysis::{Collector, ExperimentAnalysis};
use crate::design::Variant;
use crate::record::{EnvironmentFile, RunPlan, TrialRecord};
use crate::target;
use crate::tier::{Accident, BESIDES, Class, Loss, TierSet};
use crate::trial::{Measured, Outcome};

/// The sides in words.
const SIDES: [&str; 2] = ["base", "new side"];

/// Evidence of what a crash takes from a side.
#[derive(Clone, Debug, Default, PartialEq)]
struct Evidence {
    /// The tier of its settings, without counts.
    class: Class,
    /// Why it has no tier.
    why_not: Option<String>,
    /// The engine and the settings that decide, as far as the side names them.
    set: Option<TierSet>,
    /// The settings that decide as SQLite answered them, each different set of a connection once.
    in_force: BTreeSet<BTreeMap<String, String>>,
    /// The libraries that did the work.
    libraries: BTreeSet<String>,
    /// Changes that the work itself makes to settings that decide.
    sets_itself: BTreeSet<String>,
}

/// Checks both sides of a run whose experiments have them as their variants; none if anything may be lost, or if no side
/// drives SQLite. `names` are the settings that decide what a crash can destroy.
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
    /// Collects the evidence in all trials of a side, except its tier.
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
            let deciding = connection.pragmas.iter().filter(|(name, _)| decides(name));
            let deciding = deciding.map(|(name, value)| (name.clone(), value.clone()));
            self.in_force.insert(deciding.collect());
        }
        self.libraries.insert(measured.engine.source_id.clone());
        self.sets_itself.extend(measured.sets_itself.iter().cloned());
    }

    /// Returns whether all settings that decide were read back.
    fn is_whole(&self) -> bool {
        self.sets_itself.is_empty() && !self.in_force.is_empty()
    }

    /// Returns whether all settings that decide are the same, so that no tier needs to be known.
    fn is_like(&self, other: &Evidence) -> bool {
        let deciding = |evidence: &Evidence| {
            (evidence.set.clone(), evidence.in_force.clone(), evidence.libraries.clone())
        };
        self.is_whole() && other.is_whole() && deciding(self) == deciding(other)
    }
}

/// Checks both sides, the base first.
fn check(may_lose: MayLose, sides: &[Evidence; 2]) -> Check {
    let [base, new] = sides;
    let (allowed, is_fine) = allowed(may_lose, base.class, new.class);
    let is_whole = sides.iter().all(Evidence::is_whole);
    let (status, words) = match is_fine {
        _ if base.is_like(new) => (
            Status::Passed,
            "the settings that decide it are the same, and so is what SQLite read back".to_owned(),
        ),
        Some(false) => (Status::Failed, before_and_after(sides)),
        Some(true) if is_whole => (
            Status::Passed,
            format!("{}; as safe as is allowed, as crash images showed", before_and_after(sides)),
        ),
        _ => (Status::Undecided, unknown(sides)),
    };
    Check::of("safety", allowed, status, words)
}

/// Returns the bound in words, and whether these tiers are within it; none if that is not known.
fn allowed(may_lose: MayLose, base: Class, new: Class) -> (&'static str, Option<bool>) {
    let as_safe = new.is_at_least_as_safe_as(base);
    match may_lose {
        MayLose::Anything => ("lose anything", Some(true)),
        MayLose::Nothing => ("lose nothing that the base keeps", as_safe),
        MayLose::Recent => (
            "lose recent transactions at most",
            if new.is_measured() && new.loses_recent_at_most() {
                Some(true)
            } else {
                as_safe.filter(|_| new.is_measured())
            },
        ),
    }
}

/// Returns why it is not known whether the new side is as safe.
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

/// Returns the settings that differ, and what each accident takes before and after.
fn before_and_after(sides: &[Evidence; 2]) -> String {
    let [base, new] = sides;
    let losses = Accident::ALL.into_iter().filter_map(|accident| {
        let (old, new) = (base.class.loss(accident)?, new.class.loss(accident)?);
        let words = |loss: Loss| match loss {
            Loss::Corruption => "can corrupt the database",
            loss => loss.into(),
        };
        let accident = match accident {
            Accident::Process => "when the process dies",
            Accident::Power => "in a power cut",
        };
        (old != new).then(|| format!("loss {accident}: {} → {}", words(old), words(new)))
    });
    let uncrashed = new.class.uncrashed && !base.class.uncrashed;
    let uncrashed =
        uncrashed.then(|| "the new side damages a database without any crash".to_owned());
    let words: Vec<String> =
        differences(sides).into_iter().chain(losses).chain(uncrashed).collect();
    if words.is_empty() {
        return "another SQLite library, with the same settings and the same losses".to_owned();
    }
    words.join("; ")
}

/// Returns the first setting whose values differ between the connections of both sides.
fn difference(sides: &[Evidence; 2]) -> Option<String> {
    differences(sides).into_iter().next()
}

/// Returns the settings whose values differ between the connections of both sides, or in what the sides name.
fn differences([base, new]: &[Evidence; 2]) -> Vec<String> {
    let values = |side: &Evidence| -> BTreeMap<String, BTreeSet<String>> {
        let mut values = BTreeMap::<String, BTreeSet<String>>::new();
        for (name, value) in side.in_force.iter().flatten() {
            values.entry(name.clone()).or_default().insert(in_words(name, value));
        }
        for (name, level) in side.set.iter().flat_map(|set| &set.settings) {
            let named = || BTreeSet::from([in_words(name, &level.to_string())]);
            values.entry(name.clone()).or_insert_with(named);
        }
        values
    };
    let (base, new) = (values(base), values(new));
    let names: BTreeSet<&String> = base.keys().chain(new.keys()).collect();
    let joined = |side: &BTreeMap<String, BTreeSet<String>>, name: &String| match side.get(name) {
        Some(values) => values.iter().cloned().collect::<Vec<_>>().join(" and "),
        None => "not set".to_owned(),
    };
    let pairs = names.into_iter().map(|name| (name, joined(&base, name), joined(&new, name)));
    let pairs = pairs.filter(|(_, old, new)| old != new);
    pairs
        .map(|(name, old, new)| {
            format!("{name} was {old} in the base and is {new} in the new side")
        })
        .collect()
}

/// Returns a value as people write it: SQLite answers `synchronous` as a number.
fn in_words(name: &str, value: &str) -> String {
    let names = ["OFF", "NORMAL", "FULL", "EXTRA"];
    let number = value.parse().ok().filter(|_| name == "synchronous");
    let word = number.and_then(|number: usize| names.get(number));
    word.map_or_else(|| value.to_uppercase(), |word| (*word).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::Role;
    use crate::environment::Covariates;
    use crate::guard::run::counting_experiment;
    use crate::plan::ad_hoc;
    use crate::record::{PlannedExperiment, Purpose};
    use crate::trial::ReadBack;

    fn class(power: Loss) -> Class {
        Class { process: Some(Loss::Nothing), power: Some(power), uncrashed: false }
    }

    /// A side whose only connection had this setting, as it names it.
    fn side(class: Class, synchronous: &str) -> Evidence {
        let pragma = [("synchronous".to_owned(), synchronous.to_owned())];
        Evidence {
            class,
            set: Some(TierSet {
                engine: "default".to_owned(),
                settings: [("synchronous".to_owned(), synchronous.into())].into(),
            }),
            in_force: [pragma.into()].into(),
            ..Evidence::default()
        }
    }

    fn status(may_lose: MayLose, base: Class, new: Class) -> Status {
        check(may_lose, &[side(base, "full"), side(new, "normal")]).status
    }

    #[test]
    fn a_worse_tier_is_named_with_its_settings_and_losses() {
        let sides = [side(class(Loss::Nothing), "2"), side(class(Loss::Corruption), "0")];
        let words = check(MayLose::Nothing, &sides).words;
        assert_eq!(
            words,
            "synchronous was FULL in the base and is OFF in the new side; loss in a power cut: no acknowledged transaction → can corrupt the database"
        );
    }

    #[test]
    fn what_differs_is_named_though_no_setting_and_no_loss_does() {
        let base = side(class(Loss::Nothing), "full");
        let other_library = Evidence { libraries: ["3.46.0".to_owned()].into(), ..base.clone() };
        let found = check(MayLose::Nothing, &[base.clone(), other_library]);
        assert!(found.words.starts_with("another SQLite library"), "{}", found.words);
        let damaging = Class { uncrashed: true, ..class(Loss::Nothing) };
        let damaging =
            Evidence { libraries: ["3.40.0".to_owned()].into(), ..side(damaging, "full") };
        let found = check(MayLose::Nothing, &[base, damaging]);
        assert_eq!(found.status, Status::Failed);
        assert!(found.words.contains("damages a database without any crash"), "{}", found.words);
    }

    #[test]
    fn a_worse_tier_fails_unless_it_may_be_lost() {
        let (safe, recent) = (class(Loss::Nothing), class(Loss::RecentTransactions));
        let (corrupt, unknown) = (class(Loss::Corruption), Class::default());
        assert_eq!(status(MayLose::Nothing, safe, recent), Status::Failed);
        assert_eq!(status(MayLose::Nothing, recent, safe), Status::Passed);
        assert_eq!(status(MayLose::Recent, safe, recent), Status::Passed);
        assert_eq!(status(MayLose::Recent, safe, corrupt), Status::Failed);
        assert_eq!(status(MayLose::Recent, corrupt, corrupt), Status::Passed);
        assert_eq!(status(MayLose::Nothing, safe, unknown), Status::Undecided);
    }

    #[test]
    fn the_same_settings_pass_without_a_tier_only_as_far_as_they_were_in_force() {
        let unknown = || side(Class::default(), "normal");
        let of = |base: Evidence, new: Evidence| {
            let check = check(MayLose::Nothing, &[base, new]);
            (check.status, check.words)
        };
        assert_eq!(of(unknown(), unknown()).0, Status::Passed);
        let other = Evidence { in_force: side(Class::default(), "off").in_force, ..unknown() };
        let (status, words) = of(unknown(), other);
        assert_eq!(status, Status::Undecided);
        assert!(words.contains("synchronous was NORMAL in the base and is OFF in the new side"));
        let by_itself = Evidence {
            sets_itself: ["q:2 sets synchronous".to_owned()].into(),
            ..side(class(Loss::Nothing), "full")
        };
        let (status, words) = of(side(class(Loss::Nothing), "full"), by_itself);
        assert_eq!(status, Status::Undecided);
        assert!(words.contains("in the new side, q:2 sets synchronous"), "{words}");
        let silent = Evidence { in_force: BTreeSet::new(), ..side(class(Loss::Nothing), "full") };
        let (status, words) = of(silent.clone(), silent);
        assert_eq!(status, Status::Undecided);
        assert!(words.contains("the base did not say"), "{words}");
    }

    #[test]
    fn a_tier_that_is_known_to_be_worse_fails_whatever_else_is_not_known() {
        let doubtful = Evidence {
            sets_itself: ["q attaches a database".to_owned()].into(),
            ..side(class(Loss::Corruption), "off")
        };
        let safe = || side(class(Loss::Nothing), "full");
        let sides = [safe(), doubtful.clone()];
        assert_eq!(check(MayLose::Nothing, &sides).status, Status::Failed);
        let unknown = Evidence { class: Class::default(), ..doubtful };
        let check = check(MayLose::Nothing, &[safe(), unknown]);
        assert_eq!(check.status, Status::Undecided);
        assert!(check.words.ends_with("q attaches a database, which has settings of its own"));
    }

    /// A run of both sides, neither of which names a setting, with a trial of each.
    fn run(trials: [Measured; 2]) -> (RunPlan, Vec<TrialRecord>) {
        let variant = |label: &str| Variant { label: label.to_owned(), ..Variant::default() };
        let both = PlannedExperiment {
            experiment: ad_hoc("base", "?", "sql", "txns_per_s"),
            variants: ["base", "new"].map(variant).to_vec(),
            ..PlannedExperiment::default()
        };
        let counters = counting_experiment(&both, 1);
        let record = |(position, measured): (u32, Measured)| TrialRecord {
            agent: None,
            purpose: Purpose::Rounds,
            experiment: counters.key.clone(),
            round: 0,
            block: 0,
            position,
            variant: counters.variants[position as usize].label.clone(),
            role: [Role::Baseline, Role::Variant][position as usize],
            started: String::new(),
            wall_s: 0.1,
            covariates: Covariates::default(),
            outcome: Outcome::Measured(Box::new(measured)),
        };
        let trials = (0..).zip(trials).map(record).collect();
        let plan = RunPlan {
            id: "run".to_owned(),
            trial_limit_s: 1.0,
            experiments: vec![counters.clone()],
            ..RunPlan::default()
        };
        (plan, trials)
    }

    /// What a trial in this journal mode says.
    fn in_mode(mode: &str) -> Measured {
        let pragmas = [("journal_mode", mode), ("page_size", "4096")];
        Measured {
            connections: vec![ReadBack {
                connection: "writer".to_owned(),
                pragmas: pragmas.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            }],
            ..Measured::default()
        }
    }

    #[test]
    fn what_trials_read_back_and_set_themselves_counts_where_nothing_is_named() {
        let names = ["journal_mode", "page_size"].map(str::to_owned);
        let of = |may_lose: MayLose, sides: [Measured; 2]| {
            let (plan, trials) = run(sides);
            safety(may_lose, &plan, EnvironmentFile::default(), &names, &trials)
        };
        let same = of(MayLose::Nothing, [in_mode("delete"), in_mode("delete")]);
        assert_eq!(same.unwrap().status, Status::Passed);
        let built = of(MayLose::Nothing, [in_mode("delete"), in_mode("wal")]).unwrap();
        assert_eq!(built.status, Status::Undecided);
        assert!(built.words.contains("journal_mode was DELETE"), "{}", built.words);
        let with_pragma =
            Measured { sets_itself: vec!["q sets journal_mode".to_owned()], ..in_mode("delete") };
        let set = of(MayLose::Nothing, [in_mode("delete"), with_pragma]).unwrap();
        assert_eq!(set.status, Status::Undecided);
        let anything = of(MayLose::Anything, [in_mode("delete"), in_mode("wal")]);
        assert_eq!(anything, None);
    }
}
