use super::*;
use lab::design::Role;
use lab::experiment::Scale;
use lab::seed::Seed;
use lab::trial::Outcome;

fn plan() -> RunPlan {
    RunPlan {
        format: FORMAT,
        id: "test".to_owned(),
        created: crate::now(),
        pragmark: "0".to_owned(),
        seed: Seed(1),
        scale: Scale::Quick,
        engine: "default".to_owned(),
        quick: true,
        trial_limit_s: 60.0,
        budget_s: None,
        tiers: None,
        postgres_given: false,
        experiments: Vec::new(),
    }
}

fn environment() -> EnvironmentFile {
    EnvironmentFile {
        format: FORMAT,
        machine: Default::default(),
        engines: Vec::new(),
        noise: None,
    }
}

fn trial(round: u32) -> TrialRecord {
    TrialRecord {
        purpose: Default::default(),
        experiment: "made-up".to_owned(),
        round,
        block: 0,
        position: 0,
        variant: "index=after".to_owned(),
        role: Role::Variant,
        started: crate::now(),
        wall_s: 0.5,
        covariates: Default::default(),
        outcome: Outcome::Skipped {
            why: "by design".to_owned(),
        },
    }
}

fn read(folder: &RunFolder) -> Vec<TrialRecord> {
    let mut trials = Vec::new();
    folder.each_trial(|trial| trials.push(trial)).unwrap();
    trials
}

#[test]
fn what_is_written_is_read_back() {
    let parent = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(&parent.path().join("run"), &plan(), &environment()).unwrap();
    let mut appender = folder.appender().unwrap();
    appender.append(&trial(0)).unwrap();
    appender.append(&trial(1)).unwrap();
    let folder = RunFolder::open(folder.path()).unwrap();
    assert_eq!(folder.plan().unwrap().id, "test");
    assert_eq!(folder.environment().unwrap().format, FORMAT);
    assert_eq!(read(&folder).len(), 2);
}

#[test]
fn a_line_cut_short_at_any_byte_is_dropped_and_overwritten() {
    let parent = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(&parent.path().join("run"), &plan(), &environment()).unwrap();
    let outcomes = folder.path().join(OUTCOMES);
    folder.appender().unwrap().append(&trial(0)).unwrap();
    let one = fs::read(&outcomes).unwrap();
    folder.appender().unwrap().append(&trial(1)).unwrap();
    let two = fs::read(&outcomes).unwrap();
    for cut in one.len()..two.len() {
        fs::write(&outcomes, &two[..cut]).unwrap();
        assert_eq!(read(&folder).len(), 1, "cut at {cut}");
        folder.appender().unwrap().append(&trial(1)).unwrap();
        assert_eq!(
            read(&folder)
                .iter()
                .map(|trial| trial.round)
                .collect::<Vec<_>>(),
            [0, 1]
        );
    }
}

#[test]
fn a_damaged_line_is_named_by_file_and_number() {
    let parent = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(&parent.path().join("run"), &plan(), &environment()).unwrap();
    let outcomes = folder.path().join(OUTCOMES);
    let mut text = fs::read(&outcomes).unwrap();
    text.extend(b"{\"experiment\": 1}\n");
    fs::write(&outcomes, text).unwrap();
    let error = folder.each_trial(|_| {}).unwrap_err().to_string();
    assert!(
        error.contains("outcomes.jsonl") && error.contains("line 2"),
        "{error}"
    );
}

#[test]
fn two_processes_cannot_append_to_one_record() {
    let parent = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(&parent.path().join("run"), &plan(), &environment()).unwrap();
    let _first = folder.appender().unwrap();
    assert!(matches!(folder.appender(), Err(RunError::InUse(_))));
}

#[test]
fn a_folder_in_use_a_missing_run_and_another_format_are_refused() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("run");
    assert!(matches!(RunFolder::open(&path), Err(RunError::NoRun(_))));
    let folder = RunFolder::create(&path, &plan(), &environment()).unwrap();
    assert!(matches!(
        RunFolder::create(&path, &plan(), &environment()),
        Err(RunError::Exists(_))
    ));
    let newer = RunPlan {
        format: FORMAT + 1,
        ..plan()
    };
    write_json(&path.join(PLAN), &newer).unwrap();
    assert!(matches!(folder.plan(), Err(RunError::OtherFormat { found, .. }) if found > FORMAT));
    let older = RunPlan {
        format: FORMAT - 1,
        ..plan()
    };
    write_json(&path.join(PLAN), &older).unwrap();
    assert!(matches!(folder.plan(), Err(RunError::OtherFormat { found, .. }) if found < FORMAT));
}
