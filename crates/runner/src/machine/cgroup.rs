//! Limits of the control groups that this process is in (kernel documentation, `cgroup-v1` and
//! `cgroup-v2`).
//!
//! Apart from the other figures of the machine because a limit may stand at any level from the
//! process's group up to the root, in either of two layouts.

use std::path::{Path, PathBuf};

use lab::environment::{CgroupLimits, Limit};

use super::host::read_trimmed;
use super::mountinfo::Mount;

/// From this value on, version 1 means "no limit" (it writes the largest multiple of a page).
const V1_MEMORY_UNLIMITED: u64 = 1 << 62;

/// Reads the limits, in the file tree at `root`, of the groups listed in `/proc/self/cgroup`.
pub(super) fn read_limits(root: &Path, mounts: &[Mount], groups: &str) -> CgroupLimits {
    CgroupLimits {
        cpu_quota: tightest(root, mounts, groups, "cpu", read_cpu_quota),
        memory_max_bytes: tightest(root, mounts, groups, "memory", read_memory_max),
    }
}

/// Returns how many threads and processes a group allows and how many exist, for the level with the least room left;
/// `None` without a limit.
pub(super) fn read_tasks(root: &Path, mounts: &[Mount], groups: &str) -> Option<(u64, u64)> {
    match tightest(root, mounts, groups, "pids", read_room)? {
        Limit::At((_, at, used)) => Some((at, used)),
        Limit::Unlimited => None,
    }
}

/// The room that one level leaves for tasks, first because it is compared; its limit and its use.
fn read_room(group: &Path) -> Option<(u64, u64, u64)> {
    let number = |name: &str| read_trimmed(&group.join(name))?.parse::<u64>().ok();
    // "max" means "no limit" and does not parse.
    let (at, used) = (number("pids.max")?, number("pids.current").unwrap_or(0));
    Some((at.saturating_sub(used), at, used))
}

/// The tightest limit of a controller from the process's own group up to the root of the mount.
fn tightest<T: PartialOrd + Copy>(
    root: &Path,
    mounts: &[Mount],
    groups: &str,
    controller: &str,
    read: fn(&Path) -> Option<T>,
) -> Option<Limit<T>> {
    let (top, group) = locate(root, mounts, groups, controller)?;
    let limit = group
        .ancestors()
        .take_while(|level| level.starts_with(&top))
        .filter_map(read)
        .reduce(|a, b| if b < a { b } else { a });
    match limit {
        Some(limit) => Some(Limit::At(limit)),
        None => group.is_dir().then_some(Limit::Unlimited),
    }
}

/// The directories of the top and of the process's group of a controller: of the version 1
/// hierarchy that has it, or else of version 2.
fn locate(
    root: &Path,
    mounts: &[Mount],
    groups: &str,
    controller: &str,
) -> Option<(PathBuf, PathBuf)> {
    let version_1 = mounts.iter().find(|mount| {
        mount.file_system == "cgroup" && mount.super_options.iter().any(|o| o == controller)
    });
    let version_2 = || mounts.iter().find(|mount| mount.file_system == "cgroup2");
    let mount = version_1.or_else(version_2)?;
    let path = group_path(groups, version_1.map(|_| controller))?;
    let top = root.join(mount.mount_point.strip_prefix("/").ok()?);
    // A container may see only its own part of the hierarchy, mounted as if it were the top.
    let below = Path::new(path).strip_prefix(&mount.root);
    let group = below.map_or_else(|_| top.clone(), |below| top.join(below));
    Some((top, group))
}

/// The path of the process's group: of a version 1 controller, or of version 2 (`None`).
fn group_path<'a>(groups: &'a str, controller: Option<&str>) -> Option<&'a str> {
    groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let wanted = match controller {
            Some(controller) => controllers.split(',').any(|name| name == controller),
            None => number == "0" && controllers.is_empty(),
        };
        wanted.then_some(path)
    })
}

