//! `pragmark settings`: the settings that a run recommends, ready to paste.

use std::path::{Path, PathBuf};

use app::library::RUNS;
use app::report::analyse;
use app::{Error, Result};
use report::SettingsQuery;

use super::report::run_or_latest;
use crate::exit::Exit;
use crate::output;

/// Writes the settings that a run recommends, by default the latest one; for a binding the usual ones where there is no run yet.
pub fn execute(run: Option<PathBuf>, query: &SettingsQuery) -> Result<Exit> {
    let has_run = run.is_some() || query.experiment.is_some() || Path::new(RUNS).exists();
    if !has_run
        && query.binding.is_some()
        && let Some(usual) = report::usual_settings(query)
    {
        return output::write_text(None, &usual);
    }
    let run = run_or_latest(run)?;
    let analysis = analyse(&run)?;
    let keys: Vec<&str> =
        analysis.ladders.iter().map(|ladder| ladder.experiment.as_str()).collect();
    if keys.is_empty() && analysis.tuning.is_some() {
        let folder = run.display();
        return Err(Error::unusable(format!(
            "the search in {folder} ended before it recommended anything"
        ))
        .hint(format!("continue with `pragmark run --resume {folder}`")));
    }
    if keys.is_empty() {
        return Err(Error::unusable(format!(
            "no experiment in {} compares settings of SQLite, so it recommends none",
            run.display()
        ))
        .hint("run an experiment with a PRAGMA as a factor, such as pragma-journal-sync"));
    }
    if let Some(wanted) = query.experiment.as_deref().filter(|key| !keys.contains(key)) {
        return Err(unknown(wanted, &keys));
    }
    output::write_text(None, &report::settings_to_use(&analysis, query))
}

fn unknown(wanted: &str, keys: &[&str]) -> Error {
    let mut known: Vec<&str> = keys.to_vec();
    known.dedup();
    let nearest = lab::experiment::nearest(wanted, known.iter().copied());
    Error::mistake(format!(
        "no experiment `{wanted}` in this run recommends settings; these do: {}",
        known.join(", ")
    ))
    .hint_if(nearest.map(|nearest| format!("did you mean `{nearest}`?")))
}
