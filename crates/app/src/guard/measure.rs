//! Both sides measured: counted, and timed in turns.

use std::path::Path;
use std::time::{Duration, Instant};

use lab::catalogue::Catalogue;
use lab::comparison::{ExactComparison, Side, keeping_rows};
use lab::design::Variant;
use lab::experiment::Scale;
use lab::guard::{
    Check, MayLose, Timed, both_sides, counting_experiment, counts_of, recorded_plan, role_of,
    safety, timing_experiment,
};
use lab::level::Level;
use lab::plan::{Request, plan, settings_that_decide};
use lab::record::{EngineRecord, EnvironmentFile, PlannedExperiment, RunPlan, TrialRecord};
use lab::trial::{DRIVER, Measured, NATIVE, Outcome};
use runner::{Execution, Sides, side_record};

use super::side::Planned;
use crate::driver::Running;
use crate::engine;
use crate::error::{Error, Result};
use crate::run::plan::request_for;
use crate::run::preflight::check_needs;
use crate::run::tiers;

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
    /// The counted work, with both sides as its variants.
    pub(super) counters: PlannedExperiment,
    /// The libraries.
    pub(super) engines: Vec<EngineRecord>,
    /// The executor of the trials of each side.
    drivers: [runner::Driver; 2],
    catalogue: Catalogue,
    /// The folder of copies and databases.
    workspace: String,
    running: &'a Running<'a>,
}

impl<'a> Measurement<'a> {
    /// Plans both sides, with their names for people, in a directory, with their engines ready.
    pub(super) fn new(
        sides: [Planned; 2],
        names: &[String; 2],
        directory: &Path,
        seed: u64,
        running: &'a Running<'a>,
    ) -> Result<Measurement<'a>> {
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
        let engines = engine::prepare(&engine::names(&plan), running)?;
        engine::all_usable(&engines)?;
        tiers::add_known(&mut plan, &engines);
        Ok(Measurement {
            plan,
            counters: counting_experiment(&both, REPETITIONS),
            engines,
            drivers: [base.driver, new.driver],
            catalogue,
            workspace: directory.display().to_string(),
            running,
        })
    }

    fn sides(&self) -> Sides<'_> {
        Sides::new(&self.plan, &self.drivers, &self.engines, &self.running.interrupted)
    }

    /// The machine and the libraries.
    pub(super) fn environment(&self) -> Result<EnvironmentFile> {
        let engines = self.engines.clone();
        let environment =
            runner::survey(&self.plan, engines, 0.0, &self.running.interrupted, || ())?;
        Ok(environment)
    }

    /// Returns the counters of both sides, and the trials for the record; nothing where drivers cannot count.
    pub(super) fn counted(
        &self,
        names: &[String; 2],
    ) -> Result<(ExactComparison, Vec<TrialRecord>)> {
        let counted = self.sides().count(&self.counters, REPETITIONS as usize)?;
        let mut both = counted.ok_or_else(|| Error::interrupted("stopped while counting"))?;
        if let Some(why) = self.why_uncounted(&both) {
            tell!(self.running.ui, "nothing is counted: {why}");
            both.iter_mut().for_each(Vec::clear);
        }
        let (mut records, mut sides) = (Vec::new(), Vec::new());
        for (side, executions) in both.into_iter().enumerate() {
            let trials: Vec<Outcome> =
                executions.iter().map(|trial| trial.outcome.clone()).collect();
            let name = names[side].clone();
            if let Some(problem) = trials.iter().find_map(Outcome::problem) {
                return Err(Error::unusable(format!("{name} cannot be measured: {problem}")));
            }
            records.extend(self.records_of_counts(side, executions));
            sides.push(Side { name, trials });
        }
        let mut comparison = ExactComparison::of(&sides[0], &sides[1]);
        if let Some(planned) = keeping_rows(&self.counters)
            && comparison.has_other_answers()
            && let Some(again) = self.sides().count(&planned, 1)?
        {
            comparison.add_rows(&again[0][0].outcome, &again[1][0].outcome);
        }
        Ok((comparison, records))
    }

    /// Returns why no side is counted: both are work of drivers that skip what only counts.
    fn why_uncounted(&self, both: &[Vec<Execution>]) -> Option<String> {
        let is_foreign = |variant: &Variant| {
            variant.settings.get(DRIVER).is_some_and(|driver| *driver != NATIVE.into())
        };
        let is_skipped = |trial: &Execution| matches!(trial.outcome, Outcome::Skipped { .. });
        if self.counters.variants.iter().all(is_foreign) && both.iter().flatten().all(is_skipped) {
            both.iter().flatten().find_map(|trial| trial.outcome.problem())
        } else {
            None
        }
    }

    fn records_of_counts(&self, side: usize, executions: Vec<Execution>) -> Vec<TrialRecord> {
        let records = (0..).zip(executions).map(|(round, execution)| {
            let execution = Execution { outcome: counts_of(execution.outcome), ..execution };
            side_record(&self.counters, (round, side as u32), side, execution)
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
        let rounds = trials.iter().filter(|trial| trial.experiment == times.key);
        let rounds = rounds.map(|trial| trial.round + 1).max().unwrap_or(0);
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
    ) -> Result<()> {
        let mut sides = self.sides();
        let (start, mut said) = (Instant::now(), Instant::now());
        for round in 0_u32.. {
            let open = budgets.iter().filter(|budget| budget.is_open()).count();
            if open == 0 || start.elapsed() >= limit {
                return Ok(());
            }
            if said.elapsed() >= PROGRESS {
                said = Instant::now();
                let seconds = start.elapsed().as_secs_f64();
                let all = budgets.len();
                tell!(
                    self.running.ui,
                    "{round} blocks in {seconds:.0} s, {open} of {all} budgets open"
                );
            }
            let [base, new] = block(planned, round, &mut sides, records)?;
            for budget in budgets.iter_mut() {
                budget.add(&base.metrics, &new.metrics);
            }
        }
        Ok(())
    }

    /// Returns the timed work for these budgets: the same work for a time, without the comparison of answers, which is done.
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

/// Carries out a block and keeps its records. Returns what the base and the new side measured.
fn block(
    planned: &PlannedExperiment,
    round: u32,
    sides: &mut Sides<'_>,
    records: &mut Vec<TrialRecord>,
) -> Result<[Measured; 2]> {
    let stopped = || Error::interrupted("stopped while measuring");
    let mut measured = [None, None];
    for record in sides.block(planned, round)?.ok_or_else(stopped)? {
        let side = usize::from(record.role != role_of(0));
        match &record.outcome {
            Outcome::Measured(figures) => measured[side] = Some((**figures).clone()),
            other => {
                let (side, problem) = (&record.variant, other.problem().unwrap_or_default());
                return Err(Error::unusable(format!(
                    "the {side} side cannot be measured: {problem}"
                )));
            }
        }
        records.push(record);
    }
    let [Some(base), Some(new)] = measured else { return Err(stopped()) };
    Ok([base, new])
}
