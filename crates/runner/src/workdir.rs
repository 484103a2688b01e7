//! Temporary directories of trials: created, removed, and cleaned up after a run that was killed.
//!
//! All databases of a run live below one directory on the file system to be measured. It holds a
//! lock file that the running process keeps locked, so that a later run recognises the directories of
//! killed runs and removes them.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use lab::trial::COPIES;
use rustix::fs::{FlockOperation, flock};

use crate::error::{Context, Result};
use crate::machine::{Mount, parse_mountinfo};

const PREFIX: &str = "pragmark-work-";
const LOCK: &str = "owner.lock";
/// The lock until it is held.
const NEW_LOCK: &str = "owner.new";

/// The directory below which a run makes its databases; removed when dropped.
#[derive(Debug)]
pub struct WorkDir {
    /// Its path.
    pub path: PathBuf,
    _lock: File,
}

impl WorkDir {
    /// Makes the run's directory in `parent`, after removing the directories of killed runs.
    ///
    /// # Errors
    /// When `parent` is missing or cannot be written.
    pub fn create(parent: &Path, run: &str) -> Result<WorkDir> {
        sweep(parent)?;
        let path = WorkDir::path_of(parent, run);
        // Copies of databases are for nobody else, whatever the umask is.
        DirBuilder::new().recursive(true).mode(0o700).create(&path).context("create", &path)?;
        let lock_path = path.join(LOCK);
        // A living owner of the same name keeps its directory.
        if let Ok(other) = File::open(&lock_path) {
            flock(&other, FlockOperation::NonBlockingLockExclusive).context("lock", &lock_path)?;
        }
        // Another process that sweeps at this moment finds no lock yet, or one that is held.
        let new_path = path.join(NEW_LOCK);
        let lock = lock_file(&new_path).context("create", &new_path)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).context("lock", &new_path)?;
        fs::rename(&new_path, &lock_path).context("create", &lock_path)?;
        Ok(WorkDir { path, _lock: lock })
    }

    /// Returns the path of a run's directory in `parent`.
    pub fn path_of(parent: &Path, run: &str) -> PathBuf {
        parent.join(format!("{PREFIX}{run}"))
    }

    /// Removes a directory of this process while others of its threads may still make files there. The lock goes last, so that the next
    /// command removes what stays.
    pub fn remove_in_use(path: &Path) {
        const ATTEMPTS: u32 = 10;
        let others = || {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            let paths = entries.map(|entry| entry.path());
            paths.filter(|path| path.file_name() != Some(LOCK.as_ref())).collect::<Vec<_>>()
        };
        for _ in 0..ATTEMPTS {
            let left = others();
            if left.is_empty() {
                let _ = fs::remove_file(path.join(LOCK));
                let _ = fs::remove_dir(path);
                return;
            }
            for path in left {
                let _ =
                    if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
            }
        }
    }

    /// Returns a directory for one trial, which is removed when dropped. Only the copies of the trial before are in it.
    ///
    /// # Errors
    /// When it cannot be made, for example on a full disk.
    pub fn trial(&self) -> Result<TrialDir> {
        let path = self.path.join("trial");
        remove(&path).context("remove", &path)?;
        fs::create_dir(&path).context("create", &path)?;
        // Without them the trial makes its own.
        let _ = fs::rename(self.path.join(COPIES), path.join(COPIES));
        Ok(TrialDir { path })
    }

    /// Lets other users pass through to what they own below it.
    pub(crate) fn let_others_pass(&self) -> Result<()> {
        let passable = Permissions::from_mode(0o711);
        fs::set_permissions(&self.path, passable).context("change the mode of", &self.path)
    }
}

impl Drop for WorkDir {
    fn drop(&mut self) {
        // An error here leaves a directory that the next run sweeps up.
        let _ = remove(&self.path);
    }
}

/// The directory of one trial.
#[derive(Debug)]
pub struct TrialDir {
    /// Its path.
    pub path: PathBuf,
}

impl Drop for TrialDir {
    fn drop(&mut self) {
        let _ = fs::rename(self.path.join(COPIES), self.path.with_file_name(COPIES));
        // What cannot be removed now is removed with the run's directory, or swept up later.
        let _ = remove(&self.path);
    }
}

