//! The search of a run: which block comes next, as a function of the plan and of the trials so far.

use super::search::{Expectation, SCREEN_BLOCKS, Search, trials_of};
use super::search::{STOP_AT, stop_at};
use super::trade_off::is_timed;
use lab::design::Role;
use lab::experiment::Experiment;
use lab::metric::higher_is_better;
use lab::record::{PlannedExperiment, Purpose, RunPlan, TrialRecord};
use lab::stats::{detectable_difference, median};
use lab::trial::{Measured, Outcome};
use lab::tuning_plan::{Configuration, Constraint, SearchOutcome, SearchTrial, TuningPlan};

/// Trials of the search's length that are put aside for ablation: seven rounds of up to six settings and two baselines.
const ABLATION: f64 = ROUNDS * 8.0;

/// Rounds of each part after the search, if there is time.
const ROUNDS: f64 = 7.0;

/// Rounds without which nothing can be said of the recommendation: rather than for them, time is short for the screen.
const FEWEST_ROUNDS: f64 = 3.0;

/// The largest part of a time limit that is put aside.
const LARGEST_SHARE: f64 = 0.45;

/// The part of a time limit in which trials run; the rest is for choosing the next ones.
const MEASURING: f64 = 0.98;

/// The last trials of the current settings that say how long one takes: a machine, or a file that grows, may become slower.
const LAST: usize = 5;

/// Blocks of a search without a time limit.
const BLOCKS: u32 = 50;

/// Blocks of any search, at most: 609 trials. The time for choosing the next block grows with the cube of their number, and
/// where trials take milliseconds it would soon be longer than they are, and longer than the limit.
const MOST_BLOCKS: u32 = 100;

/// Seconds that a trial may take in addition before it is stopped as hopeless: preparing one takes time, too.
const SLACK_S: f64 = 2.0;

/// A trial of a search, as the record holds it.
#[derive(Clone, Debug)]
struct RecordedTrial {
    place: (u32, u32),
    role: Role,
    configuration: Configuration,
    outcome: Ended,
    wall_s: f64,
    /// The figures of the constraints.
    constrained: Vec<Option<f64>>,
}

/// How a trial ended, as far as the search cares.
#[derive(Clone, Debug, PartialEq)]
enum Ended {
    Measured { cost: f64, asked: Option<String>, answer: Option<String> },
    Stopped { limit_s: f64 },
    Unusable,
}

/// A trial that is to be carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchSlot {
    /// Round, block and position.
    pub place: (u32, u32, u32),
    /// Index of its variant in the experiment of the block.
    pub variant: usize,
    /// Its role in its block.
    pub role: Role,
    /// Seconds after which it is hopeless; none before the current settings were measured.
    pub limit_s: Option<f64>,
}

/// A forecast of the rounds after a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// The noise of a trial, as a fraction: one standard deviation.
    pub noise: f64,
    /// Rounds that there is time for, seven at most.
    pub rounds: usize,
    /// The gain that such rounds detect in 80 % of all cases, as a fraction; infinite with fewer than two rounds.
    pub detectable: f64,
}

/// The rest of a block.
#[derive(Clone, Debug)]
pub struct SearchBlock {
    /// The experiment with the variants of the block.
    pub planned: PlannedExperiment,
    /// The trials.
    pub slots: Vec<SearchSlot>,
}

/// The name of a variant that could mean another one, so that its trials would be lost.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the levels of `{0}` cannot be told apart in the record; name them without spaces and `=`")]
pub struct Ambiguous(pub String);

/// The course of a search.
#[derive(Clone, Debug)]
pub struct SearchState {
    planned: PlannedExperiment,
    tuning: TuningPlan,
    /// The time limit of the run, in seconds.
    limit_s: Option<f64>,
    /// The part of it in which trials of the search and of what comes after run.
    budget_s: Option<f64>,
    search: Search,
    trials: Vec<RecordedTrial>,
}

impl SearchState {
    /// Returns the search of a run before its first trial; `None` if the run tunes nothing, or nothing may be tried.
    pub fn of(plan: &RunPlan) -> Option<SearchState> {
        let mut experiments = plan.experiments.iter();
        let (planned, tuning) =
            experiments.find_map(|planned| Some((planned, planned.tuning.as_deref()?.clone())))?;
        let seed = plan.seed.child(&planned.key).child("search");
        let (space, current) = (tuning.space.clone(), tuning.current.clone());
        Some(SearchState {
            search: Search::new(space, current, tuning.good.clone(), seed)?
                .within(tuning.constraints.clone())
                .after(tuning.earlier_trials.clone()),
            planned: planned.clone(),
            tuning,
            limit_s: plan.budget_s,
            budget_s: plan.rounds_budget_s().map(|limit_s| MEASURING * limit_s),
            trials: Vec::new(),
        })
    }

