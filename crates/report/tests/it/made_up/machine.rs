//! The machine of the made-up run and the PRAGMAs that its SQLite answers.

use std::collections::BTreeMap;

use lab::environment::{
    Cpu, Environment, FsyncProbe, Limit, Memory, NoiseProbe, System, Volume, VolumeKind, WriteCache,
};
use lab::record::{EngineRecord, EnvironmentFile, FORMAT};

/// A source id in SQLite's form.
pub const SOURCE_ID: &str =
    "2025-07-30 19:33:53 4d8adfb30e03f9cf27f800a2c1ba3c48fb4ca1b08b0f5ed59a4d5ecbf45e20a3";

/// PRAGMAs with the value that a connection gives when nothing was set.
const PRAGMAS: [(&str, &str); 24] = [
    ("application_id", "0"),
    ("auto_vacuum", "0"),
    ("automatic_index", "1"),
    ("busy_timeout", "5000"),
    ("cache_size", "-2000"),
    ("cache_spill", "483"),
    ("cell_size_check", "0"),
    ("checkpoint_fullfsync", "0"),
    ("encoding", "UTF-8"),
    ("foreign_keys", "0"),
    ("fullfsync", "0"),
    ("journal_mode", "delete"),
    ("journal_size_limit", "-1"),
    ("locking_mode", "normal"),
    ("mmap_size", "0"),
    ("page_size", "4096"),
    ("query_only", "0"),
    ("read_uncommitted", "0"),
    ("secure_delete", "0"),
    ("synchronous", "full"),
    ("temp_store", "0"),
    ("threads", "0"),
    ("trusted_schema", "1"),
    ("wal_autocheckpoint", "1000"),
];

/// The PRAGMAs of a connection.
pub fn pragmas() -> BTreeMap<String, String> {
    PRAGMAS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Whether a setting is a PRAGMA.
pub fn is_pragma(name: &str) -> bool {
    PRAGMAS.iter().any(|(known, _)| *known == name)
}

/// The machine and its engines.
pub fn environment() -> EnvironmentFile {
    EnvironmentFile {
        format: FORMAT,
        machine: machine(),
        engines: vec![engine()],
        noise: Some(NoiseProbe {
            pairs: 212,
            cpu_sd: Some(0.0123),
            fsync_sd: Some(0.187),
            duration_ns: 10_000_000_000,
        }),
    }
}

fn machine() -> Environment {
    let mut machine = Environment {
        system: System {
            operating_system: Some("Debian GNU/Linux 13 (trixie)".to_owned()),
            kernel: Some("Linux 6.12.1".to_owned()),
            architecture: Some("x86_64".to_owned()),
        },
        cpu: Cpu {
            model: Some("AMD EPYC 7763 64-Core Processor".to_owned()),
            logical_cpus: Some(4),
            usable_cpus: Some(4),
            governor: None,
            turbo: Some(true),
            hypervisor: Some(true),
        },
        memory: Memory { total_bytes: Some(16_776_192_000), available_bytes: Some(13_103_005_696) },
        volumes: vec![disk(), memory()],
        ..Environment::default()
    };
    machine.limits.memory_max_bytes = Some(Limit::Unlimited);
    machine.load.load_average = Some([0.12, 0.2, 0.31]);
    machine.load.pressure.cpu_avg10 = Some(0.4);
    machine.load.pressure.io_avg10 = Some(1.9);
    machine.load.steal_fraction = Some(0.0004);
    machine
}

fn disk() -> Volume {
    let probe = FsyncProbe::new(300, 1_834_000, 6_120_000, VolumeKind::Disk, Some(false));
    Volume {
        file_system: Some("ext4".to_owned()),
        mount_point: Some("/srv".into()),
        mount_options: Some(["rw", "relatime", "discard"].map(str::to_owned).to_vec()),
        device: Some("nvme1n1".to_owned()),
        model: Some("Amazon Elastic Block Store".to_owned()),
        rotational: Some(false),
        write_cache: Some(WriteCache::WriteThrough),
        fua: Some(false),
        free_bytes: Some(212_600_000_000),
        total_bytes: Some(263_000_000_000),
        fsync: Some(probe),
        ..Volume::new("/srv/pragmark", VolumeKind::Disk)
    }
}

fn memory() -> Volume {
    let probe = FsyncProbe::new(300, 1_420, 3_900, VolumeKind::Memory, None);
    Volume {
        file_system: Some("tmpfs".to_owned()),
        mount_options: Some(["rw", "nosuid", "nodev"].map(str::to_owned).to_vec()),
        free_bytes: Some(8_388_096_000),
        total_bytes: Some(8_388_096_000),
        fsync: Some(probe),
        ..Volume::new("/dev/shm/pragmark", VolumeKind::Memory)
    }
}

fn engine() -> EngineRecord {
    let options = [
        "ATOMIC_INTRINSICS=1",
        "COMPILER=gcc-14.2.0",
        "DEFAULT_AUTOVACUUM",
        "DEFAULT_CACHE_SIZE=-2000",
        "DEFAULT_FILE_FORMAT=4",
        "DEFAULT_JOURNAL_SIZE_LIMIT=-1",
        "DEFAULT_MMAP_SIZE=0",
        "DEFAULT_PAGE_SIZE=4096",
        "DEFAULT_SYNCHRONOUS=2",
        "DEFAULT_WAL_AUTOCHECKPOINT=1000",
        "ENABLE_CARRAY",
        "ENABLE_DBPAGE_VTAB",
        "ENABLE_DBSTAT_VTAB",
        "ENABLE_FTS5",
        "ENABLE_STMTVTAB",
        "MAX_MMAP_SIZE=0x7fff0000",
        "SYSTEM_MALLOC",
        "TEMP_STORE=1",
        "THREADSAFE=1",
    ];
    EngineRecord {
        problem: None,
        provenance: None,
        syncs: None,
        name: "default".to_owned(),
        path: None,
        sha256: None,
        version: "3.50.4".to_owned(),
        source_id: SOURCE_ID.to_owned(),
        compile_options: options.map(str::to_owned).to_vec(),
    }
}