/// Removes the directories of killed runs in `parent` and says which they were. One below which
/// something is mounted is left to whoever unmounts it: its files are not all of that run's making.
///
/// # Errors
/// When `parent` cannot be read.
pub fn sweep(parent: &Path) -> Result<Vec<PathBuf>> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mounts = parse_mountinfo(&mounts);
    let mut removed = Vec::new();
    for entry in fs::read_dir(parent).context("read", parent)? {
        let path = entry.context("read", parent)?.path();
        let ours = path
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.starts_with(PREFIX));
        let is_free = ours && path.is_dir() && !holds_mount(&path, &mounts);
        if is_free && owner_is_gone(&path) && remove(&path).is_ok() {
            removed.push(path);
        }
    }
    Ok(removed)
}

/// Returns whether something is mounted on or below the directory, which mounts name by its true path.
fn holds_mount(directory: &Path, mounts: &[Mount]) -> bool {
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    mounts.iter().any(|mount| mount.mount_point.starts_with(&directory))
}

/// Returns whether nobody holds the directory's lock. A directory without a lock file is left alone: its owner may be
/// about to make one.
fn owner_is_gone(path: &Path) -> bool {
    let Ok(lock) = OpenOptions::new().write(true).open(path.join(LOCK)) else { return false };
    flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok()
}

fn lock_file(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).open(path)
}

fn remove(path: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_vanish_with_their_owner() {
        let parent = tempfile::tempdir().unwrap();
        let work = WorkDir::create(parent.path(), "one").unwrap();
        let trial = work.trial().unwrap();
        fs::write(trial.path.join("test.db"), "data").unwrap();
        drop(trial);
        assert_eq!(work.trial().unwrap().path.read_dir().unwrap().count(), 0);
        drop(work);
        assert_eq!(parent.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn a_trial_finds_the_copies_of_the_one_before_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let work = WorkDir::create(parent.path(), "x").unwrap();
        let first = work.trial().unwrap();
        fs::create_dir(first.path.join(COPIES)).unwrap();
        for name in ["copies/a.db", "test.db"] {
            fs::write(first.path.join(name), "").unwrap();
        }
        drop(first);
        let second = work.trial().unwrap();
        assert!(second.path.join("copies/a.db").exists() && !second.path.join("test.db").exists());
        drop((second, work));
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_killed_runs_directory_is_swept_up_and_a_living_ones_is_not() {
        let parent = tempfile::tempdir().unwrap();
        let living = WorkDir::create(parent.path(), "living").unwrap();
        let killed = parent.path().join(format!("{PREFIX}killed"));
        fs::create_dir_all(killed.join("trial")).unwrap();
        fs::write(killed.join(LOCK), "").unwrap();
        let stranger = parent.path().join(format!("{PREFIX}without-lock"));
        fs::create_dir(&stranger).unwrap();

        assert_eq!(sweep(parent.path()).unwrap(), [killed]);
        assert!(living.path.exists() && stranger.exists());
    }

    #[test]
    fn directories_that_are_made_at_the_same_time_do_not_take_one_another_for_abandoned() {
        let parent = tempfile::tempdir().unwrap();
        let make = |owner: usize| {
            for number in 0..200 {
                let work = WorkDir::create(parent.path(), &format!("{owner}-{number}")).unwrap();
                assert!(work.path.join(LOCK).exists());
            }
        };
        std::thread::scope(|scope| {
            (0..4).for_each(|owner| drop(scope.spawn(move || make(owner))));
        });
    }

    #[test]
    fn a_directory_with_a_mount_below_it_is_recognised() {
        let mounts = parse_mountinfo(
            "1 1 0:50 / /data rw - ext4 /dev/a rw\n2 1 0:51 / /data/pragmark-work-a/tmpfs rw - tmpfs tmpfs rw",
        );
        let holds = |directory: &str| holds_mount(Path::new(directory), &mounts);
        assert!(holds("/data/pragmark-work-a") && holds("/data/pragmark-work-a/tmpfs"));
        assert!(!holds("/data/pragmark-work-b") && !holds("/data/pragmark-work-a/tmpfs/file"));
        assert!(!holds("/data/pragmark-work"));
    }

    #[test]
    fn a_missing_directory_is_named() {
        let error = WorkDir::create(Path::new("/no/such/place"), "x").unwrap_err();
        assert!(error.to_string().contains("/no/such/place"), "{error}");
    }
}
