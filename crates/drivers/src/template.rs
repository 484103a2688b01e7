//! New drivers: a small program that works at once, its manifest and an experiment, for the user to change.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};

use crate::error::{Context, DriverError, Result};
use crate::manifest::{FILE, check_name};

static TEMPLATES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/templates");

/// Stands for the name of the driver and of its workload.
const NAME: &str = "NAME";

/// The file that belongs to every manifest: the workload.
const WORKLOAD: &str = "workload.toml";

/// The template of the experiment.
const EXPERIMENT: &str = "experiment.toml";

/// The languages that there are templates for, each the name of its folder.
pub const LANGUAGES: [&str; 5] = ["python", "ruby", "node", "go", "java"];

/// Returns the language of this name.
///
/// # Errors
/// It has no template.
pub fn language(name: &str) -> Result<&'static str, String> {
    LANGUAGES.into_iter().find(|language| *language == name).ok_or_else(|| {
        let names = LANGUAGES.join(", ");
        format!("there is no template for `{name}`; the languages are {names}")
    })
}

/// Returns the files of a new driver of this name, by their paths below the directory of both folder and experiment.
fn files(name: &str, language: &str) -> Vec<(PathBuf, String)> {
    let folder = TEMPLATES.get_dir(language);
    let files = folder.into_iter().flat_map(Dir::files).map(|file| {
        let file_name = file.path().file_name().unwrap_or_default();
        let more =
            if file_name == FILE { text(TEMPLATES.get_file(WORKLOAD)) } else { String::new() };
        (Path::new(name).join(file_name), text(Some(file)) + &more)
    });
    let experiment = experiment_of(name).into();
    let experiment = (experiment, text(TEMPLATES.get_file(EXPERIMENT)));
    files.chain([experiment]).map(|(path, text)| (path, text.replace(NAME, name))).collect()
}

/// Returns the name of the file with the experiment of a new driver. It is not in the driver's folder, so that a
/// changed experiment leaves the driver installed.
pub fn experiment_of(name: &str) -> String {
    format!("{name}.toml")
}

fn text(file: Option<&include_dir::File<'_>>) -> String {
    let contents = file.map_or(&[][..], |file| file.contents());
    String::from_utf8_lossy(contents).into_owned()
}

/// Writes a driver of this name into a folder of this name in the directory, and its experiment next to the folder.
///
/// # Errors
/// A driver cannot have this name, or the folder or the experiment exists or cannot be written. Nothing is left then.
pub fn write_new(name: &str, language: &str, directory: &Path) -> Result<()> {
    check_name(name).map_err(DriverError::Impossible)?;
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        let why = format!("the name `{name}` does not begin with a letter");
        return Err(DriverError::Impossible(why));
    }
    let folder = directory.join(name);
    fs::create_dir(&folder).context("create the folder", &folder)?;
    let mut files = files(name, language).into_iter();
    let written = files.try_for_each(|(path, text)| create(&directory.join(path), &text));
    if written.is_err() {
        let _ = fs::remove_dir_all(&folder);
    }
    written
}

/// Writes a file that is not there yet.
fn create(path: &Path, text: &str) -> Result<()> {
    let mut file = File::create_new(path).context("create", path)?;
    file.write_all(text.as_bytes()).context("write", path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::discover;
    use lab::experiment::parse;

    #[test]
    fn every_new_driver_has_a_manifest_and_an_experiment_that_are_read_without_a_mistake() {
        let directory = tempfile::tempdir().unwrap();
        for language in LANGUAGES {
            let name = format!("my-{language}");
            let folder = directory.path().join(&name);
            write_new(&name, language, directory.path()).unwrap();
            let found = discover(Some(&folder), &bench::catalogue()).unwrap();
            assert!(found.manifests.iter().any(|it| it.name == name));
            let catalogue = crate::catalogue(Some(&folder)).unwrap();
            let text = directory.path().join(experiment_of(&name));
            let text = fs::read_to_string(text).unwrap();
            let experiment = parse(EXPERIMENT, &text, &catalogue).unwrap();
            assert_eq!((experiment.id.as_str(), experiment.workload.as_str()), (&*name, &*name));
        }
    }

    #[test]
    fn a_name_that_is_none_and_a_folder_that_exists_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let written = write_new(name, "python", directory.path());
            written.map_err(|error| error.to_string())
        };
        let count = || fs::read_dir(directory.path()).unwrap().count();
        for name in ["My App", "native", "", "3d", "../x"] {
            assert!(write(name).is_err(), "{name}");
        }
        assert_eq!(count(), 0);
        write("mine").unwrap();
        assert!(write("mine").unwrap_err().contains("create the folder"));
        fs::write(directory.path().join("other.toml"), "").unwrap();
        assert!(write("other").unwrap_err().contains("other.toml"));
        assert_eq!(count(), 3, "two files and one folder");
    }

    #[test]
    fn languages_are_read_by_their_names() {
        assert!(LANGUAGES.iter().all(|name| language(name) == Ok(*name)));
        assert!(language("perl").unwrap_err().contains("python, ruby"));
    }
}
