//! Options of `crash`.

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use app::crash::{CrashKind, CrashRequest, CrashWork, Images};
use app::{Error, Result};
use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use crash::schedule::Schedule;
use lab::experiment::nearest;

use super::stand_in::{StandInArgs, of_traces};
use super::values::{page_size, settings, zero_or_one};
use crate::commands::crash::{self as command, CrashFormat};
use crate::complete;
use crate::exit::Exit;

/// Options of `crash`.
#[derive(Debug, Args)]
#[command(after_help = "\
For each combination of settings, pragmark records a workload. Storage models decide which writes a crash may leave \
on the disk. The engine recovers each of these crash images, and pragmark compares the result with every committed state. \
All of this happens in memory.

The results are a run like any other: `pragmark report` and `pragmark run --resume` take its folder. Below `artifacts` it \
holds a reproduction for every combination that can corrupt: the files after the crash, and a script that shows the damage.

Examples:
  pragmark crash                            48 settings under 8 models, some minutes at most
  pragmark crash --quick                    a first look in seconds
  pragmark crash --set journal_mode=wal --set synchronous=normal,full --images 100000
  pragmark crash --script my.sql --set journal_mode=delete --out crash-of-mine
  pragmark crash --script my.sql --db app.db --set journal_mode=wal
  pragmark crash --script my.sql --db app.db   your settings first, then 23 others
  pragmark crash --trace app.trace --transactions 500   the writes of your application
  pragmark crash --engine system            the SQLite that your application loads
  pragmark crash --engine default --engine ./libsqlite3.so   two libraries compared
  pragmark crash --every-version --quick    the losses of each version of SQLite
  pragmark crash mine.toml                  the settings of an experiment's variants
  pragmark crash --kill 1000                a thousand processes, killed while they write
  pragmark crash --schedules                two connections at the same instant")]
pub struct CrashArgs {
    /// An experiment, by its name or the path of its file: crash-tests the settings of its variants instead
    /// of those of the options.
    #[arg(value_name = "EXPERIMENT", conflicts_with = "set")]
    pub experiment: Option<String>,
    /// Settings to crash, such as journal_mode=wal,delete; repeat it to crash combinations of
    /// several. Names: journal_mode and synchronous [default: all values], locking_mode [default:
    /// both; with --quick, --db or --trace normal], page_size [default: 4096], and psow, whether
    /// overwriting is powersafe, as SQLite assumes [default: 1].
    #[arg(long, value_name = "NAME=VALUE,…")]
    pub set: Vec<String>,
    /// Storage models: kill, ordered, ext4-ordered, reorder, torn, non-powersafe-overwrite, lying-fifo,
    /// lying-reorder [default: all].
    #[arg(long, value_name = "MODELS", value_delimiter = ',')]
    pub model: Vec<crash::Model>,
    /// SQL to crash instead of the built-in workload: statements that end in semicolons, run once
    /// in their order on an empty database, or on a copy of the one named by --db. With --db, the
    /// script may use the language of `pragmark measure`: meta commands, parameters, named queries,
    /// and several files with weights (a.sql@9,b.sql).
    #[arg(long, value_name = "FILE", conflicts_with = "trace")]
    pub script: Option<PathBuf>,
    /// Your own database, of any size: the script runs on a copy of it, and the file itself is never changed. With
    /// --trace, the name of the database in the trace, if it has several.
    #[arg(long, value_name = "FILE", conflicts_with = "experiment")]
    pub db: Option<PathBuf>,
    /// Trace of an application, recorded by `pragmark record`: pragmark crashes its writing
    /// transactions in the order of their commits, on the database as it was when recording began.
    #[arg(long, value_name = "TRACE", conflicts_with = "experiment")]
    pub trace: Option<PathBuf>,
    #[command(flatten)]
    pub stand_ins: StandInArgs,
    /// Crash the first N transactions of --trace, or of --script with --db, that change something
    /// [default: 100].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub transactions: Option<u32>,
    /// Crash images of each combination of settings and model; models with fewer states have fewer
    /// [default: 32000, as for safety tiers; with --db or --trace 2000, or fewer if much is written, at least 200; with
    /// --quick 600].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub images: Option<u32>,
    /// Seed of all random choices: the same seed gives the same counts.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// SQLite library: `default` (built into pragmark), `system`, a version with option sets such
    /// as 3.46.0 or 3.54.1+recommended, the name of an added engine, or the path of a shared
    /// library; may be given several times to compare.
    #[arg(long, default_value = "default", value_name = "ENGINE", add = ArgValueCompleter::new(complete::engines))]
    pub engine: Vec<String>,
    /// Crash every version of SQLite that can be built, and show the losses of each.
    #[arg(long, conflicts_with_all = ["engine", "write_known"])]
    pub every_version: bool,
    /// New folder for the run [default: one below pragmark-runs].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Form of the output.
    #[arg(long, value_enum, default_value = "terminal")]
    pub format: CrashFormat,
    /// A first look in seconds: normal locking, 600 images for each combination of settings and model, and no schedules of
    /// two connections, except with --every-version.
    #[arg(long)]
    pub quick: bool,
    /// Measure the safety tiers that come with the program and write them to FILE.
    #[arg(long, value_name = "FILE", hide = true)]
    pub write_known: Option<PathBuf>,
    /// Crashes and meetings of connections that pragmark causes.
    #[command(flatten)]
    pub accidents: AccidentArgs,
}

