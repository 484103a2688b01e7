//! Processes that are killed while they write, on the real file system.
//!
//! A child writes numbered transactions, whose content follows from their number, and reports each
//! acknowledged one on a pipe. It is killed with SIGKILL at a random moment. Then the database is opened: it
//! must be sound, hold every acknowledged transaction and at most one more, and exactly their rows. Every
//! other time the next child opens the database before it is checked, so that recovery itself is killed too.
//!
//! A killed process leaves everything it wrote to the system, so this test says nothing about power failures.
//! It is the one accident that can be caused for real.

mod content;
mod judge;
mod writer;

pub use judge::Damage;
pub use writer::{WriterSpec, write_until_killed};

use crate::error::{CrashError, Result};
use crate::settings::CrashSettings;
use content::Expected;
use engine::{Library, Source};
use judge::{check_engine, check_last, judge};
use lab::seed::{Seed, SplitMix64};
use process::{Group, Process};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;
use writer::in_words;

/// The longest time from `ready` to the kill. A commit takes from tens of microseconds to some milliseconds,
/// so that a kill falls into the opening, the recovery or one of the first hundreds of transactions.
const MAX_LIFE: Duration = Duration::from_millis(25);

/// Time in which a child must say `ready`: it only has to load its engine.
const READY_TIMEOUT: Duration = Duration::from_secs(60);

/// After one in this many kills the next child begins with an empty folder, so that the creation of the
/// database is killed too.
const FRESH_ONE_IN: u64 = 16;

/// The hidden command of the program that writes until it is killed.
pub const COMMAND: &str = "write-until-killed";

/// The name of the database in the folder of a run.
const DATABASE: &str = "killed.db";

/// The plan of a test.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The executable that writes: one that calls [`write_until_killed`].
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The engine that writes and judges.
    pub engine: Source,
    /// The settings.
    pub settings: CrashSettings,
    /// How many processes to kill.
    pub kills: u64,
    /// Seed of the rows and of the moments.
    pub seed: u64,
    /// A folder on the file system under test; made if it is not there, and removed by its owner.
    pub folder: PathBuf,
    /// Where to copy damaged databases, if anywhere.
    pub keep: Option<PathBuf>,
}

/// The outcome of the kills under one setting.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Processes killed.
    pub kills: u64,
    /// The kills that left a journal or a log to recover.
    pub unfinished: u64,
    /// Databases opened and checked.
    pub checked: u64,
    /// Transactions acknowledged.
    pub acknowledged: u64,
    /// The damaged databases.
    pub findings: Vec<Finding>,
}

/// A database that was damaged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// After which kill, counted from 1.
    pub kill: u64,
    /// The damage.
    pub damage: Damage,
    /// Where its files are, as SQLite left them after the look at them, if they were kept.
    pub kept: Option<PathBuf>,
}

impl Outcome {
    /// Returns the verdict in words.
    pub fn verdict(&self) -> String {
        let bad = self.findings.len();
        if bad == 0 {
            format!("no violation in {} kills", self.kills)
        } else if self.findings.iter().all(|finding| finding.damage.is_loss()) {
            format!("loses recent commits, never corrupts ({bad} of {} kills)", self.kills)
        } else {
            format!("can corrupt ({bad} of {} kills)", self.kills)
        }
    }
}

/// Kills until the plan is fulfilled.
///
/// # Errors
/// A writer that does not start, ends by itself or writes something unexpected; a folder that cannot be used.
/// Damage to a database is a finding instead.
pub fn run(plan: &Plan) -> Result<Outcome> {
    let mut test = KillTest::new(plan)?;
    check_engine(&test.library, &plan.folder)?;
    for _ in 0..plan.kills {
        test.kill_once()?;
    }
    test.look()?;
    test.reset()?;
    Ok(test.outcome)
}

/// The database, over its kills.
struct KillTest<'a> {
    plan: &'a Plan,
    library: Arc<Library>,
    seed: Seed,
    generator: SplitMix64,
    folder: PathBuf,
    /// The last transaction acknowledged since the folder was empty.
    acknowledged: Option<u64>,
    expected: Expected,
    /// Whether the database has not been looked at since the last kill.
    unseen: bool,
    outcome: Outcome,
}

