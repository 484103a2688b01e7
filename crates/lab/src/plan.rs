//! From the user's request to the plan of a run, and to the plans of its parts: pilots, safety tiers and confirmation rounds.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::catalogue::Catalogue;
use crate::design::{Stopping, Variant, rounds_again, upper_bounds, variants};
use crate::engine_name::ENGINE;
use crate::experiment::{self, Design, DesignKind, Experiment, Problems, Scale};
use crate::level::{Level, distinct};
use crate::record::{FORMAT, PlannedExperiment, RunPlan};
use crate::seed::Seed;
use crate::target;
use crate::tier::{self, SEED, TierPlan, TierSet, WORKLOAD};

/// The user's request.
#[derive(Clone, Debug)]
pub struct Request {
    /// Name of the run.
    pub id: String,
    /// Now: RFC 3339, UTC.
    pub created: String,
    /// Version of pragmark.
    pub pragmark: String,
    /// From which every random choice derives.
    pub seed: Seed,
    /// How large the data is to be.
    pub scale: Scale,
    /// The engine of variants that name none.
    pub engine: String,
    /// Whether a quick, preliminary answer is enough.
    pub quick: bool,
    /// Longest time for one trial, in seconds.
    pub trial_limit_s: f64,
    /// Time for the whole run in seconds; none for no limit.
    pub budget_s: Option<f64>,
    /// Whether the run has safety tiers.
    pub tiers: bool,
    /// Whether a PostgreSQL server is given.
    pub postgres_given: bool,
    /// The experiments, checked.
    pub experiments: Vec<Experiment>,
    /// The directories to be measured; every experiment is done on each.
    pub directories: Vec<PathBuf>,
}

/// Plans a run.
pub fn plan(request: Request, catalogue: &Catalogue) -> RunPlan {
    let Request { scale, quick, .. } = request;
    let several = request.directories.len() > 1;
    let mut experiments: Vec<PlannedExperiment> = Vec::new();
    for experiment in &request.experiments {
        for (number, directory) in request.directories.iter().enumerate() {
            let id = &experiment.id;
            let stopping = stopping(experiment, quick);
            experiments.push(PlannedExperiment {
                key: if several { format!("{id}@{}", number + 1) } else { id.clone() },
                experiment: experiment.clone(),
                directory: directory.clone(),
                variants: variants(experiment, scale, catalogue),
                upper_bounds: upper_bounds(experiment, scale, catalogue),
                // A quick look is at speed, not at its causes.
                counting: !quick
                    && catalogue
                        .workload(&experiment.workload)
                        .is_some_and(|workload| workload.counts),
                crash_relevant: crash_relevant(experiment, catalogue),
                metrics: catalogue
                    .workload(&experiment.workload)
                    .map_or_else(Vec::new, |workload| workload.metrics.clone()),
                stopping,
                alone: false,
                tuning: None,
            });
        }
    }
    let tiers = if request.tiers { tiers(&experiments, &request.engine, catalogue) } else { None };
    RunPlan {
        format: FORMAT,
        id: request.id,
        created: request.created,
        pragmark: request.pragmark,
        began_in: None,
        seed: request.seed,
        scale,
        engine: request.engine,
        quick,
        trial_limit_s: request.trial_limit_s,
        budget_s: request.budget_s,
        tiers,
        postgres_given: request.postgres_given,
        experiments,
    }
}

fn stopping(experiment: &Experiment, quick: bool) -> Stopping {
    let judged_together = experiment.claims.iter().filter(|claim| !claim.exact).count();
    let stopping = experiment.design.stopping;
    if quick { stopping.quick() } else { stopping.for_claims(judged_together) }
}

fn crash_relevant(experiment: &Experiment, catalogue: &Catalogue) -> Vec<String> {
    let Some(workload) = catalogue.workload(&experiment.workload) else { return Vec::new() };
    let decides = |name: &&String| {
        catalogue.setting(workload, name).is_some_and(|parameter| parameter.crash_relevant)
    };
    // The variants of a list may differ in more than the factors.
    let variants = &experiment.design.variants;
    let differing: BTreeSet<&String> = experiment
        .factors
        .keys()
        .chain(variants.iter().flat_map(|variant| variant.keys()))
        .collect();
    differing.into_iter().filter(decides).cloned().collect()
}

