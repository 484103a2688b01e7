//! `pragmark export`: the data of a run for other tools.

mod tables;

use std::io;
use std::path::Path;

use ::report::export::{self, Benchstat, Columns, Direction};
use runner::RunFolder;
use tuning::Analysis;

use super::{output, report};
use crate::cli::{ExportArgs, ExportFormat};
use crate::failure::{Exit, Failure};

/// Writes the data in the form asked for.
pub fn execute(args: &ExportArgs) -> Result<Exit, Failure> {
    if matches!(args.format, ExportFormat::Sqlite | ExportFormat::Parquet) {
        return tables::execute(args);
    }
    let [run] = args.runs.as_slice() else {
        return Err(Failure::usage("this format has one run")
            .hint("--format sqlite and --format parquet put several runs together"));
    };
    if args.format == ExportFormat::Csv {
        return trials(args, run);
    }
    if args.format == ExportFormat::Benchstat {
        return benchstat(args, run);
    }
    let analysis = report::analyse(run)?;
    let text = match args.format {
        ExportFormat::ClaimsCsv => export::claims_csv(&analysis, columns(args)),
        ExportFormat::MetricsCsv => export::metrics_csv(&analysis, columns(args)),
        ExportFormat::Json => export::json(&analysis),
        ExportFormat::Bencher => export::bencher(&analysis),
        ExportFormat::GithubBigger => return github(args, &analysis, Direction::Bigger),
        ExportFormat::GithubSmaller => return github(args, &analysis, Direction::Smaller),
        _ => export::variants_csv(&analysis, columns(args)),
    };
    output::write_text(args.out.as_deref(), &text.map_err(Failure::unusable)?)
}

/// The list of github-action-benchmark, which takes no empty one.
fn github(args: &ExportArgs, analysis: &Analysis, direction: Direction) -> Result<Exit, Failure> {
    let list = export::github_benchmark(analysis, direction).map_err(Failure::unusable)?;
    if list.trim() == "[]" {
        let (better, other) = match direction {
            Direction::Bigger => ("larger", "smaller"),
            Direction::Smaller => ("smaller", "bigger"),
        };
        let why = format!("this run has no metric of which {better} figures are better");
        return Err(Failure::unusable(why).hint(format!("use --format github-{other}")));
    }
    output::write_text(args.out.as_deref(), &list)
}

fn columns(args: &ExportArgs) -> Columns {
    match args.wide {
        true => Columns::Wide,
        false => Columns::Narrow,
    }
}

fn benchstat(args: &ExportArgs, run: &Path) -> Result<Exit, Failure> {
    let folder = RunFolder::open(run)?;
    let mut text = Benchstat::new(&folder.plan()?);
    folder.each_trial(|record| text.add(&record))?;
    output::write_text(args.out.as_deref(), &text.finish())
}

/// Trials go straight from the record to the table, so that a record of any length needs no
/// memory.
fn trials(args: &ExportArgs, run: &Path) -> Result<Exit, Failure> {
    let folder = RunFolder::open(run)?;
    let plan = folder.plan()?;
    let mut read = Ok(());
    let exit = output::write(args.out.as_deref(), |writer| {
        let mut table = export::TrialsCsv::new(writer, &plan, columns(args));
        let mut written = Ok(());
        read = folder.each_trial(|record| {
            if written.is_ok() {
                written = table.write(&record);
            }
        });
        written.map_err(io::Error::other)?;
        table.finish().map_err(io::Error::other)?;
        Ok(())
    })?;
    read?;
    Ok(exit)
}
