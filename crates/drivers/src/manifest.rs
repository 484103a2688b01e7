//! Manifests: what a folder of `drivers/` says of its drivers.

use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};
use serde::Deserialize;

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../drivers");

/// The name of a manifest in its folder.
const FILE: &str = "driver.toml";

/// One driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Its name, such as `python-apsw`.
    pub name: String,
    /// The language and the binding, in words.
    pub about: String,
    /// What must be on the machine, and how to get it.
    pub needs: String,
    /// Where its SQLite comes from.
    pub library: Library,
    /// The workloads that it has.
    pub workloads: Vec<String>,
    /// Commands that install it, carried out in its home; none for a program that needs no more than
    /// what is on the machine.
    pub install: Vec<Vec<String>>,
    /// The command that runs it.
    pub run: Vec<String>,
    /// Its source.
    pub(crate) source: Source,
}

/// Where the SQLite of a binding comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Library {
    /// It loads the system's library, so that another can be put in front of it.
    Loaded,
    /// It carries its own, which cannot be exchanged.
    Carried,
}

/// The folder of a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// In the program, by the name of the folder.
    Embedded(String),
    /// On the disk.
    Folder(PathBuf),
}

/// Why a manifest cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The folder or a manifest in it cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A manifest is not what it should be.
    #[error("{name}: {why}")]
    Malformed {
        /// The manifest.
        name: String,
        /// What is wrong, with the line.
        why: String,
    },
    /// There is no manifest in the folder.
    #[error("{} holds no drivers: no folder in it has a {FILE}", .0.display())]
    None(PathBuf),
}

/// A manifest as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    needs: String,
    driver: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    about: String,
    library: Library,
    workloads: Vec<String>,
    #[serde(default)]
    install: Vec<Vec<String>>,
    run: Vec<String>,
}

/// The drivers that come with pragmark, by name.
///
/// # Errors
/// When a manifest is malformed, which the tests rule out.
pub(crate) fn embedded() -> Result<Vec<Manifest>, ManifestError> {
    let mut all = Vec::new();
    for folder in EMBEDDED.dirs() {
        let Some(file) = folder.get_file(folder.path().join(FILE)) else {
            continue;
        };
        let name = folder.path().display().to_string();
        let text = String::from_utf8_lossy(file.contents());
        let what = format!("drivers/{name}/{FILE}");
        all.extend(parse(&what, &text, &Source::Embedded(name))?);
    }
    Ok(sorted(all))
}

/// The drivers in the folders of a directory, by name.
///
/// # Errors
/// When the directory or a manifest cannot be read, is malformed, or there is none.
pub(crate) fn in_directory(directory: &Path) -> Result<Vec<Manifest>, ManifestError> {
    let unreadable = |path: &Path, source| ManifestError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let mut all = Vec::new();
    let entries = std::fs::read_dir(directory).map_err(|error| unreadable(directory, error))?;
    for entry in entries {
        let folder = entry.map_err(|error| unreadable(directory, error))?.path();
        let path = folder.join(FILE);
        if !path.is_file() {
            continue;
        }
        let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&path, error))?;
        all.extend(parse(
            &path.display().to_string(),
            &text,
            &Source::Folder(folder),
        )?);
    }
    if all.is_empty() {
        return Err(ManifestError::None(directory.to_owned()));
    }
    Ok(sorted(all))
}

fn sorted(mut all: Vec<Manifest>) -> Vec<Manifest> {
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn parse(what: &str, text: &str, source: &Source) -> Result<Vec<Manifest>, ManifestError> {
    let malformed = |why: String| ManifestError::Malformed {
        name: what.to_owned(),
        why,
    };
    let file: File = toml::from_str(text).map_err(|error| malformed(error.to_string()))?;
    let manifests: Vec<Manifest> = file
        .driver
        .into_iter()
        .map(|entry| Manifest {
            needs: file.needs.clone(),
            name: entry.name,
            about: entry.about,
            library: entry.library,
            workloads: entry.workloads,
            install: entry.install,
            run: entry.run,
            source: source.clone(),
        })
        .collect();
    for manifest in &manifests {
        let mut commands = manifest.install.iter().chain([&manifest.run]);
        if commands.any(Vec::is_empty) {
            return Err(malformed(format!(
                "a command of {} is empty",
                manifest.name
            )));
        }
    }
    Ok(manifests)
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
        let unreadable = |source| ManifestError::Unreadable {
            path: folder.clone(),
            source,
        };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drivers_that_come_with_pragmark_are_well_formed_and_have_names_of_their_own() {
        let all = embedded().unwrap();
        let mut names: Vec<&str> = all.iter().map(|manifest| manifest.name.as_str()).collect();
        for language in ["python", "ruby", "go", "java", "node"] {
            assert!(
                names.iter().any(|name| name.starts_with(language)),
                "{language}"
            );
        }
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn every_driver_is_known_to_experiment_files_with_its_workloads_and_no_other_is() {
        let all = embedded().unwrap();
        let own: Vec<(&str, Vec<&str>)> = all
            .iter()
            .map(|manifest| {
                let workloads = manifest.workloads.iter().map(String::as_str).collect();
                (manifest.name.as_str(), workloads)
            })
            .collect();
        let mut known: Vec<(&str, Vec<&str>)> = bench::BINDINGS
            .iter()
            .map(|(name, workloads)| (*name, workloads.to_vec()))
            .collect();
        known.sort();
        assert_eq!(own, known);
    }

    #[test]
    fn every_source_can_be_unpacked_and_has_its_manifest() {
        for manifest in embedded().unwrap() {
            let files = manifest.source.files().unwrap();
            assert!(files.iter().any(|(path, _)| path == Path::new(FILE)));
            assert!(files.len() > 1, "{}", manifest.name);
        }
    }

    #[test]
    fn a_malformed_manifest_is_named_with_what_is_wrong() {
        let problem = |text: &str| {
            let source = Source::Embedded("x".to_owned());
            parse("drivers/x/driver.toml", text, &source)
                .unwrap_err()
                .to_string()
        };
        let misspelt = problem("needs = \"\"\n[[drivers]]\nname = \"x\"");
        assert!(misspelt.contains("drivers/x/driver.toml") && misspelt.contains("drivers"));
        let empty = problem(
            "needs = ''\n[[driver]]\nname='x'\nabout=''\nlibrary='loaded'\nworkloads=[]\nrun=[]",
        );
        assert!(empty.contains("a command of x is empty"), "{empty}");
    }

    #[test]
    fn a_directory_without_drivers_is_refused_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let error = in_directory(directory.path()).unwrap_err().to_string();
        assert!(error.contains("holds no drivers"), "{error}");
    }
}
