//! Which settings were in force when something was committed: a script may change them, and an attached database has
//! its own.

use crate::documented::documented;
use crate::error::{CrashError, Result};
use crate::harness::{Harness, quoted};
use crate::model::Model;
use crate::script::Action;
use crate::settings::{CrashSettings, Synchronous};
use crate::trace::{Step, Trace, is_of};
use engine::{Connection, Value};
use lab::level::distinct;
use lab::tier::Promise;
use std::collections::BTreeMap;
use std::ops::Range;

/// Settings that were in force for a database when a script committed to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsInForce {
    /// The file of the database.
    pub database: String,
    /// The settings.
    pub settings: CrashSettings,
    /// Where in the script they were in force first, such as `line 3`.
    pub since: String,
}

impl SettingsInForce {
    /// Returns the settings in words, if they differ from the settings of the variant.
    pub fn unlike(&self, variant: &CrashSettings) -> Option<String> {
        let SettingsInForce { database, settings, since } = self;
        let words = format!("{settings} instead of {variant} for {database} from {since} on");
        (settings != variant).then_some(words)
    }
}

/// The settings in force while some steps were taken: of the databases that they write to, before and after the action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The steps.
    pub steps: Range<usize>,
    /// The settings. The settings of the variant apply to actions outside of all spans.
    pub settings: Vec<CrashSettings>,
}

/// By file of a database, the settings in force.
pub(crate) type Now = BTreeMap<String, CrashSettings>;

impl Span {
    /// Returns the span of an action that began and ended under these settings; `None` if it writes to no
    /// database.
    pub(crate) fn of(trace: &Trace, steps: Range<usize>, now: [&Now; 2]) -> Option<Span> {
        let files: Vec<&str> = files(trace, &steps);
        let is_written = |database: &str| files.iter().any(|file| is_of(database, file));
        let written = now.into_iter().flatten().filter(|(database, _)| is_written(database));
        let settings = distinct(written.map(|(_, settings)| *settings).collect::<Vec<_>>());
        (!settings.is_empty()).then_some(Span { steps, settings })
    }
}

/// Returns the files that steps change.
fn files<'t>(trace: &'t Trace, steps: &Range<usize>) -> Vec<&'t str> {
    let mut names: Vec<_> = trace.named.iter().copied().zip(&trace.names).collect();
    names.extend(trace.steps.iter().filter_map(|step| match step {
        Step::Create { name, inode } => Some((*inode, &trace.names[name.0])),
        _ => None,
    }));
    let changed = trace.steps[steps.clone()].iter().flat_map(|step| {
        let inode = match step {
            Step::Create { inode, .. } | Step::Write { inode, .. } => Some(*inode),
            Step::Truncate { inode, .. } => Some(*inode),
            Step::Unlink { .. } | Step::Sync { .. } | Step::SyncDirectory { .. } => None,
        };
        names.iter().filter(move |(it, _)| Some(*it) == inode).map(|(_, name)| name.as_str())
    });
    let mut files: Vec<&str> = changed.collect();
    files.sort_unstable();
    files.dedup();
    files
}

/// The documented promises for the settings in force at each step, under one storage model.
#[derive(Debug, Clone)]
pub(crate) struct Promises {
    spans: Vec<(Range<usize>, Promise)>,
    /// Of the variant: where no act is.
    otherwise: Promise,
}

impl Promises {
    pub(crate) fn of(spans: &[Span], variant: &CrashSettings, model: Model) -> Promises {
        let promise = |settings: &CrashSettings| {
            documented(settings, model).map_or(Promise::Silent, |documented| documented.promise)
        };
        let least = |span: &Span| span.settings.iter().map(promise).max();
        let all = spans.iter();
        Promises {
            spans: all.filter_map(|span| Some((span.steps.clone(), least(span)?))).collect(),
            otherwise: promise(variant),
        }
    }

    /// Returns the weakest promise for a crash: among the settings in force from the first missing step to
    /// the last step begun. If no step is missing, the settings are taken from the action under way, or else
    /// from the last one.
    pub(crate) fn of_crash(&self, first_missing: Option<usize>, cut: usize) -> Promise {
        let from = first_missing.map_or(cut, |step| step.min(cut));
        let overlaps = |steps: &Range<usize>| from < steps.end && steps.start < cut;
        let touched = self.spans.iter().filter(|(steps, _)| overlaps(steps));
        let first = self.spans.first().map_or(0, |(steps, _)| steps.start);
        let before = (from < first).then_some(self.otherwise);
        let least = touched.map(|(_, promise)| *promise).chain(before).max();
        let mut earlier = self.spans.iter().rev();
        let mut last = || earlier.find(|(steps, _)| steps.start < cut);
        least.or_else(|| last().map(|(_, promise)| *promise)).unwrap_or(self.otherwise)
    }
}

