#![forbid(unsafe_code)]
//! The proofs as commands, for the runs that are too long for tests.

#[cfg(target_os = "linux")]
mod real;
#[cfg(not(target_os = "linux"))]
mod real {
    pub fn compare(
        _: &[String],
        _: &[String],
        _: usize,
        _: u64,
    ) -> Result<bool, Box<dyn std::error::Error>> {
        Err("block devices under FUSE exist on Linux only".into())
    }
}

mod sweep;
mod trial;

use clap::{Parser, Subcommand};
use crash::CrashError;
use crash::schedule::Extent;
use crash::syncs;
use engine::{Library, Source};
use lab::record::SyncCheck;
use pragmark_proofs::{Crashes, Instrument, Mutants, Mutation, look_for_alarms, noticed_by};
use signal_hook::consts::{SIGABRT, SIGHUP, SIGINT, SIGTERM};
use std::error::Error;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Instant;
use sweep::Sweep;
use trial::Trial;

/// Proves that the crash laboratory notices broken engines, and raises no false alarm.
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    command: Do,
}

#[derive(Debug, Subcommand)]
enum Do {
    /// List the mutations.
    List,
    /// Write mutant engines as libraries that `--engine` takes.
    Write {
        /// Their names [default: all, and the sound engine].
        mutations: Vec<String>,
        /// The folder, which must exist.
        #[arg(long, default_value = ".")]
        out: PathBuf,
    },
    /// Test every mutant with the instruments; fails unless each detectable one is detected.
    Mutants {
        /// Their names [default: all].
        mutations: Vec<String>,
        /// Crash images of each cell of the matrix.
        #[arg(long, default_value_t = 3_000)]
        images: usize,
        /// Schedules of each scenario.
        #[arg(long, default_value_t = 3_000)]
        schedules: u64,
        /// Seed of all random choices.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Threads.
        #[arg(long, default_value_t = threads())]
        threads: usize,
    },
    /// Test mutants that are computed from the text of SQLite, one after another; continues where it was ended.
    Generated {
        /// Their names [default: all].
        mutants: Vec<String>,
        /// The folder of engines, controls and results.
        #[arg(long, default_value = "generated-mutants")]
        folder: PathBuf,
        /// Test the first N in the random order of the seed [default: all].
        #[arg(long, value_name = "N")]
        sample: Option<usize>,
        /// Crash images of each cell of the matrix.
        #[arg(long, default_value_t = 300)]
        images: usize,
        /// Schedules of each scenario.
        #[arg(long, default_value_t = 300)]
        schedules: u64,
        /// Seed of the order and of all other random choices.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Mutants to test at the same time.
        #[arg(long, default_value_t = 1)]
        threads: usize,
    },
    /// Judge crash images of the settings that lose nothing; fails if one is reported as damaged.
    NoFalseAlarm {
        /// Images.
        #[arg(long, default_value_t = 10_000_000)]
        images: u64,
        /// The engine: `default`, `system` or the path of a library.
        #[arg(long, default_value = "default")]
        engine: String,
        /// Seed of all random choices.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Threads.
        #[arg(long, default_value_t = threads())]
        threads: usize,
    },
    /// Cut the power of real file systems under SQLite, and compare what is left with what the storage models say; needs
    /// root, FUSE and loop devices.
    BlockDevices {
        /// File systems [default: all].
        #[arg(long, value_name = "NAMES", value_delimiter = ',')]
        fs: Vec<String>,
        /// Settings, as journal mode / synchronous.
        #[arg(long, value_delimiter = ',', default_values = ["delete/normal", "delete/full", "delete/extra", "persist/full", "wal/normal", "wal/full", "delete/off", "wal/off"])]
        settings: Vec<String>,
        /// Power cuts of each file system under each settings.
        #[arg(long, default_value_t = 400)]
        cuts: usize,
        /// Seed of all random choices.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Recover crash images with a mutant that may end the process.
    #[command(hide = true)]
    Recover {
        /// Its name.
        mutation: String,
        /// Its library.
        engine: String,
    },
    /// Try an engine in one way.
    #[command(hide = true)]
    Try {
        trial: Trial,
        engine: Source,
        #[arg(long)]
        images: usize,
        #[arg(long)]
        schedules: u64,
        #[arg(long)]
        seed: u64,
    },
    /// Commit with an engine while the parent counts the system calls.
    #[command(name = syncs::COMMAND, hide = true)]
    MakeSyncedCommits {
        /// The engine.
        engine: String,
    },
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Set by Ctrl-C: work in progress is ended, and its files are removed.
static STOP: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

fn main() -> ExitCode {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        if let Err(error) = signal_hook::flag::register(signal, Arc::clone(&STOP)) {
            eprintln!("error: cannot install the Ctrl-C handler: {error}");
            return ExitCode::from(3);
        }
    }
    let done = match Cli::parse().command {
        Do::List => list(),
        Do::Write { mutations, out } => write(&mutations, &out),
        Do::Mutants { mutations, images, schedules, seed, threads } => {
            let extent = Extent { all_up_to: schedules, sample: schedules, seed, threads };
            judge_mutants(&mutations, images, extent)
        }
        Do::Generated { mutants: names, folder, sample, images, schedules, seed, threads } => {
            Sweep { folder, images, schedules, seed, sample, names, threads }.run()
        }
        Do::Try { trial, engine, images, schedules, seed } => {
            let extent = Extent { all_up_to: schedules, sample: schedules, seed, threads: 1 };
            try_engine(&trial, &engine, images, extent)
        }
        Do::NoFalseAlarm { images, engine, seed, threads } => {
            no_false_alarm(images, &engine, seed, threads)
        }
        Do::BlockDevices { fs, settings, cuts, seed } => real::compare(&fs, &settings, cuts, seed),
        Do::Recover { mutation, engine } => recover(&mutation, &engine),
        Do::MakeSyncedCommits { engine } => make_synced_commits(&engine),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(3)
        }
    }
}

