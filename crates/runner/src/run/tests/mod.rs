mod search;

use std::sync::atomic::AtomicBool;

use super::*;
use crate::local::Local;
use crate::now;
use crate::process::Driver;
use lab::experiment::Scale;
use lab::record::{EnvironmentFile, FORMAT};
use lab::seed::Seed;
use lab::tier::{EXPECTED_S, Findings, KnownTier, Origin, TierPlan, TierSet};

fn tiers(sets: &[&str]) -> TierPlan {
    TierPlan {
        names: vec!["synchronous".to_owned()],
        sets: sets
            .iter()
            .map(|level| TierSet {
                engine: "default".to_owned(),
                settings: [("synchronous".to_owned(), (*level).into())].into(),
            })
            .collect(),
        known: Vec::new(),
    }
}

/// Notes which safety tiers begin and end.
#[derive(Default)]
struct Notes(Vec<String>);

impl Observer for Notes {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::TrialBegins { planned, variant, .. } if planned.key == "tiers" => {
                self.0.push(format!("begin {variant}"))
            }
            Event::TrialEnded(record) if record.purpose == Purpose::Tier => {
                self.0.push(format!("end {}", record.variant));
            }
            _ => {}
        }
    }
}

fn folder(parent: &Path, tiers: TierPlan, budget_s: Option<f64>) -> RunFolder {
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
        tiers: false,
        postgres_given: false,
        experiments: vec![experiment],
        directories: vec![parent.to_owned()],
    };
    let plan =
        RunPlan { tiers: Some(tiers), budget_s, ..lab::plan::plan(request, &Default::default()) };
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
    let folder = folder(parent.path(), tiers(&["off", "full"]), None);
    let (end, notes) = go(&folder, ANSWERS, false);
    assert_eq!(end, End::Finished);
    let of = |level: &str| ["begin", "end"].map(|it| format!("{it} synchronous={level}"));
    assert_eq!(notes, [of("off"), of("full")].concat());
    assert!(go(&folder, ANSWERS, false).1.is_empty(), "nothing remains");
    // As a kill in the middle of the last line would leave it.
    let record = folder.path.join("outcomes.jsonl");
    let whole = std::fs::read(&record).unwrap();
    std::fs::write(&record, &whole[..whole.len() - 9]).unwrap();
    assert_eq!(go(&folder, ANSWERS, false).1, of("full"));
    assert_eq!(problems(&folder), ["skipped: off", "failed: full"]);
}

/// Returns why the recorded trials for safety tiers measured nothing.
fn problems(folder: &RunFolder) -> Vec<String> {
    let mut outcomes = Vec::new();
    let take = |record: TrialRecord| {
        let tier = record.purpose == Purpose::Tier;
        outcomes.extend(tier.then(|| record.outcome.problem().unwrap()));
    };
    folder.each_trial(take).unwrap();
    outcomes
}

#[test]
fn a_known_tier_is_not_measured() {
    let parent = tempfile::tempdir().unwrap();
    let mut plan = tiers(&["off", "full"]);
    let findings = Findings { safety: Vec::new(), schedules: None };
    plan.known = vec![KnownTier {
        set: plan.sets[0].clone(),
        in_force: Default::default(),
        origin: Origin::Program,
        findings,
    }];
    let folder = folder(parent.path(), plan, None);
    let (_, notes) = go(&folder, ANSWERS, false);
    assert_eq!(notes, ["begin synchronous=full", "end synchronous=full"]);
}

#[test]
fn a_tier_for_which_no_time_is_left_is_not_begun_and_says_so() {
    let parent = tempfile::tempdir().unwrap();
    let budget_s = Some(0.5 * EXPECTED_S);
    let folder = folder(parent.path(), tiers(&["off", "full"]), budget_s);
    let (end, notes) = go(&folder, ANSWERS, false);
    assert_eq!(end, End::Finished);
    assert_eq!(notes, ["end synchronous=off", "end synchronous=full"]);
    for problem in problems(&folder) {
        assert!(problem.starts_with("skipped: no time left: "), "{problem}");
    }
}

#[test]
fn a_cancelled_trial_leaves_no_record_and_no_directory() {
    let parent = tempfile::tempdir().unwrap();
    let folder = folder(parent.path(), tiers(&["off"]), None);
    let (end, _) = go(&folder, "sleep 100", true);
    assert_eq!(end, End::Cancelled);
    folder.each_trial(|_| panic!("nothing was tried")).unwrap();
    let left = std::fs::read_dir(parent.path()).unwrap().count();
    assert_eq!(left, 1, "the folder of the run alone");
}

#[test]
fn each_block_begins_with_the_price_of_an_fsync() {
    let parent = tempfile::tempdir().unwrap();
    let folder = folder(parent.path(), tiers(&["off"]), None);
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
