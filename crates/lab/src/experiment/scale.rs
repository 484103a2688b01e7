//! How large the data of an experiment is.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How large the data is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// At most seconds per trial, for a first look.
    Quick,
    /// The scale with reliable figures.
    Default,
    /// The published sizes.
    Paper,
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Scale::Quick => "quick",
            Scale::Default => "default",
            Scale::Paper => "paper",
        })
    }
}
