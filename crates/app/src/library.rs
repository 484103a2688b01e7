//! The experiments: those included in pragmark, and the user's own files.

use std::ffi::OsStr;
use std::path::Path;

use include_dir::{Dir, include_dir};
use lab::catalogue::Catalogue;
use lab::experiment::{Experiment, MOST_BYTES, nearest, parse};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::error::{Error, Result};
use crate::files::{DatabaseKind, read_text};

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/experiments");

/// The experiments of the tour, most informative first.
pub const TOUR: &[&str] = &["txn-basics", "insert-unroll", "index-timing", "pragma-journal-sync"];

/// The folder below which runs are kept by default.
pub const RUNS: &str = "pragmark-runs";

/// Returns the ids of all included experiments: the names of their files.
pub fn ids() -> Vec<String> {
    let stems = files(&FILES).into_iter().filter_map(|file| file.path().file_stem()?.to_str());
    let mut ids: Vec<String> = stems.map(str::to_owned).collect();
    ids.sort_unstable();
    ids
}

/// An included experiment in a list.
#[derive(Deserialize)]
pub struct Entry {
    /// Its name.
    pub id: String,
    /// Its question.
    pub question: String,
    /// Where the question comes from.
    pub source: Option<String>,
    #[serde(default)]
    claims: Vec<IgnoredAny>,
}

impl Entry {
    /// Returns the number of published statements that it checks.
    pub fn claims(&self) -> usize {
        self.claims.len()
    }
}

/// Returns an entry for every included experiment, by id. Tests check these files against the catalogue; here that would take
/// most of the time of a list.
///
/// # Errors
/// A file is damaged.
pub fn entries() -> Result<Vec<Entry>> {
    let mut entries: Vec<Entry> = files(&FILES).into_iter().map(entry).collect::<Result<_, _>>()?;
    entries.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(entries)
}

fn entry(file: &include_dir::File<'_>) -> Result<Entry> {
    let (name, text) = text_in(file)?;
    toml::from_str(text).map_err(|error| Error::mistake(format!("{name}: {error}")))
}

/// Returns every included experiment, by id.
///
/// # Errors
/// A file is invalid.
pub fn all(catalogue: &Catalogue) -> Result<Vec<Experiment>> {
    let experiments = files(&FILES).into_iter().map(|file| included(file, catalogue));
    let mut experiments: Vec<Experiment> = experiments.collect::<Result<_, _>>()?;
    experiments.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(experiments)
}

fn included(file: &include_dir::File<'_>, catalogue: &Catalogue) -> Result<Experiment> {
    let (name, text) = text_in(file)?;
    parse(&name, text, catalogue).map_err(Error::mistake)
}

/// Returns name and text of an included file.
fn text_in<'a>(file: &'a include_dir::File<'_>) -> Result<(String, &'a str)> {
    let name = format!("experiments/{}", file.path().display());
    match file.contents_utf8() {
        Some(text) => Ok((name, text)),
        None => Err(Error::mistake(format!("{name} is not UTF-8"))),
    }
}

/// Returns the experiments that the user names: ids of included ones, or paths of files.
///
/// # Errors
/// A name is unknown or given twice, or a file cannot be read or is invalid.
pub fn named(names: &[String], catalogue: &Catalogue) -> Result<Vec<Experiment>> {
    let mut chosen: Vec<Experiment> = Vec::new();
    for name in names {
        let experiment = one(name, catalogue)?;
        if chosen.iter().any(|other| other.id == experiment.id) {
            return Err(Error::mistake(format!(
                "the experiment `{}` is named twice",
                experiment.id
            )));
        }
        chosen.push(experiment);
    }
    Ok(chosen)
}

/// Returns the ids of the experiments of a source.
///
/// # Errors
/// No experiment has this source.
pub fn of_source(source: &str) -> Result<Vec<String>> {
    let known = entries()?;
    let from = |entry: &&Entry| entry.source.as_deref() == Some(source);
    let ids: Vec<String> = known.iter().filter(from).map(|entry| entry.id.clone()).collect();
    if !ids.is_empty() {
        return Ok(ids);
    }
    let mut sources: Vec<&str> = known.iter().filter_map(|entry| entry.source.as_deref()).collect();
    sources.sort_unstable();
    sources.dedup();
    Err(Error::mistake(format!("there is no source `{source}`"))
        .hint(format!("the sources are {}", sources.join(", "))))
}

/// Reads no other experiment, because the user's own drivers may not be able to run it.
fn one(name: &str, catalogue: &Catalogue) -> Result<Experiment> {
    let stem = |file: &&include_dir::File<'_>| file.path().file_stem() == Some(OsStr::new(name));
    if let Some(file) = files(&FILES).into_iter().find(stem) {
        return included(file, catalogue);
    }
    // No name of an experiment has a dot.
    let looks_like_a_path = name.contains(['/', '.']);
    if !looks_like_a_path && !Path::new(name).exists() {
        return Err(unknown(name));
    }
    if Path::new(name).extension() == Some(OsStr::new("sql")) {
        return Err(Error::mistake(format!("{name} is SQL, and an experiment is TOML"))
            .hint(format!("`pragmark measure {name}` measures its statements")));
    }
    if let Some(kind) = DatabaseKind::of(Path::new(name)) {
        let (option, kind) = (kind.option(), kind.name());
        return Err(Error::mistake(format!("{name} is {kind}, and an experiment is TOML"))
            .hint(format!("where a command works on {kind}, name it with {option} {name}")));
    }
    let text = read_text("the experiment file", Path::new(name), MOST_BYTES)?;
    parse(name, &text, catalogue).map_err(|problems| {
        Error::mistake(problems)
            .hint("`pragmark list workloads` and `pragmark list pragmas` show all valid names")
    })
}

fn unknown(name: &str) -> Error {
    let failure = Error::mistake(format!("unknown experiment `{name}`"));
    match nearest(name, ids().iter().map(String::as_str)) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure
            .hint("`pragmark list` shows all experiments; refer to your own file by its path"),
    }
}

fn files<'a>(dir: &'a Dir<'a>) -> Vec<&'a include_dir::File<'a>> {
    let toml = dir
        .files()
        .filter(|file| file.path().extension().is_some_and(|extension| extension == "toml"));
    toml.chain(dir.dirs().flat_map(files)).collect()
}
