//! The lowest configuration of a surface, among those that may be tried.

use super::model::{Part, Tables};
use lab::tuning_plan::{Configuration, Space};

/// The cost of exceeding a constraint, as a logarithm for each unit of the logarithm of the excess: far more than any
/// setting brings.
const PENALTY: f64 = 20.0;

/// Rounds over all factors at most; a surface without rounding needs far fewer.
const ROUNDS: usize = 50;

/// A surface that may not be higher than this.
pub(super) struct Bounded<'a> {
    pub(super) surface: &'a Tables,
    pub(super) most: f64,
}

/// A surface whose lowest point is sought, within the bounds of other surfaces.
pub(super) struct Landscape<'a> {
    pub(super) cost: &'a Tables,
    pub(super) bounded: Vec<Bounded<'a>>,
}

impl Landscape<'_> {
    /// Returns the cost with what exceeding bounds adds to it.
    pub(super) fn at(&self, configuration: &[usize]) -> f64 {
        self.cost.at(configuration) + PENALTY * self.excess(configuration)
    }

    /// By how much bounds are exceeded.
    pub(super) fn excess(&self, configuration: &[usize]) -> f64 {
        let bounded = self.bounded.iter();
        bounded.map(|bound| (bound.surface.at(configuration) - bound.most).max(0.0)).sum()
    }
}

/// Returns the lowest configuration reached from any of the starts by changing one factor at a time, and from there by changing
/// two at a time.
pub(super) fn lowest(
    space: &Space,
    landscape: &Landscape<'_>,
    starts: &[Configuration],
) -> Configuration {
    let factors = 0..space.factors.len();
    let singles = moves(landscape.cost, factors.clone().map(|factor| vec![factor]));
    let reached = starts.iter().map(|start| {
        let mut at = (landscape.at(start), start.clone());
        descend(space, landscape, &mut at, &singles);
        at
    });
    let Some(mut at) = reached.min_by(|a, b| a.0.total_cmp(&b.0)) else {
        return Configuration::new();
    };
    let pairs = factors.flat_map(|first| (0..first).map(move |second| vec![first, second]));
    let pairs = moves(landscape.cost, pairs);
    for _ in 0..ROUNDS {
        let before = at.0;
        for pair in &pairs {
            improve(space, landscape, &mut at, pair);
        }
        if at.0 >= before {
            break;
        }
        descend(space, landscape, &mut at, &singles);
    }
    at.1
}

/// One or two factors whose levels change, and what they decide.
struct Move<'a> {
    factors: Vec<usize>,
    part: Part<'a>,
}

fn moves(surface: &Tables, all: impl Iterator<Item = Vec<usize>>) -> Vec<Move<'_>> {
    let of = |factors: Vec<usize>| Move { part: surface.part(&factors), factors };
    all.map(of).collect()
}

/// Changes one factor at a time until nothing improves.
fn descend(
    space: &Space,
    landscape: &Landscape<'_>,
    at: &mut (f64, Configuration),
    singles: &[Move<'_>],
) {
    for _ in 0..ROUNDS {
        let before = at.0;
        for single in singles {
            improve(space, landscape, at, single);
        }
        if at.0 >= before {
            break;
        }
    }
}

/// Gives one or two factors their best levels.
fn improve(space: &Space, landscape: &Landscape<'_>, at: &mut (f64, Configuration), of: &Move<'_>) {
    let start = at.1.clone();
    let rest = at.0 - of.part.at(&start);
    let is_free = landscape.bounded.is_empty();
    let levels = |factor: &usize| 0..space.factors[*factor].levels.len();
    for first in levels(&of.factors[0]) {
        for second in of.factors.get(1).map_or(0..1, levels) {
            let chosen = of.factors.iter().zip([first, second]);
            let other = with_levels(space, &start, chosen);
            if other == at.1 || !space.admits(&other) {
                continue;
            }
            let cost = if is_free && differ_in(&start, &other, &of.factors) {
                rest + of.part.at(&other)
            } else {
                landscape.at(&other)
            };
            if cost < at.0 - 1e-12 {
                *at = (cost, other);
            }
        }
    }
}

/// Returns whether nothing differs but these factors: what another one means may depend on them.
fn differ_in(one: &[usize], other: &[usize], factors: &[usize]) -> bool {
    let mut levels = one.iter().zip(other).enumerate();
    levels.all(|(factor, (one, other))| one == other || factors.contains(&factor))
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
