//! The user's git repository: revisions checked out for a while, in a folder inside `.git`, and nothing left behind.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use crate::commands::git::git;
use crate::failure::Failure;

/// A repository, or a directory without one.
pub struct Repository {
    /// The directory from which it was looked for.
    directory: PathBuf,
    /// The directory relative to the root of the repository.
    prefix: PathBuf,
    /// The folder of git's own files; none where there is no repository.
    git: Option<PathBuf>,
}

/// A folder for the time of a comparison. It goes when it is dropped; what a killed process has left is removed at the next
/// start.
pub struct Desk {
    path: PathBuf,
    repository: Option<PathBuf>,
    _lock: File,
}

/// Where the folders are, inside git's own.
const FOLDERS: &str = "pragmark-guard";
/// The file that a living process keeps locked.
const LOCK: &str = "lock";

impl Repository {
    /// The repository that holds a directory, if one does.
    pub fn of(directory: &Path) -> Result<Repository, Failure> {
        let mut repository = Repository {
            directory: directory.to_owned(),
            prefix: PathBuf::new(),
            git: None,
        };
        let Ok(common) = git(
            directory,
            &["rev-parse", "--path-format=absolute", "--git-common-dir"],
        ) else {
            return Ok(repository);
        };
        repository.git = Some(PathBuf::from(common));
        repository.prefix = PathBuf::from(git(directory, &["rev-parse", "--show-prefix"])?);
        Ok(repository)
    }

    /// A new folder, after what killed processes have left was removed.
    pub fn desk(&self) -> Result<Desk, Failure> {
        let parent = match &self.git {
            Some(git) => git.join(FOLDERS),
            None => self.directory.join(format!(".{FOLDERS}")),
        };
        let cannot = |error: std::io::Error| {
            Failure::unusable(format!("cannot use {}: {error}", parent.display()))
        };
        tidy(&parent, self.git.is_some().then_some(&self.directory));
        std::fs::create_dir_all(&parent).map_err(cannot)?;
        let folder = tempfile::Builder::new()
            .tempdir_in(&parent)
            .map_err(cannot)?;
        let lock = File::create(folder.path().join(LOCK)).map_err(cannot)?;
        lock.lock().map_err(cannot)?;
        Ok(Desk {
            path: folder.keep(),
            repository: self.git.is_some().then(|| self.directory.clone()),
            _lock: lock,
        })
    }

    /// Checks a revision out below a folder; the directory there that corresponds to that of the project, and the commit.
    pub fn check_out(
        &self,
        desk: &Desk,
        revision: &str,
        name: &str,
    ) -> Result<(PathBuf, String), Failure> {
        if self.git.is_none() {
            return Err(Failure::usage(format!(
                "{} is in no git repository, so there is no revision {revision}",
                self.directory.display()
            ))
            .hint("compare two directories with --base-dir DIR"));
        }
        let commit = format!("{revision}^{{commit}}");
        let commit = git(
            &self.directory,
            &[
                "rev-parse",
                "--verify",
                "--quiet",
                "--end-of-options",
                &commit,
            ],
        )
        .map_err(|_| {
            Failure::unusable(format!(
                "there is no revision {revision} in this repository"
            ))
            .hint("fetch it first: `git fetch origin main`, or `fetch-depth: 0` in a workflow")
        })?;
        let place = desk.path.join(name);
        let target = place.display().to_string();
        git(
            &self.directory,
            &[
                "-c",
                "core.hooksPath=/dev/null",
                "worktree",
                "add",
                "--quiet",
                "--detach",
                &target,
                &commit,
            ],
        )?;
        let short = commit.chars().take(10).collect();
        Ok((place.join(&self.prefix), short))
    }
}

impl Desk {
    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let repository = self.repository.as_deref();
        remove(&self.path, repository);
        // A git that a killed process had started may have written on while its folder was removed.
        if let Some(parent) = self.path.parent() {
            tidy(parent, repository);
        }
    }
}

/// Removes the folders of processes that are gone.
fn tidy(parent: &Path, repository: Option<&Path>) {
    let folders = std::fs::read_dir(parent).into_iter().flatten().flatten();
    for folder in folders.map(|it| it.path()) {
        let Ok(lock) = File::open(folder.join(LOCK)) else {
            continue;
        };
        if !matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) {
            remove(&folder, repository);
        }
    }
}

/// Removes a folder, and what git knows of worktrees in it.
fn remove(folder: &Path, repository: Option<&Path>) {
    // What cannot be removed now is removed at the next start.
    let removed = remove_contents(folder).and_then(|()| std::fs::remove_dir_all(folder));
    let pruned = repository.map(|it| git(it, &["worktree", "prune"]));
    if let (Err(error), true) = (removed, folder.exists()) {
        tell!("warning: cannot remove {}: {error}", folder.display());
    }
    if let Some(Err(failure)) = pruned {
        tell!("warning: {}", failure.words());
    }
    // The last one leaves nothing at all.
    folder.parent().map(std::fs::remove_dir);
}

/// Removes what is in a folder but for its lock, without which the next start would leave the folder alone.
fn remove_contents(folder: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() == LOCK {
            continue;
        }
        match entry.file_type()?.is_dir() {
            true => std::fs::remove_dir_all(entry.path())?,
            false => std::fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_could_not_be_removed_whole_is_removed_later() {
        let parent = tempfile::tempdir().unwrap();
        let folders = parent.path().join(FOLDERS);
        let folder = folders.join("killed");
        let inside = folder.join("base/inside");
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::write(folder.join(LOCK), "").unwrap();
        remove_contents(&folder).unwrap();
        assert!(folder.join(LOCK).exists() && !folder.join("base").exists());
        // Another process still writes into it.
        std::fs::create_dir_all(&inside).unwrap();
        tidy(&folders, None);
        assert!(!folders.exists());
    }

    #[test]
    fn the_folder_of_a_living_process_stays() {
        let parent = tempfile::tempdir().unwrap();
        let repository = Repository {
            directory: parent.path().to_owned(),
            prefix: PathBuf::new(),
            git: None,
        };
        let [one, other] = [(), ()].map(|()| repository.desk().unwrap());
        assert!(one.path().exists() && other.path().exists());
        drop(one);
        assert!(other.path().exists());
        let folders = other.path().parent().unwrap().to_owned();
        drop(other);
        assert!(!folders.exists());
    }
}
