//! Verification of the tasks at the end.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use lab::durability::Durability;

use super::worker::{OperationLog, WorkerResult};
use super::{Parameters, STATEMENTS_OF_A_LIFE, Target, Work};
use crate::error::{Result, TrialError};
use crate::target::queue::{StoreStats, Task, TaskId, files_left};
use crate::workload::common::expect;

/// The file that a trial with SQLite leaves.
const DATABASE: &str = "test.db";

/// The tasks that must be stored at the end.
pub(super) struct Expected {
    target: Target,
    /// The tasks that were stored before the work, which no work deletes.
    pub(super) stored: Vec<Task>,
    /// Tasks that workers added and left.
    added: Vec<Task>,
    /// Tasks that are due and not claimed yet.
    due: BTreeSet<TaskId>,
}

impl Expected {
    /// Expects the tasks that are stored before the work.
    pub(super) fn new(parameters: &Parameters, stored: Vec<Task>) -> Expected {
        Expected { target: parameters.target, stored, added: Vec::new(), due: BTreeSet::new() }
    }

    /// Adds tasks that wait to be claimed.
    pub(super) fn add_due(&mut self, due: &[Task]) {
        self.due.extend(due.iter().map(|task| task.id));
    }

    /// Adds the results of the workers in a repetition. Returns their logs.
    ///
    /// # Errors
    /// A task that was claimed twice, or never.
    pub(super) fn add(&mut self, results: Vec<WorkerResult>) -> Result<Vec<OperationLog>> {
        let mut logs = Vec::with_capacity(results.len());
        for result in results {
            for id in result.claimed {
                if !self.due.remove(&id) {
                    let what = format!("the task {id}");
                    return Err(TrialError::wrong(
                        what,
                        "claimed twice or not due",
                        "claimed once",
                    ));
                }
            }
            self.added.extend(result.added);
            logs.push(result.log);
        }
        expect("the number of due tasks that were never claimed", self.due.len(), 0)?;
        Ok(logs)
    }

    /// Compares the expected tasks with the stored ones, which are in the order of ids.
    ///
    /// # Errors
    /// The first task that is lost, too many, or not as it was left.
    pub(super) fn check(&self, found: &[Task]) -> Result<()> {
        let mut wanted: Vec<&Task> = self.stored.iter().chain(&self.added).collect();
        wanted.sort_by_key(|task| task.id);
        expect("the number of tasks in the end", found.len(), wanted.len())?;
        for (found, wanted) in found.iter().zip(wanted) {
            if found != wanted {
                let what = format!("the task {}", wanted.id);
                let found = format!("missing or changed (found {} instead)", found.id);
                return Err(TrialError::wrong(what, found, "as it was left"));
            }
        }
        Ok(())
    }

    /// Returns the number of files that are left when the store is closed and should not be: temporary files of tasks, journals and
    /// logs. `None` if nothing is stored in files.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub(super) fn left_over(&self, directory: &Path, files: &Path) -> Result<Option<usize>> {
        match self.target {
            Target::Postgres | Target::Memory => Ok(None),
            Target::Files => {
                let wanted = self.stored.len() + self.added.len();
                Ok(Some(files_left(files)?.saturating_sub(wanted)))
            }
            Target::Sqlite => {
                let failed = TrialError::io("read", directory);
                let mut left = 0;
                for entry in fs::read_dir(directory).map_err(&failed)? {
                    left += usize::from(entry.map_err(&failed)?.file_name() != DATABASE);
                }
                Ok(Some(left))
            }
        }
    }
}

/// Compares the durability of the target with the counted syncs, if syncs were counted.
///
/// # Errors
/// There were too few syncs.
pub(super) fn check_durability(
    durability: Durability,
    stats: &StoreStats,
    parameters: &Parameters,
) -> Result<()> {
    let Some(syncs) = stats.syncs else { return Ok(()) };
    let per_life = STATEMENTS_OF_A_LIFE.div_ceil(parameters.statements_per_txn);
    let changes = match parameters.work {
        Work::Get | Work::List => 0,
        Work::LifeCycle => parameters.workers * parameters.tasks * per_life,
        Work::Insert | Work::Schedule => parameters.operations(),
    };
    let changes = (changes * parameters.repeats) as u64;
    match durability.contradicted(syncs, changes, stats.shares_syncs) {
        Some(why) => Err(TrialError::Measuring(why)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_with_tasks_is_left_over_and_tasks_that_stay_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let files = directory.path().join("tasks");
        fs::create_dir(&files).unwrap();
        let left_over = |target| {
            let expected =
                Expected { target, stored: Vec::new(), added: Vec::new(), due: BTreeSet::new() };
            expected.left_over(directory.path(), &files).unwrap()
        };
        fs::write(directory.path().join(DATABASE), "").unwrap();
        fs::write(directory.path().join("test.db-journal"), "").unwrap();
        // The directory of files is none of SQLite's.
        assert_eq!(left_over(Target::Sqlite), Some(2));
        assert_eq!(left_over(Target::Files), Some(0));
        fs::write(files.join("1.tmp"), "").unwrap();
        assert_eq!(left_over(Target::Files), Some(1));
        assert_eq!(left_over(Target::Memory), None);
    }
}
