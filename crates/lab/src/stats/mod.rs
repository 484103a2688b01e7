//! The statistics behind every comparison: estimates with intervals, corrections for many
//! comparisons, groups of ranks and the steadiness of one trial.
//!
//! They stand apart because they know nothing of SQLite, trials or files: every function here is
//! pure, from numbers to numbers, so that the instrument itself can be tested by simulation
//! (`tests/instrument.rs`). Comparisons work on differences of logarithms between trials of one
//! block; `exp` turns such a difference into a ratio.

mod changes;
pub mod curve;
mod descriptive;
mod estimate;
mod groups;
mod interval;
mod multiple;
mod pooled;
mod projection;
#[cfg(test)]
mod properties;
mod random_effects;
mod rank_tests;
#[cfg(test)]
#[path = "../../tests/common/noise.rs"]
pub(crate) mod simulation;
mod steadiness;
mod student;
mod wilcoxon;

pub use changes::change_points;
pub use descriptive::{mean, median, quantile, range, standard_deviation};
pub(crate) use estimate::LARGEST_DETECTABLE;
pub use estimate::{Estimate, p_value};
pub use groups::{RankedVariant, Ranking, letters, rank_variants, rank_variants_by_means};
pub use interval::{
    Interval, MIN_BLOCKS_FOR_ESTIMATE, MIN_BLOCKS_FOR_WILCOXON, Method, SampleError,
};
pub use multiple::{HolmRow, benjamini_hochberg, holm};
pub use pooled::{PooledDifference, Rows};
pub use projection::{Projection, blocks_needed, detectable_difference};
pub use random_effects::{MachineEffect, RandomEffects};
pub use steadiness::{MATERIAL_CHANGE, MIN_WINDOWS, Steadiness, SteadinessLabel, steadiness};
pub(crate) use student::student_reach;
pub use student::{Independent, student_interval, student_p_value, student_tail};
/// The error rate of a family of answers, both sides together: the protocol's, which promises 95 %
/// (`docs/method.md`). Families are the claims of an experiment, its variants against the baseline, the
/// effects of its factors.
pub const ALPHA: f64 = 0.05;

pub use student::trimmed_interval;
pub use wilcoxon::{PairedSample, wilcoxon_p_value, wilcoxon_smallest_alpha};
