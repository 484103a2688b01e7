//! The command line: every option with what it does and when it is worth using.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use runner::FileSystemKind;

use crate::commands::accidents::AccidentArgs;
use crate::failure::EXIT_CODES;

/// A performance laboratory for SQLite.
///
/// pragmark measures on your machine how fast SQLite is, which settings make it faster, and
/// whether published claims hold here. Without arguments, `pragmark run` takes a tour of the most
/// telling experiments in less than five minutes and ends in a page to read.
#[derive(Debug, Parser)]
#[command(name = "pragmark", version, arg_required_else_help = true, after_help = EXIT_CODES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run experiments; without names, a tour of the most telling ones.
    Run(Box<RunArgs>),
    /// List the experiments, or what experiment files may name.
    List(ListArgs),
    /// Show an experiment: its question, arms and claims, and what a run of it would do.
    Show(ShowArgs),
    /// Write or print the report of a run again.
    Report(ReportArgs),
    /// Print the settings that a run recommends, ready to paste into a program.
    Settings(SettingsArgs),
    /// Write the data of a run as CSV or JSON for other tools.
    Export(ExportArgs),
    /// Load CSV, Parquet or Arrow files into a table of a SQLite database, as fast as the disk allows.
    Load(Box<LoadArgs>),
    /// Look at this machine: disk, fsync, noise, engines, services found.
    Doctor(DoctorArgs),
    /// List, install or remove drivers: the programs that do the work through bindings of other
    /// languages.
    Driver(DriverArgs),
    /// Measure what crashes do to databases, by settings and by what storage may lose.
    Crash(Box<CrashArgs>),
    /// List, build, add, remove or show the SQLite libraries that can be put under test.
    #[command(subcommand)]
    Engine(EngineCommand),
    /// Print completions for a shell.
    #[command(
        after_help = "Example: pragmark completions bash > ~/.local/share/bash-completion/completions/pragmark"
    )]
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the manual page, in roff.
    #[command(after_help = "Example: pragmark man | man -l -")]
    Man,
    /// Run one trial: a specification on standard input, messages on standard output.
    #[command(hide = true)]
    Trial,
    /// Do the part of one process in a trial whose work several share: a specification and orders on
    /// standard input, answers on standard output.
    #[command(hide = true)]
    ContentionWorker,
    /// Write to a database until killed, as a specification on standard input says.
    #[command(hide = true)]
    WriteUntilKilled,
    /// Start a driver in another language, which then ends with its parent.
    #[command(hide = true)]
    Become(BecomeArgs),
    /// Describe an engine as JSON.
    #[command(hide = true)]
    DescribeEngine {
        /// The engine.
        engine: String,
    },
}

/// How large the data is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScaleArg {
    /// A fraction of a second a trial: for a first look.
    Quick,
    /// Some seconds a trial: figures to rely on.
    Default,
    /// The published sizes: hours, and much disk space.
    Paper,
}

/// Options of `driver`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark driver list                      which drivers are ready, and what the others need
  pragmark driver install go-mattn          download and build what one driver needs
  pragmark driver install                   all of them
  pragmark run bindings                     what a call through each costs")]
pub struct DriverArgs {
    /// Directory with a folder for each language, in place of the drivers that come with pragmark. Use it
    /// to change a driver or to write one.
    #[arg(long, value_name = "DIR", global = true)]
    pub drivers: Option<PathBuf>,
    /// What to do with them.
    #[command(subcommand)]
    pub command: DriverCommand,
}

/// What to do with drivers.
#[derive(Debug, Subcommand)]
pub enum DriverCommand {
    /// List the drivers, each asked to describe itself.
    List {
        /// Print JSON, with compile options and defaults.
        #[arg(long)]
        json: bool,
    },
    /// Install drivers into the user's cache (or PRAGMARK_CACHE); may download packages.
    Install {
        /// Their names; all where none is given.
        names: Vec<String>,
    },
    /// Remove what was installed.
    Remove {
        /// Their names; all where none is given.
        names: Vec<String>,
    },
}

