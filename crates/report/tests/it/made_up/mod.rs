//! A run that never took place, always the same: every kind of outcome, verdict and design that a
//! view must show. The trials follow the real designs and pass through the real collector, so the
//! views see what a run would give them; only the figures are invented.

mod experiments;
mod machine;
mod outcomes;
mod tiers;

use std::sync::OnceLock;

use lab::analysis::observation;
use lab::catalogue::Catalogue;
use lab::design::{History, Next, Role, Variant, next, upper_bounds, variants};
use lab::environment::Covariates;
use lab::experiment::{Experiment, Scale};
use lab::level::Settings;
use lab::record::{EnvironmentFile, FORMAT, PlannedExperiment, RunPlan, TrialRecord};
use lab::seed::Seed;
use lab::tier::MayLose;
use lab::trial::{EngineMark, Measured, Outcome, ReadBack};
use tuning::{Analysis, Collector, TuningAnalysis};

#[allow(unused_imports)] // The example shows the page and looks for nothing.
pub use experiments::HOSTILE;

const SEED: Seed = Seed(20_260_301);

/// The plan, the machine and the trials in the order in which they would have run.
pub fn run() -> (RunPlan, EnvironmentFile, Vec<TrialRecord>) {
    let plan = plan();
    let trials = plan.experiments.iter().flat_map(|planned| trials_of(&plan, planned)).collect();
    (plan, machine::environment(), trials)
}

/// The analysis of the run, made once.
#[allow(dead_code)] // Used by all tests but one.
pub fn analysis() -> &'static Analysis {
    static ANALYSIS: OnceLock<Analysis> = OnceLock::new();
    ANALYSIS.get_or_init(|| {
        let (plan, environment, trials) = run();
        let mut collector = Collector::new(plan, environment);
        trials.into_iter().for_each(|trial| collector.add(trial));
        let records = plan_of_tiers().map(|plan| tiers::records(&plan));
        let records = records.into_iter().flatten();
        records.for_each(|record| collector.add(record));
        collector.finish()
    })
}

/// The same run with this text after every name, question, remark and reason of its files.
#[allow(dead_code)] // Used by one of the tests only.
pub fn with_text_everywhere(text: &str) -> Analysis {
    const KEYS: [&str; 18] = [
        "question", "source", "note", "says", "answer", "because", "name", "label", "variant",
        "why", "problem", "model", "operating_system", "kernel", "device", "file_system",
        "governor", "version",
    ];
    fn add(value: &mut serde_json::Value, text: &str) {
        match value {
            serde_json::Value::Array(all) => all.iter_mut().for_each(|it| add(it, text)),
            serde_json::Value::Object(all) => all.iter_mut().for_each(|(key, value)| match value {
                serde_json::Value::String(old) if KEYS.contains(&&key[..]) => old.push_str(text),
                other => add(other, text),
            }),
            _ => {}
        }
    }
    fn changed<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T, text: &str) -> T {
        let mut value = serde_json::to_value(value).unwrap();
        add(&mut value, text);
        serde_json::from_value(value).unwrap()
    }
    let (plan, environment, trials) = run();
    let records = plan_of_tiers().map(|plan| tiers::records(&plan));
    let mut collector = Collector::new(changed(&plan, text), changed(&environment, text));
    let trials = trials.into_iter().chain(records.into_iter().flatten());
    trials.for_each(|trial| collector.add(changed(&trial, text)));
    collector.finish()
}

/// The analysis of the same run as if a search had come to its experiment on durability.
#[allow(dead_code)] // Used by one of the tests only.
pub fn tuned(may_lose: MayLose) -> Analysis {
    let mut tuned = analysis().clone();
    let wal = Settings::from([("journal_mode".to_owned(), "wal".into())]);
    tuned.tuning = Some(TuningAnalysis {
        experiment: "journal-and-sync".to_owned(),
        may_lose,
        recommended: wal.clone(),
        chosen: wal,
        extent: tuning::Extent::Screened,
        configurations: 96.0,
        ..TuningAnalysis::default()
    });
    tuned
}

