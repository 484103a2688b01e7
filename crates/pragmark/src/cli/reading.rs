//! Options of the commands that only read: `list`, `show`, `report`, `settings` and `export`.

use std::path::PathBuf;

use app::export::{TablesForm, TextForm};
use clap::{Args, ValueEnum};
use clap_complete::engine::ArgValueCompleter;
use lab::experiment::{Scale, nearest};
use lab::tier::MayLose;
use report::SettingsQuery;
use report::export::{Columns, Direction};
use report::settings::Binding;

use crate::action::{Action, ExportForm, Format, Lists, Output};
use crate::complete;

/// Options of `list`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark list               all experiments
  pragmark list --workloads   what `base` and `factors` of an experiment accept
  pragmark list --pragmas     PRAGMAs and connection settings")]
pub struct ListArgs {
    /// List workloads and their parameters.
    #[arg(long)]
    pub workloads: bool,
    /// List PRAGMAs and connection settings with their valid values.
    #[arg(long)]
    pub pragmas: bool,
    /// List metrics with their units and meanings.
    #[arg(long)]
    pub metrics: bool,
    /// The drivers.
    #[command(flatten)]
    pub drivers: DriversOption,
}

impl ListArgs {
    /// Resolves the options.
    pub fn resolve(self) -> Action {
        Action::List(Lists {
            workloads: self.workloads,
            pragmas: self.pragmas,
            metrics: self.metrics,
            drivers: self.drivers.drivers,
        })
    }
}

/// The user's own drivers.
#[derive(Debug, Args)]
pub struct DriversOption {
    /// Directory of your own drivers, whose workloads and metrics are included [default: PRAGMARK_DRIVERS,
    /// otherwise pragmark/drivers in the user's data directory].
    #[arg(long, value_name = "DIR")]
    pub drivers: Option<PathBuf>,
}

/// Options of `show`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark show index-timing                        one experiment
  pragmark show my-question.toml                    check a file of your own
  pragmark show --schema > experiment.schema.json   completion in editors")]
pub struct ShowArgs {
    /// Experiment: a name from `pragmark list`, or the path of a file.
    #[arg(required_unless_present = "schema", add = ArgValueCompleter::new(complete::experiments))]
    pub experiment: Option<String>,
    /// Print the JSON schema of experiment files, for completion and checks in editors.
    #[arg(long)]
    pub schema: bool,
    /// Scale to show variants for.
    #[arg(long, value_enum, default_value = "default")]
    pub scale: ScaleArg,
    /// The drivers.
    #[command(flatten)]
    pub drivers: DriversOption,
}

impl ShowArgs {
    /// Resolves the options.
    pub fn resolve(self) -> Action {
        if self.schema {
            return Action::Schema;
        }
        Action::Show {
            experiment: self.experiment.into_iter().collect(),
            scale: self.scale.into(),
            drivers: self.drivers.drivers,
        }
    }
}

/// Data size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScaleArg {
    /// Less than a second per trial, for a first impression.
    Quick,
    /// A few seconds per trial, for reliable figures.
    Default,
    /// The published sizes: takes hours and much disk space.
    Paper,
}

impl From<ScaleArg> for Scale {
    fn from(scale: ScaleArg) -> Self {
        match scale {
            ScaleArg::Quick => Scale::Quick,
            ScaleArg::Default => Scale::Default,
            ScaleArg::Paper => Scale::Paper,
        }
    }
}

/// Formats of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ReportFormat {
    /// Summary for the terminal.
    Terminal,
    /// One self-contained page with charts.
    Html,
    /// Markdown, for a wiki or an issue.
    Markdown,
}

/// Options of `report`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark report pragmark-runs/20261120-101500-4711
  pragmark report pragmark-runs/20261120-101500-4711 --format markdown")]
pub struct ReportArgs {
    /// Folder of the run.
    #[arg(add = ArgValueCompleter::new(complete::runs))]
    pub run: PathBuf,
    /// The report.
    #[command(flatten)]
    pub output: ReportOutput,
}

impl ReportArgs {
    /// Resolves the options.
    pub fn resolve(self) -> Action {
        Action::Report { run: self.run, output: self.output.resolve() }
    }
}

/// A report as it is written.
#[derive(Debug, Args)]
pub struct ReportOutput {
    /// Output format.
    #[arg(long, value_enum, default_value = "terminal")]
    format: ReportFormat,
    /// Write to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl ReportOutput {
    /// Resolves the options.
    pub(super) fn resolve(self) -> Output {
        let format = match self.format {
            ReportFormat::Terminal => Format::Terminal,
            ReportFormat::Html => Format::Html,
            ReportFormat::Markdown => Format::Markdown,
        };
        Output { format, out: self.out }
    }
}

/// Options of `settings`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark settings pragmark-runs/…                for every binding
  pragmark settings pragmark-runs/… --for django   for Django's settings.py
  pragmark settings pragmark-runs/… pragma-journal-sync --may-lose recent

