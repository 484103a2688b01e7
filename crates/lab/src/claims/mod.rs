//! Claims: published statements in a form that data can confirm or refute.
//!
//! This module holds the form in which a claim stands in an experiment file and, unchanged, in
//! the record of a run: threshold first, data second. The verdict is reached in [`judge()`].

mod bounds;
mod devices;
mod evidence;
mod figure;
mod form;
mod judge;
mod listed;
mod operands;

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::experiment::Scale;

pub use bounds::Bounds;
pub use evidence::{DeviceLevels, Evidence};
pub use form::Form;
pub use judge::{Judged, Verdict, judge};
pub use operands::{Best, DeviceKind, Devices, Extreme, Listed, Pair, Pairs, Single};

/// A published or expected statement and the predicate that decides it. Exactly one of `ratio`,
/// `ratio_of_ratios`, `value`, `equal`, `ordering`, `spread`, `argmax`, `argmin`, `best`, `devices` and
/// `same_order` is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Unique name, such as `ins-31`.
    pub id: String,
    /// The statement in words.
    pub says: String,
    /// One variant's metric divided by another's; with `at_least`, `at_most` or `between`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Pair>,
    /// A ratio of two variants divided by a ratio of two others; with `at_least`, `at_most` or `between`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_of_ratios: Option<Pairs>,
    /// The metric of one variant by itself, in its own unit; with `at_least`, `at_most` or `between`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Single>,
    /// Two variants' metric differ by no more than the fraction `within`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equal: Option<Pair>,
    /// The metric never grows along the list of variants, except by the fraction `tolerance`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordering: Option<Listed>,
    /// Largest divided by smallest metric, less one; with `at_least`, `at_most` or `between`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Listed>,
    /// The level of a factor with the largest metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argmax: Option<Extreme>,
    /// The level of a factor with the smallest metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argmin: Option<Extreme>,
    /// The best share of the variants all have certain levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<Best>,
    /// The whole experiment on one kind of device divided by that on another; with `at_least`,
    /// `at_most` or `between`. It requires a run over directories on both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub devices: Option<Devices>,
    /// No two variants change places between one kind of device and another, except by the fraction
    /// `tolerance`. It requires a run over directories on both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_order: Option<Devices>,
    /// Smallest figure that confirms.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub at_least: Option<f64>,
    /// Largest figure that confirms.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub at_most: Option<f64>,
    /// Smallest and largest figure that confirm.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub between: Option<[f64; 2]>,
    /// Largest relative difference of `equal`, as a fraction.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub within: Option<f64>,
    /// What counts as equal, as a fraction: the growth allowed from one variant of `ordering` to the next, what
    /// an extreme may lack, and by how much variants may change places between devices.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub tolerance: Option<f64>,
    /// The figure that the source prints, or that follows from its figures by arithmetic.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub published: Option<f64>,
    /// The figure to expect where the source prints none that belongs to this claim, with its origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
    /// Why the bound lies where it does, above all where it is far from the published or expected figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_because: Option<String>,
    /// The scales at which the claim is not judged, each with the sizes that it lacks.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_at: BTreeMap<Scale, String>,
    /// What this machine must provide for the claim to apply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<Precondition>,
    /// The file systems that the claim applies to, such as `ext4` and `btrfs`; all of them by default. It
    /// requires a run over a directory on one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub file_systems: Vec<String>,
    /// For sizes, counts and plans: the predicate must hold in every round, without statistics. It is not
    /// confirmed if trials of its variants failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
}

/// What a claim requires of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Precondition {
    /// A median fsync of at least 0.2 ms, so that durability has a price.
    Fsync,
}

impl fmt::Display for Precondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Precondition::Fsync => f.write_str("a median fsync of at least 0.2 ms"),
        }
    }
}

/// A figure that the source does not print.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// The figure, in the form of the claim's own: a ratio, a spread or a value in the unit of its metric.
    pub figure: f64,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where a figure comes from that the source does not print for this claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Measured with a prototype, before the experiment was written.
    Prototype,
    /// Stated by another repository, which the source names.
    Repository,
    /// Printed by the source for details that it does not state, such as the text of a query: the workload
    /// here infers them.
    Inferred,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Origin::Prototype => "prototype",
            Origin::Repository => "other repository",
            Origin::Inferred => "inferred",
        })
    }
}

impl Claim {
    /// The published figure, or else the one that is expected.
    pub fn published_or_expected(&self) -> Option<f64> {
        let expected = self.expected.map(|expected| expected.figure);
        self.published.or(expected)
    }

    /// Whether it requires a run over directories on different kinds of devices.
    pub fn compares_devices(&self) -> bool {
        self.devices.is_some() || self.same_order.is_some()
    }
}

/// A number that is given must be one: the `null` that stands for NaN and infinity in JSON would otherwise read
/// as no bound at all.
fn given<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}
