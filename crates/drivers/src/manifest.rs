//! Manifests: what a folder of `drivers/` says of its drivers.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use include_dir::{Dir, include_dir};
use lab::catalogue::{Catalogue, WorkloadInfo};
use lab::experiment::Step;
use lab::metric;
use lab::trial::NATIVE;
use serde::Deserialize;

use crate::command::{FOLDER, HOME};
use crate::error::{Context, DriverError, Result, entries};
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

fn malformed(what: impl Display, why: impl Display) -> DriverError {
    DriverError::Failed(format!("{what}: {why}"))
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
) -> Result<Discovered> {
    let malformed = |why: String| malformed(what, why);
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
        manifests: file.driver.into_iter().enumerate().map(complete).collect::<Result<_>>()?,
    })
}

impl Manifest {
    /// Returns the folder of the manifest; `None` for a driver that comes with pragmark.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match &self.source {
            Source::Folder(folder) => Some(folder),
            Source::Embedded(_) => None,
        }
    }

    /// Returns whether its folder has this name.
    pub(crate) fn is_in_folder(&self, name: &str) -> bool {
        match &self.source {
            Source::Embedded(folder) => folder == name,
            Source::Folder(path) => path.ends_with(name),
        }
    }

    /// Returns the folder of a driver that runs where it is: nothing is installed, and its command names no home.
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
    /// Returns the files with their path in the folder.
    pub(crate) fn files(&self) -> Result<Vec<(PathBuf, Vec<u8>)>> {
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

fn files_on_disk(root: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in entries(&folder).context("read", &folder)? {
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = std::fs::read(&path).context("read", &path)?;
                let name = path.strip_prefix(root).unwrap_or(&path).to_owned();
                files.push((name, bytes));
            }
        }
    }
    Ok(files)
}

/// The variable that names the user's own directory of drivers.
const OWN: &str = "PRAGMARK_DRIVERS";

/// The contents of manifests.
#[derive(Debug, Default)]
pub(crate) struct Discovered {
    /// The drivers.
    pub(crate) manifests: Vec<Manifest>,
    /// The workloads that no crate of pragmark has.
    pub(crate) workloads: Vec<WorkloadInfo>,
}

impl Discovered {
    fn add(&mut self, other: Discovered) {
        self.manifests.extend(other.manifests);
        self.workloads.extend(other.workloads);
    }

    /// Replaces drivers and workloads by later ones of the same name, and adds the others.
    fn replace_by(&mut self, later: Discovered) {
        self.manifests.retain(|known| later.manifests.iter().all(|other| other.name != known.name));
        self.workloads.retain(|known| later.workloads.iter().all(|other| other.name != known.name));
        self.add(later);
    }

    /// Each workload once, where all declarations of it in one directory are the same.
    fn check_directory(&mut self, directory: &Path) -> Result<()> {
        let twice = |what: String| malformed(directory.display(), what);
        self.manifests.sort_by(|a, b| a.name.cmp(&b.name));
        let mut pairs = self.manifests.windows(2);
        if let Some(pair) = pairs.find(|pair| pair[0].name == pair[1].name) {
            return Err(twice(format!("there are two drivers named {}", pair[0].name)));
        }
        self.workloads.sort_by(|a, b| a.name.cmp(&b.name));
        self.workloads.dedup();
        let mut pairs = self.workloads.windows(2);
        match pairs.find(|pair| pair[0].name == pair[1].name) {
            None => Ok(()),
            Some(pair) => Err(twice(format!(
                "the workload {} is declared twice, with different parameters or metrics",
                pair[0].name
            ))),
        }
    }

    /// Drivers have workloads that there are, and metrics have one meaning.
    fn check(&self, built_in: &Catalogue) -> Result<()> {
        for manifest in &self.manifests {
            let unknown = |name: &String| workload::why_unknown(name, built_in, &self.workloads);
            if let Some(why) = manifest.workloads.iter().find_map(unknown) {
                let (file, line) = &manifest.named_at;
                return Err(malformed(file, format!("line {line}: {why}")));
            }
        }
        let declared = self.workloads.iter().map(|workload| {
            let declared = metric::declare(&workload.metrics);
            declared.map_err(|why| malformed(format!("the workload {}", workload.name), why))
        });
        declared.collect()
    }
}

/// Returns every driver, by name, and the workloads that manifests declare: those that come with pragmark, those in the
/// user's own directory, and those in the directory given. One of the same name takes the place of those before it.
///
/// # Errors
/// When a directory or a manifest cannot be read or is malformed, or the directory given holds none.
pub(crate) fn discover(given: Option<&Path>, built_in: &Catalogue) -> Result<Discovered> {
    let mut all = embedded(built_in)?;
    if let Some(own) = own_directory() {
        all.replace_by(in_directory(&own, built_in)?);
    }
    if let Some(given) = given {
        let found = in_directory(given, built_in)?;
        if found.manifests.is_empty() {
            return Err(DriverError::Failed(format!(
                "{} holds no drivers: no folder in it has a {FILE}",
                given.display()
            )));
        }
        all.replace_by(found);
    }
    all.manifests.sort_by(|a, b| a.name.cmp(&b.name));
    all.check(built_in)?;
    Ok(all)
}

/// Returns the user's own directory of drivers, where there is one: `PRAGMARK_DRIVERS`, or else `pragmark/drivers`
/// below `XDG_DATA_HOME`, or else below `HOME/.local/share`.
fn own_directory() -> Option<PathBuf> {
    if let Some(own) = std::env::var_os(OWN).filter(|path| !path.is_empty()) {
        return Some(PathBuf::from(own));
    }
    let data = etcetera::choose_base_strategy().ok()?.data_dir();
    Some(data.join("pragmark/drivers")).filter(|own| own.is_dir())
}