/// Returns the settings that crashes are tried with: those that decide what a crash can destroy, and
/// [`tier::BESIDES`].
pub fn settings_that_decide(catalogue: &Catalogue) -> Vec<String> {
    let deciding = catalogue.shared.iter().filter(|parameter| parameter.crash_relevant);
    deciding
        .map(|parameter| parameter.name.clone())
        .chain(tier::BESIDES.map(str::to_owned))
        .collect()
}

/// Returns each different set of settings that decide what a crash can destroy.
///
/// An experiment whose variants name no such setting says nothing of safety and has no part in it;
/// one that tries crashes itself needs none.
pub fn tiers(
    experiments: &[PlannedExperiment],
    engine: &str,
    catalogue: &Catalogue,
) -> Option<TierPlan> {
    let names = settings_that_decide(catalogue);
    let mut sets: Vec<TierSet> = Vec::new();
    for planned in experiments {
        let tries_crashes = planned.experiment.measures().is_safety();
        let of_variants = tier_sets(&planned.variants, &names, engine);
        if !tries_crashes && of_variants.iter().any(TierSet::decides) {
            sets.extend(of_variants);
        }
    }
    let sets = distinct(sets);
    (!sets.is_empty()).then_some(TierPlan { names, sets, known: Vec::new() })
}

/// Returns the sets of the variants that drive SQLite, each once. `names` are the settings that decide, `engine` is
/// the engine of variants that name none.
pub fn tier_sets(variants: &[Variant], names: &[String], engine: &str) -> Vec<TierSet> {
    let of_sqlite = variants.iter().filter(|variant| target::is_sqlite(&variant.settings));
    distinct(of_sqlite.map(|variant| TierSet::of(&variant.settings, names, engine)))
}

/// Returns an experiment that measures listed variants for themselves: it has no factors and compares nothing.
pub fn ad_hoc(id: &str, question: &str, workload: &str, metric: &str) -> Experiment {
    Experiment {
        id: id.to_owned(),
        question: question.to_owned(),
        workload: workload.to_owned(),
        metric: metric.to_owned(),
        design: Design {
            kind: DesignKind::List,
            stopping: Stopping { rounds: 1, max_rounds: 1, ..Stopping::default() },
            ..Design::default()
        },
        ..Experiment::default()
    }
}

/// Returns the plan of such an experiment in one directory.
pub(super) fn planned_alone(
    experiment: Experiment,
    directory: PathBuf,
    variants: Vec<Variant>,
) -> PlannedExperiment {
    PlannedExperiment {
        key: experiment.id.clone(),
        directory,
        variants,
        stopping: experiment.design.stopping,
        alone: true,
        experiment,
        ..PlannedExperiment::default()
    }
}

/// Returns the run of an experiment that measures variants for themselves, in the first of the directories;
/// `rounds` times each.
pub fn plan_alone(
    request: Request,
    mut experiment: Experiment,
    variants: Vec<Variant>,
    rounds: u32,
) -> RunPlan {
    let directory = request.directories.first().cloned();
    experiment.design.stopping.rounds = rounds;
    experiment.design.stopping.max_rounds = rounds;
    let directory = directory.unwrap_or_else(|| ".".into());
    let planned = planned_alone(experiment, directory, variants);
    RunPlan { experiments: vec![planned], ..plan(request, &Catalogue::default()) }
}

/// Returns the run in which chosen variants are measured again: of each experiment those with the indices in
/// `chosen`, against the baseline. `budget_s` is the time that is left for it in seconds, where a limit
/// was set.
pub fn confirmation_plan(
    plan: &RunPlan,
    chosen: &[BTreeSet<usize>],
    budget_s: Option<f64>,
) -> RunPlan {
    let experiments = plan.experiments.iter().zip(chosen);
    RunPlan {
        seed: plan.seed.child("confirmation rounds"),
        budget_s,
        tiers: None,
        experiments: experiments
            .filter(|(_, chosen)| !chosen.is_empty())
            .map(|(planned, chosen)| again(planned, chosen))
            .collect(),
        ..plan.clone()
    }
}

