//! Which settings were in force when something was committed: a script may change them, and an attached database has
//! its own.

use crate::error::CrashError;
use crate::script::Act;
use crate::settings::{CrashSettings, Synchronous};
use engine::Connection;
use lab::level::distinct;

/// Settings that were in force for a database when a script committed to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InForce {
    /// The file of the database.
    pub database: String,
    /// The settings.
    pub settings: CrashSettings,
    /// Where in the script they were in force first, such as `line 3`.
    pub since: String,
}

impl InForce {
    /// In words, where they are others than those of the variant.
    pub fn unlike(&self, variant: &CrashSettings) -> Option<String> {
        let InForce {
            database,
            settings,
            since,
        } = self;
        let words = format!("{settings} instead of {variant} for {database} from {since} on");
        (settings != variant).then_some(words)
    }
}

/// Reads the settings of a database that decide what a crash takes; the rest is that of the variant.
fn read(
    connection: &Connection,
    schema: &str,
    variant: &CrashSettings,
) -> Result<CrashSettings, CrashError> {
    let name = schema.replace('"', "\"\"");
    let answer = |pragma: &str| connection.query_text(&format!("PRAGMA \"{name}\".{pragma}"));
    let unknown = |error| CrashError::Defect(format!("{error}"));
    let number = connection.query_i64(&format!("PRAGMA \"{name}\".synchronous"))?;
    let synchronous = Synchronous::ALL.get(usize::try_from(number).unwrap_or(usize::MAX));
    Ok(CrashSettings {
        journal_mode: answer("journal_mode")?.parse().map_err(unknown)?,
        locking_mode: answer("locking_mode")?.parse().map_err(unknown)?,
        synchronous: synchronous.copied().unwrap_or(variant.synchronous),
        ..*variant
    })
}

/// Notes settings at commits.
#[derive(Debug, Default)]
pub(crate) struct Watch(Vec<InForce>);

impl Watch {
    /// Notes those of a database to which an act has committed.
    pub(crate) fn see(
        &mut self,
        connection: &Connection,
        (schema, file): (&str, &str),
        variant: &CrashSettings,
        act: &Act,
    ) -> Result<(), CrashError> {
        let settings = read(connection, schema, variant)?;
        let mut known = self.0.iter();
        if !known.any(|it| it.database == file && it.settings == settings) {
            self.0.push(InForce {
                database: file.to_owned(),
                settings,
                since: act.location(),
            });
        }
        Ok(())
    }

    pub(crate) fn seen(self) -> Vec<InForce> {
        self.0
    }
}

/// The distinct settings by which a recording is judged: those that were in force, or else those of the variant.
pub(crate) fn judged_by(in_force: &[InForce], variant: &CrashSettings) -> Vec<CrashSettings> {
    match in_force {
        [] => vec![*variant],
        all => distinct(all.iter().map(|it| it.settings).collect::<Vec<_>>()),
    }
}
