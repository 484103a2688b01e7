//! Options of `history`.

use std::path::PathBuf;

use app::history::Sources;
use clap::Args;

use super::compare::ComparisonOutput;
use crate::action::Action;

/// Options of `history`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark history                                   all runs below pragmark-runs
  pragmark history benchmarks --format html --out history.html
  pragmark history --notes pragmark                  exports in the notes of this git repository

A folder may contain runs and their JSON exports; an SQLite or Parquet export is named itself.")]
pub struct HistoryArgs {
    /// Folders below which runs and their JSON exports are looked for, or exports.
    #[arg(default_value = app::library::RUNS)]
    pub folders: Vec<PathBuf>,
    /// Read the notes of this git repository with this name instead: each is the JSON export of a run.
    #[arg(long, value_name = "NAME", conflicts_with = "folders")]
    pub notes: Option<String>,
    /// The result.
    #[command(flatten)]
    pub output: ComparisonOutput,
}

impl HistoryArgs {
    /// Resolves the options.
    pub fn resolve(self) -> Action {
        let sources = match self.notes {
            Some(name) => Sources::Notes(name),
            None => Sources::Folders(self.folders),
        };
        Action::History { sources, output: self.output.resolve() }
    }
}
