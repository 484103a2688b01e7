//! One part of a run: block after block until the design says stop.
//!
//! The search of an experiment that is tuned: block after block as the search names them.

use lab::analysis::observation;
use lab::design::{History, Next, ahead, block, expected_seconds, outlook, turn};
use lab::environment::Covariates;
use lab::record::{PlannedExperiment, Purpose, RunPlan, TrialRecord};
use lab::tier::{EXPECTED_S, TierPlan};
use lab::trial::Outcome;
use tuning::{SCREEN_BLOCKS, SearchBlock, SearchSlot, Tuning};

use crate::error::Result;
use crate::executor::{End, Execution, Executor, Task, Watch};
use crate::record::{Appender, RunFolder};
use crate::run::{Event, Observer, Slot, task};
use crate::stamp::now;

/// How far the observer has seen an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Nothing,
    Begun,
    Ended,
}

/// Carries out a part of a run.
pub(super) struct PartRunner<'a> {
    /// The plan of the run.
    pub(super) whole: &'a RunPlan,
    /// The plan of this part.
    pub(super) part: &'a RunPlan,
    pub(super) purpose: Purpose,
    /// The time that the parts before have left, in seconds; `None` without a limit.
    pub(super) left_s: Option<f64>,
    pub(super) histories: Vec<History>,
    pub(super) observer: &'a mut dyn Observer,
    pub(super) appender: &'a mut Appender,
    pub(super) states: Vec<State>,
    /// The longest time that a trial for a safety tier took since this process began, in seconds.
    pub(super) longest_tier_s: Option<f64>,
}

impl PartRunner<'_> {
    /// Carries out what remains of the part.
    pub(super) fn run(&mut self, executor: &mut dyn Executor) -> Result<End> {
        while let Some((experiment, slots)) = self.look_ahead() {
            let planned = &self.part.experiments[experiment];
            let tasks = self.tasks(planned, &slots);
            let no_time = self.why_no_time();
            if no_time.is_none() {
                self.tell_ahead(executor)?;
            }
            if self.states[experiment] == State::Nothing {
                self.states[experiment] = State::Begun;
                self.observer.event(Event::ExperimentBegins {
                    planned: &self.part.experiments[experiment],
                    number: experiment + 1,
                    of: self.part.experiments.len(),
                    purpose: self.purpose,
                });
            };
            let mut block = Block { runner: self, experiment, slots };
            let end = match no_time {
                Some(why) => block.skip(&tasks, &why)?,
                None => executor.execute(&tasks, &mut block)?,
            };
            if end == End::Cancelled {
                return Ok(End::Cancelled);
            }
        }
        Ok(End::Finished)
    }

    fn tasks(&self, planned: &PlannedExperiment, slots: &[Slot]) -> Vec<Task> {
        slots.iter().map(|slot| task(self.part, planned, self.purpose, *slot)).collect()
    }

    /// Lets an executor that can use it know which blocks will probably come next.
    fn tell_ahead(&self, executor: &mut dyn Executor) -> Result<()> {
        let depth = executor.depth();
        if depth == 0 {
            return Ok(());
        }
        let so_far: Vec<&History> = self.histories.iter().collect();
        let blocks = ahead(&self.part.design_params(&so_far), &so_far, depth);
        let tasks = blocks.into_iter().map(|(experiment, trials)| {
            let slots: Vec<Slot> = trials.into_iter().filter_map(Slot::of).collect();
            self.tasks(&self.part.experiments[experiment], &slots)
        });
        executor.ahead(&tasks.collect::<Vec<_>>())
    }

    /// Returns the time that all trials of the part took, in seconds.
    pub(super) fn elapsed_s(&self) -> f64 {
        self.histories.iter().map(|history| history.elapsed_s).sum()
    }

    /// Returns the next block and its experiment, after showing which experiments have ended; `None` at the end.
    fn look_ahead(&mut self) -> Option<(usize, Vec<Slot>)> {
        let so_far: Vec<&History> = self.histories.iter().collect();
        let courses = self.part.design_params(&so_far);
        let outlook = outlook(&courses, &so_far);
        let next = turn(&outlook).map(|index| {
            let trials = block(&courses[index], so_far[index]).into_iter();
            (index, trials.filter_map(Slot::of).collect())
        });
        for (index, next) in outlook.iter().enumerate() {
            if let Next::Stop(reason) = next {
                if self.states[index] == State::Begun && self.purpose != Purpose::Tier {
                    let planned = &self.part.experiments[index];
                    self.observer.event(Event::ExperimentEnds { planned, reason: *reason });
                }
                self.states[index] = State::Ended;
            }
        }
        next
    }

    /// Returns why the time limit does not allow a trial for a safety tier. A tier is measured in full or not at all:
    /// the limit decides whether it is measured, never its result.
    fn why_no_time(&self) -> Option<String> {
        if self.purpose != Purpose::Tier {
            return None;
        }
        let left_s = self.left_s? - self.elapsed_s();
        let expected_s = self.expected_of_tier_s();
        (left_s < expected_s).then(|| {
            format!(
                "no time left: it takes about {expected_s:.0} s, and the time limit leaves {:.0} s",
                left_s.max(0.0)
            )
        })
    }

    /// Seconds that the next trial for a safety tier will probably take: as long as the longest so far.
    fn expected_of_tier_s(&self) -> f64 {
        self.longest_tier_s.unwrap_or(EXPECTED_S)
    }

    /// Seconds that what remains of the run will probably take, once a trial has ended.
    fn seconds_left(&self) -> Option<f64> {
        let trials: usize = self.histories.iter().map(History::len).sum();
        if self.purpose == Purpose::Tier {
            let left = self.whole.tiers.as_ref()?.unknown().count() - trials;
            return Some(self.expected_of_tier_s() * left as f64);
        }
        let so_far: Vec<&History> = self.histories.iter().collect();
        if trials == 0 {
            return None;
        }
        let courses = self.part.design_params(&so_far);
        let elapsed = self.elapsed_s();
        let trial_s = elapsed / trials as f64;
        let left: f64 = outlook(&courses, &so_far)
            .iter()
            .zip(courses.iter().zip(&self.histories))
            .filter(|(next, _)| matches!(next, Next::Trial { .. }))
            .map(|(_, (course, history))| expected_seconds(course, history, trial_s))
            .sum();
        let rounds =
            self.part.rounds_budget_s().map_or(left, |limit| left.min((limit - elapsed).max(0.0)));
        Some(rounds + self.part.tiers.as_ref().map_or(0.0, TierPlan::expected_s))
    }
}

