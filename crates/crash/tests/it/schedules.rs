//! A sound engine comes through every scenario unharmed, and the schedules that are played are the ones
//! that are told.

use engine::{Library, Source};
use pragmark_crash::schedule::{
    Extent, RARE, SCENARIOS, Schedule, ScheduleRunner, all, explore, explore_all, scenario,
};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn engine() -> Arc<Library> {
    Arc::new(Library::load(&Source::Embedded).unwrap())
}

/// In memory where the system has a place for that: the files are small, but there are many.
fn folder() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() { memory } else { std::env::temp_dir() }
}

#[test]
fn a_sound_engine_comes_through_a_sample_of_all_scenarios() {
    let extent = Extent { all_up_to: 40, sample: 40, seed: 1, threads: 2 };
    let explored = explore_all(&engine(), &folder(), extent, |_, _| true).unwrap();
    assert_eq!(explored.len(), all().count());
    for scenario in &explored {
        assert_eq!(
            scenario.wrong, 0,
            "{}/{}: {:#?}",
            scenario.scenario, scenario.journal_mode, scenario.findings
        );
        assert!(scenario.calls > 10, "{} calls", scenario.calls);
        assert_eq!(scenario.played, 40);
        assert!(!scenario.exhaustive);
    }
}

/// A scenario is played in full where it is small, and otherwise as often as is wanted, whatever the seed.
#[test]
fn small_scenarios_are_played_in_full_and_large_ones_by_number() {
    let mut runner = ScheduleRunner::new(&engine(), &folder()).unwrap();
    let mut run = |all_up_to, seed| {
        let extent = Extent { all_up_to, sample: 30, seed, threads: 1 };
        let race = scenario("checkpoint-under-reader").unwrap();
        explore(&mut runner, race, "wal", extent, &AtomicBool::new(false)).unwrap()
    };
    let whole = run(10_000, 1);
    assert!(whole.exhaustive && whole.played > 1_000, "{whole:?}");
    let sampled = run(100, 1);
    assert!(!sampled.exhaustive && sampled.played == 30, "{sampled:?}");
}

#[test]
fn a_schedule_played_twice_makes_the_same_calls() {
    let mut runner = ScheduleRunner::new(&engine(), &folder()).unwrap();
    let schedule: Schedule = "log-writer-and-checkpoint/wal@12,30".parse().unwrap();
    let first = runner.run(&schedule, true).unwrap();
    let second = runner.run(&schedule, true).unwrap();
    assert_eq!(first.trace, second.trace);
    assert_eq!(first.wrong, Vec::<String>::new());
    let place = |text: &str| {
        first
            .trace
            .iter()
            .position(|line| line.contains(text))
            .unwrap_or_else(|| panic!("{text} is not in\n{}", first.trace.join("\n")))
    };
    assert_eq!(place("second: Checkpoint"), 12, "after twelve calls");
    assert!(place("first: Write") > place("second: Checkpoint"));
}

#[test]
fn a_stage_leaves_nothing_behind() {
    let parent = tempfile::tempdir().unwrap();
    let mut runner = ScheduleRunner::new(&engine(), parent.path()).unwrap();
    let schedule: Schedule = "recovery-of-a-journal/persist@0,0".parse().unwrap();
    runner.run(&schedule, false).unwrap();
    drop(runner);
    assert_eq!(parent.path().read_dir().unwrap().count(), 0);
}

#[test]
fn scenarios_have_names_of_their_own_and_places_for_what_the_second_does() {
    let scenarios = || SCENARIOS.iter().chain(RARE);
    let names: HashSet<&str> = scenarios().map(|scenario| scenario.id).collect();
    assert_eq!(names.len(), SCENARIOS.len() + RARE.len());
    for scenario in scenarios() {
        assert!(!scenario.second.is_empty() && !scenario.first.is_empty());
        assert!(!scenario.journal_modes.is_empty());
    }
}
