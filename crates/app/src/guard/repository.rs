//! The user's git repository: revisions checked out for a while, in a folder inside `.git`, and nothing left behind.

use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::git::git;
use crate::interface::Interface;

/// A repository, or a directory without one.
pub(super) struct Repository {
    /// The directory from which it was looked for.
    directory: PathBuf,
    /// The directory relative to the root of the repository.
    prefix: PathBuf,
    /// The folder of git's own files; `None` if there is no repository.
    git: Option<PathBuf>,
}

/// A folder for the time of a comparison. It is removed when dropped; what a killed process left is removed at the next start.
pub(super) struct Workspace<'a> {
    /// The folder.
    pub(super) path: PathBuf,
    home: Home,
    ui: &'a dyn Interface,
    _lock: File,
}

/// The directory of the folders.
#[derive(Clone)]
struct Home {
    /// The folder of git's own files, or the project.
    path: PathBuf,
    /// The folder in which git lists worktrees, where there is a repository.
    worktrees: Option<PathBuf>,
}

/// A lock that keeps other processes from making or removing folders.
struct FoldersLock<'a> {
    path: PathBuf,
    ui: &'a dyn Interface,
    _lock: File,
}

/// Where the folders are, inside git's own.
const FOLDERS: &str = "pragmark-guard";
/// The file of the lock: network file systems do not lock a directory.
const FOLDERS_LOCK: &str = ".pragmark-guard.turn";
/// The file that a living process keeps locked.
const LOCK: &str = "lock";

impl Repository {
    /// Finds the repository that holds a directory, if one does.
    pub(super) fn of(directory: &Path) -> Result<Repository> {
        let mut repository =
            Repository { directory: directory.to_owned(), prefix: PathBuf::new(), git: None };
        let Ok(common) =
            git(directory, &["rev-parse", "--path-format=absolute", "--git-common-dir"])
        else {
            return Ok(repository);
        };
        repository.git = Some(PathBuf::from(common));
        repository.prefix = PathBuf::from(git(directory, &["rev-parse", "--show-prefix"])?);
        Ok(repository)
    }

    /// Makes a new folder, after what killed processes left was removed.
    pub(super) fn workspace<'a>(&self, ui: &'a dyn Interface) -> Result<Workspace<'a>> {
        let (path, name) = match &self.git {
            Some(git) => (git.clone(), FOLDERS.to_owned()),
            None => (self.directory.clone(), format!(".{FOLDERS}")),
        };
        let worktrees = self.git.as_ref().map(|git| git.join("worktrees"));
        let home = Home { path, worktrees };
        let parent = home.path.join(name);
        let cannot = |error: std::io::Error| {
            Error::unusable(format!("cannot use {}: {error}", parent.display()))
        };
        let lock_held = FoldersLock::of(&home, ui).map_err(cannot)?;
        tidy(&parent, &home, ui);
        std::fs::create_dir_all(&parent).map_err(cannot)?;
        let folder = tempfile::Builder::new().tempdir_in(&parent).map_err(cannot)?;
        let lock = File::create(folder.path().join(LOCK)).map_err(cannot)?;
        lock.lock().map_err(cannot)?;
        drop(lock_held);
        Ok(Workspace { path: folder.keep(), home, ui, _lock: lock })
    }

    /// Checks a revision out below a folder. Returns the directory of the project there, and the commit.
    pub(super) fn check_out(
        &self,
        workspace: &Workspace<'_>,
        revision: &str,
        name: &str,
    ) -> Result<(PathBuf, String)> {
        if self.git.is_none() {
            return Err(Error::mistake(format!(
                "{} is in no git repository, so there is no revision {revision}",
                self.directory.display()
            ))
            .hint("compare two directories with --base DIR"));
        }
        let commit = format!("{revision}^{{commit}}");
        let commit = git(
            &self.directory,
            &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit],
        )
        .map_err(|_| {
            Error::unusable(format!("there is no revision {revision} in this repository"))
                .hint("fetch it first: `git fetch origin main`, or `fetch-depth: 0` in a workflow")
        })?;
        let place = workspace.path.join(name);
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
        if place.join(".gitmodules").exists() {
            git(&place, &["submodule", "update", "--init", "--recursive", "--quiet"]).map_err(
                |error| {
                    Error::unusable(format!(
                        "the submodules of the {name} side ({revision}) cannot be checked out: {}",
                        error.words()
                    ))
                    .hint("give git access to them, or compare two directories: --base ../old")
                },
            )?;
        }
        let directory = place.join(&self.prefix);
        if !directory.is_dir() {
            return Err(Error::unusable(format!(
                "the {name} side ({revision}) has no directory {}: the project is not there in that revision",
                self.prefix.display()
            ))
            .hint(
                "check that revision out elsewhere, and name its directory: --base ../old/FOLDER",
            ));
        }
        Ok((directory, commit.chars().take(10).collect()))
    }
}

