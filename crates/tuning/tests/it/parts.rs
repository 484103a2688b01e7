//! What is said of the trials of a search that are fast and of no use.

use lab::design::Role;
use lab::record::{Purpose, TrialRecord};
use lab::seed::Seed;
use lab::tuning_plan::Constraint;
use pragmark_tuning::{SearchState, Tuning};

use crate::course::{self, plan};
use crate::simulation::Surface;

/// The record of a trial in the only block: its rate, its p99 and what it answered.
fn record(variant: &str, role: Role, (rate, p99): (f64, f64), answer: &str) -> TrialRecord {
    let measured = serde_json::json!({
        "metrics": { "txns_per_s": rate, "p99_us": p99 }, "asked": "all", "checksum": answer,
        "engine": { "version": "3", "source_id": "x", "threadsafe": 1 }
    });
    let record = serde_json::json!({
        "purpose": "search", "experiment": "x", "round": 0, "block": 0, "position": 0,
        "variant": variant, "role": role, "started": "", "wall_s": 1.0,
        "covariates": { "duration_ns": 1 }, "outcome": { "measured": measured }
    });
    serde_json::from_value(record).unwrap()
}

#[test]
fn a_trade_off_names_nothing_that_answers_differently_or_breaks_a_constraint() {
    let surface = Surface::new(6, Seed(11));
    let mut plan = plan(&surface);
    let search = plan.experiments[0].tuning.as_mut().unwrap();
    search.constraints = vec![Constraint::parsed("p99 <= 1.05").unwrap()];
    let (space, current) = (search.space.clone(), search.current.clone());
    let with = |factor: usize| {
        let mut other = current.clone();
        other[factor] = 1;
        space.label(&other)
    };
    let now = space.label(&current);
    let mut tuning = Tuning::of(&plan).unwrap();
    let variant = Role::Variant;
    for record in [
        record(&now, Role::Baseline, (100.0, 50.0), "right"),
        record(&with(2), variant, (150.0, 52.0), "right"),
        record(&with(3), variant, (300.0, 40.0), "wrong"),
        record(&with(4), variant, (200.0, 80.0), "right"),
    ] {
        tuning.add(&record);
    }
    let compromises = tuning.trade_off().compromises;
    let named: Vec<&str> = compromises.iter().map(|it| it.settings.as_str()).collect();
    assert_eq!(named, [with(2), now]);
}

#[test]
fn what_the_rounds_show_to_break_a_constraint_does_not_return_by_its_trial_of_the_search() {
    let surface = Surface::new(6, Seed(11));
    let mut plan = plan(&surface);
    let search = plan.experiments[0].tuning.as_mut().unwrap();
    search.constraints = vec![Constraint::parsed("p99 <= 1.05").unwrap()];
    let (space, current) = (search.space.clone(), search.current.clone());
    let mut other = current.clone();
    other[2] = 1;
    let (now, lucky) = (space.label(&current), space.label(&other));
    let mut tuning = Tuning::of(&plan).unwrap();
    tuning.add(&record(&now, Role::Baseline, (100.0, 50.0), "right"));
    tuning.add(&record(&lucky, Role::Variant, (150.0, 52.0), "right"));
    assert_eq!(tuning.trials_of("txns_per_s").map(|it| it.len()), Some(2));
    assert_eq!(tuning.trials_of("p99_us"), None);
    let named = |tuning: &Tuning| {
        let compromises = tuning.trade_off().compromises.into_iter();
        compromises.map(|it| it.settings).collect::<Vec<_>>()
    };
    assert_eq!(named(&tuning), [lucky.clone(), now.clone()]);
    for round in 0..3 {
        for (variant, role, p99) in
            [(&now, Role::Baseline, 50.0), (&lucky, Role::Variant, 80.0 + f64::from(round))]
        {
            tuning.add(&TrialRecord {
                purpose: Purpose::Rounds,
                round,
                ..record(variant, role, (100.0, p99), "right")
            });
        }
    }
    assert_eq!(named(&tuning), [now]);
}

#[test]
fn of_many_settings_that_were_not_measured_by_themselves_one_is_recommended_at_most() {
    let surface = Surface::new(12, Seed(11));
    let mut plan = plan(&surface);
    let search = plan.experiments[0].tuning.as_mut().unwrap();
    let current = search.current.clone();
    let mut best = current.clone();
    for factor in [2, 3, 4, 6, 7, 8, 9, 10, 11] {
        best[factor] = 1;
    }
    search.good.push(best.clone());
    let name = search.space.label(&best);
    let mut tuning = Tuning::of(&plan).unwrap();
    let block = SearchState::of(&plan).unwrap().next_block().unwrap().unwrap();
    for slot in &block.slots {
        let is_best = block.planned.variants[slot.variant].label == name;
        tuning.add(&course::record(&block, slot, if is_best { 10.0 } else { 100.0 }));
    }
    let differing = |configuration: &[usize]| {
        configuration.iter().zip(&current).filter(|(own, now)| own != now).count()
    };
    assert_eq!(differing(&tuning.chosen()), 9);
    assert_eq!(differing(&tuning.recommended()), 1);
    assert_eq!(tuning.not_measured().len(), 8);
}
