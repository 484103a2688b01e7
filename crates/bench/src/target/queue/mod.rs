//! Stores of a task queue, behind one interface.
//!
//! A [`Store`] is opened once for a trial; each worker has a [`Session`] with it on a thread of its own.
//! The application owns its tasks and tells a session how one has changed, as the programs do that are
//! compared here: a database is sent the change alone, a directory of files the whole task.

mod files;
mod memory;
mod postgres;
mod schedule;
mod sql;
mod sqlite;
mod task;

use std::collections::BTreeMap;

use lab::durability::Durability;
use lab::trial::{DataTable, ReadBack};

use crate::error::TrialError;

pub(crate) use files::{Files, Writing, files_left};
pub(crate) use memory::Memory;
pub(crate) use postgres::Postgres;
pub(crate) use sqlite::{Connections, Sqlite, Statements};
pub(crate) use task::{Status, Task, TaskId};

/// What one worker does with its session.
pub(crate) type Job<'j> = &'j mut dyn FnMut(&mut dyn Session) -> Result<(), TrialError>;

/// What stores tasks.
pub(crate) trait Store: Sync {
    /// Makes a session, has `job` use it, and ends it. Called by each worker on its own thread.
    ///
    /// # Errors
    /// When there can be no session, or what `job` returns.
    fn session(&self, job: Job<'_>) -> Result<(), TrialError>;

    /// Every task that is kept, as a process that starts anew would find it, in the order of ids.
    ///
    /// # Errors
    /// When they cannot be read, or one is damaged.
    fn tasks(&self) -> Result<Vec<Task>, TrialError>;

    /// What survives of a change that a session has acknowledged.
    ///
    /// # Errors
    /// When that depends on settings that cannot be read back.
    fn durability(&self) -> Result<Durability, TrialError>;

    /// What was noted about the store until now.
    fn notes(&self) -> Notes;

    /// Closes what is open and removes what does not lie in the trial's directory.
    ///
    /// # Errors
    /// When it cannot.
    fn close(self: Box<Self>) -> Result<Closing, TrialError> {
        Ok(Closing::default())
    }
}

/// What a store counts as it works.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Notes {
    /// Refusals because another connection held a lock.
    pub(crate) busy: u64,
    /// Connections opened by sessions, and the time that took, in seconds.
    pub(crate) opened: u64,
    pub(crate) opening_s: f64,
    /// Syncs of files and directories; none where the store cannot tell.
    pub(crate) syncs: Option<u64>,
    /// Whether changes of several sessions may share a sync.
    pub(crate) shares_syncs: bool,
    /// What was done to files, by metric; empty where the store does not count.
    pub(crate) counts: BTreeMap<String, f64>,
}

impl Notes {
    /// What was noted since an earlier moment.
    pub(crate) fn since(&self, earlier: &Notes) -> Notes {
        let before = |name: &str| earlier.counts.get(name).copied().unwrap_or_default();
        let counts = self.counts.iter();
        Notes {
            busy: self.busy - earlier.busy,
            opened: self.opened - earlier.opened,
            opening_s: self.opening_s - earlier.opening_s,
            syncs: self.syncs.map(|syncs| syncs.saturating_sub(earlier.syncs.unwrap_or_default())),
            shares_syncs: self.shares_syncs,
            counts: counts.map(|(name, value)| (name.clone(), value - before(name))).collect(),
        }
    }

    /// What was noted in this part of the work and in another.
    pub(crate) fn and(self, other: Notes) -> Notes {
        let mut counts = self.counts;
        for (name, value) in other.counts {
            *counts.entry(name).or_default() += value;
        }
        Notes {
            busy: self.busy + other.busy,
            opened: self.opened + other.opened,
            opening_s: self.opening_s + other.opening_s,
            // What cannot be told of one part is not known of both.
            syncs: self.syncs.zip(other.syncs).map(|(one, two)| one + two),
            shares_syncs: self.shares_syncs || other.shares_syncs,
            counts,
        }
    }
}

/// What there is to report of a store that was closed.
#[derive(Debug, Default)]
pub(crate) struct Closing {
    /// PRAGMAs read back.
    pub(crate) connections: Vec<ReadBack>,
    /// Settings of a server, read back.
    pub(crate) tables: Vec<DataTable>,
    /// Sizes and times, by metric.
    pub(crate) metrics: BTreeMap<String, f64>,
    /// Tables and sessions that a server still has; none where there is no server.
    pub(crate) left_on_server: Option<usize>,
}

/// How a task has changed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change<'c> {
    /// It has another status.
    Status,
    /// Its output was replaced.
    Output,
    /// This was added to its output.
    Appended(&'c str),
}

/// The access of one worker to a store. Every method returns when the change is as durable as the store
/// ever makes it before it goes on.
pub(crate) trait Session {
    /// Adds a task.
    fn insert(&mut self, task: &Task) -> Result<(), TrialError>;

    /// Notes that a task has changed; `task` is as it is now.
    fn update(&mut self, task: &Task, change: Change<'_>) -> Result<(), TrialError>;

    /// Removes a task.
    fn delete(&mut self, task: &Task) -> Result<(), TrialError>;

    /// The task of this id.
    fn get(&mut self, id: TaskId) -> Result<Option<Task>, TrialError>;

    /// At most `limit` tasks of this status.
    fn list(&mut self, status: Status, limit: usize) -> Result<Vec<TaskId>, TrialError>;

    /// Makes the pending task that is due first one that is processed, and gives it; none where no
    /// task is due at `now`. No task is ever given to two sessions.
    fn claim(&mut self, now: i64) -> Result<Option<Task>, TrialError>;

    /// Begins a transaction, to which what follows belongs.
    fn begin(&mut self) -> Result<(), TrialError> {
        Err(no_transactions())
    }

    /// Commits it.
    fn commit(&mut self) -> Result<(), TrialError> {
        Err(no_transactions())
    }
}

/// That a store has no transactions.
fn no_transactions() -> TrialError {
    TrialError::cannot_run(
        "this target cannot group statements in a transaction: statements_per_txn must be 1",
    )
}

/// That a task which must be there is not.
fn missing(id: TaskId) -> TrialError {
    TrialError::wrong(format!("the task {id}"), "missing", "there")
}

/// That a row holds what no task has.
fn damaged(what: &str) -> TrialError {
    TrialError::wrong(format!("{what} in the table of tasks"), "something else", "one")
}

#[cfg(test)]
mod tests;
