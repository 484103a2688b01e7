//! Both sides measured: counted, and timed in turns.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lab::analysis::Collector;
use lab::design::{Role, Variant};
use lab::environment::Environment;
use lab::exact::{self, Comparison};
use lab::experiment::{Experiment, Scale};
use lab::guard::{Check, Decision, Guard, Sequence, Status, safety};
use lab::level::Level;
use lab::plan::{Request, plan, settings_that_decide, tier_sets};
use lab::record::{EngineRecord, EnvironmentFile, FORMAT, PlannedExperiment, RunPlan};
use lab::seed::Seed;
use lab::trial::{Measured, Outcome};
use runner::{End, Execution, Executor, Local};

use crate::commands::{engine, needs, run, tiers};
use crate::failure::Failure;

/// The longest time of one trial, in seconds.
const LIMIT_S: f64 = 600.0;
/// Repetitions of the counters of each side.
const REPETITIONS: usize = 2;
/// Time between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(10);

/// Both sides, ready to be measured.
pub struct Bench<'a> {
    plan: RunPlan,
    /// One experiment with both sides as its variants.
    both: PlannedExperiment,
    engines: Vec<EngineRecord>,
    driver: runner::Driver,
    interrupted: &'a AtomicBool,
}

/// How long times are measured.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Time for all blocks.
    pub limit: Duration,
    /// Time of one trial.
    pub trial: Duration,
}

