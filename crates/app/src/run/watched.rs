//! The user's own databases: whether they change while a run works on copies of them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use bench::DatabaseState;
use lab::level::{Level, Settings};
use lab::record::RunPlan;

use crate::interface::Interface;

/// Databases as they were before a run.
pub(super) struct Watched(Vec<(PathBuf, DatabaseState)>);

impl Watched {
    /// Notes the databases that the variants of a plan copy. The trials report one that cannot be read.
    pub(super) fn of(plan: &RunPlan) -> Watched {
        let variants = plan.experiments.iter().flat_map(|planned| &planned.variants);
        let paths: BTreeSet<PathBuf> =
            variants.filter_map(|variant| database(&variant.settings)).collect();
        let states = paths.into_iter().filter_map(|path| {
            let state = DatabaseState::of(&path).ok()?;
            Some((path, state))
        });
        Watched(states.collect())
    }

    /// Warns of databases that were changed.
    pub(super) fn warn(&self, ui: &dyn Interface) {
        for (path, before) in &self.0 {
            let now = DatabaseState::of(path);
            if !now.is_ok_and(|now| now == *before) {
                tell!(
                    ui,
                    "warning: {} was changed during the run, so its trials have worked on different contents; to measure one content, stop the program that changes it, or name a copy",
                    path.display()
                );
            }
        }
    }
}

/// Warns of files that were changed since the run began: the remaining trials may do different work.
pub(super) fn warn_of_newer(plan: &RunPlan, ui: &dyn Interface) {
    let Ok(began) = humantime::parse_rfc3339(&plan.created) else { return };
    let variants = plan.experiments.iter().flat_map(|planned| &planned.variants);
    let files: BTreeSet<PathBuf> = variants.flat_map(|variant| files(&variant.settings)).collect();
    for file in files {
        let changed = file.metadata().and_then(|metadata| metadata.modified());
        if changed.is_ok_and(|changed| changed > began) {
            tell!(
                ui,
                "warning: {} was changed after the run began, so its trials before and after may have done different work; for one answer, start a new run",
                file.display()
            );
        }
    }
}

/// Returns the user's files that a variant works on, or with.
fn files(settings: &Settings) -> Vec<PathBuf> {
    let text = |name: &str| settings.get(name).and_then(Level::as_text);
    let scripts = text("scripts").into_iter().flat_map(|all| all.split(','));
    // `a.sql@9` is a file with its weight.
    let scripts =
        scripts.map(|script| script.trim().rsplit_once('@').map_or(script, |(path, _)| path));
    let single = ["setup", "trace"].into_iter().filter_map(text);
    let named = scripts.chain(single).filter(|path| !path.is_empty());
    named.map(PathBuf::from).chain(database(settings)).collect()
}

/// Returns the file that a variant copies. With a trace, `database` is a name in it.
fn database(settings: &Settings) -> Option<PathBuf> {
    let text = |name: &str| settings.get(name).and_then(Level::as_text);
    let own = text("trace").is_none_or(str::is_empty);
    text("database").filter(|path| own && !path.is_empty()).map(PathBuf::from)
}
