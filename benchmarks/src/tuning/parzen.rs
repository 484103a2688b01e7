//! The tree-structured Parzen estimator after Bergstra and others, "Algorithms for hyper-parameter optimization" (NIPS 24,
//! 2011): levels that are frequent among the best trials and rare among the others are promising.

use super::simulation::Surface;
use lab::seed::Seed;
use lab::tuning_plan::Configuration;

use super::course::Course;

/// Random trials at the beginning.
const FIRST: usize = 20;

/// The share of the trials that counts as the best.
const BEST: f64 = 0.15;

/// Candidates from which the most promising one is tried.
const CANDIDATES: usize = 24;

/// How often a level counts as seen before any trial.
const PRIOR: f64 = 1.0;

/// By factor and level: how often a level was seen.
type Frequencies = Vec<Vec<f64>>;

/// The configuration with the lowest mean among those that were tried.
pub(super) fn estimate(surface: &Surface, seed: Seed, budget: f64) -> Configuration {
    let mut course = Course::new(surface, seed, budget);
    course.begin(FIRST);
    while course.spent() < 1.0 {
        let next = promising(&mut course);
        course.cost(&next);
    }
    course.lowest_mean()
}

fn promising(course: &mut Course<'_>) -> Configuration {
    let mut sorted: Vec<&(Configuration, f64)> = course.tried.iter().collect();
    sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
    let best = (BEST * sorted.len() as f64).ceil() as usize;
    let (good, others) =
        (frequencies(course, &sorted[..best]), frequencies(course, &sorted[best..]));
    let score = |it: &Configuration| {
        let levels = it.iter().enumerate();
        let ratios = levels.map(|(factor, level)| good[factor][*level] / others[factor][*level]);
        ratios.product::<f64>()
    };
    let mut next: Option<(f64, Configuration)> = None;
    for _ in 0..CANDIDATES {
        let drawn = good.iter().map(|weights| course.drawn(weights)).collect();
        let Some(drawn) = course.admissible(drawn) else {
            continue;
        };
        let score = score(&drawn);
        if next.as_ref().is_none_or(|(most, _)| score > *most) {
            next = Some((score, drawn));
        }
    }
    next.map_or_else(|| course.random(), |(_, drawn)| drawn)
}

/// The relative frequencies of the levels in these trials.
fn frequencies(course: &Course<'_>, trials: &[&(Configuration, f64)]) -> Frequencies {
    let space = course.space();
    let factor = |factor: usize| {
        let mut seen = vec![PRIOR; space.values(factor)];
        trials.iter().for_each(|(it, _)| seen[it[factor]] += 1.0);
        let all: f64 = seen.iter().sum();
        seen.iter().map(|count| count / all).collect()
    };
    (0..space.factors.len()).map(factor).collect()
}
