//! The form in which a claim stands in an experiment file and, unchanged, in the record of a run.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::experiment::Scale;
use crate::level::{Level, Settings, levels_over, overlaid, with};

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
    /// The metric of two variants differs by at most the fraction `within`.
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
    /// The difference that counts as equal, as a fraction: the growth allowed from one variant of `ordering` to the next, what
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
    /// Everything that this machine must provide for the claim to apply.
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

/// A requirement of a claim on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::Display)]
#[serde(rename_all = "kebab-case")]
pub enum Precondition {
    /// A median fsync of at least 0.2 ms, so that durability has a price.
    #[strum(to_string = "a median fsync of at least 0.2 ms")]
    Fsync,
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
#[derive(strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Origin {
    /// Measured with a prototype, before the experiment was written.
    Prototype,
    /// Stated by another repository, which the source names.
    #[strum(to_string = "other repository")]
    Repository,
    /// Printed by the source for details that it does not state, such as the text of a query: the workload
    /// here infers them.
    Inferred,
}

impl Claim {
    /// Returns the published figure, or else the one that is expected.
    pub fn published_or_expected(&self) -> Option<f64> {
        let expected = self.expected.map(|expected| expected.figure);
        self.published.or(expected)
    }

    /// Returns whether it requires a run over directories on different kinds of devices.
    pub fn compares_devices(&self) -> bool {
        self.devices.is_some() || self.same_order.is_some()
    }
}

/// Returns a number that is given must be one: the `null` that stands for NaN and infinity in JSON would otherwise read
/// as no bound at all.
fn given<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

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
    /// Returns the levels of each item of the list.
    pub fn levels(&self, factors: &BTreeMap<String, Vec<Level>>) -> Vec<Settings> {
        match &self.over {
            Some(factor) => levels_over(factors, factor, &self.at),
            None => self.variants.iter().map(|levels| overlaid(&self.at, levels)).collect(),
        }
    }
}

impl Extreme {
    /// Returns the levels of each variant that may be the extreme.
    pub fn levels(&self) -> Vec<Settings> {
        match &self.over {
            Some(factor) => self.is.iter().map(|level| with(&self.at, factor, level)).collect(),
            None => vec![overlaid(&self.at, &self.variant)],
        }
    }
}

impl Best {
    /// Returns how many of so many variants count as the best: at least one.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::Display)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    /// A hard disk.
    #[strum(to_string = "a rotating disk")]
    Rotating,
    /// An SSD or similar.
    #[strum(to_string = "a solid-state disk")]
    Solid,
}

/// The forms of claims: the operands of each and the key under which it stands in a file.
macro_rules! forms {
    ($($(#[$doc:meta])* $form:ident($operands:ident) = $key:ident;)*) => {
        /// The form of a claim, once it is known to have exactly one.
        #[derive(Clone, Copy, Debug)]
        pub enum Form<'a> {
            $($(#[$doc])* $form(&'a $operands),)*
        }

        impl<'a> Form<'a> {
            /// The keys of all forms.
            pub const KEYS: &'static [&'static str] = &[$(stringify!($key)),*];

            /// Returns the key under which this form stands in a file.
            pub fn key(&self) -> &'static str {
                match self {
                    $(Form::$form(_) => stringify!($key),)*
                }
            }

            /// Returns the metric named by the claim itself.
            pub fn metric(&self) -> Option<&'a str> {
                match self {
                    $(Form::$form(operands) => operands.metric.as_deref(),)*
                }
            }
        }

        impl Claim {
            /// Returns every form that the file gives; a valid claim has one.
            pub fn forms(&self) -> Vec<Form<'_>> {
                let given = [$(self.$key.as_ref().map(Form::$form)),*];
                given.into_iter().flatten().collect()
            }
        }
    };
}

forms! {
    /// A ratio within bounds.
    Ratio(Pair) = ratio;
    /// A ratio of two ratios within bounds.
    RatioOfRatios(Pairs) = ratio_of_ratios;
    /// A figure within bounds.
    Value(Single) = value;
    /// A ratio near one.
    Equal(Pair) = equal;
    /// A sequence that does not grow.
    Ordering(Listed) = ordering;
    /// Largest over smallest, less one, within bounds.
    Spread(Listed) = spread;
    /// Where the largest value is.
    Argmax(Extreme) = argmax;
    /// Where the smallest value is.
    Argmin(Extreme) = argmin;
    /// The levels that the best variants have in common.
    Best(Best) = best;
    /// A ratio of two devices within bounds.
    Devices(Devices) = devices;
    /// The order of variants on two devices.
    SameOrder(Devices) = same_order;
}

impl<'a> Form<'a> {
    /// Returns the other metric of a claim that compares two figures of the same trials.
    pub fn to_metric(&self) -> Option<&'a str> {
        match self {
            Form::Ratio(pair) | Form::Equal(pair) => pair.to_metric.as_deref(),
            Form::RatioOfRatios(pairs) => pairs.to_metric.as_deref(),
            _ => None,
        }
    }

    /// Returns whether the claim states its bounds as `at_least`, `at_most` or `between`.
    pub fn states_bounds(&self) -> bool {
        !self.takes_tolerance() && !matches!(self, Form::Equal(_) | Form::Best(_))
    }

    /// Returns whether the claim may state what counts as equal as `tolerance`.
    pub fn takes_tolerance(&self) -> bool {
        use Form::{Argmax, Argmin, Ordering, SameOrder};
        matches!(self, Ordering(_) | Argmax(_) | Argmin(_) | SameOrder(_))
    }
}

/// The figures that confirm a claim: from `low` to `high`, both included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// Smallest confirming figure; `None` without a lower bound.
    pub low: Option<f64>,
    /// Largest confirming figure; `None` without an upper bound.
    pub high: Option<f64>,
}

impl Bounds {
    /// At least this.
    fn at_least(low: f64) -> Bounds {
        Bounds { low: Some(low), high: None }
    }

    /// At most this.
    fn at_most(high: f64) -> Bounds {
        Bounds { low: None, high: Some(high) }
    }

    /// Returns whether the figure confirms.
    pub fn hold(&self, figure: f64) -> bool {
        self.low.is_none_or(|low| figure >= low) && self.high.is_none_or(|high| figure <= high)
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.low, self.high) {
            (Some(low), Some(high)) => write!(f, "{low} to {high}"),
            (Some(low), None) => write!(f, "at least {low}"),
            (None, Some(high)) => write!(f, "at most {high}"),
            (None, None) => f.write_str("any"),
        }
    }
}

impl Claim {
    /// Returns the bounds written as `at_least`, `at_most` or `between`.
    pub fn stated_bounds(&self) -> Bounds {
        match self.between {
            Some([low, high]) => Bounds { low: Some(low), high: Some(high) },
            None => Bounds { low: self.at_least, high: self.at_most },
        }
    }

    /// Returns the bounds on the figure of `form`: those stated, or what `equal` and `ordering` mean.
    pub fn bounds(&self, form: Form<'_>) -> Bounds {
        match form {
            Form::Equal(_) => {
                let within = self.within.unwrap_or_default();
                Bounds { low: Some(1.0 - within), high: Some(1.0 + within) }
            }
            Form::Best(_) => Bounds::at_least(1.0),
            Form::Ordering(_) | Form::Argmax(_) | Form::Argmin(_) => {
                Bounds::at_least(1.0 - self.tolerance.unwrap_or_default())
            }
            Form::SameOrder(_) => Bounds::at_most(1.0 + self.tolerance.unwrap_or_default()),
            _ => self.stated_bounds(),
        }
    }
}