fn read_cpu_quota(group: &Path) -> Option<f64> {
    let (quota, period) = match read_trimmed(&group.join("cpu.max")) {
        Some(max) => {
            let (quota, period) = max.split_once(' ')?;
            (quota.to_owned(), period.to_owned())
        }
        None => (
            read_trimmed(&group.join("cpu.cfs_quota_us"))?,
            read_trimmed(&group.join("cpu.cfs_period_us"))?,
        ),
    };
    // "max" and -1 mean "no limit" and do not parse.
    let (quota, period): (u64, u64) = (quota.parse().ok()?, period.parse().ok()?);
    (period > 0).then(|| quota as f64 / period as f64)
}

fn read_memory_max(group: &Path) -> Option<u64> {
    let max = read_trimmed(&group.join("memory.max"))
        .or_else(|| read_trimmed(&group.join("memory.limit_in_bytes")))?;
    // "max" means "no limit" and does not parse.
    max.parse().ok().filter(|max| *max < V1_MEMORY_UNLIMITED)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::mountinfo::parse_mountinfo;
    use super::*;

    fn limits(mounts: &str, groups: &str, files: &[(&str, &str)]) -> CgroupLimits {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        read_limits(root.path(), &parse_mountinfo(mounts), groups)
    }

    const V2: &str = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw";

    #[test]
    fn the_tightest_level_of_version_2_counts() {
        let found = limits(
            V2,
            "0::/a/b\n",
            &[
                ("sys/fs/cgroup/a/cpu.max", "150000 100000\n"),
                ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
                ("sys/fs/cgroup/a/memory.max", "max\n"),
                ("sys/fs/cgroup/a/b/memory.max", "1073741824\n"),
                ("sys/fs/cgroup/memory.max", "4294967296\n"),
                ("sys/fs/memory.max", "1\n"),
            ],
        );
        assert_eq!(found.cpu_quota, Some(Limit::At(1.5)));
        assert_eq!(found.memory_max_bytes, Some(Limit::At(1 << 30)));
    }

    #[test]
    fn a_group_without_limit_files_is_unlimited() {
        let found = limits(V2, "0::/a\n", &[("sys/fs/cgroup/a/cgroup.procs", "1\n")]);
        assert_eq!(found.cpu_quota, Some(Limit::Unlimited));
        assert_eq!(found.memory_max_bytes, Some(Limit::Unlimited));
    }

    const V1: &str = "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      35 31 0:32 /docker/x /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw";

    #[test]
    fn version_1_is_read_where_it_has_the_controller() {
        let found = limits(
            V1,
            "4:memory:/docker/x\n1:cpuacct,cpu:/jobs\n0::/\n",
            &[
                ("sys/fs/cgroup/cpu/jobs/cpu.cfs_quota_us", "50000\n"),
                ("sys/fs/cgroup/cpu/jobs/cpu.cfs_period_us", "100000\n"),
                ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ],
        );
        assert_eq!(found.cpu_quota, Some(Limit::At(0.5)));
        assert_eq!(found.memory_max_bytes, Some(Limit::Unlimited));
    }

    #[test]
    fn odd_limits_are_not_taken_for_limits() {
        let found = limits(
            V2,
            "0::/a\n",
            &[("sys/fs/cgroup/a/cpu.max", "100 0\n"), ("sys/fs/cgroup/a/memory.max", "lots\n")],
        );
        assert_eq!(found.cpu_quota, Some(Limit::Unlimited));
        assert_eq!(found.memory_max_bytes, Some(Limit::Unlimited));
    }

    #[test]
    fn without_control_groups_the_limits_are_unknown() {
        assert_eq!(limits("", "", &[]), CgroupLimits::default());
        assert_eq!(limits(V2, "nonsense", &[]), CgroupLimits::default());
        assert_eq!(limits(V2, "0::/gone\n", &[]), CgroupLimits::default());
    }
}
