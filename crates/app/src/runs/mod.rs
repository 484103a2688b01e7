//! Runs that are kept: finding, listing and removing them, and reading them from wherever they are.

mod read;
mod tables;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use runner::RunFolder;

pub use self::read::{of_notes, read};
pub use self::tables::{Read, is_export_database};
use crate::error::{Error, Result};
use crate::fleet::FLEET_FILE;
use crate::library::RUNS;
use crate::report::PAGE;
use crate::run::TUNED_EXPERIMENT;

/// The file that makes a folder a run.
const PLAN: &str = "run.json";
/// JSON files that are not exports: the trials of a run over a fleet are in the folders of its groups.
const NO_EXPORTS: [&str; 2] = [FLEET_FILE, "environment.json"];
/// How many levels below a folder runs are looked for.
const DEPTH: usize = 5;
/// Files that commands write into the folder of a run besides its record.
const WRITTEN: [&str; 2] = [PAGE, TUNED_EXPERIMENT];

/// A run that is kept.
pub struct Kept {
    /// Its folder.
    pub folder: PathBuf,
    /// How long ago it was planned; zero if the clock was set back since.
    pub age: Duration,
    /// The size of all files in its folder.
    pub bytes: u64,
}

impl Kept {
    fn of(folder: &Path) -> Result<Kept> {
        let created = RunFolder::open(folder)?.plan()?.created;
        let created = humantime::parse_rfc3339(&created)
            .map_err(|error| Error::unusable(format!("when it began is not known: {error}")))?;
        let bytes = size(folder).map_err(|error| Error::reading(folder, error))?;
        Ok(Kept {
            folder: folder.to_owned(),
            age: SystemTime::now().duration_since(created).unwrap_or_default(),
            bytes,
        })
    }

    /// Removes the run, unless its folder contains other files too: the answer is the name of one.
    ///
    /// # Errors
    /// The run is in use, or cannot be removed.
    pub fn remove(&self) -> Result<Option<String>> {
        Ok(RunFolder::open(&self.folder)?.remove(&WRITTEN)?)
    }
}

/// The runs below some folders.
#[derive(Default)]
pub struct Listing {
    /// The runs, the latest first.
    pub runs: Vec<Kept>,
    /// Folders of runs that cannot be read, with the reason.
    pub unreadable: Vec<(PathBuf, String)>,
}

/// Lists the runs below some folders.
///
/// # Errors
/// A folder cannot be read.
pub fn list(folders: &[PathBuf]) -> Result<Listing> {
    let mut listing = Listing::default();
    let found = find(folders)?.into_iter().filter(|found| found.is_run);
    for folder in found.map(|found| found.path) {
        match Kept::of(&folder) {
            Ok(run) => listing.runs.push(run),
            Err(error) => listing.unreadable.push((folder, error.words())),
        }
    }
    listing.runs.sort_by(|a, b| (a.age, &b.folder).cmp(&(b.age, &a.folder)));
    Ok(listing)
}

/// Returns the folder of the latest run below a folder.
///
/// # Errors
/// There is none, or the folder cannot be read.
pub fn latest(folder: &Path) -> Result<PathBuf> {
    let folders = [folder.to_owned()];
    list(&folders)?.runs.into_iter().next().map(|run| run.folder).ok_or_else(|| no_run(&folders))
}

/// Makes the error of folders without runs.
pub fn no_run(folders: &[PathBuf]) -> Error {
    let names: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    Error::unusable(format!("there is no run below {}", names.join(", ")))
        .hint("`pragmark run` and `pragmark measure` make some")
}

/// A run, or an export of runs.
pub(crate) struct RunOrExport {
    /// Whether it is the folder of a run; otherwise it is an export.
    pub(crate) is_run: bool,
    /// Where it is.
    pub(crate) path: PathBuf,
}

/// Finds all runs and exports below these folders, each of which may be a run itself. Links are not followed.
pub(crate) fn find(folders: &[PathBuf]) -> Result<Vec<RunOrExport>> {
    let mut all = Vec::new();
    for folder in folders {
        add(folder, DEPTH, &mut all).map_err(|error| unreadable(folder, &error))?;
    }
    Ok(all)
}

/// Tells whoever has not made a run yet how; and whoever named another folder, that it is the wrong one.
fn unreadable(folder: &Path, error: &io::Error) -> Error {
    if folder == Path::new(RUNS) && error.kind() == io::ErrorKind::NotFound {
        return Error::unusable(format!("there is no folder {RUNS} in this directory")).hint(
            "`pragmark run`, `measure` and `tune` make it; or name another folder with runs",
        );
    }
    Error::reading(folder, error).hint("name a folder with runs")
}

/// Adds what is below a folder.
fn add(folder: &Path, depth: usize, all: &mut Vec<RunOrExport>) -> io::Result<()> {
    let is_run = folder.join(PLAN).exists();
    if is_run || folder.is_file() || tables::is_folder(folder) {
        all.push(RunOrExport { is_run, path: folder.to_owned() });
        return Ok(());
    }
    let mut below = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, entry.path());
        if kind.is_file() && is_export(&path) {
            all.push(RunOrExport { is_run: false, path });
        } else if depth > 0 && kind.is_dir() {
            below.push(path);
        }
    }
    below.sort();
    below.iter().try_for_each(|folder| add(folder, depth - 1, all))
}

/// Returns whether a file is meant to be an export.
fn is_export(path: &Path) -> bool {
    let is_other = NO_EXPORTS.iter().any(|name| path.ends_with(name));
    !is_other && path.extension().is_some_and(|extension| extension == "json")
}

/// Returns the bytes of the files in a folder. Links are not followed.
fn size(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        bytes += if entry.file_type()?.is_dir() {
            size(&entry.path())?
        } else {
            entry.metadata()?.len()
        };
    }
    Ok(bytes)
}
