//! One trial of an engine that may fail in any way, in a process of its own.

use crate::memory;
use crash::schedule::{Extent, ScheduleRunner, explore, scenario};
use crash::{CrashError, syncs};
use engine::{Connection, Library, OpenFlags, Source};
use lab::record::SyncCheck;
use pragmark_proofs::{Crashes, Workload, settings};
use std::error::Error;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A way to try an engine. Its text is an argument of the process, and the name of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Trial {
    /// Whether a database can be made, written, closed, opened and read.
    Open,
    /// The system calls of commits.
    Syncs,
    /// Crash images of a workload, by its number, under settings.
    Crash { workload: usize, settings: String },
    /// Schedules of a scenario in a journal mode.
    Schedules { scenario: &'static str, journal_mode: &'static str },
}

/// Settings that together reach every promise of the journal and of the log. Those that promise less are left out: the sound engine
/// corrupts, too, in images that a sample may or may not have.
const SETTINGS: [&str; 9] = [
    "wal/full",
    "delete/extra",
    "persist/full",
    "truncate/full",
    "wal/normal",
    "wal/full/exclusive",
    "persist/full/exclusive",
    "wal/full/normal/psow-off",
    "delete/extra/normal/psow-off",
];

impl Trial {
    /// All trials, the cheap ones first.
    pub fn all() -> Vec<Trial> {
        let mut all = vec![Trial::Open, Trial::Syncs];
        for workload in 0..Workload::ALL.len() {
            all.extend(SETTINGS.map(|name| Trial::Crash { workload, settings: name.to_owned() }));
        }
        all.extend(crash::schedule::all().map(|(scenario, journal_mode)| Trial::Schedules {
            scenario: scenario.id,
            journal_mode,
        }));
        all
    }

    /// Runs the trial. Returns a line that differs from the sound engine's if something is wrong.
    ///
    /// # Errors
    /// Whatever keeps the trial from its end.
    pub fn run(
        &self,
        engine: &Source,
        images: usize,
        extent: Extent,
    ) -> Result<String, Box<dyn Error>> {
        match self {
            Trial::Open => open(engine),
            Trial::Syncs => check_syncs(engine),
            Trial::Crash { workload, settings: name } => {
                let variant = settings(name).ok_or("unknown settings")?;
                let workload = *Workload::ALL.get(*workload).ok_or("unknown workload")?;
                let crashes = Crashes::new(engine.clone(), images, extent.seed, extent.threads);
                let cells = match crashes.measure(engine, variant, workload) {
                    Err(damage @ CrashError::Damaged(_)) => {
                        return Ok(damage.to_string().replace('\n', " "));
                    }
                    cells => cells?,
                };
                let worst = cells.iter().map(|cell| cell.safety.worst());
                let worst =
                    worst.map(|loss| loss.map_or("-".to_owned(), |loss| format!("{}", loss as u8)));
                Ok(format!("losses {}", worst.collect::<Vec<_>>().join(" ")))
            }
            Trial::Schedules { scenario: id, journal_mode } => {
                let library = Arc::new(Library::load(engine)?);
                let folder = tempfile::tempdir_in(memory())?;
                let mut runner = ScheduleRunner::new(&library, folder.path())?;
                let scenario = scenario(id).ok_or("unknown scenario")?;
                let go_on = AtomicBool::new(false);
                let explored = explore(&mut runner, scenario, journal_mode, extent, &go_on)?;
                Ok(if explored.wrong == 0 { "sound".to_owned() } else { explored.verdict() })
            }
        }
    }

    /// Returns the sign that an engine is worse than the sound one, if there is any.
    pub fn difference(&self, sound: &str, seen: &str) -> Option<String> {
        if seen == sound {
            return None;
        }
        match (sound.strip_prefix("losses "), seen.strip_prefix("losses ")) {
            (Some(sound), Some(seen)) => {
                let mut pairs = sound.split(' ').zip(seen.split(' '));
                // What was not measured proves nothing.
                let is_worse = |pair: (&str, &str)| pair.1 > pair.0 && pair.0 != "-";
                let position = pairs.position(is_worse)?;
                let model = crash::Model::ALL[position].name();
                Some(format!("loses more under {model}: {seen} instead of {sound}"))
            }
            _ => Some(seen.to_owned()),
        }
    }
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trial::Open => f.write_str("open"),
            Trial::Syncs => f.write_str("syncs"),
            Trial::Crash { workload, settings } => {
                write!(f, "crash:{workload}:{}", settings.replace('/', "-"))
            }
            Trial::Schedules { scenario, journal_mode } => {
                write!(f, "schedules:{scenario}:{journal_mode}")
            }
        }
    }
}

impl FromStr for Trial {
    type Err = String;

    fn from_str(text: &str) -> Result<Trial, String> {
        let mut all = Trial::all().into_iter();
        all.find(|trial| trial.to_string() == text).ok_or_else(|| format!("no trial {text}"))
    }
}

/// Makes a database in each journal mode, and reads what was written through another connection.
fn open(engine: &Source) -> Result<String, Box<dyn Error>> {
    let library = Arc::new(Library::load(engine)?);
    let folder = tempfile::tempdir_in(memory())?;
    for mode in ["delete", "truncate", "persist", "wal"] {
        let file = folder.path().join(mode);
        let open = || Connection::open(&library, &file, OpenFlags::default(), None);
        let connection = open()?;
        if connection.query_text(&format!("PRAGMA journal_mode = {mode}"))? != mode {
            return Ok(format!("no {mode}"));
        }
        connection.execute(
            "CREATE TABLE t(x, y); CREATE INDEX i ON t(y); \
             WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 300) \
             INSERT INTO t SELECT i, hex(zeroblob(50)) FROM n; \
             UPDATE t SET y = 'changed' WHERE x < 100",
        )?;
        connection.close()?;
        let connection = open()?;
        let rows = connection.query_i64("SELECT sum(x) FROM t")?;
        let check = connection.query_text("PRAGMA integrity_check")?;
        if rows != 45_150 || check != "ok" {
            return Ok(format!("{mode}: {rows}, {check}"));
        }
    }
    Ok("works".to_owned())
}

fn check_syncs(engine: &Source) -> Result<String, Box<dyn Error>> {
    Ok(match syncs::check(&std::env::current_exe()?, &engine.to_string()) {
        SyncCheck::Counted { requested, reached } if reached < requested => {
            format!("{reached} of {requested} syncs reach the system")
        }
        // Fewer requests are no sign by themselves.
        SyncCheck::Counted { .. } => "all syncs reach the system".to_owned(),
        SyncCheck::Faulty { fault } => format!("it {fault}"),
        SyncCheck::NotChecked { why } => return Err(why.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_more_losses_of_a_measured_model_or_other_words_are_a_difference() {
        let trial = &Trial::all()[2];
        let differs = |sound: &str, seen: &str| trial.difference(sound, seen).is_some();
        assert!(differs("losses 0 2", "losses 0 3") && differs("losses 0 2", "damage"));
        assert!(!differs("losses 0 2", "losses 0 1") && !differs("losses 0 -", "losses 0 3"));
        assert!(!differs("losses 0 2", "losses 0 2") && !differs("losses 0 2", "losses 0 -"));
    }

    #[test]
    fn trials_are_found_by_their_names() {
        for trial in Trial::all() {
            assert_eq!(trial.to_string().parse(), Ok(trial));
        }
    }
}
