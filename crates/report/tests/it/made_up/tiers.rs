//! The safety tiers of the made-up run: every class, a reason for none, and a broken promise.

use lab::design::Role;
use lab::level::Level;
use lab::record::{PlannedExperiment, Purpose, TrialRecord};
use lab::tier::{
    Accident, Counts, Documented, Loss, Losses, ModelSafety, OnOccasion, Promise, Schedules,
    TierPlan, TierSet, WrongSchedule,
};
use lab::trial::{Measured, Outcome};

/// The sets among the variants of all experiments.
pub fn plan(experiments: &[PlannedExperiment]) -> TierPlan {
    let names = ["journal_mode", "synchronous"].map(str::to_owned);
    let mut sets: Vec<TierSet> = Vec::new();
    for variant in experiments.iter().flat_map(|planned| &planned.variants) {
        let set = TierSet::of(&variant.settings, &names, "default");
        if !set.settings.is_empty() && !sets.contains(&set) {
            sets.push(set);
        }
    }
    TierPlan { names: names.into(), sets, known: Vec::new() }
}

/// What was found; of one set nothing, because the run did not come to it.
pub fn records(plan: &TierPlan) -> Vec<TrialRecord> {
    let sets = plan.sets.iter();
    let reached = sets.filter(|set| !(text(set, "journal_mode") == "persist" && is_off(set)));
    reached
        .map(|set| TrialRecord {
            agent: None,
            purpose: Purpose::Tier,
            experiment: "tiers".to_owned(),
            round: 0,
            block: 0,
            position: 0,
            variant: set.to_string(),
            role: Role::Variant,
            covariates: Default::default(),
            started: "2026-03-01T10:02:00Z".to_owned(),
            wall_s: 2.1,
            outcome: outcome(set),
        })
        .collect()
}

fn text<'a>(set: &'a TierSet, name: &str) -> &'a str {
    set.settings.get(name).and_then(Level::as_text).unwrap_or_default()
}

fn is_off(set: &TierSet) -> bool {
    text(set, "synchronous") == "off"
}

fn outcome(set: &TierSet) -> Outcome {
    let (journal, synchronous) = (text(set, "journal_mode"), text(set, "synchronous"));
    if (journal, synchronous) == ("truncate", "off") {
        return Outcome::Skipped {
            why: "the engine answers persist to PRAGMA journal_mode = truncate".to_owned(),
        };
    }
    let reorder = match (journal, synchronous) {
        ("memory" | "off", _) | (_, "off") => Counts::of(2_480, 512, 12, 4),
        ("wal", "normal") => Counts::of(1_904, 0, 610, 9),
        ("delete", "normal" | "full") => Counts::of(2_050, 0, 31, 1),
        _ => Counts::of(2_100, 0, 0, 0),
    };
    let kill = match journal {
        "memory" | "off" => Counts::of(841, 96, 0, 0),
        _ => Counts::of(841, 0, 0, 0),
    };
    let kill_promise = match journal {
        "memory" | "off" => Promise::MayCorrupt,
        _ => Promise::Safe,
    };
    let reorder_promise = match (journal, synchronous) {
        ("memory" | "off", _) | (_, "off") => Promise::MayCorrupt,
        ("wal", "normal") => Promise::MayLose,
        _ => Promise::Safe,
    };
    Outcome::Measured(Box::new(Measured {
        safety: vec![
            model("kill", true, kill, kill_promise),
            only_where_it_shrinks(model("reorder", true, reorder, reorder_promise), journal),
            model("lying-reorder", false, Counts::of(3_000, 1_204, 0, 0), Promise::Silent),
        ],
        schedules: Some(schedules(journal, synchronous)),
        ..Measured::default()
    }))
}

/// What DELETE mode does badly holds on an occasion only.
fn only_where_it_shrinks(model: ModelSafety, journal: &str) -> ModelSafety {
    if journal != "delete" || model.ordinary.loss() != Some(Loss::LastTransaction) {
        return model;
    }
    ModelSafety {
        occasions: vec![OnOccasion {
            occasion: "shrinking the database file (VACUUM)".to_owned(),
            counts: Counts::of(162, 4, 0, 0),
            witness: Some(CORRUPT.to_owned()),
            again: Some("pragmark crash --set journal_mode=delete --out witness".to_owned()),
            cause: Some("the file is cut after the journal was deleted".to_owned()),
        }],
        ..model
    }
}

const CORRUPT: &str = "crash after step 214 of 731, 12 commits acknowledged, 1 fault: main.db is damaged (\
    Tree 4 page 9: btreeInitPage() returns error code 11)";

/// One setting has a race, and some have no scenario.
fn schedules(journal: &str, synchronous: &str) -> Schedules {
    match (journal, synchronous) {
        ("memory" | "off", _) => Schedules::NotMeasured {
            why: format!("there is no scenario for journal_mode={journal}"),
        },
        ("truncate", "full") => Schedules::Played {
            played: 220,
            wrong: 2,
            first: Some(WrongSchedule {
                schedule: "writer-and-writer/truncate@9,30".to_owned(),
                what: "second, Read: a transaction is gone".to_owned(),
                again: "pragmark crash --schedule writer-and-writer/truncate@9,30".to_owned(),
            }),
        },
        _ => Schedules::Played { played: 220, wrong: 0, first: None },
    }
}

fn model(name: &str, assumed: bool, counts: Counts, promise: Promise) -> ModelSafety {
    let accident = match name {
        "kill" => Accident::Process,
        _ => Accident::Power,
    };
    let witness = match counts.loss() {
        Loss::Nothing => None,
        Loss::Corruption => Some(CORRUPT),
        _ => Some("crash after step 96 of 731, 5 commits acknowledged, 1 fault: 1 commit missing"),
    };
    ModelSafety {
        ordinary: Losses::of(counts),
        documented: Some(Documented {
            promise,
            says: "made up".to_owned(),
            source: "https://sqlite.org/".to_owned(),
        }),
        witness: witness.map(str::to_owned),
        all_states: name == "kill",
        ..ModelSafety::not_measured(name, accident, assumed, "")
    }
}
