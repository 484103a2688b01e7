//! The form of an experiment file.
//!
//! The JSON schema of experiment files: published for editors, and the source of the check for
//! unknown keys.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::scale::Scale;
use crate::claims::Claim;
use crate::design::Stopping;
use crate::level::{Level, Settings};
use crate::measures::Measures;

/// A question and how to answer it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Unique name: lower-case words joined by hyphens.
    pub id: String,
    /// The question, in one sentence.
    pub question: String,
    /// Where the question comes from, such as the number of an article.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// A note for the reader of the report: what to look at, and known surprises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The workload to run.
    pub workload: String,
    /// The metric by which variants are compared; the rate or time of the workload by default.
    #[serde(default)]
    pub metric: String,
    /// Further metrics that the report lists for each variant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secondary_metrics: Vec<String>,
    /// Settings of every variant.
    #[serde(default, skip_serializing_if = "Settings::is_empty")]
    pub base: Settings,
    /// Settings that depend on the scale of the run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scale: BTreeMap<Scale, Settings>,
    /// The factors and the levels of each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub factors: BTreeMap<String, Vec<Level>>,
    /// The levels of a factor that a scale keeps, where it does not keep all of them: for example
    /// sizes that take too long at a smaller scale. Other factors keep every level.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub levels: BTreeMap<Scale, BTreeMap<String, Vec<Level>>>,
    /// Factors that are conditions rather than choices: problem sizes and kinds of data. They are
    /// compared and drawn like the others, but their levels are never recommended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<String>,
    /// Words for levels, by factor and then by the level as written. They name the variants that have
    /// no label of their own.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// Labels and answers of single variants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<VariantName>,
    /// Settings for some variants only, for example fewer rows for a very slow variant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adjust: Vec<Adjustment>,
    /// Combinations that are left out of a factorial design.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<Exclusion>,
    /// Upper bounds, measured with the variants but not ranked: the same input without SQLite.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub upper_bounds: Vec<UpperBoundFile>,
    /// Which variants there are and how they are compared.
    pub design: Design,
    /// Published statements to check.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
    /// Statements that every trial verifies, so that a trial in which one does not hold fails. They are no
    /// claims, since no figure of a measured trial could refute them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
}

/// A statement that every trial verifies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Unique name, such as `fts-32`.
    pub id: String,
    /// The statement in words.
    pub says: String,
}

impl Experiment {
    /// Returns the subject that its workload measures.
    pub fn measures(&self) -> Measures {
        Measures::of(&self.workload)
    }

    /// Returns the text of a file that holds this experiment.
    ///
    /// # Errors
    /// It holds what TOML cannot, in words: a number beyond 64 bits.
    pub fn to_toml(&self) -> Result<String, String> {
        toml::to_string(self).map_err(|error| error.to_string())
    }

    /// Returns whether a scale measures the variant with these levels.
    pub fn keeps(&self, scale: Scale, levels: &Settings) -> bool {
        self.levels.get(&scale).is_none_or(|kept| {
            kept.iter()
                .all(|(factor, kept)| levels.get(factor).is_none_or(|level| kept.contains(level)))
        })
    }
}

/// Settings that override the base for variants with certain levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Adjustment {
    /// The levels that a variant must have.
    #[serde(rename = "for")]
    pub levels: Settings,
    /// Settings at every scale.
    #[serde(default, skip_serializing_if = "Settings::is_empty")]
    pub base: Settings,
    /// Settings at one scale.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scale: BTreeMap<Scale, Settings>,
}

/// A combination that a factorial design leaves out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exclusion {
    /// The levels that are not combined.
    pub levels: Settings,
    /// Why they are not combined.
    pub because: String,
}

/// Something that bounds what the variants can reach: measured in the same blocks, but neither ranked
/// nor compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpperBoundFile {
    /// Its name.
    pub name: String,
    /// A description in words.
    pub says: String,
    /// The workload.
    pub workload: String,
    /// Settings in addition to those of the experiment's base and scale that the workload knows.
    #[serde(default, skip_serializing_if = "Settings::is_empty")]
    pub settings: Settings,
    /// Settings that depend on the scale of the run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scale: BTreeMap<Scale, Settings>,
}