fn again(planned: &PlannedExperiment, chosen: &BTreeSet<usize>) -> PlannedExperiment {
    let indices = [0].iter().chain(chosen);
    PlannedExperiment {
        // Claims were judged by the rounds of all variants.
        experiment: Experiment { claims: Vec::new(), ..planned.experiment.clone() },
        variants: indices.map(|variant| planned.variants[*variant].clone()).collect(),
        upper_bounds: Vec::new(),
        counting: false,
        stopping: rounds_again(planned.stopping),
        ..planned.clone()
    }
}

/// A database of one row in WAL mode; the other variant is there because a comparison has two.
const PILOT: &str = r#"
id       = "shared-memory"
question = "Can this directory hold a database in WAL mode?"
workload = "quotes"
base     = { rows = 1 }

[factors]
journal_mode = ["wal", "delete"]

[design]
kind      = "one-at-a-time"
baseline = { journal_mode = "wal" }
"#;

/// Pilots of a database in WAL mode, and of one with a rollback journal after it, in each directory of the
/// run on which some variant needs shared memory.
///
/// # Errors
/// The catalogue lacks the workload of the pilots.
pub fn shared_memory_pilots(
    request: &Request,
    run: &RunPlan,
    catalogue: &Catalogue,
) -> Result<RunPlan, Problems> {
    let planned = run.experiments.iter();
    let directories: BTreeSet<PathBuf> = planned
        .filter(|planned| planned.variants.iter().any(needs_shared_memory))
        .map(|planned| planned.directory.clone())
        .collect();
    let pilots = Request {
        experiments: vec![experiment::parse("shared-memory", PILOT, catalogue)?],
        directories: directories.into_iter().collect(),
        ..request.clone()
    };
    Ok(plan(pilots, catalogue))
}

fn needs_shared_memory(variant: &Variant) -> bool {
    let held = |name: &str| variant.settings.get(name).and_then(Level::as_text);
    held("journal_mode") == Some("wal") && held("locking_mode") != Some("exclusive")
}

/// Returns the run in which the unknown safety tiers of `plan` are measured: one crash trial for each set of
/// settings, in the first of the directories, with the seed of every such trial. `None` if no tier is to be
/// measured.
pub fn tier_plan(plan: &RunPlan) -> Option<RunPlan> {
    let tiers = plan.tiers.as_ref()?;
    let first = plan.experiments.first()?;
    let variants: Vec<Variant> = tiers.unknown().map(tier_variant).collect();
    if variants.is_empty() {
        return None;
    }
    let question = "Safety tiers: what can crashes destroy with each set of settings?";
    let experiment = ad_hoc("tiers", question, WORKLOAD, "images_per_s");
    let planned = planned_alone(experiment, first.directory.clone(), variants);
    Some(RunPlan {
        seed: SEED,
        budget_s: None,
        tiers: None,
        experiments: vec![planned],
        ..plan.clone()
    })
}

