//! Search with a random forest after Hutter and others, "Sequential model-based optimization for general algorithm
//! configuration" (LION 5, 2011): trees on resampled trials predict costs, and what may be much better is tried.

use super::simulation::Surface;
use lab::seed::Seed;
use lab::tuning_plan::Configuration;
use tuning::PER_BLOCK;

use super::course::{Course, mean};

/// Random trials at the beginning.
const FIRST: usize = 20;

/// Trees.
const TREES: usize = 20;

/// The fewest trials in a node that is divided.
const DIVIDED: usize = 4;

/// The share of the factors from which a division is chosen.
const FACTORS: f64 = 0.7;

/// Random configurations among the candidates.
const RANDOM: usize = 200;

/// The best trials around which other candidates are.
const AROUND: usize = 8;

/// A tree over levels.
enum Tree {
    Leaf(f64),
    /// Trials with this level of this factor are in the first part.
    Divided(usize, usize, Box<[Tree; 2]>),
}

type Trial = (Configuration, f64);

/// The configuration that the forest expects to cost least among those that were tried.
pub(super) fn search(surface: &Surface, seed: Seed, budget: f64) -> Configuration {
    let mut course = Course::new(surface, seed, budget);
    course.begin(FIRST);
    while course.spent() < 1.0 {
        let forest = forest(&mut course);
        for next in promising(&mut course, &forest) {
            course.cost(&next);
        }
        let random = course.random();
        course.cost(&random);
    }
    let forest = forest(&mut course);
    let expected = |it: &Configuration| predicted(&forest, it).0;
    let tried = course.tried.iter().map(|(it, _)| it);
    let lowest = tried.min_by(|a, b| expected(a).total_cmp(&expected(b)));
    lowest.map_or_else(|| surface.current(), Clone::clone)
}

/// The candidates with the largest expected improvement.
fn promising(course: &mut Course<'_>, forest: &[Tree]) -> Vec<Configuration> {
    let mut candidates: Vec<Configuration> = (0..RANDOM).map(|_| course.random()).collect();
    let mut sorted: Vec<Configuration> = course.tried.iter().map(|(it, _)| it.clone()).collect();
    sorted.sort_by(|a, b| predicted(forest, a).0.total_cmp(&predicted(forest, b).0));
    let best = predicted(forest, &sorted[0]).0;
    sorted.dedup();
    for known in sorted.iter().take(AROUND) {
        candidates.extend(around(course, known));
    }
    let improvement = |it: &Configuration| {
        let (mean, sd) = predicted(forest, it);
        expected_improvement(best - mean, sd)
    };
    candidates.sort_by_cached_key(|it| std::cmp::Reverse((1e9 * improvement(it)) as i64));
    candidates.dedup();
    candidates.truncate(PER_BLOCK);
    candidates
}

/// Everything that differs in one factor, and as much that differs in two.
fn around(course: &mut Course<'_>, known: &Configuration) -> Vec<Configuration> {
    let mut all = Vec::new();
    for factor in 0..known.len() {
        for level in 0..course.space().factors[factor].levels.len() {
            let mut other = known.clone();
            other[factor] = level;
            all.extend(course.admissible(other.clone()));
            let second = course.generator.below(known.len() as u64) as usize;
            let levels = course.space().factors[second].levels.len() as u64;
            other[second] = course.generator.below(levels) as usize;
            all.extend(course.admissible(other));
        }
    }
    all
}

/// The mean gain over nothing of something normal with this mean and standard deviation.
fn expected_improvement(mean: f64, sd: f64) -> f64 {
    let at = mean / sd.max(1e-6);
    let density = (-0.5 * at * at).exp() / std::f64::consts::TAU.sqrt();
    // The logistic function is close enough to the distribution function here.
    let below = 1.0 / (1.0 + (-1.702 * at).exp());
    mean * below + sd * density
}

/// The mean and the standard deviation of what the trees predict.
fn predicted(forest: &[Tree], configuration: &[usize]) -> (f64, f64) {
    let all: Vec<f64> = forest.iter().map(|it| it.at(configuration)).collect();
    let middle = mean(&all);
    let squares: Vec<f64> = all.iter().map(|it| (it - middle).powi(2)).collect();
    (middle, mean(&squares).sqrt())
}

fn forest(course: &mut Course<'_>) -> Vec<Tree> {
    let trees = (0..TREES).map(|_| {
        let count = course.tried.len() as u64;
        let drawn = (0..count).map(|_| course.generator.below(count) as usize);
        let sample: Vec<usize> = drawn.collect();
        let trials = sample.iter().map(|it| course.tried[*it].clone()).collect();
        Tree::grown(course, trials)
    });
    trees.collect()
}

impl Tree {
    fn grown(course: &mut Course<'_>, trials: Vec<Trial>) -> Tree {
        let costs: Vec<f64> = trials.iter().map(|(_, cost)| *cost).collect();
        let Some((factor, level)) = division(course, &trials) else {
            return Tree::Leaf(mean(&costs));
        };
        let is_first = |(it, _): &Trial| it[factor] == level;
        let (first, second): (Vec<Trial>, Vec<Trial>) = trials.into_iter().partition(is_first);
        let parts = [first, second].map(|part| Tree::grown(course, part));
        Tree::Divided(factor, level, Box::new(parts))
    }

    fn at(&self, configuration: &[usize]) -> f64 {
        match self {
            Tree::Leaf(mean) => *mean,
            Tree::Divided(factor, level, parts) => {
                let second = configuration[*factor] != *level;
                parts[usize::from(second)].at(configuration)
            }
        }
    }
}

/// The division that leaves the least variation within its parts; none of few trials, or where nothing differs.
fn division(course: &mut Course<'_>, trials: &[Trial]) -> Option<(usize, usize)> {
    if trials.len() < DIVIDED {
        return None;
    }
    let space = course.space();
    let mut least: Option<(f64, (usize, usize))> = None;
    for factor in 0..space.factors.len() {
        if course.generator.uniform() > FACTORS {
            continue;
        }
        for level in 0..space.values(factor) {
            let Some(within) = within(trials, factor, level) else {
                continue;
            };
            if least.is_none_or(|(least, _)| within < least) {
                least = Some((within, (factor, level)));
            }
        }
    }
    least.map(|(_, division)| division)
}

/// The sum of squares within the parts of a division; none where a part is empty.
fn within(trials: &[Trial], factor: usize, level: usize) -> Option<f64> {
    let mut parts = [(0.0, 0.0, 0.0); 2];
    for (configuration, cost) in trials {
        let part = &mut parts[usize::from(configuration[factor] == level)];
        part.0 += 1.0;
        part.1 += cost;
        part.2 += cost * cost;
    }
    let has_both = parts.iter().all(|(count, ..)| *count > 0.0);
    let squares = parts.iter().map(|(count, sum, squares)| squares - sum * sum / count);
    has_both.then(|| squares.sum())
}
