//! Both sides measured: counted, and timed in turns.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lab::analysis::Collector;
use lab::environment::Environment;
use lab::exact::{self, Comparison};
use lab::experiment::{Experiment, Scale};
use lab::guard::{
    Check, Decision, Guard, Sequence, Status, counting_experiment, counts_of, role_of, safety,
    side_variant, timing_experiment,
};
use lab::level::Level;
use lab::plan::{Request, plan, settings_that_decide, tier_sets};
use lab::record::{
    EngineRecord, EnvironmentFile, FORMAT, PlannedExperiment, Purpose, RunPlan, TrialRecord,
};
use lab::seed::Seed;
use lab::trial::{Measured, Outcome};
use runner::{End, Execution, Executor, Local};

use crate::commands::{engine, needs, run, tiers};
use crate::failure::Failure;

/// The longest time of one trial, in seconds.
const LIMIT_S: f64 = 600.0;
/// Repetitions of the counters of each side.
const REPETITIONS: u32 = 2;
/// Time between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(10);

/// Both sides, ready to be measured.
pub struct Bench<'a> {
    /// Both sides, each an experiment of its own.
    pub plan: RunPlan,
    /// What is counted, with both sides as its variants.
    pub counters: PlannedExperiment,
    /// The libraries.
    pub engines: Vec<EngineRecord>,
    driver: runner::Driver,
    interrupted: &'a AtomicBool,
}

impl<'a> Bench<'a> {
    /// Plans both sides, with their names for people, in a directory, with their engines ready.
    pub fn new(
        experiments: [Experiment; 2],
        names: &[String; 2],
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
        let sides = plan
            .experiments
            .iter()
            .zip(["base", "new"].iter().zip(names));
        let variants = sides.filter_map(|(planned, (side, name))| {
            Some(side_variant(planned.variants.first()?, side, name))
        });
        let both = PlannedExperiment {
            variants: variants.collect(),
            ..plan.experiments[0].clone()
        };
        Ok(Bench {
            plan,
            counters: counting_experiment(&both, REPETITIONS),
            engines,
            driver,
            interrupted,
        })
    }

