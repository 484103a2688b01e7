//! The experiments that come with pragmark are valid, and together check every published claim.

mod outcomes;
mod published;
mod verdicts;

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::Path;

use lab::design::variants;
use lab::experiment::{Experiment, Scale, parse};
use lab::plan::{Request, plan, tier_plan};
use lab::seed::Seed;

fn experiments() -> Vec<(String, Experiment)> {
    let catalogue = drivers::catalogue(None).unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let experiment = parse(&path.to_string_lossy(), &text, &catalogue);
            (name, experiment.unwrap_or_else(|problems| panic!("{problems}")))
        })
        .collect()
}

#[test]
fn each_file_is_valid_and_named_for_its_experiment() {
    for (name, experiment) in experiments() {
        assert_eq!(name, experiment.id);
        for scale in [Scale::Quick, Scale::Default, Scale::Paper] {
            assert!(
                variants(&experiment, scale, &drivers::catalogue(None).unwrap()).len() >= 2,
                "{name}"
            );
        }
    }
}

/// An agent of a fleet refuses settings that the catalogue does not know, so it must know those of every plan and of its tiers.
#[test]
fn every_setting_of_a_plan_is_one_that_an_agent_accepts() {
    let catalogue = drivers::catalogue(None).unwrap();
    for scale in [Scale::Quick, Scale::Default, Scale::Paper] {
        let request = Request {
            id: "r".to_owned(),
            created: String::new(),
            pragmark: String::new(),
            seed: Seed(1),
            scale,
            engine: "default".to_owned(),
            quick: false,
            trial_limit_s: 1.0,
            budget_s: None,
            tiers: true,
            postgres_given: false,
            experiments: experiments().into_iter().map(|(_, it)| it).collect(),
            directories: vec![".".into()],
        };
        let planned = plan(request, &catalogue);
        let tiers = tier_plan(&planned).expect("some experiment has unknown tiers");
        assert!(planned.work().count() > 500 && tiers.work().count() > 10);
        for (workload, settings) in planned.work().chain(tiers.work()) {
            assert_eq!(catalogue.check(workload, settings), Ok(()), "{settings:?}");
        }
    }
}

/// A run measures safety tiers whatever an experiment is about, unless it was started without them.
#[test]
fn no_note_says_that_something_is_not_measured() {
    for (name, experiment) in experiments() {
        let note = experiment.note.unwrap_or_default();
        assert!(!note.contains("not measure"), "{name}: {note}");
    }
}

#[test]
fn every_scale_is_given_where_one_is() {
    for (name, experiment) in experiments() {
        let given = experiment.scale.len();
        assert!(given == 0 || given == 3, "{name} gives {given} of the three scales");
    }
}

/// The claims and checks of all experiments, of which no two have the same id.
fn claims() -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    for (name, experiment) in experiments() {
        let claims = experiment.claims.iter().map(|claim| &claim.id);
        let checks = experiment.checks.iter().map(|check| &check.id);
        for id in claims.chain(checks) {
            assert!(seen.insert(id.clone()), "{name}: {id} is checked twice");
        }
    }
    seen
}

fn assert_checked(family: &str, numbers: RangeInclusive<u32>) {
    let seen = claims();
    for number in numbers {
        let id = format!("{family}-{number:02}");
        // A claim of several predicates has a part for each: ins-12-order, ins-12-equal.
        let checked = seen.iter().any(|claim| *claim == id || claim.starts_with(&format!("{id}-")));
        assert!(checked, "no experiment checks {id}");
    }
}

#[test]
fn every_claim_of_the_article_on_insert_speed_is_checked_by_one_experiment() {
    assert_checked("ins", 1..=44);
}

#[test]
fn every_claim_of_the_article_on_full_text_search_is_checked_by_one_experiment() {
    assert_checked("fts", 1..=37);
}

#[test]
fn every_claim_of_the_article_on_activerecord_is_checked_by_one_experiment() {
    assert_checked("orm", 1..=22);
}

#[test]
fn every_claim_about_the_permutations_of_settings_is_checked_by_one_experiment() {
    assert_checked("prm", 1..=16);
}

#[test]
fn every_claim_of_the_article_on_files_and_sqlite_is_checked_by_one_experiment() {
    assert_checked("fsx", 1..=15);
}

#[test]
fn the_experiments_of_an_article_name_it_as_their_source() {
    for (name, experiment) in experiments() {
        let of_article = ["permutation-", "databases-"];
        if of_article.iter().any(|family| name.starts_with(family)) {
            assert_eq!(experiment.source.as_deref(), Some("002"), "{name}");
        }
    }
}

/// The tables of the article on full-text search, by experiment and published rows; the eight
/// tokenizers make up the rest of its 79 rows.
const SETTINGS_ROWS: [(&str, usize); 12] = [
    ("settings-synchronous", 4),
    ("settings-temp-store", 2),
    ("settings-cache-size", 5),
    ("settings-journal-mode", 6),
    ("settings-page-size", 5),
    // Two sizes that were meant stand beside the three that were published.
    ("settings-mmap-size", 3 + 2),
    ("settings-locking-mode", 2),
    // The level fast is not published.
    ("settings-secure-delete", 2 + 1),
    ("settings-threads", 3),
    // The defaults stand beside the published combinations.
    ("settings-combinations", 32 + 1),
    ("settings-tiers", 3),
    ("settings-batching", 4),
];

#[test]
fn every_published_row_of_the_settings_tables_is_an_variant() {
    let experiments = experiments();
    for (id, rows) in SETTINGS_ROWS {
        let (_, experiment) =
            experiments.iter().find(|(name, _)| name == id).unwrap_or_else(|| panic!("no {id}"));
        let variants = variants(experiment, Scale::Default, &drivers::catalogue(None).unwrap());
        assert_eq!(variants.len(), rows, "{id}");
        assert!(variants.iter().all(|variant| variant.settings["rows"] == 10_000.into()));
    }
    let extra = 2 + 1 + 1;
    let published: usize = SETTINGS_ROWS.iter().map(|(_, rows)| rows).sum();
    assert_eq!(published - extra + 8, 79);
}

#[test]
fn the_full_grid_has_several_hundred_variants_and_the_reduced_one_sixteen() {
    for (name, experiment) in experiments() {
        let count =
            || variants(&experiment, Scale::Quick, &drivers::catalogue(None).unwrap()).len();
        match name.as_str() {
            "permutation-insert-once" => assert_eq!(count(), 2 * 2 * 3 * 3 * 3 * 4),
            "permutation-insert-twice" => assert_eq!(count(), 2 * 3 * 2 * 4 * 3),
            "permutation-insert-large" => assert_eq!(count(), 3 * 2 * 4),
            "permutation-reduced-twice" | "permutation-reduced-ten" | "permutation-copy" => {
                assert_eq!(count(), 16);
            }
            _ => {}
        }
    }
}
