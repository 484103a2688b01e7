//! What differs between engines, cell by cell.
//!
//! Counts are left aside: another version writes in another order, so that images differ where nothing
//! is better or worse.

use crate::matrix::Matrix;
use crate::model::Model;
use crate::settings::CrashSettings;
use lab::tier::Tier;
use serde::Serialize;

/// A cell in which engines differ in how bad a crash can be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The settings.
    pub variant: CrashSettings,
    /// The storage model.
    pub model: Model,
    /// The tiers, in the order of the engines.
    pub tiers: Vec<Tier>,
}

/// The cells that all matrices have and in which they differ, in the order of the first.
pub fn differences(matrices: &[&Matrix]) -> Vec<Difference> {
    let cells = matrices.first().map_or(&[][..], |first| &first.cells);
    let mut differences = Vec::new();
    for cell in cells {
        let tiers = matrices.iter().map(|matrix| {
            let mut cells = matrix.cells.iter();
            let same = cells.find(|one| one.variant == cell.variant && one.model == cell.model);
            same.map(|same| same.safety.tier.clone())
        });
        let Some(tiers) = tiers.collect::<Option<Vec<Tier>>>() else {
            continue;
        };
        let class = cell.safety.tier.class();
        if tiers.iter().any(|tier| tier.class() != class) {
            differences.push(Difference {
                variant: cell.variant,
                model: cell.model,
                tiers,
            });
        }
    }
    differences
}
