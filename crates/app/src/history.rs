//! Figures over many runs.

use lab::comparison::{History, Run};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::runs::{find, of_notes, read};

/// Where runs are.
#[derive(Clone, Debug)]
pub enum Sources {
    /// Below folders.
    Folders(Vec<PathBuf>),
    /// In the notes of this git repository with this name.
    Notes(String),
}

/// Reads all runs. Returns their history, and those that cannot be read with the reason.
///
/// # Errors
/// There are none, or they cannot be looked for.
pub fn history(sources: &Sources) -> Result<(History, Vec<(String, String)>)> {
    let found = match sources {
        Sources::Notes(name) => of_notes(Path::new("."), name)?,
        Sources::Folders(folders) => {
            let found = find(folders)?.into_iter().map(|found| found.path);
            read(&found.collect::<Vec<_>>())
        }
    };
    let (mut runs, mut unreadable) = (Vec::new(), Vec::new());
    for (name, run) in found {
        match run {
            Ok(digest) => runs.push(Run::of(&digest)),
            Err(error) => unreadable.push((name, error.words())),
        }
    }
    if runs.is_empty() && unreadable.is_empty() {
        return Err(Error::unusable("there is no run below these folders")
            .hint("`pragmark run` and `pragmark measure` make some"));
    }
    Ok((History::of(runs), unreadable))
}