/// The analysis of a run of which nothing was measured yet.
#[allow(dead_code)] // Used by one of the tests only.
pub fn nothing_yet() -> Analysis {
    let (plan, environment, _) = run();
    Collector::new(plan, environment).finish()
}

/// The analysis of a run that did its first experiment on a second directory too.
#[allow(dead_code)] // Used by one of the tests only.
pub fn on_two_directories() -> Analysis {
    let mut plan = plan();
    plan.tiers = None;
    plan.experiments.truncate(1);
    let mut second = plan.experiments[0].clone();
    second.key.push_str("-2");
    second.directory = "/mnt/second|disk".into();
    plan.experiments.push(second);
    let trials: Vec<TrialRecord> =
        plan.experiments.iter().flat_map(|planned| trials_of(&plan, planned)).collect();
    let mut collector = Collector::new(plan, machine::environment());
    trials.into_iter().for_each(|trial| collector.add(trial));
    collector.finish()
}

fn plan_of_tiers() -> Option<lab::tier::TierPlan> {
    plan().tiers
}

fn plan() -> RunPlan {
    let planned = |text: &str| {
        let mut experiment: Experiment =
            toml::from_str(text).expect("the made-up experiment is valid");
        if experiment.metric.is_empty() {
            experiment.metric = "rows_per_s".to_owned();
        }
        let memory = experiment.id == "checkpoint-size";
        PlannedExperiment {
            key: experiment.id.clone(),
            directory: if memory { "/dev/shm/pragmark" } else { "/srv/pragmark" }.into(),
            variants: variants(&experiment, Scale::Default, &Catalogue::default()),
            stopping: experiment.design.stopping,
            alone: false,
            tuning: None,
            metrics: Vec::new(),
            upper_bounds: upper_bounds(&experiment, Scale::Default, &Catalogue::default()),
            counting: ["insert-index-timing", "journal-and-sync"].contains(&&experiment.id[..]),
            crash_relevant: ["journal_mode", "synchronous"]
                .map(str::to_owned)
                .into_iter()
                .filter(|factor| experiment.factors.contains_key(factor))
                .collect(),
            experiment,
        }
    };
    let experiments: Vec<PlannedExperiment> = experiments::ALL.into_iter().map(planned).collect();
    RunPlan {
        format: FORMAT,
        id: "2026-03-01-093012-tern".to_owned(),
        created: "2026-03-01T09:30:12Z".to_owned(),
        pragmark: "0.1.0".to_owned(),
        began_in: None,
        seed: SEED,
        scale: Scale::Default,
        engine: "default".to_owned(),
        quick: false,
        trial_limit_s: 60.0,
        budget_s: None,
        tiers: Some(tiers::plan(&experiments)),
        postgres_given: false,
        experiments,
    }
}

fn trials_of(plan: &RunPlan, planned: &PlannedExperiment) -> Vec<TrialRecord> {
    let mut history = History::default();
    let mut trials = Vec::new();
    while let Next::Trial { place, variant, role } =
        next(&planned.design_params(plan.seed), &history)
    {
        if outcomes::is_interrupted(&planned.key, trials.len()) {
            break;
        }
        let trial = trial(planned, place, variant, role);
        history.add(observation(planned, &trial).expect("the variant is one of the plan's"));
        trials.push(trial);
    }
    trials
}

fn trial(
    planned: &PlannedExperiment,
    place: (u32, u32, u32),
    variant: usize,
    role: Role,
) -> TrialRecord {
    let (round, block, position) = place;
    let disturbed = planned.key == "insert-index-timing" && (round, block) == (2, 0);
    let label = planned.label(variant);
    let outcome = match planned.variants.get(variant) {
        None => limit(planned, label, place),
        Some(variant) if role == Role::Counting => counted(planned, variant),
        Some(variant) => outcomes::trouble(&planned.experiment.id, &variant.levels, round)
            .unwrap_or_else(|| measured(planned, variant, place, role)),
    };
    TrialRecord {
        agent: None,
        purpose: Default::default(),
        experiment: planned.key.clone(),
        round,
        block,
        position,
        variant: label.to_owned(),
        role,
        started: format!(
            "2026-03-01T09:{:02}:{:02}Z",
            31 + round % 20,
            (block * 8 + position) % 60
        ),
        wall_s: 1.25 + f64::from(position) / 8.0,
        covariates: Covariates {
            duration_ns: 1_250_000_000,
            steal_fraction: Some(if disturbed { 0.03 } else { 0.001 }),
            fsync_p50_ns: (position == 0).then(|| fsync_median_ns(planned, round)),
            ..Covariates::default()
        },
        outcome,
    }
}

