#![forbid(unsafe_code)]
//! The proofs as commands, for the runs that are too long for tests.

use accidents::schedule::Extent;
use clap::{Parser, Subcommand};
use engine::{Library, Source};
use pragmark_proofs::{Crashes, Instrument, Mutants, Mutation, look_for_alarms, noticed_by};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

/// Proves that the crash laboratory notices broken engines, and raises no false alarm.
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the mutations.
    List,
    /// Write mutant engines as libraries that `--engine` takes.
    Write {
        /// Their names; all of them, and the sound engine, unless stated.
        mutations: Vec<String>,
        /// The folder, which must exist.
        #[arg(long, default_value = ".")]
        out: PathBuf,
    },
    /// Let the instruments look at every mutant; fails unless each that can be noticed is.
    Mutants {
        /// Their names; all unless stated.
        mutations: Vec<String>,
        /// Images of each cell of the crash matrix.
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
    /// Look at images of the settings that lose nothing; fails if one is called damaged.
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
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Set by Ctrl-C: what is under way is ended, and what was made is removed.
static STOP: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

fn main() -> ExitCode {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        if let Err(error) = signal_hook::flag::register(signal, Arc::clone(&STOP)) {
            eprintln!("error: cannot watch for Ctrl-C: {error}");
            return ExitCode::from(3);
        }
    }
    let done = match Cli::parse().command {
        Command::List => list(),
        Command::Write { mutations, out } => write(&mutations, &out),
        Command::Mutants {
            mutations,
            images,
            schedules,
            seed,
            threads,
        } => {
            let extent = Extent {
                limit: schedules,
                seed,
                threads,
            };
            judge_mutants(&mutations, images, extent)
        }
        Command::NoFalseAlarm {
            images,
            engine,
            seed,
            threads,
        } => no_false_alarm(images, &engine, seed, threads),
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

fn list() -> Result<bool, Box<dyn Error>> {
    for mutation in pragmark_proofs::mutations() {
        println!("{}: without {}", mutation.id, mutation.removes);
        println!("  {}", mutation.why);
        if let Some(reason) = mutation.equivalent.or(mutation.beyond) {
            println!("  not expected to be noticed: {reason}");
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

/// Where the system keeps files in memory, if it has such a place: schedules need no disk.
fn memory() -> PathBuf {
    let shared_memory = PathBuf::from("/dev/shm");
    if shared_memory.is_dir() {
        shared_memory
    } else {
        std::env::temp_dir()
    }
}

/// What came of looking at a mutant.
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
    if let Some(unknown) = names.iter().find(|name| {
        !mutants
            .mutations()
            .iter()
            .any(|mutation| mutation.id == **name)
    }) {
        return Err(pragmark_proofs::MutantError::Unknown(unknown.clone()).into());
    }
    for mutation in mutants
        .mutations()
        .iter()
        .filter(|mutation| names.is_empty() || names.contains(&mutation.id))
    {
        if STOP.load(Ordering::Relaxed) {
            return Err("stopped".into());
        }
        let begin = Instant::now();
        let mutant = mutants.write(Some(&mutation.id), folder.path())?;
        let result = match mutation.found_by {
            Instrument::Crash => by_crashes(mutation, &Source::Path(mutant), &mut crashes),
            Instrument::Schedule => by_schedules(mutation, mutant, folder.path(), extent),
        };
        let (word, detail, count) = in_words(&result, expected(mutation));
        counts[count] += 1;
        let seconds = begin.elapsed().as_secs_f64();
        println!("{:40} {word} ({seconds:.1} s)", mutation.id);
        if !detail.is_empty() {
            println!("    {detail}");
        }
    }
    let [noticed, unnoticed, missed, surprising, unlooked] = counts;
    println!(
        "{noticed} noticed, {unnoticed} not noticed as expected, {missed} missed, \
         {surprising} noticed against expectation, {unlooked} not looked at"
    );
    Ok(missed + surprising + unlooked == 0)
}

/// A word for what came of a mutant, what there is to say, and which count it belongs to.
fn in_words(
    result: &Result<Finding, Box<dyn Error>>,
    expected: Option<&str>,
) -> (&'static str, String, usize) {
    match (result, expected) {
        (Ok(Finding::Noticed(how)), None) => ("noticed", how.clone(), 0),
        (Ok(Finding::Unnoticed), Some(reason)) => {
            ("not noticed, as expected", reason.to_owned(), 1)
        }
        (Ok(Finding::Unnoticed), None) => ("NOT NOTICED", String::new(), 2),
        (Ok(Finding::Noticed(how)), Some(_)) => ("NOTICED AGAINST EXPECTATION", how.clone(), 3),
        (Err(error), _) => ("NOT LOOKED AT", error.to_string(), 4),
    }
}

/// Why a mutation should not be noticed.
fn expected(mutation: &Mutation) -> Option<&str> {
    mutation
        .equivalent
        .as_deref()
        .or(mutation.beyond.as_deref())
}

fn by_crashes(
    mutation: &Mutation,
    mutant: &Source,
    crashes: &mut Crashes,
) -> Result<Finding, Box<dyn Error>> {
    let worse = crashes.noticed(mutation, mutant)?;
    Ok(match worse.first() {
        Some(first) => Finding::Noticed(format!("{first} (and {} cells more)", worse.len() - 1)),
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

fn no_false_alarm(
    images: u64,
    engine: &str,
    seed: u64,
    threads: usize,
) -> Result<bool, Box<dyn Error>> {
    let begin = Instant::now();
    let seen = look_for_alarms(&engine.parse()?, images, seed, threads, &STOP)?;
    for cell in &seen.alarms {
        println!(
            "{} under {}: {}",
            cell.variant, cell.model, cell.safety.tier
        );
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
