//! Measuring safety tiers: one crash trial for each set of settings, after the last round.
//!
//! They come after the rounds because they keep every CPU busy, which would disturb what is timed.
//! Each is an ordinary trial in a process of its own, through the driver; its record goes to a file
//! of its own, because it belongs to settings and to no experiment.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lab::record::{EngineRecord, RunPlan, TierRecord, engine_to_load};
use lab::tier::{TierPlan, TierSet, WORKLOAD};
use lab::trial::{Outcome, PROTOCOL, TrialSpec};

use crate::error::RunError;
use crate::process::{Driver, run_trial};
use crate::record::RunFolder;
use crate::run::{End, Event, Observer};
use crate::stamp::now;
use crate::workdir::WorkDir;

/// Time beyond that of the trying in which a crash trial has to end, in seconds.
const GRACE_S: f64 = 60.0;

/// Measures the tiers that the plan asks for and the record lacks.
///
/// `used_s` is the time that the rounds took, in seconds. Under a time limit the sets that remain
/// share what is left of it; what it leaves no time for stays unmeasured.
pub(crate) fn run(
    folder: &RunFolder,
    plan: &RunPlan,
    engines: &[EngineRecord],
    mut used_s: f64,
    driver: &Driver,
    cancelled: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<End, RunError> {
    let (Some(tiers), Some(first)) = (&plan.tiers, plan.experiments.first()) else {
        return Ok(End::Finished);
    };
    let mut done: Vec<TierSet> = Vec::new();
    folder.each_tier(|record| {
        used_s += record.wall_s;
        done.push(record.set);
    })?;
    let left: Vec<(usize, &TierSet)> = tiers
        .sets
        .iter()
        .enumerate()
        .filter(|(_, set)| !done.contains(set))
        .collect();
    if left.is_empty() {
        return Ok(End::Finished);
    }
    let mut appender = folder.tier_appender(&plan.id)?;
    let work = WorkDir::create(&first.directory, &plan.id)?;
    for (place, (index, set)) in left.iter().enumerate() {
        let sets_left = left.len() - place;
        let Some(seconds) = seconds(tiers, plan.budget_s, used_s, sets_left) else {
            break;
        };
        if cancelled.load(Ordering::Relaxed) {
            return Ok(End::Cancelled);
        }
        observer.event(Event::TierBegins {
            set,
            number: index + 1,
            of: tiers.sets.len(),
            left_s: seconds * sets_left as f64,
        });
        let (started, clock) = (now(), Instant::now());
        let outcome = match engine_to_load(engines, &set.engine) {
            Ok(engine) => {
                let spec = |directory: &Path| specification(plan, set, engine, seconds, directory);
                let limit_s = plan.trial_limit_s.min(seconds + GRACE_S);
                trial(spec, limit_s, &work, driver, cancelled, observer)?
            }
            Err(why) => Some(Outcome::Skipped { why }),
        };
        let Some(outcome) = outcome else {
            return Ok(End::Cancelled);
        };
        let record = TierRecord {
            set: (*set).clone(),
            started,
            wall_s: clock.elapsed().as_secs_f64(),
            outcome,
        };
        used_s += record.wall_s;
        appender.append(&record)?;
        observer.event(Event::TierEnded(&record));
    }
    Ok(End::Finished)
}

/// Time for the next set; none where the time limit leaves none.
fn seconds(tiers: &TierPlan, limit_s: Option<f64>, used_s: f64, sets_left: usize) -> Option<f64> {
    let Some(limit_s) = limit_s else {
        return Some(tiers.seconds);
    };
    let share = (limit_s - used_s) / sets_left as f64;
    (share > 0.0).then_some(tiers.seconds.min(share))
}

/// What the driver of a crash trial is asked.
fn specification(
    plan: &RunPlan,
    set: &TierSet,
    engine: String,
    seconds: f64,
    directory: &Path,
) -> TrialSpec {
    TrialSpec {
        protocol: PROTOCOL,
        workload: WORKLOAD.to_owned(),
        settings: set.trial_settings(seconds),
        engine,
        directory: directory.to_owned(),
        seed: plan.seed.child("tiers").child(&set.to_string()).0,
        counting: false,
        binding: None,
        postgres: None,
    }
}

/// Runs one crash trial; none when it was cancelled.
fn trial(
    spec: impl FnOnce(&Path) -> TrialSpec,
    limit_s: f64,
    work: &WorkDir,
    driver: &Driver,
    cancelled: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Option<Outcome>, RunError> {
    let directory = match work.trial() {
        Ok(directory) => directory,
        Err(error) => {
            let why = error.to_string();
            return Ok(Some(Outcome::Failed { why }));
        }
    };
    let spec = spec(directory.path());
    let limit = Duration::from_secs_f64(limit_s);
    run_trial(driver, &spec, limit, cancelled, &mut |phase| {
        observer.event(Event::Phase(phase))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::experiment::Scale;
    use lab::record::{EnvironmentFile, FORMAT};
    use lab::seed::Seed;

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
        let tiers = tiers(&["off", "full"]);
        assert_eq!(seconds(&tiers, None, 1e9, 2), Some(2.0));
        assert_eq!(seconds(&tiers, Some(100.0), 10.0, 2), Some(2.0));
        assert_eq!(seconds(&tiers, Some(100.0), 98.0, 2), Some(1.0));
        assert_eq!(seconds(&tiers, Some(100.0), 100.0, 2), None);
    }

    /// Notes what happens.
    #[derive(Default)]
    struct Notes(Vec<String>);

    impl Observer for Notes {
        fn event(&mut self, event: Event<'_>) {
            self.0.push(match event {
                Event::TierBegins { number, of, .. } => format!("{number} of {of}"),
                Event::TierEnded(record) => record.set.to_string(),
                _ => "other".to_owned(),
            });
        }
    }

    fn folder(parent: &Path, sets: &[&str]) -> (RunFolder, RunPlan) {
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
        let folder = RunFolder::create(&parent.join("run"), &plan, &environment).unwrap();
        (folder, plan)
    }

    fn shell(script: &str) -> Driver {
        Driver {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
            bindings: None,
        }
    }

    /// A driver that answers by the settings it is asked to try.
    const ANSWERS: &str = r#"read spec; case "$spec" in
        *'"synchronous":"off"'*) echo '{"outcome":{"skipped":{"why":"off"}}}';;
        *) echo '{"outcome":{"failed":{"why":"full"}}}';; esac"#;

    #[test]
    fn each_set_is_tried_once_and_resuming_tries_the_rest() {
        let parent = tempfile::tempdir().unwrap();
        let (folder, mut plan) = folder(parent.path(), &["off"]);
        let (driver, never) = (shell(ANSWERS), AtomicBool::new(false));
        let mut notes = Notes::default();
        let mut go =
            |plan: &RunPlan| run(&folder, plan, &[], 0.0, &driver, &never, &mut notes).unwrap();
        assert_eq!(go(&plan), End::Finished);
        plan.tiers = Some(tiers(&["off", "full"]));
        assert_eq!(go(&plan), End::Finished);
        assert_eq!(go(&plan), End::Finished);
        assert_eq!(
            notes.0,
            ["1 of 1", "synchronous=off", "2 of 2", "synchronous=full"]
        );
        let mut outcomes = Vec::new();
        let take = |record: TierRecord| outcomes.push(record.outcome.problem().unwrap());
        folder.each_tier(take).unwrap();
        assert_eq!(outcomes, ["skipped: off", "failed: full"]);
    }

    #[test]
    fn a_cancelled_trial_leaves_no_record_and_no_directory() {
        let parent = tempfile::tempdir().unwrap();
        let (folder, plan) = folder(parent.path(), &["off"]);
        let driver = shell("sleep 100");
        let mut notes = Notes::default();
        let end = run(
            &folder,
            &plan,
            &[],
            0.0,
            &driver,
            &AtomicBool::new(true),
            &mut notes,
        );
        assert_eq!(end.unwrap(), End::Cancelled);
        folder.each_tier(|_| panic!("nothing was tried")).unwrap();
        let left = std::fs::read_dir(parent.path()).unwrap().count();
        assert_eq!(left, 1, "the folder of the run alone");
    }
}
