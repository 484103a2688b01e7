//! A search as a record makes it go on.

use lab::design::Role;
use lab::experiment::Experiment;
use lab::record::{PlannedExperiment, RunPlan, TrialRecord};
use lab::seed::Seed;
use lab::tier::MayLose;
use lab::trial::Outcome;
use lab::tuning_plan::TuningPlan;
use pragmark_tuning::{Ambiguous, SearchBlock, SearchSlot, SearchState};

use crate::simulation::Surface;

/// Seconds of a trial of the current settings: much more than what is allowed for preparing one.
const CURRENT_S: f64 = 100.0;

/// A run that searches a surface.
pub fn plan(surface: &Surface) -> RunPlan {
    let tuning = TuningPlan {
        space: surface.space().clone(),
        current: surface.current(),
        defaults: surface.current(),
        good: surface.good(),
        may_lose: MayLose::Anything,
        earlier: None,
        earlier_trials: Vec::new(),
        constraints: Vec::new(),
        idle: Vec::new(),
        advice: Vec::new(),
    };
    let planned = PlannedExperiment {
        key: "x".to_owned(),
        experiment: Experiment { metric: "txns_per_s".to_owned(), ..Experiment::default() },
        tuning: Some(Box::new(tuning)),
        ..PlannedExperiment::default()
    };
    RunPlan { seed: Seed(4), experiments: vec![planned], ..RunPlan::default() }
}

/// The record of a trial that takes so many seconds unless it is stopped.
pub fn record(block: &SearchBlock, slot: &SearchSlot, seconds: f64) -> TrialRecord {
    let limit_s = slot.limit_s.unwrap_or(f64::INFINITY);
    let (wall_s, outcome) = match seconds > limit_s {
        true => (limit_s, serde_json::json!({ "timed_out": { "limit_s": limit_s } })),
        false => {
            let engine = serde_json::json!({ "version": "3", "source_id": "x", "threadsafe": 1 });
            let metrics = serde_json::json!({ "txns_per_s": 1e3 / seconds });
            let measured = serde_json::json!({ "metrics": metrics, "engine": engine });
            (seconds, serde_json::json!({ "measured": measured }))
        }
    };
    let record = serde_json::json!({
        "purpose": "search", "experiment": "x", "round": slot.place.0, "block": slot.place.1,
        "position": slot.place.2, "variant": block.planned.variants[slot.variant].label,
        "role": slot.role, "started": "", "wall_s": wall_s, "covariates": { "duration_ns": 1 },
        "outcome": outcome
    });
    serde_json::from_value(record).unwrap()
}

fn labels(block: &SearchBlock) -> Vec<&str> {
    let variants = block.planned.variants.iter();
    variants.map(|it| it.label.as_str()).collect()
}

#[test]
fn a_search_goes_on_in_the_middle_of_a_block_as_it_would_have_without_a_kill() {
    let surface = Surface::new(6, Seed(11));
    let plan = plan(&surface);
    let tuning = plan.experiments[0].tuning.as_ref().unwrap();
    let mut course = SearchState::of(&plan).unwrap();
    let mut stopped = 0;
    for number in 0..7 {
        let block = course.next_block().unwrap().unwrap();
        let before = course.tried();
        for slot in &block.slots {
            let label = &block.planned.variants[slot.variant].label;
            // Differences that are large enough for some trials to be stopped.
            let cost = surface.cost(&tuning.configuration(label).unwrap()).powi(4);
            // Only the current settings become faster, which must not change what is said of trials that were stopped before.
            let slowness = match slot.role {
                Role::Baseline => 1.0 - 0.08 * f64::from(number),
                _ => 1.0,
            };
            let record = record(&block, slot, slowness * cost * CURRENT_S);
            course.add(&record);
            assert_eq!(course.tried()[..before.len()], before, "block {number}");
            stopped += usize::from(matches!(record.outcome, Outcome::TimedOut { .. }));
            if let Some(rest) = course.next_block().unwrap()
                && rest.slots.iter().any(|it| it.place.0 == number)
            {
                assert_eq!(labels(&rest), labels(&block), "block {number}");
            }
        }
    }
    assert!(stopped > 1, "{stopped} trials were stopped");
}

#[test]
fn a_search_does_not_begin_where_its_record_could_not_be_read_again() {
    let surface = Surface::new(6, Seed(11));
    let mut plan = plan(&surface);
    let tuning = plan.experiments[0].tuning.as_mut().unwrap();
    let factor = &mut tuning.space.factors[1];
    factor.levels[1] = factor.levels[0].clone();
    tuning.current[1] = 1;
    let mut course = SearchState::of(&plan).unwrap();
    let Ambiguous(label) = course.next_block().unwrap_err();
    assert!(label.contains("f1=0"), "{label}");
}

#[test]
fn time_is_left_for_rounds_of_current_settings_that_are_far_slower_than_what_is_tried() {
    let surface = Surface::new(6, Seed(11));
    let mut plan = plan(&surface);
    plan.budget_s = Some(45.0 * CURRENT_S);
    let tuning = plan.experiments[0].tuning.clone().unwrap();
    let mut course = SearchState::of(&plan).unwrap();
    while let Some(block) = course.next_block().unwrap() {
        for slot in &block.slots {
            let label = &block.planned.variants[slot.variant].label;
            let cost = surface.cost(&tuning.configuration(label).unwrap()).powi(4);
            course.add(&record(&block, slot, cost * CURRENT_S));
        }
    }
    assert!(course.trial_s().unwrap() < 0.5 * CURRENT_S);
    // Seven rounds with two trials of the current settings each, which is what nothing else may use.
    assert!(course.confirmation_s() > 7.0 * 2.0 * CURRENT_S);
    assert!(course.left_s().unwrap() > course.confirmation_s());
}

