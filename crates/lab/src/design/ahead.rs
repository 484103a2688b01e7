//! What comes after the next block, as far as it can be foreseen.
//!
//! Several machines work on one run at a time only if blocks are known before those ahead of them have ended. What is
//! foreseen supposes that every trial will be measured and that no experiment becomes precise enough; a block that
//! turns out not to be needed is left out of the record, so that foresight never changes a run.

use super::{Course, Done, History, Next, Observation, Stopping, block, outlook, turn};

/// The blocks that come next, up to `count`, in their order, each with the index of its experiment.
pub fn ahead(courses: &[Course], histories: &[&History], count: usize) -> Vec<(usize, Vec<Next>)> {
    let courses: Vec<Course> = courses.iter().map(imprecise).collect();
    let mut supposed: Vec<History> = histories.iter().map(|it| (*it).clone()).collect();
    let mut blocks = Vec::new();
    while blocks.len() < count {
        let so_far: Vec<&History> = supposed.iter().collect();
        let Some(index) = turn(&outlook(&courses, &so_far)) else {
            break;
        };
        let trials = block(&courses[index], so_far[index]);
        let wall_s = so_far[index].trial_s().unwrap_or(0.0);
        for trial in &trials {
            supposed[index].add(measured(*trial, wall_s));
        }
        blocks.push((index, trials));
    }
    blocks
}

/// The same course, without an end for being precise.
fn imprecise(course: &Course) -> Course {
    Course { stopping: Stopping { half_width: -1.0, ..course.stopping }, ..*course }
}

/// The trial as if it had been measured, in the usual time.
fn measured(trial: Next, wall_s: f64) -> Observation {
    let Next::Trial { place, variant, role } = trial else {
        unreachable!("a block consists of trials")
    };
    Observation { place, variant, role, done: Done::Measured(1.0), wall_s, disturbed: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;

    fn course(variants: usize) -> Course {
        Course {
            seed: Seed(3),
            variants,
            upper_bounds: 1,
            counting: true,
            stopping: Stopping { rounds: 3, max_rounds: 3, ..Stopping::default() },
            budget_s: None,
            alone: false,
        }
    }

    /// Carries two experiments out one block at a time.
    fn carried_out(courses: &[Course]) -> Vec<(usize, Vec<Next>)> {
        let mut histories = vec![History::default(); courses.len()];
        let mut blocks = Vec::new();
        loop {
            let so_far: Vec<&History> = histories.iter().collect();
            let Some(index) = turn(&outlook(courses, &so_far)) else {
                return blocks;
            };
            let trials = block(&courses[index], so_far[index]);
            for trial in &trials {
                histories[index].add(measured(*trial, 1.0));
            }
            blocks.push((index, trials));
        }
    }

    #[test]
    fn what_is_foreseen_is_what_comes_when_all_goes_well() {
        let courses = [course(2), course(12)];
        let none = History::default();
        let foreseen = ahead(&courses, &[&none, &none], 1_000);
        let blocks = carried_out(&courses);
        assert_eq!(foreseen, blocks);
        assert!(blocks.len() > 12, "{}", blocks.len());
        assert_eq!(ahead(&courses, &[&none, &none], 5), blocks[..5]);
    }

    #[test]
    fn rounds_beyond_the_fewest_are_foreseen_up_to_the_most() {
        let long = Course {
            stopping: Stopping { rounds: 3, max_rounds: 9, ..Stopping::default() },
            counting: false,
            ..course(2)
        };
        assert_eq!(ahead(&[long], &[&History::default()], 100).len(), 9);
    }
}
