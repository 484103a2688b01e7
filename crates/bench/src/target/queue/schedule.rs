//! The schedule of tasks in memory. An application with files must have one, and rebuild it when it starts, because a directory
//! cannot tell which task is due next.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard};

use super::{Status, Task, TaskId};
use crate::locks::locked;

/// The tasks by status and due time.
#[derive(Debug, Default)]
pub(super) struct Schedule(Mutex<Lists>);

#[derive(Debug, Default)]
struct Lists {
    pending: BTreeSet<(i64, TaskId)>,
    processing: BTreeSet<(i64, TaskId)>,
}

impl Lists {
    fn of(&mut self, status: Status) -> &mut BTreeSet<(i64, TaskId)> {
        match status {
            Status::Pending => &mut self.pending,
            Status::Processing => &mut self.processing,
        }
    }

    fn remove(&mut self, due: i64, id: TaskId) {
        if !self.processing.remove(&(due, id)) {
            self.pending.remove(&(due, id));
        }
    }
}

impl Schedule {
    fn lists(&self) -> MutexGuard<'_, Lists> {
        // Lists are changed by single calls that do not panic half way.
        locked(&self.0)
    }

    /// Records the status of a task.
    pub(super) fn put(&self, task: &Task) {
        let mut lists = self.lists();
        lists.remove(task.scheduled_at, task.id);
        lists.of(task.status).insert((task.scheduled_at, task.id));
    }

    /// Forgets a task.
    pub(super) fn remove(&self, due: i64, id: TaskId) {
        self.lists().remove(due, id);
    }

    /// Returns at most `limit` tasks of this status.
    pub(super) fn list(&self, status: Status, limit: usize) -> Vec<TaskId> {
        let mut lists = self.lists();
        lists.of(status).iter().take(limit).map(|(_, id)| *id).collect()
    }

    /// Takes the pending task that is due first, if it is due now, and notes it as processing.
    pub(super) fn claim(&self, now: i64) -> Option<TaskId> {
        let mut lists = self.lists();
        let first = lists.pending.first().copied().filter(|(due, _)| *due <= now)?;
        lists.pending.remove(&first);
        lists.processing.insert(first);
        Some(first.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: u128, scheduled_at: i64, status: Status) -> Task {
        Task {
            id: TaskId(id),
            status,
            cmd: String::new(),
            args: String::new(),
            scheduled_at,
            output: String::new(),
        }
    }

    #[test]
    fn the_task_that_is_due_first_is_given_once_and_none_before_its_time() {
        let schedule = Schedule::default();
        schedule.put(&task(1, 20, Status::Pending));
        schedule.put(&task(2, 10, Status::Pending));
        assert_eq!(schedule.claim(9), None);
        assert_eq!(schedule.claim(15), Some(TaskId(2)));
        assert_eq!(schedule.claim(15), None);
        assert_eq!(schedule.claim(20), Some(TaskId(1)));
        assert_eq!(schedule.list(Status::Processing, 5), [TaskId(2), TaskId(1)]);
        schedule.remove(10, TaskId(2));
        assert_eq!(schedule.list(Status::Processing, 5), [TaskId(1)]);
    }

    #[test]
    fn a_task_stands_in_one_list_only() {
        let schedule = Schedule::default();
        schedule.put(&task(1, 0, Status::Pending));
        schedule.put(&task(1, 0, Status::Processing));
        assert!(schedule.list(Status::Pending, 5).is_empty());
        assert_eq!(schedule.list(Status::Processing, 5), [TaskId(1)]);
        assert_eq!(schedule.list(Status::Processing, 0), []);
    }
}