    fn executor(&self) -> Local<'_> {
        Local::new(&self.driver, &self.plan.id, &self.engines, self.interrupted)
    }

    /// The machine and the libraries.
    pub fn environment(&self) -> Result<EnvironmentFile, Failure> {
        let engines = self.engines.clone();
        let environment = runner::survey(&self.plan, engines, 0.0, self.interrupted, || ())?;
        Ok(environment)
    }

    /// What both sides did, counted, and the trials for the record.
    pub fn counted(&self, names: &[String; 2]) -> Result<(Comparison, Vec<TrialRecord>), Failure> {
        let repetitions = REPETITIONS as usize;
        let executor = &mut self.executor();
        let counted = runner::count(&self.plan, &self.counters, repetitions, executor)?;
        let Some(sides) = counted else {
            return Err(Failure::interrupted("stopped while counting"));
        };
        let mut records = Vec::new();
        for (side, executions) in sides.iter().enumerate() {
            for (round, execution) in (0..).zip(executions) {
                let place = (round, side as u32);
                let execution = Execution {
                    outcome: counts_of(execution.outcome.clone()),
                    ..execution.clone()
                };
                records.push(record(&self.counters, place, side, execution));
            }
        }
        let of = |(name, executions): (&String, Vec<Execution>)| exact::Side {
            name: name.clone(),
            trials: executions.into_iter().map(|it| it.outcome).collect(),
        };
        let sides: Vec<exact::Side> = names.iter().zip(sides).map(of).collect();
        for side in &sides {
            if let Some(problem) = side.trials.iter().find_map(Outcome::problem) {
                return Err(Failure::unusable(format!(
                    "{} cannot be measured: {problem}",
                    side.name
                )));
            }
        }
        Ok((Comparison::of(&sides[0], &sides[1]), records))
    }

    /// Whether the new settings lose more in a crash.
    pub fn safety(&self, guard: &Guard) -> Result<Option<Check>, Failure> {
        let names = settings_that_decide(&drivers::catalogue(None)?);
        let sets = tier_sets(&self.counters.variants, &names, &self.plan.engine);
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

    /// Blocks of both sides in random order, until every budget is decided or the time is over; their trials are added to
    /// `records`.
    pub fn timed(
        &self,
        planned: &PlannedExperiment,
        sequences: &mut [(String, Sequence)],
        limit: Duration,
        records: &mut Vec<TrialRecord>,
    ) -> Result<(), Failure> {
        let mut executor = self.executor();
        let (start, mut said) = (Instant::now(), Instant::now());
        for round in 0_u32.. {
            if open(sequences) == 0 || start.elapsed() >= limit {
                return Ok(());
            }
            let [base, new] = self.block(planned, round, &mut executor, records)?;
            for (metric, sequence) in sequences.iter_mut() {
                let figures = base.metrics.get(metric).zip(new.metrics.get(metric));
                let (base, new) = figures.ok_or_else(|| missing(metric))?;
                sequence.add(new / base);
            }
            if said.elapsed() >= PROGRESS {
                said = Instant::now();
                tell!(
                    "{} blocks in {:.0} s, {} of {} budgets open",
                    round + 1,
                    start.elapsed().as_secs_f64(),
                    open(sequences),
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
        records: &mut Vec<TrialRecord>,
    ) -> Result<[Measured; 2], Failure> {
        let order = self.order(round);
        let mut executions: Vec<Execution> = Vec::new();
        let places = (0_u32..).zip(order);
        let tasks = places.map(|(position, side)| {
            let place = (round, 0, position);
            runner::task_of(&self.plan, planned, place, side, role_of(side))
        });
        let tasks: Vec<_> = tasks.collect();
        let end = executor.execute(&tasks, &mut executions)?;
        if end == End::Cancelled || self.interrupted.load(Ordering::Relaxed) {
            return Err(Failure::interrupted("stopped while measuring"));
        }
        let mut measured = [None, None];
        for (position, (side, execution)) in (0..).zip(order.into_iter().zip(executions)) {
            match &execution.outcome {
                Outcome::Measured(it) => measured[side] = Some((**it).clone()),
                other => return Err(unmeasured(&planned.variants[side].label, other)),
            }
            records.push(record(planned, (round, position), side, execution));
        }
        let [Some(base), Some(new)] = measured else {
            return Err(Failure::interrupted("stopped while measuring"));
        };
        Ok([base, new])
    }

    /// The order of both sides in a block.
    fn order(&self, round: u32) -> [usize; 2] {
        let seed = self.plan.seed.child("order").nth(u64::from(round));
        match seed.generator().below(2) {
            0 => [0, 1],
            _ => [1, 0],
        }
    }

    /// What is timed for these budgets: the same work for a time, without the comparison of answers, which is done.
    pub fn timing(&self, metrics: &[String], trial: Duration) -> PlannedExperiment {
        let mut planned = timing_experiment(&self.counters, metrics);
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

/// How many budgets are not decided.
fn open(sequences: &[(String, Sequence)]) -> usize {
    let decisions = sequences.iter().map(|(_, it)| it.decision());
    decisions.filter(|it| *it == Decision::Open).count()
}

fn unmeasured(side: &str, outcome: &Outcome) -> Failure {
    let problem = outcome.problem().unwrap_or_default();
    Failure::unusable(format!("the {side} side cannot be measured: {problem}"))
}

/// The record of a trial in a round at a position.
fn record(
    planned: &PlannedExperiment,
    (round, position): (u32, u32),
    side: usize,
    execution: Execution,
) -> TrialRecord {
    TrialRecord {
        purpose: Purpose::Rounds,
        experiment: planned.key.clone(),
        round,
        block: 0,
        position,
        variant: planned.variants[side].label.clone(),
        role: role_of(side),
        started: execution.started,
        wall_s: execution.wall_s,
        covariates: execution.covariates,
        outcome: execution.outcome,
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
