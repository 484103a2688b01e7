//! Reads the figures of the machine as a whole: system, CPU, memory, limits and load.
//!
//! Samples what disturbs the machine during a block.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{fs, thread};

use lab::environment::{
    CgroupLimits, Covariates, Cpu, Environment, Limit, Load, Memory, Pressure, System,
};

use super::fsync::nanoseconds;
use crate::machine::accounts::{
    CpuTime, parse_cpu_list, parse_cpu_model, parse_hypervisor_flag, parse_load_average,
    parse_meminfo, parse_pretty_name, parse_some_avg10,
};
use crate::machine::mountinfo::{Mount, parse_mountinfo};

/// Returns the machine, without any directory, as the file tree at `root` shows it.
pub(super) fn read(root: &Path) -> Environment {
    let mounts = parse_mountinfo(&read_text(&root.join("proc/self/mountinfo")).unwrap_or_default());
    let groups = read_text(&root.join("proc/self/cgroup")).unwrap_or_default();
    Environment {
        system: read_system(root),
        cpu: read_cpu(root),
        memory: read_memory(root),
        limits: read_limits(root, &mounts, &groups),
        load: Load {
            load_average: read_text(&root.join("proc/loadavg"))
                .and_then(|text| parse_load_average(&text)),
            pressure: read_pressure(root),
            steal_fraction: read_cpu_time(root)
                .and_then(|time| time.steal_fraction_since(CpuTime::BOOT)),
            other_runs: read_other_runs(root),
        },
        volumes: Vec::new(),
    }
}

