//! Options of `runs`.

use std::path::PathBuf;

use app::Result;
use app::history::Sources;
use clap::{ArgGroup, Args, Subcommand};

use super::values;
use crate::commands::report::write_history;
use crate::commands::runs::{self, Prune};
use crate::exit::Exit;
use crate::output::Output;

/// Options of `runs`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  pragmark runs                          all runs below pragmark-runs, the latest first
  pragmark runs ~/benchmarks             all runs below another folder
  pragmark runs prune --older-than 30d   remove those that are older than 30 days"
)]
pub struct RunsArgs {
    /// Command [default: list the runs].
    #[command(subcommand)]
    pub command: Option<RunsCommand>,
    /// Folders to search for runs.
    #[arg(default_value = app::library::RUNS)]
    pub folders: Vec<PathBuf>,
}

/// Work with runs other than listing them.
#[derive(Debug, Subcommand)]
pub enum RunsCommand {
    /// Remove old runs after asking. Folders that contain other files stay.
    Prune(PruneArgs),
    /// Show how figures changed over many runs, and where their level shifted.
    History(HistoryArgs),
}

/// Options of `runs prune`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("which").required(true).multiple(true).args(["keep", "older_than"]))]
#[command(after_help = "\
Examples:
  pragmark runs prune --keep 10                      all but the latest ten
  pragmark runs prune --older-than 30d --keep 10     of all but the latest ten, those older than 30 days
  pragmark runs prune --older-than 30d --dry-run     only list them

pragmark keeps and names runs in use, and folders with files that it did not write.")]
pub struct PruneArgs {
    /// Keep this many of the latest runs, whatever their age.
    #[arg(long, value_name = "N")]
    pub keep: Option<usize>,
    /// Remove only runs older than this, such as 30d or 12h.
    #[arg(long, value_name = "AGE", value_parser = values::age)]
    pub older_than: Option<f64>,
    /// Only list the runs that would be removed.
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask. Required in scripts, where nobody can answer.
    #[arg(long)]
    pub yes: bool,
    /// Folders to search for runs.
    #[arg(default_value = app::library::RUNS)]
    pub folders: Vec<PathBuf>,
}

/// Options of `runs history`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark runs history                                   all runs below pragmark-runs
  pragmark runs history benchmarks --out history.html
  pragmark runs history --notes pragmark                  exports in the notes of this git repository

A folder may contain runs and their JSON exports; name an SQLite or Parquet export itself.")]
pub struct HistoryArgs {
    /// Folders to search for runs and their JSON exports, or exports.
    #[arg(default_value = app::library::RUNS)]
    pub folders: Vec<PathBuf>,
    /// Read this repository's git notes of this name instead: each is the JSON export of a run.
    #[arg(long, value_name = "NAME", conflicts_with = "folders")]
    pub notes: Option<String>,
    /// The result.
    #[command(flatten)]
    pub output: Output,
}

impl HistoryArgs {
    fn execute(self) -> Result<Exit> {
        let sources = match self.notes {
            Some(name) => Sources::Notes(name),
            None => Sources::Folders(self.folders),
        };
        write_history(&sources, &self.output)
    }
}

impl RunsArgs {
    /// Lists runs, removes some or shows their history.
    pub fn execute(self) -> Result<Exit> {
        match self.command {
            Some(RunsCommand::Prune(args)) => runs::prune(&Prune {
                keep: args.keep.unwrap_or(0),
                older_than_s: args.older_than,
                dry_run: args.dry_run,
                confirmed: args.yes,
                folders: args.folders,
            }),
            Some(RunsCommand::History(args)) => args.execute(),
            None => runs::list(&self.folders),
        }
    }
}
