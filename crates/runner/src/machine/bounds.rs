//! The limits of the operating system that bound what one trial may use at a time.
//!
//! They are apart from the environment because they are checked before a run begins and do not describe its figures. A
//! limit that the system does not report is left out.

use std::path::Path;

use lab::needs::{Bound, Limit};
use rustix::process::{Resource, geteuid, getrlimit};

use super::error::MachineError;
use super::host::{read_text, read_trimmed};
use super::mountinfo::parse_mountinfo;
use crate::machine::host;

/// Returns every limit that holds for a process working in `dir`.
///
/// # Errors
/// When the free space of the directory cannot be had.
pub fn bounds(dir: &Path) -> Result<Vec<Limit>, MachineError> {
    let mut limits = of_this_process();
    limits.extend(of_the_kernel(Path::new("/")));
    limits.extend(of_the_disk(dir)?);
    Ok(limits)
}

fn limit(bound: Bound, at: u64, used: u64) -> Limit {
    Limit { bound, at, used }
}

fn of_this_process() -> Vec<Limit> {
    let hard = |resource, bound| Some(limit(bound, getrlimit(resource).maximum?, 0));
    // The superuser may start threads beyond the limit of a user (setrlimit(2)).
    let threads =
        (!geteuid().is_root()).then(|| hard(Resource::Nproc, Bound::ThreadsOfUser)).flatten();
    hard(Resource::Nofile, Bound::OpenFiles).into_iter().chain(threads).collect()
}

/// Returns the limits in `/proc` and of control groups, in the file tree at `root`.
fn of_the_kernel(root: &Path) -> Vec<Limit> {
    let number = |name: &str| read_trimmed(&root.join("proc/sys").join(name))?.parse::<u64>().ok();
    let whole = |name: &str, bound| Some(limit(bound, number(name)?, 0));
    [
        whole("fs/nr_open", Bound::OpenFilesOfAnyProcess),
        number("fs/file-max").map(|at| limit(Bound::OpenFilesOfSystem, at, open_files(root))),
        whole("kernel/threads-max", Bound::ThreadsOfSystem),
        whole("kernel/pid_max", Bound::ProcessNumbers),
        whole("vm/max_map_count", Bound::Mappings),
        of_the_group(root),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Files that all processes have open: the first number of `fs.file-nr`.
fn open_files(root: &Path) -> u64 {
    read_trimmed(&root.join("proc/sys/fs/file-nr"))
        .and_then(|text| text.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

fn of_the_group(root: &Path) -> Option<Limit> {
    let mounts = parse_mountinfo(&read_text(&root.join("proc/self/mountinfo"))?);
    let groups = read_text(&root.join("proc/self/cgroup"))?;
    let (at, used) = host::read_tasks(root, &mounts, &groups)?;
    Some(limit(Bound::ThreadsOfGroup, at, used))
}

fn of_the_disk(dir: &Path) -> Result<Vec<Limit>, MachineError> {
    let space = rustix::fs::statvfs(dir)
        .map_err(|errno| MachineError::in_directory(dir, "measure the free space", errno.into()))?;
    let bytes = space.f_bavail.saturating_mul(space.f_frsize);
    let mut limits = vec![limit(Bound::DiskBytes, bytes, 0)];
    // Some file systems make inodes as they are needed and say that they have none.
    if space.f_files > 0 {
        limits.push(limit(Bound::DiskFiles, space.f_favail, 0));
    }
    Ok(limits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn this_machine_tells_its_open_files_and_its_disk() {
        let dir = tempfile::tempdir().unwrap();
        let limits = bounds(dir.path()).unwrap();
        let disk = limits.iter().find(|limit| limit.bound == Bound::DiskBytes).unwrap();
        assert!(disk.at > 0);
        assert!(limits.iter().all(|limit| limit.at >= limit.used), "{limits:?}");
        let error = bounds(&dir.path().join("nowhere")).unwrap_err();
        assert!(error.to_string().contains("nowhere"), "{error}");
    }

    #[test]
    fn the_limits_of_the_kernel_are_read_where_it_tells_them() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/sys/fs/nr_open", "1048576\n");
        write("proc/sys/fs/file-max", "5000\n");
        write("proc/sys/fs/file-nr", "1184\t0\t5000\n");
        write("proc/sys/vm/max_map_count", "odd\n");
        write("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
        write("proc/self/cgroup", "0::/a/b\n");
        write("sys/fs/cgroup/a/pids.max", "100\n");
        write("sys/fs/cgroup/a/pids.current", "40\n");
        write("sys/fs/cgroup/a/b/pids.max", "max\n");
        assert_eq!(
            of_the_kernel(root.path()),
            [
                limit(Bound::OpenFilesOfAnyProcess, 1_048_576, 0),
                limit(Bound::OpenFilesOfSystem, 5_000, 1_184),
                limit(Bound::ThreadsOfGroup, 100, 40),
            ]
        );
    }

    #[test]
    fn a_system_without_these_files_has_no_such_limits() {
        let root = tempfile::tempdir().unwrap();
        assert!(of_the_kernel(root.path()).is_empty());
    }
}
