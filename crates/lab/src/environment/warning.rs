//! What in an environment weakens, or forbids, conclusions drawn from it.
//!
//! Apart from the environment because each warning is both a rule (when it holds) and a text (what
//! it means, what to do), and the two must be read side by side.

use std::path::PathBuf;

use super::{
    Environment, Limit, MAX_CPU_PRESSURE_AVG10, MAX_STEAL_FRACTION, VolumeProblem, volume_problem,
};

/// Usable memory below which larger experiments run out of page cache, in bytes: 1 GiB. Our choice.
pub const LITTLE_MEMORY_BYTES: u64 = 1 << 30;

/// One thing in an environment that the reader must know. Its text says what it means and what to do.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    /// The frequency governor saves power.
    #[error(
        "the CPU frequency governor is powersave: short trials may run below full speed and noise grows; choose performance for the run (cpupower frequency-set --governor performance)"
    )]
    PowersaveGovernor,
    /// The hypervisor took CPU time since boot.
    #[error("the hypervisor has given {:.1} % of all CPU time since boot to others: expect dropped blocks and wider intervals; use a machine with dedicated CPUs", fraction * 100.0)]
    Steal {
        /// Share of all CPU time since boot, 0 to 1.
        fraction: f64,
    },
    /// Other work waits for the CPUs now.
    #[error(
        "when the machine was examined, tasks had waited for a CPU during {avg10:.0} % of the ten seconds before: other work disturbs the measurement; stop it, or wait until it is done"
    )]
    CpuPressure {
        /// Per cent of the last ten seconds, 0 to 100.
        avg10: f64,
    },
    /// Another run of pragmark is under way.
    #[error(
        "another run of pragmark was under way (process {process}): the two disturb each other; run one after the other"
    )]
    OtherRun {
        /// Its process.
        process: u32,
    },
    /// A control group gives less CPU time than there are CPUs.
    #[error(
        "a control group allows {cpus:.2} of {of} CPUs: a trial that uses up its share is paused, which shows as latency; raise the quota, or pin to whole CPUs instead"
    )]
    CpuQuota {
        /// CPU time per wall-clock time, in CPUs.
        cpus: f64,
        /// Logical CPUs online.
        of: u32,
    },
    /// There is little memory.
    #[error("only {} of memory can be used: databases larger than that are measured against the disk, not the page cache; free memory, or keep to the quick scale", gibibytes(*usable_bytes))]
    LittleMemory {
        /// Usable bytes.
        usable_bytes: u64,
    },
    /// Something is wrong, for measuring, with what lies under a measured directory.
    #[error("{}: {problem}", path.display())]
    Volume {
        /// The directory.
        path: PathBuf,
        /// What is wrong.
        problem: VolumeProblem,
    },
}

/// Every warning of an environment: the machine first, then each directory.
pub(super) fn all(environment: &Environment) -> Vec<Warning> {
    let mut warnings = of_machine(environment);
    let hypervisor = environment.cpu.hypervisor == Some(true);
    for volume in &environment.volumes {
        let problems = volume_problem::all(volume, hypervisor).into_iter();
        warnings
            .extend(problems.map(|problem| Warning::Volume { path: volume.path.clone(), problem }));
    }
    warnings
}

fn of_machine(environment: &Environment) -> Vec<Warning> {
    let governor = environment.cpu.governor.as_deref().unwrap_or_default();
    let powersave = governor.contains("powersave").then_some(Warning::PowersaveGovernor);
    let steal = environment
        .load
        .steal_fraction
        .filter(|fraction| *fraction > MAX_STEAL_FRACTION)
        .map(|fraction| Warning::Steal { fraction });
    let pressure = environment
        .load
        .pressure
        .cpu_avg10
        .filter(|avg10| *avg10 > MAX_CPU_PRESSURE_AVG10)
        .map(|avg10| Warning::CpuPressure { avg10 });
    let memory = environment
        .usable_memory_bytes()
        .filter(|bytes| *bytes < LITTLE_MEMORY_BYTES)
        .map(|usable_bytes| Warning::LittleMemory { usable_bytes });
    let others = environment.load.other_runs.iter();
    [powersave, steal, pressure, cpu_quota(environment), memory]
        .into_iter()
        .flatten()
        .chain(others.map(|process| Warning::OtherRun { process: *process }))
        .collect()
}

fn cpu_quota(environment: &Environment) -> Option<Warning> {
    match (environment.limits.cpu_quota, environment.cpu.logical_cpus) {
        (Some(Limit::At(cpus)), Some(of)) if cpus < f64::from(of) => {
            Some(Warning::CpuQuota { cpus, of })
        }
        _ => None,
    }
}

/// A size as a reader wants it: one decimal, in GiB.
pub(super) fn gibibytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{Volume, VolumeKind};

    #[test]
    fn a_machine_that_reports_nothing_gives_no_warning() {
        assert_eq!(all(&Environment::default()), []);
    }

    #[test]
    fn a_quiet_machine_gives_no_warning() {
        let mut quiet = Environment::default();
        quiet.cpu.governor = Some("performance".into());
        quiet.cpu.logical_cpus = Some(4);
        quiet.limits.cpu_quota = Some(Limit::At(4.0));
        quiet.load.steal_fraction = Some(0.01);
        quiet.load.pressure.cpu_avg10 = Some(5.0);
        quiet.memory.available_bytes = Some(LITTLE_MEMORY_BYTES);
        assert_eq!(all(&quiet), []);
    }

    #[test]
    fn each_weakness_of_the_machine_is_named_with_its_figure() {
        let mut weak = Environment::default();
        weak.cpu.governor = Some("performance, powersave".into());
        weak.cpu.logical_cpus = Some(4);
        weak.limits.cpu_quota = Some(Limit::At(1.5));
        weak.limits.memory_max_bytes = Some(Limit::At(1 << 29));
        weak.memory.available_bytes = Some(64 << 30);
        weak.load.steal_fraction = Some(0.02);
        weak.load.pressure.cpu_avg10 = Some(30.0);
        weak.load.other_runs = vec![4711];
        assert_eq!(
            all(&weak),
            [
                Warning::PowersaveGovernor,
                Warning::Steal { fraction: 0.02 },
                Warning::CpuPressure { avg10: 30.0 },
                Warning::CpuQuota { cpus: 1.5, of: 4 },
                Warning::LittleMemory { usable_bytes: 1 << 29 },
                Warning::OtherRun { process: 4711 },
            ]
        );
    }

    #[test]
    fn a_warning_about_a_directory_names_it() {
        let environment = Environment {
            volumes: vec![Volume::new("/dev/shm", VolumeKind::Memory)],
            ..Environment::default()
        };
        let warnings = all(&environment);
        assert_eq!(warnings.len(), 1);
        let text = warnings[0].to_string();
        assert!(text.starts_with("/dev/shm: "), "{text}");
        assert!(text.contains("durability comparisons are refused"), "{text}");
    }

    #[test]
    fn a_warning_says_the_figure_and_what_to_do() {
        assert_eq!(
            Warning::LittleMemory { usable_bytes: 1 << 29 }.to_string(),
            "only 0.5 GiB of memory can be used: databases larger than that are measured against \
             the disk, not the page cache; free memory, or keep to the quick scale"
        );
    }
}
