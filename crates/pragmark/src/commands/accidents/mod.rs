//! The accidents of `pragmark crash` that are made to happen: killed processes and schedules.

mod told;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use accidents::AccidentError;
use accidents::kill::{self, Setting};
use accidents::schedule::{Extent, Schedule, Stage, explore_all};
use clap::Args;
use engine::{Library, Source};
use indicatif::{ProgressBar, ProgressStyle};
use runner::workdir::WorkDir;

use super::output;
use crate::cli::CrashFormat;
use crate::failure::{Exit, Failure};
use crate::interrupt;

/// The journal modes under which processes are killed, unless stated: those that promise to survive it.
const JOURNAL_MODES: [&str; 4] = ["delete", "truncate", "persist", "wal"];

/// Accidents that are made to happen, instead of being derived from a recording.
#[derive(Debug, Args)]
#[command(next_help_heading = "Accidents that really happen")]
pub struct AccidentArgs {
    /// Kill N processes while they write, at random moments on a real file system, and check what
    /// they leave. It takes about 30 s for a thousand.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with_all = ["schedules", "schedule", "experiment", "script", "model", "psow", "images", "quick", "page_size", "threads", "second_crash_every", "plain"])]
    pub kill: Option<u64>,
    /// Let two connections meet at every instant, in at most N schedules of each scenario: finds
    /// damage that needs no crash.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "20000", value_parser = clap::value_parser!(u64).range(1..), conflicts_with_all = ["schedule", "experiment", "script", "model", "psow", "images", "quick", "page_size", "threads", "second_crash_every", "plain", "synchronous", "locking_mode", "out"])]
    pub schedules: Option<u64>,
    /// Play one schedule again, as --schedules printed it, and tell every call.
    #[arg(long, value_name = "SCHEDULE", conflicts_with_all = ["experiment", "script", "model", "psow", "images", "quick", "page_size", "threads", "second_crash_every", "plain", "journal_mode", "synchronous", "locking_mode", "out", "format"])]
    pub schedule: Option<Schedule>,
    /// Directory for the databases of these accidents [default: the current directory for --kill,
    /// memory for schedules].
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// What the accidents share with the rest of `crash`.
pub struct Common<'a> {
    /// The engine.
    pub engine: Source,
    /// The seed of all random choices.
    pub seed: u64,
    /// Where to keep what is damaged.
    pub out: Option<&'a Path>,
    /// The form in which outcomes are printed.
    pub format: CrashFormat,
    /// Journal modes, synchronous and locking modes; empty where not stated.
    pub settings: [Vec<String>; 3],
}

impl AccidentArgs {
    /// Whether one of them was asked for.
    pub fn any(&self) -> bool {
        self.kill.is_some() || self.schedules.is_some() || self.schedule.is_some()
    }
}

/// Makes the accident that was asked for happen.
pub fn execute(args: &AccidentArgs, common: &Common<'_>) -> Result<Exit, Failure> {
    if let Some(schedule) = &args.schedule {
        return replay(schedule, common, &memory(args));
    }
    let stop = interrupt::flag()?;
    match (args.kill, args.schedules) {
        (Some(kills), _) => kill_writers(kills, args, common, &stop),
        (None, limit) => explore_schedules(limit.unwrap_or(1), common, &memory(args), &stop),
    }
}

/// A directory in memory where the system has one: schedules need no disk.
fn memory(args: &AccidentArgs) -> PathBuf {
    let shared_memory = Path::new("/dev/shm");
    match &args.dir {
        Some(directory) => directory.clone(),
        None if shared_memory.is_dir() => shared_memory.to_owned(),
        None => std::env::temp_dir(),
    }
}

fn load(common: &Common<'_>) -> Result<Arc<Library>, Failure> {
    Library::load(&common.engine)
        .map(Arc::new)
        .map_err(Failure::unusable)
}

