//! How large the data of an experiment is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How large the data is.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Scale {
    /// At most seconds per trial, for a first look.
    Quick,
    /// The scale with reliable figures.
    #[default]
    Default,
    /// The published sizes.
    Paper,
}
