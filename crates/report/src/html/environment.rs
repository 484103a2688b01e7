//! The machine, its volumes and the engines on the page.

use lab::analysis::Analysis;
use lab::environment::{Environment, Limit, NoiseProbe, Volume, WriteCache};
use lab::metric::Unit;
use lab::record::{EngineRecord, ProvenanceRecord};

use super::pragmas::RunWide;
use crate::figures::{percent, significant, with_unit};
use crate::words::{fsync_verdict, volume_kind};

/// What the template of the environment fills in.
pub(super) struct EnvironmentView {
    pub(super) machine: Vec<(&'static str, String)>,
    pub(super) volumes: Vec<VolumeView>,
    pub(super) engines: Vec<EngineView>,
    pub(super) pragmas: Vec<(String, String)>,
}

/// One measured directory.
pub(super) struct VolumeView {
    pub(super) path: String,
    pub(super) storage: String,
    pub(super) device: String,
    pub(super) free: String,
    pub(super) fsync_median: String,
    pub(super) fsync_p99: String,
    pub(super) verdict: &'static str,
    pub(super) mount_options: String,
}

/// How an engine was made.
pub(super) struct MadeView {
    pub(super) how: String,
    pub(super) sha256: String,
    /// Flags and options as the compiler got them; empty where it was not compiled here.
    pub(super) arguments: String,
}

/// One library.
pub(super) struct EngineView {
    /// Why it cannot be used.
    pub(super) problem: Option<String>,
    /// How it was made, where pragmark keeps it.
    pub(super) made: Option<MadeView>,
    pub(super) name: String,
    pub(super) path: Option<String>,
    pub(super) version: String,
    pub(super) source_id: String,
    pub(super) options: Vec<String>,
}

/// The environment of a run.
pub(super) fn view(analysis: &Analysis) -> EnvironmentView {
    let environment = &analysis.environment.machine;
    EnvironmentView {
        machine: machine(environment)
            .into_iter()
            .chain(analysis.environment.noise.as_ref().map(noise))
            .collect(),
        volumes: environment.volumes.iter().map(volume).collect(),
        engines: analysis.environment.engines.iter().map(engine).collect(),
        pragmas: RunWide::of(analysis).values(),
    }
}

/// What is known of the machine; what could not be had is said to be unknown.
fn machine(environment: &Environment) -> Vec<(&'static str, String)> {
    let (cpu, limits, load) = (&environment.cpu, &environment.limits, &environment.load);
    let text = |value: &Option<String>| value.clone().unwrap_or_else(unknown);
    let cpus = match (cpu.usable_cpus, cpu.logical_cpus) {
        (Some(usable), Some(all)) => format!("{usable} usable of {all}"),
        (Some(some), None) | (None, Some(some)) => some.to_string(),
        (None, None) => unknown(),
    };
    let pressure = [
        ("CPU", load.pressure.cpu_avg10),
        ("storage", load.pressure.io_avg10),
        ("memory", load.pressure.memory_avg10),
    ];
    let pressure: Vec<String> = pressure
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name} {}", percent(value? / 100.0))))
        .collect();
    vec![
        (
            "Operating system",
            text(&environment.system.operating_system),
        ),
        ("Kernel", text(&environment.system.kernel)),
        ("Architecture", text(&environment.system.architecture)),
        ("Processor", text(&cpu.model)),
        ("CPUs", cpus),
        ("Frequency governor", text(&cpu.governor)),
        ("Turbo", yes_no(cpu.turbo, "allowed", "off")),
        ("Virtual machine", yes_no(cpu.hypervisor, "yes", "no")),
        ("Memory", memory(environment)),
        (
            "CPU limit",
            limit(limits.cpu_quota, |cpus| {
                format!("{} CPUs", significant(cpus))
            }),
        ),
        (
            "Memory limit",
            limit(limits.memory_max_bytes, |bytes| size(Some(bytes))),
        ),
        (
            "Load average",
            load.load_average
                .map_or_else(unknown, |l| l.map(|l| format!("{l:.2}")).join(", ")),
        ),
        (
            "Pressure, last 10 s",
            if pressure.is_empty() {
                unknown()
            } else {
                pressure.join(", ")
            },
        ),
        (
            "CPU steal since boot",
            load.steal_fraction.map_or_else(unknown, percent),
        ),
    ]
}

