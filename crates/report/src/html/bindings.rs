//! What each binding costs, on the page.

use lab::analysis::ExperimentAnalysis;

use crate::answer::Sentence;
use crate::bindings::{self, Cell};

/// What the template fills in.
pub(super) struct BindingsView {
    pub(super) sentences: Vec<Sentence>,
    pub(super) how: &'static str,
    pub(super) parts: Vec<String>,
    /// Name, version of SQLite, and a cell for each part.
    pub(super) rows: Vec<(String, String, Vec<Cell>)>,
    pub(super) about_defaults: &'static str,
    /// PRAGMA and its value in each row.
    pub(super) defaults: Vec<(String, Vec<String>)>,
}

impl BindingsView {
    /// The view; none where the experiment compares no bindings.
    pub(super) fn of(experiment: &ExperimentAnalysis) -> Option<BindingsView> {
        let shown = bindings::shown(experiment)?;
        let rows = shown.rows.iter().map(|row| {
            let cells = row.costs.iter().map(|cost| bindings::cell(*cost));
            (row.name.clone(), row.sqlite.clone(), cells.collect())
        });
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "–".to_owned());
        Some(BindingsView {
            sentences: bindings::sentences(shown),
            how: bindings::HOW,
            parts: shown.parts.clone(),
            rows: rows.collect(),
            about_defaults: bindings::DEFAULTS,
            defaults: shown
                .defaults
                .iter()
                .map(|(name, values)| (name.clone(), values.iter().map(value).collect()))
                .collect(),
        })
    }
}