/// A block that is carried out: each trial is recorded as it ends.
struct Block<'a, 'b> {
    runner: &'a mut PartRunner<'b>,
    experiment: usize,
    slots: Vec<Slot>,
}

impl Block<'_, '_> {
    /// Records that no trial of the block was begun, and why.
    fn skip(&mut self, tasks: &[Task], why: &str) -> Result<End> {
        for task in 0..tasks.len() {
            let execution = Execution {
                agent: None,
                started: now(),
                wall_s: 0.0,
                covariates: Covariates::default(),
                outcome: Outcome::Skipped { why: why.to_owned() },
            };
            self.ended(task, execution)?;
        }
        Ok(End::Finished)
    }
}

impl Watch for Block<'_, '_> {
    fn begins(&mut self, task: usize) {
        let left_s = self.runner.seconds_left();
        let slot = self.slots[task];
        let planned = &self.runner.part.experiments[self.experiment];
        self.runner.observer.event(Event::TrialBegins {
            planned,
            round: slot.place.0,
            variant: planned.name(slot.variant),
            left_s,
        });
    }

    fn phase(&mut self, phase: &str) {
        self.runner.observer.event(Event::Phase(phase));
    }

    fn ended(&mut self, task: usize, execution: Execution) -> Result<()> {
        let planned = &self.runner.part.experiments[self.experiment];
        let purpose = self.runner.purpose;
        let record = record(purpose, planned, self.slots[task], execution);
        if purpose == Purpose::Tier && record.outcome.problem().is_none() {
            let longest = &mut self.runner.longest_tier_s;
            *longest = Some(longest.map_or(record.wall_s, |before| before.max(record.wall_s)));
        }
        self.runner.appender.append(&record)?;
        self.runner.observer.event(Event::TrialEnded(&record));
        if let Some(observation) = observation(planned, &record) {
            self.runner.histories[self.experiment].add(observation);
        }
        Ok(())
    }
}

