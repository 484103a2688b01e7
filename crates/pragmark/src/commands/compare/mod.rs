//! `pragmark compare`: what differs between two sides, without a verdict on time.

mod exact;
mod runs;
mod subject;

use std::path::Path;

use report::document::Document;
use report::render;
use serde::Serialize;

use self::subject::Subject;
use super::output;
use super::report::terminal_style;
use crate::cli::{CompareArgs, CompareFormat};
use crate::failure::{Exit, Failure};

/// Compares what the arguments name.
pub fn execute(args: &CompareArgs) -> Result<Exit, Failure> {
    match Subject::of(&args.subjects)? {
        Subject::Runs(folders) => runs::execute(args, &folders),
        subject => exact::execute(args, subject),
    }
}

/// Writes a comparison in the form that is wanted: its document, or its data as JSON.
pub fn write(
    format: CompareFormat,
    out: Option<&Path>,
    document: &Document,
    data: &impl Serialize,
) -> Result<Exit, Failure> {
    let text = match format {
        CompareFormat::Terminal => render::terminal(document, terminal_style()),
        CompareFormat::Markdown => render::markdown(document),
        CompareFormat::Html => render::html(document)
            .map_err(|error| Failure::unusable(format!("cannot make the page: {error}")))?,
        CompareFormat::Json => {
            let json = serde_json::to_string_pretty(data).map_err(Failure::unusable)?;
            format!("{json}\n")
        }
    };
    output::write_text(out, &text)
}
