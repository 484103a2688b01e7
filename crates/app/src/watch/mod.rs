//! Programs watched while they run: their statements as they are executed, without a trace.

mod document;
mod metrics;
mod slow;

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use recorder::read::{Growing, Recording};
use recorder::{Folder, Options, Values};
use trace::analysis::Analysis;
use trace::live::{DatabaseUse, Execution, Live};
use trace::seal::Sealed;

pub use self::document::{Order, live, ordered, statement, summary};
use self::metrics::Server;
use self::slow::SlowLog;
use crate::error::{Error, Result};
use crate::files::work_folder;
use crate::record::run_with;

/// How often the recording is read.
const POLL: Duration = Duration::from_millis(200);

/// A program to watch.
pub struct WatchRequest {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// The file for a line of each slow statement.
    pub log: Option<PathBuf>,
    /// The time from which a statement is slow.
    pub slower: Duration,
    /// The address at which figures are served.
    pub openmetrics: Option<SocketAddr>,
    /// The file for the program's output; the program then has no input. Without a file, it shares this process's.
    pub output: Option<File>,
}

/// A watched program at one moment.
#[derive(Clone, Debug, Default)]
pub struct Moment {
    /// How long it has run.
    pub elapsed: Duration,
    /// Its statements.
    pub analysis: Analysis,
    /// Processes that use SQLite now.
    pub processes: usize,
    /// All that was seen so far, and why statements are missing.
    pub seen: Sealed,
    /// Its databases in files.
    pub databases: Vec<Database>,
    /// The time since the moment before, and the figures of then.
    since: Option<(Duration, Counts)>,
    /// Problems of the watching itself.
    pub problems: Vec<String>,
}

/// A database of a watched program.
#[derive(Clone, Debug)]
pub struct Database {
    /// Its path.
    pub path: String,
    /// Open connections.
    pub connections: u64,
    /// The size of its write-ahead log, in bytes; 0 without one.
    pub wal_bytes: u64,
    /// The largest size that was seen.
    pub largest_wal_bytes: u64,
}

/// Figures that grow.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    statements: u64,
    commits: u64,
    refused: u64,
    waited_ns: u64,
}

impl Counts {
    fn of(analysis: &Analysis) -> Counts {
        let refused =
            analysis.failures.iter().filter(|failure| matches!(failure.code & 0xff, 5 | 6));
        Counts {
            statements: analysis.events,
            commits: analysis.commits,
            refused: refused.map(|failure| failure.count).sum(),
            waited_ns: analysis.waited_ns,
        }
    }
}

/// Shows a program while it runs.
pub trait Screen: Send {
    /// Returns whether it wants to show something now; it is asked several times a second.
    fn is_due(&mut self) -> bool;

    /// Shows a moment.
    fn show(&mut self, moment: &Moment);
}

/// Runs a program to its end; returns how it ended, and the last moment.
///
/// # Errors
/// The recording, the log or the address cannot be used, or the program cannot be started.
pub fn watch(
    request: WatchRequest,
    screen: Option<&mut dyn Screen>,
) -> Result<(ExitStatus, Moment)> {
    let server = request.openmetrics.map(Server::bind).transpose()?;
    // Removed by a later command if this one is killed.
    let work = work_folder(&std::env::temp_dir())?;
    let options = Options { values: Values::LeftOut, ..Options::default() };
    let folder = Folder::create(&work.path.join("watch"), &options).map_err(|error| {
        Error::unusable(error).hint("choose another directory for temporary files with TMPDIR")
    })?;
    let mut watcher = Watcher::new(&request, &folder, server)?;
    let mut command = command(&request, &folder)?;
    let has_ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| watcher.follow(&has_ended, screen));
        let status = run_with(&mut command);
        has_ended.store(true, Ordering::Relaxed);
        let moment = watching.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok((status?, moment))
    })
}

