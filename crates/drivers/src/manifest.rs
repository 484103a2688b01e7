//! Manifests: what a folder of `drivers/` says of its drivers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use lab::catalogue::DriverInfo;
use lab::trial::NATIVE;
use serde::Deserialize;

use crate::source::{EMBEDDED, Source};

/// The name of a manifest in its folder.
const FILE: &str = "driver.toml";

/// The variable that names the user's own directory of drivers.
const OWN: &str = "PRAGMARK_DRIVERS";

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
    /// What must be on the machine, and how to get it; the same for all drivers of a folder.
    #[serde(skip)]
    pub needs: String,
    /// The programs among that.
    #[serde(skip)]
    pub tools: Vec<ManifestTool>,
    /// Its files.
    #[serde(skip)]
    pub(crate) source: Source,
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
        /// What is wrong, with the line.
        why: String,
    },
    /// There is no manifest in the folder.
    #[error("{} holds no drivers: no folder in it has a {FILE}", .0.display())]
    None(PathBuf),
}

impl ManifestError {
    pub(crate) fn unreadable(path: &Path, source: std::io::Error) -> ManifestError {
        ManifestError::Unreadable {
            path: path.to_owned(),
            source,
        }
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
}

/// Every driver, by name: those that come with pragmark, those in the user's own directory, and those in
/// the directory given. One of the same name takes the place of those before it.
///
/// # Errors
/// When a directory or a manifest cannot be read or is malformed, or the directory given holds none.
pub(crate) fn discover(given: Option<&Path>) -> Result<Vec<Manifest>, ManifestError> {
    let mut all = BTreeMap::new();
    let mut add = |manifests: Vec<Manifest>| {
        let named = manifests.into_iter().map(|it| (it.name.clone(), it));
        all.extend(named);
    };
    add(embedded()?);
    if let Some(own) = own_directory() {
        add(in_directory(&own)?);
    }
    if let Some(given) = given {
        let manifests = in_directory(given)?;
        if manifests.is_empty() {
            return Err(ManifestError::None(given.to_owned()));
        }
        add(manifests);
    }
    Ok(all.into_values().collect())
}

/// The user's own directory of drivers, where there is one: `PRAGMARK_DRIVERS`, or else
/// `pragmark/drivers` below `XDG_DATA_HOME`, or else below `HOME/.local/share`.
fn own_directory() -> Option<PathBuf> {
    if let Some(own) = std::env::var_os(OWN).filter(|path| !path.is_empty()) {
        return Some(PathBuf::from(own));
    }
    let data = etcetera::choose_base_strategy().ok()?.data_dir();
    Some(data.join("pragmark/drivers")).filter(|own| own.is_dir())
}

/// The drivers that come with pragmark.
///
/// # Errors
/// When a manifest is malformed, which the tests rule out.
fn embedded() -> Result<Vec<Manifest>, ManifestError> {
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
    Ok(all)
}

/// The drivers in the folders of a directory.
///
/// # Errors
/// When the directory or a manifest cannot be read, a manifest is malformed, or a name is there twice.
fn in_directory(directory: &Path) -> Result<Vec<Manifest>, ManifestError> {
    let unreadable = ManifestError::unreadable;
    let mut all: Vec<Manifest> = Vec::new();
    let entries = std::fs::read_dir(directory).map_err(|error| unreadable(directory, error))?;
    for entry in entries {
        let folder = entry.map_err(|error| unreadable(directory, error))?.path();
        let path = folder.join(FILE);
        if !path.is_file() {
            continue;
        }
        let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&path, error))?;
        let what = path.display().to_string();
        all.extend(parse(&what, &text, &Source::Folder(folder))?);
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    match all.windows(2).find(|pair| pair[0].name == pair[1].name) {
        None => Ok(all),
        Some(pair) => Err(ManifestError::Malformed {
            name: directory.display().to_string(),
            why: format!("there are two drivers named {}", pair[0].name),
        }),
    }
}

fn parse(what: &str, text: &str, source: &Source) -> Result<Vec<Manifest>, ManifestError> {
    let malformed = |why: String| ManifestError::Malformed {
        name: what.to_owned(),
        why,
    };
    let file: File = toml::from_str(text).map_err(|error| malformed(error.to_string()))?;
    let complete = |manifest: Manifest| {
        manifest.check().map_err(malformed)?;
        Ok(Manifest {
            needs: file.needs.clone(),
            tools: file.tool.clone(),
            source: source.clone(),
            ..manifest
        })
    };
    file.driver.into_iter().map(complete).collect()
}

impl Manifest {
    /// What experiment files have to know of it.
    pub(crate) fn info(&self) -> DriverInfo {
        DriverInfo {
            name: self.name.clone(),
            workloads: self.workloads.clone(),
        }
    }

    fn check(&self) -> Result<(), String> {
        let name = &self.name;
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || name == NATIVE || !name.chars().all(is_plain) {
            return Err(format!(
                "`{name}` cannot be the name of a driver: a name consists of lower-case letters, digits and hyphens, and `{NATIVE}` is taken"
            ));
        }
        let mut commands = self.install.iter().chain([&self.run]);
        match commands.any(Vec::is_empty) {
            true => Err(format!("a command of {name} is empty")),
            false => Ok(()),
        }
    }
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
    fn drivers_of_a_directory_replace_those_of_the_same_name_and_join_the_others() {
        let directory = tempfile::tempdir().unwrap();
        let write = |folder: &str, text: &str| {
            let folder = directory.path().join(folder);
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join(FILE), text).unwrap();
        };
        let entry = |name: &str| {
            format!(
                "needs = 'a shell'\n[[driver]]\nname = '{name}'\nabout = 'mine'\nlibrary = 'loaded'\nworkloads = []\nrun = ['sh']\n"
            )
        };
        write("a", &entry("python-sqlite3"));
        write("b", &entry("perl"));
        let all = discover(Some(directory.path())).unwrap();
        let mine = |name: &str| {
            let mut named = all.iter().filter(|manifest| manifest.name == name);
            (named.next().unwrap().about == "mine") && named.next().is_none()
        };
        assert!(mine("python-sqlite3") && mine("perl") && !mine("python-apsw"));
        write("c", &entry("perl"));
        let error = discover(Some(directory.path())).unwrap_err().to_string();
        assert!(error.contains("two drivers named perl"), "{error}");
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
        for name in ["", "native", "../x", "Perl"] {
            let refused = problem(&format!(
                "needs = ''\n[[driver]]\nname='{name}'\nabout=''\nlibrary='loaded'\nworkloads=[]\nrun=['x']"
            ));
            assert!(refused.contains("cannot be the name"), "{refused}");
        }
    }

    #[test]
    fn a_directory_without_drivers_is_refused_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let error = discover(Some(directory.path())).unwrap_err().to_string();
        assert!(error.contains("holds no drivers"), "{error}");
    }
}
