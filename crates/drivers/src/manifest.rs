//! Manifests: what a folder of `drivers/` says of its drivers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lab::catalogue::{Catalogue, DriverInfo};
use lab::experiment::Step;
use lab::trial::NATIVE;
use serde::Deserialize;

use crate::command::{FOLDER, HOME};
use crate::discovery::Discovered;
use crate::source::Source;
use crate::workload::{self, Document, WorkloadFile};

/// The name of a manifest in its folder.
pub(crate) const FILE: &str = "driver.toml";

/// One driver.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Its name, such as `python-apsw`.
    pub name: String,
    /// The language and the binding, in words.
    pub about: String,
    /// Where its SQLite comes from.
    pub library: Library,
    /// The workloads that it has.
    pub workloads: Vec<String>,
    /// Commands that install it, carried out in its home; none for a program that needs no more than
    /// what is on the machine.
    #[serde(default)]
    pub install: Vec<Vec<String>>,
    /// The command that runs it.
    pub run: Vec<String>,
    /// The requirements on the machine and how to get them; the same for all drivers of a folder.
    #[serde(skip)]
    pub needs: String,
    /// The programs among that.
    #[serde(skip)]
    pub tools: Vec<ManifestTool>,
    /// Its files.
    #[serde(skip)]
    pub(crate) source: Source,
    /// The manifest and the line in which its workloads are named.
    #[serde(skip)]
    pub(crate) named_at: (String, usize),
}

/// A program that drivers need.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestTool {
    /// Its name in words, such as `Python`.
    pub name: String,
    /// Its name on the path.
    pub command: String,
    /// The argument by which it prints its version.
    #[serde(default = "ManifestTool::version")]
    pub version: String,
}

impl ManifestTool {
    fn version() -> String {
        "--version".to_owned()
    }
}

/// Where the SQLite of a binding comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Library {
    /// It loads the system's library, so that another can be put in its place.
    Loaded,
    /// It carries its own, which cannot be exchanged.
    Carried,
}

/// Why a manifest cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The folder or a manifest in it cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A manifest is not what it should be.
    #[error("{name}: {why}")]
    Malformed {
        /// The manifest.
        name: String,
        /// The mistake, with its line.
        why: String,
    },
    /// The folder contains no manifest.
    #[error("{} holds no drivers: no folder in it has a {FILE}", .0.display())]
    None(PathBuf),
}

impl ManifestError {
    pub(crate) fn unreadable(path: &Path, source: std::io::Error) -> ManifestError {
        ManifestError::Unreadable { path: path.to_owned(), source }
    }
}

/// A manifest as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    needs: String,
    #[serde(default)]
    tool: Vec<ManifestTool>,
    driver: Vec<Manifest>,
    #[serde(default)]
    workloads: BTreeMap<String, WorkloadFile>,
}

/// Parses a manifest.
///
/// # Errors
/// What is wrong with it, with the line.
pub(crate) fn parse(
    what: &str,
    text: &str,
    source: &Source,
    built_in: &Catalogue,
) -> Result<Discovered, ManifestError> {
    let malformed = |why: String| ManifestError::Malformed { name: what.to_owned(), why };
    let syntax = |error: toml::de::Error| malformed(error.to_string());
    let file: File = toml::from_str(text).map_err(syntax)?;
    let document = Document::parse(text).map_err(syntax)?;
    let complete = |(index, manifest): (usize, Manifest)| {
        let path = ["driver".into(), Step::from(index)];
        let checked = manifest.check();
        checked.map_err(|why| malformed(document.at(&path, &why)))?;
        let names = [&path[..], &["workloads".into()]].concat();
        Ok(Manifest {
            needs: file.needs.clone(),
            tools: file.tool.clone(),
            source: source.clone(),
            named_at: (what.to_owned(), document.line(&names)),
            ..manifest
        })
    };
    let workloads = workload::declared(file.workloads, &document, built_in);
    Ok(Discovered {
        workloads: workloads.map_err(malformed)?,
        manifests: file.driver.into_iter().enumerate().map(complete).collect::<Result<_, _>>()?,
    })
}

impl Manifest {
    /// Returns the properties that experiment files refer to.
    pub(crate) fn info(&self) -> DriverInfo {
        DriverInfo { name: self.name.clone(), workloads: self.workloads.clone() }
    }

    /// The folder of the manifest; none for a driver that comes with pragmark.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match &self.source {
            Source::Folder(folder) => Some(folder),
            Source::Embedded(_) => None,
        }
    }

    /// The folder of a driver that runs where it is: nothing is installed, and its command names no home.
    pub fn runs_in(&self) -> Option<&Path> {
        let names = |what: &str| self.run.iter().any(|word| word.contains(what));
        let in_place = self.install.is_empty() && names(FOLDER) && !names(HOME);
        self.folder().filter(|_| in_place)
    }

    fn check(&self) -> Result<(), String> {
        let name = &self.name;
        check_name(name)?;
        let mut commands = self.install.iter().chain([&self.run]);
        if commands.any(Vec::is_empty) {
            Err(format!("a command of {name} is empty"))
        } else {
            Ok(())
        }
    }
}

/// Whether a driver can have this name.
///
/// # Errors
/// Why not.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name == NATIVE || !name.chars().all(is_plain) {
        return Err(format!(
            "`{name}` cannot be the name of a driver: a name consists of lower-case letters, digits and hyphens, and `{NATIVE}` is taken"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_malformed_manifest_is_named_with_what_is_wrong() {
        let problem = |text: &str| {
            let source = Source::Embedded("x".to_owned());
            parse("drivers/x/driver.toml", text, &source, &bench::catalogue())
                .unwrap_err()
                .to_string()
        };
        let misspelt = problem("needs = \"\"\n[[drivers]]\nname = \"x\"");
        assert!(misspelt.contains("drivers/x/driver.toml") && misspelt.contains("drivers"));
        let empty = problem(
            "needs = ''\n[[driver]]\nname='x'\nabout=''\nlibrary='loaded'\nworkloads=[]\nrun=[]",
        );
        assert!(empty.contains("a command of x is empty"), "{empty}");
        for name in ["", "native", "../x", "Perl"] {
            let refused = problem(&format!(
                "needs = ''\n[[driver]]\nname='{name}'\nabout=''\nlibrary='loaded'\nworkloads=[]\nrun=['x']"
            ));
            assert!(refused.contains("cannot be the name"), "{refused}");
        }
    }
}
