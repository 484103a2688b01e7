//! Which method estimates an effect: a matter of the number of blocks alone, so that nobody can
//! choose it by its result.

use serde::{Deserialize, Serialize};

/// From this number of blocks on, the signed-rank method is used. Six can just attain 5 %
/// two-sided, with no room for a single block of the other sign; seven attain 1.6 %.
pub const MIN_BLOCKS_FOR_WILCOXON: usize = 7;

/// Below this number of blocks nothing is estimated: one difference has no spread, and of two the spread is
/// known so badly that the interval is thirteen standard errors wide on either side.
pub const MIN_BLOCKS_FOR_ESTIMATE: usize = 3;

/// How an effect is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Hodges–Lehmann estimate with the exact signed-rank interval.
    Wilcoxon,
    /// Mean with the paired t interval.
    PairedT,
}

impl Method {
    /// The method for this number of blocks; `None` when no estimate can be made.
    pub fn for_blocks(blocks: usize) -> Option<Method> {
        match blocks {
            0..MIN_BLOCKS_FOR_ESTIMATE => None,
            MIN_BLOCKS_FOR_ESTIMATE..MIN_BLOCKS_FOR_WILCOXON => Some(Method::PairedT),
            _ => Some(Method::Wilcoxon),
        }
    }
}
