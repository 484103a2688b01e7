//! Executors of trials.
//!
//! A [`Task`] names the engine, the measured directory and the place of its artifacts as the run does. The executor
//! resolves these names on its own machine, which may be another one.

use lab::environment::Covariates;
use lab::trial::{Outcome, TrialSpec};
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// A trial to be carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The block of the trial: the same for all trials of a block, and for no other trial of the run.
    pub block: String,
    /// Its position in the block, from 0.
    pub position: u32,
    /// The specification, but for what the executor completes: `engine` is the name of the engine in
    /// the run, `directory` the one to be measured, `artifacts` relative to the folder of the run, and a
    /// PostgreSQL server is still to be found where the settings ask for one.
    pub spec: TrialSpec,
    /// Time after which the trial is stopped, in seconds.
    pub limit_s: f64,
    /// Whether the price of an fsync in the measured directory is probed just before the trial.
    pub probe_fsync: bool,
}

/// How a task ended, and what was seen meanwhile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Execution {
    /// The agent of a fleet that executed it; `None` for this process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// When it began: RFC 3339, UTC.
    pub started: String,
    /// Time from the start of its process to the end of the clean-up, in seconds.
    pub wall_s: f64,
    /// The state of the machine during the trial.
    pub covariates: Covariates,
    /// How it ended.
    pub outcome: Outcome,
}

/// How a run, or a block of it, came to an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Everything was carried out.
    Finished,
    /// It was cancelled; what was measured is recorded and it can be resumed.
    Cancelled,
}

/// Carries out blocks of trials.
pub trait Executor {
    /// Carries out the tasks of a block one after another, and hands over each execution as soon as it has
    /// ended. A trial that goes wrong is an outcome like any other. One that is cancelled leaves nothing.
    ///
    /// # Errors
    /// When a measured directory cannot be used at all, a driver cannot be started, or `watch` has an error.
    fn execute(&mut self, block: &[Task], watch: &mut dyn Watch) -> Result<End>;

    /// Returns how many blocks it can use to know in advance, besides the one that it carries out: those that other
    /// machines may begin meanwhile.
    fn depth(&self) -> usize {
        0
    }

    /// Learns which blocks will probably be carried out next, in their order, the very next one among them. It may begin
    /// them, and must not rely on them: how the blocks before end decides what comes.
    ///
    /// # Errors
    /// When it cannot take them.
    fn ahead(&mut self, _blocks: &[Vec<Task>]) -> Result<()> {
        Ok(())
    }

    /// Gives back what only blocks like the last ones need, such as database servers.
    fn rest(&mut self) {}
}

/// Follows a block that is carried out.
pub trait Watch {
    /// The task with this index begins.
    fn begins(&mut self, _task: usize) {}

    /// The driver has entered a phase.
    fn phase(&mut self, _phase: &str) {}

    /// The task with this index has ended.
    ///
    /// # Errors
    /// When it cannot be recorded; then the block is not carried on.
    fn ended(&mut self, task: usize, execution: Execution) -> Result<()>;
}

/// Keeps the executions of a block in their order.
impl Watch for Vec<Execution> {
    fn ended(&mut self, _task: usize, execution: Execution) -> Result<()> {
        self.push(execution);
        Ok(())
    }
}
