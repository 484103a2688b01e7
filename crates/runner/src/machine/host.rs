//! Reads the figures of the machine as a whole: system, CPU, memory, limits and load.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::fs;
use std::path::Path;
use std::thread;

use lab::environment::{Cpu, Environment, Load, Memory, Pressure, System};

use super::accounts::{
    CpuTime, parse_cpu_list, parse_cpu_model, parse_hypervisor_flag, parse_load_average,
    parse_meminfo, parse_pretty_name, parse_some_avg10,
};
use super::cgroup;
use super::mountinfo::parse_mountinfo;

/// The machine, without any directory, as the file tree at `root` shows it.
pub(super) fn read(root: &Path) -> Environment {
    let mounts = parse_mountinfo(&read_text(&root.join("proc/self/mountinfo")).unwrap_or_default());
    let groups = read_text(&root.join("proc/self/cgroup")).unwrap_or_default();
    Environment {
        system: read_system(root),
        cpu: read_cpu(root),
        memory: read_memory(root),
        limits: cgroup::read_limits(root, &mounts, &groups),
        load: read_load(root),
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

/// The governors of all CPUs, sorted and without repetition.
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

fn read_load(root: &Path) -> Load {
    Load {
        load_average: read_text(&root.join("proc/loadavg"))
            .and_then(|text| parse_load_average(&text)),
        pressure: read_pressure(root),
        steal_fraction: read_cpu_time(root)
            .and_then(|time| time.steal_fraction_since(CpuTime::BOOT)),
        other_runs: read_other_runs(root),
    }
}

/// The processes, but for this one, that are `pragmark run`.
fn read_other_runs(root: &Path) -> Vec<u32> {
    let Ok(processes) = fs::read_dir(root.join("proc")) else {
        return Vec::new();
    };
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

/// Whether a command line, whose words end in NUL (proc(5)), is `pragmark run`.
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

#[cfg(test)]
mod tests {
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
}
