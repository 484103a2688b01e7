//! The files of drivers: embedded in pragmark, or in a folder on the disk.

use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};

use crate::manifest::ManifestError;

/// The drivers that come with pragmark.
pub(crate) static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/drivers");

/// The folder of a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// In the program, by the name of the folder.
    Embedded(String),
    /// On the disk.
    Folder(PathBuf),
}

impl Default for Source {
    fn default() -> Source {
        Source::Folder(PathBuf::new())
    }
}

impl Source {
    /// The files with their path in the folder.
    pub(crate) fn files(&self) -> Result<Vec<(PathBuf, Vec<u8>)>, ManifestError> {
        let mut files = match self {
            Source::Embedded(name) => EMBEDDED
                .get_dir(name)
                .map(|folder| embedded_files(folder, folder.path()))
                .unwrap_or_default(),
            Source::Folder(path) => files_on_disk(path)?,
        };
        files.sort();
        Ok(files)
    }
}

fn embedded_files(folder: &Dir<'_>, root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let own = folder.files().map(|file| {
        let path = file.path().strip_prefix(root).unwrap_or(file.path());
        (path.to_owned(), file.contents().to_vec())
    });
    let below = folder.dirs().flat_map(|dir| embedded_files(dir, root));
    own.chain(below).collect()
}

fn files_on_disk(root: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>, ManifestError> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let unreadable = |source| ManifestError::unreadable(&folder, source);
        for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = std::fs::read(&path).map_err(unreadable)?;
                let name = path.strip_prefix(root).unwrap_or(&path).to_owned();
                files.push((name, bytes));
            }
        }
    }
    Ok(files)
}