/// The program that pragmark is to become.
#[derive(Debug, Args)]
pub struct BecomeArgs {
    /// The executable.
    pub program: PathBuf,
    /// Its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<std::ffi::OsString>,
}

/// Options of `run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark run                              the tour: less than five minutes
  pragmark run index-timing                 one experiment at default scale
  pragmark run --quick insert-unroll        a preliminary answer in seconds
  pragmark run --source 001                 a whole family
  pragmark run my.toml --dir /ssd --dir /hdd
  pragmark run fts-queries --text mails.csv --columns subject,body
  pragmark run --resume pragmark-runs/20261120-101500-4711")]
pub struct RunArgs {
    /// Experiments: names from `pragmark list`, or paths of your own files.
    pub experiments: Vec<String>,
    /// Run every experiment that comes from this source, such as 001 for the article on insert
    /// speed; `pragmark list` shows the sources.
    #[arg(long, value_name = "SOURCE")]
    pub source: Option<String>,
    /// Give a preliminary answer: quick scale, three to five rounds, judged by paired t. Worth it
    /// to try an experiment out, not to decide by it.
    #[arg(long)]
    pub quick: bool,
    /// How large the data is. The tour and --quick use quick, named experiments default.
    #[arg(long, value_enum)]
    pub scale: Option<ScaleArg>,
    /// Directory whose disk is measured; give it twice to compare two disks. Use it when your
    /// data lives on another disk than the current directory.
    #[arg(long = "dir", value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
    /// SQLite library: `default` (built into pragmark), `system`, a version with option sets such as
    /// 3.46.0 or 3.54.1+recommended, which is built if need be, the name of one that was added, or the
    /// path of a shared library. Use it to measure the SQLite that your application loads.
    #[arg(long, default_value = "default", value_name = "ENGINE")]
    pub engine: String,
    /// PostgreSQL server for the experiments that compare with one, such as
    /// postgresql://user@host/database; trials keep to a schema of their own, which they remove.
    /// Use it to measure the server that you have; give it again with --resume [default: a private
    /// one of the PostgreSQL that is installed, in the directory measured, as long as the run].
    #[arg(long, value_name = "URI")]
    pub postgres: Option<String>,
    /// Directory with drivers in other languages, in place of those that come with pragmark. Use it to
    /// measure a binding with a driver that you have changed or written.
    #[arg(long, value_name = "DIR")]
    pub drivers: Option<PathBuf>,
    /// File with documents of your own for the experiments on full-text search, instead of generated
    /// ones: .csv or .tsv with a heading, .jsonl, .parquet, or a SQLite database. Use it to learn which
    /// tokenizer suits your text.
    #[arg(long, value_name = "FILE")]
    pub text: Option<PathBuf>,
    /// Columns of --text that are used [default: all columns of text].
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', requires = "text")]
    pub columns: Vec<String>,
    /// Table of --text, where it is a database with several.
    #[arg(long, value_name = "TABLE", requires = "text")]
    pub table: Option<String>,
    /// Folder for the record and the report [default: pragmark-runs/TIME in the current
    /// directory].
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// Seed of all random choices. Use it to repeat a run with the same order and data.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Go on with a run that was stopped; the plan is the folder's own.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["experiments", "source", "quick", "scale", "dirs", "engine", "text", "out", "seed", "time_limit", "trial_limit", "crash_seconds"])]
    pub resume: Option<PathBuf>,
    /// Time for the whole run, such as 90s, 40m or 1h30m: no round is begun that would probably
    /// pass it.
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub time_limit: Option<f64>,
    /// Time after which a single trial is stopped and recorded as timed out.
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = seconds)]
    pub trial_limit: f64,
    /// Seconds to look at the noise of the machine ahead of the run, which tells how small a
    /// difference it can find; 0 leaves it out.
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, value_parser = not_negative)]
    pub probe: f64,
    /// Seconds in which crashes are tried for each different set of settings that decide what a crash
    /// can destroy, after the last round; more find rarer damage, 0 leaves safety tiers out
    /// [default: 5; 1.5 for the tour and with --quick; at most a quarter of a time limit in all].
    #[arg(long, value_name = "SECONDS", value_parser = not_negative)]
    pub crash_seconds: Option<f64>,
    /// Begin a run at the published sizes (`--scale paper`) without asking.
    #[arg(long)]
    pub yes: bool,
    /// Print one line for each trial instead of a progress bar; the default where standard error
    /// is no terminal.
    #[arg(long)]
    pub plain: bool,
}