/// Accidents that are made to happen, instead of being derived from a recording.
#[derive(Debug, Args)]
#[command(next_help_heading = "Real crashes and concurrent connections")]
pub struct AccidentArgs {
    /// Kill N processes while they write, at random moments on a real file system, and check their
    /// databases. A thousand take about 30 s. Large numbers are rounded up to equal batches.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with_all = ["schedules", "schedule", "experiment", "script", "db", "trace", "transactions", "model", "images", "quick"])]
    pub kill: Option<u64>,
    /// Let two connections meet at every instant, in at most N schedules of each scenario: finds
    /// damage that needs no crash.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "20000", value_parser = clap::value_parser!(u64).range(1..), conflicts_with_all = ["schedule", "experiment", "script", "db", "trace", "transactions", "model", "images", "quick"])]
    pub schedules: Option<u64>,
    /// Play one schedule again, as --schedules printed it, and print every call.
    #[arg(long, value_name = "SCHEDULE", conflicts_with_all = ["experiment", "script", "db", "trace", "transactions", "model", "images", "quick", "set", "out", "format"])]
    pub schedule: Option<Schedule>,
    /// Directory for databases [default: the current directory for --kill, --db and --trace, otherwise memory].
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

impl CrashArgs {
    /// Crashes, or plays a schedule again.
    pub fn execute(self) -> Result<Exit> {
        let directory = self.accidents.dir;
        if let Some(schedule) = self.accidents.schedule {
            return command::play(&schedule, &self.engine, directory.as_deref());
        }
        if let Some(file) = self.write_known {
            return command::write_known(&file, self.quick, directory.as_deref());
        }
        let kind = match (self.accidents.kill, self.accidents.schedules) {
            (Some(kills), _) => CrashKind::Kills(kills),
            (None, Some(limit)) => CrashKind::Schedules(limit),
            (None, None) => CrashKind::Images(Images {
                work: work(self.script, self.trace, self.db, self.transactions, &self.stand_ins)?,
                experiment: self.experiment,
                models: self.model,
                images: self.images,
                transactions: self.transactions,
            }),
        };
        let crashed = Crashed::parse(&self.set)?;
        crashed.check(&kind)?;
        let request = CrashRequest {
            kind,
            journal_modes: crashed.journal_mode,
            synchronous: crashed.synchronous,
            locking_modes: crashed.locking_mode,
            page_sizes: or_default(crashed.page_size, 4096),
            psow: or_default(crashed.psow, true),
            engines: self.engine,
            every_version: self.every_version,
            quick: self.quick,
            seed: self.seed,
            directory,
            out: self.out,
        };
        command::execute(&request, self.format)
    }
}

/// The settings to crash.
#[derive(Default)]
struct Crashed {
    journal_mode: Vec<crash::JournalMode>,
    synchronous: Vec<crash::Synchronous>,
    locking_mode: Vec<crash::LockingMode>,
    page_size: Vec<u32>,
    psow: Vec<bool>,
}

impl Crashed {
    const NAMES: [&str; 5] = ["journal_mode", "synchronous", "locking_mode", "page_size", "psow"];

