//! The same experiment on several directories: how the devices and file systems behind them compare.
//!
//! Each directory has rounds of its own, so that its variants, effects and ranks stand in an experiment
//! each; what is added here is the figure that only exists between them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::ExperimentAnalysis;
use crate::claims::DeviceLevels;
use crate::stats::Estimate;

/// One experiment on several directories.
#[derive(Clone, Debug, Serialize)]
pub struct SideBySide {
    /// Indices into the experiments of the run, in the order of the directories. All have the same
    /// variants in the same order.
    pub experiments: Vec<usize>,
    /// All variants together in the experiment's metric, divided by the first directory: the mean of the
    /// logarithms of each round, paired by the number of the round. None for the first, and where
    /// too few rounds can be compared.
    pub to_first: Vec<Option<Estimate>>,
}

/// Returns the experiments that were done on more than one directory, given what each reached as a whole.
pub(super) fn side_by_side(
    experiments: &[ExperimentAnalysis],
    levels: &[DeviceLevels],
) -> Vec<SideBySide> {
    let mut same: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, experiment) in experiments.iter().enumerate() {
        same.entry(&experiment.id).or_default().push(index);
    }
    let mut several: Vec<Vec<usize>> =
        same.into_values().filter(|indices| indices.len() > 1).collect();
    several.sort_unstable();
    let compared = |indices: Vec<usize>| {
        let metric = &experiments[indices[0]].metric;
        let rounds = |index: usize| levels[index].levels.get(metric).map_or(&[][..], Vec::as_slice);
        let first = rounds(indices[0]);
        let to_first = indices.iter().enumerate().map(|(place, index)| {
            let ratios: Vec<f64> =
                rounds(*index).iter().zip(first).map(|(of, to)| of - to).collect();
            (place > 0).then(|| Estimate::supported(&ratios))?
        });
        SideBySide { to_first: to_first.collect(), experiments: indices.clone() }
    };
    several.into_iter().map(compared).collect()
}
