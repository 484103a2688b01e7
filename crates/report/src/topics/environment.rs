//! The machine, its volumes and the engines.

use lab::environment::{
    Environment, FsyncProbe, FsyncVerdict, Limit, NoiseProbe, Volume, VolumeKind, WriteCache,
};
use lab::metric::Unit;
use lab::record::{EngineRecord, ProvenanceRecord};
use tuning::Analysis;

use super::pragmas;
use crate::document::{Block, Cell, Column, Fold, Kind, Section, Sentence, Table, blocks};
use crate::figures::{percent, significant, with_unit};

/// A fact by its name.
type Fact = (&'static str, String);

/// The environment of a run.
pub(super) fn sections(analysis: &Analysis) -> Vec<Section> {
    let environment = &analysis.environment;
    let noise = environment.noise.as_ref().map(noise);
    let machine = facts(machine(&environment.machine).into_iter().chain(noise));
    let volumes = volumes(&environment.machine.volumes);
    let mut engines = environment.engines.iter().flat_map(engine).peekable();
    let heading = engines.peek().map(|_| Block::heading("SQLite libraries"));
    let blocks = blocks![machine, volumes, heading, engines, pragmas::of_run(analysis)];
    vec![Section::new("environment", Kind::Folded, "The machine and SQLite", blocks)]
}

fn facts(facts: impl IntoIterator<Item = Fact>) -> Block {
    Block::Facts(facts.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
}

/// Returns the facts about the machine; missing ones are unknown.
fn machine(environment: &Environment) -> Vec<Fact> {
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
    let cpu_limit = limit(limits.cpu_quota, |cpus| format!("{} CPUs", significant(cpus)));
    let memory_limit = limit(limits.memory_max_bytes, |bytes| size(Some(bytes)));
    let average = load.load_average.map(|loads| loads.map(|load| format!("{load:.2}")));
    let steal = load.steal_fraction.map_or_else(unknown, percent);
    let system = &environment.system;
    vec![
        ("Operating system", text(&system.operating_system)),
        ("Kernel", text(&system.kernel)),
        ("Architecture", text(&system.architecture)),
        ("Processor", text(&cpu.model)),
        ("CPUs", cpus),
        ("Frequency governor", text(&cpu.governor)),
        ("Turbo", yes_no(cpu.turbo, "allowed", "off")),
        ("Virtual machine", yes_no(cpu.hypervisor, "yes", "no")),
        ("Memory", memory(environment)),
        ("CPU limit", cpu_limit),
        ("Memory limit", memory_limit),
        ("Load average", average.map_or_else(unknown, |loads| loads.join(", "))),
        ("Pressure, 10 s before the run", known(pressure)),
        ("CPU steal since boot", steal),
    ]
}

/// How far equal bursts of work differed ahead of the run.
fn noise(probe: &NoiseProbe) -> Fact {
    let of = |name: &str, deviation: Option<f64>| Some(format!("{name} {}", percent(deviation?)));
    let bursts: Vec<String> =
        [of("CPU", probe.cpu_sd), of("fsync", probe.fsync_sd)].into_iter().flatten().collect();
    let bursts = if bursts.is_empty() {
        unknown()
    } else {
        format!("{} between equal bursts", bursts.join(", "))
    };
    ("Noise ahead of the run", bursts)
}

fn unknown() -> String {
    "unknown".to_owned()
}

/// Joins facts in a row.
fn known(all: Vec<String>) -> String {
    if all.is_empty() { unknown() } else { all.join(", ") }
}

fn yes_no(value: Option<bool>, yes: &str, no: &str) -> String {
    value.map_or_else(unknown, |value| if value { yes } else { no }.to_owned())
}

fn memory(environment: &Environment) -> String {
    let memory = &environment.memory;
    match (memory.total_bytes, memory.available_bytes) {
        (Some(_), Some(_)) => {
            format!("{}, {} available", size(memory.total_bytes), size(memory.available_bytes))
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

/// The measured directories.
fn volumes(volumes: &[Volume]) -> Vec<Block> {
    if volumes.is_empty() {
        return Vec::new();
    }
    let time = |ns: u64| with_unit(ns as f64 / 1e3, Unit::Microseconds);
    let probed = |volume: &Volume, of: fn(&FsyncProbe) -> u64| {
        Cell::number(Some(volume.fsync.as_ref().map_or_else(unknown, |probe| time(of(probe)))))
    };
    let table = Table::of(
        "Volumes",
        volumes,
        &[
            (Column::left("directory"), &|volume| Cell::code(volume.path.display().to_string())),
            (Column::left("storage").prose(), &|volume| storage(volume)),
            (Column::right("fsync before the run, median"), &|volume| {
                probed(volume, |probe| probe.p50_ns)
            }),
            (Column::right("p99"), &|volume| probed(volume, |probe| probe.p99_ns)),
            (Column::left("result of the fsync probe").prose(), &|volume| {
                let probe = volume.fsync.as_ref();
                Cell::new(probe.map_or("not measured", |probe| finding(probe.verdict)))
            }),
            (Column::right("free"), &|volume| Cell::number(Some(size(volume.free_bytes)))),
        ],
    );
    vec![Block::heading("Volumes"), Block::table(table)]
}

/// Returns the finding of the fsync probe in words.
fn finding(verdict: FsyncVerdict) -> &'static str {
    match verdict {
        FsyncVerdict::Memory => "in memory: nothing to sync to",
        FsyncVerdict::NoOpOrPowerLossProtection => {
            "faster than any medium: sync does nothing, or there is power-loss protection"
        }
        FsyncVerdict::RotationalWithCache => "faster than the disk turns: a cache answers",
        FsyncVerdict::Plain => "plausible for a real medium",
    }
}

fn storage(volume: &Volume) -> Cell {
    let file_system = volume.file_system.as_deref().unwrap_or("unknown file system");
    let options = volume.mount_options.as_ref().map(|options| options.join(","));
    Cell::new(format!("{file_system}, {}", volume_kind(volume.kind)))
        .with_below(device(volume))
        .with_below(options.unwrap_or_default())
}

fn volume_kind(kind: VolumeKind) -> &'static str {
    match kind {
        VolumeKind::Disk => "disk",
        VolumeKind::Memory => "memory",
        VolumeKind::Overlay => "container layer",
        VolumeKind::Network => "network or shared",
        VolumeKind::Unknown => "unknown",
    }
}

fn device(volume: &Volume) -> String {
    let rotational =
        volume.rotational.map(|rotates| if rotates { "rotates" } else { "does not rotate" });
    let cache = volume.write_cache.map(|cache| match cache {
        WriteCache::WriteBack => "write-back cache",
        WriteCache::WriteThrough => "no volatile cache",
    });
    let fua = volume.fua.map(|fua| if fua { "FUA" } else { "no FUA" });
    let named = [volume.device.as_deref(), volume.model.as_deref(), rotational, cache, fua];
    known(named.into_iter().flatten().map(str::to_owned).collect())
}

/// One library: what it is, and its options folded away.
fn engine(engine: &EngineRecord) -> Vec<Block> {
    let named = |value: String| (Sentence::code(&engine.name), Sentence::from(value));
    if let Some(problem) = &engine.problem {
        return vec![Block::Facts(vec![named(format!("not usable: {problem}"))])];
    }
    let path = engine.path.as_ref().map(|path| format!(", {}", path.display()));
    let version = format!("SQLite {}{}", engine.version, path.unwrap_or_default());
    let source = ("Source id".into(), Sentence::code(&engine.source_id));
    let provenance = engine.provenance.as_ref();
    let made = provenance.into_iter().flat_map(|one| {
        let hash = ("SHA-256".into(), Sentence::code(&one.sha256));
        [("Origin".into(), made(one).into()), hash]
    });
    let facts = [named(version), source].into_iter().chain(made);
    let options = engine.compile_options.iter().map(Sentence::code);
    let arguments =
        provenance.map(|made| made.arguments.join(" ")).filter(|arguments| !arguments.is_empty());
    let arguments = arguments.map(|argument| Block::small(Sentence::code(argument)));
    let blocks = blocks![Block::Entries(options.collect()), arguments];
    let fold = Fold::new(format!("{} compile options", engine.compile_options.len()), blocks);
    vec![Block::Facts(facts.collect()), Block::Fold(fold)]
}

/// How an engine that pragmark keeps was made.
fn made(made: &ProvenanceRecord) -> String {
    let profile = if made.profile_guided { " and the profile of a training run" } else { "" };
    let how = match &made.compiler {
        Some(compiler) => format!("compiled {} with {compiler}{profile}", made.created),
        None => format!("added {}", made.created),
    };
    format!("{how}, from {}", made.source)
}
