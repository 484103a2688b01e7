//! Levels and settings: the values that a factor may take and their assignment to names.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One value of a factor or parameter, as written in an experiment file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Level {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// A name.
    Text(String),
}

impl Level {
    /// Returns the whole number, when this is one.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Level::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns the name, when this is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Level::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the truth value, when this is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Level::Bool(value) => Some(*value),
            _ => None,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Level::Bool(value) => write!(f, "{value}"),
            Level::Int(value) => write!(f, "{value}"),
            Level::Float(value) => write!(f, "{value}"),
            Level::Text(text) => f.write_str(text),
        }
    }
}

impl From<&str> for Level {
    fn from(text: &str) -> Self {
        Level::Text(text.to_owned())
    }
}

impl From<i64> for Level {
    fn from(value: i64) -> Self {
        Level::Int(value)
    }
}

impl From<bool> for Level {
    fn from(value: bool) -> Self {
        Level::Bool(value)
    }
}

/// An assignment of levels to parameter, PRAGMA or connection setting names.
pub type Settings = BTreeMap<String, Level>;

/// `under` with everything in `over` put on top.
pub fn overlaid(under: &Settings, over: &Settings) -> Settings {
    let mut result = under.clone();
    result.extend(over.clone());
    result
}

/// `levels` with one of them set.
pub fn with(levels: &Settings, name: &str, level: &Level) -> Settings {
    let mut result = levels.clone();
    result.insert(name.to_owned(), level.clone());
    result
}

/// Returns the entries whose names are wanted.
pub fn picked(settings: &Settings, wanted: impl Fn(&String) -> bool) -> Settings {
    let mut picked = settings.clone();
    picked.retain(|name, _| wanted(name));
    picked
}

/// Returns whether every entry of `part` stands in `whole` with the same level.
pub fn contains(whole: &Settings, part: &Settings) -> bool {
    part.iter().all(|(name, level)| whole.get(name) == Some(level))
}

/// Returns the settings as a label: `journal_mode=wal synchronous=normal`.
pub fn label(settings: &Settings) -> String {
    settings.iter().map(|(name, level)| format!("{name}={level}")).collect::<Vec<_>>().join(" ")
}

/// Returns each of the items once, in the order in which they first come.
pub fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut once: Vec<T> = Vec::new();
    for item in items {
        if !once.contains(&item) {
            once.push(item);
        }
    }
    once
}

/// Returns the settings `at` with each level of a factor in turn.
pub fn levels_over(
    factors: &BTreeMap<String, Vec<Level>>,
    factor: &str,
    at: &Settings,
) -> Vec<Settings> {
    factors.get(factor).into_iter().flatten().map(|level| with(at, factor, level)).collect()
}

/// Returns a level as a command line gives it: a truth value, a number, or else text.
pub fn level_of(text: &str) -> Level {
    let truth = text.parse().map(Level::Bool).ok();
    let whole = || text.parse().map(Level::Int).ok();
    truth.or_else(whole).unwrap_or_else(|| Level::Text(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_has_the_type_that_it_looks_like() {
        assert_eq!(level_of("-2000"), Level::Int(-2_000));
        assert_eq!(level_of("true"), Level::Bool(true));
        assert_eq!(level_of("wal"), Level::Text("wal".to_owned()));
        assert_eq!(level_of("1.5"), Level::Text("1.5".to_owned()));
    }
}
