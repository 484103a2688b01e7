//! Made-up surfaces on which searches are judged: what a configuration costs is known there, and so is the best.
//!
//! Twelve to fifteen factors, some of which do nothing; effects of pairs and triples; a factor that means nothing
//! without another; levels that are fast but excluded. Trials have noise, blocks drift, and some trials are
//! outliers. The tests use a sample, the benchmark `tuning` very many.

use lab::level::Level;
use lab::seed::{Seed, SplitMix64};
use lab::tuning_plan::{Configuration, Exclusion, Factor, Gate, SearchOutcome, SearchTrial, Space};
use tuning::{STOP_AT, Search, stop_at};

/// Levels of each factor: 777,600 configurations with the first twelve.
const LEVELS: [usize; 15] = [4, 3, 5, 4, 3, 5, 2, 2, 3, 3, 3, 2, 3, 2, 4];

/// The factor that means something only with the last level of the first one.
const GATED: usize = 5;

/// How much faster excluded levels are, as a logarithm.
const TEMPTATION: f64 = 0.5;

/// The standard deviation of the logarithm of a trial's cost.
const NOISE: f64 = 0.1;

/// The standard deviation of the step by which the machine is slower or faster in the next block.
const DRIFT: f64 = 0.04;

/// The share of trials that are outliers, and the standard deviation of the logarithm by which they cost more.
const OUTLIERS: (f64, f64) = (0.03, 0.5);

/// The effects of the levels of one to three factors together.
#[derive(Clone, Debug)]
struct Effect {
    factors: Vec<usize>,
    effects: Vec<f64>,
}

/// A surface: the true cost of every configuration.
#[derive(Clone, Debug)]
pub struct Surface {
    space: Space,
    effects: Vec<Effect>,
}

impl Surface {
    /// A surface with so many factors, from 6 to 15.
    pub fn new(factors: usize, seed: Seed) -> Surface {
        let mut generator = seed.child("surface").generator();
        let space = space(factors);
        let mut effects = Vec::new();
        for factor in 0..factors {
            let sd = size_of(factor, &mut generator);
            effects.push(Effect::draw(&space, vec![factor], sd, &mut generator));
        }
        for (together, count, sd) in [(2, 8, 0.08), (3, 3, 0.06)] {
            for _ in 0..count {
                let mut all: Vec<usize> = (0..factors).collect();
                generator.shuffle(&mut all);
                all.truncate(together);
                effects.push(Effect::draw(&space, all, sd, &mut generator));
            }
        }
        for exclusion in &space.excluded {
            effects.push(Effect::temptation(&space, exclusion));
        }
        Surface { space, effects }
    }

    /// The surface that this one has become, for example with more data: its effects are those of this one so far as the
    /// likeness says, from 0 to 1, and for the rest others of the same size.
    pub fn moved(&self, likeness: f64, seed: Seed) -> Surface {
        let mut generator = seed.child("moved").generator();
        let mut moved = self.clone();
        for effect in &mut moved.effects {
            effect.move_to(likeness, &mut generator);
        }
        moved
    }

    /// What may be tried.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The settings before tuning: the first level of every factor.
    pub fn current(&self) -> Configuration {
        self.space.canonical(vec![0; self.space.factors.len()])
    }

    /// What is known to be good elsewhere: the current settings, and those with what is best for each of the first
    /// two factors by itself.
    pub fn good(&self) -> Vec<Configuration> {
        let mut good = self.current();
        for factor in 0..2 {
            let cost = |level: &usize| {
                let mut with = good.clone();
                with[factor] = *level;
                let with = self.space.canonical(with);
                match self.space.admits(&with) {
                    true => self.cost(&with),
                    false => f64::INFINITY,
                }
            };
            let levels = 0..self.space.factors[factor].levels.len();
            let best = levels.min_by(|a, b| cost(a).total_cmp(&cost(b)));
            good[factor] = best.unwrap_or(0);
            good = self.space.canonical(good);
        }
        vec![self.current(), good]
    }