fn kill_writers(
    kills: u64,
    args: &AccidentArgs,
    common: &Common<'_>,
    stop: &AtomicBool,
) -> Result<Exit, Failure> {
    if let Some(out) = common.out.filter(|out| out.exists()) {
        return Err(Failure::usage(format!("{} exists already", out.display()))
            .hint("name another folder with --out"));
    }
    let program = std::env::current_exe()
        .map_err(|error| Failure::unusable(format!("cannot find the program itself: {error}")))?;
    let directory = args.dir.clone().unwrap_or_else(|| PathBuf::from("."));
    let work = WorkDir::create(&directory, &runner::run_id())?;
    let folder = work
        .path()
        .canonicalize()
        .map_err(|error| Failure::unusable(format!("{}: {error}", work.path().display())))?;
    let plan = kill::Plan {
        program,
        arguments: vec!["write-until-killed".into()],
        engine: common.engine.clone(),
        settings: settings(&common.settings),
        kills,
        seed: common.seed,
        folder,
        keep: common.out.map(Path::to_owned),
    };
    let bar = bar(kills, "kills");
    let outcomes = kill::run(&plan, stop, |killed| bar.set_position(killed))?;
    bar.finish_and_clear();
    output::write_text(None, &told::kills(&outcomes, common))?;
    Ok(ended(stop))
}

fn ended(stop: &AtomicBool) -> Exit {
    if stop.load(Ordering::Relaxed) {
        Exit::Interrupted
    } else {
        Exit::Success
    }
}

/// Every combination of the values stated.
fn settings(stated: &[Vec<String>; 3]) -> Vec<Setting> {
    let or = |values: &[String], default: &[&str]| match values {
        [] => default.iter().map(|value| (*value).to_owned()).collect(),
        values => values.to_vec(),
    };
    let [journal_modes, synchronous, locking_modes] = stated;
    let mut settings = Vec::new();
    for locking_mode in or(locking_modes, &["normal"]) {
        for synchronous in or(synchronous, &["full"]) {
            for journal_mode in or(journal_modes, &JOURNAL_MODES) {
                settings.push(Setting {
                    journal_mode,
                    synchronous: synchronous.clone(),
                    locking_mode: locking_mode.clone(),
                });
            }
        }
    }
    settings
}

fn bar(length: u64, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    // The template is fixed, so that it parses is checked by the stories.
    if let Ok(style) = ProgressStyle::with_template("{pos} of {len} {msg}, {eta} to go {wide_bar}")
    {
        bar.set_style(style);
    }
    bar.set_message(what);
    bar
}

fn explore_schedules(
    limit: u64,
    common: &Common<'_>,
    folder: &Path,
    stop: &AtomicBool,
) -> Result<Exit, Failure> {
    let library = load(common)?;
    let journal_modes = &common.settings[0];
    let extent = Extent {
        limit,
        seed: common.seed,
        threads: std::thread::available_parallelism().map_or(1, usize::from),
    };
    let wanted = |mode: &str| journal_modes.is_empty() || journal_modes.iter().any(|m| m == mode);
    let scenarios = accidents::schedule::all()
        .filter(|(_, mode)| wanted(mode))
        .count();
    let bar = bar(scenarios as u64, "scenarios");
    let explored = explore_all(
        &library,
        folder,
        extent,
        |_, mode| wanted(mode),
        stop,
        |_| bar.inc(1),
    )?;
    bar.finish_and_clear();
    output::write_text(None, &told::schedules(&explored, common))?;
    Ok(ended(stop))
}

fn replay(schedule: &Schedule, common: &Common<'_>, folder: &Path) -> Result<Exit, Failure> {
    let library = load(common)?;
    let played = Stage::new(&library, folder)?.play(schedule, true)?;
    let head =
        format!("{schedule}: calls of the first connection by number, acts of both indented");
    let trace = played.trace.join("\n");
    let came_of_it = match played.wrong.len() {
        0 => "nothing went wrong".to_owned(),
        wrong => format!("{wrong} things went wrong"),
    };
    output::write_text(None, &format!("{head}\n\n{trace}\n\n{came_of_it}\n"))
}

/// `pragmark write-until-killed`: the process that is killed, started by `--kill`.
pub fn write_until_killed() -> Result<Exit, Failure> {
    kill::write_until_killed(std::io::stdin().lock(), std::io::stdout().lock())
        .map_err(Failure::unusable)?;
    Ok(Exit::Success)
}

impl From<AccidentError> for Failure {
    fn from(error: AccidentError) -> Failure {
        let hint = match &error {
            AccidentError::File { .. } => Some("name another directory with --dir"),
            AccidentError::Writer { .. } => {
                Some("the settings, or the engine, are ones that cannot be written with")
            }
            _ => None,
        };
        let failure = Failure::unusable(error);
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
