//! Runs from wherever they are: folders, exports in every form, and the notes of a git repository.

mod tables;

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread;

use ::report::export::run_of_trials_csv;
use lab::runs::RunDigest;

pub use tables::{is_database, is_folder as is_folder_of_tables};

use super::git::git;
use super::report;
use crate::failure::Failure;

/// What came of reading a run, with what it was called.
pub type Read = (String, Result<RunDigest, Failure>);

/// Reads runs, as many at a time as there are processors; the answers are in the order of the paths. A database and a folder
/// of tables may have several runs.
pub fn read(paths: &[PathBuf]) -> Vec<Read> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let several = |paths: &[PathBuf]| {
        thread::scope(|scope| {
            let readers: Vec<_> = paths.iter().map(|path| scope.spawn(|| all(path))).collect();
            let joined = readers.into_iter().map(|it| it.join());
            joined
                .flat_map(|it| it.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect::<Vec<_>>()
        })
    };
    paths.chunks(threads).flat_map(several).collect()
}

/// The runs at a path.
fn all(path: &Path) -> Vec<Read> {
    let name = path.display().to_string();
    match is_of_tables(path) {
        true => tables::read(path).unwrap_or_else(|failure| vec![(name, Err(failure))]),
        false => vec![(name, one(path))],
    }
}

/// Whether it is an export as tables: a database, or a folder of Parquet files.
fn is_of_tables(path: &Path) -> bool {
    let text = ["json", "csv"];
    let is_text =
        |path: &Path| path.extension().is_some_and(|it| text.iter().any(|text| it == *text));
    match path.is_dir() {
        true => tables::is_folder(path),
        false => !is_text(path),
    }
}

/// The run in a folder or in an export.
fn one(path: &Path) -> Result<RunDigest, Failure> {
    if path.is_dir() {
        return report::analyse(path).map(RunDigest::from);
    }
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::unusable(format!("cannot read {}: {error}", path.display())))?;
    let name = path.display().to_string();
    match path.extension().is_some_and(|it| it == "csv") {
        true => of_trials(&name, &text),
        false => of_export(&name, &text),
    }
}

fn of_trials(name: &str, text: &str) -> Result<RunDigest, Failure> {
    run_of_trials_csv(name, text).map_err(|why| {
        Failure::unusable(format!("cannot compare {name}: {why}"))
            .hint("`pragmark export RUN --wide --out FILE` writes a table of trials, --format json all that a comparison can use")
    })
}

fn of_export(name: &str, text: &str) -> Result<RunDigest, Failure> {
    RunDigest::of_export(text).map_err(|why| {
        Failure::unusable(format!("{name} is no JSON export of a run: {why}"))
            .hint("`pragmark export RUN --format json --out FILE` writes one")
    })
}

/// The exports in the notes of a git repository with this name, by the commits that they belong to.
pub fn of_notes(directory: &Path, name: &str) -> Result<Vec<Read>, Failure> {
    let reference = format!("--ref={name}");
    let list = git(directory, &["notes", &reference, "list"])?;
    let notes = list.lines().filter_map(|line| line.split_once(' '));
    let read = notes.map(|(note, commit)| {
        let text = git(directory, &["cat-file", "blob", note]);
        let digest = text.and_then(|text| of_export(&format!("the note of {commit}"), &text));
        (commit.to_owned(), digest)
    });
    Ok(read.collect())
}
