//! Tasks in memory, read from files when the process starts: the fastest possible queue, and an upper bound of the laboratory's
//! own overhead.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

use engine::locked;
use lab::durability::Durability;

use super::files::{Schedule, read_tasks};
use super::{Change, Session, SessionWork, Status, Store, StoreStats, Task, TaskId, missing};
use crate::error::Result;

/// Parts of the map, so that workers rarely wait for one another.
const SHARDS: usize = 64;

/// Tasks in memory.
pub(crate) struct Memory {
    shards: Vec<Mutex<HashMap<TaskId, Task>>>,
    schedule: Schedule,
}

impl Memory {
    /// Reads the tasks whose files are in `directory`.
    ///
    /// # Errors
    /// A file cannot be read or is not a task.
    pub(crate) fn rebuild(directory: &Path) -> Result<Memory> {
        let memory = Memory {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            schedule: Schedule::default(),
        };
        for task in read_tasks(directory)? {
            memory.put(task);
        }
        Ok(memory)
    }

    fn shard(&self, id: TaskId) -> MutexGuard<'_, HashMap<TaskId, Task>> {
        let shard = &self.shards[(id.0 % SHARDS as u128) as usize];
        // Maps are changed by single calls that do not panic half way.
        locked(shard)
    }

    fn put(&self, task: Task) {
        self.schedule.put(&task);
        self.shard(task.id).insert(task.id, task);
    }
}

impl Store for Memory {
    fn session(&self, work: SessionWork<'_>) -> Result<()> {
        work(&mut MemorySession(self))
    }

    /// Returns the tasks in memory; a new process would find the files they were read from.
    fn tasks(&self) -> Result<Vec<Task>> {
        let mut tasks = Vec::new();
        for shard in &self.shards {
            tasks.extend(locked(shard).values().cloned());
        }
        tasks.sort_by_key(|task| task.id);
        Ok(tasks)
    }

    fn durability(&self) -> Result<Durability> {
        Ok(Durability::Nothing)
    }

    fn stats(&self) -> StoreStats {
        StoreStats { syncs: Some(0), ..StoreStats::default() }
    }
}

struct MemorySession<'m>(&'m Memory);

impl Session for MemorySession<'_> {
    fn insert(&mut self, task: &Task) -> Result<()> {
        self.0.put(task.clone());
        Ok(())
    }

    fn update(&mut self, task: &Task, change: Change<'_>) -> Result<()> {
        let mut shard = self.0.shard(task.id);
        let kept = shard.get_mut(&task.id).ok_or_else(|| missing(task.id))?;
        match change {
            Change::Status => {
                kept.status = task.status;
                self.0.schedule.put(task);
            }
            Change::Output => kept.output.clone_from(&task.output),
            Change::Appended(more) => kept.output.push_str(more),
        }
        Ok(())
    }

    fn delete(&mut self, task: &Task) -> Result<()> {
        self.0.schedule.remove(task.scheduled_at, task.id);
        let removed = self.0.shard(task.id).remove(&task.id);
        removed.map(drop).ok_or_else(|| missing(task.id))
    }

    fn get(&mut self, id: TaskId) -> Result<Option<Task>> {
        Ok(self.0.shard(id).get(&id).cloned())
    }

    fn list(&mut self, status: Status, limit: usize) -> Result<Vec<TaskId>> {
        Ok(self.0.schedule.list(status, limit))
    }

    fn claim(&mut self, now: i64) -> Result<Option<Task>> {
        let Some(id) = self.0.schedule.claim(now) else { return Ok(None) };
        let mut shard = self.0.shard(id);
        let kept = shard.get_mut(&id).ok_or_else(|| missing(id))?;
        kept.status = Status::Processing;
        Ok(Some(kept.clone()))
    }
}
