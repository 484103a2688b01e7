//! Stores of a task queue, behind one interface.
//!
//! A [`Store`] is opened once for a trial; each worker has a [`Session`] with it on a thread of its own.
//! The application owns its tasks and tells a session how a task has changed, as the compared programs do: a database gets the
//! change alone, a directory of files the whole task.
//!
//! A task, and its form in a file.

mod files;
mod memory;
mod postgres;
mod sql;
mod sqlite;

use std::collections::BTreeMap;
use std::fmt;

use lab::durability::Durability;
use lab::trial::{DataTable, ReadBack};
use serde::{Deserialize, Serialize};

use crate::error::{Result, TrialError};

pub(crate) use files::{Files, Writing, files_left};
pub(crate) use memory::Memory;
pub(crate) use postgres::Postgres;
pub(crate) use sqlite::{Connections, Sqlite, Statements};

/// The work of one worker with its session.
pub(crate) type SessionWork<'j> = &'j mut dyn FnMut(&mut dyn Session) -> Result<()>;

/// A store of tasks.
pub(crate) trait Store: Sync {
    /// Opens a session, has `work` use it, and ends it. Each worker calls it on its own thread.
    ///
    /// # Errors
    /// A session cannot be opened, or the error of `work`.
    fn session(&self, work: SessionWork<'_>) -> Result<()>;

    /// Returns every stored task, as a new process would find it, in the order of ids.
    ///
    /// # Errors
    /// The tasks cannot be read, or one is damaged.
    fn tasks(&self) -> Result<Vec<Task>>;

    /// Returns the durability of a change that a session has acknowledged.
    ///
    /// # Errors
    /// It depends on settings that cannot be read back.
    fn durability(&self) -> Result<Durability>;

    /// Returns the statistics of the store so far.
    fn stats(&self) -> StoreStats;

    /// Closes the store and removes everything outside of the trial's directory.
    ///
    /// # Errors
    /// The store cannot be closed or removed.
    fn close(self: Box<Self>) -> Result<Closing> {
        Ok(Closing::default())
    }
}

/// Statistics of a store.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StoreStats {
    /// Number of refusals because another connection held a lock.
    pub(crate) busy: u64,
    /// Number of connections opened by sessions, and the time of opening in seconds.
    pub(crate) opened: u64,
    pub(crate) opening_s: f64,
    /// Number of syncs of files and directories, if the store knows it.
    pub(crate) syncs: Option<u64>,
    /// Whether changes of several sessions may share a sync.
    pub(crate) shares_syncs: bool,
    /// File operations by metric, if the store counts them.
    pub(crate) counts: BTreeMap<String, f64>,
}

impl StoreStats {
    /// Returns the statistics since an earlier moment.
    pub(crate) fn since(&self, earlier: &StoreStats) -> StoreStats {
        let before = |name: &str| earlier.counts.get(name).copied().unwrap_or_default();
        let counts = self.counts.iter();
        StoreStats {
            busy: self.busy - earlier.busy,
            opened: self.opened - earlier.opened,
            opening_s: self.opening_s - earlier.opening_s,
            syncs: self.syncs.map(|syncs| syncs.saturating_sub(earlier.syncs.unwrap_or_default())),
            shares_syncs: self.shares_syncs,
            counts: counts.map(|(name, value)| (name.clone(), value - before(name))).collect(),
        }
    }

    /// Returns the statistics of this part of the work and another one.
    pub(crate) fn plus(self, other: StoreStats) -> StoreStats {
        let mut counts = self.counts;
        for (name, value) in other.counts {
            *counts.entry(name).or_default() += value;
        }
        StoreStats {
            busy: self.busy + other.busy,
            opened: self.opened + other.opened,
            opening_s: self.opening_s + other.opening_s,
            // A number that is unknown for one part is unknown for both.
            syncs: self.syncs.zip(other.syncs).map(|(one, two)| one + two),
            shares_syncs: self.shares_syncs || other.shares_syncs,
            counts,
        }
    }
}

/// The report on a closed store.
#[derive(Debug, Default)]
pub(crate) struct Closing {
    /// PRAGMAs read back.
    pub(crate) connections: Vec<ReadBack>,
    /// Settings of a server, read back.
    pub(crate) tables: Vec<DataTable>,
    /// Sizes and times, by metric.
    pub(crate) metrics: BTreeMap<String, f64>,
    /// Number of tables and sessions that are left on a server, if there is one.
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

/// The access of one worker to a store. Every method returns when the change is as durable as the store ever makes it before it
/// continues.
pub(crate) trait Session {
    /// Adds a task.
    fn insert(&mut self, task: &Task) -> Result<()>;

    /// Records that a task has changed; `task` is as it is now.
    fn update(&mut self, task: &Task, change: Change<'_>) -> Result<()>;

    /// Removes a task.
    fn delete(&mut self, task: &Task) -> Result<()>;

    /// Returns the task of this id.
    fn get(&mut self, id: TaskId) -> Result<Option<Task>>;

    /// Returns at most `limit` tasks of this status.
    fn list(&mut self, status: Status, limit: usize) -> Result<Vec<TaskId>>;

    /// Marks the pending task that is due first as processing and returns it, if a task is due at `now`. No task is ever given to
    /// two sessions.
    fn claim(&mut self, now: i64) -> Result<Option<Task>>;

    /// Begins a transaction.
    fn begin(&mut self) -> Result<()> {
        Err(no_transactions())
    }

    /// Commits the transaction.
    fn commit(&mut self) -> Result<()> {
        Err(no_transactions())
    }
}

/// Returns the error of a store without transactions.
fn no_transactions() -> TrialError {
    TrialError::cannot_run(
        "this target cannot group statements in a transaction: statements_per_txn must be 1",
    )
}

/// Returns the error of a missing task.
fn missing(id: TaskId) -> TrialError {
    TrialError::wrong(format!("the task {id}"), "missing", "there")
}

/// Returns the error of a row that is not a task.
fn damaged(what: &str) -> TrialError {
    TrialError::wrong(format!("{what} in the table of tasks"), "something else", "one")
}

/// The id of a task: 128 random bits, written as 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TaskId(pub(crate) u128);

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl TaskId {
    /// Parses an id.
    pub(crate) fn parse(text: &str) -> Option<TaskId> {
        let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let id = u128::from_str_radix(text, 16).ok().filter(|_| digits)?;
        Some(TaskId(id))
    }
}

impl Serialize for TaskId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TaskId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<TaskId, D::Error> {
        let text = String::deserialize(deserializer)?;
        TaskId::parse(&text).ok_or_else(|| serde::de::Error::custom("not the id of a task"))
    }
}

choice! {
    /// The status of a task, with the name by which it is stored.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Status {
        /// It waits.
        Pending = "pending",
        /// Someone works on it.
        Processing = "processing",
    }
}

/// A task in the application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) id: TaskId,
    pub(crate) status: Status,
    pub(crate) cmd: String,
    /// The arguments, as JSON.
    pub(crate) args: String,
    /// When it is due, in any unit.
    pub(crate) scheduled_at: i64,
    pub(crate) output: String,
}

#[cfg(test)]
mod tests;