/// Seconds of a duration that is written with units, or as plain seconds.
fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text
        .parse()
        .ok()
        .or_else(|| Some(humantime::parse_duration(text).ok()?.as_secs_f64()));
    match seconds {
        Some(seconds) if seconds > 0.0 && f64::is_finite(seconds) => Ok(seconds),
        _ => Err("must be a time above zero, such as 90s, 40m, 1h30m or plain seconds".to_owned()),
    }
}

fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value >= 0.0 && value.is_finite() => Ok(value),
        _ => Err("must be a number, not negative".to_owned()),
    }
}

/// Options of `list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// List the workloads with their parameters.
    #[arg(long)]
    pub workloads: bool,
    /// List the PRAGMAs and connection settings with what they accept.
    #[arg(long)]
    pub pragmas: bool,
    /// List the metrics with their units.
    #[arg(long)]
    pub metrics: bool,
}

/// Options of `show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// A name from `pragmark list`, or the path of a file.
    #[arg(required_unless_present = "schema")]
    pub experiment: Option<String>,
    /// Print the JSON schema of experiment files, for editors.
    #[arg(long)]
    pub schema: bool,
    /// The scale for which arms are shown.
    #[arg(long, value_enum, default_value = "default")]
    pub scale: ScaleArg,
}

/// Forms of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// A summary for the terminal.
    Terminal,
    /// One self-contained page.
    Html,
    /// For a wiki or an issue.
    Markdown,
}

/// Options of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The folder of a run.
    pub run: PathBuf,
    /// Its form.
    #[arg(long, value_enum, default_value = "terminal")]
    pub format: ReportFormat,
    /// Write it to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Options of `settings`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark settings pragmark-runs/…                    every form
  pragmark settings pragmark-runs/… --for django       what goes into settings.py
  pragmark settings pragmark-runs/… --experiment pragma-journal-sync --fastest

Bindings: shell, c, python, django, sqlalchemy, rails, mattn, modernc, better-sqlite3, jdbc,
rusqlite, sqlx. mattn and modernc are the two drivers of Go.")]
pub struct SettingsArgs {
    /// The folder of a run.
    pub run: PathBuf,
    /// Print them for this binding only.
    #[arg(long = "for", value_name = "BINDING", value_parser = crate::commands::binding)]
    pub binding: Option<report::settings::Binding>,
    /// Take those of this experiment only: its key in the report.
    #[arg(long, value_name = "KEY")]
    pub experiment: Option<String>,
    /// Also print the fastest settings where they may be less safe than the reference. Use it only
    /// for data that a crash may destroy.
    #[arg(long)]
    pub fastest: bool,
    /// Write them to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Forms of exported data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// One row for each trial.
    Csv,
    /// One row for each arm, with effects and intervals.
    ArmsCsv,
    /// One row for each claim.
    ClaimsCsv,
    /// The whole analysis.
    Json,
}

/// Options of `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The folder of a run.
    pub run: PathBuf,
    /// Its form.
    #[arg(long, value_enum, default_value = "csv")]
    pub format: ExportFormat,
    /// Write it to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Options of `doctor`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark doctor --dir /data
  sudo pragmark doctor --make-fs ext4,xfs,btrfs --in /data
  sudo pragmark doctor --make-fs ext4,btrfs,tmpfs -- pragmark run queue-tasks {dirs}")]
