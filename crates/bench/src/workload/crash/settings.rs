//! The settings of a crash trial: its parameters, and the settings of SQLite that are tried.

use std::fmt::Display;
use std::num::NonZero;
use std::str::FromStr;

use crash::{CrashSettings, Model};
use lab::trial::ReadBack;

use crate::parameters::{DatabasePath, FilePath, Parameters as Declaration, SqlText};
use crate::workload::prelude::*;

/// The settings that the crash laboratory can try.
const TRIED: [&str; 4] = ["journal_mode", "synchronous", "locking_mode", "page_size"];

/// Settings that a crash trial may name besides those, as long as they have this level: it is what
/// they are without being named.
const UNCHANGED: [(&str, Level); 2] =
    [("fullfsync", Level::Bool(false)), ("checkpoint_fullfsync", Level::Bool(false))];

/// The storage models, all of them.
const ALL_MODELS: &str = "all";

parameters! {
    /// The parameters of the workload `crash`.
    #[derive(Clone, Debug)]
    struct Parameters {
        /// Crash images under each storage model; models with fewer states have fewer.
        images: usize = 2_000, 1..=100_000_000;
        /// Megabytes that the images under each storage model may hold together, of which 200 are sampled in any case; 0 for any number.
        image_mb: usize = 0, 0..=1_000_000;
        /// Schedules of two connections to play of each scenario of the journal mode; from 200 on, scenarios of up to 10,000 are played in full. 0 for none.
        schedules: usize = 20, 0..=100_000_000;
        /// Whether overwriting is powersafe, as SQLite assumes unless the URI of the database has psow=0.
        psow: bool = true;
        /// Storage models, separated by commas: kill, ordered, ext4-ordered, reorder, torn, non-powersafe-overwrite, lying-fifo, lying-reorder; or `all`.
        models: String = ALL_MODELS;
        /// Of every so many images the recovery is crashed as well; 0 for none.
        second_crash_every: usize = 16;
        /// File of SQL to be crashed instead of the built-in workload; empty for none.
        script: FilePath = "";
        /// Your own database file, on a copy of which the script is crashed; with a trace, the name of the database in it.
        database: DatabasePath = "";
        /// Trace of an application, of which the transactions that write are crashed instead of the built-in workload.
        trace: FilePath = "";
        /// Stand-ins for collations and functions that only the application of the trace has, as for the workload replay.
        stand_in: SqlText = "";
        /// Transactions of the script on a database, or of the trace, that are crashed: so many from the first one on.
        transactions: usize = 100, 1..=1_000_000;
        /// Threads; 0 for as many as there are processors.
        threads as "crash_threads": usize = 0;
    }
}

/// Refuses settings that would be ignored.
fn check<P: Declaration>(settings: &Settings) -> Result<()> {
    let own = P::declared();
    for (name, level) in settings {
        let own = own.iter().any(|parameter| parameter.name == *name);
        let tried = TRIED.contains(&name.as_str());
        let unchanged = UNCHANGED.iter().any(|(known, usual)| known == name && usual == level)
            || sqlite::connection_settings()
                .iter()
                .any(|known| known.name == *name && known.default.as_ref() == Some(level));
        if !own && !tried && !unchanged {
            return Err(TrialError::CannotRun(format!(
                "crash tests apply {}; `{name} = {level}` would be ignored",
                TRIED.join(", ")
            )));
        }
    }
    Ok(())
}

/// The variant as SQLite answers it.
fn answered(connections: &[ReadBack], powersafe_overwrite: bool) -> Result<CrashSettings> {
    fn answer<T: FromStr<Err: Display>>(connections: &[ReadBack], name: &str) -> Result<T> {
        let pragmas = connections.first().map(|connection| &connection.pragmas);
        let answer = pragmas.and_then(|pragmas| pragmas.get(name));
        let parsed = answer.ok_or_else(|| {
            TrialError::CannotRun(format!("this engine does not answer PRAGMA {name}"))
        })?;
        parsed.parse().map_err(TrialError::because)
    }
    Ok(CrashSettings {
        journal_mode: answer(connections, "journal_mode")?,
        synchronous: answer(connections, "synchronous")?,
        locking_mode: answer(connections, "locking_mode")?,
        page_size: answer(connections, "page_size")?,
        powersafe_overwrite,
    })
}

/// Applies the settings to a database of the trial's own, and gives what SQLite answers: levels that the
/// variant leaves to the engine are the engine's own. Settings that would be ignored are refused; `P` are
/// the parameters of the workload.
pub(super) fn read_back<P: Declaration>(
    trial: &mut Trial<'_>,
    powersafe_overwrite: bool,
) -> Result<(CrashSettings, Vec<ReadBack>)> {
    check::<P>(trial.settings)?;
    (trial.phase)("read the settings back");
    let mut measured = Measured::default();
    let path = trial.directory.join("settings.db");
    // An engine that does not take a setting says nothing against the setting.
    let opened = sqlite::open(trial, &path);
    let database = opened.map_err(TrialError::because)?;
    close(database, Some(&path), &mut measured)?;
    let variant = answered(&measured.connections, powersafe_overwrite)?;
    Ok((variant, measured.connections))
}

impl Parameters {
    /// The storage models to try.
    pub(super) fn models(&self) -> Result<Vec<Model>> {
        match &*self.models {
            ALL_MODELS => Ok(Model::ALL.to_vec()),
            names => names
                .split(',')
                .map(|name| name.trim().parse().map_err(TrialError::because))
                .collect(),
        }
    }

    /// How many threads to use.
    pub(super) fn threads(&self) -> usize {
        match self.threads {
            0 => processors(),
            threads => threads,
        }
    }
}

/// How many threads the machine can run at a time.
pub(super) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}
