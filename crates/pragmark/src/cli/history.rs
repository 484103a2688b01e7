//! Options of `history`.

use std::path::PathBuf;

use clap::Args;

use super::CompareFormat;

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
    #[arg(default_value = crate::library::RUNS)]
    pub folders: Vec<PathBuf>,
    /// Read the notes of this git repository with this name instead: each is the JSON export of a run.
    #[arg(long, value_name = "NAME", conflicts_with = "folders")]
    pub notes: Option<String>,
    /// Output format.
    #[arg(long, value_enum, default_value = "terminal")]
    pub format: CompareFormat,
    /// Write to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}
