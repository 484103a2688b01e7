//! Methods without a model: random search, one factor at a time, successive halving.

use super::simulation::Surface;
use lab::seed::Seed;
use lab::tuning_plan::Configuration;

use super::course::{Course, mean};

/// Trials of each level of a factor.
const REPEATED: usize = 3;

/// The fastest of random configurations.
pub(super) fn random(surface: &Surface, seed: Seed, budget: f64) -> Configuration {
    let mut course = Course::new(surface, seed, budget);
    course.begin(surface.good().len());
    while course.spent() < 1.0 {
        let next = course.random();
        course.cost(&next);
    }
    let fastest = course.tried.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    fastest.map_or_else(|| surface.current(), |it| it.0.clone())
}

/// Each factor in turn gets the level with the lowest mean of three trials.
pub(super) fn one_at_a_time(surface: &Surface, seed: Seed, budget: f64) -> Configuration {
    let mut course = Course::new(surface, seed, budget);
    let mut at = surface.good().pop().unwrap_or_else(|| surface.current());
    let mut factors: Vec<usize> = (0..at.len()).collect();
    while course.spent() < 1.0 {
        course.generator.shuffle(&mut factors);
        for factor in &factors {
            at = best_level(&mut course, &at, *factor);
        }
    }
    at
}

fn best_level(course: &mut Course<'_>, at: &Configuration, factor: usize) -> Configuration {
    let mut best = (f64::INFINITY, at.clone());
    for level in 0..course.space().factors[factor].levels.len() {
        let mut other = at.clone();
        other[factor] = level;
        let Some(other) = course.admissible(other).filter(|_| course.spent() < 1.0) else {
            continue;
        };
        let costs: Vec<f64> = (0..REPEATED).map(|_| course.cost(&other)).collect();
        if mean(&costs) < best.0 {
            best = (mean(&costs), other);
        }
    }
    best.1
}

/// Half of the budget is for random configurations, the rest for measuring the better halves again.
pub(super) fn halved(surface: &Surface, seed: Seed, budget: f64) -> Configuration {
    let mut course = Course::new(surface, seed, budget);
    course.begin(surface.good().len());
    while course.spent() < 0.5 {
        let next = course.random();
        course.cost(&next);
    }
    let tried = course.tried.iter();
    let mut rung: Vec<(Configuration, Vec<f64>)> =
        tried.map(|(it, cost)| (it.clone(), vec![*cost])).collect();
    while rung.len() > 1 && course.spent() < 1.0 {
        rung.sort_by(|a, b| mean(&a.1).total_cmp(&mean(&b.1)));
        rung.truncate(rung.len().div_ceil(2));
        for (configuration, costs) in &mut rung {
            costs.push(course.cost(configuration));
        }
    }
    let best = rung.into_iter().min_by(|a, b| mean(&a.1).total_cmp(&mean(&b.1)));
    best.map_or_else(|| surface.current(), |it| it.0)
}
