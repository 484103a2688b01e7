//! The recording VFS misses nothing: its record of a script is compared with the system calls that the
//! same process made for it, as strace(1) saw them.
//!
//! Every write, change of size, deletion and sync of the database's files has to be in the record, in
//! the same order, with the same offsets and lengths. The shared-memory file is left out: it is written
//! through a memory map, and nothing after a crash may depend on it.

use pragmark_engine::vfs::{Call, RecordingVfs};
use pragmark_engine::{CheckpointMode, Connection, Library, OpenFlags, Source};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// What tells the child its configuration and its folder.
const CONFIGURATION: &str = "PRAGMARK_COMPLETENESS_CONFIGURATION";
const FOLDER: &str = "PRAGMARK_COMPLETENESS_FOLDER";

/// The settings that are tried, each with all of the script.
const CONFIGURATIONS: &[(&str, &str)] = &[
    ("delete", "PRAGMA journal_mode = delete; PRAGMA synchronous = extra"),
    ("truncate", "PRAGMA journal_mode = truncate; PRAGMA synchronous = full"),
    ("persist", "PRAGMA journal_mode = persist; PRAGMA synchronous = normal"),
    ("wal", "PRAGMA journal_mode = wal; PRAGMA synchronous = full"),
    ("memory", "PRAGMA journal_mode = memory; PRAGMA synchronous = off"),
    (
        "delete-mapped",
        "PRAGMA mmap_size = 10000000; PRAGMA journal_mode = delete; PRAGMA synchronous = full",
    ),
    (
        "wal-mapped",
        "PRAGMA mmap_size = 10000000; PRAGMA journal_mode = wal; PRAGMA synchronous = normal",
    ),
    (
        "persist-exclusive",
        "PRAGMA locking_mode = exclusive; PRAGMA journal_mode = persist; PRAGMA synchronous = full",
    ),
    (
        "wal-exclusive",
        "PRAGMA locking_mode = exclusive; PRAGMA journal_mode = wal; PRAGMA synchronous = full",
    ),
];

#[test]
fn what_is_recorded_is_what_the_system_was_asked_for() {
    let Some(strace) = strace() else {
        testing::skip("this test needs strace(1) and the right to trace a child");
        return;
    };
    for (configuration, _) in CONFIGURATIONS {
        let folder = tempfile::tempdir().expect("a folder");
        let (recorded, seen) = record_under(&strace, configuration, folder.path());
        let place = recorded
            .iter()
            .zip(&seen)
            .position(|(recorded, seen)| recorded != seen)
            .unwrap_or(recorded.len().min(seen.len()));
        let from = place.saturating_sub(3);
        assert!(
            recorded == seen,
            "{configuration}: the record and the system calls differ at operation {place}\n\
             recorded: {:#?}\nsystem calls: {:#?}",
            &recorded[from..recorded.len().min(place + 4)],
            &seen[from..seen.len().min(place + 4)]
        );
        // The comparison would be worth nothing if the script did nothing.
        assert!(seen.len() > 100, "{configuration}: {} operations", seen.len());
    }
}

/// The command, where it is there and may trace.
fn strace() -> Option<PathBuf> {
    let works = Command::new("strace")
        .args(["-e", "trace=none", "true"])
        .output()
        .is_ok_and(|output| output.status.success());
    works.then(|| PathBuf::from("strace"))
}

