//! SQLite on a real file system, on a disk that loses power: whether the storage models say what really happens.
//!
//! A file system of the kernel is made on a disk in user space (`device`), which notes each write and each flush. SQLite
//! works on it. Then the disk is cut off at many moments, with and without what its cache held (`cache`); what is left is
//! mounted, so that the file system recovers; the engine recovers the database, and what it holds is compared with every
//! commit, as with the images of storage models.

mod cache;
mod device;
mod mounted;

use self::cache::{Cuts, Kept};
use self::device::{Device, Operation};
pub use self::mounted::{FILE_SYSTEMS, FileSystem};
use self::mounted::{Mounted, sync};
use crash::{
    Action, Content, CrashError, CrashSettings, JournalMode, Model, Plan, Script, measure,
};
use engine::{Connection, EngineError, Library, OpenFlags, Source};
use lab::seed::Seed;
use lab::tier::{Counts, Losses};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

/// The models that are compared with real file systems.
pub const COMPARED: [Model; 4] = [Model::Ordered, Model::Ext4Ordered, Model::Reorder, Model::Torn];

/// Crash images of each model.
const MODEL_IMAGES: usize = 8_000;

/// The system writes back what was not synced after every so many acts.
const WRITE_BACK_EVERY: usize = 5;

/// What power cuts left of one file system under some settings.
#[derive(Debug, Clone, Default)]
pub struct Left {
    /// The cuts after which it could be mounted.
    pub counts: Counts,
    /// The cuts after which it could not: those say nothing of SQLite.
    pub unmountable: u64,
    /// What was wrong with the first database that was damaged.
    pub witness: Option<String>,
    /// What was done to the disk: writes and flushes.
    pub writes: usize,
    /// See `writes`.
    pub flushes: usize,
}

/// A commit: how much had been done to the disk when it was acknowledged, and what it left.
struct Commit {
    position: usize,
    content: Content,
}

/// What was recorded.
struct Recorded {
    before: device::Content,
    log: Vec<Operation>,
    commits: Vec<Commit>,
}

/// What is done under some settings, on the device and in the models.
pub fn workload(settings: &CrashSettings) -> Script {
    let is_wal = settings.journal_mode == JournalMode::Wal;
    let mut actions = Vec::new();
    let mut sql = |text: &str| {
        let sql = text.to_owned();
        actions.push(Action::Sql { sql, line: 0 });
    };
    let rows = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 90)";
    sql("BEGIN; CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); CREATE INDEX t_v ON t(v); COMMIT");
    sql(&format!("{rows} INSERT INTO t SELECT i, printf('%0200d', i) FROM n"));
    for id in 1..8 {
        sql(&format!("UPDATE t SET v = 'short {id}' WHERE id = {id}"));
    }
    sql("PRAGMA cache_size = 3");
    for turn in 1..4 {
        sql(&format!("BEGIN; UPDATE t SET v = v || 'all{turn}'; COMMIT"));
        if settings.journal_mode != JournalMode::Off {
            sql(
                "BEGIN; UPDATE t SET v = v || 'never'; INSERT INTO t SELECT id + 500, v FROM t; ROLLBACK",
            );
        }
        sql(&format!("DELETE FROM t WHERE id = {}", 20 + turn));
        if is_wal {
            sql("PRAGMA wal_checkpoint(RESTART)");
        }
        sql(&format!("{rows} INSERT INTO t SELECT i + 1000 * {turn}, printf('%0150d', i) FROM n"));
        for id in 30..34 {
            sql(&format!("UPDATE t SET v = 'again {turn}' WHERE id = {id}"));
        }
    }
    actions.push(Action::Reopen);
    let mut sql = |text: String| actions.push(Action::Sql { sql: text, line: 0 });
    sql("DELETE FROM t WHERE id BETWEEN 2000 AND 3000".to_owned());
    for id in 40..46 {
        sql(format!("UPDATE t SET v = 'late' WHERE id = {id}"));
    }
    Script { path: None, actions }
}

/// Records SQLite on a file system, cuts the power so many times, and judges what is left.
///
/// # Errors
/// The system does not permit it, or lacks what it takes.
pub fn cut_power(
    system: &FileSystem,
    settings: &CrashSettings,
    cuts: usize,
    seed: Seed,
) -> Result<Left, Box<dyn Error>> {
    let library = Arc::new(Library::load(&Source::Embedded)?);
    let (disks, mount) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let device = Device::below(disks.path())
        .map_err(|error| format!("cannot mount a file system in user space (FUSE): {error}"))?;
    let recorded = record(&library, &device, system, settings, mount.path())?;
    let is_flush = |operation: &&Operation| **operation == Operation::Flush;
    let flushes = recorded.log.iter().filter(is_flush).count();
    let mut left = Left { writes: recorded.log.len() - flushes, flushes, ..Left::default() };
    let mut random = seed.generator();
    let mut power = Cuts::new(recorded.before.clone(), &recorded.log);
    for number in 0..cuts {
        let cut = (number + 1) * recorded.log.len() / cuts;
        let kept = Kept::ALL[number % Kept::ALL.len()];
        let name = format!("cut-{number}");
        let content = power.left(cut, kept, &mut random);
        let disk = device.add(&name, system.size, content);
        match Mounted::again(system, &disk, mount.path()) {
            Err(_) => left.unmountable += 1,
            Ok(mounted) => {
                judge(&library, &recorded, cut, mount.path(), &mut left);
                mounted.end()?;
            }
        }
        device.remove(&name);
    }
    Ok(left)
}

