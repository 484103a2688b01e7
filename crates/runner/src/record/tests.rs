use lab::design::{Role, Variant};
use lab::experiment::Scale;
use lab::level::{Level, Settings};
use lab::record::{PlannedExperiment, Purpose};
use lab::seed::Seed;
use lab::tier::MayLose;
use lab::trial::Outcome;
use lab::tuning_plan::{Advice, TunableSetting, TuningPlan};
use tuning::tuning_of;

use super::*;

fn planned() -> PlannedExperiment {
    let variant = |label: &str| Variant { label: label.to_owned(), ..Variant::default() };
    PlannedExperiment {
        key: "made-up".to_owned(),
        variants: vec![variant("index=before"), variant("index=after")],
        ..PlannedExperiment::default()
    }
}

fn plan() -> RunPlan {
    RunPlan {
        format: FORMAT,
        id: "test".to_owned(),
        created: crate::now(),
        pragmark: "0".to_owned(),
        began_in: None,
        seed: Seed(1),
        scale: Scale::Quick,
        engine: "default".to_owned(),
        quick: true,
        trial_limit_s: 60.0,
        budget_s: None,
        tiers: None,
        postgres_given: false,
        experiments: vec![planned()],
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
        agent: None,
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
        outcome: Outcome::Skipped { why: "by design".to_owned() },
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
    let folder = RunFolder::open(&folder.path).unwrap();
    assert_eq!(folder.plan().unwrap().id, "test");
    assert_eq!(folder.environment().unwrap().format, FORMAT);
    assert_eq!(read(&folder).len(), 2);
}

#[test]
fn a_line_cut_short_at_any_byte_is_dropped_and_overwritten() {
    let parent = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(&parent.path().join("run"), &plan(), &environment()).unwrap();
    let outcomes = folder.path.join(OUTCOMES);
    folder.appender().unwrap().append(&trial(0)).unwrap();
    let one = fs::read(&outcomes).unwrap();
    folder.appender().unwrap().append(&trial(1)).unwrap();
    let two = fs::read(&outcomes).unwrap();
    for cut in one.len()..two.len() {
        fs::write(&outcomes, &two[..cut]).unwrap();
        assert_eq!(read(&folder).len(), 1, "cut at {cut}");
        folder.appender().unwrap().append(&trial(1)).unwrap();
        assert_eq!(read(&folder).iter().map(|trial| trial.round).collect::<Vec<_>>(), [0, 1]);
    }
}

#[test]
fn a_damaged_line_is_named_by_file_and_number() {
    let parent = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(&parent.path().join("run"), &plan(), &environment()).unwrap();
    let outcomes = folder.path.join(OUTCOMES);
    let mut text = fs::read(&outcomes).unwrap();
    text.extend(b"{\"experiment\": 1}\n");
    fs::write(&outcomes, text).unwrap();
    let error = folder.each_trial(|_| {}).unwrap_err().to_string();
    assert!(error.contains("outcomes.jsonl") && error.contains("line 2"), "{error}");
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
    assert!(matches!(RunFolder::create(&path, &plan(), &environment()), Err(RunError::Exists(_))));
    let newer = RunPlan { format: FORMAT + 1, ..plan() };
    write_json(&path.join(PLAN), &newer).unwrap();
    assert!(matches!(folder.plan(), Err(RunError::OtherFormat { found, .. }) if found > FORMAT));
    let older = RunPlan { format: FORMAT - 1, ..plan() };
    write_json(&path.join(PLAN), &older).unwrap();
    assert!(matches!(folder.plan(), Err(RunError::OtherFormat { found, .. }) if found < FORMAT));
}

/// Returns a run with one trial, in a folder of its own.
fn one_trial() -> (tempfile::TempDir, RunFolder) {
    let parent = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(&parent.path().join("run"), &plan(), &environment()).unwrap();
    folder.appender().unwrap().append(&trial(0)).unwrap();
    (parent, folder)
}

#[track_caller]
fn refused(folder: &RunFolder, parts: &[&str]) {
    let error = folder.each_trial(|_| {}).unwrap_err().to_string();
    assert!(parts.iter().all(|part| error.contains(part)), "{error}");
}

#[test]
fn a_trial_that_does_not_belong_to_the_run_is_refused_with_its_line() {
    let changed = |change: fn(&mut TrialRecord)| {
        let mut trial = trial(1);
        change(&mut trial);
        trial
    };
    for (trial, parts) in [
        (trial(0), ["line 3", "twice"]),
        (changed(|it| it.experiment = "other".to_owned()), ["line 3", "no experiment `other`"]),
        (
            changed(|it| it.variant = "index=never".to_owned()),
            ["line 3", "no variant `index=never`"],
        ),
        (changed(|it| it.purpose = Purpose::Tier), ["line 3", "no experiment `made-up`"]),
    ] {
        let (_parent, folder) = one_trial();
        folder.appender().unwrap().append(&trial).unwrap();
        refused(&folder, &parts);
    }
    let (_parent, folder) = one_trial();
    for trial in [
        changed(|it| it.purpose = Purpose::Confirmation),
        changed(|it| it.role = Role::Counting),
        trial(1),
    ] {
        folder.appender().unwrap().append(&trial).unwrap();
    }
    assert_eq!(read(&folder).len(), 4);
}

#[test]
fn the_record_of_another_run_is_refused() {
    let (_parent, folder) = one_trial();
    let other = RunPlan { id: "other".to_owned(), ..plan() };
    write_json(&folder.path.join(PLAN), &other).unwrap();
    refused(&folder, &["outcomes.jsonl", "belongs to the run test"]);
}

#[test]
fn an_emptied_record_is_neither_read_nor_continued() {
    for left in ["", "{\"format\":"] {
        let (_parent, folder) = one_trial();
        fs::write(folder.path.join(OUTCOMES), left).unwrap();
        refused(&folder, &["outcomes.jsonl", "first line"]);
        let error = folder.appender().unwrap_err().to_string();
        assert!(error.contains("first line"), "{error}");
        let now = fs::read_to_string(folder.path.join(OUTCOMES)).unwrap();
        assert_eq!(now, left);
    }
}

#[test]
fn links_out_of_the_folder_are_not_followed_and_pipes_not_waited_for() {
    for name in [PLAN, ENVIRONMENT, OUTCOMES] {
        let (parent, folder) = one_trial();
        let (path, outside) = (folder.path.join(name), parent.path().join("outside"));
        let reads = || {
            let read = folder.plan().map(drop).and_then(|()| folder.environment().map(drop));
            read.and_then(|()| folder.each_trial(|_| {}))
        };
        fs::rename(&path, &outside).unwrap();
        let before = fs::read(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, &path).unwrap();
        assert!(matches!(reads(), Err(RunError::NotAFile(at)) if at == path));
        if name == OUTCOMES {
            assert!(matches!(folder.appender(), Err(RunError::NotAFile(_))));
        }
        assert_eq!(fs::read(&outside).unwrap(), before);

        fs::remove_file(&path).unwrap();
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, 0).unwrap();
        assert!(matches!(reads(), Err(RunError::NotAFile(at)) if at == path));
    }
}

