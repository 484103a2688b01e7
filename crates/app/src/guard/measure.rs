//! Both sides measured: counted, and timed in turns.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use lab::catalogue::Catalogue;
use lab::comparison::{ExactComparison, Side};
use lab::design::Variant;
use lab::experiment::Scale;
use lab::guard::{
    Check, MayLose, MissingMetric, Timed, both_sides, counting_experiment, counts_of,
    recorded_plan, role_of, safety, timing_experiment,
};
use lab::level::Level;
use lab::plan::{Request, plan, settings_that_decide};
use lab::record::{
    EngineRecord, EnvironmentFile, PlannedExperiment, Purpose, RunPlan, TrialRecord,
};
use lab::trial::{DRIVER, Measured, NATIVE, Outcome};
use runner::{End, Execution, Executor, Local};

use super::side::Planned;
use crate::error::Error;
use crate::interface::Interface;
use crate::run::plan::request_for;
use crate::run::preflight::check_needs;
use crate::run::tiers;
use crate::{driver, engine};

/// The longest time of one trial, in seconds.
const LIMIT_S: f64 = 600.0;
/// Repetitions of the counters of each side.
const REPETITIONS: u32 = 2;
/// Time between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(10);

/// Both sides, ready to be measured.
pub(super) struct Measurement<'a> {
    /// Both sides, each an experiment of its own.
    pub(super) plan: RunPlan,
    /// What is counted, with both sides as its variants.
    pub(super) counters: PlannedExperiment,
    /// The libraries.
    pub(super) engines: Vec<EngineRecord>,
    /// What runs the trials of each side.
    drivers: [runner::Driver; 2],
    catalogue: Catalogue,
    /// The folder of copies and databases.
    workspace: String,
    interrupted: &'a AtomicBool,
    ui: &'a dyn Interface,
}

