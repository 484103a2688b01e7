//! A search through the executor: its parts, its time, and what a kill leaves.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use lab::level::{Level, Settings};
use lab::record::{EnvironmentFile, FORMAT, Purpose, RunPlan, TrialRecord};
use lab::seed::Seed;
use lab::tier::MayLose;
use lab::tuning_plan::{Constraint, TunableSetting, TuningPlan};
use tuning::tuning_of;
use tuning::{Analysis, Collector, Extent};

use crate::executor::End;
use crate::local::Local;
use crate::now;
use crate::process::Driver;
use crate::record::RunFolder;
use crate::run::{Event, Observer, run};

/// A driver in which `b=1` is twice as fast and makes a database of three times the size, and `c=1` fails.
const ANSWERS: &str = r#"read spec; sleep 0.03; case "$spec" in
    *'"c":1'*) echo '{"outcome":{"failed":{"why":"c"}}}'; exit;;
    *'"b":1'*) rate=2000; size=300;; *) rate=1000; size=100;; esac
    rate=$((rate + $$ % 50))
    echo '{"outcome":{"measured":{"metrics":{"txns_per_s":'$rate',"db_bytes":'$size'},"engine":{"version":"3","source_id":"x","threadsafe":1}}}}'"#;

struct Silent;

impl Observer for Silent {
    fn event(&mut self, _: Event<'_>) {}
}

fn plan(directory: &Path, budget_s: f64) -> RunPlan {
    let experiment = serde_json::from_str(
        r#"{ "id": "x", "question": "?", "workload": "w", "metric": "txns_per_s",
        "design": { "kind": "list", "baseline": { "a": 0 }, "variants": [{ "a": 1 }] } }"#,
    );
    let request = lab::plan::Request {
        id: "test".to_owned(),
        created: now(),
        pragmark: "0".to_owned(),
        seed: Seed(1),
        scale: lab::experiment::Scale::Quick,
        engine: "default".to_owned(),
        quick: false,
        trial_limit_s: 60.0,
        budget_s: Some(budget_s),
        tiers: false,
        postgres_given: false,
        experiments: vec![experiment.unwrap()],
        directories: vec![directory.to_owned()],
    };
    let mut plan = lab::plan::plan(request, &Default::default());
    let lever = |name: &str| TunableSetting {
        name: name.to_owned(),
        levels: vec![Level::Int(0), Level::Int(1)],
        always_named: true,
        only_with: None,
    };
    let levers = ["a", "b", "c", "d"].map(lever).into();
    let tuning = tuning_of(levers, &Settings::new(), &[], MayLose::Anything);
    tuning::attach(&mut plan, tuning, &Default::default());
    plan.tiers = None;
    plan
}

fn environment() -> EnvironmentFile {
    EnvironmentFile {
        format: FORMAT,
        machine: Default::default(),
        engines: Vec::new(),
        noise: None,
    }
}

fn go(folder: &RunFolder) {
    let driver = Driver {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), ANSWERS.into()],
        bindings: None,
    };
    let cancelled = AtomicBool::new(false);
    let mut executor = Local::new(&driver, "test", &[], &cancelled);
    assert_eq!(run(folder, &mut executor, &mut Silent).unwrap(), End::Finished);
}

fn records(folder: &RunFolder) -> Vec<TrialRecord> {
    let mut records = Vec::new();
    folder.each_trial(|record| records.push(record)).unwrap();
    records
}