/// Returns the journal modes of the databases that have content, by file.
pub(crate) fn journal_modes(
    harness: &Harness,
    connection: &Connection,
) -> Result<BTreeMap<String, String>> {
    let mut modes = BTreeMap::new();
    for (schema, file) in databases(connection)? {
        if harness.size(&file) > 0 {
            let pragma = format!("PRAGMA {}.journal_mode", quoted(&schema));
            let mode = connection.query_text(&pragma)?;
            modes.insert(file, mode);
        }
    }
    Ok(modes)
}

/// Returns the databases with a file: their schemas and files.
pub(crate) fn databases(connection: &Connection) -> Result<Vec<(String, String)>> {
    let rows = connection.query_all("PRAGMA database_list")?;
    let named = rows.into_iter().filter_map(|row| match row.as_slice() {
        [_, Value::Text(schema), Value::Text(file)] if !file.is_empty() => {
            Some((schema.clone(), file.clone()))
        }
        _ => None,
    });
    Ok(named.collect())
}

/// Reads the settings of all databases with these schemas and files.
pub(crate) fn read_all(
    connection: &Connection,
    databases: &[(String, String)],
    variant: &CrashSettings,
) -> Result<Now> {
    let one = |(schema, file): &(String, String)| {
        let settings = read(connection, schema, variant)?;
        Ok((file.clone(), settings))
    };
    databases.iter().map(one).collect()
}

/// Reads the settings of a database that decide the losses of a crash; the others come from the variant.
fn read(connection: &Connection, schema: &str, variant: &CrashSettings) -> Result<CrashSettings> {
    let name = quoted(schema);
    let answer = |pragma: &str| connection.query_text(&format!("PRAGMA {name}.{pragma}"));
    let unknown = |error| CrashError::defect(error);
    let number = connection.query_i64(&format!("PRAGMA {name}.synchronous"))?;
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
pub(crate) struct Watch(pub(crate) Vec<SettingsInForce>);

impl Watch {
    /// Notes the settings of a database to which an action has committed.
    pub(crate) fn see(
        &mut self,
        connection: &Connection,
        (schema, file): (&str, &str),
        variant: &CrashSettings,
        action: &Action,
    ) -> Result<()> {
        let settings = read(connection, schema, variant)?;
        let mut known = self.0.iter();
        if !known.any(|known| known.database == file && known.settings == settings) {
            self.0.push(SettingsInForce {
                database: file.to_owned(),
                settings,
                since: action.location(),
            });
        }
        Ok(())
    }
}

/// Returns the distinct settings by which a recording is judged: the ones that were in force, or else the
/// ones of the variant.
pub(crate) fn judged_by(spans: &[Span], variant: &CrashSettings) -> Vec<CrashSettings> {
    match spans {
        [] => vec![*variant],
        all => {
            let all = all.iter().flat_map(|span| &span.settings);
            distinct(all.copied().collect::<Vec<_>>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::JournalMode;

    fn settings(synchronous: Synchronous) -> CrashSettings {
        CrashSettings::new(JournalMode::Wal, synchronous)
    }

    #[test]
    fn a_crash_is_judged_by_the_settings_between_its_first_loss_and_itself() {
        let [full, normal, off] =
            [Synchronous::Full, Synchronous::Normal, Synchronous::Off].map(settings);
        let span = |steps, settings: &[CrashSettings]| Span { steps, settings: settings.to_vec() };
        let spans = [
            span(10..20, &[full]),
            span(20..30, &[off]),
            span(40..50, &[full]),
            span(50..60, &[full, normal]),
        ];
        let promises = Promises::of(&spans, &normal, Model::Torn);
        let of = |missing, cut| promises.of_crash(missing, cut);
        assert_eq!(of(None, 5), Promise::MayLose, "before the first act");
        assert_eq!(of(None, 15), Promise::Safe);
        assert_eq!(of(Some(12), 20), Promise::Safe);
        assert_eq!(of(Some(12), 21), Promise::MayCorrupt);
        assert_eq!(of(None, 35), Promise::MayCorrupt, "after the last act");
        assert_eq!(of(Some(25), 45), Promise::MayCorrupt, "lost before");
        assert_eq!(of(None, 45), Promise::Safe, "nothing is missing");
        assert_eq!(of(Some(41), 55), Promise::MayLose, "changed by the act");
    }
}