fn try_engine(
    trial: &Trial,
    engine: &Source,
    images: usize,
    extent: Extent,
) -> Result<bool, Box<dyn Error>> {
    match trial.run(engine, images, extent) {
        Ok(line) => println!("{line}"),
        Err(error) => {
            println!("fails: {}", error.to_string().replace('\n', " "));
            return Ok(false);
        }
    }
    Ok(true)
}

fn make_synced_commits(engine: &str) -> Result<bool, Box<dyn Error>> {
    syncs::make_synced_commits(engine, std::io::stdin().lock(), std::io::stdout())?;
    Ok(true)
}

fn list() -> Result<bool, Box<dyn Error>> {
    for mutation in pragmark_proofs::mutations() {
        println!("{}: without {}", mutation.id, mutation.removes);
        println!("  {}", mutation.why);
        if let Some(reason) = mutation.equivalent.or(mutation.beyond) {
            println!("  not expected to be detected: {reason}");
        }
    }
    Ok(true)
}

fn write(names: &[String], out: &Path) -> Result<bool, Box<dyn Error>> {
    let mutants = Mutants::new()?;
    let mut wanted: Vec<Option<&str>> = names.iter().map(|name| Some(name.as_str())).collect();
    if wanted.is_empty() {
        let all = mutants.mutations().iter();
        wanted.push(None);
        wanted.extend(all.map(|mutation| Some(mutation.id.as_str())));
    }
    for mutation in wanted {
        println!("{}", mutants.write(mutation, out)?.display());
    }
    Ok(true)
}

/// A folder in memory, if the system has one: schedules need no disk.
fn memory() -> PathBuf {
    let shared_memory = Some(PathBuf::from("/dev/shm"));
    let folder = shared_memory.filter(|folder| folder.is_dir());
    folder.unwrap_or_else(std::env::temp_dir)
}

/// The result of testing a mutant.
enum Finding {
    Noticed(String),
    Unnoticed,
}

fn judge_mutants(names: &[String], images: usize, extent: Extent) -> Result<bool, Box<dyn Error>> {
    let mutants = Mutants::new()?;
    let folder = tempfile::tempdir_in(memory())?;
    let sound = Source::Path(mutants.write(None, folder.path())?);
    let mut crashes = Crashes::new(sound, images, extent.seed, extent.threads);
    let mut counts = [0; 5];
    let is_known = |name: &&String| mutants.mutations().iter().any(|one| one.id == **name);
    if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
        return Err(pragmark_proofs::MutantError::Unknown(unknown.clone()).into());
    }
    let is_chosen = |mutation: &&Mutation| names.is_empty() || names.contains(&mutation.id);
    for mutation in mutants.mutations().iter().filter(is_chosen) {
        if STOP.load(Ordering::Relaxed) {
            return Err("stopped".into());
        }
        let begin = Instant::now();
        let mutant = mutants.write(Some(&mutation.id), folder.path())?;
        let result = match mutation.found_by {
            Instrument::Crash => by_crashes(mutation, &Source::Path(mutant), &mut crashes),
            Instrument::Schedule => by_schedules(mutation, mutant, folder.path(), extent),
            Instrument::Syncs => by_syncs(&Source::Path(mutant)),
            Instrument::Process => by_process(mutation, &Source::Path(mutant)),
        };
        let (word, detail, count) = in_words(&result, expected(mutation));
        counts[count] += 1;
        let seconds = begin.elapsed().as_secs_f64();
        println!("{:40} {word} ({seconds:.1} s)", mutation.id);
        if !detail.is_empty() {
            println!("    {detail}");
        }
    }
    let [noticed, unnoticed, missed, surprising, untested] = counts;
    println!(
        "{noticed} detected, {unnoticed} not detected as expected, {missed} missed, \
         {surprising} unexpectedly detected, {untested} not tested"
    );
    Ok(missed + surprising + untested == 0)
}