    /// Returns the experiment that is tuned.
    pub fn planned(&self) -> &PlannedExperiment {
        &self.planned
    }

    /// Returns the plan of the search.
    pub fn tuning(&self) -> &TuningPlan {
        &self.tuning
    }

    /// Takes the record of a trial. One of another part of the run, or of a variant that is not in the space, is
    /// left out.
    pub fn add(&mut self, record: &TrialRecord) {
        let configuration = self.tuning.configuration(&record.variant);
        if record.purpose != Purpose::Search || record.experiment != self.planned.key {
            return;
        }
        if let Some(configuration) = configuration {
            self.trials.push(RecordedTrial {
                place: (record.round, record.position),
                role: record.role,
                configuration,
                outcome: ended(&record.outcome, &self.planned.experiment.metric),
                wall_s: record.wall_s,
                constrained: self.constrained(&record.outcome),
            });
        }
    }

    /// Returns the figures of the constraints in a trial.
    fn constrained(&self, outcome: &Outcome) -> Vec<Option<f64>> {
        let figure = |constraint: &Constraint| match outcome {
            Outcome::Measured(measured) => {
                constraint.scaled(*measured.metrics.get(&constraint.metric)?)
            }
            _ => None,
        };
        self.tuning.constraints.iter().map(figure).collect()
    }

    /// Returns the next block; `None` at the end of the search.
    ///
    /// # Errors
    /// The name of a variant could not be read again in the record.
    pub fn next_block(&mut self) -> Result<Option<SearchBlock>, Ambiguous> {
        let last = self.trials.iter().map(|trial| trial.place.0).max();
        let number = match last {
            None => 0,
            Some(0) if self.is_out_of_time() => return Ok(None),
            Some(last) if !self.has_ended(last) => last,
            Some(last) if self.goes_on(last + 1) => last + 1,
            Some(_) => return Ok(None),
        };
        let tried = self.tried();
        let configurations = self.search.block(number, &tried);
        for configuration in &configurations {
            let label = self.tuning.space.label(configuration);
            if self.tuning.configuration(&label).as_ref() != Some(configuration) {
                return Err(Ambiguous(label));
            }
        }
        Ok(Some(self.block(number, &configurations)))
    }

    /// Returns whether trials take so long that the first block cannot end with time for a round of what it recommends.
    pub fn is_out_of_time(&self) -> bool {
        /// The fewest trials, however long they take.
        const LEAST: usize = 3;
        let elapsed_s = self.elapsed_s();
        let next_s = elapsed_s / self.trials.len().max(1) as f64 + self.round_s();
        self.trials.len() >= LEAST
            && !self.has_ended(0)
            && self.budget_s.is_some_and(|budget_s| elapsed_s + next_s > budget_s)
    }

    /// Returns whether all trials of a block have ended.
    fn has_ended(&self, number: u32) -> bool {
        self.trials.iter().filter(|trial| trial.place.0 == number).count() >= trials_of(number)
    }

    /// Returns whether there is a block of this number.
    fn goes_on(&self, number: u32) -> bool {
        if self.current_cost().is_none() || number >= MOST_BLOCKS {
            return false;
        }
        let Some(budget_s) = self.budget_s else { return number < BLOCKS };
        let elapsed_s = self.elapsed_s();
        let trial_s = elapsed_s / self.trials.len() as f64;
        let put_aside_s = if number < SCREEN_BLOCKS as u32 {
            FEWEST_ROUNDS * self.round_s()
        } else {
            self.put_aside_s(trial_s).unwrap_or(0.0)
        };
        elapsed_s + trials_of(number) as f64 * trial_s <= budget_s - put_aside_s
    }

    fn block(&self, number: u32, configurations: &[Configuration]) -> SearchBlock {
        let variants = configurations.iter();
        let base = self.planned.baseline_settings();
        let variants = variants.map(|configuration| self.tuning.variant(&base, configuration));
        let own =
            configurations.iter().position(|configuration| *configuration == self.tuning.current);
        let limits_s = [Role::Baseline, Role::Variant].map(|role| self.limit_s(role));
        let done = |position: usize| {
            self.trials.iter().any(|trial| trial.place == (number, position as u32))
        };
        let slots = (0..configurations.len()).filter(|position| !done(*position)).map(|position| {
            let (role, limit_s) = if Some(position) == own {
                (Role::Baseline, limits_s[0])
            } else {
                (Role::Variant, limits_s[1])
            };
            SearchSlot { place: (number, 0, position as u32), variant: position, role, limit_s }
        });
        SearchBlock {
            slots: slots.collect(),
            planned: PlannedExperiment {
                variants: variants.collect(),
                upper_bounds: Vec::new(),
                counting: false,
                ..self.planned.clone()
            },
        }
    }

