//! From the settings that may be varied to what a run searches.

use lab::catalogue::Catalogue;
use lab::engine_name::ENGINE;
use lab::level::{Settings, distinct, overlaid, picked};
use lab::plan::settings_that_decide;
use lab::record::RunPlan;
use lab::tier::{Accident, BESIDES, Class, MayLose, TierPlan, TierSet};
use lab::tuning_plan::{Configuration, Exclusion, Factor, Gate, Space, TunableSetting, TuningPlan};

/// Combinations that a message names for each reason.
const NAMED: usize = 8;

/// Plans a search over these settings, before anything is excluded. `current` names the settings that are not at
/// their default now; `good` are settings known to be good elsewhere, as far as they differ from the defaults.
pub fn tuning_of(
    mut settings: Vec<TunableSetting>,
    current: &Settings,
    good: &[Settings],
    may_lose: MayLose,
) -> TuningPlan {
    for setting in &mut settings {
        let missing = current.get(&setting.name).filter(|level| !setting.levels.contains(level));
        setting.levels.extend(missing.cloned());
    }
    let space = Space {
        factors: settings.iter().map(|setting| factor(setting, &settings, current)).collect(),
        excluded: Vec::new(),
    };
    let of = |given: &Settings| {
        let known = picked(given, |name| settings.iter().any(|setting| setting.name == *name));
        space.configuration(&known)
    };
    let defaults = space.canonical(vec![0; settings.len()]);
    let current_settings = current;
    let current = of(current_settings).unwrap_or_else(|| defaults.clone());
    let with = |good: &Settings| of(&overlaid(current_settings, good));
    let known: Vec<Configuration> = good.iter().filter_map(with).collect();
    TuningPlan {
        good: [current.clone(), defaults.clone()].into_iter().chain(known).collect(),
        space,
        current,
        defaults,
        may_lose,
        earlier: None,
        earlier_trials: Vec::new(),
        constraints: Vec::new(),
        idle: Vec::new(),
        advice: Vec::new(),
    }
}

fn factor(setting: &TunableSetting, settings: &[TunableSetting], current: &Settings) -> Factor {
    let own = current.get(&setting.name);
    let gate = setting.only_with.as_ref().and_then(|(name, levels)| {
        let factor = settings.iter().position(|setting| setting.name == *name)?;
        let all = settings[factor].levels.iter().enumerate();
        let open = all.filter(|(_, level)| levels.contains(level));
        Some(Gate { factor, levels: open.map(|(index, _)| index).collect() })
    });
    Factor {
        name: setting.name.clone(),
        levels: setting.levels.clone(),
        gate,
        unset: !setting.always_named && own.is_none_or(|own| setting.levels.first() == Some(own)),
    }
}

/// Has the first experiment of a plan be tuned. The safety tiers of all that could be tried become part of the plan.
pub fn attach(plan: &mut RunPlan, tuning: TuningPlan, catalogue: &Catalogue) {
    let names = settings_that_decide(catalogue);
    let engine = plan.engine.clone();
    let Some(planned) = plan.experiments.first_mut() else { return };
    let factors = tuning.space.factors.iter().map(|factor| &factor.name);
    planned.crash_relevant = factors.filter(|name| names.contains(name)).cloned().collect();
    planned.counting = false;
    let base = planned.baseline_settings();
    planned.variants = [&tuning.current, &tuning.defaults]
        .map(|configuration| tuning.variant(&base, configuration))
        .into();
    planned.variants.dedup_by(|a, b| a.label == b.label);
    let base = planned.baseline_settings();
    let combinations = deciding(&tuning.space, &names);
    let sets = combinations.iter().flat_map(|levels| {
        let mut settings = overlaid(&base, &settings_of(&tuning.space, levels));
        let named = TierSet::of(&settings, &names, &engine);
        // A variant that leaves the page size as it is does not name it.
        settings.retain(|name, _| !BESIDES.contains(&name.as_str()));
        [named, TierSet::of(&settings, &names, &engine)]
    });
    plan.tiers = Some(TierPlan { sets: distinct(sets), names, known: Vec::new() });
    planned.tuning = Some(Box::new(tuning));
}

/// Returns every combination of the levels that decide what a crash can destroy, as factors and levels: engines are among them.
fn deciding(space: &Space, names: &[String]) -> Vec<Vec<(usize, usize)>> {
    let factors = space.factors.iter().enumerate();
    let deciding =
        factors.filter(|(_, factor)| factor.name == ENGINE || names.contains(&factor.name));
    deciding.fold(vec![Vec::new()], |combinations, (index, factor)| {
        let levels = || 0..factor.levels.len();
        let with = |combination: &Vec<(usize, usize)>| {
            let combination = combination.clone();
            levels().map(move |level| [combination.clone(), vec![(index, level)]].concat())
        };
        combinations.iter().flat_map(with).collect()
    })
}

fn settings_of(space: &Space, levels: &[(usize, usize)]) -> Settings {
    let level = |(factor, level): &(usize, usize)| {
        let factor = &space.factors[*factor];
        (factor.name.clone(), factor.levels[*level].clone())
    };
    levels.iter().map(level).collect()
}

