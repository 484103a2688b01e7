//! Tasks as files: one JSON file each in one directory, written whole at every change.
//!
//! Every file operation is counted here, because a program has no shim between itself and its file system, as SQLite has.
//!
//! The schedule of tasks in memory. An application with files must have one, and rebuild it when it starts, because a directory
//! cannot tell which task is due next.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use engine::locked;
use lab::durability::Durability;

use super::{Change, Session, SessionWork, Status, Store, StoreStats, Task, TaskId, missing};
use crate::error::{Result, TrialError};

choice! {
    /// How a file is written.
    enum Writing {
        /// Truncated and overwritten.
        Truncate = "truncate",
        /// Written to a temporary file, which is renamed over the old one.
        Rename = "rename",
        /// The same, synced before the rename.
        Sync = "sync",
        /// The same, with the directory synced after renames and deletions.
        SyncDirectory = "sync-directory",
    }
}

/// Extension of the temporary file.
const TEMPORARY: &str = "tmp";

/// A directory of tasks.
pub(crate) struct Files {
    disk: Disk,
    writing: Writing,
    schedule: Schedule,
}

impl Files {
    /// Uses the tasks in `directory`, which must exist, and reads them for the schedule.
    ///
    /// # Errors
    /// The file system lacks an operation that `writing` needs ([`TrialError::CannotRun`]), or a task cannot be read.
    pub(crate) fn open(directory: PathBuf, writing: Writing) -> Result<Files> {
        let disk = Disk::open(directory)?;
        disk.probe(writing)?;
        let schedule = Schedule::default();
        for task in read_tasks(&disk.path)? {
            schedule.put(&task);
        }
        Ok(Files { disk, writing, schedule })
    }

    fn write(&self, task: &Task) -> Result<()> {
        let content = serde_json::to_vec(task).map_err(TrialError::measuring)?;
        let path = self.disk.path_of(task.id);
        if self.writing == Writing::Truncate {
            self.disk.write(&path, &content, false)?;
            return Ok(());
        }
        let temporary = path.with_extension(TEMPORARY);
        self.disk.write(&temporary, &content, self.writing >= Writing::Sync)?;
        fs::rename(&temporary, &path).map_err(TrialError::io("rename a file over", &path))?;
        self.sync_directory()
    }

    fn sync_directory(&self) -> Result<()> {
        match self.writing {
            Writing::SyncDirectory => self.disk.sync_directory(),
            _ => Ok(()),
        }
    }
}

impl Store for Files {
    fn session(&self, work: SessionWork<'_>) -> Result<()> {
        work(&mut FilesSession(self))
    }

    fn tasks(&self) -> Result<Vec<Task>> {
        read_tasks(&self.disk.path)
    }

    /// Syncing a file does not make its name durable: until the directory is synced, a new file may be missing, or an old one
    /// stand in its place.
    fn durability(&self) -> Result<Durability> {
        Ok(match self.writing {
            Writing::Truncate => Durability::Torn,
            Writing::Rename => Durability::Process,
            Writing::Sync => Durability::Recent,
            Writing::SyncDirectory => Durability::Every,
        })
    }

    fn stats(&self) -> StoreStats {
        let counts = self.disk.counts();
        StoreStats {
            syncs: counts.get("syncs").map(|syncs| *syncs as u64),
            counts,
            ..StoreStats::default()
        }
    }
}

struct FilesSession<'f>(&'f Files);

impl Session for FilesSession<'_> {
    fn insert(&mut self, task: &Task) -> Result<()> {
        self.0.write(task)?;
        self.0.schedule.put(task);
        Ok(())
    }

    fn update(&mut self, task: &Task, change: Change<'_>) -> Result<()> {
        self.0.write(task)?;
        if matches!(change, Change::Status) {
            self.0.schedule.put(task);
        }
        Ok(())
    }

    fn delete(&mut self, task: &Task) -> Result<()> {
        self.0.disk.remove(&self.0.disk.path_of(task.id))?;
        self.0.schedule.remove(task.scheduled_at, task.id);
        self.0.sync_directory()
    }

    fn get(&mut self, id: TaskId) -> Result<Option<Task>> {
        read_task(&self.0.disk.path_of(id))
    }

    fn list(&mut self, status: Status, limit: usize) -> Result<Vec<TaskId>> {
        Ok(self.0.schedule.list(status, limit))
    }

    /// Returns the schedule decides which session gets the task; its file records it for later processes.
    fn claim(&mut self, now: i64) -> Result<Option<Task>> {
        let Some(id) = self.0.schedule.claim(now) else { return Ok(None) };
        let mut task = self.get(id)?.ok_or_else(|| missing(id))?;
        task.status = Status::Processing;
        self.0.write(&task)?;
        Ok(Some(task))
    }
}