impl Drop for Workspace<'_> {
    fn drop(&mut self) {
        let lock_held = FoldersLock::of(&self.home, self.ui);
        if let Err(error) = &lock_held {
            tell!(self.ui, "warning: cannot lock {}: {error}", self.home.path.display());
        }
        remove(&self.path, &self.home, self.ui);
        // A git that a killed process had started may have written on while its folder was removed.
        if let Some(parent) = self.path.parent() {
            tidy(parent, &self.home, self.ui);
        }
    }
}

impl<'a> FoldersLock<'a> {
    /// Waits until no other process makes or removes folders: one that is new has no lock yet.
    fn of(home: &Home, ui: &'a dyn Interface) -> std::io::Result<FoldersLock<'a>> {
        let path = home.path.join(FOLDERS_LOCK);
        loop {
            let lock = File::create(&path)?;
            lock.lock()?;
            // Whoever had it before has removed it, and another process may have made it anew.
            let is_same =
                std::fs::metadata(&path).is_ok_and(|metadata| is_same_file(&metadata, &lock));
            if is_same {
                return Ok(FoldersLock { path, ui, _lock: lock });
            }
        }
    }
}

impl Drop for FoldersLock<'_> {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tell!(self.ui, "warning: cannot remove {}: {error}", self.path.display());
        }
    }
}

fn is_same_file(one: &Metadata, other: &File) -> bool {
    let identity = |metadata: &Metadata| (metadata.dev(), metadata.ino());
    other.metadata().is_ok_and(|other| identity(&other) == identity(one))
}

/// Removes the folders of processes that are gone. Only the holder of the lock may do it.
fn tidy(parent: &Path, home: &Home, ui: &dyn Interface) {
    let folders = std::fs::read_dir(parent).into_iter().flatten().flatten();
    for folder in folders.map(|folder| folder.path()) {
        // For writing: network file systems lock nothing that is open for reading alone.
        let is_in_use = match OpenOptions::new().write(true).open(folder.join(LOCK)) {
            Ok(lock) => lock.try_lock().is_err(),
            // Its process was killed before it made the lock.
            Err(error) => error.kind() != ErrorKind::NotFound,
        };
        if !is_in_use {
            remove(&folder, home, ui);
        }
    }
}

/// Removes a folder, and what git knows of worktrees in it.
fn remove(folder: &Path, home: &Home, ui: &dyn Interface) {
    // What cannot be removed now is removed at the next start.
    let removed = remove_contents(folder).and_then(|()| std::fs::remove_dir_all(folder));
    if let (Err(error), true) = (removed, folder.exists()) {
        tell!(ui, "warning: cannot remove {}: {error}", folder.display());
    }
    let worktrees = home.worktrees.as_deref();
    let forgotten = worktrees.map_or(Ok(()), |known| forget_worktrees(folder, known));
    if let Err(error) = forgotten {
        tell!(ui, "warning: git still lists worktrees in {}: {error}", folder.display());
    }
    // The last one leaves nothing at all.
    folder.parent().map(std::fs::remove_dir);
}

/// Has git forget the worktrees in a folder, and no others: `git worktree prune` would forget those of the user, too, whose
/// disk is not mounted.
fn forget_worktrees(folder: &Path, known: &Path) -> std::io::Result<()> {
    let entries = match std::fs::read_dir(known) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?.path();
        let place = std::fs::read_to_string(entry.join("gitdir")).unwrap_or_default();
        if is_within(Path::new(place.trim_end()), folder) {
            std::fs::remove_dir_all(entry)?;
        }
    }
    // As git does with the last one.
    std::fs::remove_dir(known).or_else(|error| match error.kind() {
        ErrorKind::DirectoryNotEmpty => Ok(()),
        _ => Err(error),
    })
}

