//! Options of `runs` and `open`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};
use clap_complete::engine::ArgValueCompleter;

use super::values;
use crate::action::{Action, Prune};
use crate::complete;

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
    /// What to do with the runs [default: list them].
    #[command(subcommand)]
    pub command: Option<RunsCommand>,
    /// Folders below which runs are looked for.
    #[arg(default_value = app::library::RUNS)]
    pub folders: Vec<PathBuf>,
}

/// What is done with runs other than listing them.
#[derive(Debug, Subcommand)]
pub enum RunsCommand {
    /// Remove old runs, after a question. A folder that contains other files too is kept.
    Prune(PruneArgs),
}

/// Options of `runs prune`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("which").required(true).multiple(true).args(["keep", "older_than"]))]
#[command(after_help = "\
Examples:
  pragmark runs prune --keep 10                      all but the latest ten
  pragmark runs prune --older-than 30d --keep 10     of all but the latest ten, those older than 30 days
  pragmark runs prune --older-than 30d --dry-run     only list them

Runs in use, and folders that contain files that pragmark did not write, are kept and named.")]
pub struct PruneArgs {
    /// Keep so many of the latest runs, whatever their age.
    #[arg(long, value_name = "N")]
    pub keep: Option<usize>,
    /// Remove only runs older than this, such as 30d or 12h.
    #[arg(long, value_name = "AGE", value_parser = values::age)]
    pub older_than: Option<f64>,
    /// Only list what would be removed.
    #[arg(long)]
    pub dry_run: bool,
    /// Remove without a question. Required where nobody can answer, as in scripts.
    #[arg(long)]
    pub yes: bool,
    /// Folders below which runs are looked for.
    #[arg(default_value = app::library::RUNS)]
    pub folders: Vec<PathBuf>,
}

/// Options of `open`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark open                                       the latest run
  pragmark open pragmark-runs/20261120-101500-4711    another run")]
pub struct OpenArgs {
    /// Folder of the run [default: the latest run below pragmark-runs].
    #[arg(add = ArgValueCompleter::new(complete::runs))]
    pub run: Option<PathBuf>,
}

impl RunsArgs {
    /// Resolves the options.
    pub fn resolve(self) -> Action {
        match self.command {
            Some(RunsCommand::Prune(args)) => Action::Prune(Prune {
                keep: args.keep.unwrap_or(0),
                older_than_s: args.older_than,
                dry_run: args.dry_run,
                confirmed: args.yes,
                folders: args.folders,
            }),
            None => Action::Runs { folders: self.folders },
        }
    }
}