    fn parse(given: &[String]) -> Result<Crashed> {
        let mut crashed = Crashed::default();
        for (name, values) in settings(given, "--set")? {
            let (name, values) = (name.as_str(), values.as_str());
            match name {
                "journal_mode" => crashed.journal_mode = all(name, values, parsed)?,
                "synchronous" => crashed.synchronous = all(name, values, parsed)?,
                "locking_mode" => crashed.locking_mode = all(name, values, parsed)?,
                "page_size" => crashed.page_size = all(name, values, page_size)?,
                "psow" => crashed.psow = all(name, values, zero_or_one)?,
                _ => return Err(unknown(name)),
            }
        }
        Ok(crashed)
    }

    /// Refuses settings that have no part in a kind of crash, and fills in what is not given.
    fn check(&self, kind: &CrashKind) -> Result<()> {
        let refused: &[&str] = match kind {
            CrashKind::Images(images) if !matches!(images.work, CrashWork::BuiltIn) => {
                &["page_size"]
            }
            CrashKind::Images(_) => &[],
            CrashKind::Kills(_) => &["page_size", "psow"],
            CrashKind::Schedules(_) => &["synchronous", "locking_mode", "page_size", "psow"],
        };
        let given = [
            !self.journal_mode.is_empty(),
            !self.synchronous.is_empty(),
            !self.locking_mode.is_empty(),
            !self.page_size.is_empty(),
            !self.psow.is_empty(),
        ];
        let mut named = Crashed::NAMES.iter().zip(given).filter(|(_, given)| *given);
        match named.find(|(name, _)| refused.contains(name)) {
            Some((name, _)) => Err(Error::mistake(format!("--set {name} has no effect here"))
                .hint(
                    "a database has its own page size; kills and schedules happen on real files",
                )),
            None => Ok(()),
        }
    }
}

/// Returns the values, or one if none was given.
fn or_default<T>(values: Vec<T>, default: T) -> Vec<T> {
    if values.is_empty() { vec![default] } else { values }
}

/// Reads the values of a setting.
fn all<T>(name: &str, values: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>> {
    let one = |value: &str| {
        let value = value.trim();
        read(value).map_err(|why| Error::mistake(format!("--set {name}={value}: {why}")))
    };
    values.split(',').map(one).collect()
}

fn parsed<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

fn unknown(name: &str) -> Error {
    let names = Crashed::NAMES;
    Error::mistake(format!("--set {name}: crash tests depend only on {}", names.join(", ")))
        .hint_if(nearest(name, names).map(|nearest| format!("did you mean `{nearest}`?")))
}

/// Returns the work of crash images. Options for the user's own work that have no part in it are refused.
fn work(
    script: Option<PathBuf>,
    trace: Option<PathBuf>,
    database: Option<PathBuf>,
    transactions: Option<u32>,
    stand_ins: &StandInArgs,
) -> Result<CrashWork> {
    if transactions.is_some() && trace.is_none() && database.is_none() {
        return Err(Error::mistake("--transactions requires --db or --trace")
            .hint("a script without a database is crashed as a whole"));
    }
    match (script, trace, database) {
        (_, Some(trace), database) => {
            Ok(CrashWork::Trace { trace, database, stand_ins: stand_ins.lines() })
        }
        _ if stand_ins.are_given() => Err(of_traces()),
        (Some(files), None, database) => Ok(CrashWork::Script { files, database }),
        (None, None, None) => Ok(CrashWork::BuiltIn),
        (None, None, Some(_)) => Err(Error::mistake("--db requires --script or --trace")
            .hint("name the statements to crash: --script my.sql")),
    }
}