/// Returns the drivers that come with pragmark.
///
/// # Errors
/// When a manifest is malformed, which the tests rule out.
fn embedded(built_in: &Catalogue) -> Result<Discovered> {
    let mut all = Discovered::default();
    for folder in EMBEDDED.dirs() {
        let Some(file) = folder.get_file(folder.path().join(FILE)) else { continue };
        let name = folder.path().display().to_string();
        let text = String::from_utf8_lossy(file.contents());
        let what = format!("drivers/{name}/{FILE}");
        all.add(parse(&what, &text, &Source::Embedded(name), built_in)?);
    }
    Ok(all)
}

/// Returns the drivers in a folder with a manifest, or in the folders of a directory.
///
/// # Errors
/// When the directory or a manifest cannot be read, a manifest is malformed, or a name is there twice.
fn in_directory(directory: &Path, built_in: &Catalogue) -> Result<Discovered> {
    let mut all = Discovered::default();
    let whole = std::path::absolute(directory).context("read", directory)?;
    for folder in folders_of(&whole)? {
        let path = folder.join(FILE);
        if !path.is_file() {
            continue;
        }
        let text = std::fs::read_to_string(&path).context("read", &path)?;
        let what = path.display().to_string();
        all.add(parse(&what, &text, &Source::Folder(folder), built_in)?);
    }
    all.check_directory(directory)?;
    Ok(all)
}

/// Returns the folder itself where it has a manifest, the folders in it otherwise.
fn folders_of(directory: &Path) -> Result<Vec<PathBuf>> {
    if directory.join(FILE).is_file() {
        return Ok(vec![directory.to_owned()]);
    }
    entries(directory).context("read", directory)
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

    #[test]
    fn the_drivers_that_come_with_pragmark_are_well_formed_and_have_names_of_their_own() {
        let all = embedded(&bench::catalogue()).unwrap().manifests;
        let mut names: Vec<&str> = all.iter().map(|manifest| manifest.name.as_str()).collect();
        for language in ["python", "ruby", "go", "java", "node"] {
            assert!(names.iter().any(|name| name.starts_with(language)), "{language}");
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
        let all = discover(Some(directory.path()), &bench::catalogue()).unwrap().manifests;
        let mine = |name: &str| {
            let mut named = all.iter().filter(|manifest| manifest.name == name);
            (named.next().unwrap().about == "mine") && named.next().is_none()
        };
        assert!(mine("python-sqlite3") && mine("perl") && !mine("python-apsw"));
        write("c", &entry("perl"));
        let error = discover(Some(directory.path()), &bench::catalogue()).unwrap_err().to_string();
        assert!(error.contains("two drivers named perl"), "{error}");
    }

    #[test]
    fn a_folder_with_a_manifest_is_a_directory_of_drivers_and_workloads_are_known_or_declared() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = |workload: &str, run: &str| {
            format!(
                "needs = ''\n[workloads.post]\nabout = 'letters'\n[[driver]]\nname = 'post'\nabout = ''\nlibrary = 'loaded'\nworkloads = ['{workload}']\nrun = ['sh', '{run}']\n"
            )
        };
        let read = |workload: &str, run: &str| {
            std::fs::write(folder.path().join(FILE), manifest(workload, run)).unwrap();
            discover(Some(folder.path()), &bench::catalogue())
        };
        let found = read("post", "{folder}/driver.sh").unwrap();
        let post = |found: &Discovered| {
            let mut drivers = found.manifests.iter();
            drivers.find(|it| it.name == "post").unwrap().clone()
        };
        assert!(found.workloads.iter().any(|workload| workload.name == "post"));
        assert_eq!(post(&found).runs_in(), Some(folder.path()));
        let unpacked = read("post", "{home}/driver.sh").unwrap();
        assert_eq!(post(&unpacked).runs_in(), None);
        let error = read("pots", "x").unwrap_err().to_string();
        assert!(
            error.contains("line 8: there is no workload `pots`; did you mean `post`?"),
            "{error}"
        );
    }

    #[test]
    fn two_declarations_of_a_workload_in_one_directory_are_the_same_or_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let write = |folder: &str, about: &str| {
            let folder = directory.path().join(folder);
            std::fs::create_dir_all(&folder).unwrap();
            let name = folder.file_name().unwrap().display().to_string();
            let text = format!(
                "needs = ''\n[workloads.mail]\nabout = '{about}'\n[[driver]]\nname = '{name}'\nabout = ''\nlibrary = 'loaded'\nworkloads = ['mail']\nrun = ['sh']\n"
            );
            std::fs::write(folder.join(FILE), text).unwrap();
        };
        let found = || discover(Some(directory.path()), &bench::catalogue());
        write("a", "letters");
        write("b", "letters");
        let mail =
            found().unwrap().workloads.into_iter().filter(|workload| workload.name == "mail");
        assert_eq!(mail.count(), 1);
        write("b", "parcels");
        let error = found().unwrap_err().to_string();
        assert!(error.contains("the workload mail is declared twice"), "{error}");
    }

    #[test]
    fn every_source_can_be_unpacked_and_has_its_manifest() {
        for manifest in embedded(&bench::catalogue()).unwrap().manifests {
            let files = manifest.source.files().unwrap();
            assert!(files.iter().any(|(path, _)| path == Path::new(FILE)));
            assert!(files.len() > 1, "{}", manifest.name);
        }
    }

    #[test]
    fn a_directory_without_drivers_is_refused_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let error = discover(Some(directory.path()), &bench::catalogue()).unwrap_err().to_string();
        assert!(error.contains("holds no drivers"), "{error}");
    }
}
