//! The safety tiers that come with the program, compared with fresh crash images.

use lab::level::Settings;
use lab::tier::{Findings, ModelSafety, TierSet};
use runner::tiers::built_in;
use serde_json::Value;

use crate::laboratory::Laboratory;

/// What the program knows of settings that a label names (`journal_mode=wal synchronous=full`).
fn known(label: &str) -> &'static Findings {
    let named = label.split(' ').filter_map(|it| it.split_once('='));
    let settings: Settings = named.map(|(name, level)| (name.to_owned(), level.into())).collect();
    let set = TierSet { engine: "default".to_owned(), settings };
    let engine = bench::describe_engine("default").unwrap();
    let key = built_in().key(&set, &engine).unwrap();
    built_in().find(&key).expect("a known tier")
}

fn model<'a>(findings: &'a Findings, name: &str) -> &'a ModelSafety {
    let mut models = findings.safety.iter();
    models.find(|model| model.model == name).unwrap()
}

/// What a trial found under each model.
fn safety(trial: &Value) -> Vec<ModelSafety> {
    serde_json::from_value(trial["outcome"]["measured"]["safety"].clone()).unwrap()
}

#[test]
fn fresh_images_show_nothing_worse_than_the_tiers_of_the_program() {
    let laboratory = Laboratory::new();
    let crash = [
        "crash",
        "--set",
        "journal_mode=delete,truncate,wal",
        "--set",
        "synchronous=normal,full",
        "--set",
        "locking_mode=normal",
    ];
    let sample = ["--images", "1500", "--seed", "99", "--out", "fresh"];
    laboratory.pragmark(&[&crash[..], &sample].concat()).exits(0);
    let trials = laboratory.trials("fresh");
    assert_eq!(trials.len(), 6);
    for trial in trials {
        let label = trial["variant"].as_str().unwrap();
        for fresh in safety(&trial) {
            let known = model(known(label), &fresh.model);
            let words = format!("{label} under {}: {:?}", fresh.model, fresh.whole());
            assert!(fresh.worst() <= known.worst(), "{words}");
            assert!(fresh.ordinary.loss() <= known.ordinary.loss(), "{words}");
        }
    }
}

#[test]
fn the_commands_of_the_programs_tiers_make_their_witnesses_again() {
    let laboratory = Laboratory::new();
    let mut made = 0;
    for known in &known("journal_mode=delete synchronous=full").safety {
        let rare = known.occasions.iter().find_map(|on| on.again.as_ref());
        let Some(again) = known.again.as_ref().or(rare).filter(|_| known.assumed) else {
            continue;
        };
        let words: Vec<&str> = again.split(' ').skip(1).collect();
        laboratory.pragmark(&words).exits(0);
        let trials = laboratory.trials("witness");
        assert_eq!(safety(&trials[0]), std::slice::from_ref(known), "{again}");
        let artifacts = &trials[0]["outcome"]["measured"]["artifacts"];
        assert!(!artifacts.as_array().unwrap().is_empty(), "{again}");
        std::fs::remove_dir_all(laboratory.path().join("witness")).unwrap();
        made += 1;
    }
    assert!(made > 0, "no witness is known");
}