/// A sync costs nothing in memory, and on the disk now less and now more.
fn fsync_median_ns(planned: &PlannedExperiment, round: u32) -> u64 {
    match planned.experiment.id.as_str() {
        "checkpoint-size" => 1_400,
        _ => 400_000 + u64::from(round * 7 % 5) * 90_000,
    }
}

fn limit(planned: &PlannedExperiment, name: &str, place: (u32, u32, u32)) -> Outcome {
    match outcomes::limit_rate(name) {
        Some(rate) => {
            let rate = rate * noise(planned, place);
            Outcome::Measured(Box::new(Measured {
                metrics: [("rows_per_s".to_owned(), rate)].into(),
                ..Measured::default()
            }))
        }
        None => {
            Outcome::Skipped { why: "this file system cannot map a file that grows".to_owned() }
        }
    }
}

fn counted(planned: &PlannedExperiment, variant: &Variant) -> Outcome {
    let metrics = outcomes::counts(&planned.experiment.id, &variant.levels);
    Outcome::Measured(Box::new(Measured { metrics, ..Measured::default() }))
}

fn measured(
    planned: &PlannedExperiment,
    variant: &Variant,
    place: (u32, u32, u32),
    role: Role,
) -> Outcome {
    let bias =
        if role == Role::AaCheck { outcomes::aa_check_bias(&planned.experiment.id) } else { 1.0 };
    let rate =
        outcomes::rate(&planned.experiment.id, &variant.levels) * noise(planned, place) * bias;
    Outcome::Measured(Box::new(Measured {
        metrics: outcomes::metrics(&planned.experiment.id, &variant.levels, rate),
        windows: windows(&variant.label, rate),
        engine: EngineMark {
            version: "3.50.4".to_owned(),
            source_id: machine::SOURCE_ID.to_owned(),
        },
        connections: connections(variant),
        tables: outcomes::tables(&planned.experiment.id, &variant.levels),
        ..Measured::default()
    }))
}

/// The drift of the machine and the noise of a trial, as a factor.
fn noise(planned: &PlannedExperiment, place: (u32, u32, u32)) -> f64 {
    let (round, block, position) = place;
    let drift = 1.0 + f64::from((round * 3 + block) % 5) / 100.0;
    let seed = SEED.child(&planned.key).nth(round.into());
    drift * (1.0 + 0.03 * bell(seed.nth(position.into()).nth(block.into())))
}

/// Variants that write to a log without bound slow down as it grows.
fn windows(label: &str, rate: f64) -> Vec<f64> {
    let slowing = if label.contains("wal_autocheckpoint=0") { 0.5 } else { 0.0 };
    (0..100).map(|window| rate * (1.0 - slowing * f64::from(window) / 100.0)).collect()
}

fn connections(variant: &Variant) -> Vec<ReadBack> {
    let read_back = |connection: &str| {
        let mut pragmas = machine::pragmas();
        for (name, level) in variant.settings.iter().filter(|(name, _)| machine::is_pragma(name)) {
            pragmas.insert(name.clone(), level.to_string());
        }
        ReadBack { connection: connection.to_owned(), pragmas }
    };
    vec![read_back("writer"), read_back("reader")]
}

/// Roughly a standard normal value: the sum of twelve uniform ones, less six.
fn bell(seed: Seed) -> f64 {
    let mut generator = seed.generator();
    (0..12).map(|_| generator.below(1 << 20) as f64 / f64::from(1 << 20)).sum::<f64>() - 6.0
}
