//! The experiments: those included in pragmark, and the user's own files.

use std::ffi::OsStr;
use std::path::Path;

use include_dir::{Dir, include_dir};
use lab::catalogue::Catalogue;
use lab::experiment::{Experiment, MOST_BYTES, nearest, parse};

use crate::failure::Failure;
use crate::text_file::text_of;

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../experiments");

/// The experiments of the tour, most informative first.
pub const TOUR: &[&str] = &[
    "txn-basics",
    "insert-unroll",
    "index-timing",
    "pragma-journal-sync",
];

/// Folder below which runs are kept unless stated.
pub const RUNS: &str = "pragmark-runs";

/// The ids of all included experiments: the names of their files.
pub fn ids() -> Vec<String> {
    let stems = files(&FILES)
        .into_iter()
        .filter_map(|file| file.path().file_stem()?.to_str());
    let mut ids: Vec<String> = stems.map(str::to_owned).collect();
    ids.sort_unstable();
    ids
}

/// Every included experiment, by id.
pub fn all(catalogue: &Catalogue) -> Result<Vec<Experiment>, Failure> {
    let files = files(&FILES).into_iter();
    let experiments = files.map(|file| included(file, catalogue));
    let mut experiments: Vec<Experiment> = experiments.collect::<Result<_, _>>()?;
    experiments.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(experiments)
}

fn included(file: &include_dir::File<'_>, catalogue: &Catalogue) -> Result<Experiment, Failure> {
    let name = format!("experiments/{}", file.path().display());
    let text = file
        .contents_utf8()
        .ok_or_else(|| Failure::usage(format!("{name} is not UTF-8")))?;
    parse(&name, text, catalogue).map_err(Failure::usage)
}

/// The experiments that the user names: ids of included ones, or paths of files.
pub fn named(names: &[String], catalogue: &Catalogue) -> Result<Vec<Experiment>, Failure> {
    let mut chosen: Vec<Experiment> = Vec::new();
    for name in names {
        let experiment = one(name, catalogue)?;
        if chosen.iter().any(|other| other.id == experiment.id) {
            return Err(Failure::usage(format!(
                "the experiment `{}` is named twice",
                experiment.id
            )));
        }
        chosen.push(experiment);
    }
    Ok(chosen)
}

/// The ids of the experiments of a source.
pub fn of_source(source: &str, catalogue: &Catalogue) -> Result<Vec<String>, Failure> {
    let known = all(catalogue)?;
    let from = |experiment: &&Experiment| experiment.source.as_deref() == Some(source);
    let ids: Vec<String> = known
        .iter()
        .filter(from)
        .map(|experiment| experiment.id.clone())
        .collect();
    if !ids.is_empty() {
        return Ok(ids);
    }
    let mut sources: Vec<&str> = known
        .iter()
        .filter_map(|experiment| experiment.source.as_deref())
        .collect();
    sources.sort_unstable();
    sources.dedup();
    Err(Failure::usage(format!("there is no source `{source}`"))
        .hint(format!("the sources are {}", sources.join(", "))))
}

/// Reads no other experiment, because the user's own drivers may not be able to run it.
fn one(name: &str, catalogue: &Catalogue) -> Result<Experiment, Failure> {
    let stem = |file: &&include_dir::File<'_>| file.path().file_stem() == Some(OsStr::new(name));
    if let Some(file) = files(&FILES).into_iter().find(stem) {
        return included(file, catalogue);
    }
    let looks_like_a_path = name.ends_with(".toml") || name.contains('/');
    if !looks_like_a_path && !Path::new(name).exists() {
        return Err(unknown(name));
    }
    let text = text_of("the experiment file", Path::new(name), MOST_BYTES)?;
    parse(name, &text, catalogue).map_err(|problems| {
        Failure::usage(problems)
            .hint("`pragmark list --workloads` and `pragmark list --pragmas` show all valid names")
    })
}

fn unknown(name: &str) -> Failure {
    let failure = Failure::usage(format!("unknown experiment `{name}`"));
    match nearest(name, ids().iter().map(String::as_str)) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure
            .hint("`pragmark list` shows all experiments; refer to your own file by its path"),
    }
}

fn files<'a>(dir: &'a Dir<'a>) -> Vec<&'a include_dir::File<'a>> {
    let toml = dir.files().filter(|file| {
        file.path()
            .extension()
            .is_some_and(|extension| extension == "toml")
    });
    toml.chain(dir.dirs().flat_map(files)).collect()
}
