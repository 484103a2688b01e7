//! Options of `crash`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::values::{page_size, zero_or_one};
use crate::commands::accidents::AccidentArgs;

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
  pragmark crash mine.toml                  the settings of an experiment's variants
  pragmark crash --kill 1000                a thousand processes, killed while they write
  pragmark crash --schedules                two connections at the same instant")]
pub struct CrashArgs {
    /// An experiment, by its name or the path of its file: the settings of its variants are tried instead of
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