/// Returns the text of a kernel file, or `None` if it does not exist: an absent figure is not an error.
pub(super) fn read_text(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the single value in a kernel file; `None` also if it is empty.
pub(super) fn read_trimmed(path: &Path) -> Option<String> {
    let text = read_text(path)?;
    let value = text.trim();
    (!value.is_empty()).then(|| value.to_owned())
}

fn read_system(root: &Path) -> System {
    let name = rustix::system::uname();
    let text = |field: &CStr| field.to_string_lossy().into_owned();
    let distribution = ["etc/os-release", "usr/lib/os-release"]
        .into_iter()
        .find_map(|path| parse_pretty_name(&read_text(&root.join(path))?));
    System {
        operating_system: distribution.or_else(|| Some(text(name.sysname()))),
        kernel: Some(format!("{} {}", text(name.sysname()), text(name.release()))),
        architecture: Some(text(name.machine())),
    }
}

fn read_cpu(root: &Path) -> Cpu {
    let cpuinfo = read_text(&root.join("proc/cpuinfo")).unwrap_or_default();
    let devices = root.join("sys/devices/system/cpu");
    Cpu {
        model: parse_cpu_model(&cpuinfo),
        logical_cpus: read_text(&devices.join("online")).and_then(|list| parse_cpu_list(&list)),
        usable_cpus: thread::available_parallelism()
            .ok()
            .and_then(|count| u32::try_from(count.get()).ok()),
        governor: read_governors(&devices),
        turbo: read_turbo(&devices),
        hypervisor: parse_hypervisor_flag(&cpuinfo)
            .or_else(|| root.join("sys/hypervisor/type").exists().then_some(true)),
    }
}

/// Returns the governors of all CPUs, sorted and without repetition.
fn read_governors(devices: &Path) -> Option<String> {
    let governors: BTreeSet<String> = fs::read_dir(devices)
        .ok()?
        .flatten()
        .filter_map(|entry| read_trimmed(&entry.path().join("cpufreq/scaling_governor")))
        .collect();
    let governors: Vec<String> = governors.into_iter().collect();
    (!governors.is_empty()).then(|| governors.join(", "))
}

fn read_turbo(devices: &Path) -> Option<bool> {
    let intel = || read_trimmed(&devices.join("intel_pstate/no_turbo")).map(|off| off == "0");
    let other = || read_trimmed(&devices.join("cpufreq/boost")).map(|on| on == "1");
    intel().or_else(other)
}

fn read_memory(root: &Path) -> Memory {
    let meminfo = read_text(&root.join("proc/meminfo")).unwrap_or_default();
    Memory {
        total_bytes: parse_meminfo(&meminfo, "MemTotal"),
        available_bytes: parse_meminfo(&meminfo, "MemAvailable"),
    }
}

/// Returns the other processes that are `pragmark run`.
fn read_other_runs(root: &Path) -> Vec<u32> {
    let Ok(processes) = fs::read_dir(root.join("proc")) else { return Vec::new() };
    let mut runs: Vec<u32> = processes
        .flatten()
        .filter_map(|entry| {
            let process = entry.file_name().to_str()?.parse().ok()?;
            let command = read_text(&entry.path().join("cmdline"))?;
            (process != std::process::id() && is_run(&command)).then_some(process)
        })
        .collect();
    runs.sort_unstable();
    runs
}

/// Returns whether a command line, whose words end in NUL (proc(5)), is `pragmark run`.
fn is_run(command: &str) -> bool {
    let mut words = command.split('\0');
    let program = words.next().map(Path::new).and_then(Path::file_name);
    program.is_some_and(|name| name == "pragmark") && words.next() == Some("run")
}

/// Pressure-stall figures of this moment.
pub(super) fn read_pressure(root: &Path) -> Pressure {
    let avg10 = |resource: &str| {
        read_text(&root.join("proc/pressure").join(resource))
            .and_then(|text| parse_some_avg10(&text))
    };
    Pressure { cpu_avg10: avg10("cpu"), io_avg10: avg10("io"), memory_avg10: avg10("memory") }
}

/// CPU time since boot.
pub(super) fn read_cpu_time(root: &Path) -> Option<CpuTime> {
    CpuTime::parse(&read_text(&root.join("proc/stat"))?)
}

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

/// Returns the room that one level leaves for tasks, first because it is compared; its limit and its use.
fn read_room(group: &Path) -> Option<(u64, u64, u64)> {
    let number = |name: &str| read_trimmed(&group.join(name))?.parse::<u64>().ok();
    // "max" means "no limit" and does not parse.
    let (at, used) = (number("pids.max")?, number("pids.current").unwrap_or(0));
    Some((at.saturating_sub(used), at, used))
}

/// Returns the tightest limit of a controller from the process's own group up to the root of the mount.
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

/// Returns the directories of the top and of the process's group of a controller: of the version 1 hierarchy that has
/// it, or else of version 2.
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

/// Returns the path of the process's group: of a version 1 controller, or of version 2 (`None`).
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

/// An interval that has begun.
#[derive(Debug)]
pub struct Sampler {
    begin: Instant,
    cpu_time: Option<CpuTime>,
}

impl Sampler {
    /// Begins an interval on the machine with this root, which is `/` but for tests.
    pub fn start(root: &Path) -> Self {
        Self { begin: Instant::now(), cpu_time: read_cpu_time(root) }
    }

    /// Ends the interval and returns its covariates. Steal covers the interval; pressure is the kernel's average over
    /// the last ten seconds, whatever the length of the interval.
    pub fn finish(self, root: &Path) -> Covariates {
        let pressure = read_pressure(root);
        Covariates {
            duration_ns: nanoseconds(self.begin.elapsed()),
            steal_fraction: self
                .cpu_time
                .zip(read_cpu_time(root))
                .and_then(|(before, after)| after.steal_fraction_since(before)),
            cpu_pressure_avg10: pressure.cpu_avg10,
            io_pressure_avg10: pressure.io_avg10,
            memory_pressure_avg10: pressure.memory_avg10,
            fsync_p50_ns: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::mountinfo::parse_mountinfo;
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn a_system_without_proc_and_sys_leaves_the_figures_unknown() {
        let root = tree(&[]);
        let environment = read(root.path());
        let cpu = Cpu { usable_cpus: environment.cpu.usable_cpus, ..Cpu::default() };
        assert_eq!(environment.cpu, cpu);
        assert_eq!(environment.memory, Memory::default());
        assert_eq!(environment.load, Load::default());
        assert_eq!(environment.limits, Default::default());
        assert!(environment.system.operating_system.is_some());
    }

    #[test]
    fn bytes_that_are_no_text_do_not_stop_the_reading() {
        let root = tree(&[]);
        fs::create_dir_all(root.path().join("proc")).unwrap();
        fs::write(root.path().join("proc/meminfo"), b"\xff\xfe\nMemTotal: 8 kB\n").unwrap();
        assert_eq!(read_memory(root.path()).total_bytes, Some(8192));
    }

    #[test]
    fn governors_that_differ_are_all_named_once() {
        let root = tree(&[
            ("cpu0/cpufreq/scaling_governor", "powersave\n"),
            ("cpu1/cpufreq/scaling_governor", "performance\n"),
            ("cpu2/cpufreq/scaling_governor", "powersave\n"),
            ("cpu3/online", "1\n"),
        ]);
        assert_eq!(read_governors(root.path()).as_deref(), Some("performance, powersave"));
    }

    #[test]
    fn turbo_is_read_in_either_spelling() {
        let read = |files| read_turbo(tree(files).path());
        assert_eq!(read(&[("intel_pstate/no_turbo", "1\n")]), Some(false));
        assert_eq!(read(&[("intel_pstate/no_turbo", "0\n")]), Some(true));
        assert_eq!(read(&[("cpufreq/boost", "1\n")]), Some(true));
        assert_eq!(read(&[]), None);
    }

    #[test]
    fn other_runs_are_found_and_nothing_else_is_taken_for_one() {
        let own = format!("proc/{}/cmdline", std::process::id());
        let root = tree(&[
            ("proc/30/cmdline", "/usr/bin/pragmark\0run\0--quick\0"),
            ("proc/7/cmdline", "pragmark\0run\0"),
            ("proc/8/cmdline", "pragmark\0report\0run\0"),
            ("proc/9/cmdline", "vim\0run\0"),
            ("proc/10/cmdline", ""),
            ("proc/self/cmdline", "pragmark\0run\0"),
            (&own, "pragmark\0run\0"),
        ]);
        assert_eq!(read_other_runs(root.path()), [7, 30]);
    }

    #[test]
    fn a_hypervisor_without_a_cpu_flag_is_found_in_sysfs() {
        let root = tree(&[("sys/hypervisor/type", "xen\n")]);
        assert_eq!(read_cpu(root.path()).hypervisor, Some(true));
    }

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

    #[test]
    fn steal_is_that_of_the_interval_and_pressure_that_of_its_end() {
        let root = tempfile::tempdir().unwrap();
        let proc = root.path().join("proc");
        fs::create_dir_all(proc.join("pressure")).unwrap();
        let write = |path: &str, text: &str| fs::write(proc.join(path), text).unwrap();
        write("stat", "cpu  0 0 0 500 0 0 0 500\n");
        write("pressure/cpu", "some avg10=50.00 avg60=0.00\n");
        let sampler = Sampler::start(root.path());
        write("stat", "cpu  0 0 0 598 0 0 0 502\n");
        write("pressure/cpu", "some avg10=2.50 avg60=0.00\n");

        let covariates = sampler.finish(root.path());
        assert_eq!(covariates.steal_fraction, Some(0.02));
        assert_eq!(covariates.cpu_pressure_avg10, Some(2.5));
        assert_eq!(covariates.io_pressure_avg10, None);
        assert!(covariates.duration_ns > 0);
    }

    #[test]
    fn without_accounts_the_covariates_are_unknown() {
        let root = tempfile::tempdir().unwrap();
        let covariates = Sampler::start(root.path()).finish(root.path());
        assert_eq!(
            covariates,
            Covariates { duration_ns: covariates.duration_ns, ..Covariates::default() }
        );
    }
}
