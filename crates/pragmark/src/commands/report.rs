//! `pragmark report`: the report of a run, made again from its record.

use std::path::Path;

use runner::RunFolder;
use tuning::{Analysis, Collector};

use super::{fleet, output};
use crate::cli::{ReportArgs, ReportFormat};
use crate::failure::{Exit, Failure};

/// Name of the page in the folder of a run.
pub const PAGE: &str = "report.html";

/// Writes the report in the form asked for.
pub fn execute(args: &ReportArgs) -> Result<Exit, Failure> {
    if fleet::is_fleet(&args.run) {
        return fleet::report(args);
    }
    let analysis = analyse(&args.run)?;
    let text = match args.format {
        ReportFormat::Terminal => report::terminal(&analysis, terminal_style()),
        ReportFormat::Html => page(&analysis)?,
        ReportFormat::Markdown => report::markdown(&analysis),
    };
    output::write_text(args.out.as_deref(), &text)
}

/// Analyses the record of a run.
pub fn analyse(folder: &Path) -> Result<Analysis, Failure> {
    let folder = RunFolder::open(folder)?;
    let mut collector = Collector::new(folder.plan()?, folder.environment()?);
    folder.each_trial(|record| collector.add(record))?;
    Ok(collector.finish())
}

/// The page of a run.
pub fn page(analysis: &Analysis) -> Result<String, Failure> {
    report::html(analysis)
        .map_err(|error| Failure::unusable(format!("cannot make the page: {error}")))
}

/// How to print on the terminal at hand.
pub fn terminal_style() -> report::Style {
    use std::io::{IsTerminal, stdout};
    // Obeys NO_COLOR, CLICOLOR, CLICOLOR_FORCE and TERM (https://no-color.org, https://bixense.com/clicolors).
    let colour = anstream::AutoStream::choice(&stdout()) != anstream::ColorChoice::Never;
    report::Style { width: if stdout().is_terminal() { width() } else { 100 }, colour }
}

fn width() -> usize {
    terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0))
}
