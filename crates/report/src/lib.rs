#![forbid(unsafe_code)]
//! Reports of an analysis: terminal, Markdown, one HTML page, CSV and JSON.
//!
//! This crate presents and never computes: every figure, interval, rank and judgement comes from
//! [`lab::analysis`] as it is, and only its wording and form are decided here. It depends on `lab`
//! alone, so it can neither start a trial nor open a database, and it writes to nothing but the
//! writer it is given.
//!
//! A report is made in two steps. Its topics ([`report`]) say what there is to say as a
//! [`document::Document`], and three renderers ([`render`]) show any document: no renderer knows a topic,
//! no topic knows a renderer. [`settings`] prints settings of SQLite in the forms that programs take.

mod comparisons;
pub mod document;
mod error;
pub mod export;
pub mod figures;
mod glossary;
mod names;
pub mod render;
pub mod settings;
pub mod sql;
mod topics;
mod words;

use tuning::Analysis;

pub use comparisons::{differing_rows, exact, fleet, guarded, history, junit, runs};
pub use error::Error;
pub use render::Style;
pub use topics::{
    QuestionAnswered, SettingsQuery, answers, report, settings_to_use, usual_settings,
};

/// Result of writing a view.
pub type Result<T> = std::result::Result<T, Error>;

/// The report of a run for a terminal.
pub fn terminal(analysis: &Analysis, style: Style) -> String {
    render::terminal(&report(analysis), style)
}

/// The report of a run as Markdown.
pub fn markdown(analysis: &Analysis) -> String {
    render::markdown(&report(analysis))
}

/// The report of a run as one HTML page.
///
/// # Errors
/// When the template cannot be filled in.
pub fn html(analysis: &Analysis) -> Result<String> {
    render::html(&report(analysis))
}
