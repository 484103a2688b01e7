//! What `pragmark tune` varies: settings of SQLite with the levels worth trying, and combinations known to be good.

use engine::pragma;
use lab::level::{Level, Settings};
use lab::tuning::Lever;

/// A PRAGMA, the levels worth trying (its default is added), and the setting and levels without which it means nothing.
type Row = (
    &'static str,
    &'static [&'static str],
    Option<(&'static str, &'static [&'static str])>,
);

/// The PRAGMAs. `locking_mode` and `secure_delete` are left out: they change what other programs can do with the file,
/// and what stays in it. A log without checkpoints (`wal_autocheckpoint=0`) grows without bound.
const PRAGMAS: [Row; 9] = [
    (
        "journal_mode",
        &["truncate", "persist", "wal", "memory", "off"],
        None,
    ),
    ("synchronous", &["normal", "extra", "off"], None),
    ("cache_size", &["-16384", "-65536", "-262144"], None),
    ("mmap_size", &["268435456", "2147418112"], None),
    ("temp_store", &["memory"], None),
    (
        "wal_autocheckpoint",
        &["100", "10000"],
        Some(("journal_mode", &["wal"])),
    ),
    (
        "journal_size_limit",
        &["0", "67108864"],
        Some(("journal_mode", &["persist", "wal"])),
    ),
    ("threads", &["2", "4"], None),
    ("automatic_index", &["off"], None),
];

/// Combinations known to be good elsewhere, from the most widely used advice.
const GOOD: [&[(&str, &str)]; 3] = [
    &[("journal_mode", "truncate"), ("synchronous", "full")],
    &[
        ("journal_mode", "wal"),
        ("synchronous", "full"),
        ("cache_size", "-65536"),
    ],
    &[
        ("journal_mode", "wal"),
        ("synchronous", "normal"),
        ("cache_size", "-65536"),
        ("mmap_size", "268435456"),
        ("temp_store", "memory"),
    ],
];

/// The settings that are varied.
pub fn levers() -> Vec<Lever> {
    PRAGMAS.iter().map(lever).collect()
}

fn lever((name, levels, only_with): &Row) -> Lever {
    let default = pragma::find(name).and_then(|pragma| pragma.default);
    let all = default.into_iter().chain(levels.iter().copied());
    let of = |(name, levels): &(&str, &[&str])| {
        let levels = levels.iter().map(|level| level_of_pragma(name, level));
        ((*name).to_owned(), levels.collect())
    };
    Lever {
        name: (*name).to_owned(),
        // What decides on safety is always said.
        always_named: ["journal_mode", "synchronous"].contains(name),
        levels: all.map(|level| level_of_pragma(name, level)).collect(),
        only_with: only_with.as_ref().map(of),
    }
}

/// Combinations of them known to be good elsewhere.
pub fn good_settings() -> Vec<Settings> {
    let settings = |good: &&[(&str, &str)]| -> Settings {
        let levels = good.iter();
        levels
            .map(|(name, level)| ((*name).to_owned(), level_of_pragma(name, level)))
            .collect()
    };
    GOOD.iter().map(settings).collect()
}

/// The level of a PRAGMA as experiments write it: a truth value, a number or a word.
pub fn level_of_pragma(name: &str, value: &str) -> Level {
    let pragma = pragma::find(name);
    let normal = pragma.and_then(|pragma| pragma.normalise(value).ok());
    let value = normal.unwrap_or_else(|| value.to_owned());
    let is_boolean = pragma.is_some_and(|it| matches!(it.values, pragma::Values::Boolean));
    match (is_boolean, value.parse()) {
        (true, _) => Level::Bool(value == "on"),
        (false, Ok(number)) => Level::Int(number),
        (false, Err(_)) => Level::Text(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_is_one_that_its_setting_accepts_and_the_default_comes_first() {
        let catalogue = crate::catalogue();
        for lever in levers() {
            let mut shared = catalogue.shared.iter();
            let setting = shared.find(|it| it.name == lever.name).unwrap();
            for level in &lever.levels {
                assert!(setting.accepts.allows(level), "{}={level}", lever.name);
            }
            let default = pragma::find(&lever.name).unwrap().default.unwrap();
            assert_eq!(lever.levels[0], level_of_pragma(&lever.name, default));
        }
    }

    #[test]
    fn what_is_known_to_be_good_is_in_the_space() {
        let levers = levers();
        for (name, level) in good_settings().iter().flatten() {
            let lever = levers.iter().find(|lever| lever.name == *name).unwrap();
            assert!(lever.levels.contains(level), "{name}={level}");
        }
    }
}