/// The result in a word, its details, and the index of its count.
fn in_words(
    result: &Result<Finding, Box<dyn Error>>,
    expected: Option<&str>,
) -> (&'static str, String, usize) {
    match (result, expected) {
        (Ok(Finding::Noticed(how)), None) => ("detected", how.clone(), 0),
        (Ok(Finding::Unnoticed), Some(reason)) => {
            ("not detected, as expected", reason.to_owned(), 1)
        }
        (Ok(Finding::Unnoticed), None) => ("NOT DETECTED", String::new(), 2),
        (Ok(Finding::Noticed(how)), Some(_)) => ("UNEXPECTEDLY DETECTED", how.clone(), 3),
        (Err(error), _) => ("NOT TESTED", error.to_string(), 4),
    }
}

/// Why a mutation should not be detected.
fn expected(mutation: &Mutation) -> Option<&str> {
    mutation.equivalent.as_deref().or(mutation.beyond.as_deref())
}

fn by_crashes(
    mutation: &Mutation,
    mutant: &Source,
    crashes: &mut Crashes,
) -> Result<Finding, Box<dyn Error>> {
    let worse = match crashes.noticed(mutation, mutant) {
        Err(damage @ CrashError::Damaged(_)) => {
            return Ok(Finding::Noticed(damage.to_string()));
        }
        worse => worse?,
    };
    Ok(match worse.first() {
        Some(first) => Finding::Noticed(format!("{first} (and {} more cells)", worse.len() - 1)),
        None => Finding::Unnoticed,
    })
}

fn by_schedules(
    mutation: &Mutation,
    mutant: PathBuf,
    folder: &Path,
    extent: Extent,
) -> Result<Finding, Box<dyn Error>> {
    let library = Arc::new(Library::load(&Source::Path(mutant))?);
    let explored = noticed_by(mutation, &library, folder, extent, &STOP)?;
    Ok(match explored {
        Some(explored) => Finding::Noticed(explored.verdict()),
        None if STOP.load(Ordering::Relaxed) => return Err("stopped".into()),
        None => Finding::Unnoticed,
    })
}

fn by_syncs(mutant: &Source) -> Result<Finding, Box<dyn Error>> {
    let own = std::env::current_exe()?;
    match syncs::check(&own, &mutant.to_string()) {
        SyncCheck::Counted { requested, reached } if reached < requested => {
            let how = format!("{reached} of {requested} syncs reach the system");
            Ok(Finding::Noticed(how))
        }
        SyncCheck::Counted { .. } => Ok(Finding::Unnoticed),
        SyncCheck::Faulty { fault } => Ok(Finding::Noticed(format!("it {fault}"))),
        SyncCheck::NotChecked { why } => Err(why.into()),
    }
}

/// Recovers crash images with a mutant in a process of its own.
fn by_process(mutation: &Mutation, mutant: &Source) -> Result<Finding, Box<dyn Error>> {
    let own = std::env::current_exe()?;
    let mut command = Command::new(own);
    command.args(["recover", &mutation.id, &mutant.to_string()]);
    let output = command.output()?;
    match (output.status.signal(), output.status.success()) {
        // What abort() raises; any other signal comes from elsewhere.
        (Some(SIGABRT), _) => Ok(Finding::Noticed("abort() ended the process".to_owned())),
        (None, true) => Ok(Finding::Unnoticed),
        (_, _) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("recovering images ended with {}: {}", output.status, said.trim()).into())
        }
    }
}

/// Recovers crash images with a mutant that may end the process.
fn recover(id: &str, mutant: &str) -> Result<bool, Box<dyn Error>> {
    let mutations = pragmark_proofs::mutations();
    let known = mutations.iter().find(|mutation| mutation.id == id);
    let mutation = known.ok_or_else(|| pragmark_proofs::MutantError::Unknown(id.to_owned()))?;
    let mutant: Source = mutant.parse()?;
    let mut crashes = Crashes::new(mutant.clone(), 200, 1, 1);
    crashes.noticed(mutation, &mutant)?;
    Ok(true)
}

fn no_false_alarm(
    images: u64,
    engine: &str,
    seed: u64,
    threads: usize,
) -> Result<bool, Box<dyn Error>> {
    let begin = Instant::now();
    let seen = look_for_alarms(&engine.parse()?, images, seed, threads, &STOP)?;
    for cell in &seen.alarms {
        println!("{} under {}: {}", cell.variant, cell.model, cell.safety.whole());
    }
    println!(
        "{} alarms in {} images ({} rounds, {:.0} s): {} under {}",
        seen.alarms.len(),
        seen.images,
        seen.rounds,
        begin.elapsed().as_secs_f64(),
        pragmark_proofs::SAFE.join(", "),
        pragmark_proofs::MODELS.map(|model| model.name()).join(", "),
    );
    Ok(seen.alarms.is_empty())
}