/// Runs the script in a traced child; what the VFS recorded, and what strace saw.
fn record_under(strace: &Path, configuration: &str, folder: &Path) -> (Vec<String>, Vec<String>) {
    let (databases, calls) = (folder.join("databases"), folder.join("calls"));
    std::fs::create_dir(&databases).expect("a folder");
    let output = Command::new(strace)
        .args(["-f", "-y", "-s", "0", "-o"])
        .arg(&calls)
        .args(["-e", "trace=/(write|writev|pwrite.*|pwritev.*|lseek|.*truncate.*|fallocate|unlink.*|rename.*|f(data)?sync|sync.*|msync|copy_file_range|sendfile.*)$"])
        .arg(std::env::current_exe().expect("the path of this test"))
        .args(["--ignored", "--exact", "completeness::the_script_is_recorded"])
        .env(CONFIGURATION, configuration)
        .env(FOLDER, folder)
        // The sanitizer cannot look for leaks in a traced process.
        .env("LSAN_OPTIONS", "detect_leaks=0")
        .output()
        .expect("strace runs");
    assert!(
        output.status.success(),
        "{configuration}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    let recorded = std::fs::read_to_string(folder.join("record")).expect("the record");
    let calls = std::fs::read_to_string(calls).expect("the system calls");
    (recorded.lines().map(str::to_owned).collect(), operations_in(&calls, &databases))
}

/// The child: records the script under the configuration of its environment.
#[test]
#[ignore = "it is started by what_is_recorded_is_what_the_system_was_asked_for"]
fn the_script_is_recorded() {
    let (configuration, folder) = (
        std::env::var(CONFIGURATION).expect("a configuration"),
        PathBuf::from(std::env::var_os(FOLDER).expect("a folder")),
    );
    let (_, settings) =
        CONFIGURATIONS.iter().find(|(name, _)| *name == configuration).expect("known");
    let library = Arc::new(Library::load(&Source::Embedded).expect("loads"));
    let vfs = RecordingVfs::register(&library, None).expect("registers");
    let databases = folder.join("databases");
    run_script(&library, &vfs, &databases, settings);
    let mut names = HashMap::new();
    let lines: Vec<String> =
        vfs.take().iter().flat_map(|call| operations_of(call, &mut names, &databases)).collect();
    std::fs::write(folder.join("record"), lines.join("\n")).expect("writes");
}

/// Creation, growth, spilling, rolling back, several databases, checkpoints, VACUUM, modes, reopening.
fn run_script(library: &Arc<Library>, vfs: &RecordingVfs, folder: &Path, settings: &str) {
    let open = || {
        let path = folder.join("one.db");
        let connection = Connection::open(library, &path, OpenFlags::default(), Some(vfs.name()))
            .expect("opens");
        connection.execute(settings).expect("sets");
        connection
    };
    let run = |connection: &Connection, sql: &str| connection.execute(sql).expect(sql);
    let connection = open();
    run(&connection, "CREATE TABLE t(a INTEGER PRIMARY KEY, b BLOB)");
    run(
        &connection,
        "INSERT INTO t SELECT value, randomblob(300) FROM
             (WITH RECURSIVE n(value) AS (VALUES (1) UNION ALL SELECT value + 1 FROM n WHERE value < 200)
              SELECT value FROM n)",
    );
    run(&connection, "INSERT INTO t VALUES (1000, randomblob(100000))");
    run(&connection, "PRAGMA cache_size = 5; BEGIN; UPDATE t SET b = randomblob(310); ROLLBACK");
    run(
        &connection,
        "BEGIN; SAVEPOINT s; UPDATE t SET b = randomblob(290); ROLLBACK TO s;
         DELETE FROM t WHERE a % 3 = 0; COMMIT",
    );
    connection.checkpoint(CheckpointMode::Passive).expect("checkpoints");
    run(&connection, "UPDATE t SET b = randomblob(20) WHERE a < 5");
    connection.checkpoint(CheckpointMode::Restart).expect("checkpoints");
    run(&connection, "UPDATE t SET b = randomblob(20) WHERE a < 9");
    connection.checkpoint(CheckpointMode::Truncate).expect("checkpoints");
    run(&connection, "VACUUM");
    let other = folder.join("two.db");
    run(
        &connection,
        &format!(
            "ATTACH '{}' AS two; CREATE TABLE two.u(x); BEGIN; INSERT INTO u VALUES (1);
             DELETE FROM t WHERE a = 1000; COMMIT; DETACH two",
            other.display()
        ),
    );
    connection.close().expect("closes");
    let connection = open();
    run(&connection, "INSERT INTO t VALUES (2000, randomblob(5000))");
    run(&connection, "PRAGMA journal_mode = delete; UPDATE t SET b = x'00' WHERE a = 2000");
    connection.close().expect("closes");
}

/// The name of a database's file, if it is one whose content may be on a disk.
fn name_in(path: &str, folder: &Path) -> Option<String> {
    let path = path.trim_end_matches(" (deleted)");
    let name = Path::new(path).strip_prefix(folder).ok()?.to_str()?;
    (!name.ends_with("-shm") && !name.is_empty()).then(|| name.to_owned())
}

/// A recorded call as operations.
fn operations_of(call: &Call, names: &mut HashMap<u64, String>, folder: &Path) -> Vec<String> {
    let of = |names: &HashMap<u64, String>, file: u64| names.get(&file).cloned();
    match call {
        Call::Open { file, name: Some(name), .. } => {
            if let Some(name) = name_in(&name.to_string_lossy(), folder) {
                names.insert(file.0, name);
            }
            Vec::new()
        }
        Call::Write { file, offset, bytes, .. } => of(names, file.0)
            .map(|name| write_to(&name, *offset, bytes.len() as u64))
            .into_iter()
            .collect(),
        Call::Truncate { file, size, .. } => {
            of(names, file.0).map(|name| truncate_to(&name, *size)).into_iter().collect()
        }
        Call::Sync { file, with_directory, .. } => of(names, file.0)
            .map(|name| with_directory_sync(format!("sync {name}"), *with_directory))
            .unwrap_or_default(),
        Call::Delete { name, with_directory, .. } => name_in(&name.to_string_lossy(), folder)
            .map(|name| with_directory_sync(format!("unlink {name}"), *with_directory))
            .unwrap_or_default(),
        _ => Vec::new(),
    }
}

fn with_directory_sync(operation: String, with_directory: bool) -> Vec<String> {
    let directory = with_directory.then(|| "sync the directory".to_owned());
    std::iter::once(operation).chain(directory).collect()
}

fn write_to(name: &str, offset: u64, length: u64) -> String {
    format!("write {name} at {offset}, {length} bytes")
}

fn truncate_to(name: &str, size: u64) -> String {
    format!("truncate {name} to {size}")
}

/// The system calls of a trace as operations. Calls that have no place in it, such as a rename of a
/// database's file, become operations that no record has.
fn operations_in(trace: &str, folder: &Path) -> Vec<String> {
    let mut positions = HashMap::new();
    trace
        .lines()
        .filter_map(SystemCall::parse)
        .filter_map(|call| call.operation(folder, &mut positions))
        .collect()
}

/// A successful call as strace prints it: `pwrite64(5</folder/one.db>, ""..., 4096, 0) = 4096`.
struct SystemCall<'a> {
    name: &'a str,
    arguments: &'a str,
    result: i64,
}