    /// Seconds after which a trial is hopeless.
    fn limit_s(&self, role: Role) -> Option<f64> {
        let stop_at = match role {
            Role::Variant if time_is_cost(&self.planned.experiment) => {
                stop_at(&self.tried(), &self.tuning.current)
            }
            _ => STOP_AT,
        };
        Some(stop_at * self.current_s(u32::MAX)? + SLACK_S)
    }

    /// Returns the usual time of the last trials of the current settings before a block, in seconds. The first block begins with one.
    fn current_s(&self, block: u32) -> Option<f64> {
        let current = self.trials.iter();
        let current =
            current.filter(|trial| trial.role == Role::Baseline && trial.place.0 < block.max(1));
        let mut times: Vec<((u32, u32), f64)> =
            current.map(|trial| (trial.place, trial.wall_s)).collect();
        times.sort_by_key(|(place, _)| *place);
        let last = times.iter().rev().take(LAST);
        median(&last.map(|(_, wall_s)| *wall_s).collect::<Vec<_>>())
    }

    /// Returns the least cost of a trial that was stopped after `limit_s` seconds. It never changes, so
    /// that a search goes on as it would have without a kill.
    fn cost_at(&self, limit_s: f64, block: u32) -> f64 {
        // A limit without slack is the usual one for trials.
        let stopped_s = Some(limit_s - SLACK_S).filter(|seconds| *seconds > 0.0);
        let ratio = self.current_s(block).map(|current_s| stopped_s.unwrap_or(limit_s) / current_s);
        let cost = self.current_cost().unwrap_or(1.0);
        cost * ratio.unwrap_or(STOP_AT)
    }

    /// Returns the configuration to recommend by what was tried so far; none before the first block is done or out of time, or where the
    /// current settings could not be measured.
    pub fn choice(&mut self) -> Option<Configuration> {
        self.current_cost().filter(|_| self.has_ended(0) || self.is_out_of_time())?;
        let tried = self.tried();
        let choice = if self.is_screened() {
            self.search.choice(&tried)
        } else {
            self.search.cheapest(&tried)
        };
        Some(choice)
    }

    /// Returns whether every block of the screen is complete, so that every level of every setting was tried.
    pub fn is_screened(&self) -> bool {
        self.has_ended(SCREEN_BLOCKS as u32 - 1)
    }

    /// Returns the model of all configurations after the trials so far.
    pub(super) fn expectation(&mut self) -> Option<Expectation> {
        let tried = self.tried();
        self.search.expectation(&tried)
    }

    /// Returns the cost of the current settings in the first trial that measured them.
    fn current_cost(&self) -> Option<f64> {
        let mut current = self.trials.iter().filter(|trial| trial.role == Role::Baseline);
        current.find_map(|trial| match trial.outcome {
            Ended::Measured { cost, .. } => Some(cost),
            Ended::Stopped { .. } | Ended::Unusable => None,
        })
    }

    /// Returns the trials as the search sees them, in the order of their places.
    pub fn tried(&self) -> Vec<SearchTrial> {
        let mut trials: Vec<&RecordedTrial> = self.trials.iter().collect();
        trials.sort_by_key(|trial| trial.place);
        let tried = trials.into_iter().map(|trial| SearchTrial {
            block: trial.place.0,
            configuration: trial.configuration.clone(),
            outcome: self.outcome(trial),
            constrained: trial.constrained.clone(),
        });
        tried.collect()
    }

    fn outcome(&self, trial: &RecordedTrial) -> SearchOutcome {
        match &trial.outcome {
            Ended::Stopped { limit_s } => {
                SearchOutcome::Hopeless(self.cost_at(*limit_s, trial.place.0))
            }
            Ended::Unusable => SearchOutcome::Unusable,
            Ended::Measured { .. } if self.answers_differently(trial) => SearchOutcome::Unusable,
            Ended::Measured { cost, .. } => SearchOutcome::Cost(*cost),
        }
    }

    /// Returns whether the current settings answered the same questions in another way, each time up to this block.
    fn answers_differently(&self, trial: &RecordedTrial) -> bool {
        let answers = |trial: &RecordedTrial| match &trial.outcome {
            Ended::Measured { asked, answer, .. } => asked.clone().zip(answer.clone()),
            Ended::Stopped { .. } | Ended::Unusable => None,
        };
        let Some((asked, answer)) = answers(trial) else { return false };
        let current = self.trials.iter();
        let current =
            current.filter(|known| known.role == Role::Baseline && known.place.0 <= trial.place.0);
        let same = current.filter_map(answers).filter(|known| known.0 == asked);
        let same: Vec<String> = same.map(|answer| answer.1).collect();
        !same.is_empty() && !same.contains(&answer)
    }