    /// The true cost of a configuration, in units of the current settings.
    pub fn cost(&self, configuration: &[usize]) -> f64 {
        (self.log_cost(configuration) - self.log_cost(&self.current())).exp()
    }

    fn log_cost(&self, configuration: &[usize]) -> f64 {
        let effects = self.effects.iter();
        effects.map(|effect| effect.at(&self.space, configuration)).sum()
    }

    /// The cost of the best configuration that may be tried, by looking at all of them.
    pub fn lowest(&self) -> f64 {
        let factors = self.space.factors.len();
        // Effects are added as soon as their last factor has a level.
        let ends_at = |factor: usize| -> Vec<&Effect> {
            let effects = self.effects.iter();
            let last = |effect: &&Effect| effect.factors.iter().max() == Some(&factor);
            effects.filter(last).collect()
        };
        let by_factor: Vec<Vec<&Effect>> = (0..factors).map(ends_at).collect();
        let mut at = vec![0; factors];
        let mut lowest = f64::INFINITY;
        self.look(&by_factor, 0, 0.0, &mut at, &mut lowest);
        (lowest - self.log_cost(&self.current())).exp()
    }

    fn look(
        &self,
        by_factor: &[Vec<&Effect>],
        factor: usize,
        so_far: f64,
        at: &mut Configuration,
        lowest: &mut f64,
    ) {
        if factor == at.len() {
            if so_far < *lowest && self.space.admits(at) {
                *lowest = so_far;
            }
            return;
        }
        for level in self.values(factor, at) {
            at[factor] = level;
            let here = by_factor[factor].iter();
            let here: f64 = here.map(|effect| effect.at(&self.space, at)).sum();
            self.look(by_factor, factor + 1, so_far + here, at, lowest);
        }
    }

    fn values(&self, factor: usize, at: &[usize]) -> std::ops::Range<usize> {
        let levels = self.space.factors[factor].levels.len();
        match &self.space.factors[factor].gate {
            Some(gate) if !gate.levels.contains(&at[gate.factor]) => levels..levels + 1,
            _ => 0..levels,
        }
    }
}

impl Effect {
    fn draw(space: &Space, factors: Vec<usize>, sd: f64, generator: &mut SplitMix64) -> Effect {
        let size = factors.iter().map(|factor| space.values(*factor)).product();
        let effects = (0..size).map(|_| sd * generator.normal()).collect();
        Effect { factors, effects }
    }

    fn move_to(&mut self, likeness: f64, generator: &mut SplitMix64) {
        let squares: f64 = self.effects.iter().map(|it| it * it).sum();
        let sd = (squares / self.effects.len() as f64).sqrt();
        let other = sd * (1.0 - likeness * likeness).sqrt();
        for effect in &mut self.effects {
            *effect = likeness * *effect + other * generator.normal();
        }
    }

    /// Excluded levels save time.
    fn temptation(space: &Space, exclusion: &Exclusion) -> Effect {
        let factors: Vec<usize> = exclusion.levels.iter().map(|(factor, _)| *factor).collect();
        let size = factors.iter().map(|factor| space.values(*factor)).product();
        let mut effect = Effect { factors, effects: vec![0.0; size] };
        let mut at = vec![0; space.factors.len()];
        for (factor, level) in &exclusion.levels {
            at[*factor] = *level;
        }
        let index = effect.index(space, &at);
        effect.effects[index] = -TEMPTATION;
        effect
    }

    fn index(&self, space: &Space, configuration: &[usize]) -> usize {
        self.factors
            .iter()
            .fold(0, |index, factor| index * space.values(*factor) + configuration[*factor])
    }

    fn at(&self, space: &Space, configuration: &[usize]) -> f64 {
        self.effects[self.index(space, configuration)]
    }
}

