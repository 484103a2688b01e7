//! `pragmark history`: how figures go over many runs.

use std::path::{Path, PathBuf};

use lab::history::{History, Run};

use super::{compare, digests};
use crate::cli::HistoryArgs;
use crate::failure::{Exit, Failure};
use crate::library::RUNS;

/// The file by which the folder of a run is known.
const PLAN: &str = "run.json";
/// Files of pragmark that are no exports: the trials of a run over a fleet are in the folders of its classes.
const NO_EXPORTS: [&str; 2] = [super::fleet::FILE, "environment.json"];
/// How deep below a folder runs are looked for.
const DEPTH: usize = 5;

/// Reads all runs and writes their history.
pub fn execute(args: &HistoryArgs) -> Result<Exit, Failure> {
    let (mut runs, mut unreadable) = (Vec::new(), Vec::new());
    for (name, read) in sources(args)? {
        match read {
            Ok(digest) => runs.push(Run::of(&digest)),
            Err(failure) => unreadable.push((name, failure.words())),
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

/// What is in the folders, or in the notes of the repository.
fn sources(args: &HistoryArgs) -> Result<Vec<digests::Read>, Failure> {
    match &args.notes {
        Some(name) => digests::of_notes(Path::new("."), name),
        None => Ok(digests::read(&below(&args.folders, &[Kind::Run, Kind::Export])?)),
    }
}

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The folder of a run.
    Run,
    /// A JSON file that is in none, or tables.
    Export,
}

/// The folders of all runs below these folders, each of which may be a run itself. Links are not followed.
pub(super) fn runs_below(folders: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    below(folders, &[Kind::Run])
}

fn below(folders: &[PathBuf], kinds: &[Kind]) -> Result<Vec<PathBuf>, Failure> {
    let mut all = Vec::new();
    for folder in folders {
        add(folder, DEPTH, &mut all).map_err(|error| unreadable(folder, &error))?;
    }
    let wanted = all.into_iter().filter(|(kind, _)| kinds.contains(kind));
    Ok(wanted.map(|(_, path)| path).collect())
}

/// Whoever has not made a run yet learns how; whoever named another folder, that it is the wrong one.
fn unreadable(folder: &Path, error: &std::io::Error) -> Failure {
    let is_default = folder == Path::new(RUNS) && error.kind() == std::io::ErrorKind::NotFound;
    if is_default {
        return Failure::unusable(format!("there is no folder {RUNS} in this directory")).hint(
            "`pragmark run` and `pragmark measure` make it; or name another folder with runs",
        );
    }
    Failure::unusable(format!("cannot read {}: {error}", folder.display()))
        .hint("name a folder with runs")
}

/// Adds what is below a folder.
fn add(folder: &Path, depth: usize, all: &mut Vec<(Kind, PathBuf)>) -> std::io::Result<()> {
    if folder.join(PLAN).exists() {
        all.push((Kind::Run, folder.to_owned()));
        return Ok(());
    }
    if folder.is_file() || digests::is_folder_of_tables(folder) {
        all.push((Kind::Export, folder.to_owned()));
        return Ok(());
    }
    let mut below = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, entry.path());
        if kind.is_file() && is_export(&path) {
            all.push((Kind::Export, path));
        } else if depth > 0 && kind.is_dir() {
            below.push(path);
        }
    }
    below.sort();
    below.iter().try_for_each(|folder| add(folder, depth - 1, all))
}

/// Whether it is meant to be an export.
fn is_export(path: &Path) -> bool {
    let is_own = NO_EXPORTS.iter().any(|own| path.ends_with(own));
    !is_own && path.extension().is_some_and(|it| it == "json")
}