impl<'a> Bench<'a> {
    /// Plans both sides in a directory, with their engines ready.
    pub fn new(
        experiments: [Experiment; 2],
        directory: &std::path::Path,
        seed: Seed,
        interrupted: &'a AtomicBool,
    ) -> Result<Bench<'a>, Failure> {
        let request = Request {
            id: runner::run_id(),
            created: runner::now(),
            pragmark: env!("CARGO_PKG_VERSION").to_owned(),
            seed,
            scale: Scale::Default,
            engine: "default".to_owned(),
            quick: false,
            trial_limit_s: LIMIT_S,
            budget_s: None,
            tiers: true,
            postgres_given: false,
            experiments: experiments.into(),
            directories: vec![directory.to_owned()],
        };
        let mut plan = plan(request, &drivers::catalogue(None)?);
        needs::check(&plan)?;
        let driver = run::native_driver()?;
        let engines = engine::prepare(&engine::names(&plan), &driver, interrupted, false)?;
        if let Some(failure) = engines.iter().find_map(engine::problem) {
            return Err(failure);
        }
        tiers::add_known(&mut plan, &engines);
        let variants = plan.experiments.iter().zip(["base", "new"]);
        let variants = variants.filter_map(|(planned, label)| {
            let variant = planned.variants.first()?;
            Some(Variant {
                label: label.to_owned(),
                ..variant.clone()
            })
        });
        let both = PlannedExperiment {
            variants: variants.collect(),
            ..plan.experiments[0].clone()
        };
        Ok(Bench {
            plan,
            both,
            engines,
            driver,
            interrupted,
        })
    }

    fn executor(&self) -> Local<'_> {
        Local::new(&self.driver, &self.plan.id, &self.engines, self.interrupted)
    }

    /// What both sides did, counted.
    pub fn counted(&self, names: [&str; 2]) -> Result<Comparison, Failure> {
        let outcomes = runner::count(&self.plan, &self.both, REPETITIONS, &mut self.executor())?;
        let Some(outcomes) = outcomes else {
            return Err(Failure::interrupted("stopped while counting"));
        };
        let sides = names
            .into_iter()
            .zip(outcomes)
            .map(|(name, trials)| exact::Side {
                name: name.to_owned(),
                trials,
            });
        let sides: Vec<exact::Side> = sides.collect();
        for side in &sides {
            if let Some(problem) = side.trials.iter().find_map(Outcome::problem) {
                return Err(Failure::unusable(format!(
                    "{} cannot be measured: {problem}",
                    side.name
                )));
            }
        }
        Ok(Comparison::of(&sides[0], &sides[1]))
    }

    /// Whether the new settings lose more in a crash.
    pub fn safety(&self, guard: &Guard) -> Result<Option<Check>, Failure> {
        let names = settings_that_decide(&drivers::catalogue(None)?);
        let sets = tier_sets(&self.both.variants, &names, &self.plan.engine);
        // Tiers that are known depend on settings and engines alone.
        let environment = EnvironmentFile {
            format: FORMAT,
            machine: Environment::default(),
            engines: self.engines.clone(),
            noise: None,
        };
        let analysis = Collector::new(self.plan.clone(), environment).finish();
        let classes = analysis
            .experiments
            .iter()
            .filter_map(|it| it.variants.first());
        let classes: Vec<_> = classes.map(|variant| variant.class()).collect();
        let [base, new] = classes[..] else {
            return Ok(None);
        };
        Ok(safety(guard.may_lose, base, new, sets.len() < 2))
    }

    /// Blocks of both sides in random order, until every budget is decided or the time is over; how often each was
    /// measured.
    pub fn timed(&self, sequences: &mut [(String, Sequence)], times: Times) -> Result<(), Failure> {
        let planned = self.timed_plan(times.trial);
        let mut executor = self.executor();
        let (start, mut said) = (Instant::now(), Instant::now());
        let is_open = |(_, it): &(String, Sequence)| it.decision() == Decision::Open;
        for round in 0_u32.. {
            if !sequences.iter().any(is_open) || start.elapsed() >= times.limit {
                return Ok(());
            }
            let [base, new] = self.block(&planned, round, &mut executor)?;
            for (metric, sequence) in sequences.iter_mut() {
                let figures = base.metrics.get(metric).zip(new.metrics.get(metric));
                let (base, new) = figures.ok_or_else(|| missing(metric))?;
                sequence.add(new / base);
            }
            if said.elapsed() >= PROGRESS {
                said = Instant::now();
                let open = sequences.iter().filter(|it| is_open(it)).count();
                tell!(
                    "{} blocks in {:.0} s, {open} of {} budgets open",
                    round + 1,
                    start.elapsed().as_secs_f64(),
                    sequences.len()
                );
            }
        }
        Ok(())
    }

    /// One trial of each side, in an order that chance decides.
    fn block(
        &self,
        planned: &PlannedExperiment,
        round: u32,
        executor: &mut Local<'_>,
    ) -> Result<[Measured; 2], Failure> {
        let new_first = self
            .plan
            .seed
            .child("order")
            .nth(u64::from(round))
            .generator()
            .below(2)
            == 1;
        let order = if new_first { [1, 0] } else { [0, 1] };
        let mut executions: Vec<Execution> = Vec::new();
        let tasks = order.map(|variant| {
            runner::task_of(
                &self.plan,
                planned,
                (round, 0, variant as u32),
                variant,
                Role::Variant,
            )
        });
        let end = executor.execute(&tasks, &mut executions)?;
        if end == End::Cancelled || self.interrupted.load(Ordering::Relaxed) {
            return Err(Failure::interrupted("stopped while measuring"));
        }
        let mut measured = [None, None];
        for (variant, execution) in order.into_iter().zip(executions) {
            let side = &planned.variants[variant].label;
            match execution.outcome {
                Outcome::Measured(it) => measured[variant] = Some(*it),
                other => {
                    let problem = other.problem().unwrap_or_default();
                    return Err(Failure::unusable(format!(
                        "the {side} side cannot be measured: {problem}"
                    )));
                }
            }
        }
        let [Some(base), Some(new)] = measured else {
            return Err(Failure::interrupted("stopped while measuring"));
        };
        Ok([base, new])
    }

    /// The same work for a time, without the comparison of answers, which is done.
    fn timed_plan(&self, trial: Duration) -> PlannedExperiment {
        let mut planned = self.both.clone();
        if planned.experiment.workload == "sql" {
            let milliseconds = Level::Int(trial.as_millis().max(1) as i64);
            for variant in &mut planned.variants {
                let settings = &mut variant.settings;
                settings.insert("stop_after_ms".to_owned(), milliseconds.clone());
                settings.insert("executions".to_owned(), 0.into());
                settings.insert("answers".to_owned(), 0.into());
            }
        }
        planned
    }
}

fn missing(metric: &str) -> Failure {
    Failure::usage(format!("the budget {metric} is of a metric that the trials do not report"))
        .hint("latencies of single statements are `p99_us.NAME`; p99 needs 1,000 operations in a trial: raise --trial")
}

/// The check of a budget that was measured in time.
pub fn timed_check(metric: &str, sequence: &Sequence) -> Check {
    let status = match sequence.decision() {
        Decision::Passed => Status::Passed,
        Decision::Failed => Status::Failed,
        Decision::Open | Decision::Exhausted => Status::Undecided,
    };
    let confirmed = match (status, sequence.is_confirming()) {
        (Status::Failed, _) => ", confirmed on fresh blocks",
        (Status::Undecided, true) => ", to be confirmed on fresh blocks",
        _ => "",
    };
    let (subject, statement) = match metric.split_once('.') {
        Some((subject, statement)) => (subject, Some(statement.to_owned())),
        None => (metric, None),
    };
    Check {
        subject: subject.to_owned(),
        statement,
        allowed: sequence.budget().to_string(),
        ratio: sequence.ratio(),
        interval: Some(sequence.interval()),
        blocks: sequence.all().to_vec(),
        status,
        words: format!("{} blocks{confirmed}", sequence.blocks()),
    }
}
