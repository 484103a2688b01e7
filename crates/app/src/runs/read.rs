//! Runs from wherever they are: folders, exports in every form, and the notes of a git repository.

use lab::comparison::RunDigest;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread;

use report::export::run_of_trials_csv;

use super::tables::{self, Read};
use crate::error::{Error, Result};
use crate::git::git;
use crate::report::analyse;

/// Reads runs, as many at a time as there are processors; the answers are in the order of the paths. A database and a folder
/// of tables may have several runs.
pub fn read(paths: &[PathBuf]) -> Vec<Read> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let several = |paths: &[PathBuf]| {
        thread::scope(|scope| {
            let readers: Vec<_> = paths.iter().map(|path| scope.spawn(|| all(path))).collect();
            let joined = readers.into_iter().map(thread::ScopedJoinHandle::join);
            joined
                .flat_map(|runs| runs.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect::<Vec<_>>()
        })
    };
    paths.chunks(threads).flat_map(several).collect()
}

/// Reads the runs at a path.
fn all(path: &Path) -> Vec<Read> {
    let name = path.display().to_string();
    // An export as tables is a database, or a folder of Parquet files.
    let is_text = path
        .extension()
        .is_some_and(|extension| ["json", "csv"].iter().any(|text| extension == *text));
    let is_tables = if path.is_dir() { tables::is_folder(path) } else { !is_text };
    if is_tables {
        tables::read(path).unwrap_or_else(|error| vec![(name, Err(error))])
    } else {
        vec![(name, one(path))]
    }
}

/// Reads the run in a folder or in an export.
fn one(path: &Path) -> Result<RunDigest> {
    if path.is_dir() {
        return analyse(path).map(RunDigest::from);
    }
    let text = std::fs::read_to_string(path).map_err(|error| Error::reading(path, error))?;
    let name = path.display().to_string();
    if path.extension().is_none_or(|extension| extension != "csv") {
        return of_export(&name, &text);
    }
    run_of_trials_csv(&name, &text).map_err(|why| {
        Error::unusable(format!("cannot compare {name}: {why}"))
            .hint("`pragmark report RUN --format csv --wide --out FILE` writes a table of trials, --format json everything that a comparison uses")
    })
}

fn of_export(name: &str, text: &str) -> Result<RunDigest> {
    RunDigest::of_export(text).map_err(|why| {
        Error::unusable(format!("{name} is not a JSON export of a run: {why}"))
            .hint("`pragmark report RUN --out FILE.json` writes one")
    })
}

/// Reads the exports in the notes of a git repository with this name, by the commits that they belong to.
///
/// # Errors
/// git fails.
pub fn of_notes(directory: &Path, name: &str) -> Result<Vec<Read>> {
    let reference = format!("--ref={name}");
    let list = git(directory, &["notes", &reference, "list"])?;
    let read = list.lines().filter_map(|line| line.split_once(' ')).map(|(note, commit)| {
        let text = git(directory, &["cat-file", "blob", note]);
        let digest = text.and_then(|text| of_export(&format!("the note of {commit}"), &text));
        (commit.to_owned(), digest)
    });
    Ok(read.collect())
}