#[test]
fn a_search_ends_with_rounds_of_what_it_recommends_and_goes_on_after_a_kill() {
    let parent = tempfile::tempdir().unwrap();
    let plan = plan(parent.path(), 5.0);
    let environment = environment();
    let folder = RunFolder::create(&parent.path().join("run"), &plan, &environment).unwrap();
    go(&folder);
    let whole = records(&folder);
    let of = |purpose| whole.iter().filter(move |it| it.purpose == purpose);
    for purpose in [Purpose::Search, Purpose::Ablation, Purpose::Rounds] {
        assert!(of(purpose).count() > 0, "{purpose:?}");
    }
    let seconds: f64 = whole.iter().map(|record| record.wall_s).sum();
    assert!(seconds < 5.2, "{seconds} s");
    let mut collector = Collector::new(plan, environment);
    whole.iter().for_each(|record| collector.add(record.clone()));
    let analysis = collector.finish();
    let tuning = analysis.tuning.as_ref().unwrap();
    assert_eq!(tuning.recommended["b"], Level::Int(1));
    assert_eq!(tuning.recommended["c"], Level::Int(0), "it fails");
    assert!(analysis.is_complete());
    let b = tuning.contributions.iter().find(|it| it.settings == "b");
    assert!(b.is_some_and(|it| it.gain.interval.low > 1.0 && it.gain.ratio > 1.8));
    // As kills at several instants would leave the record.
    let path = folder.path.join("outcomes.jsonl");
    let text = std::fs::read(&path).unwrap();
    for part in [5, 2] {
        let length = text.len() / part * (part - 1);
        std::fs::write(&path, &text[..length]).unwrap();
        go(&folder);
        let again = records(&folder);
        let place = |it: &TrialRecord| (it.purpose, it.round, it.block, it.position);
        let places: HashSet<_> = again.iter().map(place).collect();
        assert_eq!(places.len(), again.len());
        let kept = again.iter().zip(&whole).take_while(|(new, old)| new.started == old.started);
        assert!(kept.count() > 0);
        assert!(again.iter().any(|it| it.purpose == Purpose::Rounds));
    }
}

/// Returns the analysis of what a run has recorded.
fn analysed(folder: &RunFolder, plan: RunPlan) -> Analysis {
    let mut collector = Collector::new(plan, environment());
    records(folder).into_iter().for_each(|record| collector.add(record));
    collector.finish()
}

#[test]
fn what_an_earlier_search_recommends_is_not_chosen_where_it_breaks_a_constraint() {
    let parent = tempfile::tempdir().unwrap();
    let mut plan = plan(parent.path(), 4.0);
    let tuning = plan.experiments[0].tuning.as_mut().unwrap();
    let earlier = vec![0, 1, 0, 0];
    let space = tuning.space.clone();
    let no_trials = (&space, &[][..]);
    **tuning = TuningPlan {
        constraints: vec![Constraint::parsed("size <= 1.1").unwrap()],
        ..(tuning.as_ref().clone()).after(earlier, no_trials, &Settings::new())
    };
    let folder = RunFolder::create(&parent.path().join("run"), &plan, &environment()).unwrap();
    go(&folder);
    let analysis = analysed(&folder, plan);
    let variants = &analysis.experiments[0].variants;
    let of_earlier = variants.iter().position(|it| it.levels["b"] == Level::Int(1));
    let broken = &variants[of_earlier.unwrap()].breaks;
    assert_eq!(*broken, ["db_bytes <= 1.1"]);
    assert!(variants[0].breaks.is_empty());
    let found = analysis.findings.first().map(|it| it.variant);
    assert_ne!(found, of_earlier, "it is the fastest, and too large");
}

#[test]
fn a_limit_too_short_for_the_screen_is_kept_and_recommends_what_was_tried() {
    let parent = tempfile::tempdir().unwrap();
    let plan = plan(parent.path(), 0.4);
    let folder = RunFolder::create(&parent.path().join("run"), &plan, &environment()).unwrap();
    go(&folder);
    let mut collector = Collector::new(plan, environment());
    let records = records(&folder);
    let searched = records.iter().filter(|it| it.purpose == Purpose::Search).count();
    assert!((3..=7).contains(&searched), "{searched}: one block, as far as there is time");
    let is_fast = |it: &TrialRecord| it.variant.contains("b=1") && it.outcome.problem().is_none();
    let has_fast = records.iter().any(is_fast);
    records.into_iter().for_each(|record| collector.add(record));
    let tuning = collector.finish().tuning.unwrap();
    assert_eq!(tuning.extent, Extent::Known);
    assert!(tuning.unchanged.is_empty(), "most levels were not tried");
    let level = Level::Int(i64::from(has_fast));
    assert_eq!(tuning.chosen["b"], level, "the cheapest that was tried");
}
