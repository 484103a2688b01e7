//! Situations with company, as data: other connections, a killed process, a backup, and sizes that the built-in workload
//! does not have. `situations.sql` describes the format.

use crate::script::{Action, Script};
use crate::settings::{CrashSettings, JournalMode, LockingMode};

/// The situations as they were written.
const TEXT: &str = include_str!("situations.sql");

/// Of the images of a cell, the share of each situation, and of one that writes much.
const SHARES: [usize; 2] = [16, 2_000];

/// The fewest images of each of the same.
const FEWEST: [usize; 2] = [24, 2];

/// A situation, to be recorded and crashed by itself.
pub(crate) struct Situation {
    /// Its name.
    pub(crate) name: &'static str,
    /// The settings, with the page size of the situation.
    pub(crate) settings: CrashSettings,
    /// The actions.
    pub(crate) script: Script,
    /// Whether it writes much, so that images are large.
    pub(crate) is_large: bool,
}

impl Situation {
    /// Returns the situations that these settings allow: no second connection comes in with exclusive locking, and a
    /// journal that a process takes with it allows no killed one.
    pub(crate) fn of(settings: &CrashSettings) -> Vec<Situation> {
        let kind = match settings.journal_mode {
            JournalMode::Wal => "wal",
            JournalMode::Memory | JournalMode::Off => return Vec::new(),
            _ => "rollback",
        };
        if settings.locking_mode == LockingMode::Exclusive {
            return Vec::new();
        }
        let all = TEXT.split("\n--- ").skip(1).map(|text| parse(text, settings));
        all.filter(|(modes, _)| modes.contains(&kind)).map(|(_, situation)| situation).collect()
    }

    /// Returns its part of the images of a cell.
    pub(crate) fn images_of(&self, all: usize) -> usize {
        let size = usize::from(self.is_large);
        (all / SHARES[size]).max(FEWEST[size])
    }
}

/// Returns the journal modes of a situation, and the situation under these settings.
///
/// # Panics
/// If the text is not in its format, which a test of all situations shows.
fn parse(text: &'static str, settings: &CrashSettings) -> (Vec<&'static str>, Situation) {
    let (heading, lines) = text.split_once('\n').expect("a heading");
    let (name, rest) = heading.split_once(": ").expect("a name");
    let mut parts = rest.split("; ");
    let modes = parts.next().expect("journal modes").split(' ').collect();
    let mut situation = Situation {
        name,
        settings: *settings,
        script: Script { path: None, actions: lines.lines().filter_map(action).collect() },
        is_large: false,
    };
    for part in parts {
        match part.split_once('=') {
            Some((_, size)) => situation.settings.page_size = size.parse().expect("a page size"),
            None => situation.is_large = true,
        }
    }
    (modes, situation)
}

fn action(line: &str) -> Option<Action> {
    Some(match line.split_once(' ') {
        None if line.is_empty() => return None,
        None if line == "kill" => Action::Kill,
        None => Action::Backup,
        Some(("1", sql)) => Action::Sql { sql: sql.to_owned(), line: 0 },
        Some((who, what)) => {
            let sql = (what != "leaves").then(|| what.to_owned());
            Action::Other { who: who.parse().expect("a connection"), sql }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::Harness;
    use crate::record::Recording;
    use crate::settings::Synchronous;
    use engine::Source;
    use lab::seed::Seed;

    fn of(mode: JournalMode) -> Vec<Situation> {
        Situation::of(&CrashSettings::new(mode, Synchronous::Full))
    }

    #[test]
    fn every_situation_is_carried_out_and_commits() {
        let mut harness = Harness::new(&Source::Embedded).unwrap();
        let mut names = Vec::new();
        for mode in
            [JournalMode::Delete, JournalMode::Truncate, JournalMode::Persist, JournalMode::Wal]
        {
            for situation in of(mode) {
                let made = Recording::make(
                    &mut harness,
                    &situation.settings,
                    &situation.script,
                    None,
                    Seed(1),
                );
                let recording =
                    made.unwrap_or_else(|error| panic!("{mode} {}: {error}", situation.name));
                let commits = recording.commits.len();
                assert!(commits >= 5, "{mode} {}: {commits}", situation.name);
                names.push(situation.name);
            }
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TEXT.matches("\n--- ").count());
    }

    #[test]
    fn settings_that_admit_no_company_have_none() {
        assert!(of(JournalMode::Off).is_empty() && of(JournalMode::Memory).is_empty());
        let alone = CrashSettings {
            locking_mode: LockingMode::Exclusive,
            ..CrashSettings::new(JournalMode::Wal, Synchronous::Full)
        };
        assert!(Situation::of(&alone).is_empty());
    }
}