    /// Forecasts the rounds after the search by the noise of its trials so far; `None` before the screen is done.
    pub fn forecast(&mut self) -> Option<Forecast> {
        let trial_s = self.trial_s().filter(|_| self.is_screened())?;
        let noise = self.expectation()?.cost.noise();
        let put_aside_s = self.put_aside_s(trial_s);
        let affordable =
            put_aside_s.map_or(ROUNDS, |put_aside_s| ROUNDS.min(put_aside_s / self.round_s()));
        let rounds = affordable as usize;
        // A difference of two trials has the noise of both.
        let sd = std::f64::consts::SQRT_2 * noise;
        Some(Forecast {
            noise: noise.exp_m1(),
            rounds,
            detectable: detectable_difference(sd, rounds).exp_m1(),
        })
    }

    /// Returns the time that is put aside for what comes after the search, in seconds; `None` if no limit was set.
    fn put_aside_s(&self, trial_s: f64) -> Option<f64> {
        let advice = match self.tuning.advice.len() {
            0 => 0.0,
            changes => ROUNDS * (changes + 2) as f64,
        };
        let put_aside_s = (ABLATION + advice) * trial_s + self.confirmation_s();
        Some(put_aside_s.min(LARGEST_SHARE * self.budget_s?))
    }

    /// Returns the time for the rounds of the recommendation, in seconds.
    pub fn confirmation_s(&self) -> f64 {
        ROUNDS * self.round_s()
    }

    /// Returns the time of a round of the recommendation, in seconds: with the current settings twice, SQLite's defaults and what an
    /// earlier search recommends. The current settings and the defaults may take many times as long as most trials of a search.
    fn round_s(&self) -> f64 {
        let trial_s = self.trial_s().unwrap_or(0.0);
        let current_s = self.current_s(u32::MAX).unwrap_or(trial_s);
        let TuningPlan { current, defaults, .. } = &self.tuning;
        let of_defaults = self.trials.iter().filter(|trial| trial.configuration == *defaults);
        let of_defaults: Vec<f64> = of_defaults.map(|trial| trial.wall_s).collect();
        let defaults_s =
            if defaults == current { 0.0 } else { median(&of_defaults).unwrap_or(current_s) };
        let earlier_s = self.tuning.earlier.as_ref().map_or(0.0, |_| trial_s);
        2.0 * current_s + defaults_s + earlier_s + trial_s
    }

    /// Returns a time limit with which the rounds of the recommendation get `more_s` seconds more, and `all_s` in all; `None` if no
    /// limit was set.
    pub fn limit_for_rounds_s(&self, more_s: f64, all_s: f64) -> Option<f64> {
        let limit_s = self.limit_s?;
        let share = self.budget_s? / limit_s;
        let limit_s = (limit_s + more_s / share).max(all_s / (LARGEST_SHARE * share));
        limit_s.is_finite().then_some(limit_s)
    }

    /// Returns the time that is left for what comes after the search, in seconds; `None` if no limit was set.
    pub fn left_s(&self) -> Option<f64> {
        Some(self.budget_s? - self.elapsed_s())
    }

    /// Returns the time that the trials so far took, in seconds.
    pub fn elapsed_s(&self) -> f64 {
        self.trials.iter().map(|trial| trial.wall_s).sum()
    }

    /// Returns the number of trials so far.
    pub fn trials(&self) -> usize {
        self.trials.len()
    }

    /// Returns the mean time of a trial so far, in seconds; none before the first.
    pub fn trial_s(&self) -> Option<f64> {
        (!self.trials.is_empty()).then(|| self.elapsed_s() / self.trials.len() as f64)
    }
}

/// Returns whether a trial that takes twice as long costs twice as much: of rates and times as a whole, not of latencies or sizes, nor where
/// all trials last the same time.
fn time_is_cost(experiment: &Experiment) -> bool {
    let metric = &experiment.metric;
    (higher_is_better(metric) || metric == "seconds") && !is_timed(experiment)
}

fn ended(outcome: &Outcome, metric: &str) -> Ended {
    match outcome {
        Outcome::Measured(measured) => {
            cost(measured, metric).map_or(Ended::Unusable, |cost| Ended::Measured {
                cost,
                asked: measured.asked.clone(),
                answer: measured.checksum.clone(),
            })
        }
        Outcome::TimedOut { limit_s } => Ended::Stopped { limit_s: *limit_s },
        Outcome::Skipped { .. } | Outcome::Failed { .. } => Ended::Unusable,
    }
}

/// Returns the cost of a trial; `None` if it has no such figure.
fn cost(measured: &Measured, metric: &str) -> Option<f64> {
    let figure = measured.metrics.get(metric).copied()?;
    let cost = if higher_is_better(metric) { 1.0 / figure } else { figure };
    (cost.is_finite() && cost > 0.0).then_some(cost)
}
