//! Whether images after a crash notice a mutation: the same matrix, with the mutant and with the sound
//! engine.

use crate::patch::Mutation;
use crate::workload::Workload;
use crash::{
    Cell, CrashError, CrashSettings, JournalMode, LockingMode, Model, Plan, Synchronous, measure,
};
use engine::Source;
use lab::seed::Seed;
use lab::tier::Losses;
use std::collections::HashMap;
use std::fmt;

/// The page size of every variant: that of SQLite's default.
const PAGE_SIZE: u32 = 4096;

/// Of every so many images the recovery is crashed too; often, because some safeguards exist for the
/// second crash only.
const SECOND_CRASH_EVERY: u64 = 3;

/// The models under which SQLite's assumptions hold, so that any violation is a defect.
pub const MODELS: [Model; 5] =
    [Model::Kill, Model::Ordered, Model::Ext4Ordered, Model::Reorder, Model::Torn];

/// The models that SQLite expects under these settings, in the order of all: a write that damages its surroundings, too, where the
/// device is declared to do that.
fn assumed_by(variant: &CrashSettings) -> Vec<Model> {
    Model::ALL.iter().copied().filter(|model| variant.assumes(*model)).collect()
}

/// The settings named such as `wal/full` or `persist/full/exclusive` names. After `/psow-off`, a write may damage what lies next to it
/// in the sector.
pub fn settings(name: &str) -> Option<CrashSettings> {
    let mut parts = name.split('/');
    let journal_mode: JournalMode = parts.next()?.parse().ok()?;
    let synchronous: Synchronous = parts.next()?.parse().ok()?;
    let locking_mode = match parts.next() {
        None => LockingMode::Normal,
        Some(mode) => mode.parse().ok()?,
    };
    let is_psow_off = match parts.next() {
        None => false,
        Some("psow-off") => true,
        Some(_) => return None,
    };
    parts.next().is_none().then_some(CrashSettings {
        journal_mode,
        synchronous,
        locking_mode,
        page_size: PAGE_SIZE,
        powersafe_overwrite: !is_psow_off,
    })
}

/// A cell in which the mutant fares worse than the sound engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worse {
    /// The settings.
    pub variant: CrashSettings,
    /// The storage model.
    pub model: Model,
    /// The tier measured with the sound engine.
    pub sound: Losses,
    /// The tier measured with the mutant.
    pub mutant: Losses,
}

impl fmt::Display for Worse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} under {}: {}; sound: {}", self.variant, self.model, self.mutant, self.sound)
    }
}

/// Compares mutants with the sound engine, whose cells are measured once.
pub struct Crashes {
    sound: Source,
    images: usize,
    threads: usize,
    seed: Seed,
    known: HashMap<(CrashSettings, Workload), Vec<Cell>>,
}

impl Crashes {
    /// With the path of the sound engine, built as the mutants are, and the images of each cell.
    pub fn new(sound: Source, images: usize, seed: u64, threads: usize) -> Crashes {
        Crashes { sound, images, threads, seed: Seed(seed), known: HashMap::new() }
    }

    /// The cells of a mutation's settings in which its engine fares worse than the sound one, in the
    /// first workload in which there are any.
    ///
    /// # Errors
    /// Those of measuring.
    pub fn noticed(
        &mut self,
        mutation: &Mutation,
        mutant: &Source,
    ) -> Result<Vec<Worse>, CrashError> {
        let mut worse = Vec::new();
        for workload in Workload::ALL {
            self.compare(mutation, mutant, workload, &mut worse)?;
            if !worse.is_empty() {
                break;
            }
        }
        Ok(worse)
    }

    fn compare(
        &mut self,
        mutation: &Mutation,
        mutant: &Source,
        workload: Workload,
        worse: &mut Vec<Worse>,
    ) -> Result<(), CrashError> {
        for variant in mutation.settings.iter().filter_map(|name| settings(name)) {
            let cells = self.measure(mutant, variant, workload)?;
            for (sound, mutant) in self.sound(variant, workload)?.iter().zip(cells) {
                // What was not measured proves nothing.
                let proven = mutant.safety.worst().zip(sound.safety.worst());
                if proven.is_some_and(|(mutant, sound)| mutant > sound) {
                    worse.push(Worse {
                        variant,
                        model: mutant.model,
                        sound: sound.safety.whole(),
                        mutant: mutant.safety.whole(),
                    });
                }
            }
        }
        Ok(())
    }

    fn sound(&mut self, variant: CrashSettings, workload: Workload) -> Result<&[Cell], CrashError> {
        let key = (variant, workload);
        if !self.known.contains_key(&key) {
            let cells = self.measure(&self.sound, variant, workload)?;
            self.known.insert(key, cells);
        }
        Ok(self.known.get(&key).map_or(&[], Vec::as_slice))
    }

    /// The cells of an engine under settings, one for each model.
    ///
    /// # Errors
    /// Those of measuring.
    pub fn measure(
        &self,
        engine: &Source,
        variant: CrashSettings,
        workload: Workload,
    ) -> Result<Vec<Cell>, CrashError> {
        let plan = Plan {
            second_crash_every: SECOND_CRASH_EVERY,
            seed: self.seed,
            engine: engine.clone(),
            script: workload.script(),
            threads: self.threads,
            ..Plan::new(vec![variant], assumed_by(&variant), self.images)
        };
        Ok(measure(&plan)?.cells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_names() {
        let exclusive = settings("persist/full/exclusive").unwrap();
        assert_eq!(exclusive.locking_mode, LockingMode::Exclusive);
        assert_eq!(settings("wal/normal").unwrap().locking_mode, LockingMode::Normal);
        assert!(!settings("wal/full/normal/psow-off").unwrap().powersafe_overwrite);
        assert_eq!(settings("wal"), None);
        assert_eq!(settings("wal/normal/normal/more"), None);
        assert_eq!(settings("wall/normal"), None);
    }

    #[test]
    fn what_surrounds_a_write_is_damaged_only_where_that_is_declared() {
        assert_eq!(assumed_by(&settings("wal/full").unwrap()), MODELS);
        let without = assumed_by(&settings("wal/full/normal/psow-off").unwrap());
        assert_eq!(without, [&MODELS[..], &[Model::NonPowersafeOverwrite]].concat());
    }

    #[test]
    fn every_mutation_that_crashes_should_notice_names_settings() {
        for mutation in crate::mutations() {
            let named = mutation.settings.iter().filter(|setting| settings(setting).is_some());
            let wanted = match mutation.found_by {
                crate::Instrument::Crash | crate::Instrument::Process => mutation.settings.len(),
                crate::Instrument::Schedule | crate::Instrument::Syncs => 0,
            };
            assert_eq!(named.count(), wanted, "{}", mutation.id);
        }
    }
}