fn command(request: &WatchRequest, folder: &Folder) -> Result<Command> {
    let Some((program, arguments)) = request.command.split_first() else {
        return Err(Error::mistake("no program to watch").hint("write it after `--`"));
    };
    let mut command = Command::new(program);
    command.args(arguments);
    command.env("LD_PRELOAD", folder.preload(std::env::var_os("LD_PRELOAD").as_deref()));
    if let Some(output) = &request.output {
        let copy = || output.try_clone().map_err(Error::unusable);
        command.stdin(Stdio::null()).stdout(copy()?).stderr(copy()?);
    }
    Ok(command)
}

/// Reads what the program records.
struct Watcher {
    recording: Growing,
    live: Live,
    began: Instant,
    server: Option<Server>,
    log: Option<SlowLog>,
    before: Option<(Instant, Counts)>,
    /// The largest log of each database so far.
    logs: HashMap<String, u64>,
}

impl Watcher {
    fn new(request: &WatchRequest, folder: &Folder, server: Option<Server>) -> Result<Watcher> {
        let recording = Recording::open(&folder.raw()).map_err(Error::unusable)?;
        let create = |path| SlowLog::create(path, request.slower, recording.started_wall());
        let log = request.log.as_deref().map(create).transpose()?;
        Ok(Watcher {
            recording: Growing::open(&folder.raw()).map_err(Error::unusable)?,
            live: Live::new(recording.started()),
            began: Instant::now(),
            server,
            log,
            before: None,
            logs: HashMap::new(),
        })
    }

    fn follow(
        &mut self,
        has_ended: &AtomicBool,
        mut screen: Option<&mut dyn Screen>,
    ) -> Result<Moment> {
        loop {
            // What is written until the end is read after it.
            let is_last = has_ended.load(Ordering::Relaxed);
            self.read()?;
            if is_last && !self.recording.is_behind() {
                return self.moment();
            }
            if let Some(server) = &mut self.server {
                let (began, live, logs) = (self.began, &self.live, &mut self.logs);
                server.answer(|| {
                    metrics::text(&live.analysis(), &databases(live, logs), began.elapsed())
                });
            }
            if let Some(screen) = &mut screen
                && screen.is_due()
            {
                screen.show(&self.moment()?);
            }
            std::thread::sleep(POLL);
        }
    }

    fn read(&mut self) -> Result<()> {
        let (live, log) = (&mut self.live, &mut self.log);
        let mut ended = |execution: &Execution<'_>| {
            if let Some(log) = log {
                log.take(execution);
            }
        };
        let read = self.recording.poll(|seen| live.take(&seen, &mut ended));
        live.settle(&mut ended);
        databases(live, &mut self.logs);
        read.map_err(Error::unusable)
    }

    fn moment(&mut self) -> Result<Moment> {
        let analysis = self.live.analysis();
        let recording = self.recording.now().map_err(Error::unusable)?;
        let counts = Counts::of(&analysis);
        let before = self.before.replace((Instant::now(), counts));
        let mut problems = Vec::new();
        if !self.recording.releases() {
            problems.push(
                "the file system for temporary files cannot free parts of a file, so the recording grows: set TMPDIR to another file system"
                    .to_owned(),
            );
        }
        problems.extend(self.log.as_ref().and_then(SlowLog::problem));
        Ok(Moment {
            elapsed: self.began.elapsed(),
            processes: self.live.processes(),
            databases: databases(&self.live, &mut self.logs),
            since: before.map(|(at, counts)| (at.elapsed(), counts)),
            seen: Sealed {
                lost: recording.lost(),
                preloaded: recording.preloaded(),
                events: analysis.events,
                ..self.live.seen().clone()
            },
            problems,
            analysis,
        })
    }
}

/// Returns the databases as they are now; `logs` keeps the largest log of each.
fn databases(live: &Live, logs: &mut HashMap<String, u64>) -> Vec<Database> {
    let database = |(path, usage): (&str, DatabaseUse)| {
        let wal_bytes = std::fs::metadata(format!("{path}-wal")).map_or(0, |log| log.len());
        let largest = logs.entry(path.to_owned()).or_default();
        *largest = wal_bytes.max(usage.log_bytes).max(*largest);
        Database {
            path: path.to_owned(),
            connections: usage.connections,
            wal_bytes,
            largest_wal_bytes: *largest,
        }
    };
    live.databases().map(database).collect()
}
