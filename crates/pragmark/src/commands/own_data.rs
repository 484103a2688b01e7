//! The user's own databases: whether they change while a run works on copies of them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use bench::DatabaseState;
use lab::level::{Level, Settings};
use lab::record::RunPlan;

/// Databases as they were before a run.
pub struct Watched(Vec<(PathBuf, DatabaseState)>);

impl Watched {
    /// Those that the variants of a plan copy; one that cannot be read is reported by the trials.
    pub fn of(plan: &RunPlan) -> Watched {
        let variants = plan.experiments.iter().flat_map(|it| &it.variants);
        let paths: BTreeSet<PathBuf> = variants.filter_map(|it| database(&it.settings)).collect();
        let states = paths.into_iter().filter_map(|path| {
            let state = DatabaseState::of(&path).ok()?;
            Some((path, state))
        });
        Watched(states.collect())
    }

    /// Warns of those that are not as they were.
    pub fn warn(&self) {
        for (path, before) in &self.0 {
            let now = DatabaseState::of(path);
            if !now.is_ok_and(|now| now == *before) {
                tell!(
                    "warning: {} was changed during the run, so its trials have worked on different contents; to measure one content, stop what changes it, or name a copy",
                    path.display()
                );
            }
        }
    }
}

/// Warns of files with which a run began and that were changed since: what is measured from now on may be other work.
pub fn warn_of_newer(plan: &RunPlan) {
    let Ok(began) = humantime::parse_rfc3339(&plan.created) else {
        return;
    };
    let variants = plan.experiments.iter().flat_map(|it| &it.variants);
    let files: BTreeSet<PathBuf> = variants.flat_map(|it| files(&it.settings)).collect();
    for file in files {
        let changed = file.metadata().and_then(|it| it.modified());
        if changed.is_ok_and(|changed| changed > began) {
            tell!(
                "warning: {} was changed after the run began, so its trials before and after may have done different work; for one answer, start a new run",
                file.display()
            );
        }
    }
}

/// The files of the user's own that a variant works on, or with.
fn files(settings: &Settings) -> Vec<PathBuf> {
    let text = |name: &str| settings.get(name).and_then(Level::as_text);
    let scripts = text("scripts").into_iter().flat_map(|all| all.split(','));
    // `a.sql@9` is a file with its weight.
    let scripts = scripts.map(|it| it.trim().rsplit_once('@').map_or(it, |(path, _)| path));
    let single = ["setup", "trace"].into_iter().filter_map(text);
    let named = scripts.chain(single).filter(|path| !path.is_empty());
    named.map(PathBuf::from).chain(database(settings)).collect()
}

/// The file that a variant copies. With a trace, `database` is a name in it.
fn database(settings: &Settings) -> Option<PathBuf> {
    let text = |name: &str| settings.get(name).and_then(Level::as_text);
    let own = text("trace").is_none_or(str::is_empty);
    let path = text("database").filter(|path| own && !path.is_empty());
    path.map(PathBuf::from)
}