impl<'a> KillTest<'a> {
    fn new(plan: &'a Plan) -> Result<KillTest<'a>> {
        let library = Library::load(&plan.engine)
            .map_err(CrashError::engine("loading the engine that judges"))?;
        let seed = Seed(plan.seed).child("kill").nth(0);
        let folder = plan.folder.join("kill-0");
        std::fs::create_dir_all(&folder).map_err(CrashError::io("create", &folder))?;
        Ok(KillTest {
            plan,
            library: Arc::new(library),
            seed,
            generator: seed.child("moments").generator(),
            folder,
            acknowledged: None,
            expected: Expected::new(seed),
            unseen: false,
            outcome: Outcome::default(),
        })
    }

    fn database(&self) -> PathBuf {
        self.folder.join(DATABASE)
    }

    fn kill_once(&mut self) -> Result<()> {
        let life = MAX_LIFE.mul_f64(self.generator.below(1_000_000) as f64 / 1e6);
        let output = self.let_write_and_kill(life)?;
        self.outcome.kills += 1;
        self.outcome.unfinished += u64::from(left_unfinished(&self.database()));
        self.unseen = true;
        if let Err(damage) = self.note_output(&output.lines)? {
            return self.record(damage);
        }
        if !output.error_output.is_empty() {
            // Either the database is damaged, or the writer cannot work with these settings.
            let before = self.outcome.findings.len();
            self.look()?;
            return if self.outcome.findings.len() > before {
                Ok(())
            } else {
                Err(self.writer_failed(output.error_output))
            };
        }
        if self.generator.below(2) == 0 {
            self.look()?;
        }
        if self.generator.below(FRESH_ONE_IN) == 0 {
            self.look()?;
            self.reset()?;
        }
        Ok(())
    }

    /// Starts a writer and kills it after a time.
    fn let_write_and_kill(&self, life: Duration) -> Result<WriterOutput> {
        let mut writer = Writer::start(self.plan, &self.spec())?;
        match writer.lines.recv_timeout(READY_TIMEOUT) {
            Ok(line) if line == "ready\n" => thread::sleep(life),
            Ok(line) => {
                return Err(self
                    .writer_failed(format!("it wrote `{}` instead of `ready`", line.trim_end())));
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(self.writer_failed(writer.kill().error_output));
            }
            Err(RecvTimeoutError::Timeout) => {
                return Err(self.writer_failed(format!("it was not ready after {READY_TIMEOUT:?}")));
            }
        }
        Ok(writer.kill())
    }

    fn writer_failed(&self, why: String) -> CrashError {
        let setting = in_words(&self.plan.settings);
        CrashError::Writer(format!("the writing process failed with {setting}: {why}"))
    }

    fn spec(&self) -> WriterSpec {
        WriterSpec {
            engine: self.plan.engine.clone(),
            database: self.database(),
            settings: self.plan.settings,
            seed: self.seed.0,
        }
    }

    /// Notes the output of a writer; the inner error is damage that the writer itself met.
    fn note_output(&mut self, said: &[String]) -> Result<Result<(), Damage>> {
        for line in said {
            let (at, number) = match line.strip_prefix("at ") {
                Some(number) => (true, number),
                None => (false, line.as_str()),
            };
            let number = match number {
                "none" => None,
                number => Some(number.parse::<u64>().map_err(|_| {
                    self.writer_failed(format!("it said `{line}`, which is no transaction"))
                })?),
            };
            if at {
                if let Err(damage) = check_last(self.acknowledged, number) {
                    return Ok(Err(damage));
                }
            } else {
                self.outcome.acknowledged += 1;
            }
            self.acknowledged = number.or(self.acknowledged);
        }
        Ok(Ok(()))
    }

    /// Opens and checks the database.
    fn look(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.unseen) {
            return Ok(());
        }
        self.outcome.checked += 1;
        match judge(&self.library, &self.database(), self.acknowledged, &mut self.expected)? {
            Ok(found) => {
                self.acknowledged = found;
                Ok(())
            }
            Err(damage) => self.record(damage),
        }
    }

    fn record(&mut self, damage: Damage) -> Result<()> {
        let kept = self.keep()?;
        self.outcome.findings.push(Finding { kill: self.outcome.kills, damage, kept });
        self.reset()
    }

    /// Copies the files of a damaged database to where they are to be kept.
    fn keep(&self) -> Result<Option<PathBuf>> {
        let Some(parent) = &self.plan.keep else { return Ok(None) };
        let (settings, kills) = (&self.plan.settings, self.outcome.kills);
        let kept = parent.join(format!(
            "kill-{}-{}-{}-{kills}",
            settings.journal_mode, settings.synchronous, settings.locking_mode
        ));
        std::fs::create_dir_all(&kept).map_err(CrashError::io("create", &kept))?;
        for file in files(&self.folder)? {
            let name = file.file_name().unwrap_or_default();
            std::fs::copy(&file, kept.join(name)).map_err(CrashError::io("copy", &file))?;
        }
        Ok(Some(kept))
    }

    fn reset(&mut self) -> Result<()> {
        remove_files(&self.folder)?;
        self.acknowledged = None;
        self.expected = Expected::new(self.seed);
        self.unseen = false;
        Ok(())
    }
}

pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    std::fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .map_err(CrashError::io("read", folder))
}

pub(crate) fn remove_files(folder: &Path) -> Result<()> {
    files(folder)?
        .iter()
        .try_for_each(|file| std::fs::remove_file(file).map_err(CrashError::io("remove", file)))
}

/// Returns whether the dead process left a rollback journal that is not ended, or a log that is not empty.
fn left_unfinished(database: &Path) -> bool {
    let with_suffix = |suffix: &str| database.with_file_name(format!("{DATABASE}{suffix}"));
    let first_byte = std::fs::File::open(with_suffix("-journal")).and_then(|mut journal| {
        let mut byte = [0];
        journal.read(&mut byte).map(|_| byte[0])
    });
    let log = std::fs::metadata(with_suffix("-wal")).map_or(0, |log| log.len());
    first_byte.is_ok_and(|byte| byte != 0) || log > 0
}

/// The output of a child.
struct WriterOutput {
    /// Lines that it wrote after `ready`.
    lines: Vec<String>,
    /// The end of its error output, where it met an error before it was killed.
    error_output: String,
}

/// A running child, killed when dropped.
struct Writer {
    process: Process,
    lines: Receiver<String>,
}

impl Writer {
    fn start(plan: &Plan, spec: &WriterSpec) -> Result<Writer> {
        let mut command = Command::new(&plan.program);
        command
            .args(&plan.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = Process::start(&mut command, Group::Shared)?;
        let lines = process.lines();
        process.send(&serde_json::to_string(spec).unwrap_or_default());
        Ok(Writer { process, lines })
    }

    /// Kills the child; the kill may have cut its last line.
    fn kill(&mut self) -> WriterOutput {
        self.process.kill();
        let whole = |line: String| line.strip_suffix('\n').map(str::to_owned);
        WriterOutput {
            lines: self.lines.iter().filter_map(whole).collect(),
            error_output: self.process.errors(),
        }
    }
}