/// Returns the number of files in a directory, including temporary ones that an interrupted write left.
pub(crate) fn files_left(directory: &Path) -> Result<usize> {
    match fs::read_dir(directory) {
        Ok(entries) => Ok(entries.count()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(0),
        Err(error) => Err(TrialError::io("read", directory)(error)),
    }
}

/// Reads every task in a directory, in the order of ids.
pub(super) fn read_tasks(directory: &Path) -> Result<Vec<Task>> {
    let failed = TrialError::io("read", directory);
    let mut tasks = Vec::new();
    for entry in fs::read_dir(directory).map_err(&failed)? {
        let path = entry.map_err(&failed)?.path();
        let is_whole = path.extension().is_none();
        if is_whole && let Some(task) = read_task(&path)? {
            tasks.push(task);
        }
    }
    tasks.sort_by_key(|task| task.id);
    Ok(tasks)
}

fn read_task(path: &Path) -> Result<Option<Task>> {
    let content = match fs::read(path) {
        Ok(content) => content,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(TrialError::io("read", path)(error)),
    };
    let task = serde_json::from_slice(&content).map_err(|error| {
        let what = format!("the file {}", path.display());
        TrialError::wrong(what, format!("no task ({error})"), "one")
    })?;
    Ok(Some(task))
}

/// A directory, and the counts of its file operations.
struct Disk {
    path: PathBuf,
    /// The open directory, for syncing.
    directory: File,
    done: DiskCounts,
}

#[derive(Default)]
struct DiskCounts {
    writes: AtomicU64,
    bytes_written: AtomicU64,
    file_syncs: AtomicU64,
    directory_syncs: AtomicU64,
    deletes: AtomicU64,
}

impl Disk {
    fn open(path: PathBuf) -> Result<Disk> {
        let directory = File::open(&path).map_err(TrialError::io("open", &path))?;
        Ok(Disk { path, directory, done: DiskCounts::default() })
    }

    fn path_of(&self, id: TaskId) -> PathBuf {
        self.path.join(id.to_string())
    }

    fn counts(&self) -> BTreeMap<String, f64> {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
        let DiskCounts { writes, bytes_written, file_syncs, directory_syncs, deletes } = &self.done;
        [
            ("syncs", read(file_syncs) + read(directory_syncs)),
            ("writes", read(writes)),
            ("bytes_written", read(bytes_written)),
            ("deletes", read(deletes)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    fn write(&self, path: &Path, content: &[u8], sync: bool) -> Result<()> {
        let failed = |doing| TrialError::io(doing, path);
        let mut file = File::create(path).map_err(failed("create"))?;
        file.write_all(content).map_err(failed("write"))?;
        self.done.writes.fetch_add(1, Ordering::Relaxed);
        self.done.bytes_written.fetch_add(content.len() as u64, Ordering::Relaxed);
        if sync {
            file.sync_all().map_err(failed("sync"))?;
            self.done.file_syncs.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<()> {
        fs::remove_file(path).map_err(TrialError::io("remove", path))?;
        self.done.deletes.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn sync_directory(&self) -> Result<()> {
        let synced = self.directory.sync_all();
        synced.map_err(TrialError::io("sync", &self.path))?;
        self.done.directory_syncs.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Checks that the file system supports this way of writing, by trying it once.
    fn probe(&self, writing: Writing) -> Result<()> {
        let (old, new) = (self.path.join("probe.old"), self.path.join("probe.new"));
        let tried = || -> io::Result<()> {
            fs::write(&old, "old")?;
            if writing >= Writing::Rename {
                fs::write(&new, "new")?;
                if writing >= Writing::Sync {
                    File::open(&new)?.sync_all()?;
                }
                fs::rename(&new, &old)?;
            }
            if writing >= Writing::SyncDirectory {
                self.directory.sync_all()?;
            }
            fs::remove_file(&old)
        };
        tried().map_err(|error| {
            if cannot_ever(&error) {
                let what = match writing {
                    Writing::Truncate => "write files",
                    Writing::Rename => "rename a file over another",
                    Writing::Sync => "sync a file and rename it over another",
                    Writing::SyncDirectory => "sync a directory",
                };
                return TrialError::CannotRun(format!(
                    "the file system of {} cannot {what}: {error}",
                    self.path.display()
                ));
            }
            TrialError::io("try writing in", &self.path)(error)
        })
    }
}

/// Returns whether an error means that the file system lacks an operation.
fn cannot_ever(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Unsupported | ErrorKind::InvalidInput | ErrorKind::AlreadyExists
    )
}

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
    #[test]
    fn what_a_file_system_lacks_is_told_from_what_went_wrong() {
        let error = |kind: ErrorKind| io::Error::from(kind);
        assert!(cannot_ever(&error(ErrorKind::Unsupported)));
        assert!(cannot_ever(&error(ErrorKind::AlreadyExists)));
        assert!(!cannot_ever(&error(ErrorKind::StorageFull)));
        assert!(!cannot_ever(&error(ErrorKind::PermissionDenied)));
    }

    #[test]
    fn a_file_that_is_no_task_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(TaskId(7).to_string());
        fs::write(&path, "{\"id\":").unwrap();
        let error = read_tasks(directory.path()).unwrap_err().to_string();
        assert!(error.contains(&TaskId(7).to_string()), "{error}");
    }

    #[test]
    fn a_temporary_file_of_an_interrupted_write_is_no_task_but_is_left_over() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("1.tmp"), "half").unwrap();
        assert!(read_tasks(directory.path()).unwrap().is_empty());
        assert_eq!(files_left(directory.path()).unwrap(), 1);
        assert_eq!(files_left(&directory.path().join("none")).unwrap(), 0);
    }

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
