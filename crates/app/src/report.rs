//! Reports of runs, made again from their records.

use std::path::Path;

use report::document::Document;
use report::render;
use runner::RunFolder;
use tuning::{Analysis, Collector};

use crate::error::{Error, Result};

/// The name of the page in the folder of a run.
pub const PAGE: &str = "report.html";

/// Analyses the record of a run.
///
/// # Errors
/// The record cannot be read.
pub fn analyse(folder: &Path) -> Result<Analysis> {
    let run = RunFolder::open(folder)?;
    let mut collector = Collector::new(run.plan()?, run.environment()?);
    run.each_trial(|record| collector.add(record))?;
    Ok(Analysis { folder: Some(folder.to_owned()), ..collector.finish() })
}

/// Renders the page of a run.
///
/// # Errors
/// A template fails.
pub fn page(analysis: &Analysis) -> Result<String> {
    report::html(analysis).map_err(cannot_make_page)
}

/// Renders a document as one page.
///
/// # Errors
/// A template fails.
pub fn html(document: &Document) -> Result<String> {
    render::html(document).map_err(cannot_make_page)
}

fn cannot_make_page(error: impl std::fmt::Display) -> Error {
    Error::unusable(format!("cannot make the page: {error}"))
}
