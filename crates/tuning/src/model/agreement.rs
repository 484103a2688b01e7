//! In which factors trials agree: all that the covariance of their costs needs to know of their configurations.
//!
//! Trials close to an optimum agree in the same few sets of factors again and again, so what follows from a set is computed
//! once for each set, not for each pair of trials.

use std::collections::HashMap;

/// A set of factors, one bit for each: 64 at most.
pub(super) type Set = u64;

/// The factors in which two configurations have the same level.
pub(super) fn agreement([one, other]: [&[usize]; 2]) -> Set {
    let same = one.iter().zip(other).enumerate();
    same.fold(0, |set, (factor, (one, other))| set | Set::from(one == other) << factor)
}

/// Whether a set holds a factor.
pub(super) fn holds(set: Set, factor: usize) -> bool {
    set >> factor & 1 == 1
}

/// The factors in which each two of some trials agree.
pub(super) struct Agreements {
    /// The different sets.
    pub(super) sets: Vec<Set>,
    /// The index of the set of each two trials: the lower triangle by rows.
    pub(super) rows: Vec<Vec<u32>>,
}

impl Agreements {
    pub(super) fn of(configurations: &[Vec<usize>]) -> Agreements {
        let mut known: HashMap<Set, u32> = HashMap::new();
        let mut sets = Vec::new();
        let mut index = |set: Set| {
            *known.entry(set).or_insert_with(|| {
                sets.push(set);
                sets.len() as u32 - 1
            })
        };
        let rows = configurations.iter().enumerate().map(|(i, one)| {
            let others = configurations[..=i].iter();
            others.map(|other| index(agreement([one, other]))).collect()
        });
        Agreements { rows: rows.collect(), sets }
    }
}
