//! Options of `run`.

use std::path::PathBuf;

use clap::Args;

use super::ScaleArg;
use super::values::{not_negative, seconds};

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
    /// Directory with drivers of your own in other languages, a folder for each language; a driver there
    /// replaces one of the same name. Use it to measure a binding with a driver that you have changed or
    /// written; give it again with --resume.
    #[arg(long, value_name = "DIR")]
    pub drivers: Option<PathBuf>,
    /// File with documents of your own for the experiments on full-text search, instead of generated
    /// ones: .csv or .tsv with a heading, .jsonl, .parquet, or a SQLite database. Use it to learn which
    /// tokenizer suits your text.
    #[arg(long, value_name = "FILE")]
    pub text: Option<PathBuf>,
    /// Columns of --text that are used, of any type [default: all columns of text].
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', requires = "text")]
    pub columns: Vec<String>,
    /// Table of --text, where it is a database with several.
    #[arg(long, value_name = "TABLE", requires = "text")]
    pub table: Option<String>,
    /// Encoding of --text, such as windows-1252 [default: from the byte order mark, otherwise UTF-8].
    #[arg(long, value_name = "NAME", requires = "text")]
    pub encoding: Option<load::Encoding>,
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
    /// Time after which a single trial is stopped and recorded as timed out; a run at the published
    /// sizes whose trials would probably pass it is refused.
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