impl<'a> Measurement<'a> {
    /// Plans both sides, with their names for people, in a directory, with their engines ready.
    pub(super) fn new(
        sides: [Planned; 2],
        names: &[String; 2],
        directory: &Path,
        seed: u64,
        (interrupted, ui): (&'a AtomicBool, &'a dyn Interface),
    ) -> Result<Measurement<'a>, Error> {
        let request = request(&sides, directory, seed);
        let [base, new] = sides;
        let catalogue = new.catalogue;
        let mut plan = plan(request, &catalogue);
        let both = match &plan.experiments[..] {
            [base, new] => both_sides(base, new, names).map_err(Error::unusable)?,
            _ => return Err(Error::unusable("a side has no work")),
        };
        // Of both together: a side that names no setting has a tier as soon as the other names one.
        plan.tiers = lab::plan::tiers(std::slice::from_ref(&both), &plan.engine, &catalogue);
        check_needs(&plan)?;
        let native = driver::native()?;
        let engines = engine::prepare(&engine::names(&plan), &native, interrupted, ui)?;
        engine::all_usable(&engines)?;
        tiers::add_known(&mut plan, &engines);
        Ok(Measurement {
            plan,
            counters: counting_experiment(&both, REPETITIONS),
            engines,
            drivers: [base.driver, new.driver],
            catalogue,
            workspace: directory.display().to_string(),
            interrupted,
            ui,
        })
    }

    /// What carries out the trials of each side.
    fn executors(&self) -> [Local<'_>; 2] {
        [0, 1].map(|side| {
            let id = format!("{}-{side}", self.plan.id);
            Local::new(&self.drivers[side], &id, &self.engines, self.interrupted)
        })
    }

    /// The machine and the libraries.
    pub(super) fn environment(&self) -> Result<EnvironmentFile, Error> {
        let engines = self.engines.clone();
        let environment = runner::survey(&self.plan, engines, 0.0, self.interrupted, || ())?;
        Ok(environment)
    }

    /// What both sides did, counted, and the trials for the record; nothing where drivers cannot count.
    pub(super) fn counted(
        &self,
        names: &[String; 2],
    ) -> Result<(ExactComparison, Vec<TrialRecord>), Error> {
        let mut both = Vec::new();
        for (side, mut executor) in self.executors().into_iter().enumerate() {
            both.push(self.executions(side, &mut executor)?);
        }
        if let Some(why) = self.why_uncounted(&both) {
            tell!(self.ui, "nothing is counted: {why}");
            both.iter_mut().for_each(Vec::clear);
        }
        let (mut records, mut sides) = (Vec::new(), Vec::new());
        for (side, executions) in both.into_iter().enumerate() {
            let trials: Vec<Outcome> = executions.iter().map(|it| it.outcome.clone()).collect();
            let name = names[side].clone();
            if let Some(problem) = trials.iter().find_map(Outcome::problem) {
                return Err(Error::unusable(format!("{name} cannot be measured: {problem}")));
            }
            records.extend(self.records_of_counts(side, executions));
            sides.push(Side { name, trials });
        }
        Ok((ExactComparison::of(&sides[0], &sides[1]), records))
    }

    /// Why no side is counted: both are work of drivers that skip what only counts.
    fn why_uncounted(&self, both: &[Vec<Execution>]) -> Option<String> {
        let is_foreign =
            |it: &Variant| it.settings.get(DRIVER).is_some_and(|it| *it != NATIVE.into());
        let mut all = both.iter().flatten();
        let is_skipped = |it: &Execution| matches!(it.outcome, Outcome::Skipped { .. });
        match self.counters.variants.iter().all(is_foreign) && all.all(is_skipped) {
            true => both.iter().flatten().find_map(|it| it.outcome.problem()),
            false => None,
        }
    }

    /// The repetitions of one side, which only count.
    fn executions(&self, side: usize, executor: &mut Local<'_>) -> Result<Vec<Execution>, Error> {
        let own = PlannedExperiment {
            variants: vec![self.counters.variants[side].clone()],
            ..self.counters.clone()
        };
        let counted = runner::count(&self.plan, &own, REPETITIONS as usize, executor)?;
        let Some(executions) = counted else {
            return Err(Error::interrupted("stopped while counting"));
        };
        Ok(executions.into_iter().flatten().collect())
    }

    fn records_of_counts(&self, side: usize, executions: Vec<Execution>) -> Vec<TrialRecord> {
        let rounds = (0..).zip(executions);
        let records = rounds.map(|(round, execution)| {
            let execution = Execution { outcome: counts_of(execution.outcome), ..execution };
            record(&self.counters, (round, side as u32), side, execution)
        });
        records.collect()
    }

    /// Whether the new side loses more in a crash, as far as its trials say.
    pub(super) fn safety(
        &self,
        may_lose: MayLose,
        run: &RunPlan,
        trials: &[TrialRecord],
    ) -> Option<Check> {
        let names = settings_that_decide(&self.catalogue);
        // Tiers that are known depend on settings and engines alone.
        let environment =
            EnvironmentFile { engines: self.engines.clone(), ..EnvironmentFile::default() };
        safety(may_lose, run, environment, &names, trials)
    }

    /// The plan of the record: what was counted, and the rounds that were timed.
    pub(super) fn recorded(&self, times: &PlannedExperiment, trials: &[TrialRecord]) -> RunPlan {
        let rounds = trials.iter().filter(|it| it.experiment == times.key);
        let rounds = rounds.map(|it| it.round + 1).max().unwrap_or(0);
        recorded_plan(&self.plan, &self.counters, (times, rounds), &self.workspace)
    }

    /// Blocks of both sides in random order, until every budget is decided or the time is over; their trials are added to
    /// `records`.
    pub(super) fn timed(
        &self,
        planned: &PlannedExperiment,
        budgets: &mut [Timed],
        limit: Duration,
        records: &mut Vec<TrialRecord>,
    ) -> Result<(), Error> {
        let mut executors = self.executors();
        let (start, mut said) = (Instant::now(), Instant::now());
        for round in 0_u32.. {
            let open = budgets.iter().filter(|it| it.is_open()).count();
            if open == 0 || start.elapsed() >= limit {
                return Ok(());
            }
            if said.elapsed() >= PROGRESS {
                said = Instant::now();
                let seconds = start.elapsed().as_secs_f64();
                let all = budgets.len();
                tell!(self.ui, "{round} blocks in {seconds:.0} s, {open} of {all} budgets open");
            }
            let [base, new] = self.block(planned, round, &mut executors, records)?;
            for budget in budgets.iter_mut() {
                budget.add(&base.metrics, &new.metrics).map_err(missing)?;
            }
        }
        Ok(())
    }

    /// One trial of each side, in an order that chance decides.
    fn block(
        &self,
        planned: &PlannedExperiment,
        round: u32,
        executors: &mut [Local<'_>; 2],
        records: &mut Vec<TrialRecord>,
    ) -> Result<[Measured; 2], Error> {
        let mut measured = [None, None];
        for (position, side) in (0..).zip(self.order(round)) {
            let place = (round, 0, position);
            let task = runner::task_of(&self.plan, planned, place, side, role_of(side));
            let mut executions: Vec<Execution> = Vec::new();
            let end = executors[side].execute(&[task], &mut executions)?;
            let execution = executions.pop().filter(|_| end == End::Finished);
            let interrupted = || Error::interrupted("stopped while measuring");
            let execution = execution.ok_or_else(interrupted)?;
            match &execution.outcome {
                Outcome::Measured(it) => measured[side] = Some((**it).clone()),
                other => return Err(unmeasured(&planned.variants[side].label, other)),
            }
            records.push(record(planned, (round, position), side, execution));
        }
        let [Some(base), Some(new)] = measured else {
            return Err(Error::interrupted("stopped while measuring"));
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
    pub(super) fn timing(&self, metrics: &[String], trial: Duration) -> PlannedExperiment {
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

/// Returns the plan to make for a run with the experiment of each side.
fn request(sides: &[Planned; 2], directory: &Path, seed: u64) -> Request {
    Request {
        scale: if sides[1].is_experiment { Scale::Quick } else { Scale::Default },
        experiments: sides.iter().map(|side| side.experiment.clone()).collect(),
        directories: vec![directory.to_owned()],
        ..request_for(engine::BUILT_IN.to_owned(), seed, LIMIT_S)
    }
}

fn unmeasured(side: &str, outcome: &Outcome) -> Error {
    let problem = outcome.problem().unwrap_or_default();
    Error::unusable(format!("the {side} side cannot be measured: {problem}"))
}

/// The record of a trial in a round at a position.
fn record(
    planned: &PlannedExperiment,
    (round, position): (u32, u32),
    side: usize,
    execution: Execution,
) -> TrialRecord {
    TrialRecord {
        agent: execution.agent,
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

fn missing(MissingMetric(metric): MissingMetric) -> Error {
    Error::unusable(format!("the budget {metric} is of a metric that the trials do not report"))
        .hint("latencies of single statements are `p99_us.NAME`; p99 needs 1,000 operations in a trial: raise --trial")
}