/// Excludes what may lose more than is accepted, by the tiers that are known, and what no tier is known of. The plan
/// measures no further tiers.
///
/// # Errors
/// Nothing that is known to be good elsewhere may be tried; the reasons for each combination.
pub fn exclude_unsafe(plan: &mut RunPlan) -> Result<(), String> {
    let engine = plan.engine.clone();
    let (Some(tiers), Some(planned)) = (&mut plan.tiers, plan.experiments.first_mut()) else {
        return Ok(());
    };
    let base = planned.baseline_settings();
    let Some(tuning) = planned.tuning.as_mut() else { return Ok(()) };
    let mut excluded = Vec::new();
    for levels in deciding(&tuning.space, &tiers.names) {
        let settings = overlaid(&base, &settings_of(&tuning.space, &levels));
        let set = TierSet::of(&settings, &tiers.names, &engine);
        let why = match tiers.known(&set).map(|known| known.safety()) {
            None => Some("no safety tier of it is known".to_owned()),
            Some(safety) if tuning.may_lose.accepts(&safety) => None,
            Some(safety) => Some(losses(safety.tier.class())),
        };
        excluded.extend(why.map(|why| Exclusion { levels, why }));
    }
    tuning.space.excluded.extend(excluded);
    let known: Vec<TierSet> = tiers.known.iter().map(|known| known.set.clone()).collect();
    tiers.sets.retain(|set| known.contains(set));
    if tuning.good.iter().any(|configuration| tuning.space.admits(configuration)) {
        Ok(())
    } else {
        Err(reasons(&tuning.space))
    }
}

/// Returns the losses in accidents, in words.
fn losses(class: Class) -> String {
    if class.uncrashed {
        return "corrupts without a crash".to_owned();
    }
    let taken = Accident::ALL.into_iter().filter_map(|accident| {
        let loss = class.loss(accident)?;
        Some(format!("{accident}: {loss}"))
    });
    taken.collect::<Vec<_>>().join("; ")
}

fn reasons(space: &Space) -> String {
    let lines = space.exclusions().into_iter().map(|(why, levels)| {
        let named = levels.iter().take(NAMED).map(lab::level::label).collect::<Vec<_>>().join(", ");
        match levels.len().checked_sub(NAMED + 1) {
            None => format!("{why}: {named}"),
            Some(more) => format!("{why}: {named} and {} more", more + 1),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::level::Level;
    use lab::seed::Seed;

    /// Levers as those of SQLite: one means something with another only, and defaults are not named.
    fn tuning() -> TuningPlan {
        let setting = |name: &str, levels: &[&str], always_named: bool| TunableSetting {
            name: name.to_owned(),
            levels: levels.iter().map(|level| Level::from(*level)).collect(),
            always_named,
            only_with: None,
        };
        let settings = vec![
            setting("journal_mode", &["delete", "wal"], true),
            setting("synchronous", &["full", "normal", "off"], true),
            setting("cache", &["small", "large"], false),
            TunableSetting {
                only_with: Some(("journal_mode".to_owned(), vec!["wal".into()])),
                ..setting("checkpoint", &["often", "seldom"], false)
            },
        ];
        let good: Settings = [("journal_mode".to_owned(), "wal".into())].into();
        let mut tuning = tuning_of(settings, &Settings::new(), &[good], MayLose::Recent);
        tuning.space.excluded = vec![
            Exclusion { levels: vec![(1, 2)], why: "can corrupt".to_owned() },
            Exclusion { levels: vec![(0, 0), (1, 1)], why: "can corrupt".to_owned() },
        ];
        tuning
    }

    #[test]
    fn a_level_may_contain_spaces() {
        let setting = |name: &str, levels: &[&str]| TunableSetting {
            name: name.to_owned(),
            levels: levels.iter().map(|level| Level::from(*level)).collect(),
            always_named: true,
            only_with: None,
        };
        let engines = ["default", "/my libs/a.so", "/my libs/a.so b"];
        let settings = vec![setting("engine", &engines), setting("threads", &["1", "2"])];
        let tuning = tuning_of(settings, &Settings::new(), &[], MayLose::Recent);
        for engine in 0..engines.len() {
            for threads in 0..2 {
                let configuration = vec![engine, threads];
                let label = tuning.space.label(&configuration);
                assert_eq!(tuning.configuration(&label), Some(configuration), "{label}");
            }
        }
        assert_eq!(tuning.configuration("engine=/my libs/b.so threads=1"), None);
    }

    #[test]
    fn the_record_names_every_configuration_so_that_it_can_be_read_again() {
        let tuning = tuning();
        let mut generator = Seed(1).generator();
        for _ in 0..100 {
            let drawn = tuning.space.random(&mut generator, &tuning.current);
            let label = tuning.space.label(&drawn);
            assert_eq!(tuning.configuration(&label), Some(drawn), "{label}");
        }
        assert_eq!(tuning.space.label(&tuning.defaults), "journal_mode=delete synchronous=full");
        for unknown in
            ["journal_mode=wal", "journal_mode=delete synchronous=full checkpoint=seldom", "x"]
        {
            assert_eq!(tuning.configuration(unknown), None, "{unknown}");
        }
    }
}
