//! What a library is exercised with before it is compiled with a profile.
//!
//! It stands apart from workloads because it is a choice among them: a bit of everything that SQLite is
//! asked for, so that a compiler which favours what it saw does not favour one experiment. What was not
//! seen is optimised for size and becomes slower. Engines are kept by what they were made with: whoever
//! changes the exercises raises `TRAINING` in `build/builder.rs` of `engine`.

use lab::level::{Level, Settings};

use crate::catalogue;

/// The workloads with what differs from their defaults.
fn exercises() -> Vec<(&'static str, Vec<(&'static str, Level)>)> {
    let settings = |over: &[(&'static str, Level)]| over.to_vec();
    let mut all = vec![
        (
            "bulk-insert",
            settings(&[("order", "shuffled".into()), ("index", "before".into())]),
        ),
        (
            "bulk-insert",
            settings(&[
                ("rows", 20_000.into()),
                ("rows_per_txn", 10.into()),
                ("journal_mode", "wal".into()),
                ("synchronous", "off".into()),
            ]),
        ),
        ("user-insert", settings(&[("rows", 50_000.into())])),
        (
            "quotes",
            settings(&[("rows", 20_000.into()), ("copies", 0.into())]),
        ),
        (
            "fts-update",
            settings(&[
                ("rows", 1_000.into()),
                ("changes", 200.into()),
                ("change", "mixed".into()),
                ("repeat", 1.into()),
            ]),
        ),
    ];
    for (method, lookup) in [
        ("in-list", "primary-key"),
        ("temp-table", "index"),
        ("json-each", "primary-key"),
    ] {
        all.push((
            "set-query",
            settings(&[
                ("method", method.into()),
                ("lookup", lookup.into()),
                ("queries", 100.into()),
            ]),
        ));
    }
    all
}

/// The workloads of a training run, each with all its settings.
pub fn training() -> Vec<(String, Settings)> {
    let catalogue = catalogue();
    exercises()
        .into_iter()
        .filter_map(|(workload, over)| {
            let mut settings = catalogue.defaults(catalogue.workload(workload)?);
            let over = over.into_iter();
            settings.extend(over.map(|(name, level)| (name.to_owned(), level)));
            Some((workload.to_owned(), settings))
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
        assert_eq!(training.len(), exercises().len());
        for (name, settings) in training {
            let workload = catalogue.workload(&name).unwrap();
            for (setting, level) in &settings {
                let parameter = catalogue.setting(workload, setting).unwrap();
                assert!(parameter.accepts.allows(level), "{name}: {setting}={level}");
            }
            assert_eq!(
                catalogue.why_impossible(workload, &settings),
                None,
                "{name}"
            );
        }
    }
}
