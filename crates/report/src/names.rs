//! Names of the variants of one experiment.
//!
//! A label names the level of every factor. Within its experiment much of that says nothing: what
//! all variants share, and in a design that changes one factor at a time everything but the change.

use lab::analysis::ExperimentAnalysis;
use lab::level::{Settings, label, picked};

use crate::document::{Cell, Sentence, joined};

/// Names of the variants, in the order of the plan.
pub(crate) struct Names(Vec<Name>);

struct Name {
    /// In people's words, where the experiment has some.
    words: Option<String>,
    /// The levels that tell it apart.
    levels: String,
    /// Whether one of them is more than an empty text.
    has_levels: bool,
}

impl Names {
    /// The shortest names that still tell the variants apart.
    pub(crate) fn of(experiment: &ExperimentAnalysis) -> Names {
        let all: Vec<&Settings> =
            experiment.variants.iter().map(|variant| &variant.levels).collect();
        let Some(baseline) = all.first() else { return Names(Vec::new()) };
        let is_small = |levels: &&Settings| changed(levels, baseline).len() <= 1;
        let one_at_a_time = all.iter().all(is_small);
        let names = experiment.variants.iter().enumerate().map(|(index, variant)| {
            let telling = if one_at_a_time && index > 0 {
                changed(&variant.levels, baseline)
            } else {
                varying(&variant.levels, &all)
            };
            let shown = if telling.is_empty() { &variant.levels } else { &telling };
            let levels =
                if shown.is_empty() { "the only variant".to_owned() } else { label(shown) };
            let words = experiment.name_by(variant, &telling);
            let has_levels = shown.values().any(|level| !level.to_string().is_empty());
            Name { words, levels, has_levels }
        });
        Names(names.collect())
    }

    /// The name without any dress.
    pub(crate) fn plain(&self, variant: usize) -> &str {
        let name = &self.0[variant];
        name.words.as_deref().unwrap_or(&name.levels)
    }

    /// The name: words, or levels as code.
    pub(crate) fn sentence(&self, variant: usize) -> Sentence {
        let name = &self.0[variant];
        match &name.words {
            Some(words) => words.as_str().into(),
            None => Sentence::code(&name.levels),
        }
    }

    /// The baseline by its name, in a sentence.
    pub(crate) fn baseline(&self) -> Sentence {
        match &self.0[0].words {
            Some(words) if words.starts_with("the ") => words.as_str().into(),
            Some(words) => format!("the baseline “{words}”").into(),
            None => Sentence::from("the baseline ").and(self.sentence(0)),
        }
    }

    /// The levels where the name does not say them, and there are any.
    pub(crate) fn detail(&self, variant: usize) -> Sentence {
        let name = &self.0[variant];
        match name.words {
            Some(_) if name.has_levels => Sentence::code(&name.levels),
            _ => Sentence::default(),
        }
    }

    /// A cell with the name, without a clause about it. The table of figures has that and the levels.
    pub(crate) fn cell(&self, variant: usize) -> Cell {
        let words = self.0[variant].words.as_ref().and_then(|words| words.split_once(", which "));
        Cell::new(words.map_or_else(|| self.sentence(variant), |(name, _)| name.into()))
    }

    /// A cell with the name, its levels beneath.
    pub(crate) fn full_cell(&self, variant: usize) -> Cell {
        Cell::new(self.sentence(variant)).with_below(self.detail(variant))
    }

    /// Names in a row, the first `most` of them: `a, b and 3 more`.
    pub(crate) fn list(&self, variants: &[usize], most: usize) -> Sentence {
        let names = variants.iter().map(|variant| self.sentence(*variant));
        listed(names.collect(), most)
    }
}

/// Names in a row, the first `most` of them: `a, b and 3 more`.
pub(crate) fn listed(mut names: Vec<Sentence>, most: usize) -> Sentence {
    // Naming the last one takes no more room than saying that there is one more.
    let left = if names.len() > most + 1 { names.split_off(most).len() } else { 0 };
    let last = match left {
        0 if names.len() > 1 => names.pop(),
        0 => None,
        left => Some(format!("{left} more").into()),
    };
    let first = joined(names, ", ");
    match last {
        Some(last) => first.words(" and ").and(last),
        None => first,
    }
}

/// A name in people's words, or these levels.
pub(crate) fn named(words: Option<&String>, levels: &Settings) -> Sentence {
    match words {
        Some(words) => words.as_str().into(),
        None => Sentence::code(label(levels)),
    }
}

/// The levels of `variant` that differ from the baseline.
fn changed(variant: &Settings, baseline: &Settings) -> Settings {
    picked(variant, |name| variant.get(name) != baseline.get(name))
}

/// The levels of factors in which variants differ.
fn varying(variant: &Settings, all: &[&Settings]) -> Settings {
    let differs = |name: &String| all.iter().any(|levels| levels.get(name) != all[0].get(name));
    picked(variant, differs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_has_the_name_without_a_clause_about_it() {
        let name = |words: &str| Name {
            words: Some(words.to_owned()),
            levels: "journal_mode=wal".to_owned(),
            has_levels: true,
        };
        let names =
            Names(vec![name("the current settings, which are SQLite's defaults"), name("a, b")]);
        assert_eq!(
            [0, 1].map(|one| names.cell(one).text.plain()),
            ["the current settings", "a, b"]
        );
        assert!(names.full_cell(0).text.plain().ends_with("defaults"));
        assert!(names.baseline().plain().starts_with("the current settings"));
        assert_eq!(Names(vec![name("a, b")]).baseline().plain(), "the baseline “a, b”");
    }

    #[test]
    fn names_beyond_the_first_are_counted_unless_there_is_only_one() {
        let names = |count: usize| {
            let all = ["a", "b", "c", "d"].map(Sentence::from);
            all[..count].to_vec()
        };
        assert_eq!(listed(names(1), 2).plain(), "a");
        assert_eq!(listed(names(2), 2).plain(), "a and b");
        assert_eq!(listed(names(3), 2).plain(), "a, b and c");
        assert_eq!(listed(names(4), 2).plain(), "a, b and 2 more");
        assert_eq!(listed(Vec::new(), 2).plain(), "");
    }
}
