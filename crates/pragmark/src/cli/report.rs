//! Options of `report` and `settings`.

use std::path::PathBuf;

use app::export::{TablesForm, TextForm};
use app::{Error, Result};
use clap::{Args, ValueEnum};
use clap_complete::engine::ArgValueCompleter;
use lab::experiment::nearest;
use lab::tier::MayLose;
use report::SettingsQuery;
use report::export::{Columns, Direction};
use report::settings::Binding;

use super::values::values_of;
use crate::commands::{report as command, settings};
use crate::complete;
use crate::exit::Exit;
use crate::output::{Format, format_for};

/// Options of `report`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark report                                      the latest run
  pragmark report --open                               its page, in the browser
  pragmark report pragmark-runs/… --format markdown    for a wiki or an issue
  pragmark report --format csv --out trials.csv        its data; --wide for every column
  pragmark report pragmark-runs/* --format sqlite --out runs.db

In CSV, text that a spreadsheet would take for a formula has an apostrophe before it. JSON has every text as it is.")]
pub struct ReportArgs {
    /// Folder of the run; of several for `sqlite` and `parquet` [default: the latest run below pragmark-runs].
    #[arg(add = ArgValueCompleter::new(complete::runs))]
    pub runs: Vec<PathBuf>,
    /// Output format [default: the ending of --out; otherwise terminal].
    #[arg(long, value_enum)]
    pub format: Option<ReportFormat>,
    /// Write every column of a CSV table, such as each metric of a trial. JSON is always complete.
    #[arg(long)]
    pub wide: bool,
    /// Write to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Make the page again and open it in the browser.
    #[arg(long, conflicts_with_all = ["format", "wide", "out"])]
    pub open: bool,
}

/// Formats of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// Summary for the terminal.
    Terminal,
    /// One self-contained page with charts.
    Html,
    /// Markdown, for a wiki or an issue.
    Markdown,
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
    /// github-action-benchmark, customBiggerIsBetter: metrics that are better if higher.
    GithubBigger,
    /// github-action-benchmark, customSmallerIsBetter: metrics that are better if lower.
    GithubSmaller,
    /// Go's benchmark format, for benchstat: a line for each timed trial.
    Benchstat,
    /// An SQLite database with runs, trials, figures, estimates, claims and environment; of several runs together.
    Sqlite,
    /// A folder with the same tables as Parquet files.
    Parquet,
}

impl ReportArgs {
    /// Writes, opens or exports the report.
    ///
    /// # Errors
    /// A format or a browser takes one run and there are several.
    pub fn execute(mut self) -> Result<Exit> {
        if self.runs.is_empty() {
            self.runs.push(command::run_or_latest(None)?);
        }
        let tables = |form| command::tables(&self.runs, form, self.out.as_deref());
        match format_for(self.format, self.out.as_deref(), ReportFormat::Terminal)? {
            ReportFormat::Sqlite => tables(TablesForm::Sqlite),
            ReportFormat::Parquet => tables(TablesForm::Parquet),
            format => self.of_one_run(format),
        }
    }

    fn of_one_run(&self, format: ReportFormat) -> Result<Exit> {
        let [run] = &self.runs[..] else {
            return Err(match self.open {
                true => Error::mistake("--open opens the page of one run"),
                false => Error::mistake("this format has one run")
                    .hint("--format sqlite and --format parquet put several runs together"),
            });
        };
        if self.open {
            return command::open(run);
        }
        let out = self.out.as_deref();
        let columns = if self.wide { Columns::Wide } else { Columns::Narrow };
        let document = |format| command::document(run, format, out);
        let text = |form| command::text(run, form, out);
        match format {
            ReportFormat::Terminal => document(Format::Terminal),
            ReportFormat::Html => document(Format::Html),
            ReportFormat::Markdown => document(Format::Markdown),
            ReportFormat::Csv => command::trials(run, columns, out),
            ReportFormat::VariantsCsv => text(TextForm::Variants(columns)),
            ReportFormat::MetricsCsv => text(TextForm::Metrics(columns)),
            ReportFormat::ClaimsCsv => text(TextForm::Claims(columns)),
            ReportFormat::Json => text(TextForm::Json),
            ReportFormat::Bencher => text(TextForm::Bencher),
            ReportFormat::GithubBigger => text(TextForm::Github(Direction::Bigger)),
            ReportFormat::GithubSmaller => text(TextForm::Github(Direction::Smaller)),
            ReportFormat::Benchstat => text(TextForm::Benchstat),
            ReportFormat::Sqlite | ReportFormat::Parquet => Ok(Exit::Success),
        }
    }
}

/// Options of `settings`.
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  pragmark settings                                of the latest run, for common bindings
  pragmark settings --for django                   for Django; before any run, the usual ones
  pragmark settings pragmark-runs/… pragma-journal-sync --may-lose recent

Bindings: {}. mattn and modernc are two Go bindings.", names_of_bindings()))]
pub struct SettingsArgs {
    /// Folder of the run [default: the latest run below pragmark-runs].
    #[arg(add = ArgValueCompleter::new(complete::runs))]
    pub run: Option<PathBuf>,
    /// Experiment to take settings from: its key in the report [default: all].
    pub experiment: Option<String>,
    /// Binding to print settings for [default: the common ones].
    #[arg(long = "for", value_name = "BINDING", value_parser = binding, add = ArgValueCompleter::new(complete::bindings))]
    pub binding: Option<Binding>,
    /// Accepted loss in a power cut. A comment names the faster settings of the next level.
    #[arg(long, value_enum, default_value = "nothing")]
    pub may_lose: LossArg,
}

impl SettingsArgs {
    /// Prints the settings.
    pub fn execute(self) -> Result<Exit> {
        let (experiment, binding) = (self.experiment, self.binding);
        let query = SettingsQuery { experiment, binding, may_lose: self.may_lose.into() };
        settings::execute(self.run, &query)
    }
}

fn names_of_bindings() -> String {
    Binding::ALL.iter().map(|binding| binding.name()).collect::<Vec<_>>().join(", ")
}

/// Reads the name of a binding.
pub fn binding(name: &str) -> Result<Binding, String> {
    Binding::find(name).ok_or_else(|| {
        let known = names_of_bindings();
        match nearest(name, Binding::ALL.iter().map(|binding| binding.name())) {
            Some(nearest) => format!("did you mean `{nearest}`? Bindings: {known}"),
            None => format!("bindings: {known}"),
        }
    })
}

values_of! {
    /// Accepted loss in a power cut.
    enum LossArg of MayLose {
        /// No acknowledged transaction.
        Nothing,
        /// Recent transactions; no corruption was seen in ordinary commits.
        Recent,
        /// Anything: the fastest settings of all. Use it only for data that you can afford to lose.
        Anything,
    }
}
