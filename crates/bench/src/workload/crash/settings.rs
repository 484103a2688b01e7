//! The settings of a crash trial: its parameters, and the settings of SQLite that are tried.

use std::num::NonZero;
use std::path::Path;

use crash::{CrashSettings, Model, Script};
use lab::catalogue::{Accepts, Parameter};
use lab::level::{Level, Settings, overlaid};
use lab::trial::{Measured, ReadBack};

use super::super::Trial;
use super::super::common::{close, from, parameter};
use crate::error::TrialError;
use crate::settings::Reader;
use crate::target::sqlite;

/// Default number of images under each model.
const IMAGES: i64 = 2_000;

/// Default number of schedules of each scenario.
const SCHEDULES: i64 = 20;

/// Of so many images the recovery is crashed as well.
const SECOND_CRASH_EVERY: i64 = 16;

/// The settings that the crash laboratory can try.
const TRIED: [&str; 4] = ["journal_mode", "synchronous", "locking_mode", "page_size"];

/// Settings that a crash trial may name besides those, as long as they have this level: it is what
/// they are without being named.
const UNCHANGED: [(&str, Level); 2] = [
    ("fullfsync", Level::Bool(false)),
    ("checkpoint_fullfsync", Level::Bool(false)),
];

/// The storage models, all of them.
const ALL_MODELS: &str = "all";

/// The parameters of the workload `crash`.
pub(super) fn parameters() -> Vec<Parameter> {
    vec![
        parameter(
            "images",
            Accepts::Int {
                min: 1,
                max: 100_000_000,
            },
            IMAGES.into(),
            "crash images under each storage model; models with fewer states have fewer",
        ),
        parameter(
            "schedules",
            Accepts::Int {
                min: 0,
                max: 100_000_000,
            },
            SCHEDULES.into(),
            "schedules of two connections to play of each scenario of the journal mode; 0 for none",
        ),
        parameter(
            "psow",
            Accepts::Bool,
            true.into(),
            "whether overwriting is powersafe, as SQLite assumes unless the URI of the database has psow=0",
        ),
        parameter(
            "stop_after_ms",
            from(0),
            0.into(),
            "time limit: start with few images and schedules and add more until it is reached; 0 for none",
        ),
        parameter(
            "models",
            Accepts::Text,
            ALL_MODELS.into(),
            "storage models, separated by commas: kill, ordered, ext4-ordered, reorder, torn, non-powersafe-overwrite, lying-fifo, lying-reorder; or `all`",
        ),
        parameter(
            "second_crash_every",
            from(0),
            SECOND_CRASH_EVERY.into(),
            "of every so many images the recovery is crashed as well; 0 for none",
        ),
        parameter(
            "script",
            Accepts::Text,
            "".into(),
            "file of SQL to be crashed instead of the built-in workload; empty for none",
        ),
        parameter(
            "threads",
            from(0),
            0.into(),
            "threads; 0 for as many as there are processors",
        ),
    ]
}

/// Refuses settings that would be left out of account.
pub(super) fn check(settings: &Settings, own: &[Parameter]) -> Result<(), TrialError> {
    for (name, level) in settings {
        let own = own.iter().any(|parameter| parameter.name == *name);
        let tried = TRIED.contains(&name.as_str());
        let unchanged = UNCHANGED
            .iter()
            .any(|(known, usual)| known == name && usual == level)
            || sqlite::connection_settings()
                .iter()
                .any(|known| known.name == *name && known.default.as_ref() == Some(level));
        if !own && !tried && !unchanged {
            return Err(TrialError::CannotRun(format!(
                "crashes are tried with {}; `{name} = {level}` would be left out of account",
                TRIED.join(", ")
            )));
        }
    }
    Ok(())
}

/// The variant as SQLite answers it.
fn answered(
    connections: &[ReadBack],
    powersafe_overwrite: bool,
) -> Result<CrashSettings, TrialError> {
    let answer = |name: &str| -> Result<&str, TrialError> {
        let pragmas = connections.first().map(|connection| &connection.pragmas);
        pragmas
            .and_then(|pragmas| pragmas.get(name))
            .map(String::as_str)
            .ok_or_else(|| {
                TrialError::CannotRun(format!("this engine does not answer PRAGMA {name}"))
            })
    };
    let unknown = |error: &dyn std::fmt::Display| TrialError::CannotRun(error.to_string());
    Ok(CrashSettings {
        journal_mode: answer("journal_mode")?
            .parse()
            .map_err(|error| unknown(&error))?,
        synchronous: answer("synchronous")?
            .parse()
            .map_err(|error| unknown(&error))?,
        locking_mode: answer("locking_mode")?
            .parse()
            .map_err(|error| unknown(&error))?,
        page_size: answer("page_size")?
            .parse()
            .map_err(|error| unknown(&error))?,
        powersafe_overwrite,
    })
}

/// The settings of a trial on top of the defaults of its parameters.
pub(super) fn with_defaults(settings: &Settings, own: &[Parameter]) -> Settings {
    let defaults = own
        .iter()
        .filter_map(|parameter| Some((parameter.name.clone(), parameter.default.clone()?)));
    overlaid(&defaults.collect(), settings)
}

/// Applies the settings to a database of the trial's own, and gives what SQLite answers: levels that the
/// variant leaves to the engine are the engine's own.
pub(super) fn read_back(
    trial: &mut Trial<'_>,
    powersafe_overwrite: bool,
) -> Result<(CrashSettings, Vec<ReadBack>), TrialError> {
    (trial.phase)("read the settings back");
    let mut measured = Measured::default();
    let path = trial.directory.join("settings.db");
    // An engine that does not take a setting says nothing against the setting.
    let opened = sqlite::open(trial, &path);
    let database = opened.map_err(|error| TrialError::CannotRun(error.to_string()))?;
    close(database, Some(&path), &mut measured)?;
    let variant = answered(&measured.connections, powersafe_overwrite)?;
    Ok((variant, measured.connections))
}

/// The storage models to try.
pub(super) fn models(reader: &Reader<'_>) -> Result<Vec<Model>, TrialError> {
    match text(reader, "models")? {
        ALL_MODELS => Ok(Model::ALL.to_vec()),
        names => names
            .split(',')
            .map(|name| name.trim().parse())
            .collect::<Result<_, crash::UnknownValue>>()
            .map_err(|error| TrialError::CannotRun(error.to_string())),
    }
}

/// The file of SQL to be crashed, parsed; none for the built-in workload.
pub(super) fn script<'s>(
    reader: &'s Reader<'_>,
    trial: &Trial<'_>,
) -> Result<Option<(&'s Path, Script)>, TrialError> {
    let path = Path::new(text(reader, "script")?);
    if path.as_os_str().is_empty() {
        return Ok(None);
    }
    let sql = std::fs::read_to_string(path).map_err(|error| {
        TrialError::CannotRun(format!("cannot read {}: {error}", path.display()))
    })?;
    let script = Script::parse(&trial.library, path, &sql)
        .map_err(|error| TrialError::CannotRun(error.to_string()))?;
    Ok(Some((path, script)))
}

/// How many threads to use.
pub(super) fn threads(reader: &Reader<'_>) -> Result<usize, TrialError> {
    Ok(match reader.count("threads")? {
        0 => std::thread::available_parallelism().map_or(1, NonZero::get),
        threads => threads,
    })
}

fn text<'s>(reader: &'s Reader<'_>, name: &str) -> Result<&'s str, TrialError> {
    let level = reader.0.get(name);
    level
        .and_then(Level::as_text)
        .ok_or_else(|| TrialError::setting(name, level, "a text"))
}