/// How far equal bursts of work differed ahead of the run.
fn noise(probe: &NoiseProbe) -> (&'static str, String) {
    let of = |name: &str, deviation: Option<f64>| Some(format!("{name} {}", percent(deviation?)));
    let told: Vec<String> = [of("CPU", probe.cpu_sd), of("fsync", probe.fsync_sd)]
        .into_iter()
        .flatten()
        .collect();
    let told = match told.is_empty() {
        true => unknown(),
        false => format!("{} between equal bursts", told.join(", ")),
    };
    ("Noise ahead of the run", told)
}

fn unknown() -> String {
    "unknown".to_owned()
}

fn yes_no(value: Option<bool>, yes: &str, no: &str) -> String {
    value.map_or_else(unknown, |value| if value { yes } else { no }.to_owned())
}

fn memory(environment: &Environment) -> String {
    let memory = &environment.memory;
    match (memory.total_bytes, memory.available_bytes) {
        (Some(_), Some(_)) => {
            format!(
                "{}, {} available",
                size(memory.total_bytes),
                size(memory.available_bytes)
            )
        }
        (total, _) => size(total),
    }
}

fn limit<T>(limit: Option<Limit<T>>, show: impl Fn(T) -> String) -> String {
    match limit {
        None => unknown(),
        Some(Limit::Unlimited) => "none".to_owned(),
        Some(Limit::At(value)) => show(value),
    }
}

fn size(bytes: Option<u64>) -> String {
    bytes.map_or_else(unknown, |bytes| with_unit(bytes as f64, Unit::Bytes))
}

fn volume(volume: &Volume) -> VolumeView {
    let probe = volume.fsync.as_ref();
    let time = |ns: u64| with_unit(ns as f64 / 1e3, Unit::Microseconds);
    let file_system = volume
        .file_system
        .as_deref()
        .unwrap_or("unknown file system");
    VolumeView {
        path: volume.path.display().to_string(),
        storage: format!("{file_system}, {}", volume_kind(volume.kind)),
        device: device(volume),
        free: size(volume.free_bytes),
        fsync_median: probe.map_or_else(unknown, |probe| time(probe.p50_ns)),
        fsync_p99: probe.map_or_else(unknown, |probe| time(probe.p99_ns)),
        verdict: probe.map_or("not measured", |probe| fsync_verdict(probe.verdict)),
        mount_options: volume
            .mount_options
            .as_ref()
            .map(|options| options.join(","))
            .unwrap_or_default(),
    }
}

fn device(volume: &Volume) -> String {
    let rotational = volume.rotational.map(|rotates| {
        if rotates {
            "rotates"
        } else {
            "does not rotate"
        }
    });
    let cache = volume.write_cache.map(|cache| match cache {
        WriteCache::WriteBack => "write-back cache",
        WriteCache::WriteThrough => "no volatile cache",
    });
    let fua = volume.fua.map(|fua| if fua { "FUA" } else { "no FUA" });
    let named = [
        volume.device.as_deref(),
        volume.model.as_deref(),
        rotational,
        cache,
        fua,
    ];
    let known: Vec<&str> = named.into_iter().flatten().collect();
    if known.is_empty() {
        unknown()
    } else {
        known.join(", ")
    }
}

fn engine(engine: &EngineRecord) -> EngineView {
    EngineView {
        name: engine.name.clone(),
        path: engine.path.as_ref().map(|path| path.display().to_string()),
        version: engine.version.clone(),
        source_id: engine.source_id.clone(),
        options: engine.compile_options.clone(),
        problem: engine.problem.clone(),
        made: engine.provenance.as_ref().map(made),
    }
}

/// How an engine that pragmark keeps was made.
fn made(made: &ProvenanceRecord) -> MadeView {
    let profile = match made.profile_guided {
        true => " and the profile of a training run",
        false => "",
    };
    let how = match &made.compiler {
        Some(compiler) => format!("compiled {} with {compiler}{profile}", made.created),
        None => format!("added {}", made.created),
    };
    MadeView {
        how: format!("{how}, from {}", made.source),
        sha256: made.sha256.clone(),
        arguments: made.arguments.join(" "),
    }
}