pub struct DoctorArgs {
    /// Directory whose disk is looked at; may be given several times [default: the current
    /// directory].
    #[arg(long = "dir", value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
    /// Seconds for the noise probe.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = seconds)]
    pub noise_seconds: f64,
    /// Print it as JSON.
    #[arg(long)]
    pub json: bool,
    /// Instead of looking, make these file systems (ext4, xfs, btrfs, tmpfs), as root, in files that are
    /// mounted by loop devices; print their directories and remove everything at Ctrl-C, or run the
    /// command after `--` meanwhile. Use it for claims about file systems that this machine has not.
    #[arg(long, value_name = "KIND,…", value_delimiter = ',', conflicts_with_all = ["dirs", "json"])]
    pub make_fs: Vec<FileSystemKind>,
    /// Size of each of them, such as 512M or 2G.
    #[arg(long, value_name = "SIZE", default_value = "2G", value_parser = bytes, requires = "make_fs")]
    pub size: u64,
    /// Directory on whose disk they are made [default: the current directory].
    #[arg(long = "in", value_name = "DIR", requires = "make_fs")]
    pub parent: Option<PathBuf>,
    /// What to run while they are there; `{dirs}` stands for `--dir` and each directory.
    #[arg(last = true, value_name = "COMMAND", requires = "make_fs")]
    pub command: Vec<OsString>,
}

/// Bytes that are written with a unit: K, M, G or T, of 1,024 each.
fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => Some(0),
        "K" => Some(10),
        "M" => Some(20),
        "G" => Some(30),
        "T" => Some(40),
        _ => None,
    };
    let number = digits.parse::<u64>().ok();
    number
        .zip(shift)
        .and_then(|(number, shift)| number.checked_mul(1 << shift))
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "must be a size above zero, such as 512M or 2G".to_owned())
}

/// Forms of the table of crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CrashFormat {
    /// A matrix of 80 columns.
    Terminal,
    /// With the documentation's promise beside every cell.
    Markdown,
    /// All counts.
    Json,
}

/// Options of `crash`.
#[derive(Debug, Args)]
#[command(after_help = "\
A workload is recorded once for every choice of settings; storage models say what of it a crash may
leave on the disk; each image is recovered by the engine and compared with every committed state.
Everything happens in memory: no disk is touched unless --out asks for it.

Examples:
  pragmark crash                            48 settings under 8 models, some minutes at most
  pragmark crash --quick                    a first look in seconds
  pragmark crash --journal-mode wal --synchronous normal,full --images 100000
  pragmark crash --script my.sql --journal-mode delete --out crash-of-mine
  pragmark crash --engine system            the SQLite that your application loads
  pragmark crash --engine default --engine ./libsqlite3.so   what differs between two
  pragmark crash mine.toml                  the settings of an experiment's arms
  pragmark crash --kill 1000                a thousand processes, killed while they write
  pragmark crash --schedules                two connections at the same instant")]
