//! How close searches come to the best configuration of made-up surfaces, with the method of `pragmark tune` and with
//! others, and whether the reported gain is the true one.

mod course;
mod forest;
mod parzen;
mod racing;
mod simple;
// The tests of the crate `tuning` use parts that no benchmark needs.
#[allow(dead_code)]
#[path = "../../../crates/tuning/tests/it/simulation.rs"]
mod simulation;

use std::time::Instant;

use lab::seed::Seed;
use lab::stats::{ALPHA, Estimate};
use lab::tuning_plan::{Configuration, SearchTrial};
use simulation::{Surface, Trials};
use tuning::Search;

/// A recommendation within this ratio of the best cost is close.
const CLOSE: f64 = 1.05;

/// A budget that leaves a few blocks after the screen.
const SMALL: f64 = 35.0;

/// Rounds of the recommendation and the current settings.
const ROUNDS: u32 = 7;

/// A method: what it recommends for a surface once this much has been spent.
type Method = fn(&Surface, Seed, f64) -> Configuration;

/// The methods, that of `pragmark tune` first.
const METHODS: [(&str, Method); 7] = [
    ("tune", tuned),
    ("random search", simple::random),
    ("one factor at a time", simple::one_at_a_time),
    ("successive halving", simple::halved),
    ("race like irace's", racing::race),
    ("tree-structured Parzen estimator", parzen::estimate),
    ("random forest", forest::search),
];

/// Searches on so many surfaces with each budget, in trials of the current settings.
pub fn run(surfaces: u64, factors: usize, budgets: &[f64]) {
    println!("target of tune: 0.85 within 5 % of the best at 100, 0.95 at 300");
    for budget in budgets {
        for (name, method) in METHODS {
            let judged = (0..surfaces).map(|seed| {
                let surface = Surface::new(factors, Seed(seed));
                let chosen = method(&surface, Seed(seed), *budget);
                assert!(surface.space().admits(&chosen), "an excluded recommendation");
                Judged::of(&surface, &chosen, Seed(seed))
            });
            report(name, *budget, &judged.collect::<Vec<_>>());
        }
    }
}

/// Searches on surfaces with 6 to 15 factors and a small budget, none of which may try or recommend what is excluded.
pub fn safety(searches: u64) {
    let mut trials = 0;
    for seed in 0..searches {
        let factors = 6 + (seed % 10) as usize;
        let surface = Surface::new(factors, Seed(seed));
        let (chosen, tried) = searched(&surface, Seed(seed), SMALL);
        let mut all = tried.iter().map(|it| &it.configuration).chain([&chosen]);
        let is_admitted = all.all(|it| surface.space().admits(it));
        assert!(is_admitted, "excluded on surface {seed}");
        trials += tried.len();
    }
    println!("{searches} searches, {trials} trials: nothing excluded was tried or recommended");
}

/// The time of choosing a trial, over searches with each budget.
pub fn speed(surfaces: u64, factors: usize, budgets: &[f64]) {
    for budget in budgets {
        speed_with(surfaces, factors, *budget);
    }
}

fn speed_with(surfaces: u64, factors: usize, budget: f64) {
    let (mut all_ms, mut largest_ms, mut trials) = (0.0, 0.0_f64, 0);
    for seed in 0..surfaces {
        let surface = Surface::new(factors, Seed(seed));
        let begin = Instant::now();
        let mut last_ms = 0.0;
        let (_, tried) = searched_with(&surface, Seed(seed), budget, |block| {
            let now_ms = begin.elapsed().as_secs_f64() * 1e3;
            largest_ms = largest_ms.max((now_ms - last_ms) / block as f64);
            last_ms = now_ms;
        });
        all_ms += last_ms;
        trials += tried.len();
    }
    let mean_ms = all_ms / trials as f64;
    println!(
        "{budget}: choosing a trial takes {mean_ms:.1} ms (mean of {trials}); {largest_ms:.1} ms in the slowest block; target: 50"
    );
}

fn report(name: &str, budget: f64, judged: &[Judged]) {
    let share = |is: fn(&Judged) -> bool| {
        let count = judged.iter().filter(|it| is(it)).count();
        count as f64 / judged.len() as f64
    };
    let logs = judged.iter().map(|it| it.distance.ln()).sum::<f64>();
    println!(
        "{budget} {name}: {:.3} within 5 % (mean {:.3} of the best cost); interval covers {:.3}; worse than now {:.3}",
        share(|it| it.distance <= CLOSE),
        (logs / judged.len() as f64).exp(),
        share(|it| it.covered),
        share(|it| it.is_worse),
    );
}

/// What came of a search.
struct Judged {
    /// The true cost in units of the best.
    distance: f64,
    /// Whether the interval of the reported gain has the true one.
    covered: bool,
    /// Whether the rounds recommend what truly costs more than the current settings, by more than is detectable.
    is_worse: bool,
}

impl Judged {
    fn of(surface: &Surface, chosen: &[usize], seed: Seed) -> Judged {
        let mut trials = Trials::new(surface, seed.child("rounds"));
        let current = surface.current();
        let ratios = (0..ROUNDS).map(|round| {
            let [own, now] = [chosen, &current].map(|it| trials.whole(it, round).ln());
            own - now
        });
        let cost = surface.cost(chosen);
        let estimate = Estimate::from_log_ratios(&ratios.collect::<Vec<_>>(), ALPHA);
        let interval = estimate.as_ref().map(|it| it.interval).ok();
        let recommended = interval.is_some_and(|it| it.high < 1.0);
        let detectable = estimate.map_or(f64::INFINITY, |it| it.detectable);
        Judged {
            distance: cost / surface.lowest(),
            covered: chosen == current || interval.is_some_and(|it| it.contains(cost)),
            is_worse: recommended && cost > 1.0 + detectable,
        }
    }
}

fn tuned(surface: &Surface, seed: Seed, budget: f64) -> Configuration {
    searched(surface, seed, budget).0
}

fn searched(surface: &Surface, seed: Seed, budget: f64) -> (Configuration, Vec<SearchTrial>) {
    searched_with(surface, seed, budget, |_| ())
}

/// What a search recommends, and its trials; the number of trials of each block is given away when the block has ended.
fn searched_with(
    surface: &Surface,
    seed: Seed,
    budget: f64,
    mut ended: impl FnMut(usize),
) -> (Configuration, Vec<SearchTrial>) {
    let (space, current) = (surface.space().clone(), surface.current());
    let mut tried: Vec<SearchTrial> = Vec::new();
    let Some(mut search) = Search::new(space, current.clone(), surface.good(), seed) else {
        return (current, tried);
    };
    let mut trials = Trials::new(surface, seed);
    for block in 0.. {
        let expected = trials.spent() / f64::from(block.max(1));
        if block > 2 && trials.spent() + expected > budget {
            break;
        }
        let before = tried.len();
        trials.of_block(&mut search, block, &mut tried);
        ended(tried.len() - before);
    }
    (search.choice(&tried), tried)
}
