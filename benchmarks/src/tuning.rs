//! How close searches come to the best configuration of made-up surfaces, with the method of `pragmark tune` and with
//! others, and whether the reported gain is the true one.

use lab::seed::{Seed, SplitMix64};
use lab::stats::{ALPHA, Estimate};
use lab::tuning::simulation::{Surface, Trials};
use lab::tuning::{Configuration, PER_BLOCK, Search, Seen, Tried};

/// A recommendation within this ratio of the best cost is close.
const CLOSE: f64 = 1.05;

/// Rounds of the recommendation and the current settings.
const ROUNDS: u32 = 7;

/// A method: what it recommends for a surface once this much has been spent.
type Method = fn(&Surface, Seed, f64) -> Configuration;

/// The methods, that of `pragmark tune` first.
const METHODS: [(&str, Method); 4] = [
    ("tune", tuned),
    ("random search", random),
    ("one factor at a time", one_at_a_time),
    ("successive halving", halved),
];

/// Searches on so many surfaces with each budget, in trials of the current settings.
pub fn run(surfaces: u64, factors: usize, budgets: &[f64]) {
    println!("target of tune: 0.85 within 5 % of the best at 100, 0.95 at 300");
    for budget in budgets {
        for (name, method) in METHODS {
            let judged = (0..surfaces).map(|seed| {
                let surface = Surface::new(factors, Seed(seed));
                let chosen = method(&surface, Seed(seed), *budget);
                assert!(
                    surface.space().admits(&chosen),
                    "an excluded recommendation"
                );
                Judged::of(&surface, &chosen, Seed(seed))
            });
            report(name, *budget, &judged.collect::<Vec<_>>());
        }
    }
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
    let (space, current) = (surface.space().clone(), surface.current());
    let Some(mut search) = Search::new(space, current.clone(), surface.good(), seed) else {
        return current;
    };
    let mut trials = Trials::new(surface, seed);
    let mut tried: Vec<Tried> = Vec::new();
    for block in 0.. {
        let expected = trials.spent() / f64::from(block.max(1));
        if block > 2 && trials.spent() + expected > budget {
            break;
        }
        for configuration in search.block(block, &tried) {
            tried.push(Tried {
                block,
                seen: trials.stopped(&configuration, block),
                configuration,
            });
        }
    }
    search.choice(&tried)
}

/// What a trial cost, or more than any that was not hopeless.
fn cost(trials: &mut Trials<'_>, configuration: &[usize], number: usize) -> f64 {
    let block = number / (PER_BLOCK + 1);
    match trials.stopped(configuration, block as u32) {
        Seen::Cost(cost) => cost,
        Seen::Hopeless | Seen::Unusable => f64::INFINITY,
    }
}

fn random(surface: &Surface, seed: Seed, budget: f64) -> Configuration {
    let mut generator = seed.child("random").generator();
    let mut trials = Trials::new(surface, seed);
    let mut best = (f64::INFINITY, surface.current());
    let mut known = surface.good();
    for number in 0.. {
        if trials.spent() > budget {
            break;
        }
        let drawn = || surface.space().random(&mut generator, &surface.current());
        let next = known.pop().unwrap_or_else(drawn);
        let cost = cost(&mut trials, &next, number);
        if cost < best.0 {
            best = (cost, next);
        }
    }
    best.1
}

/// Each factor in turn gets the level with the lowest mean of three trials.
fn one_at_a_time(surface: &Surface, seed: Seed, budget: f64) -> Configuration {
    let space = surface.space();
    let mut generator = seed.child("one at a time").generator();
    let mut trials = Trials::new(surface, seed);
    let mut at = surface.good().pop().unwrap_or_else(|| surface.current());
    let mut number = 0;
    while trials.spent() < budget {
        for factor in shuffled(space.factors.len(), &mut generator) {
            let mut best = (f64::INFINITY, at.clone());
            for level in 0..space.factors[factor].levels.len() {
                let mut other = at.clone();
                other[factor] = level;
                let other = space.canonical(other);
                if !space.admits(&other) || trials.spent() > budget {
                    continue;
                }
                let costs = (0..3).map(|again| cost(&mut trials, &other, number + again));
                let mean = costs.sum::<f64>() / 3.0;
                number += 3;
                if mean < best.0 {
                    best = (mean, other);
                }
            }
            at = best.1;
        }
    }
    at
}

fn shuffled(count: usize, generator: &mut SplitMix64) -> Vec<usize> {
    let mut all: Vec<usize> = (0..count).collect();
    generator.shuffle(&mut all);
    all
}

/// Half of the budget is for random configurations, the rest for measuring the better halves again.
fn halved(surface: &Surface, seed: Seed, budget: f64) -> Configuration {
    let mut generator = seed.child("halving").generator();
    let mut trials = Trials::new(surface, seed);
    let mut rung: Vec<(f64, u32, Configuration)> = Vec::new();
    let mut known = surface.good();
    let mut number = 0;
    while trials.spent() < budget / 2.0 {
        let drawn = || surface.space().random(&mut generator, &surface.current());
        let next = known.pop().unwrap_or_else(drawn);
        rung.push((cost(&mut trials, &next, number), 1, next));
        number += 1;
    }
    while rung.len() > 1 && trials.spent() < budget {
        rung.sort_by(|a, b| (a.0 / f64::from(a.1)).total_cmp(&(b.0 / f64::from(b.1))));
        rung.truncate(rung.len().div_ceil(2));
        for (sum, count, configuration) in &mut rung {
            *sum += cost(&mut trials, configuration, number);
            (*count, number) = (*count + 1, number + 1);
        }
    }
    rung.sort_by(|a, b| (a.0 / f64::from(a.1)).total_cmp(&(b.0 / f64::from(b.1))));
    rung.into_iter()
        .next()
        .map_or_else(|| surface.current(), |it| it.2)
}
