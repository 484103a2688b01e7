//! Names of variants and levels in people's words, and the check that each names something there is.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::positions::Step;
use super::validate::{Checker, below};
use crate::design::{Variant, select};
use crate::level::{Level, Settings};

/// Words for levels, by factor and then by the level as written: `rows_per_txn`, then `0`, reads
/// `all rows in one transaction`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Labels(pub BTreeMap<String, BTreeMap<String, String>>);

impl Labels {
    /// The words for a level, where the file gives some.
    pub fn of(&self, factor: &str, level: &Level) -> Option<&str> {
        Some(self.0.get(factor)?.get(&level.to_string())?)
    }

    /// The words for a level, or `factor=level`.
    pub fn level_name(&self, factor: &str, level: &Level) -> String {
        match self.of(factor, level) {
            Some(words) => words.to_owned(),
            None => format!("{factor}={level}"),
        }
    }

    /// The names of these levels one after another; none where no level has words.
    pub fn compose(&self, levels: &Settings) -> Option<String> {
        let has_words = levels.iter().any(|(factor, level)| self.of(factor, level).is_some());
        let names = levels.iter().map(|(factor, level)| self.level_name(factor, level));
        has_words.then(|| names.collect::<Vec<_>>().join(", "))
    }

    /// Whether the file gives no words.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What one variant is called, and what to do when it is the best.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VariantName {
    /// The levels that identify the variant; those not given are the baseline's.
    pub levels: Settings,
    /// Its name in a few words, used instead of its levels in answers, tables and charts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What to do when this variant is the best: one sentence for a reader who has not read the
    /// experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

impl Checker<'_, '_, '_> {
    pub(super) fn check_names(&mut self, variants: &[Variant]) {
        let mut levels: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (factor, level) in variants.iter().flat_map(|variant| &variant.levels) {
            let of_factor = levels.entry(factor.clone()).or_default();
            of_factor.insert(level.to_string());
        }
        for (factor, words) in &self.experiment.labels.0 {
            self.check_labels(factor, words, &levels);
        }
        self.check_named_variants(variants);
    }

    fn check_labels(
        &mut self,
        factor: &str,
        words: &BTreeMap<String, String>,
        levels: &BTreeMap<String, BTreeSet<String>>,
    ) {
        let path = ["labels", factor].map(Step::from);
        let Some(known) = levels.get(factor) else {
            let factors = levels.keys().map(String::as_str);
            let what = format!("`{factor}` is not a factor of this experiment");
            self.findings.unknown(&path, what, factor, factors);
            return;
        };
        for (level, label) in words {
            let path = below(&path, level.as_str());
            if !known.contains(level) {
                let levels = known.iter().map(String::as_str);
                let what = format!("`{level}` is not a level of `{factor}`");
                self.findings.unknown(&path, what, level, levels);
            } else if label.trim().is_empty() {
                self.findings.at(&path, "a label must not be empty");
            }
        }
    }

    fn check_named_variants(&mut self, variants: &[Variant]) {
        let mut named = BTreeSet::new();
        for (index, name) in self.experiment.variants.iter().enumerate() {
            let path = [Step::from("variants"), index.into()];
            if name.label.is_none() && name.answer.is_none() {
                self.findings.at(&path, "give a `label` or an `answer`");
            }
            let levels = below(&path, "levels");
            if !self.check_held_levels(&levels, &name.levels) {
                continue;
            }
            match select(variants, &name.levels) {
                Err(error) => self.findings.at(&levels, error.to_string()),
                Ok(variant) if !named.insert(variant) => {
                    let label = &variants[variant].label;
                    let what = format!("the variant `{label}` is named twice");
                    self.findings.at(&levels, what);
                }
                Ok(_) => {}
            }
        }
    }
}
