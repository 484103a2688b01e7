//! The lowest configuration of a surface, among those that may be tried.

use super::model::Tables;
use super::space::{Configuration, Space};

/// Rounds over all factors at most; a surface without rounding needs far fewer.
const ROUNDS: usize = 50;

/// The lowest configuration reached from any of the starts by changing one factor at a time, and from there by changing
/// two at a time.
pub(super) fn lowest(space: &Space, surface: &Tables, starts: &[Configuration]) -> Configuration {
    let reached = starts.iter().map(|start| {
        let mut at = (surface.at(start), start.clone());
        descend(space, surface, &mut at);
        at
    });
    let Some(mut at) = reached.min_by(|a, b| a.0.total_cmp(&b.0)) else {
        return Configuration::new();
    };
    for _ in 0..ROUNDS {
        let before = at.0;
        for first in 0..space.factors.len() {
            for second in 0..first {
                improve(space, surface, &mut at, &[first, second]);
            }
        }
        if at.0 >= before {
            break;
        }
        descend(space, surface, &mut at);
    }
    at.1
}

/// Changes one factor at a time until nothing improves.
fn descend(space: &Space, surface: &Tables, at: &mut (f64, Configuration)) {
    for _ in 0..ROUNDS {
        let before = at.0;
        for factor in 0..space.factors.len() {
            improve(space, surface, at, &[factor]);
        }
        if at.0 >= before {
            break;
        }
    }
}

/// Gives one or two factors their best levels.
fn improve(space: &Space, surface: &Tables, at: &mut (f64, Configuration), factors: &[usize]) {
    let start = at.1.clone();
    let levels = |factor: &usize| 0..space.factors[*factor].levels.len();
    for first in levels(&factors[0]) {
        for second in factors.get(1).map_or(0..1, levels) {
            let chosen = factors.iter().zip([first, second]);
            let other = with_levels(space, &start, chosen);
            if other == at.1 || !space.admits(&other) {
                continue;
            }
            let cost = surface.at(&other);
            if cost < at.0 - 1e-12 {
                *at = (cost, other);
            }
        }
    }
}

fn with_levels<'a>(
    space: &Space,
    start: &[usize],
    chosen: impl Iterator<Item = (&'a usize, usize)>,
) -> Configuration {
    let mut other = start.to_vec();
    for (factor, level) in chosen {
        other[*factor] = level;
    }
    space.canonical(other)
}