#[test]
fn trials_that_last_a_fixed_time_are_not_stopped_by_what_the_best_ones_cost() {
    let surface = Surface::new(6, Seed(11));
    let limit_s = |base: &[(&str, i64)]| {
        let mut plan = plan(&surface);
        let base = base.iter().map(|(name, value)| ((*name).to_owned(), (*value).into()));
        plan.experiments[0].experiment.base = base.collect();
        let mut course = SearchState::of(&plan).unwrap();
        let first = course.next_block().unwrap().unwrap();
        for slot in &first.slots {
            // The current settings are ten times as slow.
            let faster = match slot.role {
                Role::Baseline => 1.0,
                _ => 10.0,
            };
            course.add(&record(&first, slot, CURRENT_S / faster));
        }
        let second = course.next_block().unwrap().unwrap();
        let mut variants = second.slots.iter().filter(|it| it.role == Role::Variant);
        variants.find_map(|it| it.limit_s).unwrap()
    };
    let (work, timed) = (("transactions", 1_000), ("stop_after_ms", 5_000));
    assert!(limit_s(&[]) < 0.25 * CURRENT_S && limit_s(&[work, timed]) < 0.25 * CURRENT_S);
    assert!(limit_s(&[timed]) > CURRENT_S);
}

#[test]
fn there_is_an_answer_after_the_first_block_which_has_what_is_known_to_be_good() {
    let surface = Surface::new(6, Seed(11));
    let mut plan = plan(&surface);
    let tuning = plan.experiments[0].tuning.as_mut().unwrap();
    let mut better = surface.good()[0].clone();
    better[0] = 1 - better[0].min(1);
    let better = tuning.space.canonical(better);
    tuning.good.push(better.clone());
    let name = tuning.space.label(&better);
    // Time for one block and three rounds.
    plan.budget_s = Some(20.0 * CURRENT_S);
    let mut course = SearchState::of(&plan).unwrap();
    let block = course.next_block().unwrap().unwrap();
    assert!(course.choice().is_none());
    assert!(labels(&block).contains(&name.as_str()), "{name}: {:?}", labels(&block));
    for slot in &block.slots {
        let is_better = block.planned.variants[slot.variant].label == name;
        course.add(&record(&block, slot, if is_better { 0.5 } else { 1.0 } * CURRENT_S));
    }
    assert!(course.next_block().unwrap().is_none(), "no time is left for another one");
    assert!(!course.is_screened());
    assert_eq!(course.choice(), Some(better));
}

#[test]
fn trials_that_take_too_long_for_the_first_block_end_it() {
    let surface = Surface::new(6, Seed(11));
    let mut plan = plan(&surface);
    // Time for four trials and a round.
    plan.budget_s = Some(8.0 * CURRENT_S);
    let mut course = SearchState::of(&plan).unwrap();
    let block = course.next_block().unwrap().unwrap();
    let mut trials = 0;
    while !course.is_out_of_time() {
        course.add(&record(&block, &block.slots[trials], CURRENT_S));
        trials += 1;
    }
    assert!((3..block.slots.len()).contains(&trials), "{trials}");
    assert!(course.next_block().unwrap().is_none());
    let good = surface.good().into_iter().find(|good| *good != surface.current()).unwrap();
    assert_eq!(block.planned.variants[1].label, surface.space().label(&good));
    assert!(course.choice().is_some(), "what was tried is compared");
}

#[test]
fn a_search_ends_after_a_hundred_blocks_however_short_its_trials_are() {
    let surface = Surface::new(6, Seed(11));
    let mut plan = plan(&surface);
    plan.budget_s = Some(1e9);
    let mut course = SearchState::of(&plan).unwrap();
    let first = course.next_block().unwrap().unwrap();
    for number in 0..100 {
        for slot in &first.slots {
            let mut record = record(&first, slot, 1e-3);
            record.round = number;
            course.add(&record);
        }
    }
    assert!(course.next_block().unwrap().is_none());
}

#[test]
fn a_longer_limit_has_room_for_rounds_that_there_was_no_time_for() {
    let mut plan = plan(&Surface::new(6, Seed(11)));
    let limit = |plan: &RunPlan, more_s: f64, all_s: f64| {
        let course = SearchState::of(plan).unwrap();
        course.limit_for_rounds_s(more_s, all_s)
    };
    assert_eq!(limit(&plan, 10.0, 20.0), None, "there is no limit");
    plan.budget_s = Some(98.0);
    // 98 % of a limit is for trials, and 45 % of that at most for what comes after the search.
    let [more_s, share] = [9.8 / 0.98, 441.0 / (0.45 * 0.98)];
    assert!((limit(&plan, 9.8, 1.0).unwrap() - (98.0 + more_s)).abs() < 1e-9);
    assert!((limit(&plan, 9.8, 441.0).unwrap() - share).abs() < 1e-9);
}
