//! What differs between engines, cell by cell.
//!
//! Counts are left aside: another version writes in another order, so that images differ where nothing
//! is better or worse.

use crate::matrix::Matrix;
use crate::model::Model;
use crate::settings::Variant;
use crate::tally::Verdict;
use serde::Serialize;

/// A cell in which engines differ in how bad a crash can be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The settings.
    pub variant: Variant,
    /// The storage model.
    pub model: Model,
    /// The verdicts, in the order of the engines.
    pub verdicts: Vec<Verdict>,
}

/// The cells that all matrices have and in which they differ, in the order of the first.
pub fn differences(matrices: &[&Matrix]) -> Vec<Difference> {
    let Some((first, others)) = matrices.split_first() else {
        return Vec::new();
    };
    let mut differences = Vec::new();
    for cell in &first.cells {
        let same = |matrix: &&Matrix| {
            let mut cells = matrix.cells.iter();
            let found =
                cells.find(|other| other.variant == cell.variant && other.model == cell.model);
            found.map(|other| other.verdict.clone())
        };
        let Some(others) = others.iter().map(same).collect::<Option<Vec<Verdict>>>() else {
            continue;
        };
        let differs = |other: &Verdict| !cell.verdict.is_as_bad_as(other);
        if others.iter().any(differs) {
            differences.push(Difference {
                variant: cell.variant,
                model: cell.model,
                verdicts: std::iter::once(cell.verdict.clone())
                    .chain(others)
                    .collect(),
            });
        }
    }
    differences
}