/// Returns the crash trial that measures the tier of a set.
pub fn tier_variant(set: &TierSet) -> Variant {
    let mut settings = set.trial_settings();
    settings.insert(ENGINE.to_owned(), set.engine.as_str().into());
    Variant { label: set.to_string(), levels: set.settings.clone(), settings, ..Variant::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Accepts, Contents, Parameter, Scope};
    use crate::level::Settings;
    use crate::tier::{Findings, KnownTier, Origin};

    fn catalogue() -> Catalogue {
        let pragma = |name: &str, crash_relevant| Parameter {
            name: name.to_owned(),
            accepts: Accepts::Text(Contents::Plain),
            default: None,
            unit: None,
            about: String::new(),
            scope: Scope::Pragma,
            crash_relevant,
        };
        Catalogue {
            workloads: Vec::new(),
            shared: vec![pragma("synchronous", true), pragma("cache_size", false)],
            drivers: Vec::new(),
            why_impossible: None,
        }
    }

    fn experiment(workload: &str, factor: &str) -> Experiment {
        toml::from_str(&format!(
            r#"
            id = "{workload}-{factor}"
            question = "?"
            workload = "{workload}"
            factors = {{ {factor} = ["off", "full"] }}
            design = {{ kind = "one-at-a-time", baseline = {{ {factor} = "full" }} }}
            "#
        ))
        .unwrap()
    }

    fn planned(experiments: &[(&str, &str)], tiers: bool) -> RunPlan {
        let request = Request {
            id: String::new(),
            created: String::new(),
            pragmark: String::new(),
            seed: Seed(1),
            scale: Scale::Quick,
            engine: "default".to_owned(),
            quick: false,
            trial_limit_s: 1.0,
            budget_s: None,
            tiers,
            postgres_given: false,
            experiments: experiments
                .iter()
                .map(|(workload, factor)| experiment(workload, factor))
                .collect(),
            directories: vec!["/a".into(), "/b".into()],
        };
        plan(request, &catalogue())
    }

    #[test]
    fn each_set_of_settings_is_planned_once() {
        let twice = [("w", "synchronous"), ("v", "synchronous")];
        let tiers = planned(&twice, true).tiers.unwrap();
        let sets: Vec<String> = tiers.sets.iter().map(TierSet::to_string).collect();
        assert_eq!(sets, ["synchronous=full", "synchronous=off"]);
        assert_eq!(tiers.expected_s(), 2.0 * tier::EXPECTED_S);
    }

    #[test]
    fn variants_that_drive_something_else_than_sqlite_have_no_tier() {
        let mut experiment = experiment("w", "synchronous");
        experiment.design.kind = crate::experiment::DesignKind::List;
        experiment.design.variants = vec![Settings::from([
            (target::SETTING.to_owned(), "files".into()),
            ("synchronous".to_owned(), "off".into()),
        ])];
        let mut plan = planned(&[("w", "synchronous")], false);
        plan.experiments[0].variants = variants(&experiment, Scale::Quick, &catalogue());
        assert_eq!(plan.experiments[0].variants.len(), 2);
        let tiers = tiers(&plan.experiments[..1], "default", &catalogue()).unwrap();
        let sets: Vec<String> = tiers.sets.iter().map(TierSet::to_string).collect();
        assert_eq!(sets, ["synchronous=full"]);
    }

    #[test]
    fn a_run_drives_a_server_where_one_of_its_variants_does() {
        let mut plan = planned(&[("w", "synchronous")], false);
        assert!(!plan.drives_postgres());
        let settings = &mut plan.experiments[1].variants[0].settings;
        settings.insert(target::SETTING.to_owned(), target::POSTGRES.into());
        assert!(plan.drives_postgres());
    }

    #[test]
    fn experiments_that_name_no_such_setting_or_try_crashes_need_no_tiers() {
        assert_eq!(planned(&[("w", "cache_size")], true).tiers, None);
        let own = [(tier::WORKLOAD, "synchronous")];
        assert_eq!(planned(&own, true).tiers, None);
        assert_eq!(planned(&[("w", "synchronous")], false).tiers, None);
    }

    #[test]
    fn known_tiers_take_no_time_and_unknown_ones_no_more_than_their_part_of_a_limit() {
        let mut plan = planned(&[("w", "synchronous")], true);
        assert_eq!(plan.rounds_budget_s(), None);
        plan.budget_s = Some(16.0);
        assert_eq!(plan.rounds_budget_s(), Some(12.0));
        plan.budget_s = Some(400.0);
        let both = 2.0 * tier::EXPECTED_S;
        assert_eq!(plan.rounds_budget_s(), Some(400.0 - both));
        let tiers = plan.tiers.as_mut().unwrap();
        let known = tiers.sets.iter().map(|set| KnownTier {
            set: set.clone(),
            in_force: Default::default(),
            origin: Origin::Program,
            findings: Findings { safety: Vec::new(), schedules: None },
        });
        tiers.known = known.collect();
        assert_eq!(plan.rounds_budget_s(), Some(400.0));
        assert_eq!(tier_plan(&plan), None);
    }

    #[test]
    fn experiments_on_crashes_have_the_same_images_in_every_run() {
        let own = [(tier::WORKLOAD, "synchronous"), ("w", "synchronous")];
        let seeds = |run: u64| -> Vec<Seed> {
            let mut plan = planned(&own, true);
            plan.seed = Seed(run);
            let of = |index: usize, round| plan.data_seed(&plan.experiments[index], round);
            vec![of(0, 0), of(0, 1), of(2, 0)]
        };
        let (one, two) = (seeds(1), seeds(2));
        assert_eq!(one[0], tier::SEED);
        assert_eq!(one[..2], two[..2]);
        assert_ne!(one[0], one[1]);
        assert_ne!(one[2], two[2]);
    }

    #[test]
    fn the_trials_of_tiers_depend_on_no_seed_and_no_time() {
        let mut plan = planned(&[("w", "synchronous")], true);
        let first = tier_plan(&plan).unwrap();
        plan.seed = Seed(2);
        plan.budget_s = Some(60.0);
        plan.quick = true;
        let second = tier_plan(&plan).unwrap();
        assert_eq!(first.experiments, second.experiments);
        let data_seed = |plan: &RunPlan| plan.data_seed(&plan.experiments[0], 0);
        assert_eq!(data_seed(&first), tier::SEED);
        assert_eq!(data_seed(&second), tier::SEED);
    }

    fn many_variants() -> RunPlan {
        let experiment: Experiment = serde_json::from_str(
            r#"{ "id": "x", "question": "?", "workload": "w", "factors": { "page_size": [512, 1024] },
            "design": { "kind": "one-at-a-time", "baseline": { "page_size": 512 } } }"#,
        )
        .unwrap();
        let variant = |label: &str| Variant { label: label.to_owned(), ..Variant::default() };
        let planned = |key: &str, stopping: Stopping| PlannedExperiment {
            key: key.to_owned(),
            experiment: experiment.clone(),
            directory: "/data".into(),
            variants: ["baseline", "a", "b", "c"].map(variant).to_vec(),
            counting: true,
            stopping,
            ..PlannedExperiment::default()
        };
        RunPlan {
            id: "run".to_owned(),
            seed: Seed(1),
            engine: "default".to_owned(),
            trial_limit_s: 60.0,
            budget_s: Some(100.0),
            experiments: vec![
                planned("few", Stopping::default()),
                planned("usual", Stopping::default()),
                planned("quick", Stopping::default().quick()),
            ],
            ..RunPlan::default()
        }
    }

    #[test]
    fn chosen_variants_get_rounds_of_their_own_on_data_of_their_own() {
        let plan = many_variants();
        let chosen = [BTreeSet::new(), BTreeSet::from([1, 3]), BTreeSet::from([2])];
        let confirmation = confirmation_plan(&plan, &chosen, Some(30.0));
        let labels = |index: usize| -> Vec<&str> {
            let variants = &confirmation.experiments[index].variants;
            variants.iter().map(|variant| variant.label.as_str()).collect()
        };
        assert_eq!(confirmation.experiments.len(), 2);
        assert_eq!(confirmation.experiments[0].key, "usual");
        assert_eq!(labels(0), ["baseline", "a", "c"]);
        assert_eq!(labels(1), ["baseline", "b"]);
        assert_eq!(confirmation.experiments[0].stopping.max_rounds, 7);
        assert_eq!(confirmation.experiments[1].stopping.max_rounds, 5);
        assert!(!confirmation.experiments[0].counting);
        assert_ne!(confirmation.seed, plan.seed);
        assert_eq!(confirmation.budget_s, Some(30.0));
    }

    #[test]
    fn only_a_shared_log_needs_shared_memory() {
        let needs = |over: &[(&str, &str)]| {
            let settings = over.iter();
            needs_shared_memory(&Variant {
                label: String::new(),
                name: None,
                answer: None,
                levels: Settings::new(),
                settings: settings
                    .map(|(name, level)| ((*name).to_owned(), Level::from(*level)))
                    .collect(),
            })
        };
        assert!(needs(&[("journal_mode", "wal")]));
        assert!(needs(&[("journal_mode", "wal"), ("locking_mode", "normal")]));
        assert!(!needs(&[("journal_mode", "wal"), ("locking_mode", "exclusive")]));
        assert!(!needs(&[("journal_mode", "delete")]));
        assert!(!needs(&[]));
    }
}
