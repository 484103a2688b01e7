//! The workloads that exercise a library before it is compiled with a profile.
//!
//! It stands apart from workloads because it is a choice among them: a bit of everything that SQLite is
//! asked for, so that a compiler which favours what it saw does not favour one experiment. What was not
//! seen is optimised for size and becomes slower. Engines are kept by what they were made with: whoever
//! changes the exercises raises `TRAINING` in `build/builder.rs` of `engine`.

use lab::level::{Level, Settings};

use crate::catalogue;

/// The workloads with what differs from their defaults.
const EXERCISES: [(&str, &str); 8] = [
    ("bulk-insert", "order=shuffled index=before"),
    ("bulk-insert", "rows=20000 rows_per_txn=10 journal_mode=wal synchronous=off"),
    ("user-insert", "rows=50000"),
    ("quotes", "rows=20000 copies=0"),
    ("fts-update", "rows=1000 changes=200 change=mixed repeat=1"),
    ("set-query", "method=in-list lookup=primary-key queries=100"),
    ("set-query", "method=temp-table lookup=index queries=100"),
    ("set-query", "method=json-each lookup=primary-key queries=100"),
];

/// Returns the level that is written so: a whole number or a name.
fn level(text: &str) -> Level {
    text.parse::<i64>().map_or_else(|_| text.into(), Level::Int)
}

/// Returns the workloads of a training run, each with all its settings.
pub fn training() -> Vec<(String, Settings)> {
    let catalogue = catalogue();
    EXERCISES
        .iter()
        .filter_map(|(workload, over)| {
            let mut settings = catalogue.defaults(catalogue.workload(workload)?);
            let over = over.split(' ').filter_map(|one| one.split_once('='));
            settings.extend(over.map(|(name, value)| (name.to_owned(), level(value))));
            Some(((*workload).to_owned(), settings))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exercise_is_of_a_workload_that_exists_with_settings_that_it_takes() {
        let catalogue = catalogue();
        let training = training();
        assert_eq!(training.len(), EXERCISES.len());
        for (name, settings) in training {
            let workload = catalogue.workload(&name).unwrap();
            for (setting, level) in &settings {
                let parameter = catalogue.setting(workload, setting).unwrap();
                assert!(parameter.accepts.allows(level), "{name}: {setting}={level}");
            }
            assert_eq!(catalogue.why_impossible(workload, &settings), None, "{name}");
        }
    }
}
