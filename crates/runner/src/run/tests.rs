use std::sync::atomic::AtomicBool;

use super::conduct::share;
use super::*;
use crate::local::Local;
use crate::now;
use crate::process::Driver;
use lab::experiment::Scale;
use lab::record::{EnvironmentFile, FORMAT};
use lab::seed::Seed;
use lab::tier::{TierPlan, TierSet};

fn tiers(sets: &[&str]) -> TierPlan {
    TierPlan {
        seconds: 2.0,
        names: vec!["synchronous".to_owned()],
        sets: sets
            .iter()
            .map(|level| TierSet {
                engine: "default".to_owned(),
                settings: [("synchronous".to_owned(), (*level).into())].into(),
            })
            .collect(),
    }
}

#[test]
fn a_time_limit_is_shared_by_the_sets_that_are_left() {
    assert_eq!(share(2.0, None, 2), Some(2.0));
    assert_eq!(share(2.0, Some(90.0), 2), Some(2.0));
    assert_eq!(share(2.0, Some(2.0), 2), Some(1.0));
    assert_eq!(share(2.0, Some(0.0), 2), None);
}

/// Notes which safety tiers begin and end.
#[derive(Default)]
struct Notes(Vec<String>);

impl Observer for Notes {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::TrialBegins {
                planned, variant, ..
            } if planned.key == "tiers" => self.0.push(format!("begin {variant}")),
            Event::TrialEnded(record) if record.purpose == Purpose::Tier => {
                self.0.push(format!("end {}", record.variant));
            }
            _ => {}
        }
    }
}

fn folder(parent: &Path, sets: &[&str]) -> RunFolder {
    let experiment = serde_json::from_str(
        r#"{
        "id": "x", "question": "?", "workload": "w",
        "factors": { "synchronous": ["off", "full"] },
        "design": { "kind": "one-at-a-time", "baseline": { "synchronous": "full" } }
        }"#,
    )
    .unwrap();
    let request = lab::plan::Request {
        id: "test".to_owned(),
        created: now(),
        pragmark: "0".to_owned(),
        seed: Seed(1),
        scale: Scale::Quick,
        engine: "default".to_owned(),
        quick: true,
        trial_limit_s: 60.0,
        budget_s: None,
        crash_s: 0.0,
        postgres_given: false,
        experiments: vec![experiment],
        directories: vec![parent.to_owned()],
    };
    let plan = RunPlan {
        tiers: Some(tiers(sets)),
        ..lab::plan::plan(request, &Default::default())
    };
    let environment = EnvironmentFile {
        format: FORMAT,
        machine: Default::default(),
        engines: Vec::new(),
        noise: None,
    };
    RunFolder::create(&parent.join("run"), &plan, &environment).unwrap()
}

fn shell(script: &str) -> Driver {
    Driver {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), script.into()],
        bindings: None,
    }
}

/// A driver whose answer depends on the settings.
const ANSWERS: &str = r#"read spec; case "$spec" in
    *'"synchronous":"off"'*) echo '{"outcome":{"skipped":{"why":"off"}}}';;
    *) echo '{"outcome":{"failed":{"why":"full"}}}';; esac"#;

fn go(folder: &RunFolder, script: &str, cancelled: bool) -> (End, Vec<String>) {
    let (driver, cancelled) = (shell(script), AtomicBool::new(cancelled));
    let mut notes = Notes::default();
    let mut executor = Local::new(&driver, "test", &[], &cancelled);
    let end = run(folder, &mut executor, &mut notes).unwrap();
    (end, notes.0)
}

#[test]
fn each_set_is_tried_once_and_resuming_tries_the_rest() {
    let parent = tempfile::tempdir().unwrap();
    let folder = folder(parent.path(), &["off", "full"]);
    let (end, notes) = go(&folder, ANSWERS, false);
    assert_eq!(end, End::Finished);
    let of = |level: &str| ["begin", "end"].map(|it| format!("{it} synchronous={level}"));
    assert_eq!(notes, [of("off"), of("full")].concat());
    assert!(go(&folder, ANSWERS, false).1.is_empty(), "nothing remains");
    // As a kill in the middle of the last line would leave it.
    let record = folder.path().join("outcomes.jsonl");
    let whole = std::fs::read(&record).unwrap();
    std::fs::write(&record, &whole[..whole.len() - 9]).unwrap();
    assert_eq!(go(&folder, ANSWERS, false).1, of("full"));
    let mut outcomes = Vec::new();
    let take = |record: TrialRecord| {
        let tier = record.purpose == Purpose::Tier;
        outcomes.extend(tier.then(|| record.outcome.problem().unwrap()));
    };
    folder.each_trial(take).unwrap();
    assert_eq!(outcomes, ["skipped: off", "failed: full"]);
}

#[test]
fn a_cancelled_trial_leaves_no_record_and_no_directory() {
    let parent = tempfile::tempdir().unwrap();
    let folder = folder(parent.path(), &["off"]);
    let (end, _) = go(&folder, "sleep 100", true);
    assert_eq!(end, End::Cancelled);
    folder.each_trial(|_| panic!("nothing was tried")).unwrap();
    let left = std::fs::read_dir(parent.path()).unwrap().count();
    assert_eq!(left, 1, "the folder of the run alone");
}

#[test]
fn each_block_begins_with_the_price_of_an_fsync() {
    let parent = tempfile::tempdir().unwrap();
    let folder = folder(parent.path(), &["off"]);
    go(&folder, ANSWERS, false);
    let mut rounds = 0;
    let check = |record: TrialRecord| {
        let probed = record.covariates.fsync_p50_ns;
        let first = record.purpose == Purpose::Rounds && record.position == 0;
        rounds += usize::from(first);
        // What tries settings works in memory, and the other trials of a block follow at once.
        assert_eq!(probed.is_some_and(|median| median > 0), first, "{record:?}");
    };
    folder.each_trial(check).unwrap();
    assert!(rounds > 0);
}
