//! The trials of a generated run, and its analysis.

use std::collections::BTreeMap;

use lab::design::{Role, ScheduledTrial, round};
use lab::durability::Durability;
use lab::environment::Environment;
use lab::level::{Level, Settings};
use lab::record::{EnvironmentFile, FORMAT, PlannedExperiment, Purpose, RunPlan, TrialRecord};
use lab::seed::Seed;
use lab::target;
use lab::trial::{EngineMark, Measured, Outcome, ReadBack};
use tuning::{Analysis, Collector};

use crate::agreement::crashes;
use crate::agreement::plan::{PRAGMAS, plan};
use crate::agreement::recipe::{Confirms, ExperimentRecipe, RunRecipe};

/// The analysis of a run.
pub fn analysis(recipe: &RunRecipe) -> Analysis {
    let plan = plan(recipe);
    let mut trials = Vec::new();
    for planned in &plan.experiments {
        let recipe = recipe_of(recipe, &plan, planned);
        trials.extend(rounds(&plan, planned, recipe, Purpose::Rounds, 1.0));
    }
    trials.extend(crashes::records(&plan, recipe));
    let first = collected(&plan, trials.clone());
    let again = confirmation(&plan, recipe, &first);
    if again.is_empty() {
        first
    } else {
        collected(&plan, trials.into_iter().chain(again).collect())
    }
}

fn collected(plan: &RunPlan, trials: Vec<TrialRecord>) -> Analysis {
    let environment = EnvironmentFile {
        format: FORMAT,
        machine: Environment::default(),
        engines: Vec::new(),
        noise: None,
    };
    let mut collector = Collector::new(plan.clone(), environment);
    trials.into_iter().for_each(|trial| collector.add(trial));
    collector.finish()
}

/// The recipe of a planned experiment, which may be planned on two directories.
fn recipe_of<'a>(
    recipe: &'a RunRecipe,
    plan: &RunPlan,
    planned: &PlannedExperiment,
) -> &'a ExperimentRecipe {
    let experiments = &plan.experiments;
    let place = experiments.iter().position(|experiment| experiment.key == planned.key);
    &recipe.experiments[place.unwrap_or(0) / recipe.directories]
}

/// The rounds in which chosen variants are measured again.
fn confirmation(plan: &RunPlan, recipe: &RunRecipe, first: &Analysis) -> Vec<TrialRecord> {
    let strength = match recipe.confirms {
        Confirms::Nothing => return Vec::new(),
        Confirms::TheSame => 1.0,
        Confirms::NoDifference => 0.0,
        Confirms::TheOpposite => -1.0,
    };
    let experiments = plan.experiments.iter().zip(first.chosen_from_many());
    let chosen = experiments.filter(|(_, chosen)| !chosen.is_empty());
    let trials = chosen.flat_map(|(planned, chosen)| {
        let own = recipe_of(recipe, plan, planned);
        let all = rounds(plan, planned, own, Purpose::Confirmation, strength);
        let labels: Vec<String> =
            [0].iter().chain(&chosen).map(|it| planned.label(*it).to_owned()).collect();
        all.into_iter().filter(move |trial| labels.contains(&trial.variant))
    });
    trials.collect()
}

/// The trials of the rounds, in their order. `strength` says how much of the true differences they show.
fn rounds(
    plan: &RunPlan,
    planned: &PlannedExperiment,
    recipe: &ExperimentRecipe,
    purpose: Purpose,
    strength: f64,
) -> Vec<TrialRecord> {
    let seed = plan.seed.child(&planned.key).child(&format!("{purpose:?}"));
    let others: Vec<usize> = (1..planned.variants.len() + planned.upper_bounds.len()).collect();
    let machine = Machine { plan, planned, recipe, strength, seed };
    let mut trials = Vec::new();
    for number in 0..recipe.rounds {
        for (block, order) in (0..).zip(round(seed, number, &others)) {
            let placed = (0..).zip(order);
            trials.extend(placed.map(|(position, scheduled)| {
                machine.trial(purpose, (number, block, position), scheduled)
            }));
        }
    }
    if recipe.interrupted {
        trials.truncate(trials.len() - trials.len() / 8);
    }
    trials
}

/// What trials measure.
struct Machine<'a> {
    plan: &'a RunPlan,
    planned: &'a PlannedExperiment,
    recipe: &'a ExperimentRecipe,
    strength: f64,
    seed: Seed,
}

