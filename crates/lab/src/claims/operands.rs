//! What the forms of claims compare: variants, lists of variants, extremes and devices.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::experiment::Experiment;
use crate::level::{Level, Settings, overlaid, with};

/// Two variants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// The variant in the numerator: the baseline with these levels.
    pub of: Settings,
    /// The variant in the denominator: the baseline with these levels.
    pub to: Settings,
    /// Over the whole design: the mean, over every pair of variants that differ in nothing but these
    /// levels, of the one divided by the other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub across: bool,
    /// The metric; the experiment's own by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// The metric in the denominator, for a claim that compares two metrics of the same trials; both
    /// variants are then the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_metric: Option<String>,
}

/// Two pairs of variants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pairs {
    /// The upper variant of the first ratio: the baseline with these levels.
    pub of: Settings,
    /// The lower variant of the first ratio.
    pub to: Settings,
    /// The upper variant of the ratio that the first is divided by.
    pub over_of: Settings,
    /// The lower variant of the ratio that the first is divided by.
    pub over_to: Settings,
    /// The metric; the experiment's own by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// The metric in the denominator of either ratio, where each compares two metrics of the same trials;
    /// its two variants are then the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_metric: Option<String>,
}

/// One variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Single {
    /// The variant: the baseline with these levels.
    pub of: Settings,
    /// The metric; the experiment's own by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
}

/// Several variants: listed, or all levels of a factor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Listed {
    /// The variants: each the baseline with these levels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<Settings>,
    /// A factor, for one variant per level in the order of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// Levels of the other factors.
    #[serde(default, skip_serializing_if = "Settings::is_empty")]
    pub at: Settings,
    /// Whether the variant with the worst figure is left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_worst: bool,
    /// Over the whole design: the mean, over every pair of variants that differ in nothing but the
    /// levels listed, of the one divided by the other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub across: bool,
    /// The metric; the experiment's own by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
}

/// Where a metric is largest or smallest: along a factor, or among all variants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Extreme {
    /// The factor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// The levels one of which is claimed to be the extreme.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub is: Vec<Level>,
    /// Instead of `over` and `is`: the variant that is claimed to be the extreme of all, the baseline with
    /// these levels.
    #[serde(default, skip_serializing_if = "Settings::is_empty")]
    pub variant: Settings,
    /// Levels of the other factors.
    #[serde(default, skip_serializing_if = "Settings::is_empty")]
    pub at: Settings,
    /// The metric; the experiment's own by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
}

/// Which levels the best variants have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Best {
    /// The share of all variants that counts as the best, such as 0.1 for the best tenth; rounded up to
    /// whole variants.
    pub share: f64,
    /// The levels that each of them is claimed to have.
    pub hold: Settings,
    /// The metric; the experiment's own by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
}

impl Listed {
    /// The levels of each item of the list.
    pub fn levels(&self, experiment: &Experiment) -> Vec<Settings> {
        match &self.over {
            Some(factor) => experiment.levels_over(factor, &self.at),
            None => {
                let variants = self.variants.iter();
                variants.map(|levels| overlaid(&self.at, levels)).collect()
            }
        }
    }
}

impl Extreme {
    /// The levels of each variant that may be the extreme.
    pub fn levels(&self) -> Vec<Settings> {
        match &self.over {
            Some(factor) => {
                let is = self.is.iter();
                is.map(|level| with(&self.at, factor, level)).collect()
            }
            None => vec![overlaid(&self.at, &self.variant)],
        }
    }
}

impl Best {
    /// How many of so many variants count as the best: at least one.
    pub fn count(&self, variants: usize) -> usize {
        ((variants as f64 * self.share).ceil() as usize).clamp(1, variants.max(1))
    }
}

/// Two kinds of devices on which one run measures the same experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Devices {
    /// The kind in the numerator.
    pub of: DeviceKind,
    /// The kind in the denominator.
    pub to: DeviceKind,
    /// The metric; the experiment's own by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
}

/// Whether a disk reports that it rotates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    /// A hard disk.
    Rotating,
    /// An SSD or similar.
    Solid,
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DeviceKind::Rotating => "a rotating disk",
            DeviceKind::Solid => "a solid-state disk",
        })
    }
}
