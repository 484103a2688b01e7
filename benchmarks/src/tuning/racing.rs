//! Iterated racing after López-Ibáñez and others, "The irace package" (Operations Research Perspectives 3, 2016): races
//! of configurations drawn around the survivors of the last race, more narrowly each time.

use super::simulation::Surface;
use lab::seed::Seed;
use lab::stats::student_p_value;
use lab::tuning_plan::Configuration;

use super::course::{Course, mean};

/// Races.
const RACES: usize = 5;

/// Survivors of a race at most.
const SURVIVORS: usize = 3;

/// Rounds of a race before anything is eliminated.
const FIRST_ROUNDS: usize = 3;

/// Rounds of a race at most.
const MOST_ROUNDS: usize = 6;

/// Candidates of a race for each unit of its budget: most are eliminated after the first rounds.
const PER_UNIT: f64 = 0.25;

/// What is eliminated is worse than the best at this level.
const LEVEL: f64 = 0.05;

struct Candidate {
    configuration: Configuration,
    costs: Vec<f64>,
}

/// What the last race leaves first.
pub(super) fn race(surface: &Surface, seed: Seed, budget: f64) -> Configuration {
    let mut course = Course::new(surface, seed, budget);
    let mut elite = surface.good();
    for number in 0..RACES {
        let until = (number + 1) as f64 / RACES as f64;
        let size = (PER_UNIT * budget / RACES as f64).ceil() as usize + SURVIVORS;
        let candidates = candidates(&mut course, &elite, number, size);
        elite = survivors(&mut course, candidates, until);
    }
    elite.swap_remove(0)
}

/// The elite, and others drawn around its members: a level is kept more probably from race to race.
fn candidates(
    course: &mut Course<'_>,
    elite: &[Configuration],
    number: usize,
    size: usize,
) -> Vec<Candidate> {
    let kept = number as f64 / RACES as f64;
    let mut all: Vec<Configuration> = elite.to_vec();
    while all.len() < size {
        let parent = course.generator.below(elite.len() as u64) as usize;
        let random = course.random();
        let mut child = elite[parent].clone();
        for (level, other) in child.iter_mut().zip(random) {
            if course.generator.uniform() >= kept {
                *level = other;
            }
        }
        all.extend(course.admissible(child));
    }
    let candidate = |configuration| Candidate { configuration, costs: Vec::new() };
    all.into_iter().map(candidate).collect()
}

/// Rounds of all that remain, until few remain or the part of the budget is spent; the best first.
fn survivors(
    course: &mut Course<'_>,
    mut racing: Vec<Candidate>,
    until: f64,
) -> Vec<Configuration> {
    for round in 0..MOST_ROUNDS {
        if round > 0 && course.spent() >= until {
            break;
        }
        for candidate in &mut racing {
            candidate.costs.push(course.cost(&candidate.configuration));
        }
        racing.sort_by(|a, b| mean(&a.costs).total_cmp(&mean(&b.costs)));
        if round + 1 >= FIRST_ROUNDS {
            let best = racing[0].costs.clone();
            racing.retain(|it| !is_worse(&it.costs, &best));
        }
        if racing.len() <= SURVIVORS && round + 1 >= FIRST_ROUNDS {
            break;
        }
    }
    let survivors = racing.into_iter().take(SURVIVORS);
    survivors.map(|it| it.configuration).collect()
}

/// Whether paired costs are higher by more than noise.
fn is_worse(costs: &[f64], best: &[f64]) -> bool {
    let pairs = costs.iter().zip(best);
    let differences: Vec<f64> = pairs.map(|(own, best)| own - best).collect();
    let p_value = student_p_value(&differences, 0.0).unwrap_or(1.0);
    mean(&differences) > 0.0 && p_value < LEVEL
}