/// Which variants there are, and when to stop measuring.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Design {
    /// How factors are combined into variants.
    pub kind: DesignKind,
    /// The variant that the others are compared with: a level for every factor.
    pub baseline: Settings,
    /// The variants other than the baseline; for the kind `list` only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<Settings>,
    /// When to stop measuring.
    #[serde(default)]
    pub stopping: Stopping,
}

/// How factors are combined into variants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DesignKind {
    /// The baseline, and each other level of each factor by itself.
    #[default]
    OneAtATime,
    /// Every combination of levels.
    Factorial,
    /// The variants that are listed.
    List,
}

/// Words for levels, by factor and then by the level as written: `rows_per_txn`, then `0`, reads
/// `all rows in one transaction`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Labels(pub BTreeMap<String, BTreeMap<String, String>>);

impl Labels {
    /// Returns the words for a level, where the file gives some.
    pub fn of(&self, factor: &str, level: &Level) -> Option<&str> {
        Some(self.0.get(factor)?.get(&level.to_string())?)
    }

    /// Returns the words for a level, or `factor=level`.
    pub fn level_name(&self, factor: &str, level: &Level) -> String {
        match self.of(factor, level) {
            Some(words) => words.to_owned(),
            None => format!("{factor}={level}"),
        }
    }

    /// Returns the names of these levels one after another; `None` if no level has words.
    pub fn compose(&self, levels: &Settings) -> Option<String> {
        let has_words = levels.iter().any(|(factor, level)| self.of(factor, level).is_some());
        let names = levels.iter().map(|(factor, level)| self.level_name(factor, level));
        has_words.then(|| names.collect::<Vec<_>>().join(", "))
    }

    /// Returns whether the file gives no words.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The name of one variant, and what to do when it is the best.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VariantName {
    /// The levels that identify the variant; those not given are the baseline's.
    pub levels: Settings,
    /// Its name in a few words, used instead of its levels in answers, tables and charts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The recommendation when this variant is the best: one sentence for a reader who has not read the
    /// experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// Returns the JSON schema (draft 2020-12) of an experiment file.
pub fn experiment_schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let mut schema = schemars::schema_for!(Experiment).to_value();
        schema["title"] = Value::from("pragmark experiment");
        schema
    })
}

/// One place in the schema, with baselines followed.
#[derive(Clone)]
pub(super) struct Form {
    node: &'static Value,
}

impl Form {
    pub(super) fn of_experiment() -> Form {
        Form { node: experiment_schema() }
    }

    /// Returns the keys this table may have; `None` where any name is allowed.
    pub(super) fn keys(&self) -> Option<Vec<String>> {
        Some(self.node.get("properties")?.as_object()?.keys().cloned().collect())
    }

    /// Returns the form of what stands under `key`.
    pub(super) fn child(&self, key: &str) -> Option<Form> {
        let node = self.node.get("properties")?.get(key)?;
        Some(Form { node: resolve(node) })
    }

    /// Returns the form of the elements of this array.
    pub(super) fn items(&self) -> Option<Form> {
        Some(Form { node: resolve(self.node.get("items")?) })
    }
}

/// Follows `$ref`, and takes the alternative that is not `null` of an optional value.
fn resolve(node: &'static Value) -> &'static Value {
    if let Some(name) =
        node.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next())
    {
        return resolve(&experiment_schema()["$defs"][name]);
    }
    let alternatives = node.get("anyOf").and_then(Value::as_array);
    let present = alternatives.and_then(|all| all.iter().find(|one| one["type"] != "null"));
    match present {
        Some(present) if alternatives.is_some_and(|all| all.len() == 2) => resolve(present),
        _ => node,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_experiment_reads_back_the_same() {
        let text = "id = \"a\"\nquestion = \"?\"\nworkload = \"w\"\nbase = { rows = 3, sql = \"SELECT 'x'\\n;\" }\n[factors]\njournal_mode = [\"wal\", \"delete\"]\n[design]\nkind = \"factorial\"\nbaseline = { journal_mode = \"wal\" }\n[[variants]]\nlevels = { journal_mode = \"wal\" }\nlabel = \"the log\"\n";
        let experiment: Experiment = toml::from_str(text).unwrap();
        let written = experiment.to_toml().unwrap();
        assert_eq!(toml::from_str::<Experiment>(&written).unwrap(), experiment);
    }
}
