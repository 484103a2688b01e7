//! Two connections that meet at chosen moments, in the journal mode of the variant: damage that needs no crash.
//!
//! The result is a property of the engine, of the journal mode and of the extent, so that each engine plays its schedules once:
//! `schedules/9f0c….json` in the user's cache has the result with its whole key.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crash::schedule::{Extent, Finding, Scenario, ScenarioResult, explore_all};
use crash::{CrashSettings, LockingMode};
use engine::build::{Cache, sha256};
use engine::{Library, Origin, Source};
use lab::seed::Seed;
use lab::tier::{METHOD, SCHEDULES_EACH, SCHEDULES_IN_FULL, Schedules, WrongSchedule};
use serde::{Deserialize, Serialize};

use super::own::engine_name;

/// Plays the scenarios of the variant in a folder of the trial: those with few schedules in full, `each` of the others.
/// Nothing that goes wrong here spoils what was found of crashes: the reason stands in the place of the answer.
pub(super) fn run(
    library: &Arc<Library>,
    variant: &CrashSettings,
    folder: &Path,
    each: usize,
    seed: Seed,
) -> Schedules {
    if variant.locking_mode == LockingMode::Exclusive {
        return not_measured("with locking_mode=exclusive no second connection comes in");
    }
    if each == 0 {
        return not_measured("the parameter `schedules` is 0");
    }
    let mode = variant.journal_mode.name();
    let extent = extent(each as u64, seed);
    let known = Known::of(library, mode, extent);
    if let Some(summary) = known.as_ref().and_then(Known::find) {
        return summary.schedules(library);
    }
    let is_of_mode = |scenario: &Scenario, of: &str| scenario.is_of_tiers() && of == mode;
    match explore_all(library, folder, extent, is_of_mode) {
        Ok(explored) if explored.is_empty() => {
            not_measured(&format!("there is no scenario for journal_mode={mode}"))
        }
        Ok(explored) => {
            let summary = Summary::of(&explored);
            let _ = known.map(|known| known.keep(&summary));
            summary.schedules(library)
        }
        Err(error) => not_measured(&error.to_string()),
    }
}

/// Returns the extent where `each` schedules of a scenario are wanted: as much as for a safety tier, or less.
fn extent(each: u64, seed: Seed) -> Extent {
    let in_full = if each >= u64::from(SCHEDULES_EACH) { SCHEDULES_IN_FULL.into() } else { 0 };
    Extent {
        all_up_to: each.max(in_full),
        sample: each,
        seed: seed.child("schedules").0,
        threads: super::settings::processors(),
    }
}

fn not_measured(why: &str) -> Schedules {
    Schedules::NotMeasured { why: why.to_owned() }
}

/// The result of all scenarios of a journal mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Summary {
    played: u64,
    wrong: u64,
    first: Option<Finding>,
}

impl Summary {
    fn of(explored: &[ScenarioResult]) -> Summary {
        let mut findings = explored.iter().flat_map(|scenario| &scenario.findings);
        Summary {
            played: explored.iter().map(|scenario| scenario.played).sum(),
            wrong: explored.iter().map(|scenario| scenario.wrong).sum(),
            first: findings.next().cloned(),
        }
    }

    fn schedules(self, library: &Library) -> Schedules {
        let first = self.first.as_ref();
        Schedules::Played {
            played: self.played,
            wrong: self.wrong,
            first: first.map(|first| wrong_schedule(first, library)),
        }
    }
}

/// A schedule that went wrong, with the command that plays it again.
pub(super) fn wrong_schedule(finding: &Finding, library: &Library) -> WrongSchedule {
    let engine = engine_name(&super::source(&library.identity().origin));
    WrongSchedule {
        again: format!("pragmark crash --schedule {} --engine {engine}", finding.schedule),
        what: finding.what.join("; "),
        schedule: finding.schedule.clone(),
    }
}

/// Identifies a result.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Key {
    method: u32,
    /// The SHA-256 of the library.
    engine: String,
    journal_mode: String,
    extent: Extent,
}

/// The place of an outcome in the user's cache.
pub(super) struct Known {
    key: Key,
    file: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    key: Key,
    summary: Summary,
}

impl Known {
    /// The place for an engine; `None` if the user has no cache, or the engine cannot be told from others.
    pub(super) fn of(library: &Library, journal_mode: &str, extent: Extent) -> Option<Known> {
        let key = Key {
            method: METHOD,
            engine: sha256(&bytes(library)?),
            journal_mode: journal_mode.to_owned(),
            // How many are played at a time changes nothing.
            extent: Extent { threads: 1, ..extent },
        };
        let folder = Cache::of_user().ok()?.root().join("schedules");
        let name = sha256(&serde_json::to_vec(&key).ok()?);
        Some(Known { file: folder.join(format!("{name}.json")), key })
    }

    /// Returns the result; `None` if they were not played, or where the file is damaged or of another key.
    pub(super) fn find(&self) -> Option<Summary> {
        let entry: Entry = serde_json::from_slice(&std::fs::read(&self.file).ok()?).ok()?;
        (entry.key == self.key).then_some(entry.summary)
    }

    /// Keeps what came of them. Where that is not possible, they are played again next time, and nothing else is lost.
    pub(super) fn keep(&self, summary: &Summary) -> std::io::Result<()> {
        let entry = Entry { key: self.key.clone(), summary: summary.clone() };
        let folder = self.file.parent().unwrap_or(&self.file);
        std::fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&serde_json::to_vec(&entry)?)?;
        file.persist(&self.file)?;
        Ok(())
    }
}

fn bytes(library: &Library) -> Option<Vec<u8>> {
    match &library.identity().origin {
        Origin::Embedded => Source::Embedded.bytes().ok()?.map(|bytes| bytes.to_vec()),
        Origin::System(path) | Origin::File(path) => std::fs::read(path).ok(),
    }
}