pub struct CrashArgs {
    /// An experiment, by its name or the path of its file: the settings of its arms are tried instead of
    /// those of the options.
    #[arg(value_name = "EXPERIMENT", conflicts_with_all = ["journal_mode", "synchronous", "locking_mode", "page_size", "psow"])]
    pub experiment: Option<String>,
    /// Journal modes, separated by commas [default: all six].
    #[arg(long, value_name = "MODES", value_delimiter = ',')]
    pub journal_mode: Vec<crash::JournalMode>,
    /// Values of synchronous [default: all four].
    #[arg(long, value_name = "VALUES", value_delimiter = ',')]
    pub synchronous: Vec<crash::Synchronous>,
    /// Locking modes [default: both; with --quick normal].
    #[arg(long, value_name = "MODES", value_delimiter = ',')]
    pub locking_mode: Vec<crash::LockingMode>,
    /// Page sizes in bytes. Smaller pages share a sector, which makes more of what can be torn.
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_value = "4096", value_parser = page_size)]
    pub page_size: Vec<u32>,
    /// Whether SQLite is told that overwriting is powersafe, as it assumes: 1, 0 or both. 0 is what
    /// `psow=0` in the URI of a database says, and worth trying under non-powersafe-overwrite.
    #[arg(long, value_name = "0|1", value_delimiter = ',', default_value = "1", value_parser = zero_or_one)]
    pub psow: Vec<bool>,
    /// Storage models: kill, ordered, ext4-ordered, reorder, torn, non-powersafe-overwrite, lying-fifo,
    /// lying-reorder [default: all].
    #[arg(long, value_name = "MODELS", value_delimiter = ',')]
    pub model: Vec<crash::Model>,
    /// SQL to be crashed instead of the built-in workload: statements that end in semicolons, run on
    /// an empty database in memory. Keep what it makes below 200 KB; time grows with it.
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// Images to look at for each cell; models whose states are fewer have fewer [default: 9000; with
    /// --quick 600].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub images: Option<u32>,
    /// Of every so many images the recovery is crashed, too; 0 for none.
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub second_crash_every: u32,
    /// Seed of all random choices: the same seed gives the same table.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// SQLite library: `default` (built into pragmark), `system`, a version with option sets such as
    /// 3.46.0 or 3.54.1+recommended, the name of one that was added, or the path of a shared library; may
    /// be given several times to see what differs.
    #[arg(long, default_value = "default", value_name = "ENGINE")]
    pub engine: Vec<String>,
    /// Threads [default: as many as there are processors].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Folder, made anew, for crash.md, crash.json and a witness of every cell that can corrupt.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// What is printed.
    #[arg(long, value_enum, default_value = "terminal")]
    pub format: CrashFormat,
    /// A first look in seconds: normal locking, 600 images for each cell.
    #[arg(long)]
    pub quick: bool,
    /// Print lines instead of a progress bar; the default where standard error is no terminal.
    #[arg(long)]
    pub plain: bool,
    /// Accidents that really happen.
    #[command(flatten)]
    pub accidents: AccidentArgs,
}

fn zero_or_one(text: &str) -> Result<bool, String> {
    match text {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err("must be 0 or 1".to_owned()),
    }
}

fn page_size(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(size) if (512..=65_536).contains(&size) && size.is_power_of_two() => Ok(size),
        _ => Err("must be a power of two from 512 to 65536".to_owned()),
    }
}

/// What is done with engines.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  pragmark engine list                      what is at hand, and what can be built
  pragmark engine build 3.46.0 3.54.1+recommended+pgo
  pragmark engine build --for engines-versions-options
  pragmark engine add /opt/sqlite/libsqlite3.so --name ours
  pragmark engine show 3.54.1+article       how it is, or would be, compiled

Engines are kept in PRAGMARK_CACHE, or else in pragmark below XDG_CACHE_HOME or HOME/.cache.")]
pub enum EngineCommand {
    /// List the engines at hand, the versions that can be built, and the option sets.
    List {
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Build engines ahead of a run, and print the path of each.
    Build(BuildArgs),
    /// Keep a copy of a shared library under a name.
    Add {
        /// The library.
        library: PathBuf,
        /// Its name: lower-case letters, digits and hyphens.
        #[arg(long, value_name = "NAME")]
        name: String,
    },
    /// Remove engines that were built or added.
    Remove {
        /// Their names.
        #[arg(required_unless_present = "all")]
        engines: Vec<String>,
        /// Remove every engine that is kept.
        #[arg(long, conflicts_with = "engines")]
        all: bool,
    },
    /// Show an engine: version, source id, options, and how it was or would be compiled.
    Show {
        /// Its name or path.
        engine: String,
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
    },
}

/// Options of `engine build`.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// Versions with option sets, as in 3.46.0 or 3.54.1+recommended+lto.
    #[arg(required_unless_present = "experiments", value_name = "ENGINE")]
    pub engines: Vec<String>,
    /// Build what this experiment needs: a name from `pragmark list`, or the path of a file.
    #[arg(long = "for", value_name = "EXPERIMENT")]
    pub experiments: Vec<String>,
    /// Engines built at a time [default: as many as there are processors].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Print lines instead of a progress bar; the default where standard error is no terminal.
    #[arg(long)]
    pub plain: bool,
}

/// Ways of loading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WayArg {
    /// The fastest that can do it.
    Auto,
    /// Pages of a new database, written directly.
    Pages,
    /// SQL over arrays: triggers, constraints, existing databases.
    Arrays,
}

