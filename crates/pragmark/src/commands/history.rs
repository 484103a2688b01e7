//! `pragmark history`: how figures go over many runs.

use std::path::{Path, PathBuf};

use lab::history::{History, Run};

use super::{compare, report};
use crate::cli::HistoryArgs;
use crate::failure::{Exit, Failure};

/// The file by which the folder of a run is known.
const PLAN: &str = "run.json";
/// How deep below a folder runs are looked for.
const DEPTH: usize = 5;

/// Reads all runs and writes their history.
pub fn execute(args: &HistoryArgs) -> Result<Exit, Failure> {
    let folders = runs_below(&args.folders)?;
    let (mut runs, mut unreadable) = (Vec::new(), Vec::new());
    for folder in folders {
        match report::analyse(&folder) {
            Ok(analysis) => runs.push(Run::of(&analysis)),
            Err(failure) => unreadable.push((folder.display().to_string(), failure.words())),
        }
    }
    if runs.is_empty() && unreadable.is_empty() {
        return Err(Failure::unusable("there is no run below these folders")
            .hint("`pragmark run` and `pragmark measure` make some"));
    }
    let history = History::of(runs);
    let document = ::report::history(&history, &unreadable);
    compare::write(args.format, args.out.as_deref(), &document, &history)
}

/// The folders of all runs below these folders, each of which may be a run itself. Links are not followed.
pub(super) fn runs_below(folders: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut runs = Vec::new();
    for folder in folders {
        add_runs(folder, DEPTH, &mut runs).map_err(|error| {
            Failure::unusable(format!("cannot read {}: {error}", folder.display()))
                .hint("name a folder with runs")
        })?;
    }
    Ok(runs)
}

/// Adds the folders of runs below a folder.
fn add_runs(folder: &Path, depth: usize, runs: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if folder.join(PLAN).exists() {
        runs.push(folder.to_owned());
        return Ok(());
    }
    let mut below = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if depth > 0 && entry.file_type()?.is_dir() {
            below.push(entry.path());
        }
    }
    below.sort();
    below
        .iter()
        .try_for_each(|folder| add_runs(folder, depth - 1, runs))
}