fn record(
    library: &Arc<Library>,
    device: &Device,
    system: &FileSystem,
    settings: &CrashSettings,
    mount: &Path,
) -> Result<Recorded, Box<dyn Error>> {
    const DISK: &str = "disk";
    let disk = device.add(DISK, system.size, device::Content::default());
    system.make(&disk)?;
    let before = device.begin_log(DISK);
    let mounted = Mounted::first(system, &disk, mount)?;
    let mut connection = open(library, mount, settings)?;
    let mut commits = vec![Commit { position: 0, content: Content::empty() }];
    for (number, action) in workload(settings).actions.iter().enumerate() {
        match action {
            Action::Sql { sql, .. } => connection.execute(sql)?,
            _ => {
                connection.close()?;
                connection = open(library, mount, settings)?;
            }
        }
        let position = device.position(DISK);
        let content = Content::read(&connection, "main")?;
        if commits.last().is_none_or(|last| last.content != content) {
            commits.push(Commit { position, content });
        }
        if number % WRITE_BACK_EVERY == WRITE_BACK_EVERY - 1 {
            sync(mount)?;
        }
    }
    connection.close()?;
    mounted.end()?;
    Ok(Recorded { before, log: device.take_log(DISK), commits })
}

/// Opens the database as the crash laboratory does.
fn open(
    library: &Arc<Library>,
    mount: &Path,
    settings: &CrashSettings,
) -> Result<Connection, EngineError> {
    let path = mount.join(crash::MAIN);
    let connection = Connection::open(library, &path, OpenFlags::default(), None)?;
    connection.execute(&format!(
        "PRAGMA locking_mode = {}; PRAGMA synchronous = {}; PRAGMA journal_mode = {}",
        settings.locking_mode, settings.synchronous, settings.journal_mode
    ))?;
    Ok(connection)
}

/// Counts what a cut left.
fn judge(library: &Arc<Library>, recorded: &Recorded, cut: usize, mount: &Path, left: &mut Left) {
    let commits = &recorded.commits;
    let acknowledged = commits.partition_point(|commit| commit.position <= cut) - 1;
    let reached = commits.len().min(acknowledged + 2);
    let held = recovered(library, &mount.join(crash::MAIN)).and_then(|content| {
        let known = |commit: &Commit| commit.content == content;
        let held = commits[..reached].iter().rposition(known);
        held.ok_or_else(|| "it holds what no transaction ever committed".to_owned())
    });
    let lost = match &held {
        Ok(held) => acknowledged.saturating_sub(*held) as u64,
        Err(_) => 0,
    };
    let counts = Counts::of(1, u64::from(held.is_err()), u64::from(lost > 0), lost);
    left.counts = left.counts.plus(counts);
    if let Err(why) = held {
        left.witness.get_or_insert(why);
    }
}

/// What the engine recovers from a database, or what is wrong with it.
fn recovered(library: &Arc<Library>, database: &Path) -> Result<Content, String> {
    if !database.exists() {
        return Ok(Content::empty());
    }
    let read = || -> Result<Result<Content, String>, EngineError> {
        let connection = Connection::open(library, database, OpenFlags::default(), None)?;
        let check = connection.query_text("PRAGMA integrity_check(1)")?;
        let content = match check == "ok" {
            true => Ok(Content::read(&connection, "main")?),
            false => Err(check),
        };
        connection.close()?;
        Ok(content)
    };
    read().unwrap_or_else(|error| Err(error.to_string()))
}

/// What the storage models say of the same work.
///
/// # Errors
/// Those of measuring.
pub fn modelled(settings: &CrashSettings, seed: Seed) -> Result<Vec<(Model, Losses)>, CrashError> {
    let plan = Plan {
        second_crash_every: 0,
        interruptions: 0,
        seed,
        script: Some(workload(settings)),
        ..Plan::new(vec![*settings], COMPARED.to_vec(), MODEL_IMAGES)
    };
    let cells = measure(&plan)?.cells;
    let all = cells.into_iter();
    Ok(all.map(|cell| (cell.model, cell.safety.whole())).collect())
}