/// Returns the record of a trial.
pub(crate) fn record(
    purpose: Purpose,
    planned: &PlannedExperiment,
    slot: Slot,
    execution: Execution,
) -> TrialRecord {
    TrialRecord {
        purpose,
        experiment: planned.key.clone(),
        round: slot.place.0,
        block: slot.place.1,
        position: slot.place.2,
        variant: planned.label(slot.variant).to_owned(),
        role: slot.role,
        agent: execution.agent,
        started: execution.started,
        wall_s: execution.wall_s,
        covariates: execution.covariates,
        outcome: execution.outcome,
    }
}

/// Returns the recorded state of a search; `None` if the run tunes nothing.
pub(super) fn so_far(plan: &RunPlan, folder: &RunFolder) -> Result<Option<Tuning>> {
    let Some(mut tuning) = Tuning::of(plan) else { return Ok(None) };
    folder.each_trial(|record| tuning.add(&record))?;
    Ok(Some(tuning))
}

/// Carries out what remains of the search of a run, if it has one. The answer is how it ended, and how many seconds its
/// trials took.
pub(super) fn search(
    plan: &RunPlan,
    folder: &RunFolder,
    executor: &mut dyn Executor,
    observer: &mut dyn Observer,
    appender: &mut Appender,
) -> Result<(End, f64)> {
    let Some(mut tuning) = so_far(plan, folder)? else { return Ok((End::Finished, 0.0)) };
    let mut shown = false;
    while let Some(SearchBlock { planned, slots }) = tuning.search().next_block()? {
        if !shown {
            shown = true;
            let (planned, purpose) = (&planned, Purpose::Search);
            observer.event(Event::ExperimentBegins { planned, number: 1, of: 1, purpose });
        }
        let is_first = slots.first().is_some_and(|slot| slot.place.0 == 0);
        // The first block shows how long trials take.
        for slots in slots.chunks(if is_first { 1 } else { slots.len() }) {
            if tuning.search().is_out_of_time() {
                break;
            }
            let tasks: Vec<Task> = slots.iter().map(|slot| task_of(plan, &planned, slot)).collect();
            let mut block = BlockOfSearch {
                planned: &planned,
                slots,
                budget_s: plan.rounds_budget_s(),
                tuning: &mut tuning,
                observer: &mut *observer,
                appender: &mut *appender,
            };
            if executor.execute(&tasks, &mut block)? == End::Cancelled {
                return Ok((End::Cancelled, tuning.search().elapsed_s()));
            }
        }
        let block = slots.first().map(|slot| slot.place.0 as usize);
        if block == Some(SCREEN_BLOCKS - 1)
            && let Some(forecast) = tuning.search().forecast()
        {
            observer.event(Event::Forecast(forecast));
        }
    }
    Ok((End::Finished, tuning.search().elapsed_s()))
}

fn slot_of(slot: &SearchSlot) -> Slot {
    Slot { place: slot.place, variant: slot.variant, role: slot.role }
}

/// Returns the task of a trial, which is stopped where it is hopeless.
fn task_of(plan: &RunPlan, planned: &PlannedExperiment, slot: &SearchSlot) -> Task {
    let task = task(plan, planned, Purpose::Search, slot_of(slot));
    let hopeless_s = slot.limit_s.unwrap_or(f64::INFINITY);
    Task { limit_s: task.limit_s.min(hopeless_s), ..task }
}

/// A block that is carried out: each trial is recorded as it ends.
struct BlockOfSearch<'a> {
    planned: &'a PlannedExperiment,
    slots: &'a [SearchSlot],
    budget_s: Option<f64>,
    tuning: &'a mut Tuning,
    observer: &'a mut dyn Observer,
    appender: &'a mut Appender,
}

impl Watch for BlockOfSearch<'_> {
    fn begins(&mut self, task: usize) {
        let slot = &self.slots[task];
        let elapsed_s = self.tuning.search().elapsed_s();
        self.observer.event(Event::TrialBegins {
            planned: self.planned,
            round: slot.place.0,
            variant: self.planned.name(slot.variant),
            left_s: self.budget_s.map(|budget_s| (budget_s - elapsed_s).max(0.0)),
        });
    }

    fn phase(&mut self, phase: &str) {
        self.observer.event(Event::Phase(phase));
    }

    fn ended(&mut self, task: usize, execution: Execution) -> Result<()> {
        let slot = slot_of(&self.slots[task]);
        let record = record(Purpose::Search, self.planned, slot, execution);
        self.appender.append(&record)?;
        self.observer.event(Event::TrialEnded(&record));
        self.tuning.add(&record);
        Ok(())
    }
}