/// Formats of inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    /// Fields between delimiters: CSV, TSV and their kin.
    Csv,
    /// A JSON object on each line.
    JsonLines,
    /// Parquet or Arrow IPC.
    Columnar,
    /// A SQLite database.
    Database,
}

/// What happens to a row that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnErrorArg {
    /// It ends the load; the database is as it was.
    Fail,
    /// It is left out and written to a file.
    Skip,
}

/// Options of `load`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark load people.csv people.db --table people
  pragmark load people.csv.gz people.db --table people --primary-key id --index name
  pragmark load export.tsv shop.db --table orders --append
  pragmark load 2023.jsonl 2024.jsonl.zst events.db --table events --fts title,body
  pragmark load old.db new.db --query 'SELECT id, name FROM people' --table people
  zcat log.csv.gz | pragmark load - log.db --table log --on-error skip --rejects bad.csv

Whatever happens, the database is afterwards either as it was or complete.")]
pub struct LoadArgs {
    /// The files: CSV, TSV or JSON Lines, plain or compressed by gzip or zstd; Parquet; Arrow IPC; or
    /// SQLite databases. Several must have the same columns. `-` is standard input.
    #[arg(required = true, num_args = 1.., value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// The database; it is made if it does not exist.
    pub database: PathBuf,
    /// The table.
    #[arg(long, value_name = "NAME")]
    pub table: String,
    /// Add the rows to a table that exists. Columns go by their names, in any order.
    #[arg(long)]
    pub append: bool,
    /// Drop the table, with its indexes and triggers, and make it anew.
    #[arg(long, conflicts_with = "append")]
    pub replace: bool,
    /// What the files are. Worth it where neither name nor first bytes tell, as for JSON Lines from
    /// standard input.
    #[arg(long, value_enum)]
    pub format: Option<FormatArg>,
    /// The encoding of texts, such as windows-1252 or utf-16le [default: told from the byte order mark,
    /// UTF-8 without one].
    #[arg(long, value_name = "NAME")]
    pub encoding: Option<load::Encoding>,
    /// The table or view of a SQLite database that is read [default: its only table].
    #[arg(long, value_name = "NAME")]
    pub from_table: Option<String>,
    /// A query whose answer is read from a SQLite database.
    #[arg(long, value_name = "SQL", conflicts_with = "from_table")]
    pub query: Option<String>,
    /// The character between fields; `tab` for a tab [default: told from the first line].
    #[arg(long, value_name = "CHARACTER", value_parser = one_byte)]
    pub delimiter: Option<u8>,
    /// The character around fields that hold delimiters or line ends; `none` where quotes mean
    /// nothing.
    #[arg(long, value_name = "CHARACTER", default_value = "\"", value_parser = quote)]
    pub quote: Quote,
    /// The first line is data; the columns are called column1, column2, ….
    #[arg(long)]
    pub no_header: bool,
    /// What stands for NULL unless it is in quotes [default: nothing between two delimiters].
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    pub null: String,
    /// Declared type of a column, such as price=REAL; may be given several times. Worth it where
    /// the first ten thousand rows do not tell.
    #[arg(long = "type", value_name = "COLUMN=TYPE", value_parser = column_type, conflicts_with = "append")]
    pub types: Vec<(String, String)>,
    /// Columns that must not be NULL, divided by commas.
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        conflicts_with = "append"
    )]
    pub not_null: Vec<String>,
    /// Columns of the primary key, divided by commas. One INTEGER column becomes the rowid, which
    /// is the fastest key.
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        conflicts_with = "append"
    )]
    pub primary_key: Vec<String>,
    /// Columns of an index, divided by commas; may be given several times. It is made after the
    /// rows are in.
    #[arg(long, value_name = "COLUMNS", conflicts_with = "append")]
    pub index: Vec<String>,
    /// The same for a unique index.
    #[arg(long, value_name = "COLUMNS", conflicts_with = "append")]
    pub unique: Vec<String>,
    /// Columns of a full-text index (FTS5), divided by commas. It finds rows of the table by rowid and
    /// is filled after they are in.
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        conflicts_with_all = ["append", "without_rowid"]
    )]
    pub fts: Vec<String>,
    /// Name of the full-text index [default: TABLE_fts].
    #[arg(long, value_name = "NAME", requires = "fts")]
    pub fts_table: Option<String>,
    /// Make the table STRICT: a value that does not fit its column's type is an error.
    #[arg(long, conflicts_with = "append")]
    pub strict: bool,
    /// Make the table WITHOUT ROWID, kept in the order of its primary key.
    #[arg(long, requires = "primary_key")]
    pub without_rowid: bool,
    /// Page size of a new database in bytes, a power of two from 512 to 65536.
    #[arg(long, value_name = "BYTES")]
    pub page_size: Option<u32>,
    /// The way the rows go. Worth it to compare them.
    #[arg(long, value_enum, default_value = "auto")]
    pub way: WayArg,
    /// What happens to a row that cannot be read or that the table refuses.
    #[arg(long, value_enum, default_value = "fail")]
    pub on_error: OnErrorArg,
    /// File for the rows that were skipped, made only if there are any [default: INPUT.rejected.csv
    /// in the current directory].
    #[arg(long, value_name = "FILE")]
    pub rejects: Option<PathBuf>,
    /// Check the finished database before it is kept; this reads all of it.
    #[arg(long)]
    pub check: bool,
    /// Write as many bytes directly afterwards, and say which share of the disk's rate the load has
    /// reached.
    #[arg(long)]
    pub measure_disk: bool,
    /// Print no progress.
    #[arg(long)]
    pub plain: bool,
}

