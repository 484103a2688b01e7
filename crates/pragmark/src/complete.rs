//! Completion of names that only a running pragmark knows: experiments, engines, bindings and runs.
//!
//! The script of `pragmark --generate` calls pragmark itself at every press of the key, so nothing here is
//! slow, loads a library or fails: what cannot be read is not proposed.

use std::ffi::OsStr;
use std::path::Path;

use app::library;
use clap_complete::engine::{CompletionCandidate, PathCompleter, ValueCompleter};
use engine::build::{Cache, FORKS, OPTION_SETS, RELEASES};
use report::settings::Binding;

/// Returns names of included experiments, and experiment files.
pub fn experiments(begun: &OsStr) -> Vec<CompletionCandidate> {
    let is_toml = |path: &Path| path.extension().is_some_and(|extension| extension == "toml");
    let files = PathCompleter::file().filter(is_toml).complete(begun);
    beginning(begun, library::ids()).into_iter().chain(files).collect()
}

/// Returns names of bindings.
pub fn bindings(begun: &OsStr) -> Vec<CompletionCandidate> {
    let about = |binding: Binding| {
        let help = binding.title().to_owned();
        CompletionCandidate::new(binding.name()).help(Some(help.into()))
    };
    let all = Binding::ALL.iter().copied();
    all.filter(|binding| begun.to_str().is_some_and(|begun| binding.name().starts_with(begun)))
        .map(about)
        .collect()
}

/// Returns names of engines, and libraries. After a version and `+`, option sets.
pub fn engines(begun: &OsStr) -> Vec<CompletionCandidate> {
    let text = begun.to_str().unwrap_or_default();
    if let Some((version, _)) = text.rsplit_once('+') {
        return beginning(begun, OPTION_SETS.iter().map(|set| format!("{version}+{}", set.name)));
    }
    let versions = RELEASES.iter().chain(FORKS).map(|release| release.name.to_owned());
    let usual = ["default", "system"].map(str::to_owned).into_iter();
    let names = beginning(begun, usual.chain(versions).chain(added()));
    names.into_iter().chain(PathCompleter::file().complete(begun)).collect()
}

/// Returns names of engines that the user added.
fn added() -> Vec<String> {
    let cache = Cache::of_user().ok();
    let entries = cache.and_then(|cache| cache.root().join("added").read_dir().ok());
    let entries = entries.into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Returns folders of runs, the latest first, and other folders.
pub fn runs(begun: &OsStr) -> Vec<CompletionCandidate> {
    let entries = Path::new(library::RUNS).read_dir();
    let entries = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    let is_run = |path: &std::path::PathBuf| path.join("run.json").is_file();
    let mut runs: Vec<String> =
        entries.filter(is_run).filter_map(|path| path.to_str().map(str::to_owned)).collect();
    runs.sort_unstable_by(|a, b| b.cmp(a));
    let known = beginning(begun, runs);
    if known.is_empty() { PathCompleter::dir().complete(begun) } else { known }
}

/// Returns the names that begin as the word does.
fn beginning(begun: &OsStr, names: impl IntoIterator<Item = String>) -> Vec<CompletionCandidate> {
    let Some(begun) = begun.to_str() else { return Vec::new() };
    names.into_iter().filter(|name| name.starts_with(begun)).map(CompletionCandidate::new).collect()
}
