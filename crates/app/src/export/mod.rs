//! Exports of runs for other tools.

mod tables;

use std::io::{self, Write};
use std::path::Path;

use report::export::{self, Benchstat, Columns, Direction};
use runner::RunFolder;

pub use self::tables::{TablesForm, tables};
use crate::error::{Error, Result};
use crate::report::analyse;

/// Texts of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextForm {
    /// CSV with one row per variant.
    Variants(Columns),
    /// CSV with one row per metric of each variant.
    Metrics(Columns),
    /// CSV with one row per claim.
    Claims(Columns),
    /// The whole analysis as JSON.
    Json,
    /// Bencher Metric Format.
    Bencher,
    /// The list of github-action-benchmark with the metrics that are better in this direction.
    Github(Direction),
    /// Go's benchmark format.
    Benchstat,
}

/// Returns a run as a text.
///
/// # Errors
/// The run cannot be read, or has nothing for this form.
pub fn text(run: &Path, form: TextForm) -> Result<String> {
    if form == TextForm::Benchstat {
        let folder = RunFolder::open(run)?;
        let mut text = Benchstat::new(&folder.plan()?);
        folder.each_trial(|record| text.add(&record))?;
        return Ok(text.finish());
    }
    let analysis = analyse(run)?;
    let text = match form {
        TextForm::Claims(columns) => export::claims_csv(&analysis, columns),
        TextForm::Metrics(columns) => export::metrics_csv(&analysis, columns),
        TextForm::Variants(columns) => export::variants_csv(&analysis, columns),
        TextForm::Json | TextForm::Benchstat => export::json(&analysis),
        TextForm::Bencher => export::bencher(&analysis),
        TextForm::Github(direction) => export::github_benchmark(&analysis, direction),
    };
    let text = text.map_err(Error::unusable)?;
    match form {
        // The action accepts no empty list.
        TextForm::Github(direction) if text.trim() == "[]" => {
            let (better, other) = match direction {
                Direction::Bigger => ("larger", "smaller"),
                Direction::Smaller => ("smaller", "bigger"),
            };
            let why = format!("this run has no metric whose {better} figures are better");
            Err(Error::unusable(why).hint(format!("use --format github-{other}")))
        }
        _ => Ok(text),
    }
}

/// The trials of a run, for a CSV table.
pub struct Trials {
    folder: RunFolder,
    columns: Columns,
}

impl Trials {
    /// Opens the record of a run.
    ///
    /// # Errors
    /// There is no run.
    pub fn open(run: &Path, columns: Columns) -> Result<Trials> {
        Ok(Trials { folder: RunFolder::open(run)?, columns })
    }

    /// Writes the table. Trials go straight from the record to the table, so that a record of any length needs no memory.
    ///
    /// # Errors
    /// The outer one: the table cannot be written. The inner one: the record cannot be read.
    pub fn write(&self, writer: &mut dyn Write) -> io::Result<Result<()>> {
        let plan = match self.folder.plan() {
            Ok(plan) => plan,
            Err(error) => return Ok(Err(error.into())),
        };
        let mut table = export::TrialsCsv::new(writer, &plan, self.columns);
        let mut written = Ok(());
        let read = self.folder.each_trial(|record| {
            if written.is_ok() {
                written = table.write(&record);
            }
        });
        written.map_err(io::Error::other)?;
        table.finish().map_err(io::Error::other)?;
        Ok(read.map_err(Error::from))
    }
}
