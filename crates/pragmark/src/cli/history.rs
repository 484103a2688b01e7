//! Options of `history`.

use std::path::PathBuf;

use clap::Args;

use super::CompareFormat;

/// Options of `history`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark history                                   all runs below pragmark-runs
  pragmark history benchmarks --format html --out history.html")]
pub struct HistoryArgs {
    /// Folders below which runs are looked for.
    #[arg(default_value = crate::library::RUNS)]
    pub folders: Vec<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value = "terminal")]
    pub format: CompareFormat,
    /// Write to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}