/// Whether a path is within one of our folders, by the names of its last two levels: git may write a path relative to
/// another directory, or without links. The name of the folder is random.
fn is_within(path: &Path, folder: &Path) -> bool {
    let names = |path: &Path| -> Vec<OsString> {
        path.components().map(|name| name.as_os_str().to_owned()).collect()
    };
    let (path, folder) = (names(path), names(folder));
    let own = &folder[folder.len().saturating_sub(2)..];
    path.windows(own.len().max(1)).any(|names| names == own)
}

/// Removes what is in a folder but for its lock, without which the next start would leave the folder alone.
fn remove_contents(folder: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() == LOCK {
            continue;
        }
        if entry.file_type()?.is_dir() {
            std::fs::remove_dir_all(entry.path())?;
        } else {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::Silent;

    /// A directory without a repository, and what makes folders in it.
    fn plain() -> (tempfile::TempDir, Repository) {
        let parent = tempfile::tempdir().unwrap();
        let repository =
            Repository { directory: parent.path().to_owned(), prefix: PathBuf::new(), git: None };
        (parent, repository)
    }

    /// A directory that is no repository.
    fn home(path: &Path) -> Home {
        Home { path: path.to_owned(), worktrees: None }
    }

    #[test]
    fn what_a_project_without_a_repository_calls_worktrees_stays() {
        let (parent, repository) = plain();
        let own = parent.path().join("worktrees");
        std::fs::create_dir(&own).unwrap();
        drop(repository.workspace(&Silent).unwrap());
        assert!(own.exists());
    }

    #[test]
    fn a_folder_that_could_not_be_removed_whole_is_removed_later() {
        let (parent, _) = plain();
        let folders = parent.path().join(FOLDERS);
        let folder = folders.join("killed");
        let inside = folder.join("base/inside");
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::write(folder.join(LOCK), "").unwrap();
        remove_contents(&folder).unwrap();
        assert!(folder.join(LOCK).exists() && !folder.join("base").exists());
        // Another process still writes into it.
        std::fs::create_dir_all(&inside).unwrap();
        tidy(&folders, &home(parent.path()), &Silent);
        assert!(!folders.exists());
    }

    #[test]
    fn the_folder_of_a_living_process_stays() {
        let (_parent, repository) = plain();
        let [one, other] = [(), ()].map(|()| repository.workspace(&Silent).unwrap());
        assert!(one.path.exists() && other.path.exists());
        drop(one);
        assert!(other.path.exists());
        let folders = other.path.parent().unwrap().to_owned();
        drop(other);
        assert!(!folders.exists());
    }

    #[test]
    fn a_folder_whose_process_was_killed_before_it_made_the_lock_is_removed() {
        let (_parent, repository) = plain();
        let workspace = repository.workspace(&Silent).unwrap();
        let folders = workspace.path.parent().unwrap().to_owned();
        let killed = folders.join("killed");
        std::fs::create_dir(&killed).unwrap();
        let another = repository.workspace(&Silent).unwrap();
        assert!(!killed.exists() && workspace.path.exists());
        drop((workspace, another));
        assert!(!folders.exists());
    }

    #[test]
    fn folders_that_are_made_and_removed_at_the_same_time_do_not_remove_one_another() {
        let (parent, repository) = plain();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let workspace = repository.workspace(&Silent).unwrap();
                        std::thread::yield_now();
                        assert!(workspace.path.join(LOCK).exists());
                    }
                });
            }
        });
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn git_forgets_the_worktrees_of_a_folder_alone() {
        let (parent, _) = plain();
        let known = parent.path().join("worktrees");
        let folder = parent.path().join(FOLDERS).join(".tmpabc");
        let user = "/unmounted/project/.git";
        let ours = folder.join("base/.git").display().to_string();
        let relative = format!("../../{FOLDERS}/.tmpabc/new/.git");
        for (name, place) in [("a", user), ("base", &ours), ("new", &relative)] {
            std::fs::create_dir_all(known.join(name)).unwrap();
            std::fs::write(known.join(name).join("gitdir"), format!("{place}\n")).unwrap();
        }
        // Where git was killed while it made the worktree.
        std::fs::write(known.join("new/locked"), "initializing").unwrap();
        forget_worktrees(&folder, &known).unwrap();
        let left = std::fs::read_dir(&known).unwrap().flatten();
        let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
        assert_eq!(left, ["a"]);
        std::fs::remove_dir_all(known.join("a")).unwrap();
        forget_worktrees(&folder, &known).unwrap();
        assert!(!known.exists());
        forget_worktrees(&folder, &known).unwrap();
    }
}
