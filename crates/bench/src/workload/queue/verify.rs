//! What must be there in the end, and what must not.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use lab::durability::Durability;

use super::jobs::Done;
use super::marks::Marks;
use super::parameters::{Parameters, STATEMENTS_OF_A_LIFE, Target, Work};
use crate::error::TrialError;
use crate::target::queue::{Notes, Task, TaskId, files_left};
use crate::workload::common::expect;

/// The file that a trial with SQLite leaves.
const DATABASE: &str = "test.db";

/// The tasks that must be there.
pub(super) struct Expected {
    target: Target,
    stored: Vec<Task>,
    /// Added by workers and left there.
    added: Vec<Task>,
    /// Due, and given to nobody yet.
    due: BTreeSet<TaskId>,
}

impl Expected {
    /// Those that are there from the beginning.
    pub(super) fn new(parameters: &Parameters, stored: Vec<Task>) -> Expected {
        Expected { target: parameters.target, stored, added: Vec::new(), due: BTreeSet::new() }
    }

    /// The tasks that were there from the beginning, which no work takes away.
    pub(super) fn stored(&self) -> &[Task] {
        &self.stored
    }

    /// These wait to be claimed.
    pub(super) fn add_due(&mut self, due: &[Task]) {
        self.due.extend(due.iter().map(|task| task.id));
    }

    /// Notes what the workers have done in a repetition, and gives their marks.
    ///
    /// # Errors
    /// A task that was claimed twice, or never.
    pub(super) fn add(&mut self, done: Vec<Done>) -> Result<Vec<Marks>, TrialError> {
        let mut marks = Vec::with_capacity(done.len());
        for done in done {
            for id in done.claimed {
                if !self.due.remove(&id) {
                    let what = format!("the task {id}");
                    return Err(TrialError::wrong(
                        what,
                        "claimed twice or not due",
                        "claimed once",
                    ));
                }
            }
            self.added.extend(done.added);
            marks.push(done.marks);
        }
        expect("the number of due tasks that were never claimed", self.due.len(), 0)?;
        Ok(marks)
    }

    /// Compares with what was found in the end, in the order of ids.
    ///
    /// # Errors
    /// The first task that is lost, too many, or not as it was left.
    pub(super) fn check(&self, found: &[Task]) -> Result<(), TrialError> {
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

    /// Files that are there when the store is closed and should not be: the temporary file of a
    /// task, a journal, a log. None where nothing is stored in files.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub(super) fn left_over(
        &self,
        directory: &Path,
        files: &Path,
    ) -> Result<Option<usize>, TrialError> {
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

/// Compares what the target undertakes with the syncs that were counted, where some were.
///
/// # Errors
/// When there were too few.
pub(super) fn check_durability(
    durability: Durability,
    notes: &Notes,
    parameters: &Parameters,
) -> Result<(), TrialError> {
    let Some(syncs) = notes.syncs else {
        return Ok(());
    };
    let per_life = STATEMENTS_OF_A_LIFE.div_ceil(parameters.statements_per_txn);
    let changes = match parameters.work {
        Work::Get | Work::List => 0,
        Work::LifeCycle => parameters.workers * parameters.tasks * per_life,
        Work::Insert | Work::Schedule => parameters.operations(),
    };
    let changes = (changes * parameters.repeats) as u64;
    match durability.contradicted(syncs, changes, notes.shares_syncs) {
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