impl<'a> SystemCall<'a> {
    fn parse(line: &'a str) -> Option<SystemCall<'a>> {
        // With -f, the number of the process comes first.
        let line = line.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
        let (name, rest) = line.split_once('(')?;
        let (arguments, result) = rest.rsplit_once(") = ")?;
        let result = result.split_whitespace().next()?.parse().ok()?;
        (result >= 0).then_some(SystemCall { name: name.trim(), arguments, result })
    }

    fn operation(&self, folder: &Path, positions: &mut HashMap<String, u64>) -> Option<String> {
        if self.name.starts_with("unlink") {
            return name_in(self.quoted()?, folder).map(|name| format!("unlink {name}"));
        }
        let (descriptor, path) = self.descriptor()?;
        if Path::new(path) == folder {
            return Some("sync the directory".to_owned());
        }
        let name = name_in(path, folder)?;
        match self.name {
            "lseek" => {
                positions.insert(descriptor.to_owned(), self.result as u64);
                None
            }
            "write" => {
                let position = positions.entry(descriptor.to_owned()).or_default();
                let offset = std::mem::replace(position, *position + self.result as u64);
                Some(write_to(&name, offset, self.result as u64))
            }
            "pwrite64" | "pwrite" => Some(write_to(&name, self.last_number()?, self.result as u64)),
            "ftruncate" | "ftruncate64" => Some(truncate_to(&name, self.last_number()?)),
            "fsync" | "fdatasync" => Some(format!("sync {name}")),
            other => Some(format!("{other} of {name}")),
        }
    }

    /// The first argument, a descriptor with its path.
    fn descriptor(&self) -> Option<(&'a str, &'a str)> {
        let (descriptor, rest) = self.arguments.split_once('<')?;
        let (path, _) = rest.split_once('>')?;
        Some((descriptor, path))
    }

    fn quoted(&self) -> Option<&'a str> {
        self.arguments.split('"').nth(1)
    }

    fn last_number(&self) -> Option<u64> {
        self.arguments.rsplit(", ").next()?.parse().ok()
    }
}

#[test]
fn system_calls_are_read_as_strace_prints_them() {
    let trace = "\
17 pwrite64(5</d/one.db>, \"\"..., 4096, 8192) = 4096
17 lseek(6</d/one.db-wal>, 32, SEEK_SET) = 32
17 write(6</d/one.db-wal>, \"\"..., 24) = 24
17 write(6</d/one.db-wal>, \"\"..., 4096) = 4096
17 write(1</dev/null>, \"\"..., 7) = 7
17 ftruncate(5</d/one.db>, 0) = 0
17 fdatasync(5</d/one.db>) = 0
17 fsync(7</d>) = 0
17 unlink(\"/d/one.db-journal\") = 0
17 unlink(\"/d/one.db-wal\") = -1 ENOENT (No such file or directory)
17 unlink(\"/d/one.db-shm\") = 0
17 fallocate(5</d/one.db>, 0, 0, 9) = 0
17 +++ exited with 0 +++
";
    assert_eq!(
        operations_in(trace, Path::new("/d")),
        [
            "write one.db at 8192, 4096 bytes",
            "write one.db-wal at 32, 24 bytes",
            "write one.db-wal at 56, 4096 bytes",
            "truncate one.db to 0",
            "sync one.db",
            "sync the directory",
            "unlink one.db-journal",
            "fallocate of one.db",
        ]
    );
}