#[test]
fn artifacts_are_not_kept_behind_a_link() {
    let (parent, folder) = one_trial();
    let place = Path::new("artifacts/made-up/0-0-0");
    check_no_link(&folder.path, place).unwrap();
    std::os::unix::fs::symlink(parent.path(), folder.path.join("artifacts")).unwrap();
    assert!(check_no_link(&folder.path, place).is_err());
}

#[test]
fn a_plan_whose_names_lead_out_of_the_folder_is_refused() {
    let (_parent, folder) = one_trial();
    let of_key = |key: &str| RunPlan {
        experiments: vec![PlannedExperiment { key: key.to_owned(), ..planned() }],
        ..plan()
    };
    let of_id = RunPlan { id: "../../home".to_owned(), ..plan() };
    let endless = RunPlan { trial_limit_s: 1e300, ..plan() };
    for hostile in [of_key("../.."), of_key("/etc"), of_key(""), of_id, endless] {
        write_json(&folder.path.join(PLAN), &hostile).unwrap();
        assert!(matches!(folder.plan(), Err(RunError::Damaged(..))));
    }
}

#[test]
fn runs_of_the_user_are_told_from_those_of_others_and_changed_ones() {
    let parent = tempfile::tempdir().unwrap();
    let own = TrustedRuns::below(&parent.path().join("cache"));
    let plan = plan();
    let folder = RunFolder::create(&parent.path().join("run"), &plan, &environment()).unwrap();
    assert!(!own.contain(&folder).unwrap());
    own.add(&plan, &environment()).unwrap();
    assert!(own.contain(&folder).unwrap());

    let other_engine = RunPlan { engine: "/tmp/other.so".to_owned(), ..plan };
    write_json(&folder.path.join(PLAN), &other_engine).unwrap();
    assert!(!own.contain(&folder).unwrap());
    own.adopt(&folder).unwrap();
    assert!(own.contain(&folder).unwrap());
}

#[test]
fn a_folder_that_cannot_be_made_is_refused_ahead() {
    let (parent, folder) = one_trial();
    let free = parent.path().join("new/deep/run");
    RunFolder::check_free(&free).unwrap();
    assert!(!free.exists() && !free.parent().unwrap().exists());
    let taken = RunFolder::check_free(&folder.path);
    assert!(matches!(taken, Err(RunError::Exists(_))));
    let below_a_file = folder.path.join(PLAN).join("run");
    assert!(RunFolder::check_free(&below_a_file).is_err());
}

fn trial_of(purpose: &str, variant: &str) -> TrialRecord {
    let record = serde_json::json!({
        "purpose": purpose, "experiment": "x", "round": 0, "block": 0, "position": 0, "variant": variant,
        "role": "variant", "started": "", "wall_s": 1.0, "covariates": { "duration_ns": 1 },
        "outcome": { "failed": { "why": "x" } }
    });
    serde_json::from_value(record).unwrap()
}

#[test]
fn a_run_that_tunes_has_the_configurations_of_its_space_and_changes_where_they_are_measured() {
    let lever = TunableSetting {
        name: "a".to_owned(),
        levels: vec![Level::Int(0), Level::Int(1)],
        always_named: true,
        only_with: None,
    };
    let change = Advice {
        counted: None,
        change: "ten in one".to_owned(),
        sql: None,
        settings: [("group".to_owned(), Level::Int(10))].into(),
    };
    let tuning = TuningPlan {
        advice: vec![change],
        ..tuning_of(vec![lever], &Settings::new(), &[], MayLose::Nothing)
    };
    let planned =
        PlannedExperiment { tuning: Some(Box::new(tuning)), ..PlannedExperiment::default() };
    for (purpose, variant, belongs) in [
        ("search", "a=1", true),
        ("advice", "a=1", true),
        ("advice", "group=10", true),
        ("rounds", "group=10", false),
        ("advice", "group=11", false),
        ("search", "a=2", false),
    ] {
        let trial = trial_of(purpose, variant);
        assert_eq!(is_of(&planned, &trial), belongs, "{purpose} {variant}");
    }
}