/// How much the levels of a factor differ: the first two much, of the others three in ten much, four in ten little
/// and the rest not at all.
fn size_of(factor: usize, generator: &mut SplitMix64) -> f64 {
    let kind = generator.uniform();
    let within = generator.uniform();
    match (factor, kind) {
        (0 | 1, _) => 0.3,
        (_, kind) if kind < 0.3 => 0.1 + 0.2 * within,
        (_, kind) if kind < 0.7 => 0.02 + 0.04 * within,
        _ => 0.0,
    }
}

/// Factors with their levels. The last level of the second factor is excluded, and so are the two levels before the
/// last of the first two factors together.
fn space(factors: usize) -> Space {
    let factor = |index: usize| Factor {
        name: format!("f{index}"),
        levels: (0..LEVELS[index] as i64).map(Level::Int).collect(),
        unset: false,
        gate: (index == GATED).then(|| Gate { factor: 0, levels: vec![LEVELS[0] - 1] }),
    };
    let exclusion = |levels: &[(usize, usize)]| Exclusion {
        levels: levels.to_vec(),
        why: "can corrupt".to_owned(),
    };
    Space {
        factors: (0..factors).map(factor).collect(),
        excluded: vec![
            exclusion(&[(1, LEVELS[1] - 1)]),
            exclusion(&[(0, LEVELS[0] - 2), (1, LEVELS[1] - 2)]),
        ],
    }
}

/// Trials on a surface, with all that makes measuring hard.
#[derive(Clone, Debug)]
pub struct Trials<'a> {
    surface: &'a Surface,
    generator: SplitMix64,
    block: u32,
    drift: f64,
    spent: f64,
}

impl<'a> Trials<'a> {
    /// Trials that depend on the seed alone.
    pub fn new(surface: &'a Surface, seed: Seed) -> Trials<'a> {
        Trials {
            surface,
            generator: seed.child("trials").generator(),
            block: 0,
            drift: 0.0,
            spent: 0.0,
        }
    }

    /// The cost of all trials so far, in trials of the current settings.
    pub fn spent(&self) -> f64 {
        self.spent
    }

    /// A trial in a block, stopped at 2.5 times the cost of the current settings.
    pub fn stopped(&mut self, configuration: &[usize], block: u32) -> SearchOutcome {
        self.stopped_at(STOP_AT, configuration, block)
    }

    fn stopped_at(&mut self, limit: f64, configuration: &[usize], block: u32) -> SearchOutcome {
        let cost = self.cost(configuration, block);
        self.spent += cost.min(limit);
        match cost < limit {
            true => SearchOutcome::Cost(cost),
            false => SearchOutcome::Hopeless(limit),
        }
    }

    /// The trials of a block of a search.
    pub fn of_block(&mut self, search: &mut Search, block: u32, tried: &mut Vec<SearchTrial>) {
        let current = self.surface.current();
        let limit = stop_at(tried, &current);
        for configuration in search.block(block, tried) {
            let limit = match configuration == current {
                true => STOP_AT,
                false => limit,
            };
            tried.push(SearchTrial {
                block,
                outcome: self.stopped_at(limit, &configuration, block),
                configuration,
                constrained: Vec::new(),
            });
        }
    }

    /// A trial in a block, carried out to its end.
    pub fn whole(&mut self, configuration: &[usize], block: u32) -> f64 {
        let cost = self.cost(configuration, block);
        self.spent += cost;
        cost
    }

    fn cost(&mut self, configuration: &[usize], block: u32) -> f64 {
        while self.block < block {
            self.block += 1;
            self.drift += DRIFT * self.generator.normal();
        }
        let mut log = self.drift + NOISE * self.generator.normal();
        if self.generator.uniform() < OUTLIERS.0 {
            log += OUTLIERS.1 * self.generator.normal().abs();
        }
        self.surface.cost(configuration) * log.exp()
    }
}
