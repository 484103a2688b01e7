//! Options of the commands that show what there is and what was measured: `list`, `show`, `report`,
//! `settings` and `export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::ScaleArg;

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
    /// The scale for which variants are shown.
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
    /// Also print the fastest settings where they may be less safe than the baseline. Use it only
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
    /// One row for each variant, with effects and intervals.
    VariantsCsv,
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