Bindings: shell, c, python, django, sqlalchemy, rails, mattn, modernc,
better-sqlite3, jdbc, rusqlite, sqlx. mattn and modernc are two Go bindings.")]
pub struct SettingsArgs {
    /// Folder of the run.
    #[arg(add = ArgValueCompleter::new(complete::runs))]
    pub run: PathBuf,
    /// Experiment to take settings from: its key in the report [default: all].
    pub experiment: Option<String>,
    /// Binding to print settings for [default: all].
    #[arg(long = "for", value_name = "BINDING", value_parser = binding, add = ArgValueCompleter::new(complete::bindings))]
    pub binding: Option<Binding>,
    /// What may be lost in a power cut. The rung above is named in a comment.
    #[arg(long, value_enum, default_value = "nothing")]
    pub may_lose: AcceptedLoss,
    /// Print the fastest settings of all, whatever they lose. Use it only for data that you can afford
    /// to lose.
    #[arg(long = "unsafe", conflicts_with = "may_lose")]
    pub accept_anything: bool,
    /// Write to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

impl SettingsArgs {
    /// Resolves the options.
    pub fn resolve(self) -> Action {
        let may_lose = if self.accept_anything { MayLose::Anything } else { self.may_lose.into() };
        let query = SettingsQuery { experiment: self.experiment, binding: self.binding, may_lose };
        Action::Settings { run: self.run, query, out: self.out }
    }
}

/// Reads the name of a binding.
fn binding(name: &str) -> Result<Binding, String> {
    let names = || Binding::ALL.into_iter().map(Binding::name);
    Binding::find(name).ok_or_else(|| {
        let known = names().collect::<Vec<_>>().join(", ");
        match nearest(name, names()) {
            Some(nearest) => format!("did you mean `{nearest}`? Bindings: {known}"),
            None => format!("bindings: {known}"),
        }
    })
}

/// What may be lost in a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AcceptedLoss {
    /// No acknowledged transaction.
    Nothing,
    /// Recent transactions; no corruption was seen in ordinary commits.
    Recent,
}

impl From<AcceptedLoss> for MayLose {
    fn from(loss: AcceptedLoss) -> MayLose {
        match loss {
            AcceptedLoss::Nothing => MayLose::Nothing,
            AcceptedLoss::Recent => MayLose::Recent,
        }
    }
}

/// Formats of exported data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// CSV with one row per trial.
    Csv,
    /// CSV with one row per variant: effect and interval.
    VariantsCsv,
    /// CSV with one row per metric of each variant: median, standard deviation, p95 and p99.
    MetricsCsv,
    /// CSV with one row per claim.
    ClaimsCsv,
    /// JSON with the whole analysis.
    Json,
    /// Bencher Metric Format, for `bencher run --adapter json`.
    Bencher,
    /// github-action-benchmark, customBiggerIsBetter: the metrics of which more is better.
    GithubBigger,
    /// github-action-benchmark, customSmallerIsBetter: the metrics of which less is better.
    GithubSmaller,
    /// Go's benchmark format, for benchstat: a line for each timed trial.
    Benchstat,
    /// An SQLite database with runs, trials, figures, estimates, claims and environment; of several runs together.
    Sqlite,
    /// A folder with the same tables as Parquet files.
    Parquet,
}

/// Options of `export`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark export pragmark-runs/20261120-101500-4711 --out trials.csv
  pragmark export pragmark-runs/20261120-101500-4711 --format variants-csv --wide
  pragmark export pragmark-runs/20261120-101500-4711 --format json

  pragmark export pragmark-runs/20261120-101500-4711 --format bencher
  pragmark export pragmark-runs/20261120-101500-4711 --format benchstat
  pragmark export pragmark-runs/* --format sqlite --out runs.db

In CSV, text that a spreadsheet would take for a formula has an apostrophe before it. JSON has every
text as it is.")]
pub struct ExportArgs {
    /// Folder of the run; of several for `sqlite` and `parquet`.
    #[arg(required = true, add = ArgValueCompleter::new(complete::runs))]
    pub runs: Vec<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value = "csv")]
    pub format: ExportFormat,
    /// Write every column of a CSV table, such as each metric of a trial. JSON is always complete.
    #[arg(long)]
    pub wide: bool,
    /// Write to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

impl ExportArgs {
    /// Resolves the options.
    pub fn resolve(self) -> Action {
        let columns = if self.wide { Columns::Wide } else { Columns::Narrow };
        let form = match self.format {
            ExportFormat::Csv => ExportForm::Trials(columns),
            ExportFormat::VariantsCsv => ExportForm::Text(TextForm::Variants(columns)),
            ExportFormat::MetricsCsv => ExportForm::Text(TextForm::Metrics(columns)),
            ExportFormat::ClaimsCsv => ExportForm::Text(TextForm::Claims(columns)),
            ExportFormat::Json => ExportForm::Text(TextForm::Json),
            ExportFormat::Bencher => ExportForm::Text(TextForm::Bencher),
            ExportFormat::GithubBigger => ExportForm::Text(TextForm::Github(Direction::Bigger)),
            ExportFormat::GithubSmaller => ExportForm::Text(TextForm::Github(Direction::Smaller)),
            ExportFormat::Benchstat => ExportForm::Text(TextForm::Benchstat),
            ExportFormat::Sqlite => ExportForm::Tables(TablesForm::Sqlite),
            ExportFormat::Parquet => ExportForm::Tables(TablesForm::Parquet),
        };
        Action::Export { runs: self.runs, form, out: self.out }
    }
}