impl Machine<'_> {
    fn trial(
        &self,
        purpose: Purpose,
        (round, block, position): (u32, u32, u32),
        ScheduledTrial { variant, role }: ScheduledTrial,
    ) -> TrialRecord {
        let is_bound = variant >= self.planned.variants.len();
        let role = if is_bound { Role::UpperBound } else { role };
        let place = [round, block, position].map(u64::from);
        let seed = place.into_iter().fold(self.seed, Seed::nth);
        TrialRecord {
            agent: None,
            purpose,
            experiment: self.planned.key.clone(),
            round,
            block,
            position,
            variant: self.planned.label(variant).to_owned(),
            role,
            started: String::new(),
            wall_s: 0.5,
            covariates: Default::default(),
            outcome: self.outcome(variant, role, seed),
        }
    }

    fn outcome(&self, variant: usize, role: Role, seed: Seed) -> Outcome {
        let mut dice = seed.child("trouble").generator();
        if dice.below(100) < self.trouble(variant) {
            let why = "something went wrong".to_owned();
            return match dice.below(3) {
                0 => Outcome::Skipped { why },
                1 => Outcome::failed(why),
                _ => Outcome::TimedOut { limit_s: 60.0 },
            };
        }
        let bias = match role {
            Role::AaCheck => self.recipe.aa_bias,
            _ => 0.0,
        };
        let log = self.level(variant) + bias + self.recipe.noise * bell(seed);
        let figure = self.figure(log);
        let figures = [(self.recipe.metric, figure), ("cpu_user_s", 0.1)];
        let of_variant = self.planned.variants.get(variant);
        let settings = of_variant.map(|variant| &variant.settings);
        Outcome::Measured(Box::new(Measured {
            metrics: figures.map(|(name, value)| (name.to_owned(), value)).into(),
            engine: EngineMark { version: "3.50.4".to_owned(), source_id: "made up".to_owned() },
            connections: settings.map_or(Vec::new(), read_back),
            durability: settings.filter(|_| self.recipe.says_durability).map(survives),
            ..Measured::default()
        }))
    }

    /// Trials of a hundred without a figure: of every seventh variant most.
    fn trouble(&self, variant: usize) -> u64 {
        match (self.recipe.trouble, variant % 7) {
            (0, _) => 0,
            (_, 3) => 90,
            (some, _) => some / 4,
        }
    }

    /// Sizes and counts are whole numbers.
    fn figure(&self, log: f64) -> f64 {
        let figure = self.recipe.size * log.exp();
        match self.recipe.metric {
            "db_bytes" | "busy_errors" => figure.round(),
            _ => figure,
        }
    }

    /// The true figure of a variant as a logarithm; the baseline's is 0.
    fn level(&self, variant: usize) -> f64 {
        let Some(of_variant) = self.planned.variants.get(variant) else {
            return self.recipe.bound.unwrap_or(0.0);
        };
        let baseline = &self.planned.variants[0].levels;
        let is_changed = |(name, level): &(&String, &Level)| baseline.get(*name) != Some(*level);
        let changed: Vec<String> = (of_variant.levels.iter().filter(is_changed))
            .map(|(name, level)| format!("{name}={level}"))
            .collect();
        // Half of all levels change nothing.
        let part = |what: &str, spread: f64| {
            let seed = self.plan.seed.child(&self.planned.experiment.id).child(what);
            let changes = seed.generator().below(2) == 0;
            if changes { spread * bell(seed) } else { 0.0 }
        };
        let single: f64 = changed.iter().map(|changed| part(changed, self.recipe.spread)).sum();
        let together = match changed.len() {
            0 | 1 => 0.0,
            _ => part(&changed.join(" "), self.recipe.interaction),
        };
        self.strength * (single + together)
    }
}

fn read_back(settings: &Settings) -> Vec<ReadBack> {
    if !target::is_sqlite(settings) {
        return Vec::new();
    }
    let named = PRAGMAS.iter().filter_map(|name| {
        let level = settings.get(*name)?;
        Some(((*name).to_owned(), level.to_string()))
    });
    vec![ReadBack { connection: "writer".to_owned(), pragmas: named.collect::<BTreeMap<_, _>>() }]
}

fn survives(settings: &Settings) -> Durability {
    let text = |name: &str| settings.get(name).and_then(Level::as_text).unwrap_or_default();
    match (target::of(settings), text("synchronous"), text("journal_mode")) {
        ("postgres", ..) => Durability::Every,
        ("files", ..) => Durability::Torn,
        (_, "off", _) | (_, _, "off") => Durability::Process,
        (_, "normal", _) => Durability::Recent,
        _ => Durability::Every,
    }
}

/// Roughly a standard normal value: the sum of twelve uniform ones, less six.
fn bell(seed: Seed) -> f64 {
    let mut generator = seed.child("bell").generator();
    let uniform = |_| generator.below(1 << 20) as f64 / f64::from(1 << 20);
    (0..12).map(uniform).sum::<f64>() - 6.0
}