/// The quote character, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote(pub Option<u8>);

fn quote(text: &str) -> Result<Quote, String> {
    if text == "none" {
        return Ok(Quote(None));
    }
    one_byte(text).map(|byte| Quote(Some(byte)))
}

fn one_byte(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        _ => match text.as_bytes() {
            [byte] if byte.is_ascii() && !matches!(byte, b'\n' | b'\r') => Ok(*byte),
            _ => Err("must be one ASCII character, or `tab`".to_owned()),
        },
    }
}

fn column_type(text: &str) -> Result<(String, String), String> {
    text.rsplit_once('=')
        .map(|(column, declared)| (column.to_owned(), declared.trim().to_owned()))
        .ok_or_else(|| "must be COLUMN=TYPE, such as price=REAL".to_owned())
}

impl From<ScaleArg> for lab::experiment::Scale {
    fn from(scale: ScaleArg) -> Self {
        match scale {
            ScaleArg::Quick => lab::experiment::Scale::Quick,
            ScaleArg::Default => lab::experiment::Scale::Default,
            ScaleArg::Paper => lab::experiment::Scale::Paper,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_quotes_and_types_are_read() {
        assert_eq!(one_byte(";"), Ok(b';'));
        assert_eq!(one_byte("tab"), Ok(b'\t'));
        assert!(one_byte("ä").is_err() && one_byte("").is_err() && one_byte("ab").is_err());
        assert_eq!(quote("none"), Ok(Quote(None)));
        assert_eq!(quote("'"), Ok(Quote(Some(b'\''))));
        let typed = column_type("a=b=DECIMAL(10, 2)");
        assert_eq!(typed, Ok(("a=b".to_owned(), "DECIMAL(10, 2)".to_owned())));
        assert!(column_type("a").is_err());
    }

    #[test]
    fn times_are_read_with_units_or_as_seconds() {
        for (text, read) in [
            ("90", 90.0),
            ("0.5", 0.5),
            ("40m", 2400.0),
            ("1h30m", 5400.0),
            ("250ms", 0.25),
        ] {
            assert_eq!(seconds(text), Ok(read), "{text}");
        }
        for text in ["0", "-1", "0s", "soon", "nan", "inf", ""] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_read_with_binary_units_or_as_bytes() {
        for (text, read) in [("512M", 512 << 20), ("2g", 2 << 30), ("7", 7), ("1K", 1024)] {
            assert_eq!(bytes(text), Ok(read), "{text}");
        }
        for text in ["", "0", "G", "-1M", "1.5G", "2GB", "99999999999T"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
