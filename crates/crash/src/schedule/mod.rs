//! Two connections at the same instant: the actions of the second take place inside the file-system calls of
//! the first, at every possible place.
//!
//! Some damage needs no crash, only the wrong moment: a checkpoint between another connection's look at the
//! log and its lock, or a reader that takes a living journal for a dead one. Threads meet such moments too
//! rarely. Here both connections run on one thread, and the second acts inside a call of the first that a
//! [`Schedule`] names, so every schedule can be repeated.
//!
//! After every schedule the database must be sound and hold exactly the acknowledged transactions; no
//! connection may have read a state that never was; and neither connection may be locked out once the other
//! has ended its work.

mod client;
mod plan;
mod runner;
mod scenario;

pub use plan::{Schedule, all};
pub use runner::{ScheduleResult, ScheduleRunner};
pub use scenario::{Action, Files, RARE, SCENARIOS, Scenario, Who, scenario};

use crate::error::Result;
use crate::threads::in_threads;
use engine::Library;
use lab::seed::Seed;
use plan::SampledPlaces;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The most findings of a scenario that are kept: one is enough to prove it.
const KEPT: usize = 3;

/// The result of the schedules of one scenario in one journal mode.
#[derive(Debug, Clone, Serialize)]
pub struct ScenarioResult {
    /// The scenario.
    pub scenario: &'static str,
    /// The subject of the scenario.
    pub what: &'static str,
    /// The journal mode.
    pub journal_mode: &'static str,
    /// The calls of the first connection, where the second does not interfere.
    pub calls: usize,
    /// The schedules played.
    pub played: u64,
    /// Whether those were all there are.
    pub exhaustive: bool,
    /// The schedules that went wrong.
    pub wrong: u64,
    /// The first of them.
    pub findings: Vec<Finding>,
}

/// A schedule that went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The schedule, as `pragmark crash --schedule` takes it.
    pub schedule: String,
    /// The violations.
    pub what: Vec<String>,
}

impl ScenarioResult {
    /// Returns the verdict in words.
    pub fn verdict(&self) -> String {
        match (self.findings.first(), self.exhaustive) {
            (Some(finding), _) => format!(
                "can corrupt ({} of {} schedules, first {})",
                self.wrong, self.played, finding.schedule
            ),
            (None, true) => format!("no violation in {} schedules, which are all", self.played),
            (None, false) => format!("no violation in {} schedules of more", self.played),
        }
    }
}

/// The number of schedules to explore. It is a number, never a time, so that all engines are treated alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// Scenarios with at most this many schedules in a journal mode are run in full.
    pub all_up_to: u64,
    /// Number of schedules drawn from each larger scenario.
    pub sample: u64,
    /// The seed by which they are drawn.
    pub seed: u64,
    /// Scenarios to explore at the same time, each on a thread of its own.
    pub threads: usize,
}

/// Explores every scenario that `wanted` accepts, in every journal mode.
/// The result is in the order of the scenarios.
///
/// # Errors
/// The first that a stage meets.
pub fn explore_all(
    library: &Arc<Library>,
    folder: &Path,
    extent: Extent,
    wanted: impl Fn(&Scenario, &str) -> bool,
) -> Result<Vec<ScenarioResult>> {
    let work: Vec<_> =
        all().filter(|(scenario, journal_mode)| wanted(scenario, journal_mode)).collect();
    let start = || ScheduleRunner::new(library, folder);
    in_threads(extent.threads, &work, start, |runner, (scenario, journal_mode)| {
        explore(runner, scenario, journal_mode, extent, &AtomicBool::new(false))
    })
}

/// Runs every schedule of a scenario, or a seeded sample if there are too many.
///
/// # Errors
/// The runner cannot be prepared, or the engine fails without being disturbed.
pub fn explore(
    runner: &mut ScheduleRunner,
    scenario: &'static Scenario,
    journal_mode: &'static str,
    extent: Extent,
    stop: &AtomicBool,
) -> Result<ScenarioResult> {
    let actions = scenario.second.len();
    // The second connection acts last, so that the first is undisturbed.
    let places = vec![usize::MAX - 1; actions];
    let mut schedule = Schedule { scenario: scenario.id, journal_mode, places };
    let calls = runner.run_undisturbed(&schedule)?;
    let mut explored = ScenarioResult {
        scenario: scenario.id,
        what: scenario.what,
        journal_mode,
        calls,
        played: 0,
        exhaustive: plan::count(calls, actions) <= extent.all_up_to,
        wrong: 0,
        findings: Vec::new(),
    };
    if explored.exhaustive {
        schedule.places.fill(0);
        while !stop.load(Ordering::Relaxed) {
            let calls = explored.run(runner, &schedule)?;
            if !plan::advance(&mut schedule.places, calls) {
                return Ok(explored);
            }
        }
        explored.exhaustive = false;
        return Ok(explored);
    }
    let seed = Seed(extent.seed).child(scenario.id).child(journal_mode);
    let mut drawn = SampledPlaces::new(calls, seed);
    while explored.played < extent.sample
        && !stop.load(Ordering::Relaxed)
        && drawn.next(&mut schedule.places)
    {
        explored.run(runner, &schedule)?;
    }
    Ok(explored)
}

impl ScenarioResult {
    fn run(&mut self, runner: &mut ScheduleRunner, schedule: &Schedule) -> Result<usize> {
        let played = runner.run(schedule, false)?;
        self.played += 1;
        if !played.wrong.is_empty() {
            self.wrong += 1;
            if self.findings.len() < KEPT {
                self.findings.push(Finding { schedule: schedule.to_string(), what: played.wrong });
            }
        }
        Ok(played.calls)
    }
}
