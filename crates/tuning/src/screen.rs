//! The first blocks: configurations known to be good elsewhere, and others in which every level of every factor
//! comes about equally often.

use super::search::{PER_BLOCK, SCREEN_BLOCKS};
use lab::seed::Seed;
use lab::tuning_plan::{Configuration, Space};

/// The configurations of the screen: the known-good ones and those drawn, in the order of a shuffle.
pub(super) fn screen(space: &Space, good: &[Configuration], seed: Seed) -> Vec<Configuration> {
    let size = SCREEN_BLOCKS * PER_BLOCK;
    let mut generator = seed.child("screen").generator();
    let mut configurations: Vec<Configuration> = good.iter().take(size).cloned().collect();
    let drawn = size - configurations.len();
    let columns = space.factors.iter().enumerate().map(|(index, factor)| {
        let levels = factor.levels.len();
        let mut seen = vec![0; levels];
        let known = configurations.iter().map(|it| it[index]);
        known.filter(|level| *level < levels).for_each(|level| seen[level] += 1);
        let mut column = Vec::new();
        // Those that the known-good configurations have least often come first.
        for _ in 0..drawn {
            let rarest = (0..levels).min_by_key(|level| seen[*level]).unwrap_or(0);
            seen[rarest] += 1;
            column.push(rarest);
        }
        generator.shuffle(&mut column);
        column
    });
    let columns: Vec<Vec<usize>> = columns.collect();
    for row in 0..drawn {
        let levels = columns.iter().map(|column| column[row]).collect();
        configurations.push(space.repaired(levels, &mut generator, &good[0]));
    }
    generator.shuffle(&mut configurations);
    configurations
}
